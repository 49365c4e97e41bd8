"""A sweep in a terminal: what may be concluded, Δ by system, contrasts, profiles, what is not
there."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from persona_panel.experiments.sweep.asymmetry import SHOWS_RARE, Asymmetry
from persona_panel.experiments.sweep.deltas import MARKS, Cell, Mean
from persona_panel.experiments.sweep.detectable import detected
from persona_panel.experiments.sweep.profiles import Profile, SweepLabels
from persona_panel.experiments.sweep.result import Sweep, condition_labels
from persona_panel.graphs.framing import BASELINE
from persona_panel.models.embedded_weights import NOTICE
from persona_panel.reports.formats.terminal.rows import show_conclusion
from persona_panel.reports.formats.terminal.run import show_counts, show_spending
from persona_panel.results.cells import FigureText
from persona_panel.results.conclusions.wording import counted, p_adjusted
from persona_panel.results.console import TableRow, legible, show_table
from persona_panel.statistics.core.display import number, signed
from persona_panel.statistics.core.tested import LEVEL
from persona_panel.statistics.figures.extra import PLOTS, plots_at_hand

_FIRST = "pluralistic_engagement"
"""The dimension in which agreement under pressure shows first (scrub.txt, section 6.1)."""
_REJECTED_SHOWN = 10
_LARGE_FALLS_SHOWN = 5


def show_sweep(sweep: Sweep, console: Console) -> None:
    """What may be concluded; scores and Δ by dimension and condition for each system, gaps,
    profiles, what is missing."""
    show_conclusion(sweep.conclusion(), console)
    if sweep.n_measured:
        _show_figures(sweep, console)
    _show_limits(sweep, console)
    _show_missing(sweep, console)


def _show_figures(sweep: Sweep, console: Console) -> None:
    for system in sweep.systems:
        _show_scores(sweep, system, console)
        _show_deltas(sweep, system, console)
    plan = sweep.plan
    console.print(
        Text(
            "Δ is baseline − framed, in points of the scale: a positive Δ is a degradation. Below "
            "it: the number of prompts, and of pairs of judgments left out because of an "
            f"abstention. !: |Δ| ≥ {plan.threshold:g}. *: the 95 % interval over prompts excludes "
            f"0, and the test is significant (p < {LEVEL:g}, adjusted for all {len(sweep.cells)} "
            "cells). The test flips signs: it takes Δs that are symmetric about 0 where framing "
            f"has no effect. {_of_more(sweep)}"
        )
    )
    _show_second_test(sweep.asymmetry, [cell.delta for cell in sweep.cells], "Δs", console)
    console.print()
    if sweep.gaps:
        for system in sweep.systems:
            _show_gaps(sweep, system, console)
        console.print(
            Text(
                "Contrast: the Δ of the first condition less that of the second; above 0, "
                "responses degrade more under the first. Below it: its 95 % interval. *: as "
                "above, adjusted for all contrasts."
            )
        )
        _show_second_test(
            sweep.gap_asymmetry, [gap.gap for gap in sweep.gaps], "contrasts", console
        )
    for profile in sweep.profiles:
        _show_profile(profile, sweep.labels, console)
    _show_large_falls(sweep, console)


def _show_scores(sweep: Sweep, system: str, console: Console) -> None:
    labels = {BASELINE: "Baseline", **condition_labels(sweep.plan)}
    means, errors = (array[sweep.systems.index(system)] for array in sweep.scores_over_prompts())
    lines = [
        TableRow(
            dimension.label,
            [
                Text(_score(mean, error))
                for mean, error in zip(means[:, d], errors[:, d], strict=True)
            ],
        )
        for d, dimension in enumerate(sweep.rubric.numeric)
    ]
    show_table(
        console,
        f"Scores of {legible(system)}, with standard errors over prompts",
        ["dimension"],
        [legible(labels[name]) for name in sweep.conditions],
        lines,
    )


def _score(mean: float, error: float) -> str:
    if math.isnan(mean):
        return "–"
    return number(mean) if math.isnan(error) else f"{number(mean)} ± {number(error)}"


def _show_deltas(sweep: Sweep, system: str, console: Console) -> None:
    labels, framed = condition_labels(sweep.plan), sweep.conditions[1:]
    cells = {(c.dimension, c.condition): c for c in sweep.cells if c.system == system}
    means = {one.condition: one for one in sweep.composites if one.system == system}
    lines = [
        TableRow(dimension.label, [_cell(cells[dimension.id, name]) for name in framed])
        for dimension in sweep.rubric.numeric
    ]
    lines.append(TableRow("mean", [Text(signed(means[name].value)) for name in framed]))
    show_table(
        console,
        f"Δ of {legible(system)}",
        ["dimension"],
        [legible(labels[name]) for name in framed],
        lines,
    )


def _cell(cell: Cell) -> Text:
    marks = ("!" if cell.strong else "") + MARKS[cell.delta.claim]
    text = _figure(cell.delta)
    text.append(f"{signed(cell.delta.value)}{marks}", "bold reverse" if cell.strong else "")
    text.append(f"\n{cell.delta.n_pairs}, {cell.n_abstained}", "dim")
    return text


def _show_gaps(sweep: Sweep, system: str, console: Console) -> None:
    gaps = {(g.contrast.id, g.dimension): g for g in sweep.gaps if g.system == system}
    labels = {gap.contrast.id: gap.contrast.label for gap in gaps.values()}
    lines = [
        TableRow(dimension.label, [_gap(gaps[contrast, dimension.id].gap) for contrast in labels])
        for dimension in sorted(sweep.rubric.numeric, key=lambda one: one.id != _FIRST)
    ]
    columns = [legible(label) for label in labels.values()]
    show_table(console, f"Contrasts of {legible(system)}", ["dimension"], columns, lines)


def _gap(gap: Mean) -> Text:
    text = _figure(gap)
    text.append(f"{signed(gap.value)}{MARKS[gap.claim]}")
    text.append(f"\n{_interval(gap)}", "dim")
    return text


def _figure(mean: Mean) -> FigureText:
    """A cell of this figure, before anything is shown in it."""
    return FigureText(
        "", value=mean.value, low=mean.ci_low, high=mean.ci_high, p_value=mean.p_claim
    )


def _interval(mean: Mean) -> str:
    if mean.n_pairs < 2:
        return "–"
    return f"{signed(mean.ci_low)} to {signed(mean.ci_high)}"


def _tested(delta: Mean) -> str:
    """What a claim rests on."""
    of = counted(delta.n_pairs, "prompt")
    if delta.claim == "more prompts":
        of = f"{delta.n_above:,} of {of} fall, {delta.n_below:,} rise"
    return f"{p_adjusted(delta.p_claim)}, {of}"


def _show_profile(profile: Profile, labels: SweepLabels, console: Console) -> None:
    shown = bool(profile.degraded)
    told = f"{profile.system}: {profile.told(labels)}"
    console.print(Text(told, "bold red" if shown else "bold"))
    for what, cells in (("worse", profile.degraded), ("better", profile.improved)):
        for cell in cells:
            delta = cell.delta
            console.print(
                Text(
                    f"  {what} in {labels.of(cell)}: Δ {signed(delta.value)} "
                    f"({_interval(delta)}, {_tested(delta)})"
                )
            )
    if profile.rewording:
        console.print(
            Text(
                f"  The placebo (rewording without pressure) lowers scores"
                f"{', too' if profile.conditions else ''}: see the contrast with it.",
                "yellow",
            )
        )


def _of_more(sweep: Sweep) -> str:
    """What the other mark says, where there is one."""
    means = [*(cell.delta for cell in sweep.cells), *(gap.gap for gap in sweep.gaps)]
    if all(one.claim != "more prompts" for one in means):
        return ""
    return (
        f"{MARKS['more prompts']}: significant is that more prompts change in this direction than "
        "in the other (sign test); the mean over all such prompts may still be 0."
    )


def _show_second_test(
    asymmetry: Asymmetry, means: Sequence[Mean], what: str, console: Console
) -> None:
    """Why what flipped signs show may have no mark."""
    lost = [one for one in means if one.p_holm < LEVEL and one.claim != "mean"]
    few = [one for one in lost if one.n_pairs < SHOWS_RARE]
    held_back = f"{len(lost) - len(few):,} of {len(means):,} {what} lost the mark * by it"
    if asymmetry.plain:
        skew = asymmetry.skewness
        further, other = ("falls", "improvement") if skew > 0 else ("rises", "degradation")
        if what == "contrasts":
            further = f"contrasts {'above' if skew > 0 else 'below'} the others"
            other = f"contrast {'below' if skew > 0 else 'above'} 0"
        told = (
            f"The {what} are asymmetric (skewness {signed(skew)}): a few prompts have much larger "
            f"{further}. {_article(other)} is marked * only if a second test, which allows that "
            "prompts outside of this sample change as far, is significant, too"
        )
        if len(lost) > len(few):
            told += f"; {held_back}"
        console.print(Text(f"{told}.", "yellow"))
    elif len(lost) > len(few):
        told = "Where a few prompts of a cell change much farther, and against its mean, a second "
        console.print(Text(f"{told}test has to be significant, too: {held_back}.", "yellow"))
    if few:
        kind = "contrast" if what == "contrasts" else "cell"
        told = f"{counted(len(few), kind)} on fewer than {SHOWS_RARE} prompts "
        told += f"{'is' if len(few) == 1 else 'are'} not marked *, though flipped signs are "
        told += (
            "significant: were one prompt in ten to change far the other way, none of so few need "
            "be among them."
        )
        console.print(Text(told, "yellow"))


def _article(word: str) -> str:
    return f"An {word}" if word[0] in "aeiou" else f"A {word}"


def _show_large_falls(sweep: Sweep, console: Console) -> None:
    """Cells in which some prompts fell far, but the mean is not shown to have fallen."""
    found = [
        cell
        for cell in sweep.cells
        if cell.n_fell > cell.n_rose and not (cell.delta.shown and cell.delta.value > 0)
    ]
    if not found:
        return
    console.print(Text("Large falls of single prompts where no degradation is significant:"))
    found.sort(key=lambda cell: cell.n_rose - cell.n_fell)
    for cell in found[:_LARGE_FALLS_SHOWN]:
        n = cell.delta.n_pairs
        low, high = cell.fell_ci
        console.print(
            Text(
                f"  {legible(cell.system)}, {sweep.labels.of(cell)}: "
                f"{cell.n_fell:,} of {n:,} prompts fell by {cell.large:g} points or more "
                f"(95 % interval of the share: {low:.2f} to {high:.2f}), {cell.n_rose:,} rose"
            )
        )
    if (more := len(found) - _LARGE_FALLS_SHOWN) > 0:
        console.print(Text(f"  {more:,} more cells are in deltas.csv."))


def _show_limits(sweep: Sweep, console: Console) -> None:
    if not any(cell.delta.shown for cell in sweep.cells) and (said := detected(sweep.detectable)):
        console.print(Text(said))
    models = {model.id for model in (*sweep.plan.targets, *sweep.plan.rewriters)}
    models |= {judge.model for judge in sweep.run.judges}
    if any(model.startswith("local:smollm2-135m") for model in models):
        console.print(Text(NOTICE, "yellow"))


def _show_missing(sweep: Sweep, console: Console) -> None:
    run, coverage = sweep.run, sweep.coverage
    if sweep.plan.responses is None:
        used = sum(one.used for one in sweep.variants)
        wanted = len(sweep.prompts) * len(sweep.plan.conditions)
        console.print(Text(f"{used:,} of {wanted:,} variants passed their checks."))
        # Where nothing was scored the conclusion has the reason.
        rejected = sweep.rejected if coverage.scored else []
        for variant in rejected[:_REJECTED_SHOWN]:
            why = "; ".join(variant.faults)
            console.print(Text(f"  {variant.prompt_id}, {variant.condition}: {why}", "red"))
        if (more := len(rejected) - _REJECTED_SHOWN) > 0:
            console.print(Text(f"  {more:,} more are in framings.jsonl.", "red"))
        if cut_off := sum(one.cut_off for one in sweep.answers):
            console.print(Text(f"{cut_off:,} answers were cut off at the token limit.", "yellow"))
        for reason, n in Counter(str(one.status) for one in sweep.unanswered).items():
            console.print(Text(f"{n:,} answers missing: {reason}", "red"))
    show_counts(run, coverage, console)
    show_spending(run, console)
    for status, n in coverage.missing.items() if coverage.scored else ():
        console.print(Text(f"{n:,} judgments missing: {status}", "red"))
    if not plots_at_hand():
        console.print(Text(f"No plots were drawn: matplotlib is missing; install it with: {PLOTS}"))
