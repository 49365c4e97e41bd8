"""The pointwise mode: each response is judged by itself, and may be deliberated."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass

from persona_panel.calls.endpoint import estimated_tokens, tokens_in
from persona_panel.files.errors import Fault, InputError
from persona_panel.files.response_batch import Batch, as_async
from persona_panel.graphs import Response, Verdict
from persona_panel.graphs.context import GraphContext
from persona_panel.graphs.judging import judge_response
from persona_panel.plan.panel_plan import PanelPlan
from persona_panel.rubrics import ModelRequest
from persona_panel.runs.judging.cost_estimate import CostEstimate, PredictedCalls
from persona_panel.runs.judging.pointwise_estimate import PointwiseEstimator, peer_tokens
from persona_panel.runs.judging.preflight import longest_persona


@dataclass(frozen=True, slots=True)
class Pointwise:
    """See `persona_panel.runs.judging.mode.Mode`. A unit is one response."""

    plan: PanelPlan

    def check(self, batch: Batch) -> None:
        """Name every response that cannot fit into a model's context, with the longest persona and,
        where the panel deliberates, about as many words of peers as a judge is shown.

        Raises:
            InputError: there are some.
        """
        faults = []
        persona = longest_persona(self.plan.personas)
        said = "with the question"
        if self.plan.deliberation is not None:
            said += " and the peers' readings"
        for model in self.plan.models:
            window = model.context_window
            if window is None:
                continue
            around = None
            for response in batch:
                if around is None:
                    first = model.first_request(self.plan.first_rubric, persona, response)
                    around = estimated_tokens(first) - _response_tokens(response)
                    around += peer_tokens(self.plan, response)
                needed = around + _response_tokens(response)
                if needed > window:
                    faults.append(
                        Fault(
                            file=f"{response.prompt_id}/{response.id}",
                            field="response",
                            found=f"about {needed:,} tokens {said}",
                            expected=f"at most {window:,}, the context of {model.id}: shorten the "
                            "response, leave this model out, or set its context_window in a panel "
                            "file if it takes more",
                        )
                    )
        if faults:
            raise InputError(faults)

    def units(self, batch: Batch) -> AsyncIterator[tuple[Response, ...]]:
        """Each response as a unit of its own."""
        return self.streamed_units(as_async(batch))

    async def streamed_units(
        self, responses: AsyncIterator[Response]
    ) -> AsyncIterator[tuple[Response, ...]]:
        """Each response as a unit of its own."""
        async for response in responses:
            yield (response,)

    def estimate(self, batch: Batch, predicted: PredictedCalls) -> list[CostEstimate]:
        """By model, in the panel's order."""
        return PointwiseEstimator(self.plan, predicted).estimates(batch)

    def first_requests(self, responses: Sequence[Response]) -> Iterator[ModelRequest]:
        """What each judge is asked first about each response."""
        by_id = {model.id: model for model in self.plan.models}
        for judge in self.plan.judges:
            persona = self.plan.personas_by_id[judge.persona]
            for response in responses:
                yield by_id[judge.model].first_request(self.plan.first_rubric, persona, response)

    async def judge(self, keys: Sequence[str], context: GraphContext) -> list[Verdict]:
        """The verdict on the one response of a unit."""
        [key] = keys
        return [(await judge_response(key, context))["verdict"]]


def _response_tokens(response: Response) -> int:
    return tokens_in(response.prompt) + tokens_in(response.text) + tokens_in(response.context or "")
