"""The many-facet Rasch model beside two R packages, and what it refuses."""

from __future__ import annotations

from dataclasses import replace
from math import log

import numpy as np
import pytest

from persona_panel.statistics import (
    Estimate,
    RaschError,
    Ratings,
    many_facet_rasch,
    separation_reliability,
)
from persona_panel.statistics.core.sampled_mean import SampledMean
from persona_panel.statistics.rasch import RaschFit
from tests.panel.statistics.wine import WINE


def wine() -> Ratings:
    scores = np.array([[float(each) for each in judge] for judge in WINE.split()]).T[:, :, None]
    judges = tuple(f"j{n}" for n in range(1, 10))
    bottles = tuple(f"b{n}" for n in range(1, 9))
    return Ratings(scores, bottles, judges, ("all",), judges)


def fit_of_wine(*, reduced: bool) -> RaschFit:
    chosen = np.array([int(each) - 1 for judge in WINE.split() for each in judge])
    bottles, judges = np.tile(np.arange(8), 9), np.repeat(np.arange(9), 8)
    codes = np.column_stack([bottles, judges + 8])
    return RaschFit.at_zero(codes, chosen, np.arange(5.0), reduced=reduced).fitted()


MAXIMUM = (
    0.999775246,
    2.172429499,
    1.895971299,
    2.947849448,
    3.429773511,
    5.018665910,
    4.563953002,
)
ERRORS = (0.842637, 0.889369, 0.876017, 0.936474, 0.973902, 1.128052, 1.079612)
REDUCED = (
    0.7511511614, 1.6313690748, 1.4244837880, 2.2057137711, 2.5586822206, 3.7228616731, 3.3877290410
)  # fmt: skip
SEVERITIES = (
    1.8986913797, 0.4194719831, 1.4611371167, 1.2497560087, 1.0409923336, 3.1754531578,
    1.6767747996, 1.8986913797,
)  # fmt: skip
THRESHOLDS = (-2.2086042451, -0.0012722018, 1.8909972678, 2.4573718806)


def test_maximum_likelihood_is_that_of_vgam() -> None:
    """`vglm(rating ~ bottle + judge, acat(parallel = TRUE))` of VGAM 1.1.8: the bottles above the
    first, and the standard errors (VGAM's are of one iteration before the last)."""
    fit = fit_of_wine(reduced=False)
    found = fit.parameters[1:8] - fit.parameters[0]
    assert found == pytest.approx(MAXIMUM, abs=1e-7)
    own = fit.covariance
    variances = own.diagonal()[1:8] + own[0, 0] - 2 * own[0, 1:8]
    assert np.sqrt(variances) == pytest.approx(ERRORS, abs=1e-5)


def test_reduced_bias_is_that_of_brglm2() -> None:
    """`bracl(rating ~ bottle + judge, parallel = TRUE, type = "AS_mean")` of brglm2 0.9: bottles,
    severities and thresholds, beside the first bottle and judge."""
    found = many_facet_rasch(wine())
    bottles = {each.name: each.measure.value for each in found.measured.elements}
    judges = {each.name: each.measure.value for each in found.facets["judge"].elements}
    assert [bottles[f"b{n}"] - bottles["b1"] for n in range(2, 9)] == pytest.approx(
        REDUCED, abs=1e-7
    )
    severities = [judges[f"j{n}"] - judges["j1"] for n in range(2, 10)]
    assert severities == pytest.approx(SEVERITIES, abs=1e-7)
    first = bottles["b1"] - judges["j1"]
    places = [each.location.value - first for each in found.thresholds]
    assert places == pytest.approx(THRESHOLDS, abs=1e-7)
    assert [(each.low, each.high, each.n) for each in found.thresholds] == [
        (1, 2, 22), (2, 3, 26), (3, 4, 12), (4, 5, 7)
    ]  # fmt: skip
    assert sum(bottles.values()) == pytest.approx(0, abs=1e-9)


def test_a_judge_left_out_by_one_step_is_near_the_fit_without_him() -> None:
    fit = fit_of_wine(reduced=True)
    judges = np.repeat(np.arange(9), 8)
    step = fit.without_each(judges)
    for judge in range(9):
        kept = judges != judge
        codes = fit.codes[kept].copy()
        codes[:, 1] -= codes[:, 1] > judge + 8
        refitted = RaschFit.at_zero(codes, fit.chosen[kept], fit.steps).fitted().parameters
        assert step[judge][:8] == pytest.approx(refitted[:8], abs=0.35)
        assert np.corrcoef(step[judge][:8], refitted[:8])[0, 1] > 0.995
        assert np.isnan(step[judge][8 + judge])
        assert np.isnan(step[judge]).sum() == 1


def two_systems(scores: object) -> Ratings:
    """Ratings of prompts × systems a, b `(prompts, 2, judges)`."""
    array = np.array(scores, dtype=float)
    prompts, _, judges = array.shape
    names = tuple(f"j{n}" for n in range(judges))
    return Ratings(
        array.reshape(-1, judges, 1), tuple(f"p{p}/{s}" for p in range(prompts) for s in "ab"),
        names, ("all",), names, tuple(f"p{p}" for p in range(prompts) for _ in "ab"),
        tuple("ab" * prompts),
    )  # fmt: skip


def test_fit_of_judges_by_hand() -> None:
    """One judge gives a and b each 1 in half of the cases: all locations are 0 and every rating is
    0.5 away from 0.5, with a variance of 0.25: both mean squares are 1."""
    scores = [[[0, 0], [1, 1]], [[1, 1], [0, 0]]] * 3
    found = many_facet_rasch(two_systems(scores))
    assert [each.measure.value for each in found.measured.elements] == pytest.approx([0, 0])
    for judge in found.facets["judge"].elements:
        assert (judge.infit, judge.outfit) == pytest.approx((1, 1))
        assert (judge.n_ratings, judge.mean) == (12, 0.5)


