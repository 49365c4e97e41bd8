"""What the graphs need from above, and what can befall those who use it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from persona_panel.graphs.deliberation import Deliberation
from persona_panel.graphs.records import Judge, Judgment, Response
from persona_panel.personas import Persona
from persona_panel.rubrics import (
    Layout,
    ModelRequest,
    ModelResponse,
    Rubric,
    Status,
    load_elicitation,
)
from persona_panel.rubrics.peer_feedback import Peer

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
        corrected.update(said for said, _ in request.exchange)
    return others


ShowPeers = Callable[[Response, Sequence[Peer]], Sequence[Peer]]
"""From a response and the readings of a judge's peers to what the judge is shown of them."""


@dataclass(frozen=True, slots=True)
class GraphContext:
    """What a graph needs from above: who judges by what, the texts, and a way to ask."""

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
    """Whether every judge is asked for one dimension of the rubric at a time."""
    deliberation: Deliberation | None = None
    peers: ShowPeers | None = None
    """Where judges are to be shown something other than what their peers said; see `ShowPeers`."""
    collecting: bool = False
    """Whether what is `skipped` now will be answered later, in another go: judges do not confer
    about a response before each has read it, or failed to."""
    seed: int = 0
    """Of what is drawn by lot: the order of peers, or of responses that are compared."""
    graph: CompiledStateGraph[Any, GraphContext, Any, Any] | None = None
    """The graph that judges one response; None: `judging_graph`."""

    @property
    def output_rubric(self) -> Rubric:
        """The rubric as the ratings come. All judges' elicitations rate alike."""
        return load_elicitation(self.judges[0].elicitation).output_rubric(self.rubric)

    @property
    def models(self) -> list[str]:
        """The models that judges speak through, in the panel's order."""
        return list(dict.fromkeys([judge.model for judge in self.judges]))

    def judges_of(self, model: str) -> list[Judge]:
        """The judges that speak through a model, in the panel's order."""
        return [judge for judge in self.judges if judge.model == model]
