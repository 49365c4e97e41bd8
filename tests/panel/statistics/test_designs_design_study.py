"""From ratings to designs: what is measured by what, and which designs are compared."""

from __future__ import annotations

from dataclasses import replace
from math import isnan, nan

import numpy as np
import pytest

from persona_panel.statistics import (
    DesignStudy,
    Ratings,
    Reason,
    d_study,
    design_name,
    design_studies,
    icc,
    variance_components,
)
from persona_panel.statistics.designs import scores_a_row

SYSTEMS, PROMPTS, PERSONAS, MODELS = 3, 6, 4, 2


def of_a_run(replicates: int = 1) -> Ratings:
    """Ratings on two dimensions of a response of each system to each prompt."""
    rng = np.random.default_rng(1)
    shape = (SYSTEMS, PROMPTS, PERSONAS, MODELS, replicates, 2)
    scores = rng.normal(size=shape)
    for axis in range(4):
        varying = [n if axis == place else 1 for place, n in enumerate(shape)]
        scores = scores + rng.normal(size=varying)
    items = [(s, t) for s in range(SYSTEMS) for t in range(PROMPTS)]
    judges = [(p, m, r) for p in range(PERSONAS) for m in range(MODELS) for r in range(replicates)]
    return Ratings(
        scores.reshape(len(items), len(judges), 2),
        tuple(f"{t}/{s}" for s, t in items),
        tuple(f"{p}|{m}|{r}" for p, m, r in judges),
        ("clarity", "depth"),
        tuple(f"m{m}" for _, m, _ in judges),
        prompts=tuple(f"t{t}" for _, t in items),
        sources=tuple(f"s{s}" for s, _ in items),
        personas=tuple(f"p{p}" for p, _, _ in judges),
    )


def named(studies: list[DesignStudy]) -> dict[tuple[str, str], DesignStudy]:
    return {(study.measured, study.dimension): study for study in studies}


def test_responses_and_systems_are_studied_on_the_composite_and_each_dimension() -> None:
    """The composite is each judge's mean over the dimensions; its components are those of the
    scores with their labels, and the present design has the levels that there are."""
    ratings = of_a_run()
    studies = named(design_studies(ratings))
    assert list(studies) == [
        (measured, name)
        for measured in ("item", "system")
        for name in ("composite", "clarity", "depth")
    ]
    table = ratings.scores.mean(axis=2).reshape(SYSTEMS, PROMPTS, PERSONAS, MODELS)
    grids = [grid.ravel() for grid in np.indices(table.shape)]
    names = ("system", "prompt", "persona", "model")
    expected = variance_components(table.ravel(), dict(zip(names, grids, strict=True)))
    found = studies["system", "composite"]
    assert found.components.variances == pytest.approx(expected.variances, nan_ok=True)
    levels = {"prompt": PROMPTS, "persona": PERSONAS, "model": MODELS}
    present = found.designs[0]
    assert present == d_study(expected, "system", levels)
    assert present.n_ratings == PROMPTS * PERSONAS * MODELS
    assert isnan(studies["item", "composite"].designs[0].width)


def test_designs_have_half_and_twice_as_many_of_each() -> None:
    """One facet changes at a time, and replicates where there are any."""
    (study, *_) = design_studies(of_a_run(replicates=2))
    assert [design_name(one.levels) for one in study.designs] == [
        "4 personas x 2 models x 2 replicates",
        "2 personas x 2 models x 2 replicates",
        "8 personas x 2 models x 2 replicates",
        "4 personas x 1 model x 2 replicates",
        "4 personas x 4 models x 2 replicates",
        "4 personas x 2 models",
        "4 personas x 2 models x 4 replicates",
    ]


def test_several_responses_to_a_prompt_count_as_their_mean() -> None:
    """As on the leaderboard: two halves of a response, a point above and below it, change no
    figure of systems; one that is missing leaves the other."""
    ratings = of_a_run()
    halves = replace(
        ratings,
        scores=np.concatenate([ratings.scores - 1, ratings.scores + 1]),
        items=(*ratings.items, *(f"{item}b" for item in ratings.items)),
        prompts=(ratings.prompts or ()) * 2,
        sources=(ratings.sources or ()) * 2,
    )
    whole, split = (named(design_studies(one))["system", "composite"] for one in (ratings, halves))
    assert split.components.variances == pytest.approx(whole.components.variances, nan_ok=True)
    halves.scores[: len(ratings.items)] = nan
    alone = named(design_studies(halves))["system", "composite"]
    assert alone.components.variances == pytest.approx(whole.components.variances, nan_ok=True)


