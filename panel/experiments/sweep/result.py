"""A sweep as its user holds it: scores and degradations as arrays with names, what they show, and
figures for a paper.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from persona_panel.analyses.run_summary import run_summary
from persona_panel.experiments.sweep.conclusion import (
    cell_document,
    gap_document,
    profile_document,
    sweep_conclusion,
)
from persona_panel.experiments.sweep.deltas import (
    Names,
    Profile,
    SweepLabels,
    measure,
    profiles,
)
from persona_panel.experiments.sweep.detectable import DetectableDelta, detectable_in
from persona_panel.experiments.sweep.plan import SweepPlan
from persona_panel.files.outputs import json_number, record_document
from persona_panel.files.responses import Batch
from persona_panel.files.secrets import SECRETS
from persona_panel.graphs.framing import BASELINE, Degradation, Variant
from persona_panel.graphs.sweeping import TargetAnswer
from persona_panel.results.conclusions.score import Judged
from persona_panel.results.conclusions.wording import first_of
from persona_panel.results.frames import FrameColumn, FrameMethod, field_columns
from persona_panel.results.page_columns import PageColumns, check_plots
from persona_panel.rubrics import Rubric
from persona_panel.runs.run import Run, judged_in
from persona_panel.statistics.core.arrays import Array, divide, mean_there, variance_there
from persona_panel.statistics.core.display import Facts, counted, ends
from persona_panel.statistics.core.estimate import LEVEL
from persona_panel.statistics.core.table import Coverage

if TYPE_CHECKING:
    from persona_panel.experiments.sweep.plots import PlottedSweep
    from persona_panel.results.charts import PaperFigure


class SweepPlots:
    """The figures of a sweep, each a Matplotlib `Figure` to save as PDF, SVG or PNG; `columns` and
    `figure.caption` are as of a run's figures (`RunPlots`). Every method raises ModuleNotFoundError
    without matplotlib, and ValueError for other numbers of columns."""

    def __init__(self, sweep: PlottedSweep, labels: Mapping[str, str]) -> None:
        self._sweep = sweep
        self._labels = labels

    def deltas(self, *, columns: PageColumns = 2) -> PaperFigure:
        """Plot Δ by dimension and condition with 95 % intervals over prompts, a panel for each
        system. Markers of cells whose Δ is significant, adjusted for all cells, are filled."""
        return self._drawn("deltas", columns, self._labels)

    def gaps(self, *, columns: PageColumns = 2) -> PaperFigure:
        """Plot the contrasts of the framing set, how much more one condition degrades a dimension
        than another, in the form of `deltas`; raises ValueError where the set has none."""
        return self._drawn("gaps", columns)

    def heatmap(self, *, columns: PageColumns = 2) -> PaperFigure:
        """Plot the heatmap of Δ that is in the sweep's folder: by dimension and condition."""
        return self._drawn("delta_heatmap", columns, self._labels)

    def scorecard(self, *, columns: PageColumns = 2) -> PaperFigure:
        """Plot the scorecard that is in the sweep's folder: mean scores by dimension and condition,
        with standard errors over prompts."""
        return self._drawn("scorecard", columns, self._labels)

    def _drawn(self, name: str, columns: PageColumns, *labels: Mapping[str, str]) -> PaperFigure:
        check_plots(columns)
        from persona_panel.experiments.sweep import plots

        figure: PaperFigure = getattr(plots, name)(self._sweep, *labels, columns)
        return figure


def delta_columns(sweep: Sweep) -> list[FrameColumn]:
    """Return a data frame with one row for each system, prompt, framed condition and dimension.

    Columns: `system`, `prompt_id`, `condition`, `dimension`, `baseline` and `framed` (the panel's
    mean scores), and `delta`, baseline − framed over the judges that rated both.
    """
    names = [*product(sweep.systems, sweep.prompts, sweep.conditions[1:], sweep.dimensions)]
    framed = sweep.scores[:, :, 1:]
    baseline = np.broadcast_to(sweep.scores[:, :, :1], framed.shape)
    return [
        *(
            FrameColumn(name, "text", [row[place] for row in names])
            for place, name in enumerate(("system", "prompt_id", "condition", "dimension"))
        ),
        FrameColumn("baseline", "number", baseline.ravel().tolist()),
        FrameColumn("framed", "number", framed.ravel().tolist()),
        FrameColumn("delta", "number", sweep.delta.ravel().tolist()),
    ]


