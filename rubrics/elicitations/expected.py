"""The mean of a scale's values, weighted by the probability of each as the answer.

Read from the model's log-probabilities: a model too small to vary the number it writes
still varies these (G-Eval, Liu et al. 2023, section 2.1). Of categories it is the most
probable one. Only models that return log-probabilities can be asked so.

A served model is asked once for the JSON object of `dimensions`, and every value is
weighed where it stands. A model in this process is asked for each dimension apart, and
weighed at the first token: a small one cannot be relied on for an object, and what it has
read costs nothing the second time.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from persona_panel.rubrics.elicitation import (
    Calls,
    Dialogue,
    ModelRequest,
    ModelResponse,
    ParsedJudgment,
    Question,
    counted,
)
from persona_panel.rubrics.probabilities import (
    YES_NO,
    NoAnswer,
    beginnings_of_several,
    letters,
    most_calls,
    most_probable,
    text_of,
    weights_of,
    weights_within,
)
from persona_panel.rubrics.replies import (
    TOKENS_A_KEY,
    Unreadable,
    form_of,
    keys_of,
    read_object,
    read_ratings,
)
from persona_panel.rubrics.rubric import CategoryScale, Dimension, RealScale, Rubric, once_a_rubric
from persona_panel.rubrics.wording import ask_twice, criteria, opening, scale_words, words_of

NEEDS_LOGPROBS = True
GIVES_REASONS = False

_TOP = 20
_TRUE_FALSE = ("true", "false")
_NULL = "null"


def serves(rubric: Rubric) -> str | None:
    """Return None where every scale has values that can be listed, else why not."""
    real = [d.id for d in rubric.dimensions if isinstance(d.scale, RealScale)]
    if not real:
        return None
    return (
        f"it weights each value of a scale by its probability, and {', '.join(real)} may be "
        "any number in a range"
    )


def output_rubric(rubric: Rubric) -> Rubric:
    """Return every dimension, on its own scale."""
    return rubric


def calls(rubric: Rubric, one_call_per_dimension: bool = False) -> Calls:
    """Return one call, and at most one more for each beginning that several values share, as 1 is
    of 1 and 10, where the model has no token for the whole.

    Apart, one for each dimension and the abstention, of a token or two each, and more where a
    beginning is followed up, which is reckoned with: a small model's 1 may begin a 10, its y a yes.
    """
    if not one_call_per_dimension:
        most = 1 + sum(
            beginnings_of_several(_written(dimension)) for dimension in rubric.dimensions
        )
        return Calls(1, most, 1, TOKENS_A_KEY * len(keys_of(rubric)))
    asked = [tuple(_named(dimension)) for dimension in rubric.dimensions]
    if rubric.abstention:
        asked.append(YES_NO)
    most = sum(map(most_calls, asked))
    return Calls(len(asked), most, most, 2)


def dialogue(question: Question) -> Dialogue:
    """Ask for everything, at once or apart as the question says."""
    weighed = _Weighed()
    try:
        return (
            yield from (_apart if question.one_call_per_dimension else _at_once)(question, weighed)
        )
    except NoAnswer as error:
        return error.reading(weighed.off_scale, weighed.n_usable)


@dataclass(slots=True)
class _Weighed:
    """The values that were read of the answers so far."""

    scores: dict[str, float] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    off_scale: dict[str, float] = field(default_factory=dict)
    seen: dict[str, Mapping[str, float]] = field(default_factory=dict)
    abstained: bool | None = None
    n_usable: int = 0

    def rate(self, dimension: Dimension, weights: Mapping[str, float], off: float) -> None:
        """Take in a dimension's weights, by the values of its scale."""
        self.note(dimension.id, weights, off)
        if isinstance(dimension.scale, CategoryScale):
            self.labels[dimension.id] = most_probable(weights)
        else:
            self.scores[dimension.id] = sum(int(value) * p for value, p in weights.items())

    def note(self, key: str, weights: Mapping[str, float], off: float) -> None:
        self.seen[key] = weights
        self.off_scale[key] = off

    def reading(self) -> ParsedJudgment:
        raw = {key: {v: round(p, 6) for v, p in w.items()} for key, w in self.seen.items()}
        return ParsedJudgment(
            "abstained" if self.abstained else "scored",
            scores=self.scores,
            abstained=self.abstained,
            raw=json.dumps(raw),
            off_scale=self.off_scale,
            labels=self.labels,
        )


# One question a dimension


