"""The protocol of elicitations: what one receives and returns, how one is loaded by its name, and
how it is applied to one dimension at a time.

An elicitation is a generator without I/O: it yields a `ModelRequest`, is sent a `ModelResponse`,
and returns a `ParsedJudgment`. It can be tested with scripted replies, without a model, a loop or a
clock. The elicitations themselves are the modules of `persona_panel.rubrics.elicitations`, found by
their names.

The argument-quality paper asks for one dimension a call (argument-quality.txt, section 3.4): a
judge that rates one quality sees no other, and its ratings do not lean on each other. It is the
same for every elicitation that rates the rubric's dimensions.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, Literal, NamedTuple, Protocol, TypeVar, cast

from persona_panel.rubrics.extensions import extension_names, load_extension
from persona_panel.rubrics.rubric import Rubric, once_a_rubric

_GROUP = "persona_panel.elicitations"

Status = Literal["scored", "abstained", "refused", "truncated", "unparsed", "failed", "skipped"]
"""The outcome of a judgment. `truncated`: the answer reached its token limit. The caller sets
`failed` (the model could not be reached) and `skipped` (it was not asked)."""


Layout = Literal["shared-prefix", "persona-first"]
"""The beginning of a question: the part that all judges of a response share, so that a model reads
it once for all of them; or the judge's persona."""


# Not frozen, as one is made for each judgment, and a frozen one is made three times as slowly.
# Nobody changes one all the same.
@dataclass(slots=True)
class Question:
    """The question to a judge about a response.

    A judge without a persona has an empty `persona_description`, and its label is not shown.
    `peer_feedback` is what the judge is shown of the others' readings, in a later round than
    the first. `one_call_per_dimension`: an elicitation that can ask for all dimensions at once or
    for each in a call of its own does the latter.
    """

    rubric: Rubric
    persona_label: str
    persona_description: str
    prompt: str
    text: str
    context: str | None = None
    layout: Layout = "shared-prefix"
    peer_feedback: str | None = None
    one_call_per_dimension: bool = False


@dataclass(frozen=True, slots=True)
class Comparison:
    """The question to a judge about several responses to a prompt.

    `texts` stand before the judge in this order, `contexts` beside them, one for each.
    """

    rubric: Rubric
    persona_label: str
    persona_description: str
    prompt: str
    texts: tuple[str, ...]
    contexts: tuple[str | None, ...]
    layout: Layout = "shared-prefix"


# Not frozen, for the same reason as `Question`.
@dataclass(slots=True)
class ModelRequest:
    """One call to a model, in words that belong to no provider.

    `blocks` make up the user's message. The first is what a provider can reuse in further
    calls, the last is this call's alone. `exchange` holds (assistant, user) turns that
    follow it, for a re-ask. `prefill` is how the model's answer begins.
    """

    system: str
    blocks: tuple[str, ...]
    exchange: tuple[tuple[str, str], ...] = ()
    prefill: str = ""
    schema: Mapping[str, Any] | None = None
    top_logprobs: int = 0
    max_tokens: int = 1024


@dataclass(frozen=True, slots=True)
class Position:
    """The log-probabilities (natural log) that a model gave at one token of its answer: those of
    the most probable tokens, and `logprob`, that of the token itself; None where it is not said."""

    token: str
    top: tuple[tuple[str, float], ...]
    logprob: float | None = None


# Not frozen, for the same reason as `Question`; hashable all the same.
@dataclass(slots=True, unsafe_hash=True)
class Usage:
    """Tokens of a call as the provider reported them.

    `cached` and `written` are parts of `input`: what was read from a prompt cache of the
    provider's, and what was put into it. `reasoning` is the part of `output` that the model
    used for thinking, as far as it is reported. `odd` says what the provider reported that cannot
    be, and was counted as less; None where nothing was. Of a sum it is the first.
    """

    input: int = 0
    cached: int = 0
    output: int = 0
    written: int = 0
    odd: str | None = None
    reasoning: int = 0

    def __bool__(self) -> bool:
        """Return whether anything is counted, or an impossible count was reported."""
        return bool(
            self.input or self.output or self.cached or self.written or self.reasoning or self.odd
        )

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input + other.input,
            self.cached + other.cached,
            self.output + other.output,
            self.written + other.written,
            self.odd or other.odd,
            self.reasoning + other.reasoning,
        )


