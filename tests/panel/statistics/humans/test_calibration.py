"""Systems of a panel, corrected by people: what enters, and what is adjusted."""

from __future__ import annotations

from dataclasses import replace
from math import isnan

import numpy as np
import pytest

from panel.statistics import Ratings, calibrate, corrected_mean, holm


def sides(n: int = 30, rated: int = 12) -> tuple[Ratings, Ratings]:
    """Three systems on n prompts by two judges, and two people's ratings of the first prompts."""
    rng = np.random.default_rng(0)
    names = tuple(f"{p}{s}" for p in range(n) for s in "abc")
    prompts = tuple(f"p{p}" for p in range(n) for _ in "abc")
    merit = np.tile([1.0, 0.6, 0.0], n) + np.repeat(rng.normal(0, 1, n), 3)
    truth = merit + rng.normal(0, 0.4, 3 * n)
    judges = truth[:, None] + 1 + rng.normal(0, 0.3, (3 * n, 2))
    people = (truth[:, None] + rng.normal(0, 0.3, (3 * n, 2)))[: 3 * rated]
    panel = Ratings(
        judges[:, :, None], names, ("j", "k"), ("all",), ("m", "m"), prompts, tuple("abc") * n
    )
    return panel, Ratings(people[:, :, None], names[: 3 * rated], ("x", "y"), ("all",), ("h", "h"))


def test_p_values_are_adjusted_over_all_pairs() -> None:
    """By Holm, over the three pairs of each of two dimensions together."""
    panel, people = (
        replace(
            side,
            scores=np.concatenate([side.scores, side.scores**2], axis=2),
            dimensions=("all", "squared"),
        )
        for side in sides()
    )
    found = calibrate(panel, people)
    assert [(one.a, one.b) for one in found.pairs[:3]] == [("a", "b"), ("a", "c"), ("b", "c")]
    assert len(found.pairs) == 6
    expected = holm([one.found.p for one in found.pairs])
    assert [one.p_adjusted for one in found.pairs] == pytest.approx(expected.tolist())
    assert any(one.p_adjusted > one.found.p for one in found.pairs)


def test_judges_without_a_persona_are_not_of_the_panel() -> None:
    """Their ratings change nothing."""
    panel, people = sides()
    wild = np.concatenate([panel.scores, 9 - panel.scores[:, :1]], axis=1)
    more = replace(
        panel, scores=wild, raters=("j", "k", "none"), groups=("m",) * 3,
        controls=frozenset({"none"}),
    )  # fmt: skip
    assert calibrate(more, people) == calibrate(panel, people)


def test_without_systems_and_prompts_all_items_are_one() -> None:
    """One mean over items, called `all`, and no pair; the frame has the columns of --json."""
    panel, people = sides()
    found = calibrate(replace(panel, prompts=None, sources=None), people)
    [one] = found.systems
    human = np.full(len(panel.items), np.nan)
    human[: len(people.items)] = people.scores[:, :, 0].mean(axis=1)
    assert one.system == "all"
    assert one.found == corrected_mean(panel.scores[:, :, 0].mean(axis=1), human)
    assert found.pairs == ()
    assert list(found.to_frame("polars").columns) == [
        "system", "dimension", "panel", "human_only", "human_ci_low", "human_ci_high",
        "corrected", "ci_low", "ci_high", "lambda", "n_human", "n_items", "notes",
    ]  # fmt: skip


def test_a_system_that_nobody_rated() -> None:
    """It keeps the panel's mean and has no other, and neither has its difference from others."""
    panel, people = sides()
    kept = [place for place, name in enumerate(people.items) if not name.endswith("c")]
    people = replace(
        people, scores=people.scores[kept], items=tuple(people.items[place] for place in kept)
    )
    found = calibrate(panel, people)
    *_, last = found.systems
    assert not isnan(last.found.panel) and isnan(last.found.human_only)
    assert [isnan(one.p_adjusted) for one in found.pairs] == [False, True, True]


def test_what_cannot_be_corrected() -> None:
    """Ranks, other items and other dimensions are refused."""
    panel, people = sides()
    for wrong, match in (
        (replace(people, lower_is_better=True), "ranks"),
        (replace(people, items=tuple(f"z{n}" for n in people.items)), "no item"),
        (replace(people, dimensions=("depth",)), "no dimension"),
    ):
        with pytest.raises(ValueError, match=match):
            calibrate(panel, wrong)
