"""Section 2: the systems, with the composite and each dimension, and how far each two differ."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from math import isnan

import numpy as np

from persona_panel.graphs import Judge
from persona_panel.graphs.records import controls_among
from persona_panel.results.axis import Axis
from persona_panel.runs.run import Run
from persona_panel.runs.scale_limits import composite_limits, composite_told, mean_limits
from persona_panel.statistics.core.arrays import Reason
from persona_panel.statistics.core.levels import LEVEL
from persona_panel.statistics.core.ranking import (
    JudgeSample,
    Leaderboard,
    SystemDifference,
    SystemRank,
    influence_of,
    rank_systems,
)

_PAIRS = 60
_TICKS = 60


@dataclass(frozen=True, slots=True)
class SystemLine:
    """One system's line of the forest plot.

    Attributes:
        prompts: its mean on each prompt, none where there are too many for ticks.
        missing: how many of its judgments are missing.
    """

    entry: SystemRank
    prompts: Sequence[float]
    missing: int

    @property
    def rank(self) -> str:
        """Its rank with the places that are open to it."""
        entry = self.entry
        if entry.rank is None:
            return "not ranked" if entry.declines else "–"
        if entry.rank_low is None or entry.rank_low == entry.rank_high:
            return str(entry.rank)
        return f"{entry.rank} ({entry.rank_low}–{entry.rank_high})"


@dataclass(frozen=True, slots=True)
class DimensionForest:
    """The systems on one dimension."""

    label: str
    axis: Axis
    lines: Sequence[SystemRank]


@dataclass(frozen=True, slots=True)
class SystemsSection:
    """What section 2 shows.

    Attributes:
        reasons: why there are no intervals, each once.
        shares: for each dimension of categories its label, the categories and, by system, their
            shares.
        differences: pairs of systems; `n_more` are left out.
        controls: the systems as judges without a persona rank them, where others have one.
        composite: what the composite is, a sentence.
    """

    lines: Sequence[SystemLine]
    axis: Axis
    dimensions: Sequence[DimensionForest]
    shares: Sequence[tuple[str, Sequence[str], Sequence[tuple[str, Sequence[float]]]]]
    differences: Sequence[SystemDifference]
    difference_axis: Axis
    n_more: int
    reasons: Sequence[str]
    n_prompts: int
    random: str
    controls: Sequence[SystemRank]
    composite: str
    level: float = LEVEL


def systems_section(run: Run, board: Leaderboard) -> SystemsSection:
    """The systems of a run."""
    entries = board.systems
    by_prompt = _composites(run)
    lines = [
        SystemLine(entry, found if len(found := by_prompt[entry.system]) <= _TICKS else [], missing)
        for entry, missing in zip(entries, _missing(run, entries), strict=True)
    ]
    values = [value for line in lines for value in line.prompts]
    values += [end for one in entries for end in (one.ci_low, one.ci_high, one.composite)]
    controls = run.control_leaderboard()
    return SystemsSection(
        lines=lines,
        axis=Axis.of(composite_limits(run.rubric), values),
        dimensions=_dimensions(run, entries),
        shares=[
            (
                next(one.label for one in run.rubric.dimensions if one.id == name),
                categories,
                [
                    (entry.system, [entry.dimensions[f"{name}:{each}"] for each in categories])
                    for entry in entries
                ],
            )
            for name, categories in run.categories.items()
        ]
        if entries
        else [],
        differences=board.differences[:_PAIRS],
        difference_axis=Axis.about_zero(
            end for one in board.differences for end in (one.difference, one.ci_low, one.ci_high)
        ),
        n_more=max(0, len(board.differences) - _PAIRS),
        reasons=_reasons(board),
        n_prompts=len({verdict.prompt_id for verdict in run.verdicts}),
        random=board.random,
        controls=() if controls is None else controls.systems,
        composite=composite_told(run.rubric),
    )


def _composites(run: Run) -> dict[str, list[float]]:
    """Each system's composites by prompt."""
    found: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for verdict in run.verdicts:
        if not isnan(verdict.composite):
            found[verdict.system][verdict.prompt_id].append(verdict.composite)
    means = {
        system: [sum(those) / len(those) for those in of_prompt.values()]
        for system, of_prompt in found.items()
    }
    return defaultdict(list, means)


def _missing(run: Run, entries: Sequence[SystemRank]) -> list[int]:
    columns = _panel(run.judges)
    n: dict[str, int] = defaultdict(int)
    for item, row in zip(run.items, run.statuses, strict=True):
        n[item.system] += sum(row[column] not in ("scored", "abstained") for column in columns)
    return [n[entry.system] for entry in entries]


def _panel(judges: Sequence[Judge]) -> list[int]:
    """The judges that rankings are of."""
    controls = controls_among(judges)
    return [column for column, judge in enumerate(judges) if judge not in controls]


def _dimensions(run: Run, entries: Sequence[SystemRank]) -> list[DimensionForest]:
    """The systems on each dimension that is rated by numbers, in the order of the leaderboard, with
    intervals over prompts and over prompts and judges."""
    verdicts = run.verdicts
    rows = {item[:2]: row for row, item in enumerate(run.items)}
    kept, columns = [rows[one.prompt_id, one.id] for one in verdicts], _panel(run.judges)
    labels = {
        "persona": [run.judges[column].persona for column in columns],
        "model": [run.judges[column].model for column in columns],
    }
    factors = {name: those for name, those in labels.items() if len(set(those)) > 1}
    order = {entry.system: place for place, entry in enumerate(entries)}
    abstentions = run.abstentions(kept, columns)
    found = []
    for dimension in run.rubric.numeric:
        place = run.dimensions.index(dimension.id)
        [limits] = mean_limits(run.rubric, [dimension.id])
        board = rank_systems(
            [verdict.system for verdict in verdicts],
            [verdict.prompt_id for verdict in verdicts],
            np.array([verdict.dimensions[dimension.id].mean for verdict in verdicts]),
            np.empty((len(verdicts), 0)),
            [],
            judges=JudgeSample(influence_of(run.ratings[np.ix_(kept, columns, [place])]), factors),
            limits=limits,
            abstentions=abstentions,
        )
        lines = sorted(board.systems, key=lambda one: order[one.system])
        axis = Axis.of(limits, [one.composite for one in lines])
        found.append(DimensionForest(dimension.label, axis, lines))
    return found


def _reasons(board: Leaderboard) -> list[str]:
    """Why intervals are not there, each reason once; why a system is not ranked is said apart."""
    found: dict[str, list[str]] = {}
    for entry in board.systems:
        for kind, reason in (
            ("over prompts", entry.ci_reason),
            ("over prompts and judges", entry.judges_ci_reason),
        ):
            if reason is not None and reason != Reason.DECLINES:
                kinds = found.setdefault(str(reason), [])
                kinds += [] if kind in kinds else [kind]
    return [f"No interval {' or '.join(kinds)}: {reason}." for reason, kinds in found.items()]
