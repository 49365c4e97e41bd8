"""LangChain chat models as speakers: `persona_panel.models.langchain`."""

from __future__ import annotations

import json
import traceback
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from types import SimpleNamespace
from typing import Any

import pytest
from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic import Field, SecretStr

from persona_panel.files.secrets import SECRETS
from persona_panel.models.client import CallError, ModelClient
from persona_panel.models.langchain import LangChainClient, secrets_of
from persona_panel.rubrics import ModelRequest, ModelResponse, Position, Usage
from persona_panel.testing import (
    Answer,
    ScriptedServer,
    always,
    ok,
    raw,
    reset,
    serving,
    stall,
    status,
    truncated,
)
from tests.helpers.anthropic import ANTHROPIC
from tests.server import echo_headers, not_json

ChatOpenAI = pytest.importorskip(
    "langchain_openai", reason="langchain-openai is not installed"
).ChatOpenAI

KEY = "canary-4f9e+Zq/0123456789"
ASK = ModelRequest(system="You judge.", blocks=("Read this. ", "Rate it."))
SCHEMA = {
    "type": "object",
    "properties": {"score": {"type": "integer", "minimum": 1, "maximum": 10}},
    "required": ["score"],
    "additionalProperties": False,
}
STRUCTURED = ModelRequest(system="You judge.", blocks=("Rate it.",), schema=SCHEMA)


def speaker_at(server: ScriptedServer, **options: Any) -> LangChainClient:
    chat = ChatOpenAI(
        model="stub",
        base_url=server.base_url,
        api_key=SecretStr(KEY),
        max_retries=0,
        **{"timeout": 5, **options},
    )
    return LangChainClient(chat, "stub", timeout_s=5)


async def reply_of(answer: Answer, ask: ModelRequest = ASK) -> tuple[ModelResponse, ScriptedServer]:
    with serving(always(answer)) as server:
        return await speaker_at(server).complete(ask), server


@pytest.mark.parametrize(("name", "answered_by"), [("stub", ""), ("other", "other"), (None, "")])
async def test_a_reply_has_the_name_by_which_the_model_answered(
    name: str | None, answered_by: str
) -> None:
    """Where that is not the name that was asked for."""
    choice = {"index": 0, "message": {"role": "assistant", "content": "7"}, "finish_reason": "stop"}
    body = {"id": "c1", "object": "chat.completion", "created": 1, "choices": [choice]}
    with serving(always(raw(body | {"model": name}))) as server:
        client = speaker_at(server)
        try:
            reply = await client.complete(ASK)
        finally:
            await client.aclose()
    assert reply.answered_by == answered_by


async def test_thinking_is_a_part_of_the_output() -> None:
    """What LangChain passes on of a provider's reasoning tokens."""
    reply, _ = await reply_of(ok("7", reasoning=30))
    assert reply.usage.reasoning == 30
    assert reply.usage.output > 30


async def fault_of(answer: Answer, ask: ModelRequest = ASK, **options: Any) -> CallError:
    """The error that an answer becomes; that it hides the key is checked for all of them."""
    with serving(always(answer)) as server, pytest.raises(CallError) as caught:
        await speaker_at(server, **options).complete(ask)
    assert len(server.calls) == 1
    assert KEY in server.calls[0].headers["Authorization"]
    shown = "".join(traceback.format_exception(caught.value))
    assert KEY not in shown + repr(caught.value)
    return caught.value


# OpenAI's chat model, which other providers' are like


async def test_a_text_and_what_it_took() -> None:
    """A reply has the text, the usage with what was cached, and how long it took."""
    usage = {
        "prompt_tokens": 120,
        "completion_tokens": 5,
        "total_tokens": 125,
        "prompt_tokens_details": {"cached_tokens": 100},
    }
    reply, _ = await reply_of(ok("Seven — «7».", usage=usage))
    assert reply.text == "Seven — «7»."
    assert reply.finish_reason == "stop"
    assert reply.usage == Usage(input=120, cached=100, output=5)
    assert reply.latency_s > 0


