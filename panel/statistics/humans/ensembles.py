"""Ensembles of strong and of weak judges, chosen on other items than they are measured on.

Source: debate-speeches.txt, Appendix E and Figure 12, which groups judges by their τ_c with people
and finds that the weak ones gain by being put together and the strong ones do not. Judges who are
chosen and measured on the same items look better, or worse, than they are. Here the prompts are
dealt into folds; the judges of a fold's ensembles are chosen by all other folds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from persona_panel.statistics.core.arrays import (
    Labels,
    as_ratings,
    as_scores,
    encode_labels,
    row_means,
)
from persona_panel.statistics.core.statistic import Statistic
from persona_panel.statistics.humans.correlation import CorrelationKind, correlation

Half = Literal["strong", "weak"]


@dataclass(frozen=True, slots=True)
class ChosenEnsemble:
    """One half of the judges.

    Attributes:
        half: the `strong` ones, those nearest to people on other items, or the `weak` ones.
        tau_c: of their mean scores with the people's, each item scored by the judges who were
            chosen without it.
        members: the mean τ_c of a single judge of the half, measured in the same way: for each
            place in the half the scores of the judge who has it. NaN where one is undefined.
    """

    half: Half
    tau_c: Statistic
    members: float


def ensembles_on_other_items(
    judges: ArrayLike, target: ArrayLike, prompts: Labels, *, folds: int = 5, seed: int = 0
) -> list[ChosenEnsemble]:
    """The better half of the judges and the other half, chosen by τ_c on other prompts.

    How to read it: where `tau_c` is above `members`, putting the half's judges together pays. Of an
    odd number of judges the middle one is in neither half.

    Args:
        judges: `(items, judges)` scores, NaN where missing; two judges at least.
        target: `(items,)`, the people's mean.
        prompts: a label an item; a prompt is in one fold.
        folds: into how many parts prompts are dealt, no more than there are prompts.
        seed: of the dealing.

    Raises:
        ValueError: fewer than two judges, prompts or folds, or shapes that do not fit.

    >>> people = np.arange(8.0)
    >>> judges = np.stack([people, people, -people, -people], axis=1)
    >>> found = ensembles_on_other_items(judges, people, "aabbccdd")
    >>> [(one.half, one.tau_c.value) for one in found]
    [('strong', 1.0), ('weak', -1.0)]
    """
    scores, people = as_ratings(judges), as_scores(target)
    names, codes = encode_labels(prompts, len(scores))
    folds = min(folds, len(names))
    if scores.shape[1] < 2 or folds < 2 or len(people) != len(scores):
        raise ValueError(
            f"two judges, two prompts and a score of people an item are needed, found "
            f"{scores.shape[1]}, {len(names)} and {len(people)} for {len(scores)}"
        )
    n = scores.shape[1] // 2
    fold_of = np.random.default_rng(seed).permutation(np.arange(len(names)) % folds)[codes]
    # By their places among the judges, the best first.
    ranked = np.full(scores.shape, np.nan)
    for fold in range(folds):
        own = fold_of == fold
        taus = [_tau(scores[~own, judge], people[~own]) for judge in range(scores.shape[1])]
        order = np.argsort([-tau.value if tau.reason is None else np.inf for tau in taus])
        ranked[own] = scores[own][:, order]
    halves: Sequence[tuple[Half, slice]] = (("strong", slice(0, n)), ("weak", slice(-n, None)))
    found = []
    for half, part in halves:
        members = [_tau(column, people).value for column in ranked[:, part].T]
        found.append(
            ChosenEnsemble(half, _tau(row_means(ranked[:, part]), people), float(np.mean(members)))
        )
    return found


def _tau(scores: ArrayLike, target: ArrayLike) -> Statistic:
    kind: CorrelationKind = "tau_c"
    return correlation(scores, target, kind)
