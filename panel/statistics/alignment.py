"""A panel brought closer to people by what they rated, and whether that holds on other prompts.

Rules by which judges' scores become one score are learnt from all folds of prompts but one and
applied to that one. A gain is a lower squared error than that of the judges' mean, with a mean τ_b
with people within prompts above 0. The variance over prompts is multiplied by 1 + K/(K − 1) of K
folds, which share what was learnt from.

Sources: M. Ayer et al. (1955), "An empirical distribution function for sampling with incomplete
information" (isotonic regression); L. Breiman (1996), "Stacked regressions", and J. M. Bates &
C. W. J. Granger (1969), "The combination of forecasts" (weights); A. E. Hoerl & R. W. Kennard
(1970), "Ridge regression" (the penalty); S. Geisser (1975), "The predictive sample reuse method
with applications" (folds); C. Nadeau & Y. Bengio (2003), "Inference for the generalization error"
(variance); R. Berger (1982), "Multiparameter hypothesis testing and acceptance sampling" (two
conditions at the full level).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import isnan, nan, sqrt
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from persona_panel.statistics.core.arrays import (
    Array,
    IntArray,
    Labels,
    Mask,
    Reason,
    Resampled,
    as_ratings,
    check_choice,
    difference_of,
    divide,
    encode_labels,
    group_count,
    has_ratings,
    means_by,
    resampled_mean,
    row_means,
    rows_of,
    value_of,
    without_rounding,
)
from persona_panel.statistics.core.correlation import resampled_correlation
from persona_panel.statistics.core.display import ALL, COMPOSITE
from persona_panel.statistics.core.estimate import Difference
from persona_panel.statistics.core.jackknife import jackknife
from persona_panel.statistics.core.means import critical_t, two_sided_p
from persona_panel.statistics.core.sampled_mean import sampled_mean
from persona_panel.statistics.core.significance import holm
from persona_panel.statistics.core.table import Ratings, on_composite
from persona_panel.statistics.human_raters import mean_reliability
from persona_panel.statistics.rater_pairs import tau_b_matrix

AlignmentMethod = Literal["isotonic", "weights", "subset"]
PENALTIES = (0.01, 0.1, 1.0, 10.0)
"""Tried penalties of unequal weights, in units of the judges' mean squared error."""


@dataclass(frozen=True, slots=True, eq=False)
class AlignmentRule:
    """A rule by which judges' scores of an item become one score.

    Attributes:
        weights: `(judges,)`, 0 or more, with the sum 1; of an item that some judges did not rate,
            those of the others are divided by their sum.
        scores, values: of a monotone rule `(knots,)`, both rising: what `scores` of the panel
            become, linear between them and constant beyond. Empty where the weighted mean stays as
            it is.
    """

    weights: Array
    scores: Array = field(default_factory=lambda: np.empty(0))
    values: Array = field(default_factory=lambda: np.empty(0))

    def apply(self, ratings: ArrayLike) -> Array:
        """Return the scores of items `(items,)` from judges' ratings `(items, judges)`; NaN where
        no judge with a weight rated.

        >>> rule = AlignmentRule(np.array([0.75, 0.25]))
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
    """Items that people rated, dealt into folds: judges' `ratings` `(items, judges)`, NaN where
    missing, people's mean, how much an item counts, and the fold of each, from 0 on, `(items,)`."""

    ratings: Array
    people: Array
    weights: Array
    folds: IntArray


def learnt_rule(
    method: AlignmentMethod, items: RatedItems, folds: Sequence[int]
) -> AlignmentRule | None:
    """Return the rule of a method that is learnt from some of the folds of these items; None where
    they have nothing to learn from.
    """
    check_choice("method", method, AlignmentMethod)
    return _isotonic(items, folds) if method == "isotonic" else _by_errors(method, items, folds)


def _isotonic(items: RatedItems, folds: Sequence[int]) -> AlignmentRule | None:
    n_judges = items.ratings.shape[1]
    equal = AlignmentRule(np.full(n_judges, 1 / n_judges))
    mean = equal.apply(items.ratings)
    of = np.isin(items.folds, folds) & ~np.isnan(mean)
    if not of.any():
        return None
    scores, place = np.unique(mean[of], return_inverse=True)
    weights = np.bincount(place, items.weights[of])
    values = np.bincount(place, items.weights[of] * items.people[of]) / weights
    # Loaded here: a run's summary and page, which need none of it, would load it, too.
    from scipy.optimize import isotonic_regression

    fitted = isotonic_regression(values, weights=weights).x
    return AlignmentRule(equal.weights, scores, fitted)


