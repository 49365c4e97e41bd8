"""The statistics of `correlate` by person and source: judges in a person's place, and win rates."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import replace
from functools import lru_cache
from math import inf, isnan, nan

import numpy as np

from persona_panel.statistics.annotators import (
    LEAST_CLUSTERS,
    LEAST_ITEMS,
    AlignmentScore,
    AnnotatorTest,
    Substitution,
    annotator_test,
    left_out,
    resampled_advantage,
    resampled_substitution,
    substitution,
)
from persona_panel.statistics.comparison import ComparisonBlock, comparison_statistics
from persona_panel.statistics.core.arrays import (
    Array,
    Reason,
    Resampled,
    Statistic,
    has_two_ratings,
    ranks_within,
    row_means,
)
from persona_panel.statistics.core.correlation import CorrelationKind
from persona_panel.statistics.core.display import general, number, percent
from persona_panel.statistics.core.jackknife import EstimateKind, resampled_mean
from persona_panel.statistics.core.registry import (
    ANY_LEVEL,
    OF_SCORES,
    BlockResult,
    StatisticTable,
    mean_over_prompts,
)
from persona_panel.statistics.human_raters import (
    added_raters,
    human_difference,
    human_difference_by_prompt,
    mean_reliability,
    resampled_human_difference,
)
from persona_panel.statistics.kappa import majority
from persona_panel.statistics.panel_size import effective_judges, effective_judges_interval
from persona_panel.statistics.sources import (
    Preferences,
    preferences,
    resampled_preferences,
    source_means,
)

BY = "comparison"
NAMES = ("panel − human", "judge − human", "panel − judge")
_LIMITS = (-2.0, 2.0)
"""Between which the difference of two correlations lies."""

_TITLE = "Panel and one person compared with the same other people: difference of correlations, "
OVER_ALL_ITEMS = StatisticTable(
    _TITLE + "over all items",
    all_raters_only=True,
    remark=(
        "Each person is left out in turn: that person, the panel and its judges are correlated "
        "with the mean of the other people, over the same items. Above 0: agrees with people more "
        "than one of them does. panel − judge is what averaging gains, as it would for people; "
        "whether judges rate as people do is judge − human. An interval that contains 0 shows no "
        "difference; none says anything of other judges or other people. τ_b is computed for "
        "panel − human alone, as for every judge it would take minutes."
    ),
)
WITHIN_PROMPTS = StatisticTable(_TITLE + "within prompts", all_raters_only=True)


def _register_difference(kind: CorrelationKind, heading: str, order: int) -> None:
    @comparison_statistics.register(
        f"human_difference_{kind}",
        heading,
        table=OVER_ALL_ITEMS,
        of=OF_SCORES,
        summary="panel − one person, over all items" if kind == "tau_b" else "",
        order=order,
    )
    def difference(block: ComparisonBlock) -> Iterator[BlockResult]:
        sides = _judges(block), block.compared
        differences = human_difference(*sides, kind)
        resampled = resampled_human_difference(*sides, kind)
        counted = has_two_ratings(block.compared) & ~np.isnan(block.panel_mean)
        # τ of every judge with every person takes minutes where there are thousands of items.
        n_rows = 1 if kind == "tau_b" else _n_rows(block)
        for name, statistic, function in list(zip(NAMES, differences, resampled, strict=True))[
            :n_rows
        ]:
            yield BlockResult(
                statistic, function, "", "difference", _LIMITS, BY, name, counted=counted
            )

    @comparison_statistics.register(
        f"human_difference_{kind}_within_prompts",
        heading,
        table=WITHIN_PROMPTS,
        of=OF_SCORES,
        needs=("prompts",),
        summary="panel − one person, within prompts" if kind == "tau_b" else "",
        order=order + 5,
    )
    def difference_within(block: ComparisonBlock) -> Iterator[BlockResult]:
        prompts = block.prompts or []
        differences = human_difference_by_prompt(_judges(block), block.compared, prompts, kind)
        for name, means in list(zip(NAMES, differences, strict=True))[: _n_rows(block)]:
            result = mean_over_prompts(means, prompts, kind="skewed_difference", limits=_LIMITS)
            yield replace(result, by=BY, by_value=name)


def _judges(block: ComparisonBlock) -> Array:
    """Return the judges' ratings in the form in which people's are compared: scores, or ranks."""
    if block.options.target == "score":
        return block.judges
    return -ranks_within(-block.judges, block.prompts).ranks


def _n_rows(block: ComparisonBlock) -> int:
    """Return the number of rows: 1 for a panel of one judge, who is the panel."""
    n_judges = int(np.sum(~np.isnan(block.judges).all(axis=0)))
    return len(NAMES) if n_judges > 1 else 1


_register_difference("tau_b", "τ_b", 181)
_register_difference("spearman", "Spearman ρ", 182)
_register_difference("pearson", "Pearson r", 183)


RATER = "rater"
"""The breakdown of a single judge's rows; the panel's own row has none."""

ANNOTATOR_TEST = StatisticTable(
    "Alternative annotator test, by judge; first the panel",
    all_raters_only=True,
    remark=(
        "Each person is left out in turn: who is nearer to the other people, the judge or that "
        "person? Winning rate ω: the share of people over whom the judge wins, with an allowance "
        "of epsilon; at 0.5 or more it may take the place of a person, by this test. Advantage ρ: "
        "how often it is at least as near as a person. Items needed: how many items each person "
        "would have to rate for ω of 0.5, with 80 % power, if differences are as observed. Where "
        "people's ratings are noisy, one score for everything can pass: look at correlations."
    ),
)


def _register_test_figure(name: str, heading: str, order: int, summary: str = "") -> None:
    @comparison_statistics.register(
        name,
        heading,
        table=ANNOTATOR_TEST,
        levels=ANY_LEVEL,
        of=OF_SCORES,
        summary=summary,
        order=order,
    )
    def results(block: ComparisonBlock) -> Iterator[BlockResult]:
        """Yield the panel's result, then each judge's; nothing without an epsilon."""
        if block.options.epsilon is None:
            return
        for judge, candidate, test in _tests(block):
            of = {
                "alt_test_winning_rate": test.winning_rate,
                "alt_test_advantage": test.advantage,
                "alt_test_items_needed": test.items_needed,
            }[name]
            resampled = None
            if name == "alt_test_advantage" and not of.reason:
                tested = [person.human for person in test.humans if person.is_tested]
                resampled = resampled_advantage(
                    candidate, block.humans, score=_score(block), of=tested
                )
            yield BlockResult(
                of,
                resampled,
                _note(block, test) if name == "alt_test_winning_rate" else "",
                "share",
                (0.0, 1.0),
                by=None if judge is None else RATER,
                by_value=judge,
            )


@lru_cache(maxsize=2)  # three statistics come from the same tests
def _tests(block: ComparisonBlock) -> list[tuple[str | None, Array, AnnotatorTest]]:
    """Return the panel's test, then each judge's, with the tested ratings."""
    score = _score(block)
    panel = majority(block.judges) if score == "accuracy" else block.panel_mean
    if block.other_scale or "same_scale" not in block.has:
        none = Statistic.undefined(Reason.OTHER_SCALE)
        return [(None, panel, AnnotatorTest(none, none, none, ()))]
    tests = []
    for name, candidate in [(None, panel), *zip(block.judge_names, block.judges.T, strict=True)]:
        tested = annotator_test(
            candidate,
            block.humans,
            score=score,
            epsilon=block.options.epsilon or 0.0,
            clusters=block.clusters,
        )
        tests.append((name, candidate, tested))
    return tests


def _score(block: ComparisonBlock) -> AlignmentScore:
    return "accuracy" if block.categories else "neg_rmse"


def _note(block: ComparisonBlock, test: AnnotatorTest) -> str:
    """Return in words what ω rests on: epsilon, and who was left out."""
    n_tested = sum(person.is_tested for person in test.humans)
    n_wins = round(test.winning_rate.value * n_tested) if n_tested else 0
    said = [f"epsilon {block.options.epsilon:g}"]
    if n_tested:
        said.append(f"wins over {n_wins} of {n_tested} people")
    few = [
        block.human_names[person.human] for person in test.humans if person.n_items < LEAST_ITEMS
    ]
    prompts = [
        block.human_names[person.human]
        for person in test.humans
        if not person.is_tested and person.n_items >= LEAST_ITEMS
    ]
    for names, what in (
        (few, f"fewer than {LEAST_ITEMS} shared items"),
        (prompts, f"fewer than {LEAST_CLUSTERS} prompts"),
    ):
        if names:
            said.append(left_out(names, len(test.humans), what))
    return "; ".join(said)


_register_test_figure("alt_test_winning_rate", "winning\nrate ω", 190, "winning rate ω")
_register_test_figure("alt_test_advantage", "advantage\nρ", 191, "advantage ρ")
_register_test_figure("alt_test_items_needed", "items\nneeded", 192)


SUBSTITUTION = StatisticTable(
    "Quadratically weighted κ of pairs of people, one of them replaced by the panel; "
    "people: neither replaced"
)


def _register_kappa(suffix: str, heading: str, order: int, *, zeros: bool) -> None:
    @comparison_statistics.register(
        f"substituted_kappa{suffix}", heading, table=SUBSTITUTION, needs=("same_scale",),
        show_note=zeros, order=order,
    )  # fmt: skip
    def panel(block: ComparisonBlock) -> Iterator[BlockResult]:
        yield _kappa(block, zeros=zeros)

    @comparison_statistics.register(
        f"human_kappa{suffix}", heading, table=SUBSTITUTION, needs=("same_scale",),
        side="humans", show_note=zeros, order=order,
    )  # fmt: skip
    def humans(block: ComparisonBlock) -> Iterator[BlockResult]:
        yield _kappa(block, zeros=zeros)


def _kappa(block: ComparisonBlock, *, zeros: bool) -> BlockResult:
    of_panel = block.side == "panel"
    if of_panel and block.other_scale:
        return BlockResult(Statistic.undefined(Reason.OTHER_SCALE))
    both = _substitution(block)
    kappas = both.panel if of_panel else both.humans
    note = f"{kappas.n_pairs} pairs, {kappas.n_constant} with a constant rater"
    if kappas.n_missing:
        note += f", {kappas.n_missing} that the panel did not rate"
    resampled = resampled_substitution(
        block.humans, _stand_in(block), min_shared=block.options.min_shared, zeros=zeros
    )[of_panel]
    statistic = kappas.with_zeros if zeros else kappas.without
    counted = has_two_ratings(block.humans) & ~np.isnan(_stand_in(block))
    return BlockResult(
        block.of_both(statistic) if of_panel else statistic,
        resampled,
        note,
        limits=(-inf, 1),
        counted=counted,
    )


@lru_cache(maxsize=1)  # κ with and without the zeros come from the same pairs
def _substitution(block: ComparisonBlock) -> Substitution:
    return substitution(block.humans, _stand_in(block), min_shared=block.options.min_shared)


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
    order=610,
)
def change_of_alpha(block: ComparisonBlock) -> Iterator[BlockResult]:
    """Yield the change of α as the first 1, 2, … judges join, in the panel's order. p-values and
    intervals are adjusted by Bonferroni for the numbers of judges."""
    if block.other_scale:
        undefined = Statistic.undefined(Reason.OTHER_SCALE)
        yield BlockResult(undefined, by="judges added", by_value="any number")
        return
    options = block.options
    additions = added_raters(
        block.humans,
        block.judges,
        block.level,
        block.clusters,
        confidence=options.confidence,
        seed=options.seed,
    )
    alone = additions.alphas[0]
    for place, alpha in enumerate(additions.alphas[1:]):
        reason = alone.reason or alpha.reason
        statistic = (
            Statistic.undefined(reason, n_items=alpha.n_items, n_raters=alpha.n_raters)
            if reason
            else replace(
                alpha,
                value=float(additions.change[place]),
                p_value=float(additions.p_adjusted[place]),
            )
        )
        yield BlockResult(
            statistic,
            note=""
            if reason
            else f"α {general(alone.value, 4)} of people, {general(alpha.value, 4)} with judges",
            by="judges added",
            by_value=f"{place + 1}",
            ci=additions.intervals[place] if options.intervals and not reason else None,
            p_raw=float(additions.p_value[place]),
            n_tests=len(additions.change),
            adjusted_over="judges added",
        )


ASSUMED = (0.8, 0.5)
"""Reliabilities of people's mean for which the number is given where there is no knowing it."""


