"""What a judge is asked: about one response, or about the responses to one prompt.

Pure, and without LangGraph, so that whoever only plans or reads a run does not import it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256

from persona_panel.graphs.records import Judge, Response, prompt_of
from persona_panel.personas import Persona
from persona_panel.rubrics import Comparison, Layout, Question, Rubric, load_comparing
from persona_panel.rubrics.comparison import Order


def question_of(
    rubric: Rubric,
    persona: Persona,
    response: Response,
    layout: Layout,
    *,
    one_call_per_dimension: bool,
) -> Question:
    """Return what a persona is asked about a response: never who wrote it."""
    return Question(
        rubric,
        persona.label,
        persona.description,
        prompt_of(response, rubric),
        response.text,
        response.context,
        layout,
        one_call_per_dimension=one_call_per_dimension,
    )


@dataclass(frozen=True, slots=True)
class ComparisonTask:
    """Responses in the order in which they stand before a judge; the first is the one with
    which the replies are kept."""

    order: Order
    responses: tuple[Response, ...]
    comparison: Comparison


def comparison_tasks(
    rubric: Rubric,
    persona: Persona,
    judge: Judge,
    responses: Sequence[Response],
    layout: Layout,
    seed: int,
) -> Iterator[ComparisonTask]:
    """Yield what a judge is asked about the responses to a prompt: never who wrote them.

    The order of `responses` makes no difference: an order numbers them by their ids, and
    what is drawn by lot depends on the seed, the prompt and the judge.
    """
    ordered = by_id(responses)
    for order in load_comparing(judge.elicitation).orders(
        len(ordered), _drawn(seed, ordered[0].prompt, judge.id)
    ):
        shown = tuple(ordered[i] for i in order)
        yield ComparisonTask(
            order,
            shown,
            Comparison(
                rubric=rubric,
                persona_label=persona.label,
                persona_description=persona.description,
                prompt=prompt_of(shown[0], rubric),
                texts=tuple(response.text for response in shown),
                contexts=tuple(response.context for response in shown),
                layout=layout,
            ),
        )


def by_id(responses: Sequence[Response]) -> list[Response]:
    """Return responses in the order of their ids."""
    return sorted(responses, key=lambda response: response.id)


def _drawn(seed: int, prompt: str, judge: str) -> int:
    document = json.dumps([seed, prompt, judge])
    return int.from_bytes(sha256(document.encode()).digest()[:8])
