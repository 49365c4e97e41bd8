"""Results as Markdown, for a pull request or a README: sentences, and tables with pipes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TextIO

from persona_panel.results.console import ReportTable, in_document
from persona_panel.results.result import Result
from persona_panel.results.shown import ResultPart, parts_of

_SIGNS = re.compile(r"[\\`*_{}\[\]<>|#~$&]|(?<=\w):(?=//)")
_BULLET = re.compile(r"^(?=[-+]\s)|(?<=^\d)(?=[.)]\s)|(?<=^\d\d)(?=[.)]\s)")


def markdown_text(text: str) -> str:
    """A text on one line, in which no sign is taken for Markdown, for HTML or for an address."""
    return _SIGNS.sub(_escaped, " ".join(text.split()))


def _escaped(match: re.Match[str]) -> str:
    sign = match[0]
    return f"&#{ord(sign)};" if sign in "<>&:" else f"\\{sign}"


def render(result: Result, to: TextIO, *, full: bool) -> None:
    """Write sentences, and tables with pipes."""
    write(list(parts_of(result, full)), to)


def write(parts: Sequence[ResultPart], to: TextIO) -> None:
    """Write sentences and tables in their order."""
    written = [
        _table(part) if isinstance(part, ReportTable) else _BULLET.sub(r"\\", markdown_text(part))
        for part in parts
    ]
    print("\n\n".join(written), file=to)


def _table(table: ReportTable) -> str:
    n = len(table.columns)
    lines = [
        f"**{markdown_text(table.title)}**",
        "",
        _line([table.heads[-1], *table.columns]),
        f"|---|{'---:|' * n}",
    ]
    heading = ""
    for row in table.lines:
        if row.heading != heading:
            heading = row.heading
            lines.append(f"| **{markdown_text(heading)}** |{' |' * n}")
        lines.append(_line([row.label, *(in_document(cell) for cell in row.cells)]))
    return "\n".join(lines)


def _line(cells: Sequence[str]) -> str:
    written = ["<br>".join(map(markdown_text, cell.split("\n"))) for cell in cells]
    return f"| {' | '.join(written)} |"
