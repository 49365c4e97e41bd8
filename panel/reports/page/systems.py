"""The systems as the result of the run has them, with what only the page shows: people's means
beside the panel's, every prompt's mean, missing judgments, dimensions over prompts and judges."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import replace
from math import inf, isnan, nan
from statistics import fmean
from typing import Any

import numpy as np

from persona_panel.analyses.analysis import RunWithPeople
from persona_panel.analyses.answers import ranking_of
from persona_panel.analyses.score import board_tables
from persona_panel.results.result import Result
from persona_panel.results.table import Column, Table, one_line
from persona_panel.runs.run import Run
from persona_panel.runs.scale_limits import mean_limits
from persona_panel.statistics.core.estimate import Estimate
from persona_panel.statistics.core.ranking import (
    JudgeSample,
    Leaderboard,
    SystemRank,
    rank_systems,
)

_TICKS = 60
"""The most prompts whose means are drawn, of at most `_MARKED` systems."""
_MARKED = 6


def systems_result(run: Run, board: Leaderboard, people: RunWithPeople | None = None) -> Result:
    """Return the systems of a run as a result: `systems` as they are ranked, by people's ratings
    where there are any, and `means` by dimension."""
    controls = run.control_leaderboard()
    tables = list(board_tables(run, board))
    if controls is not None:
        own = board_tables(run, controls, "control_", ", by judges without a persona")
        tables += [replace(table, when="full") for table in own if table.title]
    scales = {mean_limits(run.rubric, [entry.id])[0] for entry in run.rubric.numeric}
    scale = scales.pop() if len(scales) == 1 else None
    place = {name: n for n, (name, _) in enumerate(ranking_of(run, people).systems, 1)}
    drawn: dict[str, Callable[[Table], Table]] = {
        "systems": lambda table: _with_marks(table, run, people, place),
        "dimensions": lambda table: _with_judges(table, run),
        "means": lambda table: replace(
            table, when="always", scale=scale,
            columns=(*sorted(table.columns, key=lambda c: place.get(one_line(c.head), inf)),),
        ),
    }  # fmt: skip
    tables = [drawn[each.name](each) if each.name in drawn else each for each in tables]
    return Result("systems", [], tables)


def _with_marks(
    table: Table, run: Run, people: RunWithPeople | None, place: Mapping[str, int]
) -> Table:
    """The leaderboard with its abstentions, missing judgments, the mean of each prompt and what
    people would give; `place` is each system's, the first 1."""
    prompts, missing = _prompt_means(run), _missing(run)
    calibrated = [] if people is None or people.calibrated is None else people.calibrated.systems
    # On the first dimension.
    corrected = {
        each.system: replace(each.corrected, p=nan)
        for each in calibrated
        if each.dimension == calibrated[0].dimension
    }
    rows = []
    for row in sorted(table.rows, key=lambda row: place.get(row["system"], inf)):
        name = row["system"]
        n_judged = row.get("n_judged") or 0
        few = len(prompts[name]) <= _TICKS and len(table.rows) <= _MARKED
        n = {"n_missing": missing[name], "n_asked": missing[name] + n_judged}
        marks = prompts[name] if few else []
        own = {"people": corrected.get(name), "place": Estimate(place.get(name, nan))}
        rows.append({**row, **n, "marks": marks, **own})
    rank, composite, *columns = (
        entry for entry in table.columns if entry.name not in ("n_abstained", "n_judged")
    )
    by_people = [
        Column("people", "estimate", "corrected\nby people"),
        replace(rank, name="place", head="rank", figure=""),
    ]
    if corrected:
        composite, rank = replace(composite, head="panel"), replace(rank, head="rank by panel")
    return replace(
        table,
        columns=(
            composite,
            *(by_people if corrected else []),
            rank,
            *columns,
            Column("n_abstained", "whole", "abstentions", of="n_judged"),
            Column("n_missing", "whole", "missing", of="n_asked"),
        ),
        rows=rows, wide="with_judges", hollow="declining_mean", beside="people",
    )  # fmt: skip


def _prompt_means(run: Run) -> Mapping[str, list[float]]:
    """Each system's mean composite on each prompt."""
    measured: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for verdict in run.verdicts:
        if not isnan(verdict.composite):
            measured[verdict.system][verdict.prompt_id].append(verdict.composite)
    means = {name: [*map(fmean, those.values())] for name, those in measured.items()}
    return defaultdict(list, means)


def _missing(run: Run) -> Mapping[str, int]:
    n: dict[str, int] = defaultdict(int)
    columns, _ = run.ranking_columns()
    for item, row in zip(run.items, run.statuses, strict=True):
        n[item.system] += sum(row[column] not in ("scored", "abstained") for column in columns)
    return n


def _with_judges(table: Table, run: Run) -> Table:
    """The means by dimension with their intervals over prompts and judges, too."""
    ranked = {name: _on_dimension(run, name) for name in (entry.id for entry in run.rubric.numeric)}

    def wide(row: Mapping[str, Any]) -> Estimate:
        entry = ranked.get(row["dimension"], {}).get(row["system"])
        if entry is None or entry.declines:
            return Estimate(nan)
        return replace(entry.with_judges, reason=None)

    column = Column("with_judges", "estimate", "over prompts\nand judges", ends_only=True)
    rows = [{**row, "with_judges": wide(row)} for row in table.rows]
    return replace(
        table, columns=(*table.columns, column), rows=rows, wide="with_judges",
        hollow="declining_mean",
    )  # fmt: skip


def _on_dimension(run: Run, name: str) -> Mapping[str, SystemRank]:
    """The systems on a dimension that is rated by numbers."""
    verdicts = run.verdicts
    rows = {item[:2]: row for row, item in enumerate(run.items)}
    kept = [rows[entry.prompt_id, entry.id] for entry in verdicts]
    columns, _ = run.ranking_columns()
    labels = {
        "persona": [run.judges[column].persona for column in columns],
        "model": [run.judges[column].model for column in columns],
    }
    factors = {name: those for name, those in labels.items() if len(set(those)) > 1}
    place = run.dimensions.index(name)
    board = rank_systems(
        [verdict.system for verdict in verdicts],
        [verdict.prompt_id for verdict in verdicts],
        np.array([verdict.dimensions[name].mean for verdict in verdicts]),
        np.empty((len(verdicts), 0)),
        [],
        judges=JudgeSample(run.ratings[np.ix_(kept, columns, [place])], factors),
        limits=mean_limits(run.rubric, [name])[0],
        abstentions=run.abstentions(kept, columns),
        compared=False,
    )
    return {entry.system: entry for entry in board.systems}
