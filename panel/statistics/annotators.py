"""A judge in a person's place: the alternative annotator test, and substitution in pairs.

Sources: N. Calderon, R. Reichart & R. Dror (2025), "The Alternative Annotator Test for
LLM-as-a-Judge", section 3, here with Student's t over prompts; the debate-speeches paper, section
4, and its authors' script (leave-one-out substitution); L. Kish (1965), *Survey Sampling*, section
8.2, and A. Carter, K. Schnepel & D. Steigerwald (2017), "Asymptotic behavior of a t-test robust to
cluster heterogeneity", for the degrees of freedom of prompts of unequal size.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import inf, nan
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from persona_panel.statistics.core import special
from persona_panel.statistics.core.arrays import (
    Array,
    IntArray,
    Labels,
    Reason,
    Resampled,
    Statistic,
    as_ratings,
    as_scores,
    check_choice,
    count_raters,
    divide,
    effective_number,
    encode_labels,
    mean_of,
    mean_there,
)
from persona_panel.statistics.core.estimate import ALT_TEST_ITEMS, ALT_TEST_PROMPTS
from persona_panel.statistics.core.jackknife import left_out_variance
from persona_panel.statistics.core.means import assured
from persona_panel.statistics.core.significance import benjamini_yekutieli
from persona_panel.statistics.paired import PairedFigure, paired_figure, undefined_figure
from persona_panel.statistics.rater_pairs import cohen_kappa

_WHO = r"[\d,]+ of [\d,]+ people left out with [^:;]*"
_NAMED = re.compile(rf"(?P<who>{_WHO}): .*?(?=; {_WHO}: |\Z)", re.DOTALL)


def left_out(names: Sequence[str], of: int, what: str) -> str:
    """Return a note with the number and the names of those who were left out, and the reason."""
    return f"{len(names):,} of {of:,} people left out with {what}: {', '.join(names)}"


def without_names(note: str) -> str:
    """Return a note without the names of those who were left out."""
    return _NAMED.sub(r"\g<who>", note)


AlignmentScore = Literal["accuracy", "neg_rmse"]
"""The measure of how near a rating is to the other people's: the share of them who gave the same
label, or the negative root of the mean squared distance to their scores."""

FALSE_DISCOVERIES = 0.05
"""The share of wins that may be false."""
_SAME = 1e-9


@dataclass(frozen=True, slots=True)
class AnnotatorComparison:
    """A judge compared with one person.

    Attributes:
        human: the column of the person.
        n_items, n_clusters: items that the person, the judge and another person rated, and the
            prompts that they answer (items, without prompts).
        advantage: the share of items on which the judge is at least as near to the others.
        human_advantage: the share on which the person is.
        p_value: one-sided, of human_advantage − advantage being ε or more; `p_adjusted` by
            Benjamini and Yekutieli's procedure over the people who are tested.
        items_needed: how many new items show the win with a probability of 80 %, averaged over what
            the data leave open (`assured`); None where no number does, or the difference is ε or
            more.
        is_tested: whether the person has enough items and prompts; if not, the rest is NaN.
    """

    human: int
    n_items: int
    n_clusters: int
    advantage: float = nan
    human_advantage: float = nan
    p_value: float = nan
    p_adjusted: float = nan
    items_needed: int | None = None
    is_tested: bool = False


@dataclass(frozen=True, slots=True)
class AnnotatorTest:
    """The result of the alternative annotator test for one judge, with the people `humans`, those
    tested and those left out.

    Attributes:
        winning_rate: ω, the share of the tested people over whom the judge wins. At 0.5 or more it
            may take the place of a person, by this test.
        advantage: ρ, the mean over tested people of the share of items on which the judge is at
            least as near to the others as that person.
        items_needed: how many new items each person has to rate for ω to be 0.5 or more.
    """

    winning_rate: Statistic
    advantage: Statistic
    items_needed: Statistic
    humans: tuple[AnnotatorComparison, ...]


def annotator_test(
    judge: ArrayLike,
    humans: ArrayLike,
    *,
    score: AlignmentScore,
    epsilon: float,
    clusters: Labels | None = None,
) -> AnnotatorTest:
    """Run the alternative annotator test for a judge (or a panel's mean or majority).

    Args:
        judge: `(items,)`, scores or codes of labels, NaN where missing.
        humans: `(items, humans)`, likewise.
        score: how near a rating is to the other people's.
        epsilon: by how much a person may be ahead, in [0, 1): what a judge costs less. The paper
            takes 0.2 where people are experts, 0.15 where skilled, 0.1 from a crowd.

    Returns:
        ω and ρ in [0, 1]; undefined without two people, or where none can be tested.

    >>> people = np.tile([[1, 1, 2], [3, 3, 2], [2, 4, 2]], (10, 1))
    >>> result = annotator_test([1, 3, 2] * 10, people, score="neg_rmse", epsilon=0.1)
    >>> result.winning_rate.value, round(result.advantage.value, 3)
    (1.0, 1.0)
    """
    check_choice("score", score, AlignmentScore)
    if not 0 <= epsilon < 1:
        raise ValueError(f"epsilon lies in [0, 1), found {epsilon}")
    ours, theirs = as_scores(judge), as_ratings(humans)
    if len(ours) != len(theirs):
        raise ValueError(f"{len(ours)} items rated by the judge, {len(theirs)} by humans")
    ahead, behind = _advantages(ours, theirs, score)
    codes = encode_labels(range(len(ours)) if clusters is None else clusters, len(ours))[1]
    shared = ~np.isnan(ahead)
    people = [
        AnnotatorComparison(human, int(of.sum()), len(np.unique(codes[of])))
        for human, of in enumerate(shared.T)
    ]
    tested = [
        each.human
        for each in people
        if each.n_items >= ALT_TEST_ITEMS and each.n_clusters >= ALT_TEST_PROMPTS
    ]
    n, n_items = len(tested), int(shared[:, tested or slice(None)].any(axis=1).sum())
    if not n:
        none = Statistic.undefined(_why_untested(theirs, shared, people), n_items=n_items)
        return AnnotatorTest(none, none, none, tuple(people))
    half = math.ceil(n / 2)
    level = FALSE_DISCOVERIES * half / n / sum(1 / place for place in range(1, n + 1))
    for human in tested:
        of, each = shared[:, human], people[human]
        mean, error, p = _tested((behind - ahead)[of, human], codes[of], epsilon)
        n_own, more = each.n_clusters, None
        if mean < epsilon:
            more = assured(mean, error * math.sqrt(n_own), n_own, epsilon, 2 * level).needed
        people[human] = replace(
            each,
            advantage=float(np.nanmean(ahead[:, human])),
            human_advantage=float(np.nanmean(behind[:, human])),
            p_value=p,
            # So many new items show the mean to be below epsilon, one-sided at `level`.
            items_needed=None if more is None else math.ceil(more * each.n_items / n_own),
            is_tested=True,
        )
    adjusted = benjamini_yekutieli([people[human].p_value for human in tested])
    for human, p_adjusted in zip(tested, adjusted.tolist(), strict=True):
        people[human] = replace(people[human], p_adjusted=p_adjusted)
    needed = sorted(each.items_needed for each in people if each.items_needed is not None)
    advantage = float(np.mean([people[human].advantage for human in tested]))
    wins = float(np.mean(adjusted <= FALSE_DISCOVERIES))
    there, won = ~np.isnan(ahead[:, tested]), np.nan_to_num(ahead[:, tested])

    def resampled(weights: Array) -> Array:
        # Where single prompts are drawn, only people who rated items of them count.
        return mean_there(divide(weights @ won, weights @ there.astype(np.float64)), 1)

    enough = float(needed[half - 1]) if len(needed) >= half else nan
    return AnnotatorTest(
        Statistic(wins, n_items, n, limits=(0.0, 1.0)),
        Statistic(advantage, n_items, n).with_weights(resampled, None, "share", (0.0, 1.0)),
        Statistic.of(enough, n_items, n, Reason.NOT_ASSURED),
        tuple(people),
    )


def _advantages(judge: Array, humans: Array, score: AlignmentScore) -> tuple[Array, Array]:
    """Return where the judge is as near to the others as each person, and vice versa: 1, 0, NaN."""
    ahead, behind = np.full((2, *humans.shape), np.nan)
    for human, own in enumerate(humans.T):
        # Only the items that a person rated are compared.
        rows = np.flatnonzero(~np.isnan(judge + own))
        others = np.delete(humans[rows], human, axis=1)
        with_others = ~np.isnan(others).all(axis=1)
        rows, others = rows[with_others], others[with_others]
        ours, theirs = (_distance(scores[rows], others, score) for scores in (judge, own))
        ahead[rows, human] = ours <= theirs + _SAME
        behind[rows, human] = theirs <= ours + _SAME
    return ahead, behind


def _distance(scores: Array, others: Array, score: AlignmentScore) -> Array:
    away = (scores[:, None] - others) ** 2
    if score == "accuracy":
        return mean_there(np.where(np.isnan(away), nan, away > 0), 1)
    return np.sqrt(mean_there(away, 1))


def _why_untested(humans: Array, shared: Array, people: Sequence[AnnotatorComparison]) -> Reason:
    if count_raters(humans) < 2:
        return Reason.FEW_PEOPLE
    if not shared.any():
        return Reason.NO_SHARED_ITEMS
    few = all(each.n_items < ALT_TEST_ITEMS for each in people)
    return Reason.FEW_ITEMS_A_PERSON if few else Reason.FEW_PROMPTS_A_PERSON


def _tested(values: Array, codes: IntArray, bound: float) -> tuple[float, float, float]:
    """Return the mean over items, its standard error from leaving out one cluster at a time, and
    the one-sided p-value of a mean of `bound` or more."""
    sums, counts = np.bincount(codes, values), np.bincount(codes)
    sums, counts = sums[counts > 0], counts[counts > 0]
    without = (sums.sum() - sums) / (counts.sum() - counts)
    mean, error = values.mean(), math.sqrt(left_out_variance(without, counts / counts.sum()))
    # All differences are the same: the mean is known as far as they go.
    p = 0.0 if mean < bound - _SAME else 1.0
    if error > _SAME:
        p = float(special.stdtr(len(sums) - 1, (mean - bound) / error))
    return float(mean), error, p


SHARED = 50
"""The fewest items that two people share in the debate-speeches paper (section 4)."""

ScorePair = tuple[Array, Array]


@dataclass(frozen=True, slots=True)
class MeanKappa:
    """The mean κ of pairs. `with_zeros` counts the `n_constant` pairs with a constant rater
    as 0, `without` leaves them out. `n_missing` of the pairs have no item that both rated
    (the panel lacks them all) and are in neither."""

    with_zeros: Statistic
    without: Statistic
    n_pairs: int
    n_constant: int
    n_missing: int


@dataclass(frozen=True, slots=True)
class Substitution:
    """The mean κ of people, and of people with the panel in a person's place; `panel` has two pairs
    for each pair of humans, as either of them may be replaced."""

    humans: MeanKappa
    panel: MeanKappa


def substitution(ratings: ArrayLike, panel: ArrayLike, *, min_shared: int = SHARED) -> Substitution:
    """Return the mean quadratically weighted κ between people, and with one person of each pair
    replaced by the panel.

    How to read it: where the panel's mean κ is not below people's, the panel may take a
    person's place without loss of agreement; κ itself reads as `cohen_kappa`.

    Args:
        ratings: people's `(items, raters)`, NaN where missing.
        panel: the panel's `(items,)`, NaN where missing. Its mean may be used as it is
            (distances are between values), or rounded to the scale by the caller.
        min_shared: pairs of people who share fewer items are left out.

    >>> humans = [[1, 1], [2, 2], [3, 3], [1, 2]]
    >>> result = substitution(humans, [1, 2, 3, 1], min_shared=4)
    >>> round(result.humans.without.value, 3), round(result.panel.without.value, 3)
    (0.8, 0.9)
    """
    if min_shared < 1:
        raise ValueError(f"a pair needs at least 1 shared item, found {min_shared}")
    array = as_ratings(ratings)
    judge = as_scores(panel)
    if len(judge) != len(array):
        raise ValueError(f"{len(judge)} scores of the panel for {len(array)} items")
    humans, replaced, raters = list[ScorePair](), list[ScorePair](), count_raters(array)
    for a, b in combinations(array.T, 2):
        both = ~np.isnan(a + b)
        if both.sum() < min_shared:
            continue
        a, b, stand_in = (np.where(both, scores, np.nan) for scores in (a, b, judge))
        humans.append((a, b))
        replaced += [(stand_in, b), (a, stand_in)]
    return Substitution(_mean(humans, raters), _mean(replaced, raters))


def _mean(pairs: list[ScorePair], n_raters: int) -> MeanKappa:
    there = [~np.isnan(x + y) for x, y in pairs]
    n_items = int(np.any(there, axis=0).sum()) if pairs else 0
    n_missing = sum(not both.any() for both in there)
    kappas = [cohen_kappa(x, y) for x, y in pairs]
    values = np.array([kappa.value for kappa in kappas])
    n_constant = int(np.isnan(values).sum()) - n_missing

    def with_zeros(drawn: Array) -> Array:
        total = sum((np.nan_to_num(kappa.resampled(drawn)) for kappa in kappas), np.zeros(1))
        # A pair of whom no item was drawn is absent, not constant.
        return divide(total, np.sum([drawn[:, both].any(axis=1) for both in there], axis=0))

    def estimate(count: int, otherwise: Reason, resampled: Resampled) -> Statistic:
        value = float(np.nansum(values) / count) if count else nan
        why = Reason.FEW_PEOPLE if n_raters < 2 else otherwise
        whole = Statistic.of(value, n_items, n_raters, why)
        return whole.with_weights(resampled, limits=(-inf, 1))

    n_present = len(pairs) - n_missing
    none = Reason.NO_SHARED_ITEMS if pairs else Reason.FEW_SHARED
    constant = Reason.CONSTANT_RATER if n_present else none
    without = mean_of([kappa.resampled for kappa in kappas])
    return MeanKappa(
        with_zeros=estimate(n_present, none, with_zeros),
        without=estimate(n_present - n_constant, constant, without),
        n_pairs=len(pairs),
        n_constant=n_constant,
        n_missing=n_missing,
    )


def compared_advantages(
    a: ArrayLike,
    b: ArrayLike,
    humans: ArrayLike,
    prompts: Labels,
    *,
    epsilon: float | None = None,
    same_scale: bool = True,
) -> dict[str, PairedFigure]:
    """Compare two panels by how often each is at least as near to people as a person is, over the
    items that both panels rated; see `annotator_test`.

    Args:
        a, b: `(items,)`, NaN where missing; higher is better.
        humans: `(items, humans)`, likewise; as for `annotator_test`, who has few items is left out.
        epsilon: for ω, by how much a person may be ahead, in [0, 1).
        same_scale: whether people's ratings are on the panels' scale; else all is undefined.

    Returns:
        `alt_test_advantage`, ρ: above 0, b is more often as near. With an epsilon, where there is
        one, `alt_test_winning_rate`, ω, whose difference is not tested.
    """
    first, second, raters = as_scores(a), as_scores(b), as_ratings(humans)
    if not same_scale:
        return {"alt_test_advantage": undefined_figure(Reason.OTHER_SCALE)}
    missing = np.isnan(first + second)
    sides = [np.where(missing, np.nan, side) for side in (first, second)]
    tests = [
        annotator_test(side, raters, score="neg_rmse", epsilon=epsilon or 0.0, clusters=prompts)
        for side in sides
    ]
    # The same people are tested for both: those who rated enough of the items that both panels
    # rated.
    tested = [person.human for person in tests[0].humans if person.is_tested]
    of_a, of_b = (test.advantage for test in tests)
    difference = of_b.less(of_a, of_b.n_raters, kind="mean_difference", limits=(-1.0, 1.0))
    judged = ~missing & (~np.isnan(raters[:, tested])).any(axis=1)
    sizes = np.bincount(encode_labels(prompts, len(judged))[1][judged]).astype(np.float64)
    worth = float(effective_number(sizes))
    advantage = paired_figure(difference, prompts, tested=True, most_df=worth - 1)
    figures = {"alt_test_advantage": replace(advantage, a_value=of_a.value, b_value=of_b.value)}
    rates = [test.winning_rate.value for test in tests]
    if epsilon is not None and not math.isnan(rates[0]):
        figures["alt_test_winning_rate"] = PairedFigure(
            rates[1] - rates[0], a_value=rates[0], b_value=rates[1]
        )
    return figures
