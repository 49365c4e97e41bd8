"""Intervals from leaving out, against Student's, scipy's and statsmodels', and those refused."""

from __future__ import annotations

from math import isnan, nan, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.regression.linear_model import OLS
from statsmodels.stats.proportion import proportion_confint

from persona_panel.statistics import (
    Reason,
    correlation,
    jackknife,
    krippendorff_alpha,
)
from persona_panel.statistics.agreement import agree
from persona_panel.statistics.comparison import correlate
from persona_panel.statistics.core.arrays import AnalysisOptions, Mask, resampled_mean
from persona_panel.statistics.core.jackknife import (
    MOST_GROUPS,
    VariancePart,
    left_out_variance,
    left_out_weights,
    level_variance,
    standard_errors,
)
from persona_panel.statistics.core.table import Ratings

RNG = np.random.default_rng(0)
SKEWED = RNG.exponential(size=40)
RATINGS = np.round(RNG.normal(5, 1, (30, 1)) + RNG.normal(0, 1, (30, 4)))


@pytest.mark.parametrize("n", [2, 3, 5, 40])
def test_a_mean_has_students_interval(n: int) -> None:
    """Of single items the interval of a mean is scipy's t-interval, from two items on."""
    ours = jackknife(resampled_mean(SKEWED[:n]), n, kind="mean")
    error = stats.sem(SKEWED[:n])
    theirs = stats.t.interval(0.95, n - 1, SKEWED[:n].mean(), error)
    assert (ours.low, ours.high) == pytest.approx(theirs)
    assert (ours.standard_error, ours.degrees_of_freedom) == pytest.approx((error, n - 1))


def test_clusters_widen_the_interval() -> None:
    """Ten copies of each item say no more than the item: by cluster the interval is the
    single items', by item it is far too narrow."""
    copied = np.repeat(SKEWED, 10)
    clusters = np.repeat(np.arange(40), 10).tolist()
    single = jackknife(resampled_mean(SKEWED), 40, kind="mean")
    clustered = jackknife(resampled_mean(copied), 400, clusters, kind="mean")
    naive = jackknife(resampled_mean(copied), 400, kind="mean")
    assert (clustered.low, clustered.high) == pytest.approx((single.low, single.high))
    assert naive.high - naive.low < 0.5 * (single.high - single.low)
    assert (clustered.n_clusters, single.n_clusters) == (40, 40)


def test_a_number_is_left_out_by_hand() -> None:
    """α without each item, computed anew, gives the standard error and the ends."""
    value = krippendorff_alpha(RATINGS).value
    without = [krippendorff_alpha(np.delete(RATINGS, i, axis=0)).value for i in range(30)]
    error = sqrt(29 / 30 * np.sum((np.array(without) - np.mean(without)) ** 2))
    reach = error * stats.t.ppf(0.975, 29)
    found = jackknife(krippendorff_alpha(RATINGS).resampled, 30)
    assert (found.low, found.high) == pytest.approx((value - reach, value + reach))


SIZES = np.array([40, 8, 3, 3, 2, 2])
UNEVEN = np.repeat(np.arange(6), SIZES)
OF_ITEMS = np.random.default_rng(2).normal(0.5, 0.2, 6)[UNEVEN] + 0.1 * np.arange(58) / 58


def hc4(sizes: np.ndarray, means: np.ndarray) -> float:
    """The standard error of a mean weighted by sizes, from the leverages and residuals of
    statsmodels' least squares; the exponent is at most 3."""
    root = np.sqrt(sizes)
    fitted = OLS(root * means, root).fit()
    leverage = fitted.get_influence().hat_matrix_diag
    scores = (root * fitted.resid) ** 2 / (1 - leverage) ** np.minimum(3, len(means) * leverage)
    return float(sqrt(scores.sum()) / sizes.sum())