@comparison_statistics.register(
    "effective_judges",
    "effective number",
    table=StatisticTable("Effective number of judges, from the correlation of their errors"),
    show_note=True,
    order=410,
)
def of_errors(block: ComparisonBlock) -> Iterator[BlockResult]:
    """Yield the effective number of judges by their errors, corrected for the noise of people's
    mean where its reliability can be estimated; else a lower bound, and the number for assumed
    reliabilities."""
    options, reliability = block.options, mean_reliability(block.compared)
    bound = effective_judges(block.judges, block.target)
    if reliability.reason is None:
        reference = block.compared
        votes = effective_judges(block.judges, reference)
        note = (
            f"corrected for the noise of people's mean (reliability "
            f"{number(reliability.value)}); without the correction {_number(bound)}, a lower bound"
        )
    else:
        reference, votes = block.target, bound
        assumed = (
            f"{_number(effective_judges(block.judges, block.target, reliability=level))} if its "
            f"reliability were {level}"
            for level in ASSUMED
        )
        note = (
            "a lower bound, as the noise of people's mean is not known "
            f"({reliability.reason}): {', '.join(assumed)}"
        )
    interval = None
    if options.intervals and votes.reason in (None, Reason.NOT_CORRELATED):
        interval = effective_judges_interval(
            block.judges,
            reference,
            clusters=block.clusters,
            confidence=options.confidence,
            seed=options.seed,
        )
    if interval is None:
        yield BlockResult(votes, note=note)
    elif votes.reason is None:
        yield BlockResult(votes, note=note, ci=interval)
    else:
        # Judges whose errors seem independent have no number, but a bound.
        least = (
            ""
            if isnan(interval.low)
            else f"; {percent(options.confidence)} interval {interval.low:.1f} to "
            f"{interval.high:.1f}"
        )
        yield BlockResult(votes, note=note + least)


