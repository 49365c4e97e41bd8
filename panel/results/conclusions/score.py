"""Sentences on what a run lacks: judgments, ranks of systems that decline, other judges."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isnan

from persona_panel.results.conclusions.wording import (
    in_brackets,
    missing_judgments,
)
from persona_panel.statistics.core.display import number
from persona_panel.statistics.core.ranking import (
    Leaderboard,
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


def declining(board: Leaderboard) -> list[str]:
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


def limits(judged: Judged) -> list[str]:
    """Say what judges have in common: no interval includes it."""
    if judged.n_judges == 1:
        return ["There is one judge."]
    if judged.n_models == 1:
        return ["All judges are of one model."]
    if judged.n_personas == 1:
        return ["All judges have the same persona, or none."]
    return []


def few_judged(judged: Judged, figures: str) -> list[str]:
    """How many judgments are missing, where it is many, and that figures are without them."""
    missing = sum(judged.missing.values())
    if missing < MUCH_MISSING * judged.expected or not missing:
        return []
    told = missing_judgments(missing, judged.expected, by_status=judged.missing)
    return [f"{told}: {figures} are means of those that are there."]
