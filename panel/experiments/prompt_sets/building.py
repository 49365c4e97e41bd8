"""A set of prompts: the plan of what is to be built, the job that builds and writes it, and its
result: its funnel, its writers, its diversity."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from importlib.metadata import version
from itertools import combinations
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import orjson

from persona_panel.calls.budget import NO_CAPS, Caps
from persona_panel.experiments.dialogues import (
    DialogueJob,
    DialogueReply,
    HoldDialogues,
    ModelDialogue,
)
from persona_panel.experiments.prompt_sets.candidates import (
    CandidatePrompt,
    DroppedPrompt,
    FunnelStep,
    SeedItem,
    StepUnit,
    candidate_id,
    fillings,
    funnel_step,
    kept_items,
    read_items,
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
    comparing_prompts,
    drawn,
    filtered,
    grouped,
    is_equivalent,
    judging_quality,
    map_places,
    mean_diversity,
    pairs_of,
    prompts_as_hoped,
    refuse_unpassable,
    refuse_without_packages,
    rewriting_item,
    similarities,
    vote_in,
    within_limits,
    without_duplicates,
)
from persona_panel.experiments.prompt_sets.spec import (
    DiversitySpec,
    PromptSetSpec,
    QualityFilter,
    RewriteSpec,
    SlotFile,
    load_prompt_set_spec,
)
from persona_panel.files.errors import ConfigurationError, Fault, InputError
from persona_panel.files.limits import json_of
from persona_panel.files.outputs import (
    as_json,
    cell_of,
    csv_of,
    json_lines,
    json_number,
    replace_file,
)
from persona_panel.planning.bound_models import AnyModel, BoundModel, bind_writers
from persona_panel.planning.definitions import resolve_rubric
from persona_panel.planning.panel_plan import prices_document
from persona_panel.planning.settings import DEFAULT_MODEL
from persona_panel.results.conclusions.wording import counted
from persona_panel.results.result import Result
from persona_panel.results.table import Column, Key, Table, row_of
from persona_panel.rubrics import CategoryScale, Rubric
from persona_panel.runs.execution import CALLED, Execution
from persona_panel.runs.folder import OutputFile
from persona_panel.runs.output import locked
from persona_panel.statistics.core.estimate import Estimate
from persona_panel.statistics.figures import plots_at_hand

if TYPE_CHECKING:
    from persona_panel.rubrics import Rubric


@dataclass(frozen=True)
class PromptSetPlan:
    """A set that can be built: its items and filled templates, each with how it is rewritten (None,
    not at all); the steps so far, that take no model; the models by name, and which of them write
    by a rewriting, judge quality by the rubric, and compare prompts; the files that it is built
    from."""

    spec: PromptSetSpec
    seeds: tuple[tuple[SeedItem, RewriteSpec | None], ...]
    funnel: tuple[FunnelStep, ...]
    dropped: tuple[DroppedPrompt, ...]
    models: dict[str, BoundModel]
    writers: dict[str, tuple[str, ...]]
    judges: tuple[str, ...]
    evaluators: tuple[str, ...]
    rubric: Rubric | None
    files: tuple[str, ...]

    def document(self) -> dict[str, Any]:
        """Return the manifest's entry on the plan: all that decides what the set can be."""
        rubric = self.rubric
        return {
            "command": "prompts build",
            "version": version("persona-panel"),
            "spec": self.spec.model_dump(mode="json"),
            "seed": self.spec.seed,
            "files": {Path(name).name: _sha256_of_file(Path(name)) for name in self.files[1:]},
            "models": [bound.document() for bound in self.models.values()],
            "writers": {origin: list(names) for origin, names in self.writers.items()},
            "judges": list(self.judges),
            "evaluators": list(self.evaluators),
            "rubric": None if rubric is None else rubric.model_dump(mode="json"),
            "prices": prices_document({name: model.price for name, model in self.models.items()}),
        }


