"""The context that graphs are handed, the errors that its users may raise, and checks of judgments
that are read from a file or written by a user's own graph.
"""

from __future__ import annotations

import asyncio
from collections.abc import (
    Awaitable,
    Callable,
    Iterable,
    Iterator,
    Mapping,
    MutableMapping,
    Sequence,
)
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, get_args
from weakref import WeakValueDictionary

from persona_panel.graphs.deliberation import Deliberation
from persona_panel.graphs.records import Judge, Judgment, Response
from persona_panel.personas import Persona
from persona_panel.rubrics import (
    CategoryScale,
    Layout,
    ModelRequest,
    ModelResponse,
    Rubric,
    Status,
    load_elicitation,
)
from persona_panel.rubrics.replies import shown
from persona_panel.rubrics.wording import Peer

if TYPE_CHECKING:
    from langgraph.graph.state import CompiledStateGraph


class Unanswered(Exception):
    """A model gave no reply: it `failed`, or was `skipped` and not asked at all."""

    def __init__(self, status: Status, reason: str) -> None:
        super().__init__(reason)
        self.status: Status = status


class Abort(Exception):
    """The run cannot go on; unlike all else that befalls a judge, this is not caught."""


Answered = tuple[ModelRequest, ModelResponse]
"""A request and the reply to it."""


def without_corrected(answered: Sequence[Answered]) -> list[Answered]:
    """Return the replies of a dialogue that led to no result, but for those that the model was
    asked to correct.

    They stay kept: another process that was served one may have got its correction, which is found
    by the reply that it corrects. What is asked anew is the correction.
    """
    corrected: set[str] = set()
    others: list[Answered] = []
    for request, reply in reversed(answered):
        if reply.text not in corrected:
            others.append((request, reply))
        corrected.update(answer for answer, _ in request.exchange)
    return others


ShowPeers = Callable[[Response, Sequence[Peer]], Sequence[Peer]]
"""From a response and the readings of a judge's peers to what the judge is shown of them."""


class ReplyLookup(NamedTuple):
    """A way to the replies that are kept, to judge a response from them alone.

    Attributes:
        reply: the reply to a request about a response, which is not counted; None where none is.
        used: told how many were used.
    """

    reply: Callable[[Judge, Response, ModelRequest], ModelResponse | None]
    used: Callable[[int], None]


_T = TypeVar("_T")


def groups_of(judges: Sequence[Judge], *, each: bool) -> list[tuple[Judge, ...]]:
    """Group judges by what is sent to a node at once: each by itself, or those of a model together,
    in the order of the judges."""
    if each:
        return [(judge,) for judge in judges]
    by_model: dict[str, list[Judge]] = {}
    for judge in judges:
        by_model.setdefault(judge.model, []).append(judge)
    return [tuple(group) for group in by_model.values()]


class SharedPrefix:
    """The beginning of a prompt that judges of a model share: `warm` once the model has read it."""

    __slots__ = ("__weakref__", "lock", "warm")

    def __init__(self) -> None:
        self.lock, self.warm = asyncio.Lock(), False


@dataclass(frozen=True, slots=True)
class GraphContext:
    """The context of a graph: who judges by what, the texts, and a way to ask."""

    rubric: Rubric
    personas: Mapping[str, Persona]
    judges: Sequence[Judge]
    responses: Mapping[str, Response]
    ask: Callable[[Judge, Response, ModelRequest], Awaitable[ModelResponse]]
    """Answers a request about a response. Raises Unanswered where there is no reply to be had."""
    exclusive: Callable[[Judge, Response], AbstractAsyncContextManager[object]]
    """Held while a judge speaks: a model that keeps what it has read hears one judge of a
    response out before the next."""
    forget: Callable[[Judge, Response, Sequence[Answered]], None]
    """Told which replies led to no result, so that they are not served again."""
    on_judgment: Callable[[Judgment], None]
    """Told of each judgment as it is made, raw text and all. What it raises ends the run."""
    layout: Layout = "shared-prefix"
    one_call_per_dimension: frozenset[str] = frozenset()
    """Models that are asked for each dimension in a call of its own, where that can be."""
    one_dimension_per_call: bool = False
    """True where every judge is asked for one dimension of the rubric at a time."""
    deliberation: Deliberation | None = None
    peers: ShowPeers | None = None
    """Makes what judges are to be shown in place of what their peers said; see `ShowPeers`."""
    collecting: bool = False
    """True where what is `skipped` now will be answered later, in another go: judges do not confer
    about a response before each has read it, or failed to."""
    seed: int = 0
    """Of what is drawn by lot: the order of peers, or of responses that are compared."""
    graph: CompiledStateGraph[Any, GraphContext, Any, Any] | None = None
    """The graph that judges one response; None: `judging_graph`."""
    kept: ReplyLookup | None = None
    """The replies that may judge a response without a graph; None: all responses go through it."""
    judge_by_judge: bool = False
    """True where each judge is a task of the graph by itself, for whoever looks at the graph: five
    times the CPU of those of a model together."""
    prefixes: MutableMapping[tuple[Any, str], SharedPrefix] = field(
        default_factory=WeakValueDictionary
    )
    """The prefix that judges share who are asked at the same time; see `ask_all`."""

    @property
    def output_rubric(self) -> Rubric:
        """Return the rubric as the ratings come. All judges' elicitations rate alike."""
        return load_elicitation(self.judges[0].elicitation).output_rubric(self.rubric)

    @property
    def models(self) -> list[str]:
        """Return the models that judges speak through, in the panel's order."""
        return list(dict.fromkeys([judge.model for judge in self.judges]))

    @property
    def groups(self) -> list[tuple[Judge, ...]]:
        """Return the judges as they are sent to the nodes that ask; see `groups_of`."""
        return groups_of(self.judges, each=self.judge_by_judge)

    async def ask_all(
        self,
        judges: Sequence[Judge],
        about: Any,
        ask: Callable[[Judge], Awaitable[tuple[_T, bool]]],
    ) -> list[_T]:
        """Return what judges of a model answer about the same texts, whose keys `about` has.

        They are asked one by one as long as their replies are kept, as the second of what `ask`
        returns says; then one alone, which warms the model's prompt cache, and the others together.
        That holds for all that are asked about these texts at the time, whichever task asks.
        """
        if not judges:
            return []
        key = (about, judges[0].model)
        # Held by those who use it, and forgotten with the last of them.
        if (prefix := self.prefixes.get(key)) is None:
            prefix = self.prefixes[key] = SharedPrefix()
        if self.judge_by_judge:
            # The other tasks of the round begin before the first of them asks.
            await asyncio.sleep(0)
        answers: list[_T] = []
        async with prefix.lock:
            for judge in judges:
                if prefix.warm:
                    break
                answer, kept = await ask(judge)
                answers.append(answer)
                prefix.warm = not kept
        others = await asyncio.gather(*map(ask, judges[len(answers) :]))
        return answers + [answer for answer, _ in others]


