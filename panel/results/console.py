"""The consoles of results, and tables in which no figure wraps and no name is cut."""

from __future__ import annotations

import os
import re
from bisect import bisect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby
from math import isnan, nan
from typing import Any, TextIO

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from persona_panel.files.secrets import unguarded, visible
from persona_panel.rubrics.segmentation import graphemes
from persona_panel.statistics.core.display import NONE, interval_end

_WITHOUT_END = 100_000
_GAP = 3
_INDENT = 2
NARROWEST_LABEL = 20
"""The narrowest width to which names are folded so that more figures go beside each other; a table
may say otherwise."""
_LEAST = 4
"""The narrowest width of names where a single figure takes what room there is."""
_WIDEST_HEAD = 16
_PIECE = re.compile(r"[^\s/|:_-]*[\s/|:_-]+|[^\s/|:_-]+")
"""A piece within which a name is not parted: a word, with the signs that part it from the next."""


class FigureText(Text):
    """Text of a figure in a table, and the figure.

    Attributes:
        value, low, high, p_value: NaN for what there is not. A cell that is an interval alone has
            no value.
        reason: why there is no figure; what is shown is that reason, folded.
    """

    __slots__ = ("high", "low", "p_value", "reason", "value")

    def __init__(
        self,
        text: str,
        style: str = "",
        *,
        value: float = nan,
        low: float = nan,
        high: float = nan,
        p_value: float = nan,
        reason: str = "",
    ) -> None:
        super().__init__(text, style)
        self.value, self.low, self.high, self.p_value = value, low, high, p_value
        self.reason = reason

    def in_document(self) -> str:
        """Return the text for a table in a document: an interval in brackets, a dash in place of a
        reason, which stands below the table."""
        if self.reason:
            return NONE
        if isnan(self.value) and not isnan(self.low):
            return f"[{interval_end(self.low)}, {interval_end(self.high)}]"
        return self.plain


class _Terminal(Console):
    """A console on which no text speaks to the terminal, nor is read as rich's markup."""

    def __init__(self, to: TextIO | None = None, *, stderr: bool = False) -> None:
        super().__init__(file=to, stderr=stderr, markup=False, emoji=False, highlight=False)

    def print(self, *objects: Any, **options: Any) -> None:
        # A sentence is a line: a line break in it came with a name or an error.
        super().print(*map(_on_a_line, objects), **options)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterator[Segment]:
        for segment in super().render(renderable, options):
            if segment.control or segment.text.isprintable():
                yield segment
            else:
                yield Segment(visible(segment.text, keep="\n"), segment.style)


def _on_a_line(cell: Any) -> Any:
    """A text or sentence in visible characters; anything else as it is."""
    if isinstance(cell, str):
        return visible(cell)
    if isinstance(cell, Text) and (clean := visible(cell.plain)) != cell.plain:
        return Text(clean, cell.style)
    return cell


def notices() -> Console:
    """Standard error."""
    return _Terminal(stderr=True)


def output(to: TextIO | None = None) -> Console:
    """A stream, standard output unless told otherwise: as wide as the terminal or COLUMNS says,
    and where there is neither (a pipe, a file) as wide as what is printed, so that whoever
    searches it finds names whole."""
    console = _Terminal(unguarded(to))
    if not console.is_terminal and not os.environ.get("COLUMNS"):
        console.width = _WITHOUT_END
    return console


@dataclass(frozen=True, slots=True)
class TableRow:
    """A line of a table: its name, its figures, and the heading that it stands under."""

    label: str
    cells: Sequence[Text]
    heading: str = ""


@dataclass(frozen=True, slots=True)
class ReportTable:
    """A table as `show_table` is given it."""

    title: str
    heads: Sequence[str]
    columns: Sequence[str]
    lines: Sequence[TableRow]

    def reasons(self) -> list[str]:
        """Return why figures are undefined: a sentence for each reason, with where it holds."""
        reasons: dict[str, list[str]] = {}
        for line in self.lines:
            for column, cell in zip(self.columns, line.cells, strict=True):
                if isinstance(cell, FigureText) and cell.reason:
                    of = "; ".join(part for part in (line.heading, line.label) if part)
                    reasons.setdefault(cell.reason, []).append(f"{' '.join(column.split())} ({of})")
        return [f"Undefined: {', '.join(those)}: {reason}." for reason, those in reasons.items()]


def in_document(cell: Text) -> str:
    """Return the text of a cell in a table of a document; see `FigureText.in_document`."""
    return cell.in_document() if isinstance(cell, FigureText) else cell.plain


