"""What a run's calls came to, as summary.json has it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from persona_panel.calls.budget import CallCounts, Spending
from persona_panel.models.config import Price, cost
from persona_panel.rubrics import Usage
from persona_panel.runs.judgment_lines import usage_document

Prices = Mapping[str, Price | None]


def calls_document(counts: CallCounts, prices: Prices) -> dict[str, Any]:
    """What the calls came to, and what earlier runs into the same folder spent."""
    estimated = Spending(counts.estimated.calls, counts.estimated.usage)
    return {
        "made": counts.made,
        "unsent": counts.unsent,
        "cached": counts.cached,
        "usd": _cost(counts.spent, prices),
        "usage": _usages(counts.spent),
        "estimated": _spending(estimated, prices),
        "earlier_runs": _spending(counts.before, prices),
        "odd_usage": dict(sorted(counts.odd.items())),
        "faults": dict(sorted(counts.faults.items())),
    }


def json_usd(usd: float | None) -> float | None:
    """Null in JSON where a price is not known, which is not to say that it is nothing."""
    return None if usd is None else round(usd, 6)


def _spending(spent: Spending, prices: Prices) -> dict[str, Any]:
    return {
        "calls": spent.calls,
        "tokens": spent.tokens,
        "usd": _cost(spent.usage, prices),
        "usage": _usages(spent.usage),
    }


def _cost(used: Mapping[str, Usage], prices: Prices) -> float | None:
    """What this usage by model costs; None where a price is not known."""
    costs = [cost(prices.get(model), usage) for model, usage in used.items()]
    known = [usd for usd in costs if usd is not None]
    return json_usd(math.fsum(known)) if len(known) == len(costs) else None


def _usages(used: Mapping[str, Usage]) -> dict[str, dict[str, int]]:
    return {model: usage_document(usage) for model, usage in sorted(used.items())}