def cell_columns(sweep: Sweep) -> list[FrameColumn]:
    """Return a data frame with one row for each system, dimension and framed condition: Δ over
    prompts.

    Columns: `system`, `dimension`, `condition`; `delta` and the fields of `Mean` (`ci_low`,
    `ci_high`, `p_value`, `p_max_t`, `p_bounded`, `sd`, `effect_size`, `n_pairs`, `shown`);
    then `n_abstained`, `n_missing`, `n_fell`, `n_rose`, `large` and `strong`, as in `Cell`.
    """
    cells, means = sweep.cells, [cell.delta for cell in sweep.cells]
    return [
        *field_columns(cells, "text", "system", "dimension", "condition"),
        FrameColumn("delta", "number", [mean.value for mean in means]),
        *field_columns(means, "number", "ci_low", "ci_high", "p_value", "p_max_t", "p_bounded"),
        *field_columns(means, "number", "sd", "effect_size"),
        *field_columns(means, "whole", "n_pairs"),
        *field_columns(means, "flag", "shown"),
        *field_columns(cells, "whole", "n_abstained", "n_missing", "n_fell", "n_rose"),
        *field_columns(cells, "number", "large"),
        *field_columns(cells, "flag", "strong"),
    ]


_OF_MISSING = ("prompt_id", "condition", "system", "status", "error")
_NAMED = 6
WITHOUT_ANSWER = "without an answer to judge"
NOT_COMPARABLE = "without another condition to compare with"
"""The reasons for a missing judgment of a response that the judges never saw."""


