"""Biases of the panel and its judges, as bias.json in the run's folder has them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from persona_panel.experiments.audit.bias_document import NAME, judgments_digest
from persona_panel.reports.page.kept_sections import KeptBias, kept_section
from persona_panel.results.axis import Axis
from persona_panel.results.conclusions.bias import are_of_comparisons
from persona_panel.runs.units import POINTS, SHARES_OF_RESPONSES
from persona_panel.statistics.core.names import ALL

_CAPTIONS = {
    "length_correlation": "correlation with length, within systems",
    "self_preference": "own-family bonus",
    "position_bias": "position bias: wins of the first less wins of the second, as a share",
    "score_entropy": "entropy of the scores, bits",
    "mode_share": "share of the commonest score",
    "persona_share": "share of the variance between personas",
    "leniency": "leniency",
}
_OF_SCORES = frozenset({"self_preference", "leniency"})
"""What is in the unit of scores."""
_AT_0 = frozenset({"length_correlation", "self_preference", "position_bias", "leniency"})
"""Of which 0 is no bias."""
_JUDGES = 12


@dataclass(frozen=True, slots=True)
class BiasTable:
    """Lines of one statistic as bias.json has them, the panel's or those furthest from 0 first.

    Attributes:
        n_more: how many are left out.
        about_zero: whether 0 is no bias.
    """

    caption: str
    lines: Sequence[Mapping[str, Any]]
    n_more: int
    axis: Axis
    about_zero: bool


@dataclass(frozen=True, slots=True)
class BiasSection:
    """What the page shows of an audit of bias.

    Attributes:
        outdated: whether the run's judgments are others now.
    """

    conclusion: Sequence[str]
    tables: Sequence[BiasTable]
    outdated: bool


def bias_section(folder: Path) -> BiasSection | None:
    """The audit of bias in a run's folder, None where its file cannot be read."""
    try:
        found = kept_section(folder / NAME, KeptBias)
        dimensions = {row["dimension"] for row in found["rows"]}
        # Of all dimensions together, or of the only one; a position has none.
        main = (ALL,) if len(dimensions - {ALL}) > 1 else (*dimensions, ALL)
        compared = are_of_comparisons((row["statistic"], row["reason"]) for row in found["rows"])
        unit = (SHARES_OF_RESPONSES if compared else POINTS).several
        tables = []
        for name, caption in _CAPTIONS.items():
            rows = [
                row
                for row in found["rows"]
                if row["statistic"] == name
                and row["dimension"] in main
                and row["value"] is not None
            ]
            if rows:
                told = f"{caption}, {unit}" if name in _OF_SCORES else caption
                tables.append(_table(name, told, rows))
        return BiasSection(
            found["conclusion"], tables, judgments_digest(folder) != found["judgments"]
        )
    except (OSError, ValueError, LookupError, TypeError):
        return None


def _table(name: str, caption: str, rows: Sequence[Mapping[str, Any]]) -> BiasTable:
    order = sorted(rows, key=lambda row: (row["group"] != ALL, -abs(row["value"])))
    shown = order[:_JUDGES]
    values = [
        row[end] for row in shown for end in ("value", "ci_low", "ci_high") if row[end] is not None
    ]
    zero = name in _AT_0
    axis = Axis.about_zero(values) if zero else Axis.of((0.0, max(1.0, *values)), values)
    return BiasTable(caption, shown, len(order) - len(shown), axis, zero)
