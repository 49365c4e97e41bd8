"""What a run would cost, in the terminal: a table by model, and their sums."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from persona_panel.results.console import TableRow, show_table
from persona_panel.runs.judging.cost_estimate import CostEstimate


def show_cost_estimates(estimates: Sequence[CostEstimate], console: Console) -> None:
    """The table, then the sums and what they leave out."""
    show_table(
        console,
        "Estimated calls and cost",
        ["model"],
        ["judgments", "calls", "tokens\nin", "tokens\nout", "US\ndollars"],
        [
            TableRow(
                one.model,
                [
                    Text(f"{one.judgments:,}"),
                    Text(_between(one.calls_at_least, one.calls_at_most)),
                    Text(f"{one.input_tokens:,}"),
                    Text(f"{one.output_tokens:,}"),
                    Text("unknown" if one.usd is None else f"{one.usd:,.4f}"),
                ],
            )
            for one in estimates
        ],
    )
    tokenizers: dict[str, list[str]] = {}
    for one in estimates:
        tokenizers.setdefault(one.tokenizer, []).append(one.model)
    counted = [
        f"{name} ({', '.join(models)})" if len(tokenizers) > 1 else name
        for name, models in tokenizers.items()
    ]
    cached = sum(one.of - one.judgments for one in estimates)
    console.print(
        Text(
            f"No model was called. {cached:,} results are in the cache already. Tokens are "
            f"counted by {'; '.join(counted)}."
        )
    )
    if room := sum(one.reasoning_tokens for one in estimates):
        console.print(
            Text(
                f"{room:,} of the tokens out are the room that models which reason have for "
                "thinking: the most that they may use of it."
            )
        )
    known = [one.usd for one in estimates if one.usd is not None]
    unknown = [one.model for one in estimates if one.usd is None]
    least = sum(one.calls_at_least for one in estimates)
    most = sum(one.calls_at_most for one in estimates)
    told = f"Total: {_between(least, most)} calls"
    if least != most:
        n = sum(one.calls for one in estimates)
        told += f", depending on the answers; tokens and dollars are for {n:,}"
    if known:
        told += f", ${math.fsum(known):,.4f}"
        if dates := {one.prices_as_of for one in estimates if one.prices_as_of is not None}:
            told += f" by prices as of {max(dates)}"
    if unknown:
        told += ", plus the models whose price is unknown" if known else ", cost unknown"
    console.print(
        Text(f"{told}. Retries, and repeated calls after an unparsed answer, are not included.")
    )
    if unknown:
        console.print(
            Text(
                f"The price of {', '.join(unknown)} is unknown; set it in a panel file: "
                "price: {input: 1.50, output: 6.00}, in US dollars per million tokens."
            )
        )


def _between(least: int, most: int) -> str:
    return f"{least:,}" if least == most else f"{least:,} to {most:,}"
