"""Moves, means and spread before and after, against hand calculations."""

from __future__ import annotations

from math import isnan, nan, sqrt

import pytest
from hypothesis import given
from scipy.stats import t

from persona_panel.statistics import Reason
from persona_panel.statistics.revisions import Revisions, mean_changes, spread
from tests.panel.statistics.revisions import any_revisions, revisions

# Three judges on a response that was deliberated, and on one that was not.
TWO = revisions([[2, 4, 9], [5, 5, 6]], [[2, 6, 8], [5, 5, 6]], deliberated=[True, False])


def test_means_are_those_of_what_was_deliberated() -> None:
    """(2 + 4 + 9) / 3 = 5 to (2 + 6 + 8) / 3 = 16/3, two of three moved; the response that was
    not deliberated is in none of it."""
    [one] = mean_changes(TWO, "dimensions")
    assert (one.before, one.after, one.value) == pytest.approx((5, 16 / 3, 1 / 3))
    assert (one.n_moved, one.n, one.reason) == (2, 3, None)


def test_each_judge_has_its_own() -> None:
    """A judge's mean is over its own ratings of all dimensions: (4 + 1) / 2 to (6 + 1) / 2."""
    both = revisions([[[2, 1], [4, 1]]], [[[2, 1], [6, 1]]])
    first, second = mean_changes(both, "judges")
    assert (first.before, first.after, first.n_moved, first.n) == (2 - 0.5, 1.5, 0, 2)
    assert (second.before, second.after, second.value) == (2.5, 3.5, 1.0)
    assert (second.n_moved, second.n) == (1, 2)


def test_a_rating_that_is_missing_once_is_in_neither_mean() -> None:
    """Of 2, -, 9 and 2, 6, - only the first judge can be compared, the others have no ratings."""
    gaps = revisions([[2, nan, 9]], [[2, 6, nan]])
    [one] = mean_changes(gaps, "dimensions")
    assert (one.before, one.after, one.n) == (2, 2, 1)
    _, second, third = mean_changes(gaps, "judges")
    assert second.reason is third.reason is Reason.NO_RATINGS
    assert isnan(second.value)


@pytest.mark.parametrize(
    ("step", "after", "moved"),
    [(1, 1.5, False), (1, 1.6, True), (1, 0.6, True), (0.1, 1.14, False), (0.1, 1.15, True)],
)
def test_half_a_step_is_a_move(step: float, after: float, moved: bool) -> None:
    """From 1.1, a change counts from half the distance of two neighbouring ratings on, either
    way, though 1.15 − 1.1 be a little below 0.05 in floats."""
    one = revisions([[1.1]], [[after]], steps=[step])
    assert one.moved.tolist() == [[[moved]]]


def test_spread_is_the_mean_standard_deviation() -> None:
    """2, 4, 9 about 5 have the squares 9 + 1 + 16 and the SD √(26 / 2); 2, 6, 8 about 16/3 have
    (100 + 4 + 64) / 9 and √(28 / 3). The other response went from SD √2 to 0."""
    two = revisions([[2, 4, 9], [3, 5, nan]], [[2, 6, 8], [4, 4, nan]])
    [found] = spread(two)
    assert found.before == pytest.approx((sqrt(13) + sqrt(2)) / 2)
    assert found.after == pytest.approx(sqrt(28 / 3) / 2)
    assert found.value == pytest.approx(found.after - found.before)
    # Student's interval of the two prompts' changes.
    changes = [sqrt(28 / 3) - sqrt(13), -sqrt(2)]
    ends = t.interval(0.95, 1, found.value, abs(changes[0] - changes[1]) / 2)
    assert found.ends == pytest.approx(ends)
    assert (found.n_items, found.n) == (2, 2)


def test_a_change_that_is_the_same_everywhere_has_a_sign() -> None:
    """Three prompts on which the SD falls by √2 tell no spread of changes, so there is no
    interval, but the change goes one way."""
    [found] = spread(revisions([[3, 5]] * 3, [[4, 4]] * 3))
    assert found.reason is Reason.NO_SPREAD
    assert found.value == pytest.approx(-sqrt(2))
    assert found.sign == -1


def test_no_spread_has_a_reason() -> None:
    """One judge has no spread, nor has a run in which nothing was deliberated; one prompt gives
    no interval."""
    assert spread(revisions([[3]], [[4]]))[0].reason is Reason.FEW_RATERS
    nothing = revisions([[3, 4]], [[3, 4]], deliberated=[False])
    assert spread(nothing)[0].reason is Reason.NOT_DELIBERATED
    assert mean_changes(nothing, "dimensions")[0].reason is Reason.NOT_DELIBERATED
    [alone] = spread(revisions([[3, 5]], [[4, 4]]))
    assert not isnan(alone.value)
    assert alone.reason is Reason.FEW_CLUSTERS
    assert alone.sign == 0


def test_who_is_settled_does_not_move() -> None:
    """Nothing changes where all keep what they said: no moves, and a change of exactly 0."""
    same = [[2, 4, 9], [3, 5, 1]]
    settled = revisions(same, same)
    assert [one.n_moved for one in mean_changes(settled, "judges")] == [0, 0, 0]
    assert [one.value for one in mean_changes(settled, "judges")] == [0, 0, 0]
    [found] = spread(settled)
    assert (found.value, found.reason, found.sign) == (0, Reason.NO_SPREAD, 0)


@given(any_revisions())
def test_parts_add_up_whoever_comes_first(some: Revisions) -> None:
    """Moves and ratings by judge and by dimension are the same ones; reversing the judges
    reverses what is said of them, and leaves the spread as it is."""
    judges, dimensions = mean_changes(some, "judges"), mean_changes(some, "dimensions")
    for field in ("n_moved", "n"):
        assert sum(getattr(one, field) for one in judges) == sum(
            getattr(one, field) for one in dimensions
        )
    assert all(isnan(one.value) == (one.reason is not None) == (one.n == 0) for one in judges)
    turned = Revisions(
        some.before[:, ::-1],
        some.after[:, ::-1],
        some.stated[:, ::-1],
        some.deliberated,
        some.prompts,
        some.steps,
    )
    ours, theirs = mean_changes(turned, "judges")[::-1], judges
    assert [(one.n_moved, one.n, one.reason) for one in ours] == [
        (one.n_moved, one.n, one.reason) for one in theirs
    ]
    for mine, yours in zip(spread(turned), spread(some), strict=True):
        assert mine.reason is yours.reason
        assert mine.value == pytest.approx(yours.value, nan_ok=True, abs=1e-9)
