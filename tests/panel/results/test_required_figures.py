"""Which figure a requirement names."""

from __future__ import annotations

from dataclasses import replace
from math import inf, isnan

import numpy as np
import pytest
from scipy.stats import t

from persona_panel.results.required_figures import Figure, FigureKey, OpenKey, find
from persona_panel.results.requirement import WrongRequirement, parse_requirement
from persona_panel.statistics.core.sampled_mean import sampled_mean

ALL = FigureKey("all", may_be_left_out=True)
FIGURES = [
    *(Figure("composite", (FigureKey(name),)) for name in ("my-model", "old, [v1]", "José")),
    *(Figure("clarity", (FigureKey(name),), "Clear argument") for name in ("my-model", "José")),
    Figure("difference", (FigureKey("my-model"), FigureKey("José"))),
    Figure("difference", (FigureKey("José"), FigureKey("my-model"))),
    Figure("missing"),
    Figure("missing", (FigureKey("failed"),)),
    Figure("alpha", (FigureKey("clarity", "Clear argument"), ALL)),
    Figure("alpha", (FigureKey("clarity", "Clear argument"), FigureKey("gpt"))),
    Figure("alpha", (FigureKey("depth"), FigureKey("gpt"))),
    Figure("composite", (FigureKey("of a dimension of that id"),), "Composite of Dreyfus"),
]


def found(expression: str) -> Figure:
    return find(parse_requirement(f"{expression} > 0"), FIGURES)


@pytest.mark.parametrize(
    ("expression", "place"),
    [
        ("composite[my-model]", 0),
        ('composite["old, [v1]"]', 1),
        ("composite[Jose\u0301]", 2),
        ("Clear argument[José]", 4),
        ("'Clear argument'[my-model]", 3),
        ("difference[my-model, José]", 5),
        ("difference[José, my-model]", 6),
        ("missing", 7),
        ("missing[failed]", 8),
        ("alpha[clarity]", 9),
        ("alpha[Clear argument]", 9),
        ("alpha[clarity, gpt]", 10),
        ("alpha[depth]", 11),
        ("alpha[all]", 9),
    ],
)
def test_names_and_labels(expression: str, place: int) -> None:
    """A figure is found by its name or label, with its keys in their order; those of all raters are
    meant where nobody else is named; an accent may be a sign of its own."""
    assert found(expression) is FIGURES[place]


@pytest.mark.parametrize(
    ("expression", "was_found", "expected"),
    [
        ("compsite[my-model]", "the figure 'compsite'", "one of composite; clarity; "),
        ("composite[my_model]", "composite[my_model]", "one of composite[my-model]; "),
        ("omega", "the figure 'omega'",
         "--epsilon, with which `people correlate` has the alternative annotator test (`report` "
         "has it with --human), or one of "),
        ("corrected_difference[my-model, José]", "the figure 'corrected_difference'",
         "`people calibrate`, or `score` or `report` with --human, which have it, or one of "),
        ("kendall_w", "the figure 'kendall_w'", "`agree`, which has it, or one of "),
        ("tau_c", "the figure 'tau_c'", "`people correlate`, which has it, or one of "),
        ("votes", "the figure 'votes'", "`people votes`, which has it, or one of "),
        ("missing[refused]", "missing[refused]", "one of missing[failed]; missing"),
        ("difference[my-model]", "difference[my-model], which is the name of 2 figures",
         "one of difference["),
        ("alpha[gpt]", "alpha[gpt], which is the name of 2 figures", "one of alpha["),
        ("alpha[gpt, clarity]", "alpha[gpt, clarity]", "alpha[clarity, gpt]"),
    ],
)  # fmt: skip
def test_a_wrong_name_is_answered_by_the_nearest(
    expression: str, was_found: str, expected: str
) -> None:
    """What is not there, and what means several: with those that are there, the nearest first."""
    with pytest.raises(WrongRequirement) as caught:
        found(expression)
    assert caught.value.actual == was_found
    assert caught.value.expected.startswith(expected)


