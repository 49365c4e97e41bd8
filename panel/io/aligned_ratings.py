"""A panel's ratings and people's ratings, read together and under the same names."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from panel.errors import Fault, InputError
from panel.io.ratings import load_ratings
from panel.io.records import ColumnMapping, Source, name_of
from panel.io.wording import shown, some
from panel.statistics.core.table import ALL, COMPOSITE, Ratings
from rubrics.scale import folded


def load_aligned_ratings(
    panel: Source,
    humans: Source,
    *,
    mapping: ColumnMapping | None = None,
    human_mapping: ColumnMapping | None = None,
) -> tuple[Ratings, Ratings]:
    """Read a panel's ratings and people's as `load_ratings` does, to be compared; `mapping` is of
    the panel's columns, `human_mapping` of people's.

    Items are the same that have the same name. An item that one side calls `prompt/id`, as
    a run does, may be `id` on the other, where ids come once. Ratings that name no dimension
    are of the whole: they are compared with the other side's mean over its dimensions, and where
    that is the composite both are on the dimension `composite`, else on `all`; labels, with the one
    dimension that has these categories. Both sides then have the same categories.

    Raises:
        InputError: anything is wrong with either, or they share no item or no dimension.
    """
    faults: list[Fault] = []
    sides: list[Ratings] = []
    for source, columns in ((panel, mapping), (humans, human_mapping)):
        try:
            sides.append(load_ratings(source, mapping=columns))
        except InputError as error:
            faults += error.faults
    if faults:
        raise InputError(faults)
    ours, theirs = sides
    return align_ratings(ours, theirs, name_of(panel), name_of(humans))


def align_ratings(
    panel: Ratings, humans: Ratings, panel_name: str, humans_name: str
) -> tuple[Ratings, Ratings]:
    """Both under the same names, as `load_aligned_ratings` does; the names are those of faults.

    Raises:
        InputError: they share no item or no dimension.
    """
    faults: list[Fault] = []
    ours, theirs = max(_namings(panel, humans), key=_n_shared)
    if not _n_shared((ours, theirs)):
        faults.append(
            Fault(
                humans_name,
                f"only items that {panel_name} does not have: {some(humans.items)}",
                f"items of {panel_name}: {some(panel.items)}{_short_names(panel)}",
                field="item",
            )
        )
    theirs = _of_the_dimension(theirs, ours)
    ours = _of_the_dimension(ours, theirs)
    shared = [name for name in theirs.dimensions if name in ours.dimensions]
    if not shared:
        if ours.dimensions == (ALL,) and not ours.categories and theirs.numeric().dimensions:
            theirs = _whole(theirs)
        elif theirs.dimensions == (ALL,) and not theirs.categories and ours.numeric().dimensions:
            ours = _whole(ours)
        else:
            faults.append(_no_dimension(ours, theirs, panel_name, humans_name))
        if any(side.labels.get(ALL) == COMPOSITE for side in (ours, theirs)):
            ours, theirs = ours.called(COMPOSITE), theirs.called(COMPOSITE)
    for name in shared:
        if (name in ours.categories) != (name in theirs.categories):
            kinds = ("scores", "labels of categories")
            is_label = name in theirs.categories
            faults.append(
                Fault(
                    humans_name,
                    f"{kinds[is_label]} on {shown(name)}",
                    f"{kinds[not is_label]}, as in {panel_name}",
                    field="score" if is_label else "label",
                )
            )
    if faults:
        raise InputError(faults)
    for name in shared:
        if name in ours.categories:
            ours, theirs = _with_categories(ours, theirs, name)
    return ours, theirs


def _whole(ratings: Ratings) -> Ratings:
    """The means over dimensions, with what they are as the label of `all`: the composite, the only
    dimension, or neither."""
    names = ratings.numeric().dimensions
    if len(names) == 1:
        label = ratings.labels.get(names[0], names[0])
    else:
        is_composite = ratings.composite_of is None or {*ratings.composite_of} == {*names}
        label = COMPOSITE if is_composite else "mean of dimensions"
    return replace(ratings.composite(), labels={ALL: label})


def _of_the_dimension(whole: Ratings, other: Ratings) -> Ratings:
    """Labels that name no dimension under that of the other side, where it is clear which: the one
    whose categories include them all."""
    if whole.dimensions != (ALL,) or ALL not in whole.categories or ALL in other.dimensions:
        return whole
    said = {folded(label) for label in whole.categories[ALL]}
    fit = [
        name for name, names in other.categories.items() if said <= {folded(one) for one in names}
    ]
    if len(fit) != 1:
        return whole
    return replace(whole, dimensions=(fit[0],), categories={fit[0]: whole.categories[ALL]})


def _no_dimension(ours: Ratings, theirs: Ratings, panel_name: str, humans_name: str) -> Fault:
    """Why no dimension of the two can be compared."""
    if theirs.dimensions == (ALL,):
        found = (
            f"labels that name no dimension: {some(theirs.categories[ALL])}"
            if ALL in theirs.categories
            else "scores that name no dimension"
        )
        scales = [f"{name} ({', '.join(labels)})" for name, labels in ours.categories.items()]
        expected = f"labels of one of the dimensions of {panel_name}: " + (
            "; ".join(scales) or some(ours.dimensions)
        )
        return Fault(humans_name, found, expected, field="dimension")
    found = f"only dimensions that {panel_name} does not have: {some(theirs.dimensions)}"
    expected = f"one of {some(ours.dimensions)}"
    if ours.numeric().dimensions:
        expected += ", or no dimension at all, to compare with their mean"
    return Fault(humans_name, found, expected, field="dimension")


def _with_categories(ours: Ratings, theirs: Ratings, dimension: str) -> tuple[Ratings, Ratings]:
    """Both sides with one list of categories on a dimension: the first side's, then what only the
    second names. Names are the same that differ in case and spaces alone."""
    names = list(ours.categories[dimension])
    known = {folded(name): code for code, name in enumerate(names)}
    codes = []
    for label in theirs.categories[dimension]:
        if folded(label) not in known:
            known[folded(label)] = len(names)
            names.append(label)
        codes.append(known[folded(label)])
    place = theirs.dimensions.index(dimension)
    scores = theirs.scores.copy()
    rated = ~np.isnan(scores[:, :, place])
    old = scores[:, :, place][rated].astype(np.intp)
    scores[:, :, place][rated] = np.array(codes, dtype=np.float64)[old]
    common = {dimension: tuple(names)}
    return (
        replace(ours, categories={**ours.categories, **common}),
        replace(theirs, scores=scores, categories={**theirs.categories, **common}),
    )


def _namings(ours: Ratings, theirs: Ratings) -> Iterator[tuple[Ratings, Ratings]]:
    """Both sides by their own names, and with the ids of one of them alone."""
    yield ours, theirs
    for name, short in (("ours", _ids(ours)), ("theirs", _ids(theirs))):
        if short is not None:
            by_id = replace(ours if name == "ours" else theirs, items=short)
            yield (by_id, theirs) if name == "ours" else (ours, by_id)


def _n_shared(sides: tuple[Ratings, Ratings]) -> int:
    return len(set(sides[0].items) & set(sides[1].items))


def _ids(ratings: Ratings) -> tuple[str, ...] | None:
    """The items' names without their prompts', None unless all have one and differ."""
    if ratings.prompts is None:
        return None
    pairs = list(zip(ratings.items, ratings.prompts, strict=True))
    if not all(item.startswith(f"{prompt}/") for item, prompt in pairs):
        return None
    ids = tuple(item.removeprefix(f"{prompt}/") for item, prompt in pairs)
    return ids if len(set(ids)) == len(ids) else None


def _short_names(ours: Ratings) -> str:
    ids = _ids(ours)
    return "" if ids is None else f" (or {some(ids)})"
