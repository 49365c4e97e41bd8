"""Output formats of ours: every kind of result, found by name."""

from __future__ import annotations

import inspect
import io
import json
import math

import pytest

from persona_panel import Panel, Response
from persona_panel.reports.formats import Renderer, load_renderer, renderer_names
from persona_panel.rubrics import ModelResponse, Usage
from persona_panel.statistics import Row
from persona_panel.testing import ScriptedModel

KINDS = [name for name in vars(Renderer) if name.startswith("render_")]


@pytest.mark.parametrize("name", renderer_names())
def test_every_renderer_takes_every_kind_of_result(name: str) -> None:
    """Each has the functions of the protocol, with the parameters that a command gives them."""
    renderer = load_renderer(name)
    assert len(KINDS) == 13
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
    renderer = load_renderer("json")
    rows = io.StringIO()
    renderer.render_biases([Row("leniency", "all", "all", value=math.nan)], None, rows)  # type: ignore[arg-type]
    assert json.loads(rows.getvalue())["rows"][0]["value"] is None


def test_json_is_utf_8_whatever_the_stream_is_for_people() -> None:
    """A stream in ASCII gets the same bytes as one in UTF-8."""
    written = []
    for encoding in ("ascii", "utf-8"):
        binary = io.BytesIO()
        stream = io.TextIOWrapper(binary, encoding=encoding)
        row = Row("leniency", "juge é", "all", value=1.0)
        load_renderer("json").render_biases([row], None, stream)  # type: ignore[arg-type]
        written.append(binary.getvalue())
    assert written[0] == written[1]
    assert "juge é".encode() in written[0]


def test_cached_tokens_are_told_by_where_they_were_kept() -> None:
    """Those of a provider's prompt cache, and those of a model inside this process."""
    reply = ModelResponse("4", usage=Usage(input=10, cached=6))
    panel = Panel("disciplinary", ScriptedModel(reply), "debate-speech", elicitation="holistic")
    run = panel.score([Response(id="1", prompt="Why?", text="Because.", system="a")])
    run.calls.spent["local:some"] = Usage(input=9, cached=7)
    to = io.StringIO()
    load_renderer("terminal").render_run(run, {"overall": "Overall"}, to)
    said = " ".join(to.getvalue().split())
    assert "30 of 50 input tokens were read from the providers' prompt caches." in said
    assert "7 of 9 input tokens were kept from the last request by a model in this process." in said
