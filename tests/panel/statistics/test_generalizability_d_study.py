"""What other designs give: against published figures, Spearman-Brown, and the leaderboard's
intervals."""

from __future__ import annotations

from itertools import product
from math import isnan, sqrt

import numpy as np
import pytest
from scipy import stats

from persona_panel.statistics import (
    VarianceComponents,
    d_study,
    icc,
    spearman_brown,
    variance_components,
)
from persona_panel.statistics.core.jackknife import VariancePart, standard_errors
from persona_panel.statistics.core.means import reach_of
from persona_panel.statistics.generalizability import cheapest_design, error_as_rated
from tests.helpers.published import BRENNAN

SIZES = {"system": 4, "prompt": 7, "persona": 5, "model": 3}


def simulated(seed: int = 5, **sizes: int) -> tuple[np.ndarray, VarianceComponents]:
    """Scores `(systems, prompts, personas, models)` in which every effect varies, and their
    components."""
    rng = np.random.default_rng(seed)
    sizes = SIZES | sizes
    scores = rng.normal(size=tuple(sizes.values()))
    for kept in product((True, False), repeat=4):
        shape = [n if keep else 1 for n, keep in zip(sizes.values(), kept, strict=True)]
        scores = scores + 1.5 * rng.normal(size=shape)
    grids = np.indices(scores.shape)
    factors = {name: grid.ravel() for name, grid in zip(sizes, grids, strict=True)}
    return scores, variance_components(scores.ravel(), factors)


def test_a_published_study() -> None:
    """Brennan's (2001) data set 3 with its four items and two occasions: by his variance components
    the relative error variance is .5750/4 + .1009/2 + .9352/8 = .3111, the absolute one adds
    .4417/4 + .0074/2 + .1565/8 to .4448; Eρ² = .640, Φ = .554."""
    found = d_study(variance_components(*BRENNAN), "person", {"item": 4, "occasion": 2})
    assert found.relative_error**2 == pytest.approx(0.3111, abs=1e-4)
    assert found.absolute_error**2 == pytest.approx(0.4448, abs=1e-4)
    assert found.generalizability == pytest.approx(0.640, abs=5e-4)
    assert found.dependability == pytest.approx(0.554, abs=5e-4)


def test_error_shares_say_where_error_comes_from() -> None:
    """Of that absolute error variance person:item brings .5750 / 4 of .4448, the largest part."""
    found = d_study(variance_components(*BRENNAN), "person", {"item": 4, "occasion": 2})
    shares = found.error_shares
    assert next(iter(shares)) == "person:item"
    assert shares["person:item"] == pytest.approx(0.5750 / 4 / 0.4448, abs=2e-4)
    assert shares["occasion"] == pytest.approx(0.0074 / 2 / 0.4448, abs=2e-4)
    assert sum(shares.values()) == pytest.approx(1)


@pytest.mark.parametrize("n", [1, 4, 10])
def test_of_one_kind_of_judges_it_is_spearman_brown(n: int) -> None:
    """Φ of n raters is Spearman-Brown's prediction from ICC(2,1)."""
    rng = np.random.default_rng(2)
    ratings = rng.normal(size=(12, 1)) + rng.normal(size=4) + rng.normal(size=(12, 4))
    items, raters = (grid.ravel() for grid in np.indices(ratings.shape))
    parts = variance_components(ratings.ravel(), {"item": items, "rater": raters})
    expected = float(spearman_brown(icc(ratings, "icc2").value, n))
    assert d_study(parts, "item", {"rater": n}).dependability == pytest.approx(expected)


def test_more_personas_leave_what_models_bring() -> None:
    """With item variance 1 and item:model .3, any number of personas on three models comes no
    nearer to 1 than 1 / (1 + .3 / 3); replicates divide the residual alone, by hand."""
    variances = {"item": 1.0, "persona": 0.0, "model": 0.0, "item:persona": 0.2, "item:model": 0.3}
    variances |= {"persona:model": 0.0, "item:persona:model": 0.4, "residual": 0.6}
    parts = VarianceComponents(variances, {}, {"item": 50, "persona": 10, "model": 3})
    many = d_study(parts, "item", {"persona": 10**9, "model": 3})
    assert many.dependability == pytest.approx(1 / 1.1)
    found = d_study(parts, "item", {"persona": 10, "model": 3, "replicate": 2})
    assert found.absolute_error == pytest.approx(sqrt(0.02 + 0.1 + 0.4 / 30 + 0.6 / 60))


