"""Rows of all statistics: what the functions give, by group and dimension, with intervals."""

from __future__ import annotations

from dataclasses import replace
from math import isnan

import numpy as np
import pytest
from statsmodels.stats.multitest import multipletests

from persona_panel.statistics import (
    Ratings,
    Reason,
    Row,
    agree,
    correlate,
    jackknife,
    kendall_w,
    krippendorff_alpha,
    panel_quality,
)
from persona_panel.statistics.core.table import Coverage
from tests.helpers.rating_tables import HUMANS, PANEL, QUICK, by_name, made_up


def test_p_values_are_corrected_over_the_dimensions() -> None:
    """Holm's correction is over the dimensions of one statistic; the composite's p-value is its
    own; the raw value is kept."""
    rows = by_name(agree(HUMANS, QUICK))
    raw = [
        kendall_w(HUMANS.scores[:, :, d], HUMANS.prompts, n_permutations=39).mean.p_value
        for d in (0, 1)
    ]
    composite, *corrected = (
        rows["kendall_w", "human", name].p_value for name in ("composite", *HUMANS.dimensions)
    )
    assert composite == rows["kendall_w", "human", "composite"].p_raw
    assert corrected == pytest.approx(multipletests(raw, method="holm")[1])
    clarity = rows["kendall_w", "human", "clarity"]
    assert (clarity.p_raw, clarity.n_tests, clarity.adjusted_over) == (raw[0], 2, "dimensions")


def test_correlate_matches_by_name() -> None:
    """Order and extra items of either side do not matter; nothing in common is refused."""
    order = np.random.default_rng(1).permutation(24)
    shuffled = replace(
        PANEL,
        scores=np.vstack([PANEL.scores[order], np.full((1, 3, 2), 3.0)])[:, :, ::-1],
        items=(*(PANEL.items[n] for n in order), "extra"),
        dimensions=("depth", "clarity"),
        prompts=None,
        sources=None,
    )
    # As text, because NaN is not equal to itself.
    assert str(correlate(shuffled, HUMANS, QUICK)) == str(correlate(PANEL, HUMANS, QUICK))
    with pytest.raises(ValueError, match="share no item"):
        correlate(replace(PANEL, items=tuple(map(str, range(24)))), HUMANS, QUICK)
    with pytest.raises(ValueError, match="share no dimension"):
        correlate(replace(PANEL, dimensions=("a", "b")), HUMANS, QUICK)


def test_without_prompts_nothing_is_within_them() -> None:
    """Items are resampled where there are no prompts, and no statistic speaks of prompts."""
    plain = replace(HUMANS, prompts=None, sources=None)
    rows = by_name([*agree(plain, QUICK), *correlate(replace(PANEL, prompts=None), plain, QUICK)])
    assert not any("within_prompts" in name or "pairwise" in name for name, *_ in rows)
    interval = jackknife(
        krippendorff_alpha(HUMANS.scores[:, :, 0]).resampled,
        24,
        kind="alpha",
        limits=krippendorff_alpha(HUMANS.scores[:, :, 0]).limits,
    )
    assert rows["krippendorff_alpha", "human", "clarity"].ci_low == interval.low
    assert isnan(rows["kendall_w", "human", "clarity"].ci_low)


def test_same_seed_same_rows() -> None:
    """Two runs with the same seed give the same rows; the seed decides what is drawn, the p-value
    of a permutation test, and no interval."""
    assert str(agree(HUMANS, QUICK)) == str(agree(HUMANS, QUICK))
    noise = np.random.default_rng(0).integers(1, 6, HUMANS.scores.shape).astype(float)
    rows = [
        by_name(agree(replace(HUMANS, scores=noise), replace(QUICK, seed=seed))) for seed in (0, 1)
    ]
    first, second = (found["kendall_w", "human", "depth"] for found in rows)
    assert (first.value, first.ci_low) == (second.value, second.ci_low)
    assert first.p_raw != second.p_raw


def test_judges_as_a_sample_are_left_out_too() -> None:
    """Over prompts and judges, a row's interval is that of leaving out each prompt and each
    judge, wider than over prompts where judges differ; with four judges there is none, and that is
    why."""
    options = replace(QUICK, random="prompts-and-judges")
    noisy = HUMANS.scores.copy()
    noisy[:, 0] = noisy[::-1, 0]
    humans = replace(HUMANS, scores=noisy)
    scores = noisy[:, :, 1]
    without = [krippendorff_alpha(np.delete(scores, judge, axis=1)).resampled for judge in range(5)]
    prompts = list(HUMANS.prompts or ())
    expected = jackknife(
        krippendorff_alpha(scores).resampled,
        24,
        prompts,
        kind="alpha",
        judges=[without],
        limits=krippendorff_alpha(scores).limits,
    )
    rows = [by_name(agree(humans, one)) for one in (options, QUICK)]
    wide, narrow = (found["krippendorff_alpha", "human", "depth"] for found in rows)
    assert (wide.ci_low, wide.ci_high) == (expected.low, expected.high)
    assert wide.ci_high - wide.ci_low > narrow.ci_high - narrow.ci_low
    four = replace(
        HUMANS, scores=HUMANS.scores[:, :4], raters=HUMANS.raters[:4], groups=HUMANS.groups[:4]
    )
    assert by_name(agree(four, options))["icc2", "human", "depth"].ci_reason is Reason.FEW_JUDGES