async def test_the_whole_conversation_is_sent() -> None:
    """System, blocks, the turns of a re-ask and the beginning of the answer arrive in order."""
    ask = ModelRequest("You judge.", ("Read. ", "Rate."), (("seven", "As JSON."),), prefill="{")
    _, server = await reply_of(ok("7"), ask)
    sent = server.calls[0].payload["messages"]
    assert [(message["role"], message["content"]) for message in sent] == [
        ("system", "You judge."),
        ("user", "Read. Rate."),
        ("assistant", "seven"),
        ("user", "As JSON."),
        ("assistant", "{"),
    ]


async def test_structured_output() -> None:
    """A schema is asked for as such, and the reply's text is the JSON that came."""
    reply, server = await reply_of(ok('{"score": 4}'), STRUCTURED)
    assert json.loads(reply.text) == {"score": 4}
    wanted = server.calls[0].payload["response_format"]["json_schema"]["schema"]
    assert wanted["properties"] == SCHEMA["properties"]
    assert reply.usage.output > 0


async def test_structured_output_as_a_tool_s_arguments() -> None:
    """Where the JSON comes as a tool call, its arguments are the text."""
    call = {
        "id": "1",
        "type": "function",
        "function": {"name": "judgment", "arguments": '{"score": 4}'},
    }
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    body = {
        "id": "1",
        "object": "chat.completion",
        "created": 0,
        "model": "stub",
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}],
    }
    reply, _ = await reply_of(status(200, body=body), STRUCTURED)
    assert json.loads(reply.text) == {"score": 4}


async def test_json_that_fits_no_schema_is_still_the_reply() -> None:
    """What cannot be parsed is handed on: to read it is the elicitation's business."""
    reply, _ = await reply_of(ok("seven, I should say"), STRUCTURED)
    assert reply.text == "seven, I should say"


async def test_an_answer_cut_short_is_a_reply() -> None:
    """Structured output that reached the token limit comes back as far as it went, with its
    usage, though OpenAI's package raises."""
    reply, _ = await reply_of(ok('{"sco', finish_reason="length"), STRUCTURED)
    assert (reply.text, reply.finish_reason) == ('{"sco', "length")
    assert reply.usage.output > 0


@pytest.mark.parametrize("ask", [ASK, STRUCTURED])
async def test_a_filtered_answer_is_a_refusal(ask: ModelRequest) -> None:
    """What a content filter stopped is a refusal and no failure."""
    reply, _ = await reply_of(ok("", finish_reason="content_filter"), ask)
    assert reply.refusal == "content_filter"


@pytest.mark.parametrize("ask", [ASK, STRUCTURED])
async def test_a_refusal_is_the_provider_s_own_word(ask: ModelRequest) -> None:
    """A message's refusal text becomes the reply's."""
    reply, _ = await reply_of(ok("", refusal="I would rather not."), ask)
    assert reply.refusal == "I would rather not."


async def test_log_probabilities() -> None:
    """Log-probabilities come back token by token, at most twenty a token being asked for."""
    top = [{"7": -0.5, "8": -1.5}, {".": -0.25}]
    ask = ModelRequest("", ("Rate it.",), top_logprobs=512)
    reply, server = await reply_of(ok("7.", logprobs=top), ask)
    assert reply.logprobs == (
        Position("7", (("7", -0.5), ("8", -1.5)), -0.5),
        Position(".", ((".", -0.25),), -0.25),
    )
    assert server.calls[0].payload["top_logprobs"] == 20


