"""Amounts of money as the terminal shows them."""

from __future__ import annotations

from collections.abc import Iterable


def spent(usd: Iterable[float | None], in_all: float | None = None) -> str | None:
    """Return the cost of calls in words; None where nothing cost more than 0.

    Args:
        usd: what each model's calls cost, None where their price is not known.
        in_all: what they may come to, where that is to be said.
    """
    costs = list(usd)
    known = [cost for cost in costs if cost is not None]
    if not any(known):
        return "price unknown" if len(known) < len(costs) else None
    more = " + unknown" if len(known) < len(costs) else ""
    coming = "" if in_all is None else f" of about {dollars(in_all)}"
    return f"{dollars(sum(known))}{coming}{more}"


def dollars(usd: float) -> str:
    """An amount: to the cent from a dollar on, below in hundredths of a cent."""
    return f"${usd:,.2f}" if usd >= 1 else f"${usd:.4f}"
