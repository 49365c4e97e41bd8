"""A panel brought closer to people by what they rated, and whether that holds on other prompts.

Rules are learnt from all folds of prompts but one and applied to that one. A gain is a lower
squared error than that of the judges' mean, with a mean τ_b with people within prompts above 0. The
variance over prompts is multiplied by 1 + K/(K − 1) of K folds, which share what was learnt from.

Sources: S. Geisser (1975), "The predictive sample reuse method with applications" (folds);
C. Nadeau & Y. Bengio (2003), "Inference for the generalization error" (variance); R. Berger (1982),
"Multiparameter hypothesis testing and acceptance sampling" (two conditions at the full level);
M. Ayer et al. (1955), "An empirical distribution function for sampling with incomplete information"
(isotonic regression); L. Breiman (1996), "Stacked regressions", and J. M. Bates & C. W. J. Granger
(1969), "The combination of forecasts" (weights); A. E. Hoerl & R. W. Kennard (1970), "Ridge
regression" (the penalty); debate-speeches.txt, Appendix E (strong and weak judges).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import isnan, nan, sqrt
from typing import Literal, get_args

import numpy as np
import scipy.optimize
from numpy.typing import ArrayLike

from persona_panel.statistics.concordance import tau_b_matrix
from persona_panel.statistics.core.arrays import (
    Array,
    IntArray,
    Labels,
    Mask,
    Reason,
    Resampled,
    Statistic,
    as_ratings,
    as_scores,
    check_choice,
    difference_of,
    divide,
    encode_labels,
    means_by,
    row_means,
    rows_of,
    value_of,
    without_rounding,
)
from persona_panel.statistics.core.correlation import correlation
from persona_panel.statistics.core.display import COMPOSITE
from persona_panel.statistics.core.estimate import Difference
from persona_panel.statistics.core.jackknife import Interval, jackknife, resampled_mean
from persona_panel.statistics.core.means import critical_t, two_sided_p
from persona_panel.statistics.core.significance import holm
from persona_panel.statistics.core.table import Ratings, on_composite
from persona_panel.statistics.human_raters import mean_reliability
from persona_panel.statistics.votes import correlation_gain

AlignmentMethod = Literal["isotonic", "weights", "subset"]

PENALTIES = (0.01, 0.1, 1.0, 10.0)
"""Tried penalties of unequal weights, in units of the judges' mean squared error."""


@dataclass(frozen=True, slots=True, eq=False)
class AlignmentRule:
    """A rule by which judges' scores of an item become one score.

    Attributes:
        weights: `(judges,)`, 0 or more, with the sum 1. Of an item that some judges did not rate,
            those of the others are divided by their sum.
        scores, values: of a monotone rule `(knots,)`, both rising: what `scores` of the panel
            become, between them on a straight line, and beyond them the same as at the ends. Empty
            where the weighted mean stays as it is.
    """

    weights: Array
    scores: Array
    values: Array

    def apply(self, ratings: ArrayLike) -> Array:
        """Return the scores of items `(items,)` from judges' ratings `(items, judges)`; NaN where
        no judge with a weight rated.

        >>> rule = AlignmentRule(np.array([0.75, 0.25]), np.array([]), np.array([]))
        >>> rule.apply([[1, 5], [np.nan, 5]]).tolist()
        [2.0, 5.0]
        """
        array = as_ratings(ratings)
        sums = np.nan_to_num(array) @ self.weights
        mean = without_rounding(divide(sums, ~np.isnan(array) @ self.weights), array)
        if not len(self.scores):
            return mean
        return np.where(np.isnan(mean), mean, np.interp(mean, self.scores, self.values))


@dataclass(frozen=True, slots=True, eq=False)
class RatedItems:
    """Items that people rated, dealt into folds.

    Attributes:
        ratings: `(items, judges)`, NaN where missing.
        people: `(items,)`, people's mean.
        weights: `(items,)`, how much an item counts.
        folds: `(items,)`, the fold of each, 0 to `n_folds` - 1.
    """

    ratings: Array
    people: Array
    weights: Array
    folds: IntArray
    n_folds: int


