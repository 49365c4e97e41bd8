"""Tokens as providers report them, thinking among them: `persona_panel.models.client`."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from persona_panel.models.client import completion_usage, sound
from persona_panel.rubrics import Usage

COUNTS = st.integers(0, 10**6)


@pytest.mark.parametrize(
    ("reported", "output", "reasoning"),
    [
        # OpenAI: thinking is a part of the completion.
        ({"completion_tokens": 300, "total_tokens": 310, "details": 200}, 300, 200),
        # xAI: thinking is besides it, and in the total.
        ({"completion_tokens": 100, "total_tokens": 310, "details": 200}, 300, 200),
        # Gemini: only the total tells.
        ({"completion_tokens": 100, "total_tokens": 310, "details": None}, 300, 200),
        # A total that leaves something unexplained, which is not the thinking that is reported.
        ({"completion_tokens": 300, "total_tokens": 311, "details": 200}, 300, 200),
        ({"completion_tokens": 300, "total_tokens": 5, "details": None}, 300, 0),
        ({"completion_tokens": 300, "total_tokens": None, "details": None}, 300, 0),
    ],
)
def test_thinking_in_each_provider_s_form(
    reported: dict[str, Any], output: int, reasoning: int
) -> None:
    """It is a part of the output, which is what is paid for, wherever it stands."""
    details = reported.pop("details")
    usage = completion_usage(
        {
            "prompt_tokens": 10,
            **reported,
            "completion_tokens_details": {"reasoning_tokens": details},
        }
    )
    assert (usage.output, usage.reasoning, usage.odd) == (output, reasoning, None)


@given(COUNTS, COUNTS, COUNTS, st.none() | COUNTS)
def test_no_more_thinking_than_output(read: int, answered: int, thought: int, total: Any) -> None:
    """Whatever is reported, thinking is a part of the output, and no output is lost."""
    usage = completion_usage(
        {
            "prompt_tokens": read,
            "completion_tokens": answered,
            "total_tokens": total,
            "completion_tokens_details": {"reasoning_tokens": thought},
        }
    )
    assert answered <= usage.output
    assert 0 <= usage.reasoning <= usage.output
    assert sound(usage).reasoning == usage.reasoning


@given(*[COUNTS] * 4)
def test_thinking_adds_up(a: int, b: int, c: int, d: int) -> None:
    """A sum has the thinking of both."""
    both = Usage(output=a + b, reasoning=b) + Usage(output=c + d, reasoning=d)
    assert (both.output, both.reasoning) == (a + b + c + d, b + d)