def _number(votes: Statistic) -> str:
    return "undefined" if votes.reason else f"{votes.value:.1f}"


BY_SOURCE = StatisticTable(
    "By source",
    columns="group",
    remark=(
        "Share of first places: of the rankings (one rater's of one prompt) that the source is in; "
        "a tie counts in equal parts. Shares add up to 1 only if every ranking has every source."
    ),
)


@comparison_statistics.register(
    "source_pearson",
    "Pearson r",
    table=StatisticTable("Correlation of the means by source, the panel's with people's"),
    needs=("sources",),
    order=540,
)
def correlation_over_sources(block: ComparisonBlock) -> Iterator[BlockResult]:
    means = source_means(block.panel_mean, block.humans, block.sources or [])
    yield BlockResult(block.of_both(means.pearson), note="items are sources")


@comparison_statistics.register(
    "source_mean", "mean", table=BY_SOURCE, needs=("sources",), side="both", order=510
)
def mean(block: ComparisonBlock) -> Iterator[BlockResult]:
    sign = block.judges_sign if block.side == "panel" else block.humans_sign
    means = sign * row_means(_ratings(block))
    for source in _preferences(block).sources:
        own = _own(block, source, means)
        rated = own[~np.isnan(own)]
        value = float(rated.mean()) if len(rated) else nan
        yield _of_source(block, source, value, resampled_mean(own), "", "mean")


