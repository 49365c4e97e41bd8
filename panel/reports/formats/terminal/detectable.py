"""The smallest Δ that a sweep can show, in a sentence or two."""

from __future__ import annotations

import math

from rich.console import Console
from rich.text import Text

from persona_panel.experiments.sweep.detectable import DetectableDelta
from persona_panel.results.console import legible
from persona_panel.statistics.core.tested import LEVEL, POWER


def show_detectable(detectable: DetectableDelta, console: Console) -> None:
    """Before a sweep: in standard deviations, and in points where an earlier sweep is given."""
    size = f"{detectable.n_prompts:,} prompts and {detectable.n_cells:,} cells"
    if math.isnan(detectable.effect):
        console.print(Text(_too_few(detectable, size), "yellow"))
        return
    told = (
        f"With {size}, the smallest detectable Δ is {detectable.effect:.2f} standard deviations "
        f"of Δ over prompts: a mean Δ of that size in one cell is significant (p < {LEVEL:g}, "
        f"adjusted for all cells) in {POWER * 100:.0f} % of such sweeps if Δs are normal: "
        "fewer where they look asymmetric."
    )
    if detectable.spread is None:
        told += (
            f" If the standard deviation is 1 point, that is {detectable.effect:.2f} points; "
            "--like FOLDER takes the standard deviations of an earlier sweep."
        )
    else:
        spread = detectable.spread
        told += (
            f" In the sweep of {legible(spread.source or '')}, the standard deviation is "
            f"{spread.median:.2f} points in the median cell ({spread.lowest:.2f} to "
            f"{spread.highest:.2f})"
        )
        told += f"{_judges(detectable)}. The smallest detectable Δ is {_points(detectable)}."
    console.print(Text(told))


def show_detected(detectable: DetectableDelta, console: Console) -> None:
    """After a sweep in which no cell is significant: in points, by how far its Δs spread. That
    there were too few prompts for any is said by the sweep's conclusion."""
    if detectable.spread is None or math.isnan(detectable.effect):
        return
    console.print(
        Text(
            "No cell is significant, which does not show that Δ is 0. The smallest detectable Δ of "
            f"this sweep is {_points(detectable)}: a mean Δ of that size in one cell would be "
            f"significant in {POWER * 100:.0f} % of sweeps with this number of prompts and cells, "
            "if Δs are normal: fewer where they look asymmetric."
        )
    )


def _too_few(detectable: DetectableDelta, size: str) -> str:
    return (
        f"Too few prompts: with {size}, no Δ of any size could be significant. At least "
        f"{detectable.prompts_needed:,} prompts are needed."
    )


def _points(detectable: DetectableDelta) -> str:
    spread = detectable.spread
    assert spread is not None  # noqa: S101
    lowest, median, highest = map(detectable.points, (spread.lowest, spread.median, spread.highest))
    return f"{median:.2f} points in the median cell ({lowest:.2f} to {highest:.2f})"


def _judges(detectable: DetectableDelta) -> str:
    spread = detectable.spread
    assert spread is not None  # noqa: S101
    if spread.n_judges == detectable.n_judges:
        return ""
    if spread.split:
        return f", converted from {spread.n_judges:,} judges to {detectable.n_judges:,}"
    return " with one judge (with more judges it is lower)"
