"""Strengths of systems over prompts: intervals against clustered standard errors of statsmodels,
and what has no strength or no interval."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import stats

from persona_panel.statistics import Reason, Strengths, WinCounts, bradley_terry

NAMES = ["a", "b", "c", "d"]


def drawn(
    n_clusters: int, n_systems: int, seed: int = 0, *, ties: bool = True, each: int = 6
) -> WinCounts:
    """`each` comparisons of every two systems in each cluster, at random."""
    rng = np.random.default_rng(seed)
    wins, even = np.zeros((2, n_clusters, n_systems, n_systems))
    shares = [0.5, 0.3, 0.2] if ties else [0.6, 0.4, 0.0]
    for a, b in combinations(range(n_systems), 2):
        counts = rng.multinomial(each, shares, n_clusters).astype(float)
        wins[:, a, b], wins[:, b, a], even[:, a, b] = counts.T
        even[:, b, a] = even[:, a, b]
    return WinCounts(wins, even)


def by_name(found: Strengths) -> dict[str, tuple[float, float, float]]:
    return {one.system: (one.strength.value, *one.strength.ends) for one in found.systems}


def test_intervals_are_those_of_a_clustered_logistic_regression() -> None:
    """Without ties and with as many comparisons on every prompt, strengths relative to the last
    system have the cluster-robust standard errors of statsmodels' logistic regression, times
    √(n / (n − 1)), and Student's t with n − 1 degrees of freedom."""
    n, counts = 7, drawn(7, 4, ties=False)
    rows, won, prompts = [], [], []
    for prompt, a, b in np.argwhere(counts.wins):
        row = np.zeros(4)
        row[a], row[b] = 1, -1
        times = int(counts.wins[prompt, a, b])
        # A win of a over b as a success of a, or as a failure of b: the same by the model.
        rows += [row] * times
        won += [1] * times
        prompts += [prompt] * times
    # Half of them the other way round, so that the regression has both outcomes.
    design, outcome = np.array(rows), np.array(won)
    design[::2], outcome[::2] = -design[::2], 0
    fitted = sm.Logit(outcome, design[:, :3]).fit(
        disp=0, tol=1e-12, cov_type="cluster",
        cov_kwds={"groups": prompts, "use_correction": False},
    )  # fmt: skip
    errors = fitted.bse * math.sqrt(n / (n - 1))
    strengths = bradley_terry(NAMES, counts)
    assert {(one.strength.n, one.strength.df) for one in strengths.systems} == {(n, n - 1)}
    found = {frozenset((one.a, one.b)): one for one in strengths.differences}
    for place in range(3):
        one = found[frozenset((NAMES[place], "d"))]
        sign = 1 if one.b == "d" else -1
        assert sign * one.value == pytest.approx(fitted.params[place], abs=1e-7)
        reach = stats.t.ppf(0.975, n - 1) * errors[place]
        assert one.width / 2 == pytest.approx(reach, abs=1e-7)
        t = abs(fitted.params[place]) / errors[place]
        assert one.p == pytest.approx(2 * stats.t.sf(t, n - 1), abs=1e-9)


def test_two_systems_by_hand() -> None:
    """Of 4, 2, 3, 4 and 2 wins in 6 comparisons on five prompts, 15 of 30 in all: strength 0, and
    without a prompt a Newton step of (wins − 3) / (24 / 4) away, half of which is each system's."""
    wins = np.zeros((5, 2, 2))
    wins[:, 0, 1], wins[:, 1, 0] = [4, 2, 3, 4, 2], [2, 4, 3, 2, 4]
    found = bradley_terry(["a", "b"], WinCounts(wins, np.zeros_like(wins)))
    # Left out: difference ∓1/6 and 0; variance 4/5 · 4/36; of one system's half of it a quarter.
    reach = stats.t.ppf(0.975, 4) * math.sqrt(4 / 5 * 4 / 36 / 4)
    assert by_name(found)["a"] == pytest.approx((0, -reach, reach))
    of_a = found.systems[0]
    expit = 1 / (1 + math.exp(reach))
    assert (of_a.win_probability.value, of_a.win_probability.low) == pytest.approx((0.5, expit))
    assert (found.ties, of_a.n_comparisons, of_a.n_prompts) == (0, 30, 5)