def prompt_set_plan(path: str | Path, models: Sequence[AnyModel] = ()) -> PromptSetPlan:
    """Read a SPEC and its files, and put together what is to be done; `models` take the place of
    all that the SPEC names. Raises InputError with every fault of a file; ConfigurationError where
    a model cannot be had, a package is missing, or what is needed does not go together."""
    file = Path(path)
    raw_files = [str(file)]
    spec = load_prompt_set_spec(file)
    seeds: list[tuple[SeedItem, RewriteSpec | None]] = []
    funnel: list[FunnelStep] = []
    dropped: list[DroppedPrompt] = []
    for template in spec.templates:
        values = {name: own for name, own in spec.slots.items() if not isinstance(own, SlotFile)}
        seeds += [(item, template.rewrite) for item in fillings(template, values, spec.seed)]
    faults: list[Fault] = []
    for source in spec.sources:
        raw_files.append(str(file.parent / source.file))
        try:
            items, steps, out = kept_items(source, read_items(source, file.parent))
        except InputError as error:
            faults += error.faults
            continue
        seeds += [(item, source.rewrite) for item in items]
        funnel += steps
        dropped += out
    if faults:
        raise InputError(faults)
    parts = _Parts(spec, models)
    rubric = None
    if spec.quality is not None:
        local = file.parent / spec.quality.rubric
        rubric = resolve_rubric(str(local) if local.is_file() else spec.quality.rubric)
        refuse_unpassable(rubric, spec.quality)
        parts.refuse_too_few_judges()
    if spec.duplicates is not None:
        refuse_without_packages(spec.duplicates)
    return PromptSetPlan(
        spec,
        tuple(seeds),
        tuple(funnel),
        tuple(dropped),
        parts.bound,
        parts.writers,
        parts.judges,
        parts.evaluators,
        rubric,
        tuple(raw_files),
    )


class _Parts:
    """The models of each part, each bound once."""

    def __init__(self, spec: PromptSetSpec, writers: Sequence[AnyModel]) -> None:
        self.bound: dict[str, BoundModel] = {}
        self._spec, self._given = spec, tuple(writers)
        self._common = self._given or spec.models or (DEFAULT_MODEL,)
        rewritten = [(template.id, template.rewrite) for template in spec.templates]
        rewritten += [(source.id, source.rewrite) for source in spec.sources]
        self.writers = {
            name: self._names(rewrite.models) for name, rewrite in rewritten if rewrite is not None
        }
        self.judges = self._names(spec.quality.models) if spec.quality else ()
        self.evaluators = self._names(spec.diversity.models) if spec.diversity else ()

    def refuse_too_few_judges(self) -> None:
        """Raise ConfigurationError where no prompt could be passed by as many as are needed."""
        quality = self._spec.quality
        if quality is None:
            return
        written = {name for names in self.writers.values() for name in names}
        others = 0 if quality.own else len(written & set(self.judges)) > 0
        if quality.needed > len(self.judges) - others:
            without = ", the writer of a prompt left out" if others else ""
            raise ConfigurationError(
                f"quality: {quality.needed} models are needed to pass a prompt, and "
                f"{len(self.judges) - others} judge one{without}; name more models, or lower needed"
            )

    def _names(self, own: Sequence[AnyModel]) -> tuple[str, ...]:
        bound = bind_writers(self._given or own or self._common, "model of a step")
        for model in bound:
            known = self.bound.setdefault(model.id, model)
            if known.config != model.config:
                raise ConfigurationError(
                    f"{model.id} has other settings in two steps; give each a `name` of its own"
                )
        return tuple(model.id for model in bound)


def _sha256_of_file(path: Path) -> str:
    return sha256(path.read_bytes()).hexdigest()


REWRITING, DIVERSITY = "rewriting", "diversity"
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class BuiltPrompts:
    """A set by its plan, and what became of everything that it was built from: its funnel and what
    each step dropped, in order; how many items each writer answered; the prompts before any was
    dropped (`written`) and before the draw (`measured`); whether pairs are equivalent, None without
    a usable answer; the diversity of bundles of two prompts or more; how many calls failed or were
    not made, by step (`pending`): the set is not whole then."""

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
    """A writer's prompts: of `items` it answered so many; how many it wrote, were there before the
    draw, and are in the set; the functional diversity among its own prompts of an item, over items.
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


_HOW_TO_READ = (
    "Functional diversity: the share of pairs of prompts from one item or template in which a "
    "strong answer to one would not do for the other, over bundles of such prompts; with its "
    "standard error (SE)."
)


def planned_prompt_set(plan: PromptSetPlan) -> Result:
    """Return the result of a set before it is built: it has the figures' names."""
    nothing = BuiltPrompts(plan, (), plan.funnel, plan.dropped, {}, (), (), {}, {}, {})
    return prompt_set_result(nothing)


