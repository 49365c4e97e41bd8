"""The scales of people's ratings: as they are given, or the panel's; what lies off them is listed
and refused."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np

from persona_panel.files.errors import Fault, InputError
from persona_panel.files.wording import did_you_mean, shown, some
from persona_panel.statistics.core.display import ALL, COMPOSITE, counted, general
from persona_panel.statistics.core.table import Ratings

Ends = tuple[float, float]
GivenScale = Ends | Mapping[str, Ends]
"""The lowest and the highest value of all ratings, or of those on each dimension."""

_MOST_LISTED = 20


def with_scales(ratings: Ratings, scale: GivenScale, file: str, option: str) -> Ratings:
    """Ratings whose scales are given.

    Raises:
        InputError: a dimension is not there, an end is not above the other, or ratings lie outside;
            lists them.
    """
    numeric = ratings.numeric().dimensions
    given = dict(scale) if isinstance(scale, Mapping) else dict.fromkeys(numeric, scale)
    faults = []
    for name, (low, high) in given.items():
        if name not in numeric:
            expected = f"one of {some(numeric, 12)}{did_you_mean(name, numeric)}"
            faults.append(Fault(file, f"the dimension {shown(name)}", expected, field=option))
        elif not low < high:
            found = f"{general(low)} to {general(high)}"
            faults.append(Fault(file, found, "the lowest value first", field=option))
    if ratings.lower_is_better:
        faults.append(Fault(file, "ranks", "scores: ranks have no scale", field=option))
    if not faults:
        faults = off_scale(ratings, given, file, f"the scale that {option} gives")
    if faults:
        raise InputError(faults)
    ends = {name: (float(low), float(high)) for name, (low, high) in given.items()}
    return replace(ratings, scales={**ratings.scales, **ends})


def off_scale(
    ratings: Ratings,
    scales: Mapping[str, Ends],
    file: str,
    which: str,
    items: Iterable[str] | None = None,
) -> list[Fault]:
    """The ratings that lie outside of scales, each with its line, rater and item.

    Args:
        scales: by dimension of these ratings.
        which: what the scale is, for the faults.
        items: what the items are called in the file, in their order.
    """
    lines = ratings.origin.lines if ratings.origin is not None else {}
    names = tuple(items or ratings.items)
    numeric = [name for name in ratings.dimensions if name not in ratings.categories]
    faults: list[Fault] = []
    n = 0
    for dimension, (low, high) in scales.items():
        if dimension not in numeric:
            continue
        scores = ratings.scores[:, :, ratings.dimensions.index(dimension)]
        for item, rater in np.argwhere((scores < low) | (scores > high)).tolist():
            n += 1
            if len(faults) == _MOST_LISTED:
                continue
            who = names[item], ratings.raters[rater]
            line = lines.get((*who, dimension), lines.get((*who, ALL)))
            on = "" if dimension in (ALL, COMPOSITE) else f" on {shown(dimension)}"
            found = f"{general(scores[item, rater])} by {shown(who[1])} of {shown(who[0])}{on}"
            expected = f"{general(low)} to {general(high)}, {which}"
            faults.append(Fault(file, found, expected, line, "score"))
    faults.sort(key=lambda fault: fault.line or 0)
    if n > len(faults):
        found = f"{counted(n, 'rating')} off the scale in all; the first {_MOST_LISTED} are listed"
        faults.append(Fault(file, found, "all on it", field="score"))
    return faults
