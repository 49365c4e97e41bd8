"""The figures of any result that a requirement may name."""

from __future__ import annotations

from dataclasses import replace
from math import nan

import pytest

from persona_panel import check
from persona_panel.results.required_figures import Figure, find, result_figures
from persona_panel.results.requirement import parse_requirement
from persona_panel.results.result import Result
from persona_panel.results.table import Column, Key, Table
from persona_panel.statistics import Difference, Estimate
from tests.helpers.results import DIFFERENCES, MEANS, SAMPLE


def figure(expression: str, result: Result = SAMPLE) -> Figure:
    return find(parse_requirement(expression), result_figures(result))


def test_an_estimate_is_decided_by_its_interval() -> None:
    """With what it is over, of how many and on which scale; an optional key may be left out, and a
    label stands for a name."""
    mean = figure("mean[alder] >= 5")
    assert (mean.value, mean.low, mean.high, mean.over) == (6.0, 5.5, 6.25, "over prompts")
    assert (mean.n_prompts, mean.limits, mean.of_items) == (12, (1.0, 9.0), False)
    assert figure("mean[alder, Depth of it] > 0").reason == "nobody rated it"
    assert figure("mean['=birch'] > 0").reason == "one prompt alone"
    assert figure("mean[alder] >= 5").reason is None
    assert check(SAMPLE, "mean[alder] >= 5.4", "mean[alder] < 6.3").met
    assert not check(SAMPLE, "mean[alder] >= 5.6").met


def test_p_values_words_and_counts() -> None:
    """A p-value is that of its estimate, adjusted where it is; words are compared, counts exact."""
    met = "mean_p[alder] <= 0.02", "verdict[alder] == better", "rated[alder] >= 16"
    assert check(SAMPLE, *met).met
    assert not check(SAMPLE, "mean_p[alder] < 0.02").met
    assert figure("mean_p[alder] < 1").is_exact
    assert not check(SAMPLE, "verdict['=birch'] == better").met


def test_a_difference_is_the_same_from_either_side() -> None:
    """b − a is a − b with its interval turned; a p stays."""
    found = figure("difference['=birch', alder] > -3")
    assert (found.value, found.low, found.high) == (-1.0, -2.5, 0.5)
    assert figure("difference[alder, '=birch'] > 0").value == 1.0


@pytest.mark.parametrize(
    ("p_adjusted", "low", "is_said"), [(0.08, 0.1, True), (0.04, 0.1, False), (0.08, -0.1, False)]
)
def test_a_difference_that_the_other_pairs_leave_open_says_so(
    p_adjusted: float, low: float, is_said: bool
) -> None:
    """Where the interval of one pair leaves 0 out and its p, adjusted for all of them, is not below
    0.05, the figure says that the difference is not significant, from either side."""
    cell = Difference(0.5, low, 0.9, over="prompts", n=15, p_adjusted=p_adjusted, a="a", b="b")
    row = {"a": "a", "b": "b", "dimension": "composite", "difference": cell}
    result = Result("r", (), (replace(DIFFERENCES, rows=[row]),))
    expected = (
        "15 prompts; after adjustment for the number of pairs a difference is not significant, "
        "adjusted p 0.08"
    )
    assert [one.detail for one in result_figures(result)] == [expected if is_said else ""] * 2


def test_a_statistic_names_its_figure() -> None:
    """Of a long table the value of a key is the figure's name, its label another one, and no key of
    it; of the p-value it is the first key. Rows without a test have no p."""
    labels = {"alpha": "Krippendorff α"}
    table = Table(
        "rows",
        (Key("statistic", labels=labels), Key("dimension", optional={"all"}), Key("by")),
        (Column("estimate", "estimate", figure="{statistic}", p_figure="p"),),
        [
            {"statistic": "alpha", "dimension": "all",
             "estimate": Estimate(0.5, 0.4, 0.6, over="items", n=9, p=0.01)},
            {"statistic": "tau", "dimension": "all", "by": "model", "estimate": Estimate(0.2)},
        ],
    )  # fmt: skip
    result = Result("r", (), (table,))
    assert figure("alpha >= 0.3", result).of_items
    assert figure("Krippendorff α >= 0.3", result).value == 0.5
    assert figure("p[alpha] < 0.05", result).value == 0.01
    assert [str(one) for one in result_figures(result)] == ["alpha", "p[alpha]", "tau[model]"]
    assert figure("tau > 0", result).reason == "no interval of it is computed"


def test_what_is_for_people_alone_names_no_figure() -> None:
    """A table that shows another one anew, and columns without a name for it."""
    assert result_figures(Result("r", (), (replace(MEANS, programs=False),))) == []
    plain = Table("t", (), (Column("x", "number", figure="x"), Column("y", "number")), [{"x": nan}])
    [only] = result_figures(Result("r", (), (plain,)))
    assert (only.name, only.reason) == ("x", "it is not computed")