Learner = Callable[[Sequence[int]], AlignmentRule | None]
"""From folds to the rule that is learnt from them; None where they have nothing to learn from."""


def complete_items(ratings: Array) -> Mask:
    """Return a mask of the items that every judge rated `(items,)`."""
    return np.asarray(~np.isnan(ratings).any(axis=1))


def learner(method: AlignmentMethod, items: RatedItems) -> Learner:
    """Return the function that learns a rule of a method from some of the folds of these items.

    Raises:
        ValueError: there is no such method.
    """
    check_choice("method", method, AlignmentMethod)
    return partial(_isotonic if method == "isotonic" else partial(_by_errors, method), items)


def compares_judges(method: AlignmentMethod) -> bool:
    """Return whether a method weighs judges: it needs two of them, and complete items."""
    return method != "isotonic"


def _rule(weights: Array, scores: ArrayLike = (), values: ArrayLike = ()) -> AlignmentRule:
    return AlignmentRule(weights, np.asarray(scores, float), np.asarray(values, float))


def _isotonic(items: RatedItems, folds: Sequence[int]) -> AlignmentRule | None:
    n_judges = items.ratings.shape[1]
    equal = _rule(np.full(n_judges, 1 / n_judges))
    mean = equal.apply(items.ratings)
    of = np.isin(items.folds, folds) & ~np.isnan(mean)
    if not of.any():
        return None
    scores, place = np.unique(mean[of], return_inverse=True)
    weights = np.bincount(place, items.weights[of])
    values = np.bincount(place, items.weights[of] * items.people[of]) / weights
    fitted = scipy.optimize.isotonic_regression(values, weights=weights).x
    return _rule(equal.weights, scores, fitted)


def _by_errors(
    method: AlignmentMethod, items: RatedItems, folds: Sequence[int]
) -> AlignmentRule | None:
    """Return the weights with the least squared error on held-out folds, of those that the other
    folds give by each penalty (`weights`) or for each number of judges (`subset`)."""
    complete = complete_items(items.ratings)
    products, sizes = {}, {}
    for fold in folds:
        of = (items.folds == fold) & complete
        errors, weights = items.ratings[of] - items.people[of, None], items.weights[of]
        products[fold], sizes[fold] = (errors * weights[:, None]).T @ errors, weights.sum()
    there = [fold for fold in folds if sizes[fold] > 0]
    if not there:
        return None

    def candidates(within: Sequence[int]) -> list[Array]:
        mean = sum(products[fold] for fold in within) / sum(sizes[fold] for fold in within)
        return weights_by_errors(mean, PENALTIES) if method == "weights" else _greedy(mean)

    weights_of_all = candidates(there)
    total: Array = np.zeros(len(weights_of_all))
    for held in there if len(there) > 1 else ():
        learnt = candidates([fold for fold in there if fold != held])
        total += [weights @ products[held] @ weights for weights in learnt]
    return _rule(weights_of_all[int(np.argmin(total))])


def weights_by_errors(errors: Array, penalties: Sequence[float]) -> list[Array]:
    """Return, for each penalty, the weights `(judges,)`, 0 or more with the sum 1, that minimize
    w'Ew plus the penalty times the squared distance from equal weights.

    Args:
        errors: `(judges, judges)`, mean products of judges' errors.
        penalties: above 0, in units of the judges' mean squared error.
    """
    n = len(errors)
    size = float(np.trace(errors)) / n
    if not size > 0:
        return [np.full(n, 1 / n) for _ in penalties]
    values, vectors = np.linalg.eigh(errors / size)
    by_penalty = []
    for penalty in penalties:
        # Rounding may leave a value below 0.
        roots = np.sqrt(np.maximum(values, 0) + penalty)
        # At the least w'Aw with the sum 1, Aw is a constant for the judges with a weight and above
        # it for others: the same as at the least v'Av - 2 sum(v), whose v is w times a constant.
        least, _ = scipy.optimize.nnls(roots[:, None] * vectors.T, (vectors / roots).sum(axis=0))
        by_penalty.append(least / least.sum())
    return by_penalty


