"""Matching the questions of a file with references, by one of three measures."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Literal

from persona_panel.calls.budget import Caps
from persona_panel.experiments.questions.asking import ANSWER_TOKENS, asking_which
from persona_panel.experiments.questions.calling import answers, estimate_answers
from persona_panel.experiments.questions.matching import Match, nearest
from persona_panel.experiments.questions.references import Reference, by_intervention
from persona_panel.experiments.questions.similarity import chrf_similarity, sentence_similarity
from persona_panel.graphs import Response
from persona_panel.models.config import ModelConfig
from persona_panel.rubrics import ModelRequest, ModelResponse
from persona_panel.runs.judging.cost_estimate import CostEstimate
from persona_panel.statistics.core.arrays import Array

Similarity = Literal["similarity", "chrf"]

MEASURES: Mapping[str, Callable[[Sequence[str], Sequence[str]], Array]] = {
    "similarity": sentence_similarity,
    "chrf": chrf_similarity,
}


def match_by_measure(
    generated: Sequence[Response],
    references: Mapping[str, Sequence[Reference]],
    by: Similarity,
    threshold: float,
) -> list[Match]:
    """Each question's nearest reference of the same intervention, in the order of the input.

    Raises:
        ConfigurationError: the extra `questions` is not installed.
    """
    found: dict[tuple[str, str], Match] = {}
    for prompt_id, questions in by_intervention(generated).items():
        own = references[prompt_id]
        similarities = MEASURES[by](
            [question.text for question in questions], [reference.text for reference in own]
        )
        places = nearest(similarities, threshold)
        for question, place, row in zip(questions, places, similarities, strict=True):
            found[prompt_id, question.id] = Match(
                prompt_id,
                question.id,
                question.system,
                None if place is None else own[place],
                float(row.max()),
            )
    return [found[question.prompt_id or "", question.id] for question in generated]


async def match_by_model(
    generated: Sequence[Response],
    references: Mapping[str, Sequence[Reference]],
    model: ModelConfig,
    caps: Caps,
) -> list[Match]:
    """The reference that a model takes each question to repeat, in the order of the input.

    Raises:
        ConfigurationError, RunStopped: as `persona_panel.experiments.questions.calling.answers`.
    """
    lists = [references[question.prompt_id or ""] for question in generated]
    dialogues = _dialogues(generated, references)
    return [
        Match(
            question.prompt_id or "",
            question.id,
            question.system,
            None if answer.value is None else own[answer.value],
            error=answer.error,
        )
        for question, own, answer in zip(
            generated, lists, await answers(model, dialogues, caps), strict=True
        )
    ]


def estimate_by_model(
    generated: Sequence[Response],
    references: Mapping[str, Sequence[Reference]],
    model: ModelConfig,
) -> CostEstimate:
    """What `match_by_model` would take; calls nothing.

    Raises:
        ConfigurationError: the model cannot be had.
    """
    return estimate_answers(model, _dialogues(generated, references), ANSWER_TOKENS)


def _dialogues(
    generated: Sequence[Response], references: Mapping[str, Sequence[Reference]]
) -> list[Generator[ModelRequest, ModelResponse, int | None]]:
    return [
        asking_which(
            question.text, [reference.text for reference in references[question.prompt_id or ""]]
        )
        for question in generated
    ]
