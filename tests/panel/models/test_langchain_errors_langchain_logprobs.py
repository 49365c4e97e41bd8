"""Log-probabilities in the forms in which providers' packages hand them on."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel

from persona_panel.models.langchain_errors import positions_in
from persona_panel.rubrics import Position

SEVEN = (Position("7", (("7", -0.5), ("8", -1.5)), -0.5),)
TOPS = [{"token": "7", "logprob": -0.5}, {"token": "8", "logprob": -1.5}]
ONE = {"token": "7", "logprob": -0.5, "top_logprobs": TOPS}
CHOSEN = [{"token": "7", "log_probability": -0.5}]
CANDIDATES = [*CHOSEN, {"token": "8", "log_probability": -1.5}]


class Token(BaseModel):
    """A token as LiteLLM's and Ollama's packages have it."""

    token: str
    logprob: float
    top_logprobs: list[Token] = []


class Choice(BaseModel):
    """LiteLLM's object around the tokens."""

    content: list[Token]


@pytest.mark.parametrize(
    "said",
    [
        {"content": [ONE]},
        [ONE],
        [Token(**ONE)],
        Choice(content=[Token(**ONE)]),
        {"chosen_candidates": CHOSEN, "top_candidates": [{"candidates": CANDIDATES}]},
        {"tokens": ["7"], "token_logprobs": [-0.5], "top_logprobs": [{"7": -0.5, "8": -1.5}]},
    ],
    ids=["OpenAI", "a list", "Ollama", "LiteLLM", "Google", "older completions"],
)
def test_each_form(said: Any) -> None:
    """The same token and alternatives, whoever says them."""
    assert positions_in({"logprobs": said}) == SEVEN


@pytest.mark.parametrize(
    "said",
    [
        None,
        "likely",
        {},
        {"content": None},
        {"chosen_candidates": CHOSEN, "top_candidates": []},
        {"tokens": ["7"], "top_logprobs": None},
        [{"logprob": -0.5}],
    ],
)
def test_what_is_in_no_form_is_none(said: Any) -> None:
    """It says nothing against the answer itself."""
    assert positions_in({"logprobs": said}) == ()
