"""A set of prompts that was built, in the terminal: its funnel, its writers, its diversity."""

from __future__ import annotations

from math import isnan

from rich.console import Console
from rich.text import Text

from persona_panel.experiments.prompt_sets.building import (
    BuiltPrompts,
    WriterSummary,
    cross_diversity,
    overall_diversity,
    writer_summaries,
)
from persona_panel.experiments.prompt_sets.candidates import FunnelStep
from persona_panel.experiments.prompt_sets.filters import MeanDiversity
from persona_panel.results.conclusions.wording import counted
from persona_panel.results.console import TableRow, show_table
from persona_panel.statistics.core.display import NONE

_UNITS = {"item": "items", "prompt": "prompts"}


def show_prompt_set(built: BuiltPrompts, console: Console) -> None:
    """How many prompts there are, then the funnel, who wrote them, and how diverse they are."""
    if built.pending:
        told = ", ".join(f"{n:,} of {step}" for step, n in built.pending.items())
        console.print(Text(f"The set is not whole: calls without an answer ({told})."))
    else:
        strata = len({one.stratum for one in built.prompts})
        n = counted(len(built.prompts), "prompt")
        over = f" in {strata} strat{'um' if strata == 1 else 'a'}" if built.prompts else ""
        console.print(Text(f"{n}{over}, from {len(built.written):,} that were made."))
    console.print()
    show_table(
        console,
        "Funnel",
        ["", "step, and why dropped"],
        ["entered", "dropped", "kept"],
        [row for step in built.funnel for row in _rows(step)],
    )
    if writers := writer_summaries(built):
        show_table(
            console,
            "Prompts by writer",
            ["model"],
            ["items\nanswered", "prompts", "kept", "in the\nset", "functional\ndiversity (SE)"],
            [TableRow(one.writer, _cells(one)) for one in writers],
        )
    for sentence in (*_passed(built), *_diversity(built)):
        console.print(Text(sentence))


def _rows(step: FunnelStep) -> list[TableRow]:
    heading = _UNITS[step.unit]
    dropped = step.entered - step.kept
    cells = [Text(f"{n:,}") for n in (step.entered, dropped, step.kept)]
    rows = [TableRow(step.step, cells, heading)]
    if step.reasons:
        rows += [
            TableRow(f"  {reason}", [Text(""), Text(f"{n:,}"), Text("")], heading)
            for reason, n in step.reasons.items()
        ]
    return rows


def _cells(one: WriterSummary) -> list[Text]:
    cells = [f"{one.answered:,} of {one.items:,}", f"{one.written:,}", f"{one.kept:,}"]
    return [Text(cell) for cell in (*cells, f"{one.drawn:,}", _mean(one.diversity))]


def _mean(found: MeanDiversity) -> str:
    if isnan(found.mean):
        return NONE
    return f"{found.mean:.2f}" + ("" if isnan(found.se) else f" ({found.se:.2f})")


def _passed(built: BuiltPrompts) -> list[str]:
    """How many prompts of the set a model passes, where those that none passes are kept, too."""
    wanted = built.plan.spec.quality
    if wanted is None or wanted.needed or not built.prompts:
        return []
    n, passed = len(built.prompts), sum(one.passed > 0 for one in built.prompts)
    prompts = counted(n, "prompt")
    if not passed:
        return [f"No model passes any of the {prompts}: needed: 0 drops none for that."]
    if passed == n:
        return []
    return [f"{passed:,} of the {prompts} are passed by a model: needed: 0 drops none for that."]


def _diversity(built: BuiltPrompts) -> list[str]:
    over = overall_diversity(built)
    if isnan(over.mean):
        return []
    n_pairs = sum(equivalent is not None for equivalent in built.equivalent.values())
    said = [
        f"Functional diversity {_mean(over)} over {counted(over.n_bundles, 'bundle')} of prompts "
        f"from one item or template ({counted(n_pairs, 'pair')} compared): the share of pairs "
        "in which a strong answer to one prompt would not do for the other."
    ]
    cross = cross_diversity(built)
    if not isnan(cross.mean):
        said.append(f"Between prompts of two writers it is {_mean(cross)}.")
    return said