_STATUSES = frozenset(get_args(Status))


class Misfit(NamedTuple):
    """A field of a judgment, what was found there, and what is expected."""

    field: str
    actual: str
    expected: str


class RatingCheck:
    """Finds ratings that are of no dimension of a rubric, or off its scale.

    Args:
        rubric: as the ratings come.
    """

    def __init__(self, rubric: Rubric) -> None:
        self._scales: dict[str, tuple[float, float]] = {}
        for dimension in rubric.dimensions:
            if not isinstance(dimension.scale, CategoryScale):
                self._scales[dimension.id] = (dimension.scale.min, dimension.scale.max)
        self._categories = rubric.categories

    def of(self, judgment: Judgment) -> Iterator[Misfit]:
        """List the faults among the scores and labels of a judgment."""
        for name, score in judgment.scores.items():
            ends = self._scales.get(name)
            if ends is None:
                yield Misfit("scores", f"the dimension {shown(name)}", _allowed(self._scales))
            # A score may be a mean over a judge's probabilities: not a whole number.
            elif not isinstance(score, int | float) or not ends[0] <= score <= ends[1]:
                expected = f"a number from {ends[0]:g} to {ends[1]:g}"
                yield Misfit(f"scores.{name}", shown(score), expected)
        for name, label in judgment.labels.items():
            categories = self._categories.get(name)
            if categories is None:
                yield Misfit("labels", f"the dimension {shown(name)}", _allowed(self._categories))
            elif label not in categories:
                expected = f"one of {', '.join(categories)}"
                yield Misfit(f"labels.{name}", shown(label), expected)


def check_own(added: Iterable[Any], adjudication: Any, response: Response, rubric: Rubric) -> None:
    """See that a verdict can be made of what nodes of a user's own graph wrote.

    Raises:
        Abort: it cannot; says what was found and what is expected.
    """
    wrote = [("judgments", judgment) for judgment in added]
    if adjudication is not None:
        wrote.append(("adjudication", adjudication))
    for key, entry in wrote:
        for name, actual, expected in _misfits_of_own(entry, response, rubric):
            raise Abort(
                f"a node of the panel's graph wrote into {key!r}, of the response {response.id!r}, "
                f"what no verdict can be made of: {name}: found {actual}; expected {expected}"
            )


def _misfits_of_own(judgment: Any, response: Response, rubric: Rubric) -> list[Misfit]:
    """List the faults of a judgment that a node of a user's own graph wrote."""
    if not isinstance(judgment, Judgment):
        return [Misfit("type", shown(judgment), "a Judgment")]
    about = (judgment.prompt_id, judgment.id)
    if about != (response.prompt_id or "", response.id):
        of = f"({shown(response.prompt_id or '')}, {shown(response.id)})"
        return [Misfit("prompt_id, id", f"({', '.join(map(shown, about))})", of)]
    if judgment.status not in _STATUSES:
        return [Misfit("status", shown(judgment.status), f"one of {', '.join(get_args(Status))}")]
    for name in ("scores", "labels"):
        if not isinstance(ratings := getattr(judgment, name), Mapping):
            return [Misfit(name, shown(ratings), "a mapping from dimensions")]
    return list(RatingCheck(rubric).of(judgment))


def _allowed(dimensions: Iterable[str]) -> str:
    names = ", ".join(dimensions)
    return f"one of the rubric's: {names}" if names else "none: the rubric has no such dimension"
