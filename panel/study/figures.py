"""The figures of a study as a document, for whoever reads them by a program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from statistics import median
from typing import Any

from persona_panel.study.collection import CollectedStudy, ReadAnswers
from persona_panel.study.kit import Study
from persona_panel.study.packet import StudyKey
from persona_panel.study.reliability import CalibrationAgreement, RepeatReliability


def design_figures(study: Study) -> dict[str, Any]:
    """What a design gives: each figure that differs between raters, texts or pairs with its least
    and its most."""
    design = study.design
    pairs = design.raters_per_pair()
    return {
        "raters": design.settings.raters,
        "tasks": list(design.settings.tasks),
        "prompts": len(design.sizes),
        "texts": sum(design.sizes),
        "sets_per_rater": _ends([len(session) for session in design.sessions]),
        "texts_per_set": _ends(design.texts_per_set()),
        "incomplete_sets": design.incomplete_sets(),
        "per_rater": design.settings.per_rater,
        "rotated_texts_per_rater": _ends(design.rotated_per_rater()),
        "rated_texts_per_rater": _ends(design.rated_per_rater()),
        "texts_per_rater": _ends(design.texts_per_rater()),
        "ratings_per_text": _ends(list(design.ratings_per_text().values())),
        "pairs": len(pairs),
        "pairs_compared": sum(n > 0 for n in pairs.values()),
        "raters_per_pair": _ends(list(pairs.values())),
        "minutes_per_rater": _ends([one.minutes for one in study.packets]),
        "texts_that_name_a_system": [asdict(one) for one in study.naming],
    }


def progress_figures(read: ReadAnswers, found: CollectedStudy) -> dict[str, Any]:
    """Who has answered, and how much is missing."""
    return {
        "missing": sum(one.missing for one in found.progress),
        "raters": [
            {
                "rater": one.rater,
                "file": one.file,
                "expected": one.expected,
                "given": one.given,
                "missing": one.missing,
                "not_assessable": one.not_assessable,
                "reasons_expected": one.reasons_expected,
                "reasons": one.reasons,
                "minutes": round(one.minutes, 1),
                "attention_sets": one.attention,
                "attention_failed": one.attention_failed,
            }
            for one in found.progress
        ],
        "refused": [str(fault) for fault in read.faults],
        "left_aside": list(read.replaced),
    }


def collection_figures(
    key: StudyKey,
    read: ReadAnswers,
    found: CollectedStudy,
    repeats: Sequence[RepeatReliability],
    calibration: Sequence[CalibrationAgreement],
) -> dict[str, Any]:
    """What was collected, how far raters agree with themselves, and on calibration texts."""
    answered = [one.minutes for one in found.progress if one.file is not None]
    return (
        progress_figures(read, found)
        | {
            "median_minutes": round(median(answered), 1) if answered else None,
            "repeat_reliability": [
                {
                    "of": one.of,
                    "pairs": one.n,
                    "exact": one.exact,
                    "within_one": one.within_one,
                    "tau_b": None if one.correlation is None else _value(one.correlation.value),
                    "undefined": None
                    if one.correlation is None
                    else _reason(one.correlation.reason),
                }
                for one in repeats
            ],
            "calibration": [
                {
                    "of": one.of,
                    "texts": one.n_texts,
                    "raters": one.n_raters,
                    "alpha": _value(one.alpha.value),
                    "undefined": _reason(one.alpha.reason),
                }
                for one in calibration
            ],
        }
        | selected_figures(key, found)
    )


def selected_figures(key: StudyKey, found: CollectedStudy) -> dict[str, int]:
    """How many texts `select` drew, and how many of them have no rating; nothing without a draw."""
    if key.inclusion is None:
        return {}
    rated = {f"{one.prompt_id}/{one.response}" for one in found.ratings if one.scores}
    return {"selected": len(key.inclusion), "selected_unrated": len(key.inclusion.keys() - rated)}


def _ends(values: Sequence[int]) -> list[int]:
    return [min(values, default=0), max(values, default=0)]


def _value(value: float) -> float | None:
    return None if value != value else round(value, 6)


def _reason(reason: object) -> str | None:
    return str(reason) if reason else None
