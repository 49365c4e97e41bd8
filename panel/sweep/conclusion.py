"""What a sweep shows: where systems degrade under pressure, what is open, and how many prompts
would settle it."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan

from panel.conclusions.score import Judged, nothing_judged
from panel.conclusions.wording import as_many, counted, in_brackets, interval, p_adjusted, power
from panel.statistics.core.student_t import values_needed
from panel.statistics.resampling.sign_flip_power import items_needed
from panel.sweep.deltas import LEVEL, Cell, Mean
from panel.sweep.profiles import Profile

_SHOWN = 3


def sweep_conclusion(
    cells: Sequence[Cell], profiles: Sequence[Profile], smallest_p: float, judged: Judged
) -> list[str]:
    """For each system which degradations are established, then what is left open.

    A degradation is established by the test that is adjusted for all cells of the sweep. The
    number of prompts is that of a t-test at the level of `LEVEL` over the number of cells, with
    the Δ and the spread over prompts that were observed, and no fewer than a test of flipped
    signs takes. Where that is no more than there are (the test of flipped signs is another one),
    or where the test for asymmetric Δs is not passed, no number is given.
    """
    if (nothing := nothing_judged(judged)) is not None:
        return [nothing]
    said = [_of_system(profile, cells) for profile in profiles]
    if any(profile.rewording for profile in profiles):
        said.append(
            "Rewording without pressure lowers scores, too: a degradation may come from the "
            "rewording, see the contrasts with it."
        )
    measured = [cell for cell in cells if cell.delta.n_pairs]
    return [*said, *_open([cell for cell in measured if not cell.delta.shown], smallest_p)]


def _of_system(profile: Profile, cells: Sequence[Cell]) -> str:
    if profile.kind == "nothing measured":
        return f"{profile.system}: nothing could be measured."
    n = sum(cell.system == profile.system and cell.delta.n_pairs > 0 for cell in cells)
    told = [_told("degrades", profile.degraded), _told("improves", profile.improved)]
    if not any(told):
        return f"{profile.system}: no change is established in any of {counted(n, 'cell')}."
    return f"{profile.system} {'; it '.join(one for one in told if one)}."


def _told(how: str, cells: Sequence[Cell]) -> str:
    """The largest of these cells, and how many more there are."""
    if not cells:
        return ""
    told = "; ".join(
        f"in {cell.dimension} under {cell.condition}, by {abs(cell.delta.value):.2f} points"
        f"{_facts(cell.delta)}"
        for cell in cells[:_SHOWN]
    )
    more = len(cells) - _SHOWN
    return f"{how} {told}" + (f"; and in {counted(more, 'more cell')}" if more > 0 else "")


def _facts(delta: Mean) -> str:
    ends = sorted((abs(delta.ci_low), abs(delta.ci_high)))
    return in_brackets(interval(*ends), p_adjusted(delta.p_holm))


def _open(cells: Sequence[Cell], smallest_p: float) -> list[str]:
    """What the cells in which no degradation is established leave open."""
    if not cells:
        return []
    level = LEVEL / max(1, sum(cell.delta.n_pairs > 1 for cell in cells))
    most = max(cell.delta.n_pairs for cell in cells)
    if isnan(smallest_p) or smallest_p >= LEVEL:
        return [
            f"With {counted(most, 'prompt')} no effect of any size can be significant in this many "
            f"cells: at least {items_needed(level)} prompts are needed."
        ]
    said = []
    widest = max(cells, key=lambda cell: -1.0 if isnan(cell.delta.ci_high) else cell.delta.ci_high)
    if widest.delta.ci_high > 0:
        said.append(
            "That no degradation is established in a cell does not show that there is none: in "
            f"{counted(len(cells), 'such cell')} intervals reach up to a Δ of "
            f"{widest.delta.ci_high:.2f} ({widest.dimension} under {widest.condition})."
        )
    largest = max(cells, key=lambda cell: cell.delta.value)
    delta = largest.delta
    if delta.value > 0 and not isnan(delta.effect_size):
        of = f"{delta.value:.2f} points, {largest.dimension} under {largest.condition}"
        said.append(_to_establish(delta, of, level))
    return said


def _to_establish(delta: Mean, of: str, level: float) -> str:
    """How many prompts would establish a degradation that is open."""
    if delta.p_bounded is not None and delta.p_bounded >= LEVEL:
        return (
            f"The changes are plainly asymmetric, and the largest of these degradations ({of}) is "
            "opposite to the longer tail: how many prompts would establish it cannot be said."
        )
    needed = values_needed(delta.value, delta.value / delta.effect_size, 0.0, level)
    if needed is not None:
        needed = max(needed, items_needed(level))
    given = f"If the largest of them is as observed ({of}), "
    if needed is not None and needed <= delta.n_pairs:
        return f"{given}a few more prompts may establish it (now {delta.n_pairs:,})."
    return f"{given}{as_many(needed)} would establish it {power(delta.n_pairs)}."
