r"""Results as LaTeX, for a paper: a `table` for each, with the rules of the package booktabs.

Sentences are comments: what may be concluded before the tables, remarks below each, for the
caption. Compiles with pdfLaTeX; names in other scripts than Latin and Greek need XeLaTeX or
LuaLaTeX, and a font that has them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import TextIO

from persona_panel.results.console import ReportTable, in_document
from persona_panel.results.result import Result
from persona_panel.results.shown import ResultPart, parts_of

_SIGNS = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "%": r"\%",
    "#": r"\#", "_": r"\_", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "<": "$<$", ">": "$>$", "|": "$|$", '"': "''",
    "−": "$-$", "–": "--", "—": "---", "…": r"\ldots{}", "→": r"$\to$",
    "×": r"$\times$", "±": r"$\pm$", "≥": r"$\geq$", "≤": r"$\leq$", "²": "$^2$", "·": r"$\cdot$",
    "’": "'", "‘": "`", "“": "``", "”": "''", "\u00a0": "~", "α": r"$\alpha$", "β": r"$\beta$",
    "γ": r"$\gamma$", "δ": r"$\delta$", "Δ": r"$\Delta$", "ε": r"$\epsilon$", "θ": r"$\theta$",
    "κ": r"$\kappa$", "λ": r"$\lambda$", "μ": r"$\mu$", "π": r"$\pi$", "ρ": r"$\rho$",
    "σ": r"$\sigma$", "Σ": r"$\Sigma$", "τ": r"$\tau$", "φ": r"$\phi$", "Φ": r"$\Phi$",
    "χ": r"$\chi$", "ψ": r"$\psi$", "ω": r"$\omega$", "Ω": r"$\Omega$",
}  # fmt: skip
# A minus before a number, hyphens that would become a dash, the index of a Greek letter: τ_b.
_WRITTEN = re.compile(r"(?P<minus>(?<![\w.-])-(?=\d))|(?P<hyphens>-(?=-))|τ_(?P<index>[a-z])\b|.")
_BEFORE = "% \\usepackage{booktabs}"


def latex_text(text: str) -> str:
    """A text on one line, in which no sign is taken for a command of LaTeX."""
    return _WRITTEN.sub(_signs, " ".join(text.split()))


def _signs(match: re.Match[str]) -> str:
    if index := match["index"]:
        return rf"$\tau_{index}$"
    if match["minus"]:
        return _SIGNS["−"]
    if match["hyphens"]:
        return "-{}"
    return _SIGNS.get(match[0], match[0])


def render(result: Result, to: TextIO, *, full: bool) -> None:
    """Write tables, and sentences as comments."""
    write(list(parts_of(result, full)), to)


def write(parts: Sequence[ResultPart], to: TextIO) -> None:
    """Write sentences and tables in their order."""
    print(_BEFORE, file=to)
    for part in parts:
        if isinstance(part, ReportTable):
            print("", *_table(part), sep="\n", file=to)
        else:
            print("%", " ".join(part.split()), file=to)


def _table(table: ReportTable) -> Iterator[str]:
    n = len(table.columns)
    yield "\\begin{table}\n\\centering"
    yield f"\\caption{{{latex_text(table.title)}}}"
    yield f"\\begin{{tabular}}{{l{'r' * n}}}\n\\toprule"
    yield _line([table.heads[-1], *table.columns])
    yield "\\midrule"
    heading = ""
    for row in table.lines:
        if row.heading != heading:
            heading = row.heading
            yield f"\\multicolumn{{{n + 1}}}{{l}}{{{latex_text(heading)}}} \\\\"
        # An interval below its value, as in the table of a regression.
        cells = [row.label.split("\n"), *(in_document(cell).split("\n") for cell in row.cells)]
        for line in zip_longest(*cells, fillvalue=""):
            yield _line(line)
    yield "\\bottomrule\n\\end{tabular}\n\\end{table}"


def _line(cells: Sequence[str]) -> str:
    written = [latex_text(cell) for cell in cells]
    # What follows the end of a line is an option of it.
    guard = "{}" if written[0].startswith(("[", "*")) else ""
    return f"{guard}{' & '.join(written)} \\\\"