def test_a_tie_counts_half_in_the_win_probability() -> None:
    """6 wins, 2 losses and 4 ties: strengths ± log(3) / 2, ν = 4 / √12. Against a system of
    strength 0 the stronger then has 3^(1/4) + ν / 2 of 3^(1/4) + 3^(−1/4) + ν."""
    wins, ties = np.zeros((2, 5, 2, 2))
    wins[:, 0, 1], wins[:, 1, 0], ties[:, 0, 1], ties[:, 1, 0] = 6, 2, 4, 4
    found = bradley_terry(["a", "b"], WinCounts(wins, ties))
    nu, root = 4 / math.sqrt(12), 3**0.25
    assert found.ties == pytest.approx(nu)
    expected = (root + nu / 2) / (root + 1 / root + nu)
    assert found.systems[0].win_probability.value == pytest.approx(expected)
    assert found.systems[1].win_probability.value == pytest.approx(1 - expected)
    # Every prompt is the same.
    assert {one.strength.reason for one in found.systems} == {Reason.NO_SPREAD}
    assert not found.systems[0].strength.has_interval


def test_the_order_of_systems_and_prompts_makes_no_difference() -> None:
    """Systems and prompts in another order have the same strengths and intervals, and log-strengths
    add up to 0."""
    counts = drawn(6, 4)
    found = by_name(bradley_terry(NAMES, counts))
    turned = WinCounts(counts.wins[::-1, ::-1, ::-1], counts.ties[::-1, ::-1, ::-1])
    again = by_name(bradley_terry(NAMES[::-1], turned))
    for name in NAMES:
        assert again[name] == pytest.approx(found[name], abs=1e-8)
    assert sum(strength for strength, _, _ in found.values()) == pytest.approx(0, abs=1e-9)


def test_p_values_are_adjusted_over_all_pairs_and_the_stronger_stands_first() -> None:
    """By Shaffer's table of four systems; differences are not negative."""
    found = bradley_terry(NAMES, drawn(9, 4, seed=3)).differences
    assert len(found) == 6
    p = np.array([one.p for one in found])
    order = np.argsort(p)
    expected = np.minimum(1, np.maximum.accumulate(p[order] * [6, 3, 3, 3, 2, 1]))
    assert [found[place].p_adjusted for place in order] == pytest.approx(expected.tolist())
    assert all(one.value >= 0 for one in found)
    assert any(one.p_adjusted > one.p for one in found)


def test_systems_that_win_or_lose_everything_have_no_strength() -> None:
    """They are named with the reason, the others are fitted as if they were not there, and no
    infinite number is anywhere."""
    inner = drawn(5, 3)
    wins, ties = np.zeros((2, 5, 6, 6))
    wins[:, :3, :3], ties[:, :3, :3] = inner.wins, inner.ties
    wins[:, 3, :3], wins[:, :3, 4] = 2, 1
    wins[:, 3, 4] = 1
    found = bradley_terry(["a", "b", "c", "best", "worst", "alone"], WinCounts(wins, ties))
    reasons = {
        one.system: one.strength.reason for one in found.systems if math.isnan(one.strength.value)
    }
    assert reasons == {
        "best": Reason.WON_ALL,
        "worst": Reason.LOST_ALL,
        "alone": Reason.NEVER_COMPARED,
    }
    expected = by_name(bradley_terry(["a", "b", "c"], inner))
    assert {name: ends for name, ends in by_name(found).items() if name in expected} == expected
    assert not any(math.isinf(value) for ends in by_name(found).values() for value in ends)
    assert {name for one in found.differences for name in (one.a, one.b)} == {"a", "b", "c"}
    assert {one.system: one.n_comparisons for one in found.systems}["best"] == 5 * 7


def test_without_finite_strengths_no_system_has_one() -> None:
    """Two pairs that were never compared with each other, or of which one never lost to the
    other, are undefined, all with that reason."""
    wins = np.zeros((4, 4, 4))
    wins[:, 0, 1] = wins[:, 1, 0] = wins[:, 2, 3] = wins[:, 3, 2] = 1
    apart = bradley_terry(NAMES, WinCounts(wins, np.zeros_like(wins)))
    assert {one.strength.reason for one in apart.systems} == {Reason.NOT_CONNECTED}
    wins[:, :2, 2:] = 1
    above = bradley_terry(NAMES, WinCounts(wins, np.zeros_like(wins)))
    assert {one.strength.reason for one in above.systems} == {Reason.NEVER_LOST}
    assert (above.differences, math.isnan(above.ties)) == ((), True)


