"""The section that says how a run was made, what it cost, and which judgments are missing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from persona_panel.calls.budget import CallCounts, Spending
from persona_panel.files.pages import seconds
from persona_panel.models.config import cost
from persona_panel.results.conclusions.wording import SAMPLES, counted, judged, spent
from persona_panel.results.result import Result
from persona_panel.results.table import Column, Key, Table
from persona_panel.rubrics import Status
from persona_panel.runs.run import Run
from persona_panel.statistics.core.table import Coverage

_REASONS = 12


def cost_of(run: Run) -> str | None:
    """Return what the calls of every start of the run cost, in words; None where nothing did."""
    used = _in_all(run.calls).usage.items()
    return spent(cost(run.prices.get(model), usage) for model, usage in used)


def missing_tables(run: Run) -> Iterator[Table]:
    """Yield the commonest reasons of missing and odd judgments, and how many are missing of each
    model; nothing where there are no reasons."""
    reasons = sorted(run.reasons, key=lambda entry: -entry[2])
    if not reasons:
        return
    names = ("status", "reason", "n")
    rows = [dict(zip(names, entry, strict=True)) for entry in reasons[:_REASONS]]
    more = len(reasons) - len(rows)
    keys, n = (Key("reason", "reason"), Key("status", "status")), Column("n", "whole", "judgments")
    cut = [f"{counted(more, 'more reason')} in summary.json."] if more else []
    yield Table("reasons", keys, (n,), rows, "Missing and odd judgments by reason", remarks=cut)
    lost = [{"model": model, "n": n, "of": of} for model, n, of in missing_by_model(run)]
    column = Column("n", "whole", "missing", of="of"), Column("of", "whole")
    yield Table("models", (Key("model", "model"),), column, lost, "Missing judgments by model")


def missing_by_model(run: Run) -> list[tuple[str, int, int]]:
    """Return each model's missing judgments and all of its judgments, the greatest share first."""
    there: frozenset[Status] = frozenset(("scored", "abstained"))
    lost: Counter[str] = Counter()
    for row in run.statuses:
        lost.update(
            judge.model
            for judge, status in zip(run.judges, row, strict=True)
            if status not in there
        )
    asked = Counter(judge.model for judge in run.judges)
    measured = [(model, n, asked[model] * len(run.items)) for model, n in lost.items()]
    return sorted(measured, key=lambda entry: -entry[1] / entry[2])


def _in_all(calls: CallCounts) -> Spending:
    """Return what the calls of every start of the run came to: a finished run that is
    started again makes none, and has cost what it cost."""
    return calls.before + Spending(calls.made, calls.spent)


def method_result(
    run: Run, manifest: Mapping[str, Any] | None, coverage: Coverage, left_out: Sequence[str]
) -> Result:
    """Return how a run was made.

    Args:
        manifest: what run.json holds; None where there is no folder.
        coverage: of all that was planned.
        left_out: what of the run is not on its page.
    """
    rows = [{"what": what, "how": how} for what, how in _facts(run, manifest, coverage)]
    column = Column("how", "text", "value")
    where = "" if run.folder is None else ", in the run's folder"
    sentence = (
        f"Seed {run.seed}. The figures are in summary.json and verdicts.csv, every judgment in "
        "judgments.jsonl; run.json has parameters, versions and the digests of the inputs"
        f"{where}. This page loads nothing and sends nothing."
    )
    made = Table("made", (Key("what", "what"),), (column,), rows, "How the run was made")
    return Result("method", [sentence], [made], left_out)


def _facts(
    run: Run, manifest: Mapping[str, Any] | None, coverage: Coverage
) -> Iterator[tuple[str, str]]:
    """Return how the run was made, as names and values."""
    yield "rubric", f"{run.rubric.label} ({run.rubric.id}): {run.rubric.question}"
    for name in ("persona", "model", "elicitation"):
        yield f"{name}s", ", ".join(dict.fromkeys(getattr(each, name) for each in run.judges))
    yield "intervals of differences", SAMPLES[run.random]
    yield "judgments", judged(coverage)
    yield "calls", _calls(run)
    if run.folder is not None:
        yield "folder", run.folder.name
    for start in ((manifest or {}).get("starts") or [])[-1:]:
        yield "last start (UTC)", f"{start.get('at', '')}: {start.get('command', '')}"


def _calls(run: Run) -> str:
    """Return the number of calls of all starts, and their cost."""
    calls, in_all = run.calls, _in_all(run.calls)
    again = ""
    if calls.before.calls:
        last = in_all.calls - calls.before.calls
        again = f" in all starts of the run, in the last one {last:,}"
    return (
        f"{counted(in_all.calls, 'call')}{again}; {calls.cached:,} from the cache; "
        f"{cost_of(run) or 'no cost'}; {seconds(run.elapsed_s)}"
    )
