"""Decisions as Markdown, for a comment on a pull request, and as JUnit XML, which
continuous-integration servers read.

In Markdown names of systems and answers of servers are in code, where no host reads links, mentions
(`@`), references (`#1`) or HTML.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from textwrap import fill
from xml.etree import ElementTree as Xml

from persona_panel.files.secrets import visible
from persona_panel.results.conclusions.wording import counted
from persona_panel.results.console import ReportTable, in_document
from persona_panel.results.requirements.decision import (
    GateResult,
    figure_in_words,
    remark,
    sentence,
)

_WIDTH = 90
"""Of lines of a block, which no host wraps."""


def markdown(
    result: GateResult, conclusion: Sequence[str], shown: ReportTable | None = None
) -> str:
    """Return in Markdown whether the requirements are met, what may be concluded, a table of the
    requirements and the first table that people are shown."""
    n, unmet = len(result.decisions), len(result.unmet)
    of = counted(n, "requirement")
    head = f"{unmet:,} of {of} not met" if unmet else f"{n:,} of {of} met"
    rows = [
        (
            _code(str(decision.requirement)),
            "met" if decision.met else "**not met**",
            _plain(f"{figure_in_words(decision)}{remark(decision)}"),
        )
        for decision in result.decisions
    ]
    parts = [f"### persona-panel: {head}", _block(conclusion)]
    parts.append(_table(("requirement", "result", "found"), rows))
    if shown is not None:
        parts.append(_shown(shown))
    return "\n\n".join(part for part in parts if part) + "\n"


def _shown(table: ReportTable) -> str:
    rows = [
        [
            _code(", ".join(name for name in (line.heading, line.label) if name)),
            *(_plain(" ".join(in_document(cell).split())) for cell in line.cells),
        ]
        for line in table.lines
    ]
    heads = [table.heads[-1], *table.columns]
    return _table([_plain(" ".join(head.split())) for head in heads], rows)


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _plain(text: str) -> str:
    """A text of ours in a cell, in which no sign is markup."""
    return re.sub(r"([\\`*_{}\[\]<>#@|~!])", r"\\\1", visible(text))


def _code(text: str) -> str:
    """A text as code in a cell of a table, whatever it holds."""
    text = visible(text)
    fence = "`" * (_longest_run(text) + 1)
    padded = f" {text} " if text[:1] == "`" or text[-1:] == "`" else text
    return f"{fence}{padded}{fence}".replace("|", "\\|")


def _block(lines: Sequence[str]) -> str:
    """Sentences as a block of code."""
    if not lines:
        return ""
    text = "\n".join(fill(visible(line), _WIDTH) for line in lines)
    fence = "`" * max(3, _longest_run(text) + 1)
    return f"{fence}text\n{text}\n{fence}"


def _longest_run(text: str) -> int:
    return max(map(len, re.findall("`+", text)), default=0)


# What no XML 1.0 document may hold, escaped or not, beyond what `visible` escapes.
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit(result: GateResult, suite: str) -> str:
    """A document with one test suite, in which each requirement is a test case; one that is not met
    has a failure with its sentence.

    Args:
        suite: its name, such as `persona-panel score`.
    """
    n, failures = len(result.decisions), len(result.unmet)
    counts = {"tests": str(n), "failures": str(failures), "errors": "0", "skipped": "0"}
    root = Xml.Element("testsuites", counts)
    cases = Xml.SubElement(root, "testsuite", {"name": _text(suite), **counts, "time": "0"})
    for decision in result.decisions:
        about = {"classname": _text(suite), "name": _text(str(decision.requirement)), "time": "0"}
        case = Xml.SubElement(cases, "testcase", about)
        text = _text(sentence(decision))
        if decision.met:
            Xml.SubElement(case, "system-out").text = text
        else:
            kind = {"message": text, "type": f"requirement: {decision.why}"}
            Xml.SubElement(case, "failure", kind).text = text
    Xml.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{Xml.tostring(root, "unicode")}\n'


def _text(text: str) -> str:
    """A text in characters that XML may hold."""
    return _FORBIDDEN.sub(lambda sign: f"\\u{ord(sign[0]):04x}", visible(text))
