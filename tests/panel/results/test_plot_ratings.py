"""Figures of ratings: what is drawn are the rows of `agree` and `correlate`."""

from __future__ import annotations

import sys
from dataclasses import replace
from math import isnan

import numpy as np
import pytest

from persona_panel import RatingsPlots
from persona_panel.statistics import AnalysisOptions, Ratings, agree, correlate
from tests.helpers.figures import legend, names, points, thick_lines

NO_TESTS = AnalysisOptions(n_permutations=0)


def some(raters: int, groups: tuple[str, ...], seed: int, spread: float) -> Ratings:
    """24 items of eight prompts on two dimensions; the second has the same score throughout."""
    rng = np.random.default_rng(seed)
    scores = np.zeros((24, raters, 2))
    truth = np.random.default_rng(0).normal(5, 2, (24, 1))
    scores[:, :, 0] = np.round(truth + rng.normal(0, spread, (24, raters)))
    scores[:, :, 1] = 3
    return Ratings(
        scores,
        tuple(f"i{n}" for n in range(24)),
        tuple(f"{groups[0]}{n}" for n in range(raters)),
        ("conceptual_clarity", "flat"),
        groups,
        prompts=tuple(f"p{n % 8}" for n in range(24)),
    )


PANEL = some(4, ("m1", "m1", "m2", "m2"), 1, 1.0)
HUMANS = some(3, ("human",) * 3, 2, 1.5)


def test_agreement_is_drawn_by_dimension_and_group() -> None:
    """α of each group and of all raters with its interval; a dimension on which nobody differs has
    no value, and the caption says why. The composite, where there is one, comes first."""
    (axis,) = RatingsPlots(PANEL).agreement().axes
    assert names(axis) == ["composite", "conceptual clarity", "flat"]
    panel = replace(PANEL, composite_of=())
    figure = RatingsPlots(panel).agreement()
    (axis,) = figure.axes
    rows = [one for one in agree(panel, NO_TESTS) if one.statistic == "krippendorff_alpha"]
    assert [one.group for one in rows[:4:2]] == ["m1", "m2"]
    assert names(axis) == ["conceptual clarity", "flat"]
    assert legend(figure) == ["m1", "m2", "all raters", "95 % interval over prompts"]
    there = [one for one in rows if not isnan(one.value)]
    drawn = [points(axis, marker)[0][0] for marker in "os^"]
    assert drawn == [one.value for one in there]
    assert thick_lines(axis) == [pytest.approx((one.ci_low, one.ci_high)) for one in there]
    assert [text.get_text() for text in axis.texts] == ["no value"] * 3
    reason = next(one.reason for one in rows if one.dimension == "flat")
    assert f"No value for m1 (flat); m2 (flat); all raters (flat): {reason}." in figure.caption
    assert figure.get_supxlabel() == "Krippendorff α"
    assert figure.get_figwidth() == 3.3
    assert RatingsPlots(panel).agreement(columns=2).get_figwidth() == 6.9


def test_a_panels_correlation_stands_next_to_a_persons() -> None:
    """The panel's τ_c by dimension, and that of one person with the others."""
    figure = RatingsPlots(PANEL).correlation(HUMANS)
    assert figure.get_figwidth() == 3.3
    rows = [
        one
        for one in correlate(PANEL, HUMANS, NO_TESTS, only=["tau_c", "human_ceiling_tau_c"])
        if one.dimension == "conceptual_clarity"
    ]
    of = {one.group: one.value for one in rows}
    assert set(of) == {"m1", "m2", "all", "humans"}
    (axis,) = figure.axes
    assert legend(figure)[:4] == ["m1", "m2", "panel", "one person, and the others"]
    drawn = [points(axis, marker)[0][0] for marker in "os^D"]
    assert drawn == [of["m1"], of["m2"], of["all"], of["humans"]]
    assert figure.get_supxlabel() == "τ_c with the mean human rating"


def test_a_statistic_that_is_not_there_is_refused() -> None:
    """By its name, with those that there are; one that needs what the ratings lack, too."""
    with pytest.raises(ValueError, match="no statistic 'beta'; there are krippendorff_alpha"):
        RatingsPlots(PANEL).agreement("beta")
    ranks = Ratings(*(getattr(PANEL, name) for name in (
        "scores", "items", "raters", "dimensions", "groups")))  # fmt: skip
    with pytest.raises(ValueError, match="'tau_c_within_prompts' does not apply"):
        RatingsPlots(ranks).correlation(ranks, "tau_c_within_prompts")


def test_without_matplotlib_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both figures name the extra."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'persona-panel\[plots\]'"):
        RatingsPlots(PANEL).agreement()
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'persona-panel\[plots\]'"):
        RatingsPlots(PANEL).correlation(HUMANS)
