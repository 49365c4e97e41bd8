"""`OpenAICompatible` against a real server: what it sends, what it makes of each answer."""

from __future__ import annotations

import asyncio
import gc
import logging
import socket
import subprocess
import sys
import traceback
from base64 import b64encode
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any
from urllib.parse import quote

import orjson
import pytest
from langchain_core.messages import HumanMessage, SystemMessage
from pydantic import SecretStr, ValidationError

from persona_panel.models.client import CallError, ModelClient
from persona_panel.models.http_transfer import NoHttpResponse
from persona_panel.rubrics import ModelRequest, Position, Usage
from persona_panel.testing import (
    Answer,
    Script,
    ScriptedServer,
    always,
    in_turn,
    ok,
    raw,
    reset,
    serving,
    stall,
    status,
    truncated,
)
from tests.helpers.langchain_chats import OpenAICompatible
from tests.server import echo_headers, empty, faulty, not_json

ROOT = Path(__file__).parents[3]
KEY = "sk-canary/4f9e+Zq-0123456789"
ASK = ModelRequest(system="You judge.", blocks=("Read this. ", "Rate it."))
SCHEMA = {
    "type": "object",
    "properties": {"score": {"type": "integer", "minimum": 1, "maximum": 10}},
    "required": ["score"],
    "additionalProperties": False,
}


def model_at(server: ScriptedServer, **options: Any) -> OpenAICompatible:
    return OpenAICompatible(
        model="stub", base_url=server.base_url, api_key=SecretStr(KEY), **options
    )


async def sent(ask: ModelRequest, **options: Any) -> Mapping[str, Any]:
    """The payload that reaches the server."""
    with serving() as server:
        model = model_at(server, **options)
        await model.complete(ask)
        await model.aclose()
    return server.calls[0].payload


async def fault_of(answer: Answer, **options: Any) -> CallError:
    """The error that an answer becomes; that it hides the key is checked for all of them."""
    with serving(always(answer)) as server:
        model = model_at(server, **options)
        with pytest.raises(CallError) as caught:
            await model.complete(ASK)
        await model.aclose()
    assert_hides_the_key(caught.value)
    return caught.value


def assert_hides_the_key(error: BaseException) -> None:
    shown = [str(error), repr(error), *traceback.format_exception(error)]
    coded = b64encode(KEY.encode()).decode().rstrip("=")[:-1]
    for secret in (KEY, quote(KEY, safe=""), quote(KEY), coded, "canary"):
        assert secret not in "".join(shown)
    assert not isinstance(error.__context__, NoHttpResponse | OSError)
    assert "\n" not in str(error)


def openai_error(message: str, code: Any = None, kind: str = "", param: Any = None) -> Any:
    return {"error": {"message": message, "code": code, "type": kind, "param": param}}


def declining(parameter: str, answer: Answer) -> Script:
    """A server that gives this answer to every call that has the parameter."""
    return lambda number, payload: answer if parameter in payload else ok()


# What is sent


async def test_an_ask_becomes_messages_in_order() -> None:
    """System, the joined blocks, the turns of a re-ask and the prefill keep their order."""
    ask = ModelRequest(system="S", blocks=("a", "b"), exchange=(("bad", "again"),), prefill="{")
    payload = await sent(ask)
    assert [(message["role"], message["content"]) for message in payload["messages"]] == [
        ("system", "S"),
        ("user", "ab"),
        ("assistant", "bad"),
        ("user", "again"),
        ("assistant", "{"),
    ]
    assert payload["continue_final_message"] is True
    assert payload["add_generation_prompt"] is False


async def test_a_bare_ask_sends_nothing_that_was_not_asked_for() -> None:
    """Without system, schema, logprobs or temperature, none of them is in the payload."""
    payload = await sent(ModelRequest(system="", blocks=("hello",), max_tokens=5))
    assert payload == {
        "model": "stub",
        "messages": [{"role": "user", "content": "hello"}],
        "max_tokens": 5,
    }


async def test_temperature_and_seed_are_sent_when_given() -> None:
    """A temperature of 0 is a temperature."""
    payload = await sent(ASK, temperature=0.0, seed=0)
    assert payload["temperature"] == 0.0
    assert payload["seed"] == 0


async def test_a_schema_becomes_a_strict_response_format() -> None:
    """Any mapping does as a schema, a read-only one too."""
    payload = await sent(ModelRequest(system="", blocks=("x",), schema=MappingProxyType(SCHEMA)))
    assert payload["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "judgment", "strict": True, "schema": SCHEMA},
    }


