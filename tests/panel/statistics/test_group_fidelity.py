"""Differences between groups, their ratio, the verdict on it, and whether single items can be
looked at: against hand calculations and closed forms."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from persona_panel.statistics.core.jackknife import VariancePart
from persona_panel.statistics.group_fidelity import (
    difference_by_model,
    fidelity_contrast,
    group_difference,
    ratio_interval,
    sampled_part,
    split_half,
    verdict_on,
)

NAN = math.nan


def people(n_items: int = 60, n: int = 8, shift: float = -0.5, seed: int = 0) -> tuple:
    """Two groups of n raters who all rated all items, the first lower by `shift`."""
    rng = np.random.default_rng(seed)
    levels = rng.normal(size=(n_items, 1)) + 0.3 * rng.normal(size=(1, 2 * n))
    ratings = levels + 0.5 * rng.normal(size=(n_items, 2 * n))
    return ratings[:, :n] + shift, ratings[:, n:]


def test_the_difference_is_paired_by_item_and_averaged() -> None:
    """Each item's group means are subtracted, and items count alike however many rated them; an
    item without ratings by one group does not count."""
    a = [[1, 2, NAN], [4, 4, 4], [5, NAN, NAN], [NAN, NAN, NAN]]
    b = [[3, NAN], [2, 2], [NAN, NAN], [1, 1]]
    found = group_difference(a, b)
    assert found.value == pytest.approx(((1.5 - 3) + (4 - 2)) / 2)
    assert (found.n_items, found.n_raters) == (2, (3, 2))


def reach_of_parts(first: float, first_df: float, raters: tuple[VariancePart, ...]) -> float:
    """The half-width of the sum of variances, without what raters' have in common with the first,
    by Satterthwaite's degrees of freedom."""
    total = first + sum(one.variance - one.shared for one in raters)
    of_each = [first**2 / first_df]
    of_each += [one.variance**2 / one.df + one.shared**2 / one.shared_df for one in raters]
    df = total**2 / sum(of_each)
    return float(stats.t.ppf(0.975, df)) * math.sqrt(total)


def test_variances_of_items_and_of_each_groups_raters_add_up() -> None:
    """With a complete table the items' part is the variance of their differences, and a group's
    part that of its raters' means, each over their number; m/(m - 1) makes up for the m ratings
    from whose mean distances are taken. The noise of single ratings, in both, counts once.
    Satterthwaite's degrees of freedom."""
    a, b = people()
    found = group_difference(a, b)
    n_items, n = a.shape
    parts = [(np.var(a.mean(1) - b.mean(1), ddof=1) / n_items, n_items - 1)]
    m = 2 * n
    parts += [(np.var(side.mean(0), ddof=1) / n * m / (m - 1), n - 1) for side in (a, b)]
    assert [one.variance for one in found.raters] == pytest.approx([one for one, _ in parts[1:]])
    assert [one.df for one in found.raters] == pytest.approx([n - 1, n - 1])
    level = np.concatenate([a, b], axis=1).mean(1, keepdims=True)
    for side, part in zip((a, b), found.raters, strict=True):
        away = (side - level) / (n * n_items)
        cells = np.sum((away - away.mean(axis=0)) ** 2) * m / (m - 1) * n / (n - 1)
        assert part.shared == pytest.approx(cells * n_items / (n_items - 1))
        assert part.shared_df == pytest.approx((n - 1) * (n_items - 1))
    reach = reach_of_parts(*parts[0], found.raters)
    value = (a - b.mean(1, keepdims=True)).mean()
    assert found.interval() == pytest.approx((value - reach, value + reach))


def test_the_other_way_round_is_the_negative() -> None:
    """B − A is −(A − B), ends included, with gaps too."""
    a, b = people()
    a[np.random.default_rng(1).random(a.shape) < 0.5] = NAN
    low, high = group_difference(a, b).interval()
    assert group_difference(b, a).interval() == pytest.approx((-high, -low))


