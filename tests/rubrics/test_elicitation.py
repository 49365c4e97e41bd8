"""What goes to a model and comes back, in words that belong to no provider."""

from __future__ import annotations

import pytest

from persona_panel.rubrics import ModelRequest, ModelResponse, Usage, is_comparative, load_comparing
from persona_panel.rubrics.elicitations import ranking


def test_a_response_of_which_nothing_else_is_known() -> None:
    """It ended by itself, was no refusal, took no tokens and no time, and is not from a cache."""
    response = ModelResponse("7")
    assert (response.finish_reason, response.refusal, response.logprobs) == ("stop", None, ())
    assert (response.usage, response.latency_s, response.cached) == (Usage(), 0.0, False)
    assert Usage() == Usage(input=0, cached=0, output=0, written=0, odd=None)


def test_a_request_asks_once_without_log_probabilities_unless_told() -> None:
    """There is no earlier exchange, no beginning of the answer, no schema, and room for 1,024
    tokens."""
    request = ModelRequest("You judge.", ("Rate it.",))
    assert (request.exchange, request.prefill, request.schema) == ((), "", None)
    assert (request.top_logprobs, request.max_tokens) == (0, 1024)


def test_what_compares_is_loaded_as_such() -> None:
    """An elicitation that compares is found by its name; one that judges a response by itself is
    none of those, and an unknown name is nothing at all."""
    assert load_comparing("ranking") is ranking
    assert is_comparative("ranking") and not is_comparative("dimensions")
    for name in ("dimensions", "unheard-of"):
        with pytest.raises(KeyError, match=name):
            load_comparing(name)


def test_usage_adds_up() -> None:
    """Each count is summed, and of what was odd the first is kept."""
    total = Usage(1, 2, 3, 4, "first") + Usage(10, 20, 30, 40, "second")
    assert total == Usage(11, 22, 33, 44, "first")
    assert (Usage() + Usage(odd="late")).odd == "late"