@pytest.mark.parametrize(("asked", "granted"), [(5, 5), (20, 20), (50, 20)])
async def test_top_logprobs_stop_at_what_servers_grant(asked: int, granted: int) -> None:
    """OpenAI answers 400 above 20, so no more than that is asked for."""
    payload = await sent(ModelRequest(system="", blocks=("x",), top_logprobs=asked))
    assert payload["logprobs"] is True
    assert payload["top_logprobs"] == granted


async def test_the_key_travels_in_the_authorization_header() -> None:
    """A line break around the key, as files have it, is not part of it."""
    with serving() as server:
        model = OpenAICompatible(
            model="m", base_url=server.base_url + "/", api_key=SecretStr(f"{KEY}\n")
        )
        await model.complete(ASK)
        await model.aclose()
    assert server.calls[0].headers["Authorization"] == f"Bearer {KEY}"
    assert server.calls[0].headers["Content-Type"] == "application/json"


@pytest.mark.parametrize("key", [None, SecretStr("")])
async def test_without_a_key_no_authorization_is_sent(key: SecretStr | None) -> None:
    """A local server that wants no key gets none."""
    with serving() as server:
        model = OpenAICompatible(model="m", base_url=server.base_url, api_key=key)
        await model.complete(ASK)
        await model.aclose()
    assert "Authorization" not in server.calls[0].headers


async def test_openai_itself_is_told_max_completion_tokens() -> None:
    """Its newer models decline the old name, so the first call already has the new one."""
    with serving() as server:
        model = OpenAICompatible(model="m")
        model._wire._endpoint = server.base_url + "/chat/completions"
        await model.complete(ASK)
        await model.aclose()
    assert server.calls[0].payload["max_completion_tokens"] == ASK.max_tokens
    assert "max_tokens" not in server.calls[0].payload


async def test_a_text_that_is_no_unicode_is_rejected_before_it_is_sent() -> None:
    """Half a surrogate pair cannot be written as JSON: this call never will succeed."""
    with serving() as server:
        model = model_at(server)
        with pytest.raises(CallError) as caught:
            await model.complete(ModelRequest(system="", blocks=("\ud800",)))
    assert caught.value.kind == "rejected"
    assert server.calls == []


# What is made of an answer


async def test_a_reply_holds_text_usage_and_latency() -> None:
    """Cached tokens are read from OpenAI's details; latency is wall time."""
    usage = {
        "prompt_tokens": 90,
        "completion_tokens": 3,
        "prompt_tokens_details": {"cached_tokens": 64},
    }
    with serving(
        always(ok("eight", usage=usage, finish_reason="length")), latency_s=0.05
    ) as server:
        model = model_at(server)
        reply = await model.complete(ASK)
        await model.aclose()
    assert reply.text == "eight"
    assert reply.finish_reason == "length"
    assert reply.refusal is None
    assert reply.usage == Usage(input=90, cached=64, output=3)
    assert 0.05 <= reply.latency_s < 5
    assert reply.cached is False


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        (None, Usage()),
        ({"prompt_tokens": 8, "completion_tokens": None}, Usage(8, 0, 0)),
        ({"prompt_tokens": 8, "prompt_tokens_details": None}, Usage(8, 0, 0)),
        ({"prompt_tokens": "8", "completion_tokens": 1.0}, Usage(8, 0, 1)),
        ({"prompt_tokens": 8, "prompt_tokens_details": {}, "completion_tokens": 1}, Usage(8, 0, 1)),
        (
            {"prompt_tokens": 8, "prompt_cache_hit_tokens": 4, "completion_tokens": 1},
            Usage(8, 4, 1),
        ),
    ],
)
async def test_usage_is_read_where_it_is(usage: Any, expected: Usage) -> None:
    """Missing counts are zeros, DeepSeek's word for cached tokens counts, and a count as text or
    as a float is a number all the same."""
    body = {"choices": [{"message": {"content": "7"}}], "usage": usage}
    with serving(always(raw(body))) as server:
        model = model_at(server)
        reply = await model.complete(ASK)
        await model.aclose()
    assert reply.usage == expected
    assert reply.finish_reason == "stop"


