"""Plain data that travels through a graph: responses, judges, judgments and verdicts, and the
question that a judge is asked about a response or about the responses to one prompt.

Pure, and without LangGraph, so that whoever only plans or reads a run does not import it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, field_validator

from persona_panel.personas import NO_PERSONA, Persona
from persona_panel.rubrics import (
    Comparison,
    Layout,
    Question,
    Rubric,
    Status,
    Usage,
    load_comparing,
)
from persona_panel.rubrics.comparison import Order

_NO_PERSONA = NO_PERSONA.id


class Response(BaseModel):
    """One text to be judged.

    `id` is unique among the responses to the same prompt. `prompt_id` names the
    prompt; left out, it is given when a batch is read. `context` is what the text is
    about besides the prompt (a position that a critique attacks, say). `metadata`
    comes back in the outputs and is never shown to a judge, but for the field that a rubric
    names to be shown in place of the prompt; nor is `system`, the name of the text's author.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str = Field(min_length=1)
    prompt: str
    text: str
    system: str = Field(min_length=1)
    prompt_id: str | None = None
    context: str | None = None
    metadata: Mapping[str, Any] = Field(default_factory=dict)

    @field_validator("prompt", "text")
    @classmethod
    def _is_not_blank(cls, value: str) -> str:
        if not value.strip():
            raise ValueError("is empty")
        return value


def prompt_of(response: Response, rubric: Rubric) -> str:
    """Return the prompt that a question shows: the response's own, or the text of the field that
    the rubric names, where the response has it."""
    field = rubric.item.prompt_from
    if field is None or not has_own_prompt(response, rubric):
        return response.prompt
    return str(response.metadata[field])


def has_own_prompt(response: Response, rubric: Rubric) -> bool:
    """Return whether the response has a text in the field that the rubric shows as the prompt; no,
    where it names none."""
    field = rubric.item.prompt_from
    if field is None:
        return False
    prompt = response.metadata.get(field)
    return isinstance(prompt, str) and bool(prompt.strip())


@dataclass(frozen=True, slots=True)
class Judge:
    """A persona speaking through a model, asked in one way, for the nth time."""

    persona: str
    model: str
    elicitation: str
    replicate: int = 1

    @property
    def has_persona(self) -> bool:
        """Return whether the judge is shown a viewpoint."""
        return self.persona != _NO_PERSONA

    @property
    def id(self) -> str:
        """Return a stable id: the same judge has it in every run."""
        return f"{self.persona}|{self.model}|{self.elicitation}|{self.replicate}"


def controls_among(judges: Iterable[Judge]) -> frozenset[Judge]:
    """Return the judges without a persona where others have one: those are compared with the panel,
    and are no part of it. Where nobody has a persona they are the panel."""
    known = list(judges)
    without = [judge for judge in known if not judge.has_persona]
    return frozenset(without) if len(without) < len(known) else frozenset()


# Not frozen, as one is made for each judgment, and a frozen one is made three times as slowly.
# Nobody changes one all the same.
@dataclass(slots=True)
class Judgment:
    """One judge's judgment of one response in one round.

    `scores` are its ratings by number, `labels` those by category; neither has an entry for
    a dimension that was left unrated.

    In a later round than the first, `changed_because` is what the judge says changed its mind,
    None where it changed nothing or names nothing. `revision_failed` is set where a revision
    failed, to how it ended; the ratings are then those of the round before. `reason_missing` is
    why a judge that changed a rating could not be asked what changed its mind.

    Of a judge that compares, `comparisons` says with which other responses, by id, this one was
    compared where it stood first, and which of the two was preferred: `first`, `second`, `tie`.
    """

    prompt_id: str
    id: str
    system: str
    judge: Judge
    status: Status
    round: int = 1
    scores: Mapping[str, float] = field(default_factory=dict)
    abstained: bool | None = None
    rationale: str | None = None
    raw: str = ""
    off_scale: Mapping[str, float] = field(default_factory=dict)
    usage: Usage = Usage()
    latency_s: float = 0.0
    cached: bool = False
    error: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    changed_because: str | None = None
    revision_failed: Status | None = None
    reason_missing: str | None = None
    comparisons: Mapping[str, str] = field(default_factory=dict)