def test_judges_of_a_run_are_sampled_by_persona_and_by_model() -> None:
    """Of personas crossed with models each persona and each model is left out, not each judge."""
    judges = [(persona, model) for model in "mn" for persona in "abc"]
    crossed = made_up(
        4, 6, personas=tuple(p for p, _ in judges), groups=tuple(m for _, m in judges)
    )
    rows = by_name(agree(crossed, replace(QUICK, random="prompts-and-judges")))
    scores = crossed.scores[:, :, 0]
    without = [
        [
            krippendorff_alpha(scores[:, [judge[part] != level for judge in judges]]).resampled
            for level in levels
        ]
        for part, levels in enumerate(("abc", "mn"))
    ]
    expected = jackknife(
        krippendorff_alpha(scores).resampled,
        24,
        list(crossed.prompts or ()),
        judges=without,
        kind="alpha",
        limits=krippendorff_alpha(scores).limits,
    )
    found = rows["krippendorff_alpha", "all", "clarity"]
    assert (found.ci_low, found.ci_high) == (expected.low, expected.high)
    # A model's own judges are three personas, too few to be a sample.
    assert rows["krippendorff_alpha", "m", "clarity"].ci_reason is Reason.FEW_JUDGES


def test_the_share_that_is_done_is_said() -> None:
    """Both analyses call with rising shares, one for each statistic of a block, and end at 1."""
    for analysis in (agree, panel_quality):
        shares: list[float] = []
        analysis(HUMANS, replace(QUICK, intervals=False), on_step=shares.append)
        assert len(shares) > 5
        assert shares == sorted(shares)
        assert shares[-1] == 1


def test_without_intervals_there_are_values_alone() -> None:
    """`intervals=False` changes no value and computes no interval."""
    plain = by_name(agree(HUMANS, replace(QUICK, intervals=False)))
    for key, row in by_name(agree(HUMANS, QUICK)).items():
        assert repr(plain[key].value) == repr(row.value)
        assert isnan(plain[key].ci_low)
        assert plain[key].ci_reason is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"items": HUMANS.items[:-1]}, "the shape"),
        ({"items": (*HUMANS.items[:-1], "i0")}, "'i0' is twice among the items"),
        ({"groups": ("human",)}, "1 groups for 5"),
        ({"prompts": ("p",)}, "1 prompts for 24"),
        ({"scores": HUMANS.scores * np.inf}, "infinite"),
    ],
)
def test_ratings_that_do_not_fit_are_refused(change: dict[str, object], message: str) -> None:
    """Names and numbers that do not fit together are named."""
    with np.errstate(invalid="ignore"), pytest.raises(ValueError, match=message):
        replace(HUMANS, **change)  # type: ignore[arg-type]


def test_names_that_the_results_use_are_refused() -> None:
    """A group whose rows could not be told from those of all raters, or of the humans, is named;
    a single group may be called `all`."""
    with pytest.raises(ValueError, match="called 'all'"):
        agree(replace(PANEL, groups=("all", "all", "m2")), QUICK)
    with pytest.raises(ValueError, match="called 'humans'"):
        correlate(replace(PANEL, groups=("humans", "humans", "m2")), HUMANS, QUICK)
    assert {row.group for row in agree(replace(PANEL, groups=("all",) * 3), QUICK)} == {"all"}


def test_judgments_are_counted_by_what_became_of_them() -> None:
    """Scored and abstained are there, the others missing; `complete` where nothing is."""
    statuses = {"scored": 30, "skipped": 2, "abstained": 3, "failed": 5, "refused": 0}
    nothing = {"partial": 0, "revisions_failed": {}, "reasons_missing": 0, "edited": False}
    some = Coverage.of(statuses, **nothing)  # type: ignore[arg-type]
    assert (some.expected, some.scored, some.abstained) == (40, 30, 3)
    assert some.missing == {"failed": 5, "skipped": 2}
    assert not some.complete
    for more in ({}, {"partial": 1}, {"revisions_failed": {"failed": 1}}, {"reasons_missing": 1}):
        of = Coverage.of({"scored": 2}, **(nothing | more))  # type: ignore[arg-type]
        assert of.complete is (not more)
    assert Coverage(2, 1, 1, {}).complete
    assert Coverage.of({}, **nothing).expected == 0  # type: ignore[arg-type]


