"""Ratings as arrays `(items, raters)`, NaN where missing; statistics and resamples of them.

A resample, such as the items without one prompt, is a row of weights: how often each item is in it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from math import inf, isnan, nan, prod
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    from persona_panel.statistics.core.jackknife import Interval

Array = NDArray[np.float64]
IntArray = NDArray[np.intp]
Mask = NDArray[np.bool_]

Labels = Sequence[Hashable] | NDArray[Any]
"""One label an item: its prompt, its source, its cluster."""

Resampled = Callable[[Array], Array]
"""From weights `(resamples, items)` to the statistic of each resample `(resamples,)`,
NaN where a resample leaves it undefined."""

EstimateKind = Literal[
    "mean",
    "share",
    "mean_correlation",
    "correlation",
    "difference",
    "mean_difference",
    "skewed_difference",
    "kappa",
    "alpha",
    "entropy",
    "number",
]
"""The kind of a statistic, which decides how its interval is formed: the `mean` of the clusters'
values, a `share` in [0, 1] that is such a mean, the `mean_correlation` of the correlations inside
clusters, a `correlation` in [−1, 1] over all of them, the `difference` of two such
figures, the `mean_difference` of two correlations inside each cluster (`skewed_difference`, of a
panel's and one human's), agreement beyond chance without an order (`kappa`), Krippendorff's α
of ordered values (`alpha`), an `entropy`, or any other `number`."""

ROUNDING = 1e-9
"""The relative size below which a value is taken for the rounding of sums."""

NEAR_ZERO = 6
"""A mean is near 0 where it is less than the largest value over this power of two."""


def as_ratings(ratings: ArrayLike) -> Array:
    """Return ratings as float64 `(items, raters)`."""
    return _finite(ratings, "ratings", ("items", "raters"))


def as_scores(scores: ArrayLike) -> Array:
    """Return one rater's scores as float64 `(items,)`."""
    return _finite(scores, "scores", ("items",))


def _finite(values: ArrayLike, what: str, axes: tuple[str, ...]) -> Array:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != len(axes):
        shape = str(axes).replace("'", "")
        raise ValueError(f"{what} have the shape {shape}, found {array.shape}")
    if np.isinf(array).any():
        place = zip(axes, np.argwhere(np.isinf(array))[0], strict=True)
        where = ", ".join(f"{axis.removesuffix('s')} {index}" for axis, index in place)
        raise ValueError(f"{what} are finite, but not that of {where}")
    return array


def paired_scores(x: ArrayLike, y: ArrayLike) -> tuple[Array, Array, Mask]:
    """Return two raters' scores as float64 `(items,)`, and the items that both scored."""
    first, second = as_scores(x), as_scores(y)
    if first.shape != second.shape:
        raise ValueError(f"{len(first)} scores cannot be paired with {len(second)}")
    return first, second, ~(np.isnan(first) | np.isnan(second))


def encode_labels(labels: Labels | None, n_items: int) -> tuple[tuple[Hashable, ...], IntArray]:
    """Return the distinct labels in order of appearance, and each item's index among them."""
    if labels is None:
        return (None,), np.zeros(n_items, dtype=np.intp)
    if len(labels) != n_items:
        raise ValueError(f"{len(labels)} labels for {n_items} items")
    places: dict[Hashable, int] = {}
    codes = [places.setdefault(label, len(places)) for label in labels]
    return tuple(places), np.asarray(codes, dtype=np.intp)


def group_count(codes: IntArray) -> int:
    """Return how many groups these codes, from 0 on, are of; a code of −1 is of none."""
    return int(codes.max(initial=-1)) + 1


def items_by_label(labels: Labels | None, n_items: int) -> Iterator[tuple[Hashable, IntArray]]:
    """Yield each label with the indices of its items."""
    names, codes = encode_labels(labels, n_items)
    for code, name in enumerate(names):
        yield name, np.flatnonzero(codes == code)


def row_means(ratings: Array) -> Array:
    """Return each item's mean over the raters who rated it, free of the rounding of sums, so that
    equal means tie; NaN where nobody rated it.

    >>> row_means(np.array([[1.0, 3.0], [np.nan, 2.0]])).tolist()
    [2.0, 2.0]
    """
    return without_rounding(mean_there(ratings, 1), ratings)


