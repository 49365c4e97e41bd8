"""The systems of a run within strata: of judges (persona, axis, model), of texts (prompt, a column
of their metadata), or of the rubric (dimension)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import nan

import numpy as np

from graphs import Response
from graphs.records import controls_among
from panel.breakdown.cells import RunCells
from panel.breakdown.groups import axes_of, axis_differences, model_differences
from panel.errors import Fault, InputError
from panel.runs.judge_sample import composite_terms, judge_sample
from panel.runs.run import Run
from panel.runs.scale_limits import composite_limits, mean_limits
from panel.statistics.breakdown.cells import mean_there
from panel.statistics.breakdown.group_contrasts import GroupDifference
from panel.statistics.breakdown.persona_departures import Departure, departures_by_system
from panel.statistics.core.arrays import Array
from panel.statistics.core.holm import holm
from panel.statistics.core.ranking import LEVEL, Leaderboard, Limits, rank_systems
from panel.statistics.core.sampled_mean import JudgeSample
from panel.statistics.core.statistic import Reason

BY_JUDGES = ("persona", "axis", "model")
BY = (*BY_JUDGES, "prompt", "dimension")
"""What a run can be broken down by besides columns of its responses."""


@dataclass(frozen=True, slots=True)
class SystemInStratum:
    """A system's mean over the prompts of a stratum, with its 95 % interval over prompts; NaN where
    `reason` says why there is none."""

    stratum: str
    system: str
    mean: float
    ci_low: float
    ci_high: float
    n_prompts: int
    reason: Reason | None


@dataclass(frozen=True, slots=True)
class PairInStratum:
    """How far system `a` is above system `b` in a stratum; fields as of `Difference`, but that
    `p_adjusted` is by Holm over all pairs of all strata."""

    stratum: str
    a: str
    b: str
    difference: float
    ci_low: float
    ci_high: float
    p: float
    p_adjusted: float
    n_prompts: int
    reason: Reason | None

    @property
    def shown(self) -> bool:
        """Whether the two can be said to differ in this stratum."""
        return self.p_adjusted < LEVEL


@dataclass(frozen=True, slots=True)
class SystemsBy:
    """The systems of a run within each stratum.

    Attributes:
        by: what strata are.
        systems: every system in every stratum, strata in order of appearance, the best first.
        differences: every two systems in every stratum.
        interactions: whether strata of judges see the systems differently: of personas their
            departures by system, of axes and models the differences by system; none of others.
        n_without: how many responses have no value in the column, and are left out.
    """

    by: str
    systems: tuple[SystemInStratum, ...]
    differences: tuple[PairInStratum, ...]
    interactions: tuple[Departure | GroupDifference, ...]
    n_without: int


def systems_by(run: Run, by: str, column: Sequence[str | None] | None = None) -> SystemsBy:
    """The systems of a run within strata.

    Within a persona, an axis or a model, composites are those of its judges alone; within a prompt
    or a value of a column, those of all judges on its responses; within a dimension, its means in
    place of composites. What intervals and p-values take as a sample is `run.random`.

    Args:
        by: one of `BY`, or the name of a column of the responses' metadata.
        column: its value of each response; None: read from the run's folder. See `column_of`.

    Raises:
        InputError: the responses have no such column.
        RunFolderError: a column of a run that was not written with its texts.
    """
    n_without = 0
    if by in BY_JUDGES:
        boards = list(_by_judges(run, by))
    elif by == "dimension":
        boards = list(_by_dimension(run))
    else:
        labels: Sequence[str | None]
        if by == "prompt":
            labels = [item.prompt_id for item in run.items]
        else:
            labels = column_of(run.responses(), by, str(run.folder)) if column is None else column
        n_without = sum(label is None for label in labels)
        boards = list(_by_label(run, labels))
    pairs = [(stratum, one) for stratum, board in boards for one in board.differences]
    adjusted = holm([one.p for _, one in pairs])
    return SystemsBy(
        by,
        tuple(
            SystemInStratum(
                stratum, one.system, one.composite, one.ci_low, one.ci_high, one.n_prompts,
                one.ci_reason,
            )
            for stratum, board in boards
            for one in board.systems
        ),
        tuple(
            PairInStratum(
                stratum, one.a, one.b, one.difference, one.ci_low, one.ci_high, one.p, float(p),
                one.n_prompts, one.reason,
            )
            for (stratum, one), p in zip(pairs, adjusted, strict=True)
        ),
        tuple(_interactions(run, by)),
        n_without,
    )  # fmt: skip


def column_of(responses: Iterable[Response], name: str, source: str) -> list[str | None]:
    """The value of a column of the metadata of each response, as text, None where it has none.

    Args:
        source: where they are from, for errors.

    Raises:
        InputError: no response has the column; names those there are.
    """
    known: dict[str, None] = {}
    values: list[str | None] = []
    for response in responses:
        known.update(dict.fromkeys(response.metadata))
        value = response.metadata.get(name)
        values.append(None if value is None or value == "" else str(value))
    if name not in known:
        expected = f"one of {', '.join((*BY, *known))}"
        raise InputError([Fault(source, f"no column {name!r} to go by", expected)])
    return values


def _by_judges(run: Run, by: str) -> Iterator[tuple[str, Leaderboard]]:
    controls = controls_among(run.judges)
    axes = axes_of(run)
    strata: dict[str, list[int]] = {}
    for place, judge in enumerate(run.judges):
        if judge in controls:
            continue
        value = axes.get(judge.persona, "") if by == "axis" else getattr(judge, by)
        if value:
            strata.setdefault(value, []).append(place)
    everything = range(len(run.items))
    for stratum, judges in strata.items():
        yield stratum, _board(run, everything, judges)


def _by_label(run: Run, labels: Sequence[str | None]) -> Iterator[tuple[str, Leaderboard]]:
    rows: dict[str, list[int]] = {}
    for row, label in enumerate(labels):
        if label is not None:
            rows.setdefault(label, []).append(row)
    judges = _panel(run)
    for stratum, those in rows.items():
        yield stratum, _board(run, those, judges)


def _by_dimension(run: Run) -> Iterator[tuple[str, Leaderboard]]:
    judges = _panel(run)
    names = [dimension.id for dimension in run.rubric.numeric]
    for name, limits in zip(names, mean_limits(run.rubric, names), strict=True):
        scores = mean_there(run.ratings[:, judges, run.dimensions.index(name)], 1)
        yield name, _ranked(run, range(len(run.items)), scores, None, limits)


def _panel(run: Run) -> list[int]:
    controls = controls_among(run.judges)
    return [place for place, judge in enumerate(run.judges) if judge not in controls]


def _board(run: Run, rows: Sequence[int], judges: Sequence[int]) -> Leaderboard:
    """The systems on these responses by these judges, on the rubric's composite."""
    ratings = run.ratings[np.ix_(rows, judges)]
    of_judges = [run.judges[place] for place in judges]
    given = run.rubric, run.dimensions, run.categories
    terms = composite_terms(ratings, *given)
    scores = np.full(len(rows), nan) if terms is None else mean_there(terms, 1).mean(axis=1)
    sample = judge_sample(ratings, of_judges, *given)
    return _ranked(run, rows, scores, sample, composite_limits(run.rubric))


def _ranked(
    run: Run, rows: Sequence[int], scores: Array, sample: JudgeSample | None, limits: Limits
) -> Leaderboard:
    return rank_systems(
        [run.items[row].system for row in rows],
        [run.items[row].prompt_id for row in rows],
        scores,
        np.empty((len(rows), 0)),
        [],
        judges=sample,
        random=run.random if sample is not None else "prompts",
        limits=limits,
    )


def _interactions(run: Run, by: str) -> Sequence[Departure | GroupDifference]:
    if by == "persona":
        cells = RunCells.of(run)
        return departures_by_system(
            cells.composite or cells.dimensions, cells.systems, cells.prompts
        )
    if by == "axis":
        return axis_differences(run).interactions
    return model_differences(run).interactions if by == "model" else ()
