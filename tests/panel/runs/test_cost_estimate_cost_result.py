"""What a run would take, as a result."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest

from persona_panel.results.formats.json import result_document
from persona_panel.results.result import load_format
from persona_panel.runs.cost_estimate import CostEstimate, cost_result

ESTIMATE = CostEstimate(
    "openai:stub", judgments=3, of=5, calls=4, calls_at_least=3, calls_at_most=6,
    input_tokens=1200, output_tokens=40, reasoning_tokens=30, tokenizer="characters / 4", usd=None,
)  # fmt: skip


def test_each_model_s_figures_are_a_row() -> None:
    """Programs have every field of an estimate, None for a price that is unknown."""
    assert result_document(cost_result([ESTIMATE]))["tables"]["models"] == [
        {
            "model": "openai:stub", "judgments": 3, "of": 5, "calls": 4, "calls_at_least": 3,
            "calls_at_most": 6, "input_tokens": 1200, "output_tokens": 40,
            "reasoning_tokens": 30,
            "tokenizer": "characters / 4", "usd": None, "prices_as_of": None,
        }
    ]  # fmt: skip


def test_a_table_and_sums_are_written_to_the_stream(capsys: pytest.CaptureFixture[str]) -> None:
    """They go where they are sent, and standard output stays empty."""
    stream = io.StringIO()
    load_format("terminal").render(cost_result([ESTIMATE]), stream, full=False)
    text = " ".join(stream.getvalue().split())
    assert "Estimated calls and cost" in text
    assert "Total: 3 to 6 calls, depending on the answers; tokens and dollars are for 4" in text
    assert "30 of the tokens out are the room that models which reason have" in text
    assert "2 results are in the cache already" in text
    assert "The price of openai:stub is unknown; set it in a panel file" in text
    assert capsys.readouterr().out == ""


def test_known_prices_are_summed_and_others_are_named() -> None:
    """The sum has the latest date of its prices, and says that a model is not in it; which
    tokenizer counts for which model is said where they differ."""
    known = replace(
        ESTIMATE, model="a", calls_at_most=3, usd=0.25, prices_as_of="2026-01-02", tokenizer="t"
    )
    result = cost_result([known, replace(known, model="b", prices_as_of=None), ESTIMATE])
    assert "$0.5000 by prices as of 2026-01-02, plus the models whose price" in result.conclusion[0]
    assert "t (a, b); characters / 4 (openai:stub)" in result.remarks[0]
    assert "price" not in cost_result([known]).next_step
