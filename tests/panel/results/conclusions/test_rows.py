"""Figures of rows in sentences."""

from __future__ import annotations

from dataclasses import replace
from math import atanh, isnan, nan, sqrt, tanh

import pytest
from scipy.stats import t

from persona_panel.results.conclusions.rows import (
    adjusted_ends,
    by_dimension,
    figure,
    from_to,
    on_dimensions,
    p_of,
    range_over,
    reasons_of,
    sign_of,
    split_composite,
    spread_of,
    strata_differ,
)
from persona_panel.statistics import Reason, Row
from persona_panel.statistics.strata import LESS_OTHERS
from tests.helpers.rating_tables import HUMANS

ROW = Row(
    "tau_b", "all", "depth", value=0.5, ci_low=0.25, ci_high=0.75, ci_df=9.0, n_clusters=10,
    p_value=0.02, adjusted_over="dimensions",
)  # fmt: skip


def test_a_figure_has_what_is_known() -> None:
    """The interval and the p-value, adjusted or not."""
    assert figure(ROW) == "0.50 (95 % interval 0.25 to 0.75, adjusted p 0.02)"
    assert p_of(replace(ROW, adjusted_over=None)) == "p 0.02"
    assert figure(Row("tau_b", "all", "depth", value=0.5)) == "0.50"


def test_rows_by_dimension() -> None:
    """Those of the statistic and group that are not broken down."""
    rows = [
        ROW, replace(ROW, dimension="style"), replace(ROW, statistic="icc2", dimension="a"),
        replace(ROW, group="humans", dimension="b"), replace(ROW, by="source", dimension="c"),
    ]  # fmt: skip
    assert list(by_dimension(rows, "all", "tau_b")) == ["depth", "style"]


def test_values_from_the_lowest_to_the_highest() -> None:
    """Once where both look alike."""
    rows = [replace(ROW, value=value) for value in (0.64, 0.51, 0.6)]
    assert from_to(rows, 2) == "from 0.51 to 0.64"
    assert from_to(rows[1:], 0) == "1" and from_to([ROW], 2) == "0.50"


def test_dimensions_are_named_where_there_are_several() -> None:
    """All of several in the words for them, one alone by its name, none where all are together."""
    assert on_dimensions(["a", "b"], ["a", "b"], "all dimensions") == " on all dimensions"
    assert on_dimensions(["a"], ["a"], "all dimensions") == " on a"
    assert on_dimensions(["a", "b"], ["a", "b", "c"], "all dimensions") == " on a and b"
    assert on_dimensions(["all"], ["all"], "all dimensions") == ""


def test_an_interval_is_widened_for_claims_made_together() -> None:
    """By Bonferroni's Student's t: of five, each at 99 %; of correlations on Fisher's scale."""
    ratio = t.ppf(0.995, 9) / t.ppf(0.975, 9)
    assert adjusted_ends(ROW, 5) == pytest.approx((0.5 - 0.25 * ratio, 0.5 + 0.25 * ratio))
    middle = atanh(0.5)
    low, high = middle - atanh(0.25), atanh(0.75) - middle
    assert adjusted_ends(ROW, 5, fisher=True) == pytest.approx(
        (tanh(middle - ratio * low), tanh(middle + ratio * high))
    )
    assert adjusted_ends(replace(ROW, ci_high=1.0), 5, fisher=True) == (-1.0, 1.0)
    assert all(map(isnan, adjusted_ends(replace(ROW, ci_low=nan), 5)))


def test_a_sign_is_that_of_the_whole_interval() -> None:
    """An end at 0 has none."""
    ends = (0.1, 0.2), (-0.2, -0.1), (-0.1, 0.1), (0.0, 1.0), (-1.0, 0.0), (nan, nan)
    assert [sign_of(each) for each in ends] == [1, -1, 0, 0, 0, 0]


def test_the_spread_behind_an_interval() -> None:
    """Half its width, over Student's t, times the root of the number."""
    assert spread_of(ROW, 0.25, 0.75) == pytest.approx(0.25 / t.ppf(0.975, 9) * sqrt(10))
    assert isnan(spread_of(replace(ROW, n_clusters=None), 0.25, 0.75))


def test_reasons_are_given_once() -> None:
    """In order of appearance."""
    reasons = (Reason.FEW_RATERS, Reason.NO_SPREAD, Reason.FEW_RATERS)
    rows = [replace(ROW, reason=reason) for reason in reasons]
    assert reasons_of(rows) == f"{Reason.FEW_RATERS}; {Reason.NO_SPREAD}"


def test_strata_that_differ() -> None:
    """By the smallest p-value first, two of them, with the interval on the side that is said."""
    of = replace(ROW, by=f"source{LESS_OTHERS}", by_value="a")
    lower = replace(
        of, by_value="b", value=-0.5, ci_low=-0.75, ci_high=-0.25, p_value=0.01, dimension="all"
    )
    third = replace(of, by_value="c", p_value=0.04)
    unsure = replace(of, by_value="d", p_value=0.05)

    def said(*rows: Row) -> list[str]:
        return strata_differ(rows, "tau_b", "agreement", "source")

    assert said(of, lower, third, unsure) == [
        "Agreement differs by source: b is 0.50 lower than the mean of the others (95 % interval "
        "0.25 to 0.75, adjusted p 0.01); a on depth is 0.50 higher than the mean of the others "
        "(95 % interval 0.25 to 0.75, adjusted p 0.02); 1 more."
    ]
    assert said(unsure) == ["Agreement is not shown to differ by source (1 test)."]
    few = replace(of, reason=Reason.FEW_RATERS)
    assert said(few) == [f"Whether agreement differs by source cannot be tested: {few.reason}."]
    assert said(ROW, replace(of, statistic="icc2")) == []


def test_the_range_over_strata() -> None:
    """With the stratum of each end; of a single value its own."""
    a = replace(ROW, by_value="a", dimension="all")
    b = replace(ROW, by_value="b", value=0.75)
    assert range_over([b, a]) == "is from 0.50 (a) to 0.75 (b, depth)"
    assert range_over([a]) == "is defined in one of them alone: 0.50 (a)"


def test_the_composite_stands_beside_its_dimensions() -> None:
    """Rows of dimensions, or of all together, are the rest."""
    rows = [replace(ROW, dimension=name) for name in ("composite", "depth", "all", "clarity")]
    beside, rest = split_composite(rows, HUMANS)
    assert [row.dimension for row in beside] == ["composite"]
    assert [row.dimension for row in rest] == ["depth", "all", "clarity"]