async def test_logprobs_are_read_token_by_token() -> None:
    """Each position has its token and the alternatives in the server's order."""
    script = always(ok("7", logprobs=[{"7": -0.1, "6": -2.4, "8": -5.0}]))
    with serving(script) as server:
        model = model_at(server)
        reply = await model.complete(ModelRequest(system="", blocks=("x",), top_logprobs=2))
        await model.aclose()
    assert reply.logprobs == (Position("7", (("7", -0.1), ("6", -2.4)), -0.1),)


@pytest.mark.parametrize(
    ("answer", "refusal"),
    [
        (ok("", refusal="I'd rather not."), "I'd rather not."),
        (ok("", finish_reason="content_filter"), "content_filter"),
        (empty(), None),
    ],
)
async def test_a_refusal_is_the_providers_word(answer: Answer, refusal: str | None) -> None:
    """A refusal or a content filter is one; an empty answer alone is not."""
    with serving(always(answer)) as server:
        model = model_at(server)
        reply = await model.complete(ASK)
        await model.aclose()
    assert reply.refusal == refusal
    assert reply.text == ""


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (None, ""),
        ([{"type": "thinking", "thinking": []}, {"type": "text", "text": "7"}], "7"),
    ],
)
async def test_content_that_is_no_string_becomes_one(content: Any, text: str) -> None:
    """Null is no text, and of an answer in parts the text counts."""
    body = {"choices": [{"message": {"content": content}, "finish_reason": "stop"}]}
    with serving(always(raw(body))) as server:
        model = model_at(server)
        reply = await model.complete(ASK)
        await model.aclose()
    assert reply.text == text


# Errors


@pytest.mark.parametrize(
    ("answer", "kind", "code"),
    [
        (status(429), "transient", 429),
        (status(429, body=openai_error("no money", "insufficient_quota")), "permanent", 429),
        (status(429, body=openai_error("no money", None, "insufficient_quota")), "permanent", 429),
        *((status(code), "transient", code) for code in (408, 409, 425, 500, 502, 503, 504, 529)),
        *((status(code), "permanent", code) for code in (401, 402, 403, 404, 405)),
        *((status(code), "rejected", code) for code in (400, 413, 422, 451)),
        (status(400, body=openai_error("gone", "model_not_found")), "permanent", 400),
        (status(400, body=openai_error("The model `x` does not exist")), "permanent", 400),
        (status(400, body=openai_error("x is not a valid model ID", 400)), "permanent", 400),
        (status(400, body=openai_error("long", "context_length_exceeded")), "rejected", 400),
        (status(403, body=openai_error("input was flagged", 403)), "rejected", 403),
        (
            status(400, body={"object": "error", "message": "old vLLM", "code": 400}),
            "rejected",
            400,
        ),
        (status(404, body={"error": "model 'x' not found"}), "permanent", 404),
        (status(503, body="<html>\nupstream\n</html>"), "transient", 503),
        (status(500, body=""), "transient", 500),
    ],
)
async def test_an_error_status_has_its_kind(answer: Answer, kind: str, code: int) -> None:
    """What may pass is transient, what this call earned is rejected, the rest permanent; of what is
    not there the remedy is said."""
    error = await fault_of(answer)
    assert (error.kind, error.status) == (kind, code)
    assert ("correct the model's name, " in str(error)) == (code == 404)


@pytest.mark.parametrize(
    ("error", "kind", "code"),
    [
        ({"message": "slow down", "code": 429}, "transient", 429),
        ({"message": "slow down", "code": "rate_limit_exceeded"}, "transient", 429),
        ({"message": "bad key", "code": "invalid_api_key"}, "permanent", 401),
        ({"message": "bad key", "code": "401"}, "permanent", 401),
        ({"message": "too much", "type": "invalid_request_error"}, "rejected", 400),
        ({"message": "who knows"}, "transient", 502),
        ("who knows", "transient", 502),
    ],
)
async def test_an_error_inside_a_success_counts_by_its_code(
    error: Any, kind: str, code: int
) -> None:
    """Gateways say 200 and mean something else, on top, in a list or in the choice."""
    for body in ({"error": error}, {"choices": [{"error": error, "message": {"content": ""}}]}):
        fault = await fault_of(raw(body))
        assert (fault.kind, fault.status) == (kind, code)
    listed = await fault_of(status(200, body=orjson.dumps([{"error": error}]).decode()))
    assert (listed.kind, listed.status) == (kind, code)