def mean_there(values: Array, axis: int, *, keepdims: bool = False) -> Array:
    """Return the mean over an axis of the values that are not NaN, NaN where there are none."""
    there = ~np.isnan(values)
    sums = np.where(there, values, 0.0).sum(axis=axis, keepdims=keepdims)
    return divide(sums, there.sum(axis=axis, keepdims=keepdims))


def variance_there(values: Array, axis: int) -> Array:
    """Return the variance (n − 1) over an axis of the values that are not NaN, NaN of fewer than
    two."""
    n = (~np.isnan(values)).sum(axis=axis)
    squares = np.nansum((values - mean_there(values, axis, keepdims=True)) ** 2, axis=axis)
    return divide(squares, np.where(n > 1, n - 1, np.nan))


def means_by(values: Array, codes: IntArray, n: int | None = None) -> Array:
    """Return the mean of values `(items, …)` in each of `n` groups, NaN left out: `(n, …)`."""
    n = group_count(codes) if n is None else n
    there = ~np.isnan(values)
    width = prod(values.shape[1:])
    cells = (codes[:, None] * width + np.arange(width)).ravel()
    sums, counts = (
        np.bincount(cells, each.ravel(), n * width).reshape(n, *values.shape[1:])
        for each in (np.where(there, values, 0.0), there.astype(np.float64))
    )
    return divide(sums, counts)


def means_by_cell(
    values: Array, rows: IntArray, columns: IntArray, shape: tuple[int, int]
) -> Array:
    """Return the mean of values `(items, …)` by row and column, as `means_by`: `(*shape, …)`."""
    means = means_by(values, rows * shape[1] + columns, shape[0] * shape[1])
    return means.reshape(*shape, *values.shape[1:])


def rows_of(scores: Array, items: Sequence[str], wanted: Sequence[str]) -> Array:
    """Return the rows of `scores` `(items, …)` of the wanted items, in their order; NaN for items
    that have no scores."""
    place = {name: row for row, name in enumerate(items)}
    there = [row for row, name in enumerate(wanted) if name in place]
    rows = np.full((len(wanted), *scores.shape[1:]), np.nan)
    rows[there] = scores[[place[wanted[row]] for row in there]]
    return rows


def without_rounding(means: Array, of: Array) -> Array:
    """Round each mean to 12 decimals of the power of two above it, and merge means that are closer
    than that: equal means are then equal floats. No mean has more decimals than a 64th of the
    largest value has.

    Args:
        means: of any shape.
        of: the values that they are means of, of any shape, NaN where missing.
    """
    # Powers of two lose nothing, no magnitude overflows, and no mean but those near 0 depends on
    # another.
    least = np.frexp(np.max(np.abs(np.nan_to_num(of)), initial=0))[1] - NEAR_ZERO
    # Merge first: a mean in the middle between two numbers of 12 decimals could become either.
    merged = _merged(means, np.ldexp(1e-12, np.maximum(np.frexp(means)[1], least)))
    fraction, own = np.frexp(merged)
    exponent = np.maximum(own, least)
    return np.ldexp(np.round(np.ldexp(fraction, own - exponent), 12), exponent)


def _merged(values: Array, widths: Array) -> Array:
    order = np.argsort(values, axis=None)
    rising = values.ravel()[order]
    is_first = np.ones(rising.size, dtype=np.bool_)
    # Not "above": each NaN, which come last, stays separate.
    is_first[1:] = ~(np.diff(rising) < widths.ravel()[order][1:])
    merged = np.empty(rising.size)
    merged[order] = rising[is_first][np.cumsum(is_first) - 1]
    return merged.reshape(values.shape)


def has_ratings(ratings: Array, least: int = 1) -> Mask:
    """Return whether at least `least` raters rated an item `(items,)`."""
    return np.sum(~np.isnan(ratings), axis=1) >= least


def count_raters(ratings: Array) -> int:
    """Return how many raters rated anything of `(items, raters)`."""
    return int((~np.isnan(ratings)).any(axis=0).sum())


def divide(numerator: ArrayLike, denominator: ArrayLike) -> Array:
    """Return the quotient, NaN where the denominator is zero or either is NaN."""
    bottom = np.asarray(denominator, dtype=np.float64)
    quotient = np.divide(numerator, np.where(bottom != 0, bottom, np.nan), order="C")
    return np.asarray(quotient, dtype=np.float64)