def show_table(
    console: Console,
    title: str,
    heads: Sequence[str],
    columns: Sequence[str],
    lines: Sequence[TableRow],
    *,
    narrowest: int = NARROWEST_LABEL,
    at_most: int = 0,
) -> None:
    """Print a table, in parts one below the other where it is wider than the console.

    A heading that lines in a row have in common stands above them, over the whole width. Names
    that are too wide are folded between their words; figures only where one has no room by itself.

    Args:
        heads: what the labels are, after what the headings are, where there are any.
        columns: what the figures are.
        narrowest: to how many columns names are folded, at most, so that the table has fewer parts.
        at_most: how wide it is where the console has no width; as wide as it gets, where 0.
    """
    screen = at_most if at_most and console.width == _WITHOUT_END else console.width
    figures = [[Text(head), *cells] for head, cells in zip(columns, _turned(lines), strict=True)]
    labels = [legible(line.label) for line in lines]
    indent = _INDENT * (len(heads) - 1)
    head = "\n".join(" " * _INDENT * depth + name for depth, name in enumerate(heads))
    natural = max(_width([Text(head)]), *(cell_len(label) + indent for label in labels))
    if _GAP + natural + sum(_GAP + _width(column) for column in figures) > screen:
        for column in figures:
            column[0] = Text("\n".join(folded(column[0].plain, _WIDEST_HEAD)))
    room = max(_LEAST, screen - 2 * _GAP - _LEAST)
    # Sentences leave names whole.
    prose = max(_LEAST, screen // 2, screen - 2 * _GAP - natural)
    figures = [
        [_fitting(cell, prose if _is_prose(cell) else room) for cell in column]
        for column in figures
    ]
    widths = [_width(column) for column in figures]
    width = _label_width(natural, widths, screen, narrowest)
    names = [Text("\n".join(folded(head, width)))] + [
        Text("\n".join(" " * indent + part for part in folded(label, width - indent)))
        for label in labels
    ]
    headings = [legible(line.heading) for line in lines]
    console.print(Text(title, "bold"))
    start = 0
    for n in _parts(width, widths, screen):
        if start:
            console.print()
        part = [names, *figures[start : start + n]]
        _print_part(console, headings, part, [width, *widths[start : start + n]])
        start += n
    console.print()


def _is_prose(cell: Text) -> bool:
    if not isinstance(cell, FigureText):
        return False
    return all(isnan(each) for each in (cell.value, cell.low, cell.p_value))


def _fitting(cell: Text, room: int) -> Text:
    if _width([cell]) <= room:
        return cell
    return Text("\n".join(folded(cell.plain, room)), cell.style)


def _turned(lines: Sequence[TableRow]) -> Iterator[tuple[Text, ...]]:
    return zip(*(line.cells for line in lines), strict=True)


def _label_width(natural: int, widths: Sequence[int], room: int, most_folded: int) -> int:
    """The widest that labels can have without parting the table into more parts."""
    beside_figure = max(_LEAST, room - 2 * _GAP - max(widths))
    narrowest = min(natural, most_folded, beside_figure)
    fewest = len(_parts(narrowest, widths, room))
    allowed = range(narrowest, min(natural, beside_figure) + 1)
    return max(width for width in allowed if len(_parts(width, widths, room)) == fewest)


def _parts(label: int, widths: Sequence[int], room: int) -> list[int]:
    """Return how many columns each part of a table has, at least 1."""
    parts: list[int] = []
    left = -1
    for width in widths:
        left -= _GAP + width
        if left < 0:
            parts.append(0)
            left = room - (_GAP + label) - (_GAP + width)
        parts[-1] += 1
    return parts


def _print_part(
    console: Console,
    headings: Sequence[str],
    columns: Sequence[Sequence[Text]],
    widths: Sequence[int],
) -> None:
    head, *rows = zip(*columns, strict=True)
    console.print(_grid([head], widths))
    line = "-" if console.options.ascii_only else "─"
    console.print(Text(" " + line * (sum(widths) + _GAP * len(widths) - 1)))
    for heading, group in groupby(zip(headings, rows, strict=True), key=lambda pair: pair[0]):
        if heading:
            for line in folded(heading, max(console.width - 2 * _INDENT, NARROWEST_LABEL)):
                console.print(Text(" " * _INDENT + line))
        console.print(_grid([row for _, row in group], widths))


def _grid(rows: Sequence[Sequence[Text]], widths: Sequence[int]) -> Table:
    grid = Table(box=None, show_header=False, padding=(0, 1, 0, _GAP - 1))
    for place, width in enumerate(widths):
        grid.add_column(width=width, justify="right" if place else "left", no_wrap=True)
    for row in rows:
        grid.add_row(*row)
    return grid


def _width(column: Sequence[Text]) -> int:
    return max(cell_len(line) for cell in column for line in cell.plain.split("\n"))


def legible(name: str) -> str:
    """A name from a file without its control characters, whole."""
    return visible(name)


def shortened(text: str, width: int) -> str:
    """Return a text in at most `width` columns, with an ellipsis where it is longer."""
    return text if cell_len(text) <= width else beginning(text, width - 1).rstrip() + "…"


def beginning(text: str, width: int) -> str:
    """The characters with which a text begins that have room in `width` columns."""
    letters = graphemes(text)
    return "".join(letters[: bisect([*accumulate(map(cell_len, letters))], width)])


def folded(name: str, width: int) -> list[str]:
    """Return the lines that a name makes in a width, parted between its words, in a word only where
    that is wider by itself. A line break of its own stays one."""
    lines = []
    for whole in name.split("\n"):
        line = ""
        for piece in _PIECE.findall(whole):
            if line and cell_len((line + piece).rstrip()) > width:
                lines.append(line)
                line = ""
            line += piece
            while cell_len(line.rstrip()) > width:
                lines.append(beginning(line, width) or graphemes(line)[0])
                line = line[len(lines[-1]) :]
        lines.append(line)
    return [line.rstrip() for line in lines]
