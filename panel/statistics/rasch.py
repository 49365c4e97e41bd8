"""The many-facet Rasch model: systems, prompts, judges and dimensions on one scale, in logits.

A rating is in category c with a probability proportional to exp(s_c η + δ_c), s_c the steps of
category c above the lowest, η the location of the system less the difficulty of the prompt and of
the dimension and the severity of the judge: the rating scale model of adjacent categories. All
facets are fixed, so that designs need not be complete; locations and thresholds are those of the
likelihood reduced in bias by Jeffreys' prior, which are finite where all ratings of an element are
extreme. Ratings of a prompt share more than the model knows, so intervals of systems, judges,
prompts, dimensions and thresholds are the jackknife's over prompts (without prompts, over items),
each left out by one Newton step; those of items over raters.

No kept library fits: girth and py-irt know persons and items alone, statsmodels no model of
adjacent categories.

Sources: J. M. Linacre (1989), *Many-Facet Rasch Measurement*; D. Andrich (1978), "A rating
formulation for ordered response categories"; D. Firth (1993), "Bias reduction of maximum likelihood
estimates", by its categories as in I. Kosmidis & D. Firth (2011), "Multinomial logit bias
reduction via the Poisson log-linear model"; B. D. Wright & G. N. Masters (1982), *Rating Scale
Analysis* (infit, outfit, separation reliability); J. G. MacKinnon, M. Ø. Nielsen & M. D. Webb
(2023), "Leverage, influence, and the jackknife in clustered regression models".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, pairwise
from math import nan

import numpy as np

from persona_panel.statistics.core.arrays import (
    Array,
    IntArray,
    Mask,
    Reason,
    effective_number,
    encode_labels,
    group_count,
    items_by_label,
    mean_there,
    means_by,
    means_by_cell,
)
from persona_panel.statistics.core.estimate import Difference, Estimate
from persona_panel.statistics.core.ranking import Winner, winner_among
from persona_panel.statistics.core.sampled_mean import SampledMean
from persona_panel.statistics.core.significance import pairs_adjusted
from persona_panel.statistics.core.strengths import MOST_SYSTEMS, sampled_without_each
from persona_panel.statistics.core.table import Ratings

MOST_ELEMENTS = 3000
"""Of more elements the model is not fitted: the matrix of every two of them takes its memory."""
MOST_CATEGORIES = 101
_MOST_STEPS = 200
_LONGEST_STEP = 1.0
_CONVERGED = 1e-8
_NONE = 1e-8
_APART = 1e-6


class RaschError(ValueError):
    """The model cannot be estimated from these ratings; the message says why."""


@dataclass(frozen=True, slots=True)
class Element:
    """An element of a facet: a system, a prompt, a judge, a dimension, an item.

    Attributes:
        measure: its location in logits, the mean of its facet 0: of systems and items the higher
            the better, of judges severity, of prompts and dimensions difficulty.
        model_error: its standard error where ratings were independent, given the facets.
        n_ratings: how many ratings it has.
        mean: their mean; of a system over prompts, each counting once.
        infit, outfit: by `many_facet_rasch`, the mean square of its residuals, weighted by their
            variance and not: 1 is expected, more is noisier than the model says, less more regular.
        extreme: whether all its ratings are in the lowest or all in the highest category.
    """

    name: str
    measure: Estimate
    model_error: float
    n_ratings: int
    mean: float
    infit: float = nan
    outfit: float = nan
    extreme: bool = False


@dataclass(frozen=True, slots=True)
class Facet:
    """The elements of a facet, the highest measure first.

    Attributes:
        name: `system` (or `item`), `prompt`, `judge`, `dimension`.
        reliability: the share of the variance of the measures that is not that of their errors
            (separation reliability); NaN where an element has no interval.
        subsets: the names of the elements that ratings link with each other; several where the
            design does not link all, whose measures then cannot be compared.
    """

    name: str
    elements: tuple[Element, ...]
    reliability: float
    subsets: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Threshold:
    """The location at which a rating of `low` and of `high`, the next category in use, are equally
    probable, by an average judge on an average prompt and dimension. `n` counts ratings of
    `high`."""

    low: float
    high: float
    location: Estimate
    n: int


@dataclass(frozen=True, slots=True)
class ManyFacetRasch:
    """The fitted model.

    Attributes:
        facets: by name; the first is what is measured, systems or, where none are known, items.
        differences: of every two systems, the higher first; none of items.
        thresholds: from the lowest category up.
        unused: the categories between the ends of the scale that nobody used.
    """

    facets: Mapping[str, Facet]
    differences: tuple[Difference, ...]
    thresholds: tuple[Threshold, ...]
    unused: tuple[float, ...]

    @property
    def measured(self) -> Facet:
        """Return the facet that is measured: systems or items."""
        return next(iter(self.facets.values()))

    @property
    def winner(self) -> Winner | None:
        """Return the system that is verified as the best; None where none is."""
        return winner_among([each.name for each in self.measured.elements], self.differences)


@dataclass(frozen=True, eq=False)
class RaschFit:
    """Locations and categories' parameters δ that fit ratings.

    Attributes:
        codes: `(ratings, facets)`, the place of each element among all elements.
        chosen: `(ratings,)`, the place of each rating's category.
        steps: `(categories,)`, how far each lies above the lowest.
        parameters: `(elements + categories - 1,)`; the lowest category has δ = 0.
        unlinked: `(elements, k)`, the directions that ratings say nothing of, orthonormal; among
            them a constant added to a facet.
        reduced: whether the bias is reduced, or this is maximum likelihood.
    """

    codes: IntArray
    chosen: IntArray
    steps: Array
    parameters: Array
    unlinked: Array
    reduced: bool = True

    @classmethod
    def at_zero(
        cls, codes: IntArray, chosen: IntArray, steps: Array, *, reduced: bool = True
    ) -> RaschFit:
        """Return the parameters before they are fitted, all 0; see the attributes."""
        n, n_elements = len(codes), group_count(codes)
        products = sums_by_pair(codes, np.ones(n), n_elements)
        counts = products.sum(axis=1) / codes.shape[1]
        values, vectors = np.linalg.eigh(products - np.outer(counts, counts) / n)
        # The directions of the elements that change no difference of two ratings.
        unlinked = vectors[:, values < _NONE * max(1.0, values[-1])]
        parameters = np.zeros(n_elements + len(steps) - 1)
        return cls(codes, chosen, steps, parameters, unlinked, reduced)

    def fitted(self) -> RaschFit:
        """Fit the parameters by Fisher scoring; without `reduced` no element's ratings may be all
        extreme. Raises RaschError: the iterations do not converge."""
        fit = self
        for _ in range(_MOST_STEPS):
            step = fit.covariance @ fit._scores(slice(None))
            longest = np.abs(step).max()
            fit = replace(
                fit, parameters=fit.parameters + step * min(1.0, _LONGEST_STEP / max(longest, 1e-9))
            )
            if longest < _CONVERGED:
                return fit
        raise RaschError("ratings by which the iterations do not converge")

    @cached_property
    def probabilities(self) -> Array:
        """Return the probability of each category `(ratings, categories)`."""
        n = len(self.unlinked)
        locations = self.parameters[:n][self.codes].sum(axis=1)
        logits = locations[:, None] * self.steps + np.append(0.0, self.parameters[n:])
        logits -= logits.max(axis=1, keepdims=True)
        odds = np.exp(logits)
        shares: Array = odds / odds.sum(axis=1, keepdims=True)
        return shares

    @cached_property
    def moments(self) -> tuple[Array, Array]:
        """Return the expected steps of each rating, and their variance, both `(ratings,)`."""
        expected = self.probabilities @ self.steps
        return expected, self.probabilities @ self.steps**2 - expected**2

    @cached_property
    def covariance(self) -> Array:
        """Return the covariance of the parameters, were ratings independent; of what they say
        nothing of it is 1."""
        n = len(self.unlinked)
        information = self._information(slice(None), self.codes, n)
        information[:n, :n] += self.unlinked @ self.unlinked.T
        return np.asarray(np.linalg.inv(information))

    def thresholds(self, parameters: Array) -> Array:
        """Return the locations of the thresholds by parameters such as these."""
        delta = np.diff(parameters[..., len(self.unlinked) :], prepend=0.0)
        return -delta / np.diff(self.steps)

    def without_each(self, clusters: IntArray) -> Array:
        """Return the parameters without each cluster of ratings, by one Newton step from these:
        `(clusters, parameters)`, NaN where what is left does not link an element; the mean of the
        others of its facet is 0.

        Args:
            clusters: `(ratings,)`, from 0.
        """
        return np.array([self._without(rows) for rows in rows_by(clusters)])

    def _without(self, own: IntArray) -> Array:
        n = len(self.unlinked)
        elements, codes = np.unique(self.codes[own], return_inverse=True)
        touched = np.concatenate([elements, np.arange(n, len(self.parameters))])
        information = self._information(own, codes.reshape(-1, self.codes.shape[1]), len(elements))
        covariance = self.covariance[:, touched]
        # (I − I_own)⁻¹ by Woodbury's identity, of what this cluster tells of.
        u, sizes, vt = np.linalg.svd(np.eye(len(touched)) - information @ covariance[touched])
        known = sizes > _NONE
        weights = (u[:, known].T @ self._scores(own)[touched]) / sizes[known]
        moved: Array = self.parameters - covariance @ (vt[known].T @ weights)
        free = covariance[:n] @ vt[~known].T
        for facet in self._facets:
            apart = np.abs(free[facet] - np.median(free[facet], axis=0)).max(axis=1, initial=0.0)
            moved[facet][apart > _APART] = nan
            mean = np.nanmean(moved[facet]) if (apart <= _APART).any() else nan
            moved[facet] -= mean
            moved[n:] += mean * self.steps[1:]
        return moved

    @cached_property
    def _facets(self) -> list[slice]:
        return [slice(int(own.min()), int(own.max()) + 1) for own in self.codes.T]

    @cached_property
    def _counts(self) -> Array:
        """Return what each rating counts in each category `(ratings, categories)`: 1 in its own
        and, where bias is reduced, half of the category's leverage beside the mean of all."""
        p, steps = self.probabilities, self.steps
        counts = np.zeros_like(p)
        counts[np.arange(len(counts)), self.chosen] = 1.0
        if not self.reduced:
            return counts
        n, covariance = len(self.unlinked), self.covariance
        of_location, of_both = paired_sum(self.codes, covariance), np.zeros_like(p)
        of_both[:, 1:] = covariance[self.codes, n:].sum(axis=1)
        of_delta = np.zeros((len(steps),) * 2)
        of_delta[1:, 1:] = covariance[n:, n:]
        above = steps - self.moments[0][:, None]
        linear = of_both - (p * of_both).sum(axis=1, keepdims=True)
        means = p @ of_delta
        square = of_delta.diagonal() - 2 * means + (p * means).sum(axis=1, keepdims=True)
        leverage = above**2 * of_location[:, None] + 2 * above * linear + square
        counts += p * (leverage - (p * leverage).sum(axis=1, keepdims=True)) / 2
        return counts

    def _scores(self, own: IntArray | slice) -> Array:
        """Return the gradient, of these ratings alone."""
        beyond = self._counts[own] - self.probabilities[own]
        locations = sums_by(self.codes[own], beyond @ self.steps, len(self.unlinked))
        return np.append(locations, beyond[:, 1:].sum(axis=0))

    def _information(self, own: IntArray | slice, codes: IntArray, n: int) -> Array:
        """Return the expected information of these ratings alone, of `n` elements by their
        `codes`."""
        p = self.probabilities[own]
        expected, variance = (of[own] for of in self.moments)
        with_delta = p[:, 1:] * (self.steps[1:] - expected[:, None])
        across = np.column_stack([sums_by(codes, column, n) for column in with_delta.T])
        of_delta = np.diag(p[:, 1:].sum(axis=0)) - p[:, 1:].T @ p[:, 1:]
        return np.block([[sums_by_pair(codes, variance, n), across], [across.T, of_delta]])