def _greedy(errors: Array) -> list[Array]:
    n = len(errors)
    left, weights, chosen = np.arange(n), np.zeros(n), list[Array]()
    # What each judge shares with those who were chosen.
    shared, own = np.zeros(n), np.diag(errors)
    for size in range(1, n + 1):
        best = left[np.argmin(2 * shared[left] + own[left])]
        left = left[left != best]
        shared = shared + errors[best]
        weights[best] = 1
        chosen.append(weights / size)
    return chosen


Half = Literal["strong", "weak"]


@dataclass(frozen=True, slots=True)
class ChosenEnsemble:
    """One half of the judges.

    Attributes:
        half: the `strong` ones, those nearest to people on other items, or the `weak` ones.
        tau_c: of their mean scores with the people's, each item scored by the judges who were
            chosen without it.
        members: the mean τ_c of a single judge of the half, measured in the same way: for each
            place in the half the scores of the judge who has it. NaN where one is undefined.
    """

    half: Half
    tau_c: Statistic
    members: float


def ensembles_on_other_items(
    judges: ArrayLike, target: ArrayLike, prompts: Labels, *, folds: int = 5, seed: int = 0
) -> list[ChosenEnsemble]:
    """Choose the better half of the judges and the other half by τ_c on other prompts.

    How to read it: where `tau_c` is above `members`, putting the half's judges together pays. Of an
    odd number of judges the middle one is in neither half.

    Args:
        judges: `(items, judges)` scores, NaN where missing; two judges at least.
        target: `(items,)`, the people's mean.
        prompts: a label an item; a prompt is in one fold.
        folds: into how many parts prompts are dealt, no more than there are prompts.
        seed: of the dealing.

    Raises:
        ValueError: fewer than two judges, prompts or folds, or shapes that do not fit.

    >>> people = np.arange(8.0)
    >>> judges = np.stack([people, people, -people, -people], axis=1)
    >>> found = ensembles_on_other_items(judges, people, "aabbccdd")
    >>> [(one.half, one.tau_c.value) for one in found]
    [('strong', 1.0), ('weak', -1.0)]
    """
    scores, people = as_ratings(judges), as_scores(target)
    names, codes = encode_labels(prompts, len(scores))
    folds = min(folds, len(names))
    if scores.shape[1] < 2 or folds < 2 or len(people) != len(scores):
        raise ValueError(
            f"two judges, two prompts and a score of people an item are needed, found "
            f"{scores.shape[1]}, {len(names)} and {len(people)} for {len(scores)}"
        )
    n = scores.shape[1] // 2
    fold_of = np.random.default_rng(seed).permutation(np.arange(len(names)) % folds)[codes]
    # By their places among the judges, the best first.
    ranked = np.full(scores.shape, np.nan)
    for fold in range(folds):
        own = fold_of == fold
        taus = [correlation(judge, people[~own], "tau_c") for judge in scores[~own].T]
        order = np.argsort([-tau.value if tau.reason is None else np.inf for tau in taus])
        ranked[own] = scores[own][:, order]
    halves: dict[Half, Array] = {"strong": ranked[:, :n], "weak": ranked[:, -n:]}
    return [
        ChosenEnsemble(
            half,
            correlation(row_means(part), people, "tau_c"),
            float(np.mean([correlation(column, people, "tau_c").value for column in part.T])),
        )
        for half, part in halves.items()
    ]


METHODS: tuple[AlignmentMethod, ...] = get_args(AlignmentMethod)
N_FOLDS = 5
LEAST_PROMPTS = 10
"""With fewer prompts that people rated nothing is learnt."""
LEAST_RELIABILITY = 0.25
"""What the 95 % interval of the reliability of people's mean has to be above."""

FigureName = Literal["rmse", "mae", "tau_b"]
_SAME = 1e-9