@pytest.mark.parametrize("ask", [ASK, STRUCTURED])
@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (400, "rejected"),
        (401, "permanent"),
        (402, "permanent"),
        (403, "permanent"),
        (404, "permanent"),
        (408, "transient"),
        (422, "rejected"),
        (429, "transient"),
        (500, "transient"),
        (503, "transient"),
    ],
)
async def test_what_an_http_status_means(code: int, kind: str, ask: ModelRequest) -> None:
    """Each status says whether the call, its like, or any call may still succeed."""
    fault = await fault_of(status(code), ask)
    assert (fault.kind, fault.status) == (kind, code)
    assert f"scripted {code}" in str(fault)


async def test_retry_after_is_passed_on() -> None:
    """How long the provider wants to be left alone is in the error."""
    assert (await fault_of(status(429, retry_after=2.5))).retry_after == 2.5
    assert (await fault_of(status(429))).retry_after is None
    assert (await fault_of(status(429, retry_after="soon"))).retry_after is None
    assert (await fault_of(status(429, retry_after="inf"))).retry_after is None
    assert (await fault_of(status(429, headers={"retry-after-ms": "250"}))).retry_after == 0.25


async def test_a_date_to_retry_after_becomes_seconds_from_now() -> None:
    """Half a minute ahead is half a minute to wait."""
    when = format_datetime(datetime.now(UTC) + timedelta(seconds=30), usegmt=True)
    seconds = (await fault_of(status(429, retry_after=when))).retry_after
    assert seconds is not None
    assert 25 < seconds <= 30


async def test_an_empty_account_is_permanent() -> None:
    """A 429 that means an exhausted quota is not waited for."""
    error = {"message": "You exceeded your quota", "code": "insufficient_quota", "type": "x"}
    assert (await fault_of(status(429, body={"error": error}))).kind == "permanent"


@pytest.mark.parametrize("answer", [reset(), truncated(), not_json()])
async def test_a_broken_answer_is_transient(answer: Answer) -> None:
    """A connection that breaks, or a body that is no JSON, may be whole the next time."""
    assert (await fault_of(answer)).kind == "transient"


async def test_no_answer_in_time_is_transient() -> None:
    """A call that takes longer than the model's timeout may succeed later."""
    assert (await fault_of(stall(3), timeout=0.2)).kind == "transient"


async def test_a_server_that_is_not_there_is_transient() -> None:
    """A refused connection is told as such, and may be accepted later."""
    with serving() as server:
        client = speaker_at(server)
    with pytest.raises(CallError) as caught:
        await client.complete(ASK)
    assert caught.value.kind == "transient"


@pytest.mark.parametrize("code", [400, 401, 500])
async def test_an_echoed_key_is_scrubbed(code: int) -> None:
    """An error that quotes the request's headers shows no key: `fault_of` looks."""
    assert "[secret]" in str(await fault_of(echo_headers(code)))


@pytest.mark.parametrize("before", [0, *range(270, 300, 3)])
async def test_a_key_quoted_by_itself_is_scrubbed(before: int) -> None:
    """A key that nothing marks as one is hidden, also where the message is cut in its middle."""
    quoted = {"error": {"message": f"{'x' * before} {KEY} is no key of ours"}}
    fault = await fault_of(status(401, body=quoted))
    assert KEY[:8] not in str(fault)


def test_parameters_tell_models_apart_and_hold_no_key() -> None:
    """Another address, temperature or name is another model to the cache; a timeout or a key
    is not, and the key is in none."""

    def parameters(name: str = "stub", **options: Any) -> Any:
        given = {"base_url": "http://127.0.0.1:1/v1", "api_key": KEY, **options}
        return LangChainClient(ChatOpenAI(model="stub", **given), name, timeout_s=5).parameters

    plain = parameters()
    assert parameters("other") != plain
    assert parameters(base_url="http://127.0.0.1:2/v1") != plain
    assert parameters(temperature=0.5) != plain
    assert parameters(timeout=3, max_retries=0, api_key="another") == plain
    assert KEY not in json.dumps(plain)
    hidden = parameters(base_url=f"http://user:{KEY.replace('/', '_')}@127.0.0.1:1/v1")
    assert "canary" not in json.dumps(hidden)


# A user's own chat model


