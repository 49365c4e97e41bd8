"""Answers that are odd in form: what can be read of them is, and the rest harms nobody else."""

from __future__ import annotations

import gzip
import json
import tracemalloc
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from persona_panel.models.client import MOST_CHARACTERS, CallError
from persona_panel.models.http_responses import MOST_BYTES
from persona_panel.rubrics import ModelRequest, ModelResponse, Usage
from persona_panel.testing import MODEL, Answer, always, raw, serving, status
from tests.helpers.langchain_chats import OpenAICompatible

ASK = ModelRequest(system="You judge.", blocks=("Read this. ", "Rate it."))


async def reply_to(answer: Answer, ask: ModelRequest = ASK) -> ModelResponse:
    """What one call makes of an answer; a second call would be a try too many."""
    with serving(always(answer)) as server:
        model = OpenAICompatible(model=MODEL, base_url=server.base_url)
        try:
            return await model.complete(ask)
        finally:
            await model.aclose()
            assert len(server.calls) == 1


# Usage


@pytest.mark.parametrize(
    ("usage", "counted", "odd"),
    [
        (
            {"prompt_tokens": 10**30, "completion_tokens": 1},
            Usage(0, 0, 1),
            "input tokens are 1e+30",
        ),
        ({"prompt_tokens": -600}, Usage(), "input tokens are -600"),
        ({"prompt_tokens": 8, "completion_tokens": -1}, Usage(8), "output tokens are -1"),
        ({"prompt_tokens": True}, Usage(), "input tokens are True"),
        (
            {"prompt_tokens": "8.0", "completion_tokens": "n/a"},
            Usage(8),
            "output tokens are a text",
        ),
        (
            {"prompt_tokens": [8], "completion_tokens": "inf"},
            Usage(),
            "input tokens are a list; output tokens are a text",
        ),
        (
            {"prompt_tokens": 8, "prompt_tokens_details": {"cached_tokens": 9}},
            Usage(8, 8),
            "cached tokens are 9, and input tokens 8",
        ),
        (
            {"prompt_tokens": 8, "prompt_tokens_details": {"cached_tokens": -9}},
            Usage(8),
            "cached tokens are -9",
        ),
        (
            {"prompt_tokens": 8, "prompt_tokens_details": [{"cached_tokens": 4}]},
            Usage(8),
            "cached tokens are a list",
        ),
        ([{"prompt_tokens": 8}], Usage(), "usage is a list"),
        ("8 tokens", Usage(), "usage is a text"),
        (8, Usage(), "usage is 8"),
    ],
)
async def test_usage_that_cannot_be_is_counted_as_less_and_named(
    usage: Any, counted: Usage, odd: str
) -> None:
    """Counts that no call can have are cut down to 0 ≤ cached ≤ input, the answer is read at the
    first try, and the usage says what was reported."""
    assert (await usage_of(usage)) == replace(counted, odd=odd)


async def usage_of(usage: Any) -> Usage:
    body = {"choices": [{"message": {"content": "7"}}], "usage": usage}
    # As text: orjson writes no number of thirty digits.
    reply = await reply_to(raw(json.dumps(body)))
    assert (reply.text, reply.finish_reason) == ("7", "stop")
    return reply.usage


# Bodies


def completion(content: Any = "7", **choice: Any) -> dict[str, Any]:
    message = {"role": "assistant", "content": content}
    return {"choices": [{"message": message, "finish_reason": "stop", **choice}]}


def sent(body: bytes, content_type: str = "application/json") -> Answer:
    return Answer(lambda call: body, headers={"Content-Type": content_type})


def events(*pieces: Mapping[str, Any] | str) -> Answer:
    lines = [piece if isinstance(piece, str) else json.dumps(piece) for piece in pieces]
    body = ": a comment\n\n" + "".join(f"data: {line}\n\n" for line in lines)
    return sent(body.encode(), "text/event-stream")


PLAIN = json.dumps(completion("7, très net"), ensure_ascii=False)