def scaled_to_unit(x: Array, axis: int | None = None) -> Array:
    """Divide `x`, or what lies along each line of an axis, by a power of two that brings its
    largest magnitude below one, which is exact."""
    _, exponent = np.frexp(np.max(np.abs(x), axis=axis, initial=0, keepdims=True))
    return np.ldexp(x, -exponent)


def count_by_item(ratings: Array, values: Array) -> Array:
    """Return how often each of `values` (ascending, all that occur) is among an item's ratings:
    `(items, values)`."""
    items, raters = np.nonzero(~np.isnan(ratings))
    cells = items * len(values) + np.searchsorted(values, ratings[items, raters])
    flat = np.bincount(cells, minlength=len(ratings) * len(values))
    return flat.reshape(len(ratings), len(values)).astype(np.float64)


def defined_mean(values: Array) -> float:
    """Return the mean of the values that are not NaN, NaN where all are."""
    there = values[~np.isnan(values)]
    return float(there.mean()) if len(there) else np.nan


def effective_number(weights: Array) -> Array:
    """Return the number of equal weights that those along the first axis are worth: (Σw)² / Σw²
    (L. Kish 1965); NaN where all are 0."""
    return divide(weights.sum(axis=0) ** 2, (weights**2).sum(axis=0))


def undefined_everywhere(weights: Array) -> Array:
    """Return NaN for each resample: a statistic of nothing."""
    return np.full(len(weights), nan)


def mean_of(functions: Sequence[Resampled]) -> Resampled:
    """Return the mean of several statistics in each resample, over those defined in it."""
    if not functions:
        return undefined_everywhere
    return lambda weights: mean_there(np.array([function(weights) for function in functions]), 0)


def difference_of(first: Resampled, second: Resampled) -> Resampled:
    """Return the first statistic less the second in each resample, NaN where one of them is."""
    return lambda weights: first(weights) - second(weights)


def resampled_ratio(parts: Array, wholes: Array) -> Resampled:
    """Return the sum over items of `parts` by that of `wholes`, both `(items,)`, which no resample
    changes: an item counts as often as it is drawn."""
    return lambda weights: divide(weights @ parts, weights @ wholes)


def resampled_mean(values: Array) -> Resampled:
    """Return the mean over items of values `(items,)` that no resample changes, NaN left out."""
    return resampled_ratio(np.nan_to_num(values), 1.0 - np.isnan(values))


def unit_weights(n_items: int) -> Array:
    """Return the weights of the data themselves: one resample that holds every item once."""
    return np.ones((1, n_items))


def value_of(statistic: Resampled, n_items: int) -> float:
    """Return a statistic of all items, each once."""
    return float(statistic(unit_weights(n_items))[0])