@pytest.mark.parametrize(
    "answer",
    [
        reset(),
        truncated(),
        not_json(),
        status(204, body=""),
        raw("7"),
        raw("[]"),
        raw({"choices": []}),
        raw({"choices": {"0": "?"}}),
        raw({"choices": ["?"]}),
        raw({"choices": [{"message": None}]}),
        raw({"id": "no choices"}),
        raw('{"choices": [{"message": {"content": "7"'),
        Answer(lambda call: b'{"choices": "\xff"}'),
    ],
)
async def test_an_answer_that_cannot_be_read_is_transient(answer: Answer) -> None:
    """A connection or a body that broke says nothing about the next one."""
    assert (await fault_of(answer)).kind == "transient"


async def test_a_call_that_takes_too_long_is_given_up() -> None:
    """A timeout names the server and the seconds, and hides the key."""
    with serving(always(stall(30))) as server:
        model = model_at(server, timeout_s=0.2)
        with pytest.raises(TimeoutError, match=r"/v1: no answer within 0\.2 s$") as caught:
            await model.complete(ASK)
        await model.aclose()
    assert_hides_the_key(caught.value)


async def test_a_server_that_is_not_there_is_transient() -> None:
    """It may be starting; the address says which server was meant."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/v1"
        model = OpenAICompatible(model="m", base_url=url, api_key=SecretStr(KEY))
        with pytest.raises(CallError) as caught:
            await model.complete(ASK)
        await model.aclose()
    assert_hides_the_key(caught.value)
    assert caught.value.kind == "transient"
    assert url in str(caught.value)


async def test_a_server_that_speaks_no_tls_is_transient() -> None:
    """An https address of a plain server is an error like any other, not a crash."""
    with serving() as server:
        url = server.base_url.replace("http:", "https:")
        model = OpenAICompatible(model="m", base_url=url, api_key=SecretStr(KEY))
        with pytest.raises(CallError) as caught:
            await model.complete(ASK)
        await model.aclose()
    assert_hides_the_key(caught.value)
    assert caught.value.kind == "transient"


@pytest.mark.parametrize(
    ("location", "named"),
    [
        ("https://elsewhere.example/v1?key=abc", "elsewhere.example"),
        ("/login", "the same host"),
        ("http://[bad", "nowhere"),
    ],
)
async def test_a_redirect_is_not_followed(location: str, named: str) -> None:
    """The key is for one host; the message says where the server wanted it to go."""
    error = await fault_of(status(307, headers={"Location": location}))
    assert error.kind == "permanent"
    assert f"a redirect to {named}," in str(error)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "3"}, 3),
        ({"Retry-After": "0.5"}, 0.5),
        ({"Retry-After": "-1"}, 0),
        ({"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0),
        ({"Retry-After": "9", "retry-after-ms": "250"}, 0.25),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": "inf"}, None),
        ({"Retry-After": ""}, None),
        ({}, None),
    ],
)
@pytest.mark.parametrize("code", [429, 503])
async def test_the_providers_word_on_when_to_retry(
    headers: dict[str, str], seconds: float | None, code: int
) -> None:
    """Seconds, milliseconds and a date are understood; nonsense is no word at all."""
    error = await fault_of(status(code, headers=headers))
    assert error.retry_after == seconds


async def test_google_says_in_its_error_how_long_to_wait() -> None:
    """Gemini's OpenAI-compatible address has no header for it; a header would come first."""
    info = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "2.5s"}
    body = {"error": {"code": 429, "message": "Quota exceeded.", "details": [{}, info]}}
    assert (await fault_of(status(429, body=orjson.dumps([body]).decode()))).retry_after == 2.5
    assert (await fault_of(status(429, body=body, retry_after=4))).retry_after == 4


@pytest.mark.parametrize("code", ["content_filter", "invalid_prompt"])
async def test_a_request_that_the_filter_stops_is_a_refusal(code: str) -> None:
    """OpenAI's and Azure's 400 for it says nothing against the server or the other texts."""
    error = {"message": "It triggers the content policy.", "code": code, "type": "x"}
    with serving(always(status(400, body={"error": error}))) as server:
        model = model_at(server)
        reply = await model.complete(ASK)
        await model.aclose()
        assert len(server.calls) == 1
    assert (reply.refusal, reply.text) == ("It triggers the content policy.", "")
    assert reply.finish_reason == "content_filter"


async def test_a_date_to_retry_after_becomes_seconds_from_now() -> None:
    """Half a minute ahead is half a minute to wait."""
    when = format_datetime(datetime.now(UTC) + timedelta(seconds=30), usegmt=True)
    error = await fault_of(status(429, retry_after=when))
    assert error.retry_after is not None
    assert 28 < error.retry_after <= 30


