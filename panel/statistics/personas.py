"""Personas beside the panel, axes and models of judges beside each other, on the same responses.

A rating is compared with those that the same model gave to the same response for other personas;
axes inside a model, models inside a persona. A difference is averaged over that, over the responses
to a prompt and over prompts. Inside a response, with severity taken out, the variance between
personas beyond what models of one persona differ by is (SS_personas − (personas − 1) · MS_residual)
/ k: S. R. Searle, G. Casella & C. E. McCulloch (1992), *Variance Components*, sections 4.4 and 5.5
(Henderson's third method). The test over dimensions: G. E. P. Box (1954), "Some theorems on
quadratic forms applied in the study of analysis of variance problems", and B. H. McArdle & M. J.
Anderson (2001), "Fitting multivariate models to community data"; it is made with the response's own
noise and with that of all responses, and the larger p-value counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import isnan, nan, pi

import numpy as np

from persona_panel.statistics.core import special
from persona_panel.statistics.core.arrays import (
    ROUNDING,
    Array,
    Labels,
    Mask,
    Random,
    Reason,
    divide,
    encode_labels,
    group_count,
    mean_there,
    means_by,
    means_by_cell,
)
from persona_panel.statistics.core.estimate import LEVEL, OVER, Difference, Estimate
from persona_panel.statistics.core.means import critical_t
from persona_panel.statistics.core.sampled_mean import influence_of, mean_and_levels, sampled_mean
from persona_panel.statistics.core.significance import holm, holm_adjusted


@dataclass(frozen=True, slots=True, eq=False)
class PersonaCells:
    """Ratings with personas crossed with columns.

    Attributes:
        values: `(responses, personas, columns, terms)`, NaN where there is none. Columns are the
            models, replicates averaged; of one model its replicates.
        personas, models: their names.
    """

    values: Array
    personas: tuple[str, ...]
    models: tuple[str, ...]

    @classmethod
    def of(cls, ratings: Array, personas: Sequence[str], models: Sequence[str]) -> PersonaCells:
        """Arrange ratings `(responses, judges, terms)` by the persona and the model of each
        judge."""
        n, n_judges, n_terms = ratings.shape
        names, persona = encode_labels(personas, n_judges)
        of_models, model = encode_labels(models, n_judges)
        column = model
        if len(of_models) == 1:
            # The replicates of a persona, in their order.
            column = np.array(
                [np.sum(persona[:judge] == persona[judge]) for judge in range(n_judges)]
            )
        shape = (n, len(names), group_count(column), n_terms)
        # Judge by judge: of a large run, each further copy of all ratings is much memory.
        values, counts = np.zeros(shape), np.zeros(shape, dtype=np.uint16)
        for judge in range(n_judges):
            there = ~np.isnan(ratings[:, judge])
            values[:, persona[judge], column[judge]] += np.where(there, ratings[:, judge], 0.0)
            counts[:, persona[judge], column[judge]] += there
        values[counts == 0] = np.nan
        np.divide(values, counts, out=values, where=counts > 1)
        return cls(values, tuple(map(str, names)), tuple(map(str, of_models)))

    @property
    def whole(self) -> Array:
        """Return the mean over terms `(responses, personas, columns)`, NaN where one is missing or
        there is no term."""
        return divide(self.values.sum(axis=3), self.values.shape[3])


def departures(values: Array) -> Array:
    """Return how far each persona's rating is above the mean of all personas' by the same model on
    the same response, in the shape of `values`, `(responses, personas, columns, …)`; NaN where
    there is no rating, or no other persona's."""
    counts = (~np.isnan(values)).sum(axis=1, keepdims=True)
    return np.where(counts > 1, values - mean_there(values, 1, keepdims=True), np.nan)


def without_severity(values: Array) -> Array:
    """Return departures less the judge's median departure over all responses."""
    from_panel = departures(values)
    known = (~np.isnan(from_panel)).any(axis=0)
    severity = np.full(from_panel.shape[1:], np.nan)
    # numpy's nanmedian goes through the columns one by one, which takes ten times as long.
    median = np.nanmedian if np.isnan(from_panel).any() else np.median
    severity[known] = median(from_panel[:, known], axis=0)
    return from_panel - severity[None]


