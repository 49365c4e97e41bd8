"""Rows of statistics for conclusions: figures of a group of raters and of strata, under names that
people read, which are the labels of dimensions, and judges by what they differ in."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from math import atanh, isnan, nan, tanh

from persona_panel.results.conclusions.wording import (
    counted,
    dimension_called,
    first_of,
    first_upper,
    in_brackets,
    interval,
    listed,
    p_adjusted,
)
from persona_panel.statistics.core.display import ALL, COMPOSITE, number
from persona_panel.statistics.core.estimate import LEVEL
from persona_panel.statistics.core.means import spread_of_interval, widened
from persona_panel.statistics.core.table import Ratings, Row
from persona_panel.statistics.strata import LESS_OTHERS

_SHOWN = 2
Called = Callable[[str], str]
"""Returns the label of the dimension of an id."""

_BY_DIMENSION = ("dimension", f"dimension{LESS_OTHERS}")
BETWEEN = "|"
PARTS = ("persona", "model", "elicitation", "replicate")


def by_dimension(rows: Iterable[Row], group: str, statistic: str) -> dict[str, Row]:
    """A group's rows of a statistic that is not broken down, by dimension."""
    return {
        row.dimension: row
        for row in rows
        if (row.statistic, row.group, row.by) == (statistic, group, None)
    }


def split_composite(rows: Sequence[Row], ratings: Ratings) -> tuple[list[Row], list[Row]]:
    """The rows of a composite of these ratings' dimensions, which stands beside them, and the
    rest."""
    beside = [row for row in rows if row.dimension not in (*ratings.dimensions, ALL)]
    return beside, [row for row in rows if row.dimension in (*ratings.dimensions, ALL)]


def figure(row: Row) -> str:
    """A value with its interval and p-value, as far as they are there."""
    facts = interval(row.ci_low, row.ci_high), p_of(row)
    return f"{number(row.value)}{in_brackets(*facts)}"


def from_to(rows: Sequence[Row], digits: int) -> str:
    """From the lowest value to the highest: `from 0.51 to 0.64`; one where both look alike."""
    values = [row.value for row in rows]
    low, high = (number(pick(values), digits) for pick in (min, max))
    return low if low == high else f"from {low} to {high}"


def p_of(row: Row) -> str:
    """A row's p-value in words; nothing where there is none."""
    text = p_adjusted(row.p_value)
    return text if row.adjusted_over is not None else text.removeprefix("adjusted ")


def on_dimensions(names: Sequence[str], of: Collection[str], every: str) -> str:
    """On which of the dimensions `of`, behind a space; nothing where they are not distinguished.

    Args:
        every: what is said for all of several: `all dimensions`, `any dimension`.

    >>> on_dimensions(["a"], ["a", "b"], "all dimensions"), on_dimensions(["a"], ["a"], "")
    (' on a', ' on a')
    """
    if ALL in of:
        return ""
    if len(names) == len(of) > 1:
        return f" on {every}"
    return f" on {listed([dimension_called(name) for name in names], 'dimensions')}"


def clusters_of(ratings: Ratings) -> str:
    """Return what intervals are over, `prompt` or `item`."""
    return "item" if ratings.prompts is None else "prompt"


def adjusted_ends(row: Row, n_tests: int, *, fisher: bool = False) -> tuple[float, float]:
    """A row's interval, widened for so many claims that are made together, by Student's t with the
    interval's own degrees of freedom; NaN without one.

    `fisher`: whether it was formed on Fisher's scale, as those of correlations are.
    """
    if isnan(row.ci_low):
        return nan, nan
    ends = row.value, row.ci_low, row.ci_high
    if not fisher:
        return widened(*ends, row.ci_df, n_tests)
    if any(abs(end) >= 1 for end in ends):
        return -1.0, 1.0
    value, low, high = map(atanh, ends)
    low, high = widened(value, low, high, row.ci_df, n_tests)
    return tanh(low), tanh(high)


def sign_of(ends: tuple[float, float]) -> int:
    """1 or −1 where an interval lies above or below 0, else 0; 0 without one (NaN)."""
    low, high = ends
    return int(low > 0) - int(high < 0)


def reasons_of(rows: Iterable[Row]) -> str:
    """Return why figures are undefined, each reason once."""
    return "; ".join(dict.fromkeys(str(row.reason) for row in rows))


def spread_of(row: Row, low: float, high: float) -> float:
    """The standard deviation over prompts (or items) behind a row's interval from `low` to `high`:
    its own ends, or these on another scale. NaN without an interval."""
    if row.n_clusters is None:
        return nan
    return spread_of_interval(low, high, row.n_clusters, row.ci_df)


def strata_differ(rows: Sequence[Row], statistic: str, name: str, by: str) -> list[str]:
    """In which strata a statistic is higher or lower than in the others, where that was tested.

    Args:
        name: of the statistic, as a sentence has it.
        by: what strata are.
    """
    own = [row for row in rows if row.by == f"{by}{LESS_OTHERS}" and row.statistic == statistic]
    if not own:
        return []
    tested = [row for row in own if row.reason is None]
    if not tested:
        reasons = "; ".join(dict.fromkeys(str(row.reason) for row in own))
        return [f"Whether {name} differs by {by} cannot be tested: {reasons}."]
    shown = sorted((row for row in tested if row.p_value < LEVEL), key=lambda row: row.p_value)
    if not shown:
        tests = counted(len(tested), "test")
        return [f"{first_upper(name)} is not shown to differ by {by} ({tests})."]
    largest = first_of([*map(_in_words, shown)], _SHOWN)
    return [f"{first_upper(name)} differs by {by}: {largest}."]


def range_over(values: Sequence[Row]) -> str:
    """From the lowest to the highest of some values, with the stratum and the dimension of each."""
    low, high = (pick(values, key=lambda row: row.value) for pick in (min, max))
    if len(values) == 1:
        return f"is defined in one of them alone: {_value_in(low)}"
    return f"is from {_value_in(low)} to {_value_in(high)}"


def _value_in(row: Row) -> str:
    of = row.by_value if row.dimension == ALL else f"{row.by_value}, {row.dimension}"
    return f"{number(row.value)} ({of})"


def _in_words(row: Row) -> str:
    on = "" if row.dimension == ALL else f" on {dimension_called(row.dimension)}"
    low, high = row.ci_low, row.ci_high
    ends = (low, high) if row.value > 0 else (-high, -low)
    facts = in_brackets(interval(*ends), p_adjusted(row.p_value))
    than = f"{number(abs(row.value))} {'higher' if row.value > 0 else 'lower'}"
    return f"{row.by_value}{on} is {than} than the mean of the others{facts}"


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
