"""The cumulative logit model with crossed random effects of judges and prompts.

A rating is at most in category c with the log-odds α_c − (system + dimension + judge + prompt);
judges and prompts are normal with the mean 0. The likelihood is Laplace's approximation. Ratings of
a prompt share more than the model knows, so intervals are the jackknife's over prompts, each left
out by one Newton step with the variances as they are.

No kept library fits: statsmodels' OrderedModel has no random effects, bambi samples for minutes,
interlace-lme needs five packages more.

Sources: A. Agresti (2010), *Analysis of Ordinal Categorical Data*, chapter 10; R. H. B. Christensen
(2022), `clmm` of the R package ordinal; J. G. MacKinnon, M. Ø. Nielsen & M. D. Webb (2023),
"Leverage, influence, and the jackknife in clustered regression models".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import nan

import numpy as np
import scipy

from persona_panel.statistics.core import special
from persona_panel.statistics.core.arrays import (
    Array,
    IntArray,
    Mask,
    encode_labels,
    mean_there,
    means_by_cell,
)
from persona_panel.statistics.core.estimate import Difference
from persona_panel.statistics.core.table import Ratings
from persona_panel.statistics.rasch import (
    Element,
    RaschError,
    Threshold,
    paired_sum,
    rows_by,
    sampled_elements,
    sums_by,
    sums_by_pair,
    thresholds_of,
)

MOST_CATEGORIES = 30
_LEAST_LOG_SD, _MOST_LOG_SD = -6.0, 3.0
_NO_VARIANCE = 0.01
_MOST = 20.0
_MOST_CONDITION = 1e10
_CONVERGED = 1e-5
_NONE = 1e-9
_APART = 1e-6
_CONVERGED_MODES = 1e-9
_MOST_STEPS = 100


@dataclass(frozen=True, eq=False)
class CumulativeLogit:
    """The likelihood of ratings at parameters of the model, by Laplace's approximation.

    Attributes:
        chosen: `(ratings,)`, the category of each, from 0; every category is used.
        design: `(ratings, coefficients)`, of what is fixed.
        groups: `(ratings, factors)`, the place of each rating's random effects among all of them.
        thresholds: `(categories − 1,)`, rising.
        coefficients: `(coefficients,)`, log-odds of a higher rating.
        log_sds: `(factors,)`, the logarithm of the standard deviation of each factor's effects.
        start: `(effects,)`, from which their modes are searched.
    """

    chosen: IntArray
    design: Array
    groups: IntArray
    thresholds: Array
    coefficients: Array
    log_sds: Array
    start: Array

    @classmethod
    def fitted(
        cls, chosen: IntArray, design: Array, factors: Sequence[IntArray]
    ) -> CumulativeLogit:
        """Fit the parameters.

        Args:
            factors: of each random factor, the level of each rating, from 0.

        Raises:
            ArithmeticError: the likelihood has no finite maximum, as ratings are separated: the
                iterations do not converge, end at a bound, or where the information is not positive
                definite or leaves a standard error of 20 logits.
        """
        sizes = [int(own.max()) + 1 for own in factors]
        groups = np.column_stack([*factors]) + np.cumsum([0, *sizes[:-1]])
        below = np.cumsum(np.bincount(chosen))[:-1] / len(chosen)
        at = cls(
            chosen, design, groups, special.logit(below), np.zeros(design.shape[1]),
            np.full(len(sizes), -0.5), np.zeros(sum(sizes)),
        )  # fmt: skip
        n, k = len(at.thresholds), len(at.thresholds) + design.shape[1]
        first = np.concatenate(
            [at.thresholds[:1], np.log(np.diff(at.thresholds)), at.coefficients, at.log_sds]
        )
        # In units of standard errors, all directions are about as steep.
        information = np.linalg.inv(np.linalg.inv(at._parts[0])[:k, :k])
        turned = np.eye(k)
        turned[:n, :n] = np.tril(np.ones((n, n))) * np.append(1.0, np.exp(first[1:n]))
        scale = scipy.linalg.block_diag(
            np.linalg.inv(np.linalg.cholesky(turned.T @ information @ turned)).T,
            np.diag((2.0 * np.array(sizes)) ** -0.5),
        )

        def negative(moved: Array) -> tuple[float, Array]:
            nonlocal at
            parameters = first + scale @ moved
            log_sds = parameters[k:].clip(_LEAST_LOG_SD, _MOST_LOG_SD)
            # The first threshold, and the logarithms of the distances of the others.
            rising = np.cumsum(np.append(parameters[:1], np.exp(parameters[1:n])))
            at = at._with(np.concatenate([rising, parameters[n:k], log_sds]))
            gradient = at.gradient
            by_step = np.cumsum(gradient[:n][::-1])[::-1]
            by_step[1:] *= np.exp(parameters[1:n])
            by_sd = gradient[k:] * (log_sds == parameters[k:])
            return -at.log_likelihood, -scale.T @ np.concatenate([by_step, gradient[n:k], by_sd])

        optimum = scipy.optimize.minimize(
            negative, np.zeros(len(first)), jac=True, method="BFGS", options={"gtol": _CONVERGED}
        )
        negative(optimum.x)
        if (
            np.abs(optimum.jac).max() > 100 * _CONVERGED
            or np.abs(at.coefficients).max() > _MOST
            or at.log_sds.max() >= _MOST_LOG_SD
            or not np.linalg.eigvalsh(at.covariance)[0] > 0
            or at.covariance.diagonal().max() > _MOST**2
        ):
            raise ArithmeticError("the likelihood has no finite maximum")
        return at

    def _with(self, parameters: Array) -> CumulativeLogit:
        n, k = len(self.thresholds), len(self.coefficients)
        parts = parameters[:n], parameters[n : n + k], parameters[n + k :]
        return replace(
            self, thresholds=parts[0], coefficients=parts[1], log_sds=parts[2], start=self.modes
        )

    @cached_property
    def _precision(self) -> Array:
        of = np.empty(len(self.start))
        for own, log_sd in zip(self.groups.T, self.log_sds, strict=True):
            of[own] = np.exp(-2 * log_sd)
        return of

    def _ends(self, effects: Array) -> tuple[Array, Array]:
        """Return the upper and the lower end of each rating's category, less its location."""
        fixed = self.design @ self.coefficients + effects[self.groups].sum(axis=1)
        ends = np.concatenate([[-np.inf], self.thresholds, [np.inf]])
        return ends[self.chosen + 1] - fixed, ends[self.chosen] - fixed

    def _information(self, weights: Array) -> Array:
        """Return the negative second derivatives by the effects."""
        return np.diag(self._precision) + sums_by_pair(self.groups, weights, len(self.start))

    @cached_property
    def modes(self) -> Array:
        """Return the likeliest effects at these parameters `(effects,)`."""
        effects = self.start
        for _ in range(_MOST_STEPS):
            at_most, less = map(special.expit, self._ends(effects))
            score = self._by_effect(at_most + less - 1) - self._precision * effects
            information = self._information(at_most * (1 - at_most) + less * (1 - less))
            step = scipy.linalg.solve(information, score, assume_a="pos")
            longest = np.abs(step).max()
            effects = effects + step * min(1.0, 2.0 / max(longest, 1e-12))
            if longest < _CONVERGED_MODES:
                break
        return effects

    def _by_effect(self, values: Array) -> Array:
        return sums_by(self.groups, values, len(self.start))

    @cached_property
    def _at_modes(self) -> tuple[Array, Array, Array, Array, Array]:
        """Return the ends at the modes, the densities there, and the information of effects."""
        ends = self._ends(self.modes)
        densities = [of * (1 - of) for of in map(special.expit, ends)]
        return *ends, *densities, self._information(densities[0] + densities[1])

    @cached_property
    def log_likelihood(self) -> float:
        """Return the logarithm of the likelihood."""
        upper, lower, *_, information = self._at_modes
        own = special.log_expit(upper) + special.log_expit(-lower)
        own += np.log(-np.expm1(lower - upper))
        prior = np.log(self._precision) - self._precision * self.modes**2
        return float(own.sum() + (prior.sum() - np.linalg.slogdet(information)[1]) / 2)

    def _scores(self) -> tuple[Array, Array]:
        """Return the derivative of each rating's log-probability by its upper and lower end."""
        upper, lower, *_ = self._at_modes
        odds = np.exp(lower - upper) / -np.expm1(lower - upper)
        return special.expit(-upper) + odds, -special.expit(lower) - odds

    @cached_property
    def gradient(self) -> Array:
        """Return its derivatives by thresholds, coefficients and logarithms of SDs, in one row."""
        upper, lower, *density, information = self._at_modes
        inverse = np.asarray(np.linalg.inv(information), dtype=np.float64)
        leverage = paired_sum(self.groups, inverse)
        slope = [
            of * (1 - 2 * special.expit(end))
            for of, end in zip(density, (upper, lower), strict=True)
        ]
        # By the logarithm of the determinant, whose matrix moves with the modes.
        turned = inverse @ self._by_effect(leverage * (slope[0] + slope[1]))
        moved = turned[self.groups].sum(axis=1)
        by_upper, by_lower = (
            score + (moved * of - leverage * rise) / 2
            for score, of, rise in zip(self._scores(), density, slope, strict=True)
        )
        n = len(self.thresholds) + 1
        by_threshold = np.bincount(self.chosen, by_upper, n)[:-1]
        by_threshold += np.bincount(self.chosen, by_lower, n)[1:]
        squares = self._precision * (self.modes**2 + inverse.diagonal() + turned * self.modes) - 1
        by_sd = [squares[np.unique(own)].sum() for own in self.groups.T]
        return np.concatenate([by_threshold, -self.design.T @ (by_upper + by_lower), by_sd])

    @cached_property
    def _parts(self) -> tuple[Array, Array, Array]:
        """Return the information of thresholds, coefficients and the effects of all factors but the
        last, with the variances known: of everything, of each level of the last `(levels, …)`, and
        these levels' scores."""
        upper, lower, *density, _ = self._at_modes
        n_others = int(self.groups[:, -1].min())
        place = np.eye(len(self.thresholds) + 2)[:, 1:-1]
        others = np.eye(len(self.start))[self.groups[:, :-1], :n_others].sum(axis=1)
        fixed = np.column_stack([self.design, others])
        ends = [np.column_stack([place[self.chosen + up], -fixed]) for up in (1, 0)]
        width = lower - upper
        curve = np.exp(width) / np.expm1(width) ** 2
        information, scores = [], []
        for rows in rows_by(self.groups[:, -1] - n_others):
            apart = ends[0][rows] - ends[1][rows]
            part, own = (apart.T * curve[rows]) @ apart, float(self._precision[-1])
            across = score = np.zeros(len(part))
            for end, weights, by_end in zip(ends, density, self._scores(), strict=True):
                end, weight = end[rows], weights[rows]
                part, own = part + (end.T * weight) @ end, own + weight.sum()
                across, score = across + weight @ end, score + by_end[rows] @ end
            information.append(part - np.outer(across, across) / own)
            scores.append(score)
        whole, k = np.sum(information, axis=0), len(self.parameters)
        whole[k:, k:] += np.diag(self._precision[:n_others])
        return whole, np.array(information), np.array(scores)

    @property
    def parameters(self) -> Array:
        """Return thresholds and coefficients in one row."""
        return np.append(self.thresholds, self.coefficients)

    def without_each_prompt(self) -> Array:
        """Return the parameters without each level of the last factor, by one Newton step that
        moves judges too: `(prompts, parameters)`, NaN where what is left does not tell of one."""
        whole, parts, scores = self._parts
        left = whole - parts
        known = np.linalg.cond(left) < _MOST_CONDITION
        steps = np.full(scores.shape, nan)
        beyond = scores - scores.mean(axis=0)
        steps[known] = np.linalg.solve(left[known], beyond[known][:, :, None])[:, :, 0]
        return np.asarray(self.parameters - steps[:, : len(self.parameters)])

    @cached_property
    def covariance(self) -> Array:
        """Return the covariance of thresholds and coefficients, by the observed information, from
        central differences of the gradient; an SD of nearly 0 is taken as known."""
        parameters = np.concatenate([self.thresholds, self.coefficients, self.log_sds])
        n = len(parameters) - len(self.log_sds)
        free = np.append(np.arange(n), n + np.flatnonzero(np.exp(self.log_sds) > _NO_VARIANCE))
        step, rows = 1e-4, []
        for place in free:
            by = step * (np.arange(len(parameters)) == place)
            rows.append(self._with(parameters + by).gradient - self._with(parameters - by).gradient)
        second = np.array(rows)[:, free] / (2 * step)
        return np.asarray(np.linalg.inv(-(second + second.T) / 2)[:n, :n])