def test_the_middle_of_three_in_a_row_is_left_alone() -> None:
    """With one system above and one below there is nobody to be stronger than."""
    wins = np.triu(np.ones((3, 3)), 1)[None].repeat(3, axis=0)
    found = bradley_terry(["a", "b", "c"], WinCounts(wins, np.zeros_like(wins)))
    assert {one.system: one.strength.reason for one in found.systems} == {
        "a": Reason.WON_ALL,
        "b": Reason.NO_OTHER_STRENGTH,
        "c": Reason.LOST_ALL,
    }


def test_four_prompts_give_strengths_without_intervals() -> None:
    """And the reason says how many would do."""
    assert {one.strength.reason for one in bradley_terry(NAMES, drawn(5, 4)).systems} == {None}
    found = bradley_terry(NAMES, drawn(4, 4))
    assert {one.strength.reason for one in found.systems} == {Reason.FEW_FOR_A_STRENGTH}
    assert "five prompts" in Reason.FEW_FOR_A_STRENGTH
    assert all(
        math.isfinite(one.strength.value) and not one.win_probability.has_interval
        for one in found.systems
    )
    assert all(math.isnan(one.p_adjusted) for one in found.differences)


def test_a_system_on_few_prompts_has_their_degrees_of_freedom() -> None:
    """A system on two of eight prompts has no interval, nor have its differences; the others
    have."""
    counts = drawn(8, 4)
    for array in (counts.wins, counts.ties):
        array[2:, 3], array[2:, :, 3] = 0, 0
    found = bradley_terry(NAMES, counts)
    assert {one.system: one.strength.reason for one in found.systems} == {
        "a": None, "b": None, "c": None, "d": Reason.FEW_FOR_A_STRENGTH,
    }  # fmt: skip
    assert {one.reason for one in found.differences if "d" in (one.a, one.b)} == {
        Reason.FEW_FOR_A_STRENGTH
    }
    assert {one.system: one.n_prompts for one in found.systems}["d"] == 2
    counts = drawn(8, 4, seed=1)
    for array in (counts.wins, counts.ties):
        array[5:, 3], array[5:, :, 3] = 0, 0
    differences = bradley_terry(NAMES, counts).differences
    assert {one.n for one in differences} == {5, 8}
    both = (counts.wins + counts.wins.swapaxes(1, 2) + counts.ties) * (1 - np.eye(4))
    sizes = dict(zip(NAMES, both.sum(axis=2).T, strict=True))
    for one in differences:
        # As many prompts of one size as the fewer of either system are worth (Kish), less one.
        worth = [sizes[name].sum() ** 2 / (sizes[name] ** 2).sum() for name in (one.a, one.b)]
        df = min(worth) - 1
        error = one.width / 2 / stats.t.ppf(0.975, df)
        assert one.p == pytest.approx(2 * stats.t.sf(one.value / error, df))


def test_a_prompt_that_alone_connects_leaves_no_interval() -> None:
    """Where the strengths are undefined without one of the prompts, no interval is computed."""
    counts = drawn(8, 4, ties=False)
    counts.wins[1:, :2, 2:] = counts.wins[1:, 2:, :2] = 0
    found = bradley_terry(NAMES, counts)
    assert {one.strength.reason for one in found.systems} == {Reason.UNDEFINED_WITHOUT_ONE}


