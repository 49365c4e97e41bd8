"""A sweep as a result: Δ by system, dimension and condition, contrasts, scores, what is missing;
and the same as the summary.json of its folder has it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from math import inf, isnan, nan
from typing import TYPE_CHECKING, Any

from persona_panel.experiments.sweep.deltas import Asymmetry, Cell, Mean
from persona_panel.experiments.sweep.detectable import detectable_tables, detected
from persona_panel.files.named_files import shown_folder
from persona_panel.files.responses import Batch
from persona_panel.graphs.framing import BASELINE
from persona_panel.results.conclusions.score import on_coverage
from persona_panel.results.conclusions.wording import counted, first_of
from persona_panel.results.page_columns import NEEDS_PLOTS, plots_at_hand
from persona_panel.results.required_figures import Figure, result_figures
from persona_panel.results.result import Result
from persona_panel.results.table import CellKind, Column, Key, Table, row_of
from persona_panel.runs.run import Run
from persona_panel.runs.run_remarks import (
    counts_sentence,
    coverage_tables,
    demonstration_notice,
    run_remarks,
)
from persona_panel.runs.scale_limits import mean_limits
from persona_panel.statistics.core.arrays import Reason
from persona_panel.statistics.core.display import COMPOSITE, percent, signed
from persona_panel.statistics.core.estimate import LEVEL, Estimate
from persona_panel.statistics.core.sampled_mean import sampled_mean
from persona_panel.statistics.core.table import Coverage

if TYPE_CHECKING:
    from persona_panel.experiments.sweep.plan import SweepPlan
    from persona_panel.experiments.sweep.result import Sweep
    from persona_panel.planning.panel_plan import PanelPlan

_NOT_MEASURED = "no prompt has scores with and without framing"
_FIRST = "pluralistic_engagement"
"""The dimension in which agreement under pressure shows first (scrub.txt, section 6.1)."""
_SHOWN = 10
_RARE = 0.1
_LARGE_FALLS_SHOWN = 5
_TESTED = (
    Column("p_max_t", "p"),
    Column("p_bounded", "p"),
    Column("n_above", "whole", "prompts\nabove 0", full=True),
    Column("n_below", "whole", "prompts\nbelow 0", full=True),
    Column("sd", "number"),
    Column("effect_size", "number"),
    Column("shown", "flag"),
)


def sweep_result(sweep: Sweep) -> Result:
    """Return the result of a sweep; where nothing could be measured, people see no tables."""
    models = [model.id for model in (*sweep.plan.targets, *sweep.plan.rewriters)]
    models += [judge.model for judge in sweep.run.judges]
    return Result(
        "sweep",
        [
            *sweep.conclusion(),
            *demonstration_notice(*models),
            *sweep.rubric.asked_in.notice,
        ],
        [*_tables(sweep), *coverage_tables(sweep.run, sweep.coverage.expected)],
        [*(_on_figures(sweep) if sweep.n_measured else ()), *_on_what_is_there(sweep)],
        [] if plots_at_hand() else [f"No plots were drawn: {NEEDS_PLOTS}."],
        source="" if sweep.run.folder is None else shown_folder(sweep.run.folder),
        coverage=sweep.coverage,
    )


def planned_sweep(panel: PanelPlan, plan: SweepPlan) -> list[Figure]:
    """Return the figures that a sweep will have, all undefined: their names."""
    from persona_panel.experiments.sweep.result import Sweep

    nothing = Batch([])
    run = Run.of(panel, nothing)
    return result_figures(sweep_result(Sweep(plan, panel.output_rubric, run, nothing, [], [], [])))


def _of_mean(mean: Mean) -> Estimate:
    """Return a mean over prompts, with the adjusted p-value of its claim."""
    return Estimate(
        mean.value, mean.ci_low, mean.ci_high, over="prompts", n=mean.n_pairs, p=mean.p_value,
        p_adjusted=mean.p_claim, df=mean.n_pairs - 1.0, unit="points",
        reason=_reason(mean.value, mean.ci_low, mean.n_pairs),
    )  # fmt: skip


def _reason(value: float, low: float, n: int) -> str | None:
    if isnan(value):
        return _NOT_MEASURED
    if not isnan(low):
        return None
    return Reason.FEW_CLUSTERS if n < 2 else Reason.NO_SPREAD


def _row(cell: Cell) -> dict[str, Any]:
    of = {"system": cell.system, "dimension": cell.dimension, "condition": cell.condition}
    return {**of, **row_of(cell.delta, _TESTED), "delta": _of_mean(cell.delta)}


def large_falls(cell: Cell) -> Estimate:
    """Return the share of prompts that fall by a third of the scale or more."""
    n, (low, high) = cell.delta.n_pairs, cell.fell_ci
    return Estimate(
        cell.n_fell / n if n else nan, low, high, over="prompts", n=n,
        reason=None if n else _NOT_MEASURED, detail=f"{cell.n_fell:,} of {n:,} prompts",
    )  # fmt: skip


def cells_table(cells: Sequence[Cell], keys: tuple[Key, ...], title: str) -> Table:
    """Return a table of each cell's Δ with its test, and the share of prompts that fall far."""
    counts = ("n_abstained", "n_missing", "n_fell", "n_rose")
    heads = ("pairs left out:\nabstentions", "missing", "", "")
    columns = (
        Column(
            "delta", "estimate", "Δ", better="lower", signed=True, p="column", figure="delta",
            p_figure="p",
        ),
        *_TESTED,
        *(Column(name, "whole", head) for name, head in zip(counts, heads, strict=True)),
        Column("large_falls", "estimate", figure="large_falls"),
        Column("large", "number"),
        Column("strong", "flag"),
    )  # fmt: skip
    rows = [
        _row(cell)
        | {name: getattr(cell, name) for name in (*counts, "large", "strong")}
        | {"large_falls": large_falls(cell)}
        for cell in cells
    ]
    return Table("cells", keys, columns, rows, title, when="full")


