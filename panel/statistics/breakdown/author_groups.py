"""Texts of one kind of author against those of another, to the same prompts: how often one wins.

`each`: the share of pairs of texts, one of either kind, in which that of `a` is rated higher.
`best`: the share of prompts where the best of the texts of both kinds is one of `a`. `first
place`: the same where all kinds count. Ties count half, or in equal parts. A prompt counts once.

Intervals are Wilson's over prompts (see `persona_panel.statistics.core.scaled_mean`), of what is
the same in all prompts Clopper's and Pearson's. Win rates are tested against a half by flipping
signs. For
the best texts the test is exact: where kinds do not differ they are drawn from all texts of the
prompt, so that who has more texts has more of them. `benchmarks/null_breakdowns.py` measures how
often intervals and tests err.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import nan
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from persona_panel.statistics.core.arrays import Array, Labels, as_scores, items_by_label
from persona_panel.statistics.core.binomial import binomial_interval
from persona_panel.statistics.core.holm import holm
from persona_panel.statistics.core.sampled_mean import sampled_mean
from persona_panel.statistics.core.scaled_mean import scaled_interval
from persona_panel.statistics.core.statistic import Reason
from persona_panel.statistics.core.tested import Tested
from persona_panel.statistics.resampling.sign_flip import sign_flip_p_values

LEAST_PROMPTS = 5
"""Below it there is neither an interval nor a test."""
_DRAWS = 9999
_DECIMALS = 9

AuthorFigure = Literal["each", "best", "first place"]


@dataclass(frozen=True, slots=True)
class AuthorShare(Tested):
    """How often texts of kind `a` are ahead; see the module for the figures.

    Attributes:
        b: the other kind; empty where it is all others (first places).
        share: 0 to 1, the mean over the prompts that have texts of both.
        chance: what it would be if kinds did not differ.
        ci_low, ci_high: its own 95 % interval over prompts.
        p, p_adjusted: two-sided, of the share being `chance`; by Holm over all rows.
        n_texts: how many texts of `a` entered.
        reason: why there is no interval; it and the p-values are NaN then.
    """

    figure: AuthorFigure
    a: str
    b: str
    share: float
    chance: float
    ci_low: float
    ci_high: float
    p: float
    p_adjusted: float
    n_prompts: int
    n_texts: int
    reason: Reason | None


def author_shares(
    scores: ArrayLike, kinds: Sequence[str | None], prompts: Labels, *, seed: int = 0
) -> list[AuthorShare]:
    """The shares of every two kinds of author that have texts to the same prompts, and the first
    places of each; none where there are no such prompts.

    Args:
        scores: `(texts,)`, higher is better; NaN, as of a text without a kind, enters nothing.
        kinds: of the author of each text.
        prompts: a label a text.
        seed: of what is drawn for tests.

    Raises:
        ValueError: not one label a text, or an infinite score.

    >>> found = author_shares([3, 1, 2, 2, 4, 1], ["human", "model"] * 3, "ppqqrr")
    >>> [(one.figure, one.a, round(one.share, 3)) for one in found[:2]]
    [('each', 'human', 0.833), ('best', 'human', 0.833)]
    """
    values = as_scores(scores).round(_DECIMALS)
    texts = [
        _Prompt(values[kept], [kinds[text] for text in kept])
        for _, items in items_by_label(prompts, len(values))
        if len(kept := [i for i in items if kinds[i] is not None and values[i] == values[i]]) > 1
    ]
    texts = [one for one in texts if len(set(one.kinds)) > 1]
    names = [name for name in dict.fromkeys(kinds) if any(name in one.kinds for one in texts)]
    found = []
    for a, b in combinations(filter(None, names), 2):
        both = [one for one in texts if a in one.kinds and b in one.kinds]
        if both:
            sides = [(one.of(a), one.of(b)) for one in both]
            each = np.array([_wins(own, others) for own, others in sides])
            n_texts = sum(len(own) for own, _ in sides)
            found.append(_won(a, b, each, n_texts))
            found.append(_best("best", a, b, [one.without_others(a, b) for one in both], seed))
    found += [
        _best("first place", name, "", [one for one in texts if name in one.kinds], seed)
        for name in filter(None, names)
    ]
    return _adjusted(found)


class _Tested(NamedTuple):
    """A row before the correction, and of each prompt how far it is from chance."""

    row: AuthorShare
    beyond: Array


def _adjusted(found: Sequence[_Tested]) -> list[AuthorShare]:
    """The rows with p-values by Holm. One that says the same of every prompt as an earlier row, or
    the opposite (of two kinds the first places of the second), repeats its test and is no second
    one."""
    places: list[int] = []
    for place, (_, beyond) in enumerate(found):
        same = (
            earlier
            for earlier, (_, other) in enumerate(found[:place])
            if len(other) == len(beyond)
            and (np.allclose(other, beyond) or np.allclose(other, -beyond))
        )
        places.append(next(same, place))
    adjusted = holm([one.row.p if places[i] == i else nan for i, one in enumerate(found)])
    return [
        replace(one, p=found[place].row.p, p_adjusted=float(adjusted[place]))
        for (one, _), place in zip(found, places, strict=True)
    ]


class _Prompt(NamedTuple):
    """A prompt's scores, and the kind of author of each."""

    scores: Array
    kinds: Sequence[str | None]

    def of(self, kind: str) -> Array:
        return self.scores[[own == kind for own in self.kinds]]

    def without_others(self, a: str, b: str) -> _Prompt:
        kept = [place for place, kind in enumerate(self.kinds) if kind in (a, b)]
        return _Prompt(self.scores[kept], [self.kinds[place] for place in kept])