async def test_a_message_is_one_short_line_in_the_providers_words() -> None:
    """Line breaks and control characters go, and what is long is cut."""
    error = await fault_of(status(400, body=openai_error("too\nbad\x1b[31m " + "x" * 5000)))
    assert "answered 400: too bad [31m xxx" in str(error)
    assert str(error).endswith("…")
    assert len(str(error)) < 360


async def test_openrouters_inner_reason_is_shown() -> None:
    """Its own message says only that the provider failed."""
    body = openai_error("Provider returned error", 502)
    body["error"]["metadata"] = {"raw": "the GPU is on fire"}
    assert "the GPU is on fire" in str(await fault_of(status(502, body=body)))


# Nobody sees the key


def quoting(text: str) -> Answer:
    return status(401, body=openai_error(text))


@pytest.mark.parametrize(
    "answer",
    [
        echo_headers(401),
        echo_headers(500),
        quoting(f"Incorrect API key provided: {KEY}."),
        quoting(f"no: {quote(KEY, safe='')}"),
        quoting("no: " + "".join(f"%{byte:02X}" for byte in KEY.encode())),
        quoting("no: sk%2Dcanary/4f9e%2bZq-0123456789"),
        *(quoting("no: " + b64encode(pad + KEY.encode()).decode()) for pad in (b"", b"u", b"u:")),
        quoting("no: " + b64encode(b"Bearer " + KEY.encode()).decode()),
        quoting("x" * 240 + KEY),
        status(401, body=f"<html>Authorization: Bearer {KEY}</html>"),
        status(200, body=f"<html>Authorization: Bearer {KEY}</html>"),
        status(307, headers={"Location": f"https://{quote(KEY, safe='')}.example/?{KEY}"}),
    ],
)
async def test_no_error_shows_the_key(answer: Answer) -> None:
    """Echoed plainly, encoded or cut off, it is in no message, repr or traceback."""
    error = await fault_of(answer)
    assert error.status


async def test_somebody_elses_credentials_are_hidden_too() -> None:
    """A gateway's own key may stand in its error."""
    text = "upstream said: sk-proj-abcdef123456, Bearer abc.def, Authorization: Basic dTpw"
    shown = str(await fault_of(quoting(text)))
    assert "abcdef" not in shown
    assert "abc.def" not in shown
    assert "dTpw" not in shown


def test_the_model_shows_no_key() -> None:
    """Neither its repr nor its parameters nor what LangChain traces of it hold the key."""
    model = OpenAICompatible(model="m", api_key=SecretStr(KEY), temperature=0.5, seed=3)
    shown = [repr(model), str(model), repr(model.model_dump()), model.model_dump_json()]
    shown += [repr(model.parameters), repr(model._get_llm_string())]
    assert "canary" not in "".join(shown)
    assert model.parameters == {
        "model": "m",
        "base_url": "https://api.openai.com/v1",
        "temperature": 0.5,
        "seed": 3,
    }


@pytest.mark.parametrize(
    "options",
    [
        {"base_url": f"https://user:{KEY}@host/v1"},
        {"base_url": f"https://host/v1?key={KEY}"},
        {"base_url": f"ftp://host/{KEY}"},
        {"base_url": f"http://[{KEY}"},
        {"base_url": ""},
        {"api_key": SecretStr(f"{KEY} {KEY}")},
        {"api_key": SecretStr(f"{KEY}\r\nX-Evil: 1")},
        {"timeout_s": 0},
        {"model": ""},
        {"temprature": KEY},
    ],
)
def test_what_cannot_work_is_refused_when_built(options: dict[str, Any]) -> None:
    """A wrong address, key or option is refused at once, and not printed."""
    with pytest.raises(ValidationError) as caught:
        OpenAICompatible(**({"model": "m"} | options))
    assert "canary" not in str(caught.value)


# What a server does not support


@pytest.mark.parametrize(
    "answer",
    [
        status(400, body=openai_error("This response_format type is unavailable now")),
        status(422, body={"detail": [{"loc": ["body", "response_format"], "msg": "extra"}]}),
        status(501, body=openai_error("json_schema is not implemented")),
        status(400, body=openai_error("no", param="response_format")),
    ],
)
async def test_without_schemas_a_server_is_asked_plainly(
    answer: Answer, caplog: pytest.LogCaptureFixture
) -> None:
    """The call is repeated at once without the schema; the next one leaves it out."""
    asked = ModelRequest(system="", blocks=("x",), schema=SCHEMA)
    with serving(declining("response_format", answer)) as server, caplog.at_level(logging.WARNING):
        model = model_at(server)
        assert (await model.complete(asked)).text == "7"
        assert (await model.complete(asked)).text == "7"
        await model.aclose()
    assert ["response_format" in call.payload for call in server.calls] == [True, False, False]
    assert len(caplog.records) == 1