def test_keys_that_may_be_left_out_are_named_to_who_asks_for_a_key() -> None:
    """Of a figure whose keys may all be left out, a wrong key is answered by the keys there are."""
    dimensions = [FigureKey(name, may_be_left_out=True) for name in ("clear", "sound")]
    figures = [Figure("consensus", (one,)) for one in dimensions]
    for there in (figures[:1], figures):
        with pytest.raises(WrongRequirement) as caught:
            find(parse_requirement("consensus[foo] > 0"), there)
        assert "consensus[clear]" in caught.value.expected


def test_of_many_names_the_nearest_are_shown() -> None:
    """Of 100 systems six are named, and how many there are; quotes stand where they are needed."""
    figures = [Figure("composite", (FigureKey(f"system, {n}"),)) for n in range(100)]
    with pytest.raises(WrongRequirement) as caught:
        find(parse_requirement("composite['system, 999'] > 0"), figures)
    assert caught.value.expected.startswith('one of composite["system, 99"]; ')
    assert caught.value.expected.endswith("; … (100 in all)")
    assert caught.value.expected.count("composite[") == 6


def test_who_asks_by_a_label_is_answered_by_it() -> None:
    """The names that are offered begin with the label that was written, and find their figures."""
    with pytest.raises(WrongRequirement) as caught:
        found("Clear argument")
    names = caught.value.expected.removeprefix("one of ").split("; ")
    assert sorted(names) == ["Clear argument[José]", "Clear argument[my-model]"]
    assert {found(name).keys[0].name for name in names} == {"José", "my-model"}


@pytest.mark.parametrize("n", [1, 2, 6, 7, 299, 300, 301])
def test_six_names_at_most_are_shown(n: int) -> None:
    """One alone as it is; of more than six how many there are; the nearest first, however many
    letters are compared."""
    figures = [Figure("composite", (FigureKey(f"s{place}"),)) for place in range(n)]
    with pytest.raises(WrongRequirement) as caught:
        find(parse_requirement("composite[S0x] > 0"), figures)
    expected = caught.value.expected
    names = expected.removeprefix("one of ").partition("; …")[0].split("; ")
    assert names[0] == "composite[s0]" and len(names) == len(set(names)) == min(n, 6)
    assert expected.startswith("one of ") == (n > 1)
    assert expected.endswith(f"; … ({n:,} in all)") == (n > 6)


@pytest.mark.parametrize(
    ("expression", "was_found", "expected"),
    [
        ("verdict == worse", "'worse'", "one of better; open"),
        ("verdict > 1", "> behind verdict", "== or != and one of better, open"),
        ("missing == better", "== behind missing", "a number"),
    ],
)
def test_words_are_not_compared_with_numbers(
    expression: str, was_found: str, expected: str
) -> None:
    """A figure that is a word has one of its words; the others have numbers."""
    word = Figure("verdict", word="open", words=("better", "open"))
    with pytest.raises(WrongRequirement) as caught:
        find(parse_requirement(expression), [word, *FIGURES])
    assert caught.value.actual == was_found
    assert sorted(caught.value.expected.removeprefix("one of ").split("; ")) == sorted(
        expected.removeprefix("one of ").split("; ")
    )


def test_a_key_that_is_open_may_have_any_name_or_one_of_some() -> None:
    """As a dry run knows a figure, before its systems are known."""
    assert OpenKey("a system").is_called("anything")
    some = OpenKey("a model", among=("gpt", "José"))
    assert some.is_called("Jose\u0301") and not some.is_called("llama")


def test_a_figure_has_an_interval_at_95_per_cent_of_no_scale_unless_it_says_otherwise() -> None:
    """Nothing else is known of it: at another level it has none."""
    plain = Figure("x", value=1.0, low=0.5, high=1.5)
    assert (plain.level, plain.limits) == (0.95, (-inf, inf))
    assert plain.at(0.95) is plain and plain.at(0.9) is plain
    wider = plain.at(0.99)
    assert not wider.has_interval and wider.reason == "its interval is known at 95 % alone"
    nothing = Figure("x")
    assert isnan(nothing.value) and not nothing.has_interval and nothing.at(0.5) is nothing
    assert not (nothing.is_exact or nothing.is_whole or nothing.of_items)


