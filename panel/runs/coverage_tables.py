"""How much of a run is there and what it took, as tables of any result of it, for programs and
requirements."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import fsum, nan
from typing import get_args

from persona_panel.calls.budget import Spending
from persona_panel.models.config import cost
from persona_panel.results.table import Column, Key, Table
from persona_panel.rubrics import Status, Usage
from persona_panel.runs.judgment_lines import usage_document
from persona_panel.runs.run import Run
from persona_panel.statistics.core.estimate import Estimate

_COUNTS = (
    "scored", "abstained", "missing", "partial", "revisions_failed", "reasons_missing",
    "unreliable", "calls", "cached", "input_tokens", "cached_tokens", "output_tokens",
    "reasoning_tokens",
)  # fmt: skip
_MISSING = [status for status in get_args(Status) if status not in ("scored", "abstained")]


def coverage_tables(run: Run, expected: int | None = None) -> list[Table]:
    """Return how many judgments there are, why others are missing, and what they took. `expected`:
    how many there should be; those of the run's responses by default."""
    coverage, calls = run.coverage, run.calls
    expected = coverage.expected if expected is None else expected
    there = coverage.scored + coverage.abstained
    used, usd = sum(calls.spent.values(), Usage()), _usd(run, calls.spent)
    row = {
        "coverage": Estimate(
            there / expected if expected else nan, exact=True,
            detail=f"{there:,} of {expected:,} judgments", reason="there is nothing to judge",
        ),
        "scored": coverage.scored,
        "abstained": coverage.abstained,
        "missing": expected - there,
        "partial": coverage.partial,
        "revisions_failed": sum(coverage.revisions_failed.values()),
        "reasons_missing": coverage.reasons_missing,
        "unreliable": sum(verdict.n_unreliable for verdict in run.verdicts),
        "calls": calls.made,
        "cached": calls.cached,
        **{f"{kind}_tokens": getattr(used, kind)
           for kind in ("input", "cached", "output", "reasoning")},
        "usd": Estimate(
            nan if usd is None else usd, exact=True, unit="US dollars",
            reason="the price of a model is not known",
        ),
    }  # fmt: skip
    columns = (
        Column("coverage", "estimate", figure="coverage"),
        *(Column(name, "whole", figure=name) for name in _COUNTS),
        Column("usd", "estimate", figure="usd"),
    )
    missing = [{"status": name, "n": coverage.missing.get(name, 0)} for name in _MISSING]
    off_scale = [
        {
            "model": model,
            "share": Estimate(
                run.off_scale.get(model, nan), exact=True,
                reason="no answer of this model gave probabilities",
            ),
        }
        for model in dict.fromkeys(judge.model for judge in run.judges)
    ]  # fmt: skip
    return [
        Table("judgments", (), columns, [row]),
        Table("missing", (Key("status"),), (Column("n", "whole", figure="missing"),), missing),
        Table(
            "off_scale", (Key("model"),), (Column("share", "estimate", figure="off_scale"),),
            off_scale,
        ),
    ]  # fmt: skip


def call_tables(run: Run) -> Iterator[Table]:
    """Yield for programs why judgments are missing or odd, and what calls came to."""
    calls = run.calls
    reasons = [dict(zip(("status", "error", "n"), each, strict=True)) for each in run.reasons]
    yield Table("reasons", (Key("status"), Key("error")), (Column("n", "whole"),), reasons)
    columns: tuple[Column, ...] = (
        Column("calls", "whole"), Column("unsent", "whole"), Column("tokens", "whole"),
        Column("usd", "number"),
    )  # fmt: skip
    estimated = Spending(calls.estimated.calls, calls.estimated.usage)
    made = Spending(calls.made, calls.spent)
    each_kind = {"made": made, "estimated": estimated, "earlier_runs": calls.before}
    rows = [
        {"of": kind, "calls": spent.calls, "unsent": calls.unsent if spent is made else None,
         "tokens": spent.tokens, "usd": _usd(run, spent.usage)}
        for kind, spent in each_kind.items()
    ]  # fmt: skip
    yield Table("calls", (Key("of"),), columns, rows)
    names = tuple(usage_document(Usage()))
    columns = (*(Column(f"{name}_tokens", "whole") for name in names), Column("usd", "number"))
    of_judgments = {"judgments": run.usage}
    rows = [
        {"of": kind, "model": model, "usd": cost(run.prices.get(model), usage)}
        | {f"{name}_tokens": n for name, n in usage_document(usage).items()}
        for kind, by_model in (
            of_judgments | {kind: spent.usage for kind, spent in each_kind.items()}
        ).items()
        for model, usage in sorted(by_model.items())
    ]
    yield Table("usage", (Key("of"), Key("model")), columns, rows)
    faults = [{"fault": name, "n": n} for name, n in sorted(calls.faults.items())]
    yield Table("faults", (Key("fault"),), (Column("n", "whole"),), faults)
    odd = [{"model": model, "usage": said} for model, said in sorted(calls.odd.items())]
    yield Table("odd_usage", (Key("model"),), (Column("usage", "text"),), odd)


def _usd(run: Run, used: Mapping[str, Usage]) -> float | None:
    """The cost of this usage by model; None where a price is not known."""
    costs = [cost(run.prices.get(model), usage) for model, usage in used.items()]
    known = [usd for usd in costs if usd is not None]
    return fsum(known) if len(known) == len(costs) else None
