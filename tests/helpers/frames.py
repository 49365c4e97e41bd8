"""The libraries that data frames are made with, each left out where it is not installed."""

from __future__ import annotations

from typing import Any

import pytest

from tests.helpers.extras import needs_extra

LIBRARIES = [pytest.param(name, marks=needs_extra("test", name)) for name in ("pandas", "polars")]
LIBRARIES.append(pytest.param("pyarrow"))


def rows_of(frame: Any) -> list[dict[str, Any]]:
    """The rows of a frame of any of the libraries, with None for what is missing."""
    import pyarrow as pa

    rows: list[dict[str, Any]] = pa.table(frame).to_pylist()
    return rows
