"""Biases of a panel's scores: pure functions over a run's ratings.

Position, length, self-preference, compression of scores, personas that make no difference,
leniency. Intervals are over whole prompts. Reading the run is `persona_panel.files`'s business.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from persona_panel.experiments.audit.families import family_of
from persona_panel.experiments.audit.position import position_of
from persona_panel.experiments.audit.self_preference import self_preference
from persona_panel.files.comparisons import Compared
from persona_panel.rubrics.comparison import PREFERRED
from persona_panel.statistics.core.arrays import (
    DEFAULT_OPTIONS,
    AnalysisOptions,
    Array,
    Reason,
    Statistic,
    as_ratings,
    as_scores,
    has_ratings,
    mean_of,
    paired_scores,
    row_means,
)
from persona_panel.statistics.core.display import ALL
from persona_panel.statistics.core.jackknife import resampled_mean
from persona_panel.statistics.core.registry import BlockResult, rows_of
from persona_panel.statistics.core.table import Ratings, Row
from persona_panel.statistics.designs import (
    ComponentName,
    resampled_variance_share,
    variance_share,
)
from persona_panel.statistics.scores import (
    correlation_within,
    mode_share,
    resampled_correlation_within,
    resampled_mode_share,
    resampled_score_entropy,
    score_entropy,
)

REAL_BINS = 10
"""Equal parts of a scale of real numbers among which compression tells scores apart."""


@dataclass(frozen=True, slots=True)
class ScaleRange:
    """The scale of a dimension: from `low` to `high`, whole numbers or any."""

    low: float
    high: float
    whole: bool

    @property
    def n_values(self) -> int:
        """How many values compression tells apart."""
        return int(self.high - self.low) + 1 if self.whole else REAL_BINS

    def values(self, scores: Array) -> Array:
        """Scores as those values: the nearest whole number, or the part of the scale."""
        if self.whole:
            return np.rint(scores)
        return np.minimum(
            np.floor((scores - self.low) / (self.high - self.low) * REAL_BINS), REAL_BINS - 1
        )


def biases(
    ratings: Ratings,
    scales: Mapping[str, ScaleRange],
    lengths: ArrayLike | None = None,
    options: AnalysisOptions = DEFAULT_OPTIONS,
    *,
    comparisons: Sequence[Compared] = (),
) -> list[Row]:
    """Every bias that a run's ratings show.

    A row's group is `all` for the panel, or else a judge, a model (`persona_share`,
    `residual_share`), or a family (`self_preference`). Its dimension is one of the rubric's
    that is rated by numbers, or `all` for the mean of them (for compression, if they share a
    scale, for all their scores together).

    Args:
        ratings: of a run: groups are models, sources the systems that wrote the responses.
        scales: the scale of each dimension that is rated by numbers.
        lengths: of the responses in words `(items,)`, NaN where not known; None if none is.
        comparisons: of responses with each other, where judges compared.

    Raises:
        ValueError: the ratings name no sources or personas, or lengths are not one an item.
    """
    if ratings.sources is None or ratings.personas is None:
        raise ValueError("the ratings of a run are needed, with sources and personas")
    known = np.full(len(ratings.items), np.nan) if lengths is None else as_scores(lengths)
    names = [name for name in ratings.dimensions if name in scales]
    by_name = {name: ratings.scores[:, :, ratings.dimensions.index(name)] for name in names}
    if len(names) > 1:
        by_name[ALL] = np.mean([by_name[name] for name in names], axis=0)
    clusters: list[Hashable] = list(ratings.prompts or ratings.items)
    rows = position_of(comparisons, options)
    are_compared = names == [PREFERRED.id]
    for name, scores in by_name.items():
        whole = [*by_name.values()][:-1] if name == ALL else [scores]
        parts = [
            *_of_length(scores, known, ratings),
            *_of_leniency(scores, ratings, are_compared=are_compared),
            *_of_families(scores, ratings),
            *_of_compression(
                whole, [scales[one] for one in (names if name == ALL else [name])], ratings
            ),
            *_of_personas(scores, ratings),
        ]
        for group, statistic, result in parts:
            rows += rows_of(statistic, [result], group, name, clusters, options)
    return rows


_Figure = tuple[str, str, BlockResult]
"""Whose figure, which statistic, and what it is."""


# Length


def _of_length(scores: Array, lengths: Array, ratings: Ratings) -> Iterator[_Figure]:
    """The partial correlation of score and length within systems, of the panel's mean and of
    each judge."""
    yield ALL, "length_correlation", _length(row_means(scores), lengths, ratings, scores.shape[1])
    for judge, own in zip(ratings.raters, scores.T, strict=True):
        yield judge, "length_correlation", _length(own, lengths, ratings, 1)


def _length(scores: Array, lengths: Array, ratings: Ratings, n_raters: int) -> BlockResult:
    systems = ratings.sources or ()
    if np.isnan(lengths).all():
        found = Statistic.undefined(Reason.NO_LENGTHS)
    else:
        found = replace(correlation_within(scores, lengths, systems), n_raters=n_raters)
    resampled = resampled_correlation_within(scores, lengths, systems)
    counted = paired_scores(scores, lengths)[2]
    return BlockResult(found, resampled, kind="correlation", counted=counted)


# Leniency


def leniency(scores: ArrayLike) -> Array:
    """How far each rating lies above the mean of all judges of the same response.

    Args:
        scores: `(items, judges)`, NaN where missing.

    Returns:
        `(items, judges)`, in points of the scale; NaN where the judge did not rate, or
        nobody else did.
    """
    array = as_ratings(scores)
    several = np.sum(~np.isnan(array), axis=1) > 1
    return np.where(several[:, None], array - row_means(array)[:, None], np.nan)


def _of_leniency(scores: Array, ratings: Ratings, *, are_compared: bool) -> Iterator[_Figure]:
    """Undefined where responses are compared: the shares of a prompt's comparisons that its
    responses win have one mean, however lenient the judge is."""
    lenient = np.full_like(scores, np.nan) if are_compared else leniency(scores)
    for judge, own in zip(ratings.raters, lenient.T, strict=True):
        n_items = int(np.sum(~np.isnan(own)))
        reason = Reason.FEW_RATERS if len(ratings.raters) < 2 else Reason.NO_SHARED_ITEMS
        reason = Reason.COMPARED if are_compared else reason
        found = (
            Statistic(float(np.nanmean(own)), n_items, 1)
            if n_items
            else Statistic.undefined(reason, n_raters=1)
        )
        yield judge, "leniency", BlockResult(found, resampled_mean(own), kind="mean")


# Self-preference


def _of_families(scores: Array, ratings: Ratings) -> Iterator[_Figure]:
    """Each family, and the mean of those that have a value."""
    judges = [family_of(model) for model in ratings.groups]
    authors = [family_of(system) for system in ratings.sources or ()]
    found = self_preference(scores, judges, authors)
    for one in found:
        note = f"{one.n_own} responses of its own, {one.n_others} of others"
        yield (
            one.family,
            "self_preference",
            BlockResult(one.estimate, one.resampled, note, "difference"),
        )
    defined = [one for one in found if one.estimate.reason is None]
    unknown = ", ".join(unknown_families(ratings))
    note = f"family not known: {unknown}" if unknown else ""
    if not defined:
        reasons = [one.estimate.reason for one in found if one.estimate.reason]
        whole = Statistic.undefined(reasons[0] if reasons else Reason.NO_OWN_FAMILY)
    else:
        value = float(np.mean([one.estimate.value for one in defined]))
        whole = Statistic(
            value,
            max(one.estimate.n_items for one in defined),
            sum(one.estimate.n_raters for one in defined),
        )
    resampled = mean_of([one.resampled for one in defined])
    yield ALL, "self_preference", BlockResult(whole, resampled, note, "difference")


def unknown_families(ratings: Ratings) -> list[str]:
    """The models and systems whose names do not tell a family; self-preference leaves them out."""
    names = {*ratings.groups, *(ratings.sources or ())}
    return sorted(name for name in names if family_of(name) is None)


# Compression


def _of_compression(
    scores: Sequence[Array], scales: Sequence[ScaleRange], ratings: Ratings
) -> Iterator[_Figure]:
    """Entropy and the commonest value's share, of all judges together and of each."""
    if len(set(scales)) > 1:
        return
    values = np.stack([scales[0].values(each) for each in scores], axis=2)
    most = f"of at most {np.log2(scales[0].n_values):.2f} bits"
    drawn: list[tuple[str, Array, int]] = [(ALL, values, values.shape[1])]
    drawn += [(judge, values[:, [place]], 1) for place, judge in enumerate(ratings.raters)]
    for group, own, n_raters in drawn:
        flat = own.reshape(len(own), -1)
        entropy = replace(score_entropy(flat), n_raters=n_raters)
        share = replace(mode_share(flat), n_raters=n_raters)
        counted = has_ratings(flat)
        entropies, shares = resampled_score_entropy(flat), resampled_mode_share(flat)
        yield (
            group,
            "score_entropy",
            BlockResult(
                entropy,
                entropies,
                most,
                "entropy",
                (0, np.log2(scales[0].n_values)),
                counted=counted,
            ),
        )
        yield (
            group,
            "mode_share",
            BlockResult(share, shares, _mode(flat), limits=(0, 1), counted=counted),
        )


def _mode(values: Array) -> str:
    found, counts = np.unique(values[~np.isnan(values)], return_counts=True)
    return f"the value {found[counts.argmax()]:g}" if len(found) else ""


# Personas


def _of_personas(scores: Array, ratings: Ratings) -> Iterator[_Figure]:
    """Of one model's variance, `persona_share` is due to the main effect of the persona,
    `residual_share` to the interaction of persona and response, and error."""
    wanted: Mapping[str, ComponentName] = {"persona_share": "rater", "residual_share": "residual"}
    for model in dict.fromkeys(ratings.groups):
        columns = [place for place, group in enumerate(ratings.groups) if group == model]
        personas = [(ratings.personas or ())[place] for place in columns]
        for name, part in wanted.items():
            own = scores[:, columns]
            yield (
                model,
                name,
                BlockResult(
                    variance_share(own, personas, part),
                    resampled_variance_share(own, personas, part),
                    limits=(0, 1),
                    counted=has_ratings(own),
                ),
            )