class Own(BaseChatModel):
    """The least that LangChain asks of a model: no structured output, no usage."""

    says: str = "7"
    temperature: float = 0.0
    raises: Any = None
    heard: list[list[BaseMessage]] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "own"

    @property
    def _identifying_params(self) -> dict[str, Any]:
        return {"says": self.says, "something": object()}

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        self.heard.append(messages)
        if self.raises is not None:
            raise self.raises
        return ChatResult(generations=[ChatGeneration(message=AIMessage(self.says))])


async def test_a_model_of_one_s_own_answers() -> None:
    """A model that reports nothing but text gives a reply with nothing made up."""
    client: ModelClient = LangChainClient(Own(), "own", timeout_s=5)
    reply = await client.complete(ASK)
    await client.aclose()
    assert (reply.text, reply.finish_reason, reply.refusal) == ("7", "stop", None)
    assert reply.usage == Usage()
    assert reply.logprobs == ()


async def test_an_answer_is_waited_for_so_long() -> None:
    """Whatever a chat model's own limit, its speaker gives up after the seconds it was given,
    and says so."""
    with serving(always(stall(3))) as server:
        chat = ChatOpenAI(model="stub", base_url=server.base_url, api_key=SecretStr(KEY))
        with pytest.raises(TimeoutError, match=r"no answer within 0\.2 s"):
            await LangChainClient(chat, "stub", timeout_s=0.2).complete(ASK)


async def test_a_model_without_structured_output_is_asked_in_words() -> None:
    """Asked for a schema it cannot keep to, a model is asked for plain text, each time."""
    own = Own(says='{"score": 3}')
    client = LangChainClient(own, "own", timeout_s=5)
    for _ in range(2):
        assert (await client.complete(STRUCTURED)).text == '{"score": 3}'
    assert [len(messages) for messages in own.heard[-2:]] == [2, 2]


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (TimeoutError("slow"), "transient"),
        (ConnectionError("gone"), "transient"),
        (PermissionError("no"), "permanent"),
        (ValueError("what?"), "rejected"),
    ],
)
async def test_what_an_error_of_its_own_means(error: Exception, kind: str) -> None:
    """An error without a status is judged by what it is."""
    with pytest.raises(CallError) as caught:
        await LangChainClient(Own(raises=error), "own", timeout_s=5).complete(ASK)
    assert caught.value.kind == kind
    assert str(caught.value) == f"{type(error).__name__}: {error}"


@pytest.mark.parametrize(
    "headers", [{"retry-after": "5"}, {"Retry-After": 5}, {"RETRY-AFTER": "5.0"}]
)
async def test_headers_in_a_plain_mapping(headers: dict[str, Any]) -> None:
    """A client whose headers are a dict of its own says how long to wait all the same."""
    error = RuntimeError("too many")
    error.status_code = 429  # type: ignore[attr-defined]
    error.response = SimpleNamespace(headers=headers)  # type: ignore[attr-defined]
    with pytest.raises(CallError) as caught:
        await LangChainClient(Own(raises=error), "own", timeout_s=5).complete(ASK)
    assert (caught.value.kind, caught.value.retry_after) == ("transient", 5)


def test_its_parameters_are_the_same_each_time() -> None:
    """What identifies a model differs with its settings and not from object to object, else
    nothing kept would be found in the next run."""
    assert (
        LangChainClient(Own(), "own", timeout_s=5).parameters
        == LangChainClient(Own(), "own", timeout_s=5).parameters
    )
    warm = LangChainClient(Own(temperature=1.0), "own", timeout_s=5).parameters
    assert warm != LangChainClient(Own(), "own", timeout_s=5).parameters


# Anthropic's, which is told what to keep


