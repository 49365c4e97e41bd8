"""How long until something happens: `--help`, and one response whose replies are cached."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from benchmarks.harness import (
    COMMAND,
    Used,
    environment,
    measure,
    model_line,
    score,
    scratch,
    stub,
    write_panel,
    write_responses,
)
from benchmarks.overhead import MODELS
from benchmarks.report import Figure, Outcome

TIMES = 5
HELP_S, SCORE_S = 0.5, 2.5


def run(options: argparse.Namespace) -> Outcome:
    """Wall time, the first run of each left out: it fills the cache and the disk's."""
    with scratch("startup") as folder, stub() as url:
        responses = write_responses(folder / "responses.jsonl", 10)
        served = [model_line(f"stub-{n}", url) for n in range(MODELS)]
        embedded = ["{model: 'local:smollm2-135m'}"]
        figures = [_figure("--help", _timed(folder, [*COMMAND, "--help"]), HELP_S)]
        for name, models in {"three served models": served, "the embedded model": embedded}.items():
            panel = write_panel(folder / "panel.yaml", models)
            command = score(responses, panel, "--limit", "1")
            runs = _timed(folder, command, fresh_folder=True)
            figures.append(_figure(f"score --limit 1 from a warm cache, {name}", runs, SCORE_S))
    return Outcome(figures=figures)


def _timed(folder: Path, command: Sequence[str], *, fresh_folder: bool = False) -> list[Used]:
    runs = []
    for n in range(TIMES + 1):
        out = [str(folder / f"run-{n}-{len(list(folder.iterdir()))}")] if fresh_folder else []
        env = environment(PERSONA_PANEL_CACHE=str(folder / "cache"))
        runs.append(measure([*command, *out], env))
    return runs[1:]


def _figure(name: str, runs: Sequence[Used], most_s: float) -> Figure:
    walls = tuple(used.wall_s for used in runs)
    return Figure(name, walls, f"< {most_s:g} s", max(walls) < most_s, "s")
