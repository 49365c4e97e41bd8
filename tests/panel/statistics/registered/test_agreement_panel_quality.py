"""Panel quality as rows: each figure is what a plain calculation gives."""

from __future__ import annotations

from math import isnan, nan

import krippendorff
import numpy as np
import pytest

from persona_panel.statistics import (
    AnalysisOptions,
    Reason,
    icc,
    krippendorff_alpha,
    panel_quality,
    smallest_subset,
)
from persona_panel.statistics.core.display import signed
from tests.helpers.rating_tables import by_breakdown, of_one_dimension

QUICK = AnalysisOptions(n_permutations=39, min_shared=5)


PANEL = of_one_dimension()
ROWS = by_breakdown(panel_quality(PANEL, QUICK))
SCORES = PANEL.scores[:, :, 0]


def test_reliability_of_more_and_fewer_judges() -> None:
    """With r = ICC(2,1), n judges have n r / (1 + (n - 1) r), and all six ICC(2,k)."""
    r = icc(SCORES, "icc2").value
    for n in (1, 2, 4, 12):
        row = ROWS["reliability", "all", "judges", f"{n}"]
        assert row.value == pytest.approx(n * r / (1 + (n - 1) * r))
        assert row.ci_low < row.value < row.ci_high
    of_six = ROWS["reliability", "all", "judges", "6"].value
    assert of_six == pytest.approx(icc(SCORES, "icc2k").value)


def test_reliability_of_judges_who_share_nothing() -> None:
    """With an ICC(2,1) that is not above 0 every number of judges is undefined and says why; an
    interval whose lower end would be below 0 begins at 0."""
    undefined = kept = 0
    for seed in range(30):
        noise = of_one_dimension(scores=np.random.default_rng(seed).normal(size=(20, 6, 1)))
        rows = by_breakdown(panel_quality(noise, QUICK, only=["reliability"]))
        one = icc(noise.scores[:, :, 0], "icc2").value
        for n in (1, 6, 12):
            row = rows["reliability", "all", "judges", f"{n}"]
            if one <= 0:
                undefined += 1
                assert isnan(row.value)
                assert isnan(row.ci_low)
                assert row.reason is Reason.NOT_RELIABLE
            elif not isnan(row.ci_low):
                kept += row.ci_low == 0
                assert 0 <= row.ci_low <= row.value <= row.ci_high <= 1
    assert undefined
    assert kept


def test_shares_of_variance_are_those_of_mean_squares() -> None:
    """Two-way analysis of variance by hand: items and raters crossed, the rest residual."""
    n, k = SCORES.shape
    grand = SCORES.mean()
    of_items = k * np.sum((SCORES.mean(axis=1) - grand) ** 2) / (n - 1)
    of_raters = n * np.sum((SCORES.mean(axis=0) - grand) ** 2) / (k - 1)
    rest = SCORES - SCORES.mean(axis=1, keepdims=True) - SCORES.mean(axis=0) + grand
    error = np.sum(rest**2) / ((n - 1) * (k - 1))
    variances = [max(v, 0) for v in ((of_items - error) / k, (of_raters - error) / n, error)]
    for name, variance in zip(("item", "rater", "residual"), variances, strict=True):
        share = ROWS["variance_share", "all", "component", name].value
        assert share == pytest.approx(variance / sum(variances))


def test_variance_of_a_run_is_split_by_persona_and_model() -> None:
    """Judges are personas through models; a shift of one model is the model's variance."""
    run = of_one_dimension(personas=("a", "b", "c") * 2, groups=("m",) * 3 + ("n",) * 3)
    run.scores[:, 3:] += 5
    rows = by_breakdown(panel_quality(run, QUICK))
    assert rows["variance_share", "all", "component", "model"].value > 0.5
    assert rows["variance_share", "all", "component", "persona"].value < 0.1
    # Inside one model there is no second to compare it with.
    alone = rows["variance_share", "m", "component", "model"]
    assert isnan(alone.value)
    assert alone.reason is Reason.ONE_LEVEL


def test_what_models_disagree_about_is_not_the_items() -> None:
    """Half of the models score items the other way round: items get nothing of it."""
    run = of_one_dimension(personas=("a", "b", "c") * 2, groups=("m",) * 3 + ("n",) * 3)
    run.scores[:, 3:] = 8 - run.scores[:, 3:]
    rows = by_breakdown(panel_quality(run, QUICK))
    shares = {
        name: rows["variance_share", "all", "component", name].value
        for name in ("item", "item:model", "residual")
    }
    assert shares["item"] == 0
    assert shares["item:model"] > 0.5
    assert rows["variance_share", "all", "component", "item"].note.endswith(", taken as 0")
    assert rows["variance_share", "all", "component", "residual"].note.endswith(
        ", with item:persona:model"
    )