def _claims(
    name: str, keys: tuple[Key, ...], of: str, head: str, rows: list[dict[str, Any]], title: str
) -> Table:
    columns = (
        Column(of, "estimate", head, signed=True, p="column"),
        Column("n_above", "whole", "prompts\nabove 0"),
        Column("n_below", "whole", "prompts\nbelow 0"),
    )
    return Table(name, keys, columns, rows, title, programs=False)


_Figures = Mapping[tuple[str, str, str], Any]
"""By system, dimension, and condition or contrast."""


def _numbered(kind: CellKind, heads: Iterable[str], **more: Any) -> tuple[Column, ...]:
    """Return the columns of a table that has one for each condition or contrast."""
    return tuple(Column(f"c{n}", kind, head, **more) for n, head in enumerate(heads))


def _rows_by_column(
    figures: _Figures, systems: Sequence[str], dimensions: Iterable[str], over: Iterable[str]
) -> list[dict[str, Any]]:
    """Return a row for each system and dimension, with what is under each condition or contrast."""
    return [
        {"system": system, "dimension": name}
        | {f"c{n}": figures.get((system, name, each), nan) for n, each in enumerate(over)}
        for system, name in product(systems, dimensions)
    ]


def _tables(sweep: Sweep) -> Iterator[Table]:
    """Yield the tables of Δs, contrasts and scores, and those for programs alone."""
    rubric, cells = sweep.rubric, sweep.cells
    labels = {dimension.id: dimension.label for dimension in rubric.numeric}
    dimension = Key("dimension", "dimension", {COMPOSITE}, labels)
    of = Key("system", "system"), dimension
    labels = {BASELINE: "Baseline", **sweep.labels.conditions}
    condition = Key("condition", "condition", labels=labels)
    by_contrast = {gap.contrast.id: gap.contrast.label for gap in sweep.gaps}
    contrast = Key("contrast", "contrast", labels=by_contrast)

    def title(words: str) -> str:
        return words if sweep.n_measured else ""

    def wide(
        name: str, words: str, key: Key, over: Sequence[str], figures: _Figures,
        dimensions: Sequence[str], *, is_signed: bool = True,
    ) -> Table:  # fmt: skip
        """Return a table for people with a column for each condition or contrast."""
        heads = [key.label({key.name: each}) for each in over]
        columns = _numbered("estimate", heads, signed=is_signed)
        rows = _rows_by_column(figures, sweep.systems, dimensions, over)
        return Table(name, of, columns, rows, title(words), programs=False)

    yield cells_table(cells, (*of, condition), title("Δ of each dimension and condition"))
    scores = {each[:3]: each[3] for each in _each_score(sweep)}
    composites = {
        (each.system, COMPOSITE, each.condition): Estimate(
            each.value, each.ci_low, each.ci_high, over="prompts", n=each.n_pairs,
            df=each.n_pairs - 1.0, reason=_reason(each.value, each.ci_low, each.n_pairs),
        )
        for each in sweep.composites
    }  # fmt: skip
    deltas = {(c.system, c.dimension, c.condition): _of_mean(c.delta) for c in cells} | composites
    means = {", ".join(place): mean for place, mean in scores.items()}
    yield replace(
        wide(
            "scores_by_condition", "Scores", condition, sweep.conditions, scores, sweep.dimensions,
            is_signed=False,
        ),
        remarks=list(on_coverage(means)),
    )  # fmt: skip
    yield wide(
        "delta_by_condition", "Δ, baseline − framed", condition, sweep.conditions[1:], deltas,
        [*sweep.dimensions, COMPOSITE],
    )  # fmt: skip
    rows = [_row(cell) for each in sweep.profiles for cell in (*each.degraded, *each.improved)]
    yield _claims("established", (*of, condition), "delta", "Δ", rows, "Significant changes")
    columns = (
        Column("gap", "estimate", "contrast", signed=True, p="column", figure="gap",
               p_figure="gap_p"),
        *_TESTED, Column("plus", "texts"), Column("minus", "texts"),
    )  # fmt: skip
    rows = [
        {
            "system": gap.system, "dimension": gap.dimension, "contrast": gap.contrast.id,
            **row_of(gap.gap, _TESTED), "gap": _of_mean(gap.gap),
            "plus": tuple(gap.contrast.plus), "minus": tuple(gap.contrast.minus),
        }
        for gap in sweep.gaps
    ]  # fmt: skip
    words = title("Contrasts of each dimension")
    yield Table("gaps", (*of, contrast), columns, rows, words, when="full")
    if sweep.gaps:
        gaps = {(g.system, g.dimension, g.contrast.id): _of_mean(g.gap) for g in sweep.gaps}
        dimensions = sorted(sweep.dimensions, key=lambda each: each != _FIRST)
        yield wide(
            "gaps_by_contrast", "Contrasts", contrast, list(by_contrast), gaps, dimensions
        )  # fmt: skip
        rows = [row for row in rows if row["shown"]]
        words = "Significant contrasts"
        yield _claims("established_gaps", (*of, contrast), "gap", "contrast", rows, words)
    yield _large_falls(sweep, (*of, condition))
    names = ("system", "dimension", "condition")
    for name, figure, figures in (("composites", "delta", composites), ("scores", "score", scores)):
        rows = [dict(zip(names, each, strict=True)) | {figure: figures[each]} for each in figures]
        yield Table(name, (*of, condition), (Column(figure, "estimate", figure=figure),), rows)
    yield from _for_programs(sweep)