def _by_errors(
    method: AlignmentMethod, items: RatedItems, folds: Sequence[int]
) -> AlignmentRule | None:
    """Return the candidate weights (by penalty, or number of judges) best on held-out folds."""
    complete = has_ratings(items.ratings, items.ratings.shape[1])
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
    return AlignmentRule(weights_of_all[int(np.argmin(total))])


def weights_by_errors(errors: Array, penalties: Sequence[float]) -> list[Array]:
    """Return, for each penalty, the weights `(judges,)`, 0 or more with the sum 1, that minimize
    w'Ew plus the penalty times the squared distance from equal weights. `errors` `(judges, judges)`
    are mean products of judges' errors, penalties are above 0, in units of the judges' mean squared
    error."""
    from scipy.optimize import nnls

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
        least, _ = nnls(roots[:, None] * vectors.T, (vectors / roots).sum(axis=0))
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


METHODS: tuple[AlignmentMethod, ...] = get_args(AlignmentMethod)
N_FOLDS = 5
LEAST_PROMPTS = 10
"""With fewer prompts that people rated nothing is learnt."""
LEAST_RELIABILITY = 0.25
"""The bound above which the 95 % interval of the reliability of people's mean has to lie."""
FigureName = Literal["rmse", "mae", "tau_b"]
_SAME = 1e-9


@dataclass(frozen=True, slots=True)
class HeldOutFigure(Difference):
    """Gain in nearness to people's mean scores, aligned less before, on prompts that nothing was
    learnt from, with its interval over prompts.

    Attributes:
        figure: `rmse` and `mae` in points; `tau_b`, with people's mean: its mean over the prompts
            whose texts people tell apart or, where these are too few, over all texts.
        before, after: the figure of the panel as it is, and of the aligned scores.
    """

    figure: FigureName = "rmse"
    before: float = nan
    after: float = nan