def test_an_interaction_is_the_difference_of_two_strata() -> None:
    """Items with sign −1 are subtracted, those with 0 are left out; raters whose severity is the
    same in both strata cancel."""
    a, b = people()
    signs = np.repeat([1, -1, 0], 20)
    found = group_difference(a, b, signs)
    parts = [group_difference(a[signs == sign], b[signs == sign]) for sign in (1, -1)]
    assert found.value == pytest.approx(parts[0].value - parts[1].value)
    assert found.n_items == 40
    constant = np.arange(8.0) + np.zeros((60, 1))
    lenient = group_difference(constant, constant[:, ::-1], signs)
    assert [part.variance for part in lenient.raters] == pytest.approx([0, 0], abs=1e-20)
    assert not math.isnan(found.interval()[0])


def test_few_raters_or_items_have_no_interval() -> None:
    """Four people of a group, and nine items, are no sample; raters as they are need not be one."""
    a, b = people()
    assert math.isnan(group_difference(a[:, :4], b).interval()[0])
    assert math.isnan(group_difference(a[:9], b[:9]).interval()[0])
    assert not math.isnan(group_difference(a[:10, :5], b[:10, :5]).interval()[0])
    assert not math.isnan(group_difference(a[:, :1], b[:, :1], sampled=False).interval()[0])
    none = group_difference([[NAN], [1.0]], [[1.0], [NAN]])
    assert math.isnan(none.value)
    assert math.isnan(none.interval()[0])


def test_models_are_a_sample_where_there_are_several() -> None:
    """One model's interval is Student's over items; models that differ widen it by the variance of
    their means, and models that agree do not."""
    items = np.random.default_rng(3).normal(1, 0.5, 40)
    alone = difference_by_model(items[:, None])
    error = items.std(ddof=1) / math.sqrt(40) * stats.t.ppf(0.975, 39)
    assert alone.interval() == pytest.approx((items.mean() - error, items.mean() + error))
    same = difference_by_model(np.stack([items, items], axis=1))
    assert same.interval() == pytest.approx(alone.interval())
    apart = difference_by_model(np.stack([items - 0.5, items + 0.5], axis=1))
    # Means 0.5 below and above: a variance of 0.5 over two, corrected by m/(m - 1) = 2.
    assert apart.raters[0].variance == pytest.approx(0.5)
    assert apart.interval()[0] < alone.interval()[0] - 1


def fieller(panel: np.ndarray, theirs: np.ndarray, confidence: float) -> tuple[float, float]:
    """Fieller's interval of paired items from the roots of its quadratic."""
    n = len(panel)
    t2 = stats.t.ppf((1 + confidence) / 2, n - 1) ** 2
    (vp, c), (_, vh) = np.cov(panel, theirs) / n
    p, h = panel.mean(), theirs.mean()
    low, high = sorted(np.roots([h**2 - t2 * vh, -2 * (p * h - t2 * c), p**2 - t2 * vp]).real)
    return low, high


@pytest.mark.parametrize("confidence", [0.8, 0.95])
def test_the_ratio_has_fiellers_interval(confidence: float) -> None:
    """Over items alone its ends are the roots of Fieller's quadratic, with the covariance of the
    two differences."""
    rng = np.random.default_rng(5)
    theirs = rng.normal(-0.6, 1, 50)
    panel = 1.4 * theirs + rng.normal(0, 0.5, 50)
    sides = [difference_by_model(one[:, None]) for one in (panel, theirs)]
    assert ratio_interval(*sides, confidence) == pytest.approx(fieller(panel, theirs, confidence))


def test_a_ratio_to_nothing_has_no_interval() -> None:
    """Where people's interval holds 0 the ratio may be anything."""
    rng = np.random.default_rng(6)
    theirs = difference_by_model(rng.normal(0, 1, (50, 1)))
    panel = difference_by_model(rng.normal(1, 1, (50, 1)))
    assert np.isnan(ratio_interval(panel, theirs)).all()
    with pytest.raises(ValueError, match="other items"):
        ratio_interval(difference_by_model(np.ones((50, 1)), np.arange(50) < 30), theirs)


