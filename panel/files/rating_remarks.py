"""What looks wrong in ratings whose scale nobody has said: remarks, which refuse nothing."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from persona_panel.files.wording import shown, some
from persona_panel.statistics.core.arrays import Array
from persona_panel.statistics.core.display import ALL, counted, general
from persona_panel.statistics.core.table import Ratings

_LEAST = 10
"""Of so many ratings of a rater the range says something of the scale."""


def rating_remarks(ratings: Ratings) -> tuple[str, ...]:
    """Sentences on raters who may be one, and on raters who may have used another scale."""
    found = list(_alike(ratings.raters))
    if not ratings.lower_is_better:
        for d, name in enumerate(ratings.dimensions):
            if name not in ratings.categories:
                found += _two_scales(ratings.scores[:, :, d], ratings.raters, name)
    return tuple(found)


def _alike(raters: tuple[str, ...]) -> Iterator[str]:
    first: dict[str, str] = {}
    for name in raters:
        other = first.setdefault(" ".join(name.casefold().split()), name)
        if other != name:
            yield (
                f"{shown(other)} and {shown(name)} differ in case or spaces alone, and count as "
                "two raters."
            )


def _two_scales(scores: Array, raters: tuple[str, ...], dimension: str) -> Iterator[str]:
    """Two groups of raters of whom the first never goes above half of the highest value of each of
    the others, who go above that half in most of their ratings."""
    there = ~np.isnan(scores)
    used = [column for column in range(len(raters)) if there[:, column].sum() >= _LEAST]
    if len(used) < 2 or not np.nanmin(scores) >= 0:
        return
    highest = {column: float(np.nanmax(scores[:, column])) for column in used}
    order = sorted(used, key=lambda column: highest[column])
    for n in range(1, len(order)):
        low, high = order[:n], order[n:]
        most = highest[low[-1]]
        if highest[high[0]] >= 2 * most and all(
            np.nanmedian(scores[:, column]) > most for column in high
        ):
            on = "" if dimension == ALL else f" on {shown(dimension)}"
            top = max(highest[column] for column in high)
            yield (
                f"Two scales may be in one column{on}: {counted(len(low), 'rater')} "
                f"({some(raters[c] for c in low)}) never went above {general(most)}, and "
                f"{counted(len(high), 'rater')} ({some(raters[c] for c in high)}) went up to "
                f"{general(top)}, most of the time above {general(most)}."
            )
            return
