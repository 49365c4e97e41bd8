"""Figures of a group of raters, for conclusions from rows."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from math import atanh, isnan, nan, tanh

from panel.conclusions.wording import in_brackets, interval, listed, p_adjusted
from panel.statistics.core.student_t import widened
from panel.statistics.core.table import ALL, Ratings, Row
from panel.statistics.resampling.jackknife import MOST_GROUPS


def by_dimension(rows: Iterable[Row], group: str, statistic: str) -> dict[str, Row]:
    """A group's rows of a statistic that is not broken down, by dimension."""
    return {
        row.dimension: row
        for row in rows
        if (row.statistic, row.group, row.by) == (statistic, group, None)
    }


def figure(row: Row) -> str:
    """A value with its interval and p-value, as far as they are there."""
    facts = interval(row.ci_low, row.ci_high), p_of(row)
    return f"{row.value:.2f}{in_brackets(*facts)}"


def p_of(row: Row) -> str:
    """A row's p-value in words; nothing where there is none."""
    told = p_adjusted(row.p_value)
    return told if row.adjusted_over is not None else told.removeprefix("adjusted ")


def on_dimensions(names: Sequence[str], of: Collection[str], every: str) -> str:
    """On which of the dimensions `of`, behind a space; nothing where they are not told apart.

    Args:
        every: what is said for all of several: `all dimensions`, `any dimension`.

    >>> on_dimensions(["a"], ["a", "b"], "all dimensions"), on_dimensions(["a"], ["a"], "")
    (' on a', ' on a')
    """
    if ALL in of:
        return ""
    if len(names) == len(of) > 1:
        return f" on {every}"
    return f" on {listed(names, 'dimensions')}"


def clusters_of(ratings: Ratings) -> tuple[str, int]:
    """What intervals are over, `prompt` or `item`, and how many there are."""
    if ratings.prompts is None:
        return "item", len(ratings.items)
    return "prompt", len(set(ratings.prompts))


def adjusted_ends(
    row: Row, ratings: Ratings, n_tests: int, *, fisher: bool = False
) -> tuple[float, float]:
    """A row's interval, widened for so many claims that are made together; NaN without one.

    `fisher`: whether it was formed on Fisher's scale, as those of correlations are.

    Degrees of freedom are the fewest that the interval can have: those of the prompts or, where
    judges are a sample, too, of the personas or models if these are fewer.
    """
    if isnan(row.ci_low):
        return nan, nan
    sizes = [min(clusters_of(ratings)[1], MOST_GROUPS)]
    if row.ci_over == "prompts-and-judges":
        raters = ratings.raters_by_group().get(row.group, list(range(len(ratings.raters))))
        sizes += [len(set(labels)) for labels in ratings.judge_factors(raters).values()]
    ends = row.value, row.ci_low, row.ci_high
    if not fisher:
        return widened(*ends, min(sizes) - 1, n_tests)
    if any(abs(end) >= 1 for end in ends):
        return -1.0, 1.0
    value, low, high = map(atanh, ends)
    low, high = widened(value, low, high, min(sizes) - 1, n_tests)
    return tanh(low), tanh(high)