def _large_falls(sweep: Sweep, keys: tuple[Key, ...]) -> Table:
    """Return the table of cells in which some prompts fell far, but the mean is not shown to have
    fallen."""
    cells = [
        cell
        for cell in sweep.cells
        if cell.n_fell > cell.n_rose and not (cell.delta.shown and cell.delta.value > 0)
    ]
    cells.sort(key=lambda cell: cell.n_rose - cell.n_fell)
    columns = (
        Column("large", "number", "points\nat least", digits=1),
        Column("n_fell", "whole", "prompts\nthat fell", of="n_pairs"),
        Column("share", "estimate", "share"),
        Column("n_rose", "whole", "prompts\nthat rose"),
    )
    rows = [
        _row(cell) | {"share": large_falls(cell), "n_pairs": cell.delta.n_pairs}
        | {"large": cell.large, "n_fell": cell.n_fell, "n_rose": cell.n_rose}
        for cell in cells[:_LARGE_FALLS_SHOWN]
    ]  # fmt: skip
    more = len(cells) - _LARGE_FALLS_SHOWN
    return Table(
        "large_falls", keys, columns, rows,
        "Large falls of single prompts where no degradation is significant",
        remarks=[f"{more:,} more cells are in deltas.csv."] if more > 0 else [], programs=False,
    )  # fmt: skip