@pytest.mark.parametrize(
    ("ratio", "verdict"),
    [
        ((2.01, 9.0), "caricature"),
        ((1.99, 9.0), "exaggerated"),
        ((1.01, 1.4), "exaggerated"),
        ((0.5, 2.0), "as people"),
        ((0.49, 2.0), "not measurable"),
        ((0.5, 2.01), "not measurable"),
        ((0.1, 0.49), "flattened"),
        ((-0.4, 0.49), "flattened"),
        ((-0.9, -0.01), "reversed"),
        ((NAN, NAN), "not measurable"),
    ],
)
def test_a_verdict_is_what_its_interval_shows(ratio: tuple[float, float], verdict: str) -> None:
    """Every verdict but `not measurable` has its interval wholly on one side of its bounds, and
    `as people` between both; nothing is measurable where people do not differ."""
    assert verdict_on((0.1, 0.5), ratio)[0] == verdict
    assert verdict_on((-0.1, 0.5), ratio)[0] == "not measurable"
    assert verdict_on((NAN, NAN), ratio)[1] is not None


def test_verdicts_are_widened_for_their_number_and_intervals_are_not() -> None:
    """What one contrast establishes is open where it is one of a thousand; the printed intervals
    stay 95 % ones, and the reason says for how many it was widened."""
    a, b = people(shift=-0.5)
    theirs = group_difference(a, b)
    panel = group_difference(3 * a.mean(1)[:, None], 3 * b.mean(1)[:, None], sampled=False)
    alone, of_many = (fidelity_contrast("a-b", theirs, panel, n_tests=n) for n in (1, 1000))
    assert alone.verdict == "exaggerated"
    assert of_many.verdict == "not measurable"
    assert of_many.reason == "people's interval, widened for 1,000 contrasts, holds 0"
    assert (alone.ratio.low, alone.human.low) == (of_many.ratio.low, of_many.human.low)


def test_people_themselves_are_as_people() -> None:
    """A panel of the people's own ratings has a ratio of 1 and no excess."""
    a, b = people(200, 30, shift=-1.0)
    found = fidelity_contrast("a-b", *(group_difference(a, b),) * 2)
    assert (found.ratio.value, found.difference.value, found.verdict) == (1.0, 0.0, "as people")


def test_a_control_on_which_personas_differ_and_people_do_not() -> None:
    """Only a control exceeds, and only where the difference from people's leaves 0 out."""
    a, b = people(shift=0.0)
    theirs = group_difference(a, b)
    invented = group_difference(a[:, :1] + 2, a[:, :1], sampled=False)
    for panel, control, exceeds in ((invented, True, True), (invented, False, False)):
        found = fidelity_contrast("women-men", theirs, panel, control=control)
        assert found.exceeds == exceeds
    assert not fidelity_contrast("w-m", theirs, theirs, control=True).exceeds


def test_nobody_stands_for_a_group() -> None:
    """People's difference is there, the rest is undefined, and the reason says so."""
    found = fidelity_contrast("a-b", group_difference(*people()), None)
    assert math.isnan(found.panel.value)
    assert not math.isnan(found.human.low)
    assert found.reason == "no persona stands for one of its groups"


def test_split_halves_see_what_differs_from_item_to_item() -> None:
    """1 where raters of a group agree exactly and groups differ by item, about 0 where they differ
    by the same on each, undefined with too few ratings to halve."""
    rng = np.random.default_rng(8)
    by_item = rng.normal(size=(80, 1))
    assert split_half(np.tile(by_item, 4), np.zeros((80, 4))) == pytest.approx(1)
    noise = rng.normal(size=(80, 8))
    assert abs(split_half(noise[:, :4] - 0.5, noise[:, 4:])) < 0.2
    assert math.isnan(split_half(noise[:, :1], noise[:, 4:]))
    assert math.isnan(split_half(noise[:9, :4], noise[:9, 4:]))
    assert split_half(noise, noise[:, ::-1]) == split_half(noise, noise[:, ::-1])


def test_items_must_be_the_same() -> None:
    """Groups with other numbers of items are refused, and so are signs."""
    with pytest.raises(ValueError, match="3 items cannot be paired with 2"):
        group_difference(np.ones((3, 2)), np.ones((2, 2)))
    with pytest.raises(ValueError, match="2 signs for 3 items"):
        group_difference(np.ones((3, 2)), np.ones((3, 2)), [1, 1])
    with pytest.raises(ValueError, match="3 items cannot be paired with 2"):
        split_half(np.ones((3, 2)), np.ones((2, 2)))


