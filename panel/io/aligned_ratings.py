"""A panel's ratings and humans' ratings, read together and under the same names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice

from panel.errors import Fault, InputError
from panel.io.ratings import load_ratings
from panel.io.records import Source, name_of
from panel.io.wording import shown
from panel.statistics.core.table import ALL, Ratings


def load_aligned_ratings(panel: Source, humans: Source) -> tuple[Ratings, Ratings]:
    """Read a panel's ratings and humans' as `load_ratings` does, to be compared.

    Items are the same that have the same name. An item that one side calls `prompt/id`, as
    a run does, may be `id` on the other, where ids come once. Ratings that name no dimension
    are of the whole: they are compared with the other side's mean over its dimensions.

    Raises:
        InputError: anything is wrong with either, or they share no item or no dimension.
    """
    faults: list[Fault] = []
    sides: list[Ratings] = []
    for source in (panel, humans):
        try:
            sides.append(load_ratings(source))
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
    # Categories have no order to compare.
    ours, theirs = max(_namings(panel.numeric(), humans.numeric()), key=_n_shared)
    if not _n_shared((ours, theirs)):
        faults.append(
            Fault(
                humans_name,
                f"only items that {panel_name} does not have: {_some(humans.items)}",
                f"items of {panel_name}: {_some(panel.items)}{_short_names(panel)}",
                field="item",
            )
        )
    if not set(ours.dimensions) & set(theirs.dimensions):
        if ours.dimensions == (ALL,):
            theirs = theirs.composite()
        elif theirs.dimensions == (ALL,):
            ours = ours.composite()
        else:
            faults.append(
                Fault(
                    humans_name,
                    f"only dimensions that {panel_name} does not have: {_some(theirs.dimensions)}",
                    f"one of {_some(ours.dimensions)}, or no dimension at all, to compare with "
                    "their mean",
                    field="dimension",
                )
            )
    if faults:
        raise InputError(faults)
    return ours, theirs


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
    return "" if ids is None else f" (or {_some(ids)})"


def _some(names: Iterable[str]) -> str:
    first = list(islice(names, 4))
    return ", ".join(map(shown, first[:3])) + (", …" if len(first) > 3 else "")
