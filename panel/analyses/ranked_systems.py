"""Systems in order, by the panel or by people, and the sentence on which of them is best."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isnan
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from persona_panel.results.conclusions.wording import counted, in_brackets, listed, points
from persona_panel.runs.scale_limits import unit_of
from persona_panel.statistics.core.display import number
from persona_panel.statistics.core.estimate import Difference
from persona_panel.statistics.core.ranking import Leaderboard

if TYPE_CHECKING:
    from persona_panel.runs.run import Run
    from persona_panel.statistics.calibration import Calibration

_NAMED = 4


class Ranked(NamedTuple):
    """Systems in order and the differences between every two of them.

    Attributes:
        systems: name and mean, best first.
        differences: the better system first; those that cannot be tested with their reason.
        basis: whose ratings these are, as the beginning of a sentence; empty of the panel alone.
        unranked: why there are no systems.
        note: why people's ratings do not lead, where there are some.
        to_halve: by the two systems of a difference, how many responses people would have to rate
            for half of its interval; of a correction by their ratings alone.
    """

    systems: Sequence[tuple[str, float]]
    differences: Sequence[Difference]
    basis: str = ""
    unranked: str = ""
    note: str = ""
    to_halve: Mapping[frozenset[str], int | None] = MappingProxyType({})

    @property
    def first(self) -> str:
        """Return the system with the highest mean."""
        return self.systems[0][0]

    def of_first(self) -> list[Difference]:
        """Return the differences of the first system from the others, from its side."""
        own = [each for each in self.differences if self.first in (each.a, each.b)]
        return [each if each.a == self.first else -each for each in own]

    @property
    def winner(self) -> str | None:
        """Return the system that is significantly better than every other; None where none is."""
        own = self.of_first()
        every = len(own) == len(self.systems) - 1 > 0
        return self.first if every and all(significant(each) for each in own) else None


def significant(difference: Difference) -> bool:
    """Return whether side `a` is significantly above: by the adjusted p-value and the interval,
    where there is one. Where means are over other prompts than the difference, it may be below."""
    if difference.has_interval:
        return difference.shown and difference.sign > 0
    return difference.shown and difference.value > 0


def by_panel(board: Leaderboard) -> Ranked:
    """Return the ranking of a leaderboard."""
    ranked = [entry for entry in board.systems if entry.rank is not None]
    why = "" if ranked else "no response has a composite"
    if not ranked and any(entry.declines for entry in board.systems):
        why = "most of their judgments are abstentions"
    return Ranked([(each.system, each.composite) for each in ranked], board.differences, "", why)


def by_people(calibrated: Calibration) -> Ranked | None:
    """Return the ranking by the means of the first dimension, corrected by people's ratings; None
    where a system has none."""
    if not calibrated.systems:
        return None
    dimension = calibrated.systems[0].dimension
    of_it = [each for each in calibrated.systems if each.dimension == dimension]
    means = [(each.system, each.mean.corrected.value) for each in of_it]
    if any(isnan(mean) for _, mean in means):
        return None
    pairs = [pair for pair in calibrated.pairs if pair.dimension == dimension]
    n = sum(each.mean.n_human for each in of_it)
    whose = "1 person" if calibrated.n_people == 1 else f"{calibrated.n_people:,} people"
    basis = f"By the ratings of {whose}"
    if not calibrated.complete:
        basis = f"Corrected by {whose}'s ratings of {counted(n, 'response')}"
    return Ranked(
        sorted(means, key=lambda each: -each[1]),
        [pair.corrected for pair in pairs],
        basis,
        to_halve={
            frozenset((pair.corrected.a, pair.corrected.b)): pair.mean.to_halve for pair in pairs
        },
    )


def nearest_difference(ranked: Ranked) -> Difference | None:
    """Return the smallest difference of the first system from one that it is not significantly
    ahead of, or from all; None where nothing is tested."""
    tested = [each for each in ranked.of_first() if not isnan(each.least_p)]
    open_ = [each for each in tested if not significant(each)]
    return min(open_ or tested, key=lambda each: abs(each.value), default=None)


def untested(ranked: Ranked) -> str:
    if any(each.n for each in ranked.differences):
        return "; ".join(
            dict.fromkeys(str(each.reason) for each in ranked.of_first() if each.reason)
        )
    return (
        "no prompt has texts of two systems: if they answered the same ones, see that prompt, "
        "response and system are the columns that they should be"
    )


def best_sentence(ranked: Ranked, run: Run | None) -> str:
    """Return which of two or more systems is significantly ahead, or that none is.

    Args:
        run: that the panel's ratings are of; its own answer stands beside that of people.
    """
    unit = " points" if run is None else unit_of(run.rubric).after_number
    nearest = nearest_difference(ranked)
    rated = " rated by people" if ranked.basis else ""
    facts = (
        ""
        if nearest is None
        else in_brackets(
            nearest.interval(),
            nearest.p_text(),
            "" if nearest.n is None else counted(nearest.n, "prompt") + rated,
        )
    )
    if nearest is None:
        any_tested = any(not isnan(each.least_p) for each in ranked.differences)
        which = f"of {ranked.first} from another system" if any_tested else "between systems"
        sentence = f"No difference {which} can be tested ({untested(ranked)})"
        sentence += f": {_means(ranked)}."
    elif ranked.winner is not None:
        which = f"{nearest.b}, the nearest" if len(ranked.systems) > 2 else nearest.b
        sentence = (
            f"{ranked.first} is significantly ahead: {points(nearest.value, unit)} above "
            f"{which}{facts}."
        )
    else:
        sentence = (
            f"No system is significantly ahead: {_means(ranked, nearest)}, difference "
            f"{number(nearest.value)}{unit}{facts}."
        )
        if len(ranked.systems) > 2:
            open_ = {each.b for each in ranked.of_first() if not significant(each)}
            tied = [name for name, _ in ranked.systems if name in open_]
            sentence += f" Tied with {ranked.first}: {listed(tied, 'systems')}."
    if not ranked.basis:
        return " ".join(filter(None, [sentence, ranked.note]))
    sentence = f"{ranked.basis}: {sentence}"
    if run is None:
        return sentence
    own = by_panel(run.leaderboard())
    alone = own.winner or (own.first if own.systems else "no system")
    how = "is significantly ahead" if own.winner else "is first, not significantly"
    return f"{sentence} By the panel alone, {alone} {how}."


def _means(ranked: Ranked, nearest: Difference | None = None) -> str:
    """Return the first systems, or the two of a difference, with their means."""
    names = (ranked.first, nearest.b) if nearest is not None else dict(ranked.systems[:_NAMED])
    means = dict(ranked.systems)
    return ", ".join(f"{name} {number(means[name])}" for name in names)