def rows_by(codes: IntArray) -> list[IntArray]:
    """Return the places of each code, from 0 on."""
    return np.split(np.argsort(codes, kind="stable"), np.cumsum(np.bincount(codes))[:-1])


def sums_by(codes: IntArray, values: Array, n: int) -> Array:
    """Return the sum of ratings' values by element `(n,)`; `codes` is `(ratings, facets)`."""
    return np.bincount(codes.ravel(), np.repeat(values, codes.shape[1]), n).astype(np.float64)


def sums_by_pair(codes: IntArray, values: Array, n: int) -> Array:
    """Return the sum of ratings' values by every two elements that they have `(n, n)`."""
    pairs = (codes[:, :, None] * n + codes[:, None, :]).ravel()
    repeated = np.repeat(values, codes.shape[1] ** 2)
    return np.bincount(pairs, repeated, n * n).reshape(n, n).astype(np.float64)


def paired_sum(codes: IntArray, matrix: Array) -> Array:
    """Return of each rating the sum of the matrix over every two of its elements `(ratings,)`."""
    return np.asarray(matrix[codes[:, :, None], codes[:, None, :]].sum(axis=(1, 2)))


def many_facet_rasch(ratings: Ratings) -> ManyFacetRasch:
    """Fit the many-facet Rasch model.

    How to read it: a system one logit above another has e times its odds of the higher of two
    neighbouring categories, by the same judge on the same prompt. Severity of judges is taken out,
    as far as they rate independently of which system it is.

    Args:
        ratings: sources are systems; where there are fewer than two, items are measured. All
            dimensions with numbers enter.

    Raises:
        RaschError: the model cannot be estimated; says why, and where the design does not link the
            systems, which subsets of them it does.
    """
    panel = ratings.without_controls().numeric()
    if ratings.lower_is_better:
        raise RaschError("ranks, not ratings")
    item, rater, of_dimension = np.nonzero(~np.isnan(panel.scores))
    if not len(item):
        raise RaschError("no dimension with numbers")
    known = {panel.scales[name] for name in panel.dimensions if name in panel.scales}
    if len(known) > 1:
        raise RaschError("dimensions on different scales, without common categories")
    values = panel.scores[item, rater, of_dimension]
    categories, chosen = np.unique(values, return_inverse=True)
    steps, unused = _steps(categories, next(iter(known), None))
    labels: dict[str, tuple[Sequence[str] | None, IntArray]] = {"item": (panel.items, item)}
    if panel.sources is not None and len(set(panel.sources)) > 1:
        labels = {"system": (panel.sources, item)}
        if panel.prompts is not None and len(set(panel.prompts)) < len(panel.prompts):
            labels["prompt"] = panel.prompts, item
    first = next(iter(labels))
    labels |= {"judge": (panel.raters, rater), "dimension": (panel.dimensions, of_dimension)}
    encoded = {
        name: encode_labels([own[at] for at in places.tolist()], len(values))
        for name, (own, places) in labels.items()
        if own is not None
    }
    encoded = {name: own for name, own in encoded.items() if len(own[0]) > 1 or name == first}
    ends = np.cumsum([len(levels) for levels, _ in encoded.values()])
    if ends[-1] > MOST_ELEMENTS:
        raise RaschError(f"{ends[-1]:,} elements, more than {MOST_ELEMENTS:,}")
    parts = {
        name: slice(int(end) - len(encoded[name][0]), int(end))
        for name, end in zip(encoded, ends, strict=True)
    }
    codes = np.column_stack([own + parts[name].start for name, (_, own) in encoded.items()])
    unfitted = RaschFit.at_zero(codes, chosen, steps)
    names = {name: tuple(map(str, levels)) for name, (levels, _) in encoded.items()}
    linked = {name: _subsets(own, unfitted.unlinked[parts[name]]) for name, own in names.items()}
    if len(of_first := linked[first]) > 1:
        more = "; …" if len(of_first) > 4 else ""
        subsets = "; ".join(
            ", ".join(subset[:4]) + ", …" * (len(subset) > 4) for subset in of_first[:4]
        )
        raise RaschError(
            f"{len(of_first):,} subsets of {first}s that no ratings link ({subsets}{more})"
        )
    fit = unfitted.fitted()
    over, clusters = "items", item
    if panel.prompts is not None:
        over, clusters = "prompts", encode_labels(panel.prompts, len(panel.items))[1][item]
    samples = {over: (clusters, fit.without_each(clusters))}
    if first == "item":
        raters = encoded["judge"][1] if "judge" in encoded else clusters
        samples["raters"] = (raters, fit.without_each(raters))
    facets: dict[str, Facet] = {}
    differences: tuple[Difference, ...] = ()
    expected, variance = fit.moments
    residuals = steps[chosen] - expected
    for name, (_, code) in encoded.items():
        own, part, sign = names[name], parts[name], 1.0 if name == first else -1.0
        count = np.bincount(code)
        extreme = np.any(
            [np.bincount(code, chosen == end) == count for end in (0, len(steps) - 1)], axis=0
        )
        sampled = "raters" if name == "item" else over
        of_sample, left_out = samples[sampled]
        measures, of_pairs = sampled_elements(
            sign * fit.parameters[part], sign * left_out[:, part], code, of_sample, sampled,
            extreme & (name == "system"), own if name == "system" else (),
        )  # fmt: skip
        means = means_by(values, code)
        if name == "system":
            differences = of_pairs
            cells = means_by_cell(values, code, clusters, (len(own), int(clusters.max()) + 1))
            means = mean_there(cells, 1)
        # Beside the mean of the facet.
        between = fit.covariance[part, part]
        variances = between.diagonal() - 2 * between.mean(axis=1) + between.mean()
        elements = [
            Element(*of)
            for of in zip(
                own, measures, np.sqrt(variances).tolist(), count.tolist(), means.tolist(),
                (np.bincount(code, residuals**2) / np.bincount(code, variance)).tolist(),
                (np.bincount(code, residuals**2 / variance) / count).tolist(), extreme.tolist(),
                strict=True,
            )
        ]  # fmt: skip
        # Rounding does not order what is equal.
        elements.sort(key=lambda each: -round(each.measure.value, 9))
        facets[name] = Facet(name, tuple(elements), separation_reliability(measures), linked[name])
    locations, moved = map(fit.thresholds, (fit.parameters, samples[over][1]))
    thresholds = thresholds_of(locations, moved, categories, np.bincount(chosen), over)
    return ManyFacetRasch(facets, differences, thresholds, unused)


