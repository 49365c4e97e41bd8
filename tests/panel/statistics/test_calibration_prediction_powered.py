"""Means corrected by people's ratings: against ppi-python, by hand, and where they are refused."""

from __future__ import annotations

import json
from dataclasses import replace
from math import inf, isnan, nan
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from persona_panel.statistics import CorrectedMean, Reason
from persona_panel.statistics.core.means import assured
from tests.panel.statistics.corrected import corrected_difference, corrected_mean

CASES = json.loads((Path(__file__).parent / "ppi" / "figures.json").read_text())["cases"]
SHARE, FREE = (0.0, 1.0), (-inf, inf)


def sides(case: dict[str, Any]) -> tuple[list[float], list[float]]:
    """The panel's scores and people's, the last of which are missing."""
    panel, human = case["panel"], case["human"]
    return panel, human + [nan] * (len(panel) - len(human))


@pytest.mark.parametrize("case", CASES)
def test_the_estimate_is_that_of_ppi_python(case: dict[str, Any]) -> None:
    """Its estimate is a straight line in λ: at ours it is the corrected mean, at 0 people's."""
    found, figures = corrected_mean(*sides(case)), case["figures"]
    at_0, at_1 = figures["0"][0], figures["1"][0]
    assert found.human_only.value == pytest.approx(at_0, abs=1e-9)
    assert found.corrected.value == pytest.approx(at_0 + found.tuning * (at_1 - at_0), abs=1e-9)


@pytest.mark.parametrize(("number", "margin"), [(1, 0.15), (2, 0.05)])
def test_the_width_approaches_that_of_ppi_python(number: int, margin: float) -> None:
    """With 30 and 100 rated items the interval is nearly as wide as that of ppi-python, which takes
    the normal distribution and λ as known: ours is the wider one."""
    found, figures = corrected_mean(*sides(CASES[number])), CASES[number]["figures"]
    width = figures["chosen"][2] - figures["chosen"][1]
    assert 1 < found.corrected.width / width < 1 + margin


def test_the_weight_approaches_that_of_ppi_python() -> None:
    """With 100 rated items λ is near its choice, which takes another variance and draws nothing
    toward 0."""
    figures = CASES[2]["figures"]
    chosen = (figures["chosen"][0] - figures["0"][0]) / (figures["1"][0] - figures["0"][0])
    assert corrected_mean(*sides(CASES[2])).tuning == pytest.approx(chosen, rel=0.05)


def test_people_alone_have_students_interval() -> None:
    """Of prompts of one item each it is that of their mean."""
    panel, human = sides(CASES[0])
    found = corrected_mean(panel, human)
    rated = np.array(CASES[0]["human"])
    low, high = stats.t.interval(0.95, 11, rated.mean(), stats.sem(rated))
    assert found.human_only.ends == pytest.approx((low, high))
    assert found.panel == pytest.approx(np.mean(panel))
    assert (found.n_human, found.n_items, found.corrected.n) == (12, 72, 12)


def plain_loop(panel: np.ndarray, human: np.ndarray, prompts: np.ndarray) -> tuple[float, float]:
    """The corrected mean and its reach by leaving out each prompt in a loop, the slope by numpy."""

    def value(kept: np.ndarray) -> float:
        names = np.unique(prompts[kept])
        rows = []
        for name in names:
            of = kept & (prompts == name)
            rated = of & ~np.isnan(human)
            w = rated.sum() / of.sum()
            y = human[rated].mean() if w else nan
            rows.append((panel[of].mean(), w, y, panel[rated].mean() if w else nan))
        scores, w, y, f = np.array(rows).T
        of = w > 0
        mean_y, mean_f = np.average(y[of], weights=w[of]), np.average(f[of], weights=w[of])
        design = np.stack([np.ones(of.sum()), f[of]], axis=1)
        root = np.sqrt(w[of])[:, None]
        coefficients, *_ = np.linalg.lstsq(design * root, y[of] * root[:, 0], rcond=None)
        b = float(coefficients[1])
        left = np.sum(w[of] * (y[of] - design @ coefficients) ** 2) / (of.sum() - 2)
        t = b / np.sqrt(left / np.sum(w[of] * (f[of] - mean_f) ** 2))
        b = b * max(0.0, 1 - 1 / t**2) if b > 0 else 0.0
        return float(mean_y + b * (scores.mean() - mean_f))

    names = np.unique(prompts)
    has = np.array([np.any(~np.isnan(human[prompts == name])) for name in names])
    without = np.array([value(prompts != name) for name in names])

    def variance(of: np.ndarray) -> float:
        return (len(of) - 1) / len(of) * float(np.sum((of - of.mean()) ** 2))

    rated = variance(without[has]) * has.sum() / (has.sum() - 1)  # HC3
    others = variance(without[~has])
    df = (rated + others) ** 2 / (rated**2 / (has.sum() - 2) + others**2 / ((~has).sum() - 1))
    reach = float(stats.t.ppf(0.975, df)) * (rated + others) ** 0.5
    return value(np.full(len(panel), True)), reach


