"""Answers that are asked for because of how probable their first token is, by an embedded model.

A rating's question allows two tokens: from a server the second is free, and shows how an answer
that begins as 1 goes on. An embedded model spends as much on it as on another call. It is made to
begin with 1 and reads the second token there, so that the follow-up after a 1, which nearly every
question has, is answered already. llama.cpp reports the probabilities before any bias, and both
ways give the same ones to the last bit.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from persona_panel.models.completions import CONTINUED

_BEGINNING = "1"
BEGUN: Mapping[str, Any] = {"logit_bias": [[_BEGINNING, 1000.0]]}
"""Added to a body, it makes the answer begin with 1: no two logits differ by so much."""


def is_weighed(body: Mapping[str, Any]) -> bool:
    """Whether a request's answer is nothing but its first token's probabilities."""
    return (
        bool(body.get("top_logprobs"))
        and body["max_tokens"] <= 2
        and not body["temperature"]
        and "response_format" not in body
    )


def foreseen_in(
    answer: dict[str, Any], body: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """The follow-up of `body` after a 1, and its answer, which `answer` to `body | BEGUN` holds.

    None where it does not: a tokenizer may have no 1 that stands alone.
    """
    positions = _positions(answer)
    if len(positions) != 2 or positions[0]["token"] != _BEGINNING:
        return None
    begun = {"role": "assistant", "content": _BEGINNING}
    further = {**body, **CONTINUED, "messages": [*body["messages"], begun], "max_tokens": 1}
    # As that call would be counted: all of the question is in memory, and the 1 is not.
    read = answer["usage"]["prompt_tokens"]
    usage = {"prompt_tokens": read + 1, "prompt_tokens_details": {"cached_tokens": read}}
    return further, one_token(answer | {"usage": answer["usage"] | usage}, further, 1)


def one_token(answer: dict[str, Any], body: Mapping[str, Any], n: int = 0) -> dict[str, Any]:
    """The answer to `body` as if it consisted of token `n` of `answer`, the most probable there."""
    positions = _positions(answer)
    if len(positions) <= n:
        # llama.cpp reports none for a part of a character.
        return answer
    position = positions[n] | positions[n]["top_logprobs"][0]
    last = body["messages"][-1]
    before = last["content"] if last["role"] == "assistant" else ""
    choice = answer["choices"][0]
    said = choice["message"] | {"content": before + position["token"]}
    choice = choice | {
        "finish_reason": "length",
        "message": said,
        "logprobs": {"content": [position]},
    }
    # The total as well: what is above the sum would count as thinking.
    total = answer["usage"]["prompt_tokens"] + 1
    usage = answer["usage"] | {"completion_tokens": 1, "total_tokens": total}
    return answer | {"choices": [choice], "usage": usage}


def _positions(answer: Mapping[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (answer["choices"][0].get("logprobs") or {}).get("content") or []
    return found
