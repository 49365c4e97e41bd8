"""How far the raters of an item lie apart."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from persona_panel.statistics.reliability import disagreement_by_item

_TABLE = st.lists(
    st.lists(st.one_of(st.just(np.nan), st.integers(0, 3).map(float)), min_size=4, max_size=4),
    min_size=1,
    max_size=6,
)


@settings(max_examples=60, deadline=None)
@given(_TABLE)
def test_it_is_numpys_variance_and_the_share_of_pairs(rows: list[list[float]]) -> None:
    """Of numbers it is numpy's variance with n − 1, of categories the pairs that differ, counted
    one by one; without two ratings there is none."""
    table = np.array(rows)
    variances = disagreement_by_item(table)
    shares = disagreement_by_item(table, "nominal")
    for row, variance, share in zip(table, variances, shares, strict=True):
        own = row[~np.isnan(row)]
        if len(own) < 2:
            assert np.isnan(variance)
            assert np.isnan(share)
            continue
        assert variance == pytest.approx(np.var(own, ddof=1))
        assert share == pytest.approx(np.mean([a != b for a, b in combinations(own, 2)]))
    with pytest.raises(ValueError, match="level"):
        disagreement_by_item(table, "other")  # type: ignore[arg-type]
