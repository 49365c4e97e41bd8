"""The statistics of `correlate` with a judge, or the panel, in a person's place."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from math import nan
from typing import Literal

import numpy as np

from persona_panel.statistics.annotators import (
    SHARED,
    AlignmentScore,
    AnnotatorTest,
    Substitution,
    annotator_test,
    left_out,
    substitution,
)
from persona_panel.statistics.comparison import ComparisonBlock, comparison_statistics
from persona_panel.statistics.core.arrays import Array, Reason, Statistic, has_ratings
from persona_panel.statistics.core.display import general
from persona_panel.statistics.core.estimate import ALT_TEST_ITEMS, ALT_TEST_PROMPTS
from persona_panel.statistics.core.registry import ANY_LEVEL, OF_SCORES, StatisticTable
from persona_panel.statistics.human_raters import added_raters
from persona_panel.statistics.rater_pairs import majority

RATER = "rater"
"""The breakdown of a single judge's rows; the panel's own row has none."""

ANNOTATOR_TEST = StatisticTable(
    "Alternative annotator test, by judge; first the panel",
    all_raters_only=True,
    remark=(
        "Each person is left out in turn: who is closer to the other people, the judge or that "
        "person? Winning rate: the share of people for whom the judge is as close, with an "
        "allowance of epsilon; at 0.5 or more it passes. Advantage ρ: "
        "how often it is at least as near as a person. Items needed: how many new items each "
        "person would have to rate for a winning rate of 0.5 with a probability of 80 %. Where "
        "people's ratings are noisy, one score for everything can pass: look at correlations."
    ),
)


def _register_test_figure(name: str, heading: str, order: int, summary: str = "") -> None:
    @comparison_statistics.register(
        name, heading, table=ANNOTATOR_TEST, levels=ANY_LEVEL, of=OF_SCORES, summary=summary,
        order=order,
    )  # fmt: skip
    def results(block: ComparisonBlock) -> Iterator[Statistic]:
        """Yield the panel's result, then each judge's; nothing without an epsilon."""
        if block.options.epsilon is None:
            return
        for judge, test in _tests(block):
            of: Statistic = getattr(test, name.removeprefix("alt_test_"))
            note = _note(block, test) if name == "alt_test_winning_rate" else ""
            yield replace(of, note=note, by=None if judge is None else RATER, by_value=judge)


@lru_cache(maxsize=2)  # three statistics come from the same tests
def _tests(block: ComparisonBlock) -> list[tuple[str | None, AnnotatorTest]]:
    score: AlignmentScore = "accuracy" if block.categories else "neg_rmse"
    panel = majority(block.judges) if score == "accuracy" else block.panel_mean
    if block.other_scale or not block.same_scale:
        none = Statistic.undefined(Reason.OTHER_SCALE)
        return [(None, AnnotatorTest(none, none, none, ()))]
    tests = []
    for name, candidate in [(None, panel), *zip(block.judge_names, block.judges.T, strict=True)]:
        tested = annotator_test(
            candidate,
            block.humans,
            score=score,
            epsilon=block.options.epsilon or 0.0,
            clusters=block.clusters,
        )
        tests.append((name, tested))
    return tests


def _note(block: ComparisonBlock, test: AnnotatorTest) -> str:
    n_tested = sum(person.is_tested for person in test.humans)
    n_wins = round(test.winning_rate.value * n_tested) if n_tested else 0
    sentences = [f"epsilon {block.options.epsilon:g}"]
    if n_tested:
        sentences.append(f"as close as {n_wins} of {n_tested} people")
    few = [person for person in test.humans if person.n_items < ALT_TEST_ITEMS]
    untested = [person for person in test.humans if not person.is_tested and person not in few]
    what = f"fewer than {ALT_TEST_ITEMS} shared items", f"fewer than {ALT_TEST_PROMPTS} prompts"
    sentences += [
        left_out([block.human_names[person.human] for person in people], len(test.humans), why)
        for people, why in zip((few, untested), what, strict=True)
        if people
    ]
    return "; ".join(sentences)


_register_test_figure("alt_test_winning_rate", "winning\nrate", 190, "winning rate")
_register_test_figure("alt_test_advantage", "advantage\nρ", 191, "advantage ρ")
_register_test_figure("alt_test_items_needed", "items\nneeded", 192)


SUBSTITUTION = StatisticTable(
    "Quadratically weighted κ of pairs of people, one of them replaced by the panel; "
    "people: neither replaced"
)


def _register_kappa(suffix: str, heading: str, order: int, *, zeros: bool) -> None:
    sides: tuple[tuple[Literal["panel", "humans"], str], ...]
    sides = ("panel", "substituted_kappa"), ("humans", "human_kappa")
    for side, name in sides:
        comparison_statistics.register(
            f"{name}{suffix}", heading, table=SUBSTITUTION, needs=("same_scale",), side=side,
            show_note=zeros, order=order,
        )(lambda block: [_kappa(block, zeros=zeros)])  # fmt: skip


def _kappa(block: ComparisonBlock, *, zeros: bool) -> Statistic:
    of_panel = block.side == "panel"
    if of_panel and block.other_scale:
        return Statistic.undefined(Reason.OTHER_SCALE)
    both = _substitution(block)
    kappas = both.panel if of_panel else both.humans
    note = f"{kappas.n_pairs} pairs, {kappas.n_constant} with a constant rater"
    if kappas.n_missing:
        note += f", {kappas.n_missing} that the panel did not rate"
    statistic = kappas.with_zeros if zeros else kappas.without
    counted = has_ratings(block.humans, 2) & ~np.isnan(_stand_in(block))
    statistic = block.of_both(statistic) if of_panel else statistic
    return replace(statistic, note=note, counted=counted)


@lru_cache(maxsize=1)  # κ with and without the zeros come from the same pairs
def _substitution(block: ComparisonBlock) -> Substitution:
    least = block.options.min_shared or SHARED
    return substitution(block.humans, _stand_in(block), min_shared=least)


def _stand_in(block: ComparisonBlock) -> Array:
    """Return the ratings that take a person's place; on people's side no ratings do."""
    return block.panel_mean if block.side == "panel" else block.target


_register_kappa("", "pairs with a constant\nrater counted as 0", 210, zeros=True)
_register_kappa("_without_constant", "pairs with a constant\nrater left out", 220, zeros=False)


@comparison_statistics.register(
    "alpha_added",
    "change of α",
    table=StatisticTable(
        "Change of people's Krippendorff α as judges are added",
        columns="by_value",
        remark="Intervals and p here: Student's t over prompts, adjusted by Bonferroni for the "
        "numbers of judges.",
    ),
    levels=ANY_LEVEL,
    needs=("same_scale",),
    of=("dimension", "all"),
    order=610,
)
def change_of_alpha(block: ComparisonBlock) -> Iterator[Statistic]:
    """Yield the change of α as the first 1, 2, … judges join, in the panel's order. p-values and
    intervals are adjusted by Bonferroni for the numbers of judges."""
    options, humans, judges = block.options, block.humans, block.judges
    clusters = block.clusters
    if block.of == "all":
        if len(block.by_dimension) < 2 or block.other_scale:
            return
        # Not raters' means: each rating on each dimension, as in the argument-quality paper.
        judges, humans = map(np.vstack, zip(*block.by_dimension.values(), strict=True))
        clusters = clusters * len(block.by_dimension)
    if block.other_scale:
        undefined = Statistic.undefined(Reason.OTHER_SCALE)
        yield replace(undefined, by="judges added", by_value="any number")
        return
    alone, additions = added_raters(humans, judges, block.level, clusters, seed=options.seed)
    for n, added in enumerate(additions, start=1):
        alpha, reason = added.alpha, alone.reason or added.alpha.reason
        p = nan if reason else added.p_adjusted
        note = f"α {general(alone.value, 4)} of people, {general(alpha.value, 4)} with judges"
        yield Statistic(
            added.change, alpha.n_items, alpha.n_raters, p, reason, note="" if reason else note,
            by="judges added", by_value=f"{n}",
            ci=added.interval if options.intervals and not reason else None, p_raw=added.p,
            n_tests=len(additions), adjusted_over="judges added",
        )  # fmt: skip
