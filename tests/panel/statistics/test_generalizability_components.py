"""Variance components against published, balanced and unbalanced analyses."""

from __future__ import annotations

import csv
from math import isnan, nan
from pathlib import Path

import numpy as np
import pytest

from persona_panel.statistics import Reason, variance_components
from tests.helpers.published import BRENNAN

LME4 = Path(__file__).parent / "lme4"
THREE = ("item", "persona", "model")


def test_a_published_study() -> None:
    """Brennan's (2001) synthetic data set 3, persons x items x occasions, as he prints it."""
    expected = {
        "person": 0.5528, "item": 0.4417, "occasion": 0.0074, "person:item": 0.5750,
        "person:occasion": 0.1009, "item:occasion": 0.1565, "residual": 0.9352,
    }  # fmt: skip
    found = variance_components(*BRENNAN)
    assert {name: found.variances[name] for name in expected} == pytest.approx(expected, abs=5e-5)
    assert found.unidentified == {"person:item:occasion": Reason.IN_RESIDUAL}
    assert isnan(found.variances["person:item:occasion"])


@pytest.mark.parametrize("design", ["replicates", "once"])
def test_balanced_components_are_those_of_lme4(design: str) -> None:
    """Two replicates tell item:persona:model from error, one leaves both in the residual; the
    others are lme4's by restricted likelihood, which lme4.R has written down."""
    with (LME4 / "ratings.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if design != "once" or row["replicate"] == "0"]
    with (LME4 / "lme4.csv").open() as file:
        expected = {
            row["effect"]: float(row["variance"])
            for row in csv.DictReader(file)
            if row["design"] == design
        }
    scores = [float(row["score"]) for row in rows]
    found = variance_components(scores, {name: [row[name] for row in rows] for name in THREE})
    assert len(expected) == (8 if design == "replicates" else 7)
    assert {name: found.variances[name] for name in expected} == pytest.approx(expected, rel=1e-5)
    assert found.replicates == (2 if design == "replicates" else 1)
    assert sum(share for share in found.shares.values() if not isnan(share)) == pytest.approx(1)


def test_with_gaps_no_variance_leaks_into_another() -> None:
    """With two fifths of the ratings missing, and uneven replicates, each estimate has the
    expectation of its own variance and of no other.

    An estimate is a quadratic form of the scores. Its expectation, where only effect B varies, with
    variance 1, is the sum of its values for the indicators of B's levels: 1 for B's own, else 0.
    """
    rng = np.random.default_rng(4)
    codes = [grid.ravel() for grid in np.indices((6, 4, 3, 2))]
    kept = rng.random(codes[0].size) > 0.4
    factors = {name: code[kept] for name, code in zip(THREE, codes, strict=False)}
    n = int(kept.sum())
    of = {name: factors[name] for name in THREE}
    of |= {
        "item:persona": factors["item"] * 10 + factors["persona"],
        "item:model": factors["item"] * 10 + factors["model"],
        "persona:model": factors["persona"] * 10 + factors["model"],
        "item:persona:model": factors["item"] * 100 + factors["persona"] * 10 + factors["model"],
        "residual": np.arange(n),
    }
    for effect, labels in of.items():
        total = dict.fromkeys(of, 0.0)
        for level in np.unique(labels):
            found = variance_components((labels == level).astype(float), factors).variances
            for name in total:
                total[name] += found[name]
        expected = {name: float(name == effect) for name in of}
        assert total == pytest.approx(expected, abs=1e-8), effect


def test_what_models_disagree_about_is_no_variance_of_items() -> None:
    """Where one model scores items 1 2 3 and the other 3 2 1, items have no variance of their own:
    by hand, the mean squares of items and of items by models are 0 and 6 for three personas, so
    that item:model is 2 and items -1."""
    item, model, persona = (grid.ravel() for grid in np.indices((3, 2, 3)))
    scores = np.where(model == 0, item, 2 - item)
    found = variance_components(scores, {"item": item, "model": model, "persona": persona})
    assert found.variances["item:model"] == pytest.approx(2)
    assert found.variances["item"] == pytest.approx(-1)
    assert found.shares["item"] == 0
    assert found.shares["item:model"] == pytest.approx(1)


def test_components_of_a_balanced_design() -> None:
    """Balanced components are those of the analysis of variance.

    4 · item + 2 · persona + model, over 3 items, 2 personas and 2 models, leaves no interaction
    and no residual, so each component is the sample variance (n − 1) of its levels: of items
    0 4 8, that is 16; of personas 0 2, 2; of models 0 1, 0.5.
    """
    item, persona, model = (grid.ravel() for grid in np.indices((3, 2, 2)))
    found = variance_components(
        4 * item + 2 * persona + model, {"persona": persona, "model": model, "item": item}
    )
    expected = {"persona": 2.0, "model": 0.5, "item": 16.0, "residual": 0.0}
    expected |= dict.fromkeys(("persona:model", "persona:item", "model:item"), 0.0)
    variances = {name: found.variances[name] for name in expected}
    assert variances == pytest.approx(expected, abs=1e-9)
    shares = {name: found.shares[name] for name in expected}
    assert shares == pytest.approx({k: v / 18.5 for k, v in expected.items()}, abs=1e-9)
    assert found.levels == {"persona": 2, "model": 2, "item": 3}


def test_what_cannot_be_told_apart_is_not_guessed() -> None:
    """One model has no variance between models; one rating an item leaves no error term."""
    scores, item, persona = [1, 2, 3, 5], [0, 0, 1, 1], [0, 1, 0, 1]
    found = variance_components(scores, {"item": item, "persona": persona, "model": [7] * 4})
    for name in ("model", "item:model", "persona:model", "item:persona:model"):
        assert isnan(found.variances[name])
        assert found.unidentified[name] is Reason.ONE_LEVEL
    assert found.unidentified["item:persona"] is Reason.IN_RESIDUAL
    without = variance_components(scores, {"item": item, "persona": persona}).variances
    assert {name: found.variances[name] for name in ("item", "persona", "residual")} == {
        name: without[name] for name in ("item", "persona", "residual")
    }
    alone = variance_components(scores, {"item": [0, 1, 2, 3]})
    assert alone.reason is Reason.NO_ERROR_TERM
    assert isnan(alone.variances["item"])
    assert variance_components([2, 2, nan], {"item": [0, 1, 1]}).reason is Reason.NO_VARIANCE


def test_personas_of_one_model_each_are_not_crossed() -> None:
    """Where no persona speaks through both models, persona and persona:model are one."""
    item, judge = (grid.ravel() for grid in np.indices((5, 4)))
    scores = np.random.default_rng(0).normal(size=item.size)
    found = variance_components(scores, {"item": item, "persona": judge, "model": judge // 2})
    assert found.reason is Reason.NO_ERROR_TERM


@pytest.mark.parametrize("name", ["residual", "item:persona"])
def test_names_that_results_use_are_refused(name: str) -> None:
    """A factor cannot be called as a component is."""
    with pytest.raises(ValueError, match="'residual'"):
        variance_components([1, 2], {name: [0, 1]})


def test_shares_have_no_unit() -> None:
    """Scores on a scale that is a hundred times as short have a ten-thousandth of the variance, and
    the same shares of it."""
    item, rater = (grid.ravel() for grid in np.indices((6, 4)))
    scores = np.random.default_rng(3).normal(size=24) + item
    found, small = (
        variance_components(of, {"item": item, "rater": rater}) for of in (scores, scores / 100)
    )
    assert small.shares == pytest.approx(found.shares, nan_ok=True)
    expected = {name: value / 1e4 for name, value in found.variances.items()}
    assert small.variances == pytest.approx(expected, nan_ok=True)