def test_a_variance_below_zero_counts_as_none() -> None:
    """-0.5 of raters adds nothing to the error, and takes nothing from it."""
    variances = {"item": 1.0, "rater": -0.5, "residual": 0.5}
    parts = VarianceComponents(variances, {}, {"item": 9, "rater": 2})
    found = d_study(parts, "item", {"rater": 2})
    assert found.absolute_error == found.relative_error == pytest.approx(0.5)


def test_the_expected_width_is_that_of_the_present_leaderboard() -> None:
    """In the present design it is the width that follows from how far prompts', personas' and
    models' means vary, on average over systems: what `sampled_mean` puts together."""
    scores, parts = simulated()
    assert min(v for v in parts.variances.values() if not isnan(v)) > 0
    of_samples = []
    for axis in (1, 2, 3):
        others = tuple({1, 2, 3} - {axis})
        n = scores.shape[axis]
        variance = scores.mean(axis=others).var(axis=1, ddof=1).mean() / n
        of_samples.append(VariancePart(variance, n - 1))
    expected = 2 * reach_of(standard_errors(of_samples), 0.95)
    levels = {name: n for name, n in SIZES.items() if name != "system"}
    assert d_study(parts, "system", levels).width == pytest.approx(expected)


def test_the_detectable_difference_by_hand() -> None:
    """Two quantiles of t times the standard error of the difference: of prompts
    2 (0.3/9 + 0.6/45), of raters 2 (0.6/45), their severity cancels; Satterthwaite's degrees of
    freedom."""
    parts = VarianceComponents(
        {"system": 1.0, "rater": 0.2, "system:prompt": 0.3, "residual": 0.6},
        {},
        {"system": 4, "prompt": 9, "rater": 5},
    )
    of_prompts, of_raters = 2 * (0.3 / 9 + 0.6 / 45), 2 * 0.6 / 45
    df = (of_prompts + of_raters) ** 2 / (of_prompts**2 / 8 + of_raters**2 / 4)
    error = sqrt(of_prompts + of_raters)
    levels = {"prompt": 9, "rater": 5}
    expected = error * float(stats.t.ppf(0.975, df) + stats.t.ppf(0.8, df))
    assert d_study(parts, "system", levels).detectable == pytest.approx(expected)
    # Of a sample of so small differences, the smallest design that detects them.
    choices = {"prompt": range(2, 40), "rater": range(5, 8)}
    best = cheapest_design(parts, "system", 0.9, choices, "difference")
    assert best is not None
    fewer = {**best, "prompt": best["prompt"] - 1}
    assert d_study(parts, "system", best).detectable <= 0.9
    assert d_study(parts, "system", fewer).detectable > 0.9
    with pytest.raises(ValueError, match="goal"):
        cheapest_design(parts, "system", 0.9, choices, "power")  # type: ignore[arg-type]


def test_where_there_is_no_interval_no_width_is_expected() -> None:
    """Fewer than five judges, one of several models, and differences of one system."""
    _, parts = simulated()
    assert isnan(d_study(parts, "system", {"prompt": 9, "persona": 2, "model": 2}).width)
    assert isnan(d_study(parts, "system", {"prompt": 9, "persona": 9, "model": 1}).width)
    assert not isnan(d_study(parts, "system", {"prompt": 9, "persona": 3, "model": 2}).width)
    _, one = simulated(system=1)
    levels = {"prompt": 7, "persona": 5, "model": 3}
    assert isnan(d_study(one, "system", levels).detectable)
    assert not isnan(d_study(one, "system", levels).width)
    assert isnan(d_study(one, "system", levels).generalizability)


def test_no_width_is_forecast_from_fewer_than_three_degrees_of_freedom() -> None:
    """Of n prompts by one kind of judges without an effect the interval has n - 1 degrees of
    freedom: 3 prompts have none, 4 have 2 t(3) times the standard error, by hand."""
    variances = {"system": 1.0, "prompt": 1.0, "rater": 0.0, "residual": 0.0}
    parts = VarianceComponents(variances, {}, {"system": 4, "prompt": 9, "rater": 6})
    assert isnan(d_study(parts, "system", {"prompt": 3, "rater": 6}).width)
    # 3.182 is the 97.5 % point of Student's t with 3 degrees of freedom; 1 / sqrt(4) is the error.
    assert d_study(parts, "system", {"prompt": 4, "rater": 6}).width == pytest.approx(
        2 * 3.18245 / 2, abs=1e-4
    )
    # All the variance is between two models, which have one.
    variances = {"system": 1.0, "prompt": 0.0, "persona": 0.0, "model": 1.0, "residual": 0.0}
    levels = {"system": 4, "prompt": 9, "persona": 6, "model": 2}
    parts = VarianceComponents(variances, {}, levels)
    assert isnan(d_study(parts, "system", {"prompt": 9, "persona": 6, "model": 2}).width)
    assert isnan(d_study(parts, "system", {"prompt": 9, "persona": 6, "model": 3}).width)
    assert d_study(parts, "system", {"prompt": 9, "persona": 6, "model": 4}).width > 0