def _each_score(sweep: Sweep) -> Iterator[tuple[str, str, str, Estimate]]:
    for s, system in enumerate(sweep.systems):
        for c, condition in enumerate(sweep.conditions):
            for d, dimension in enumerate(sweep.dimensions):
                scores = sweep.scores[s, :, c, d]
                limits = mean_limits(sweep.rubric, [dimension])[0]
                mean = sampled_mean(scores, limits=limits)
                n, (low, high) = mean.n_prompts, mean.interval()
                yield system, dimension, condition, Estimate(
                    mean.mean, low, high, over="prompts", n=n, df=n - 1.0, limits=limits,
                    reason=mean.reason if n else "no response was scored", sampled=mean,
                )  # fmt: skip


def _for_programs(sweep: Sweep) -> Iterator[Table]:
    """Yield the tables for programs: the sweep's settings, each system's profile, and what is
    missing."""
    summary = sweep.summary()
    variants, answers = summary["variants"], summary["answers"]
    kinds: dict[str, CellKind] = {
        "conditions": "texts", "judge_sees": "text", "threshold": "number", "level": "number",
        "skewness": "number", "plainly_asymmetric": "flag",
        "gap_skewness": "number", "gap_plainly_asymmetric": "flag",
    }  # fmt: skip
    facts = {
        "prompts": len(sweep.prompts), "conditions": sweep.conditions,
        "judge_sees": sweep.plan.judge_sees, "threshold": sweep.plan.threshold, "level": LEVEL,
        "skewness": sweep.asymmetry.skewness, "plainly_asymmetric": sweep.asymmetry.plain,
        "gap_skewness": sweep.gap_asymmetry.skewness,
        "gap_plainly_asymmetric": sweep.gap_asymmetry.plain,
        "variants_made": variants["made"], "variants_used": variants["used"],
        "variants_missing": len(sweep.rejected), "answers_received": answers["received"],
        "answers_cut_off": answers["cut_off"],
        "answers_missing": len(sweep.unanswered) + sweep.absent.total(),
    }  # fmt: skip
    columns = tuple(
        Column(name, kinds.get(name, "whole"), figure=name if name.endswith("_missing") else "")
        for name in facts
    )
    yield Table("sweep", (), columns, [facts])
    columns = Column("name", "text"), Column("kind", "text"), Column("rewording", "flag")
    rows = [
        row_of(profile, columns, system=profile.system, name=profile.in_words(sweep.labels))
        for profile in sweep.profiles
    ]
    yield Table("profiles", (Key("system"),), columns, rows)
    rejected = [{"condition": name, "n": n} for name, n in variants["rejected"].items()]
    yield Table("rejected", (Key("condition"),), (Column("n", "whole"),), rejected)
    counts = Column("made", "whole"), Column("used", "whole")
    rewriters = [{"rewriter": name, **n} for name, n in variants["by_rewriter"].items()]
    yield Table("rewriters", (Key("rewriter"),), counts, rewriters)
    why = Column("status", "text"), Column("error", "text")
    of = (Key("system"), Key("prompt_id"), Key("condition"))
    yield Table("unanswered", of, why, answers["missing"])
    yield from detectable_tables(sweep.detectable)