def test_equals_a_loop_that_leaves_out_prompts() -> None:
    """Of prompts with one to three items, some rated in part, and some scores missing."""
    rng = np.random.default_rng(4)
    prompts = np.repeat(np.arange(40), rng.integers(1, 4, 40))
    truth = rng.normal(0, 1, 40)[prompts] + rng.normal(0, 1, len(prompts))
    panel = 3 + 0.8 * truth + rng.normal(0, 0.5, len(prompts))
    human = np.where((prompts < 15) & (rng.random(len(prompts)) < 0.8), truth, nan)
    panel[::17] = nan
    found = corrected_mean(panel, human, prompts.tolist())
    there = ~np.isnan(panel)
    value, reach = plain_loop(panel[there], human[there], prompts[there])
    assert found.corrected.value == pytest.approx(value, abs=1e-9)
    assert found.corrected.width / 2 == pytest.approx(reach, rel=1e-9)


def made(seed: int, agreement: float, n: int = 12) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    truth = rng.normal(0, 1, 60)
    panel = agreement * truth + (1 - agreement**2) ** 0.5 * rng.normal(0, 1, 60)
    return panel, np.where(np.arange(60) < n, truth, nan)


def test_a_panel_at_random_does_not_widen_much() -> None:
    """Where the panel says nothing the interval is at most 1.2 times as wide as that of people, in
    some tables just theirs."""
    found = [corrected_mean(*made(seed, 0.0, 8)) for seed in range(60)]
    ratios = [one.corrected.width / one.human_only.width for one in found]
    assert max(ratios) <= 1.2
    assert any(one.tuning == 0 and one.corrected.value == one.human_only.value for one in found)
    assert 0.9 < float(np.mean(ratios)) < 1.1


def test_scale_and_shift_of_the_panel_do_not_matter() -> None:
    """A panel on ten times the scale and far off gives the same, with a tenth of λ; one that runs
    contrary to people gives people's own."""
    panel, human = made(1, 0.9, 20)
    one, other = corrected_mean(panel, human), corrected_mean(10 * panel + 1000, human)
    assert other.corrected.value == pytest.approx(one.corrected.value, abs=1e-6)
    assert other.tuning == pytest.approx(one.tuning / 10)
    contrary = corrected_mean(-panel, human)
    assert (contrary.tuning, contrary.corrected.value) == (0.0, contrary.human_only.value)


def test_everything_rated_is_people_alone() -> None:
    """Where people rated everything the panel adds nothing: the interval is theirs."""
    panel, human = made(2, 0.9, 60)
    found = corrected_mean(panel, human)
    assert found.corrected.ends == (
        found.human_only.low,
        found.human_only.high,
    )
    assert found.corrected.value == pytest.approx(found.human_only.value, abs=1e-12)
    assert found.tuning == pytest.approx(0.0)


def test_a_difference_leaves_out_what_prompts_share() -> None:
    """Two systems whose scores move together over prompts: the difference of their means, with a
    far narrower interval than means have; the other way round it has the other sign."""
    rng = np.random.default_rng(3)
    shared = rng.normal(0, 3, 50)
    systems = []
    for quality in (1.0, 0.0):
        truth = quality + shared + rng.normal(0, 0.5, 50)
        systems.append(
            (truth + rng.normal(0, 0.3, 50), np.where(np.arange(50) < 20, truth, nan), range(50))
        )
    one = corrected_mean(*systems[0])
    other = corrected_mean(*systems[1])
    found, back = corrected_difference(*systems), corrected_difference(*systems[::-1])
    assert found.corrected.value == pytest.approx(one.corrected.value - other.corrected.value)
    assert found.corrected.width < 0.5 * (one.corrected.width)
    assert back.corrected.ends == pytest.approx((-found.corrected.high, -found.corrected.low))
    assert found.corrected.p == back.corrected.p < 0.001
    assert isnan(found.tuning)


