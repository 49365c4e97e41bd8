"""Texts by who wrote them: means, win rates, first places, and how often texts have a feature.

`each`: the share of pairs of texts, one of either kind, in which that of `a` is rated higher.
`best`: the share of prompts where the best of the texts of both kinds is one of `a`. `first
place`: the same where all kinds count. Ties count half, or in equal parts; a prompt counts once.
Their intervals are Wilson's over prompts (of what is the same in all, Clopper and Pearson's), their
tests by flipped signs (`each`) or by drawing the best at random. Shares of features have the
jackknife's interval over prompts, their differences Student's.

Sources: the SCRuB paper, sections 6 and 14.1; the debate-speeches paper, section 5.2 and figure 5.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, compress
from math import nan
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from persona_panel.statistics.core.arrays import (
    Array,
    IntArray,
    Labels,
    Reason,
    Resampled,
    Statistic,
    as_ratings,
    as_scores,
    divide,
    encode_labels,
    items_by_label,
    means_by,
    paired_scores,
    resampled_mean,
    resampled_ratio,
    row_means,
)
from persona_panel.statistics.core.correlation import correlation
from persona_panel.statistics.core.estimate import Difference, Estimate
from persona_panel.statistics.core.jackknife import jackknife
from persona_panel.statistics.core.means import scaled_interval
from persona_panel.statistics.core.sampled_mean import sampled_mean
from persona_panel.statistics.core.significance import (
    binomial_interval,
    holm_adjusted,
    sign_flip_p_values,
)


@dataclass(frozen=True, slots=True)
class Preferences:
    """The win rates of sources, in order of appearance; NaN where there was nothing to compare.

    `win_rate` is over comparisons with other sources, `n_comparisons` of them; `first_place` is the
    share of the `n_rankings` in which the source took part that it came first in. `resampled` has,
    by these two names, each source's figure as a function of resampling weights.
    """

    sources: tuple[Hashable, ...]
    win_rate: Array
    n_comparisons: IntArray
    first_place: Array
    n_rankings: IntArray
    resampled: Mapping[str, tuple[Resampled, ...]]


def preferences(ratings: ArrayLike, sources: Labels, prompts: Labels | None = None) -> Preferences:
    """Return win rates and first-place shares of sources.

    Every rater compares all items of a prompt that they rated. A tie is half a win to both; a tie
    for first place is shared among those tied. Items of one source are not compared with each
    other, but each may come first. Group sources (all models against all people, say) by giving
    them one label.

    How to read it: a win rate of 0.5 is as good as the others, 1 always preferred. Of k sources 1 /
    k of the first places is what chance gives.

    Args:
        ratings: `(items, raters)`, higher is better; of a panel its mean `(items, 1)`.
        sources: who wrote each item.

    >>> result = preferences([[3, 3], [1, 2], [1, 1], [2, 2]], "abab", "ppqq")
    >>> result.sources, result.win_rate.tolist(), result.first_place.tolist()
    (('a', 'b'), [0.5, 0.5], [0.5, 0.5])
    """
    array = as_ratings(ratings)
    names, codes = encode_labels(sources, len(array))
    of_prompts, prompt_codes = encode_labels(prompts, len(array))
    # Of each prompt and source: wins, comparisons, first places, rankings.
    tallies = np.zeros((4, len(of_prompts), len(names)))
    for prompt in range(len(of_prompts)):
        wins, comparisons, firsts, rankings = tallies[:, prompt]
        block, source = array[prompt_codes == prompt], codes[prompt_codes == prompt]
        a, b = np.nonzero(source[:, None] != source)
        signs = np.sign(block[a] - block[b])
        np.add.at(wins, source[a], np.nansum((signs + 1) / 2, axis=1))
        np.add.at(comparisons, source[a], np.sum(~np.isnan(signs), axis=1))
        for scores in block.T:
            rated = np.flatnonzero(~np.isnan(scores))
            present = np.unique(source[rated])
            if len(present) > 1:
                best = rated[scores[rated] == scores[rated].max()]
                np.add.at(firsts, source[best], 1 / len(best))
                rankings[present] += 1

    by_item = (tallies / np.bincount(prompt_codes)[:, None])[:, prompt_codes]
    win_rates, first_places = (
        tuple(map(resampled_ratio, by_item[at].T, by_item[at + 1].T)) for at in (0, 2)
    )
    wins, comparisons, firsts, rankings = tallies.sum(axis=1)
    return Preferences(
        names,
        divide(wins, comparisons),
        comparisons.astype(np.intp),
        divide(firsts, rankings),
        rankings.astype(np.intp),
        {"win_rate": win_rates, "first_place": first_places},
    )


@dataclass(frozen=True, slots=True)
class SourceMeans:
    """The means of sources, in order of appearance. `pearson` is over sources, so its `n_items` is
    their number."""

    sources: tuple[Hashable, ...]
    panel: Array
    humans: Array
    n_items: IntArray
    pearson: Statistic


def source_means(panel: ArrayLike, humans: ArrayLike, sources: Labels) -> SourceMeans:
    """Return the mean score that panel `(items,)` and people `(items, raters)` give each source,
    over the items that both rated, each with the mean of its human ratings.

    How to read it: the two means of a source say by how much the panel is harsher or milder than
    the people; `pearson` whether it puts sources in the same places.

    >>> result = source_means([1, 3, 5, 7], [[2], [4], [4], [6]], "aabb")
    >>> result.sources, result.panel.tolist(), result.humans.tolist()
    (('a', 'b'), [2.0, 6.0], [3.0, 5.0])
    """
    ours, theirs, both = paired_scores(panel, row_means(as_ratings(humans)))
    names, codes = encode_labels(list(compress(sources, both)), int(both.sum()))
    of_panel, of_humans = (means_by(side[both], codes) for side in (ours, theirs))
    counts = np.bincount(codes, minlength=len(names))
    pearson = correlation(of_panel, of_humans, "pearson")
    if len(names) <= 2:
        few = Reason.TWO_SOURCES if len(names) == 2 else Reason.FEW_SOURCES
        pearson = Statistic.undefined(few, n_items=len(names), n_raters=2)
    return SourceMeans(names, of_panel, of_humans, counts, pearson)


LEAST_PROMPTS = 5
"""Below it there is neither an interval nor a test."""
_DRAWS = 9999
_DECIMALS = 9

AuthorFigure = Literal["each", "best", "first place"]


@dataclass(frozen=True, slots=True)
class AuthorShare(Estimate):
    """The share of comparisons in which texts of kind `a` are ahead, 0 to 1: the mean over the
    prompts that have texts of both, with its p-value of being `chance`, adjusted by Holm over all
    rows.

    Attributes:
        figure: see the module.
        b: the other kind; empty where it is all others (first places).
        chance: what it would be if kinds did not differ.
        n_texts: how many texts of `a` entered.
    """

    figure: AuthorFigure = "each"
    a: str = ""
    b: str = ""
    chance: float = 0.5
    n_texts: int = 0


def author_shares(
    scores: ArrayLike, kinds: Sequence[str | None], prompts: Labels
) -> list[AuthorShare]:
    """Return the shares of every two kinds of author that have texts to the same prompts, and the
    first places of each; none where there are no such prompts.

    Args:
        scores: `(texts,)`, higher is better; NaN, as of a text without a kind, enters nothing.
        kinds: of the author of each text.
    """
    values, of_kinds = as_scores(scores).round(_DECIMALS), np.array(kinds, dtype=object)
    counted = ~np.isnan(values) & np.array([kind is not None for kind in kinds], dtype=bool)
    texts = [
        _Prompt(values[kept], of_kinds[kept])
        for _, items in items_by_label(prompts, len(values))
        if len(set(of_kinds[kept := items[counted[items]]])) > 1
    ]
    names = [
        name for name in dict.fromkeys(kinds) if name and any(name in text.kinds for text in texts)
    ]
    rows: list[tuple[AuthorShare, Array]] = []
    for a, b in combinations(names, 2):
        both = [text.of(a, b) for text in texts if a in text.kinds and b in text.kinds]
        if both:
            rows += [_each(a, b, both), _best("best", a, b, both)]
    rows += [
        _best("first place", name, "", [text for text in texts if name in text.kinds])
        for name in names
    ]
    # Drawn p-values of the same test, or of its opposite, differ: that of the first stands.
    places = [
        next(
            place
            for place, (_, other) in enumerate(rows)
            if len(other) == len(own) and (np.allclose(other, own) or np.allclose(other, -own))
        )
        for _, own in rows
    ]
    shares = [replace(row, p=rows[of][0].p) for (row, _), of in zip(rows, places, strict=True)]
    return holm_adjusted(shares, same_as=places)


class _Prompt(NamedTuple):
    """A prompt's scores, and the kind of author of each."""

    scores: Array
    kinds: NDArray[np.object_]

    def of(self, *kinds: str) -> _Prompt:
        kept = np.isin(self.kinds, kinds)
        return _Prompt(self.scores[kept], self.kinds[kept])


