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
from persona_panel.runs.judging.cost_estimate import CostEstimate
from persona_panel.statistics import Row
from persona_panel.testing import ScriptedModel

KINDS = [name for name in vars(Renderer) if name.startswith("render_")]
ESTIMATE = CostEstimate(
    "openai:stub", judgments=3, of=5, calls=4, calls_at_least=3, calls_at_most=6,
    input_tokens=1200, output_tokens=40, reasoning_tokens=30, tokenizer="characters / 4", usd=None,
)  # fmt: skip


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
    """A NaN and a price that is unknown are null; the document is whole, and nothing else is in
    the stream."""
    renderer = load_renderer("json")
    rows, estimates = io.StringIO(), io.StringIO()
    renderer.render_biases([Row("leniency", "all", "all", value=math.nan)], None, rows)  # type: ignore[arg-type]
    renderer.render_cost_estimates([ESTIMATE], estimates)
    assert json.loads(rows.getvalue())["rows"][0]["value"] is None
    assert json.loads(estimates.getvalue()) == [
        {
            "model": "openai:stub", "judgments": 3, "of": 5, "calls": 4, "calls_at_least": 3,
            "calls_at_most": 6, "input_tokens": 1200, "output_tokens": 40,
            "reasoning_tokens": 30,
            "tokenizer": "characters / 4", "usd": None, "prices_as_of": None,
        }
    ]  # fmt: skip


def test_json_is_utf_8_whatever_the_stream_is_for_people() -> None:
    """A stream in ASCII gets the same bytes as one in UTF-8."""
    written = []
    for encoding in ("ascii", "utf-8"):
        binary = io.BytesIO()
        stream = io.TextIOWrapper(binary, encoding=encoding)
        load_renderer("json").render_cost_estimates([ESTIMATE], stream)
        row = Row("leniency", "juge é", "all", value=1.0)
        load_renderer("json").render_biases([row], None, stream)  # type: ignore[arg-type]
        written.append(binary.getvalue())
    assert written[0] == written[1]
    assert "juge é".encode() in written[0]


def test_a_table_is_written_to_the_stream(capsys: pytest.CaptureFixture[str]) -> None:
    """The terminal's tables go where they are sent, and standard output stays empty."""
    stream = io.StringIO()
    load_renderer("terminal").render_cost_estimates([ESTIMATE], stream)
    text = " ".join(stream.getvalue().split())
    assert "Estimated calls and cost" in text
    assert "Total: 3 to 6 calls, depending on the answers; tokens and dollars are for 4" in text
    assert "30 of the tokens out are the room that models which reason have" in text
    assert "The price of openai:stub is unknown; set it in a panel file" in text
    assert capsys.readouterr().out == ""


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
