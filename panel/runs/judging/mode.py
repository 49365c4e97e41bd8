"""The modes of judging, and what a run needs of each."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Protocol

from persona_panel.files.response_batch import Batch
from persona_panel.graphs import Response, Verdict
from persona_panel.graphs.context import GraphContext
from persona_panel.plan.panel_plan import PanelPlan
from persona_panel.rubrics import ModelRequest
from persona_panel.runs.judging.comparative import Comparative
from persona_panel.runs.judging.cost_estimate import CostEstimate, PredictedCalls
from persona_panel.runs.judging.pointwise import Pointwise


class Mode(Protocol):
    """How the responses of a batch are put before the judges of a plan."""

    def check(self, batch: Batch) -> None:
        """See that all of a batch can be judged, before any call.

        Raises:
            InputError: something cannot; lists all.
        """

    def units(self, batch: Batch) -> AsyncIterator[tuple[Response, ...]]:
        """What a graph judges in one go, unit by unit."""

    def streamed_units(
        self, responses: AsyncIterator[Response]
    ) -> AsyncIterator[tuple[Response, ...]]:
        """The units of responses that come one by one, as many as there may be.

        Raises:
            ConfigurationError: units can only be made of all responses together.
        """

    def estimate(self, batch: Batch, predicted: PredictedCalls) -> list[CostEstimate]:
        """What each model's part would take, in the panel's order; calls nothing.

        Raises:
            InputError: a unit cannot be judged, whatever its length.
        """

    def first_requests(self, responses: Sequence[Response]) -> Iterator[ModelRequest]:
        """What each judge is asked first about responses, which answer one prompt."""

    async def judge(self, keys: Sequence[str], context: GraphContext) -> list[Verdict]:
        """Have a unit judged: the verdict on each of its responses.

        Args:
            keys: of the unit's responses in `context.responses`.
        """


def mode_of(plan: PanelPlan) -> Mode:
    """The mode in which a plan's judges are asked, by their elicitation."""
    return Comparative(plan) if plan.is_comparative else Pointwise(plan)