def _apart(question: Question, weighed: _Weighed) -> Dialogue:
    """Ask about each dimension in turn, then whether the response abstains."""
    rubric, words = question.rubric, words_of(question)
    shared = opening(question, _preamble(rubric))
    for letter, dimension in zip(letters(), rubric.dimensions, strict=False):
        scale = dimension.scale
        named = _named(dimension)
        if isinstance(scale, CategoryScale):
            listed = words.comma.join(f"{number} {name}" for number, name in named.items())
            text = words.number_of_category.format(
                letter=letter, label=dimension.label, listed=listed
            )
        else:
            text = words.score_within.format(
                letter=letter, label=dimension.label, min=scale.min, max=scale.max
            )
        weighing = weights_of((*shared, text), tuple(named), rubric.asked_in)
        (weights, off), n_answers = yield from counted(weighing)
        weighed.rate(dimension, {named[answer]: p for answer, p in weights.items()}, off)
        weighed.n_usable += n_answers
    if rubric.abstention:
        text = words.answer_yes_no.format(
            letter=words.last, question=rubric.abstention.guiding_question
        )
        weights, off = yield from weights_of((*shared, text), YES_NO, rubric.asked_in)
        weighed.note("abstained", weights, off)
        weighed.abstained = weights["yes"] > weights["no"]
    return weighed.reading()


def _named(dimension: Dimension) -> dict[str, str]:
    """Return the answers to a question about one dimension, with what each stands for."""
    scale = dimension.scale
    if isinstance(scale, RealScale):
        raise TypeError(f"{dimension.id} may be any number in a range")
    if isinstance(scale, CategoryScale):
        # By number: a name takes several tokens, and most that begin alike are none.
        return {str(number): name for number, name in enumerate(scale.names, start=1)}
    return {str(value): str(value) for value in scale.values}


@once_a_rubric
def _preamble(rubric: Rubric) -> str:
    """Return the rubric in few words, since every token of it is read before the first question."""
    lines = [rubric.question]
    scale = None
    for dimension in rubric.dimensions:
        line = f"- {dimension.label}: {dimension.guiding_question}"
        # A scale is told where it changes: most rubrics have but one.
        if dimension.scale != scale:
            scale = dimension.scale
            line += f" {scale_words(dimension, rubric.asked_in)}"
        lines.append(line)
    if rubric.abstention:
        lines.append(rubric.abstention.definition)
    return "\n".join(lines)


# One object for all


def _at_once(question: Question, weighed: _Weighed) -> Dialogue:
    """Ask for the object, and weigh every value where it stands."""
    rubric, words = question.rubric, words_of(question)
    last = ModelResponse("")

    def read(reply: ModelResponse) -> ParsedJudgment:
        nonlocal last
        last = reply
        return read_ratings(reply.text, rubric)

    request = ModelRequest(
        system=words.system,
        blocks=(
            *opening(question, f"{criteria(rubric)}\n\n{form_of(rubric)}"),
            words.give_json,
        ),
        # No schema: a grammar would hide what a model would have put off the scale, and
        # LangChain's structured output returns no log-probabilities.
        top_logprobs=_TOP,
    )
    reading = yield from ask_twice(request, read, words.again_json, rubric.asked_in)
    if reading.status not in ("scored", "abstained"):
        return reading
    if not last.logprobs:
        raise NoAnswer("the reply holds no log-probabilities", last)
    text = text_of(last.logprobs)
    try:
        written = read_object(text, keys_of(rubric))
        for dimension in rubric.dimensions:
            value = written[dimension.id]
            # Said to be unrated; among numbers it is a question of how probably.
            if value is None and (dimension.id in rubric.categories or not rubric.not_assessable):
                continue
            start = _place(text, dimension.id, value)
            named = _written(dimension)
            answers = (*named, _NULL) if rubric.not_assessable else tuple(named)
            weights, off = yield from weights_within(request, last.logprobs, start, answers)
            null = weights.pop(_NULL, 0.0)
            off += null * (1.0 - off)
            # Left unrated where that is more probable than any rating.
            if null > 0.5:
                weighed.note(dimension.id, {_NULL: null}, off)
                continue
            shares = {named[answer]: p / (1.0 - null) for answer, p in weights.items()}
            weighed.rate(dimension, shares, off)
        if rubric.abstention:
            start = _place(text, "abstained", written["abstained"])
            weights, off = yield from weights_within(request, last.logprobs, start, _TRUE_FALSE)
            weighed.note("abstained", weights, off)
            weighed.abstained = weights["true"] > weights["false"]
    except Unreadable as error:
        raise NoAnswer(f"its tokens cannot be read: {error}", last) from None
    return weighed.reading()


def _written(dimension: Dimension) -> dict[str, str]:
    """Return the values of a dimension's scale by their form in small letters, in which they are
    looked for in an answer."""
    if isinstance(dimension.scale, RealScale):
        raise TypeError(f"{dimension.id} may be any number in a range")
    return {str(value).lower(): str(value) for value in dimension.scale.values}


def _place(text: str, key: str, value: object) -> int:
    """Return where the value of a key stands in a text.

    Raises:
        Unreadable: nowhere.
    """
    name = r"[\s_-]+".join(map(re.escape, key.split("_")))
    text_of_value = "null" if value is None else str(value).lower()
    for match in re.finditer(rf"{name}[\"']?\s*:\s*[\"']?", text, re.IGNORECASE):
        if text[match.end() :].lower().startswith(text_of_value):
            return match.end()
    raise Unreadable(f"the value of {key} was not found")