# Not frozen, for the same reason as `Question`.
@dataclass(slots=True)
class ModelResponse:
    """A model's reply.

    `refusal` is the provider's own word that the model declined: a refusal text, or
    the name of the content filter that stopped it. `model` is the model's id in the panel, which
    the cache notes; "" where it is not known. `answered_by` is what the server calls the model that
    answered, where that is not the name by which it was asked.
    """

    text: str
    finish_reason: str = "stop"
    refusal: str | None = None
    logprobs: tuple[Position, ...] = ()
    usage: Usage = Usage()
    latency_s: float = 0.0
    cached: bool = False
    model: str = field(default="", compare=False)
    answered_by: str = field(default="", compare=False)


# Not frozen, for the same reason as `Question`.
@dataclass(slots=True)
class ParsedJudgment:
    """An answer as it was read.

    `scores` has the dimensions that are rated by numbers, `labels` those that are rated by
    categories, and neither has an entry for one that was not rated. `off_scale` is, for
    elicitations that read probabilities, how much of it lay on no value of the scale. `n_usable` is
    how many answers, from the first on, are good where a later one led to no result: they stay
    kept, and the judgment made anew asks only for what follows them.
    """

    status: Status
    scores: Mapping[str, float] = field(default_factory=dict)
    abstained: bool | None = None
    rationale: str | None = None
    raw: str = ""
    error: str | None = None
    off_scale: Mapping[str, float] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    n_usable: int = 0


Dialogue = Generator[ModelRequest, ModelResponse, ParsedJudgment]
_T = TypeVar("_T")


def counted(
    part: Generator[ModelRequest, ModelResponse, _T],
) -> Generator[ModelRequest, ModelResponse, tuple[_T, int]]:
    """Hold a dialogue, or a part of one; return what it comes to and how many answers it took."""
    n = 0
    try:
        request = next(part)
        while True:
            reply = yield request
            n += 1
            request = part.send(reply)
    except StopIteration as done:
        return done.value, n


class Calls(NamedTuple):
    """The number of calls of a judgment: the least, the most, and the number to plan with; and
    about how many tokens each answers with, rather too many than too few."""

    fewest: int
    most: int
    reckoned: int
    tokens: int

    @classmethod
    def just(cls, number: int, tokens: int) -> Calls:
        """Return the same number of calls whatever the answers are."""
        return cls(number, number, number, tokens)


class Elicitation(Protocol):
    """The interface of a module of `persona_panel.rubrics.elicitations`."""

    @property
    def NEEDS_LOGPROBS(self) -> bool: ...

    @property
    def GIVES_REASONS(self) -> bool: ...

    __doc__: str | None

    def serves(self, rubric: Rubric, /) -> str | None:
        """Return None where every dimension can be rated in this way, else why not."""

    def output_rubric(self, rubric: Rubric, /) -> Rubric:
        """Return the rubric of its ratings: their dimensions and scales."""

    def calls(self, rubric: Rubric, /, one_call_per_dimension: bool = False) -> Calls:
        """Return the calls of a judgment if every answer can be read. `one_call_per_dimension` is
        as in `Question`."""

    def dialogue(self, question: Question, /) -> Dialogue:
        """Return the whole exchange with one judge about one response."""


class Comparing(Protocol):
    """The interface of a module of `persona_panel.rubrics.elicitations` that compares the responses
    to a prompt.

    It has `serves` and `output_rubric` as the others do, and instead of one dialogue about a
    response a dialogue about each of its orders.
    """

    @property
    def NEEDS_LOGPROBS(self) -> bool: ...

    @property
    def GIVES_REASONS(self) -> bool: ...

    @property
    def COMPARES(self) -> bool: ...

    @property
    def DRAWN(self) -> bool:
        """Return whether an order is drawn at random for each judge."""

    __doc__: str | None

    def serves(self, rubric: Rubric, /) -> str | None:
        """Return None where it can compare responses by this rubric, else why not."""

    def output_rubric(self, rubric: Rubric, /) -> Rubric:
        """Return the rubric of its ratings."""

    def orders(self, n: int, seed: int) -> Sequence[tuple[int, ...]]:
        """Return the orders in which the responses, numbered from 0 to n − 1, stand before a judge;
        each takes a call if all goes well. `seed` is of the judge and the prompt."""

    def tokens(self, n: int) -> int:
        """Return about how many tokens an answer about n responses takes."""

    def dialogue(self, comparison: Comparison, /) -> Dialogue:
        """Return the exchange with a judge about an order. The `scores` of its judgment are places,
        1 the best, by label; A is the first text."""


