"""The answers to the five questions that a panel is asked, as a result holds them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isnan
from typing import Any, Literal

from persona_panel.results.table import Column, Key, Table
from persona_panel.statistics.core.estimate import Estimate

AnswerTo = Literal["best", "trust", "personas", "people", "settle"]

QUESTIONS: Mapping[AnswerTo, str] = {
    "best": "Which system is best?",
    "trust": "Can the panel be trusted?",
    "personas": "Do personas add anything over a plain judge?",
    "people": "May the panel stand in for people?",
    "settle": "What would settle what is open?",
}
"""The questions in the order in which they are answered."""
_VERDICT = re.compile(r".+?(?=:|;| \(|, if |\.(?: |$)|$)")


class AnswerText(str):
    """A question and its answer; `shorter` is the same without what supports the answer, for a
    screen on which the whole has no room."""

    __slots__ = ("shorter",)
    shorter: str


@dataclass(frozen=True, slots=True)
class RunAnswer:
    """An answer: its figure, a sentence with it, and where the evidence is.

    Attributes:
        question: which of `QUESTIONS`.
        sentence: the answer, or what is missing for it.
        estimate: the figure that it rests on, or the reason why there is none.
        command: what prints the evidence or, where there is no answer, gets what is missing; empty
            where nothing does.
        measure: what the figure is called, as in `persona_panel.results.definitions`.
        marks: values that it is compared with, by their labels.
        limits: what a reader has to see beside the verdict.
        shorter: the sentence without what supports it; empty where nothing does.
    """

    question: AnswerTo
    sentence: str
    estimate: Estimate
    command: str = ""
    measure: str = ""
    marks: Mapping[str, float] = field(default_factory=dict)
    limits: Sequence[str] = ()
    shorter: str = ""

    @property
    def verdict(self) -> str:
        """Return the answer in short: the sentence as far as its first figures.

        >>> RunAnswer("people", "Not shown: ω 0.2 (4 people).", Estimate(0.2)).verdict
        'Not shown'
        """
        match = _VERDICT.match(self.sentence)
        return match[0] if match else self.sentence

    @property
    def is_known(self) -> bool:
        """Return whether there is a figure, so that the question is answered."""
        return not isnan(self.estimate.value)

    @property
    def text(self) -> AnswerText:
        """Return the question and the sentence."""
        question = QUESTIONS[self.question]
        text = AnswerText(f"{question} {self.sentence}")
        text.shorter = f"{question} {self.shorter or self.sentence}"
        return text

    def document(self) -> dict[str, Any]:
        """Return the answer for programs."""
        return {
            "question": self.question,
            "sentence": self.sentence,
            "estimate": self.estimate.document(),
            "command": self.command,
        }


def answers_table(answers: Sequence[RunAnswer]) -> Table:
    """Return the answers as a table, for programs: a row a question.

    A requirement names its estimates `answer[best]`, and so on.
    """
    columns = (
        Column("estimate", "estimate", figure="answer"),
        Column("sentence", "text"),
        Column("command", "text"),
    )
    rows = [answer.document() | {"estimate": answer.estimate} for answer in answers]
    return Table("answers", (Key("question"),), columns, rows)
