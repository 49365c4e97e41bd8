"""A set built by models, and written: the prompts, what was dropped, the funnel, the map."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson

from persona_panel.calls.budget import NO_CAPS, Caps
from persona_panel.experiments.dialogues import DialogueJob, HoldDialogues
from persona_panel.experiments.prompt_sets.building import (
    BuiltPrompts,
    build_prompts,
    document_of,
    funnel_csv,
)
from persona_panel.experiments.prompt_sets.plan import PromptSetPlan
from persona_panel.files.limits import json_of
from persona_panel.files.outputs import as_json, json_lines, replace_file
from persona_panel.results.conclusions.wording import counted
from persona_panel.runs.execution import CALLED, Execution
from persona_panel.runs.folder import OutputFile
from persona_panel.runs.output import locked
from persona_panel.statistics.figures import plots_at_hand

_IDENTITY = ("spec", "files", "models")


class PromptSetBuild(DialogueJob[BuiltPrompts]):
    """The building of a set into a file. Nothing is written where calls failed or were not made,
    since a prompt must not be dropped for that."""

    what = "prompts"
    output: OutputFile

    def __init__(
        self, plan: PromptSetPlan, output: OutputFile, patience_s: float | None = None
    ) -> None:
        self.plan, self.output, self.patience_s = plan, output, patience_s
        self.models = plan.models
        items = counted(len(plan.seeds), "item")
        self.heading = f"{items} × {counted(len(plan.models), 'model')} ({', '.join(plan.models)})"

    async def made(self, hold: HoldDialogues) -> BuiltPrompts:
        return await build_prompts(self.plan, hold)

    def refuse_others(self) -> None:
        output = self.output
        if output.overwrite:
            return
        kept = _manifest_in(output)
        if kept is None:
            if output.path.exists():
                output.refuse("it has no manifest next to it")
            return
        own = orjson.loads(as_json(self.plan.document()))
        if changed := [key for key in _IDENTITY if kept.get(key) != own[key]]:
            output.refuse(f"a set that differs in {', '.join(changed)}")

    def n_done(self) -> int:
        return sum(1 for _ in self.output.lines())

    async def run(
        self,
        caps: Caps = NO_CAPS,
        execution: Execution = CALLED,
        on_event: Callable[[Any], None] | None = None,
    ) -> BuiltPrompts:
        output = self.output
        async with self.calling(caps, execution) as caller:
            output.prepare()
            starts = output.starts(self.models.values())
            starts[-1]["sent"] = caller.counts.sent
            with output.writing(), locked(output.spent):
                output.write_manifest(self.plan.document(), starts)
                async with self.asking(caller, execution):
                    built = await self.held_by(caller, on_event)
                if not built.pending:
                    _write(built, output, starts)
        return built


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
    rows = (prompt.row() for prompt in built.prompts)
    output.write(rows, built.plan.document(), document_of(built), starts)
