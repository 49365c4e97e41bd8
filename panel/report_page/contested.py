"""Section 4: on which responses the judges are furthest apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from graphs.records import controls_among
from panel.runs.run import Run
from panel.statistics.core.arrays import Array

_SHOWN = 8


@dataclass(frozen=True, slots=True)
class ContestedResponse:
    """One of the responses that judges rate most differently.

    Attributes:
        row: its place in the run.
        spread: in points; see `ContestedSection`.
    """

    row: int
    prompt_id: str
    id: str
    system: str
    title: str
    spread: float
    composite: float
    n_judges: int
    n_asked: int


@dataclass(frozen=True, slots=True)
class ContestedSection:
    """What section 4 shows.

    Attributes:
        responses: the most contested first.
        order: every response's place in the run, the most contested first.
        n_ranked: of how many responses, those that at least half of the judges rated.
        median: of their spreads.
    """

    responses: Sequence[ContestedResponse]
    order: Sequence[int]
    n_ranked: int
    median: float


def contested_section(run: Run) -> ContestedSection:
    """The responses by the spread of their ratings: the standard deviation over judges (n − 1),
    mean over the dimensions that are rated by numbers, of the responses that at least half of the
    judges rated."""
    controls = controls_among(run.judges)
    columns = [column for column, judge in enumerate(run.judges) if judge not in controls]
    spread = _spread(run, columns)
    order = sorted(range(len(spread)), key=lambda row: (np.isnan(spread[row]), -spread[row]))
    known = spread[~np.isnan(spread)]
    verdicts = {(one.prompt_id, one.id): one for one in run.verdicts}
    responses = []
    for row in order[:_SHOWN]:
        item = run.items[row]
        if np.isnan(spread[row]) or spread[row] == 0 or item[:2] not in verdicts:
            continue
        verdict = verdicts[item[:2]]
        responses.append(
            ContestedResponse(
                row,
                *item,
                run.titles[item.prompt_id],
                float(spread[row]),
                verdict.composite,
                verdict.n_judges,
                verdict.n_asked,
            )
        )
    median = float(np.median(known)) if len(known) else float("nan")
    return ContestedSection(responses, order, len(known), median)


def _spread(run: Run, columns: Sequence[int]) -> Array:
    """Shape (n,), NaN where fewer than two judges, or fewer than half of them, rated."""
    numeric = [d for d, name in enumerate(run.dimensions) if name not in run.categories]
    ratings = run.ratings[np.ix_(range(len(run.items)), columns, numeric)]
    there = ~np.isnan(ratings)
    n = there.sum(axis=1).astype(np.float64)
    means = np.divide(np.nansum(ratings, axis=1), n, out=np.full(n.shape, np.nan), where=n > 0)
    squares = np.nansum((ratings - means[:, None]) ** 2, axis=1)
    sd = np.sqrt(np.divide(squares, n - 1, out=np.full(n.shape, np.nan), where=n > 1))
    enough = n.max(axis=1, initial=0) >= max(2, len(columns) / 2)
    if not numeric:
        return np.full(len(run.items), np.nan)
    found: Array = np.where(enough, sd.mean(axis=1), np.nan)
    return found