@pytest.mark.parametrize(
    ("parameter", "message", "param", "instead"),
    [
        (
            "max_tokens",
            "Unsupported parameter: 'max_tokens' is not supported with this model. "
            "Use 'max_completion_tokens' instead.",
            "max_tokens",
            "max_completion_tokens",
        ),
        (
            "max_tokens",
            "Unknown field max_tokens; use max_completion_tokens",
            None,
            "max_completion_tokens",
        ),
        ("temperature", "'temperature' does not support 0.5 with this model.", "temperature", None),
        ("seed", "Extra inputs are not permitted: seed", None, None),
        ("continue_final_message", "Unrecognized argument: continue_final_message", None, None),
    ],
)
async def test_an_unsupported_parameter_is_left_out(
    parameter: str, message: str, param: str | None, instead: str | None
) -> None:
    """The call is repeated without it, a limit on tokens under its other name."""
    answer = status(400, body=openai_error(message, "unsupported_parameter", param=param))
    with serving(declining(parameter, answer)) as server:
        model = model_at(server, temperature=0.5, seed=1)
        await model.complete(ModelRequest(system="", blocks=("x",), prefill="{"))
        await model.complete(ASK)
        await model.aclose()
    assert [parameter in call.payload for call in server.calls] == [True, False, False]
    if instead:
        assert server.calls[1].payload[instead] == ASK.max_tokens


async def test_a_server_that_takes_neither_name_of_the_limit_gets_none() -> None:
    """Declining ends: each turn sends one parameter fewer."""

    def script(number: int, payload: Mapping[str, Any]) -> Answer:
        for name in ("max_tokens", "max_completion_tokens"):
            if name in payload:
                return status(400, body=openai_error(f"unknown parameter {name}"))
        return ok()

    with serving(script) as server:
        model = model_at(server)
        await model.complete(ASK)
        await model.aclose()
    assert len(server.calls) == 3


async def test_calls_in_flight_together_each_get_through(caplog: pytest.LogCaptureFixture) -> None:
    """What one learns the others learn too; none is lost, and the log has one line."""
    answer = status(400, body=openai_error("response_format is unsupported"))
    with serving(declining("response_format", answer), latency_s=0.02) as server:
        model = model_at(server)
        asked = ModelRequest(system="", blocks=("x",), schema=SCHEMA)
        replies = await asyncio.gather(*(model.complete(asked) for _ in range(20)))
        await model.aclose()
    assert {reply.text for reply in replies} == {"7"}
    assert len(server.calls) == 40
    assert len(caplog.records) == 1


@pytest.mark.parametrize(
    "message",
    [
        "temperature must be between 0 and 2",
        "maximum context length is 8 tokens; you sent 9 (2 in the response_format schemas)",
        "Unsupported parameter: logprobs",
        "Unsupported parameter: something_else",
    ],
)
async def test_other_faults_of_a_call_are_not_repaired(message: str) -> None:
    """A wrong value, a text too long or missing logprobs are the caller's to know."""
    with serving(always(status(400, body=openai_error(message)))) as server:
        model = model_at(server, temperature=9)
        with pytest.raises(CallError) as caught:
            await model.complete(
                ModelRequest(system="", blocks=("x",), schema=SCHEMA, top_logprobs=5)
            )
        await model.aclose()
    assert caught.value.kind == "rejected"
    assert len(server.calls) == 1


# Connections and loops


@pytest.mark.parametrize(
    "headers", [{"X": "a\r\nEvil: 1"}, {"X\nEvil": "1"}, {"X": "\0"}, {"": "1"}]
)
def test_headers_that_are_no_lines_are_refused(headers: dict[str, str]) -> None:
    """None may bring another with it."""
    with pytest.raises(ValidationError, match="header"):
        OpenAICompatible(model="m", headers=headers)