def _steps(categories: Array, scale: tuple[float, float] | None) -> tuple[Array, tuple[float, ...]]:
    """Return how many steps each category lies above the lowest, and those that nobody used."""
    if len(categories) < 2:
        raise RaschError(f"every rating {categories[0]:g}")
    width = float(np.diff(categories).min())
    steps = (categories - categories[0]) / width
    if np.abs(steps - np.round(steps)).max() > 1e-6 or steps[-1] >= MOST_CATEGORIES:
        raise RaschError(
            f"{len(categories):,} different values, which do not lie at equal distances"
        )
    low, high = scale or (categories[0], categories[-1])
    every = low + width * np.arange(round((high - low) / width) + 1)
    unused = [each for each in every if np.abs(categories - each).min() > width / 2]
    return np.round(steps), tuple(float(each) for each in unused)


def _subsets(names: Sequence[str], unlinked: Array) -> tuple[tuple[str, ...], ...]:
    """Return the subsets of a facet: the difference of two elements is known where no direction
    that ratings say nothing of moves them apart."""
    rows = np.round(unlinked, 6) + 0.0
    codes = np.unique(rows, axis=0, return_inverse=True)[1].ravel()
    by_code = items_by_label(codes.tolist(), len(names))
    return tuple(tuple(names[place] for place in places) for _, places in by_code)


