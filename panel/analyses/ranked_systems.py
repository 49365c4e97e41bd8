"""Systems in order, by the panel or by people, and the sentence on which of them is best."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import isnan
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np

from persona_panel.results.conclusions.wording import (
    EDITED,
    counted,
    in_brackets,
    listed,
    points,
)
from persona_panel.runs.run_remarks import is_capped
from persona_panel.runs.scale_limits import unit_of
from persona_panel.statistics.core.arrays import Reason
from persona_panel.statistics.core.display import number
from persona_panel.statistics.core.estimate import Difference
from persona_panel.statistics.core.ranking import (
    Leaderboard,
    Winner,
    decisive_difference,
    is_ahead,
    systems_above,
    winner_among,
)

if TYPE_CHECKING:
    from persona_panel.analyses.analysis import RunWithPeople
    from persona_panel.runs.run import Run
    from persona_panel.statistics.calibration import Calibration, CorrectedMean

_NAMED = 4
_VISIBLE = 0.005
"""From which distance on two numbers are written otherwise."""


class Ranked(NamedTuple):
    """Systems in order and the differences between every two of them.

    Attributes:
        systems: name and mean, best first.
        differences: the better system first; those that cannot be tested with their reason.
        basis: whose ratings these are, as the beginning of a sentence; empty of the panel alone.
        unranked: why there are no systems.
        note: why people's ratings do not correct the panel, where there are some; their means.
        means_of_people: the sentence of the note with their means, which a shorter answer lacks.
        uncorrected: the same reason alone, where people's ratings lead without a correction.
        by_correction: whether it is the panel's ranking, corrected by people's ratings.
        corrected: by the two systems of a difference, what it is corrected from; of a correction by
            people's ratings alone.
        unrated: the systems that the ranking leaves out, as people rated nothing of them.
        other_scale: whether people's ratings are on another scale than the panel's.
    """

    systems: Sequence[tuple[str, float]]
    differences: Sequence[Difference]
    basis: str = ""
    unranked: str = ""
    note: str = ""
    means_of_people: str = ""
    uncorrected: str = ""
    by_correction: bool = False
    corrected: Mapping[frozenset[str], CorrectedMean] = MappingProxyType({})
    unrated: Sequence[str] = ()
    other_scale: bool = False

    @property
    def first(self) -> str:
        """Return the system with the highest mean."""
        return self.systems[0][0]

    def of_first(self) -> list[Difference]:
        """Return the differences of the first system from the others, from its side."""
        own = [each for each in self.differences if self.first in (each.a, each.b)]
        return [each if each.a == self.first else -each for each in own]

    @property
    def winner(self) -> Winner | None:
        """Return the system that is significantly better than every other; None where none is, or
        another is not ranked."""
        return None if self.unrated else self.ahead

    @property
    def ahead(self) -> Winner | None:
        """Return the system that is significantly better than every other that is ranked."""
        return winner_among(self._names, self.differences)

    @property
    def above_first(self) -> Difference | None:
        """Return the clearest difference of the first system from another that is significantly
        better on the prompts and by the judges of both, from the first one's side; None where none
        is, as always where all systems have all prompts and judges."""
        lower = [each for each in self.of_first() if each.shown and each.value < 0]
        if lower and len(self.systems) == 2:
            return self.decisive

        def clearness(each: Difference) -> tuple[int, float]:
            # One that no other is ahead of, if there is one.
            return len(systems_above(each.b, self.differences)), each.p_adjusted

        return min(lower, key=clearness, default=None)

    @property
    def decisive(self) -> Difference | None:
        """Return the difference of the first system from the one from which it is the hardest to
        tell, with the unadjusted p-value that decides whether the first is the best; None where
        nothing is tested."""
        return decisive_difference(self._names, self.differences)

    @property
    def _names(self) -> list[str]:
        return [name for name, _ in self.systems]


def by_panel(board: Leaderboard) -> Ranked:
    """Return the ranking of a leaderboard."""
    ranked = [entry for entry in board.systems if entry.rank is not None]
    why = "" if ranked else "no response has a composite"
    if not ranked and any(entry.declines for entry in board.systems):
        why = "most of their judgments are abstentions"
    return Ranked(
        [(each.system, each.composite.value) for each in ranked], board.differences, "", why
    )


def by_people(calibrated: Calibration) -> Ranked | None:
    """Return the ranking by the means of the first dimension, corrected by people's ratings; None
    where a system has none."""
    if not calibrated.systems:
        return None
    dimension = calibrated.systems[0].dimension
    of_it = [each for each in calibrated.systems if each.dimension == dimension]
    means = [(each.system, each.corrected.value) for each in of_it]
    if any(isnan(mean) for _, mean in means):
        return None
    pairs = [pair for pair in calibrated.pairs if pair.dimension == dimension]
    n = sum(each.n_human for each in of_it)
    whose = _whose(calibrated)
    corrects = not calibrated.complete and any(each.tuning for each in of_it)
    basis = f"By the ratings of {whose}"
    if corrects:
        basis = f"Corrected by {whose}'s ratings of {counted(n, 'response')}"
    elif not calibrated.complete:
        basis += ", which the panel's do not improve"
    if calibrated.scales is not None:
        basis += " (on a scale from {:g} to {:g})".format(*calibrated.scales[1])
    return Ranked(
        sorted(means, key=lambda each: -each[1]),
        [pair.difference for pair in pairs],
        basis,
        by_correction=corrects,
        corrected={frozenset((pair.difference.a, pair.difference.b)): pair for pair in pairs},
    )


def by_people_alone(calibrated: Calibration, why: str) -> Ranked | None:
    """Return the ranking by people's own means of what they rated of the first dimension, for
    where they cannot correct the panel (`why`); None where they did not rate two systems."""
    of_it = [
        each for each in calibrated.systems if each.dimension == calibrated.systems[0].dimension
    ]
    means = {each.system: each.human_only.value for each in of_it}
    rated = sorted(
        ((name, mean) for name, mean in means.items() if not isnan(mean)), key=lambda of: -of[1]
    )
    if len(rated) < 2:
        return None
    # What adjusts p-values takes long to import.
    from persona_panel.statistics.core.significance import holm_adjusted

    pairs = [
        replace(cast(Difference, pair.human_only), a=pair.difference.a, b=pair.difference.b)
        for pair in calibrated.pairs
        if pair.dimension == of_it[0].dimension and not isnan(pair.human_only.value)
    ]
    n = max(each.human_only.n or 0 for each in of_it)
    basis, lacks = f"By the ratings of {_whose(calibrated)} on {counted(n, 'prompt')}", why
    if unrated := [name for name in means if isnan(means[name])]:
        lacks = f"they are of {len(rated):,} of {len(means):,} systems"
        basis += f", of {len(rated):,} of {len(means):,} systems"
    note = f"People's ratings do not correct the panel: {lacks}."
    theirs = f" Means by people: {', '.join(f'{name} {number(mean)}' for name, mean in rated)}."
    note += theirs
    if unrated:
        note += f" Not rated by people: {listed(unrated, 'systems')}."
    return Ranked(
        rated, holm_adjusted(pairs), basis, note=note, means_of_people=theirs, uncorrected=why,
        unrated=unrated, other_scale=calibrated.scales is not None,
    )  # fmt: skip


def _whose(calibrated: Calibration) -> str:
    return "1 person" if calibrated.n_people == 1 else f"{calibrated.n_people:,} people"


def reversed_by(panel: Ranked, people: Ranked) -> list[tuple[str, str]]:
    """Return the pairs of systems that the panel puts significantly in one order, and people's
    ratings in the other: theirs."""
    signs = {(each.a, each.b): each.sign for each in panel.differences if each.shown}
    return [
        (each.from_above.a, each.from_above.b)
        for each in people.differences
        if each.shown
        and each.sign * (signs.get((each.a, each.b), 0) - signs.get((each.b, each.a), 0)) < 0
    ]


def ranking_of(run: Run, people: RunWithPeople | None) -> Ranked:
    """Return the ranking by people's ratings, or by the panel corrected by them, where people rated
    enough; else by the panel, or by people alone where they significantly reverse an order of the
    panel's."""
    by_judges = by_panel(run.leaderboard())
    if people is None:
        return by_judges
    calibrated = people.calibrated
    if calibrated is not None and (corrected := by_people(calibrated)) is not None:
        return corrected
    reasons = [] if calibrated is None else [s.corrected.reason for s in calibrated.systems]
    why = str(next(filter(None, reasons), "they are ranks"))
    scores = people.people.scores
    if np.unique(scores[~np.isnan(scores)]).size == 1:
        why = "all of them are equal, which distinguishes no system from another"
    alone = None if calibrated is None else by_people_alone(calibrated, why)
    if alone is None:
        return by_judges._replace(note=f"People's ratings do not correct this: {why}.")
    if reversed_by(by_judges, alone):
        return alone
    note = f"{alone.note}{_by_people(by_judges, alone)}"
    return by_judges._replace(note=note, means_of_people=alone.means_of_people)