@dataclass(frozen=True, slots=True)
class Departure(Estimate):
    """The difference between a persona and the panel on the same texts, in points, less the
    persona's over all systems (or dimensions) of the prompt; the difference itself where it is of
    all of them. With its interval over prompts, judges fixed. `on` is the system or the dimension,
    empty where it is all; `departure` the persona's mean minus the panel's, over prompts."""

    persona: str = ""
    on: str = ""
    departure: float = nan


def severities(cells: PersonaCells, prompts: Labels) -> list[Departure]:
    """Return how lenient each persona is: its departure over all responses, on the mean of the
    terms."""
    return _tested(
        cells, mean_there(departures(cells.whole), 2)[..., None], ("",), prompts, severity=True
    )


def departures_by_system(
    cells: PersonaCells, systems: Sequence[str], prompts: Labels
) -> list[Departure]:
    """Return personas by systems, on the mean of the terms: how far a persona departs on a system
    from its departure on the others. Systems are in order of appearance; of one system nothing is
    beyond severity."""
    names, system = encode_labels(systems, len(cells.values))
    own = np.where(np.eye(len(names), dtype=bool)[system][:, None], 1.0, np.nan)
    seen = mean_there(departures(cells.whole), 2)[..., None] * own
    reason = Reason.FEW_SYSTEMS if len(names) < 2 else None
    return _tested(cells, seen, tuple(map(str, names)), prompts, reason)


def departures_by_dimension(
    cells: PersonaCells, dimensions: Sequence[str], prompts: Labels, *, one_scale: bool = True
) -> list[Departure]:
    """Return personas by dimensions, the terms of `cells`: how far a persona departs on a dimension
    from its departure on the others. Dimensions on different scales have departures and no test."""
    reason = Reason.FEW_DIMENSIONS if len(dimensions) < 2 else None
    if reason is None and not one_scale:
        reason = Reason.OTHER_SCALE
    return _tested(cells, mean_there(departures(cells.values), 2), dimensions, prompts, reason)


def _tested(
    cells: PersonaCells,
    seen: Array,
    on: Sequence[str],
    prompts: Labels,
    reason: Reason | None = None,
    *,
    severity: bool = False,
) -> list[Departure]:
    """Test departures `(responses, personas, on)` against 0, less those on the other columns."""
    table = means_by(seen, encode_labels(prompts, len(seen))[1])
    if len(cells.personas) < 2:
        reason = Reason.FEW_PERSONAS
    beyond = table
    if not severity:
        several = (~np.isnan(table)).sum(axis=2, keepdims=True) > 1
        beyond = np.where(several, table - mean_there(table, 2, keepdims=True), np.nan)
    if reason is not None:
        beyond = np.full(table.shape, np.nan)
    means = mean_there(table, 0)
    tested = [
        sampled_mean(beyond[:, p, c]).as_a(
            Departure, persona=persona, on=column, departure=float(means[p, c])
        )
        for p, persona in enumerate(cells.personas)
        for c, column in enumerate(on)
    ]
    return holm_adjusted([replace(each, reason=reason or each.reason) for each in tested])


@dataclass(frozen=True, slots=True)
class ContestedResponse(Estimate):
    """The disagreement of personas about a response: the standard deviation between personas beyond
    noise, root mean square over dimensions, in points; 0 where they differ by no more than noise,
    of which is the p-value, adjusted by Holm over all responses.

    Attributes:
        response: its place among the responses.
        by_dimension: the same of each dimension, NaN where it cannot be estimated.
        share: of the variance between judges, severity taken out, what lies between personas.
    """

    response: int = 0
    by_dimension: tuple[float, ...] = ()
    share: float = nan


@dataclass(frozen=True, slots=True, eq=False)
class ResponseDepartures:
    """The difference of each persona from the panel on each response, severity taken out.

    Attributes:
        departures: `(responses, personas)` in points, on the mean of the dimensions.
        by_dimension: `(responses, personas, dimensions)`.
        chance: `(responses, personas)`, what noise alone exceeds in 5 % of the cells.
        p, p_adjusted: `(responses, personas)`; by Holm over all of them.
        reason: why noise is unknown; `chance` and p-values are NaN then.
    """

    departures: Array
    by_dimension: Array
    chance: Array
    p: Array
    p_adjusted: Array
    reason: Reason | None

    @property
    def shown(self) -> Mask:
        """Return the cells that noise does not explain `(responses, personas)`, corrected over
        all."""
        return self.p_adjusted < LEVEL

    @property
    def beyond_chance(self) -> Mask:
        """Return the cells beyond `chance`, each tested alone: noise alone would give 5 %."""
        return np.abs(np.nan_to_num(self.departures)) > self.chance


