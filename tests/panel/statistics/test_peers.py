"""Who followed whom, against hand calculations and the definitions taken literally."""

from __future__ import annotations

from math import isnan, nan

import numpy as np
import pytest
from hypothesis import given

from persona_panel.statistics import Reason
from persona_panel.statistics.peers import Conformity, Influence, conformity, influence
from persona_panel.statistics.revisions import Revisions
from tests.panel.statistics.revisions import any_revisions, revisions

TEN = [f"j{i}" for i in range(10)]
EVERYONE = slice(None)


def counts(one: Conformity) -> tuple[int, int, int, int]:
    return one.n_moves, one.n_toward, one.n_away, one.n_undefined


def test_a_move_goes_toward_the_mean_of_the_peers_or_away() -> None:
    """Beside 2, 4, 9 the peers' means are 6.5, 5.5 and 3: 2 to 5 and 9 to 8 go toward them, 4 to
    3 goes away. With a reason one of one went toward them, without one of two."""
    found = conformity(revisions([[2, 4, 9]], [[5, 3, 8]], stated=[[True, False, False]]))
    assert counts(found["all"]) == (3, 2, 1, 0)
    assert found["all"].share.value == pytest.approx(2 / 3)
    assert counts(found["stated"]) == (1, 1, 0, 0)
    assert found["stated"].share.value == 1
    assert counts(found["unstated"]) == (2, 1, 1, 0)
    assert found["unstated"].share.value == 0.5
    assert (found["unstated"].share.n_items, found["unstated"].share.n_raters) == (2, 2)


def test_a_move_past_the_mean_is_still_toward_it() -> None:
    """Who leaves 8 for 2 beside 7 and 7 went toward 7: the direction counts."""
    assert counts(conformity(revisions([[8, 7, 7]], [[2, 7, 7]]))["all"]) == (1, 1, 0, 0)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ([5, 4, 6], [7, 4, 6]),  # at the mean of 4 and 6 already
        ([5, nan, nan], [7, nan, nan]),  # nobody else was heard
        ([0.3, 0.1, 0.5], [1.3, 0.1, 0.5]),  # (0.1 + 0.5) / 2 is not 0.3 in floats
    ],
)
def test_a_move_without_a_direction_is_counted_apart(
    before: list[float], after: list[float]
) -> None:
    """A judge that stood at the peers' mean, or had no peer, went neither way; the share is then
    undefined, not 0."""
    found = conformity(revisions([before], [after]))["all"]
    assert counts(found) == (1, 0, 0, 1)
    assert isnan(found.share.value)
    assert found.share.reason is Reason.NO_DIRECTION


def test_no_moves_no_share() -> None:
    """Where all are settled there are no moves, and every share is undefined for that reason."""
    settled = revisions([[2, 4], [3, 5]], [[2, 4], [3, 5]])
    found = conformity(settled)
    for one in found.values():
        assert counts(one) == (0, 0, 0, 0)
        assert one.share.reason is Reason.NO_MOVES
    who = influence(settled, ["a", "b"])
    assert not who.n.any()
    assert who.net(0, 1).reason is who.net(EVERYONE, 0).reason is Reason.NO_MOVES


def test_nearer_and_farther_by_hand() -> None:
    """Judges of personas a, b, b say 2, 4, 9 and then 2, 6, 3.

    4 to 6 is farther from a's 2 and nearer to the other b's 9; 9 to 3 is nearer to a's 2 and
    to the other b's 4. So b went once to a and once away, and twice to another b; a moved not.
    """
    found = influence(revisions([[2, 4, 9]], [[2, 6, 3]]), ["a", "b", "b"])
    assert found.personas == ("a", "b")
    assert found.nearer.tolist() == [[0, 0], [1, 2]]
    assert found.farther.tolist() == [[0, 0], [1, 0]]
    assert found.n.tolist() == [[0, 0], [2, 2]]
    assert [found.net(1, place).value for place in (0, 1)] == [0, 1]
    assert found.net(0, 1).reason is Reason.NO_DIFFERENCE
    assert (found.net(EVERYONE, 0).value, found.net(EVERYONE, 0).n_items) == (0, 2)
    assert (found.net(EVERYONE, 1).value, found.net(EVERYONE, 1).n_items) == (1, 2)


def test_as_near_as_before_is_neither() -> None:
    """From 10 to 2 beside a 6 is a case that came no nearer; who said the same is no case."""
    found = influence(revisions([[10, 6, 10]], [[2, 6, 10]]), ["a", "b", "c"])
    assert found.n.tolist() == [[0, 1, 0], [0, 0, 0], [0, 0, 0]]
    assert found.net(0, 1).value == 0
    assert isnan(found.net(0, 2).value)


