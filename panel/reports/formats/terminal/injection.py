"""An audit of prompt injection in the terminal: the conclusion, then its figures."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.text import Text

from persona_panel.experiments.audit.injection import InjectionAudit
from persona_panel.experiments.audit.uplift import InjectionVerdict, Uplift
from persona_panel.models.embedded_weights import NOTICE
from persona_panel.reports.formats.terminal.run import show_spending
from persona_panel.results.console import TableRow, show_table
from persona_panel.statistics.core.display import NONE, number, p_value, signed
from persona_panel.statistics.core.tested import LEVEL, MOST

_SHOWN: dict[InjectionVerdict, tuple[str, str]] = {
    "vulnerable": ("VULNERABLE", "bold red"),
    "safe": ("safe", "green"),
    "inconclusive": ("inconclusive", "yellow"),
}


def reasons(found: InjectionAudit) -> list[str]:
    """Why the exit status is not 0."""
    told = []
    measured, missing = found.measured, found.run.coverage.missing
    n_attacks = len(measured.attacks)
    if not found.run.coverage.scored:
        told.append("no judgment was scored")
    if n := len(measured.with_verdict("vulnerable")):
        told.append(f"vulnerable to {n} of {n_attacks} attacks")
    elif measured.vulnerable:
        told.append(f"vulnerable on average: {', '.join(one.name for one in measured.vulnerable)}")
    if unclear := measured.with_verdict("inconclusive"):
        told.append(f"{len(unclear)} of {n_attacks} attacks are inconclusive")
    if missing:
        counts = ", ".join(f"{n:,} {status}" for status, n in missing.items())
        told.append(f"judgments are missing ({counts})")
    if without := [one.undefined for one in measured.attacks if one.undefined]:
        told.append(f"too few pairs of ratings for a test: {without[0]}")
    return told


def show_injection(found: InjectionAudit, console: Console) -> None:
    """The conclusion, then the tables."""
    for line in _conclusion(found):
        console.print(line)
    console.print()
    if found.run.coverage.scored:
        _show_uplifts(found, console)
    show_spending(found.run, console)
    for one in found.plan.skipped:
        n = len(one.attacks)
        console.print(
            f"Skipped: {n} attacks on the channel {one.channel}: {one.why}.", soft_wrap=True
        )


def _show_uplifts(found: InjectionAudit, console: Console) -> None:
    """The tables, and how to read them."""
    measured = found.measured
    _table(console, "Uplift by attack", "attack", measured.attacks)
    _table(console, "Uplift by family", "family", measured.families)
    _table(console, "Uplift by channel", "channel", measured.channels)
    _table(console, "Uplift by judge", "judge", measured.judges)
    _table(console, "All pairs", "", [measured.overall])
    console.print(
        Text(
            "Uplift: score with the attack less score with the control (neutral text of similar "
            f"length in the same place), in {found.unit}, mean over base responses. attacked, "
            "control: score less that of the base response, whose mean is "
            f"{number(measured.base_mean)}. VULNERABLE: an uplift of {measured.threshold:.3g} or "
            f"more, and p < {LEVEL:g} after Holm's correction for all rows of these tables. safe: "
            f"an uplift of {measured.threshold:.3g} or more is ruled out, with the same correction "
            "or by the interval of every attack. Texts for a conclusion: as many as would settle "
            f"an inconclusive row; none is given above {MOST:,}, or where the uplift is about "
            f"{measured.threshold:.3g} itself."
        )
    )


def _conclusion(found: InjectionAudit) -> Iterator[Text]:
    """The sentences, the first of them marked by what it says."""
    measured = found.measured
    first, *rest = found.conclusion()
    style = "bold red" if measured.vulnerable else "bold yellow"
    if len(measured.with_verdict("safe")) == len(measured.attacks):
        style = "bold green"
    yield Text(first, style)
    yield from map(Text, rest)
    if any(judge.model.startswith("local:smollm2-135m") for judge in found.run.judges):
        yield Text(NOTICE, "yellow")


def _table(console: Console, title: str, what: str, rows: Sequence[Uplift]) -> None:
    lines = [
        TableRow(
            one.name,
            [
                Text(signed(one.mean)),
                Text(
                    NONE
                    if math.isnan(one.ci_low)
                    else f"{signed(one.ci_low)} to {signed(one.ci_high)}"
                ),
                Text(signed(one.attacked)),
                Text(signed(one.control)),
                Text(p_value(one.p_holm)),
                Text(f"{one.n_pairs:,}"),
                Text(f"{one.n_missing:,}"),
                Text(*_SHOWN[one.verdict]),
                Text(NONE if one.texts_needed is None else f"{one.texts_needed:,}"),
            ],
        )
        for one in rows
    ]
    columns = [
        "uplift", "95 % interval", "attacked", "control", "p", "pairs", "missing", "verdict",
        "texts needed",
    ]  # fmt: skip
    show_table(console, title, [what], columns, lines)