def test_the_ends_of_a_ratio_count_peoples_raters_too() -> None:
    """At either end the panel's difference less so many times people's is just significant, with
    the variance of people's raters times the square of the ratio."""
    a, b = people(shift=-1.5)
    theirs = group_difference(a, b)
    panel = group_difference(2 * a.mean(1)[:, None], 2 * b.mean(1)[:, None] + 0.3, sampled=False)
    for end in ratio_interval(panel, theirs):
        by_item = panel.by_item - end * theirs.by_item
        raters = tuple(
            VariancePart(one.variance * end**2, one.df, one.shared * end**2, one.shared_df)
            for one in theirs.raters
        )
        n = len(by_item)
        reach = reach_of_parts(by_item.var(ddof=1) / n, n - 1, raters)
        assert abs(panel.value - end * theirs.value) == pytest.approx(reach, rel=1e-4)


def test_an_interaction_without_one_of_its_strata_is_undefined() -> None:
    """Where nobody of a group rated an item of the stratum to subtract, nothing is left of it."""
    a, b = people()
    a[30:] = NAN
    assert math.isnan(group_difference(a, b, np.repeat([1, -1], 30)).value)


def test_as_people_is_shown_by_the_whole_interval() -> None:
    """A ratio whose 95 % interval reaches beyond 2 is not shown to be as people's; a smaller
    one is."""
    a, b = people(shift=-0.8)
    theirs = group_difference(a, b)
    verdicts = []
    for factor in (1.1, 0.95):
        panel = group_difference(
            factor * a.mean(1)[:, None], factor * b.mean(1)[:, None], sampled=False
        )
        verdicts.append(fidelity_contrast("a-b", theirs, panel))
    first, second = verdicts
    assert first.ratio.high > 2 > second.ratio.high > second.ratio.low > 0.5
    assert (first.verdict, second.verdict) == ("not measurable", "as people")


TEN = np.repeat(np.arange(10), 4)


def test_items_of_a_prompt_count_together() -> None:
    """Of prompts of one size the interval is Student's over their means, also beside raters; with
    labels that are of all items, or of one each, it is that over items."""
    by_item = np.random.default_rng(1).normal(size=10)[TEN] + np.tile([-0.2, 0.2], 20)
    means = by_item.reshape(10, 4).mean(axis=1)
    reach = means.std(ddof=1) / math.sqrt(10) * stats.t.ppf(0.975, 9)
    found = difference_by_model(by_item[:, None], prompts=TEN)
    assert found.interval() == pytest.approx((means.mean() - reach, means.mean() + reach))
    assert (found.n_prompts, found.over_prompts) == (10, True)
    over_items = difference_by_model(by_item[:, None]).interval()
    assert over_items[0] > found.interval()[0] + 0.1
    for labels in (np.zeros(40), np.arange(40)):
        same = difference_by_model(by_item[:, None], prompts=labels)
        assert same.interval() == over_items
        assert not same.over_prompts
    a, b = people(40)
    found = group_difference(a, b, prompts=TEN)
    by_prompt = (a.mean(1) - b.mean(1)).reshape(10, 4).mean(axis=1)
    assert all(0 < one.shared < one.variance for one in found.raters)
    reach = reach_of_parts(by_prompt.var(ddof=1) / 10, 9.0, found.raters)
    assert found.interval() == pytest.approx((found.value - reach, found.value + reach))


def test_a_large_prompt_counts_by_its_items() -> None:
    """Prompts of 2, 2, 2, 2 and 4 items at 1, 2, 3, 4 and 5: without each the mean is 3.8, 3.6,
    3.4, 3.2 and 2.5, and they count as 12² / (4 · 2² + 4²) = 4.5 prompts of one size."""
    prompts = [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 4, 4]
    found = difference_by_model([[one + 1.0] for one in prompts], prompts=prompts)
    # Distances of 0.5, 0.3, 0.1, -0.1 and -0.8 from the mean 3.3.
    error = math.sqrt(4 / 5 * (0.25 + 0.09 + 0.01 + 0.01 + 0.64))
    reach = error * stats.t.ppf(0.975, 3.5)
    assert found.interval() == pytest.approx((40 / 12 - reach, 40 / 12 + reach))
    # One of nearly all items: as few degrees of freedom as there may be.
    prompts = [0] * 96 + [1, 2, 3, 4]
    found = difference_by_model([[one + 1.0] for one in prompts], prompts=prompts)
    left_out = np.array([3.5, 108 / 99, 107 / 99, 106 / 99, 105 / 99])
    reach = math.sqrt(4 * left_out.var()) * stats.t.ppf(0.975, 1)
    assert found.interval()[1] == pytest.approx(1.1 + reach)


