"""Section 1: what is established, what is missing, what it cost, how it was made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from persona_panel.analyses.score import oddities
from persona_panel.calls.budget import CallCounts, Spending
from persona_panel.models.config import cost
from persona_panel.results.conclusions.money import spent
from persona_panel.results.conclusions.wording import SAMPLES, counted
from persona_panel.results.formats.html import section
from persona_panel.results.result import Result
from persona_panel.results.table import Column, Key, Table
from persona_panel.rubrics import Status
from persona_panel.runs.run import Run
from persona_panel.statistics.core.table import Coverage

_SENTENCES = 2
_REASONS = 12


@dataclass(frozen=True, slots=True)
class Established:
    """What section 1 shows.

    Attributes:
        first, others: sentences of the conclusion, the first two, with what people
            show of them, and those after them.
        n_missing: by status; `why` says why, None where no reason is known.
        by_model: how many of a model's judgments are missing, of how many.
        usd: what the calls cost, in words; None where nothing did.
    """

    first: Sequence[str]
    others: Sequence[str]
    expected: int
    scored: int
    abstained: int
    n_missing: Mapping[str, int]
    why: Markup | None
    by_model: Sequence[tuple[str, int, int]]
    usd: str | None
    calls_made: int
    calls_before: int
    calls_cached: int
    elapsed_s: float
    notes: Sequence[str]

    @property
    def missing(self) -> int:
        """How many judgments there should be, and are not."""
        return sum(self.n_missing.values())

    @property
    def one_model_has_most(self) -> bool:
        """Whether of one model a greater share of the judgments is missing than of any other."""
        first, *others = sorted((n / of for _, n, of in self.by_model), reverse=True)
        return not others or first > others[0]

    @property
    def shares(self) -> tuple[float, float, float]:
        """Per cent of the judgments that are scored, abstentions, and missing."""
        of = max(1, self.expected)
        return (
            100 * self.scored / of,
            100 * self.abstained / of,
            100 * self.missing / of,
        )


def established(
    run: Run,
    conclusion: Sequence[str],
    on_leads: Sequence[str] = (),
    coverage: Coverage | None = None,
) -> Established:
    """What a run comes to.

    Args:
        coverage: of all that was planned, where the run does not know of it, as of a sweep.
        on_leads: which of the leads that the conclusion has people do not show.
    """
    coverage, calls = coverage or run.coverage, run.calls
    in_all = _in_all(calls)
    by_model = _by_model(run)
    usd = spent(cost(run.prices.get(model), used) for model, used in in_all.usage.items())
    return Established(
        first=[*conclusion[:_SENTENCES], *on_leads],
        others=conclusion[_SENTENCES:],
        expected=coverage.expected,
        scored=coverage.scored,
        abstained=coverage.abstained,
        n_missing=coverage.missing,
        why=_missing(run, by_model),
        by_model=by_model,
        usd=None if usd is None else usd[0].upper() + usd[1:],
        calls_made=in_all.calls,
        calls_before=calls.before.calls,
        calls_cached=calls.cached,
        elapsed_s=run.elapsed_s,
        notes=list(oddities(run)),
    )


def _in_all(calls: CallCounts) -> Spending:
    """What the calls of every start of the run came to: a finished run that is started again makes
    none, and has cost what it cost."""
    usage = dict(calls.before.usage)
    for model, used in calls.spent.items():
        usage[model] = usage[model] + used if model in usage else used
    return Spending(calls.before.calls + calls.made, usage)


def _by_model(run: Run) -> list[tuple[str, int, int]]:
    """How many judgments of each model are missing, of how many, the greatest share first."""
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


def _missing(run: Run, by_model: Sequence[tuple[str, int, int]]) -> Markup | None:
    """The commonest reasons of missing and odd judgments, and how many are missing of each model;
    None where there are no reasons."""
    reasons = sorted(run.reasons, key=lambda entry: -entry[2])
    if not reasons:
        return None
    names = ("status", "reason", "n")
    rows = [dict(zip(names, entry, strict=True)) for entry in reasons[:_REASONS]]
    more = max(0, len(reasons) - _REASONS)
    keys, n = (Key("reason", "reason"), Key("status", "status")), Column("n", "whole", "judgments")
    cut = [f"{counted(more, 'more reason')} in summary.json."] if more else []
    lost = [{"model": model, "n": n, "of": of} for model, n, of in by_model]
    columns = Column("n", "whole", "missing"), Column("of", "whole", "asked for")
    tables = [
        Table("reasons", keys, (n,), rows, "Judgments by reason", remarks=cut),
        Table("models", (Key("model", "model"),), columns, lost, "Missing judgments by model"),
    ]
    return section(Result("missing", (), tables), "Missing and odd judgments", level=3)


def made_from(run: Run, manifest: Mapping[str, Any] | None) -> list[tuple[str, Sequence[str]]]:
    """How the run was made, as names and values.

    Args:
        manifest: what run.json holds; None where there is no folder.
    """
    elicitations = list(dict.fromkeys(judge.elicitation for judge in run.judges))
    personas = list(dict.fromkeys(judge.persona for judge in run.judges))
    facts: list[tuple[str, Sequence[str]]] = [
        ("Rubric", [f"{run.rubric.label} ({run.rubric.id})", run.rubric.question]),
        ("Personas", [", ".join(personas)]),
        ("Elicitation", [", ".join(elicitations)]),
        ("Intervals of differences", [SAMPLES[run.random]]),
        ("Seed", [str(run.seed)]),
    ]
    if manifest is None:
        models = list(dict.fromkeys(judge.model for judge in run.judges))
        return [*facts, ("Models", models)]
    facts.append(("Models", [_model(entry) for entry in manifest["models"]]))
    if (deliberation := manifest.get("deliberation")) is not None:
        facts.append(("Deliberation", [_pairs(deliberation)]))
    starts = manifest.get("starts") or []
    for start in starts[-1:]:
        versions = start.get("versions") or {}
        facts += [
            ("Command", [str(start.get("command", ""))]),
            ("Started (UTC)", [str(entry.get("at", "")) for entry in starts]),
            ("Versions", [_pairs({"python": start.get("python")} | versions)]),
            ("Input files", [_input(entry) for entry in start.get("inputs") or ()]),
        ]
    texts = manifest.get("texts") or {}
    facts.append(("Texts", [f"{texts.get('file')}, SHA-256 {texts.get('sha256')}"]))
    return [(name, values) for name, values in facts if any(values)]


def _input(given: Mapping[str, Any]) -> str:
    if files := given.get("files"):
        return f"{given['name']}, {counted(len(files), 'file')} (SHA-256 of each in run.json)"
    digest = given.get("sha256")
    return f"{given['name']}, SHA-256 {digest}" if digest else str(given["name"])


def _model(model: Mapping[str, Any]) -> str:
    parameters = {
        name: value
        for name, value in (model.get("parameters") or {}).items()
        if value is not None and name not in ("model", "base_url")
    }
    said = _pairs(parameters)
    return f"{model['id']} ({said})" if said else str(model["id"])


def _pairs(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in values.items() if value is not None)