class Sweep:
    """The outcome of a sweep over s systems, p prompts, c framed conditions, d dimensions.

    Attributes:
        systems, prompts, conditions, dimensions: the names of the axes; `conditions` has
            1 + c of them, `baseline` first, `dimensions` those that are rated by numbers.
        scores: shape (s, p, 1 + c, d), the panel's means, NaN where there is none.
        delta: shape (s, p, c, d), baseline − framed over the judges that rated both, NaN
            where there are none. Where every judge rated everything it is the difference of
            the scores.
        cells: Δ over prompts for each system, dimension and condition, in this order.
        gaps: the contrasts of the framing set, for each system and dimension.
        composites: Δ over prompts and dimensions for each system and condition.
        profiles: what each system is vulnerable to, as far as its cells show it.
        asymmetry, gap_asymmetry: of the cells' Δs about their means, and of the gaps.
        variants: every rewritten prompt with its checks.
        answers: what the targets said, and why where they said nothing.
        responses: those that were judged.
        run: the judgments and calls, as `Panel.score` returns them.
    """

    def __init__(
        self,
        plan: SweepPlan,
        rubric: Rubric,
        run: Run,
        responses: Batch,
        comparisons: Sequence[Degradation],
        variants: Sequence[Variant],
        answers: Sequence[TargetAnswer],
    ) -> None:
        self.plan = plan
        self.rubric = rubric
        self.run = run
        self.responses = responses
        self.systems = plan.systems
        self.prompts = tuple(prompt.id for prompt in plan.prompts)
        self.conditions = (BASELINE, *plan.conditions)
        self.dimensions = tuple(dimension.id for dimension in rubric.numeric)
        prompts = {name: place for place, name in enumerate(self.prompts)}
        self.variants = sorted(variants, key=lambda variant: prompts[variant.prompt_id])
        self.answers = sorted(answers, key=lambda answer: prompts[answer.prompt_id])
        self.scores = self._scores()
        shape = (len(self.systems), len(self.prompts), len(plan.conditions))
        self.delta: Array = np.full((*shape, len(self.dimensions)), np.nan)
        abstained = np.zeros(shape, dtype=np.intp)
        # What was never compared lacks every pair of judgments.
        missing = np.full(shape, len(run.judges), dtype=np.intp)
        for comparison in comparisons:
            place = (
                self.systems.index(comparison.system),
                prompts[comparison.prompt_id],
                plan.conditions.index(comparison.condition),
            )
            self.delta[place] = [comparison.delta[name] for name in self.dimensions]
            abstained[place], missing[place] = comparison.n_abstained, comparison.n_missing
        names = Names(self.systems, self.prompts, plan.conditions, self.dimensions)
        lengths = [float(scale.max - scale.min) for scale in rubric.numeric_scales.values()]
        measured = measure(
            self.delta, names, abstained, missing, plan.framings.contrasts,
            threshold=plan.threshold, lengths=lengths, seed=plan.seed,
        )  # fmt: skip
        self.cells, self.gaps = measured.cells, measured.gaps
        self.composites = measured.composites
        self.asymmetry, self.gap_asymmetry = measured.asymmetry, measured.gap_asymmetry
        self.profiles: list[Profile] = profiles(self.cells, self.systems, plan.framings.placebo)

    def _scores(self) -> Array:
        axes = (self.systems, self.prompts, self.conditions)
        places = [{name: place for place, name in enumerate(axis)} for axis in axes]
        scores = np.full((*map(len, axes), len(self.dimensions)), np.nan)
        responses = {
            (response.prompt_id, response.id): response.metadata for response in self.responses
        }
        for verdict in self.run.verdicts:
            about = responses[verdict.prompt_id, verdict.id]
            parts = (about["target"], verdict.prompt_id, about["condition"])
            place = tuple(names[part] for names, part in zip(places, parts, strict=True))
            scores[place] = [verdict.dimensions[name].mean for name in self.dimensions]
        return scores

    to_frame = FrameMethod(delta_columns)
    """Every Δ; see `persona_panel.experiments.sweep.result.delta_columns`."""
    cells_frame = FrameMethod(cell_columns)
    """Δs over prompts; see `persona_panel.experiments.sweep.result.cell_columns`."""

    @property
    def plot(self) -> SweepPlots:
        """Return plots for a paper."""
        return SweepPlots(self, condition_labels(self.plan))

    def __repr__(self) -> str:
        return self._facts().text

    def _repr_html_(self) -> str:
        return self._facts().html()

    def _facts(self) -> Facts:
        scored = self.coverage
        return Facts(
            "Sweep",
            [
                counted(len(self.systems), "system"),
                counted(len(self.prompts), "prompt"),
                f"{counted(len(self.conditions) - 1, 'condition')} and the baseline",
                counted(len(self.dimensions), "dimension"),
                f"{scored.scored:,} of {counted(scored.expected, 'judgment')} scored",
            ],
            ("system", "condition", "Δ of the composite", "95 % interval", "prompts"),
            [
                (
                    SECRETS.scrub(of.system),
                    of.condition,
                    of.value,
                    ends(of.ci_low, of.ci_high),
                    of.n_pairs,
                )
                for of in self.composites
            ],
        )

    def scores_over_prompts(self) -> tuple[Array, Array]:
        """Return the means of the scores and their standard errors (n − 1) over prompts.

        Both have the shape (s, 1 + c, d), NaN where there are no scores, or too few.
        """
        n = (~np.isnan(self.scores)).sum(axis=1)
        return mean_there(self.scores, 1), np.sqrt(divide(variance_there(self.scores, 1), n))

    @cached_property
    def labels(self) -> SweepLabels:
        """Return the labels of dimensions and conditions."""
        dimensions = {dimension.id: dimension.label for dimension in self.rubric.numeric}
        return SweepLabels(dimensions, condition_labels(self.plan))

    @cached_property
    def detectable(self) -> DetectableDelta:
        """Return the smallest Δ that this sweep could detect, by the spread of its Δs."""
        return detectable_in(self.cells, len(self.run.judges))

    @property
    def rejected(self) -> list[Variant]:
        """Return the rejected variants: the last attempt at each prompt and condition for which
        none passed."""
        used = {(variant.prompt_id, variant.condition) for variant in self.variants if variant.used}
        last = {(variant.prompt_id, variant.condition): variant for variant in self.variants}
        return [variant for key, variant in last.items() if key not in used]

    @property
    def unanswered(self) -> list[TargetAnswer]:
        """Return the answers that are missing."""
        return [answer for answer in self.answers if answer.text is None]

    @cached_property
    def absent(self) -> Counter[tuple[str, str]]:
        """Return of how many prompts there is no response, by system and condition, where responses
        are given; empty where none are."""
        there = {(r.system, r.condition, r.prompt_id) for r in self.plan.responses or ()}
        if not there:
            return Counter()
        n = Counter((system, condition) for system, condition, _ in there)
        whole = {key: len(self.prompts) for key in product(self.systems, self.conditions)}
        return +(Counter(whole) - n)

    @property
    def complete(self) -> bool:
        """Return whether every variant, answer and judgment is there."""
        return not (self.rejected or self.unanswered) and self.coverage.complete

    def conclusion(self) -> list[str]:
        """Return what is significant, what is not, and what would settle it."""
        sentences = sweep_conclusion(
            self.cells, self.profiles, self._judged(), self.labels, self._unmeasured()
        )
        if self.absent:
            of = counted(len(self.prompts), "prompt")
            where = [
                f"{system}, {self.labels.condition(condition)} ({n:,} of {of})"
                for (system, condition), n in self.absent.items()
            ]
            lacks = counted(self.absent.total(), "response")
            sentences.append(f"The file lacks {lacks}: {first_of(where, _NAMED)}.")
        return sentences

    @property
    def n_measured(self) -> int:
        """Return the number of cells with a Δ."""
        return sum(cell.delta.n_pairs > 0 for cell in self.cells)

    @cached_property
    def coverage(self) -> Coverage:
        """Return how many judgments were planned and how many there are: those of missing variants
        and answers are missing, too."""
        coverage = self.run.coverage
        expected = self.plan.n_responses * len(self.run.judges)
        if coverage.expected == expected:
            return coverage
        why = WITHOUT_ANSWER if self.plan.responses is None else NOT_COMPARABLE
        missing = {**coverage.missing, why: expected - coverage.expected}
        return replace(coverage, expected=expected, missing=missing)

    def _judged(self) -> Judged:
        """Return the facts about the judgments that conclusions need."""
        judged, coverage = judged_in(self.run), self.coverage
        why = self._without_answer()
        reasons = {WITHOUT_ANSWER: why} if why and WITHOUT_ANSWER in coverage.missing else {}
        reasons = {**judged.reasons, **reasons}
        expected, missing = coverage.expected, coverage.missing
        return replace(judged, expected=expected, missing=missing, reasons=reasons)

    def _unmeasured(self) -> dict[str, str]:
        """Return why a system has no Δ at all, where that is known."""
        systems = [
            profile.system for profile in self.profiles if profile.kind == "nothing measured"
        ]
        reasons = judged_in(self.run).reasons
        judges = next((why for status, why in reasons.items() if status != "skipped"), "")
        return {name: self._without_answer(name) or judges for name in systems}

    def _without_answer(self, system: str | None = None) -> str:
        """Return the commonest reason why an answer is missing, of one system or of all; empty
        where none is missing."""
        whys = Counter(
            f"{answer.status}: {answer.error}"
            for answer in self.unanswered
            if system is None or answer.system == system
        )
        for variant in [] if whys else self.rejected:
            # Without a text the call itself failed.
            what = f"the variant {variant.condition} failed its checks: " if variant.text else ""
            whys[what + "; ".join(variant.faults)] += 1
        # What is skipped is so for what went wrong with another.
        return min(whys, key=lambda why: (why.startswith("skipped"), -whys[why]), default="")

    def document(self) -> dict[str, Any]:
        """Return the content of summary.json."""
        own = {"conclusion": self.conclusion(), "coverage": asdict(self.coverage)}
        return run_summary(self.run, systems=False) | own | {"sweep": self.summary()}

    def summary(self) -> dict[str, Any]:
        """Return the part of summary.json under `sweep`."""
        return {
            "systems": list(self.systems),
            "prompts": len(self.prompts),
            "conditions": list(self.conditions),
            "judge_sees": self.plan.judge_sees,
            "threshold": self.plan.threshold,
            "level": LEVEL,
            "detectable": self.detectable.document(),
            "asymmetry": self.asymmetry.document(),
            "gap_asymmetry": self.gap_asymmetry.document(),
            "profiles": [profile_document(profile, self.labels) for profile in self.profiles],
            "cells": [cell_document(cell) for cell in self.cells],
            "composites": [
                {"delta": json_number(each.value), **record_document(each, "value")}
                for each in self.composites
            ],
            "gaps": [gap_document(gap) for gap in self.gaps],
            "variants": {
                "made": len(self.variants),
                "used": sum(variant.used for variant in self.variants),
                "rejected": dict(Counter(variant.condition for variant in self.rejected)),
                "by_rewriter": self._by_rewriter(),
            },
            "answers": {
                "received": len(self.answers) - len(self.unanswered),
                "cut_off": sum(answer.cut_off for answer in self.answers),
                "missing": [
                    {name: getattr(answer, name) for name in _OF_MISSING}
                    for answer in self.unanswered
                ],
            },
        }

    def _by_rewriter(self) -> dict[str, dict[str, int]]:
        made = Counter(variant.rewriter for variant in self.variants)
        used = Counter(variant.rewriter for variant in self.variants if variant.used)
        return {name: {"made": n, "used": used[name]} for name, n in made.items()}


def condition_labels(plan: SweepPlan) -> Mapping[str, str]:
    """Return the label of each condition; a user's own condition has its name."""
    known = {condition.id: condition.label for condition in plan.framings.conditions}
    return {name: known.get(name, name) for name in plan.conditions}