def test_judges_who_are_only_compared_with_the_panel_are_left_out() -> None:
    """Ratings by controls change nothing."""
    ratings = of_a_run()
    more = replace(
        ratings,
        scores=np.concatenate([ratings.scores, 9 * ratings.scores[:, :1]], axis=1),
        raters=(*ratings.raters, "none|0|0"),
        groups=(*ratings.groups, "m0"),
        personas=(*(ratings.personas or ()), "none"),
        controls=frozenset({"none|0|0"}),
    )
    assert repr(design_studies(more)) == repr(design_studies(ratings))


def test_composites_of_a_rubric_take_the_place_of_the_mean() -> None:
    """What a rubric makes of a judge's ratings is studied as `all`."""
    ratings = of_a_run()
    given = ratings.scores[:, :, 0] * 2
    studies = named(design_studies(ratings, given))
    assert studies["item", "composite"].components.variances == pytest.approx(
        {
            name: 4 * variance
            for name, variance in studies["item", "clarity"].components.variances.items()
        },
        nan_ok=True,
    )


def test_raters_without_personas_are_one_facet() -> None:
    """And without sources there is nothing to say of systems."""
    studies = design_studies(
        replace(of_a_run(), personas=None, groups=("human",) * 8, sources=None)
    )
    assert {study.measured for study in studies} == {"item"}
    assert studies[0].components.levels == {"item": 18, "rater": 8}


def test_one_model_is_taken_as_it_is() -> None:
    """Its number stays, in the grid and in the cheapest design; 4 prompts have 3 degrees of
    freedom, with fewer no width is forecast."""
    ratings = of_a_run()
    studies = named(design_studies(ratings.by({name for name in ratings.raters if "|0|" in name})))
    study = studies["system", "composite"]
    assert {one.levels["model"] for one in study.designs} == {1}
    widest = study.cheapest(100.0)
    assert widest is not None
    assert widest.levels == {"prompt": 4, "persona": 5, "model": 1}


def test_the_cheapest_design_is_narrow_enough_and_smaller_than_with_these_judges() -> None:
    """A tenth less than the present width: more prompts with these judges, or fewer ratings."""
    study = named(design_studies(of_a_run()))["system", "composite"]
    width = 0.9 * study.designs[0].width
    found, kept = study.cheapest(width), study.cheapest(width, present_judges=True)
    assert found is not None
    assert found.width <= width
    if kept is not None:
        assert kept.levels | {"prompt": 0} == {"prompt": 0, "persona": 4, "model": 2}
        assert kept.width <= width
        assert found.n_ratings <= kept.n_ratings
    assert study.cheapest(1e-9) is None


def test_two_of_a_sample_are_not_the_cheapest_design() -> None:
    """Two models or personas leave one degree of freedom: three are the fewest that are tried,
    while the present two stay where only prompts may change."""
    study = named(design_studies(of_a_run()))["system", "composite"]
    widest = study.cheapest(1000.0)
    assert widest is not None
    assert widest.levels["persona"] >= 3
    assert widest.levels["model"] == 3
    kept = study.cheapest(1000.0, present_judges=True)
    assert kept is None or kept.levels["model"] == MODELS


def test_a_width_is_at_most_what_the_scale_allows() -> None:
    """From 1 to 1.25 a mean's interval is 0.25 wide at most, and a larger difference cannot be
    detected; an unknown scale cuts nothing. A composite that is given has its own."""
    ratings = replace(of_a_run(), personas=None, groups=("human",) * 8)
    free = named(design_studies(ratings))["system", "composite"].designs[0]
    assert free.width > 0.5
    assert free.detectable > 0.25
    scales = dict.fromkeys(ratings.dimensions, (1.0, 1.25))
    studies = named(design_studies(replace(ratings, scales=scales)))
    for name in ("composite", "clarity"):
        cut = studies["system", name].designs[0]
        assert cut.width == 0.25
        assert isnan(cut.detectable)
    given = design_studies(ratings, ratings.scores.mean(axis=2), composite_span=0.125)
    assert named(given)["system", "composite"].designs[0].width == 0.125
    assert named(given)["system", "clarity"].designs[0].width > 0.5


