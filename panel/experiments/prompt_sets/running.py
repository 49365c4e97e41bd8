"""A set built by models, and written: the prompts, what was dropped, the funnel, the map."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import orjson

from persona_panel.calls.budget import NO_CAPS, Caps
from persona_panel.experiments.prompt_sets.asking import CalledModels, EstimatedAnswers, OnProgress
from persona_panel.experiments.prompt_sets.building import (
    BuiltPrompts,
    build_prompts,
    document_of,
    funnel_csv,
)
from persona_panel.experiments.prompt_sets.plan import PromptSetPlan
from persona_panel.files.errors import RunStopped
from persona_panel.files.limits import json_of
from persona_panel.files.outputs import as_json, json_lines, replace_file
from persona_panel.graphs.context import Abort
from persona_panel.runs.executor import predicted_calls
from persona_panel.runs.folder import HeldRun, OutputFile
from persona_panel.runs.judging.cost_estimate import CostEstimate, refuse_unpriced
from persona_panel.runs.judging.model_access import open_caller
from persona_panel.runs.output import locked
from persona_panel.runs.spending import spending_kept
from persona_panel.statistics.figures import plots_at_hand

_IDENTITY = ("spec", "files", "models")


async def run_build(
    plan: PromptSetPlan,
    output: OutputFile,
    *,
    caps: Caps = NO_CAPS,
    patience_s: float | None = None,
    on_progress: OnProgress = lambda step, done, of: None,
) -> BuiltPrompts:
    """Build a set and write it; nothing is written where calls failed or were not made, since a
    prompt must not be dropped for that.

    Raises:
        ConfigurationError: a price is not known where `caps` are in dollars.
        RunFolderError: the file holds something else, or is being written, or cannot be.
        RunStopped: a reply could not be kept.
    """
    refuse_unpriced(list(plan.models.values()), caps)
    held_set(plan, output, caps)
    output.prepare()
    starts = output.starts(plan.models.values())
    try:
        with output.writing(), locked(output.spent):
            output.write_manifest(plan.document(), starts)
            async with open_caller(plan.models, caps, patience_s=patience_s) as caller:
                starts[-1]["sent"] = caller.counts.sent
                with spending_kept(caller, output.spent):
                    built = await build_prompts(plan, CalledModels(caller, on_progress))
                    caller.require_not_stopped()
            if not built.pending:
                _write(built, output, starts)
    except Abort as error:
        raise RunStopped(str(error)) from error
    return built


async def estimate_build(plan: PromptSetPlan) -> list[CostEstimate]:
    """Estimate the cost of building a set, by model, the cache counted in, without a call.

    The steps are followed as if each answer were as it should be: no prompt is dropped for its
    quality, and no two are alike.
    """
    with predicted_calls() as predicted:
        answers = EstimatedAnswers(plan.models, predicted)
        await build_prompts(plan, answers)
        return answers.estimates()


def held_set(plan: PromptSetPlan, output: OutputFile, caps: Caps = NO_CAPS) -> HeldRun:
    """Read the part of this set that the file holds, without a call.

    Raises:
        ConfigurationError: a price is not known where `caps` are in dollars.
        RunFolderError: it holds another set, or something else.
    """
    n = 0
    if not output.overwrite:
        n = sum(1 for _ in output.lines())
        kept = _manifest_in(output)
        if kept is None:
            if output.path.exists():
                output.refuse("it has no manifest next to it")
        else:
            own = orjson.loads(as_json(plan.document()))
            if changed := [key for key in _IDENTITY if kept.get(key) != own[key]]:
                output.refuse(f"a set that differs in {', '.join(changed)}")
    return output.held(n, plan.models, caps)


def _manifest_in(output: OutputFile) -> dict[str, Any] | None:
    try:
        manifest = json_of(output.manifest)
    except (OSError, ValueError):
        return None
    return manifest if isinstance(manifest, dict) else None


def _write(built: BuiltPrompts, output: OutputFile, starts: list[dict[str, Any]]) -> None:
    replace_file(
        output.named("dropped.jsonl"), json_lines(candidate.row() for candidate in built.dropped)
    )
    replace_file(output.named("funnel.csv"), funnel_csv(built))
    mapped = [prompt for prompt in built.prompts if "map_x" in prompt.facts]
    if plots_at_hand() and len(mapped) > 1:
        from persona_panel.analyses.figures.prompt_map import MapPoint, written_map

        points = [
            MapPoint(prompt.facts["map_x"], prompt.facts["map_y"], prompt.stratum, prompt.bundle)
            for prompt in mapped
        ]
        for ending, content in written_map(points):
            replace_file(output.named(f"map.{ending}"), content)
    replace_file(output.path, json_lines(prompt.row() for prompt in built.prompts))
    about = {
        "output": {
            "file": output.path.name,
            "lines": len(built.prompts),
            "sha256": sha256(output.path.read_bytes()).hexdigest(),
        },
        "result": document_of(built),
    }
    output.write_manifest(built.plan.document() | about, starts)
