"""A panel's ratings and people's ratings, read together and under the same names."""

from __future__ import annotations

import re
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
"""The smallest share of the items that people rated which a panel must have."""
_LEAST_FOR_HALF = 20
"""The smallest number of ratings from which it is remarkable that none is in the upper half of a
scale."""
_MADE_ID = re.compile(r"(.*/)?r-[0-9a-f]{12}")


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
    Raises InputError: as `load_ratings`."""
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
    """Return both sides' ratings under the same names, as `load_aligned_ratings` does; `panel_name`
    and `humans_name` are the files' names in faults. Raises InputError: they share no dimension or
    too few items, or people's ratings are off the scale."""
    faults: list[Fault] = []
    names_in_file = humans.items
    ours, theirs = max(_namings(panel, humans), key=_n_shared)
    match = _match(ours, theirs, names_in_file, panel_name)
    origin = theirs.origin or RatingsOrigin(humans_name, "")
    theirs = replace(theirs, origin=replace(origin, match=match))
    if not _n_shared((ours, theirs)) or (
        match.share < LEAST_SHARE and not (origin.allow_unmatched and match.n_matched)
    ):
        faults.append(_few_items(match, panel, humans_name, names_in_file))
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
        faults += off_scale(theirs, unsaid, humans_name, which, names_in_file)
    faults += _unknown_labels(ours, theirs, panel_name, humans_name)
    if faults:
        raise InputError(faults)
    for name in shared:
        if name in ours.categories:
            ours, theirs = _with_categories(ours, theirs, name)
    # What is on the panel's scale, as nobody said otherwise, is; ranks are on none.
    if not theirs.lower_is_better:
        theirs = _with_remark(theirs, unsaid)
        theirs = replace(theirs, scales={**unsaid, **theirs.scales})
    return ours, theirs


def _match(
    ours: Ratings, theirs: Ratings, names_in_file: tuple[str, ...], panel_name: str
) -> ItemMatch:
    """Return which of the items that people rated the panel has."""
    known = set(ours.items)
    rated = [bool(scores.any()) for scores in ~np.isnan(theirs.scores)]
    unmatched = [
        name
        for name, own, is_rated in zip(names_in_file, theirs.items, rated, strict=True)
        if is_rated and own not in known
    ]
    return ItemMatch(sum(rated), tuple(unmatched), panel_name)


def _few_items(
    match: ItemMatch, panel: Ratings, humans_name: str, names_in_file: tuple[str, ...]
) -> Fault:
    names, n = match.unmatched or names_in_file, len(match.unmatched)
    guess = did_you_mean(names[0], (*panel.items, *(_ids(panel) or ())))
    problem = (
        f"{n:,} of the {counted(match.n_rated, 'item')} that people rated under names that "
        f"{match.panel} does not have: {some(names)}; {100 * match.share:.1f} % match"
    )
    expected = f"items of {match.panel}: {some(panel.items)}{_short_names(panel)}{guess}"
    if not match.n_matched:
        problem = f"only items that {match.panel} does not have: {some(names)}"
        if all(map(_MADE_ID.fullmatch, panel.items)):
            expected += (
                ", ids that were made from the texts: if the texts have ids of their own, score "
                "them again with --map id=COLUMN"
            )
    else:
        expected += (
            f"; {100 * LEAST_SHARE:.0f} % or more have to match, unless --allow-unmatched "
            "(allow_unmatched=True) says that the others do not matter"
        )
    return Fault(humans_name, problem, expected, field="item")


def _unknown_labels(
    ours: Ratings, theirs: Ratings, panel_name: str, humans_name: str
) -> Iterator[Fault]:
    """Yield a fault for people's labels that are no category of a run's rubric."""
    for name, labels in theirs.categories.items():
        # Of a file of ratings the categories are those that occur.
        if name not in ours.categories or name not in ours.labels:
            continue
        known = {folded(category) for category in ours.categories[name]}
        if unknown := [label for label in labels if folded(label) not in known]:
            d = theirs.dimensions.index(name)
            n = int(
                np.isin(theirs.scores[:, :, d], [labels.index(label) for label in unknown]).sum()
            )
            expected = f"one of {', '.join(ours.categories[name])}, as in {panel_name}"
            problem = f"{some(unknown)} on {shown(name)} ({counted(n, 'rating')})"
            yield Fault(humans_name, problem, expected, field="label")