def _each(a: str, b: str, texts: Sequence[_Prompt]) -> tuple[AuthorShare, Array]:
    """Return the share of pairs of texts, and of each prompt how far it is from chance."""
    ahead = [np.sign(np.subtract.outer(of.of(a).scores, of.of(b).scores)) for of in texts]
    shares = np.array([(1 + signs.mean()) / 2 for signs in ahead])
    p_values, _ = sign_flip_p_values((shares - 0.5)[:, None], n_permutations=_DRAWS)
    row = AuthorShare(nan, figure="each", a=a, b=b, n_texts=sum(map(len, ahead)))
    return _share(row, shares, float(p_values[0])), shares - 0.5


def _best(
    figure: AuthorFigure, kind: str, b: str, texts: Sequence[_Prompt]
) -> tuple[AuthorShare, Array]:
    """Return the share of best texts, and of each prompt how far it is from chance."""
    counts = [
        (len(of.scores), len(own), np.sum(of.scores == best), np.sum(own == best))
        for of in texts
        for own, best in [(of.of(kind).scores, of.scores.max())]
    ]
    total, own, best, firsts = np.array(counts).T
    shares, chance = firsts / best, own / total
    rng = np.random.default_rng(0)
    drawn = rng.hypergeometric(own, total - own, best, (_DRAWS, len(own)))
    # Small enough that sums of the same shares in another order are equal.
    away = ((drawn / best).sum(axis=1) - shares.sum()).round(_DECIMALS)
    tail = min(np.sum(away >= 0), np.sum(away <= 0))
    p = min(1.0, 2 * float(1 + tail) / (1 + _DRAWS))
    row = AuthorShare(
        nan, figure=figure, a=kind, b=b, chance=float(chance.mean()), n_texts=int(own.sum())
    )
    return _share(row, shares, p), shares - chance


