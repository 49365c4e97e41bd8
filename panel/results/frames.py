"""Columns as data frames. Their libraries are imported when a frame is asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
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
