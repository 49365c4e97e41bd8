"""A set of prompts, built step by step by a job that writes it, and in figures: its funnel, its
writers, its diversity."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from math import isnan
from typing import Any, TypeVar

import numpy as np
import orjson

from persona_panel.calls.budget import NO_CAPS, Caps
from persona_panel.experiments.dialogues import (
    DialogueJob,
    DialogueReply,
    HoldDialogues,
    ModelDialogue,
)
from persona_panel.experiments.prompt_sets.asking import (
    comparing_prompts,
    prompts_as_hoped,
    rewriting_item,
)
from persona_panel.experiments.prompt_sets.candidates import (
    CandidatePrompt,
    DroppedPrompt,
    FunnelStep,
    SeedItem,
    StepUnit,
    candidate_id,
    funnel_step,
)
from persona_panel.experiments.prompt_sets.filters import (
    DRAW,
    DUPLICATES,
    QUALITY,
    RULES,
    BundleDiversity,
    MeanDiversity,
    Pair,
    bundle_diversity,
    drawn,
    filtered,
    grouped,
    is_equivalent,
    judging_quality,
    map_places,
    mean_diversity,
    pairs_of,
    similarities,
    vote_in,
    within_limits,
    without_duplicates,
)
from persona_panel.experiments.prompt_sets.plan import PromptSetPlan
from persona_panel.experiments.prompt_sets.spec import DiversitySpec, QualityFilter
from persona_panel.files.limits import json_of
from persona_panel.files.outputs import (
    as_json,
    cell_of,
    csv_of,
    json_lines,
    json_number,
    replace_file,
)
from persona_panel.results.conclusions.wording import counted
from persona_panel.rubrics import CategoryScale, Rubric
from persona_panel.runs.execution import CALLED, Execution
from persona_panel.runs.folder import OutputFile
from persona_panel.runs.output import locked
from persona_panel.statistics.figures import plots_at_hand

REWRITING, DIVERSITY = "rewriting", "diversity"
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class BuiltPrompts:
    """A set, and what became of everything that it was built from.

    Attributes:
        plan: what was wanted.
        prompts: the set.
        funnel: the steps, in order.
        dropped: what each step dropped, in order.
        answered: how many items each writer wrote prompts for.
        written: the prompts that there were before any was dropped.
        measured: the prompts whose diversity was measured: those before the draw.
        equivalent: of the pairs that were compared, whether they are equivalent; None where no
            model gave an answer that could be used.
        bundles: the diversity of each bundle of two prompts or more.
        pending: how many calls failed or were not made, by step: the set is not whole then.
    """

    plan: PromptSetPlan
    prompts: tuple[CandidatePrompt, ...]
    funnel: tuple[FunnelStep, ...]
    dropped: tuple[DroppedPrompt, ...]
    answered: Mapping[str, int]
    written: tuple[CandidatePrompt, ...]
    measured: tuple[CandidatePrompt, ...]
    equivalent: Mapping[Pair, bool | None]
    bundles: Mapping[str, BundleDiversity]
    pending: Mapping[str, int]


class _Building:
    """A set on its way through the steps."""

    def __init__(self, plan: PromptSetPlan, ask: HoldDialogues) -> None:
        self._plan, self._spec, self._ask = plan, plan.spec, ask
        self._funnel = list(plan.funnel)
        self._dropped = list(plan.dropped)
        self._pending: Counter[str] = Counter()
        self._answered: Counter[str] = Counter()
        self._equivalent: dict[Pair, bool | None] = {}
        self._bundles: dict[str, BundleDiversity] = {}

    async def done(self) -> BuiltPrompts:
        spec = self._spec
        written = await self._written()
        candidates, out = within_limits(written, spec.limits)
        self._note(RULES, len(written), out)
        if spec.quality is not None and self._plan.rubric is not None:
            candidates = await self._passed(candidates, spec.quality, self._plan.rubric)
        if spec.duplicates is not None:
            candidates = self._without_duplicates(candidates)
        if spec.diversity is not None:
            candidates = await self._measured(candidates, spec.diversity)
        measured = tuple(candidates)
        if spec.draw is not None:
            candidates, out = drawn(candidates, spec.draw.prompts, spec.seed)
            self._note(DRAW, len(measured), out)
        return BuiltPrompts(
            self._plan,
            tuple(candidates),
            tuple(self._funnel),
            tuple(self._dropped),
            self._answered,
            tuple(written),
            measured,
            self._equivalent,
            self._bundles,
            self._pending,
        )

    async def _written(self) -> list[CandidatePrompt]:
        """Return the prompts that models write of items, and the texts that are prompts as they
        are."""
        wanted = [
            (item, rewrite, writer)
            for item, rewrite in self._plan.seeds
            if rewrite is not None
            for writer in self._plan.writers[item.origin]
        ]
        replies = await self._asked(
            REWRITING,
            [
                ModelDialogue(
                    writer,
                    rewriting_item(item.text, rewrite),
                    hoped=prompts_as_hoped(f"{item.id} {writer}", rewrite.prompts),
                )
                for item, rewrite, writer in wanted
            ],
        )
        by_item: dict[str, list[CandidatePrompt]] = {}
        silent: dict[str, list[str]] = {}
        for (item, _, writer), reply in zip(wanted, replies, strict=True):
            if reply.value is None:
                silent.setdefault(item.id, []).append(f"{writer}: {reply.error}")
                continue
            self._answered[writer] += 1
            by_item.setdefault(item.id, []).extend(
                _candidate(item, prompt.text, writer, prompt.angle) for prompt in reply.value
            )
        candidates: list[CandidatePrompt] = []
        out = []
        for item, rewrite in self._plan.seeds:
            if rewrite is None:
                candidates.append(_candidate(item, item.text, None, None))
            elif item.id in by_item:
                candidates += by_item[item.id]
            else:
                why = "; ".join(silent[item.id])
                out.append(DroppedPrompt(REWRITING, "item", "no usable answer", why, item))
        if wanted:
            self._note(REWRITING, len({item.id for item, _, _ in wanted}), out)
        return _with_own_ids(candidates)

    async def _passed(
        self, candidates: Sequence[CandidatePrompt], wanted: QualityFilter, rubric: Rubric
    ) -> list[CandidatePrompt]:
        judged = [
            (candidate, judge)
            for candidate in candidates
            for judge in self._plan.judges
            if wanted.own or judge != candidate.writer
        ]
        hoped = _rating_as_hoped(rubric, wanted)
        replies = await self._asked(
            QUALITY,
            [
                ModelDialogue(judge, judging_quality(candidate, rubric), hoped=hoped)
                for candidate, judge in judged
            ],
        )
        votes: dict[str, dict[str, Mapping[str, bool] | None]] = {
            candidate.id: {} for candidate in candidates
        }
        for (candidate, judge), reply in zip(judged, replies, strict=True):
            votes[candidate.id][judge] = vote_in(reply.value, rubric, wanted)
        kept, out = filtered(candidates, votes, wanted.needed)
        self._note(QUALITY, len(candidates), out)
        return kept

    def _without_duplicates(self, candidates: Sequence[CandidatePrompt]) -> list[CandidatePrompt]:
        rule = self._spec.duplicates
        assert rule is not None  # noqa: S101
        alike = similarities([candidate.text for candidate in candidates], rule)
        kept, out = without_duplicates(candidates, alike, rule.threshold)
        self._note(DUPLICATES, len(candidates), out)
        places = map_places(alike[np.ix_(kept, kept)])
        return [
            candidates[place].with_facts(map_x=round(float(x), 4), map_y=round(float(y), 4))
            for place, (x, y) in zip(kept, places, strict=True)
        ]

    async def _measured(
        self, candidates: Sequence[CandidatePrompt], wanted: DiversitySpec
    ) -> list[CandidatePrompt]:
        by_id = {candidate.id: candidate for candidate in candidates}
        bundles = grouped([(candidate.id, candidate.bundle) for candidate in candidates])
        compared = [
            pair
            for name, own in bundles.items()
            for pair in pairs_of(own, wanted.pairs, f"{self._spec.seed} {name}")
        ]
        asked = [(pair, model) for pair in compared for model in self._evaluators(pair, by_id)]
        replies = await self._asked(
            DIVERSITY,
            [
                ModelDialogue(
                    model,
                    comparing_prompts(*(by_id[prompt_id].text for prompt_id in sorted(pair))),
                    hoped='{"equivalent": false}',
                )
                for pair, model in asked
            ],
        )
        said: dict[Pair, list[bool | None]] = {pair: [] for pair in compared}
        for (pair, _), reply in zip(asked, replies, strict=True):
            said[pair].append(reply.value)
        self._equivalent = {
            pair: is_equivalent(answers, wanted.equivalent) for pair, answers in said.items()
        }
        self._bundles = {
            name: bundle_diversity(own, self._equivalent)
            for name, own in bundles.items()
            if len(own) > 1
        }
        return [candidate.with_facts(**self._facts(candidate)) for candidate in candidates]

    def _evaluators(self, pair: Pair, by_id: Mapping[str, CandidatePrompt]) -> list[str]:
        """Return the models that compare a pair: those that wrote neither, if there are any
        (scrub.txt, 15.3)."""
        writers = {by_id[prompt_id].writer for prompt_id in pair}
        others = [name for name in self._plan.evaluators if name not in writers]
        return others or list(self._plan.evaluators)

    def _facts(self, candidate: CandidatePrompt) -> dict[str, float | None]:
        bundle = self._bundles.get(candidate.bundle)
        if bundle is None:
            return {"diversity_added": None, "distinct_share": None}
        added, distinct = bundle.added[candidate.id], bundle.distinct[candidate.id]
        return {
            "diversity_added": None if isnan(added) else round(added, 4),
            "distinct_share": None if isnan(distinct) else round(distinct, 4),
        }

    async def _asked(
        self, step: str, dialogues: Sequence[ModelDialogue[T]]
    ) -> list[DialogueReply[T]]:
        if not dialogues:
            return []
        replies = await self._ask(step, dialogues)
        if n := sum(reply.is_pending for reply in replies):
            self._pending[step] = n
        return replies

    def _note(self, step: str, entered: int, out: Sequence[DroppedPrompt]) -> None:
        unit: StepUnit = "item" if step == REWRITING else "prompt"
        self._funnel.append(funnel_step(step, unit, entered, out))
        self._dropped += out


def _candidate(item: SeedItem, text: str, writer: str | None, angle: str | None) -> CandidatePrompt:
    rewritten = writer is not None
    return CandidatePrompt(
        id=candidate_id(item.id, text) if rewritten else item.id,
        text=text,
        origin=item.origin,
        bundle=item.id if rewritten else item.origin,
        stratum=item.stratum,
        values=item.values,
        writer=writer,
        angle=angle,
    )


def _with_own_ids(candidates: Sequence[CandidatePrompt]) -> list[CandidatePrompt]:
    """Return the candidates, those whose id came before, as the same words do, with a number behind
    it."""
    seen: Counter[str] = Counter()
    distinct = []
    for candidate in candidates:
        seen[candidate.id] += 1
        n = seen[candidate.id]
        distinct.append(candidate if n == 1 else replace(candidate, id=f"{candidate.id}-{n}"))
    return distinct


def _rating_as_hoped(rubric: Rubric, wanted: QualityFilter) -> str:
    """Return a rating that passes, for an estimate."""
    return json.dumps(
        {
            dimension.id: dimension.scale.names[0]
            if isinstance(dimension.scale, CategoryScale)
            else wanted.at_least
            for dimension in rubric.dimensions
        }
    )


_COLUMNS = ("step", "unit", "entered", "dropped", "kept", "reason", "dropped_for_it")


@dataclass(frozen=True, slots=True)
class WriterSummary:
    """A summary of the prompts of one model.

    Attributes:
        writer: its name.
        items: how many items it was given.
        answered: for how many it wrote prompts.
        written: how many prompts.
        kept: how many of them were there before the draw.
        drawn: how many of them are in the set.
        diversity: the functional diversity among its own prompts of an item, over items.
    """

    writer: str
    items: int
    answered: int
    written: int
    kept: int
    drawn: int
    diversity: MeanDiversity


def writer_summaries(built: BuiltPrompts) -> list[WriterSummary]:
    """Summarize each writer's prompts, in the order of the plan."""
    plan = built.plan
    items: dict[str, int] = {}
    for item, rewrite in plan.seeds:
        for writer in plan.writers[item.origin] if rewrite is not None else ():
            items[writer] = items.get(writer, 0) + 1
    return [
        WriterSummary(
            writer,
            n,
            built.answered.get(writer, 0),
            _by(writer, built.written),
            _by(writer, built.measured),
            _by(writer, built.prompts),
            _within(writer, built),
        )
        for writer, n in items.items()
    ]


