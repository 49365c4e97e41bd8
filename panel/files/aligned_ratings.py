"""A panel's ratings and people's ratings, read together and under the same names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from persona_panel.files.errors import Fault, InputError
from persona_panel.files.ratings import GivenScale, load_ratings, off_scale
from persona_panel.files.records import ColumnMapping, Source, name_of
from persona_panel.files.wording import did_you_mean, shown, some
from persona_panel.rubrics.rubric import folded
from persona_panel.statistics.core.display import ALL, COMPOSITE, counted, general
from persona_panel.statistics.core.table import ItemMatch, Ratings, RatingsOrigin, ranges_differ

LEAST_SHARE = 0.8
"""Of the items that people rated, how many a panel has to have."""
_LEAST_FOR_HALF = 20
"""From so many ratings on it is odd that none is in the upper half of a scale."""


def load_aligned_ratings(
    panel: Source,
    humans: Source,
    *,
    mapping: ColumnMapping | None = None,
    human_mapping: ColumnMapping | None = None,
    human_scale: GivenScale | None = None,
    allow_unmatched: bool = False,
) -> tuple[Ratings, Ratings]:
    """Read a panel's ratings and people's as `load_ratings` does, to be compared; `mapping` is of
    the panel's columns, the other arguments of people's ratings.

    People's ratings have to be on the panel's scales, where these are known, unless `human_scale`
    gives theirs. At least 80 % of the items that people rated have to be among the panel's, or
    `allow_unmatched` be set; how many are is `origin.match` of people's ratings.

    Items are the same that have the same name, spaces apart. An item that one side calls
    `prompt/id`, as a run does, may be `id` on the other, where ids come once. Ratings that name no
    dimension are of the whole: they are compared with the other side's mean over its dimensions,
    and where that is the composite both are on the dimension `composite`, else on `all`; labels,
    with the one dimension that has these categories. Both sides then have the same categories.

    Raises:
        InputError: anything is wrong with either, they share no dimension or too few items, or
            people's ratings are off the scale; lists every fault.
    """
    faults: list[Fault] = []
    sides: list[Ratings] = []

    def panel_ratings() -> Ratings:
        return load_ratings(panel, mapping=mapping)

    def human_ratings() -> Ratings:
        return load_human_ratings(
            humans, human_mapping, human_scale=human_scale, allow_unmatched=allow_unmatched
        )

    for read in (panel_ratings, human_ratings):
        try:
            sides.append(read())
        except InputError as error:
            faults += error.faults
    if faults:
        raise InputError(faults)
    ours, theirs = sides
    return align_ratings(ours, theirs, name_of(panel), name_of(humans))


def load_human_ratings(
    source: Source,
    mapping: ColumnMapping | None = None,
    *,
    min_raters: int = 1,
    human_scale: GivenScale | None = None,
    allow_unmatched: bool = False,
) -> Ratings:
    """Read people's ratings as `load_ratings` does, with the options that commands have for them.

    Raises:
        InputError: as `load_ratings`.
    """
    return load_ratings(
        source,
        min_raters=min_raters,
        mapping=mapping,
        scale=human_scale,
        allow_unmatched=allow_unmatched,
        scale_option="--human-scale",
    )


def align_ratings(
    panel: Ratings, humans: Ratings, panel_name: str, humans_name: str
) -> tuple[Ratings, Ratings]:
    """Both under the same names, as `load_aligned_ratings` does; the names are those of faults.

    Raises:
        InputError: they share no dimension or too few items, or people's ratings are off the scale.
    """
    faults: list[Fault] = []
    given = humans.items
    ours, theirs = max(_namings(panel, humans), key=_n_shared)
    match = _match(ours, theirs, given, panel_name)
    origin = theirs.origin or RatingsOrigin(humans_name, "")
    theirs = replace(theirs, origin=replace(origin, match=match))
    if not _n_shared((ours, theirs)) or (
        match.share < LEAST_SHARE and not (origin.allow_unmatched and match.n_matched)
    ):
        faults.append(_few_items(match, panel, humans_name, given))
    theirs = _of_the_dimension(theirs, ours)
    ours = _of_the_dimension(ours, theirs)
    shared = [name for name in theirs.dimensions if name in ours.dimensions]
    if not shared:
        if ours.dimensions == (ALL,) and not ours.categories and theirs.numeric().dimensions:
            faults += _two_ranges(theirs, humans_name)
            theirs = _with_remarks(_whole(theirs), _rescaled(theirs, humans_name))
        elif theirs.dimensions == (ALL,) and not theirs.categories and ours.numeric().dimensions:
            faults += _two_ranges(ours, panel_name)
            theirs = _with_remarks(theirs, _rescaled(ours, panel_name))
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
    unsaid = {
        name: ends
        for name, ends in ours.scales.items()
        if name in theirs.dimensions and name not in theirs.scales
    }
    if not theirs.lower_is_better and not ours.lower_is_better:
        which = (
            f"the scale of {panel_name}; if people's is another, say which: --human-scale LOW-HIGH"
        )
        faults += off_scale(theirs, unsaid, humans_name, which, given)
    faults += _unknown_labels(ours, theirs, panel_name, humans_name)
    if faults:
        raise InputError(faults)
    for name in shared:
        if name in ours.categories:
            ours, theirs = _with_categories(ours, theirs, name)
    theirs = _with_remark(theirs, unsaid)
    # What is on the panel's scale, as nobody said otherwise, is.
    if not theirs.lower_is_better:
        theirs = replace(theirs, scales={**unsaid, **theirs.scales})
    return ours, theirs


def _match(ours: Ratings, theirs: Ratings, given: tuple[str, ...], panel_name: str) -> ItemMatch:
    """How many of the items that people rated the panel has, by the names they have in the file."""
    known = set(ours.items)
    rated = [bool(one.any()) for one in ~np.isnan(theirs.scores)]
    unmatched = [
        name
        for name, own, is_rated in zip(given, theirs.items, rated, strict=True)
        if is_rated and own not in known
    ]
    return ItemMatch(sum(rated), tuple(unmatched), panel_name)


def _few_items(match: ItemMatch, panel: Ratings, humans_name: str, given: tuple[str, ...]) -> Fault:
    names, n = match.unmatched or given, len(match.unmatched)
    guess = did_you_mean(names[0], (*panel.items, *(_ids(panel) or ())))
    found = (
        f"{n:,} of the {counted(match.n_rated, 'item')} that people rated under names that "
        f"{match.panel} does not have: {some(names)}; {100 * match.share:.1f} % match"
    )
    expected = f"items of {match.panel}: {some(panel.items)}{_short_names(panel)}{guess}"
    if not match.n_matched:
        found = f"only items that {match.panel} does not have: {some(names)}"
    else:
        expected += (
            f"; {100 * LEAST_SHARE:.0f} % or more have to match, unless --allow-unmatched "
            "(allow_unmatched=True) says that the others do not matter"
        )
    return Fault(humans_name, found, expected, field="item")


def _unknown_labels(
    ours: Ratings, theirs: Ratings, panel_name: str, humans_name: str
) -> Iterator[Fault]:
    """Labels of people that are no category of a run's rubric."""
    for name, labels in theirs.categories.items():
        # Of a file of ratings the categories are those that occur.
        if name not in ours.categories or name not in ours.labels:
            continue
        known = {folded(one) for one in ours.categories[name]}
        if unknown := [label for label in labels if folded(label) not in known]:
            d = theirs.dimensions.index(name)
            n = int(np.isin(theirs.scores[:, :, d], [labels.index(one) for one in unknown]).sum())
            expected = f"one of {', '.join(ours.categories[name])}, as in {panel_name}"
            found = f"{some(unknown)} on {shown(name)} ({counted(n, 'rating')})"
            yield Fault(humans_name, found, expected, field="label")


