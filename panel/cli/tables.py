"""A run as tables in a terminal: the leaderboard, each prompt's ranking, what is missing."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from graphs import Verdict
from panel.estimate import Estimate
from panel.files.wording import printable
from panel.models.catalogue import prices_as_of
from panel.models.weights import NOTICE
from panel.run import Run, share_name
from panel.statistics.ranking import SystemRank
from rubrics import Usage

_PROMPTS_SHOWN = 10
_AGAIN = {
    "failed": "failed",
    "skipped": "was skipped",
    "refused": "was refused",
    "unparsed": "could not be read",
}
_COLUMNS_SHOWN = 7


def show_run(run: Run, console: Console, labels: dict[str, str]) -> None:
    """The leaderboard by system, then each prompt's ranking, then what is missing.

    `labels` are the dimensions' labels by their ids.
    """
    board = run.ranking()
    console.print(_leaderboard(board))
    numeric = {name: label for name, label in labels.items() if name not in run.categories}
    if numeric:
        console.print(_means("Means by dimension", board, numeric, console.width))
    for name, categories in run.categories.items():
        shares = {share_name(name, category): category for category in categories}
        console.print(
            _means(f"{labels[name]}: share of each category", board, shares, console.width)
        )
    if any(judge.model.startswith("local:smollm2-135m") for judge in run.judges):
        console.print(Text(NOTICE, "yellow"))
    console.print(_prompts(run))
    n_prompts = len({verdict.prompt_id for verdict in run.verdicts})
    if n_prompts > _PROMPTS_SHOWN:
        console.print(Text(f"{n_prompts - _PROMPTS_SHOWN} more prompts are in verdicts.csv."))
    if run.reliability and (n := sum(verdict.n_unreliable for verdict in run.verdicts)):
        at = run.reliability
        told = f"{n:,} judgments have {labels[at.dimension]} below {at.at_least:g}"
        console.print(Text(f"{told}: their ratings are unreliable and in no composite."))
    coverage = run.coverage
    console.print(
        Text(
            f"{coverage.scored:,} of {coverage.expected:,} judgments scored, "
            f"{coverage.abstained:,} say that the response abstains; "
            f"{run.tally.made:,} calls made, {run.tally.cached:,} answered from the cache."
        )
    )
    spent = sum(run.tally.spent.values(), Usage())
    if spent.cached:
        told = f"{spent.cached:,} of {spent.input:,} input tokens"
        console.print(Text(f"{told} were read from the models' own prompt caches."))
    for status, n in coverage.missing.items():
        why = run.commonest_reason(status)
        console.print(Text(f"{n:,} missing: {status}" + (f" ({why})" if why else ""), "red"))
    for status, n in coverage.kept.items():
        console.print(Text(f"{n:,} kept their ratings, as reading again {_AGAIN[status]}", "red"))
    if coverage.unexplained:
        told = f"{coverage.unexplained:,} changed a rating and could not be asked why"
        console.print(Text(told, "red"))
    if coverage.partial:
        told = f"{coverage.partial:,} scored on fewer comparisons than were asked for"
        console.print(Text(told, "red"))


def show_estimates(estimates: Sequence[Estimate], console: Console) -> None:
    """What a run would take, model by model."""
    table = Table(title="What it would take", title_justify="left", box=SIMPLE_HEAD)
    table.add_column("model", overflow="fold")
    for heading in ("judgments", "calls", "tokens in", "tokens out", "US dollars"):
        table.add_column(heading, justify="right")
    table.add_column("tokens counted by")
    for one in estimates:
        table.add_row(
            Text(one.model),
            f"{one.judgments:,}",
            f"{one.calls:,}",
            f"{one.input_tokens:,}",
            f"{one.output_tokens:,}",
            "unknown" if one.usd is None else f"{one.usd:,.4f}",
            one.tokenizer,
        )
    console.print(table)
    cached = sum(one.of - one.judgments for one in estimates)
    console.print(Text(f"{cached:,} judgments are in the cache already. Nothing was called."))
    known = [one.usd for one in estimates if one.usd is not None]
    unknown = [one.model for one in estimates if one.usd is None]
    total = f"Together: {sum(one.calls for one in estimates):,} calls, ${math.fsum(known):,.4f}"
    if unknown:
        total += f", and what {', '.join(unknown)} cost, whose price is not known"
    console.print(Text(f"{total}. Prices as of {prices_as_of()}; retries come on top."))


def _leaderboard(board: list[SystemRank]) -> Table:
    table = Table(title="Systems", title_justify="left", box=SIMPLE_HEAD)
    table.add_column("rank", justify="right")
    table.add_column("system", overflow="fold")
    table.add_column("composite", justify="right")
    table.add_column("95 % interval", justify="right")
    table.add_column("prompts", justify="right")
    for entry in board:
        table.add_row(
            _rank(entry),
            Text(printable(entry.system)),
            _score(entry.composite),
            _interval(entry),
            str(entry.n_prompts),
        )
    return table


def _means(title: str, board: list[SystemRank], labels: dict[str, str], width: int) -> Table:
    """Systems by dimensions, or where that would be too wide, dimensions by systems."""
    table = Table(title=Text(title), title_justify="left", box=SIMPLE_HEAD)
    if len(labels) > _COLUMNS_SHOWN or _width(board, labels) > width:
        table.add_column("")
        for entry in board:
            table.add_column(Text(printable(entry.system)), justify="right", overflow="fold")
        for name, label in labels.items():
            table.add_row(Text(label), *(_score(entry.dimensions[name]) for entry in board))
        return table
    table.add_column("system", overflow="fold")
    for label in labels.values():
        table.add_column(Text(label), justify="right", min_width=_narrowest(label))
    for entry in board:
        table.add_row(
            Text(printable(entry.system)), *(_score(entry.dimensions[name]) for name in labels)
        )
    return table


def _width(board: list[SystemRank], labels: dict[str, str]) -> int:
    """How wide a table of systems by dimensions is at least, with two spaces beside each column."""
    names = max((len(entry.system) for entry in board), default=0)
    return min(names, 16) + 4 + sum(_narrowest(label) + 2 for label in labels.values())


def _narrowest(label: str) -> int:
    return max(4, *map(len, label.split()))


def _prompts(run: Run) -> Table:
    table = Table(title="Responses by prompt", title_justify="left", box=SIMPLE_HEAD)
    table.add_column("prompt")
    table.add_column("ranking (composite, judges)")
    for prompt_id, ranking in list(run.prompt_rankings().items())[:_PROMPTS_SHOWN]:
        places = [
            f"{'-' if rank is None else rank}. {printable(f'{verdict.system}/{verdict.id}')} "
            f"({_score(verdict.composite)}, {verdict.n_judges}/{verdict.n_asked}"
            f"{_majority(verdict)})"
            for rank, verdict in ranking
        ]
        title = f"{printable(prompt_id)}\n{printable(run.titles[prompt_id])}"
        table.add_row(Text(title), Text("\n".join(places)))
        table.add_section()
    return table


def _majority(verdict: Verdict) -> str:
    """What most judges chose on each dimension of categories; with a tie, who shares it."""
    told = ""
    for summary in verdict.labels.values():
        most = max(summary.counts.values())
        first = [name for name, n in summary.counts.items() if summary.n and n == most]
        told += f"; {' = '.join(first) or '-'}"
    return told


def _rank(entry: SystemRank) -> str:
    if entry.rank is None:
        return "-"
    if entry.rank_low is None or entry.rank_low == entry.rank_high:
        return str(entry.rank)
    return f"{entry.rank} ({entry.rank_low}-{entry.rank_high})"


def _interval(entry: SystemRank) -> str:
    if math.isnan(entry.ci_low):
        return "-"
    return f"{entry.ci_low:.2f} to {entry.ci_high:.2f}"


def _score(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.2f}"
