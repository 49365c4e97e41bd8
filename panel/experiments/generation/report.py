"""What was generated, and what was not, by target."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

from persona_panel.experiments.generation.plan import GenerationPlan, WantedText
from persona_panel.experiments.generation.texts import reads_as_refusal
from persona_panel.graphs.sweeping import TargetAnswer


@dataclass(frozen=True, slots=True)
class TargetTexts:
    """What one target wrote.

    Attributes:
        target: its name.
        wanted: how many answers it was to give.
        rows: how many lines there are of it: one for an answer, or for a question in one.
        missing: how many answers there are not, by reason.
        cut_off: how many lines are of an answer that ended at the token limit.
        refused: how many answers decline.
        trimmed: how many lines were cut at the cap of words: at a `sentence`, or at a `word`.
        words: the fewest words of a line, the median and the most; None without a line.
    """

    target: str
    wanted: int
    rows: int
    missing: Mapping[str, int]
    cut_off: int
    refused: int
    trimmed: Mapping[str, int]
    words: tuple[int, float, int] | None


@dataclass(frozen=True, slots=True)
class GeneratedTexts:
    """What came of a plan: the answers by the digests of what was wanted."""

    plan: GenerationPlan
    answers: Mapping[str, TargetAnswer]

    @property
    def missing(self) -> list[tuple[WantedText, str]]:
        """The texts that there are not, each with the reason."""
        found = []
        for wanted in self.plan.wanted:
            answer = self.answers.get(wanted.digest)
            if answer is None:
                found.append((wanted, "skipped: the run was stopped"))
            elif answer.text is None:
                found.append((wanted, f"{answer.status}: {answer.error}"))
        return found

    @property
    def without_questions(self) -> list[WantedText]:
        """Where each question is a line: the answers in which there is none."""
        if not self.plan.questions:
            return []
        return [wanted for wanted, answer in self._texts() if not self.plan.rows_of(wanted, answer)]

    @property
    def has_rows(self) -> bool:
        """Whether there is any line to write; without one a file that was to be replaced stays."""
        return any(self.plan.rows_of(wanted, answer) for wanted, answer in self._texts())

    @property
    def complete(self) -> bool:
        """Whether every text is there."""
        return not self.missing and not self.without_questions

    def by_target(self) -> list[TargetTexts]:
        """What each target wrote, in the order of the plan."""
        return [self._of(bound.id) for bound in self.plan.targets]

    def document(self) -> dict[str, Any]:
        """As JSON has it: for each target what it wrote, and what is missing."""
        missing = [*self.missing]
        missing += [(wanted, "no question in the answer") for wanted in self.without_questions]
        return {
            "targets": [asdict(one) for one in self.by_target()],
            "missing": [
                {"prompt_id": wanted.prompt.id, "id": wanted.id, "reason": why}
                for wanted, why in missing
            ],
        }

    def _texts(self) -> Iterator[tuple[WantedText, TargetAnswer]]:
        for wanted in self.plan.wanted:
            answer = self.answers.get(wanted.digest)
            if answer is not None and answer.text is not None:
                yield wanted, answer

    def _of(self, target: str) -> TargetTexts:
        of = [wanted for wanted in self.plan.wanted if wanted.target == target]
        texts = [(wanted, answer) for wanted, answer in self._texts() if wanted.target == target]
        rows = [row for wanted, answer in texts for row in self.plan.rows_of(wanted, answer)]
        refused = sum(answer.declined or reads_as_refusal(str(answer.text)) for _, answer in texts)
        missing = Counter(
            why.partition(":")[0] for one, why in self.missing if one.target == target
        )
        missing["no question"] = sum(one.target == target for one in self.without_questions)
        lengths = [row["words"] for row in rows]
        return TargetTexts(
            target=target,
            wanted=len(of),
            rows=len(rows),
            missing={why: n for why, n in missing.items() if n},
            cut_off=sum(row["cut_off"] for row in rows),
            refused=refused,
            trimmed=dict(Counter(row["trimmed"] for row in rows if row["trimmed"])),
            words=(min(lengths), median(lengths), max(lengths)) if lengths else None,
        )