def test_raters_who_took_turns_are_as_many_as_rated_a_response() -> None:
    """Two of four raters for each response: a response's mean is of two, so that Φ is ICC(2,k). In
    a system's mean over four prompts each rater has a quarter of the ratings, as has each prompt,
    and each of the eight ratings an eighth; of two raters for all, each would have half."""
    system, prompt = (grid.ravel() for grid in np.indices((3, 4)))
    scores = np.random.default_rng(6).normal(0, 1, (12, 4)) + np.arange(4) + 2 * system[:, None]
    away = (np.arange(4) - prompt[:, None]) % 4 > 1
    scores[away] = nan
    ratings = Ratings(
        scores[:, :, None],
        tuple(f"p{p}/s{s}" for s, p in zip(system, prompt, strict=True)),
        tuple("abcd"),
        ("clarity",),
        ("human",) * 4,
        prompts=tuple(f"p{p}" for p in prompt),
        sources=tuple(f"s{s}" for s in system),
    )
    of_items, of_systems = design_studies(ratings)
    assert [one.n_ratings for one in of_items.designs] == [2, 1, 4]
    assert of_items.designs[0].dependability == pytest.approx(icc(scores, "icc2k").value)
    assert of_items.error_as_rated == pytest.approx(of_items.designs[0].absolute_error)
    assert of_systems.in_turn == ("rater", 2, 4)
    found = of_systems.components.variances
    var = {name: max(one, 0.0) for name, one in found.items() if not isnan(one)}
    alike = (var["prompt"] + var["system:prompt"]) / 4
    alike += (var["prompt:rater"] + var["residual"]) / 8
    of_raters = var["rater"] + var["system:rater"]
    assert of_raters > 0
    assert of_systems.error_as_rated == pytest.approx((alike + of_raters / 4) ** 0.5)
    present = of_systems.designs[0]
    assert present.levels == {"prompt": 4, "rater": 2}
    assert present.absolute_error == pytest.approx((alike + of_raters / 2) ** 0.5)


def test_error_goes_with_one_over_the_number_of_raters() -> None:
    """Of three responses two were rated by one and one by six: 3 / (1 + 1 + 1/6) = 1.4, not 2.7."""
    scores = np.full((3, 6), nan)
    scores[:, 0], scores[2] = 1, 2
    assert scores_a_row(scores) == 1


def test_of_raters_who_rated_everything_none_is_in_turn() -> None:
    """Nor where one rating of many is missing."""
    ratings = replace(of_a_run(), personas=None, groups=("human",) * 8)
    ratings.scores[0, 0] = nan
    for study in design_studies(ratings):
        assert study.in_turn is None
        assert study.designs[0].levels["rater"] == 8


def test_raters_in_groups_are_studied_as_their_groups_means() -> None:
    """Of five raters in three groups the components are those of three raters with these means;
    a mean of four such groups takes 4 × 5/3 ratings, rounded. One rater a group changes nothing."""
    rng = np.random.default_rng(4)
    scores = rng.normal(0, 1, (12, 5, 1))
    names = tuple(f"i{n}" for n in range(12))
    ratings = Ratings(scores, names, tuple("abcde"), ("clarity",), tuple("xyxzy"))
    of_groups = [scores[:, [0, 2]], scores[:, [1, 4]], scores[:, [3]]]
    means = np.stack([of.mean(axis=1) for of in of_groups], axis=1)
    plain = Ratings(means, names, tuple("xyz"), ("clarity",), tuple("xyz"))
    (found,), (expected,) = design_studies(ratings), design_studies(plain)
    assert list(found.components.variances.values()) == pytest.approx(
        list(expected.components.variances.values()), nan_ok=True
    )
    assert found.components.levels == {"item": 12, "group": 3}
    assert expected.components.levels == {"item": 12, "rater": 3}
    assert [one.n_ratings for one in found.designs] == [5, 2, 10]


def test_what_cannot_be_studied_says_why() -> None:
    """Equal ratings have no designs, and no cheapest one; nor have responses."""
    ratings = of_a_run()
    ratings.scores[:] = 3
    studies = design_studies(ratings)
    assert {study.reason for study in studies} == {Reason.NO_VARIANCE}
    assert not any(study.designs for study in studies)
    with pytest.raises(ValueError, match="study of systems"):
        studies[-1].cheapest(1.0)
    with pytest.raises(ValueError, match="study of systems"):
        design_studies(of_a_run())[0].cheapest(1.0)
