"""Labels of a few categories: majorities, confusion, agreement on each label."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score, confusion_matrix, f1_score

from persona_panel.statistics.rater_pairs import agreement_on, confusion, majority
from persona_panel.statistics.registered.labels import kappa_matrix

_LABEL = st.one_of(st.just(np.nan), st.integers(0, 2).map(float))
_TABLE = st.lists(st.lists(_LABEL, min_size=4, max_size=4), min_size=1, max_size=9)


@settings(max_examples=80, deadline=None)
@given(_TABLE)
def test_a_majority_is_alone_in_the_first_place(rows: list[list[float]]) -> None:
    """The majority is what `Counter` counts most often, and there is none on a tie or a gap."""
    for found, row in zip(majority(rows), rows, strict=True):
        counts = Counter(label for label in row if not np.isnan(label)).most_common()
        if not counts or (len(counts) > 1 and counts[0][1] == counts[1][1]):
            assert np.isnan(found)
        else:
            assert found == counts[0][0]


@settings(max_examples=80, deadline=None)
@given(_TABLE, st.integers(0, 99))
def test_two_raters_are_scikit_learns(rows: list[list[float]], seed: int) -> None:
    """Of two raters, confusion, agreement on a label and κ are scikit-learn's confusion matrix,
    F1 and κ over the items that both labelled, also of resampled items."""
    table = np.array(rows)[:, :2]
    whole = table[~np.isnan(table).any(axis=1)]
    counts = confusion(*table.T, 3)
    if not len(whole):
        assert not counts.any()
        return
    assert counts.tolist() == confusion_matrix(*whole.T, labels=[0, 1, 2]).tolist()
    drawn = np.random.default_rng(seed).integers(len(table), size=len(table))
    weights = np.bincount(drawn, minlength=len(table))[None].astype(float)
    for data, weight in ((table, np.ones_like(weights)), (table[drawn], weights)):
        both = data[~np.isnan(data).any(axis=1)]
        for code in range(3):
            value = agreement_on(table, code)(weight)[0]
            if not (both == code).any():
                assert np.isnan(value)
            else:
                expected = f1_score(*both.T, labels=[code], average=None, zero_division=0)[0]
                assert value == pytest.approx(expected)
    [pair] = kappa_matrix(table, ["a", "b"])
    assert (pair.by, pair.by_value) == ("a", "b")
    if all(len(set(side)) > 1 for side in whole.T):
        assert pair.value == pytest.approx(cohen_kappa_score(*whole.T))


@settings(max_examples=60, deadline=None)
@given(_TABLE)
def test_many_raters_are_counted_pair_by_pair(rows: list[list[float]]) -> None:
    """Of many raters, agreement on a label is the mean over its ratings of the share of the item's
    other ratings that are the same."""
    shares = []
    for row in rows:
        labels = [label for label in row if not np.isnan(label)]
        for place, label in enumerate(labels):
            if label == 1 and len(labels) > 1:
                others = labels[:place] + labels[place + 1 :]
                shares.append(others.count(1) / len(others))
    value = agreement_on(rows, 1)(np.ones((1, len(rows))))[0]
    assert value == pytest.approx(np.mean(shares) if shares else np.nan, nan_ok=True)


def test_codes_are_of_categories() -> None:
    """A code without a category is refused."""
    with pytest.raises(ValueError, match="from 0 to 1"):
        confusion([0, 2], [0, 1], 2)
