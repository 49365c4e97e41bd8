"""Whether people's ratings show what a panel has established of systems: its leads."""

from __future__ import annotations

from collections.abc import Collection
from math import isnan

from persona_panel.results.conclusions.wording import NAMES_SHOWN, in_brackets, interval, listed
from persona_panel.results.conclusions.wording import p_adjusted as told_p
from persona_panel.statistics.core.display import number
from persona_panel.statistics.core.ranking import Leaderboard
from persona_panel.statistics.core.table import ALL, COMPOSITE
from persona_panel.statistics.core.tested import LEVEL
from persona_panel.statistics.humans.calibration import Calibration, CorrectedPair, complete

_Lead = tuple[str, str]


def established_leads(board: Leaderboard) -> tuple[_Lead, ...]:
    """The systems of each difference that a leaderboard establishes, the better one first."""
    return tuple(
        (one.a, one.b) if one.difference > 0 else (one.b, one.a)
        for one in board.differences
        if one.shown
    )


def leads_conclusion(found: Calibration) -> list[str]:
    """Which of the panel's leads people's ratings do not show; nothing of those that they do.

    A lead is shown by the corrected difference of the same systems, with an adjusted p below
    `LEVEL` and an interval that leaves 0 out on the lead's side: on the composite, or on any
    dimension where people rated several. People show the contrary where such a difference is on
    the other side. Shares of labels, of which more is not better, show neither, but for that which
    the panel's composite is.
    """
    contrary: dict[_Lead, list[CorrectedPair]] = {}
    open_: dict[_Lead, list[CorrectedPair]] = {}
    undefined: dict[_Lead, list[CorrectedPair]] = {}
    primary = (ALL, COMPOSITE, found.leads_on)
    told_of = [one for one in found.pairs if not one.is_share or one.dimension in primary]
    for lead in found.leads:
        pairs = [one for one in told_of if {one.a, one.b} == {*lead}]
        pairs = [one for one in pairs if one.dimension in primary] or pairs
        signs = [_sign(one, lead) for one in pairs]
        if -1 in signs:
            contrary[lead] = [one for one, sign in zip(pairs, signs, strict=True) if sign == -1]
        elif 1 not in signs and 0 in signs:
            open_[lead] = [one for one, sign in zip(pairs, signs, strict=True) if sign == 0]
        elif pairs and 1 not in signs:
            undefined[lead] = pairs
    said = []
    what = "difference" if complete(found) else "corrected difference"
    n = len(found.leads)
    if contrary:
        told = _figure(contrary, what)
        said.append(f"People's ratings show the contrary of {_named(contrary, n)}{told}.")
    if open_:
        names = _named(open_, n)
        be = "is" if len(open_) == 1 else "are"
        told = _figure(open_, what)
        said.append(f"{names[0].upper()}{names[1:]} {be} not shown by people's ratings{told}.")
    if undefined:
        reasons = dict.fromkeys(
            one.found.reason for pairs in undefined.values() for one in pairs if one.found.reason
        )
        why = f": {'; '.join(reasons)}" if reasons else ""
        said.append(f"Whether people's ratings show {_named(undefined, n)} cannot be said{why}.")
    return said


def _sign(pair: CorrectedPair, lead: _Lead) -> int | None:
    """1 where people show the lead, −1 where the contrary, 0 neither; None where undefined."""
    found = pair.found
    if found.reason is not None or isnan(pair.p_adjusted):
        return None
    if not pair.p_adjusted < LEVEL or found.ci_low <= 0 <= found.ci_high:
        return 0
    return 1 if (found.corrected > 0) == (pair.a == lead[0]) else -1


def _named(leads: Collection[_Lead], n: int) -> str:
    if len(leads) > NAMES_SHOWN:
        return f"{len(leads):,} of the panel's {n:,} leads"
    s = "s" if len(leads) > 1 else ""
    return f"the panel's lead{s} of {listed([f'{a} over {b}' for a, b in leads])}"


def _figure(leads: dict[_Lead, list[CorrectedPair]], what: str) -> str:
    """The differences of the leads with their intervals, better − other; of more than a few, from
    the lowest to the highest; and on which dimensions."""
    those = [(lead, one) for lead, pairs in leads.items() for one in pairs]
    names = list(dict.fromkeys(_dimension(one) for _, one in those if one.dimension != ALL))
    is_range = len(those) > NAMES_SHOWN
    # Of several leads on several dimensions each difference has its own; a range has none.
    has_own = len(leads) > 1 and len(names) > 1 and not is_range
    on = f" on {listed(names)}" if names and not has_own else ""
    if len(those) == 1:
        return f"{on}: {what} {_value(*those[0])}"
    if is_range:
        low, *_, high = sorted(_sides(lead, one)[0] for lead, one in those)
        return f"{on}: {what}s from {number(low)} to {number(high)}"
    told = []
    for (better, other), one in those:
        of = [f"{better} − {other}"] if len(leads) > 1 else []
        of += [f"on {_dimension(one)}"] if len(names) > 1 else []
        told.append(f"{' '.join(of)}: {_value((better, other), one)}")
    return f"{on}: {what}s, {'; '.join(told)}"


def _dimension(pair: CorrectedPair) -> str:
    return "the composite" if pair.dimension == COMPOSITE else pair.dimension


def _sides(lead: _Lead, pair: CorrectedPair) -> tuple[float, float, float]:
    """The difference and its interval, the better system of the lead less the other."""
    value, low, high = pair.found.corrected, pair.found.ci_low, pair.found.ci_high
    return (value, low, high) if pair.a == lead[0] else (0.0 - value, 0.0 - high, 0.0 - low)


def _value(lead: _Lead, pair: CorrectedPair) -> str:
    value, low, high = _sides(lead, pair)
    return f"{number(value)}{in_brackets(interval(low, high), told_p(pair.p_adjusted))}"