@dataclass(frozen=True, slots=True)
class HeldOutFigure:
    """One figure of how near scores are to people's mean, on prompts that nothing was learnt from.

    Attributes:
        figure: `rmse` and `mae` in points; `tau_b`, Kendall's τ_b with people's mean: its mean over
            the prompts whose texts people tell apart or, where these are too few, over all texts.
        before, after: of the panel as it is, and of the aligned scores.
        difference: after less before, with its interval over prompts.
    """

    figure: FigureName
    before: float
    after: float
    difference: Difference


@dataclass(frozen=True, slots=True, eq=False)
class MethodAlignment:
    """The rule of one method, and its figures on held-out prompts.

    Attributes:
        method: `isotonic`, `weights` or `subset`.
        figures: none where `reason` says why; the first is `rmse`, which the claim is about.
        order_p: two-sided, of a τ_b of the aligned scores with people's mean of 0.
        p: where the error is lower than before, of no gain: the larger p-value of that of the
            difference and `order_p`, 1 where τ_b is not above 0; else that of the difference.
        p_adjusted: by Holm over methods, and over dimensions where there are several.
        rule: what was learnt from everything that people rated.
        fold_rules: those learnt from all folds but one, whose figures these are: how stable `rule`
            is.
        scores: `(items,)` of everything that judges rated: those that people rated by what was
            learnt from other folds, the others by `rule`; NaN where there is none.
        held_out: `(items,)`, whether the score is of the first kind.
        n_items, n_prompts: how many the figures are of.
        n_left_out: items that people rated, and no judge with a weight.
        reason: why nothing was learnt.
    """

    method: AlignmentMethod
    figures: tuple[HeldOutFigure, ...] = ()
    order_p: float = nan
    p: float = nan
    p_adjusted: float = nan
    rule: AlignmentRule | None = None
    fold_rules: tuple[AlignmentRule, ...] = ()
    scores: Array | None = None
    held_out: Mask | None = None
    n_items: int = 0
    n_prompts: int = 0
    n_left_out: int = 0
    reason: Reason | None = None

    @property
    def error(self) -> HeldOutFigure | None:
        """Return the figure that the claim is about, `rmse`."""
        return self.figures[0] if self.figures else None


@dataclass(frozen=True, slots=True)
class LearntAlignment:
    """The alignment of one dimension to people.

    Attributes:
        reliability: that of people's mean (see `mean_reliability`), with the lower end of its 95 %
            interval over prompts.
        methods: empty where `reason` says why nothing is learnt.
        n_people, n_items, n_prompts: who rated, and how many of what judges rated.
    """

    reliability: float
    reliability_low: float
    methods: tuple[MethodAlignment, ...]
    n_people: int
    n_items: int
    n_prompts: int
    reason: Reason | None = None