@dataclass(frozen=True, slots=True, eq=False)
class MethodAlignment:
    """The rule of one method, and its figures on held-out prompts.

    Attributes:
        figures: none where `reason` says why; the first is `rmse`, which the claim is about.
        order_p: two-sided, of a τ_b of the aligned scores with people's mean of 0.
        p: where the error is lower than before, of no gain: the larger p-value of that of the
            difference and `order_p`, 1 where τ_b is not above 0; else that of the difference.
        p_adjusted: by Holm over methods, and over dimensions where there are several.
        rule, fold_rules: learnt from everything that people rated, and from all folds but one,
            whose figures these are.
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
    """The alignment of one dimension to people; `methods` are empty where `reason` says why.

    Attributes:
        reliability, reliability_low: that of people's mean (see `mean_reliability`), and the lower
            end of its 95 % interval over prompts.
        n_people, n_items, n_prompts: who rated, and how many of what judges rated.
        dimension, judges: which dimension, and the names behind the rules' weights.
    """

    reliability: float
    reliability_low: float
    methods: tuple[MethodAlignment, ...]
    n_people: int
    n_items: int
    n_prompts: int
    reason: Reason | None = None
    dimension: str = ALL
    judges: tuple[str, ...] = ()


def _learnt(
    judges: Array,
    raters: Array,
    prompts: Labels,
    methods: Sequence[AlignmentMethod],
    seed: int,
    names: tuple[str, ...],
) -> LearntAlignment:
    """Align the ratings of judges and people `(items, raters)` of one dimension."""
    codes = encode_labels(prompts, len(judges))[1]
    target = row_means(raters)
    known = ~np.isnan(target) & ~np.isnan(judges).all(axis=1)
    places = np.unique(codes[known], return_inverse=True)[1]
    n_prompts = group_count(places)
    n_people = int((~np.isnan(raters[known])).any(axis=0).sum())
    reliability = mean_reliability(raters[known])
    low = jackknife(reliability.resampled, int(known.sum()), places.tolist())

    sizes = n_people, int(known.sum()), n_prompts
    none = LearntAlignment(reliability.value, low.low, (), *sizes, judges=names)
    reason = Reason.FEW_TO_LEARN if n_prompts < LEAST_PROMPTS else reliability.reason or low.reason
    if reason is None and not low.low > LEAST_RELIABILITY:
        reason = Reason.PEOPLE_DISAGREE
    if reason is not None:
        return replace(none, reason=reason)
    fold_of = np.random.default_rng(seed).permutation(np.arange(n_prompts) % N_FOLDS)[places]
    weights = 1 / np.bincount(places)[places]
    items = RatedItems(judges[known], target[known], weights, fold_of)
    alignments = [_of_method(method, items, places, judges, known) for method in methods]
    return replace(none, methods=tuple(alignments))


def _of_method(
    method: AlignmentMethod, items: RatedItems, prompts: IntArray, judges: Array, known: Mask
) -> MethodAlignment:
    if method != "isotonic":
        n_judges = items.ratings.shape[1]
        if n_judges < 2:
            return MethodAlignment(method, reason=Reason.ONE_JUDGE)
        if len(np.unique(prompts[has_ratings(items.ratings, n_judges)])) < LEAST_PROMPTS:
            return MethodAlignment(method, reason=Reason.FEW_COMPLETE)
    every = range(N_FOLDS)
    rule = learnt_rule(method, items, every)
    learnt = (learnt_rule(method, items, [n for n in every if n != fold]) for fold in every)
    by_fold = tuple(fold_rule for fold_rule in learnt if fold_rule is not None)
    if rule is None or len(by_fold) < N_FOLDS:
        return MethodAlignment(method, reason=Reason.FEW_COMPLETE)
    after = np.full(len(items.people), nan)
    for fold, own in enumerate(by_fold):
        after[items.folds == fold] = own.apply(items.ratings[items.folds == fold])
    scores = rule.apply(judges)
    scores[known] = after
    compared = ~np.isnan(after)
    codes = np.unique(prompts[compared], return_inverse=True)[1]
    sides = np.stack([row_means(items.ratings), after])[:, compared]
    people = items.people[compared]
    losses = np.square(sides - people), np.abs(sides - people)
    squared, absolute = (
        [resampled_mean(means_by(side, codes)) for side in loss] for loss in losses
    )
    n_prompts = group_count(codes)
    error = _held_out("rmse", [*map(_root, squared)], n_prompts)
    mean_error = _held_out("mae", absolute, n_prompts)
    order, order_p = _order(sides, people, codes)
    p = error.p
    if error.value < 0:
        p = max(p, order_p) if order.after > 0 else 1.0
    return MethodAlignment(
        method,
        (error, mean_error, order),
        order_p,
        # Without a p-value nothing is shown.
        1.0 if isnan(p) else p,
        rule=rule,
        fold_rules=by_fold,
        scores=scores,
        held_out=known,
        n_items=int(compared.sum()),
        n_prompts=n_prompts,
        n_left_out=int((~compared).sum()),
    )


def _order(sides: Array, people: Array, prompts: IntArray) -> tuple[HeldOutFigure, float]:
    """Return τ_b, and the p-value of that of the aligned scores: 0 where scores tie a prompt."""
    of_prompts = [np.flatnonzero(prompts == place) for place in range(int(prompts.max()) + 1)]
    several = [of for of in of_prompts if np.ptp(people[of]) > 0]
    if len(several) < LEAST_PROMPTS:
        taus = [resampled_correlation(side, people, "tau_b") for side in sides]
        clusters = prompts.tolist()
        order = _held_out("tau_b", taus, len(of_prompts), clusters)
        own = jackknife(taus[1], len(people), clusters, kind="difference")
        return order, _p(order.after, own.standard_error, own.degrees_of_freedom)
    both = np.vstack([sides, people]).T
    # Scores that tie all texts of a prompt order nothing. To leave such prompts out would keep the
    # few, chosen by the scores, in which these have an order, and their spread.
    by_prompt = np.nan_to_num([tau_b_matrix(both[of])[2, :2] for of in several])
    n, aligned = len(by_prompt), sampled_mean(by_prompt[:, 1])
    p = aligned.p_value
    if not aligned.errors:
        # The same τ in every prompt has no spread for Student's t; under the null each sign is as
        # likely as the other.
        p = 2.0 ** (1 - n) if aligned.mean else 1.0
    return _held_out("tau_b", [*map(resampled_mean, by_prompt.T)], n), p


def _held_out(
    name: FigureName, sides: Sequence[Resampled], n: int, clusters: Labels | None = None
) -> HeldOutFigure:
    """Return a figure before and after, `sides` of weights of n prompts or of items in these."""
    n_items = n if clusters is None else len(clusters)
    interval = jackknife(difference_of(*sides[::-1]), n_items, clusters, kind="difference")
    before, after = (value_of(side, n_items) for side in sides)
    moved = after - before
    figure = HeldOutFigure(
        moved, over="prompts", n=n, a="aligned", b="panel", figure=name, before=before, after=after
    )
    error = interval.standard_error * sqrt(1 + N_FOLDS / (N_FOLDS - 1))
    df = interval.degrees_of_freedom
    if not error > _SAME:
        return figure
    reach = error * critical_t(df)
    return replace(figure, low=moved - reach, high=moved + reach, p=_p(moved, error, df), df=df)


def _p(value: float, error: float, df: float) -> float:
    return two_sided_p(value / error, df) if not isnan(value) and error > _SAME else 1.0


def _root(mean: Resampled) -> Resampled:
    return lambda weights: np.sqrt(mean(weights))


@dataclass(frozen=True, slots=True)
class Alignment:
    """The alignments that `align` learnt, by dimension; `panel` has the items in the order of all
    scores."""

    panel: Ratings
    dimensions: tuple[LearntAlignment, ...]


def align(
    panel: Ratings,
    humans: Ratings,
    *,
    methods: Sequence[AlignmentMethod] = METHODS,
    seed: int = 0,
) -> Alignment:
    """Align a panel's scores by people's ratings of other prompts, and return how much nearer to
    people they are than before.

    Each dimension that both rated by numbers is aligned by itself; first, where both have one, the
    `composite`, whose p-values are a family of their own. Judges without a persona are left out.
    Nothing is learnt, with the reason, from fewer than ten prompts, or where the reliability of
    people's mean is not shown to be above 0.25 or is unknown, as of a single rater.

    How to read it: an `error` below 0 whose method's `p_adjusted` is below 0.05 is a gain to be
    expected on further prompts with these judges and people. It has people's noise in it.

    Args:
        panel, humans: under the same names, as `load_aligned_ratings` gives them; items that nobody
            rated are scored only. Prompts are the panel's (items, where it names none), and each
            counts once.
        methods: see `persona_panel.statistics.alignment`.
        seed: by which prompts are dealt into folds.

    >>> rng = np.random.default_rng(0)
    >>> names, good = tuple(f"i{n}" for n in range(60)), rng.uniform(1, 5, 60)
    >>> people = (good[:, None] + rng.normal(0, 0.5, (60, 3)))[:, :, None]
    >>> panel = (3 + good[:, None] / 2 + rng.normal(0, 0.3, (60, 4)))[:, :, None]
    >>> ours = Ratings(panel, names, tuple("abcd"), ("all",), ("m",) * 4)
    >>> theirs = Ratings(people, names, tuple("xyz"), ("all",), ("human",) * 3)
    >>> [each] = align(ours, theirs).dimensions
    >>> [(method.method, method.p_adjusted < 0.05) for method in each.methods]
    [('isotonic', True), ('weights', False), ('subset', False)]
    """
    if panel.lower_is_better or humans.lower_is_better:
        raise ValueError("ranks have no distance from each other; scores are needed")
    ours, theirs = panel.numeric(), humans.numeric()
    dimensions = [name for name in ours.dimensions if name in theirs.dimensions]
    if not dimensions or not set(ours.items) & set(theirs.items):
        what = "item" if dimensions else "dimension that is rated by numbers"
        raise ValueError(f"panel and people share no {what}")
    judges = ours.panel_columns
    parts = [(name, ours, theirs) for name in dimensions]
    if (whole := on_composite(panel, humans)) is not None:
        parts.insert(0, (COMPOSITE, whole[0], whole[1]))
    aligned = []
    for name, own, others in parts:
        people = others.scores[:, :, others.dimensions.index(name)]
        learnt = _learnt(
            own.scores[:, judges, own.dimensions.index(name)],
            rows_of(people, others.items, own.items), own.prompts or own.items, methods, seed,
            tuple(ours.raters[judge] for judge in judges),
        )  # fmt: skip
        aligned.append(replace(learnt, dimension=name))
    # The composite is a family of its own.
    n_primary = len(parts) - len(dimensions)
    return Alignment(panel, (*_family(aligned[:n_primary]), *_family(aligned[n_primary:])))


def _family(aligned: Sequence[LearntAlignment]) -> list[LearntAlignment]:
    """Return the alignments with p-values adjusted over their methods and dimensions."""
    p = iter(holm([method.p for each in aligned for method in each.methods]).tolist())
    return [
        replace(each, methods=tuple(replace(own, p_adjusted=next(p)) for own in each.methods))
        for each in aligned
    ]
