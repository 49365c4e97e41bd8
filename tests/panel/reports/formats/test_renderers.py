"""Output formats of ours: every kind of result, found by name."""

from __future__ import annotations

import inspect
import io
import json
import math

import pytest

from persona_panel.reports.formats import Renderer, load_renderer, renderer_names
from persona_panel.results.result import Result, load_format
from persona_panel.results.table import Column, Key, Table

KINDS = [name for name in vars(Renderer) if name.startswith("render_")]


@pytest.mark.parametrize("name", renderer_names())
def test_every_renderer_takes_every_kind_of_result(name: str) -> None:
    """Each has the functions of the protocol, with the parameters that a command gives them."""
    renderer = load_renderer(name)
    assert KINDS
    for kind in KINDS:
        wanted = list(inspect.signature(vars(Renderer)[kind]).parameters)[1:]
        assert list(inspect.signature(getattr(renderer, kind)).parameters) == wanted


def test_there_are_a_terminal_and_json() -> None:
    """The formats that a command offers are the modules of the package."""
    assert {"json", "terminal"} <= set(renderer_names())


def test_a_name_that_nobody_has_is_a_key_error() -> None:
    """A renderer that is not there is not made up."""
    with pytest.raises(KeyError):
        load_renderer("papyrus")


def test_json_is_written_to_the_stream_with_null_for_what_is_undefined() -> None:
    """A NaN is null; the document is whole, and nothing else is in the stream."""
    to = io.StringIO()
    load_format("json").render(_named("fern"), to, full=True)
    assert json.loads(to.getvalue())["tables"]["rows"] == [{"name": "fern", "value": None}]


def _named(name: str) -> Result:
    rows = [{"name": name, "value": math.nan}]
    return Result("sample", (), [Table("rows", (Key("name"),), (Column("value", "number"),), rows)])


def test_json_is_utf_8_whatever_the_stream_is_for_people() -> None:
    """A stream in ASCII gets the same bytes as one in UTF-8."""
    written = []
    for encoding in ("ascii", "utf-8"):
        binary = io.BytesIO()
        stream = io.TextIOWrapper(binary, encoding=encoding)
        load_format("json").render(_named("juge é"), stream, full=True)
        written.append(binary.getvalue())
    assert written[0] == written[1]
    assert "juge é".encode() in written[0]