def test_only_interchangeable_judges_have_a_reliability_by_their_number() -> None:
    """Twice the personas on the same models is not twice the models: crossed judges have none but
    inside each model; neither have replicates, who are no further judges."""
    run = of_one_dimension(personas=("a", "b", "c") * 2, groups=("m",) * 3 + ("n",) * 3)
    rows = by_breakdown(panel_quality(run, QUICK))
    assert {key[1] for key in rows if key[0] == "reliability"} == {"m", "n"}
    run = of_one_dimension(4, personas=("a", "b") * 2, groups=("m",) * 4)
    rows = by_breakdown(panel_quality(run, QUICK))
    assert not any(key[0] == "reliability" for key in rows)


def test_alpha_without_each_judge() -> None:
    """Each row is the krippendorff package's α of the others; that of nobody left out is α."""
    whole = ROWS["alpha_without", "all", "judge left out", None]
    assert whole.value == krippendorff_alpha(SCORES).value
    for place in range(6):
        rest = np.delete(SCORES, place, axis=1)
        row = ROWS["alpha_without", "all", "judge left out", f"r{place}"]
        expected = krippendorff.alpha(rest.T, level_of_measurement="ordinal")
        assert row.value == pytest.approx(expected, abs=1e-12)
        change = expected - krippendorff_alpha(SCORES).value
        assert row.note == f"ordinal, changed by {signed(change, 4)}"
        assert (row.n_items, row.n_raters) == (len(SCORES), 5) and isnan(row.ci_low)


def test_the_fewest_judges() -> None:
    """The row is smallest_subset's answer, its note has the threshold and what they save; further
    rows name the judges, in the order in which they are chosen."""
    rng = np.random.default_rng(1)
    scores = rng.normal(size=(120, 1, 1)) + 0.1 * rng.normal(size=(120, 6, 1))
    panel = of_one_dimension(
        items=tuple(f"i{n}" for n in range(120)),
        prompts=tuple(f"p{n // 4}" for n in range(120)),
        scores=scores,
    )
    rows = by_breakdown(panel_quality(panel, QUICK, only=["smallest_subset"]))
    found = smallest_subset(scores[:, :, 0], panel.prompts)
    assert found.judges
    row = rows["smallest_subset", "all", None, None]
    assert row.value == len(found.judges)
    assert "shown to be at least 0.95 (test at 5 %)" in row.note
    assert f"{100 * found.cost_saved:.0f} % of the cost saved" in row.note
    chosen = [
        (one.by_value, one.value)
        for one in rows.values()
        if one.statistic == "smallest_subset" and one.by == "judge"
    ]
    assert chosen == [(f"r{judge}", place + 1) for place, judge in enumerate(found.judges)]
    assert ROWS["smallest_subset", "all", None, None].reason is Reason.FEW_TO_CHOOSE


def test_raters_who_share_too_little_are_not_chosen_from() -> None:
    """Where each rated a part of the items only, nobody can stand for the others."""
    sparse = of_one_dimension()
    for place in range(6):
        sparse.scores[np.arange(20) % 6 != place, place] = nan
    rows = by_breakdown(panel_quality(sparse, QUICK, only=["smallest_subset", "alpha_without"]))
    row = rows["smallest_subset", "all", None, None]
    assert isnan(row.value)
    assert row.reason is Reason.SPARSE
    assert not any(key[0] == "alpha_without" for key in rows)


@pytest.mark.parametrize(("n_missing", "reason"), [(10, Reason.FEW_TO_CHOOSE), (11, Reason.SPARSE)])
def test_judges_who_rated_half_of_the_items_are_chosen_from(
    n_missing: int, reason: Reason | None
) -> None:
    """A judge who rated 10 of 20 items can stand for others, one who rated 9 cannot."""
    gaps = of_one_dimension()
    gaps.scores[:n_missing, 2] = nan
    rows = by_breakdown(panel_quality(gaps, QUICK))
    assert rows["smallest_subset", "all", None, None].reason is reason
    assert any(key[0] == "alpha_without" for key in rows) == (reason is not Reason.SPARSE)