def _by_people(panel: Ranked, alone: Ranked) -> str:
    """Return people's own difference between the two systems whose difference decides that one is
    ahead by the panel, and whether its interval excludes the panel's; empty where none is."""
    ours = panel.decisive
    if ours is None or not is_ahead(ours):
        return ""
    pairs = [pair for each in alone.differences for pair in (each, -each)]
    theirs = next((each for each in pairs if (each.a, each.b) == (ours.a, ours.b)), None)
    if theirs is None:
        return ""
    facts = in_brackets(theirs.interval() or "no interval", counted(theirs.n or 0, "prompt"))
    excludes = theirs.has_interval and not theirs.low <= ours.value <= theirs.high
    more = ", which excludes the panel's" if excludes and not alone.other_scale else ""
    value = theirs.number(with_sign=True)
    return f" {theirs.a} − {theirs.b} by people: {value}{facts}{more}."


def reversed_pairs_of(board: Leaderboard, ranked: Ranked) -> list[tuple[str, str]]:
    """Return the pairs of systems whose order on a leaderboard the ranking reverses, which is by
    people's ratings; none where it is the panel's own."""
    return reversed_by(by_panel(board), ranked) if ranked.basis else []


def reversal_sentence(pairs: Sequence[tuple[str, str]]) -> str:
    """Return which pairs people's ratings order otherwise than the panel."""
    more = f", and of {counted(len(pairs) - 1, 'more pair')}" if len(pairs) > 1 else ""
    names = " and ".join(sorted(pairs[0]))
    return f"People's ratings significantly reverse the panel's order of {names}{more}."


