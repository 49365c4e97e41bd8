"""What a run would take, as a result: each model's part, and their sums."""

from __future__ import annotations

import math
from collections.abc import Sequence

from persona_panel.results.result import Result
from persona_panel.results.table import Column, Key, Table, row_of
from persona_panel.runs.judging.cost_estimate import CostEstimate


def cost_result(estimates: Sequence[CostEstimate]) -> Result:
    """Return the result of the estimates of all models that a command would call."""
    varies = any(estimate.calls_at_least != estimate.calls_at_most for estimate in estimates)
    columns = (
        Column("judgments", "whole", "judgments"),
        Column("of", "whole"),
        Column("calls", "whole", "calls"),
        Column("calls_at_least", "whole", "at least" if varies else ""),
        Column("calls_at_most", "whole", "at most" if varies else ""),
        Column("input_tokens", "whole", "tokens\nin"),
        Column("output_tokens", "whole", "tokens\nout"),
        Column("reasoning_tokens", "whole"),
        Column("usd", "number", "US\ndollars", digits=4),
        Column("prices_as_of", "text"),
        Column("tokenizer", "text"),
    )
    models = Table(
        "models",
        (Key("model", "model"),),
        columns,
        [row_of(estimate, columns, model=estimate.model) for estimate in estimates],
        "Estimated calls and cost",
    )
    unknown = ", ".join(estimate.model for estimate in estimates if estimate.usd is None)
    return Result(
        "cost",
        [_total(estimates)],
        [models],
        _remarks(estimates),
        next_step=f"The price of {unknown} is unknown; set it in a panel file: price: {{input: "
        "1.50, output: 6.00}, in US dollars per million tokens."
        if unknown
        else "",
    )


def _total(estimates: Sequence[CostEstimate]) -> str:
    least = sum(estimate.calls_at_least for estimate in estimates)
    most = sum(estimate.calls_at_most for estimate in estimates)
    said = f"Total: {least:,} calls"
    if least != most:
        n = sum(estimate.calls for estimate in estimates)
        said = (
            f"Total: {least:,} to {most:,} calls, depending on the answers; tokens and dollars are "
            f"for {n:,}"
        )
    known = [estimate.usd for estimate in estimates if estimate.usd is not None]
    if known:
        said += f", ${math.fsum(known):,.4f}"
        if dates := {
            estimate.prices_as_of for estimate in estimates if estimate.prices_as_of is not None
        }:
            said += f" by prices as of {max(dates)}"
    if len(known) < len(estimates):
        said += ", plus the models whose price is unknown" if known else ", cost unknown"
    return f"{said}. Retries, and repeated calls after an unparsed answer, are not included."


def _remarks(estimates: Sequence[CostEstimate]) -> list[str]:
    tokenizers: dict[str, list[str]] = {}
    for item in estimates:
        tokenizers.setdefault(item.tokenizer, []).append(item.model)
    counted = "; ".join(
        f"{name} ({', '.join(models)})" if len(tokenizers) > 1 else name
        for name, models in tokenizers.items()
    )
    cached = sum(estimate.of - estimate.judgments for estimate in estimates)
    said = [
        f"No model was called. {cached:,} results are in the cache already. Tokens are counted by "
        f"{counted}."
    ]
    if room := sum(estimate.reasoning_tokens for estimate in estimates):
        said.append(
            f"{room:,} of the tokens out are the room that models which reason have for thinking: "
            "the most that they may use of it."
        )
    return said