def _share(row: AuthorShare, shares: Array, p: float) -> AuthorShare:
    """Return the row with the mean of the prompts' shares, its interval and p-value."""
    n, mean = len(shares), float(shares.mean())
    share = replace(row, value=mean, over="prompts", n=n, limits=(0.0, 1.0))
    errors = sampled_mean(shares).errors
    if n < LEAST_PROMPTS:
        return replace(share, reason=Reason.FEW_SHARED_PROMPTS)
    if mean not in (0.0, 1.0) and not errors:
        return replace(share, reason=Reason.NO_SPREAD)
    # A share of 0 or 1 has no spread.
    low, high = (
        scaled_interval(mean, errors, share.limits)
        if errors
        else binomial_interval(round(n * mean), n)
    )
    return replace(share, low=low, high=high, p=p)


@dataclass(frozen=True, slots=True)
class GroupShare(Estimate):
    """The share of a group's texts that have a feature, with its 95 % interval over prompts.

    Attributes:
        group: its name.
        feature: its place among the features.
        n_with, of: how many of the group's texts have it, of how many.
    """

    group: str = ""
    feature: int = 0
    n_with: int = 0
    of: int = 0


@dataclass(frozen=True, slots=True)
class ShareDifference(Difference):
    """The difference between the shares of groups `a` and `b`: the mean over prompts that both have
    of the prompts' differences, with p-values adjusted by Holm over all pairs and features;
    `feature` is its place among the features."""

    feature: int = 0


def group_shares(has: ArrayLike, groups: Sequence[str], prompts: Labels) -> list[GroupShare]:
    """Return the share of each feature in each group, groups in order of appearance.

    Args:
        has: `(texts, features)`, whether a text has a feature.
    """
    table = np.asarray(has, dtype=np.bool_)
    names, codes = encode_labels(groups, len(table))
    own_prompts = encode_labels(prompts, len(table))[1]
    shares = []
    for place, name in enumerate(names):
        rows = codes == place
        for feature, column in enumerate(table[rows].T):
            values = column.astype(np.float64)
            interval = jackknife(
                resampled_mean(values), len(values), own_prompts[rows].tolist(),
                kind="share", limits=(0.0, 1.0),
            )  # fmt: skip
            shares.append(
                GroupShare(
                    float(values.mean()), interval.low, interval.high, over="prompts",
                    reason=interval.reason, group=str(name), feature=feature,
                    n_with=int(column.sum()), of=len(values),
                )
            )  # fmt: skip
    return shares


def share_differences(
    has: ArrayLike, groups: Sequence[str], prompts: Labels
) -> list[ShareDifference]:
    """Compare every two groups on every feature, groups in order of appearance; arguments and
    errors as of `group_shares`."""
    table = np.asarray(has, dtype=np.bool_)
    names, codes = encode_labels(groups, len(table))
    of_prompt = encode_labels(prompts, len(table))[1]
    # Of shape (prompts, features), a group's means by prompt, NaN where it has no text.
    means = [
        means_by(np.where((codes == place)[:, None], table, nan), of_prompt)
        for place in range(len(names))
    ]
    compared = [
        sampled_mean(apart).as_a(
            ShareDifference, cut=(-1.0, 1.0), a=str(names[a]), b=str(names[b]), feature=feature
        )
        for a, b in combinations(range(len(names)), 2)
        for feature, apart in enumerate((means[a] - means[b]).T)
    ]
    return holm_adjusted(compared)