class Reason(StrEnum):
    """The reason why a statistic is undefined. Undefined is undefined: never 0, 1 or a warning."""

    FEW_RATERS = "fewer than two raters"
    FEW_PEOPLE = "fewer than two people"
    FEW_PERSONAS = "fewer than two personas"
    FEW_SYSTEMS = "fewer than two systems"
    FEW_DIMENSIONS = "fewer than two dimensions with numbers"
    NO_NUMBERS = "no dimension with numbers"
    FEW_RESPONSES = "fewer than two responses"
    NOISE_UNKNOWN = (
        "with one model and one replicate, differences between personas cannot be separated from "
        "noise; it takes a second model or replicate"
    )
    NOISE_ZERO = "models or replicates never differ, so noise cannot be estimated"
    FEW_ITEMS = "fewer than two items"
    FEW_PROMPTS = "no prompt has a defined value"
    ONE_ITEM_A_PROMPT = "no prompt has two items"
    FEW_CLUSTERS = "an interval needs two prompts, or two items without prompts"
    FEW_FOR_A_NUMBER = "fewer than five prompts or 20 items"
    FEW_FOR_A_CORRELATION = "fewer than five prompts or 8 items"
    NO_RANKINGS_BY_PROMPT = "its interval is over prompts: items need prompts, at least five"
    FEW_JUDGES = "an interval over judges, too, needs at least five judges"
    SAME_JUDGES = "an interval over judges, too, needs judges who differ in persona or model"
    NO_COMMON_FACTOR = (
        "the two panels have neither the same personas nor the same models, so their judges are "
        "not a common sample"
    )
    UNDEFINED_ESTIMATE = "the statistic is undefined"
    UNDEFINED_WITHOUT_ONE = "the statistic is undefined without one of the prompts or judges"
    NOT_THE_VALUE = "the resampling function gives another value of all items"
    OUTSIDE_LIMITS = "the value lies outside the limits that its statistic states"
    NOT_HELD = "the interval that came with the value does not hold it"
    DECLINES = "more than half of its judgments are abstentions"
    FEW_SOURCES = "fewer than two sources"
    TWO_SOURCES = "two sources only, whose correlation is always 1 or -1"
    NO_RATINGS = "no ratings"
    NO_SHARED_ITEMS = "no shared items"
    NO_SHARED_RATINGS = "no prompt has ratings of both"
    NO_SHARED_JUDGES = "no judge rated both on the same prompt"
    COMPARED = "responses were compared, not rated"
    NO_COMPLETE_RATERS = "fewer than two raters rated every item"
    NO_OVERLAP = "raters share too few items for their rankings to be compared"
    NO_PAIRS = "no pair of raters shares enough items"
    FEW_SHARED = (
        "no two people rated enough items in common (50, unless another number is asked for)"
    )
    FEW_FOR_A_CORRECTION = "people rated fewer than eight prompts, too few for a correction"
    FEW_EXCEPTIONS = (
        "on all of the rated prompts, or all but one or two, people's ratings are alike or follow "
        "the panel's exactly, which does not show how often it errs: people alone are used"
    )
    SHARES_DIFFER = (
        "people rated a larger share of some prompts than of others, and no inclusion_probability "
        "is given: without it this is unbiased only where items were drawn at random"
    )
    FEW_TO_LEARN = "people rated fewer than ten prompts (or items), too few to learn from"
    PEOPLE_DISAGREE = (
        "the reliability of people's mean is not shown to be above 0.25, so people do not agree "
        "enough to learn from"
    )
    ONE_JUDGE = "the panel has a single judge"
    FEW_COMPLETE = (
        "fewer than ten prompts have an item that people and every judge rated, too few to compare "
        "judges"
    )
    NOT_RATED_BY_PEOPLE = "people rated nothing of it"
    FEW_ITEMS_A_PERSON = "no person rated 30 items that the judge and another person rated, too"
    FEW_PROMPTS_A_PERSON = "no person rated such items of five prompts"
    NOT_ASSURED = "no number of new items shows it with a probability of 80 %"
    NO_MAJORITY = "no item has a majority of labels on each side"
    NO_COMPARISONS = "no pair of items that the reference tells apart"
    ONE_VALUE = "one-value domain"
    CONSTANT_RATER = "constant rater"
    NO_ERROR_TERM = "too few ratings to tell items, raters and error apart"
    NO_VARIANCE = "no variance"
    NO_SPREAD = "no spread over prompts, so its uncertainty cannot be estimated"
    ONE_OFF_THE_END = (
        "all prompts but one lie at an end of the scale, so its uncertainty cannot be estimated"
    )
    NOT_POSITIVE = "the variances do not add up to a positive total"
    NOT_CORRELATED = "the mean correlation of pairs is not above 0"
    NOISE_ABOVE_ERRORS = (
        "people's mean is so noisy, or judges are so near to it, that their errors cannot be "
        "separated from its noise"
    )
    UNKNOWN_NOISE = "the noise of people's mean cannot be estimated"
    UNRELIABLE_REFERENCE = "people's mean has no reliability above 0"
    NOT_RELIABLE = "the reliability of a single rating, ICC(2,1), is not above 0"
    NOT_REACHED = "no smaller panel is shown to keep the ranking"
    FEW_TO_CHOOSE = "choosing judges takes 20 prompts (or items) and 60 items"
    ONE_LEVEL = "one level only"
    ONE_STRATUM = "fewer than two strata have an interval, so there is nothing to compare with"
    FEW_SHARED_PROMPTS = "fewer than five prompts have texts of both kinds"
    IN_RESIDUAL = "no cell has several ratings, so it is in the residual"
    SPARSE = "a judge rated fewer than half of the items"
    NO_LENGTHS = "the lengths of the responses are not known"
    NO_BOTH_ORDERS = "no comparison in both orders"
    NO_OWN_FAMILY = "no response is known to be by the judges' own family"
    NO_OTHER_AUTHORS = "no response is known to be by another family"
    NO_OTHER_JUDGES = "no judge is known to be of another family"
    NOT_DELIBERATED = "no response was deliberated"
    NO_MOVES = "no moves"
    NO_DIRECTION = "no move with peers on one side of it"
    NO_DIFFERENCE = "no move where the two had differed"
    IDENTICAL_REPLICATES = (
        "all replicates without a persona gave the same ratings, so they count as one judgment; a "
        "comparison needs replicates that vary"
    )
    FEW_TO_CHOOSE_THE_BEST = "choosing the best judge on other prompts takes ten prompts"
    IDENTICAL_JUDGES = "judges gave the same ratings, so they count as one"
    OTHER_SCALE = "not on the same scale"
    FEW_TO_TELL = "too few prompts were deliberated"
    FEW_FOR_A_STRENGTH = "fewer than five prompts"
    FEW_LEFT_OUT = "its interval takes five items or raters"
    AT_ONE_END = "all its ratings are at one end of the scale"
    FEW_OF_ONE_SIZE = "its prompts count as fewer than four of one size"
    NEVER_COMPARED = "it was compared with no other system"
    WON_ALL = "it won every comparison, so no finite strength fits"
    LOST_ALL = "it lost every comparison, so no finite strength fits"
    NO_OTHER_STRENGTH = "no other system has a finite strength"
    NOT_CONNECTED = "some systems were never compared with the others, not even through a third"
    NEVER_LOST = "some systems never lost to the others, so no finite strengths fit"
    ALL_TIES = "every comparison ended in a tie"
    MANY_SYSTEMS = "strengths are computed of up to 50 systems"
    ERROR = "its computation failed"


