"""The ordinal mixed model beside the R package ordinal, and what it refuses."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from persona_panel.statistics import Difference, RaschError, Ratings, ordinal_mixed_model
from persona_panel.statistics.ordinal import CumulativeLogit
from tests.panel.statistics.wine import WINE

CROSSED = (
    "44113332432334132234444233332132443444431233424133312342422421243244"
    "4244343444344423424434442144124442243134322431212431144422443333233"
)
"""Ratings 1 to 4 of three systems on ten prompts by six judges, where systems + 2 prompts + judges,
counted from 0, is no multiple of 4; systems vary fastest, judges slowest."""
CELLS = [(s, p, j) for j in range(6) for p in range(10) for s in range(3) if (s + 2 * p + j) % 4]


def fit_of_wine() -> CumulativeLogit:
    chosen = np.array([int(each) - 1 for judge in WINE.split() for each in judge])
    bottles, judges = np.tile(np.arange(8), 9), np.repeat(np.arange(9), 8)
    design = np.column_stack([bottles >= 4, bottles % 4 >= 2]).astype(float)
    return CumulativeLogit.fitted(chosen, design, [judges])


def crossed() -> Ratings:
    scores = np.full((30, 6, 1), np.nan)
    for (s, p, j), value in zip(CELLS, CROSSED, strict=True):
        scores[3 * p + s, j] = float(value)
    names = tuple(f"j{j}" for j in range(6))
    items = tuple(f"p{p}/{s}" for p in range(10) for s in "abc")
    prompts = tuple(f"p{p}" for p in range(10) for _ in "abc")
    return Ratings(scores, items, names, ("all",), names, prompts, tuple("abc" * 10))


def test_systems_linked_by_one_prompt_have_no_interval() -> None:
    """Each system has a judge of its own on nine prompts, and all judges on one: without that
    prompt the difference of systems and that of judges are the same."""
    full = np.array(
        [[[1.0 + (p + s + j) % 4] for j in range(3)] for p in range(10) for s in range(3)]
    )
    own = np.array([[p == 0 or s == j for j in range(3)] for p in range(10) for s in range(3)])
    full[~own] = np.nan
    items = tuple(f"p{p}/{s}" for p in range(10) for s in "abc")
    prompts = tuple(f"p{p}" for p in range(10) for _ in "abc")
    judges = ("j0", "j1", "j2")
    few = Ratings(full, items, judges, ("all",), judges, prompts, tuple("abc" * 10))
    fitted = ordinal_mixed_model(few)
    assert [each.reason for each in fitted.differences] == [
        "the statistic is undefined without one of the prompts or judges"
    ] * 3
    full[0:3] = np.nan
    with pytest.raises(RaschError, match="no ratings by the same judges link"):
        ordinal_mixed_model(replace(few, scores=full[3:], items=items[3:], prompts=prompts[3:],
                                    sources=few.sources[3:]))  # fmt: skip


def test_one_random_effect_is_that_of_clmm() -> None:
    """`clmm(rating ~ temp + contact + (1|judge), data = wine)` of ordinal 2022.11-16, published in
    its documentation: 3.0630, 1.8349, SD 1.1311, log-likelihood -81.5654."""
    fit = fit_of_wine()
    assert fit.coefficients == pytest.approx([3.0629966, 1.8348849], abs=2e-5)
    assert fit.thresholds == pytest.approx([-1.6236669, 1.5133652, 4.2285267, 6.0887726], abs=2e-5)
    assert np.exp(fit.log_sds) == pytest.approx([1.131133], abs=2e-5)
    assert fit.log_likelihood == pytest.approx(-81.56540929, abs=1e-5)
    errors = np.sqrt(fit.covariance.diagonal())
    assert errors == pytest.approx(
        [0.6824410, 0.6037533, 0.8089661, 0.9724537, 0.5953762, 0.5125293], abs=4e-5
    )


def test_crossed_random_effects_are_those_of_clmm() -> None:
    """`clmm(y ~ factor(s) + (1|p) + (1|j))` of ordinal 2022.11-16: log-likelihood, variances,
    thresholds at the first system, differences of systems and their standard errors."""
    s, p, j = np.array(CELLS).T
    design = np.column_stack([s == 1, s == 2]).astype(float)
    fit = CumulativeLogit.fitted(np.array([int(each) - 1 for each in CROSSED]), design, [j, p])
    assert fit.log_likelihood == pytest.approx(-162.473955339, abs=1e-7)
    assert np.exp(2 * fit.log_sds) == pytest.approx([0.385444267, 1.008800198], abs=2e-5)
    assert fit.thresholds == pytest.approx([-1.982845598, -0.279478784, 1.226827263], abs=2e-5)
    assert fit.coefficients == pytest.approx([0.476593027, 1.218878265], abs=2e-5)
    assert np.sqrt(fit.covariance.diagonal()) == pytest.approx(
        [0.555304065, 0.511306269, 0.522984372, 0.421015785, 0.419375345], abs=2e-5
    )


def test_systems_of_incomplete_ratings() -> None:
    """The same ratings: systems lie about their mean, which is 0.5651570973 above the first."""
    found = ordinal_mixed_model(crossed())
    assert [each.name for each in found.systems] == ["c", "b", "a"]
    assert [each.measure.value for each in found.systems] == pytest.approx(
        [1.218878265 - 0.565157097, 0.476593027 - 0.565157097, -0.565157097], abs=2e-5
    )
    assert found.sds == pytest.approx({"judge": 0.620841, "prompt": 1.004390}, abs=2e-5)
    middle = [each.location.value for each in found.thresholds]
    assert middle == pytest.approx([-2.548002695, -0.844635882, 0.661670166], abs=2e-5)
    assert [(each.low, each.high, each.n) for each in found.thresholds] == [
        (1, 2, 30), (2, 3, 38), (3, 4, 52)
    ]  # fmt: skip
    # Of 180 cells, 15 of each system are multiples of 4.
    assert [each.n_ratings for each in found.systems] == [45, 45, 45]


def test_a_prompt_left_out_by_one_step_is_near_the_fit_without_it() -> None:
    """With the variances that all prompts have, the step is to be about the whole way."""
    s, p, j = np.array(CELLS).T
    chosen = np.array([int(each) - 1 for each in CROSSED])
    design = np.column_stack([s == 1, s == 2]).astype(float)
    fit = CumulativeLogit.fitted(chosen, design, [j, p])
    step = fit.without_each_prompt()
    refitted = []
    for prompt in range(10):
        kept = p != prompt
        others = p[kept] - (p[kept] > prompt)
        refitted.append(
            CumulativeLogit.fitted(chosen[kept], design[kept], [j[kept], others]).parameters
        )
    moves, whole = step - fit.parameters, np.array(refitted) - fit.parameters
    assert np.corrcoef(moves[:, 3:].ravel(), whole[:, 3:].ravel())[0, 1] > 0.97
    assert np.std(moves[:, 3:]) == pytest.approx(np.std(whole[:, 3:]), rel=0.15)


def test_differences_have_intervals_over_prompts() -> None:
    found = ordinal_mixed_model(crossed())
    [first] = [each for each in found.differences if {each.a, each.b} == {"a", "c"}]
    assert (first.a, first.over, first.unit, first.n) == ("c", "prompts", "logits", 10)
    assert first.value == pytest.approx(1.218878265, abs=2e-5)
    assert isinstance(first, Difference)
    # The model's standard error is 0.419; the jackknife's of ten prompts is near it.
    assert 0.25 < (first.high - first.low) / 2 / 2.262 < 0.7


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("other", [5.0, 6.0])
def test_separated_ratings_are_refused(other: float) -> None:
    """Prompts determine the ratings of both systems; but for one rating, where the information is
    not positive definite. No warning comes."""
    scores = np.array([3.0, 1.0, 5.0]).repeat(2)[:, None] + np.zeros(3)
    scores[4, 1] = other
    ratings = Ratings(
        scores[:, :, None], tuple(f"{p}/{s}" for p in "pqr" for s in "ab"), ("i", "j", "k"),
        ("all",), ("i", "j", "k"), tuple("ppqqrr"), tuple("ababab"),
    )  # fmt: skip
    with pytest.raises(RaschError, match="determine almost fully: the likelihood has no finite"):
        ordinal_mixed_model(ratings)


CYCLE = np.arange(180.0).reshape(30, 6, 1) % 4 % 3 + 1
"""Ratings of 1 to 3."""


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"lower_is_better": True}, "ranks"),
        ({"sources": None}, "no systems"),
        ({"sources": tuple("a" * 30)}, "fewer than two systems"),
        ({"scores": np.full((30, 6, 1), 3.0)}, "1 different values"),
        ({"scores": np.random.default_rng(0).random((30, 6, 1))}, "180 different values"),
        (
            {"scores": np.tile([[[1.0]], [[1.0]], [[2.0]]], (10, 6, 1))},
            "all ratings of a at one end of the scale",
        ),
        (
            {"scores": np.where(np.arange(30)[:, None, None] % 3, CYCLE, 3.0)},
            "all ratings of a at one end of the scale",
        ),
    ],
)
def test_what_cannot_be_estimated_is_refused(change: dict[str, object], message: str) -> None:
    with pytest.raises(RaschError, match=message):
        ordinal_mixed_model(replace(crossed(), **change))  # type: ignore[arg-type]
