"""A set built step by step: rewriting, rules, quality, near-duplicates, diversity, draw."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import isnan
from typing import TypeVar

import numpy as np

from persona_panel.experiments.prompt_sets.asking import HoldDialogues, ModelDialogue, is_pending
from persona_panel.experiments.prompt_sets.candidates import (
    CandidatePrompt,
    DroppedPrompt,
    FunnelStep,
    SeedItem,
    StepUnit,
    candidate_id,
    funnel_step,
)
from persona_panel.experiments.prompt_sets.dialogues import (
    comparing_prompts,
    prompts_as_hoped,
    rewriting_item,
)
from persona_panel.experiments.prompt_sets.diversity import (
    BundleDiversity,
    Pair,
    bundle_diversity,
    grouped,
    is_equivalent,
    pairs_of,
)
from persona_panel.experiments.prompt_sets.draw import DRAW, drawn
from persona_panel.experiments.prompt_sets.duplicates import (
    DUPLICATES,
    map_places,
    similarities,
    without_duplicates,
)
from persona_panel.experiments.prompt_sets.limits import RULES, within_limits
from persona_panel.experiments.prompt_sets.plan import PromptSetPlan
from persona_panel.experiments.prompt_sets.quality import (
    QUALITY,
    filtered,
    judging_quality,
    vote_in,
)
from persona_panel.experiments.prompt_sets.spec import DiversitySpec, QualityFilter
from persona_panel.experiments.questions.calling import QuestionReply
from persona_panel.rubrics import CategoryScale, Rubric

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


async def build_prompts(plan: PromptSetPlan, ask: HoldDialogues) -> BuiltPrompts:
    """Take a plan through its steps; models are asked by `ask`."""
    return await _Building(plan, ask).done()


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
        found, out = within_limits(written, spec.limits)
        self._note(RULES, len(written), out)
        if spec.quality is not None and self._plan.rubric is not None:
            found = await self._passed(found, spec.quality, self._plan.rubric)
        if spec.duplicates is not None:
            found = self._without_duplicates(found)
        if spec.diversity is not None:
            found = await self._measured(found, spec.diversity)
        measured = tuple(found)
        if spec.draw is not None:
            found, out = drawn(found, spec.draw.prompts, spec.seed)
            self._note(DRAW, len(measured), out)
        return BuiltPrompts(
            self._plan,
            tuple(found),
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
        """The prompts that models write of items, and the texts that are prompts as they are."""
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
                    prompts_as_hoped(f"{item.id} {writer}", rewrite.prompts),
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
        self, found: Sequence[CandidatePrompt], wanted: QualityFilter, rubric: Rubric
    ) -> list[CandidatePrompt]:
        judged = [
            (one, judge)
            for one in found
            for judge in self._plan.judges
            if wanted.own or judge != one.writer
        ]
        hoped = _rating_as_hoped(rubric, wanted)
        replies = await self._asked(
            QUALITY,
            [ModelDialogue(judge, judging_quality(one, rubric), hoped) for one, judge in judged],
        )
        votes: dict[str, dict[str, Mapping[str, bool] | None]] = {one.id: {} for one in found}
        for (one, judge), reply in zip(judged, replies, strict=True):
            votes[one.id][judge] = vote_in(reply.value, rubric, wanted)
        kept, out = filtered(found, votes, wanted.needed)
        self._note(QUALITY, len(found), out)
        return kept

    def _without_duplicates(self, found: Sequence[CandidatePrompt]) -> list[CandidatePrompt]:
        rule = self._spec.duplicates
        assert rule is not None  # noqa: S101
        alike = similarities([one.text for one in found], rule)
        kept, out = without_duplicates(found, alike, rule.threshold)
        self._note(DUPLICATES, len(found), out)
        places = map_places(alike[np.ix_(kept, kept)])
        return [
            found[place].with_facts(map_x=round(float(x), 4), map_y=round(float(y), 4))
            for place, (x, y) in zip(kept, places, strict=True)
        ]

    async def _measured(
        self, found: Sequence[CandidatePrompt], wanted: DiversitySpec
    ) -> list[CandidatePrompt]:
        by_id = {one.id: one for one in found}
        bundles = grouped([(one.id, one.bundle) for one in found])
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
                    comparing_prompts(*(by_id[one].text for one in sorted(pair))),
                    '{"equivalent": false}',
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
        return [one.with_facts(**self._facts(one)) for one in found]

    def _evaluators(self, pair: Pair, by_id: Mapping[str, CandidatePrompt]) -> list[str]:
        """Who compares a pair: models that wrote neither, if there are any (scrub.txt, 15.3)."""
        writers = {by_id[one].writer for one in pair}
        others = [name for name in self._plan.evaluators if name not in writers]
        return others or list(self._plan.evaluators)

    def _facts(self, one: CandidatePrompt) -> dict[str, float | None]:
        bundle = self._bundles.get(one.bundle)
        if bundle is None:
            return {"diversity_added": None, "distinct_share": None}
        added, distinct = bundle.added[one.id], bundle.distinct[one.id]
        return {
            "diversity_added": None if isnan(added) else round(added, 4),
            "distinct_share": None if isnan(distinct) else round(distinct, 4),
        }

    async def _asked(
        self, step: str, dialogues: Sequence[ModelDialogue[T]]
    ) -> list[QuestionReply[T]]:
        if not dialogues:
            return []
        replies = await self._ask(step, dialogues)
        if n := sum(map(is_pending, replies)):
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
    """The candidates, those whose id came before, as the same words do, with a number behind it."""
    seen: Counter[str] = Counter()
    found = []
    for one in candidates:
        seen[one.id] += 1
        n = seen[one.id]
        found.append(one if n == 1 else replace(one, id=f"{one.id}-{n}"))
    return found


def _rating_as_hoped(rubric: Rubric, wanted: QualityFilter) -> str:
    """A rating that passes, for an estimate."""
    return json.dumps(
        {
            dimension.id: dimension.scale.names[0]
            if isinstance(dimension.scale, CategoryScale)
            else wanted.at_least
            for dimension in rubric.dimensions
        }
    )
