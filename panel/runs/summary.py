"""A run in short: its calls and leaderboard as summary.json has them, its data frames, its facts
for a Python prompt, and what may be concluded from it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from persona_panel.calls.budget import CallCounts, Spending
from persona_panel.files.secrets import SECRETS
from persona_panel.graphs import Verdict
from persona_panel.graphs.records import controls_among
from persona_panel.models.config import Price, cost
from persona_panel.results.conclusions.score import Judged
from persona_panel.rubrics import Usage
from persona_panel.runs.collected import CollectedRatings
from persona_panel.runs.judgment_lines import usage_document
from persona_panel.runs.scale_limits import unit_of
from persona_panel.statistics.core.display import (
    ColumnKind,
    Facts,
    FrameColumn,
    counted,
    ends,
    field_columns,
)
from persona_panel.statistics.core.ranking import Leaderboard

Prices = Mapping[str, Price | None]


def calls_document(counts: CallCounts, prices: Prices) -> dict[str, Any]:
    """Return the figures of the calls, and what earlier runs into the same folder spent."""
    estimated = Spending(counts.estimated.calls, counts.estimated.usage)
    return {
        "made": counts.made,
        "unsent": counts.unsent,
        "cached": counts.cached,
        "taken_back": counts.taken_back,
        "usd": _cost(counts.spent, prices),
        "usage": _usages(counts.spent),
        "estimated": _spending(estimated, prices),
        "earlier_runs": _spending(counts.before, prices),
        "odd_usage": dict(sorted(counts.odd.items())),
        "faults": dict(sorted(counts.faults.items())),
    }


def json_usd(usd: float | None) -> float | None:
    """Return null for JSON where a price is not known, which is not to say that it is nothing."""
    return None if usd is None else round(usd, 6)


def _spending(spent: Spending, prices: Prices) -> dict[str, Any]:
    return {
        "calls": spent.calls,
        "tokens": spent.tokens,
        "usd": _cost(spent.usage, prices),
        "usage": _usages(spent.usage),
    }


def _cost(used: Mapping[str, Usage], prices: Prices) -> float | None:
    """Return the cost of this usage by model; None where a price is not known."""
    costs = [cost(prices.get(model), usage) for model, usage in used.items()]
    known = [usd for usd in costs if usd is not None]
    return json_usd(math.fsum(known)) if len(known) == len(costs) else None


def _usages(used: Mapping[str, Usage]) -> dict[str, dict[str, int]]:
    return {model: usage_document(usage) for model, usage in sorted(used.items())}


class RankedRun(Protocol):
    """The source of the tables of verdicts and of systems; a `Run` is one."""

    dimensions: tuple[str, ...]
    categories: Mapping[str, Sequence[str]]
    reliability: Any

    @property
    def verdicts(self) -> list[Verdict]: ...

    def prompt_rankings(self) -> dict[str, list[tuple[int | None, Verdict]]]: ...

    def leaderboard(self) -> Leaderboard: ...


def judgment_columns(run: CollectedRatings) -> list[FrameColumn]:
    """Return the columns of a data frame with one row a judgment and dimension, missing ones with
    them.

    Rows, not a column for each dimension: so the columns are the same for every rubric, whatever
    its dimensions are called, and numbers and categories do not share one.

    Columns: `prompt_id`, `id`, `system`, `judge`, `persona`, `model`, `elicitation`, `replicate`,
    `status` (why a rating is there or not), `dimension`, `score`, and `label`, which stands in
    place of the score on dimensions that are rated by categories. Of judges that deliberated,
    ratings are those of the last round.
    """
    n, j, d = run.ratings.shape
    columns = [
        _repeated(name, "text", [getattr(item, name) for item in run.items], j * d, 1)
        for name in ("prompt_id", "id", "system")
    ]
    judges = run.judges
    columns += [
        _repeated("judge", "text", [judge.id for judge in judges], d, n),
        _repeated("persona", "text", [judge.persona for judge in judges], d, n),
        _repeated("model", "text", [judge.model for judge in judges], d, n),
        _repeated("elicitation", "text", [judge.elicitation for judge in judges], d, n),
        _repeated("replicate", "whole", [judge.replicate for judge in judges], d, n),
        _repeated("status", "text", [entry for row in run.statuses for entry in row], d, 1),
        _repeated("dimension", "text", run.dimensions, 1, n * j),
    ]
    scores = run.ratings.copy()
    labels = np.full((n, j, d), None, dtype=object)
    for place, name in enumerate(run.dimensions):
        if (categories := run.categories.get(name)) is not None:
            codes = run.ratings[:, :, place]
            there = ~np.isnan(codes)
            named = np.array(categories, dtype=object)[codes[there].astype(np.intp)]
            labels[:, :, place][there] = named
            scores[:, :, place] = np.nan
    return [
        *columns,
        FrameColumn("score", "number", scores.ravel().tolist()),
        FrameColumn("label", "text", labels.ravel().tolist()),
    ]


def verdict_columns(run: RankedRun) -> list[FrameColumn]:
    """Return the columns of a data frame with one row a verdict, in the order of the input.

    Columns are those of verdicts.csv: `prompt_id`, `id`, `system`, `composite`, `rank` (within the
    prompt), `n_judges`; for each dimension `NAME_mean`, `NAME_sd` and `NAME_n`, or `NAME_majority`,
    the share of each category, `NAME:CATEGORY`, and `NAME_n`; then `abstain_share` and, where the
    rubric leaves judges out of the composite, `n_unreliable`. Of words and metadata, which are
    the responses', a run knows nothing.
    """
    verdicts = run.verdicts
    ranks = {
        (verdict.prompt_id, verdict.id): rank
        for ranking in run.prompt_rankings().values()
        for rank, verdict in ranking
    }
    columns = [
        *field_columns(verdicts, "text", "prompt_id", "id", "system"),
        *field_columns(verdicts, "number", "composite"),
        FrameColumn("rank", "whole", [ranks[item.prompt_id, item.id] for item in verdicts]),
        *field_columns(verdicts, "whole", "n_judges"),
    ]
    for name in run.dimensions:
        if (categories := run.categories.get(name)) is not None:
            labels = [verdict.labels[name] for verdict in verdicts]
            columns.append(
                FrameColumn(f"{name}_majority", "text", [label.majority for label in labels])
            )
            shares = [label.shares for label in labels]
            columns += [
                FrameColumn(f"{name}:{each}", "number", [share[each] for share in shares])
                for each in categories
            ]
            columns.append(FrameColumn(f"{name}_n", "whole", [label.n for label in labels]))
        else:
            means = [verdict.dimensions[name] for verdict in verdicts]
            columns += [
                FrameColumn(f"{name}_mean", "number", [mean.mean for mean in means]),
                FrameColumn(f"{name}_sd", "number", [mean.sd for mean in means]),
                FrameColumn(f"{name}_n", "whole", [mean.n for mean in means]),
            ]
    columns += field_columns(verdicts, "number", "abstain_share")
    return columns + (field_columns(verdicts, "whole", "n_unreliable") if run.reliability else [])


def ranking_columns(run: RankedRun) -> list[FrameColumn]:
    """Return the columns of a data frame with one row a system, best first: the leaderboard.

    Columns are the fields of `SystemRank`, and for each dimension `NAME_mean`, `NAME_ci_low` and
    `NAME_ci_high`; the share of a category is called `NAME:CATEGORY`.
    """
    systems = run.leaderboard().systems
    columns = [
        *field_columns(systems, "text", "system"),
        *field_columns(systems, "whole", "rank", "rank_low", "rank_high"),
        *field_columns(systems, "number", "composite", "ci_low", "ci_high"),
        *field_columns(systems, "text", "ci_reason"),
        *field_columns(systems, "number", "judges_ci_low", "judges_ci_high"),
        *field_columns(systems, "text", "judges_ci_reason"),
        *field_columns(systems, "whole", "n_prompts", "n_abstained", "n_judged"),
    ]
    for name in systems[0].dimensions if systems else ():
        intervals = [system.dimension_intervals[name] for system in systems]
        means = [system.dimensions[name] for system in systems]
        columns += [
            FrameColumn(f"{name}_mean", "number", means),
            FrameColumn(f"{name}_ci_low", "number", [low for low, _ in intervals]),
            FrameColumn(f"{name}_ci_high", "number", [high for _, high in intervals]),
        ]
    return columns


def difference_columns(run: RankedRun) -> list[FrameColumn]:
    """Return the columns of a data frame with one row for every two systems, the better one first.

    Columns: `a`, `b`, `difference` (a − b), `ci_low`, `ci_high`, `p`, `p_adjusted`, `effect_size`,
    `n_prompts`, `reason`.
    """
    pairs = run.leaderboard().differences
    called = {"value": "difference", "low": "ci_low", "high": "ci_high", "n": "n_prompts"}
    columns = [
        *field_columns(pairs, "text", "a", "b"),
        *field_columns(pairs, "number", "value", "low", "high", "p", "p_adjusted", "effect_size"),
        *field_columns(pairs, "whole", "n"),
        *field_columns(pairs, "text", "reason"),
    ]
    return [column._replace(name=called.get(column.name, column.name)) for column in columns]


def _repeated(
    name: str, kind: ColumnKind, values: Sequence[Any], each: int, times: int
) -> FrameColumn:
    """Repeat every value `each` times in a row, and all of that `times` times."""
    source = np.empty(len(values), dtype=object)
    source[:] = values
    return FrameColumn(name, kind, np.tile(np.repeat(source, each), times).tolist())


def run_facts(
    run: CollectedRatings, folder: Path | None, board: Leaderboard | None = None
) -> Facts:
    """Return sizes, coverage and the folder; with the leaderboard, where it is given."""
    coverage = run.coverage
    facts = [
        counted(len(run.items), "response"),
        counted(len(run.judges), "judge"),
        counted(len(run.dimensions), "dimension"),
        f"{coverage.scored:,} of {counted(coverage.expected, 'judgment')} scored",
    ]
    facts += [f"{coverage.abstained:,} abstained"] if coverage.abstained else []
    facts += [f"{n:,} {status}" for status, n in coverage.missing.items()]
    facts += [] if folder is None else [f"in {SECRETS.scrub(str(folder))}"]
    return Facts(
        "Run",
        facts,
        ("rank", "system", "composite", "95 % interval, over prompts", "prompts"),
        []
        if board is None
        else [
            (
                entry.rank,
                SECRETS.scrub(entry.system),
                entry.composite,
                ends(entry.ci_low, entry.ci_high),
                entry.n_prompts,
            )
            for entry in board.systems
        ],
    )


def judged_in(run: CollectedRatings) -> Judged:
    """Return what conclusions have to know of a run's judges, and of its gaps."""
    coverage = run.coverage
    controls = controls_among(run.judges)
    judges = [judge for judge in run.judges if judge not in controls]
    reasons = {status: run.commonest_reason(status) for status in coverage.missing}
    return Judged(
        n_judges=len(judges),
        n_personas=len({judge.persona for judge in judges}),
        n_models=len({judge.model for judge in judges}),
        expected=coverage.expected,
        scored=coverage.scored,
        abstained=coverage.abstained,
        missing=coverage.missing,
        reasons={status: why for status, why in reasons.items() if why is not None},
        unit=unit_of(run.rubric).after_number,
    )