def learnt_alignment(
    ratings: ArrayLike,
    people: ArrayLike,
    prompts: Labels | None = None,
    *,
    methods: Sequence[AlignmentMethod] = METHODS,
    folds: int = N_FOLDS,
    seed: int = 0,
) -> LearntAlignment:
    """Align a panel's scores by people's ratings of other prompts, and return how much nearer to
    people they are than before.

    How to read it: a `difference` of `rmse` below 0 whose `p_adjusted` is below 0.05 is a gain to
    be expected on further prompts with these judges and people. `rmse` has people's noise in it.

    Args:
        ratings: `(items, judges)`, NaN where missing.
        people: `(items, people)`, NaN where missing; items that nobody rated are scored only.
        prompts: a label an item; each item is a prompt of its own if None. Each prompt counts once.
        methods: see `persona_panel.statistics.alignment`.
        folds: into how many parts prompts are dealt, 2 or more.
        seed: of the dealing.

    Returns:
        Nothing is learnt, with the reason, from fewer than ten prompts, or where the reliability of
        people's mean is not shown to be above 0.25 or is unknown, as of a single rater.

    Raises:
        ValueError: a wrong shape, an infinite value, fewer than two folds, an unknown method, or
            not one label an item.

    >>> rng = np.random.default_rng(0)
    >>> good = rng.uniform(1, 5, 60)
    >>> people = good[:, None] + rng.normal(0, 0.5, (60, 3))
    >>> panel = 3 + good[:, None] / 2 + rng.normal(0, 0.3, (60, 4))
    >>> found = learnt_alignment(panel, people, np.arange(60) // 3, methods=["isotonic"])
    >>> error = found.methods[0].error
    >>> round(error.before, 1), round(error.after, 1), found.methods[0].p < 0.05
    (1.7, 0.5, True)
    """
    judges, raters = as_ratings(ratings), as_ratings(people)
    n_items = len(judges)
    if len(raters) != n_items:
        raise ValueError(f"{len(raters)} items rated by people for {n_items} of judges")
    if folds < 2:
        raise ValueError(f"two folds are needed, found {folds}")
    for method in methods:
        check_choice("method", method, AlignmentMethod)
    codes = encode_labels(range(n_items) if prompts is None else prompts, n_items)[1]
    target = row_means(raters)
    known = ~np.isnan(target) & ~np.isnan(judges).all(axis=1)
    places = np.unique(codes[known], return_inverse=True)[1]
    n_prompts = int(places.max(initial=-1)) + 1
    n_people = int((~np.isnan(raters[known])).any(axis=0).sum())
    reliability = mean_reliability(raters[known])
    low = jackknife(reliability.resampled, int(known.sum()), places.tolist())

    def none(reason: Reason) -> LearntAlignment:
        sizes = n_people, int(known.sum()), n_prompts
        return LearntAlignment(reliability.value, low.low, (), *sizes, reason)

    if n_prompts < LEAST_PROMPTS:
        return none(Reason.FEW_TO_LEARN)
    if reliability.reason is not None:
        return none(reliability.reason)
    if low.reason is not None:
        return none(low.reason)
    if not low.low > LEAST_RELIABILITY:
        return none(Reason.PEOPLE_DISAGREE)
    n_folds = min(folds, n_prompts)
    fold_of = np.random.default_rng(seed).permutation(np.arange(n_prompts) % n_folds)[places]
    sizes = np.bincount(places)[places]
    items = RatedItems(judges[known], target[known], 1 / sizes, fold_of, n_folds)
    alignments = [_of_method(method, items, places, judges, known) for method in methods]
    return replace(none(Reason.FEW_TO_LEARN), methods=_adjusted(alignments), reason=None)


def _adjusted(alignments: Sequence[MethodAlignment]) -> tuple[MethodAlignment, ...]:
    p_values = holm([alignment.p for alignment in alignments]).tolist()
    pairs = zip(alignments, p_values, strict=True)
    return tuple(replace(alignment, p_adjusted=p) for alignment, p in pairs)


def _of_method(
    method: AlignmentMethod, items: RatedItems, prompts: IntArray, judges: Array, known: Mask
) -> MethodAlignment:
    if compares_judges(method):
        if items.ratings.shape[1] < 2:
            return MethodAlignment(method, reason=Reason.ONE_JUDGE)
        if len(np.unique(prompts[complete_items(items.ratings)])) < LEAST_PROMPTS:
            return MethodAlignment(method, reason=Reason.FEW_COMPLETE)
    learn = learner(method, items)
    every = range(items.n_folds)
    rule = learn(every)
    by_fold = [learn([other for other in every if other != fold]) for fold in every]
    if rule is None or any(fold_rule is None for fold_rule in by_fold):
        return MethodAlignment(method, reason=Reason.FEW_COMPLETE)
    after = np.full(len(items.people), nan)
    for fold, own in enumerate(by_fold):
        if own is not None:
            after[items.folds == fold] = own.apply(items.ratings[items.folds == fold])
    scores = rule.apply(judges)
    scores[known] = after
    compared = ~np.isnan(after)
    codes = np.unique(prompts[compared], return_inverse=True)[1]
    before, people = row_means(items.ratings)[compared], items.people[compared]
    errors = _errors(before, after[compared], people, codes, items.n_folds)
    order, order_p = _order(before, after[compared], people, codes, items.n_folds)
    p = errors[0].difference.p
    if errors[0].difference.value < 0:
        p = max(p, order_p) if order.after > 0 else 1.0
    return MethodAlignment(
        method,
        (*errors, order),
        order_p,
        # Without a p-value nothing is shown.
        1.0 if isnan(p) else p,
        rule=rule,
        fold_rules=tuple(fold_rule for fold_rule in by_fold if fold_rule is not None),
        scores=scores,
        held_out=known,
        n_items=int(compared.sum()),
        n_prompts=int(codes.max(initial=-1)) + 1,
        n_left_out=int((~compared).sum()),
    )