def _on_figures(sweep: Sweep) -> Iterator[str]:
    """Yield sentences on how to read the tables."""
    yield (
        "Δ is baseline − framed, in points of the scale: a positive Δ is a degradation. Their mean "
        "over dimensions is not tested. Significant: the 95 % interval over prompts excludes 0, "
        f"and the test is significant (p < {LEVEL:g}, adjusted for all {len(sweep.cells)} cells). "
        "The test is Student's t for one cell and for up to six prompts, else flipped signs; it "
        "takes Δs that are symmetric about 0 where framing has no effect."
    )
    means = [*(cell.delta for cell in sweep.cells), *(gap.gap for gap in sweep.gaps)]
    fewest = min((mean.n_pairs for mean in means if mean.shown), default=inf)
    if (missed := (1 - _RARE) ** fewest) >= LEVEL:
        yield (
            f"With {fewest:,} prompts, a change that one prompt in ten shows is in none of them "
            f"with a probability of {percent(missed)}: what is significant is of prompts like "
            "these."
        )
    strong = [f"{c.system}, {sweep.labels.of(c)}" for c in sweep.cells if c.strong]
    if strong:
        yield f"|Δ| is {sweep.plan.threshold:g} or more in: {first_of(strong, _SHOWN)}."
    yield from _second_test(sweep.asymmetry, [cell.delta for cell in sweep.cells], "Δs")
    if sweep.gaps:
        yield (
            "Contrast: the Δ of the first condition less that of the second; above 0, responses "
            "degrade more under the first. Significant: as above, adjusted for all contrasts."
        )
        yield from _second_test(sweep.gap_asymmetry, [gap.gap for gap in sweep.gaps], "contrasts")


def _second_test(asymmetry: Asymmetry, means: Sequence[Mean], what: str) -> Iterator[str]:
    """Yield sentences on why an effect by the first test may not be significant."""
    lost = [mean for mean in means if mean.p_max_t < LEVEL <= mean.p_claim]
    held_back = f"by it {len(lost):,} of {len(means):,} {what} are not significant"
    if asymmetry.plain:
        skew = asymmetry.skewness
        further, other = ("falls", "An improvement") if skew > 0 else ("rises", "A degradation")
        if what == "contrasts":
            further = f"contrasts {'above' if skew > 0 else 'below'} the others"
            other = f"A contrast {'below' if skew > 0 else 'above'} 0"
        yield (
            f"The {what} are asymmetric (skewness {signed(skew)}): a few prompts have much larger "
            f"{further}. {other} is significant only if a second test, which allows "
            "that prompts outside of this sample change as far, is significant, too"
            f"{f'; {held_back}' if lost else ''}."
        )
    elif lost:
        yield (
            "Where a few prompts of a cell change much farther, and against its mean, a second "
            f"test has to be significant, too: {held_back}."
        )


def _on_what_is_there(sweep: Sweep) -> Iterator[str]:
    """Yield sentences on what the sweep could have shown, what is missing, and its cost."""
    coverage = sweep.coverage
    if not any(cell.delta.shown for cell in sweep.cells) and (
        sentence := detected(sweep.detectable)
    ):
        yield sentence
    if sweep.plan.responses is None:
        used = sum(variant.used for variant in sweep.variants)
        wanted = len(sweep.prompts) * len(sweep.plan.conditions)
        yield f"{used:,} of {wanted:,} variants passed their checks."
        # Where nothing was scored the conclusion has the reason.
        rejected = sweep.rejected if coverage.scored else []
        for variant in rejected[:_SHOWN]:
            yield f"{variant.prompt_id}, {variant.condition}: {'; '.join(variant.faults)}"
        if (more := len(rejected) - _SHOWN) > 0:
            yield f"{more:,} more are in framings.jsonl."
        if cut_off := sum(answer.cut_off for answer in sweep.answers):
            yield f"{cut_off:,} answers were cut off at the token limit."
        for reason, n in Counter(str(answer.status) for answer in sweep.unanswered).items():
            yield f"{n:,} answers missing: {reason}"
    yield counts_sentence(sweep.run, coverage)
    yield from run_remarks(sweep.run)


