"""The quality filter: what models say of each prompt by a rubric, and how many pass it. Pure."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import replace

from persona_panel.experiments.prompt_sets.candidates import CandidatePrompt, DroppedPrompt
from persona_panel.experiments.prompt_sets.spec import QualityFilter
from persona_panel.files.errors import ConfigurationError
from persona_panel.graphs import Response
from persona_panel.graphs.questions import question_of
from persona_panel.personas import NO_PERSONA
from persona_panel.rubrics import (
    CategoryScale,
    ModelRequest,
    ModelResponse,
    ParsedJudgment,
    Rubric,
    load_elicitation,
)
from persona_panel.rubrics.replies import Unreadable

QUALITY = "quality"
PURPOSE = "A question on which people and models write an essay."
_ELICITATION = "dimensions"


def refuse_unpassable(rubric: Rubric, wanted: QualityFilter) -> None:
    """See that the rubric's ratings say who passes.

    Raises:
        ConfigurationError: it has scales of numbers, and it is not said which number passes.
    """
    numeric = [one.id for one in rubric.numeric]
    if numeric and wanted.at_least is None:
        raise ConfigurationError(
            f"the rubric {rubric.id!r} rates {numeric[0]} by numbers, and quality says nothing of "
            "which pass; add at_least, or take a rubric of categories, whose first one passes"
        )


def judging_quality(
    prompt: CandidatePrompt, rubric: Rubric
) -> Generator[ModelRequest, ModelResponse, ParsedJudgment]:
    """Have a model rate a prompt by a rubric, as a judge without a persona rates a response.

    Raises:
        Unreadable: neither answer holds a rating.
    """
    response = Response(id="prompt", prompt=PURPOSE, text=prompt.text, system="unknown")
    question = question_of(
        rubric, NO_PERSONA, response, "shared-prefix", one_call_per_dimension=False
    )
    found = yield from load_elicitation(_ELICITATION).dialogue(question)
    if found.status in ("unparsed", "truncated"):
        # So that it is asked for again by the next run.
        raise Unreadable(str(found.error))
    return found


def vote_in(
    judgment: ParsedJudgment | None, rubric: Rubric, wanted: QualityFilter
) -> dict[str, bool] | None:
    """Which criteria a model finds met; None where it gave no rating that could be used."""
    if judgment is None or judgment.status != "scored":
        return None
    vote: dict[str, bool] = {}
    for dimension in rubric.dimensions:
        if isinstance(dimension.scale, CategoryScale):
            vote[dimension.id] = judgment.labels.get(dimension.id) == dimension.scale.names[0]
        else:
            score, least = judgment.scores.get(dimension.id), wanted.at_least
            vote[dimension.id] = score is not None and least is not None and score >= least
    return vote


def filtered(
    candidates: Sequence[CandidatePrompt],
    votes: Mapping[str, Mapping[str, Mapping[str, bool] | None]],
    needed: int,
) -> tuple[list[CandidatePrompt], list[DroppedPrompt]]:
    """The candidates that enough models pass, and the others with what they lack.

    Args:
        votes: by a candidate's id, and then by model.
        needed: how many models must pass a candidate: find all criteria met.
    """
    kept, dropped = [], []
    for one in candidates:
        own = votes[one.id]
        given = {model: vote for model, vote in own.items() if vote is not None}
        passed = sum(all(vote.values()) for vote in given.values())
        judged = replace(one, votes=own, passed=passed)
        if passed >= needed:
            kept.append(judged)
            continue
        failed = [
            f"{criterion} ({', '.join(no)})"
            for criterion in _criteria(given)
            if (no := [model for model, vote in given.items() if not vote[criterion]])
        ]
        silent = [model for model, vote in own.items() if vote is None]
        told = [f"{passed} of {len(own)} models pass it, {needed} needed"]
        told += [f"not met: {'; '.join(failed)}"] if failed else []
        told += [f"no usable answer: {', '.join(silent)}"] if silent else []
        kind = "not judged" if not given else "not enough models pass it"
        dropped.append(DroppedPrompt(QUALITY, "prompt", kind, "; ".join(told), judged))
    return kept, dropped


def _criteria(votes: Mapping[str, Mapping[str, bool]]) -> list[str]:
    return list(next(iter(votes.values()), {}))
