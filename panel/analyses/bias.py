"""Biases of a panel's scores, by pure functions over a run's ratings: length, leniency, position,
model families and self-preference, compression, personas.

A family is the models of one maker. A name that says none, or two (a model distilled into another
one's weights), has none: unknown is unknown.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike

from persona_panel.files.judgments import Compared
from persona_panel.rubrics.comparison import PREFERRED, Outcome
from persona_panel.statistics.core.arrays import (
    DEFAULT_OPTIONS,
    AnalysisOptions,
    Array,
    Labels,
    Reason,
    Resampled,
    Statistic,
    as_ratings,
    as_scores,
    difference_of,
    divide,
    mean_of,
    paired_scores,
    resampled_mean,
    row_means,
)
from persona_panel.statistics.core.correlation import correlation_within
from persona_panel.statistics.core.display import ALL
from persona_panel.statistics.core.registry import rows_of
from persona_panel.statistics.core.table import Ratings, Row

if TYPE_CHECKING:
    from persona_panel.statistics.designs import ComponentName

HUMAN = "human"
"""The family of people: no model belongs to it, and it is known to be none of theirs."""

_WORDS: Mapping[str, tuple[str, ...]] = {
    "anthropic": ("claude",),
    "cohere": ("command", "aya"),
    "deepseek": ("deepseek",),
    "google": ("gemini", "gemma", "palm", "bard"),
    "huggingface": ("smollm", "zephyr"),
    "ibm": ("granite",),
    "meta": ("llama", "codellama"),
    "microsoft": ("phi",),
    "mistral": ("mistral", "mixtral", "ministral", "magistral", "codestral", "pixtral"),
    "moonshot": ("kimi",),
    "nvidia": ("nemotron",),
    "olmo": ("olmo", "olmoe", "tulu"),
    "openai": ("gpt", "chatgpt", "davinci", "o1", "o3", "o4"),
    "qwen": ("qwen", "qwq"),
    "xai": ("grok",),
    "zhipu": ("glm", "chatglm"),
    HUMAN: ("human", "humans", "person", "people", "expert", "experts", "student", "students"),
}
_FAMILY = {word: family for family, words in _WORDS.items() for word in words}
# OpenAI's shape is spoken by every server: what stands before the colon says nothing.
_PROVIDER = re.compile(r"^[a-z0-9_]+:")


def family_of(name: str) -> str | None:
    """Return the family that a model's id or a system's name shows, None where it shows none.

    >>> family_of("openai:qwen2.5-7b-instruct"), family_of("Claude 4.5"), family_of("system-a")
    ('qwen', 'anthropic', None)
    """
    words = re.findall(r"[a-z]+\d*", _PROVIDER.sub("", name.lower()))
    families = {
        family
        for word in words
        if (family := _FAMILY.get(word) or _FAMILY.get(word.rstrip("0123456789")))
    }
    return families.pop() if len(families) == 1 else None


class _Pair(NamedTuple):
    prompt_id: str
    judge: str
    responses: frozenset[str]


def position(
    first_wins: ArrayLike,
    second_wins: ArrayLike,
    ties: ArrayLike,
    clusters: Labels,
    options: AnalysisOptions = DEFAULT_OPTIONS,
    *,
    group: str = ALL,
    n_raters: int = 1,
) -> list[Row]:
    """Return how much more often the response shown first won than the one shown second, from −1 to
    1, 0 without bias, ties counting as no win: `position_bias`.

    Comparisons are of pairs that were put in both orders by `n_raters` judges, the `group`: which
    response is better then cancels. Of each pair `(items,)` there is how many comparisons ended so,
    and its prompt in `clusters`. Raises ValueError where shapes differ, or a number is infinite,
    missing or below 0.
    """
    counts = np.array([as_scores(each) for each in (first_wins, second_wins, ties)])
    if np.isnan(counts).any() or (counts < 0).any():
        raise ValueError("comparisons are counted, and none is missing")
    total, more = counts.sum(axis=0), counts[0] - counts[1]
    result = Statistic.undefined(Reason.NO_BOTH_ORDERS)
    if n_items := int(np.sum(total > 0)):
        note = "first {:.0f}, second {:.0f}, ties {:.0f}".format(*counts.sum(axis=1))
        result = Statistic(
            float(more.sum() / total.sum()), n_items, n_raters, note=note
        ).with_weights(
            lambda weights: divide(weights @ more, weights @ total), kind="mean", limits=(-1, 1)
        )
    return rows_of("position_bias", [result], group, ALL, clusters, options)


def position_of(comparisons: Sequence[Compared], options: AnalysisOptions) -> list[Row]:
    """Return the position bias of the panel and each judge, by pairs compared in both orders."""
    outcomes: dict[_Pair, list[Outcome]] = {}
    for each in comparisons:
        pair = _Pair(each.prompt_id, each.judge, frozenset((each.first, each.second)))
        outcomes.setdefault(pair, []).append(each.outcome)
    both = {pair: own for pair, own in outcomes.items() if len(own) == 2}
    judges = list(dict.fromkeys(pair.judge for pair in both))

    def of(group: str, wanted: Sequence[_Pair], n_raters: int) -> list[Row]:
        first, second, ties = (
            [both[pair].count(name) for pair in wanted] for name in get_args(Outcome)
        )
        clusters = [pair.prompt_id for pair in wanted]
        return position(first, second, ties, clusters, options, group=group, n_raters=n_raters)

    rows = of(ALL, list(both), len(judges))
    for judge in judges:
        rows += of(judge, [pair for pair in both if pair.judge == judge], 1)
    return rows


@dataclass(frozen=True, slots=True, eq=False)
class SelfPreference:
    """The self-preference of a family: how much more its judges give its responses than other
    judges do, less the same for others' responses; in points of the scale. `resampled` takes
    weights."""

    family: str
    estimate: Statistic
    resampled: Resampled
    n_own: int
    n_others: int


def self_preference(
    scores: ArrayLike, judges: Sequence[str | None], authors: Sequence[str | None]
) -> list[SelfPreference]:
    """Return the self-preference of every family that judges: a difference of differences, which
    neither lenient judges nor good responses of a family make.

    `scores` are `(items, judges)`, NaN where missing; `judges` and `authors` the family of each
    judge and of each response's author, left out where it is None. Raises ValueError for a wrong
    shape.
    """
    array = as_ratings(scores)
    if array.shape != (len(authors), len(judges)):
        raise ValueError(f"{len(authors)} authors and {len(judges)} judges for {array.shape}")
    preferences = []
    for family in dict.fromkeys(name for name in judges if name is not None):
        ours = [place for place, name in enumerate(judges) if name == family]
        theirs = [place for place, name in enumerate(judges) if name not in (family, None)]
        gap = row_means(array[:, ours]) - row_means(array[:, theirs])
        there = ~np.isnan(gap)
        own = there & np.array([name == family for name in authors], dtype=bool)
        others = there & np.array([name not in (family, None) for name in authors], dtype=bool)
        n_items = int(own.sum() + others.sum())
        lacking = (
            (not theirs, Reason.NO_OTHER_JUDGES), (not own.any(), Reason.NO_OWN_FAMILY),
            (not others.any(), Reason.NO_OTHER_AUTHORS),
        )  # fmt: skip
        if reason := next((why for lacks, why in lacking if lacks), None):
            estimate = Statistic.undefined(reason, n_items=n_items, n_raters=len(ours))
        else:
            value = float(gap[own].mean() - gap[others].mean())
            estimate = Statistic(value, n_items, len(ours))
        means = (resampled_mean(np.where(mask, gap, np.nan)) for mask in (own, others))
        counts = int(own.sum()), int(others.sum())
        preferences.append(SelfPreference(family, estimate, difference_of(*means), *counts))
    return preferences


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
        """Return the number of values that compression distinguishes."""
        return int(self.high - self.low) + 1 if self.whole else REAL_BINS

    def values(self, scores: Array) -> Array:
        """Return scores as those values: the nearest whole number, or the part of the scale."""
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
    """Compute every bias that can be measured on a run's ratings, whose groups are models and
    sources the systems that wrote the responses.

    A row's group is `all` for the panel, or else a judge, a model (`persona_share`,
    `residual_share`), or a family (`self_preference`). Its dimension is one that is rated by
    numbers, on one of `scales`, or `all` for the mean of them (for compression, if they share a
    scale, for all their scores together); where their scales differ, of each rating's share of the
    width of its scale. `lengths` are in words `(items,)`, NaN where not known. Raises ValueError
    where the ratings name no sources or personas, or lengths are not one an item.
    """
    by_name = _scores_by_name(ratings, scales)
    known = np.full(len(ratings.items), np.nan) if lengths is None else as_scores(lengths)
    names = [name for name in by_name if name != ALL]
    clusters: list[Hashable] = list(ratings.prompts or ratings.items)
    rows = position_of(comparisons, options)
    are_compared = names == [PREFERRED.id]
    for name, scores in by_name.items():
        whole = names if name == ALL else [name]
        parts = chain(
            _of_length(scores, known, ratings),
            _of_leniency(scores, ratings, are_compared=are_compared),
            _of_families(scores, ratings),
            _of_compression([by_name[each] for each in whole], [scales[n] for n in whole], ratings),
            _of_personas(scores, ratings),
        )
        for group, statistic, result in parts:
            rows += rows_of(statistic, [result], group, name, clusters, options)
    return rows


def biases_of_panel(
    ratings: Ratings,
    scales: Mapping[str, ScaleRange],
    lengths: ArrayLike,
    options: AnalysisOptions = DEFAULT_OPTIONS,
) -> list[Row]:
    """Compute, of the rows of `biases`, those of the panel as a whole on all dimensions together:
    length, and its own families."""
    by_name = _scores_by_name(ratings, scales)
    if not by_name:
        return []
    *_, (name, scores) = by_name.items()
    length = _length(row_means(scores), as_scores(lengths), ratings, scores.shape[1])
    *_, (_, _, families) = _of_families(scores, ratings)
    clusters: list[Hashable] = list(ratings.prompts or ratings.items)
    return [
        row
        for statistic, result in (("length_correlation", length), ("self_preference", families))
        for row in rows_of(statistic, [result], ALL, name, clusters, options)
    ]


def _scores_by_name(ratings: Ratings, scales: Mapping[str, ScaleRange]) -> dict[str, Array]:
    """Return scores `(items, judges)` by dimension, last their mean (of shares of scales)."""
    if ratings.sources is None or ratings.personas is None:
        raise ValueError("the ratings of a run are needed, with sources and personas")
    names = [name for name in ratings.dimensions if name in scales]
    by_name = {name: ratings.scores[:, :, ratings.dimensions.index(name)] for name in names}
    if len(names) > 1:
        ends = [(scales[name].low, scales[name].high) for name in names]
        one_scale = len(set(ends)) == 1
        shares = [
            scores if one_scale else (scores - low) / (high - low)
            for scores, (low, high) in zip(by_name.values(), ends, strict=True)
        ]
        by_name[ALL] = np.mean(shares, axis=0)
    return by_name


_Figure = tuple[str, str, Statistic]
"""The group, the statistic and the result of a row."""


def _of_length(scores: Array, lengths: Array, ratings: Ratings) -> Iterator[_Figure]:
    """Yield the partial correlation of score and length within systems, of panel and judges."""
    yield ALL, "length_correlation", _length(row_means(scores), lengths, ratings, scores.shape[1])
    for judge, own in zip(ratings.raters, scores.T, strict=True):
        yield judge, "length_correlation", _length(own, lengths, ratings, 1)


def _length(scores: Array, lengths: Array, ratings: Ratings, n_raters: int) -> Statistic:
    systems = ratings.sources or ()
    if np.isnan(lengths).all():
        statistic = Statistic.undefined(Reason.NO_LENGTHS)
    else:
        statistic = replace(correlation_within(scores, lengths, systems), n_raters=n_raters)
    return replace(statistic, counted=paired_scores(scores, lengths)[2])


def leniency(scores: ArrayLike) -> Array:
    """Return how far each rating lies above the mean of all judges of the same response, shape
    `(items, judges)`; NaN where the judge did not rate, or nobody else did."""
    array = as_ratings(scores)
    several = np.sum(~np.isnan(array), axis=1) > 1
    return np.where(several[:, None], array - row_means(array)[:, None], np.nan)


def _of_leniency(scores: Array, ratings: Ratings, *, are_compared: bool) -> Iterator[_Figure]:
    """Yield each judge's leniency. It is undefined where responses are compared: the shares of a
    prompt's comparisons that its responses win have one mean, however lenient the judge is."""
    lenient = np.full_like(scores, np.nan) if are_compared else leniency(scores)
    reason = Reason.FEW_RATERS if len(ratings.raters) < 2 else Reason.NO_SHARED_ITEMS
    reason = Reason.COMPARED if are_compared else reason
    for judge, own in zip(ratings.raters, lenient.T, strict=True):
        statistic = Statistic.undefined(reason, n_raters=1)
        if n_items := int(np.sum(~np.isnan(own))):
            statistic = Statistic(float(np.nanmean(own)), n_items, 1)
        yield judge, "leniency", statistic.with_weights(resampled_mean(own), kind="mean")


