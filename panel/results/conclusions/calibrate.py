"""What a panel corrected by people's ratings shows: who is ahead, what the correction gains, and
how many more ratings would halve its intervals."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import isnan

from persona_panel.results.conclusions.labels import labelled_calibration
from persona_panel.results.conclusions.leads import leads_conclusion
from persona_panel.results.conclusions.rows import dimension_called
from persona_panel.results.conclusions.wording import (
    NAMES_SHOWN,
    ONE_PERSON,
    counted,
    in_brackets,
    interval,
    listed,
)
from persona_panel.results.conclusions.wording import p_adjusted as told_p
from persona_panel.statistics.core.display import number
from persona_panel.statistics.core.statistic import Reason
from persona_panel.statistics.core.table import ALL, COMPOSITE
from persona_panel.statistics.core.tested import LEVEL
from persona_panel.statistics.humans.calibration import (
    Calibration,
    CorrectedPair,
    CorrectedSystem,
    complete,
    width_ratio,
)
from persona_panel.statistics.humans.prediction_powered import LEAST_PROMPTS


def calibrate_conclusion(found: Calibration) -> list[str]:
    """On the composite and by dimension who is ahead of whom by the corrected differences, by
    p-values adjusted by Holm; between whom first place is open; which of the panel's leads people
    do not show; how wide corrected intervals are, of people's own; what would halve the widest,
    both of the composite where there is one; that one person is not people. Where people rated
    everything there is nothing to correct, and that is said in place of widths."""
    found = labelled_calibration(found)
    corrected = [one for one in found.systems if one.found.reason is None]
    said = _uncorrected(one for one in found.systems if one.found.reason is not None)
    if corrected:
        everything = complete(found)
        if everything:
            said.append(
                "People rated everything that the panel scored: these are people's means; the "
                "panel adds nothing to them."
            )
        said += _ahead(found.pairs, "people's" if everything else "the corrected")
        said += _first_place(found.pairs)
    said += leads_conclusion(found)
    if corrected:
        # Of what is shown: where there is a composite, the other means are in --full alone.
        primary = [one for one in corrected if one.dimension == COMPOSITE] or corrected
        if not everything:
            said += _gained(primary)
        said.append(_to_halve(primary))
        said += _noted(corrected, found.pairs)
    return [*said, ONE_PERSON] if found.n_people == 1 else said


def _uncorrected(systems: Iterable[CorrectedSystem]) -> list[str]:
    """Which means could not be corrected, by reason."""
    by_reason: dict[Reason, list[str]] = {}
    for one in systems:
        if one.found.reason is not None:
            by_reason.setdefault(one.found.reason, []).append(_name(one))
    return [
        f"No correction of {listed(names, 'means')}: {reason}."
        + (
            f" With ratings by people in {LEAST_PROMPTS} prompts there is one."
            if reason in (Reason.FEW_FOR_A_CORRECTION, Reason.NOT_RATED_BY_PEOPLE)
            else ""
        )
        for reason, names in by_reason.items()
    ]


def _noted(systems: Sequence[CorrectedSystem], pairs: Sequence[CorrectedPair]) -> list[str]:
    """What is to be known of some corrected means, by note."""
    by_note: dict[Reason, list[str]] = {}
    for one in systems:
        for note in one.found.notes:
            by_note.setdefault(note, []).append(_name(one))
    said = []
    for note, names in by_note.items():
        of = "" if len(names) == len(systems) else f" of {listed(names, 'means')}"
        said.append(f"Note{of}: {note}.")
        if note is Reason.FEW_EXCEPTIONS and pairs:
            said[-1] += " So they are for differences from these."
    return said


def _ahead(pairs: Sequence[CorrectedPair], whose: str) -> list[str]:
    """The differences that are shown by these means, or that there are none."""
    tested = [one for one in pairs if not isnan(one.p_adjusted)]
    if not tested:
        return []
    shown = [one for one in tested if one.p_adjusted < LEVEL]
    if not shown:
        n = counted(len(tested), "difference")
        return [f"By {whose} means no system is shown to be ahead of another ({n})."]
    said = []
    for one in shown[:NAMES_SHOWN]:
        a, b, sign = (one.a, one.b, 1) if one.found.corrected > 0 else (one.b, one.a, -1)
        ends = sorted((sign * one.found.ci_low, sign * one.found.ci_high))
        told = in_brackets(interval(*ends), told_p(one.p_adjusted))
        on = "" if one.dimension == ALL else f" on {dimension_called(one.dimension)}"
        said.append(
            f"By {whose} means {a} is ahead of {b}{on}: {number(abs(one.found.corrected))}{told}."
        )
    if len(shown) > NAMES_SHOWN:
        left = len(shown) - NAMES_SHOWN
        more, are = counted(left, "more difference"), "is" if left == 1 else "are"
        said.append(f"{more} of {len(tested):,} {are} established.")
    return said


def _first_place(pairs: Sequence[CorrectedPair]) -> list[str]:
    """Which of three or more systems may be best on the composite, or the only dimension: those
    that no other is shown to be ahead of."""
    primary = [one for one in pairs if one.dimension == COMPOSITE] or list(pairs)
    tested = [one for one in primary if not isnan(one.p_adjusted) and not one.is_share]
    systems = list(dict.fromkeys(name for one in tested for name in (one.a, one.b)))
    if len(systems) < 3 or len({one.dimension for one in tested}) > 1:
        return []
    behind = {
        one.b if one.found.corrected > 0 else one.a for one in tested if one.p_adjusted < LEVEL
    }
    open_ = [name for name in systems if name not in behind]
    if len(open_) < 2:
        return []
    of = f"all {len(open_):,} systems" if len(open_) == len(systems) else listed(open_)
    on = f" on {dimension_called(COMPOSITE)}" if tested[0].dimension == COMPOSITE else ""
    return [f"First place{on} is open between {of}."]


def _gained(corrected: Sequence[CorrectedSystem]) -> list[str]:
    """How wide the intervals are, of people's own."""
    ratios = sorted(width_ratio(one.found) for one in corrected)
    told = number(ratios[0])
    if ratios[-1] - ratios[0] >= 0.005:
        told += f" to {number(ratios[-1])}"
    s = "s are" if len(ratios) > 1 else " is"
    what = f"The corrected interval{s} {told} times as wide as with people's ratings alone"
    if ratios[0] > 0.98:
        return [f"{what}: the panel adds nothing here that is shown."]
    return [f"{what}."]


