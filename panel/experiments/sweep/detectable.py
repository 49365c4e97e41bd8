"""The smallest Δ that a sweep would claim or can show, and how many prompts a Δ takes: before
anything is spent, or after.

The test is that of `persona_panel.experiments.sweep.deltas.Mean`. For normal Δs of cells that have
nothing in common that is Student's test at the level over the number of cells; flipped signs detect
smaller ones of cells that go together.

In points it depends on the spread of Δs over prompts, which is not known before a sweep: it is then
given in standard deviations, and in points from an earlier sweep.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from persona_panel.experiments.sweep.deltas import FEWEST, Cell
from persona_panel.experiments.sweep.plan import SweepPlan
from persona_panel.files.errors import Fault, InputError
from persona_panel.files.limits import json_of
from persona_panel.files.named_files import shown_folder
from persona_panel.files.outputs import json_number
from persona_panel.graphs.framing import BASELINE
from persona_panel.graphs.sweeping import response_id
from persona_panel.results.result import Result
from persona_panel.results.table import Column, Key, Table
from persona_panel.runs.cost_estimate import CostEstimate, cost_result
from persona_panel.runs.load import load_run
from persona_panel.statistics.core.arrays import ROUNDING, Array
from persona_panel.statistics.core.display import number, percent
from persona_panel.statistics.core.estimate import LEVEL, POWER
from persona_panel.statistics.core.means import detectable_effect


@lru_cache
def smallest_claimed(n_prompts: int, n_cells: int) -> float:
    """Return the mean Δ of one of `n_cells` cells, in standard deviations over prompts, that is
    claimed with a probability of `POWER` where no other cell has an effect; NaN where no Δ of any
    size is.

    >>> round(smallest_claimed(6, 1), 2)
    1.43
    """
    if n_prompts < FEWEST:
        return math.nan
    return detectable_effect(n_prompts, LEVEL / max(1, n_cells))


@dataclass(frozen=True, slots=True)
class Spread:
    """The standard deviations of Δ over prompts, in points, of a sweep's cells, without those in
    which all prompts have the same. Where the judges' share of the noise is known (`split`) they
    hold for the number of judges that was asked for; else for `n_judges`."""

    lowest: float
    median: float
    highest: float
    n_judges: int
    split: bool
    source: str | None = None


@dataclass(frozen=True, slots=True)
class DetectableDelta:
    """The smallest mean Δ of one of `n_cells` cells that is claimed in a share `POWER` of such
    sweeps, where no other cell has an effect. The second test, which Δs that look asymmetric take,
    is not in it. `effect` is in standard deviations of Δ over prompts, taken to be normal, NaN
    where no Δ of any size can be shown; `prompts_needed` is the fewest prompts with which one could
    be."""

    n_prompts: int
    n_cells: int
    n_judges: int
    effect: float
    prompts_needed: int
    spread: Spread | None

    def points(self, sd: float) -> float:
        """Return the Δ in points, for this standard deviation."""
        return self.effect * sd

    @property
    def facts(self) -> dict[str, Any]:
        """Return what is known without the spread, by the names of fields."""
        return {
            "prompts": self.n_prompts, "cells": self.n_cells, "judges": self.n_judges,
            "level": LEVEL, "power": POWER, "in_sd": self.effect,
            "prompts_needed": self.prompts_needed,
        }  # fmt: skip

    @property
    def sds(self) -> dict[str, float]:
        """Return the standard deviations of cells, by name; empty without a spread."""
        of = self.spread
        if of is None:
            return {}
        return {"lowest": of.lowest, "median": of.median, "highest": of.highest}

    @property
    def of_sds(self) -> dict[str, Any]:
        """Return how many judges the standard deviations are of, and from which sweep."""
        if self.spread is None:
            return {}
        judges = self.n_judges if self.spread.split else self.spread.n_judges
        return {"judges": judges, "source": self.spread.source}

    def document(self) -> dict[str, Any]:
        """Return the JSON document."""
        sds = {name: json_number(sd) for name, sd in self.sds.items()} | self.of_sds
        points = {name: json_number(self.points(sd)) for name, sd in self.sds.items()}
        in_sd = {"in_sd": json_number(self.effect)}
        return self.facts | in_sd | {"sd": sds or None, "in_points": points or None}


def detectable_delta(
    plan: SweepPlan, n_dimensions: int, n_judges: int, like: str | Path | None = None
) -> DetectableDelta:
    """Return the smallest detectable Δ of a planned sweep on so many numeric dimensions; in points
    by `like`, the folder of an earlier sweep. Raises InputError where that is none, or no cell of
    it has Δs of two prompts."""
    n_cells = len(plan.systems) * len(plan.conditions) * n_dimensions
    spread = None if like is None else _spread_in(Path(like), n_judges)
    return _detectable(len(plan.prompts), n_cells, n_judges, spread)


def detectable_in(cells: Sequence[Cell], n_judges: int) -> DetectableDelta:
    """Return the smallest detectable Δ of a finished sweep, by the spread of its Δs and the median
    number of prompts."""
    tested = [cell.delta for cell in cells if cell.delta.n_pairs > 1]
    n_prompts = int(np.median([delta.n_pairs for delta in tested])) if tested else 0
    # Where all prompts have the same Δ, nothing shows how far others would spread.
    sds = [delta.sd for delta in tested if delta.sd > ROUNDING]
    spread = _spread(sds, n_judges, split=True, source=None) if sds else None
    return _detectable(n_prompts, len(tested), n_judges, spread)


def _detectable(
    n_prompts: int, n_cells: int, n_judges: int, spread: Spread | None
) -> DetectableDelta:
    effect = smallest_claimed(n_prompts, n_cells)
    return DetectableDelta(n_prompts, n_cells, n_judges, effect, FEWEST, spread)


def _spread(sds: Sequence[float], n_judges: int, *, split: bool, source: str | None) -> Spread:
    return Spread(min(sds), float(np.median(sds)), max(sds), n_judges, split, source)


def _spread_in(folder: Path, n_judges: int) -> Spread:
    deltas, shown = _deltas_by_judge(folder), shown_folder(folder)
    n_own = deltas.shape[-1]
    cells = deltas.transpose(0, 2, 3, 1, 4).reshape(-1, deltas.shape[1], n_own)
    sds = [sd for cell in cells if (sd := sd_with_judges(cell, n_judges)) > ROUNDING]
    if not sds:
        actual = "no cell in which all judges rated two prompts and Δ differs"
        raise InputError([Fault(shown, actual, "a sweep with two prompts or more")])
    return _spread(sds, n_own, split=n_own > 1 or n_own == n_judges, source=shown)


def sweep_estimate_result(estimates: Sequence[CostEstimate], delta: DetectableDelta) -> Result:
    """Return the cost of a sweep and its smallest detectable Δ as a result."""
    costs = cost_result(estimates)
    conclusion = [*costs.conclusion, detectable(delta)]
    # That nothing can be significant comes before what it would cost.
    if math.isnan(delta.effect):
        conclusion = [conclusion[-1], *costs.conclusion]
    tables = [*costs.tables, *detectable_tables(delta)]
    return replace(costs, analysis="sweep estimate", conclusion=conclusion, tables=tables)


def detectable_tables(delta: DetectableDelta) -> list[Table]:
    """Return the smallest detectable Δ as tables for programs: in standard deviations and, where
    these are known, in points."""
    columns = tuple(
        Column(name, "number" if name in ("level", "power", "in_sd") else "whole")
        for name in delta.facts
    )
    tables = [Table("detectable", (), columns, [delta.facts])]
    if delta.spread is not None:
        columns = (
            Column("sd", "number"), Column("in_points", "number"), Column("judges", "whole"),
            Column("source", "text"),
        )  # fmt: skip
        rows = [
            {"cell": cell, "sd": sd, "in_points": delta.points(sd)} | delta.of_sds
            for cell, sd in delta.sds.items()
        ]
        tables.append(Table("detectable_in_points", (Key("cell"),), columns, rows))
    return tables


def detectable(delta: DetectableDelta) -> str:
    """Return the smallest detectable Δ of a planned sweep in words: in standard deviations, and in
    points where an earlier sweep is known."""
    size = f"{delta.n_prompts:,} prompts and {delta.n_cells:,} cells"
    if math.isnan(delta.effect):
        return (
            f"Too few prompts: with {size}, no Δ of any size could be significant. At least "
            f"{delta.prompts_needed:,} prompts are needed."
        )
    sentence = (
        f"With {size}, the smallest detectable Δ is {number(delta.effect)} standard deviations of "
        f"Δ over prompts: a mean Δ of that size in one cell is significant (p < {LEVEL:g}, "
        f"adjusted for all cells) in {percent(POWER)} of such sweeps if Δs are normal: fewer where "
        "they look asymmetric."
    )
    if (spread := delta.spread) is None:
        return (
            f"{sentence} If the standard deviation is 1 point, that is {number(delta.effect)} "
            "points; --like FOLDER takes the standard deviations of an earlier sweep."
        )
    converted = ""
    if spread.n_judges != delta.n_judges:
        converted = " with one judge (with more judges it is lower)"
        if spread.split:
            converted = f", converted from {spread.n_judges:,} judges to {delta.n_judges:,}"
    return (
        f"{sentence} In the sweep of {spread.source}, the standard deviation is "
        f"{number(spread.median)} points in the median cell ({number(spread.lowest)} to "
        f"{number(spread.highest)}){converted}. The smallest detectable Δ is "
        f"{_in_points(delta, spread)}."
    )


def detected(delta: DetectableDelta) -> str:
    """Return a sentence on the smallest detectable Δ, in points, of a sweep in which no cell is
    significant; empty where there is none, which the sweep's conclusion says."""
    if delta.spread is None or math.isnan(delta.effect):
        return ""
    return (
        "No cell is significant, which does not show that Δ is 0. The smallest detectable Δ of "
        f"this sweep is {_in_points(delta, delta.spread)}: a mean Δ of that size in one cell would "
        f"be significant in {percent(POWER)} of sweeps with this number of prompts and cells, if "
        "Δs are normal: fewer where they look asymmetric."
    )