@pytest.mark.parametrize("kind", ["mean", "share", "number", "correlation", "difference"])
def test_a_prompt_with_most_of_the_items_counts_as_in_hc4(kind: str) -> None:
    """A mean over items of prompts of 40 to 2 items has HC4's standard error, with the exponent at
    most 3, whether shares are told by the mean or by the numbers of items."""
    found = jackknife(resampled_mean(OF_ITEMS), 58, UNEVEN.tolist(), kind=kind)  # type: ignore[arg-type]
    means = np.bincount(UNEVEN, OF_ITEMS) / SIZES
    assert found.standard_error == pytest.approx(hc4(SIZES, means))


def test_prompts_that_count_once_have_students_interval_whatever_their_sizes() -> None:
    """A mean over prompts does not have the shares of their items."""
    means = np.bincount(UNEVEN, OF_ITEMS) / SIZES
    theirs = stats.t.interval(0.95, 5, means.mean(), stats.sem(means))

    def over_prompts(weights: np.ndarray) -> np.ndarray:
        there = weights @ (np.arange(6) == UNEVEN[:, None]) > 0
        return (there @ means) / there.sum(axis=1)

    found = jackknife(over_prompts, 58, UNEVEN.tolist(), kind="mean")
    assert (found.low, found.high) == pytest.approx(theirs)


@pytest.mark.parametrize("kind", ["kappa", "alpha", "entropy", "skewed_difference"])
def test_some_kinds_have_the_larger_variance_of_hc3(kind: str) -> None:
    """Without the factor (n − 1)/n, which every other kind has: of six clusters √(6/5) wider."""
    values, prompts = RNG.normal(0.5, 0.2, 24), np.repeat(np.arange(6), 4).tolist()
    larger, of_number = (
        jackknife(resampled_mean(values), 24, prompts, kind=one)  # type: ignore[arg-type]
        for one in (kind, "number")
    )
    width = of_number.high - of_number.low
    assert larger.high - larger.low == pytest.approx(width * (6 / 5) ** 0.5)


def test_an_entropy_has_its_interval_about_the_jackknifes_estimate() -> None:
    """Six prompts of four values that nobody else has: log2(24) bits, log2(20) without any one. The
    estimate is higher by five times their difference; the interval still holds the value."""

    def entropy(weights: np.ndarray) -> np.ndarray:
        # A little of the first item, so that prompts are not all alike.
        return np.log2(weights.sum(axis=1)) + 1e-3 * weights[:, 0]

    of_entropy, of_number = (
        jackknife(entropy, 24, np.repeat(np.arange(6), 4).tolist(), kind=kind)  # type: ignore[arg-type]
        for kind in ("entropy", "number")
    )
    value = entropy(np.ones((1, 24)))[0]
    moved = 5 * (np.log2(24 / 20) + 1e-3 / 6)
    reach = (of_number.high - value) * (6 / 5) ** 0.5
    assert of_entropy.high == pytest.approx(value + moved + reach, abs=1e-9)
    assert of_entropy.low == pytest.approx(value)


def test_a_correlation_is_formed_on_fishers_scale() -> None:
    """The ends are those of z = arctanh r, whose error is that of r over 1 − r²."""
    statistic = correlation(RATINGS[:, 0], RATINGS[:, 1], "pearson").resampled
    raw, found = (jackknife(statistic, 30, kind=kind) for kind in ("number", "correlation"))  # type: ignore[arg-type]
    value = np.corrcoef(RATINGS[:, 0], RATINGS[:, 1])[0, 1]
    reach = stats.t.ppf(0.975, 29) * raw.standard_error / (1 - value**2)
    ends = np.tanh([np.arctanh(value) - reach, np.arctanh(value) + reach])
    assert (found.low, found.high) == pytest.approx(tuple(ends))


def test_an_alpha_is_formed_on_fishers_scale_of_several_raters() -> None:
    """Prompts of 0.1, 0.2, 0.4, 0.8 and 1: without each the mean, 0.5, is off by a quarter of its
    distance, whose squares then add up to 0.6 / 16. Of three raters α is above −½:
    z = log((0.5 + ½) / (1 − 0.5)) = log 2 moves by 1 / (0.5 + ½) + 1 / (1 − 0.5) = 3
    times as much as α, Student's t of 4 is 2.776."""
    values, prompts = np.repeat([0.1, 0.2, 0.4, 0.8, 1], 4), np.repeat(np.arange(5), 4).tolist()
    found = jackknife(resampled_mean(values), 20, prompts, kind="alpha", limits=(-0.5, 1))
    reach = 3 * 2.776445 * sqrt(0.6 / 16)
    ends = [(2 * np.exp(z) - 0.5) / (1 + 2 * np.exp(z)) for z in (-reach, reach)]
    assert (found.low, found.high) == pytest.approx(tuple(ends), abs=1e-6)


