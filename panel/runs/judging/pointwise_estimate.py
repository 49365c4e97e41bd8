"""What judging responses one by one would take, followed through the cache round by round."""

from __future__ import annotations

from collections.abc import Sequence

from persona_panel.calls.endpoint import tokens_in
from persona_panel.files.errors import ConfigurationError
from persona_panel.files.response_batch import Batch
from persona_panel.graphs import Judge, Judgment, Response
from persona_panel.graphs.deliberation import (
    Deliberation,
    StoppingRuleError,
    peer_name,
    should_continue,
)
from persona_panel.graphs.judging import judge_one, revise_one
from persona_panel.graphs.questions import question_of
from persona_panel.graphs.revisions import latest_judgments, may_revise
from persona_panel.plan.panel_plan import PanelPlan
from persona_panel.rubrics import (
    Calls,
    ModelRequest,
    Rubric,
    Usage,
    calls_by_dimension,
    load_elicitation,
)
from persona_panel.rubrics.peer_feedback import REASON_TOKENS, Peer, peer_feedback
from persona_panel.runs.judging.cost_estimate import (
    CachedReplies,
    CostEstimate,
    MissingReply,
    ModelEstimate,
    PredictedCalls,
    context_from,
)


class PointwiseEstimator:
    """A panel's reading of responses one by one, followed through the cache."""

    def __init__(self, plan: PanelPlan, predicted: PredictedCalls) -> None:
        models, rubric = plan.models, plan.rubric
        self._cached = CachedReplies(models, predicted)
        self._context = context_from(self._cached, plan)
        self._predicted = predicted
        self._parts = {bound.id: ModelEstimate(bound) for bound in models}
        self._calls = {
            bound.id: (
                calls_by_dimension(elicitation, rubric, bound.one_call_per_dimension)
                if plan.one_dimension_per_call
                else elicitation.calls(rubric, bound.one_call_per_dimension)
            )
            for bound in models
            for elicitation in (load_elicitation(bound.elicitation),)
        }
        self._first_rubric = plan.first_rubric

    def estimates(self, batch: Batch) -> list[CostEstimate]:
        """By model, in the panel's order."""
        for response in batch:
            self._cached.next_response()
            for part in self._parts.values():
                part.next_response()
            self._follow(response)
        for part in self._parts.values():
            part.add_probe(self._predicted)
        return [part.estimate() for part in self._parts.values()]

    def _follow(self, response: Response) -> None:
        """One response through the rounds, as `persona_panel.graphs.judging` leads it."""
        context, rules = self._context, self._context.deliberation
        said: list[Judgment] = []
        whole = True
        for judge in context.judges:
            part = self._parts[judge.model]
            judgment, missing = self._cached.of(judge_one(judge, response, context))
            said.append(judgment)
            part.of += 1
            if missing is not None:
                whole = False
                if self._predicted.is_new(missing.page, missing.key):
                    part.judgments += 1
                    part.add_requests(missing.request, missing.left_of(self._calls[judge.model]))
        if rules is None:
            return
        while whole and self._goes_on(said, rules):
            now, again = latest_judgments(said), []
            for judge in context.judges:
                if may_revise(now[judge]):
                    judgment, missing = self._cached.of(revise_one(judge, response, said, context))
                    again.append(judgment)
                    if missing is not None:
                        whole = False
                        self._revision(judge, judgment, missing)
            said += again
        if not whole:
            self._unknown_rounds(response, said, rules)

    def _goes_on(self, said: Sequence[Judgment], rules: Deliberation) -> bool:
        try:
            return should_continue(said, rules, self._context.output_rubric)
        except StoppingRuleError as error:
            raise ConfigurationError(f"{error}; repair the rule") from error

    def _revision(self, judge: Judge, judgment: Judgment, missing: MissingReply) -> None:
        """A revision that the cache does not hold, or not what changed the judge's mind."""
        if not self._predicted.is_new(missing.page, missing.key):
            return
        part = self._parts[judge.model]
        if judgment.reason_missing is not None:
            part.add_requests(missing.request, Calls.just(1, REASON_TOKENS))
        else:
            part.add_requests(missing.request, _revising(missing.left_of(self._calls[judge.model])))

    def _unknown_rounds(
        self, response: Response, said: Sequence[Judgment], rules: Deliberation
    ) -> None:
        """The rounds that come after one that the cache does not hold whole: what peers will say
        is not known. All are reckoned with, and everybody to change a rating in each."""
        last = max(judgment.round for judgment in said)
        # The cache's own words would have been taken; what it lacks may be a judgment.
        judges = [
            judge
            for judge, judgment in latest_judgments(said).items()
            if may_revise(judgment) or judgment.status == "skipped"
        ]
        left = rules.rounds + 1 - last
        if len(judges) < 2 or not left:
            return
        # Where nobody moves, a judge is asked the same words again, and the cache answers.
        for_sure = last == 1 and rules.stop_when is None and rules.spread_above is None
        for judge in judges:
            part, calls = self._parts[judge.model], _revising(self._calls[judge.model])
            request = self._first_request(judge, response)
            shown = (len(judges) - 1) * part.count(_reading_of(self._context.rubric))
            rounds = Calls(
                calls.fewest if for_sure else 0,
                left * calls.most,
                left * calls.reckoned,
                calls.tokens,
            )
            number = rounds.reckoned
            thinking = number * part.thinking(request, calls.tokens)
            used = Usage(
                input=number * (part.tokens(request) + shown),
                output=left * ((calls.reckoned - 1) * calls.tokens + REASON_TOKENS) + thinking,
                reasoning=thinking,
            )
            part.add(rounds, used)

    def _first_request(self, judge: Judge, response: Response) -> ModelRequest:
        persona = self._context.personas[judge.persona]
        return self._parts[judge.model].bound.first_request(self._first_rubric, persona, response)


def _revising(calls: Calls) -> Calls:
    """A revision: as many calls as a reading, and one more where a rating changes."""
    return Calls(calls.fewest, calls.most + 1, calls.reckoned + 1, calls.tokens)


def peer_tokens(plan: PanelPlan, response: Response) -> int:
    """About how many tokens a judge is shown of its peers' readings of a response, in a
    deliberation; 0 where there is none."""
    rules = plan.deliberation
    if rules is None or len(plan.judges) < 2:
        return 0
    reasons = 0
    if rules.reveal != "scores":
        length = {
            bound.id: load_elicitation(bound.elicitation).calls(plan.rubric).tokens
            for bound in plan.models
        }
        reasons = sum(length[judge.model] for judge in plan.judges[1:])
    ratings = None if rules.reveal == "rationales" else _ratings_of(plan.output_rubric)
    peers = [
        Peer(peer_name(judge, plan.personas_by_id) if rules.named else "reader 10", ratings, None)
        for judge in plan.judges[1:]
    ]
    question = question_of(
        plan.rubric, plan.personas[0], response, plan.layout, one_call_per_dimension=False
    )
    return reasons + tokens_in(peer_feedback(_ratings_of(plan.output_rubric), peers, question))


def _ratings_of(rubric: Rubric) -> str:
    return ", ".join(f"{dimension.label} 5" for dimension in rubric.dimensions)


def _reading_of(rubric: Rubric) -> str:
    """About what a judge is shown of one peer."""
    return f"<reader 10 00000000>\n{_ratings_of(rubric)}\n</reader 10 00000000>\n\n"
