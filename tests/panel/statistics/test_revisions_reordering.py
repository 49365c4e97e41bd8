"""Changes of order, against hand counts."""

from __future__ import annotations

from math import isnan, nan, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from persona_panel.statistics import Reason
from persona_panel.statistics.revisions import reordering

# Prompt p: the first two of three swap. q: a tie is broken. r: a tie is made.
PROMPTS = ["p", "p", "p", "q", "q", "r", "r"]
SYSTEMS = ["A", "B", "C", "A", "B", "A", "B"]
BEFORE = [3.0, 2.0, 1.0, 5.0, 5.0, 4.0, 3.0]
AFTER = [2.0, 3.0, 1.0, 6.0, 5.0, 4.0, 4.0]


def test_pairs_by_hand() -> None:
    """Of 3 + 1 + 1 pairs one swapped, one became a tie and one is tied no longer. Inside p two
    pairs of three agree, τ_b = (2 − 1) / 3; q and r are each constant once."""
    found = reordering(BEFORE, AFTER, PROMPTS, SYSTEMS)
    assert (found.n_pairs, found.n_swapped, found.n_tied, found.n_untied) == (5, 1, 1, 1)
    assert found.tau_b.mean.value == pytest.approx(1 / 3)
    assert found.tau_b.n_undefined == 2


def test_systems_by_hand() -> None:
    """A has the mean (3 + 5 + 4) / 3 = 4 and then (2 + 6 + 4) / 3 = 4, B 10/3 and then 4, C 1:
    B joins A in the first place, so B alone changed its rank. Of three pairs one is tied
    after, and two agree: τ_b = 2 / √(3 · 2)."""
    found = reordering(BEFORE, AFTER, PROMPTS, SYSTEMS)
    [shift] = found.reranked
    assert (shift.system, shift.rank_before, shift.rank_after) == ("B", 2, 1)
    assert (shift.before, shift.after) == pytest.approx((10 / 3, 4))
    assert [one.system for one in found.systems] == ["A", "B", "C"]
    assert found.systems_tau_b.value == pytest.approx(2 / sqrt(6))


def test_a_response_without_a_composite_is_in_no_pair() -> None:
    """A gap on either side takes the response out of both; what is left has no order."""
    found = reordering([1, 2, nan], [2, nan, 1], ["p"] * 3, ["A", "B", "C"])
    assert found.n_pairs == 0
    assert isnan(found.tau_b.mean.value)
    assert found.tau_b.mean.reason is Reason.FEW_ITEMS
    ranks = {one.system: (one.rank_before, one.rank_after) for one in found.systems}
    assert ranks == {"A": (1, 1), "B": (None, None), "C": (None, None)}


def test_rounding_is_no_swap() -> None:
    """0.1 + 0.2 and 0.3 are a tie before and after."""
    found = reordering([0.1 + 0.2, 0.3], [0.3, 0.1 + 0.2], ["p", "p"], ["A", "B"])
    assert (found.n_pairs, found.n_swapped, found.n_tied, found.n_untied) == (1, 0, 0, 0)
    assert found.reranked == ()


def test_no_responses_no_pairs() -> None:
    """A run that was stopped before its first response has nothing to order."""
    found = reordering([], [], [], [])
    assert (found.n_pairs, found.n_swapped, found.systems) == (0, 0, ())
    assert found.systems_tau_b.reason is Reason.NO_SHARED_ITEMS


SCORES = st.lists(st.sampled_from([nan, 1.0, 2.0, 3.0]), min_size=6, max_size=6)


@given(SCORES, SCORES)
def test_backwards_swaps_are_the_same_and_ties_the_others(
    before: list[float], after: list[float]
) -> None:
    """From after to before as many pairs swap, and a tie that was made is one undone; each
    count is that of a loop over pairs."""
    prompts, systems = ["p"] * 4 + ["q"] * 2, list("ABCDAB")
    there, back = (
        reordering(*pair, prompts, systems) for pair in ((before, after), (after, before))
    )
    assert (there.n_pairs, there.n_swapped) == (back.n_pairs, back.n_swapped)
    assert (there.n_tied, there.n_untied) == (back.n_untied, back.n_tied)
    swapped = 0
    for i in range(6):
        for k in range(i):
            if prompts[i] == prompts[k]:
                # NaN is not below anything.
                swapped += (before[i] - before[k]) * (after[i] - after[k]) < 0
    assert there.n_swapped == swapped


@given(SCORES)
def test_what_does_not_change_keeps_its_order(scores: list[float]) -> None:
    """The same composites swap nothing, change no rank, and correlate by 1 where at all."""
    found = reordering(scores, scores, ["p"] * 3 + ["q"] * 3, list("ABCABC"))
    assert (found.n_swapped, found.n_tied, found.n_untied, found.reranked) == (0, 0, 0, ())
    assert np.isnan(found.tau_b.mean.value) or found.tau_b.mean.value == pytest.approx(1)
