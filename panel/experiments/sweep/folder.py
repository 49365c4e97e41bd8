"""A sweep's folder: that of a run, and framings.jsonl, deltas.csv and figures.

What it is a sweep of is in prompts.jsonl, and responses.jsonl grows as the targets answer;
where responses are given it is these that it holds.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from persona_panel.experiments.sweep.deltas import Cell
from persona_panel.experiments.sweep.plan import SweepPlan
from persona_panel.experiments.sweep.result import Sweep, condition_labels
from persona_panel.files.csv_cells import cell_of, csv_of
from persona_panel.files.digests import sha256_of, without_texts
from persona_panel.files.documents import as_json, json_lines
from persona_panel.files.private_files import replace_file
from persona_panel.graphs import Judgment
from persona_panel.graphs.framing import BASELINE, Variant
from persona_panel.graphs.sweeping import TargetAnswer, response_of
from persona_panel.runs.folder import RunFolder
from persona_panel.runs.growing_file import AppendedFile
from persona_panel.runs.judgment_lines import usage_document
from persona_panel.runs.kept_texts import PROMPTS, RESPONSES, KeptTexts
from persona_panel.runs.output import RunOutput
from persona_panel.statistics.figures import plots_at_hand

_WHAT = ("system", "dimension", "condition")
_FIGURES = (
    "delta", "ci_low", "ci_high", "p_value", "p_holm", "p_bounded", "p_sign", "sd", "effect_size",
)  # fmt: skip
_COUNTS = ("n_pairs", "n_abstained", "n_fell", "n_rose")


class SweepFolder:
    """One sweep's folder, open for writing; see `persona_panel.runs.folder.RunFolder`."""

    def __init__(
        self,
        output: RunOutput,
        manifest: Mapping[str, Any],
        plan: SweepPlan,
        start: Mapping[str, Any],
    ) -> None:
        self.path = output.folder
        self._texts = output.texts
        self._run = RunFolder(output, manifest, texts_of(plan), start)
        self._answers: AppendedFile | None = None
        if plan.responses is None:
            self._answers = AppendedFile(self.path / RESPONSES, _result, fresh=output.overwrite)

    def add(self, event: Judgment | TargetAnswer) -> None:
        """Append a judgment, or what a target has said."""
        if isinstance(event, Judgment):
            self._run.add(event)
        elif self._answers is not None and event.text is not None:
            line = _answer(event)
            self._answers.add(line if self._texts else without_texts(line))
            # A judgment must not be there without what it is about.
            self._answers.flush()

    def flush(self) -> None:
        """Hand the judgments that were appended to the operating system."""
        self._run.flush()

    def finish(self, sweep: Sweep, *, drawn: bool) -> None:
        """Close what grew, and write everything else; figures where it is to be `drawn`."""
        lacking = 0 if self._answers is None else self._answers.close()
        if not self._run.finish(sweep.run, sweep.responses, lacking=lacking):
            return
        summary = as_json(sweep.document(), orjson.OPT_INDENT_2) + b"\n"
        replace_file(self.path / "summary.json", summary)
        if sweep.plan.responses is None:
            variants = [_variant(one, texts=self._texts) for one in sweep.variants]
            replace_file(self.path / "framings.jsonl", json_lines(variants))
            # They came in any order; read again, figures depend on that of the prompts.
            answers = [_answer(one) for one in _in_order(sweep) if one.text is not None]
            kept = answers if self._texts else [without_texts(line) for line in answers]
            replace_file(self.path / RESPONSES, json_lines(kept))
        replace_file(self.path / "deltas.csv", deltas_csv(sweep.cells))
        if drawn and plots_at_hand():
            from persona_panel.experiments.sweep.plots import draw

            for name, content in draw(sweep, condition_labels(sweep.plan)):
                replace_file(self.path / name, content)

    def require_whole(self) -> None:
        """As `RunFolder.require_whole`."""
        self._run.require_whole()


def _in_order(sweep: Sweep) -> list[TargetAnswer]:
    """The targets' answers in the order of prompts, systems and conditions."""
    plan = sweep.plan
    prompts = [prompt.id for prompt in plan.prompts]
    axes = (prompts, plan.systems, (BASELINE, *plan.conditions))
    places = [{name: place for place, name in enumerate(axis)} for axis in axes]

    def place(one: TargetAnswer) -> tuple[int, ...]:
        names = (one.prompt_id, one.system, one.condition)
        return tuple(known[name] for known, name in zip(places, names, strict=True))

    return sorted(sweep.answers, key=place)


def texts_of(plan: SweepPlan) -> KeptTexts:
    """What a sweep is of: the responses that are given, else its prompts."""
    if plan.responses is None:
        asked = [{"prompt_id": prompt.id, "prompt": prompt.text} for prompt in plan.prompts]
        return KeptTexts.of_lines(PROMPTS, asked)
    # In the order of the prompts, which the folder does not say otherwise.
    places = {prompt.id: place for place, prompt in enumerate(plan.prompts)}
    given = [
        _response(one.prompt_id, one.prompt, one.condition, one.system, one.text)
        for one in sorted(plan.responses, key=lambda one: places[one.prompt_id])
    ]
    return KeptTexts.of_lines(RESPONSES, given)


def _result(line: Mapping[str, Any]) -> tuple[str, str]:
    return (line["prompt_id"], line["id"])


def deltas_csv(cells: Iterable[Cell]) -> bytes:
    """deltas.csv: one cell a line; a figure that there is not is empty."""
    rows: list[list[Any]] = [[*_WHAT, *_FIGURES, *_COUNTS]]
    for cell in cells:
        delta = cell.delta
        figures = [delta.value, delta.ci_low, delta.ci_high]
        bounded = math.nan if delta.p_bounded is None else delta.p_bounded
        figures += [delta.p_value, delta.p_holm, bounded, delta.p_sign, delta.sd, delta.effect_size]
        shown = ["" if math.isnan(value) else f"{value:.6f}" for value in figures]
        what = map(cell_of, (cell.system, cell.dimension, cell.condition))
        rows.append([*what, *shown, delta.n_pairs, cell.n_abstained, cell.n_fell, cell.n_rose])
    return csv_of(rows)


def _variant(variant: Variant, *, texts: bool) -> dict[str, Any]:
    said = variant.text
    digest = None if said is None else sha256_of(said)
    return {
        "prompt_id": variant.prompt_id,
        "condition": variant.condition,
        "attempt": variant.attempt,
        "used": variant.used,
        **({"prompt": said} if texts else {"prompt_sha256": digest}),
        "checks": variant.checks,
        "faults": list(variant.faults),
        "rewriter": variant.rewriter,
        "checker": variant.checker,
    }


def _answer(answer: TargetAnswer) -> dict[str, Any]:
    """An answer in the form that `--responses` reads, and how it came to be."""
    said = str(answer.text)
    own = _response(answer.prompt_id, answer.asked, answer.condition, answer.system, said)
    return own | {
        "cut_off": answer.cut_off,
        "usage": usage_document(answer.usage),
        "latency_s": round(answer.latency_s, 6),
        "cached": answer.cached,
    }


def _response(
    prompt_id: str, prompt: str, condition: str, system: str, text: str
) -> dict[str, Any]:
    """A response under the id that the run's other files have for it."""
    return {
        "prompt_id": prompt_id,
        "id": response_of(prompt_id, system, condition, prompt, text).id,
        "prompt": prompt,
        "condition": condition,
        "system": system,
        "response": text,
    }