def contested_responses(cells: PersonaCells) -> list[ContestedResponse]:
    """Return every response: first those on which personas differ by more than noise, in each part
    the widest spread first, then in the order given."""
    n, _, _, n_terms = cells.values.shape
    tables = _tables(cells, without_severity(cells.values))
    if isinstance(tables, Reason):
        none = ContestedResponse(nan, reason=tables, by_dimension=(nan,) * n_terms)
        return [replace(none, response=i) for i in range(n)]
    p_values = tables.p_values()
    adjusted = holm(p_values)
    components = tables.components
    spreads = np.sqrt(np.maximum(mean_there(components, 1), 0))
    shares = divide(spreads**2, spreads**2 + mean_there(tables.mean_squares, 1))
    contested = [
        ContestedResponse(
            float(spreads[i]),
            p=float(p_values[i]),
            p_adjusted=float(adjusted[i]),
            reason=Reason.FEW_RATERS if isnan(p_values[i]) else None,
            response=i,
            by_dimension=tuple(np.sqrt(np.maximum(components[i], 0)).tolist()),
            share=float(shares[i]),
        )
        for i in range(n)
    ]
    return sorted(contested, key=lambda each: (not each.shown, -np.nan_to_num(each.value, nan=-1)))


def response_departures(cells: PersonaCells) -> ResponseDepartures:
    """Return how far each persona departs from the panel on each response."""
    by_dimension = mean_there(without_severity(cells.values), 2)
    whole = without_severity(cells.whole)
    apart = mean_there(whole, 2)
    tables = _tables(cells, whole[..., None])
    if isinstance(tables, Reason):
        none = np.full(apart.shape, nan)
        return ResponseDepartures(apart, by_dimension, none, none, none, tables)
    there = ~np.isnan(whole)
    # A persona's mean over its columns, less the mean of the personas of each.
    n_columns, n_personas = there.sum(axis=2), there.any(axis=2).sum(axis=1, keepdims=True)
    share = divide(1.0, n_columns) * (1 - divide(1.0, n_personas))
    p = np.zeros(apart.shape)
    for noise, df in ((tables.noise, tables.pooled_df), (tables.mean_squares, tables.residual_df)):
        error = np.sqrt(noise * share)
        at_zero = np.where(np.abs(apart) > ROUNDING, 0.0, 1.0)
        of_noise = 2 * special.stdtr(df, -divide(np.abs(apart), error))
        p = np.maximum(p, np.where(error > 0, of_noise, at_zero))
    signs = np.where(np.abs(whole) > ROUNDING, np.sign(whole), 0).sum(axis=2)
    one_side = (n_columns > 1) & (np.abs(signs) == n_columns)
    p = np.where(np.isnan(apart), nan, np.where(one_side, p, 1.0))
    chance = critical_t(tables.pooled_df.item()) * np.sqrt(tables.noise.item() * share)
    return ResponseDepartures(
        apart, by_dimension, chance, p, holm(p.ravel()).reshape(p.shape), None
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Tables:
    """The analysis of variance of each response and dimension, `(responses, dimensions)`."""

    personas: Array
    residual: Array
    persona_df: Array
    residual_df: Array
    k: Array
    left: Array
    kept: float

    @property
    def mean_squares(self) -> Array:
        """Return the residual mean squares."""
        return divide(self.residual, self.residual_df * self.kept)

    @property
    def pooled_df(self) -> Array:
        """Return the pooled degrees of freedom `(dimensions,)`."""
        return self.residual_df.sum(axis=0) * self.kept

    @property
    def noise(self) -> Array:
        """Return the residual mean square over all responses `(dimensions,)`."""
        return np.nan_to_num(divide(self.residual.sum(axis=0), self.pooled_df))

    @property
    def components(self) -> Array:
        """Return the variance between personas, also below 0, NaN where it cannot be estimated."""
        explained = self.persona_df * divide(self.residual, self.residual_df)
        return divide(self.personas - explained, self.k * self.kept)

    def p_values(self) -> Array:
        """Return the p-value of each response `(responses,)`, NaN where no dimension has a test."""
        tested = (self.persona_df > 0) & (self.residual_df > 0)
        covariance = self.left.T @ self.left
        shrink = divide(np.trace(covariance) ** 2, np.sum(covariance**2)).item()

        def total(values: Array) -> Array:
            return np.where(tested, values, 0.0).sum(axis=1)

        def df(each: Array) -> Array:
            return total(each) / np.maximum(tested.sum(axis=1), 1) * shrink

        between = total(divide(self.personas, self.persona_df * self.kept))
        at_zero = np.where(between > ROUNDING, 0.0, 1.0)
        p = np.where(tested.any(axis=1), 0.0, nan)
        for noise, own_df in (
            (total(self.mean_squares), df(self.residual_df)),
            (total(self.noise), df(self.pooled_df)),
        ):
            of_noise = special.fdtrc(df(self.persona_df), own_df, divide(between, noise))
            p = np.maximum(p, np.where(noise > ROUNDING, of_noise, at_zero))
        return p


def _tables(cells: PersonaCells, seen: Array) -> _Tables | Reason:
    """Return the analyses of variance of `(responses, personas, columns, dimensions)`; the reason
    why there is no noise to compare with, where there is none."""
    n, n_personas, n_columns, n_terms = seen.shape
    if not cells.values.shape[3]:
        return Reason.NO_NUMBERS
    if n_personas < 2:
        return Reason.FEW_PERSONAS
    if n_columns < 2:
        return Reason.NOISE_UNKNOWN
    if n < 2:
        return Reason.FEW_RESPONSES
    # A copy, which becomes the residuals: of a large run, each further one is much memory.
    left = seen.transpose(0, 3, 1, 2).copy().reshape(n * n_terms, n_personas * n_columns)
    del seen
    there = ~np.isnan(left)
    sums = np.zeros((5, n * n_terms))
    _, first, of_pattern = np.unique(
        np.packbits(there, axis=1), axis=0, return_index=True, return_inverse=True
    )
    for place, pattern in enumerate(there[first]):
        rows = np.flatnonzero(of_pattern.ravel() == place)
        if not pattern.any():
            continue
        by_persona = np.repeat(np.eye(n_personas), n_columns, axis=0)[pattern]
        by_column = np.tile(np.eye(n_columns), (n_personas, 1))[pattern]
        columns, both = _basis(by_column), _basis(np.hstack([by_column, by_persona]))
        cells_of = np.ix_(rows, np.flatnonzero(pattern))
        y = left[cells_of]
        explained = ((y @ both) ** 2).sum(axis=1)
        own = by_persona - columns @ (columns.T @ by_persona)
        sums[0, rows] = explained - ((y @ columns) ** 2).sum(axis=1)
        y -= (y @ both) @ both.T
        left[cells_of] = y
        sums[1, rows] = (y**2).sum(axis=1)
        sums[2, rows] = both.shape[1] - columns.shape[1]
        sums[3, rows] = pattern.sum() - both.shape[1]
        sums[4, rows] = np.sum(by_persona * own)
    left[~there] = 0.0
    shaped = left.reshape(n, n_terms, -1).transpose(0, 2, 1).reshape(-1, n_terms)
    personas, residual, persona_df, residual_df, k = sums.reshape(5, n, n_terms)
    tables = _Tables(personas, residual, persona_df, residual_df, k, shaped, _kept(n))
    return tables if (tables.noise > ROUNDING).any() else Reason.NOISE_ZERO


def _kept(n: int) -> float:
    """Return the share of a variance that is left in `n` values from their median."""
    return 1 - 2 / n + pi / (2 * n + (1 if n % 2 else 2.5)) if n > 2 else 0.5


def _basis(design: Array) -> Array:
    vectors, sizes, _ = np.linalg.svd(design, full_matrices=False)
    return vectors[:, sizes > ROUNDING * max(1.0, float(sizes.max(initial=0)))]


ALL_SYSTEMS = "all"


@dataclass(frozen=True, slots=True, eq=False)
class PairedResponses:
    """The difference of groups `a` and `b` on each response `(responses,)`, NaN where one of them
    did not rate it; `moved` is, for each factor that judges are sampled by, how far each of its
    levels moves it `(responses, levels)`."""

    a: str
    b: str
    difference: Array
    moved: tuple[Array, ...]


@dataclass(frozen=True, slots=True)
class GroupDifference(Difference):
    """The difference a − b of two groups of judges, over the prompts that both rated, in points; of
    an interaction, that on the system less that on the mean of the others in the prompt. It is on a
    `dimension` and a `system`; `composite` and `all` for the whole. Of strata of texts or
    dimensions it is `a` less the mean of the others, and `b` and `dimension` are empty."""

    dimension: str = ""
    system: str = ""


def axis_pair(values: Array, a: str, b: str, axes: Sequence[str]) -> PairedResponses:
    """Compare personas of axis `a` with those of `b` on values `(responses, personas, columns)`;
    see `PersonaCells`. `axes` has the axis of each persona."""
    sides = [values[:, [axis == name for axis in axes]] for name in (a, b)]
    means = [mean_there(side, 1) for side in sides]
    by_column = means[0] - means[1]
    shared = ~np.isnan(by_column)
    n_columns = shared.sum(axis=1, keepdims=True)
    of_columns = influence_of(by_column[..., None])
    moved = [
        np.nan_to_num(divide(sign * shared.shape[1] * influence_of(own), n_columns))
        for sign, side in zip((1, -1), sides, strict=True)
        for own in (np.where(shared[:, None], side, nan),)
    ]
    return PairedResponses(a, b, mean_there(by_column, 1), (*moved, of_columns))


def model_pair(values: Array, a: str, b: str, models: Sequence[str]) -> PairedResponses:
    """Compare model `a` with model `b`, persona by persona; args as for `axis_pair`, and the model
    of each column."""
    by_persona = values[:, :, models.index(a)] - values[:, :, models.index(b)]
    moved = influence_of(by_persona[..., None])
    return PairedResponses(a, b, mean_there(by_persona, 1), (moved,))


def pairwise_differences(
    pairs: Sequence[tuple[str, PairedResponses]],
    systems: Sequence[str],
    prompts: Labels,
    *,
    random: Random = "prompts",
    interaction: bool = False,
) -> list[GroupDifference]:
    """Return the differences of these pairs, each with its dimension, over all systems and on each
    of several.

    Args:
        random: what intervals and p-values take as a sample.
        interaction: instead, for each system, how far the difference on it is from that on the mean
            of the others in the prompt: whether the two see systems differently.
    """
    n = len(systems)
    names, system = encode_labels(systems, n)
    prompt_names, prompt = encode_labels(prompts, n)

    def table(values: Array) -> Array:
        """Return means of values `(responses, …)` by prompt and system."""
        return means_by_cell(values, prompt, system, (len(prompt_names), len(names)))

    each: list[int | None] = [*range(len(names))] if len(names) > 1 else []
    differences = []
    for dimension, pair in pairs:
        whole = table(pair.difference)
        there = (~np.isnan(whole)).astype(np.float64)
        moved = [np.nan_to_num(table(of)) for of in pair.moved] if random != "prompts" else None
        for column in each if interaction else [None, *each]:
            # The weight of each system in each prompt, NaN without a value.
            own = there if column is None else there * np.eye(len(names))[column]
            weights = divide(own, own.sum(axis=1, keepdims=True))
            if interaction:
                weights -= divide(there - own, (there - own).sum(axis=1, keepdims=True))
            scores = np.sum(weights * np.nan_to_num(whole), axis=1)
            known = np.nan_to_num(weights)[:, :, None]
            levels = None if moved is None else [np.sum(known * of, axis=1) for of in moved]
            differences.append(
                mean_and_levels(scores, levels).as_a(
                    GroupDifference, over=OVER[random], a=pair.a, b=pair.b, dimension=dimension,
                    system=ALL_SYSTEMS if column is None else str(names[column]),
                )
            )  # fmt: skip
    return holm_adjusted(differences)