def _with_remark(theirs: Ratings, scales: Mapping[str, tuple[float, float]]) -> Ratings:
    """People's ratings with a remark where they keep to a half of a scale of which nobody has said
    that it is theirs."""
    remarks = []
    for name, (low, high) in scales.items():
        if name not in theirs.dimensions or name in theirs.categories:
            continue
        scores = theirs.scores[:, :, theirs.dimensions.index(name)]
        there = scores[~np.isnan(scores)]
        if len(there) < _LEAST_FOR_HALF or there.max() > (low + high) / 2:
            continue
        on = "" if name in (ALL, COMPOSITE) else f" on {shown(name)}"
        remarks.append(
            f"No rating{on} is above {general(there.max())} on a scale from {general(low)} to "
            f"{general(high)}: if people's scale is another, say which: --human-scale LOW-HIGH."
        )
    return _with_remarks(theirs, remarks)


def _with_remarks(theirs: Ratings, remarks: Sequence[str]) -> Ratings:
    if not remarks or theirs.origin is None:
        return theirs
    return replace(
        theirs, origin=replace(theirs.origin, remarks=(*theirs.origin.remarks, *remarks))
    )


def _rescaled(ratings: Ratings, file: str) -> list[str]:
    """How dimensions on different scales are put together, where they are."""
    if ratings.comparable_dimensions().scales == ratings.numeric().scales:
        return []
    return [
        f"The dimensions of {file} are on different scales: in their mean each rating counts as "
        "the share of its scale's width, from 0 to 1."
    ]


def _two_ranges(ratings: Ratings, file: str) -> Iterator[Fault]:
    """Dimensions whose mean would be of ratings on scales that plainly differ."""
    names = ratings.numeric().dimensions
    if ranges_differ([ratings], names):
        found = f"dimensions on scales that plainly differ: {some(names)}"
        expected = "one of them, as a dimension on both sides, or the scale of each"
        yield Fault(file, found, expected, field="dimension")


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
    """Both sides by their own names, and with the ids of one of them alone; names that differ in
    spaces alone are the same."""
    ours, theirs = _spaced(ours), _spaced(theirs)
    yield ours, theirs
    for name, short in (("ours", _ids(ours)), ("theirs", _ids(theirs))):
        if short is not None:
            by_id = replace(ours if name == "ours" else theirs, items=short)
            yield (by_id, theirs) if name == "ours" else (ours, by_id)


def _spaced(ratings: Ratings) -> Ratings:
    """Ratings whose items have single spaces, none at the ends and none that do not break, where
    they still differ."""
    if all(name.isalnum() for name in ratings.items):
        return ratings
    items = tuple(" ".join(name.split()) for name in ratings.items)
    return ratings if len(set(items)) < len(items) else replace(ratings, items=items)


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