def test_raters_count_who_rated_what_other_ratings_have() -> None:
    """An item of theirs, on a dimension of theirs if there is one, else on any: of three raters of
    two items and two dimensions."""
    scores = np.full((2, 3, 2), np.nan)
    scores[0, 0, 0] = scores[0, 1, 1] = scores[1, 2, 0] = 1.0
    ours = Ratings(scores, ("i", "j"), ("a", "b", "c"), ("x", "y"), ("g",) * 3)

    def other(item: str, dimension: str) -> Ratings:
        return Ratings(np.ones((1, 1, 1)), (item,), ("p",), (dimension,), ("h",))

    expected = {
        ("i", "x"): 1,
        ("i", "y"): 1,
        ("i", "z"): 2,
        ("j", "x"): 1,
        ("j", "y"): 0,
        ("k", "x"): 0,
    }
    found = {key: ours.n_raters_of(other(*key)) for key in expected}
    assert found == expected
    both = Ratings(np.ones((2, 1, 2)), ("i", "j"), ("p",), ("x", "z"), ("h",))
    assert ours.n_raters_of(both) == 2


def test_only_numbers_are_numeric() -> None:
    """Dimensions of categories are left out, in their order; all stay where there are none; on
    several scales each is a share of its own."""
    scores = np.arange(12.0).reshape(2, 2, 3) % 3
    ratings = Ratings(scores, ("i", "j"), ("a", "b"), ("x", "kind", "y"), ("g",) * 2,
                      categories={"kind": ("p", "q", "r")})  # fmt: skip
    numeric = ratings.numeric()
    assert (numeric.dimensions, dict(numeric.categories)) == (("x", "y"), {})
    np.testing.assert_array_equal(numeric.scores, scores[:, :, [0, 2]])
    assert numeric.numeric() is numeric
    scaled = replace(ratings, scales={"x": (0.0, 2.0), "y": (0.0, 4.0)}).comparable_dimensions()
    np.testing.assert_allclose(scaled.scores, scores[:, :, [0, 2]] / [2, 4])
    assert set(scaled.scales.values()) == {(0.0, 1.0)}
    assert (ratings.sign, replace(numeric, lower_is_better=True).sign) == (1, -1)


def test_a_row_is_an_estimate() -> None:
    """With both p-values where it is adjusted, what its interval is over, and why it has none; a
    winning rate is decided by its value, and says of what tests."""
    row = Row(
        "tau_b", "all", "d", value=0.5, ci_low=0.25, ci_high=0.75, ci_over="prompts", ci_df=9.0,
        n_clusters=10, p_value=0.04, p_raw=0.02, note="noted",
    )  # fmt: skip
    found = row.estimate(sampled="items")
    assert (found.value, found.ends, found.over, found.n) == (0.5, (0.25, 0.75), "items", 10)
    assert (found.p, found.exact, found.detail, found.df) == (0.04, False, "", 9.0)
    assert np.isnan(found.p_adjusted)
    adjusted = replace(row, adjusted_over="dimensions", ci_over="prompts-and-judges")
    found = adjusted.estimate(rater="rater")
    assert (found.p, found.p_adjusted, found.over) == (0.02, 0.04, "prompts and raters")
    assert replace(row, ci_over=None).estimate().over == ""
    decided = replace(row, statistic="alt_test_winning_rate").estimate()
    assert (decided.exact, decided.detail) == (True, "noted")
    few = replace(row, ci_reason=Reason.FEW_CLUSTERS)
    assert few.estimate().reason is Reason.FEW_CLUSTERS
    assert replace(few, reason=Reason.FEW_ITEMS).estimate().reason is Reason.FEW_ITEMS


def test_ratings_by_some_raters_are_theirs_alone() -> None:
    """Scores, groups, personas and controls; in their order, whatever the order of the names."""
    of = replace(PANEL, personas=("x", "y", "z"), controls=frozenset(PANEL.raters[1:]))
    found = of.by({PANEL.raters[2], PANEL.raters[0], "nobody"})
    assert (found.raters, found.groups) == ((PANEL.raters[0], PANEL.raters[2]), ("m1", "m2"))
    assert (found.personas, found.controls) == (("x", "z"), {PANEL.raters[2]})
    np.testing.assert_array_equal(found.scores, PANEL.scores[:, [0, 2]])
    assert of.without_controls().raters == PANEL.raters[:1] and of.panel_columns == [0]