def test_two_systems_by_hand() -> None:
    """Of two systems alone, one has the higher of two ratings in 9 of 12 cases, the other in 3:
    maximum likelihood has log 9/3 - log 3/9, the reduced one adds half a case to each side."""
    codes = np.repeat([0, 1], 12)[:, None]
    chosen = np.array([1] * 9 + [0] * 3 + [1] * 3 + [0] * 9)
    for reduced, gap in ((False, 2 * log(9 / 3)), (True, 2 * log(9.5 / 3.5))):
        fit = RaschFit.at_zero(codes, chosen, np.arange(2.0), reduced=reduced).fitted()
        assert fit.parameters[0] - fit.parameters[1] == pytest.approx(gap)


def test_severity_is_no_difference_of_systems() -> None:
    """Two judges agree that both systems are the same; one is severe and reads b alone on most
    prompts: means differ by 1, locations do not."""
    rng, n = np.random.default_rng(0), np.nan
    lenient, severe = rng.integers(3, 6, 40), rng.integers(1, 4, 40)
    scores = [[[a, s], [a, s]] for a, s in zip(lenient[:20], severe[:20], strict=True)]
    scores += [[[a, n], [n, s]] for a, s in zip(lenient[20:], severe[20:], strict=True)]
    found = many_facet_rasch(two_systems(scores))
    a, b = sorted(found.measured.elements, key=lambda each: each.name)
    assert a.mean - b.mean > 0.8
    assert found.differences[0].low < 0 < found.differences[0].high
    assert found.winner is None


def test_subsets_that_no_ratings_link_are_named() -> None:
    n = np.nan
    scores = [[[3, n], [n, 2]], [[4, n], [n, 4]], [[5, n], [n, 3]]]
    with pytest.raises(RaschError, match=r"2 subsets of systems that no ratings link \(a; b\)"):
        many_facet_rasch(two_systems(scores))
    linked = [[[3, 4], [n, 2]], [[4, n], [n, 4]], [[5, n], [n, 3]]]
    assert len(many_facet_rasch(two_systems(linked)).measured.subsets) == 1


def test_judges_who_share_nothing_are_of_two_subsets() -> None:
    """One judge reads the first prompts, another the others: the systems are linked, they are
    not."""
    n = np.nan
    scores = [[[3, n], [2, n]], [[4, n], [4, n]], [[n, 5], [n, 3]], [[n, 4], [n, 2]]]
    found = many_facet_rasch(two_systems(scores))
    assert found.facets["judge"].subsets == (("j0",), ("j1",))


def test_extreme_ratings_have_a_finite_location() -> None:
    scores = [[[5, 5], [2, 3]], [[5, 5], [4, 2]], [[5, 5], [1, 3]], [[5, 5], [4, 3]]]
    first, second = many_facet_rasch(two_systems(scores)).measured.elements
    assert (first.name, first.extreme, second.extreme) == ("a", True, False)
    assert 0 < first.measure.value < 10


def test_a_category_that_nobody_used_keeps_its_place() -> None:
    """Between 3 and 5 lie two steps: the threshold is that of either."""
    scores = [[[5, 3], [2, 3]], [[3, 5], [3, 2]], [[5, 3], [1, 3]], [[5, 5], [3, 3]]]
    found = many_facet_rasch(two_systems(scores))
    assert found.unused == (4.0,)
    assert [(each.low, each.high) for each in found.thresholds] == [(1, 2), (2, 3), (3, 5)]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"lower_is_better": True}, "ranks"),
        ({"scores": np.full((8, 9, 1), np.nan)}, "no dimension with numbers"),
        ({"scores": np.full((8, 9, 1), 3.0)}, "every rating 3"),
        ({"scores": np.random.default_rng(0).random((8, 9, 1))}, "72 different values"),
    ],
)
def test_what_cannot_be_estimated_is_refused(change: dict[str, object], message: str) -> None:
    with pytest.raises(RaschError, match=message):
        many_facet_rasch(replace(wine(), **change))  # type: ignore[arg-type]


def test_separation_reliability_by_hand() -> None:
    """Variance 1 of the measures -1, 0, 1; errors 0.5: 1 - 0.25 / 1."""
    measures = [
        Estimate(value, sampled=SampledMean(value, ((0.5, 9.0),), 10)) for value in (-1.0, 0.0, 1.0)
    ]
    assert separation_reliability(measures) == pytest.approx(0.75)
    assert np.isnan(separation_reliability([Estimate(0.0), Estimate(1.0)]))


@pytest.mark.parametrize("width", [0.5, 2.0])
def test_the_unit_of_ratings_changes_no_location(width: float) -> None:
    """Half points, or every second one, are steps all the same; thresholds have the ratings' own
    values."""
    whole, other = wine(), replace(wine(), scores=3 + width * wine().scores)
    found, again = many_facet_rasch(whole), many_facet_rasch(other)
    for facet in found.facets:
        locations = [
            [each.measure.value for each in fit.facets[facet].elements] for fit in (found, again)
        ]
        assert locations[1] == pytest.approx(locations[0], abs=1e-9)
    assert [(each.low, each.high) for each in again.thresholds] == [
        (3 + width * each.low, 3 + width * each.high) for each in found.thresholds
    ]
    with pytest.raises(ValueError, match="equal distances"):
        many_facet_rasch(replace(whole, scores=whole.scores**2))
