"""The result of an analysis, described once; formats, requirements and pages read it."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isnan
from typing import TYPE_CHECKING, Any, Literal, Protocol, TextIO, cast, overload

from persona_panel.results.frames import FrameLibrary, frame_of
from persona_panel.results.table import Column, Key, Table, table_columns
from persona_panel.statistics.core.estimate import Estimate

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

    from persona_panel.results.charts import PaperFigure
    from persona_panel.results.page_columns import PageColumns
    from persona_panel.statistics.core.table import Coverage


FORMATS = f"{__package__}.formats"
"""The package of output formats, one a file, called as the file is."""
FORMAT_GROUP = "persona_panel.renderers"
"""The entry points by which another distribution adds one."""


class ResultFormat(Protocol):
    """Protocol of an output format: a module of `persona_panel.results.formats`, or whatever an
    entry point of the group `persona_panel.renderers` names, has this function."""

    def render(self, result: Result, to: TextIO, *, full: bool) -> None:
        """Write any result as text to an open stream; in short, or in full.

        A command's stream masks keys and escapes what is no visible character. A format changes
        nothing in a result and computes no statistic of its own.
        """


@dataclass(frozen=True, slots=True)
class Result:
    """Result of an analysis.

    Attributes:
        analysis: its name.
        conclusion: what may be said, a sentence each, the most important first.
        tables: the most important first, those for programs alone among them.
        remarks: how to read them; `remarks_in_full` follow in the full report.
        reading: how the inputs were read, and what may be wrong in them.
        source: what the run is called that it is of, empty where it is of none.
        coverage: how many judgments that run has and lacks; None where that is not known.
        next_step: what would settle what is open; empty where nothing is.
        page: the file of its page, or the folder of its run; empty where there is neither.
    """

    analysis: str
    conclusion: Sequence[str]
    tables: Sequence[Table]
    remarks: Sequence[str] = ()
    remarks_in_full: Sequence[str] = ()
    reading: Sequence[str] = ()
    source: str = ""
    coverage: Coverage | None = None
    next_step: str = ""
    page: str = ""

    def __getitem__(self, name: str) -> Table:
        """Return the table of a name.

        Raises:
            KeyError: there is none; says which there are.
        """
        for table in self.tables:
            if table.name == name:
                return table
        raise KeyError(f"no table {name!r}; there are {', '.join(t.name for t in self.tables)}")

    @property
    def has_more(self) -> bool:
        """Return whether the full report shows more than the short one."""
        return bool(self.remarks_in_full) or any(
            table.title
            and (
                table.when == "full"
                or len(table.shown_rows(True)) > len(table.shown_rows(False))
                or len(table.shown_columns(True)) > len(table.shown_columns(False))
            )
            for table in self.tables
        )

    def text(self, name: str = "terminal", *, full: bool = False) -> str:
        """Return the result in an output format.

        Raises:
            KeyError: there is no format of that name.
        """
        to = io.StringIO()
        load_format(name).render(self, to, full=full)
        return to.getvalue()

    def __str__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        return self.text("html")

    @overload
    def to_frame(
        self, library: Literal["pandas"] = ..., *, table: str = ...
    ) -> pandas.DataFrame: ...
    @overload
    def to_frame(self, library: Literal["polars"], *, table: str = ...) -> polars.DataFrame: ...
    @overload
    def to_frame(self, library: Literal["pyarrow"], *, table: str = ...) -> pyarrow.Table: ...
    def to_frame(self, library: FrameLibrary = "pandas", *, table: str = "") -> Any:
        """Return a table, the first unless named, as a data frame; see
        `persona_panel.results.table.table_columns`."""
        of = self[table] if table else self.tables[0]
        return frame_of(table_columns(of), library)

    def plot(self, figure: str = "", *, table: str = "", columns: PageColumns = 1) -> PaperFigure:
        """Return a forest plot of the main estimates of a table, unless named the first with any
        that people see.

        Args:
            figure: the figures to draw in place of the main ones, such as `tau_c`.

        Raises:
            ModuleNotFoundError: Matplotlib is not installed.
            ValueError: there are no estimates, or no figures of this name.
        """
        from persona_panel.results.plot import forest_of

        shown = [self[table]] if table else [each for each in self.tables if each.title]
        return forest_of(shown, figure, columns=columns)


def format_names() -> tuple[str, ...]:
    """Return the names of all output formats, in alphabetical order."""
    from persona_panel.rubrics.extensions import extension_names

    return extension_names(FORMATS, FORMAT_GROUP)


def load_format(name: str) -> ResultFormat:
    """Return the output format of a name.

    Raises:
        KeyError: there is none.
        ConfigurationError: another distribution's cannot be imported.
    """
    from persona_panel.files.errors import ConfigurationError
    from persona_panel.rubrics.extensions import ExtensionError, load_extension

    try:
        return cast(ResultFormat, load_extension(FORMATS, FORMAT_GROUP, name))
    except ExtensionError as error:
        raise ConfigurationError(str(error)) from error


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