def test_the_cheapest_design_is_the_smallest_of_all_that_are_narrow_enough() -> None:
    """As one finds by trying all; where none is, there is none."""
    _, parts = simulated()
    choices = {"prompt": range(2, 40), "persona": range(2, 12), "model": range(2, 9)}
    for width in (5.0, 8.0):
        fits = [
            levels
            for each in product(*choices.values())
            if d_study(parts, "system", levels := dict(zip(choices, each, strict=True))).width
            <= width
        ]
        fewest = min(np.prod(list(levels.values())) for levels in fits)
        found = cheapest_design(parts, "system", width, choices, "width")
        assert found in fits
        assert np.prod(list(found.values())) == fewest
    assert cheapest_design(parts, "system", 4.4, choices, "width") is None


@pytest.mark.parametrize(
    ("levels", "said"),
    [
        ({"judge": 2}, "no such factor: judge"),
        ({"system": 2}, "what is measured is not a facet"),
        ({"persona": 0}, "one condition or more"),
        ({"persona": 5, "replicate": 2}, "nothing of replicates"),
        ({"model": 2}, "one model says nothing of others"),
    ],
)
def test_what_a_study_says_nothing_of_is_refused(levels: dict[str, int], said: str) -> None:
    """An unknown facet, no condition, replicates or models of which there was one."""
    _, parts = simulated(model=1)
    with pytest.raises(ValueError, match=said):
        d_study(parts, "system", levels)
    same = {"persona": 1, "model": 1, "replicate": 1}
    assert (
        d_study(parts, "system", same).absolute_error == d_study(parts, "system", {}).absolute_error
    )


def test_undefined_components_and_widths_are_refused() -> None:
    """Nothing follows from equal scores; a width is above 0 and takes prompts."""
    equal = variance_components([1, 1], {"item": [0, 1]})
    with pytest.raises(ValueError, match="undefined: no variance"):
        d_study(equal, "item", {})
    parts = variance_components(*BRENNAN)
    with pytest.raises(ValueError, match="'prompt'"):
        cheapest_design(parts, "person", 1, {"item": [4]}, "width")
    with pytest.raises(ValueError, match="above 0, found 0"):
        cheapest_design(parts, "person", 0, {"item": [4]}, "width")


def test_two_levels_of_what_is_measured_are_enough() -> None:
    """Of two items by two raters, once each: 1 of items, 0.2 of raters and 0.6 of the rest, both
    halved by two raters, so that Φ is 1 / 1.4 and Eρ² 1 / 1.3; of replicates nothing is known."""
    scores = np.array([1.0, 2.0, 2.5, 4.5])
    parts = variance_components(scores, {"item": [0, 0, 1, 1], "rater": [0, 1, 0, 1]})
    with pytest.raises(ValueError, match="nothing of replicates"):
        d_study(parts, "item", {"rater": 2, "replicate": 2})
    variances = {"item": 1.0, "rater": 0.2, "residual": 0.6}
    found = d_study(
        VarianceComponents(variances, {}, {"item": 2, "rater": 2}), "item", {"rater": 2}
    )
    assert (found.dependability, found.generalizability) == pytest.approx((1 / 1.4, 1 / 1.3))
    assert (found.absolute_error, found.relative_error) == pytest.approx((sqrt(0.4), sqrt(0.3)))
    assert found.levels == {"rater": 2}


def test_the_error_of_means_as_they_were_rated() -> None:
    """Of the first item a rated twice, of weight a quarter each, and b once; of the second a alone.
    Raters are in both items' errors with ½² + ½² and 1², what is left with ¼² + ¼² + ½² and 1²: the
    mean of 0.2 · 1.5 + 0.6 · 1.375 is 0.75². What is missing counts for nothing."""
    components = VarianceComponents(
        {"item": 1.0, "rater": 0.2, "residual": 0.6}, {}, {"item": 2, "rater": 2}
    )
    factors = {"item": [0, 0, 0, 1, 2], "rater": ["a", "a", "b", "a", "c"]}
    weights = np.array([0.25, 0.25, 0.5, 1.0, 0.0])
    assert error_as_rated(components, "item", factors, weights) == pytest.approx(0.75)
