"""Whether judges who compare responses prefer the one that is shown first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike

from persona_panel.files.comparisons import Compared
from persona_panel.rubrics.comparison import Outcome
from persona_panel.statistics.core.arrays import (
    DEFAULT_OPTIONS,
    AnalysisOptions,
    Labels,
    Reason,
    Statistic,
    as_scores,
    divide,
)
from persona_panel.statistics.core.display import ALL
from persona_panel.statistics.core.registry import BlockResult, rows_of
from persona_panel.statistics.core.table import Row


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
    """How much more often the response shown first won than the one shown second:
    `position_bias`.

    Comparisons are of pairs that were put in both orders: which response is better then
    cancels, and what is left is the place. From −1, the second always wins, to 1, the
    first always does; 0 without bias, ties counting as no win.

    Args:
        first_wins, second_wins, ties: `(items,)`, of each pair how many comparisons ended so.
        clusters: a label a pair: its prompt.
        group: whose comparisons these are, of `n_raters` judges.

    Raises:
        ValueError: the shapes differ, or a number is infinite, missing or below 0.
    """
    first, second, even = (as_scores(counts) for counts in (first_wins, second_wins, ties))
    counts = np.array([first, second, even])
    if np.isnan(counts).any() or (counts < 0).any():
        raise ValueError("comparisons are counted, and none is missing")
    total = counts.sum(axis=0)
    n_items = int(np.sum(total > 0))
    if not n_items:
        result = BlockResult(Statistic.undefined(Reason.NO_BOTH_ORDERS))
    else:
        result = BlockResult(
            Statistic(float((first - second).sum() / total.sum()), n_items, n_raters),
            lambda weights: divide(weights @ (first - second), weights @ total),
            f"first {first.sum():.0f}, second {second.sum():.0f}, ties {even.sum():.0f}",
            "mean",
            (-1, 1),
        )
    return rows_of("position_bias", [result], group, ALL, clusters, options)


def position_of(comparisons: Sequence[Compared], options: AnalysisOptions) -> list[Row]:
    """The position bias of the panel, and of each judge.

    Only pairs that a judge has compared in both orders count.
    """
    outcomes: dict[_Pair, list[Outcome]] = {}
    for one in comparisons:
        pair = _Pair(one.prompt_id, one.judge, frozenset((one.first, one.second)))
        outcomes.setdefault(pair, []).append(one.outcome)
    both = {pair: found for pair, found in outcomes.items() if len(found) == 2}
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
