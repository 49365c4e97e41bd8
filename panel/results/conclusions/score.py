"""What a run shows about systems: who is ahead, who is not shown to be, and how many prompts would
show it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isnan

from persona_panel.results.conclusions.wording import (
    as_many,
    counted,
    in_brackets,
    interval,
    listed,
    missing_judgments,
    points,
    power,
)
from persona_panel.statistics.core.display import number, signed
from persona_panel.statistics.core.levels import LEVEL
from persona_panel.statistics.core.ranking import (
    Leaderboard,
    SystemDifference,
    SystemRank,
    prompts_needed,
    takes_more_judges,
)

MUCH_MISSING = 0.05
"""From which share on missing judgments are in the conclusion, and not only below the tables."""
_LEADERS_SHOWN = 3
_SAME = 1e-9


@dataclass(frozen=True, slots=True)
class Judged:
    """What a conclusion has to know of a run besides its ranking.

    Attributes:
        expected, scored, abstained: numbers of judgments; the others are `missing`, by status.
        reasons: by status the commonest reason of a missing judgment, where one is known.
        unit: what follows a difference of composites; nothing where these are shares.
    """

    n_judges: int
    n_personas: int
    n_models: int
    expected: int
    scored: int
    abstained: int = 0
    missing: Mapping[str, int] = field(default_factory=dict)
    reasons: Mapping[str, str] = field(default_factory=dict)
    unit: str = " points"


def score_conclusion(
    board: Leaderboard, judged: Judged, controls: Leaderboard | None = None
) -> list[str]:
    """Who is ahead, or that it cannot be said and what would settle it; what limits the answer.

    Args:
        controls: the leaderboard of the judges without a persona, where there are some.
    """
    if (nothing := nothing_judged(judged)) is not None:
        return [nothing]
    said = [*board_conclusion(board, judged.unit)]
    if controls is not None and (of_controls := board_conclusion(controls, judged.unit)):
        first = of_controls[0].replace("Who is", "who is", 1)
        said.append(f"By the judges without a persona: {first}")
    return [*said, *_declining(board), *_limits(judged)]


def nothing_judged(judged: Judged) -> str | None:
    """Why nothing was scored, and that it was not; None where something was."""
    if judged.scored or not judged.expected:
        return None
    # What is skipped is so for what went wrong with another.
    why = {name: why for name, why in judged.reasons.items() if name != "skipped"}
    told = "; ".join(dict.fromkeys((why or judged.reasons).values())).rstrip(".")
    counts = [f"{n:,} {status}" for status, n in judged.missing.items()]
    if judged.abstained:
        counts.append(f"{judged.abstained:,} judged as abstentions")
    # Reasons begin with the name of a model or a server, which is no beginning of a sentence.
    return (
        f"{f'Nothing could be scored: {told}. ' if told else ''}None of {judged.expected:,} "
        f"judgments was scored{in_brackets(*counts)}: nothing can be concluded."
    )


def board_conclusion(board: Leaderboard, unit: str = " points") -> list[str]:
    """What a leaderboard establishes, what it leaves open, and how many prompts would settle it.

    A difference is established by its p-value, adjusted for all pairs of the leaderboard; first
    place, by differences from every other system. The number of prompts is that with which
    the same test would find the difference at the level of `LEVEL` over the number of pairs, with
    the difference and the variances that were observed; see `prompts_needed`. Where judges are a
    sample, too, there may be no such number: more prompts leave what judges differ in.
    """
    ranked = [entry for entry in board.systems if entry.rank is not None]
    declining = any(entry.declines for entry in board.systems)
    if not ranked:
        why = (
            "most of their judgments are abstentions"
            if declining
            else "no response has a composite"
        )
        return [f"Systems cannot be ranked: {why}."]
    if len(ranked) < 2:
        return [_alone(ranked[0], declining)]
    tested = [one for one in board.differences if one.reason is None]
    if not tested:
        reasons = dict.fromkeys(one.reason for one in board.differences if one.reason)
        why = "; ".join(map(str, reasons))
        if not any(one.n for one in board.differences):
            why = (
                "no prompt has texts of two systems: if they answered the same ones, see that "
                "prompt, response and system are the columns that they should be"
            )
        return [
            f"Who is ahead cannot be said: {_first(ranked)}, and no difference can be tested "
            f"({why})."
        ]
    if board.winner is not None:
        return _won(board, ranked, unit)
    said = [_open(ranked, board.differences), _established(tested, len(ranked))]
    return [*said, *_to_settle(board, ranked, len(tested), unit)]


def _alone(entry: SystemRank, declining: bool) -> str:
    facts = interval(entry.ci_low, entry.ci_high), counted(entry.n_prompts, "prompt")
    other = (
        "no other system is ranked" if declining else "there is no other system with a composite"
    )
    return (
        f"{entry.system} has a composite of {number(entry.composite)}{in_brackets(*facts)}; "
        f"{other} to compare it with."
    )


def _won(board: Leaderboard, ranked: Sequence[SystemRank], unit: str) -> list[str]:
    first = ranked[0].system
    own = [one for one in board.differences if first in (one.a, one.b)]
    nearest = min(own, key=lambda one: abs(one.value))
    other = _other(nearest, first)
    over = {
        "prompts": "with these judges as they are",
        "prompts-and-judges": "with judges as a sample of such judges",
    }[board.random]
    by = f"{points(nearest.value, unit)}{_facts(nearest)}"
    if len(ranked) == 2:
        return [f"{first} is ahead of {other}, {over}: by {by}."]
    said = [f"{first} is ahead of every other system, {over}: of the nearest, {other}, by {by}."]
    rest = [one for one in board.differences if one not in own]
    if len(rest) == 1:
        return [*said, _only(rest[0], unit)]
    shown = sum(one.shown for one in rest)
    said.append(
        f"Among the others {shown:,} of {counted(len(rest), 'difference')} "
        f"are established (adjusted p < {LEVEL})."
    )
    return said


def _only(one: SystemDifference, unit: str) -> str:
    """The one difference that is left."""
    if not one.shown:
        facts = in_brackets(
            f"{one.a} − {one.b}: {signed(one.value)}{unit}",
            one.interval(),
            one.p_text(),
        )
        return f"The difference between {one.a} and {one.b} is not established{facts}."
    better, worse = (one.a, one.b) if one.value > 0 else (one.b, one.a)
    return f"{better} is ahead of {worse} by {points(one.value, unit)}{_facts(one)}."


def _first(ranked: Sequence[SystemRank]) -> str:
    """Who has the highest composite: all of them, where several have."""
    tied = [entry.system for entry in ranked if entry.rank == 1]
    composite = number(ranked[0].composite)
    if len(tied) > 1:
        return f"{listed(tied, 'systems')} are tied for the highest composite ({composite})"
    return f"{tied[0]} has the highest composite ({composite})"


def _open(ranked: Sequence[SystemRank], differences: Sequence[SystemDifference]) -> str:
    """Who may be first."""
    may_be = [entry.system for entry in ranked if entry.rank_low in (1, None)]
    first = _first(ranked)
    if len(may_be) > 1:
        of = f"all {len(may_be):,} systems" if len(may_be) == len(ranked) > 2 else listed(may_be)
        return f"Who is ahead cannot be said: {first}, but first place is open between {of}."
    alike = [
        _other(one, ranked[0].system)
        for one in differences
        if ranked[0].system in (one.a, one.b) and not one.shown
    ]
    return f"Who is ahead cannot be said: {first}, but its difference from {listed(alike)} is open."


def _established(tested: Sequence[SystemDifference], n_systems: int) -> str:
    """Which systems differ."""
    ahead: dict[str, list[str]] = {}
    for one in tested:
        if one.shown:
            better, worse = (one.a, one.b) if one.value > 0 else (one.b, one.a)
            ahead.setdefault(better, []).append(worse)
    n_shown = sum(map(len, ahead.values()))
    if not n_shown:
        least = min(tested, key=lambda one: one.p_adjusted)
        if n_systems == 2:
            return f"Their difference may be chance{_facts(least)}."
        return (
            f"No difference between two systems is established: the smallest adjusted p of "
            f"{len(tested):,} pairs is {least.p_adjusted:.2g}."
        )
    if len(ahead) > _LEADERS_SHOWN:
        return (
            f"{n_shown:,} of {len(tested):,} differences between two systems are established "
            f"(adjusted p < {LEVEL})."
        )
    told = "; ".join(f"{better} is ahead of {listed(worse)}" for better, worse in ahead.items())
    return f"Established (adjusted p < {LEVEL}): {told}."


def _to_settle(
    board: Leaderboard, ranked: Sequence[SystemRank], n_tests: int, unit: str
) -> list[str]:
    """How many prompts would show that the first system is ahead of those that may be, too."""
    first = ranked[0].system
    open_ = [
        one
        for one in board.differences
        if first in (one.a, one.b) and not one.shown and one.reason is None
    ]
    if not open_:
        return []
    level = LEVEL / n_tests

    def ease(one: SystemDifference) -> tuple[bool, float]:
        size = abs(one.effect_size) if abs(one.value) > _SAME else 0.0
        return not takes_more_judges(one.sampled, level), size

    hardest = min(open_, key=ease)
    other = _other(hardest, first)
    if abs(hardest.value) <= _SAME or isnan(hardest.effect_size):
        return [
            f"How many prompts would settle it cannot be estimated from the difference of "
            f"{points(hardest.value, '')} between {first} and {other}."
        ]
    given = f"If the difference is as large as observed ({points(hardest.value, unit)}), "
    if takes_more_judges(hardest.sampled, level):
        return [
            f"{given}no number of prompts would show that {first} is ahead of {other} with these "
            "judges: more judges are needed."
        ]
    needed = prompts_needed(hardest.sampled, level)
    return [
        f"{given}{as_many(needed)} would show that {first} is ahead of {other} "
        f"{power(hardest.n or 0)}."
    ]


def _declining(board: Leaderboard) -> list[str]:
    """Which systems are not ranked, as most judges found that their responses decline to answer."""
    found = [entry for entry in board.systems if entry.declines]
    if len(found) > _LEADERS_SHOWN:
        return [
            f"{len(found):,} systems are not ranked: more than half of the judgments of each are "
            "abstentions (the response declines to answer)."
        ]
    said = []
    for entry in found:
        rest = entry.n_judged - entry.n_abstained
        told = (
            f"{entry.system} is not ranked: {entry.n_abstained:,} of its {entry.n_judged:,} "
            "judgments are abstentions (the response declines to answer)"
        )
        mean = (
            ""
            if isnan(entry.composite)
            else f"; its mean of {number(entry.composite)} rests on {rest:,}"
        )
        said.append(f"{told}{mean}.")
    return said


def _limits(judged: Judged) -> list[str]:
    """What no interval of the run includes."""
    said = few_judged(judged, "composites")
    if judged.n_judges == 1:
        said.append("There is one judge: what other judges would find is not known.")
    elif judged.n_models == 1:
        said.append(
            f"All {judged.n_judges:,} judges are of one model: what they have in common because "
            "of it is in no interval."
        )
    elif judged.n_personas == 1:
        said.append(
            f"All {judged.n_judges:,} judges have one persona: what another one would find is "
            "not known."
        )
    return said


def few_judged(judged: Judged, figures: str) -> list[str]:
    """How many judgments are missing, where it is many, and that figures are without them."""
    missing = sum(judged.missing.values())
    if missing < MUCH_MISSING * judged.expected or not missing:
        return []
    told = missing_judgments(missing, judged.expected, by_status=judged.missing)
    return [f"{told}: {figures} are means of those that are there."]


def _facts(one: SystemDifference) -> str:
    """A difference's interval, seen from the better one, its p-value and its prompts."""
    return in_brackets(one.from_above.interval(), one.p_text(), counted(one.n or 0, "prompt"))


def _other(one: SystemDifference, first: str) -> str:
    return one.b if one.a == first else one.a
