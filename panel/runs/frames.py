"""A run as data frames: its columns, of which `Run.to_frame` and the methods next to it make
frames of any library. In a module of their own, as a run is filled and read without them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from persona_panel.graphs import Verdict
from persona_panel.runs.collected import CollectedRatings
from persona_panel.statistics.core.display import ColumnKind, FrameColumn, field_columns
from persona_panel.statistics.core.ranking import Leaderboard


class RankedRun(Protocol):
    """What the tables of verdicts and of systems are made from; a `Run` is one."""

    dimensions: tuple[str, ...]
    categories: Mapping[str, Sequence[str]]
    reliability: Any

    @property
    def verdicts(self) -> list[Verdict]: ...

    def prompt_rankings(self) -> dict[str, list[tuple[int | None, Verdict]]]: ...

    def leaderboard(self) -> Leaderboard: ...


def judgment_columns(run: CollectedRatings) -> list[FrameColumn]:
    """A data frame with one row a judgment and dimension, missing ones with them.

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
        _repeated("status", "text", [one for row in run.statuses for one in row], d, 1),
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
    """A data frame with one row a verdict, in the order of the input.

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
        FrameColumn("rank", "whole", [ranks[one.prompt_id, one.id] for one in verdicts]),
        *field_columns(verdicts, "whole", "n_judges"),
    ]
    for name in run.dimensions:
        if (categories := run.categories.get(name)) is not None:
            labels = [verdict.labels[name] for verdict in verdicts]
            columns.append(
                FrameColumn(f"{name}_majority", "text", [one.majority for one in labels])
            )
            shares = [one.shares for one in labels]
            columns += [
                FrameColumn(f"{name}:{each}", "number", [share[each] for share in shares])
                for each in categories
            ]
            columns.append(FrameColumn(f"{name}_n", "whole", [one.n for one in labels]))
        else:
            means = [verdict.dimensions[name] for verdict in verdicts]
            columns += [
                FrameColumn(f"{name}_mean", "number", [one.mean for one in means]),
                FrameColumn(f"{name}_sd", "number", [one.sd for one in means]),
                FrameColumn(f"{name}_n", "whole", [one.n for one in means]),
            ]
    columns += field_columns(verdicts, "number", "abstain_share")
    return columns + (field_columns(verdicts, "whole", "n_unreliable") if run.reliability else [])


def ranking_columns(run: RankedRun) -> list[FrameColumn]:
    """A data frame with one row a system, best first: the leaderboard.

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
    """A data frame with one row for every two systems, the better one first.

    Columns are the fields of `SystemDifference`: `a`, `b`, `difference` (a − b), `ci_low`,
    `ci_high`, `p`, `p_adjusted`, `effect_size`, `n_prompts`, `reason`.
    """
    pairs = run.leaderboard().differences
    return [
        *field_columns(pairs, "text", "a", "b"),
        *field_columns(pairs, "number", "difference", "ci_low", "ci_high"),
        *field_columns(pairs, "number", "p", "p_adjusted", "effect_size"),
        *field_columns(pairs, "whole", "n_prompts"),
        *field_columns(pairs, "text", "reason"),
    ]


def _repeated(
    name: str, kind: ColumnKind, values: Sequence[Any], each: int, times: int
) -> FrameColumn:
    """Every value `each` times in a row, and all of that `times` times."""
    given = np.empty(len(values), dtype=object)
    given[:] = values
    return FrameColumn(name, kind, np.tile(np.repeat(given, each), times).tolist())
