"""Results under the labels of dimensions, which people read, in place of their ids."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from persona_panel.statistics.core.display import ALL, COMPOSITE
from persona_panel.statistics.core.table import Ratings, Row
from persona_panel.statistics.strata import LESS_OTHERS

Called = Callable[[str], str]
"""What a dimension of an id is called."""

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