def untested(ranked: Ranked) -> str:
    if any(each.n or each.reason != Reason.FEW_CLUSTERS for each in ranked.differences):
        return "; ".join(
            dict.fromkeys(str(each.reason) for each in ranked.of_first() if each.reason)
        )
    return (
        "no prompt has texts of two systems: if they answered the same ones, see that prompt, "
        "response and system are the columns that they should be"
    )


def best_sentence(ranked: Ranked, run: Run | None, *, unit: str = " points") -> str:
    """Return which of two or more systems is significantly ahead, or that none is.

    Args:
        run: that the panel's ratings are of; its own answer stands beside that of people.
        unit: what follows a difference, where no run is known.
    """
    unit = unit if run is None else unit_of(run.rubric).after_number
    above = ranked.above_first
    decisive = above or ranked.decisive
    if decisive is None:
        any_tested = any(not isnan(each.p) for each in ranked.differences)
        which = f"of {ranked.first} from another system" if any_tested else "between systems"
        sentence = f"No difference {which} can be tested ({untested(ranked)})"
        sentence += f": {_means(ranked)}."
    else:
        rated = " rated by people" if ranked.basis else ""
        prompts = "" if decisive.n is None else counted(decisive.n, "prompt") + rated
        shown = decisive if above is None else -decisive
        facts = in_brackets(shown.interval(), shown.p_text(), prompts)
        say = _ahead if above is None else _behind
        sentence = say(ranked, decisive, unit, facts)
    if not ranked.basis:
        return " ".join(filter(None, [sentence, ranked.note]))
    sentence = f"{ranked.basis}: {sentence}"
    if decisive is not None and ranked.by_correction and above is None:
        means = dict(ranked.systems)
        lead = means[decisive.a] - means[decisive.b]
        if abs(decisive.value - lead) > _VISIBLE:
            both, apart = f"{decisive.a} and {decisive.b}", points(abs(lead), unit)
            sentence += f" The corrected means of {both} are {apart} apart: each figure is "
            sentence += "corrected by itself."
    if run is not None:
        # No second claim: it would err beside the first.
        alone = by_panel(run.leaderboard())
        does = "is first" if alone.above_first is None else "has the highest mean"
        first = alone.first if alone.systems else "no system"
        sentence += f" By the panel alone, {first} {does}."
    return " ".join(filter(None, [sentence, ranked.note]))


