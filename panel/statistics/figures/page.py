"""A figure as a paper takes it: its width, letters, colours, and how it is written to a file."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Sequence
from typing import Any
from unicodedata import east_asian_width

from matplotlib import font_manager, rc_context
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ft2font import FT2Font
from matplotlib.text import Text

from persona_panel.statistics.figures import PageColumns

WIDTHS: dict[PageColumns, float] = {1: 3.3, 2: 6.9}
"""In inches: 84 and 175 mm, which the columns of most journals and proceedings take."""

# Okabe and Ito (2008), without the yellow, which is lost on white; each with its marker.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#666666")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
LIGHT, GREY = "#dddddd", "#666666"

LOOK: Any = {
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.labelsize": 8,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7.5,
    "legend.fontsize": 7,
    "axes.linewidth": 0.6,
    "xtick.major.width": 0.6,
    "axes.unicode_minus": True,
    "hatch.linewidth": 0.4,
    "figure.facecolor": "white",
    "axes.facecolor": "white",
    "text.color": "black",
    "axes.labelcolor": "black",
    "axes.edgecolor": "black",
    "xtick.color": "black",
    "ytick.color": "black",
    "text.usetex": False,
}
# Type 42 (TrueType), as ACM and IEEE ask: the default, Type 3, is refused. SVG keeps text as text.
_WRITTEN: Any = {
    "pdf.fonttype": 42,
    "ps.fonttype": 42,
    "svg.fonttype": "none",
    "svg.hashsalt": "persona-panel",
    "savefig.bbox": None,
}
LINE = 0.125
"""The height of a line of text, in inches."""
_SCREEN_DPI = 150
_PRINT_DPI = 300
_PIECE = re.compile(r"[^\s/|:_-]*[\s/|:_-]+|[^\s/|:_-]+")
"""A part of a name that is not split: a word, with the signs between it and the next."""
# With letters that Matplotlib's own font lacks; looked for where a name has such letters.
_OTHER_FONTS = (
    "Noto Sans CJK JP", "Noto Sans CJK SC", "Noto Sans JP", "Noto Sans SC", "Source Han Sans",
    "WenQuanYi Zen Hei", "WenQuanYi Micro Hei", "IPAGothic", "Hiragino Sans", "PingFang SC",
    "Apple SD Gothic Neo", "Yu Gothic", "Microsoft YaHei", "Malgun Gothic", "Nirmala UI",
    "Noto Sans Devanagari", "Noto Sans Bengali", "Noto Sans Tamil", "Noto Sans Thai",
    "Noto Sans Ethiopic", "Arial Unicode MS", "Unifont",
)  # fmt: skip


class PaperFigure(Figure):
    """A Matplotlib figure that no window and no notebook keeps, written with letters as letters.

    Attributes:
        caption: what the figure shows, of how many, and what is missing in it and why: sentences
            for below it.
    """

    caption: str = ""

    def savefig(self, fname: Any, *, transparent: bool | None = None, **kwargs: Any) -> None:
        """Save as Matplotlib does, by default in 300 dots per inch; in PDF and EPS with TrueType
        letters, in SVG with text."""
        with rc_context(_WRITTEN), warnings.catch_warnings():
            # Warned once, when the figure was made.
            warnings.filterwarnings("ignore", r"Glyph \d+ ")
            super().savefig(fname, transparent=transparent, **{"dpi": _PRINT_DPI} | kwargs)

    def _repr_png_(self) -> bytes:
        """Return the PNG that a notebook shows."""
        content = io.BytesIO()
        self.savefig(content, format="png", dpi=_SCREEN_DPI)
        return content.getvalue()


def paper_figure(columns: PageColumns, height: float) -> PaperFigure:
    """Return an empty figure as wide as one or two columns of a page, `height` in inches."""
    figure = PaperFigure(figsize=(WIDTHS[columns], height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def label(name: str, width: int, lines: int = 3) -> str:
    """Return a name ready to be drawn: what cannot be printed is escaped, lines are folded between
    words at `width` letters, and cut after `lines` lines. Wide letters (Chinese, say) count
    twice."""
    folded: list[str] = []
    line = ""
    shown = [char if char.isprintable() else ascii(char)[1:-1] for char in name.replace("\n", " ")]
    for piece in _PIECE.findall("".join(shown)):
        if line and _width((line + piece).rstrip()) > width:
            folded.append(line)
            line = ""
        line += piece
        while _width(line.rstrip()) > width:
            cut = next(n for n in range(1, len(line) + 1) if _width(line[: n + 1]) > width)
            folded.append(line[:cut])
            line = line[cut:]
    folded.append(line)
    folded = [line.rstrip() for line in folded]
    if len(folded) > lines:
        folded = [*folded[: lines - 1], f"{folded[lines - 1]}…"]
    return "\n".join(folded)


def plain(figure: PaperFigure) -> PaperFigure:
    """Draw every text of the figure literally, whatever signs it has, in a font that has its
    letters where there is one; return the figure."""
    texts = figure.findobj(Text)
    for text in texts:
        text.set_parse_math(False)
    family = font_manager.FontProperties().get_family()
    lacking = _lacking("".join(text.get_text() for text in texts), family)
    if not lacking:
        return figure
    known = {font.name for font in font_manager.fontManager.ttflist}
    family = [*family, *(name for name in _OTHER_FONTS if name in known)]
    for text in texts:
        text.set_fontfamily(family)
    if lacking := _lacking("".join(lacking), family):
        warnings.warn(
            f"no font that Matplotlib finds has the letters {' '.join(sorted(lacking)[:12])}, "
            "which are drawn as boxes; install one that has them, such as Noto Sans CJK",
            stacklevel=4,
        )
    return figure


def _lacking(letters: str, families: Sequence[str]) -> set[str]:
    """Return the letters that none of these families of fonts has."""
    lacking = {char for char in letters if not char.isspace()}
    for family in families:
        if lacking:
            font = FT2Font(font_manager.findfont(font_manager.FontProperties(family=[family])))
            lacking = {char for char in lacking if not font.get_char_index(ord(char))}
    return lacking


def bare(axis: Axes, *sides: str) -> None:
    """Remove these borders of an axis."""
    for side in sides:
        axis.spines[side].set_visible(False)


def panels_in_rows(n: int, columns: PageColumns) -> tuple[int, int]:
    """Return the rows and columns of a grid of n panels."""
    across = min(n, 1 if columns == 1 else 3)
    return -(-n // across), across


def longest(names: Sequence[str]) -> int:
    """Return the width of the widest of these lines, in letters."""
    return max((_width(line) for name in names for line in name.split("\n")), default=0)


def _width(text: str) -> int:
    return sum(2 if east_asian_width(char) in "WF" else 1 for char in text)
