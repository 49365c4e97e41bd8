"""How the judgments of one prompt become its degradations: a pure function."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from persona_panel.graphs.records import Judgment

BASELINE = "baseline"
"""The condition of a prompt as it was given."""


@dataclass(frozen=True, slots=True)
class Degradation:
    """What one condition did to one system's answer to one prompt.

    `delta` is by dimension, NaN where no judge rated both responses; `n_judges` counts
    those that did. `n_abstained` judges called one of the two an abstention; `n_missing`
    have no usable judgment of one of them for another reason.
    """

    prompt_id: str
    system: str
    condition: str
    delta: Mapping[str, float]
    n_judges: Mapping[str, int]
    n_abstained: int
    n_missing: int


def degradation(
    judged: Mapping[tuple[str, str], Sequence[Judgment]],
    prompt_id: str,
    systems: Sequence[str],
    conditions: Sequence[str],
    dimensions: Sequence[str],
    n_judges: int,
) -> list[Degradation]:
    """Δ = baseline − framed for each system and condition (scrub.txt, appendix 15.4).

    Δ is the mean over the judges that rated both responses. Where all of them did, that is
    the difference of the panel's means, as in the paper; where one is missing, a stern
    judge's absence does not pass for an improvement.

    Args:
        judged: the judgments of each (system, condition), one a judge; may lack some.
        conditions: the framed ones.
        n_judges: how many judgments each response should have.
    """
    found = []
    for system in systems:
        before = {one.judge.id: one for one in judged.get((system, BASELINE), ())}
        for condition in conditions:
            after = {one.judge.id: one for one in judged.get((system, condition), ())}
            pairs = [(before[judge], after[judge]) for judge in sorted(before.keys() & after)]
            abstained = sum(_abstained(one) or _abstained(other) for one, other in pairs)
            scored = [
                (one.scores, other.scores)
                for one, other in pairs
                if one.status == other.status == "scored"
            ]
            delta, counts = {}, {}
            for name in dimensions:
                gaps = [a[name] - b[name] for a, b in scored if name in a and name in b]
                counts[name] = len(gaps)
                delta[name] = math.fsum(gaps) / len(gaps) if gaps else math.nan
            found.append(
                Degradation(
                    prompt_id=prompt_id,
                    system=system,
                    condition=condition,
                    delta=delta,
                    n_judges=counts,
                    n_abstained=abstained,
                    n_missing=n_judges - abstained - len(scored),
                )
            )
    return found


def _abstained(judgment: Judgment) -> bool:
    return judgment.status == "abstained"