def _ahead(ranked: Ranked, decisive: Difference, unit: str, facts: str) -> str:
    """Return whether the first system is significantly ahead, by its decisive difference."""
    several = len(ranked.systems) > 2
    if ranked.ahead is not None:
        which = decisive.b
        if several:
            is_next = which == ranked.systems[1][0]
            which += ", the next" if is_next else ", the comparison with the largest p-value"
        return (
            f"{ranked.first} is significantly ahead: {points(decisive.value, unit)} above "
            f"{which}{facts}."
        )
    untested_ = [each for each in ranked.of_first() if isnan(each.p)]
    if is_ahead(decisive) and untested_:
        others = listed([each.b for each in untested_], "systems")
        return (
            f"{ranked.first} is significantly ahead of {decisive.b}, by "
            f"{points(decisive.value, unit)}{facts}, and not tested against {others} "
            f"({untested_[0].reason})."
        )
    sentence = (
        f"No system is significantly ahead: {_means(ranked, decisive)}, "
        f"difference{_on_what(ranked, decisive)} "
        f"{number(decisive.value)}{unit}{facts}."
    )
    if several:
        open_ = {each.b for each in ranked.of_first() if not (each.shown and each.value > 0)}
        tied = [name for name, _ in ranked.systems if name in open_]
        behind = [name for name, _ in ranked.systems[1:] if name not in open_]
        sentence += f" Tied with {ranked.first}: {listed(tied, 'systems')}"
        sentence += f"; significantly behind: {listed(behind, 'systems')}." if behind else "."
    return sentence


def _behind(ranked: Ranked, above: Difference, unit: str, facts: str) -> str:
    """Return that another system is significantly ahead of the first, by its difference from it."""
    means = dict(ranked.systems)
    sentence = (
        f"{ranked.first} has the highest mean, {number(means[ranked.first])}, but"
        f"{_on_what(ranked, above)} {above.b} ({number(means[above.b])}) is significantly ahead of "
        f"it, by {points(-above.value, unit)}{facts}."
    )
    if others := systems_above(above.b, ranked.differences):
        sentence += f" Significantly ahead of {above.b}: {listed(others, 'systems')}."
    return sentence


def _on_what(ranked: Ranked, of: Difference) -> str:
    """Return what a difference is on, where that is not all that the means are on."""
    # Means are of all ratings of a system, the difference of those that both have.
    means = dict(ranked.systems)
    lead = means[of.a] - means[of.b]
    if not ranked.basis and abs(of.value - lead) > _VISIBLE:
        return " on the prompts and by the judges of both"
    return " on the prompts of both" if of.value * lead < 0 else ""


def _means(ranked: Ranked, of: Difference | None = None) -> str:
    """Return the first systems, or the two of a difference, with their means."""
    names = (ranked.first, of.b) if of is not None else dict(ranked.systems[:_NAMED])
    means = dict(ranked.systems)
    return ", ".join(f"{name} {number(means[name])}" for name in names)


def alone_sentence(ranked: Ranked, run: Run) -> str:
    """Return the composite of the only system that is ranked."""
    ((name, mean),) = ranked.systems
    board = run.leaderboard()
    entry = next(each for each in board.systems if each.system == name)
    facts = in_brackets(entry.composite.interval(), counted(entry.n_prompts, "prompt"))
    other = (
        "no other system is ranked"
        if any(each.declines for each in board.systems)
        else "there is no other system with a composite"
    )
    return f"{name} has a composite of {number(mean)}{facts}; {other} to compare it with."


def was_stopped(run: Run) -> bool:
    """Return whether a run ended before all of its judgments were made, at no limit of its own: who
    watches a ranking may stop at what it shows, which no test of the end allows for."""
    return not (run.whole.all() or is_capped(run))


def winner_of(run: Run, ranked: Ranked) -> Winner | None:
    """Return the winner of a ranking; of a run that was stopped there is none."""
    return None if was_stopped(run) else ranked.winner


def first_so_far(ranked: Ranked, decisive: Difference, unit: str) -> str:
    """Return which system of a run that was stopped has the highest mean."""
    basis = f"{ranked.basis}: " if ranked.basis else ""
    where = "above" if decisive.value >= 0 else "on the prompts of both below"
    return (
        f"{basis}{ranked.first} has the highest mean so far, {points(abs(decisive.value), unit)} "
        f"{where} {decisive.b}{in_brackets(decisive.interval())}; nothing is claimed of a run that "
        "was stopped."
    )


def stopped_sentences(run: Run, *, significant: bool) -> Iterator[str]:
    """Yield that a run's judgments were edited, how much of one that was stopped is there, and what
    significance at a limit of its own rests on."""
    if run.is_edited:
        yield f"{EDITED}."
    if run.whole.all() and not is_capped(run):
        return
    coverage = run.coverage
    n_there = coverage.scored + coverage.abstained
    yield f"Incomplete: {n_there:,} of {coverage.expected:,} judgments are there."
    if significant:
        yield "Significance holds only if the run was not stopped because of what it showed."


def not_ranked(run: Run) -> Iterator[str]:
    """Yield the systems without a score, one of which may be the best."""
    board = run.leaderboard()
    names = [each.system for each in board.systems if each.rank is None and not each.declines]
    if names:
        yield f"Not ranked, as nothing of theirs was scored: {listed(names, 'systems')}."
