"""Sentences on a run that stand below any result of it: what it cost, and where it is.

How much of a run is there and what it took, as tables of any result of it, for programs and
requirements.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import nan
from typing import Any, get_args

import numpy as np

from persona_panel.calls.budget import CAP, Spending
from persona_panel.files.named_files import is_copy, shown_folder
from persona_panel.models.client import answered_by_another, is_another_model
from persona_panel.models.config import batched_name, cost, total_cost
from persona_panel.models.embedded_weights import NOTICE
from persona_panel.planning.definitions import VERBATIM
from persona_panel.results.conclusions.rows import short_ids
from persona_panel.results.conclusions.wording import spent as spent_in_words
from persona_panel.results.table import Column, Key, Table
from persona_panel.rubrics import Status, Usage
from persona_panel.runs.judgment_lines import usage_document
from persona_panel.runs.run import Run
from persona_panel.statistics.core.estimate import Estimate
from persona_panel.statistics.core.table import Coverage


def run_remarks(run: Run, *, below_answers: bool = False) -> list[str]:
    """Return which other models may have answered, what the run's calls cost, and its folder.
    `below_answers`: the first is left out, as the answer whether the panel can be trusted has it
    (`other_models`)."""
    remarks = [sentence for sentence, _ in spending_sentences(run)]
    if not below_answers:
        by_model = sorted(run.calls.answered_by.items())
        remarks = [*filter(None, (answered_by_another(*each) for each in by_model)), *remarks]
    # A copy is not at its address yet: who sends it says so.
    if run.folder is not None and not is_copy(run.folder):
        remarks.append(f"The run is in {shown_folder(run.folder)}")
    return remarks


def other_models(run: Run) -> list[str]:
    """Return in one sentence that another model may have answered than was asked for, by the names
    that servers gave; nothing where none may have."""
    others = [
        f"{model} (its server named {name})"
        for model, names in sorted(run.calls.answered_by.items())
        for name, asked in names.items()
        if is_another_model(name, asked)
    ]
    more = f" and {len(others) - 1:,} more" if len(others) > 1 else ""
    return [f"Another model may have answered for {others[0]}{more}."] if others else []


def demonstration_notice(*models: str) -> list[str]:
    """Return what is to be known of scores by the model that comes with the package, where it is
    among these."""
    return [NOTICE] if any(model.startswith("local:smollm2-135m") for model in models) else []


def is_capped(run: Run) -> bool:
    """Return whether judgments are missing as a cap was reached."""
    return any(of == "skipped" and (why or "").startswith(CAP) for of, why, _ in run.reasons)


def unfenced_notice(run: Run) -> list[str]:
    """Return that nothing kept responses apart from the instructions, where judges were asked by a
    prompt of the user's own."""
    if all(judge.elicitation != VERBATIM for judge in run.judges):
        return []
    return [
        "The prompt was sent as it stands: no marks set a response apart from it, so that one may "
        "give judges instructions. audit injection measures whether they follow."
    ]


def counts_sentence(run: Run, coverage: Coverage) -> str:
    """Return how many judgments were scored, by how many calls."""
    calls = run.calls
    made = f"{calls.made:,} calls made"
    # Of batches, requests without an answer are no calls.
    by_batches = any(name.endswith(batched_name("")) for name in calls.spent)
    if 0 < (failed := calls.faults.total() - calls.unsent) <= calls.made and not by_batches:
        made += f", retries included ({failed:,} of them failed)"
    if calls.unsent:
        made += f", {calls.unsent:,} failed before they were sent"
    return (
        f"{coverage.scored:,} of {coverage.expected:,} judgments scored, "
        f"{coverage.abstained:,} judged as abstentions; {made}, {calls.cached:,} answered from the "
        "cache."
    )