def prompt_set_result(built: BuiltPrompts) -> Result:
    """Return how many prompts there are, the funnel, who wrote them, and how diverse they are."""
    unit = Key("unit", "of", labels={"item": "items", "prompt": "prompts"})
    step = Key("step", "step")
    of_steps = (
        Column("entered", "whole", "entered"),
        Column("dropped", "whole", "dropped"),
        Column("kept", "whole", "kept"),
    )
    of_writers = (
        Column("answered", "whole", "items\nanswered", of="items"),
        Column("items", "whole"),
        Column("written", "whole", "prompts"),
        Column("kept", "whole", "kept"),
        Column("drawn", "whole", "in the\nset"),
        *_OF_DIVERSITY,
    )
    among = (
        ("all", "prompts of one item or template", overall_diversity(built)),
        ("writers", "prompts of two writers", cross_diversity(built)),
    )
    measured = [(name, label, mean) for name, label, mean in among if not isnan(mean.mean)]
    n_pairs = sum(equivalent is not None for equivalent in built.equivalent.values())
    tables = [
        Table(
            "funnel",
            (unit, step),
            of_steps,
            [
                row_of(each, of_steps, unit=each.unit, step=each.step,
                       dropped=each.entered - each.kept)
                for each in built.funnel
            ],
            "Funnel",
        ),
        Table(
            "reasons",
            (unit, step, Key("reason", "why dropped")),
            (Column("n", "whole", "dropped"),),
            [
                {"unit": each.unit, "step": each.step, "reason": reason, "n": n}
                for each in built.funnel for reason, n in each.reasons.items()
            ],
            "Why prompts and items were dropped",
        ),
        Table(
            "writers",
            (Key("writer", "model"),),
            of_writers,
            [
                row_of(each, of_writers, writer=each.writer, **_diversity(each.diversity))
                for each in writer_summaries(built)
            ],
            "Prompts by writer",
        ),
        Table(
            "diversity",
            (Key("among", "among", ("all",), {name: label for name, label, _ in among}),),
            _OF_DIVERSITY,
            [{"among": name, **_diversity(mean)} for name, _, mean in among],
            f"Functional diversity ({counted(n_pairs, 'pair')} compared)" if measured else "",
        ),
        Table(
            "set",
            (),
            (
                Column("prompts", "whole", figure="prompts"),
                Column("passed_by_a_model", "whole", figure="passed"),
                Column("mean_disagreement", "number"),
                Column("whole", "flag"),
            ),
            [
                {
                    "prompts": len(built.prompts), "passed_by_a_model": n_passed(built),
                    "mean_disagreement": mean_disagreement(built), "whole": not built.pending,
                }
            ],
        ),
        Table(
            "pending",
            (Key("step"),),
            (Column("n", "whole"),),
            [{"step": name, "n": n} for name, n in built.pending.items()],
        ),
    ]  # fmt: skip
    remarks = [_HOW_TO_READ] if measured else []
    return Result("prompts", list(_conclusion(built)), tables, remarks)


_OF_DIVERSITY = (
    Column("diversity", "estimate", "functional\ndiversity", figure="diversity"),
    Column("se", "number", "SE"),
    Column("n_bundles", "whole", "bundles"),
)


def _diversity(mean: MeanDiversity) -> dict[str, Any]:
    value = Estimate(mean.mean, limits=(0.0, 1.0))
    return {
        "diversity": value,
        "se": None if isnan(mean.se) else mean.se,
        "n_bundles": mean.n_bundles,
    }


def _conclusion(built: BuiltPrompts) -> Iterator[str]:
    """Say how many prompts there are, or what is missing; how many a model passes, where those that
    none passes are kept, too."""
    if built.pending:
        missing = ", ".join(f"{n:,} of {step}" for step, n in built.pending.items())
        yield f"The set is not whole: calls without an answer ({missing})."
        return
    n, strata = len(built.prompts), len({each.stratum for each in built.prompts})
    prompts = counted(n, "prompt")
    over = f" in {strata} strat{'um' if strata == 1 else 'a'}" if n else ""
    yield f"{prompts}{over}, from {len(built.written):,} that were made."
    wanted, passed = built.plan.spec.quality, n_passed(built)
    if wanted is None or wanted.needed or not n or passed == n:
        return
    if not passed:
        yield f"No model passes any of the {prompts}: needed: 0 drops none for that."
    else:
        yield f"{passed:,} of the {prompts} are passed by a model: needed: 0 drops none for that."