def _to_halve(corrected: Sequence[CorrectedSystem]) -> str:
    """What would halve the widest interval."""
    widest = max(corrected, key=lambda one: one.found.ci_high - one.found.ci_low)
    found = widest.found
    what = f"the widest interval, of {_name(widest)}," if len(corrected) > 1 else "the interval"
    if found.to_halve is None:
        return (
            f"To halve {what} more ratings by people of what the panel scored "
            f"({counted(found.n_items, 'item')}, {found.n_human:,} rated) are not enough: it takes "
            "more prompts."
        )
    return (
        f"About {counted(found.to_halve, 'item')} rated by people (now {found.n_human:,}) would "
        f"halve {what} if the panel goes with people as here."
    )


def _name(one: CorrectedSystem) -> str:
    if one.dimension == ALL:
        return "the mean" if one.system == ALL else one.system
    on = dimension_called(one.dimension)
    return on if one.system == ALL else f"{one.system} on {on}"


def best_first(systems: Sequence[CorrectedSystem]) -> list[CorrectedSystem]:
    """Systems dimension by dimension, by their corrected means, the highest first, those without
    one last: by those on the composite where there is one, so that a system has one place in all of
    its dimensions, as `score` has it; else by those on each dimension."""
    names = list(dict.fromkeys(one.dimension for one in systems))
    of_composite = {
        one.system: one.found.corrected for one in systems if one.dimension == COMPOSITE
    }

    def place(one: CorrectedSystem) -> tuple[int, bool, float]:
        mean = of_composite.get(one.system, one.found.corrected)
        return names.index(one.dimension), isnan(mean), 0.0 if isnan(mean) else -mean

    return sorted(systems, key=place)