@comparison_statistics.register(
    "win_rate", "win rate", table=BY_SOURCE, needs=("sources",), side="both", order=520
)
def win_rate(block: ComparisonBlock) -> Iterator[BlockResult]:
    tallies, resampled = _preferences(block), _resampled(block)
    for place, source in enumerate(tallies.sources):
        yield _of_source(
            block,
            source,
            float(tallies.win_rate[place]),
            resampled[source][0] if resampled else None,
            f"{tallies.n_comparisons[place]} comparisons",
        )


@comparison_statistics.register(
    "first_place",
    "share of\nfirst places",
    table=BY_SOURCE,
    needs=("sources",),
    side="both",
    order=530,
)
def first_place(block: ComparisonBlock) -> Iterator[BlockResult]:
    tallies, resampled = _preferences(block), _resampled(block)
    for place, source in enumerate(tallies.sources):
        yield _of_source(
            block,
            source,
            float(tallies.first_place[place]),
            resampled[source][1] if resampled else None,
            f"{tallies.n_rankings[place]} rankings",
        )


def _ratings(block: ComparisonBlock) -> Array:
    """Return people's ratings, or the panel's mean as one rater's `(items, raters)`."""
    return block.humans if block.side == "humans" else block.panel_mean[:, None]


@lru_cache(maxsize=1)  # the same comparisons give wins and first places
def _preferences(block: ComparisonBlock) -> Preferences:
    return preferences(_ratings(block), block.sources or [], block.prompts)


def _resampled(block: ComparisonBlock) -> dict[Hashable, tuple[Resampled, Resampled]]:
    if block.prompts is None:
        return {}
    return resampled_preferences(_ratings(block), block.sources or [], block.prompts)


def _own(block: ComparisonBlock, source: Hashable, values: Array) -> Array:
    """Return the values of a source's items, NaN for the others."""
    mine = np.array([label == source for label in block.sources or ()])
    return np.where(mine, values, np.nan)


def _of_source(
    block: ComparisonBlock,
    source: Hashable,
    value: float,
    resampled: Resampled | None,
    note: str,
    kind: EstimateKind = "share",
) -> BlockResult:
    ratings = _ratings(block)
    n_items = int(np.sum(~np.isnan(_own(block, source, row_means(ratings)))))
    n_raters = int(np.sum(~np.isnan(ratings).all(axis=0)))
    if np.isnan(value):
        reason = Reason.NO_RATINGS if n_items == 0 else Reason.FEW_SOURCES
        statistic = Statistic.undefined(reason, n_items=n_items, n_raters=n_raters)
    else:
        statistic = Statistic(value, n_items, n_raters)
    return BlockResult(statistic, resampled, note, kind, by="source", by_value=str(source))