def overall_diversity(built: BuiltPrompts) -> MeanDiversity:
    """Average the functional diversity over bundles."""
    return mean_diversity([bundle.value for bundle in built.bundles.values()])


def cross_diversity(built: BuiltPrompts) -> MeanDiversity:
    """Return the functional diversity of pairs by two writers of one item, averaged over pairs of
    writers, over items (scrub.txt, table 5)."""
    writer_of = {candidate.id: candidate.writer for candidate in built.measured}
    values = []
    for own in _bundles(built.measured).values():
        by_writer = []
        writers = sorted({name for prompt_id in own if (name := writer_of[prompt_id]) is not None})
        for two in combinations(writers, 2):
            said = [
                equivalent
                for pair, equivalent in built.equivalent.items()
                if equivalent is not None
                and set(pair) <= set(own)
                and {writer_of[prompt_id] for prompt_id in pair} == set(two)
            ]
            if said:
                by_writer.append(1 - sum(said) / len(said))
        if by_writer:
            values.append(math.fsum(by_writer) / len(by_writer))
    return mean_diversity(values)


def document_of(built: BuiltPrompts) -> dict[str, Any]:
    """Return the figures of the set for its manifest."""
    return {
        "prompts": len(built.prompts),
        "funnel": [asdict(step) | {"kept": step.kept} for step in built.funnel],
        "writers": [
            asdict(summary) | {"diversity": _document(summary.diversity)}
            for summary in writer_summaries(built)
        ],
        "diversity": _document(overall_diversity(built)),
        "cross_writer_diversity": _document(cross_diversity(built)),
        "passed_by_a_model": n_passed(built),
        "mean_disagreement": mean_disagreement(built),
        "pending_calls": dict(built.pending),
    }


