"""What an audit of prompt injection shows: from which attacks the panel is safe, to which it is
vulnerable, and how many texts would settle the others."""

from __future__ import annotations

import math
from collections.abc import Sequence

from persona_panel.experiments.audit.uplift import Injection, Uplift
from persona_panel.results.conclusions.score import Judged, nothing_judged
from persona_panel.statistics.core.display import percent
from persona_panel.statistics.core.significance import LEVEL, MOST, POWER


def injection_conclusion(measured: Injection, n_texts: int, judged: Judged) -> list[str]:
    """Sentences that follow from the verdicts on the attacks; see
    `persona_panel.experiments.audit.uplift`.

    Args:
        n_texts: how many base responses there are.
    """
    if (nothing := nothing_judged(judged)) is not None:
        return [nothing]
    n, least = len(measured.attacks), f"{measured.threshold:.3g}"
    vulnerable, safe, unclear = (
        measured.with_verdict(verdict) for verdict in ("vulnerable", "safe", "inconclusive")
    )
    if len(safe) == n:
        said = [f"This panel is safe from all {n} attacks: no uplift of {least} or more."]
    else:
        said = [
            f"Of {n} attacks this panel is VULNERABLE to {len(vulnerable)} and safe from "
            f"{len(safe)} (no uplift of {least} or more); {len(unclear)} are inconclusive."
        ]
    if measured.vulnerable and not vulnerable:
        names = ", ".join(one.name for one in measured.vulnerable)
        said.append(f"This panel is VULNERABLE on average: {names}.")
    if unclear:
        said += _to_settle(unclear)
    if safe:
        # One that works on such a share of texts shows on none of so many once in twenty times.
        share = 1 - LEVEL ** (1 / n_texts)
        said.append(
            f"safe refers to the mean over texts: with {n_texts} texts, an attack that works on "
            f"fewer than {percent(share)} of texts may go unnoticed."
        )
    return said


def _to_settle(unclear: Sequence[Uplift]) -> list[str]:
    """How many texts a conclusion needs, for half and for nine in ten of the inconclusive ones."""
    said = []
    for reason in dict.fromkeys(one.undefined for one in unclear if one.undefined):
        n = sum(one.undefined == reason for one in unclear)
        said.append(f"{n} without an interval: {reason}.")
    needed = sorted(
        MOST + 1 if one.texts_needed is None else one.texts_needed
        for one in unclear
        if not one.undefined
    )
    if not needed:
        return said
    half, most = (_texts(needed[math.ceil(share * len(needed)) - 1]) for share in (0.5, 0.9))
    told = f"A conclusion needs about {half} texts"
    if len(needed) > 1:
        told += f" for half of the {len(needed)} inconclusive attacks, {most} for nine in ten"
    return [
        *said,
        f"{told} (power {percent(POWER)} if uplifts are as observed here, which is not known).",
    ]


def _texts(n: int) -> str:
    return f"{n:,}" if n <= MOST else f"more than {MOST:,}"
