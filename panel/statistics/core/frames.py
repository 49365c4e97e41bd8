"""Named columns as a data frame of pandas, polars or pyarrow.

None of them is needed until a frame is asked for: the module is imported then, and an error says
what to install. A pyarrow table goes to any other library that takes Arrow's PyCapsules
(`__arrow_c_stream__`) or the interchange protocol (`__dataframe__`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from typing import (
    TYPE_CHECKING,
    Any,
    Generic,
    Literal,
    NamedTuple,
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

T = TypeVar("T")

FrameLibrary = Literal["pandas", "polars", "pyarrow"]
"""Whose data frame is made."""

ColumnKind = Literal["text", "whole", "number", "flag"]
"""What a column contains: text, whole numbers, numbers, true and false; each may be missing."""

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


@overload
def frame_of(columns: Iterable[FrameColumn], library: Literal["pandas"]) -> pandas.DataFrame: ...
@overload
def frame_of(columns: Iterable[FrameColumn], library: Literal["polars"]) -> polars.DataFrame: ...
@overload
def frame_of(columns: Iterable[FrameColumn], library: Literal["pyarrow"]) -> pyarrow.Table: ...
@overload
def frame_of(columns: Iterable[FrameColumn], library: FrameLibrary) -> Any: ...
def frame_of(columns: Iterable[FrameColumn], library: FrameLibrary) -> Any:
    """The columns as a data frame.

    A missing value is NaN in pandas' columns of numbers, and null wherever there is null: in
    polars and pyarrow, and in pandas' nullable columns (`Int64`, `boolean`).

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
        # What is installed and does not import is another fault, which is its own to explain.
        if error.name != library:
            raise
        others = " or ".join(repr(name) for name in known if name != library)
        raise ModuleNotFoundError(
            f"{library} is not installed, and the data frame is to be one of {library}: "
            f"pip install {library}, or ask for library={others}",
            name=library,
        ) from None
    typed = [(column, _DTYPES[column.kind][library]) for column in columns]
    if library == "pandas":
        # Before its version 3, pandas would make the text 'None' of a text that is missing.
        text = "str" if int(module.__version__.partition(".")[0]) >= 3 else object
        return module.DataFrame(
            {
                column.name: module.Series(column.values, dtype=text if dtype == "str" else dtype)
                for column, dtype in typed
            }
        )
    if library == "polars":
        frame = module.DataFrame(
            [
                module.Series(column.name, column.values, dtype=getattr(module, dtype))
                for column, dtype in typed
            ]
        )
        # For polars NaN is a number like others, and makes NaN of every mean that it enters.
        return frame.fill_nan(None)
    return module.table(
        {
            column.name: module.array(
                column.values, type=getattr(module, dtype)(), from_pandas=True
            )
            for column, dtype in typed
        }
    )


def field_columns(rows: Iterable[object], kind: ColumnKind, *names: str) -> list[FrameColumn]:
    """Columns of one kind with these attributes of the rows."""
    given, found = list(rows), []
    for name in names:
        values = [getattr(row, name) for row in given]
        if kind == "text":
            # A reason is a text of a type of its own, which not every library takes for text.
            values = [None if value is None else str(value) for value in values]
        found.append(FrameColumn(name, kind, values))
    return found


class FrameMaker(Generic[T]):
    """A method that makes a data frame of its object: `run.to_frame()`, `run.to_frame("polars")`.

    Called with the library, pandas unless named; errors are those of `frame_of`.
    """

    def __init__(self, columns: Callable[[T], Iterable[FrameColumn]], owner: T) -> None:
        self._columns = columns
        self._owner = owner
        self.__doc__ = columns.__doc__

    @overload
    def __call__(self, library: Literal["pandas"] = ...) -> pandas.DataFrame: ...
    @overload
    def __call__(self, library: Literal["polars"]) -> polars.DataFrame: ...
    @overload
    def __call__(self, library: Literal["pyarrow"]) -> pyarrow.Table: ...
    def __call__(self, library: FrameLibrary = "pandas") -> Any:
        return frame_of(self._columns(self._owner), library)


class FrameMethod(Generic[T]):
    """Declares such a method in a class: `to_frame = FrameMethod(judgment_columns)`.

    A descriptor, so that the types of what three libraries give are written once and not for each
    method of each class.
    """

    def __init__(self, columns: Callable[[T], Iterable[FrameColumn]]) -> None:
        self._columns = columns
        self.__doc__ = columns.__doc__

    @overload
    def __get__(self, owner: None, kind: type) -> Self: ...
    @overload
    def __get__(self, owner: T, kind: type) -> FrameMaker[T]: ...
    def __get__(self, owner: T | None, kind: type) -> Self | FrameMaker[T]:
        return self if owner is None else FrameMaker(self._columns, owner)


def rating_columns(ratings: Ratings) -> list[FrameColumn]:
    """A data frame with one row a rating; a score that is missing has no row.

    Columns: `item`, `prompt`, `source`, `rater`, `group`, `persona`, `dimension`, `score`, and
    `label`, which stands in place of the score on dimensions that are rated by categories. What
    the ratings do not say (a prompt, say) is missing.
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

    def of(known: Sequence[str | None] | None, places: Iterable[int]) -> list[str | None]:
        return [None if known is None else known[place] for place in places]

    return [
        FrameColumn("item", "text", of(ratings.items, items)),
        FrameColumn("prompt", "text", of(ratings.prompts, items)),
        FrameColumn("source", "text", of(ratings.sources, items)),
        FrameColumn("rater", "text", of(ratings.raters, raters)),
        FrameColumn("group", "text", of(ratings.groups, raters)),
        FrameColumn("persona", "text", of(ratings.personas, raters)),
        FrameColumn("dimension", "text", names),
        FrameColumn("score", "number", scores),
        FrameColumn("label", "text", labels),
    ]
