"""The figures of `fidelity` that a requirement may name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from persona_panel.results.requirements.figures import Figure, FigureKey
from persona_panel.statistics.core.names import ALL
from persona_panel.statistics.fidelity.contrast import FidelityContrast
from persona_panel.statistics.fidelity.verdict import VERDICTS


def fidelity_figures(rows: Sequence[FidelityContrast]) -> list[Figure]:
    """`fidelity[contrast, stratum, dimension]`, a verdict, and of the same `fidelity_ratio`,
    `human_difference` and `panel_difference`, numbers.

    The stratum of all items may be left out, and a dimension where there is one.
    """
    one = len({row.dimension for row in rows}) == 1
    return [figure for row in rows for figure in _of_row(row, one)]


def _of_row(row: FidelityContrast, one_dimension: bool) -> Iterator[Figure]:
    keys = (
        FigureKey(row.contrast, row.contrast.replace("-", " - ")),
        FigureKey(row.stratum, may_be_left_out=row.stratum == ALL),
        FigureKey(row.dimension, may_be_left_out=one_dimension),
    )
    yield Figure("fidelity", keys, word=row.verdict, words=VERDICTS, detail=row.reason or "")
    for name, value, low, high, over in (
        ("fidelity_ratio", row.ratio, row.ratio_ci_low, row.ratio_ci_high, ""),
        ("human_difference", row.human, row.human_ci_low, row.human_ci_high, row.human_over),
        ("panel_difference", row.panel, row.panel_ci_low, row.panel_ci_high, row.panel_over),
    ):
        yield Figure(
            name,
            keys,
            value=value,
            low=low,
            high=high,
            over=f"over {over}" if over else "",
            reason=row.reason or "it has no interval",
            n_prompts=row.n_prompts if row.human_over.startswith("prompts") else row.n_items,
            of_items=not row.human_over.startswith("prompts"),
        )