def _with_remark(theirs: Ratings, scales: Mapping[str, tuple[float, float]]) -> Ratings:
    """Return people's ratings, with a remark where they keep to the lower half of a scale that was
    only assumed to be theirs."""
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
    if theirs.origin is None:
        return theirs
    # The same ratings are aligned with several parts of a panel.
    every = tuple(dict.fromkeys([*theirs.origin.remarks, *remarks]))
    return replace(theirs, origin=replace(theirs.origin, remarks=every))


def _rescaled(ratings: Ratings, file: str) -> list[str]:
    """Return a remark on dimensions that are rescaled before their mean is taken."""
    if ratings.comparable_dimensions().scales == ratings.numeric().scales:
        return []
    return [
        f"The dimensions of {file} are on different scales: in their mean each rating counts as "
        "the share of its scale's width, from 0 to 1."
    ]


def _two_ranges(ratings: Ratings, file: str) -> Iterator[Fault]:
    """Yield a fault where the mean would be of dimensions on scales that plainly differ."""
    names = ratings.numeric().dimensions
    if ranges_differ([ratings], names):
        problem = f"dimensions on scales that plainly differ: {some(names)}"
        expected = "one of them, as a dimension on both sides, or the scale of each"
        yield Fault(file, problem, expected, field="dimension")


def _whole(ratings: Ratings) -> Ratings:
    """Return the means over dimensions, with what they are as the label of `all`: the composite,
    the only dimension, or neither."""
    names = ratings.numeric().dimensions
    if len(names) == 1:
        label = ratings.labels.get(names[0], names[0])
    else:
        is_composite = ratings.composite_of is None or {*ratings.composite_of} == {*names}
        label = COMPOSITE if is_composite else "mean of dimensions"
    return replace(ratings.composite(), labels={ALL: label})


def _of_the_dimension(whole: Ratings, other: Ratings) -> Ratings:
    """Return labels that name no dimension under the other side's dimension, where only one has
    categories that include them all."""
    if whole.dimensions != (ALL,) or ALL not in whole.categories or ALL in other.dimensions:
        return whole
    labels = {folded(label) for label in whole.categories[ALL]}
    fit = [
        name
        for name, names in other.categories.items()
        if labels <= {folded(category) for category in names}
    ]
    if len(fit) != 1:
        return whole
    return replace(whole, dimensions=(fit[0],), categories={fit[0]: whole.categories[ALL]})


def _no_dimension(ours: Ratings, theirs: Ratings, panel_name: str, humans_name: str) -> Fault:
    """Return the fault that says why no dimension of the two can be compared."""
    if theirs.dimensions == (ALL,):
        problem = (
            f"labels that name no dimension: {some(theirs.categories[ALL])}"
            if ALL in theirs.categories
            else "scores that name no dimension"
        )
        scales = [f"{name} ({', '.join(labels)})" for name, labels in ours.categories.items()]
        expected = f"labels of one of the dimensions of {panel_name}: " + (
            "; ".join(scales) or some(ours.dimensions)
        )
        return Fault(humans_name, problem, expected, field="dimension")
    problem = f"only dimensions that {panel_name} does not have: {some(theirs.dimensions)}"
    expected = f"one of {some(ours.dimensions)}"
    if ours.numeric().dimensions:
        expected += ", or no dimension at all, to compare with their mean"
    return Fault(humans_name, problem, expected, field="dimension")


def _with_categories(ours: Ratings, theirs: Ratings, dimension: str) -> tuple[Ratings, Ratings]:
    """Return both sides with the same list of categories on a dimension: the first side's, then
    those that only the second names. Names that differ only in case and spaces are the same."""
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
    """Yield both sides by their own names, then with only the ids of one of them."""
    ours, theirs = _spaced(ours), _spaced(theirs)
    yield ours, theirs
    for name, short in (("ours", _ids(ours)), ("theirs", _ids(theirs))):
        if short is not None:
            by_id = replace(ours if name == "ours" else theirs, items=short)
            yield (by_id, theirs) if name == "ours" else (ours, by_id)


def _spaced(ratings: Ratings) -> Ratings:
    """Return ratings whose items' names have single spaces, none at the ends and no non-breaking
    ones, where they still differ so."""
    if all(name.isalnum() for name in ratings.items):
        return ratings
    items = tuple(" ".join(name.split()) for name in ratings.items)
    return ratings if len(set(items)) < len(items) else replace(ratings, items=items)


def _n_shared(sides: tuple[Ratings, Ratings]) -> int:
    return len(set(sides[0].items) & set(sides[1].items))


def _ids(ratings: Ratings) -> tuple[str, ...] | None:
    """Return the items' names without those of their prompts."""
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