def _of_families(scores: Array, ratings: Ratings) -> Iterator[_Figure]:
    """Yield the self-preference of each family, and the mean over those that have a value."""
    judges = [family_of(model) for model in ratings.groups]
    authors = [family_of(system) for system in ratings.sources or ()]
    preferences = self_preference(scores, judges, authors)
    for own in preferences:
        note = f"{own.n_own} responses of its own, {own.n_others} of others"
        result = replace(own.estimate, note=note)
        yield own.family, "self_preference", result.with_weights(own.resampled, kind="difference")
    estimates = [own.estimate for own in preferences if own.estimate.reason is None]
    reasons = [own.estimate.reason for own in preferences if own.estimate.reason]
    unknown = ", ".join(unknown_families(ratings))
    note = f"family not known: {unknown}" if unknown else ""
    whole = Statistic.undefined(reasons[0] if reasons else Reason.NO_OWN_FAMILY)
    if estimates:
        value = float(np.mean([each.value for each in estimates]))
        n_items = max(each.n_items for each in estimates)
        whole = Statistic(value, n_items, sum(each.n_raters for each in estimates))
    resampled = mean_of([own.resampled for own in preferences if own.estimate.reason is None])
    whole = replace(whole, note=note)
    yield ALL, "self_preference", whole.with_weights(resampled, kind="difference")


