"""Scripted judges for the tests of the judging graph."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar

from langgraph.graph.state import CompiledStateGraph

from persona_panel.graphs import Judge, Judgment, Response, Verdict
from persona_panel.graphs.context import Answered, GraphContext
from persona_panel.graphs.deliberation import Deliberation
from persona_panel.graphs.judging import judge_response
from persona_panel.personas import Persona
from persona_panel.rubrics import (
    Abstention,
    Dimension,
    ModelRequest,
    ModelResponse,
    Rubric,
    Scale,
    Usage,
)

TEXT = "Liberty is many things, said the canary."


RESPONSE = Response(
    id="r1", prompt_id="p1", prompt="Is liberty one thing?", text=TEXT, system="human"
)


RUBRIC = Rubric(
    id="one",
    label="One",
    question="How good is it?",
    dimensions=(
        Dimension(
            id="clarity",
            label="Clarity",
            definition="Defined.",
            guiding_question="Is it clear?",
            scale=Scale(min=1, max=10, low="poor", high="good"),
        ),
    ),
    abstention=Abstention(definition="Declining.", guiding_question="Does it decline?"),
)


PERSONAS = {
    name: Persona(id=name, label=name.title(), axis="disciplinary", description=f"I am {name}.")
    for name in ("ann", "bob", "cid")
}


JUDGES = [Judge(persona, model, "dimensions") for model in ("m1", "m2") for persona in PERSONAS]


def says(score: int | None, abstained: bool = False) -> ModelResponse:
    """A reply that rates clarity, with one token in and two out."""
    number = "null" if score is None else str(score)
    return ModelResponse(
        f'{{"clarity": {number}, "abstained": {str(abstained).lower()}}}',
        usage=Usage(input=1, output=2),
        latency_s=0.5,
    )


@dataclass
class Panel:
    """A run of the graph: what was asked, forgotten, told and concluded, in order."""

    answer: Callable[[Judge, ModelRequest], Awaitable[ModelResponse]]
    judges: Sequence[Judge] = field(default_factory=lambda: JUDGES)
    asked: list[Judge] = field(default_factory=list)
    events: list[tuple[str, Judge]] = field(default_factory=list)
    forgotten: list[tuple[Judge, int]] = field(default_factory=list)
    told: list[Judgment] = field(default_factory=list)
    verdict: Verdict | None = None
    kept: list[Judgment] = field(default_factory=list)
    deliberation: Deliberation | None = None
    judge_by_judge: ClassVar[bool] = False

    async def _ask(self, judge: Judge, response: Response, ask: ModelRequest) -> ModelResponse:
        assert response is RESPONSE
        self.asked.append(judge)
        self.events.append(("asked", judge))
        reply = await self.answer(judge, ask)
        self.events.append(("answered", judge))
        return reply

    @asynccontextmanager
    async def _turn(self, judge: Judge, response: Response) -> AsyncIterator[None]:
        assert response is RESPONSE
        self.events.append(("turn", judge))
        yield
        self.events.append(("turned", judge))

    def _forget(self, judge: Judge, response: Response, answered: Sequence[Answered]) -> None:
        assert response is RESPONSE
        self.forgotten.append((judge, len(answered)))

    def _tell(self, judgment: Judgment) -> None:
        self.told.append(judgment)
        self.events.append(("told", judgment.judge))

    def context(
        self, graph: CompiledStateGraph[Any, GraphContext, Any, Any] | None = None
    ) -> GraphContext:
        """The context of a graph that judges the response, which has the key `k`."""
        return GraphContext(
            rubric=RUBRIC,
            personas=PERSONAS,
            judges=self.judges,
            responses={"k": RESPONSE},
            ask=self._ask,
            exclusive=self._turn,
            forget=self._forget,
            on_judgment=self._tell,
            deliberation=self.deliberation,
            graph=graph,
            judge_by_judge=self.judge_by_judge,
        )

    async def run(self) -> Panel:
        """Judge the response."""
        state = await judge_response("k", self.context())
        self.kept, self.verdict = state["judgments"], state["verdict"]
        return self

    def status(self) -> dict[str, str]:
        """The status of each judge that was told, by persona and model."""
        return {f"{j.judge.persona} {j.judge.model}": j.status for j in self.told}