def spending_sentences(run: Run) -> Iterator[tuple[str, bool]]:
    """Yield what the calls cost, and what of that is not as usual: for thinking, estimated,
    reported oddly, or done by earlier runs; and whether each is a warning. First, that answers were
    taken back."""
    calls = run.calls
    if calls.taken_back:
        yield (
            f"{calls.taken_back:,} answers were taken back and asked for again, since they may be "
            "other requests': a server sent answers that no request asked for. Check the server, "
            "or the proxy before it.",
            True,
        )
    usd = [cost(run.prices.get(model), used) for model, used in calls.spent.items()]
    if (amount := spent_in_words(usd)) is not None:
        yield f"Cost of the calls: {amount}.", False
    spent = sum(calls.spent.values(), Usage())
    if spent.reasoning:
        part = f"{spent.reasoning:,} of {spent.output:,} output tokens"
        yield f"{part} were used for thinking, as far as models report it.", False
    if estimated := calls.estimated.calls:
        tokens = Spending(usage=calls.estimated.usage).tokens
        yield (
            f"The usage of {estimated:,} calls is unknown (no answer in time, or an answer that "
            f"does not report it): they count as {tokens:,} tokens, the most that they may have "
            "used.",
            True,
        )
    for model, odd in sorted(calls.odd.items()):
        yield f"{model} reported an impossible usage, the first time: {odd}.", True
    if calls.before.calls:
        made = f"{calls.before.calls:,} calls with {calls.before.tokens:,} tokens"
        yield f"Earlier runs in this folder made {made}; they count toward the caps.", False


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
    used, usd = sum(calls.spent.values(), Usage()), total_cost(run.prices, calls.spent)
    row = {
        "coverage": Estimate(
            there / expected if expected else nan, exact=True, limits=(0.0, 1.0),
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
                run.off_scale.get(model, nan), exact=True, limits=(0.0, 1.0),
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


def lacking_tables(run: Run) -> Iterator[Table]:
    """Yield the missing judgments of each judge that lacks any, by status, and the ratings that
    each model refused or left out, by dimension; nothing where none is missing."""
    statuses = np.array(run.statuses).reshape(len(run.items), len(run.judges))
    names = short_ids([judge.id for judge in run.judges])
    rows: list[dict[str, Any]] = []
    for judge, own in zip(run.judges, statuses.T, strict=True):
        counts = {name: int((own == name).sum()) for name in _MISSING}
        if any(counts.values()):
            rows.append({"judge": judge.id, "of": len(own)} | counts)
    if rows:
        there = [name for name in _MISSING if any(row[name] for row in rows)]
        yield Table(
            "missing_by_judge", (Key("judge", "judge", labels=names),),
            (*(Column(name, "whole", name if name in there else "") for name in _MISSING),
             Column("of", "whole", "of")),
            rows, "Missing judgments by judge", when="full",
        )  # fmt: skip
    models = np.array([judge.model for judge in run.judges])
    no_rating = (statuses == "scored")[:, :, None] & np.isnan(run.ratings)
    rows = []
    for model in dict.fromkeys(models.tolist()):
        of = models == model
        refused = int((statuses[:, of] == "refused").sum())
        rows += [
            {"model": model, "dimension": name, "refused": refused, "left_out": n,
             "of": statuses[:, of].size}
            for name, n in zip(run.dimensions, no_rating[:, of].sum(axis=(0, 1)).tolist(),
                               strict=True)
            if refused or n
        ]  # fmt: skip
    if rows:
        labels = {dimension.id: dimension.label for dimension in run.rubric.dimensions}
        yield Table(
            "refused_ratings",
            (Key("model", "model"), Key("dimension", "dimension", labels=labels)),
            (Column("refused", "whole", "judgment\nrefused"),
             Column("left_out", "whole", "rating\nleft out"), Column("of", "whole", "of")),
            rows, "Refused ratings by model and dimension", when="full",
            remarks=["Left out: the judgment is there, without a rating of this dimension."],
        )  # fmt: skip


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
         "tokens": spent.tokens, "usd": total_cost(run.prices, spent.usage)}
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
    odd = [{"model": model, "usage": counts} for model, counts in sorted(calls.odd.items())]
    yield Table("odd_usage", (Key("model"),), (Column("usage", "text"),), odd)
