"""Results under names that people read: the labels of dimensions, and judges by what they differ
in, as ids are too long beside figures."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from persona_panel.statistics.core.display import ALL, COMPOSITE
from persona_panel.statistics.core.table import Ratings, Row
from persona_panel.statistics.strata import LESS_OTHERS

Called = Callable[[str], str]
"""Returns the label of the dimension of an id."""

_BY_DIMENSION = ("dimension", f"dimension{LESS_OTHERS}")


def labelled_rows(rows: Sequence[Row], *sides: Ratings) -> tuple[list[Row], tuple[Ratings, ...]]:
    """Rows, and the ratings that they are of, under the labels of dimensions that any of these
    ratings know."""
    called = _names(sides)
    sentences = [
        replace(
            row,
            dimension=called(row.dimension),
            by_value=called(row.by_value)
            if row.by in _BY_DIMENSION and row.by_value is not None
            else row.by_value,
        )
        for row in rows
    ]
    return sentences, tuple(_labelled(side, called) for side in sides)


def whole_label(*sides: Ratings) -> str:
    """Return the label of the dimension of ratings that name none: what they are compared with,
    where that is known."""
    return next((side.labels[ALL] for side in sides if ALL in side.labels), ALL)


def _names(sides: Sequence[Ratings]) -> Called:
    return called_by({name: label for side in sides for name, label in side.labels.items()})


def called_by(labels: Mapping[str, str]) -> Called:
    """The label of a dimension; its id where two dimensions have one label, or a label is a name
    that results have for something else."""
    labels = {name: label for name, label in labels.items() if name != ALL}
    taken = [ALL, COMPOSITE, *labels.values(), *labels]
    clear = {
        name: label for name, label in labels.items() if name == label or taken.count(label) == 1
    }
    return lambda name: clear.get(name, name)


def _labelled(ratings: Ratings, called: Called) -> Ratings:
    composite_of = ratings.composite_of
    return replace(
        ratings,
        dimensions=tuple(map(called, ratings.dimensions)),
        categories={called(name): those for name, those in ratings.categories.items()},
        scales={called(name): ends for name, ends in ratings.scales.items()},
        composite_of=None if composite_of is None else tuple(map(called, composite_of)),
        labels={},
    )


BETWEEN = "|"
PARTS = ("persona", "model", "elicitation", "replicate")


def rater_word(ratings: Ratings) -> str:
    """Return the word for a rater: a judge in a run, a rater in a file of ratings, whose
    raters may be people."""
    return "rater" if ratings.personas is None else "judge"


def parts_of(judges: Sequence[str]) -> list[tuple[str, ...]]:
    """The parts of the judges' ids, part by part; none where ids are not those of a run."""
    split = [name.split(BETWEEN) for name in judges]
    if any(len(parts) != len(PARTS) for parts in split):
        return []
    return list(zip(*split, strict=True))


def differing_parts(judges: Sequence[str], between: str) -> dict[str, str]:
    """By the ids of a run's judges the parts in which they differ; nothing where ids have other
    parts.

    >>> differing_parts(("historian|m|dimensions|1", "lawyer|n|dimensions|1"), " · ")
    {'historian|m|dimensions|1': 'historian · m', 'lawyer|n|dimensions|1': 'lawyer · n'}
    """
    return dict(zip(judges, joined_where_differing(parts_of(judges), between), strict=False))


def joined_where_differing(parts: Iterable[Sequence[str]], between: str) -> list[str]:
    """Return a name for each judge of the parts in which they differ, none where they differ in
    none; `parts`: part by part, of each judge.

    >>> joined_where_differing([("historian", "lawyer"), ("m", "m"), ("1", "2")], " · ")
    ['historian · 1', 'lawyer · 2']
    """
    kept = [part for part in parts if len(set(part)) > 1]
    return [between.join(name) for name in zip(*kept, strict=True)]


def called_judges(ratings: Ratings) -> dict[str, str]:
    """Return the names of a run's judges in sentences, by their ids; none for other raters."""
    return {} if ratings.personas is None else differing_parts(ratings.raters, " · ")


def short_names(ratings: Ratings, taken: Collection[str] = ()) -> dict[str, str]:
    """Each judge of a run without the parts of its id that all judges have alike; nothing of
    ratings that are of no run or whose ids have other parts, and where one of these names is
    `taken`.

    >>> import numpy as np
    >>> judges = ("historian|m|dimensions|1", "lawyer|m|dimensions|1")
    >>> ratings = Ratings(np.ones((1, 2, 1)), ("a",), judges, ("d",), ("m", "m"),
    ...                   personas=("historian", "lawyer"))
    >>> list(short_names(ratings).values())
    ['historian', 'lawyer']
    """
    names = {} if ratings.personas is None else short_ids(ratings.raters)
    return {} if set(names.values()) & set(taken) else names


def short_ids(judges: Sequence[str]) -> dict[str, str]:
    """The ids of a run's judges without the parts that all of them have alike; none where ids have
    other parts.

    >>> short_ids(("historian|m|dimensions|1", "historian|n|dimensions|1"))
    {'historian|m|dimensions|1': 'm', 'historian|n|dimensions|1': 'n'}
    """
    return differing_parts(judges, BETWEEN)


def in_short(rows: Sequence[Row], names: Mapping[str, str]) -> list[Row]:
    """The rows, with judges by these names."""
    return [
        replace(
            row,
            group=names.get(row.group, row.group),
            by=names.get(row.by or "", row.by),
            by_value=names.get(row.by_value or "", row.by_value),
        )
        for row in rows
    ]


def what_all_have(ratings: Ratings) -> list[str]:
    """Say what short names leave out; nothing where they leave out nothing."""
    text = "" if ratings.personas is None else left_out_of(ratings.raters)
    return [text] if text else []


def left_out_of(judges: Sequence[str]) -> str:
    """Return what `short_ids` leave out, as `what_all_have` says it."""
    parts = parts_of(judges)
    alike = [
        f"{name} {part[0]}" for name, part in zip(PARTS, parts, strict=False) if len(set(part)) < 2
    ]
    if not alike or len(alike) == len(parts):
        return ""
    return f"Judges are named by what they differ in; all have {', '.join(alike)}."