@dataclass(frozen=True, slots=True)
class Statistic:
    """One statistic; `value` is NaN exactly when `reason` says why.

    Attributes:
        n_items, n_raters: how many entered the value.
        resampled: the statistic as a function of resampling weights, of which `jackknife` makes an
            interval; by default there is none.
        kind, limits, counted: as for `jackknife`.
        note, by, by_value, caution: as for `Row`.
        ci: an interval that is known already; it holds the value.
        p_raw, n_tests, adjusted_over: as for `Row`, where the p-value is adjusted already.
    """

    value: float
    n_items: int
    n_raters: int
    p_value: float = nan
    reason: Reason | None = None
    resampled: Resampled = field(default=undefined_everywhere, compare=False, repr=False)
    kind: EstimateKind = field(default="number", compare=False, repr=False)
    limits: tuple[float, float] = field(default=(-inf, inf), compare=False, repr=False)
    counted: Mask | None = field(default=None, compare=False, repr=False)
    note: str = ""
    by: str | None = None
    by_value: str | None = None
    caution: str = ""
    ci: Interval | None = None
    p_raw: float = nan
    n_tests: int = 0
    adjusted_over: str | None = None

    def __post_init__(self) -> None:
        if isnan(self.value) != (self.reason is not None):
            raise ValueError("an estimate has either a value or a reason for having none")

    @classmethod
    def undefined(cls, reason: Reason, *, n_items: int = 0, n_raters: int = 0) -> Statistic:
        """Return the statistic that has no value, with the reason."""
        return cls(nan, n_items, n_raters, reason=reason)

    @classmethod
    def of(cls, value: float, n_items: int, n_raters: int, otherwise: Reason) -> Statistic:
        """Return the statistic with this value; undefined, for this reason, where it is NaN."""
        return cls(value, n_items, n_raters, reason=otherwise if isnan(value) else None)

    @classmethod
    def of_weights(
        cls,
        resampled: Resampled,
        counted: Mask,
        n_raters: int,
        otherwise: Reason,
        kind: EstimateKind = "number",
        limits: tuple[float, float] = (-inf, inf),
    ) -> Statistic:
        """Return the statistic with the value of this function where every item counts once.

        Args:
            counted: the items from which it is computed `(items,)`.
            otherwise: why it is undefined, where it is.
        """
        value = value_of(resampled, len(counted))
        whole = cls.of(value, int(counted.sum()), n_raters, otherwise)
        return whole.with_weights(resampled, counted, kind, limits)

    def with_weights(
        self,
        resampled: Resampled,
        counted: Mask | None = None,
        kind: EstimateKind = "number",
        limits: tuple[float, float] = (-inf, inf),
    ) -> Statistic:
        """Return the statistic with how it is resampled."""
        return replace(self, resampled=resampled, counted=counted, kind=kind, limits=limits)

    def without_interval(self, **more: Any) -> Statistic:
        """Return the statistic as one that is not resampled, with `more` of its fields."""
        return replace(self, resampled=undefined_everywhere, **more)

    def less(self, other: Statistic, n_raters: int, **how: Any) -> Statistic:
        """Return the difference of two statistics of the same items, of kind `difference`;
        undefined where one of them is. `how` as for `with_weights`."""
        how = {"kind": "difference", "limits": (-2.0, 2.0), "counted": self.counted} | how
        value, reason = self.value - other.value, self.reason or other.reason
        whole = Statistic(value, self.n_items, 0 if reason else n_raters, reason=reason)
        return whole.with_weights(difference_of(self.resampled, other.resampled), **how)