def test_an_alpha_has_its_interval_about_the_jackknifes_estimate() -> None:
    """The variance of six prompts' values, with the divisor n, is by the jackknife that with n − 1,
    whatever the value: about it the interval is symmetric on its scale."""
    by_prompt = np.array([0.0, 1, 1, 2, 2, 0]) / 2

    def variance(weights: np.ndarray) -> np.ndarray:
        there = weights[:, ::4]
        mean = (there @ by_prompt) / there.sum(axis=1)
        return (there @ by_prompt**2) / there.sum(axis=1) - mean**2

    prompts = np.repeat(np.arange(6), 4).tolist()
    found = jackknife(variance, 24, prompts, kind="alpha", limits=(-0.5, 1))
    middle = np.mean([np.log((end + 0.5) / (1 - end)) for end in (found.low, found.high)])
    estimate = by_prompt.var(ddof=1)
    assert middle == pytest.approx(np.log((estimate + 0.5) / (1 - estimate)))


def test_a_share_is_formed_as_wilsons() -> None:
    """With very many single items it is statsmodels' Wilson interval: t is normal then, and
    the number of observations that the share is worth is how many there are."""
    agreed = np.zeros(20_000)
    agreed[:3_000] = 1
    found = jackknife(resampled_mean(agreed), len(agreed), kind="share")
    theirs = proportion_confint(3_000, 20_000, method="wilson")
    # Left out by 200 groups at random, whose spread is known to 5 %.
    assert (found.low, found.high) == pytest.approx(theirs, abs=0.002)
    few = jackknife(resampled_mean(agreed[2_990:3_090]), 100, kind="share")
    assert 0 < few.low < 0.1 < few.high < 1


def test_a_share_of_hardly_any_hits_has_the_exact_end() -> None:
    """One hit of 20 items in five clusters is worth 19 trials: the low end is Clopper and Pearson's
    of 0.95 hits, far below Wilson's; the high end is the farther of the two."""
    values = np.zeros(20)
    values[0] = 1
    found = jackknife(resampled_mean(values), 20, np.repeat(range(5), 4).tolist(), kind="share")
    assert found.low == pytest.approx(stats.beta.ppf(0.025, 0.95, 19.05))
    reach = stats.t.ppf(0.975, 4) * 0.05
    spread = reach**2 / (0.05 * 0.95)
    wilson = [
        (0.05 + spread / 2 + side * sqrt(reach**2 + spread**2 / 4)) / (1 + spread)
        for side in (-1, 1)
    ]
    assert found.low < wilson[0] / 4
    assert found.high == pytest.approx(max(wilson[1], stats.beta.ppf(0.975, 1.95, 18.05)))


def test_many_clusters_are_left_out_by_groups() -> None:
    """Above 200 clusters groups are left out, which give nearly the same interval and the same
    one for a seed."""
    values = RNG.normal(size=3_000)
    found = jackknife(resampled_mean(values), 3_000, kind="mean")
    theirs = stats.t.interval(0.95, 2_999, values.mean(), stats.sem(values))
    assert (found.low, found.high) == pytest.approx(theirs, abs=0.01)
    assert found.degrees_of_freedom == MOST_GROUPS - 1
    assert found == jackknife(resampled_mean(values), 3_000, kind="mean")
    assert found != jackknife(resampled_mean(values), 3_000, kind="mean", seed=1)


def test_clusters_without_a_value_do_not_count() -> None:
    """A judge who rated 3 of 30 prompts has an interval of three, with two degrees of freedom."""
    values = np.full(30, nan)
    values[:3] = [1, 2, 3]
    found = jackknife(resampled_mean(values), 30, kind="mean")
    assert (found.low, found.high) == pytest.approx(stats.t.interval(0.95, 2, 2, sqrt(1 / 3)))
    assert (found.n_clusters, found.degrees_of_freedom) == (3, 2)