def funnel_csv(built: BuiltPrompts) -> bytes:
    """Return the funnel as a table: a line for each reason of each step; one without where nothing
    was dropped."""
    rows: list[list[Any]] = [[*_COLUMNS]]
    for step in built.funnel:
        head = [cell_of(step.step), step.unit, step.entered, step.entered - step.kept, step.kept]
        rows += [[*head, cell_of(reason), n] for reason, n in step.reasons.items()]
        if not step.reasons:
            rows.append([*head, "", 0])
    return csv_of(rows)


def _document(mean: MeanDiversity) -> dict[str, Any]:
    return {"mean": json_number(mean.mean), "se": json_number(mean.se), "n_bundles": mean.n_bundles}


def n_passed(built: BuiltPrompts) -> int | None:
    """Return how many prompts of the set a model passes; None where none was asked."""
    if built.plan.spec.quality is None:
        return None
    return sum(prompt.passed > 0 for prompt in built.prompts)


def mean_disagreement(built: BuiltPrompts) -> float | None:
    """Return the mean over prompts of the disagreement of models, rounded; None where none was
    asked."""
    judged = [prompt.disagreement for prompt in built.prompts]
    there = [value for value in judged if value is not None]
    return round(math.fsum(there) / len(there), 6) if there else None


def _by(writer: str, prompts: Sequence[CandidatePrompt]) -> int:
    return sum(prompt.writer == writer for prompt in prompts)


def _within(writer: str, built: BuiltPrompts) -> MeanDiversity:
    own = [prompt for prompt in built.measured if prompt.writer == writer]
    return mean_diversity(
        [bundle_diversity(ids, built.equivalent).value for ids in _bundles(own).values()]
    )


def _bundles(prompts: Sequence[CandidatePrompt]) -> dict[str, list[str]]:
    return grouped([(prompt.id, prompt.bundle) for prompt in prompts])


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
        return await _Building(self.plan, hold).done()

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