def sampled_elements(
    values: Array,
    moved: Array,
    codes: IntArray,
    clusters: IntArray,
    over: str,
    unbounded: Mask,
    names: Sequence[str] = (),
) -> tuple[list[Estimate], tuple[Difference, ...]]:
    """Return the estimates of the elements of a facet, and the differences of every two that have
    `names`, where these are not too many.

    Args:
        values, moved: the locations `(elements,)`, and without each cluster `(clusters, elements)`.
        codes, clusters: `(ratings,)`, of which element and cluster each is.
        unbounded: which have all ratings at one end, so that the data do not bound their location.
    """
    n, n_elements = moved.shape
    counts = np.bincount(clusters * n_elements + codes, minlength=n * n_elements)
    sizes = counts.reshape(n, n_elements).astype(np.float64)

    def sampled(value: float, own: Array, counted: Array, is_unbounded: bool) -> SampledMean:
        n_there = int(np.sum(counted > 0))
        if is_unbounded:
            return SampledMean(value, (), n_there, Reason.AT_ONE_END)
        worth = float(np.nan_to_num(effective_number(counted[:, None])[0]))
        mean = sampled_without_each(value, [own], n_there, worth)
        few = mean.reason == Reason.FEW_FOR_A_STRENGTH and over != "prompts"
        return replace(mean, reason=Reason.FEW_LEFT_OUT) if few else mean

    each = zip(values.tolist(), moved.T, sizes.T, unbounded.tolist(), strict=True)
    order = np.argsort(-values, kind="stable").tolist() if 0 < len(names) <= MOST_SYSTEMS else []
    differences = []
    for a, b in combinations(order, 2):
        value, apart = float(values[a] - values[b]), moved[:, a] - moved[:, b]
        smaller, either = np.minimum(sizes[:, a], sizes[:, b]), bool(unbounded[a] or unbounded[b])
        mean = sampled(value, apart, smaller, either)
        difference = mean.as_a(Difference, over=over, unit="logits", a=names[a], b=names[b])
        differences.append(replace(difference, sampled=None))
    return [_in_logits(sampled(*own), over) for own in each], tuple(pairs_adjusted(differences))


