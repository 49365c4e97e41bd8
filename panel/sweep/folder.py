"""A sweep's folder: that of a run, and framings.jsonl, responses.jsonl, deltas.csv and figures."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import orjson

from graphs import Judgment
from graphs.framing import Variant
from graphs.sweeping import Answer
from panel.files.run_folder import RunFolder, replace_file, usage_of
from panel.sweep.deltas import Cell
from panel.sweep.result import Sweep

PLOTS = "pip install 'persona-panel[plots]'"
"""How to get the figures."""
_WHAT = ("system", "dimension", "condition")
_FIGURES = ("delta", "ci_low", "ci_high", "p_value", "p_holm", "effect_size")
_COUNTS = ("n_pairs", "n_abstained")


class SweepFolder:
    """One sweep's folder, open for writing; see `panel.files.run_folder.RunFolder`."""

    def __init__(self, path: Path, manifest: dict[str, Any]) -> None:
        self.path = path
        self._run = RunFolder(path, manifest)

    def add(self, judgment: Judgment) -> None:
        """Append a judgment."""
        self._run.add(judgment)

    def finish(self, sweep: Sweep, *, drawn: bool) -> None:
        """Close judgments.jsonl, and write everything else; figures where it is to be `drawn`."""
        self._run.finish(sweep.run, sweep.responses)
        summary = sweep.run.summary() | {"sweep": sweep.summary()}
        replace_file(
            self.path / "summary.json", orjson.dumps(summary, option=orjson.OPT_INDENT_2) + b"\n"
        )
        if sweep.plan.responses is None:
            replace_file(self.path / "framings.jsonl", _lines(map(_variant, sweep.variants)))
            there = [_answer(one) for one in sweep.answers if one.text is not None]
            replace_file(self.path / "responses.jsonl", _lines(there))
        replace_file(self.path / "deltas.csv", deltas_csv(sweep.cells))
        if drawn and plots_at_hand():
            from panel.sweep.plots import draw

            for name, content in draw(sweep):
                replace_file(self.path / name, content)


def plots_at_hand() -> bool:
    """Whether figures can be drawn here."""
    return find_spec("matplotlib") is not None


def deltas_csv(cells: Iterable[Cell]) -> bytes:
    """deltas.csv: one cell a line; a figure that there is not is empty."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*_WHAT, *_FIGURES, *_COUNTS])
    for cell in cells:
        delta = cell.delta
        figures = [delta.value, delta.ci_low, delta.ci_high]
        figures += [delta.p_value, delta.p_holm, delta.effect_size]
        shown = ["" if math.isnan(value) else f"{value:.6f}" for value in figures]
        what = (cell.system, cell.dimension, cell.condition)
        writer.writerow([*what, *shown, delta.n_pairs, cell.n_abstained])
    return text.getvalue().encode()


def _variant(variant: Variant) -> dict[str, Any]:
    return {
        "prompt_id": variant.prompt_id,
        "condition": variant.condition,
        "attempt": variant.attempt,
        "used": variant.used,
        "prompt": variant.text,
        "checks": variant.checks,
        "faults": list(variant.faults),
        "rewriter": variant.rewriter,
        "checker": variant.checker,
    }


def _answer(answer: Answer) -> dict[str, Any]:
    """An answer in the form that `--responses` reads, and how it came to be."""
    return {
        "prompt_id": answer.prompt_id,
        "prompt": answer.asked,
        "condition": answer.condition,
        "system": answer.system,
        "response": answer.text,
        "cut_off": answer.cut_off,
        "usage": usage_of(answer.usage),
        "latency_s": round(answer.latency_s, 6),
        "cached": answer.cached,
    }


def _lines(rows: Iterable[Mapping[str, Any]]) -> bytes:
    return b"".join(orjson.dumps(row) + b"\n" for row in rows)
