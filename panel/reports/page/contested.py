"""Section 4: on which responses the judges are furthest apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isnan

import numpy as np

from persona_panel.analyses.contested import Contested, most_contested
from persona_panel.graphs.records import controls_among
from persona_panel.runs.run import Run
from persona_panel.statistics.core.arrays import Array

_SHOWN = 8
_UNESTABLISHED = 3


@dataclass(frozen=True, slots=True)
class ContestedEntry:
    """One of the responses that judges rate most differently.

    Attributes:
        row: its place in the run.
        found: how far personas are apart on it, beyond noise; None where noise is not known.
        spread: the standard deviation of its ratings over judges, mean over dimensions.
    """

    row: int
    prompt_id: str
    id: str
    system: str
    title: str
    found: Contested | None
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
        n_ranked: of how many responses.
        n_established: on how many personas differ by more than noise; None where noise is not
            known, and the responses are ordered by their spread.
        reason: why it is not known.
    """

    responses: Sequence[ContestedEntry]
    order: Sequence[int]
    n_ranked: int
    n_established: int | None
    reason: str | None


def contested_section(run: Run, titles: Mapping[str, str]) -> ContestedSection:
    """The responses by how far personas differ beyond noise (see
    `persona_panel.analyses.contested`); where noise is not known, as with one model, by
    the standard deviation of their ratings.

    `titles` are prompts by their ids; a prompt without one is called by its id.
    """
    spread = _spread(run)
    found = most_contested(run) if run.rubric.numeric and run.items else []
    known = {(one.prompt_id, one.id): one for one in found if one.reason is None}
    rows = {item[:2]: row for row, item in enumerate(run.items)}
    if known:
        order = [rows[one.prompt_id, one.id] for one in found]
        n_established = sum(one.established for one in known.values())
        shown = [row for row in order if run.items[row][:2] in known]
        shown = shown[: min(_SHOWN, max(n_established, _UNESTABLISHED))]
        reason = None
    else:
        order = sorted(range(len(spread)), key=lambda row: (isnan(spread[row]), -spread[row]))
        n_established = None
        shown = [row for row in order[:_SHOWN] if spread[row] > 0]
        reasons = dict.fromkeys(str(one.reason) for one in found if one.reason)
        reason = "; ".join(reasons) or None
    verdicts = {(one.prompt_id, one.id): one for one in run.verdicts}
    responses = [
        ContestedEntry(
            row,
            *item,
            titles.get(item.prompt_id, item.prompt_id),
            known.get(item[:2]),
            float(spread[row]),
            verdict.composite,
            verdict.n_judges,
            verdict.n_asked,
        )
        for row in shown
        if (verdict := verdicts.get((item := run.items[row])[:2])) is not None
    ]
    n_ranked = len(known) or int((~np.isnan(spread)).sum())
    return ContestedSection(responses, order, n_ranked, n_established, reason)


def _spread(run: Run) -> Array:
    """Shape (n,), NaN where fewer than two judges, or fewer than half of them, rated."""
    controls = controls_among(run.judges)
    columns = [column for column, judge in enumerate(run.judges) if judge not in controls]
    numeric = [d for d, name in enumerate(run.dimensions) if name not in run.categories]
    if not numeric or not run.items:
        return np.full(len(run.items), np.nan)
    ratings = run.ratings[np.ix_(range(len(run.items)), columns, numeric)]
    n = (~np.isnan(ratings)).sum(axis=1).astype(np.float64)
    means = np.divide(np.nansum(ratings, axis=1), n, out=np.full(n.shape, np.nan), where=n > 0)
    squares = np.nansum((ratings - means[:, None]) ** 2, axis=1)
    sd = np.sqrt(np.divide(squares, n - 1, out=np.full(n.shape, np.nan), where=n > 1))
    enough = n.max(axis=1) >= max(2, len(columns) / 2)
    found: Array = np.where(enough, sd.mean(axis=1), np.nan)
    return found