def _errors(
    before: Array, after: Array, people: Array, prompts: IntArray, n_folds: int
) -> tuple[HeldOutFigure, HeldOutFigure]:
    squared = [means_by((side - people) ** 2, prompts) for side in (before, after)]
    absolute = [means_by(np.abs(side - people), prompts) for side in (before, after)]
    return (
        _figure("rmse", *map(_root_mean, squared), n_folds=n_folds, n=len(squared[0])),
        _figure("mae", *map(resampled_mean, absolute), n_folds=n_folds, n=len(squared[0])),
    )


def _order(
    before: Array, after: Array, people: Array, prompts: IntArray, n_folds: int
) -> tuple[HeldOutFigure, float]:
    """Return τ_b, and the p-value of that of the aligned scores: 0 where scores tie a prompt."""
    of_prompts = [np.flatnonzero(prompts == place) for place in range(int(prompts.max()) + 1)]
    several = [of for of in of_prompts if np.ptp(people[of]) > 0]
    if len(several) < LEAST_PROMPTS:
        taus = [correlation(side, people, "tau_b") for side in (before, after)]
        own = jackknife(taus[1].resampled, len(people), prompts.tolist(), kind="difference")
        p = _p(taus[1].value, own.standard_error, own.degrees_of_freedom)
        gain = correlation_gain(after, before, people, "tau_b")
        moved = jackknife(gain.resampled, len(people), prompts.tolist(), kind="difference")
        values = taus[0].value, taus[1].value
        return _held_out("tau_b", *values, moved, n_folds, len(of_prompts)), p
    sides = np.column_stack([before, after, people])
    # Scores that tie all texts of a prompt order nothing. To leave such prompts out would keep the
    # few, chosen by the scores, in which these have an order, and their spread.
    by_prompt = np.nan_to_num([tau_b_matrix(sides[of])[2, :2] for of in several])
    n = len(by_prompt)
    aligned = by_prompt[:, 1]
    # The same τ in every prompt has no spread for Student's t; under the null each sign is as
    # likely as the other.
    p = 2.0 ** (1 - n) if aligned.any() else 1.0
    if np.ptp(aligned) > _SAME:
        p = _p(float(aligned.mean()), float(aligned.std(ddof=1)) / sqrt(n), n - 1.0)
    return _figure("tau_b", *map(resampled_mean, by_prompt.T), n_folds=n_folds, n=n), p


def _figure(
    name: FigureName, before: Resampled, after: Resampled, *, n_folds: int, n: int
) -> HeldOutFigure:
    """Return a figure from two functions of weights of `n` prompts."""
    interval = jackknife(difference_of(after, before), n, kind="difference")
    return _held_out(name, value_of(before, n), value_of(after, n), interval, n_folds, n)


def _held_out(
    name: FigureName, before: float, after: float, interval: Interval, n_folds: int, n: int
) -> HeldOutFigure:
    moved = Difference(after - before, over="prompts", n=n, a="aligned", b="panel")
    whole, df = (
        interval.standard_error * sqrt(1 + n_folds / (n_folds - 1)),
        interval.degrees_of_freedom,
    )
    if whole > _SAME:
        reach = whole * critical_t(df)
        ends = moved.value - reach, moved.value + reach
        moved = replace(moved, low=ends[0], high=ends[1], p=_p(moved.value, whole, df), df=df)
    return HeldOutFigure(name, before, after, moved)


def _p(value: float, error: float, df: float) -> float:
    if isnan(value) or not error > _SAME:
        return 1.0
    return two_sided_p(value / error, df)