def test_systems_of_other_prompts_are_independent() -> None:
    """Without a common prompt the variances of the two means add up."""
    systems = []
    for seed, first in ((4, 0), (5, 100)):
        panel, human = made(seed, 0.9, 30)
        systems.append((panel, human, range(first, first + 60)))
    found = corrected_difference(*systems)
    errors = [
        one.corrected.width / 2 / stats.t.ppf(0.975, 30)
        for one in (corrected_mean(*side) for side in systems)
    ]
    error = found.corrected.width / 2 / stats.t.ppf(0.975, 60)
    assert error == pytest.approx(np.hypot(*errors), rel=0.04)


def test_inclusion_probabilities_weigh_ratings() -> None:
    """Items that were half as likely to be rated count twice."""
    panel = np.tile([1.0, 2.0, 4.0], 20)
    chance = np.tile([1.0, 0.5, 0.5], 20)
    human = np.where(np.arange(60) < 30, panel + 1, nan)
    human[1] = human[2] = 9.0
    found = corrected_mean(panel, human, inclusion=chance)
    rated = ~np.isnan(human)
    assert found.human_only.value == pytest.approx(
        np.average(human[rated], weights=1 / chance[rated])
    )


def test_how_many_ratings_halve_the_interval() -> None:
    """With the number said rated by people, the interval is about half as wide."""
    rng = np.random.default_rng(6)
    truth = rng.normal(0, 1, 4000)
    panel = truth * 0.6 + rng.normal(0, 0.8, 4000)

    def found(n: int) -> CorrectedMean:
        return corrected_mean(panel, np.where(np.arange(4000) < n, truth, nan))

    now = found(60)
    assert now.to_halve is not None
    then = found(now.to_halve)
    assert then.corrected.width / (now.corrected.width) == pytest.approx(0.5, abs=0.06)
    assert found(3900).to_halve is None


def test_how_many_new_prompts_show_the_sign() -> None:
    """Where people rated everything it is the number of values like theirs; of a part, none."""
    rng = np.random.default_rng(6)
    human = rng.normal(0.2, 1, 30)
    expected = assured(float(human.mean()), float(human.std(ddof=1)), 30, 0.0, 0.05)
    whole = corrected_mean(rng.normal(size=30), human).to_show
    assert whole is not None
    assert (whole.n, whole.needed, whole.limit) == (
        30, expected.needed, pytest.approx(expected.limit)
    )  # fmt: skip
    human[0] = nan
    assert corrected_mean(rng.normal(size=30), human).to_show is None


def test_reasons_for_no_interval() -> None:
    """Seven rated prompts are too few for a correction, one for any interval, equal ratings leave
    nothing to estimate it from, and nothing rated or scored is nothing."""
    panel = np.arange(20.0)
    for n, human_reason, reason in (
        (7, None, Reason.FEW_FOR_A_CORRECTION),
        (1, Reason.FEW_CLUSTERS, Reason.FEW_FOR_A_CORRECTION),
        (0, Reason.NOT_RATED_BY_PEOPLE, Reason.NOT_RATED_BY_PEOPLE),
    ):
        human = np.where(np.arange(20) < n, np.arange(20.0), nan)
        found = corrected_mean(panel, human)
        assert (found.human_only.reason, found.corrected.reason) == (human_reason, reason)
        assert isnan(found.corrected.value) and isnan(found.corrected.low) and isnan(found.tuning)
        assert isnan(found.human_only.low) == (n < 2)
    same = corrected_mean(panel, np.where(panel < 10, 3.0, nan))
    assert same.human_only.reason is same.corrected.reason is Reason.NO_SPREAD
    assert corrected_mean([nan, nan], [1.0, 2.0]).corrected.reason is Reason.NO_RATINGS
    # Of one prompt with twenty items there is one value.
    one = corrected_mean(panel, panel, ["p"] * 20)
    assert one.human_only.reason is Reason.FEW_CLUSTERS


