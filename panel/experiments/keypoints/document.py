"""Key points as keypoints.json has them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from persona_panel.experiments.keypoints.conclusion import key_points_conclusion
from persona_panel.experiments.keypoints.report import KeyPointGroups, KeyPointReport
from persona_panel.files.documents import json_number
from persona_panel.statistics.sources import GroupShare, ShareDifference

_FIGURES = ("share", "ci_low", "ci_high", "difference", "p", "p_adjusted")


def key_points_document(report: KeyPointReport) -> dict[str, Any]:
    """What keypoints.json holds; what is undefined is null."""
    return {
        "conclusion": key_points_conclusion(report),
        "model": report.model,
        "rationales": {
            "n": report.rationales,
            "read": report.read,
            "missing": dict(report.missing),
            "sha256": report.digest,
        },
        "points": {
            "n": report.points,
            "dropped_without_quotation": report.unquoted,
            "calls_without_answer": report.unmerged,
        },
        "key_points": [
            {
                "text": one.text,
                "stance": one.stance,
                **_figures(one.share, "group", "feature"),
                "quotations": [asdict(quotation) for quotation in one.quotations],
            }
            for one in report.key_points
        ],
        "shares": _by_kind(report, report.shares),
        "pro_share_of_points": {
            kind: [_figures(one, "feature") for one in found] for kind, found in report.pro.items()
        },
        "differences": [
            {**_of(report, one), **_figures(one, "feature")} for one in report.differences
        ],
    }


def _by_kind(
    report: KeyPointReport, shares: Mapping[KeyPointGroups, Sequence[GroupShare]]
) -> dict[str, Any]:
    return {
        kind: [{**_of(report, one), **_figures(one, "feature")} for one in found]
        for kind, found in shares.items()
    }


def _of(report: KeyPointReport, one: GroupShare | ShareDifference) -> dict[str, str]:
    """The key point that a figure is of: those for and against may have the same words."""
    key_point = report.key_points[one.feature]
    return {"key_point": key_point.text, "stance": key_point.stance}


def _figures(one: GroupShare | ShareDifference, *left_out: str) -> dict[str, Any]:
    return {
        name: json_number(value) if name in _FIGURES else value
        for name, value in asdict(one).items()
        if name not in left_out
    }