def _root_mean(squared: Array) -> Resampled:
    mean = resampled_mean(squared)
    return lambda weights: np.sqrt(mean(weights))


@dataclass(frozen=True, slots=True)
class AlignedDimension:
    """The alignment of one dimension; `judges` are the names behind the rules' weights."""

    dimension: str
    judges: tuple[str, ...]
    learnt: LearntAlignment


@dataclass(frozen=True, slots=True)
class Alignment:
    """The alignments that `align` learnt, by dimension; `panel` has the items in the order of all
    scores."""

    panel: Ratings
    dimensions: tuple[AlignedDimension, ...]


def align(
    panel: Ratings,
    humans: Ratings,
    *,
    methods: Sequence[AlignmentMethod] = METHODS,
    folds: int = N_FOLDS,
    seed: int = 0,
) -> Alignment:
    """Learn rules from people's ratings, and return a panel's scores brought closer to people's
    mean by them, with the figures on prompts that were not learnt from.

    Each dimension that both rated by numbers is aligned by itself; first, where both have one, the
    `composite`, whose p-values are a family of their own. Judges without a persona
    are left out. Prompts are the panel's (items, where it names none).

    Args:
        panel, humans: under the same names, as `load_aligned_ratings` gives them.
        methods, folds, seed: see `learnt_alignment`.

    Raises:
        ValueError: ranks, or no item or dimension rated by numbers that both have; and as
            `learnt_alignment`.

    >>> rng = np.random.default_rng(0)
    >>> names, good = tuple(f"i{n}" for n in range(60)), rng.uniform(1, 5, 60)
    >>> people = (good[:, None] + rng.normal(0, 0.5, (60, 3)))[:, :, None]
    >>> panel = (3 + good[:, None] / 2 + rng.normal(0, 0.3, (60, 4)))[:, :, None]
    >>> ours = Ratings(panel, names, tuple("abcd"), ("all",), ("m",) * 4)
    >>> theirs = Ratings(people, names, tuple("xyz"), ("all",), ("human",) * 3)
    >>> [one] = align(ours, theirs).dimensions
    >>> [(method.method, method.p_adjusted < 0.05) for method in one.learnt.methods]
    [('isotonic', True), ('weights', False), ('subset', False)]
    """
    if panel.lower_is_better or humans.lower_is_better:
        raise ValueError("ranks have no distance from each other; scores are needed")
    ours, theirs = panel.numeric(), humans.numeric()
    dimensions = [name for name in ours.dimensions if name in theirs.dimensions]
    if not dimensions or not set(ours.items) & set(theirs.items):
        what = "item" if dimensions else "dimension that is rated by numbers"
        raise ValueError(f"panel and people share no {what}")
    judges = [column for column, name in enumerate(ours.raters) if name not in ours.controls]
    whole = on_composite(panel, humans)
    parts = [(name, ours, theirs) for name in dimensions]
    if whole is not None:
        parts.insert(0, (COMPOSITE, whole[0], whole[1]))
    aligned: list[AlignedDimension] = []
    for name, own, others in parts:
        people = others.scores[:, :, others.dimensions.index(name)]
        learnt = learnt_alignment(
            own.scores[:, judges, own.dimensions.index(name)],
            rows_of(people, others.items, own.items),
            own.prompts,
            methods=methods,
            folds=folds,
            seed=seed,
        )
        aligned.append(AlignedDimension(name, tuple(ours.raters[j] for j in judges), learnt))
    # The composite is a family of its own.
    n_primary = 0 if whole is None else 1
    return Alignment(panel, (*_family(aligned[:n_primary]), *_family(aligned[n_primary:])))


def _family(aligned: Sequence[AlignedDimension]) -> Iterator[AlignedDimension]:
    """Yield the alignments with p-values adjusted over their methods and dimensions."""
    adjusted = iter(_adjusted([method for each in aligned for method in each.learnt.methods]))
    for each in aligned:
        methods = tuple(next(adjusted) for _ in each.learnt.methods)
        yield replace(each, learnt=replace(each.learnt, methods=methods))
