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
from persona_panel.results.conclusions.wording import counted
from persona_panel.results.result import Result
from persona_panel.results.table import Column, Key, Table, row_of


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


def texts_result(texts: GeneratedTexts) -> Result:
    """Return the result of what was generated: by target, and what is missing."""
    found = texts.by_target()
    there, wanted = len(texts.plan.wanted) - len(texts.missing), len(texts.plan.wanted)
    said = f"{there:,} of {counted(wanted, 'answer')} came."
    if not texts.has_rows:
        whys = [why for _, why in texts.missing] or ["no answer has a question"]
        said = f"No response came: {min(whys, key=_is_of_another)}."
    missing = texts.document()["missing"]
    reasons = [
        {"target": one.target, "reason": why, "n": n}
        for one in found
        for why, n in one.missing.items()
    ]
    tables = [
        _targets(texts, found),
        Table("reasons", (Key("target"), Key("reason")), (Column("n", "whole"),), reasons),
        Table("missing", (Key("prompt_id"), Key("id")), (Column("reason", "text"),), missing),
    ]
    return Result("generate", [said], tables, list(_remarks(texts, found)))


def _is_of_another(why: str) -> bool:
    """Whether a text is skipped, which it is for what went wrong with another."""
    return why.startswith("skipped")


def _targets(texts: GeneratedTexts, found: list[TargetTexts]) -> Table:
    capped = texts.plan.max_words is not None
    columns = (
        Column("wanted", "whole"),
        Column("rows", "whole", "responses", figure="responses"),
        Column("words_median", "number", "words:\nmedian", digits=0, figure="words"),
        Column("words_least", "whole", "least"),
        Column("words_most", "whole", "most"),
        Column("trimmed", "whole", "trimmed" if capped else "", figure="trimmed"),
        Column("trimmed_in_sentence", "whole"),
        Column("cut_off", "whole", "cut off", figure="cut_off"),
        Column("refused", "whole", "refused", figure="refused"),
        Column("missing", "whole", "missing", figure="missing"),
    )
    rows = []
    for one in found:
        least, middle, most = one.words or (None, None, None)
        rows.append(
            row_of(
                one, columns, target=one.target, words_least=least, words_median=middle,
                words_most=most, trimmed=sum(one.trimmed.values()),
                trimmed_in_sentence=one.trimmed.get("word", 0), missing=sum(one.missing.values()),
            )
        )  # fmt: skip
    return Table("targets", (Key("target", "target"),), columns, rows, "Generated responses")


def _remarks(texts: GeneratedTexts, found: list[TargetTexts]) -> Iterator[str]:
    """Yield what the columns mean, where something is in them."""
    if n := sum(one.cut_off for one in found):
        yield (
            f"{counted(n, 'response')} ended at the token limit (field cut_off): the end is "
            "missing. A larger --words raises the limit."
        )
    if n := sum(sum(one.trimmed.values()) for one in found):
        yield (
            f"{counted(n, 'response')} of more than {texts.plan.max_words:,} words "
            f"{'was' if n == 1 else 'were'} cut at the end of a sentence (field trimmed)."
        )
    if n := sum(one.trimmed.get("word", 0) for one in found):
        yield (
            f"{n:,} of these {'has' if n == 1 else 'have'} no sentence that ends so early, and "
            f"{'was' if n == 1 else 'were'} cut after a word."
        )
    if n := sum(one.refused for one in found):
        yield (
            f"{counted(n, 'answer')} {'reads' if n == 1 else 'read'} as a refusal (field refused)."
        )