@pytest.mark.parametrize(
    "answer",
    [
        sent(b"\xef\xbb\xbf" + PLAIN.encode()),
        sent(PLAIN.encode("utf-16")),
        sent(PLAIN.encode("utf-32")),
        sent(PLAIN.encode("latin-1"), "application/json; charset=ISO-8859-1"),
        sent(PLAIN.encode(), "application/json; charset=no-such-charset"),
        sent(PLAIN.encode() + b"\0\0\n"),
        sent(PLAIN.encode() + b"\n[DONE]"),
        sent(PLAIN.encode()[:-1] + b', "x": NaN, "y": -Infinity, "z": ' + b"9" * 5000 + b"}"),
        sent(PLAIN.encode()[:-1] + b', "half": "\\ud83d"}'),
    ],
)
async def test_a_body_that_is_json_but_for_its_form_is_read(answer: Answer) -> None:
    """A byte order mark, another encoding, something behind the JSON, NaN, a number of five
    thousand digits and half a surrogate pair cost no second try."""
    assert (await reply_to(answer)).text == "7, très net"


@pytest.mark.parametrize("said", ["NaN", "Infinity"])
async def test_a_log_probability_that_is_no_number_is_not_a_missing_one(said: str) -> None:
    """It is handed on as text, which no elicitation weighs: null says too small to be told."""
    top = [{"token": "7", "logprob": "@"}, {"token": "8", "logprob": None}]
    position = {"token": "7", "logprob": "@", "top_logprobs": top}
    whole = completion("7")
    whole["choices"][0]["logprobs"] = {"content": [position]}
    reply = await reply_to(sent(json.dumps(whole).replace('"@"', said).encode()))
    # Typed as numbers, which a server need not send.
    handed: list[Any] = [(token.top, token.logprob) for token in reply.logprobs]
    assert handed == [((("7", said), ("8", None)), said)]


async def test_bytes_in_no_encoding_cost_only_themselves() -> None:
    """Where an answer's bytes fit no encoding, the rest of its text is read."""
    assert (await reply_to(sent(PLAIN.encode("latin-1")))).text == "7, tr\ufffds net"


@pytest.mark.parametrize(
    ("escaped", "text"),
    [
        (r"\ud83d cut in two", "\ufffd cut in two"),
        (r"\ud83d\ude00 and \udead", "\U0001f600 and \ufffd"),
    ],
)
async def test_half_a_surrogate_pair_becomes_the_replacement_character(
    escaped: str, text: str
) -> None:
    """What no file could hold is replaced, and whole pairs are what they were."""
    body = json.dumps(completion("@")).replace("@", escaped)
    assert (await reply_to(raw(body))).text == text


def piece(**delta: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}


