"""What is drawn in a Matplotlib figure, read back from it."""

from __future__ import annotations

from typing import Any

import numpy as np


def points(axis: Any, marker: str = "o") -> list[tuple[float, bool]]:
    """Each point of this marker, from the top: where it lies on the x-axis, and whether it is
    filled."""
    found = [line for line in axis.lines if line.get_marker() == marker and len(line.get_xdata())]
    found.sort(key=lambda line: float(line.get_ydata()[0]))
    return [(float(line.get_xdata()[0]), _filled(line)) for line in found]


def _filled(line: Any) -> bool:
    return bool(line.get_markerfacecolor() != "white")


def thick_lines(axis: Any) -> list[tuple[float, float]]:
    """The ends of each thick line, from the top."""
    found = [line for line in axis.lines if line.get_linewidth() == 2]
    found.sort(key=lambda line: float(line.get_ydata()[0]))
    return [tuple(map(float, line.get_xdata())) for line in found]


def thin_lines(axis: Any) -> list[tuple[float, float]]:
    """The ends of each thin line with ends, from the top."""
    found = [segment for bar in axis.collections for segment in bar.get_segments()]
    found.sort(key=lambda segment: float(segment[0][1]))
    return [(float(np.min(one[:, 0])), float(np.max(one[:, 0]))) for one in found]


def names(axis: Any) -> list[str]:
    """The names of the rows, from the top, as they are drawn."""
    ticks = sorted(zip(axis.get_yticks(), axis.get_yticklabels(), strict=True), key=lambda t: t[0])
    assert axis.yaxis_inverted()
    return [label.get_text() for _, label in ticks]


def legend(figure: Any) -> list[str]:
    """The entries of the legend."""
    return [text.get_text() for one in figure.legends for text in one.get_texts()]
