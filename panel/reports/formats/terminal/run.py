"""A run in a terminal: what may be concluded, the leaderboard, who sees it otherwise, what is
contested, what is missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from persona_panel.analyses.breakdown.groups import labels_of_personas
from persona_panel.analyses.contested import (
    Contested,
    contested_conclusion,
    headline,
    most_contested,
)
from persona_panel.analyses.who_differs import who_differs
from persona_panel.graphs import Verdict
from persona_panel.models.embedded_weights import NOTICE
from persona_panel.reports.formats.terminal.leaderboard import score, show_leaderboard
from persona_panel.reports.formats.terminal.rows import show_conclusion
from persona_panel.reports.formats.terminal.strengths import show_strengths
from persona_panel.results.console import NARROWEST_LABEL, TableRow, legible, show_table
from persona_panel.rubrics import Usage
from persona_panel.runs.run import Run, share_name
from persona_panel.runs.run_remarks import counts_sentence, spending_sentences
from persona_panel.runs.scale_limits import composite_told
from persona_panel.statistics.core.display import NONE, general, number, percent, signed
from persona_panel.statistics.core.ranking import SystemRank
from persona_panel.statistics.core.table import Coverage

_RESPONSES_SHOWN = 12
"""From more responses on their ranks are in verdicts.csv alone."""
_CONTESTED_SHOWN = 3
_NAMED = 3
_AGAIN = {
    "failed": "failed",
    "skipped": "was skipped",
    "refused": "was refused",
    "truncated": "was cut off at the token limit",
    "unparsed": "could not be parsed",
}
_COLUMNS_SHOWN = 7
MUCH_OFF_SCALE = 0.5
"""From which mean share of probability off the scale on a model's scores are warned of."""


def show_run(run: Run, console: Console, labels: Mapping[str, str]) -> None:
    """Which scores rest on little, what may be concluded, the leaderboard by system, who sees it
    otherwise, the most contested responses, then what is missing; no tables where nothing was
    scored. Of a few responses there is each one's rank, too; of more, it is in verdicts.csv.

    `labels` are the dimensions' labels by their ids.
    """
    _show_off_scale(run, console)
    show_conclusion(run.conclusion(), console)
    if run.coverage.scored:
        _show_tables(run, console, labels)
    _show_judged(run, console)


def _show_off_scale(run: Run, console: Console) -> None:
    """Which models' scores rest on little: before all that is concluded from them."""
    for model, share in run.off_scale.items():
        if share > MUCH_OFF_SCALE:
            told = (
                f"{legible(model)}: {percent(share)} of the probability of its answers lay on no "
                "value of the scale (mean over judgments); its scores rest on the rest"
            )
            console.print(Text(told, "yellow"))


def _show_tables(run: Run, console: Console, labels: Mapping[str, str]) -> None:
    leaderboard = run.leaderboard()
    show_leaderboard("Systems", leaderboard, console, composite=composite_told(run.rubric))
    if (strengths := run.strengths()) is not None:
        show_strengths(strengths, console)
    board = leaderboard.systems
    if (controls := run.control_leaderboard()) is not None:
        show_leaderboard("Systems, by judges without a persona", controls, console)
    if any(judge.model.startswith("local:smollm2-135m") for judge in run.judges):
        console.print(Text(NOTICE, "yellow"))
        console.print()
    numeric = {name: label for name, label in labels.items() if name not in run.categories}
    if numeric:
        _show_means("Means by dimension", board, numeric, console)
    for name, categories in run.categories.items():
        shares = {share_name(name, category): category for category in categories}
        _show_means(f"{labels[name]}: share of each category", board, shares, console)
    if len(run.items) <= _RESPONSES_SHOWN:
        _show_prompts(run, console)
    _show_who_differs(run, console)
    if len(run.items) > _RESPONSES_SHOWN and run.folder is not None:
        console.print(Text("Ranks and means of each response are in verdicts.csv.", "dim"))
    if run.reliability and (n := sum(verdict.n_unreliable for verdict in run.verdicts)):
        at = run.reliability
        told = f"{n:,} judgments rate {labels[at.dimension]} below {general(at.at_least)}"
        console.print(Text(f"{told}: they count as unreliable and are left out of the composite."))


def _show_who_differs(run: Run, console: Console) -> None:
    """Who sees it otherwise, and the most contested responses; nothing where one judge rated."""
    if not run.rubric.numeric or not (said := who_differs(run)):
        return
    console.print()
    console.print(Text("Who sees it otherwise", "bold"))
    for sentence in said:
        console.print(Text(sentence))
    console.print()
    console.print(Text("Contested responses", "bold"))
    found, names = most_contested(run), labels_of_personas(run)
    for sentence in contested_conclusion(found):
        console.print(Text(sentence))
    for one in found[:_CONTESTED_SHOWN]:
        if one.established:
            console.print(Text(f"{legible(headline(one))}: {_apart(one, names)}"))
    console.print()