@pytest.mark.parametrize(
    ("limits", "comparison", "expected"),
    [
        ((0, 1), ">= 98", "a number from 0 to 1: 98 % is 0.98"),
        ((0, 1), "< 1.5", "a number from 0 to 1: 1.5 % is 0.015"),
        ((0, 1), "> -0.1", "a number from 0 to 1"),
        ((-1, 1), ">= 300", "a number from -1 to 1"),
        ((-inf, 1), ">= 80", "a number up to 1: 80 % is 0.8"),
        ((0, 1), ">= 1", ""),
        ((0, 1), "> 0", ""),
        ((-inf, 1), ">= -3", ""),
        ((-0.25, 1), ">= -0.3", ""),
        ((-0.25, 1), ">= 30", "a number up to 1: 30 % is 0.3"),
        ((1, 4), "<= 5", ""),
        ((-inf, inf), ">= 98", ""),
    ],
)  # fmt: skip
def test_a_percentage_is_no_bound_of_a_share(
    limits: tuple[float, float], comparison: str, expected: str
) -> None:
    """The range is named, and the bound that was meant; where the range is another, or not known,
    any bound is taken: it may be of the data, as the number of judges is."""
    requirement, figures = (
        parse_requirement(f"share {comparison}"),
        [Figure("share", limits=limits)],
    )
    if not expected:
        assert find(requirement, figures) == figures[0]
        return
    with pytest.raises(WrongRequirement) as caught:
        find(requirement, figures)
    bound = comparison.rpartition(" ")[2]
    assert str(caught.value) == f"found {bound} as a bound of share; expected {expected}"


def test_students_interval_is_known_at_every_level() -> None:
    """Around the value, by the quantiles of t; of one that was cut at an end of its scale by the
    side that was not, and cut there again; the name and the rest stay."""
    plain = Figure("x", value=5.0, low=3.0, high=7.0, df=10)
    ratio = t.ppf(0.95, 10) / t.ppf(0.975, 10)
    narrower = plain.at(0.9)
    assert (narrower.low, narrower.high) == pytest.approx((5 - 2 * ratio, 5 + 2 * ratio))
    assert (narrower.level, narrower.value, narrower.reason) == (0.9, 5.0, None)
    assert narrower.at(0.95).high == pytest.approx(7.0)
    for low, value, high in ((1.0, 2.0, 5.0), (5.0, 8.0, 9.0)):
        cut = replace(plain, low=low, value=value, high=high, limits=(1.0, 9.0)).at(0.9)
        ends = max(value - 3 * ratio, 1.0), min(value + 3 * ratio, 9.0)
        assert (cut.low, cut.high) == pytest.approx(ends)


def test_an_interval_that_is_not_students_decides_at_lower_levels_alone() -> None:
    """It is the wider one there; at a higher level there is none."""
    for other in (
        Figure("x", value=5.0, low=4.0, high=7.0, df=10),
        Figure("x", value=5.0, low=3.0, high=7.0),
    ):
        assert other.at(0.9) is other
        above = other.at(0.99)
        assert isnan(above.low) and isnan(above.high) and above.level == 0.95


def test_a_sampled_mean_has_its_own_interval_at_every_level() -> None:
    """Which is not symmetric on a scale with two ends."""
    of = sampled_mean(np.array([7.0, 8.0, 8.5, 6.0]), limits=(1.0, 9.0))
    low, high = of.interval()
    figure = Figure("x", value=of.mean, low=low, high=high, sampled=of, limits=(1.0, 9.0))
    for level in (0.9, 0.99):
        found = figure.at(level)
        assert (found.low, found.high, found.level) == (*of.interval(level), level)