def without_texts(judgment: Judgment, *, keep_rationale: bool) -> Judgment:
    """Return the judgment without its raw text, and without its rationale unless that is kept."""
    # In the order of the fields, in a seventh of the time of dataclasses.replace: each judgment
    # comes through here.
    return Judgment(
        judgment.prompt_id,
        judgment.id,
        judgment.system,
        judgment.judge,
        judgment.status,
        judgment.round,
        judgment.scores,
        judgment.abstained,
        judgment.rationale if keep_rationale else None,
        "",
        judgment.off_scale,
        judgment.usage,
        judgment.latency_s,
        judgment.cached,
        judgment.error,
        judgment.labels,
        judgment.changed_because,
        judgment.revision_failed,
        judgment.reason_missing,
        judgment.comparisons,
    )


@dataclass(frozen=True, slots=True)
class Summary:
    """A dimension's ratings of one response: mean, standard deviation (n − 1), count.

    `mean` is NaN where nobody rated, `sd` where fewer than two did.
    """

    mean: float
    sd: float
    n: int


@dataclass(frozen=True, slots=True)
class LabelSummary:
    """A dimension's labels of one response.

    `counts` has every category of the scale, in its order. `majority` is the category that
    more judges chose than any other, None where two share the first place or nobody chose;
    `n` judges chose.
    """

    majority: str | None
    counts: Mapping[str, int]
    n: int

    @property
    def shares(self) -> dict[str, float]:
        """Return each category's share of the judges that chose, NaN where nobody did."""
        return {name: count / self.n if self.n else math.nan for name, count in self.counts.items()}


@dataclass(frozen=True, slots=True)
class Verdict:
    """The panel's aggregate for one response.

    `dimensions` has those that are rated by numbers, `labels` those by categories.
    `composite` is the rubric's: unless it names another, the unweighted mean of the means
    in `dimensions`, NaN where one of them has no rating. `n_judges` counts the judges that
    scored, out of `n_asked`, and `n_unreliable` those among them whose ratings the rubric
    keeps out of the composite. `abstain_share` is the share that said the response declines
    to engage, among the judges that answered (NaN where none did).
    """

    prompt_id: str
    id: str
    system: str
    composite: float
    dimensions: dict[str, Summary]
    n_judges: int
    n_asked: int
    abstain_share: float
    labels: dict[str, LabelSummary] = field(default_factory=dict)
    n_unreliable: int = 0


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


def judges_of(
    personas: Sequence[str],
    models: Sequence[tuple[str, str]],
    replicates: int,
    *,
    plain_judge: bool,
    deterministic: bool = False,
) -> tuple[Judge, ...]:
    """Return the judges of a plan, by the ids of its personas and of its models with their
    elicitations; see `PanelPlan.judges`. A plain judge is asked as often as all personas together,
    where another answer can differ: not where models are `deterministic`."""
    several = plain_judge and not deterministic
    of_plain = replicates * (len(personas) - 1) if several else replicates
    return tuple(
        Judge(persona, model, elicitation, replicate)
        for model, elicitation in models
        for persona in personas
        for replicate in range(1, (of_plain if persona == NO_PERSONA.id else replicates) + 1)
    )


def judges_in(document: Mapping[str, Any]) -> tuple[Judge, ...]:
    """Return the judges of a run, by its run.json, in the panel's order.

    Raises:
        LookupError, TypeError: it is none that a run writes.
    """
    return judges_of(
        [persona["id"] for persona in document["personas"]],
        [(model["id"], model["elicitation"]) for model in document["models"]],
        document["replicates"],
        plain_judge=document["plain_judge"],
        deterministic=document.get("deterministic", False),
    )