def _in_points(delta: DetectableDelta, spread: Spread) -> str:
    lowest, median, highest = map(delta.points, (spread.lowest, spread.median, spread.highest))
    return f"{number(median)} points in the median cell ({number(lowest)} to {number(highest)})"


def sd_with_judges(deltas: Array, n_judges: int) -> float:
    """Return the standard deviation over prompts of the mean Δ of `n_judges` judges like these, in
    points, from Δs `(prompts, judges)`, of the prompts that all judges have; NaN below two of them.

    What prompts have in common for all judges stays, the rest (judges' noise, and what they see
    differently from prompt to prompt) shrinks with their number: the components of variance of
    prompts × judges (Shavelson and Webb 1991, *Generalizability Theory*, chapter 2). With one judge
    the parts cannot be separated. The means of two judges who contradict each other are equal;
    those of one have a variance of 2:

    >>> round(sd_with_judges(np.array([[1.0, -1.0], [-1.0, 1.0]]), 1) ** 2, 3)
    2.0
    """
    whole = deltas[~np.isnan(deltas).any(axis=1)]
    n_prompts, n_own = whole.shape
    if n_prompts < 2 or n_own == 0:
        return math.nan
    of_prompts = float(whole.mean(axis=1).var(ddof=1))
    if n_own == 1:
        return math.sqrt(of_prompts)
    rest = whole - whole.mean(axis=1, keepdims=True) - whole.mean(axis=0) + whole.mean()
    residual = float(np.square(rest).sum()) / ((n_prompts - 1) * (n_own - 1))
    return math.sqrt(max(0.0, of_prompts + residual * (1 / n_judges - 1 / n_own)))


def _deltas_by_judge(folder: Path) -> Array:
    """Return Δ of each judge `(systems, prompts, conditions, dimensions, judges)`."""
    run = load_run(folder)
    sweep = json_of(folder / "run.json").get("sweep")
    if sweep is None:
        actual = "the folder of a run of another command"
        raise InputError([Fault(shown_folder(folder), actual, "a sweep's folder")])
    systems, conditions = sweep["systems"], sweep["conditions"]
    numeric = [run.dimensions.index(dimension.id) for dimension in run.rubric.numeric]
    rows = {(item.prompt_id, item.id): row for row, item in enumerate(run.items)}
    prompts = list(dict.fromkeys(item.prompt_id for item in run.items))
    shape = (len(systems), len(prompts), 1 + len(conditions), len(numeric), len(run.judges))
    scores: Array = np.full(shape, np.nan)
    for s, system in enumerate(systems):
        for p, prompt in enumerate(prompts):
            for c, condition in enumerate((BASELINE, *conditions)):
                if (row := rows.get((prompt, response_id(system, condition)))) is not None:
                    scores[s, p, c] = run.ratings[row][:, numeric].T
    deltas: Array = scores[:, :, :1] - scores[:, :, 1:]
    return deltas
