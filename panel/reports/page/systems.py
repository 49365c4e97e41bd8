"""Section 2: the systems as the result of the run has them, with what only the page shows: every
prompt's mean, missing judgments, and dimensions over prompts and judges."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import isnan, nan
from typing import Any

import numpy as np

from persona_panel.analyses.score import board_tables
from persona_panel.graphs import Judge
from persona_panel.graphs.records import controls_among
from persona_panel.results.result import Result
from persona_panel.results.table import Column, Table
from persona_panel.runs.run import Run
from persona_panel.runs.scale_limits import mean_limits
from persona_panel.statistics.core.estimate import Estimate
from persona_panel.statistics.core.ranking import (
    JudgeSample,
    Leaderboard,
    SystemRank,
    influence_of,
    rank_systems,
)

_TICKS = 60
"""The most prompts whose means are drawn."""
_ROWS = 30
"""The most means by dimension that are not folded."""
_CHART = (
    "In the chart the dot is the mean, the band its 95 % interval over prompts, with these judges "
    "as they are, the line with ends that over prompts and judges, as a sample of such judges, and "
    "each mark below one prompt. A hollow circle is a mean that is not ranked."
)


def systems_result(run: Run, board: Leaderboard) -> Result:
    """Return the systems of a run as a result."""
    controls = run.control_leaderboard()
    tables = list(board_tables(run, board))
    if controls is not None:
        own = board_tables(run, controls, "control_", ", by judges without a persona")
        tables += [replace(table, when="full") for table in own if table.title]
    drawn = {"systems": _with_marks, "dimensions": _with_judges}
    tables = [drawn.get(table.name, _as_it_is)(table, run, board) for table in tables]
    return Result("systems", [] if board.systems else ["No response has a verdict yet."], tables)


def _as_it_is(table: Table, run: Run, board: Leaderboard) -> Table:
    return table


def _with_marks(table: Table, run: Run, board: Leaderboard) -> Table:
    """The leaderboard with its abstentions, missing judgments and the mean of each prompt."""
    prompts, missing = _prompt_means(run), _missing(run)
    rows = []
    for row in table.rows:
        name = row["system"]
        n_judged = row.get("n_judged") or 0
        marks = prompts[name] if len(prompts[name]) <= _TICKS else []
        n = {"n_missing": missing[name], "n_asked": missing[name] + n_judged}
        rows.append({**row, **n, "marks": marks})
    columns = [entry for entry in table.columns if entry.name not in ("n_abstained", "n_judged")]
    more = (
        Column("n_abstained", "whole", "abstentions", of="n_judged"),
        Column("n_missing", "whole", "missing", of="n_asked"),
    )
    return replace(
        table, columns=(*columns, *more), rows=rows, wide="with_judges", hollow="declining_mean",
        remarks=[*table.remarks, _CHART],
    )  # fmt: skip


def _prompt_means(run: Run) -> Mapping[str, list[float]]:
    """Each system's mean composite on each prompt."""
    measured: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for verdict in run.verdicts:
        if not isnan(verdict.composite):
            measured[verdict.system][verdict.prompt_id].append(verdict.composite)
    means = {
        system: [sum(those) / len(those) for those in of_prompt.values()]
        for system, of_prompt in measured.items()
    }
    return defaultdict(list, means)


def _missing(run: Run) -> Mapping[str, int]:
    columns = _panel(run.judges)
    n: dict[str, int] = defaultdict(int)
    for item, row in zip(run.items, run.statuses, strict=True):
        n[item.system] += sum(row[column] not in ("scored", "abstained") for column in columns)
    return n


def _panel(judges: Sequence[Judge]) -> list[int]:
    """The judges that rankings are of."""
    controls = controls_among(judges)
    return [column for column, judge in enumerate(judges) if judge not in controls]


def _with_judges(table: Table, run: Run, board: Leaderboard) -> Table:
    """The means by dimension with their intervals over prompts and judges, too."""
    ranked = {name: _on_dimension(run, name) for name in (entry.id for entry in run.rubric.numeric)}

    def wide(row: Mapping[str, Any]) -> Estimate:
        entry = ranked.get(row["dimension"], {}).get(row["system"])
        if entry is None or entry.declines:
            return Estimate(nan)
        ends = entry.judges_ci_low, entry.judges_ci_high
        return Estimate(entry.composite, *ends, over="prompts and judges")

    column = Column("with_judges", "estimate", "over prompts\nand judges", ends_only=True)
    rows = [{**row, "with_judges": wide(row)} for row in table.rows]
    return replace(
        table, columns=(*table.columns, column), rows=rows, wide="with_judges",
        hollow="declining_mean", when="always" if len(rows) <= _ROWS else "full",
    )  # fmt: skip


def _on_dimension(run: Run, name: str) -> Mapping[str, SystemRank]:
    """The systems on a dimension that is rated by numbers."""
    verdicts = run.verdicts
    rows = {item[:2]: row for row, item in enumerate(run.items)}
    kept, columns = [rows[entry.prompt_id, entry.id] for entry in verdicts], _panel(run.judges)
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
        judges=JudgeSample(influence_of(run.ratings[np.ix_(kept, columns, [place])]), factors),
        limits=mean_limits(run.rubric, [name])[0],
        abstentions=run.abstentions(kept, columns),
    )
    return {entry.system: entry for entry in board.systems}
