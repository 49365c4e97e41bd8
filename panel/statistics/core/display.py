"""Objects in short, as text and as HTML, numbers in words, and columns as data frames.

What cannot be printed is escaped and, in HTML, everything that is markup. Data frame libraries are
imported when a frame is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from html import escape
from importlib import import_module
from math import ceil, copysign, floor, isnan, log10
from typing import (
    TYPE_CHECKING,
    Any,
    Generic,
    Literal,
    NamedTuple,
    Protocol,
    Self,
    TypeVar,
    get_args,
    overload,
)

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

    from persona_panel.statistics.core.table import Ratings


ALL = "all"
"""The group of all raters, and the dimension of a statistic over all dimensions."""
COMPOSITE = "composite"
"""The dimension of a mean over dimensions, where it stands beside them."""


_LONGEST_NAME = 60
_MOST_ROWS = 20
NONE = "–"
"""The sign for a missing number."""
_ROUNDING = 1e-9
"""Values nearer to 0, or to each other, than this are rounding."""
_PLACES = 9
"""With so many digits a value is written as it is."""


@dataclass(frozen=True, slots=True)
class Facts:
    """A short view of an object: its class, a few words each, and a table (`header`, `rows`), in
    HTML alone; a float there has two decimals, NaN and None are dashes."""

    kind: str
    facts: Sequence[str]
    header: Sequence[str] = ()
    rows: Sequence[Sequence[object]] = ()

    @property
    def text(self) -> str:
        """Return the kind and the facts on one line."""
        return f"<{self.kind}: {', '.join(map(_short, self.facts))}>"

    def html(self) -> str:
        """Return the facts and the table's first twenty rows, with a note of how many are left
        out."""
        facts = escape(", ".join(map(_short, self.facts)))
        parts = [f"<div><strong>{escape(self.kind)}</strong>: {facts}"]
        if self.rows:
            head = "".join(f'<th scope="col">{escape(name)}</th>' for name in self.header)
            body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in self.rows[:_MOST_ROWS])
            parts.append(f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>")
        if (more := len(self.rows) - _MOST_ROWS) > 0:
            parts.append(f"<p>and {more} more</p>")
        return "".join([*parts, "</div>"])


def _short(name: str) -> str:
    short = name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 1] + "…"
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in short)


def counted(n: int, what: str) -> str:
    """Return a number with its noun, in the plural where needed."""
    return f"{n:,} {what}" if n == 1 else f"{n:,} {what}s"


def counted_beside(n: int, n_controls: int, what: str) -> str:
    """Return the number of raters, and that of the controls (without a persona) beside them."""
    beside = f" with a persona and {n_controls:,} without" if n_controls else ""
    return f"{counted(n, what)}{beside}"


def percent(share: float) -> str:
    """Return a share as a whole number of per cent."""
    return f"{number(100 * share, 0)} %"


def number(value: float | None, digits: int = 2) -> str:
    """Format a number for people: `digits` digits after the point, a true minus sign, no sign on a
    zero, a dash for none. From two digits on, what is below 1 has as many as keep it from 1.00.

    >>> number(0.998), number(1.002)
    ('0.998', '1.00')
    """
    if value is None or isnan(value):
        return NONE
    if digits > 1 and abs(value) < 1:
        digits = digits_apart(abs(value), digits, (1.0,))
    return _with_minus(f"{rounded(value, digits) + 0:.{digits}f}")


def rounded(value: float, digits: int = 2) -> float:
    """Return a value rounded as its decimals are read: a half goes away from zero, whatever sums
    left of it in the last binary places.

    >>> rounded(5.405), rounded(5.405 - 1e-14), rounded(-0.125)
    (5.41, 5.41, -0.13)
    """
    nudge = _ROUNDING if digits < _PLACES else 0.0
    return round(float(value) + copysign(nudge, value), digits)


def small_number(value: float | None, digits: int = 2) -> str:
    """Format a number as `number` does, with more digits where it is small, so that two of them are
    significant: on a scale from 0 to 1 an error of 0.004 is not 0.00."""
    if value is not None and _ROUNDING < abs(value) < 10.0 ** (1 - digits):
        digits = 1 - floor(log10(abs(value)))
    return number(value, digits)


def clock(seconds: float) -> str:
    """Format a duration in figures, rounded up to whole seconds."""
    minutes, rest = divmod(ceil(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def general(value: float, digits: int = 6) -> str:
    """Format a number as short as possible, with at most `digits` significant digits: the end of a
    scale."""
    return _with_minus(f"{float(value) + 0:.{digits}g}")


def signed(value: float | None, digits: int = 2) -> str:
    """Format a difference with its sign; a zero has none."""
    text = number(value, digits)
    return f"+{text}" if value is not None and rounded(value, digits) > 0 else text


def ends(
    low: float | None, high: float | None, digits: int = 2, limits: Iterable[float] = ()
) -> str:
    """Format the ends of an interval, a dash where there is none; `limits` as of `interval_end`."""
    if low is None or high is None or isnan(low) or isnan(high):
        return NONE
    return f"{interval_end(low, digits, limits)} to {interval_end(high, digits, limits)}"


def interval_end(value: float, digits: int = 2, limits: Iterable[float] = ()) -> str:
    """Format an end of an interval as `number` does, with more digits where it would be shown as 0,
    or as an end of the scale (`limits`), and is not.

    >>> interval_end(-0.004), interval_end(0.0), interval_end(4.998, limits=(1, 5))
    ('−0.004', '0.00', '4.998')
    """
    return number(value, digits_apart(value, digits, (0.0, *limits)))


def digits_apart(value: float, digits: int, places: Iterable[float]) -> int:
    """Return with how many digits a value is not shown as one of these places, at which it does not
    lie; `digits` at least."""
    gaps = [gap for of in places if _ROUNDING < (gap := abs(value - of)) < 0.5 * 10.0**-digits]
    return max([digits, *(-floor(log10(gap)) for gap in gaps)])


def p_value(p: float | None) -> str:
    """Format a p-value to two digits, a dash for none."""
    if p is None or isnan(p):
        return NONE
    return "< 0.001" if p < 0.001 else f"{p:.2g}"


def _cell(value: object) -> str:
    text = number(value) if isinstance(value, float) or value is None else str(value)
    return f"<td>{escape(_short(text))}</td>"


def _with_minus(text: str) -> str:
    return text.replace("-", "−")


T = TypeVar("T")

FrameLibrary = Literal["pandas", "polars", "pyarrow"]
"""The library whose data frame is made."""

ColumnKind = Literal["text", "whole", "number", "flag"]
"""The content of a column: text, whole numbers, numbers, true and false; each may be missing."""

_DTYPES: dict[ColumnKind, dict[str, Any]] = {
    "text": {"pandas": "str", "polars": "String", "pyarrow": "string"},
    "whole": {"pandas": "Int64", "polars": "Int64", "pyarrow": "int64"},
    "number": {"pandas": "float64", "polars": "Float64", "pyarrow": "float64"},
    "flag": {"pandas": "boolean", "polars": "Boolean", "pyarrow": "bool_"},
}


class FrameColumn(NamedTuple):
    """One column of a data frame; a missing value is None, of numbers NaN, too."""

    name: str
    kind: ColumnKind
    values: Sequence[Any]


def frame_of(columns: Iterable[FrameColumn], library: FrameLibrary) -> Any:
    """Return the columns as a data frame; a missing value is NaN in pandas' columns of numbers, and
    null wherever there is null.

    Raises:
        ImportError: the library is not installed; says what to install.
        ValueError: it is none of the three.
    """
    known = get_args(FrameLibrary)
    if library not in known:
        raise ValueError(f"library must be one of {', '.join(known)}, found {library!r}")
    try:
        module: Any = import_module(library)
    except ImportError as error:
        # A library that is installed and cannot be imported explains its fault itself.
        if error.name != library:
            raise
        others = " or ".join(repr(name) for name in known if name != library)
        raise ModuleNotFoundError(
            f"{library} is not installed, and the data frame is to be one of {library}: "
            f"pip install {library}, or ask for library={others}",
            name=library,
        ) from None

    def typed(column: FrameColumn) -> Any:
        dtype = _DTYPES[column.kind][library]
        if library == "pyarrow":
            return module.array(column.values, type=getattr(module, dtype)(), from_pandas=True)
        if library == "polars":
            return module.Series(values=column.values, dtype=getattr(module, dtype))
        if dtype == "str" and int(module.__version__.partition(".")[0]) < 3:
            dtype = object  # pandas would turn a missing text into the text 'None'
        return module.Series(column.values, dtype=dtype)

    arrays = {column.name: typed(column) for column in columns}
    if library == "pyarrow":
        return module.table(arrays)
    frame = module.DataFrame(arrays)
    # In polars NaN is a number, and every mean with it becomes NaN.
    return frame.fill_nan(None) if library == "polars" else frame


def field_columns(rows: Iterable[object], kind: ColumnKind, *names: str) -> list[FrameColumn]:
    """Return a column of one kind for each of these attributes of the rows."""
    records, columns = list(rows), []
    for name in names:
        values = [getattr(row, name) for row in records]
        if kind == "text":
            # A reason is a subclass of str, which not every library takes for text.
            values = [None if value is None else str(value) for value in values]
        columns.append(FrameColumn(name, kind, values))
    return columns


class FrameMaker(Protocol):
    """A method that makes a data frame of its object: `run.to_frame()`, `run.to_frame("polars")`.

    Called with the library, pandas unless named; errors are those of `frame_of`.
    """

    @overload
    def __call__(self, library: Literal["pandas"] = ...) -> pandas.DataFrame: ...
    @overload
    def __call__(self, library: Literal["polars"]) -> polars.DataFrame: ...
    @overload
    def __call__(self, library: Literal["pyarrow"]) -> pyarrow.Table: ...


class FrameMethod(Generic[T]):
    """Declares such a method in a class: `to_frame = FrameMethod(judgment_columns)`."""

    def __init__(self, columns: Callable[[T], Iterable[FrameColumn]]) -> None:
        self._columns = columns
        self.__doc__ = columns.__doc__

    @overload
    def __get__(self, owner: None, kind: type) -> Self: ...
    @overload
    def __get__(self, owner: T, kind: type) -> FrameMaker: ...
    def __get__(self, owner: T | None, kind: type) -> Self | FrameMaker:
        if owner is None:
            return self

        def to_frame(library: FrameLibrary = "pandas") -> Any:
            return frame_of(self._columns(owner), library)

        to_frame.__doc__ = self.__doc__
        return to_frame


def rating_columns(ratings: Ratings) -> list[FrameColumn]:
    """Return a data frame with one row a rating: `item`, `prompt`, `source`, `rater`, `group`,
    `persona`, `dimension`, `score`, and `label` in place of the score where categories are rated.
    """
    # Imported here: what describes tables is imported before `--help`, which needs no numpy.
    import numpy as np

    items, raters, dimensions = np.nonzero(~np.isnan(ratings.scores))
    scores: list[float | None] = []
    labels: list[str | None] = []
    names = [ratings.dimensions[d] for d in dimensions]
    for name, score in zip(names, ratings.scores[items, raters, dimensions].tolist(), strict=True):
        categories = ratings.categories.get(name)
        scores.append(score if categories is None else None)
        labels.append(None if categories is None else categories[int(score)])

    of_rating = {
        "item": (ratings.items, items),
        "prompt": (ratings.prompts, items),
        "source": (ratings.sources, items),
        "rater": (ratings.raters, raters),
        "group": (ratings.groups, raters),
        "persona": (ratings.personas, raters),
    }
    return [
        *(
            FrameColumn(name, "text", [None if known is None else known[at] for at in places])
            for name, (known, places) in of_rating.items()
        ),
        FrameColumn("dimension", "text", names),
        FrameColumn("score", "number", scores),
        FrameColumn("label", "text", labels),
    ]