async def test_more_than_a_hundred_calls_run_at_once() -> None:
    """The pool does not throttle: that is decided above, where it is seen."""
    with serving(latency_s=60) as server:
        model = model_at(server)
        calls = asyncio.gather(*(model.complete(ASK) for _ in range(250)))
        async with asyncio.timeout(60):
            # No answer comes meanwhile, however slow the machine.
            while server.in_flight_max < 250:  # noqa: ASYNC110 (the server's state)
                await asyncio.sleep(0.01)
        calls.cancel()
        await model.aclose()


async def test_closing_twice_does_no_harm_and_a_later_call_opens_again() -> None:
    """A model outlives its connections."""
    with serving() as server:
        model = model_at(server)
        await model.aclose()
        await model.complete(ASK)
        await asyncio.gather(model.aclose(), model.aclose())
        assert model._wire._pools == {}
        assert (await model.complete(ASK)).text == "7"
        await model.aclose()
        assert model._wire._pools == {}


def test_one_model_serves_one_loop_after_another() -> None:
    """A loop that ends takes its connections along, closed and without a warning."""

    async def ask(model: OpenAICompatible) -> list[str]:
        replies = await asyncio.gather(*(model.complete(ASK) for _ in range(5)))
        return [reply.text for reply in replies]

    with serving() as server:
        model = model_at(server)
        for _ in range(2):
            assert asyncio.run(ask(model)) == ["7"] * 5
            assert model._wire._pools == {}
        gc.collect()