def elicitation_names() -> tuple[str, ...]:
    """Return the elicitations there are, in alphabetical order."""
    return extension_names("persona_panel.rubrics.elicitations", _GROUP, hyphens=True)


# Once a name, as every judgment asks for one.
@cache
def load_elicitation(name: str) -> Elicitation:
    """Return the elicitation called `name`.

    Raises:
        KeyError: there is none of that name.
        ExtensionError: another distribution's cannot be imported.
    """
    elicitation: Elicitation = load_extension(
        "persona_panel.rubrics.elicitations", _GROUP, name, hyphens=True
    )
    return elicitation


def is_comparative(name: str) -> bool:
    """Return whether the elicitation called `name` compares the responses to a prompt.

    Raises:
        KeyError: there is none of that name.
    """
    return getattr(load_elicitation(name), "COMPARES", False)


def shares_prefix(name: str) -> bool:
    """Return whether the elicitation called `name` has all judges read the same material.

    Raises:
        KeyError: there is none of that name.
    """
    return not (is_comparative(name) and load_comparing(name).DRAWN)


def load_comparing(name: str) -> Comparing:
    """Return the elicitation called `name`, one that compares.

    Raises:
        KeyError: none that compares is called so.
    """
    if not is_comparative(name):
        raise KeyError(name)
    return cast(Comparing, load_elicitation(name))


@once_a_rubric
def single_dimension_rubrics(rubric: Rubric) -> tuple[Rubric, ...]:
    """Return a rubric for each dimension; whether a response abstains is asked with the first."""
    return tuple(
        rubric.model_copy(
            update={
                "dimensions": (dimension,),
                "abstention": None if place else rubric.abstention,
                "composite": None,
            }
        )
        for place, dimension in enumerate(rubric.dimensions)
    )


def dialogue_of(
    elicitation: Elicitation, question: Question, *, one_dimension_per_call: bool
) -> Dialogue:
    """Return the whole exchange with one judge, for all dimensions at once or one after the other.

    One after the other, the first dimension whose answer cannot be used ends it, and the reading
    is that answer's, of which the answers on earlier dimensions stay usable; so does an abstention.
    """
    if not one_dimension_per_call:
        return elicitation.dialogue(question)
    return _dimension_by_dimension(elicitation, question)


def _dimension_by_dimension(elicitation: Elicitation, question: Question) -> Dialogue:
    readings: dict[str, ParsedJudgment] = {}
    n_usable = 0
    for rubric in single_dimension_rubrics(question.rubric):
        [dimension] = rubric.dimensions
        dialogue = elicitation.dialogue(replace(question, rubric=rubric))
        reading, n_answers = yield from counted(dialogue)
        readings[dimension.id] = reading
        if reading.status == "abstained":
            break
        if reading.status != "scored":
            return ParsedJudgment(
                reading.status,
                raw=_raw(readings),
                error=f"{dimension.id}: {reading.error}",
                n_usable=n_usable + reading.n_usable,
            )
        n_usable += n_answers
    read = list(readings.values())
    reasons = [
        f"{name}: {reading.rationale}"
        for name, reading in readings.items()
        if reading.rationale is not None
    ]
    return ParsedJudgment(
        read[-1].status,
        scores={
            name: score for reading in readings.values() for name, score in reading.scores.items()
        },
        abstained=read[0].abstained,
        rationale="\n".join(reasons) or None,
        raw=_raw(readings),
        off_scale={
            name: off for reading in readings.values() for name, off in reading.off_scale.items()
        },
        labels={
            name: label for reading in readings.values() for name, label in reading.labels.items()
        },
    )


def calls_by_dimension(
    elicitation: Elicitation, rubric: Rubric, one_call_per_dimension: bool = False
) -> Calls:
    """Return the calls of a judgment that is asked for dimension by dimension."""
    each = [
        elicitation.calls(single, one_call_per_dimension)
        for single in single_dimension_rubrics(rubric)
    ]
    return Calls(
        # An abstention ends it with the first dimension.
        each[0].fewest if rubric.abstention else sum(calls.fewest for calls in each),
        sum(calls.most for calls in each),
        sum(calls.reckoned for calls in each),
        max(calls.tokens for calls in each),
    )


def _raw(readings: dict[str, ParsedJudgment]) -> str:
    """Return a judge's answers, by dimension."""
    return json.dumps({name: reading.raw for name, reading in readings.items()}, ensure_ascii=False)
