"""The key points of judges' rationales, as keypoints.json in the run's folder has them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from persona_panel.experiments.keypoints.extracting import NAME
from persona_panel.experiments.keypoints.report import rationales_digest, rationales_of
from persona_panel.files.errors import PanelError
from persona_panel.reports.page.kept_sections import KeptKeyPoints, kept_section
from persona_panel.results.axis import Axis
from persona_panel.runs.run import Run

_QUOTED = 3
_STANCES = {"pro": "For the text", "con": "Against the text"}


@dataclass(frozen=True, slots=True)
class KeyPointsSection:
    """What the page shows of key points.

    Attributes:
        conclusion: sentences.
        model: which model read the rationales.
        systems: their names.
        tables: of each stance a caption, and lines: a key point as keypoints.json has it, its
            shares by system, and quotations.
        axis: of shares.
        outdated: whether the run's rationales are others now.
    """

    conclusion: Sequence[str]
    model: str
    systems: Sequence[str]
    tables: Sequence[
        tuple[
            str,
            Sequence[tuple[Mapping[str, Any], Sequence[Mapping[str, Any]], Sequence[Any]]],
        ]
    ]
    axis: Axis
    outdated: bool


def key_points_section(run: Run, folder: Path) -> KeyPointsSection | None:
    """The key points in a run's folder, None where their file cannot be read."""
    try:
        found = kept_section(folder / NAME, KeptKeyPoints)
        by_system = found["shares"]["system"]
        systems = list(dict.fromkeys(one["group"] for one in by_system))
        shares = {(one["group"], one["stance"], one["key_point"]): one for one in by_system}
        tables = []
        for stance, caption in _STANCES.items():
            lines = [
                (
                    one,
                    [shares[name, stance, one["text"]] for name in systems],
                    one["quotations"][:_QUOTED],
                )
                for one in found["key_points"]
                if one["stance"] == stance
            ]
            if lines:
                tables.append((caption, lines))
        outdated = not _is_of(run, found["rationales"])
        axis = Axis(0.0, 1.0)
        return KeyPointsSection(
            found["conclusion"], found["model"], systems, tables, axis, outdated
        )
    except (OSError, ValueError, LookupError, TypeError):
        return None


def _is_of(run: Run, written: Mapping[str, Any]) -> bool:
    """Whether the run still has the rationales that were read."""
    try:
        rationales = rationales_of(run)
    except PanelError:
        return False
    return bool(rationales_digest(rationales[: written["n"]]) == written["sha256"])
