"""α after adding model raters, and the test of its change."""

from __future__ import annotations

from math import nan

import numpy as np
import pytest
import scipy

from persona_panel.statistics import Reason, added_raters, krippendorff_alpha


def raters(noise: float, n: int, seed: int, items: int = 150) -> np.ndarray:
    """Raters of the same items (the truth is seed 0's), on a scale of three."""
    truth = np.random.default_rng(0).normal(size=(items, 1))
    scores = truth + noise * np.random.default_rng(seed).normal(size=(items, n))
    return np.digitize(scores, [-0.5, 0.5]) + 1.0


def test_alphas_are_those_of_the_joined_raters() -> None:
    """After n additions α is that of people with the first n models."""
    humans, models = raters(1, 3, 1), raters(1, 2, 2)
    alone, added = added_raters(humans, models)
    assert alone == krippendorff_alpha(humans)
    for n, each in enumerate(added, start=1):
        expected = krippendorff_alpha(np.hstack([humans, models[:, :n]]))
        assert each.alpha == expected
        assert each.change == expected.value - alone.value


def test_better_raters_raise_alpha_worse_ones_lower_it() -> None:
    """Raters much better or worse than the humans change α significantly, the same kind do not."""
    humans = raters(1, 3, 1)
    _, better = added_raters(humans, raters(0.1, 3, 2))
    _, worse = added_raters(humans, raters(9, 3, 2))
    _, (alike,) = added_raters(humans, raters(1, 1, 4))
    assert all(each.p_adjusted < 0.05 and each.interval.low > 0 for each in better)
    assert all(each.p_adjusted < 0.05 and each.interval.high < 0 for each in worse)
    assert alike.p > 0.05
    assert alike.interval.low < 0 < alike.interval.high
    for each in better:
        assert each.p_adjusted == pytest.approx(min(3 * each.p, 1))


def test_the_test_keeps_its_level() -> None:
    """Of 150 pairs of raters drawn like the humans, whose ratings in a prompt are correlated, at
    most 9 % seem to change α with 5 prompts."""
    significant = []
    for seed in range(150):
        rng = np.random.default_rng(seed)
        alike = rng.normal(size=(5, 1, 1)) + rng.normal(size=(5, 1, 5))
        scores = alike + rng.normal(size=(5, 8, 1)) + rng.normal(size=(5, 8, 5))
        ratings = np.digitize(scores.reshape(40, 5), [-1, 0, 1]) + 1.0
        prompts = np.repeat(np.arange(5), 8).tolist()
        _, added = added_raters(ratings[:, :3], ratings[:, 3:], clusters=prompts)
        significant.append(any(each.p_adjusted < 0.05 for each in added))
    assert np.mean(significant) < 0.09


def test_items_stay_the_humans() -> None:
    """Items that only models rated do not enter."""
    humans, models = raters(1, 2, 1), raters(1, 2, 2)
    humans[100:] = nan
    alone, added = added_raters(humans, models)
    assert [alone.n_items, *(each.alpha.n_items for each in added)] == [100, 100, 100]


def test_interval_and_p_value_are_those_of_the_jackknife_by_hand() -> None:
    """With the change of α without each of g prompts, the standard error is the root of (g − 1)/g
    times their sum of squares about their mean, and t has g − 1 degrees of freedom; of two
    additions each is tested at 2.5 %."""
    humans, models = raters(1, 3, 1, items=48), raters(0.8, 2, 3, items=48)
    prompts = np.repeat(np.arange(12), 4)
    _, added = added_raters(humans, models, clusters=prompts.tolist())
    for n, each in enumerate(added, start=1):
        both = np.hstack([humans, models[:, :n]])
        without = np.array(
            [
                krippendorff_alpha(both[prompts != one]).value
                - krippendorff_alpha(humans[prompts != one]).value
                for one in range(12)
            ]
        )
        error = np.sqrt(11 / 12 * np.sum((without - without.mean()) ** 2))
        change, reach = each.change, scipy.stats.t.ppf(1 - 0.025 / 2, 11) * error
        ends = each.interval.low, each.interval.high
        assert ends == pytest.approx((change - reach, change + reach))
        p_value = 2 * scipy.stats.t.sf(abs(change) / error, 11)
        assert each.p == pytest.approx(p_value)
        assert each.p_adjusted == pytest.approx(min(1, 2 * p_value))


def test_intervals_and_adjusted_p_values_say_the_same() -> None:
    """An interval leaves 0 out exactly where the adjusted p-value is below 5 %."""
    said = set()
    for seed in range(40):
        humans, models = raters(1, 3, 1, items=60), raters(0.7, 4, seed, items=60)
        _, added = added_raters(humans, models, clusters=np.repeat(np.arange(15), 4).tolist())
        for each in added:
            outside = each.interval.low > 0 or each.interval.high < 0
            assert outside == (each.p_adjusted < 0.05)
            said.add(outside)
    assert said == {False, True}


def test_items_of_a_prompt_count_as_one_observation() -> None:
    """Copies of the items, in the prompts of their originals, change neither α's change much nor
    its interval; taken as items of their own they would seem to halve it."""
    humans, models = raters(1, 3, 1), raters(0.5, 1, 2)
    copies = np.repeat(humans, 4, axis=0), np.repeat(models, 4, axis=0)
    clusters = np.repeat(np.arange(150), 4).tolist()
    by_item, by_cluster, blind = (
        added[0].interval
        for _, added in (
            added_raters(humans, models),
            added_raters(*copies, clusters=clusters),
            added_raters(*copies),
        )
    )
    assert by_cluster.low == pytest.approx(by_item.low, abs=0.01)
    assert blind.high - blind.low < 0.6 * (by_item.high - by_item.low)


@pytest.mark.parametrize(("n_prompts", "reason"), [(4, Reason.FEW_FOR_A_CORRELATION), (5, None)])
def test_fewer_than_five_prompts_have_no_interval(n_prompts: int, reason: Reason | None) -> None:
    """α changes by as much, and of four prompts neither interval nor test is made; it says why."""
    humans, models = raters(1, 3, 1, items=24), raters(0.1, 1, 2, items=24)
    _, (added,) = added_raters(humans, models, clusters=[n % n_prompts for n in range(24)])
    _, (by_item,) = added_raters(humans, models)
    assert added.change == by_item.change
    interval = added.interval
    assert interval.reason is reason
    assert np.isnan([interval.low, interval.high, added.p]).all() == (reason is not None)


def test_undefined() -> None:
    """Humans without an α have no change of it; what does not fit is refused."""
    alone, (added,) = added_raters([[1.0], [2.0]], [[1.0], [2.0]])
    assert alone.reason is Reason.FEW_RATERS
    assert np.isnan([added.change, added.interval.low, added.p, added.p_adjusted]).all()
    with pytest.raises(ValueError, match="2 items rated by people, 3 by models"):
        added_raters(np.ones((2, 2)), np.ones((3, 1)))