def unknown_families(ratings: Ratings) -> list[str]:
    """Return the models and systems whose names show no family; self-preference leaves them out."""
    names = {*ratings.groups, *(ratings.sources or ())}
    return sorted(name for name in names if family_of(name) is None)


def _of_compression(
    scores: Sequence[Array], scales: Sequence[ScaleRange], ratings: Ratings
) -> Iterator[_Figure]:
    """Yield the scores' entropy and the commonest one's share, of all judges and of each."""
    from persona_panel.statistics.scores import mode_share, score_entropy

    if len(set(scales)) > 1:
        return
    values = np.stack([scales[0].values(each) for each in scores], axis=2)
    most = np.log2(scales[0].n_values)
    drawn: list[tuple[str, Array, int]] = [(ALL, values, values.shape[1])]
    drawn += [(judge, values[:, [place]], 1) for place, judge in enumerate(ratings.raters)]
    for group, own, n_raters in drawn:
        flat = own.reshape(len(own), -1)
        entropy = replace(score_entropy(flat), n_raters=n_raters)
        share = replace(mode_share(flat), n_raters=n_raters)
        distinct, counts = np.unique(flat[~np.isnan(flat)], return_counts=True)
        mode = f"the value {distinct[counts.argmax()]:g}" if len(distinct) else ""
        of_most = replace(entropy, note=f"of at most {most:.2f} bits", limits=(0, most))
        yield group, "score_entropy", of_most
        yield group, "mode_share", replace(share, note=mode)


def _of_personas(scores: Array, ratings: Ratings) -> Iterator[_Figure]:
    """Yield each model's shares of variance: the persona's, and that of interaction and error."""
    from persona_panel.statistics.designs import variance_share

    wanted: Mapping[str, ComponentName] = {"persona_share": "rater", "residual_share": "residual"}
    for model in dict.fromkeys(ratings.groups):
        columns = [place for place, group in enumerate(ratings.groups) if group == model]
        personas = [(ratings.personas or ())[place] for place in columns]
        own = scores[:, columns]
        for name, part in wanted.items():
            yield model, name, variance_share(own, personas, part)
