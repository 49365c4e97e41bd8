"""A set of prompts as a map: alike prompts are near each other. Needs matplotlib."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from matplotlib import rc_context

from persona_panel.results.charts import (
    COLOURS,
    LIGHT,
    LOOK,
    MARKERS,
    PaperFigure,
    label,
    paper_figure,
    plain,
)

_STRATA_SHOWN = len(COLOURS) - 1
_HEIGHT = 4.2
_LABEL_WIDTH = 24
_DPI = 150


@dataclass(frozen=True, slots=True)
class MapPoint:
    """A prompt: its place, its stratum, and the bundle that it was made in."""

    x: float
    y: float
    stratum: str
    bundle: str


def prompt_map(points: Sequence[MapPoint]) -> PaperFigure:
    """Draw the prompts as points, marked by stratum, with arms to the middle of their bundle.

    Of many strata those with the most prompts have a mark of their own.
    """
    with rc_context(LOOK):
        figure = paper_figure(2, _HEIGHT)
        axes = figure.add_subplot()
        for x, y, middle_x, middle_y in _arms(points):
            axes.plot([middle_x, x], [middle_y, y], color=LIGHT, linewidth=0.6, zorder=1)
        counts = Counter(point.stratum for point in points)
        shown = [name for name, _ in counts.most_common(_STRATA_SHOWN)]
        if len(counts) == _STRATA_SHOWN + 1:
            shown = list(counts)
        for place, stratum in enumerate([*shown, None]):
            own = [item for item in points if _group(item, shown) == stratum]
            if not own:
                continue
            named = f"{len(counts) - len(shown)} others" if stratum is None else stratum
            axes.scatter(
                [item.x for item in own],
                [item.y for item in own],
                s=14,
                color=COLOURS[place],
                marker=MARKERS[place],
                label=f"{label(named, _LABEL_WIDTH, 2)} ({len(own):,})",
                zorder=2,
            )
        axes.set_aspect("equal", "datalim")
        axes.set_xticks([])
        axes.set_yticks([])
        axes.set_xlabel("first axis of similarity")
        axes.set_ylabel("second axis of similarity")
        figure.legend(loc="outside lower center", ncols=3, frameon=False)
        figure.caption = (
            f"{len(points):,} prompts of {len(counts):,} strata; alike prompts are near each other "
            "(classical multidimensional scaling of their similarities), and lines lead to the "
            "middle of the prompts of one item or template."
        )
        return plain(figure)


def written_map(points: Sequence[MapPoint]) -> Iterator[tuple[str, bytes]]:
    """Return the map as files: the ending of each, and what is in it."""
    figure = prompt_map(points)
    for ending in ("png", "svg"):
        content = io.BytesIO()
        # Without the time, so that the same set has the same files.
        metadata = {"Date": None} if ending == "svg" else None
        figure.savefig(content, format=ending, dpi=_DPI, metadata=metadata)
        yield ending, content.getvalue()


def _group(point: MapPoint, shown: Sequence[str]) -> str | None:
    return point.stratum if point.stratum in shown else None


def _arms(points: Sequence[MapPoint]) -> Iterator[tuple[float, float, float, float]]:
    bundles: dict[str, list[MapPoint]] = {}
    for point in points:
        bundles.setdefault(point.bundle, []).append(point)
    for own in bundles.values():
        middle_x = sum(item.x for item in own) / len(own)
        middle_y = sum(item.y for item in own) / len(own)
        for entry in own:
            yield entry.x, entry.y, middle_x, middle_y