def test_what_is_refused_as_input() -> None:
    """Other lengths and a probability of 0 are refused."""
    with pytest.raises(ValueError, match="as many of each"):
        corrected_mean([1, 2], [1])
    with pytest.raises(ValueError, match="prompts for 2"):
        corrected_mean([1, 2], [1, 2], ["p"])
    with pytest.raises(ValueError, match="inclusion probability"):
        corrected_mean([1, 2], [1, 2], inclusion=[0.0, 1.0])


def labels(exceptions: int, n: int = 12) -> tuple[np.ndarray, np.ndarray]:
    """Five of n rated prompts have the label, as have 20 of 40 others by the panel, which
    calls the first of the rated that have none by it, too."""
    human = np.r_[np.zeros(n - 5), np.ones(5)]
    panel = np.r_[human, np.tile([0.0, 1.0], 20)]
    panel[:exceptions] = 1.0
    return panel, np.r_[human, np.full(40, nan)]


@pytest.mark.parametrize("exceptions", [0, 1, 2])
def test_a_panel_that_hardly_errs_where_people_rated_does_not_count(exceptions: int) -> None:
    """With up to two exceptions the interval is Student's of people's labels, 5 of 12, on whatever
    scale the panel is; the note says so."""
    panel, human = labels(exceptions)
    rated = human[:12]
    low, high = stats.t.interval(0.95, 11, 5 / 12, stats.sem(rated))
    for found in (corrected_mean(panel, human), corrected_mean(3 - 7 * (1 - panel), human)):
        assert found.notes == (Reason.FEW_EXCEPTIONS,)
        assert (found.corrected.value, found.tuning) == (pytest.approx(5 / 12), 0.0)
        assert found.corrected.ends == pytest.approx((low, high))


def test_three_exceptions_are_enough() -> None:
    """The panel calls 8 of the 12 rated and 28 of all 52, so people's mean of 5/12 is moved by the
    slope times 28/52 - 8/12. Least squares give (5/12 - 5/12 · 8/12)/(8/12 · 4/12) = 5/8, which is
    drawn toward 0 by 1/t²: what the line leaves over, by 10, of the slope's own sum of squares."""
    found = corrected_mean(*labels(3))
    left = (12 * 5 / 12 * 7 / 12 - (5 / 8) ** 2 * 12 * 2 / 9) / 10
    slope = 5 / 8 * (1 - left / ((5 / 8) ** 2 * 12 * 2 / 9))
    assert found.notes == ()
    assert found.corrected.value == pytest.approx(5 / 12 + slope * (28 / 52 - 8 / 12))


def test_what_follows_the_panel_is_a_straight_line_of_it() -> None:
    """Ratings that are alike but for two are one; others at one score of the panel's are none, and
    neither are ratings with noise. Where people rated everything nothing is said."""
    panel = np.arange(30.0)
    alike = np.where(panel < 10, 3.0, nan)
    alike[[0, 4]] = 1.0, 2.0
    assert corrected_mean(panel, alike).notes == (Reason.FEW_EXCEPTIONS,)
    constant = np.where(panel < 10, 5.0, panel)
    assert corrected_mean(constant, np.where(panel < 10, panel, nan)).notes == ()
    assert corrected_mean(*made(2, 0.9)).notes == ()
    human, _ = labels(0)
    assert corrected_mean(human, human).notes == ()


def test_both_sides_of_a_difference_need_exceptions() -> None:
    """Where the panel hardly errs on one side, the difference is that of people, of either sign."""
    erring, agreeing = ((*labels(n), range(52)) for n in (3, 0))
    other_labels = np.r_[np.roll(agreeing[1][:12], 2), np.full(40, nan)]
    erring = (erring[0], other_labels, range(52))
    assert corrected_mean(*erring).notes == ()
    for sides in ((erring, agreeing), (agreeing, erring)):
        found = corrected_difference(*sides)
        assert found.notes == (Reason.FEW_EXCEPTIONS,)
        assert found.corrected.ends == (
            found.human_only.low,
            found.human_only.high,
        )


