"""A set of prompts: the job that builds and writes it, and its result: its funnel, its writers, its
diversity."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import combinations
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
from persona_panel.experiments.prompt_sets.candidates import (
    CandidatePrompt,
    DroppedPrompt,
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
    rewriting_item,
    similarities,
    vote_in,
    within_limits,
    without_duplicates,
)
from persona_panel.experiments.prompt_sets.plan import PromptSetPlan
from persona_panel.experiments.prompt_sets.spec import (
    DiversitySpec,
    QualityFilter,
)
from persona_panel.files.limits import json_of
from persona_panel.files.outputs import (
    as_json,
    cell_of,
    csv_of,
    json_lines,
    record_document,
    replace_file,
)
from persona_panel.results.conclusions.wording import counted
from persona_panel.results.page_columns import plots_at_hand
from persona_panel.results.result import Result
from persona_panel.results.table import Column, Key, Table, row_of
from persona_panel.rubrics import CategoryScale, Rubric
from persona_panel.runs.execution import CALLED, Execution
from persona_panel.runs.folder import OutputFile
from persona_panel.runs.output import locked
from persona_panel.statistics.core.estimate import Estimate

REWRITING, DIVERSITY = "rewriting", "diversity"
T = TypeVar("T")


class BuiltPrompts:
    """A set, and what became of everything that it was built from.

    Attributes:
        prompts: the set; `written` before any was dropped, `measured` before the draw.
        funnel, dropped: the steps, and what each of them dropped, in order.
        answered: how many items each writer wrote prompts for.
        equivalent: of the pairs that were compared, None where there is no usable answer.
        bundles: the diversity of each bundle of two prompts or more.
        pending: how many calls failed or were not made, by step: the set is not whole then.
    """

    def __init__(self, plan: PromptSetPlan) -> None:
        self.plan = plan
        self.funnel, self.dropped = list(plan.funnel), list(plan.dropped)
        self.pending: Counter[str] = Counter()
        self.answered: Counter[str] = Counter()
        self.written: list[CandidatePrompt] = []
        self.measured: list[CandidatePrompt] = []
        self.prompts: list[CandidatePrompt] = []
        self.equivalent: dict[Pair, bool | None] = {}
        self.bundles: dict[str, BundleDiversity] = {}

    async def build(self, hold: HoldDialogues) -> BuiltPrompts:
        """Build the set, with dialogues that are held by `hold`; return it."""
        spec = self.plan.spec
        self.written = await self._written(hold)
        candidates = self._kept(RULES, self.written, within_limits(self.written, spec.limits))
        if spec.quality is not None and self.plan.rubric is not None:
            candidates = await self._passed(hold, candidates, spec.quality, self.plan.rubric)
        if spec.duplicates is not None:
            alike = similarities([each.text for each in candidates], spec.duplicates)
            places, out = without_duplicates(candidates, alike, spec.duplicates.threshold)
            at = map_places(alike[np.ix_(places, places)])
            mapped = [
                candidates[place].with_facts(map_x=round(float(x), 4), map_y=round(float(y), 4))
                for place, (x, y) in zip(places, at, strict=True)
            ]
            candidates = self._kept(DUPLICATES, candidates, (mapped, out))
        if spec.diversity is not None:
            candidates = await self._with_diversity(hold, candidates, spec.diversity)
        self.measured = self.prompts = candidates
        if spec.draw is not None:
            chosen = drawn(candidates, spec.draw.prompts, spec.seed)
            self.prompts = self._kept(DRAW, candidates, chosen)
        return self

    async def _written(self, hold: HoldDialogues) -> list[CandidatePrompt]:
        """Return the prompts that models write of items, and the texts that are prompts as they
        are."""
        plan = self.plan
        wanted = [
            (item, rewrite, writer)
            for item, rewrite in plan.seeds
            if rewrite is not None
            for writer in plan.writers[item.origin]
        ]
        dialogues = [
            ModelDialogue(
                writer,
                rewriting_item(item.text, rewrite),
                hoped=prompts_as_hoped(f"{item.id} {writer}", rewrite.prompts),
            )
            for item, rewrite, writer in wanted
        ]
        replies = await self._asked(hold, REWRITING, dialogues)
        by_item: dict[str, list[CandidatePrompt]] = {}
        silent: dict[str, list[str]] = {}
        for (item, _, writer), reply in zip(wanted, replies, strict=True):
            if reply.value is None:
                silent.setdefault(item.id, []).append(f"{writer}: {reply.error}")
                continue
            self.answered[writer] += 1
            by_item.setdefault(item.id, []).extend(
                CandidatePrompt(
                    candidate_id(item.id, prompt.text), prompt.text, item.origin, item.id,
                    item.stratum, item.values, writer, prompt.angle,
                )
                for prompt in reply.value
            )  # fmt: skip
        candidates: list[CandidatePrompt] = []
        out = []
        for item, rewrite in plan.seeds:
            if rewrite is None:
                candidates.append(
                    CandidatePrompt(
                        item.id, item.text, item.origin, item.origin, item.stratum, item.values
                    )
                )
            elif item.id in by_item:
                candidates += by_item[item.id]
            else:
                why = "; ".join(silent[item.id])
                out.append(DroppedPrompt(REWRITING, "item", "no usable answer", why, item))
        if wanted:
            n = len({item.id for item, _, _ in wanted})
            self.funnel.append(funnel_step(REWRITING, "item", n, out))
            self.dropped += out
        # The same words of an item come with a number behind their id.
        seen: Counter[str] = Counter()
        distinct = []
        for candidate in candidates:
            seen[candidate.id] += 1
            own = candidate.id if (n := seen[candidate.id]) == 1 else f"{candidate.id}-{n}"
            distinct.append(replace(candidate, id=own))
        return distinct

    async def _passed(
        self,
        hold: HoldDialogues,
        candidates: list[CandidatePrompt],
        wanted: QualityFilter,
        rubric: Rubric,
    ) -> list[CandidatePrompt]:
        judged = [
            (candidate, judge)
            for candidate in candidates
            for judge in self.plan.judges
            if wanted.own or judge != candidate.writer
        ]
        # A rating that passes, for an estimate.
        hoped = json.dumps(
            {
                each.id: each.scale.names[0]
                if isinstance(each.scale, CategoryScale)
                else wanted.at_least
                for each in rubric.dimensions
            }
        )
        dialogues = [
            ModelDialogue(judge, judging_quality(candidate, rubric), hoped=hoped)
            for candidate, judge in judged
        ]
        votes: dict[str, dict[str, Mapping[str, bool] | None]] = {
            candidate.id: {} for candidate in candidates
        }
        replies = await self._asked(hold, QUALITY, dialogues)
        for (candidate, judge), reply in zip(judged, replies, strict=True):
            votes[candidate.id][judge] = vote_in(reply.value, rubric, wanted)
        return self._kept(QUALITY, candidates, filtered(candidates, votes, wanted.needed))

    async def _with_diversity(
        self, hold: HoldDialogues, candidates: list[CandidatePrompt], wanted: DiversitySpec
    ) -> list[CandidatePrompt]:
        plan, by_id = self.plan, {candidate.id: candidate for candidate in candidates}
        bundles = _bundles(candidates)
        compared = [
            pair
            for name, own in bundles.items()
            for pair in pairs_of(own, wanted.pairs, f"{plan.spec.seed} {name}")
        ]
        asked = []
        for pair in compared:
            # Those that wrote neither, if there are any (scrub.txt, 15.3).
            written_by = {by_id[prompt_id].writer for prompt_id in pair}
            others = [name for name in plan.evaluators if name not in written_by]
            asked += [(pair, model) for model in others or plan.evaluators]
        dialogues = [
            ModelDialogue(
                model,
                comparing_prompts(*(by_id[prompt_id].text for prompt_id in sorted(pair))),
                hoped='{"equivalent": false}',
            )
            for pair, model in asked
        ]
        verdicts: dict[Pair, list[bool | None]] = {pair: [] for pair in compared}
        replies = await self._asked(hold, DIVERSITY, dialogues)
        for (pair, _), reply in zip(asked, replies, strict=True):
            verdicts[pair].append(reply.value)
        self.equivalent = {
            pair: is_equivalent(answers, wanted.equivalent) for pair, answers in verdicts.items()
        }
        self.bundles = {
            name: bundle_diversity(own, self.equivalent)
            for name, own in bundles.items()
            if len(own) > 1
        }

        def fact(candidate: CandidatePrompt, name: str) -> float | None:
            bundle = self.bundles.get(candidate.bundle)
            value = math.nan if bundle is None else getattr(bundle, name)[candidate.id]
            return None if math.isnan(value) else round(value, 4)

        return [
            each.with_facts(
                diversity_added=fact(each, "added"), distinct_share=fact(each, "distinct")
            )
            for each in candidates
        ]

    async def _asked(
        self, hold: HoldDialogues, step: str, dialogues: Sequence[ModelDialogue[T]]
    ) -> list[DialogueReply[T]]:
        replies = await hold(step, dialogues) if dialogues else []
        if n := sum(reply.is_pending for reply in replies):
            self.pending[step] = n
        return replies

    def _kept(
        self,
        step: str,
        entered: Sequence[CandidatePrompt],
        parts: tuple[list[CandidatePrompt], list[DroppedPrompt]],
    ) -> list[CandidatePrompt]:
        kept, out = parts
        self.funnel.append(funnel_step(step, "prompt", len(entered), out))
        self.dropped += out
        return kept

    def writers(self) -> list[dict[str, Any]]:
        """Return, of each writer: how many items it was given and answered, how many prompts it
        wrote, were there before the draw and are in the set, and the functional diversity among
        its own prompts of an item, over items."""
        items: Counter[str] = Counter()
        for item, rewrite in self.plan.seeds:
            items.update(self.plan.writers[item.origin] if rewrite is not None else ())
        rows = []
        for writer, n in items.items():
            written, own, in_set = (
                [prompt for prompt in prompts if prompt.writer == writer]
                for prompts in (self.written, self.measured, self.prompts)
            )
            rows.append(
                {"writer": writer, "items": n, "answered": self.answered[writer],
                 "written": len(written), "kept": len(own), "drawn": len(in_set),
                 "diversity": self._diversity_within(own, writer)}
            )  # fmt: skip
        return rows

    def diversity(self) -> MeanDiversity:
        """Average the functional diversity over bundles."""
        return mean_diversity([bundle.value for bundle in self.bundles.values()])

    def diversity_by_source(self) -> list[tuple[str, str, MeanDiversity]]:
        """Return the functional diversity of each writer's prompts in each source or template that
        is rewritten, and of pairs by two `writers` of it (scrub.txt, table 5); empty where there is
        one source."""
        if len(self.plan.writers) < 2:
            return []
        rows = []
        for origin, writers in self.plan.writers.items():
            own = [prompt for prompt in self.measured if prompt.origin == origin]
            rows += [(origin, writer, self._diversity_within(own, writer)) for writer in writers]
            rows.append((origin, "writers", self._diversity_across(own)))
        return rows

    def _diversity_within(self, prompts: list[CandidatePrompt], writer: str) -> MeanDiversity:
        bundles = _bundles([prompt for prompt in prompts if prompt.writer == writer])
        return mean_diversity(
            [bundle_diversity(own, self.equivalent).value for own in bundles.values()]
        )

    def cross_diversity(self) -> MeanDiversity:
        """Return the functional diversity of pairs by two writers of one item, averaged over pairs
        of writers, over items (scrub.txt, table 5)."""
        return self._diversity_across(self.measured)

    def _diversity_across(self, prompts: list[CandidatePrompt]) -> MeanDiversity:
        writer_of = {candidate.id: candidate.writer for candidate in prompts}
        values = []
        for own in _bundles(prompts).values():
            by_writer = []
            writers = sorted({name for each in own if (name := writer_of[each]) is not None})
            for two in combinations(writers, 2):
                verdicts = [
                    equivalent
                    for pair, equivalent in self.equivalent.items()
                    if equivalent is not None
                    and set(pair) <= set(own)
                    and {writer_of[prompt_id] for prompt_id in pair} == set(two)
                ]
                if verdicts:
                    by_writer.append(1 - sum(verdicts) / len(verdicts))
            if by_writer:
                values.append(math.fsum(by_writer) / len(by_writer))
        return mean_diversity(values)

    def n_passed(self) -> int | None:
        """Return how many prompts of the set a model passes; None where none was asked."""
        if self.plan.spec.quality is None:
            return None
        return sum(prompt.passed > 0 for prompt in self.prompts)

    def mean_disagreement(self) -> float | None:
        """Return the mean over prompts of the disagreement of models, rounded; None where none was
        asked."""
        judged = [prompt.disagreement for prompt in self.prompts]
        there = [value for value in judged if value is not None]
        return round(math.fsum(there) / len(there), 6) if there else None

    def document(self) -> dict[str, Any]:
        """Return the figures of the set for its manifest."""
        writers = self.writers()
        return {
            "prompts": len(self.prompts),
            "funnel": [asdict(step) | {"kept": step.kept} for step in self.funnel],
            "writers": [row | {"diversity": record_document(row["diversity"])} for row in writers],
            "diversity": record_document(self.diversity()),
            "cross_writer_diversity": record_document(self.cross_diversity()),
            "passed_by_a_model": self.n_passed(),
            "mean_disagreement": self.mean_disagreement(),
            "pending_calls": dict(self.pending),
        }


def _bundles(prompts: Sequence[CandidatePrompt]) -> dict[str, list[str]]:
    return grouped([(prompt.id, prompt.bundle) for prompt in prompts])


_COLUMNS = ("step", "unit", "entered", "dropped", "kept", "reason", "dropped_for_it")


def _funnel_csv(built: BuiltPrompts) -> bytes:
    """Return the funnel as a table: a line for each reason of each step; one without where nothing
    was dropped."""
    rows: list[list[Any]] = [[*_COLUMNS]]
    for step in built.funnel:
        head = [cell_of(step.step), step.unit, step.entered, step.entered - step.kept, step.kept]
        reasons = [[cell_of(reason), n] for reason, n in step.reasons.items()]
        rows += [[*head, *reason] for reason in reasons or [["", 0]]]
    return csv_of(rows)


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
        return await BuiltPrompts(self.plan).build(hold)

    def refuse_others(self) -> None:
        output = self.output
        if output.overwrite:
            return
        try:
            kept = json_of(output.manifest)
        except (OSError, ValueError):
            kept = None
        if not isinstance(kept, dict):
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


def _write(built: BuiltPrompts, output: OutputFile, starts: list[dict[str, Any]]) -> None:
    dropped = (candidate.row() for candidate in built.dropped)
    replace_file(output.named("dropped.jsonl"), json_lines(dropped))
    replace_file(output.named("funnel.csv"), _funnel_csv(built))
    mapped = [prompt for prompt in built.prompts if "map_x" in prompt.facts]
    if plots_at_hand() and len(mapped) > 1:
        from persona_panel.experiments.prompt_sets.prompt_map import MapPoint, written_map

        points = [
            MapPoint(prompt.facts["map_x"], prompt.facts["map_y"], prompt.stratum, prompt.bundle)
            for prompt in mapped
        ]
        for ending, content in written_map(points):
            replace_file(output.named(f"map.{ending}"), content)
    rows = (prompt.row() for prompt in built.prompts)
    output.write(rows, built.plan.document(), built.document(), starts)


_HOW_TO_READ = (
    "Functional diversity: the share of pairs of prompts from one item or template in which a "
    "strong answer to one would not do for the other, over bundles of such prompts; with its "
    "standard error (SE)."
)


def prompt_set_result(built: BuiltPrompts) -> Result:
    """Return how many prompts there are, the funnel, who wrote them, and how diverse they are; of
    a set that is not built yet, the figures' names."""
    unit = Key("unit", "of", labels={"item": "items", "prompt": "prompts"})
    step = Key("step", "step")
    counts = tuple(Column(name, "whole", name) for name in ("entered", "dropped", "kept"))
    of_diversity = (
        Column("diversity", "estimate", "functional\ndiversity", figure="diversity"),
        Column("se", "number", "SE"), Column("n_bundles", "whole", "bundles"),
    )  # fmt: skip
    among = (
        ("all", "prompts of one item or template", built.diversity()),
        ("writers", "prompts of two writers", built.cross_diversity()),
    )
    measured = any(not math.isnan(mean.mean) for _, _, mean in among)
    n_pairs = sum(equivalent is not None for equivalent in built.equivalent.values())

    def diversity(mean: MeanDiversity) -> dict[str, Any]:
        se = None if math.isnan(mean.se) else mean.se
        value = Estimate(mean.mean, limits=(0.0, 1.0))
        return {"diversity": value, "se": se, "n_bundles": mean.n_bundles}

    tables = [
        Table(
            "funnel", (unit, step), counts,
            [
                row_of(each, counts, unit=each.unit, step=each.step,
                       dropped=each.entered - each.kept)
                for each in built.funnel
            ],
            "Funnel",
        ),
        Table(
            "reasons", (unit, step, Key("reason", "why dropped")),
            (Column("n", "whole", "dropped"),),
            [
                {"unit": each.unit, "step": each.step, "reason": reason, "n": n}
                for each in built.funnel for reason, n in each.reasons.items()
            ],
            "Why prompts and items were dropped",
        ),
        Table(
            "writers", (Key("writer", "model"),),
            (
                Column("answered", "whole", "items\nanswered", of="items"),
                Column("items", "whole"), Column("written", "whole", "prompts"),
                Column("kept", "whole", "kept"), Column("drawn", "whole", "in the\nset"),
                *of_diversity,
            ),
            [{**each, **diversity(each["diversity"])} for each in built.writers()],
            "Prompts by writer",
        ),
        Table(
            "diversity",
            (Key("among", "among", ("all",), {name: label for name, label, _ in among}),),
            of_diversity, [{"among": name, **diversity(mean)} for name, _, mean in among],
            f"Functional diversity ({counted(n_pairs, 'pair')} compared)" if measured else "",
        ),
        Table(
            "sources",
            (Key("source", "source"), Key("writer", "model", labels={"writers": among[1][1]})),
            (replace(of_diversity[0], figure=""), *of_diversity[1:]),
            [
                {"source": source, "writer": writer, **diversity(mean)}
                for source, writer, mean in built.diversity_by_source()
            ],
            "Functional diversity by source and writer" if measured else "",
        ),
        Table(
            "set", (),
            (
                Column("prompts", "whole", figure="prompts"),
                Column("passed_by_a_model", "whole", figure="passed"),
                Column("mean_disagreement", "number"), Column("whole", "flag"),
            ),
            [
                {
                    "prompts": len(built.prompts), "passed_by_a_model": built.n_passed(),
                    "mean_disagreement": built.mean_disagreement(), "whole": not built.pending,
                }
            ],
        ),
        Table(
            "pending", (Key("step"),), (Column("n", "whole"),),
            [{"step": name, "n": n} for name, n in built.pending.items()],
        ),
    ]  # fmt: skip
    remarks = [_HOW_TO_READ] if measured else []
    return Result("prompts", list(_conclusion(built)), tables, remarks)


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
    wanted, passed = built.plan.spec.quality, built.n_passed()
    if wanted is None or wanted.needed or not n or passed == n:
        return
    if not passed:
        yield f"No model passes any of the {prompts}: needed: 0 drops none for that."
    else:
        yield f"{passed:,} of the {prompts} are passed by a model: needed: 0 drops none for that."