@dataclass(frozen=True, slots=True)
class OrdinalMixedModel:
    """The fitted model.

    Attributes:
        systems: the highest first, by the log-odds of a higher rating by the same judge on the
            same prompt; their mean is 0.
        differences: of every two systems, the higher first.
        thresholds: from the lowest category up: where half of the ratings are above.
        sds: the standard deviations of the effects of judges and prompts, by name, in logits.
        log_likelihood: by Laplace's approximation.
    """

    systems: tuple[Element, ...]
    differences: tuple[Difference, ...]
    thresholds: tuple[Threshold, ...]
    sds: Mapping[str, float]
    log_likelihood: float


def ordinal_mixed_model(ratings: Ratings) -> OrdinalMixedModel:
    """Fit the cumulative logit model with random judges and prompts.

    How to read it: a system one logit above another has e times its odds of a rating above any
    category, by the same judge on the same prompt.

    Args:
        ratings: sources are systems. All dimensions with numbers enter, as fixed effects; values
            need not lie at equal distances.

    Raises:
        RaschError: the model cannot be estimated, or no judges link the systems; says why.
    """
    panel = ratings.without_controls().numeric()
    if ratings.lower_is_better:
        raise RaschError("ranks, not ratings")
    if panel.sources is None or panel.prompts is None:
        raise RaschError("no systems or no prompts")
    item, judge, dimension = np.nonzero(~np.isnan(panel.scores))
    values = panel.scores[item, judge, dimension]
    categories, chosen = np.unique(values, return_inverse=True)
    if not 1 < len(categories) <= MOST_CATEGORIES:
        raise RaschError(f"{len(categories):,} different values; 2 to {MOST_CATEGORIES} are fitted")
    names, of_item = encode_labels(panel.sources, len(panel.items))
    prompt_of = encode_labels(panel.prompts, len(panel.items))[1]
    system, prompt = of_item[item], prompt_of[item]
    if len(names) < 2 or len(np.unique(prompt)) < 2:
        raise RaschError("fewer than two systems or two prompts")
    count = np.bincount(system, minlength=len(names))
    for end in (0, len(categories) - 1):
        for place in np.flatnonzero(np.bincount(system, chosen == end, len(names)) == count):
            raise RaschError(f"all ratings of {names[place]} at one end of the scale")
    linked = _linked(system, judge, np.unique(prompt, return_inverse=True)[1])
    if not linked[-1]:
        raise RaschError("systems that no ratings by the same judges link")
    codes = {"judge": judge, "prompt": prompt}
    ranked = {name: np.unique(own, return_inverse=True)[1] for name, own in codes.items()}
    random = {name: own for name, own in ranked.items() if own.max()}
    design = np.column_stack([_contrasts(system), _contrasts(dimension)])
    try:
        fit = CumulativeLogit.fitted(chosen, design, [*random.values()])
    except (ArithmeticError, np.linalg.LinAlgError) as error:
        raise RaschError(
            "ratings that systems, judges and prompts determine almost fully: the likelihood has "
            "no finite maximum"
        ) from error
    clusters, n = ranked["prompt"], len(categories) - 1
    moved = fit.without_each_prompt()
    moved[~linked[:-1]] = nan
    part = slice(n, n + len(names) - 1)
    close = _contrasts(np.arange(len(names)))
    odds, of_each = close @ fit.parameters[part], moved[:, part] @ close.T
    own_names, none = [*map(str, names)], np.zeros(len(names), bool)
    measures, differences = sampled_elements(
        odds, of_each, system, clusters, "prompts", none, own_names
    )
    errors = np.sqrt(np.einsum("ij,jk,ik->i", close, fit.covariance[part, part], close))
    cells = means_by_cell(values, system, clusters, (len(names), clusters.max() + 1))
    systems = [
        Element(*own)
        for own in zip(
            own_names, measures, errors.tolist(), count.tolist(), mean_there(cells, 1).tolist(),
            strict=True,
        )
    ]  # fmt: skip
    systems.sort(key=lambda each: -each.measure.value)
    thresholds = thresholds_of(
        fit.thresholds, moved[:, :n], categories, np.bincount(chosen), "prompts"
    )
    return OrdinalMixedModel(
        tuple(systems), differences, thresholds,
        dict(zip(random, np.exp(fit.log_sds).tolist(), strict=True)), fit.log_likelihood,
    )  # fmt: skip


