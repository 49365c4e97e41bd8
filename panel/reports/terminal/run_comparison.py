"""Runs compared with the first of them, in the terminal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isnan

from rich.console import Console
from rich.text import Text

from panel.comparison.result import ChangedResponse, ComparedRuns, RunComparison, RunDifference
from panel.reports.terminal.rows import remark, show_conclusion
from panel.reports.terminal.tables import TableRow, legible, show_table
from panel.statistics.core.statistic import Reason
from panel.statistics.paired.panels import PairedFigure

_SAMPLES = {
    "prompts": "over prompts, with these judges as they are",
    "prompts-and-judges": "over prompts and judges, as a sample of such judges",
}
_IDS_SHOWN = 2
_COLUMNS = (
    "a", "b", "b - a", "95 % interval", "p,\nadjusted", "effect\nsize", "wins/ties/\nlosses",
)  # fmt: skip

_PEOPLE = (
    "τ_b,\na", "τ_b,\nb", "τ_b,\nb - a", "p,\nadjusted",
    "distance,\na", "distance,\nb", "distance,\nb - a", "p,\nadjusted",
)  # fmt: skip


def show_run_comparison(found: RunComparison, console: Console) -> None:
    """What may be concluded, then each run's figures, then how to read them."""
    show_conclusion(found.conclusion, console)
    for one in found.compared:
        _show_matching(one, console)
        _show_differences(one, console)
        _show_systems(one, console)
        _show_alike(one, console)
        _show_people(one, console)
        _show_changed(one, console)
    _show_how_to_read(found, console)


def _show_matching(one: ComparedRuns, console: Console) -> None:
    """What was compared, and what does not match."""
    whole = one.differences[0]
    counts = f"{_counted(whole.n_prompts, 'prompt')}, {_counted(whole.n_pairs, 'pair')}"
    judges = " and ".join(dict.fromkeys(_counted(n, "judge") for n in one.n_judges))
    console.print(
        Text(f"{what_differs(one)}: {legible(one.b)} compared with {legible(one.a)}", "bold")
    )
    console.print(Text(f"{counts} of responses, {judges}."))
    if one.panel:
        console.print(Text(f"The panels differ in: {'; '.join(one.panel)}."))
    for note in one.notes:
        console.print(Text(note))
    console.print()


def what_differs(one: ComparedRuns) -> str:
    """Which of the two kinds of comparison it is."""
    if one.compared == "panels":
        return "Same texts, other panel" if one.panel else "Same texts, same panel"
    return "Other texts and other panel" if one.panel else "Other texts, same panel"


def _show_differences(one: ComparedRuns, console: Console) -> None:
    _show_rows(
        f"Differences: {legible(one.b)} - {legible(one.a)}", "dimension", one.differences, console
    )


def _show_systems(one: ComparedRuns, console: Console) -> None:
    if one.systems:
        _show_rows("Composite by system", "system", one.systems, console)


def _show_rows(title: str, head: str, rows: Sequence[RunDifference], console: Console) -> None:
    show_table(
        console,
        title,
        [head],
        _COLUMNS,
        [
            TableRow(
                row.dimension if row.system is None else row.system,
                [
                    Text(text)
                    for text in (
                        _score(row.a_mean),
                        _score(row.b_mean),
                        _signed(row.difference),
                        _interval(row.ci_low, row.ci_high),
                        _p(row.p_adjusted),
                        _signed(row.effect_size),
                        f"{row.wins}/{row.ties}/{row.losses}",
                    )
                ],
            )
            for row in rows
        ],
    )
    reasons: dict[Reason, list[str]] = {}
    for row in rows:
        if row.reason is not None:
            name = row.dimension if row.system is None else row.system
            reasons.setdefault(row.reason, []).append(legible(name))
    for reason, names in reasons.items():
        of = "" if len(names) == len(rows) else f" for {'; '.join(names)}"
        remark(console, f"No interval and no p{of}: {reason}.")
    if reasons:
        console.print()


def _show_alike(one: ComparedRuns, console: Console) -> None:
    if not one.alike:
        return
    show_table(
        console,
        "Agreement of the two panels",
        ["dimension"],
        ["τ_b within\nprompts", "τ_b", "α", "best:\nsame/\nshared/\nother"],
        [
            TableRow(
                alike.dimension,
                [
                    _figure(alike.tau_within),
                    _figure(alike.tau),
                    _figure(alike.alpha),
                    Text(f"{alike.best.same}/{alike.best.shared}/{alike.best.flipped}"),
                ],
            )
            for alike in one.alike
        ],
    )
    _show_figure_reasons(
        {
            "τ_b within prompts": [alike.tau_within for alike in one.alike],
            "τ_b": [alike.tau for alike in one.alike],
            "α": [alike.alpha for alike in one.alike],
        },
        console,
    )


