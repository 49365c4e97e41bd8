"""The comparisons of a run: which of two responses each judge preferred, and what that says of the
systems. Holds no texts."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
from numpy.typing import NDArray

from persona_panel.files.documents import json_number
from persona_panel.files.response_batch import Item
from persona_panel.graphs import Judge, Judgment
from persona_panel.rubrics.comparison import Outcome
from persona_panel.statistics.core.arrays import Random, Reason

if TYPE_CHECKING:
    from persona_panel.statistics.core.strengths import (
        StrengthDifference,
        Strengths,
        SystemStrength,
    )

_OUTCOME_CODE: dict[str, int] = {name: code for code, name in enumerate(get_args(Outcome), start=1)}


class CollectedComparisons:
    """What judges that compare have said so far; a judgment that comes again replaces the earlier
    one."""

    def __init__(self, items: Sequence[Item], judges: Sequence[Judge]) -> None:
        self._items, self._judges = items, judges
        self._of_prompt: dict[str, list[Item]] = {}
        self._place: dict[tuple[str, str], int] = {}
        # By prompt `(judges, responses, responses)`: how the comparison ended in which the one of
        # the line stood first. Small, as a run may have millions.
        self._outcomes: dict[str, NDArray[np.uint8]] = {}

    def add(self, judgment: Judgment, column: int) -> None:
        """Take in what the judge in this column says of a response and those after it."""
        if not judgment.comparisons and judgment.prompt_id not in self._outcomes:
            return
        if not self._place:
            self._number()
        prompt = judgment.prompt_id
        if prompt not in self._outcomes:
            n = len(self._of_prompt[prompt])
            self._outcomes[prompt] = np.zeros((len(self._judges), n, n), dtype=np.uint8)
        line = self._outcomes[prompt][column, self._place[prompt, judgment.id]]
        line[:] = 0
        # What was skipped has no ratings either: which answers a stopped run has is no accident.
        if judgment.status == "scored":
            for other, outcome in judgment.comparisons.items():
                line[self._place[prompt, other]] = _OUTCOME_CODE[outcome]

    def _number(self) -> None:
        """Number the responses of each prompt, which most runs need not."""
        for item in self._items:
            those = self._of_prompt.setdefault(item.prompt_id, [])
            self._place[item.prompt_id, item.id] = len(those)
            those.append(item)

    def strengths(
        self, prompts: Collection[str], columns: Sequence[int], random: Random
    ) -> Strengths | None:
        """The strengths of the systems, by these judges on these prompts; None where no judge
        compared."""
        there = [prompt for prompt in self._of_prompt if prompt in self._outcomes]
        if not there:
            return None
        # Of panels that compare, which most do not.
        from persona_panel.statistics.core.strengths import (
            MOST_SYSTEMS,
            WinCounts,
            bradley_terry,
            without_strengths,
        )

        systems = sorted({item.system for item in self._items})
        if len(systems) > MOST_SYSTEMS:
            return without_strengths(systems, Reason.MANY_SYSTEMS, random)
        place = {system: at for at, system in enumerate(systems)}
        shape = (len(systems), len(systems))
        by_prompt = WinCounts(*np.zeros((2, len(there), *shape)))
        by_judge = WinCounts(*np.zeros((2, len(columns), *shape)))
        for row, prompt in enumerate(there):
            if prompt not in prompts:
                continue
            member = np.zeros((len(self._of_prompt[prompt]), len(systems)))
            for line, item in enumerate(self._of_prompt[prompt]):
                member[line, place[item.system]] = 1
            for found, counts in zip(
                _counted(self._outcomes[prompt][columns]),
                ((by_prompt.wins, by_judge.wins), (by_prompt.ties, by_judge.ties)),
                strict=True,
            ):
                of_systems = member.T @ found @ member
                counts[0][row] = of_systems.sum(axis=0)
                counts[1][:] += of_systems
        if random == "prompts":
            return bradley_terry(systems, by_prompt)
        judges = [self._judges[column] for column in columns]
        factors = {
            "persona": [judge.persona for judge in judges],
            "model": [judge.model for judge in judges],
        }
        return bradley_terry(systems, by_prompt, by_judge=by_judge, factors=factors)


def _counted(outcomes: NDArray[np.uint8]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Wins of the response of the line over that of the column, and ties `(judges, responses,
    responses)`.

    Where a judge was asked in both orders, a pair counts only with both answers, as it does in
    `preferred`: in one alone, the place would count as if it were merit.
    """
    there = outcomes > 0
    both = there & there.swapaxes(1, 2)
    counts = np.where(both.any(axis=(1, 2), keepdims=True), both, there)
    first, second, tie = (counts & (outcomes == code) for code in _OUTCOME_CODE.values())
    wins = first.astype(np.float64) + second.swapaxes(1, 2)
    ties = tie.astype(np.float64) + tie.swapaxes(1, 2)
    return wins, ties


def strengths_document(strengths: Strengths) -> dict[str, Any]:
    """Strengths as summary.json has them."""
    return {
        "systems": [_entry(one) for one in strengths.systems],
        "differences": [_entry(one) for one in strengths.differences],
        "ties": json_number(strengths.ties),
        "random": strengths.random,
    }


def _entry(one: SystemStrength | StrengthDifference) -> dict[str, Any]:
    return {
        name: json_number(value) if isinstance(value, float) else value
        for name, value in asdict(one).items()
    }
