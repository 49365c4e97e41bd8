"""The tables of results: columns that know what they hold, rows by their names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from persona_panel.results.frames import ColumnKind, FrameColumn, FrameMethod
from persona_panel.statistics.core.display import ALL
from persona_panel.statistics.core.estimate import Estimate

CellKind = Literal["estimate", "number", "p", "whole", "text", "texts", "flag"]
"""The kind of a column's cells: estimates, numbers without an interval, p-values, whole numbers,
texts, lists of texts, true or false; each cell may be None."""

When = Literal["always", "short", "full"]
"""In which reports people see something: in both, in the short one, in the full one (`--full`)."""

_FRAME_KINDS: dict[CellKind, ColumnKind] = {
    "number": "number", "p": "number", "whole": "whole", "text": "text", "texts": "text",
    "flag": "flag",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Key:
    """A part of what a row is of: a system, a dimension, a judge.

    Attributes:
        name: its field for programs.
        head: what people read above it; people are not shown a key without one.
        optional: the values that a requirement may leave out, such as `composite`.
        labels: what people read in place of a value, by the value.
    """

    name: str
    head: str = ""
    optional: Collection[str] = frozenset()
    labels: Mapping[str, str] = field(default_factory=dict)

    def label(self, row: Mapping[str, Any]) -> str:
        """Return what people read of this key in a row; empty where the row has none."""
        value = row.get(self.name)
        return "" if value is None else self.labels.get(value, str(value))


@dataclass(frozen=True, slots=True)
class Column:
    """Description of a column.

    Attributes:
        name: its field for programs.
        kind: what its cells are.
        head: what people read above it; a column without one is for programs alone.
        unit: of its values, such as `points`.
        better: which values are better, where some are.
        figure: the name by which a requirement may name a cell, empty where none may; `{key}` in it
            stands for the value of that key, which is then no key of the figure.
        p_figure: the same of the p-value of an estimate.
        words: of texts that a requirement may name: which there are.
        digits: after the decimal point; with 0 an estimate is a whole number, such as a rank.
        small: whether a number that would be rounded to nothing has two significant digits.
        signed: whether values above 0 have a sign.
        p: whether people see the p-value of an estimate: in a column of its own, or in the cell.
        ends_only: whether people see the interval alone, of a value that stands beside it.
        full: whether people see the column in the full report alone.
        of: the column of whole numbers that these are a part of: people read `16/40`.
        definition: how the figure is computed, with the source of the formula, for pages; of a head
            that several tables have, `persona_panel.results.definitions` has it.
    """

    name: str
    kind: CellKind
    head: str = ""
    unit: str = ""
    better: Literal["", "higher", "lower"] = ""
    figure: str = ""
    p_figure: str = ""
    words: tuple[str, ...] = ()
    digits: int = 2
    small: bool = False
    signed: bool = False
    p: Literal["", "column", "cell"] = ""
    ends_only: bool = False
    full: bool = False
    of: str = ""
    definition: str = ""


def for_programs(kind: CellKind, *names: str) -> tuple[Column, ...]:
    """Return columns of a kind that people are not shown."""
    return tuple(Column(name, kind) for name in names)


def table_columns(table: Table) -> list[FrameColumn]:
    """A data frame with one row for each row of the table.

    Columns: the keys; of a column `x` of estimates `x`, `x_low`, `x_high` and, as far as any cell
    has them, `x_p`, `x_p_adjusted`, `x_n`, `x_reason`; the other columns by their names, lists of
    texts joined by `; `.
    """
    return [
        *(FrameColumn(key.name, "text", [row.get(key.name) for row in table.rows])
          for key in table.keys),
        *(part for column in table.columns for part in _frame_columns(table, column)),
    ]  # fmt: skip


def _frame_columns(table: Table, column: Column) -> Iterator[FrameColumn]:
    cells = [row.get(column.name) for row in table.rows]
    if column.kind != "estimate":
        kind = _FRAME_KINDS[column.kind]
        texts = column.kind == "texts"
        yield FrameColumn(column.name, kind, ["; ".join(c or ()) if texts else c for c in cells])
        return
    documents = [{} if cell is None else cell.document() for cell in cells]
    for part, kind, always in (
        ("value", "number", True), ("low", "number", True), ("high", "number", True),
        ("p", "number", False), ("p_adjusted", "number", False), ("n", "whole", False),
        ("reason", "text", False),
    ):  # fmt: skip
        values = [document.get(part) for document in documents]
        if always or any(value is not None for value in values):
            name = column.name if part == "value" else f"{column.name}_{part}"
            yield FrameColumn(name, kind, values)


@dataclass(frozen=True, slots=True)
class Table:
    """A table of a result.

    Attributes:
        name: for programs, unique in its result.
        keys, columns: what rows are of, and what they have.
        rows: by the names of keys and columns; a name that a row lacks is None there.
        title: for people; a table without one is for programs alone.
        when: in which reports people see it.
        short: which rows the short report has: by the name of a key, or of anything else that rows
            have, those of its values that are shown; all where it names none.
        sides: the keys of the two sides of differences, `a − b`: a requirement may name either
            first, and the figure is then turned.
        chart: the column that a chart is of; the first of estimates unless named. In it `wide` is
            the column of wider intervals of the same values, `hollow` that of numbers which stand
            for a value that is not there, `beside` one of estimates drawn below, such as people's,
            and `marks`, of rows, values below these, such as prompts'.
        heat: a table with one is shown as a heat map, each cell tinted by its sign and size where
            it is beyond chance; from this size on the tint is deepest, where none is larger.
        scale: the ends of the scale of a table that is shown as a heat map of means, each cell
            shaded by its place on it.
        curve: of a table that is drawn as a specification curve, what rows have the choices in that
            stand as marks below it, each with its kind; `main` in a row says that it is the main
            analysis.
        remarks: what is said below it.
        caution: what is said beside each requirement on a figure of it; `contradicted` in a row
            says why none on a figure of that row is met.
        programs: whether it is in the formats for programs, and its figures may be required; not
            one that shows people anew what stands in another table.
    """

    name: str
    keys: tuple[Key, ...]
    columns: tuple[Column, ...]
    rows: Sequence[Mapping[str, Any]]
    title: str = ""
    when: When = "always"
    short: Mapping[str, Collection[Any]] = field(default_factory=dict)
    sides: tuple[str, str] | None = None
    chart: str = ""
    wide: str = ""
    hollow: str = ""
    beside: str = ""
    heat: float | None = None
    scale: tuple[float, float] | None = None
    curve: str = ""
    remarks: Sequence[str] = ()
    caution: str = ""
    programs: bool = True

    to_frame = FrameMethod(table_columns)
    """See `persona_panel.results.table.table_columns`."""

    def is_shown(self, full: bool) -> bool:
        """Return whether people see it in the short or the full report."""
        there = self.when in ("always", "full" if full else "short")
        return bool(self.title) and there and bool(self.shown_rows(full))

    def shown_rows(self, full: bool) -> list[Mapping[str, Any]]:
        """Return the rows that people see."""
        if full:
            return list(self.rows)
        return [
            row
            for row in self.rows
            if all(row.get(name) in values for name, values in self.short.items())
        ]

    def shown_columns(self, full: bool) -> list[Column]:
        """Return the columns that people see: those with a head and, of these, with any cell."""
        rows = self.shown_rows(full)
        return [
            column
            for column in self.columns
            if column.head
            and (full or not column.full)
            and any(row.get(column.name) is not None for row in rows)
        ]

    def charted(self) -> Column | None:
        """Return the column of estimates that a chart is of; None where there is none."""
        if self.heat is not None or self.scale is not None:
            return None
        of = [column for column in self.columns if column.kind == "estimate"]
        return next((column for column in of if column.name == self.chart), of[0] if of else None)

    def label(self, row: Mapping[str, Any], names: Collection[str] = ()) -> str:
        """Return what people call a row: its keys, or those with these names, `a − b` for sides;
        what is of `all` is not said beside others."""
        keys = [key for key in self.keys if key.head and (not names or key.name in names)]
        if self.sides is None:
            labels = [key.label(row) for key in keys]
        else:
            both = [key.label(row) for key in self.keys if key.name in self.sides]
            labels = [key.label(row) for key in keys if key.name not in self.sides]
            labels = (
                [" − ".join(both), *labels] if not names or {*self.sides} & {*names} else labels
            )
        text = [label for label in labels if label and label != ALL] or labels[:1]
        return ", ".join(text)


def choices_by_kind(of_rows: Sequence[Sequence[tuple[str, str]]]) -> list[tuple[str, str]]:
    """Return the choices of a specification curve by kind, the commonest of each first."""
    counts = Counter(choice for choices in of_rows for choice in choices)
    kinds = [kind for kind, _ in counts]
    return sorted(counts, key=lambda choice: (kinds.index(choice[0]), -counts[choice]))


def one_line(head: str) -> str:
    """Return a head without its line breaks.

    >>> one_line("mean\\ncorrelation")
    'mean correlation'
    """
    return " ".join(head.split())


def row_of(record: object, columns: Sequence[Key | Column], **values: Any) -> dict[str, Any]:
    """Return a row: these values, and of the other keys and columns the record's attributes.

    >>> row_of(Estimate(1.0, n=3), (Column("value", "number"), Column("n", "whole")), n=4)
    {'n': 4, 'value': 1.0}
    """
    names = [column.name for column in columns if column.name not in values]
    return values | {name: getattr(record, name) for name in names}


def document_of(table: Table) -> list[dict[str, Any]]:
    """Return the rows for programs: an estimate as an object, what is undefined as NaN or None."""
    names = [*(key.name for key in table.keys), *(column.name for column in table.columns)]
    return [{name: _plain(row.get(name)) for name in names} for row in table.rows]


def _plain(cell: Any) -> Any:
    if isinstance(cell, Estimate):
        return cell.document()
    return list(map(str, cell)) if isinstance(cell, tuple) else cell