LAST = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
COUNTED = {"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 2}}


@pytest.mark.parametrize(
    "answer",
    [
        events(
            piece(role="assistant", content=""),
            piece(content="7, "),
            piece(content="so"),
            LAST,
            COUNTED,
            "[DONE]",
        ),
        events({**completion("7, so"), "usage": COUNTED["usage"]}),
    ],
)
async def test_a_stream_that_nobody_asked_for_is_put_together(answer: Answer) -> None:
    """An answer that comes as server-sent events counts as the same answer in one piece."""
    reply = await reply_to(answer)
    assert (reply.text, reply.finish_reason) == ("7, so", "stop")
    assert reply.usage == Usage(9, 0, 2)


@pytest.mark.parametrize(
    "answer",
    [
        events(piece(content="1")),
        events(piece(content="1"), {"error": {"message": "overloaded"}}),
        events(),
        sent(PLAIN.encode() + PLAIN.replace("7", "8").encode()),
        sent(b"[" * 200_000),
    ],
)
async def test_what_is_no_whole_answer_is_tried_again(answer: Answer) -> None:
    """A stream that breaks off (its 1 may have been a 10), two answers and nesting without end
    are no answer; another try may bring one."""
    with pytest.raises(CallError) as caught:
        await reply_to(answer)
    assert caught.value.kind == "transient"


@pytest.mark.parametrize(
    ("choice", "text"),
    [
        ({"message": {"content": ["7", " of 10"]}}, "7 of 10"),
        ({"message": {"content": [{"type": "output_text", "text": "7"}, 8, {}]}}, "7"),
        ({"message": {"content": {"score": 7}}}, '{"score":7}'),
        ({"message": {"content": 7}}, "7"),
        ({"text": "7"}, "7"),
        ({"message": {"content": None, "tool_calls": [{"function": {"arguments": "{}"}}]}}, "{}"),
        ({"message": {"content": "", "function_call": {"arguments": "{}"}}}, "{}"),
        ({"message": {"content": None, "reasoning_content": ' {"score": 7} '}}, ' {"score": 7} '),
        ({"message": {"content": None, "reasoning": '{"score": 7}'}}, '{"score": 7}'),
        ({"message": {"content": None, "reasoning_content": "Perhaps 7."}}, ""),
        ({"message": {"content": "7", "tool_calls": "none"}}, "7"),
    ],
)
async def test_an_answer_is_found_where_it_stands(choice: dict[str, Any], text: str) -> None:
    """Parts, JSON that is no text, the older protocol and a schema taken for a tool hold answers;
    thoughts are none, unless they are the whole object that was asked for."""
    assert (await reply_to(raw({"choices": [choice]}))).text == text


@pytest.mark.parametrize("logprobs", [[7], "none", {"content": [7]}, {"content": {"token": "7"}}])
async def test_odd_log_probabilities_cost_no_answer(logprobs: Any) -> None:
    """Log-probabilities in a form that nobody knows are none; the answer counts."""
    reply = await reply_to(raw(completion(logprobs=logprobs)))
    assert (reply.text, reply.logprobs) == ("7", ())


async def test_reasons_are_short_texts_whatever_was_sent() -> None:
    """A refusal and a reason to finish of any type and length can be written and counted."""
    body = completion(finish_reason={"why": "stop"})
    body["choices"][0]["message"]["refusal"] = ["no"] * 10_000
    reply = await reply_to(raw(body))
    assert reply.finish_reason == '{"why":"stop"}'
    assert reply.refusal is not None
    assert reply.refusal.startswith('["no","no"')
    assert len(reply.refusal) == 1_000


# Sizes


@cache
def packed() -> bytes:
    """Return a small body that unpacks to forty times the limit; made by the worker that runs these
    tests, not by each that collects them."""
    return gzip.compress(b" " * (40 * MOST_BYTES))


@pytest.mark.parametrize(
    "answer",
    [
        sent(b" " * (2 * MOST_BYTES)),
        Answer(lambda call: packed(), headers={"Content-Encoding": "gzip"}),
    ],
    ids=["long", "gzip"],
)
async def test_a_body_is_read_up_to_a_limit(answer: Answer) -> None:
    """A body of more bytes than any answer has, also one that is small until it is unpacked, is
    left where it is: the call is lost, is not tried again, says why, and may have been paid for."""
    with pytest.raises(CallError, match=f"longer than {MOST_BYTES:,} bytes") as caught:
        await reply_to(answer)
    assert (caught.value.kind, caught.value.used) == ("rejected", None)


async def test_a_small_body_that_unpacks_to_much_takes_little_memory() -> None:
    """Of a body that would be forty times the limit little more than the limit is ever held."""
    with serving(
        always(Answer(lambda call: packed(), headers={"Content-Encoding": "gzip"}))
    ) as server:
        model = OpenAICompatible(model=MODEL, base_url=server.base_url)
        tracemalloc.start()
        try:
            with pytest.raises(CallError):
                await model.complete(ASK)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
            await model.aclose()
    assert peak < 4 * MOST_BYTES


@pytest.mark.parametrize(
    ("code", "kind"),
    [(429, "transient"), (500, "transient"), (401, "permanent"), (400, "rejected")],
)
async def test_a_long_error_is_still_its_status(code: int, kind: str) -> None:
    """Of an error that goes on and on the beginning is read, and its status counts."""
    with pytest.raises(CallError) as caught:
        await reply_to(status(code, body="so " * MOST_BYTES, retry_after=7))
    assert (caught.value.kind, caught.value.status) == (kind, code)
    assert len(str(caught.value)) < 500
    assert caught.value.retry_after == (7 if kind == "transient" else None)


async def test_an_answer_in_gzip_is_an_answer() -> None:
    """Compression as such is no fault."""
    answer = Answer(
        lambda call: gzip.compress(PLAIN.encode()), headers={"Content-Encoding": "gzip"}
    )
    assert (await reply_to(answer)).text == "7, très net"


async def test_a_text_that_nothing_asked_for_is_not_read() -> None:
    """A text of more characters than any question leaves room for is no answer."""
    assert len((await reply_to(raw(completion("7" * MOST_CHARACTERS)))).text) == MOST_CHARACTERS
    with pytest.raises(CallError, match="200,001 characters long") as caught:
        await reply_to(raw(completion("7" * (MOST_CHARACTERS + 1))))
    assert caught.value.kind == "rejected"
