"""A judge's dialogue about a response, as the state machines hold it: it needs no LangGraph, which
takes long to import."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from typing import NamedTuple

from persona_panel.graphs.aggregate import aggregate
from persona_panel.graphs.context import (
    Abort,
    Answered,
    GraphContext,
    Unanswered,
    groups_of,
    without_corrected,
)
from persona_panel.graphs.deliberation import (
    Deliberation,
    has_changed,
    latest_judgments,
    may_revise,
    peers_of,
)
from persona_panel.graphs.records import Judge, Judgment, Response, Verdict, question_of
from persona_panel.rubrics import (
    Dialogue,
    ModelRequest,
    ModelResponse,
    ParsedJudgment,
    Question,
    Usage,
    dialogue_of,
    load_elicitation,
)
from persona_panel.rubrics.wording import Peer, ask_why, peer_feedback, ratings_in_words

_NOTHING = Usage()


class _NotKept(Abort):
    """A model must be asked."""


async def verdict_of_kept(key: str, context: GraphContext) -> Verdict | None:
    """Return the verdict that the judging graph would come to, where every reply that it takes is
    kept, and tell of the judgments; None, and nothing is told, where one is not, where its replies
    lead to no rating, or where `context.kept` is None.
    """
    if context.kept is None or context.graph is not None or context.deliberation is not None:
        return None
    response, kept, n_kept = context.responses[key], context.kept, 0

    async def ask(judge: Judge, about: Response, request: ModelRequest) -> ModelResponse:
        nonlocal n_kept
        if (reply := kept.reply(judge, about, request)) is None:
            raise _NotKept
        n_kept += 1
        return reply

    looking = replace(context, ask=ask, forget=lambda *_: None)
    judgments = []
    try:
        for judge in chain.from_iterable(groups_of(context.judges, each=False)):
            judgments.append(await ask_judge(judge, response, looking))
            if not may_revise(judgments[-1]):
                return None
    except _NotKept:
        return None
    kept.used(n_kept)
    for judgment in judgments:
        context.on_judgment(judgment)
    return aggregate(judgments, context.output_rubric)


async def ask_judge(judge: Judge, response: Response, context: GraphContext) -> Judgment:
    """Hold one judge's whole dialogue about one response.

    Never raises but for cancellation and `Abort`: a judge that got no answer is a
    judgment whose status says so.
    """
    dialogue = _dialogue(judge, _question(judge, response, context), context)
    return await _judgment_of(dialogue, judge, response, context)


async def ask_revision(
    judge: Judge, response: Response, judgments: Sequence[Judgment], context: GraphContext
) -> Judgment:
    """Have one judge read again after it has seen the others' judgments; a judge that changes a
    rating is asked what changed its mind.

    Raises as `ask_judge` does. A revision that fails leaves the earlier ratings, and sets
    `revision_failed`.
    """
    before, rubric = latest_judgments(judgments)[judge], context.output_rubric
    rules = context.deliberation or Deliberation(rounds=1)
    own = ratings_in_words(before.scores, before.labels, before.abstained, rubric)
    peers: Sequence[Peer] = peers_of(
        before, judgments, rules, rubric, context.personas, context.seed
    )
    if context.peers is not None:
        peers = context.peers(response, peers)
    question = _question(judge, response, context)
    question = replace(question, peer_feedback=peer_feedback(own, peers, question))
    dialogue = _dialogue(judge, question, context)
    after = await _judgment_of(dialogue, judge, response, context)
    rationale = after.rationale or before.rationale
    after = replace(after, round=before.round + 1, rationale=rationale)
    if not may_revise(after):
        return replace(
            after,
            status=before.status,
            scores=before.scores,
            labels=before.labels,
            abstained=before.abstained,
            revision_failed=after.status,
        )
    if not has_changed(before, after, rubric):
        return after
    revised = ratings_in_words(after.scores, after.labels, after.abstained, rubric)
    why = await _judgment_of(ask_why(question, revised), judge, response, context)
    return replace(
        after,
        changed_because=why.rationale,
        reason_missing=None if why.status == "scored" else f"{why.status}: {why.error}",
        usage=after.usage + why.usage,
        latency_s=after.latency_s + why.latency_s,
        cached=after.cached and why.cached,
    )


def _question(judge: Judge, response: Response, context: GraphContext) -> Question:
    separately = judge.model in context.one_call_per_dimension
    persona = context.personas[judge.persona]
    return question_of(
        context.rubric, persona, response, context.layout, one_call_per_dimension=separately
    )


def _dialogue(judge: Judge, question: Question, context: GraphContext) -> Dialogue:
    return dialogue_of(
        load_elicitation(judge.elicitation),
        question,
        one_dimension_per_call=context.one_dimension_per_call,
    )


async def _judgment_of(
    dialogue: Dialogue, judge: Judge, response: Response, context: GraphContext
) -> Judgment:
    """Turn the result of a judge's dialogue into a judgment."""
    reading, usage, latency_s, cached = await run_dialogue(dialogue, judge, response, context)
    # By place: Python gathers names in a dictionary first, which takes as long again.
    return Judgment(
        response.prompt_id or "",
        response.id,
        response.system,
        judge,
        reading.status,
        1,
        reading.scores,
        reading.abstained,
        reading.rationale,
        reading.raw,
        reading.off_scale,
        usage,
        latency_s,
        cached,
        reading.error,
        reading.labels,
    )


class DialogueResult(NamedTuple):
    """The result of a dialogue, and what it cost; `cached` if every reply was kept."""

    reading: ParsedJudgment
    usage: Usage
    latency_s: float
    cached: bool


async def run_dialogue(
    dialogue: Dialogue, judge: Judge, response: Response, context: GraphContext
) -> DialogueResult:
    """Hold a dialogue with a judge; its replies are kept with those about this response.

    Never raises but for cancellation and `Abort`.
    """
    usage, latency, cached = _NOTHING, 0.0, True
    answered: list[Answered] = []
    try:
        request = next(dialogue)
        while True:
            reply = await context.ask(judge, response, request)
            usage = usage + reply.usage if answered else reply.usage
            answered.append((request, reply))
            latency += reply.latency_s
            cached = cached and reply.cached
            request = dialogue.send(reply)
    except StopIteration as done:
        reading = done.value
    except Unanswered as error:
        # What was answered before is the beginning of an exchange that can still end well.
        unread = ParsedJudgment(error.status, error=str(error))
        return DialogueResult(unread, usage, latency, cached and bool(answered))
    except Abort:
        raise
    # A judge must not bring down its siblings, whatever a model or a rubric does.
    except Exception as error:
        reading = ParsedJudgment("failed", error=f"{type(error).__name__}: {error}")
    finally:
        dialogue.close()
    if answered and reading.status not in ("scored", "abstained"):
        unusable = answered[reading.n_usable :]
        context.forget(judge, response, without_corrected(unusable))
    return DialogueResult(reading, usage, latency, cached and bool(answered))
