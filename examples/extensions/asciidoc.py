"""The estimates of every table as AsciiDoc."""

from typing import TextIO

from persona_panel.results.result import Result


def render(result: Result, to: TextIO, *, full: bool) -> None:
    for table in result.tables:
        columns = [column for column in table.columns if column.kind == "estimate"]
        print(f".{table.title}\n|===", file=to)
        for row in table.shown_rows(full):
            print(f"|{table.label(row)}", *(f"|{row[column.name]}" for column in columns), file=to)
        print("|===", file=to)