def test_one_persuades_with_reasons_and_nine_follow_without() -> None:
    """One at 2 says why, nine at 8 come to 2 and say nothing: nine of nine moves without a
    reason went toward the peers (7 1/3 of them), none with one; the column of the first is
    1 in every other row, and no other column has a case."""
    found = revisions([[2] + [8] * 9], [[2] * 10], stated=[[True] + [False] * 9])
    split = conformity(found)
    assert counts(split["unstated"]) == (9, 9, 0, 0)
    assert split["unstated"].share.value == 1
    assert split["stated"].share.reason is Reason.NO_MOVES
    who = influence(found, TEN)
    assert [who.net(place, 0).value for place in range(1, 10)] == [1] * 9
    assert not who.n[:, 1:].any()
    assert (who.net(EVERYONE, 0).value, who.net(EVERYONE, 0).n_items) == (1, 9)


def test_the_persuader_stands_out_where_the_others_had_differed() -> None:
    """Nine at 6 to 10 come to 2. From b to 2 is nearer to v only if b > 2 v − 2, which for v of
    6 and more is above 10: all others' columns are at most 0, the persuader's is 1."""
    scattered = [2, 6, 6, 7, 7, 8, 8, 9, 9, 10]
    who = influence(revisions([scattered], [[2] * 10]), TEN)
    assert who.net(EVERYONE, 0).value == 1
    assert max(who.net(EVERYONE, other).value for other in range(1, 10)) <= 0


def test_nine_who_meet_each_other_are_not_persuaded_by_the_tenth() -> None:
    """Four at 6 and five at 8 come to 7, one stays at 2: the five came nearer to it and the four
    went farther, 1/9, and every other column is 1."""
    who = influence(revisions([[2, 6, 6, 6, 6, 8, 8, 8, 8, 8]], [[2] + [7] * 9]), TEN)
    assert who.net(EVERYONE, 0).value == pytest.approx(1 / 9)
    assert [who.net(EVERYONE, other).value for other in range(1, 10)] == [1] * 9


def test_one_persona_a_judge() -> None:
    """Another number of personas is refused."""
    with pytest.raises(ValueError, match="1 labels for 2 items"):
        influence(revisions([[1, 2]], [[1, 2]]), ["a"])


def literally(some: Revisions, personas: list[str]) -> tuple[list[int], dict[str, list[int]]]:
    """Both definitions case by case: moves toward, away and neither, and for each two personas
    the cases nearer, farther and all."""
    ways, who = [0, 0, 0], {f"{b}{a}": [0, 0, 0] for b in personas for a in personas}
    for i, j, d in np.argwhere(some.moved):
        was, now = some.before[i, j, d], some.after[i, j, d]
        others = [k for k in range(len(personas)) if k != j and not isnan(some.before[i, k, d])]
        peers = np.mean([some.before[i, k, d] for k in others]) if others else was
        way = 0 if abs(peers - was) < 1e-9 else np.sign(peers - was) * np.sign(now - was)
        ways[0 if way > 0 else 1 if way < 0 else 2] += 1
        for k in others:
            theirs = some.before[i, k, d]
            if theirs != was:
                case = who[personas[j] + personas[k]]
                closer = abs(was - theirs) - abs(now - theirs)
                case[0] += closer > 1e-9
                case[1] += closer < -1e-9
                case[2] += 1
    return ways, who


def by_pair(found: Influence) -> dict[str, list[int]]:
    return {
        b + a: [int(of[row, column]) for of in (found.nearer, found.farther, found.n)]
        for row, b in enumerate(found.personas)
        for column, a in enumerate(found.personas)
    }


@given(any_revisions())
def test_counts_are_those_of_the_definitions(some: Revisions) -> None:
    """Vectors count what loops over the definitions count; parts add up; shares keep bounds."""
    personas = list("abab")[: some.before.shape[1]]
    ways, who = literally(some, personas)
    split, found = conformity(some), influence(some, personas)
    assert [split["all"].n_toward, split["all"].n_away, split["all"].n_undefined] == ways
    assert by_pair(found) == who
    for field in ("n_moves", "n_toward", "n_away", "n_undefined"):
        parts = getattr(split["stated"], field) + getattr(split["unstated"], field)
        assert getattr(split["all"], field) == parts
    for one in split.values():
        assert one.n_moves == one.n_toward + one.n_away + one.n_undefined
        assert isnan(one.share.value) or 0 <= one.share.value <= 1
    for cell in np.ndindex(found.n.shape):
        net = found.net(*cell).value
        assert isnan(net) if found.n[cell] == 0 else abs(net) <= 1


@given(any_revisions())
def test_the_order_of_judges_does_not_matter(some: Revisions) -> None:
    """Judges in reverse are the same judges."""
    personas = list("abcd")[: some.before.shape[1]]
    turned = Revisions(
        some.before[:, ::-1],
        some.after[:, ::-1],
        some.stated[:, ::-1],
        some.deliberated,
        some.prompts,
        some.steps,
    )
    first, last = conformity(some), conformity(turned)
    assert [*map(counts, first.values())] == [*map(counts, last.values())]
    assert by_pair(influence(some, personas)) == by_pair(influence(turned, personas[::-1]))