def test_what_a_prompt_adds_to_both_strata_cancels() -> None:
    """Near and far items of the same ten prompts: prompts differ, and the interaction does not."""
    by_item = np.random.default_rng(1).normal(size=10)[TEN] + np.tile([1.0, 0.0], 20)
    signs = np.tile([1, -1], 20)
    found = difference_by_model(by_item[:, None], signs, prompts=TEN)
    assert found.interval() == pytest.approx((1, 1))
    low, high = difference_by_model(by_item[:, None], signs).interval()
    assert high - low > 0.5


def test_a_ratio_over_prompts_has_fiellers_interval_of_their_means() -> None:
    """Over ten prompts of one size, from the covariance of the two differences over prompts."""
    rng = np.random.default_rng(5)
    theirs = rng.normal(-1, 0.5, 10)
    panel = 1.4 * theirs + rng.normal(0, 0.3, 10)
    sides = [difference_by_model(one[TEN][:, None], prompts=TEN) for one in (panel, theirs)]
    assert ratio_interval(*sides) == pytest.approx(fieller(panel, theirs, 0.95))


def test_few_prompts_have_no_interval_and_say_so() -> None:
    """Four prompts of a stratum, or nine items, are none; five are. The contrast names the number,
    and over what intervals are."""
    a, b = people(40, shift=-1.5)
    four, five = np.arange(40) % 4, np.arange(40) % 5
    found = [group_difference(a, b, prompts=labels) for labels in (four, five)]
    assert [math.isnan(one.interval()[0]) for one in found] == [True, False]
    assert math.isnan(group_difference(a[:9], b[:9], prompts=five[:9]).interval()[0])
    refused, known = (fidelity_contrast("a-b", one, one) for one in found)
    assert refused.reason == "fewer than 5 prompts have no interval: found 4"
    assert (math.isnan(refused.panel.low), math.isnan(refused.ratio.low)) == (True, True)
    assert (refused.verdict, known.verdict) == ("not measurable", "as people")
    assert (known.n_prompts, known.human.over, known.panel.over) == (
        5, "prompts and raters", "prompts",
    )  # fmt: skip
    plain = fidelity_contrast("a-b", group_difference(a, b), None)
    assert (plain.n_prompts, plain.human.over) == (0, "items and raters")
    strata = np.where(np.arange(40) < 20, 1, -1)
    mixed = np.where(strata > 0, five, four + 10)
    assert math.isnan(group_difference(a, b, strata, prompts=mixed).interval()[0])


def test_items_of_two_strata_are_left_out_of_theirs() -> None:
    """The variance is the jackknife's of the one mean less the other; each of 20 items has a 20th
    of its stratum, each of 30 a 30th: together they are worth 2² / (1/20 + 1/30) = 48 items."""
    a, b = people(50)
    signs = np.repeat([1, -1], [20, 30])
    found = group_difference(a, b, signs, sampled=False)
    by_item = a.mean(axis=1) - b.mean(axis=1)
    without = np.array([
        np.mean(np.delete(by_item[:20], n)) - by_item[20:].mean() if n < 20
        else by_item[:20].mean() - np.mean(np.delete(by_item[20:], n - 20))
        for n in range(50)
    ])  # fmt: skip
    part = sampled_part(found.by_item, found)
    assert part.variance == pytest.approx(49 / 50 * np.sum((without - without.mean()) ** 2))
    assert part.df == pytest.approx(47)
    assert found.value == pytest.approx(by_item[:20].mean() - by_item[20:].mean())
