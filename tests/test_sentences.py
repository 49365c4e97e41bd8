"""Every sentence of a run or a sweep is what the table beside it says: a reader that knows nothing
of how sentences are made takes each apart, over random runs of many shapes."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np
import pytest

from persona_panel import Run
from persona_panel.analyses.answers import conclusion_of
from persona_panel.analyses.contested import most_contested
from persona_panel.analyses.judge_groups import model_differences, persona_departures
from persona_panel.analyses.run_summary import run_summary
from persona_panel.experiments.sweep.conclusion import cell_document, sweep_conclusion
from persona_panel.experiments.sweep.deltas import Names, Profile, SweepLabels, measure, profiles
from persona_panel.experiments.sweep.detectable import detectable_in
from persona_panel.graphs.records import controls_among
from persona_panel.results.conclusions.score import Judged
from persona_panel.statistics.core.estimate import Difference
from persona_panel.statistics.personas import ALL_SYSTEMS, Departure
from tests.helpers.differing_sentences import DIFFERS
from tests.helpers.random_runs import random_run
from tests.helpers.sentences import LEVEL, RUN, SWEEP, Beside, read

N = 200


def _row(one: Difference | Departure) -> dict[str, Any]:
    """A difference, or a departure, as the reader of sentences looks it up."""
    figures = {"ci_low": one.low, "ci_high": one.high, "n_prompts": one.n}
    return asdict(one) | figures | dict.fromkeys(("difference", "beyond_severity"), one.value)


def differing(run: Run) -> dict[str, Any]:
    """The rows that sentences on who sees it otherwise are of."""
    departures, models = persona_departures(run), model_differences(run)
    of, shown = departures.by_response, departures.by_response.shown
    farthest = np.abs(of.departures[shown]).max() if shown.any() else None
    first = models.differences[0].dimension if models.differences else None
    whole = [one for one in models.differences if one.system == ALL_SYSTEMS]
    return {
        "by_system": [_row(one) for one in departures.by_system],
        "by_response": {
            "reason": of.reason,
            "tested": int(np.isfinite(of.p).sum()),
            "shown": int((of.p_adjusted < LEVEL).sum()),
            "farthest": farthest,
        },
        "contested": [asdict(one) for one in most_contested(run)],
        "models": [_row(one) for one in whole if one.dimension == first],
        "interactions": [_row(one) for one in models.interactions if one.dimension == first],
    }


@pytest.fixture(scope="module")
def faults_and_kinds() -> tuple[list[str], set[str]]:
    """What is wrong with the sentences of the random runs, and which patterns met one."""
    faults, kinds = [], set()
    for seed in range(N):
        run = random_run(seed)
        controls = controls_among(run.judges)
        judges = [(one.persona, one.model) for one in run.judges if one not in controls]
        beside = Beside(run_summary(run), judges, kinds)
        for sentence in conclusion_of(run):
            if (fault := read(sentence, beside)) is not None:
                faults.append(f"run {seed}: {fault}")
        if not run.coverage.scored:
            continue
        rows, said = Beside(differing(run), judges, kinds), beside.summary
        for sentence in [
            *said.get("differs", ()),
            *said.get("contested", {}).get("conclusion", ()),
        ]:
            if (fault := read(sentence, rows, DIFFERS)) is not None:
                faults.append(f"run {seed}: {fault}")
    return faults, kinds


CONDITIONS = ("placebo", "flattery", "anger")


def random_sweep(seed: int) -> tuple[list[str], dict[str, Any], list[Profile]]:
    """The sentences, the table and the profiles of a sweep of a random shape, with gaps and cells
    without a spread."""
    rng = np.random.default_rng([31, seed])
    systems = ("ash", "birch")[: int(rng.integers(1, 3))]
    dimensions = ("clarity", "depth", "breadth")[: int(rng.integers(1, 4))]
    conditions = CONDITIONS[: int(rng.integers(1, 4))]
    n = int(rng.choice([1, 2, 5, 8, 12, 30, 60]))
    shape = len(systems), n, len(conditions), len(dimensions)
    means = rng.choice(
        [0.0, 0.4, 1.5, -1.5], size=(shape[0], 1, *shape[2:]), p=[0.5, 0.2, 0.2, 0.1]
    )
    noise = rng.choice([rng.normal(size=shape), rng.exponential(size=shape) - 1])
    delta = means + float(rng.choice([0.0, 0.5, 1.0])) * noise
    delta[rng.random(shape) < rng.choice([0.0, 0.3])] = np.nan
    if rng.random() < 0.2:
        delta[0] = np.nan
    none = np.zeros(shape[:3], dtype=np.intp)
    names = Names(systems, tuple(f"p{i}" for i in range(n)), conditions, dimensions)
    found = measure(delta, names, none, none)
    of_systems = profiles(found.cells, systems, "placebo")
    labels = SweepLabels()
    judged = Judged(4, 2, 2, 100, 100)
    said = sweep_conclusion(found.cells, of_systems, judged, labels)
    table = {
        "cells": list(map(cell_document, found.cells)),
        "detectable": detectable_in(found.cells, 4).document(),
        "coverage": {"expected": 100, "scored": 100, "abstained": 0, "missing": {}},
    }
    return said, table, of_systems


def test_no_sentence_of_a_sweep_contradicts_its_cells() -> None:
    """Which system degrades or improves where, by how much, and what is left open; its profile is
    of the same cells."""
    faults, kinds = [], set[str]()
    for seed in range(N):
        said, table, of_systems = random_sweep(seed)
        beside = Beside(table, kinds=kinds)
        faults += [f"sweep {seed}: {fault}" for one in said if (fault := read(one, beside, SWEEP))]
        for one in of_systems:
            degraded = {
                (cell["dimension"], cell["condition"])
                for cell in table["cells"]
                if cell["system"] == one.system and cell["shown"] and cell["delta"] > 0
            }
            words = one.in_words(SweepLabels())
            if not of_profile(words, degraded, table["cells"], one.system):
                faults.append(f"sweep {seed}: {one.system}: {words}: {degraded}")
    assert not faults, "\n".join(faults[:20])
    assert len(kinds) >= len(SWEEP) - 4


def of_profile(
    told: str, degraded: set[tuple[str, str]], cells: list[dict[str, Any]], system: str
) -> bool:
    """Whether a profile is what the cells under pressure say."""
    pressed = {cell for cell in degraded if cell[1] != "placebo"}
    conditions = {condition for _, condition in pressed}
    dimensions = {dimension for dimension, _ in pressed}
    if told == "nothing could be measured":
        return not any(one["n_pairs"] for one in cells if one["system"] == system)
    if told == "no significant degradation":
        return not degraded
    if told == "no significant degradation but under mere rewording":
        return bool(degraded) and not pressed
    what, where = told.removeprefix("degrades in ").split(" under ")
    return ({what} == dimensions or (what == "several dimensions" and len(dimensions) > 1)) and (
        {where} == conditions or (where == "several conditions" and len(conditions) > 1)
    )


def test_no_sentence_of_a_run_contradicts_its_summary(
    faults_and_kinds: tuple[list[str], set[str]],
) -> None:
    """Who is ahead, tied, open or not ranked, what is significant, counted or missing."""
    faults, kinds = faults_and_kinds
    assert not faults, "\n".join(faults[:20])
    assert len(kinds) >= len(RUN) - 4