def test_judges_add_their_variance_less_what_prompts_have_of_it() -> None:
    """Of a balanced table the variance is that of the row means, plus that of the column means,
    less the mean square of the interaction, which is in both, over the number of cells; the
    degrees of freedom are Satterthwaite's."""
    table = RNG.normal(size=(12, 6)) + RNG.normal(size=(1, 6))
    without = [resampled_mean(np.delete(table, j, axis=1).mean(axis=1)) for j in range(6)]
    found = jackknife(resampled_mean(table.mean(axis=1)), 12, kind="mean", judges=[without])
    rows, columns = table.mean(axis=1).var(ddof=1) / 12, table.mean(axis=0).var(ddof=1) / 6
    apart = table - table.mean(axis=1)[:, None] - table.mean(axis=0) + table.mean()
    cells = (apart**2).sum() / (11 * 5) / (12 * 6)
    total = rows + columns - cells
    df = max(5, total**2 / (rows**2 / 11 + columns**2 / 5 + cells**2 / 55))
    assert found.standard_error == pytest.approx(sqrt(total))
    assert found.degrees_of_freedom == pytest.approx(df)
    assert found.high - found.low == pytest.approx(2 * sqrt(total) * stats.t.ppf(0.975, df))


def test_a_sample_without_degrees_of_freedom_adds_none() -> None:
    """Of the sum of variances 4 and 1, by Satterthwaite: 5² / (4² / 5 + 1² / 10); a single level
    has no degrees of freedom, and one alone has its own error."""
    four, one = VariancePart(4.0, 5), VariancePart(1.0, 10)
    assert standard_errors([four, one]) == ((2, 5), (sqrt(5), pytest.approx(25 / 3.3)))
    assert standard_errors([four, one._replace(df=0)])[1] == (sqrt(5), pytest.approx(25 / 3.2))
    assert standard_errors([four._replace(df=0)]) == ((2, 0),)
    assert standard_errors([four, one._replace(shared=1.0, shared_df=50)])[1][0] == 2


def test_what_a_sample_shares_with_the_first_counts_once() -> None:
    """Of 3, of which the first holds 1, too, 2 is added; all three have their degrees of freedom:
    6² / (4² / 5 + 3² / 10 + 1² / 50)."""
    parts = [VariancePart(4.0, 5), VariancePart(3.0, 10, 1.0, 50)]
    assert standard_errors(parts)[1] == (sqrt(6), pytest.approx(36 / 4.12))


def test_levels_that_move_all_parts_alike_share_nothing_with_them() -> None:
    """Two of three levels move each of four parts by 1 and by -1: 3/2 · (4² + 4²) = 48. Where they
    move every other part only, 3/2 · (2² + 2²) = 12, of which 3/2 · 4 · 2 · var(1, 1, 0, 0) = 4 is
    shared; worth two and a half levels, all is 5/3 for 3/2."""
    alike = np.array([[1.0, -1.0, 0.0]] * 4)
    assert level_variance(alike) == VariancePart(48.0, 2.0, 0.0, 6.0)
    alike[2:] = 0
    assert level_variance(alike) == pytest.approx((12.0, 2.0, 4.0, 6.0))
    assert level_variance(alike, 2.5) == pytest.approx((40 / 3, 1.5, 40 / 9, 4.5))
    # Levels whose parts cancel have no more in common with these than there is.
    assert level_variance(np.array([[1.0, 1.0], [-1.0, -1.0]])).shared == 0.0


def test_judges_never_narrow_an_interval() -> None:
    """Of two prompts and judges who all but agree, the degrees of freedom of both together would
    give a narrower interval than prompts alone: the wider one stands."""
    alone = jackknife(resampled_mean(SKEWED[:2]), 2, kind="mean")
    judges = [[resampled_mean(SKEWED[:2] + apart) for apart in 0.05 * RNG.normal(size=10)]]
    both = jackknife(resampled_mean(SKEWED[:2]), 2, kind="mean", judges=judges)
    assert both.degrees_of_freedom > 1
    assert (both.low, both.high) == (alone.low, alone.high)


