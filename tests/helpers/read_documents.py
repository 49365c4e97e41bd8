"""Tables of documents, read by parsers that are not ours."""

from __future__ import annotations

import csv
import io
import re

from markdown_it import MarkdownIt
from pylatexenc.latex2text import LatexNodes2Text
from pylatexenc.latexwalker import LatexWalker


def csv_rows(text: str) -> list[dict[str, str]]:
    """The lines of the table, by the standard library's reader."""
    return list(csv.DictReader(io.StringIO(text), strict=True))


def latex_tables(text: str) -> list[list[list[str]]]:
    """The cells of each tabular as they are typeset, by pylatexenc; what is not LaTeX raises."""
    nodes, _, _ = LatexWalker(text, tolerant_parsing=False).get_latex_nodes()
    found = []
    for table in nodes:
        if getattr(table, "environmentname", None) != "table":
            continue
        for node in table.nodelist:
            if getattr(node, "environmentname", None) == "tabular":
                body = "".join(one.latex_verbatim() for one in node.nodelist[1:])
                body = re.sub(r"\\(top|mid|bottom)rule|\\multicolumn\{\d+\}\{l\}", "", body)
                lines = [line for line in body.split("\\\\\n") if line.strip()]
                found.append([re.split(r"(?<!\\)&", line) for line in lines])
    plain = LatexNodes2Text(keep_comments=False, strict_latex_spaces=True).latex_to_text
    return [[[plain(cell).strip() for cell in line] for line in table] for table in found]


def markdown_tables(text: str) -> list[list[list[str]]]:
    """The cells of each table as text, by markdown-it, which HTML, links or emphasis in a cell
    would give other tokens than text."""
    tables: list[list[list[str]]] = []
    in_table = False
    for token in MarkdownIt("commonmark").enable("table").parse(text):
        in_table = token.type == "table_open" or (in_table and token.type != "table_close")
        if token.type == "table_open":
            tables.append([])
        elif token.type == "tr_open":
            tables[-1].append([])
        elif token.type == "inline" and in_table:
            kinds = {child.type for child in token.children or []}
            assert kinds <= {"text", "text_special", "strong_open", "strong_close", "html_inline"}
            shown = [child for child in token.children or [] if child.content != "<br>"]
            assert "html_inline" not in {child.type for child in shown}
            tables[-1][-1].append("".join(child.content for child in shown))
    return tables