async def test_a_cancelled_call_leaves_the_model_usable() -> None:
    """Cancelling is no fault of the call, and the next one gets its own answer."""
    with serving(in_turn(stall(30), ok("next"))) as server:
        model = model_at(server)
        task = asyncio.create_task(model.complete(ASK))
        await asyncio.sleep(0.1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (await model.complete(ASK)).text == "next"
        await model.aclose()


def test_a_program_that_forgets_to_close_ends_in_silence() -> None:
    """With every warning an error, a script that never closes prints its answer only."""
    program = (
        "import asyncio, sys\n"
        "from tests.helpers.langchain_chats import OpenAICompatible\n"
        "model = OpenAICompatible(model='m', base_url=sys.argv[1])\n"
        "print(asyncio.run(model.ainvoke('hello')).content, model.invoke('hello').content)\n"
    )
    with serving() as server:
        done = subprocess.run(
            [sys.executable, "-W", "error::ResourceWarning", "-c", program, server.base_url],
            capture_output=True,
            text=True,
            timeout=60,
            cwd=ROOT,
            check=False,
        )
    assert (done.stdout, done.stderr) == ("7 7\n", "")


async def test_with_faults_about_every_call_ends_in_a_reply_or_a_transient_fault() -> None:
    """Against a server that misbehaves half the time, nothing else comes out."""

    async def outcome(model: OpenAICompatible, number: int) -> str:
        try:
            return (await model.complete(ModelRequest(system="", blocks=(str(number),)))).text
        except CallError as error:
            assert_hides_the_key(error)
            return error.kind

    with serving(faulty(0.5, seed=3)) as server:
        model = model_at(server)
        outcomes = await asyncio.gather(*(outcome(model, number) for number in range(200)))
        await model.aclose()
    assert set(outcomes) == {"7", "", "transient"}


# As a LangChain chat model


async def test_ainvoke_returns_an_ordinary_message() -> None:
    """Usage, logprobs and the reason it ended are where LangChain's users look."""
    usage = {
        "prompt_tokens": 9,
        "completion_tokens": 2,
        "prompt_tokens_details": {"cached_tokens": 4},
    }
    script = always(ok("7", logprobs=[{"7": -0.1}], usage=usage))
    with serving(script) as server:
        model = model_at(server, temperature=0.2)
        bound = model.bind(
            logprobs=True,
            top_logprobs=3,
            max_tokens=4,
            stop=["\n"],
            response_format={"type": "json_object"},
        )
        message = await bound.ainvoke([SystemMessage("S"), HumanMessage("U")])
        await model.aclose()
    assert server.calls[0].payload == {
        "model": "stub",
        "temperature": 0.2,
        "messages": [{"role": "system", "content": "S"}, {"role": "user", "content": "U"}],
        "logprobs": True,
        "top_logprobs": 3,
        "max_tokens": 4,
        "stop": ["\n"],
        "response_format": {"type": "json_object"},
    }
    assert message.content == "7"
    assert message.usage_metadata == {
        "input_tokens": 9,
        "output_tokens": 2,
        "total_tokens": 11,
        "input_token_details": {"cache_read": 4},
        "output_token_details": {"reasoning": 0},
    }
    assert message.response_metadata["finish_reason"] == "stop"
    assert message.response_metadata["logprobs"]["content"][0]["token"] == "7"
    assert message.response_metadata["model_name"] == "stub"


def test_invoke_works_without_a_loop() -> None:
    """The synchronous way, from an ordinary program."""
    with serving() as server:
        assert model_at(server).invoke("hello").content == "7"
        gc.collect()


async def test_invoke_works_inside_a_running_loop() -> None:
    """As in a notebook; the loop's own connections are left alone."""
    with serving() as server:
        model = model_at(server)
        await model.complete(ASK)
        assert model.invoke("hello").content == "7"
        assert (await model.complete(ASK)).text == "7"
        await model.aclose()


async def test_streaming_falls_back_to_one_piece() -> None:
    """A chain that streams gets the whole answer."""
    with serving() as server:
        model = model_at(server)
        pieces = [piece.content async for piece in model.astream("hello")]
        await model.aclose()
    assert "".join(str(piece) for piece in pieces) == "7"


async def test_a_fault_reaches_langchains_users_as_a_call_error() -> None:
    """The same error, the key as well hidden, and a refusal where LangChain puts it."""
    with serving(in_turn(echo_headers(401), ok("", refusal="No."))) as server:
        model = model_at(server)
        with pytest.raises(CallError) as caught:
            await model.ainvoke("hello")
        message = await model.ainvoke("hello")
        await model.aclose()
    assert_hides_the_key(caught.value)
    assert message.additional_kwargs["refusal"] == "No."


def test_it_is_a_speaker() -> None:
    """The type checker sees what the panel asks for."""
    client: ModelClient = OpenAICompatible(model="m")
    assert client.parameters["model"] == "m"


# The server itself


async def test_the_server_answers_as_the_schema_says() -> None:
    """Integers in range and the same each time, booleans false, enums kept."""
    schema = {
        "type": "object",
        "properties": {
            "a": {"type": "integer", "minimum": 3, "maximum": 4},
            "b": {"type": "boolean"},
            "c": {"enum": [1, 2, None]},
            "d": {"$ref": "#/$defs/reason"},
        },
        "$defs": {"reason": {"type": "string"}},
    }
    with serving() as server:
        model = model_at(server)
        asks = [
            ModelRequest(system="", blocks=(str(n),), schema=schema)
            for n in (*range(20), *range(20))
        ]
        texts = [(await model.complete(ask)).text for ask in asks]
        await model.aclose()
    read = [orjson.loads(text) for text in texts]
    assert {answer["a"] for answer in read} == {3, 4}
    assert {answer["b"] for answer in read} == {True}
    assert {answer["c"] for answer in read} == {1, 2, None}
    assert read[:20] == read[20:]


def test_scripted_faults_are_the_same_under_a_seed() -> None:
    """Whichever order calls come in, the same call gets the same fault."""
    payloads = [{"messages": [{"content": str(number)}]} for number in range(300)]

    def drawn(seed: int, order: Callable[[list[Any]], Any]) -> dict[str, tuple[Any, ...]]:
        script = faulty(0.3, seed)
        chosen = {}
        for number, payload in enumerate(order(payloads)):
            answer = script(number, payload)
            chosen[payload["messages"][0]["content"]] = (
                answer.status,
                answer.ending,
                answer.wait_s,
            )
        return chosen

    assert drawn(1, list) == drawn(1, lambda all_of_them: all_of_them[::-1])
    assert drawn(1, list) != drawn(2, list)
    plain = sum(answer == (200, "whole", 0.0) for answer in drawn(1, list).values())
    assert 210 <= plain <= 300


def test_the_server_runs_as_a_process() -> None:
    """It prints where it listens, and answers with the scores it was given."""

    async def ask(base_url: str) -> tuple[str, str, float]:
        model = OpenAICompatible(model="m", base_url=base_url)
        plain = await model.complete(ASK)
        scored = await model.complete(ModelRequest(system="", blocks=("x",), schema=SCHEMA))
        return plain.text, scored.text, plain.latency_s

    command = [sys.executable, "-m", "tests.server", "--scores", "4", "--latency", "0.05"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT) as process:
        assert process.stdout is not None
        where = orjson.loads(process.stdout.readline())
        plain, scored, latency_s = asyncio.run(ask(where["base_url"]))
        process.terminate()
    assert plain == "4"
    assert orjson.loads(scored) == {"score": 4}
    assert latency_s >= 0.05