def why_few(rated: Mask, otherwise: Reason, few: Reason = Reason.FEW_RATERS) -> Reason:
    """Return why raters cannot be compared, by who rated what `(items, raters)`.

    Args:
        otherwise: the reason where two raters share an item, and there are two items.
        few: the reason where there are fewer than two raters.
    """
    if rated.any(axis=0).sum() < 2:
        return few
    if rated.any(axis=1).sum() < 2:
        return Reason.FEW_ITEMS
    return otherwise if (rated.sum(axis=1) >= 2).any() else Reason.NO_SHARED_ITEMS


MeasurementLevel = Literal["nominal", "ordinal", "interval", "ratio"]
"""The meaning of differences between ratings: only the same or not; an order; a distance; a
distance with a true zero."""

Random = Literal["prompts", "prompts-and-judges"]
"""The sample behind an interval: the prompts, judges fixed; or the judges, too, as
a sample of such judges (their personas and their models, where these are crossed)."""


@dataclass(frozen=True, slots=True)
class AnalysisOptions:
    """The options by which every statistic of an analysis is computed.

    Attributes:
        level: the level of measurement that ratings are taken to have. Statistics that suit
            another level only are left out.
        random: what intervals take as a sample.
        intervals: whether there are any.
        min_shared: pairs of raters who share fewer items are left out of what is a mean over pairs;
            None: fewer than 50 for substitution, as in the debate-speeches paper, else than two.
        epsilon: for the alternative annotator test: by how much a person may be ahead of a judge,
            in [0, 1). None: the test is left out.
    """

    level: MeasurementLevel = "ordinal"
    random: Random = "prompts"
    intervals: bool = True
    n_permutations: int = 1999
    seed: int = 0
    min_shared: int | None = None
    epsilon: float | None = None

    def __post_init__(self) -> None:
        check_choice("level", self.level, MeasurementLevel)
        check_choice("random", self.random, Random)
        if self.min_shared is not None and self.min_shared < 2:
            raise ValueError(f"pairs share 2 items or more, found {self.min_shared}")
        if self.n_permutations < 0:
            raise ValueError(f"permutations are 0 or more, found {self.n_permutations}")
        if self.epsilon is not None and not 0 <= self.epsilon < 1:
            raise ValueError(f"epsilon lies in [0, 1), found {self.epsilon}")


def check_choice(name: str, value: str, choices: object) -> None:
    """Raise ValueError, naming the choices, where `value` is not one of a Literal's values."""
    if value not in get_args(choices):
        raise ValueError(f"{name} is one of {', '.join(get_args(choices))}, found {value!r}")


def check_confidence(confidence: float) -> None:
    """Raise ValueError where the confidence is not between 0 and 1."""
    if not 0 < confidence < 1:
        raise ValueError(f"confidence lies between 0 and 1, found {confidence}")


DEFAULT_OPTIONS = AnalysisOptions()