def test_rated_shares_that_differ_are_told() -> None:
    """One of one and one of two texts rated: probabilities are needed, and with them nothing is
    said, as where prompts are rated with all of their texts."""
    rng = np.random.default_rng(8)
    prompts = np.r_[np.repeat(np.arange(20), 2), np.arange(20, 40)]
    truth = rng.normal(0, 1, 60)
    panel = truth + rng.normal(0, 0.5, 60)
    drawn = [*range(0, 20, 2), *range(40, 50)]
    one_each = np.where(np.isin(np.arange(60), drawn), truth, nan)
    found = corrected_mean(panel, one_each, prompts.tolist())
    assert found.notes == (Reason.SHARES_DIFFER,)
    for chance in (np.where(prompts < 20, 0.25, 0.5), np.full(60, 0.3)):
        assert corrected_mean(panel, one_each, prompts.tolist(), inclusion=chance).notes == ()
    whole = np.where(np.isin(prompts, [*range(6), *range(20, 30)]), truth, nan)
    assert corrected_mean(panel, whole, prompts.tolist()).notes == ()


def shares(seed: int) -> tuple[np.ndarray, np.ndarray, range]:
    """A label that nearly every text has for people; the panel calls one text in seven wrongly."""
    rng = np.random.default_rng(seed)
    has = rng.random(60) < 0.93
    panel = np.where(rng.random(60) < 0.86, has, ~has).astype(float)
    return panel, np.where(np.arange(60) < 20, has, nan), range(60)


def cut_above(found: CorrectedMean, limits: tuple[float, float]) -> CorrectedMean:
    """Both intervals of a mean with the upper limit as their end."""
    ends = {"high": limits[1], "limits": limits}
    return replace(
        found,
        human_only=replace(found.human_only, **ends),
        corrected=replace(found.corrected, **ends),
    )


def test_intervals_end_at_the_limits() -> None:
    """The intervals of a share reach beyond 1: with limits they stay below it and go farther down,
    and all else is as it was; that of a difference is cut, from either side, at the most that the
    limits allow."""
    share, free = (corrected_mean(*shares(1), limits=limits) for limits in (SHARE, FREE))
    assert 0 < free.corrected.value < 1 < min(free.corrected.high, free.human_only.high)
    for one, other in ((share.corrected, free.corrected), (share.human_only, free.human_only)):
        assert 0 < one.low < other.low < one.value < one.high < 1
        assert replace(one, low=other.low, high=other.high, limits=other.limits) == other
    high, low = shares(1), shares(2)
    sides = high, (1 - low[0], 1 - low[1], low[2])
    cut, free = (corrected_difference(*sides, limits=limits) for limits in (SHARE, FREE))
    assert 0 < free.corrected.value < 1 < min(free.corrected.high, free.human_only.high)
    assert cut == cut_above(free, (-1.0, 1.0))
    turned = corrected_difference(*sides[::-1], limits=SHARE)
    assert turned.corrected.ends == (
        -1.0,
        pytest.approx(-cut.corrected.low),
    )


def test_a_corrected_mean_beyond_a_limit_stands_at_it() -> None:
    """People went with the panel where it gave little and it gave far more to the rest: the line
    leads beyond the scale, on which the mean and its interval stay."""
    rng = np.random.default_rng(0)
    panel = np.concatenate([rng.uniform(1, 3, 12), np.full(28, 5.0)])
    human = np.where(np.arange(40) < 12, 2.7 + 0.7 * panel + rng.normal(0, 0.1, 40), nan)
    cut, free = (corrected_mean(panel, human, limits=limits) for limits in ((1, 5), FREE))
    assert free.corrected.value > 5
    reach = free.corrected.high - free.corrected.value
    assert (cut.corrected.value, cut.corrected.high) == (5.0, 5.0)
    assert cut.corrected.low == pytest.approx(5 - reach)
    assert free.corrected.p < cut.corrected.p < 0.001
    with pytest.raises(ValueError, match="people's ratings lie outside the limits 1 to 4"):
        corrected_mean(panel, human, limits=(1, 4))
    with pytest.raises(ValueError, match="outside the limits 1 to 4"):
        side = panel, human, range(40)
        corrected_difference(side, side, limits=(1, 4))