def test_over_prompts_and_judges_variances_add_up() -> None:
    """The variance is that over prompts plus that over judges, as if either were the prompts, with
    Satterthwaite's degrees of freedom; the interval is not narrower than that over prompts."""
    rng = np.random.default_rng(5)
    chance = rng.dirichlet([3, 2, 1], (12, 7, 3))
    cells = rng.multinomial(1, chance).astype(float)
    wins, ties = np.zeros((2, 12, 7, 3, 3))
    for pair, (a, b) in enumerate(combinations(range(3), 2)):
        wins[:, :, a, b], wins[:, :, b, a] = cells[:, :, pair, 0], cells[:, :, pair, 1]
        ties[:, :, a, b] = ties[:, :, b, a] = cells[:, :, pair, 2]
    prompts, judges = (WinCounts(wins.sum(axis=axis), ties.sum(axis=axis)) for axis in (1, 0))
    names = NAMES[:3]
    both = bradley_terry(
        names, prompts, by_judge=judges, factors={"persona": range(7), "model": ["m"] * 7}
    )
    assert both.random == "prompts-and-judges"
    over_prompts, over_judges = (by_name(bradley_terry(names, one)) for one in (prompts, judges))
    for name, (strength, low, high) in by_name(both).items():
        parts = [
            ((ends[name][2] - ends[name][1]) / 2 / stats.t.ppf(0.975, df)) ** 2
            for ends, df in ((over_prompts, 11), (over_judges, 6))
        ]
        df = sum(parts) ** 2 / (parts[0] ** 2 / 11 + parts[1] ** 2 / 6)
        reach = stats.t.ppf(0.975, df) * math.sqrt(sum(parts))
        own = (over_prompts[name][2] - over_prompts[name][1]) / 2
        assert (high - low) / 2 == pytest.approx(max(reach, own))
        assert strength == pytest.approx((low + high) / 2)


def test_few_judges_are_no_sample() -> None:
    """Four judges give no interval over judges, with the reason; nor do those of one persona and
    one model."""
    counts = drawn(8, 3)
    for factors in ({"persona": range(4)}, {"persona": ["p"] * 8, "model": ["m"] * 8}):
        n = len(factors["persona"])
        judges = drawn(n, 3, seed=1)
        found = bradley_terry(NAMES[:3], counts, by_judge=judges, factors=factors)
        assert {one.strength.reason for one in found.systems} == {Reason.FEW_JUDGES}


@pytest.mark.parametrize(
    ("wins", "ties", "told"),
    [
        (np.zeros((2, 3, 3)), np.zeros((2, 3, 3)), r"shape \(clusters, 2, 2\)"),
        (np.zeros((2, 2)), np.zeros((2, 2)), "shape"),
        (-np.ones((1, 2, 2)), np.zeros((1, 2, 2)), "not below 0"),
        (np.full((1, 2, 2), np.nan), np.zeros((1, 2, 2)), "finite"),
        (np.zeros((1, 2, 2)), np.array([[[0.0, 1.0], [0.0, 0.0]]]), "ties"),
        (np.zeros((1, 2, 2)), np.zeros((2, 2, 2)), "ties"),
    ],
)
def test_what_is_no_count_is_refused(wins: np.ndarray, ties: np.ndarray, told: str) -> None:
    """A wrong shape, a negative or missing number, and ties that are not symmetric."""
    with pytest.raises(ValueError, match=told):
        bradley_terry(["a", "b"], WinCounts(wins, ties))


def test_no_interval_of_prompts_that_are_worth_fewer_than_four() -> None:
    """Five prompts of one size have intervals, as have those of which one has twice the comparisons
    of each other, which are worth 36/8 = 4.5; where it has three times, they are worth
    49/13 = 3.8, and there is none, with that reason."""
    counts = drawn(5, 4)
    assert {one.strength.reason for one in bradley_terry(NAMES, counts).systems} == {None}
    for times, reason in ((2.0, None), (3.0, Reason.FEW_OF_ONE_SIZE)):
        size = np.array([times, 1, 1, 1, 1])[:, None, None]
        one_large = WinCounts(counts.wins * size, counts.ties * size)
        found = bradley_terry(NAMES, one_large)
        assert {one.strength.reason for one in found.systems} == {reason}
    assert all(np.isnan(one.p) for one in found.differences)


def test_prompts_of_a_system_without_a_strength_are_counted() -> None:
    """One that won all of its comparisons, on two of six prompts, and one that had none."""
    counts = drawn(6, 4)
    for array in (counts.wins, counts.ties):
        array[:, 2:], array[:, :, 2:] = 0, 0
    counts.wins[:2, 2, 0] = 3
    found = {one.system: one for one in bradley_terry(NAMES, counts).systems}
    assert found["c"].strength.reason is Reason.WON_ALL
    assert (found["c"].n_prompts, found["c"].strength.n, found["c"].strength.df) == (2, 2, 1)
    assert found["d"].strength.reason is Reason.NEVER_COMPARED
    assert (found["d"].n_prompts, found["d"].strength.n) == (0, 0)
    assert found["a"].n_prompts == 6