def _wins(a: ArrayLike, b: ArrayLike) -> float:
    """The share of pairs in which a is above b, ties half."""
    return float((1 + np.sign(np.subtract.outer(a, b)).mean()) / 2)


def _won(a: str, b: str, shares: Array, n_texts: int) -> _Tested:
    beyond = shares - 0.5
    p = float(sign_flip_p_values(beyond[:, None], n_permutations=_DRAWS)[0])
    return _Tested(_share("each", a, b, shares, 0.5, p, n_texts), beyond)


def _best(figure: AuthorFigure, kind: str, b: str, texts: Sequence[_Prompt], seed: int) -> _Tested:
    own = np.array([one.kinds.count(kind) for one in texts])
    total = np.array([len(one.kinds) for one in texts])
    best = np.array([int(np.sum(one.scores == one.scores.max())) for one in texts])
    firsts = np.array([int(np.sum(one.of(kind) == one.scores.max())) for one in texts])
    shares, chance = firsts / best, own / total
    rng = np.random.default_rng(seed)
    drawn = rng.hypergeometric(own, total - own, best, (_DRAWS, len(own)))
    # Small enough that sums of the same shares in another order are equal.
    away = ((drawn / best).sum(axis=1) - shares.sum()).round(_DECIMALS)
    tail = min(np.sum(away >= 0), np.sum(away <= 0))
    p = min(1.0, 2 * float(1 + tail) / (1 + _DRAWS))
    row = _share(figure, kind, b, shares, float(chance.mean()), p, int(own.sum()))
    return _Tested(row, shares - chance)


def _share(
    figure: AuthorFigure, a: str, b: str, shares: Array, chance: float, p: float, n_texts: int
) -> AuthorShare:
    n, share = len(shares), float(shares.mean())
    if n < LEAST_PROMPTS:
        low, high, p = nan, nan, nan
        reason: Reason | None = Reason.FEW_SHARED_PROMPTS
    elif share in (0.0, 1.0):
        # A share of prompts without an exception: no spread, and no doubt what they were.
        (low, high), reason = binomial_interval(round(n * share), n), None
    elif errors := sampled_mean(shares).errors:
        (low, high), reason = scaled_interval(share, errors, (0.0, 1.0)), None
    else:
        low, high, p, reason = nan, nan, nan, Reason.NO_SPREAD
    return AuthorShare(figure, a, b, share, chance, low, high, p, p, n, n_texts, reason)
