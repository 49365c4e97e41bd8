"""α after adding model raters, and the test of its change."""

from __future__ import annotations

from math import nan

import numpy as np
import pytest

from panel.statistics import Reason, added_raters, holm, krippendorff_alpha
from panel.statistics.resampling.weights import resample_weights


def raters(noise: float, n: int, seed: int, items: int = 150) -> np.ndarray:
    """Raters of the same items (the truth is seed 0's), on a scale of three."""
    truth = np.random.default_rng(0).normal(size=(items, 1))
    scores = truth + noise * np.random.default_rng(seed).normal(size=(items, n))
    return np.digitize(scores, [-0.5, 0.5]) + 1.0


def test_alphas_are_those_of_the_joined_raters() -> None:
    """After n additions α is that of the humans with the first n models."""
    humans, models = raters(1, 3, 1), raters(1, 2, 2)
    ours = added_raters(humans, models, n_resamples=50)
    for n, alpha in enumerate(ours.alphas):
        expected = krippendorff_alpha(np.hstack([humans, models[:, :n]]))
        assert alpha == expected
        if n:
            assert ours.change[n - 1] == expected.value - ours.alphas[0].value


def test_better_raters_raise_alpha_worse_ones_lower_it() -> None:
    """Raters much better or worse than the humans change α significantly, the same kind do not."""
    humans = raters(1, 3, 1)
    better = added_raters(humans, raters(0.1, 3, 2))
    worse = added_raters(humans, raters(9, 3, 2))
    alike = added_raters(humans, raters(1, 1, 4))
    assert (better.p_holm < 0.05).all()
    assert (better.low > 0).all()
    assert (worse.p_holm < 0.05).all()
    assert (worse.high < 0).all()
    assert alike.p_value[0] > 0.05
    assert alike.low[0] < 0 < alike.high[0]
    assert better.p_holm == pytest.approx(holm(better.p_value))


def test_the_test_keeps_its_level() -> None:
    """Adding raters no different from the humans is significant about once in twenty times."""
    significant = []
    for seed in range(150):
        rng = np.random.default_rng(seed)
        ratings = np.digitize(rng.normal(size=(80, 1)) + rng.normal(size=(80, 5)), [0]) + 1.0
        found = added_raters(ratings[:, :3], ratings[:, 3:], n_resamples=199, seed=seed)
        significant.append(found.p_value[-1] < 0.05)
    assert np.mean(significant) < 0.11


def test_items_stay_the_humans_unless_asked() -> None:
    """Items that only models rated enter only when asked for."""
    humans, models = raters(1, 2, 1), raters(1, 2, 2)
    humans[100:] = nan
    same = added_raters(humans, models, n_resamples=50)
    more = added_raters(humans, models, same_items=False, n_resamples=50)
    assert [alpha.n_items for alpha in same.alphas] == [100, 100, 100]
    assert [alpha.n_items for alpha in more.alphas] == [100, 100, 150]
    assert more.alphas[2] == krippendorff_alpha(np.hstack([humans, models]))


def test_the_p_value_is_that_of_resamples_moved_to_no_change() -> None:
    """Of the changes of α in resamples, less the change that was observed, the smaller tail beyond
    the latter is doubled; each α is of the drawn items written out."""
    humans, models = raters(1, 2, 1, items=12), raters(0.6, 1, 3, items=12)
    found = added_raters(humans, models, n_resamples=199, seed=5)
    both = np.hstack([humans, models])
    changes = []
    for block in resample_weights(np.arange(12), 12, 199, np.random.default_rng(5)):
        for times in block.astype(int):
            drawn = np.repeat(both, times, axis=0)
            alphas = [krippendorff_alpha(ratings).value for ratings in (drawn[:, :2], drawn)]
            changes.append(alphas[1] - alphas[0])
    null = np.array(changes)[~np.isnan(changes)] - found.change[0]
    above, below = (null >= found.change[0]).sum(), (null <= found.change[0]).sum()
    assert found.p_value[0] == pytest.approx(2 * (1 + min(above, below)) / (1 + len(null)))


def test_clusters_and_seed() -> None:
    """Resampling is by cluster, and a seed gives the same result again."""
    humans, models = raters(1, 3, 1), raters(0.5, 1, 2)
    copies = (np.repeat(humans, 4, axis=0), np.repeat(models, 4, axis=0))
    clusters = np.repeat(np.arange(150), 4).tolist()
    by_item, by_cluster = added_raters(humans, models), added_raters(*copies, clusters=clusters)
    assert by_cluster.low == pytest.approx(by_item.low, abs=0.01)
    assert added_raters(humans, models).low == by_item.low


def test_one_cluster_has_no_interval() -> None:
    """Where all items are of one prompt, α changes by as much, and no interval or test is made."""
    humans, models = raters(1, 3, 1, items=20), raters(0.1, 1, 2, items=20)
    found = added_raters(humans, models, clusters=["p"] * 20, n_resamples=50)
    assert found.change == added_raters(humans, models, n_resamples=50).change
    assert np.isnan([found.low, found.high, found.p_value]).all()


def test_undefined() -> None:
    """Humans without an α have no change of it; what does not fit is refused."""
    ours = added_raters([[1.0], [2.0]], [[1.0], [2.0]])
    assert ours.alphas[0].reason is Reason.FEW_RATERS
    assert np.isnan([ours.change[0], ours.low[0], ours.p_value[0], ours.p_holm[0]]).all()
    with pytest.raises(ValueError, match="2 items rated by humans, 3 by models"):
        added_raters(np.ones((2, 2)), np.ones((3, 1)))