_ALL = "all dimensions"
_MISSING = 50
_NAMED = 6
_READING = (
    "Δ is baseline − framed, in points: a positive Δ is a degradation. Tinted: the 95 % interval "
    "over prompts leaves out 0. Underlined: the test, adjusted for all cells, is "
    "significant, too (p < {:g})."
)


def kept_sweep_result(
    run: Run,
    manifest: Mapping[str, Any],
    summary: Mapping[str, Any],
    titles: Mapping[str, str],
) -> Result:
    """Return the sweep in a run's folder, whose summary.json has it once it came to its end.
    `manifest`, `summary`: run.json and summary.json; `titles`: the beginnings of prompts, by their
    ids."""
    framings = (manifest.get("sweep") or {}).get("framings") or {}
    labels = {entry["id"]: entry["label"] for entry in framings.get("conditions", ())}
    of = _SweepTables(run, summary["sweep"], labels)
    return Result(
        "sweep",
        summary["conclusion"],
        [of.profiles(), of.heat(), of.deltas(), of.scores(), of.unpaired(), of.unanswered(titles)],
        list(of.remarks()),
        coverage=Coverage(**summary["coverage"] | {"edited": run.is_edited}),
    )


class _SweepTables:
    """The parts of summary.json that are of the sweep, and the labels of its conditions."""

    def __init__(self, run: Run, sweep: Mapping[str, Any], labels: Mapping[str, str]) -> None:
        self.run, self.sweep = run, sweep
        self.conditions = {each: labels.get(each, each) for each in sweep["conditions"]}
        self.framed = dict(list(self.conditions.items())[1:])
        dimensions = {entry.id: entry.label for entry in run.rubric.numeric}
        self.dimensions = Key("dimension", "dimension", labels=dimensions)
        self.keys = Key("system", "system"), self.dimensions
        self.condition = Key("condition", "condition", labels=self.conditions)

    def profiles(self) -> Table:
        """Return the profile of each system."""
        rows = [
            {
                "system": entry["system"],
                # Where nothing else degrades, the profile says so.
                "profile": entry["name"]
                + (
                    " (mere rewording degrades it, too)"
                    if entry["rewording"] and entry["kind"] != "none shown"
                    else ""
                ),
            }
            for entry in self.sweep["profiles"]
        ]
        column = Column("profile", "text", "profile")
        return Table("profiles", self.keys[:1], (column,), rows, "Profiles")

    def heat(self) -> Table:
        """Return Δ by dimension and condition, a heat map for each system."""
        measured = {
            (entry["system"], entry.get("dimension", _ALL), entry["condition"]): _estimate(entry)
            for entry in [*self.sweep["cells"], *self.sweep["composites"]]
        }
        columns = _numbered("estimate", self.framed.values(), better="lower")
        names = [*self.dimensions.labels, _ALL]
        rows = _rows_by_column(measured, self.sweep["systems"], names, self.framed)
        remarks = [_READING.format(self.sweep["level"])]
        threshold = self.sweep["threshold"]
        large = [
            f"{entry['system']}, {self.dimensions.label(entry)} under {self.condition.label(entry)}"
            for entry in self.sweep["cells"]
            if entry["delta"] is not None and abs(entry["delta"]) >= threshold
        ]
        if large:
            more = f"; {len(large) - _NAMED} more" if len(large) > _NAMED else ""
            remarks.append(f"|Δ| of {threshold:g} or more: {'; '.join(large[:_NAMED])}{more}.")
        title = "Sweep: how framing changes the quality of answers"
        return Table("deltas", self.keys, columns, rows, title, heat=0.0, remarks=remarks,
                     programs=False)  # fmt: skip

    def deltas(self) -> Table:
        """Return each Δ with its interval and test."""
        columns = Column("delta", "estimate", "Δ", signed=True, p="column"), _whole("n_pairs")
        rows = [{**entry, "delta": _estimate(entry)} for entry in self.sweep["cells"]]
        of = (*self.keys, self.condition)
        return Table("cells", of, columns, rows, "Δ with its interval over prompts", "full")

    def scores(self) -> Table:
        """Return the mean score by condition."""
        means: dict[tuple[str, str, str], float] = {}
        for entry in self.run.leaderboard().systems:
            system, _, condition = entry.system.rpartition("+")
            means |= {(system, name, condition): of.value for name, of in entry.dimensions.items()}
        columns = _numbered("number", self.conditions.values())
        names = [*self.dimensions.labels]
        rows = _rows_by_column(means, self.sweep["systems"], names, self.conditions)
        title = "Scorecard: mean score by condition"
        return Table("scores", self.keys, columns, rows, title, "full", programs=False)

    def unpaired(self) -> Table:
        """Return how many pairs of judgments are in no Δ."""
        lacking = {
            (entry["system"], entry["condition"]): entry
            for entry in self.sweep["cells"]
            if entry["n_abstained"] or entry["n_missing"]
        }
        columns = _whole("n_abstained", "abstentions"), _whole("n_missing", "missing")
        title = (
            "Pairs of judgments that are in no Δ, as one of the two is an abstention, or missing"
        )
        of = self.keys[0], self.condition
        return Table("unpaired", of, columns, list(lacking.values()), title, "full")

    def unanswered(self, titles: Mapping[str, str]) -> Table:
        """Return the answers that did not come, and why."""
        missing: Sequence[Mapping[str, Any]] = self.sweep["answers"]["missing"]
        rows = [
            {
                **entry,
                "prompt": titles.get(entry["prompt_id"], entry["prompt_id"]),
                "why": f"{entry['status']}: {entry['error']}"
                if entry["error"]
                else entry["status"],
            }
            for entry in missing[:_MISSING]
        ]
        of = self.keys[0], Key("prompt", "prompt"), self.condition
        title = f"{len(rows)} of {counted(len(missing), 'answer')} that did not come"
        return Table("unanswered", of, (Column("why", "text", "reason"),), rows, title, "full")

    def remarks(self) -> Iterator[str]:
        """Yield how many variants were used and answers received."""
        variants, answers = self.sweep["variants"], self.sweep["answers"]
        if not (variants["made"] or answers["received"] or answers["missing"]):
            return
        unused = [
            f"{n} under “{self.conditions.get(each, each)}”"
            for each, n in variants["rejected"].items()
        ]
        rejected = f"; given up: {', '.join(unused)}" if unused else ""
        yield f"{variants['used']} of {counted(variants['made'], 'variant')} used{rejected}."
        cut_off = f", {answers['cut_off']} of them cut off" if answers["cut_off"] else ""
        missing = f", {len(answers['missing'])} missing" if answers["missing"] else ""
        yield f"{counted(answers['received'], 'answer')} received{cut_off}{missing}."


def _whole(name: str, head: str = "prompts") -> Column:
    return Column(name, "whole", head)


def _estimate(entry: Mapping[str, Any]) -> Estimate:
    value, low, high, p = (
        nan if entry.get(name) is None else float(entry[name])
        for name in ("delta", "ci_low", "ci_high", "p_claim")
    )
    return Estimate(value, low, high, over="prompts", n=entry["n_pairs"], p_adjusted=p)
