"""What personas add, by ratings of people: the difference of two correlations."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from persona_panel.statistics import by_prompt
from persona_panel.statistics.votes import (
    all_alike,
    correlation_gain,
)

_SCORES = st.lists(
    st.tuples(*[st.one_of(st.just(np.nan), st.integers(1, 5).map(float))] * 3),
    min_size=3,
    max_size=12,
)


@settings(max_examples=60, deadline=None)
@given(_SCORES, st.integers(0, 99))
def test_it_is_scipys_difference_on_shared_items(rows: list[tuple[float, ...]], seed: int) -> None:
    """The gain is scipy's correlation of the one with the reference less the other's, over the
    items of all three, on the data and on every resample."""
    panel, control, target = np.array(rows).T
    weights = np.random.default_rng(seed).multinomial(len(rows), [1 / len(rows)] * len(rows), 3)
    weights = np.vstack([np.ones(len(rows)), weights]).astype(float)
    found = correlation_gain(panel, control, target, "spearman").resampled(weights)
    whole = ~np.isnan(panel + control + target)
    for value, row in zip(found, weights, strict=True):
        items = np.repeat(np.flatnonzero(whole), row[whole].astype(int))
        sides = [side[items] for side in (panel, control, target)]
        if any(len(np.unique(side)) < 2 for side in sides):
            assert np.isnan(value)
            continue
        ours, theirs = (stats.spearmanr(side, sides[2]).statistic for side in sides[:2])
        assert value == pytest.approx(ours - theirs, abs=1e-9)
    own = correlation_gain(panel, control, target, "spearman")
    assert own.value == pytest.approx(found[0], abs=1e-9, nan_ok=True)
    assert (own.reason is None) == (not np.isnan(found[0]))


def test_within_prompts_each_prompt_has_its_own() -> None:
    """Inside a prompt the gain is that of its items alone."""
    panel, control, target = [1, 2, 3, 4], [2, 1, 3, 4], [1, 2, 4, 3]
    sides = np.array([panel, control, target])
    found = by_prompt(lambda items: correlation_gain(*sides[:, items], "pearson"), "aabb", 4)
    assert [value.value for value in found.values] == pytest.approx([2, 0])


def test_identical_replicates_are_known() -> None:
    """Replicates that never differ are told from those that do once; a gap is no difference."""
    assert all_alike(np.array([[1, 1, np.nan], [3, 3, 3]], dtype=float))
    assert not all_alike(np.array([[1, 1, np.nan], [3, 3, 4]], dtype=float))
    assert not all_alike(np.array([[1, np.nan], [2, np.nan]], dtype=float))