def separation_reliability(measures: Sequence[Estimate]) -> float:
    """Return the share of the measures' variance that is not that of their errors, 0 at least; NaN
    where one has no standard error, or they do not differ (Wright and Masters 1982).

    >>> separation_reliability([Estimate(0.4), Estimate(-0.4)])
    nan
    """
    errors = [each.sampled.errors for each in measures if each.sampled is not None]
    if len(measures) < 2 or not all(errors) or len(errors) < len(measures):
        return nan
    variance = float(np.var([each.value for each in measures], ddof=1))
    noise = float(np.mean([error[0][0] ** 2 for error in errors]))
    return max(0.0, 1 - noise / variance) if variance else nan


def thresholds_of(
    values: Array, moved: Array, categories: Array, counts: IntArray, over: str
) -> tuple[Threshold, ...]:
    """Return thresholds from their locations `(categories − 1,)` and those without each part of the
    sample `(parts, categories − 1)`; `counts` says how often each category was given."""
    n, ends = len(moved), pairwise(categories.tolist())
    of = zip(ends, values.tolist(), moved.T, counts[1:].tolist(), strict=True)
    return tuple(
        Threshold(*both, _in_logits(sampled_without_each(value, [own], n, n), over), count)
        for both, value, own, count in of
    )


def _in_logits(mean: SampledMean, over: str) -> Estimate:
    return replace(mean.as_a(Estimate, over=over, unit="logits"), p=nan)
