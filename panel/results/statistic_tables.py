"""Rows of statistics as tables: a long one for programs, and the wide ones that people read.

The registries of `persona_panel.statistics` say what statistics are called and how their tables are
laid out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isnan
from typing import Any

from persona_panel.results.table import Column, Key, Table, When, one_line
from persona_panel.statistics.core.display import ALL, COMPOSITE, general
from persona_panel.statistics.core.estimate import Estimate
from persona_panel.statistics.core.registry import RegisteredStatistic, Registry, StatisticTable
from persona_panel.statistics.core.table import HUMANS, NO_PERSONA_GROUP, Row
from persona_panel.statistics.strata import LESS_OTHERS

LINES_SHOWN = 12
"""Of the judges of a panel, how many have a line."""
PARTS_NAMED = 6
"""Of more parts that a value is broken down into, none is named."""
COLUMNS_SHOWN = 12
"""Of more numbers of judges, the first five and every tenth have a column."""
NOBODY = "none"
_LONGEST_HEAD = 24

_REQUIRED_AS = {"alt_test_winning_rate": "omega", "alt_test_advantage": "rho"}

_Line = tuple[str, ...]
_Cells = Iterable[tuple[str, _Line, Row]]
"""Rows, each with the head of its column and what its line is of."""


@dataclass(frozen=True, slots=True)
class StatisticTables:
    """Tables of rows of statistics.

    Attributes:
        word: what those who rated are called, `judge` or `rater`.
        sampled: what intervals are over: `prompts`, or `items` where there are none.
    """

    word: str = "judge"
    sampled: str = "prompts"

    def for_programs(self, rows: Sequence[Row], labels: Mapping[str, str]) -> Table:
        """Return the table of all rows, `statistics`, whose figures a requirement may name:
        `statistic[dimension, group, what it is broken down by, value]` and `p[statistic, …]`.

        Where several are there, a group that is not named is that of all raters, and a dimension
        the whole, or the composite.

        Args:
            labels: of dimensions, by their ids.
        """
        keys = (
            Key("statistic", labels=_REQUIRED_AS),
            Key("dimension", optional=(ALL, COMPOSITE), labels=labels),
            Key("group", optional=_main_groups(rows)),
            Key("by", optional={row.by for row in rows if row.by}),
            Key("by_value"),
        )
        columns = (
            Column("estimate", "estimate", figure="{statistic}", p_figure="p"),
            Column("n_tests", "whole"),
            Column("adjusted_over", "text"),
            Column("n_items", "whole"),
            Column("n_raters", "whole"),
            Column("note", "text"),
        )
        names = [each.name for each in (*keys, *columns[1:])]
        lines = [
            {name: getattr(row, name) for name in names}
            | {"estimate": self.estimate(row), "range": row.limits}
            for row in rows
        ]
        return Table("statistics", keys, columns, lines)

    def estimate(self, row: Row) -> Estimate:
        """Return the figure of a row."""
        return row.estimate(sampled=self.sampled, rater=self.word)

    def summary(self, title: str, rows: Iterable[Row], registry: Registry[Any], by: str) -> Table:
        """Return the short table, of the main statistics: a line for each dimension; for each group
        of raters; or for each other stratum, of the composite alone where there is one.

        Args:
            rows: of a statistic that has several of a line, the first is shown.
            by: `dimension`, `group`, or what strata are.
        """
        headings = {name: self._in_words(head) for name, head in registry.in_summary().items()}
        shown = [row for row in rows if row.statistic in headings]
        heads: tuple[str, ...] = (by,)
        if by not in ("dimension", "group"):
            shown = [row for row in shown if row.by == by]
            if whole := [row for row in shown if row.dimension == COMPOSITE]:
                shown, title = whole, f"{title}: composite"
            else:
                heads = (by, "dimension")
        cells: dict[tuple[str, _Line], Row] = {}
        for row in shown:
            of = {by: row.by_value or "", "dimension": row.dimension, "group": row.group}
            line = tuple(of[head] for head in heads)
            cells.setdefault((headings[row.statistic], line), row)
        return self.table(
            title, [(*of, row) for of, row in cells.items()], heads, headings.values(),
            when="short", digits=2,
        )  # fmt: skip

    def of_registry(
        self, rows: Iterable[Row], registry: Registry[Any], all_raters: str, *, main_only: bool
    ) -> tuple[list[Table], list[str]]:
        """Return the tables that these statistics name, in their order, for the full report, and
        sentences on those that have none.

        Args:
            all_raters: the group of all raters, which some tables are of alone.
            main_only: whether those tables are left out.
        """
        rows = [row for row in rows if not (row.by or "").endswith(LESS_OTHERS)]
        by_table: dict[StatisticTable, list[RegisteredStatistic[Any]]] = {}
        for each in registry:
            by_table.setdefault(each.table, []).append(each)
        tables_of_all, sentences = list[Table](), list[str]()
        for table, statistics in by_table.items():
            if table.all_raters_only and main_only:
                continue
            headings = {each.name: self._in_words(each.heading) for each in statistics}
            wanted = [
                row
                for row in rows
                if row.statistic in headings
                and (row.group == all_raters or not table.all_raters_only)
            ]
            if not wanted:
                continue
            noted = {each.name for each in statistics if each.show_note}
            notes = _notes([row for row in wanted if row.statistic in noted], headings)
            remarks = [*notes, *([self._in_words(table.remark)] if table.remark else [])]
            laid_out = _LAYOUTS[table.columns](self, self._in_words(table.title), wanted, headings)
            tables = list[Table]()
            for part in laid_out:
                if isinstance(part, Table):
                    tables.append(part)
                else:
                    sentences.append(part)
            if tables:
                tables[-1] = replace(tables[-1], remarks=[*tables[-1].remarks, *remarks])
                tables_of_all += tables
            else:
                sentences += remarks
        return tables_of_all, sentences

    def stratum_differences(
        self, rows: Iterable[Row], registry: Registry[Any], by: str
    ) -> list[Table]:
        """Return how far each stratum is above the others on the statistics of the first table, in
        a table for the full report; none where that was not tested."""
        there = [row for row in rows if row.by == f"{by}{LESS_OTHERS}"]
        if not there:
            return []
        names = {row.statistic for row in there}
        first = next(each.table for each in registry if each.name in names)
        headings = {each.name: each.heading for each in registry if each.table == first}
        return [
            self.table(
                f"By {by}: above the mean of the others",
                [
                    (headings[row.statistic], (row.by_value or "", row.dimension), row)
                    for row in there
                    if row.statistic in headings
                ],
                (by, "dimension"),
                headings.values(),
                remarks=[
                    f"Intervals and p: over {self.sampled} alone; p adjusted by Holm's method over "
                    "all lines of a column."
                ],
            )
        ]

    def table(
        self,
        title: str,
        cells: _Cells,
        heads: Sequence[str],
        columns: Iterable[str] | None = None,
        *,
        when: When = "full",
        digits: int = 3,
        remarks: Sequence[str] = (),
    ) -> Table:
        """Return a table for people.

        Args:
            cells: rows of statistics, by the head of their column and by their line.
            heads: what the parts of a line are.
            columns: the heads of columns in their order, as far as there are cells; as they come if
                None.
        """
        by_head: dict[str, dict[_Line, Row]] = {}
        for head, line, row in cells:
            by_head.setdefault(head, {})[line] = row
        shown = [head for head in columns or by_head if head in by_head]
        shown = list(dict.fromkeys(shown))
        lines = dict.fromkeys(line for head in by_head if head in shown for line in by_head[head])
        return Table(
            title,
            tuple(Key(f"of{n}", head) for n, head in enumerate(heads)),
            tuple(
                Column(
                    head, "estimate", head, p="cell",
                    # The panel's: people's come first.
                    figure=[*by_head[head].values()][-1].statistic,
                    digits=0 if _is_count(by_head[head].values()) else digits,
                )
                for head in shown
            ),
            [
                {f"of{n}": part for n, part in enumerate(line)}
                | {
                    head: self.estimate(by_head[head][line])
                    for head in shown
                    if line in by_head[head]
                }
                for line in lines
            ],
            self._in_words(title),
            when=when,
            remarks=remarks,
            programs=False,
        )  # fmt: skip

    def _in_words(self, text: str) -> str:
        return text.replace("judge", self.word)

    def _columns_statistics(
        self, title: str, rows: Sequence[Row], headings: Mapping[str, str]
    ) -> Iterator[Table]:
        cells = [
            (headings[row.statistic], (row.group, row.by_value or ALL, row.dimension), row)
            for row in rows
        ]
        by = self._in_words(next((row.by for row in rows if row.by), ""))
        yield self.table(title, cells, ("group", by, "dimension"), headings.values())

    def _columns_by_value(
        self, title: str, rows: Sequence[Row], headings: Mapping[str, str]
    ) -> Iterator[Table]:
        cells = [(row.by_value or ALL, (row.group, row.dimension), row) for row in rows]
        columns = list(dict.fromkeys(head for head, *_ in cells))
        if len(columns) > COLUMNS_SHOWN:
            columns = [name for n, name in enumerate(columns, 1) if n <= 5 or n % 10 == 0]
        yield self.table(title, cells, ("group", "dimension"), columns)

    def _columns_groups(
        self, title: str, rows: Sequence[Row], headings: Mapping[str, str]
    ) -> Iterator[Table]:
        """Of several groups the first, which are people, and the last, which are all judges."""
        groups = [*dict.fromkeys(row.group for row in rows)]
        cells = [
            (f"{headings[row.statistic]},\n{row.group}", (row.by_value or ALL, row.dimension), row)
            for row in rows
        ]
        columns = [
            f"{heading},\n{group}"
            for heading in headings.values()
            for group in dict.fromkeys((groups[0], groups[-1]))
        ]
        by = self._in_words(next((row.by for row in rows if row.by), ""))
        yield self.table(title, cells, (by, "dimension"), columns)

    def _columns_dimensions(
        self, title: str, rows: Sequence[Row], headings: Mapping[str, str]
    ) -> Iterator[Table]:
        """A line for the whole, then the highest first."""
        by_line: dict[str | None, list[Row]] = {}
        for row in rows:
            by_line.setdefault(row.by_value, []).append(row)
        whole = by_line.pop(None, [])
        order = sorted(by_line, key=lambda name: -_mean(by_line[name]))
        lines = [(None, whole), *((name, by_line[name]) for name in order[:LINES_SHOWN])]
        n_more = len(order) - LINES_SHOWN
        yield self.table(
            title,
            [(row.dimension, (name or NOBODY,), row) for name, own in lines for row in own],
            (self._in_words(next(row.by or "" for row in rows)),),
            dict.fromkeys(row.dimension for row in rows),
            remarks=[f"{n_more} more are in --json."] if n_more > 0 else [],
        )

    def _columns_crossed(
        self, title: str, rows: Sequence[Row], headings: Mapping[str, str]
    ) -> Iterator[Table | str]:
        """A table for each dimension, where it is not too wide to read."""
        by_dimension: dict[str, list[Row]] = {}
        for row in rows:
            by_dimension.setdefault(row.dimension, []).append(row)
        for dimension, its_rows in by_dimension.items():
            heading = f"{title}{_of(dimension)}"
            heads = list(dict.fromkeys(row.by_value or "" for row in its_rows))
            if len(heads) > COLUMNS_SHOWN:
                yield f"{heading}: {len(heads)} columns, which --json has."
                continue
            names = list(dict.fromkeys([*(row.by or "" for row in its_rows), *heads]))
            lines: dict[str, dict[str, Any]] = {name: {"of": name} for name in names}
            for row in its_rows:
                lines[row.by or ""][f"to {row.by_value}"] = row.value
            labels = {}
            if max(map(len, heads)) > _LONGEST_HEAD:
                # Names of judges: a number stands in their place above the columns.
                labels = {name: f"{n}. {name}" for n, name in enumerate(names, start=1)}
            counts = all(row.value == round(row.value) for row in its_rows if row.reason is None)
            yield Table(
                heading,
                (Key("of", "of", labels=labels),),
                tuple(
                    Column(
                        f"to {head}", "number", labels.get(head, head).partition(". ")[0]
                        if labels else head, digits=0 if counts else 2,
                        figure=its_rows[0].statistic,
                    )
                    for head in heads
                ),
                [line for line in lines.values() if labels or len(line) > 1],
                heading,
                when="full",
                programs=False,
            )  # fmt: skip

    def _no_columns(
        self, title: str, rows: Sequence[Row], headings: Mapping[str, str]
    ) -> Iterator[str]:
        """Yield a sentence for each dimension: the value, and its few parts."""
        for row in rows:
            if row.by is not None:
                continue
            of = _of(row.dimension)
            if row.reason is not None:
                yield f"{title}{of}: undefined ({row.reason})."
                continue
            names = [
                other.by_value or ""
                for other in rows
                if other.by is not None
                and (other.statistic, other.group, other.dimension)
                == (row.statistic, row.group, row.dimension)
            ]
            text = f"{general(row.value)} of {row.n_raters} {one_line(headings[row.statistic])}"
            if names and len(names) <= PARTS_NAMED:
                text += f" ({', '.join(names)})"
            yield f"{title}{of}: {text}{f'; {row.note}' if row.note else ''}."


_Layout = Callable[
    [StatisticTables, str, Sequence[Row], Mapping[str, str]], Iterator[Table | str]
]  # fmt: skip
_LAYOUTS: Mapping[str, _Layout] = {
    "statistic": StatisticTables._columns_statistics,
    "by_value": StatisticTables._columns_by_value,
    "group": StatisticTables._columns_groups,
    "dimension": StatisticTables._columns_dimensions,
    "crossed": StatisticTables._columns_crossed,
    "none": StatisticTables._no_columns,
}


def _main_groups(rows: Sequence[Row]) -> set[str]:
    """The group of all raters; nothing where there is none."""
    groups = dict.fromkeys(
        row.group
        for row in rows
        if row.group != HUMANS and not row.group.endswith(NO_PERSONA_GROUP)
    )
    return {ALL} if ALL in groups else set(groups) if len(groups) == 1 else set()


def _is_count(rows: Iterable[Row]) -> bool:
    return all(row.statistic.endswith("_needed") for row in rows)


def _of(dimension: str) -> str:
    return "" if dimension == ALL else f" ({dimension})"


def _mean(rows: Sequence[Row]) -> float:
    values = [row.value for row in rows if not isnan(row.value)]
    return sum(values) / len(values) if values else 0.0


def _notes(rows: Sequence[Row], headings: Mapping[str, str]) -> list[str]:
    """The notes of these rows, those of several groups once."""
    groups: dict[tuple[str, str, str], list[str]] = {}
    for row in rows:
        if row.note and row.reason is None:
            key = headings[row.statistic], row.dimension, row.note
            groups.setdefault(key, []).append(row.group)
    sentences = []
    for (heading, dimension, note), names in groups.items():
        of = [name for name in (", ".join(names), dimension) if name != ALL]
        where = f" ({'; '.join(of)})" if of else ""
        sentences.append(f"{one_line(heading)}{where}: {note}.")
    return sentences