def _linked(system: IntArray, judge: IntArray, prompt: IntArray) -> Mask:
    """Return whether ratings link all systems where judges and prompts are taken as they are:
    without each prompt, and in the end with all of them, `(prompts + 1,)`."""
    n_systems, n_prompts = int(system.max()) + 1, int(prompt.max()) + 1
    columns = np.column_stack([np.eye(n_systems)[system], np.eye(int(judge.max()) + 1)[judge]])
    products = []
    for rows in rows_by(prompt):
        own = columns[rows] - columns[rows].mean(axis=0)
        products.append(own.T @ own)
    whole = np.sum(products, axis=0)
    linked = np.zeros(n_prompts + 1, bool)
    for place, without in enumerate([*products, np.zeros_like(whole)]):
        sizes, directions = np.linalg.eigh(whole - without)
        free = directions[:n_systems, sizes < _NONE * max(1.0, sizes[-1])]
        # What moves all systems alike is no difference.
        linked[place] = np.ptp(free, axis=0).max(initial=0.0) < _APART
    return linked


def _contrasts(codes: IntArray) -> Array:
    """Return a column for each level but the last, whose effects sum to 0."""
    n = int(codes.max()) + 1
    return np.vstack([np.eye(n - 1), -np.ones((1, n - 1))])[codes]
