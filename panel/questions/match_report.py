"""What matching questions with references comes to: figures by system, and every match."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from graphs import Response
from panel.questions.diversity import compression_diversity, ngram_diversity
from panel.questions.matching import Match, MatchQuality, label_kappa, match_quality
from panel.questions.references import label_of
from panel.statistics.core.statistic import Statistic


@dataclass(frozen=True, slots=True)
class MatchReport:
    """Matches, and what follows from them.

    Attributes:
        systems: the quality of each system's questions.
        ngram_diversity, compression_diversity: of each system's questions, by its name.
        kappa: Cohen's kappa of the matched labels with those in the file; None where the
            file has none.
        matches: one for each question, in the order of the file.
    """

    systems: Sequence[MatchQuality]
    ngram_diversity: Mapping[str, float]
    compression_diversity: Mapping[str, float]
    kappa: Statistic | None
    matches: Sequence[Match]

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
                    "diversity": {
                        "ngram": _rounded(self.ngram_diversity[one.system]),
                        "compression": _rounded(self.compression_diversity[one.system]),
                    },
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
                    "label": one.label,
                    "reference": None if one.reference is None else one.reference.id,
                    "similarity": _rounded(one.similarity),
                    "error": one.error,
                }
                for one in self.matches
            ],
        }


def match_report(questions: Sequence[Response], matches: Sequence[Match]) -> MatchReport:
    """The report on the matches of these questions."""
    texts: dict[str, list[str]] = {}
    for question in questions:
        texts.setdefault(question.system, []).append(question.text)
    labels = [label_of(question) for question in questions]
    return MatchReport(
        match_quality(matches),
        {name: ngram_diversity(own) for name, own in texts.items()},
        {name: compression_diversity(own) for name, own in texts.items()},
        label_kappa([one.label for one in matches], labels) if any(labels) else None,
        matches,
    )


def _rounded(value: float) -> float:
    return round(value, 6)
