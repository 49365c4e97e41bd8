"""A panel's and people's scores of the same items, on the same dimensions and scales."""

from __future__ import annotations

from dataclasses import replace

from persona_panel.files.aligned_ratings import align_ratings
from persona_panel.files.errors import Fault, InputError
from persona_panel.files.wording import did_you_mean, shown
from persona_panel.statistics.core.display import general
from persona_panel.statistics.core.names import ALL
from persona_panel.statistics.core.table import Ratings


def comparable_ratings(
    ours: Ratings, theirs: Ratings, names: tuple[str, str], dimension: str | None
) -> tuple[Ratings, Ratings]:
    """Both sides on the items that both have, in one order, with numbers on common dimensions; the
    first has the items' prompts, by whichever tells several that have several items.

    Raises:
        InputError: they share no item or no dimension, or are ranks or labels.
    """
    faults = [
        Fault(name, "ranks", "scores: the size of a difference between ranks says nothing")
        for name, one in zip(names, (ours, theirs), strict=True)
        if one.lower_is_better
    ]
    if faults:
        raise InputError(faults)
    if dimension is not None:
        ours = _of_dimension(ours, dimension, names[0], may_be_unnamed=False)
        theirs = _of_dimension(theirs, dimension, names[1], may_be_unnamed=True)
    ours, theirs = align_ratings(ours, theirs, *names)
    ours, theirs = ours.numeric(), theirs.numeric()
    _refuse_other_scales(ours, theirs, names)
    if not set(ours.dimensions) & set(theirs.dimensions):
        found = "labels of categories only"
        raise InputError([Fault(names[1], found, "scores: categories have no difference")])
    place = {item: at for at, item in enumerate(theirs.items)}
    kept = [at for at, item in enumerate(ours.items) if item in place]
    items = tuple(ours.items[at] for at in kept)
    rows = [place[item] for item in items]
    named = [
        tuple(side.prompts[at] for at in places)
        for side, places in ((ours, kept), (theirs, rows))
        if side.prompts is not None
    ]
    # A run has a prompt of each text, or one of all, where people's file may have topics.
    prompts = max(named, key=lambda one: 1 < len(set(one)) < len(one), default=None)
    return (
        replace(ours, scores=ours.scores[kept], items=items, prompts=prompts, sources=None),
        replace(theirs, scores=theirs.scores[rows], items=items, prompts=None, sources=None),
    )


def _refuse_other_scales(ours: Ratings, theirs: Ratings, names: tuple[str, str]) -> None:
    """Refuse people's ratings whose scale is said to be another than that of the run: a ratio of
    differences on two scales says nothing."""
    faults = []
    for name, (low, high) in ours.scales.items():
        if name in theirs.dimensions and theirs.scales.get(name, (low, high)) != (low, high):
            found = f"the scale {' to '.join(map(general, theirs.scales[name]))} on {shown(name)}"
            expected = f"the scale of {names[0]}, {general(low)} to {general(high)}"
            faults.append(Fault(names[1], found, expected, field="score"))
    if faults:
        raise InputError(faults)


def _of_dimension(ratings: Ratings, name: str, file: str, *, may_be_unnamed: bool) -> Ratings:
    if name in ratings.dimensions:
        at = ratings.dimensions.index(name)
        categories = {key: found for key, found in ratings.categories.items() if key == name}
        scores = ratings.scores[:, :, at : at + 1]
        return replace(ratings, scores=scores, dimensions=(name,), categories=categories)
    if ratings.dimensions == (ALL,) and (may_be_unnamed or not ratings.personas):
        categories = {name: found} if (found := ratings.categories.get(ALL)) else {}
        return replace(ratings, dimensions=(name,), categories=categories)
    expected = f"one of {', '.join(ratings.dimensions)}{did_you_mean(name, ratings.dimensions)}"
    raise InputError([Fault(file, f"no dimension {shown(name)}", expected)])
