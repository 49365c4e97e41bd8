"""What an embedded model makes of answers that are weighed:
`persona_panel.models.embedded`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from persona_panel.models.completions import body_of, read_completion
from persona_panel.models.embedded import foreseen_in, is_weighed, one_token
from persona_panel.rubrics import ModelRequest, Usage

ASKED = ModelRequest("You rate.", ("A text. ", "Rate it."), top_logprobs=2, max_tokens=2)


def body(request: ModelRequest) -> dict[str, Any]:
    """A request's body as the embedded model makes it."""
    return body_of(request) | {"temperature": 0.0}


def answer(*tokens: str) -> dict[str, Any]:
    """llama.cpp's answer of these tokens, before each of which "The" was more probable."""
    content = [
        {
            "token": token,
            "logprob": -3.0,
            "top_logprobs": [{"token": "The", "logprob": -0.5}, {"token": "0", "logprob": -1.0}],
        }
        for token in tokens
    ]
    message = {"role": "assistant", "content": "".join(tokens)}
    choice = {"message": message, "finish_reason": "length", "logprobs": {"content": content}}
    usage = {
        "prompt_tokens": 9,
        "completion_tokens": len(tokens),
        "total_tokens": 9 + len(tokens),
        "prompt_tokens_details": {"cached_tokens": 4},
    }
    return {"choices": [choice], "usage": usage}


def test_the_follow_up_after_a_1_is_foreseen() -> None:
    """What was read after a 1 answers the very request that an elicitation makes next, with the
    token that was the most probable there, and counts as one token after what had been read."""
    found = foreseen_in(answer("1", "1"), body(ASKED))
    assert found is not None
    further, said = found
    assert further == body(replace(ASKED, prefill="1", max_tokens=1))
    reply = read_completion(said, 0.0)
    assert reply.text == "1The"
    assert [position.token for position in reply.logprobs] == ["The"]
    assert reply.logprobs[0].top == (("The", -0.5), ("0", -1.0))
    assert reply.usage == Usage(input=10, cached=9, output=1)


@pytest.mark.parametrize("tokens", [("1",), (" 1", "1"), ("10", "1"), ()])
def test_nothing_is_foreseen_where_no_1_stands_alone(tokens: tuple[str, ...]) -> None:
    """A tokenizer that joins the 1 with something else shows nothing about what follows a 1."""
    assert foreseen_in(answer(*tokens), body(ASKED)) is None


def test_an_answer_is_its_first_token() -> None:
    """Whatever a model was made to begin with, its answer has the token that was more probable."""
    reply = read_completion(one_token(answer("1", "1"), body(ASKED)), 0.0)
    assert (reply.text, len(reply.logprobs)) == ("The", 1)
    assert reply.usage == Usage(input=9, cached=4, output=1)


@pytest.mark.parametrize(
    ("changed", "weighed"),
    [
        ({}, True),
        ({"max_tokens": 1}, True),
        ({"max_tokens": 3}, False),
        ({"top_logprobs": 0}, False),
        ({"schema": {"type": "object"}}, False),
    ],
)
def test_what_is_weighed(changed: dict[str, Any], weighed: bool) -> None:
    """Only the probabilities of a token or two; longer answers and objects are written as ever."""
    assert is_weighed(body(replace(ASKED, **changed))) is weighed
    assert not is_weighed(body(replace(ASKED, **changed)) | {"temperature": 0.5})
