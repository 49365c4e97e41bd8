"""Statistics of a judge in a person's place: rows hold what the functions give."""

from __future__ import annotations

from dataclasses import replace
from math import nan
from typing import Any

import numpy as np
import pytest

from persona_panel.statistics import (
    Ratings,
    Reason,
    Row,
    annotator_test,
    correlate,
    row_means,
    substitution,
)
from persona_panel.statistics.comparison import comparison_statistics
from persona_panel.statistics.core.registry import Registry
from persona_panel.statistics.human_raters import added_raters
from tests.helpers.rating_tables import HUMANS, PANEL, QUICK, by_name

# 36 items of four prompts, and 24 of eight.
PROMPTS = tuple(f"p{n // 9 if n < 36 else 4 + (n - 36) // 3}" for n in range(60))
EPSILON = replace(QUICK, epsilon=0.2)


def rated(seed: int, raters: str, n_dimensions: int = 1) -> Ratings:
    """Ratings from 1 to 5 of 60 items."""
    rng = np.random.default_rng(seed)
    truth = np.random.default_rng(0).integers(2, 5, 60)[:, None, None]
    scores = truth + rng.integers(-1, 2, (60, len(raters), n_dimensions)).astype(float)
    items = tuple(f"i{n}" for n in range(60))
    dimensions = ("clarity", "depth")[:n_dimensions]
    return Ratings(scores, items, tuple(raters), dimensions, ("g",) * len(raters), prompts=PROMPTS)


PEOPLE = rated(1, "abcde")
# Of c there are 20 items, of d 36 of four prompts.
PEOPLE.scores[20:, 2] = PEOPLE.scores[36:, 3] = nan
JUDGES = rated(2, "xy")


def test_the_annotator_test_is_of_the_panel_and_of_each_judge() -> None:
    """By the panel's mean and by each judge's ratings, with who was left out and why."""
    rows = by_name(correlate(JUDGES, PEOPLE, EPSILON))
    judges, people = JUDGES.scores[:, :, 0], PEOPLE.scores[:, :, 0]
    candidates = {"": row_means(judges), "x": judges[:, 0], "y": judges[:, 1]}
    for judge, scores in candidates.items():
        test = annotator_test(scores, people, score="neg_rmse", epsilon=0.2, clusters=PROMPTS)
        for name in ("winning_rate", "advantage", "items_needed"):
            row = rows[(f"alt_test_{name}", "g", *filter(None, [judge]), "clarity")]
            expected = getattr(test, name)
            assert row.value == pytest.approx(expected.value, nan_ok=True)
            assert (row.by or "", row.by_value or "") == ("rater" if judge else "", judge)
            assert row.reason is expected.reason
            if name != "winning_rate":
                assert not row.note
                continue
            wins = round(3 * test.winning_rate.value)
            assert row.note == (
                f"epsilon 0.2; as close as {wins} of 3 people; "
                "1 of 5 people left out with fewer than 30 shared items: c; "
                "1 of 5 people left out with fewer than 5 prompts: d"
            )
    assert not any(
        name.startswith("alt_test") for name, *_ in by_name(correlate(JUDGES, PEOPLE, QUICK))
    )


def test_of_other_scales_there_is_no_test() -> None:
    """A single row, the panel's, says so; of ranks and scores likewise."""
    other = replace(PEOPLE, scales={"clarity": (0.0, 100.0)})
    ours = replace(JUDGES, scales={"clarity": (1.0, 5.0)})
    rows = by_name(correlate(ours, other, EPSILON))
    found = [key for key in rows if key[0] == "alt_test_winning_rate"]
    assert found == [("alt_test_winning_rate", "g", "clarity")]
    assert {rows[key].reason for key in found} == {Reason.OTHER_SCALE}
    for name in ("substituted_kappa", "substituted_kappa_without_constant"):
        assert rows[name, "g", "clarity"].reason is Reason.OTHER_SCALE
    assert rows["human_kappa", "humans", "clarity"].reason is None
    change = rows["alpha_added", "g", "any number", "clarity"]
    assert (change.reason, change.by) == (Reason.OTHER_SCALE, "judges added")