def test_ends_are_cut_at_the_limits() -> None:
    """An interval says nothing about values that a statistic cannot have."""
    free = jackknife(resampled_mean(SKEWED[:3]), 3, kind="mean")
    cut = jackknife(resampled_mean(SKEWED[:3]), 3, kind="mean", limits=(0, 1))
    assert (free.low < 0, cut.low, cut.high) == (True, 0, min(free.high, 1))


@pytest.mark.parametrize(
    ("values", "kind", "reason"),
    [
        ([3.0], "mean", Reason.FEW_CLUSTERS),
        ([], "mean", Reason.FEW_CLUSTERS),
        ([1.0, nan, nan], "mean", Reason.FEW_CLUSTERS),
        ([nan, nan], "mean", Reason.UNDEFINED_ESTIMATE),
        ([2.0, 2.0, 2.0], "mean", Reason.NO_SPREAD),
        ([0.1] * 20, "number", Reason.NO_SPREAD),
        ([1.0, 2.0, 3.0] * 6, "number", Reason.FEW_FOR_A_NUMBER),
        ([0.1, 0.2] * 9, "share", Reason.FEW_FOR_A_NUMBER),
        ([0.1, 0.2, 0.3], "correlation", Reason.FEW_FOR_A_CORRELATION),
        ([0.1, 0.2, 0.3, 0.4], "mean_correlation", Reason.FEW_FOR_A_CORRELATION),
    ],
)
def test_no_interval_has_a_reason(values: list[float], kind: str, reason: Reason) -> None:
    """What gives no interval says why, and never is an interval of no width."""
    found = jackknife(resampled_mean(np.array(values)), len(values), kind=kind)  # type: ignore[arg-type]
    assert found.reason is reason
    assert isnan(found.low)
    assert isnan(found.high)


@pytest.mark.parametrize(
    "kind",
    ["correlation", "difference", "mean_difference", "number", "mean_correlation"],
)
def test_four_prompts_have_no_interval_but_of_a_mean(kind: str) -> None:
    """However many items four prompts have, their jackknife's error is known too badly."""
    values, prompts = RNG.normal(0, 0.2, 40), np.repeat(np.arange(5), 8).tolist()
    of_five, of_four = (
        jackknife(resampled_mean(values[:n]), n, prompts[:n], kind=kind)  # type: ignore[arg-type]
        for n in (40, 32)
    )
    assert of_five.reason is None
    assert of_four.reason is not None
    assert "five prompts" in str(of_four.reason)


def test_a_mean_of_correlations_is_formed_on_fishers_scale() -> None:
    """The ends are those of z, whose error is Student's of the mean over 1 − r²: the interval
    reaches farther down than up, and stays below 1."""
    values = np.array([0.9, 0.95, 1.0, 0.8, 0.9, 0.2, 1.0, 0.7])
    found = jackknife(resampled_mean(values), 8, kind="mean_correlation")
    mean = values.mean()
    reach = stats.t.ppf(0.975, 7) * stats.sem(values) / (1 - mean**2)
    ends = np.tanh([np.arctanh(mean) - reach, np.arctanh(mean) + reach])
    assert (found.low, found.high) == pytest.approx(tuple(ends))


