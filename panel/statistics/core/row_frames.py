"""The rows of statistics as a data frame."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Literal, overload

from persona_panel.statistics.core.frames import ColumnKind, FrameLibrary, field_columns, frame_of
from persona_panel.statistics.core.table import Row

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

_NAMES = [field.name for field in fields(Row)]
_KINDS: dict[str, ColumnKind] = {
    "value": "number",
    "ci_low": "number",
    "ci_high": "number",
    "ci_df": "number",
    "n_clusters": "whole",
    "p_value": "number",
    "p_raw": "number",
    "n_tests": "whole",
    "n_items": "whole",
    "n_raters": "whole",
}


@overload
def rows_frame(rows: Iterable[Row], library: Literal["pandas"] = ...) -> pandas.DataFrame: ...
@overload
def rows_frame(rows: Iterable[Row], library: Literal["polars"]) -> polars.DataFrame: ...
@overload
def rows_frame(rows: Iterable[Row], library: Literal["pyarrow"]) -> pyarrow.Table: ...
def rows_frame(rows: Iterable[Row], library: FrameLibrary = "pandas") -> Any:
    """The rows of `agree`, `correlate` or `panel_quality` as a data frame: one row each, and the
    fields of `Row` as columns.

    Errors are those of `frame_of`.
    """
    given = list(rows)
    columns = [field_columns(given, _KINDS.get(name, "text"), name) for name in _NAMES]
    return frame_of([column for (column,) in columns], library)
