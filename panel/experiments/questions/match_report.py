"""What matching questions with references comes to: figures by system, and every match."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Any

from persona_panel.experiments.questions.diversity import compression_diversity, ngram_diversity
from persona_panel.experiments.questions.matching import (
    Match,
    MatchQuality,
    label_kappa,
    match_quality,
)
from persona_panel.experiments.questions.references import given_label
from persona_panel.graphs import Response
from persona_panel.statistics.core.statistic import Statistic


@dataclass(frozen=True, slots=True)
class OverRuns:
    """A system's score over several runs of it.

    Attributes:
        scores: of each run, by its name; NaN where it has none.
        mean, sd: of the scores that there are; `sd` (n − 1) is NaN of a single one.
    """

    scores: Mapping[str, float]
    mean: float
    sd: float


@dataclass(frozen=True, slots=True)
class Diversity:
    """How diverse a set of questions is; see `persona_panel.experiments.questions.diversity`.

    Attributes:
        n: how many questions.
        ngram, compression: NaN where there are none.
    """

    n: int
    ngram: float
    compression: float

    @classmethod
    def of(cls, texts: Sequence[str]) -> Diversity:
        return cls(len(texts), ngram_diversity(texts), compression_diversity(texts))

    def document(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            "ngram": _rounded(self.ngram),
            "compression": _rounded(self.compression),
            "n": self.n,
        }


@dataclass(frozen=True, slots=True)
class MatchReport:
    """Matches, and what follows from them.

    Attributes:
        systems: the quality of each system's questions.
        diversity: of each system's questions, by its name.
        useful_diversity: of those among them that are useful: a set may be diverse because half of
            it is beside the point.
        runs: the score over runs, of each system whose questions name several.
        kappa: Cohen's kappa of the matched labels with those in the file; None where the
            file has none.
        matches: one for each question, in the order of the file.
        texts: of the questions, likewise.
    """

    systems: Sequence[MatchQuality]
    diversity: Mapping[str, Diversity]
    useful_diversity: Mapping[str, Diversity]
    runs: Mapping[str, OverRuns]
    kappa: Statistic | None
    matches: Sequence[Match]
    texts: Sequence[str]

    def document(self) -> dict[str, Any]:
        """The report as JSON has it; a NaN is written as null."""
        return {
            "systems": [
                {
                    "system": one.system,
                    "score": _rounded(one.score),
                    "labels": one.labels,
                    "not_evaluable": one.not_evaluable,
                    "not_evaluable_share": _rounded(one.not_evaluable_share),
                    "missing": one.missing,
                    "by_intervention": {
                        name: _rounded(score) for name, score in one.by_intervention.items()
                    },
                    "diversity": self.diversity[one.system].document(),
                    "useful_diversity": self.useful_diversity[one.system].document(),
                    "runs": self._runs(one.system),
                }
                for one in self.systems
            ],
            "kappa": None
            if self.kappa is None
            else {
                "value": _rounded(self.kappa.value),
                "n": self.kappa.n_items,
                "reason": None if self.kappa.reason is None else str(self.kappa.reason),
            },
            "matches": [
                {
                    "prompt_id": one.prompt_id,
                    "id": one.id,
                    "system": one.system,
                    "question": text,
                    "label": one.label,
                    "reference": None if one.reference is None else one.reference.id,
                    "reference_text": None if one.reference is None else one.reference.text,
                    "similarity": _rounded(one.similarity),
                    "error": one.error,
                }
                for one, text in zip(self.matches, self.texts, strict=True)
            ],
        }

    def _runs(self, system: str) -> dict[str, Any] | None:
        if (found := self.runs.get(system)) is None:
            return None
        scores = {name: _rounded(score) for name, score in found.scores.items()}
        return {"mean": _rounded(found.mean), "sd": _rounded(found.sd), "scores": scores}


def match_report(questions: Sequence[Response], matches: Sequence[Match]) -> MatchReport:
    """The report on the matches of these questions. A question's run is its field `run`, where it
    has one."""
    texts: dict[str, list[str]] = {}
    useful: dict[str, list[str]] = {}
    runs: dict[str, dict[str, list[Match]]] = {}
    for question, match in zip(questions, matches, strict=True):
        texts.setdefault(question.system, []).append(question.text)
        own = useful.setdefault(question.system, [])
        if match.label == "useful":
            own.append(question.text)
        if (run := question.metadata.get("run")) is not None:
            runs.setdefault(question.system, {}).setdefault(str(run), []).append(match)
    labels = [given_label(question) for question in questions]
    return MatchReport(
        match_quality(matches),
        {name: Diversity.of(own) for name, own in texts.items()},
        {name: Diversity.of(own) for name, own in useful.items()},
        {name: over_runs(own) for name, own in runs.items() if len(own) > 1},
        label_kappa([one.label for one in matches], labels) if any(labels) else None,
        matches,
        [question.text for question in questions],
    )


def over_runs(matches: Mapping[str, Sequence[Match]]) -> OverRuns:
    """A system's score over runs, from the matches of each."""
    scores = {name: match_quality(own)[0].score for name, own in matches.items()}
    known = [score for score in scores.values() if not math.isnan(score)]
    return OverRuns(
        scores,
        fmean(known) if known else math.nan,
        stdev(known) if len(known) > 1 else math.nan,
    )


def _rounded(value: float) -> float:
    return round(value, 6)