def _show_people(one: ComparedRuns, console: Console) -> None:
    if not one.people:
        return
    within = any(found.within for _, found in one.people)
    where = "within prompts" if within else "over all responses"
    show_table(
        console,
        f"Which panel is nearer to people (τ_b {where})",
        ["dimension"],
        _PEOPLE,
        [
            TableRow(
                name,
                [
                    Text(_score(found.a_tau)),
                    Text(_score(found.b_tau)),
                    _figure(found.tau),
                    Text(_p(found.tau.p_adjusted)),
                    Text(_score(found.a_distance)),
                    Text(_score(found.b_distance)),
                    _figure(found.distance),
                    Text(_p(found.distance.p_adjusted)),
                ],
            )
            for name, found in one.people
        ],
    )
    _show_figure_reasons(
        {
            "τ_b": [found.tau for _, found in one.people],
            "distance": [found.distance for _, found in one.people],
        },
        console,
    )
    remark(
        console,
        "τ_b with the mean human rating: higher is nearer. Distance of a panel's score from it, in "
        "points, if people rated on the panel's scale: lower is nearer. Differences are paired by "
        "prompt; p is adjusted by Holm's method over both, all dimensions and runs.",
    )
    console.print()


def _show_changed(one: ComparedRuns, console: Console) -> None:
    changed = [
        (f"higher in {legible(one.b)}", one.risen),
        (f"lower in {legible(one.b)}", one.fallen),
    ]
    lines = [
        TableRow(
            _label(response),
            [
                Text(_score(response.a)),
                Text(_score(response.b)),
                Text(_signed(response.difference)),
            ],
            heading,
        )
        for heading, those in changed
        for response in those
    ]
    if lines:
        title = (
            "Responses that changed most"
            if one.compared == "texts"
            else ("Responses that the panels rate most differently")
        )
        show_table(console, title, ["", "prompt, system, response"], ["a", "b", "b - a"], lines)


def _label(response: ChangedResponse) -> str:
    sides = dict.fromkeys(map(_ids, (response.a_ids, response.b_ids)))
    return f"{response.prompt_id}, {response.system}, {' → '.join(sides)}"


def _ids(ids: Sequence[str]) -> str:
    return ", ".join(ids[:_IDS_SHOWN]) + (", …" if len(ids) > _IDS_SHOWN else "")


def _show_how_to_read(found: RunComparison, console: Console) -> None:
    panels = any(one.compared == "panels" for one in found.compared)
    first = legible(found.runs[0])
    remark(
        console,
        f"a: {first}; b: the run compared with it. Intervals and tests are "
        f"{_SAMPLES[found.random]}; a prompt counts once. p: Student's t, adjusted by Holm's "
        "method over all dimensions and runs (by system, over all systems and runs). Intervals are "
        "each at 95 %, not widened for their number. Effect size: the mean of the prompts' "
        "differences, divided by their standard deviation. The largest changes are partly chance: "
        "in other runs they would be smaller.",
    )
    if panels:
        remark(
            console,
            "τ_b: 1, the same order of responses; 0, none in common. α: Krippendorff's, at the "
            "interval level: 1, the same scores. Best: in how many prompts both rate the "
            "same one highest, share some of several that tie, or rate another one highest. In "
            "brackets: 95 % intervals over prompts.",
        )


def _show_figure_reasons(figures: dict[str, list[PairedFigure]], console: Console) -> None:
    """Why values or intervals are not there, each reason once."""
    said: dict[tuple[str, Reason], list[str]] = {}
    for what, of in (
        ("Undefined", lambda one: one.reason),
        ("No interval", lambda one: None if one.reason else one.ci_reason),
    ):
        typed: Callable[[PairedFigure], Reason | None] = of
        for name, those in figures.items():
            for reason in dict.fromkeys(filter(None, map(typed, those))):
                said.setdefault((what, reason), []).append(name)
    for (what, reason), names in said.items():
        remark(console, f"{what}: {'; '.join(names)} ({reason}).")
    if said:
        console.print()


def _figure(one: PairedFigure) -> Text:
    """A value, below it its interval."""
    text = Text(_score(one.value))
    if not isnan(one.ci_low):
        text.append(f"\n[{one.ci_low:.2f}, {one.ci_high:.2f}]", "dim")
    return text


def _score(value: float) -> str:
    return "-" if isnan(value) else f"{round(value, 2) + 0:.2f}"


def _signed(value: float) -> str:
    return "-" if isnan(value) else f"{round(value, 2) + 0:+.2f}"


def _interval(low: float, high: float) -> str:
    return "-" if isnan(low) else f"{_score(low)} to {_score(high)}"


def _p(value: float) -> str:
    return "-" if isnan(value) else "<0.001" if value < 0.001 else f"{value:.2g}"


def _counted(n: int, what: str) -> str:
    return f"{n:,} {what}" if n == 1 else f"{n:,} {what}s"