def test_kappas_are_those_of_people_and_of_the_panel_in_their_place() -> None:
    """With constant pairs as 0, whose number is said, and without them; raters are all of them; a
    pair of whom the panel rated nothing is said, too."""
    people, judges = HUMANS.scores.copy(), PANEL.scores.copy()
    people[:, 4, 0] = 3.0
    people[:2, 3, 0], people[2:, 3, 0] = [1.0, 5.0], nan
    judges[:2, :, 0] = nan
    options = replace(QUICK, min_shared=2)
    rows = by_name(
        correlate(replace(PANEL, scores=judges), replace(HUMANS, scores=people), options)
    )
    kappas = substitution(people[:, :, 0], row_means(judges[:, :, 0]), min_shared=2)
    assert kappas.panel.n_constant and kappas.panel.n_missing
    own = kappas.panel
    for suffix, value in (("", own.with_zeros), ("_without_constant", own.without)):
        row = rows[f"substituted_kappa{suffix}", "all", "clarity"]
        assert row.value == pytest.approx(value.value)
        assert row.n_raters == 8
        assert row.note == (
            f"{own.n_pairs} pairs, {own.n_constant} with a constant rater, "
            f"{own.n_missing} that the panel did not rate"
        )
        human = rows[f"human_kappa{suffix}", "humans", "clarity"]
        of_people = kappas.humans.with_zeros if not suffix else kappas.humans.without
        assert (human.value, human.n_raters) == (pytest.approx(of_people.value), 5)
        assert (
            human.note
            == f"{kappas.humans.n_pairs} pairs, {kappas.humans.n_constant} with a constant rater"
        )


def test_alpha_changes_as_judges_join() -> None:
    """In their order, each with its change, its interval and its p, adjusted for all numbers of
    judges; over two dimensions each rating of each counts."""
    people, judges = rated(3, "abc", 2), rated(4, "xy", 2)
    rows = by_name(correlate(judges, people, QUICK))

    def tables(ratings: Ratings) -> dict[str, np.ndarray]:  # type: ignore[type-arg]
        scores = ratings.scores
        return {"clarity": scores[:, :, 0], "all": np.vstack([scores[:, :, 0], scores[:, :, 1]])}

    for dimension, times in (("clarity", 1), ("all", 2)):
        theirs, ours = tables(people)[dimension], tables(judges)[dimension]
        alone, additions = added_raters(theirs, ours, "ordinal", PROMPTS * times, seed=QUICK.seed)
        for n, added in enumerate(additions, start=1):
            row: Row = rows["alpha_added", "g", f"{n}", dimension]
            assert row.value == pytest.approx(added.change)
            assert (row.ci_low, row.ci_high) == (added.interval.low, added.interval.high)
            assert (row.p_raw, row.p_value) == pytest.approx((added.p, added.p_adjusted))
            assert (row.n_items, row.n_raters, row.n_tests) == (60 * times, 3 + n, 2)
            assert row.note == f"α {alone.value:.4f} of people, {added.alpha.value:.4f} with judges"
    bare = by_name(correlate(judges, people, replace(QUICK, intervals=False)))
    assert np.isnan(bare["alpha_added", "g", "1", "clarity"].ci_low)
    assert not any(
        key[0] == "alpha_added" and key[-1] == "all"
        for key in by_name(correlate(rated(4, "xy"), rated(3, "abc"), QUICK))
    )


@pytest.mark.parametrize(
    ("registry", "ordered", "noted", "of_all"),
    [
        (comparison_statistics,
             "alt_test_winning_rate alt_test_advantage alt_test_items_needed human_kappa "
             "substituted_kappa human_kappa_without_constant "
             "substituted_kappa_without_constant alpha_added",
             "human_kappa substituted_kappa",
             "alt_test_winning_rate alt_test_advantage alt_test_items_needed"),
    ],
)  # fmt: skip
def test_statistics_stand_in_this_order(
    registry: Registry[Any], ordered: str, noted: str, of_all: str
) -> None:
    """In their tables; which have their notes below, and which are of all raters alone."""
    found = [
        each for each in registry if each.function.__module__.endswith("registered.annotators")
    ]
    assert [each.name for each in found] == ordered.split()
    assert [each.name for each in found if each.show_note] == noted.split()
    assert [each.name for each in found if each.table.all_raters_only] == of_all.split()


def test_an_allowance_of_0_is_one() -> None:
    """It is not that there is none."""
    options = replace(QUICK, epsilon=0.0)
    [row, *_] = correlate(JUDGES, PEOPLE, options, only=["alt_test_winning_rate"])
    panel, people = row_means(JUDGES.scores[:, :, 0]), PEOPLE.scores[:, :, 0]
    test = annotator_test(panel, people, score="neg_rmse", epsilon=0.0, clusters=PROMPTS)
    assert row.value == test.winning_rate.value < 1 and row.note.startswith("epsilon 0; ")