def _apart(of: Contested, names: Mapping[str, str]) -> str:
    """Who stands farthest from the panel, in short: those who do beyond noise; where nobody does by
    itself, how far personas differ. `names` are the personas' labels by their ids."""
    if not of.named:
        return f"spread {number(of.spread)}, no persona by itself beyond noise"
    order = sorted(of.named, key=lambda persona: -abs(of.departures[persona]))
    those = [f"{legible(names[name])} {signed(of.departures[name])}" for name in order[:_NAMED]]
    more = f" and {len(order) - _NAMED} more" if len(order) > _NAMED else ""
    return f"{', '.join(those)}{more}"


def _show_judged(run: Run, console: Console) -> None:
    """What was judged and called, and what is missing."""
    coverage = run.coverage
    show_counts(run, coverage, console)
    for inside, whence in (
        (False, "were read from the providers' prompt caches."),
        (True, "were kept from the last request by a model in this process."),
    ):
        used = [
            one for model, one in run.calls.spent.items() if model.startswith("local:") == inside
        ]
        spent = sum(used, Usage())
        if spent.cached:
            console.print(Text(f"{spent.cached:,} of {spent.input:,} input tokens {whence}"))
    show_spending(run, console)
    # Where nothing was scored the conclusion has it.
    for status, n in coverage.missing.items() if coverage.scored else ():
        why = run.commonest_reason(status)
        console.print(
            Text(f"{n:,} judgments missing: {status}" + (f" ({why})" if why else ""), "red")
        )
    for status, n in coverage.revisions_failed.items():
        told = f"{n:,} judgments kept their earlier ratings: the re-rating {_AGAIN[status]}"
        console.print(Text(told, "red"))
    if "truncated" in coverage.missing or "truncated" in coverage.revisions_failed:
        console.print(
            Text(
                "Truncated answers reached their token limit, also a higher one where caps, "
                "context window and provider allow it: set reasoning_tokens or the option "
                "max_tokens of the model."
            )
        )
    if coverage.reasons_missing:
        told = f"{coverage.reasons_missing:,} judges changed a rating and gave no reason"
        console.print(Text(told, "red"))
    if coverage.partial:
        told = f"{coverage.partial:,} judgments scored on fewer comparisons than planned"
        console.print(Text(told, "red"))


def show_counts(run: Run, coverage: Coverage, console: Console) -> None:
    """How many judgments were scored, by how many calls."""
    console.print(Text(counts_sentence(run, coverage)))


def show_spending(run: Run, console: Console) -> None:
    """Print what the calls cost, and what of that is not as usual."""
    for sentence, is_warning in spending_sentences(run):
        console.print(Text(legible(sentence), "yellow" if is_warning else ""))


def _show_means(
    title: str, board: Sequence[SystemRank], labels: Mapping[str, str], console: Console
) -> None:
    """Systems by dimensions; where that would be too wide and they are fewer, the other way."""
    wide = len(labels) > _COLUMNS_SHOWN or _width(board, labels) > console.width
    if wide and len(board) < len(labels):
        lines = [
            TableRow(label, [Text(score(entry.dimensions[name])) for entry in board])
            for name, label in labels.items()
        ]
        show_table(console, title, ["dimension"], [legible(one.system) for one in board], lines)
        return
    lines = [
        TableRow(entry.system, [Text(score(entry.dimensions[name])) for name in labels])
        for entry in board
    ]
    show_table(console, title, ["system"], [*labels.values()], lines)


def _width(board: Sequence[SystemRank], labels: Mapping[str, str]) -> int:
    """How wide a table of systems by dimensions is at least, with three spaces a column."""
    names = max((cell_len(entry.system) for entry in board), default=0)
    heads = (max(map(cell_len, label.split()), default=0) for label in labels.values())
    return min(names, NARROWEST_LABEL) + 3 + sum(head + 3 for head in heads)


def _show_prompts(run: Run, console: Console) -> None:
    columns = ["composite", "judges"]
    if run.categories:
        columns.append("majority")
    lines = [
        TableRow(
            f"{'-' if rank is None else rank}. {verdict.system}/{verdict.id}",
            [
                Text(score(verdict.composite)),
                Text(f"{verdict.n_judges}/{verdict.n_asked}"),
                Text(_majority(verdict)),
            ][: len(columns)],
            f"{prompt_id}: {run.titles[prompt_id]}",
        )
        for prompt_id, ranking in run.prompt_rankings().items()
        for rank, verdict in ranking
    ]
    show_table(console, "Responses by prompt", ["prompt", "rank, response"], columns, lines)


def _majority(verdict: Verdict) -> str:
    """What most judges chose on each dimension of categories; with a tie, who shares it."""
    told = []
    for summary in verdict.labels.values():
        most = max(summary.counts.values())
        first = [name for name, n in summary.counts.items() if summary.n and n == most]
        told.append(" = ".join(first) or NONE)
    return "; ".join(told)