def test_a_mean_of_tau_covers_better_than_by_students_interval() -> None:
    """The mean of τ of four pairs with a true r of 0.9 is held by 95 % or more of the intervals at
    8 prompts, by 93 % at most of Student's."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=(8 * 1_000, 4))
    y = 0.9 * x + np.sqrt(1 - 0.9**2) * rng.normal(size=x.shape)
    first, second = np.triu_indices(4, 1)
    values = np.mean(np.sign((x[:, first] - x[:, second]) * (y[:, first] - y[:, second])), axis=1)
    covered = {"mean": 0, "mean_correlation": 0}
    for sample in values.reshape(1_000, 8):
        for kind in covered:
            found = jackknife(resampled_mean(sample), 8, kind=kind)  # type: ignore[arg-type]
            covered[kind] += found.low <= values.mean() <= found.high
    assert covered["mean"] <= 930
    assert covered["mean_correlation"] >= 950


def test_a_mean_of_differences_counts_every_prompt() -> None:
    """Its interval is Student's over all prompts that have a difference, also over those whose
    difference is the mean, without which the mean is what it was."""
    values = np.array([0.5, -0.5, *[0.0] * 8])
    found = jackknife(resampled_mean(values), 10, kind="mean_difference")
    assert found.high == pytest.approx(stats.t.ppf(0.975, 9) * stats.sem(values))
    assert found.n_clusters == 10


def test_prompts_that_agree_have_no_interval_whatever_the_judges() -> None:
    """Judges who differ tell nothing of how prompts do: where all prompts have one value there is
    no interval over both, too."""
    judges = [[resampled_mean(np.full(6, value)) for value in (5.0, 5.2, 4.8, 5.1, 4.9)]]
    found = jackknife(resampled_mean(np.full(6, 5.0)), 6, kind="mean", judges=judges)
    assert found.reason is Reason.NO_SPREAD
    assert isnan(found.low)


def test_few_judges_and_undefined_ones_are_refused() -> None:
    """Four judges are no sample, two personas by three models are; a level without which there is
    no value leaves none."""
    mean = resampled_mean(SKEWED)
    assert jackknife(mean, 40, kind="mean", judges=[[mean] * 4]).reason is Reason.FEW_JUDGES
    one, other = (resampled_mean(SKEWED + more) for more in (0.1, 0.2))
    crossed = [[mean, one], [mean, one, other]]
    assert jackknife(mean, 40, kind="mean", judges=crossed).reason is None
    gap = [[mean, one, None, other, mean]]
    assert jackknife(mean, 40, kind="mean", judges=gap).reason is Reason.UNDEFINED_WITHOUT_ONE


def test_weights_leave_out_whole_clusters() -> None:
    """The items of one cluster weigh nothing, all others one."""
    codes = np.array([0, 0, 1, 2, 2, 2])
    assert left_out_weights(codes, 3).tolist() == [
        [0, 0, 1, 1, 1, 1],
        [1, 1, 0, 1, 1, 1],
        [1, 1, 1, 0, 0, 0],
    ]


@given(st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=12))
def test_an_interval_holds_its_value_and_has_a_width(values: list[float]) -> None:
    """Whatever the values, there is a reason or an interval around their mean."""
    found = jackknife(resampled_mean(np.array(values)), len(values), kind="mean")
    if found.reason is None:
        assert found.low < np.mean(values) < found.high
    else:
        assert np.ptp(values) <= 1e-6 * max(1.0, float(np.max(np.abs(values))))


def test_coverage_of_alpha_with_few_prompts() -> None:
    """In 300 draws of 5 prompts with 4 responses the interval of α covers in 92 to 98 %, also where
    most of what responses differ in is their prompt's; as any other number there in 88 % or less
    (95 % would be so in less than one of 10,000)."""
    truth, n = 0.3, 300
    covered = dict.fromkeys(
        [(share, kind) for share in (0, 0.8) for kind in ("alpha", "number")], 0
    )
    for share in (0, 0.8):
        rng = np.random.default_rng(1)
        for _ in range(n):
            shared = np.repeat(rng.normal(size=5), 4)[:, None] * sqrt(share * truth)
            items = shared + rng.normal(size=(20, 1)) * sqrt((1 - share) * truth)
            ratings = 10 * (items + rng.normal(size=(20, 9)) * sqrt(1 - truth))
            alpha = krippendorff_alpha(ratings, "interval")
            for kind in ("alpha", "number"):
                prompts = np.repeat(np.arange(5), 4).tolist()
                found = jackknife(alpha.resampled, 20, prompts, kind=kind, limits=alpha.limits)  # type: ignore[arg-type]
                covered[share, kind] += found.low <= truth <= found.high
    assert 0.92 * n <= min(covered[0, "alpha"], covered[0.8, "alpha"])
    assert max(covered[0, "alpha"], covered[0.8, "alpha"]) <= 0.98 * n
    assert covered[0.8, "number"] <= 0.88 * n


def test_bad_options_are_refused() -> None:
    """Unknown kinds, impossible confidences and missing labels are named."""
    mean = resampled_mean(SKEWED)
    with pytest.raises(ValueError, match="found 'bca'"):
        jackknife(mean, 40, kind="bca")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="found 95"):
        jackknife(mean, 40, confidence=95)
    with pytest.raises(ValueError, match="2 labels for 40 items"):
        jackknife(mean, 40, ["a", "b"])


def test_items_that_cannot_be_paired_cost_no_interval_of_many_items() -> None:
    """Of more items than are left out one by one, those with one rating enter no α, whether or not
    a group consists of them: there is an interval, as of the other items alone."""
    ratings = np.random.default_rng(5).integers(1, 4, size=(300, 4)).astype(float)
    alone = ratings.copy()
    alone[:190, 1:] = np.nan
    found = jackknife(krippendorff_alpha(alone).resampled, 300)
    expected = jackknife(krippendorff_alpha(alone[190:]).resampled, 110)
    assert found.reason is expected.reason is None
    assert found.n_clusters < 300
    assert found.high - found.low == pytest.approx(expected.high - expected.low, rel=0.2)


OF_SEVERAL = ("krippendorff_alpha", "cohen_kappa_none", "mean_tau_b", "effective_judges")
"""Figures of items with two ratings at least."""


def test_items_outside_a_figure_are_no_part_of_a_prompts_share() -> None:
    """Items with one rating, or without a rating by people, in four of five prompts leave the
    intervals of α, κ and τ_b as they are, and do not make up the number of items that it takes."""
    rng = np.random.default_rng(3)
    prompts = np.repeat(np.arange(5), 40)
    values = np.clip(np.round(2 + rng.normal(size=(200, 1)) + rng.normal(size=(200, 4))), 1, 3)
    few = (prompts > 0) & (np.arange(200) % 40 >= 3)
    values[few, 1:] = np.nan
    panel, people = values[:, 0], values[:, 1:]

    def rows(kept: Mask) -> dict[str, tuple[float, float]]:
        of_raters, of_panel, of_people = (
            Ratings(
                scores[kept][:, :, None],
                tuple(f"i{place}" for place in np.flatnonzero(kept)),
                tuple(f"{group}{place}" for place in range(scores.shape[1])),
                ("one",),
                (group,) * scores.shape[1],
                prompts=tuple(f"p{prompt}" for prompt in prompts[kept]),
            )
            for group, scores in (("r", values), ("panel", panel[:, None]), ("human", people))
        )
        options = AnalysisOptions(n_permutations=0)
        found = agree(of_raters, options, only=OF_SEVERAL)
        found += correlate(of_panel, of_people, options, only=["tau_b"])
        return {row.statistic: (row.ci_low, row.ci_high) for row in found}

    whole, part = rows(np.full(200, True)), rows(~few)
    assert len(whole) == 5
    assert np.isfinite(list(whole.values())).all()
    for name, ends in whole.items():
        assert ends == pytest.approx(part[name], abs=1e-9), name

    small = np.arange(200) % 40 < 3
    values[~small, 1:] = np.nan
    assert all(np.isnan(rows(np.full(200, True))["krippendorff_alpha"]))


def test_the_variance_of_values_without_each() -> None:
    """Of 1 and 2, half of twice a quarter; of 1, 2 and 3, two thirds of 2; of one, 0."""
    assert left_out_variance(np.array([1.0, 2.0])) == pytest.approx(0.25)
    assert left_out_variance(np.array([1.0, 2.0, 3.0])) == pytest.approx(4 / 3)
    assert left_out_variance(np.array([1.0])) == 0.0


@pytest.mark.parametrize(
    ("value", "inside"), [(0.0, True), (-1e-6, False), (1.0, True), (1.1, False)]
)
def test_a_value_lies_within_its_limits(value: float, inside: bool) -> None:
    """Those included."""
    found = jackknife(lambda weights: np.full(len(weights), value), 40, limits=(0, 1))
    assert (found.reason is Reason.OUTSIDE_LIMITS) is not inside