@pytest.mark.parametrize("keep_prefix", [True, False])
async def test_what_anthropic_is_told_to_keep(keep_prefix: bool) -> None:
    """The first block is marked where others will begin alike; what was read back is counted."""
    anthropic = pytest.importorskip("langchain_anthropic", reason="langchain-anthropic is missing")
    with serving(always(raw(ANTHROPIC))) as server:
        address = server.base_url.removesuffix("/v1")
        chat = anthropic.ChatAnthropic(
            model="stub", base_url=address, api_key=SecretStr(KEY), max_retries=0
        )
        reply = await LangChainClient(chat, "stub", timeout_s=5, keep_prefix=keep_prefix).complete(
            ASK
        )
        await chat._async_client.close()
    (message,) = server.calls[0].payload["messages"]
    first = {"type": "text", "text": "Read this. ", "cache_control": {"type": "ephemeral"}}
    marked = [first, {"type": "text", "text": "Rate it."}]
    assert message["content"] == (marked if keep_prefix else "Read this. Rate it.")
    # Anthropic counts what it read back apart from the input: 20 + 100.
    assert reply.usage == Usage(input=120, cached=100, output=1)


@pytest.mark.parametrize(
    "told",
    [
        {"cache_creation_input_tokens": 80},
        {
            "cache_creation_input_tokens": 80,
            "cache_creation": {"ephemeral_5m_input_tokens": 50, "ephemeral_1h_input_tokens": 30},
        },
    ],
)
async def test_what_anthropic_wrote_to_its_cache(told: dict[str, Any]) -> None:
    """Tokens that were kept are counted as such, also where they are told by how long they are."""
    anthropic = pytest.importorskip("langchain_anthropic", reason="langchain-anthropic is missing")
    answer = {**ANTHROPIC, "usage": {"input_tokens": 20, "output_tokens": 1, **told}}
    with serving(always(raw(answer))) as server:
        chat = anthropic.ChatAnthropic(
            model="stub",
            base_url=server.base_url.removesuffix("/v1"),
            api_key=SecretStr(KEY),
            max_retries=0,
        )
        reply = await LangChainClient(chat, "stub", timeout_s=5).complete(ASK)
        await chat._async_client.close()
    # Anthropic counts what it wrote apart from the input: 20 + 80.
    assert reply.usage == Usage(input=100, output=1, written=80)


def test_keys_of_a_model_are_masked_from_the_start() -> None:
    """Keys in a chat model's fields, headers and addresses are known once it is to be asked;
    what only tells who asks is not masked."""
    chat = ChatOpenAI(
        model="stub",
        api_key=SecretStr("field-key-4711"),
        base_url="http://me:url-pass-4712@127.0.0.1:9/v1?sig=query-key-4713&v=version-4714",
        default_headers={"Authorization": "Bearer head-key-4715", "X-Title": "my title 4716"},
    )
    LangChainClient(chat, "stub", timeout_s=5)
    said = "field-key-4711 url-pass-4712 query-key-4713 version-4714 head-key-4715 my title 4716"
    assert SECRETS.scrub(said) == ("[secret] [secret] [secret] version-4714 [secret] my title 4716")


def test_secrets_in_a_models_own_parameters_are_in_no_parameters() -> None:
    """Headers and keys that a user handed over by `model_kwargs` or `extra_body` identify no model,
    and are masked in errors; nor does a time limit change an answer."""
    chat = ChatOpenAI(
        model="stub",
        api_key=SecretStr(KEY),
        timeout=5,
        model_kwargs={"extra_headers": {"X-Api-Key": "hidden-header-1"}, "top_k": 3},
        extra_body={"api_key": "hidden-body-22", "provider": {"order": ["a"]}},
    )
    client = LangChainClient(chat, "stub", timeout_s=5)
    written = json.dumps(client.parameters, default=str)
    assert "hidden" not in written
    assert '"order": ["a"]' in written
    patient = chat.model_copy(update={"request_timeout": 50})
    assert LangChainClient(patient, "stub", timeout_s=50).parameters == client.parameters
    assert {"hidden-header-1", "hidden-body-22"} <= set(secrets_of(chat))
