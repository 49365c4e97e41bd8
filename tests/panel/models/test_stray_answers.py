"""Answers that a server sends unasked: none is taken for another request's."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import ssl
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from persona_panel.models.client import CallError, ModelClient
from persona_panel.models.langchain import LangChainClient
from persona_panel.models.stray_answers import StrayAnswers
from persona_panel.rubrics import ModelRequest
from persona_panel.testing import Answer, raw, serving
from tests.helpers.extras import needs_extra
from tests.helpers.langchain_chats import OpenAICompatible
from tests.helpers.stray_server import stray_server, text_for

WORDS = [f"What of {n}?" for n in range(20)]


async def answers(
    client: ModelClient,
    words: list[str],
    tries: int,
    pause_s: float = 0.0,
    faults: list[CallError] | None = None,
) -> dict[str, str | None]:
    """What a model says to each of these, four at a time with a pause after each, asked again where
    a call fails as a run does; None where every try failed."""
    said: dict[str, str | None] = {}
    free = asyncio.Semaphore(4)

    async def ask(each: str) -> None:
        async with free:
            said[each] = None
            for _ in range(tries):
                try:
                    said[each] = (await client.complete(ModelRequest("", (each,)))).text
                except CallError as error:
                    assert error.kind == "transient", error
                    if faults is not None:
                        faults.append(error)
                else:
                    await asyncio.sleep(pause_s)
                    return

    try:
        await asyncio.gather(*map(ask, words))
    finally:
        await client.aclose()
    return said


def wrong(said: dict[str, str | None]) -> list[str]:
    """The questions that got another's answer."""
    return [words for words, text in said.items() if text not in (None, text_for(words))]


@pytest.mark.parametrize("encoding", ["", "chunked", "gzip"])
@pytest.mark.parametrize("is_copy", [False, True], ids=["another's", "a copy"])
@pytest.mark.parametrize("place", ["after", "idle", "together", "before"])
async def test_no_answer_is_another_requests(
    place: str, is_copy: bool, encoding: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Wherever a server puts answers that nobody asked for before the next request goes out, each
    request gets its own. On a busy machine a stray answer may leave the server too late for that:
    then it is a fault all the same."""
    settings: dict[str, Any] = {"is_copy": is_copy, "encoding": encoding, "n_strays": 3}
    faults: list[CallError] = []
    pause_s = 0.2 if place == "idle" else 0.0
    with stray_server(place, **settings) as server, caplog.at_level(logging.WARNING):
        client = OpenAICompatible(model="m", base_url=server.base_url)
        said = await answers(client, WORDS, 5, pause_s, faults)
    is_reported = bool(faults) or "no request asked for" in caplog.text
    assert wrong(said) == [] or (server.is_late and is_reported)
    assert None not in said.values()


@pytest.mark.parametrize("encoding", ["", "chunked", "gzip"])
@pytest.mark.parametrize("is_copy", [False, True], ids=["another's", "a copy"])
@pytest.mark.parametrize("place", ["idle", "writing", "unread", "greeting"])
async def test_a_stray_answer_while_another_is_awaited_is_never_silent(
    place: str, is_copy: bool, encoding: str, caplog: pytest.LogCaptureFixture
) -> None:
    """What comes after a request went out cannot be told from its answer on the wire. That the
    server answers too often is seen at the latest when the connection is closed, and is said."""
    settings: dict[str, Any] = {"is_copy": is_copy, "encoding": encoding, "n_strays": 3}
    faults: list[CallError] = []
    with stray_server(place, **settings) as server, caplog.at_level(logging.WARNING):
        client = OpenAICompatible(model="m", base_url=server.base_url)
        said = await answers(client, WORDS, 5, faults=faults)
    assert not wrong(said) or faults or "no request asked for" in caplog.text


def own_certificate(folder: Path) -> tuple[ssl.SSLContext, Path]:
    """A server's TLS with a certificate that it has signed itself."""
    certificate, key = folder / "cert.pem", folder / "key.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    command += ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"]
    command += ["-keyout", str(key), "-out", str(certificate)]
    subprocess.run(command, check=True, capture_output=True)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, key)
    return context, certificate


@pytest.mark.parametrize("place", ["after", "together", "idle", "writing"])
async def test_over_tls_stray_answers_are_seen(
    place: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """What is unread is hidden by TLS: that a server answers too often is a fault all the same."""
    context, certificate = own_certificate(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    faults: list[CallError] = []
    with stray_server(place, context=context) as server, caplog.at_level(logging.WARNING):
        client = OpenAICompatible(model="m", base_url=server.base_url)
        await answers(client, WORDS, 3, 0.05, faults)
    reported = [*map(str, faults), caplog.text]
    assert any("no request asked for" in text for text in reported)


async def test_over_tls_a_server_without_fault_is_asked_once_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tickets of TLS are no stray answers: no call is repeated, and connections are kept."""
    context, certificate = own_certificate(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with stray_server("after", context=context, n_strays=0) as server:
        said = await answers(OpenAICompatible(model="m", base_url=server.base_url), WORDS, 1)
    assert wrong(said) == [] and None not in said.values()
    assert sorted(server.asked) == sorted(WORDS)
    assert server.n_connections == 4


async def test_after_a_stray_answer_only_its_neighbours_are_asked_again() -> None:
    """One stray answer costs the calls beside it, and no call whose connection is used again while
    its answer is held."""
    with stray_server("together", n_strays=1) as server:
        said = await answers(OpenAICompatible(model="m", base_url=server.base_url), WORDS * 2, 5)
    assert wrong(said) == []
    assert sum(n - 2 for n in Counter(server.asked).values()) <= 1


@pytest.mark.parametrize("id_", [None, "chatcmpl-123", "chatcmpl-0123456789abcdef"])
async def test_a_server_with_one_id_for_all_answers_works(id_: str | None) -> None:
    """A server without ids of its own loses no call, and is asked at most twice again."""

    def script(number: int, request: Any) -> Answer:
        message = {"role": "assistant", "content": text_for(request["messages"][-1]["content"])}
        body = {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}], "id": id_}
        return raw(body)

    with serving(script) as server:
        said = await answers(OpenAICompatible(model="m", base_url=server.base_url), WORDS, 5)
        n_asked = len(server.calls)
    assert wrong(said) == []
    assert None not in said.values()
    assert n_asked <= len(WORDS) + 2


@pytest.mark.parametrize("is_same", [True, False], ids=["one answer", "one id"])
async def test_one_answer_to_all_requests_is_warned_of(
    is_same: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """A cache before the server that gives every request the same answer is named once; a server
    that merely has one id for all its answers is not."""

    def script(number: int, request: Any) -> Answer:
        message = {"role": "assistant", "content": "4" if is_same else f"{number}"}
        body = {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
        return raw(body | {"id": "chatcmpl-0123456789abcdef"})

    with serving(script) as server:
        said = await answers(OpenAICompatible(model="m", base_url=server.base_url), WORDS, 5)
    assert None not in said.values()
    warned = [record for record in caplog.records if "letter by letter" in record.getMessage()]
    assert len(warned) == is_same


@needs_extra("contracts", "langchain_openai")
@pytest.mark.parametrize("place", ["after", "idle", "together", "before"])
async def test_providers_packages_take_no_stray_answer(place: str) -> None:
    """httpx, by which LangChain's package for OpenAI calls, would take it for the next answer."""
    from langchain_openai import ChatOpenAI

    with stray_server(place, n_strays=3) as server:
        chat = ChatOpenAI(
            model="m", base_url=server.base_url, api_key=SecretStr("canary"), max_retries=0
        )
        client = LangChainClient(chat, "m", timeout_s=20)
        said = await answers(client, WORDS, 6, 0.2 if place == "idle" else 0.0)
    assert wrong(said) == []
    assert None not in said.values()


@needs_extra("contracts", "langchain_openai")
@pytest.mark.parametrize("place", ["idle", "writing", "unread"])
async def test_providers_packages_take_no_stray_answer_in_silence(
    place: str, caplog: pytest.LogCaptureFixture
) -> None:
    """What comes while an answer is awaited may be taken for it; the answer that is left over is
    said, and from then on no connection to that server is used again."""
    from langchain_openai import ChatOpenAI

    asked_before: list[str] = []

    def note(_: logging.LogRecord) -> bool:
        if not asked_before:
            asked_before.extend(server.asked)
        return True

    with stray_server(place, n_strays=3) as server, caplog.at_level(logging.WARNING):
        caplog.handler.addFilter(note)
        chat = ChatOpenAI(
            model="m", base_url=server.base_url, api_key=SecretStr("canary"), max_retries=0
        )
        faults: list[CallError] = []
        client = LangChainClient(chat, "m", timeout_s=20)
        said = await answers(client, WORDS, 6, faults=faults)
    assert None not in said.values()
    # Four are asked at a time: as many may be on their way when it is said.
    assert len(set(wrong(said)) - set(asked_before)) <= 4
    assert not wrong(said) or faults or "no request asked for" in caplog.text


@needs_extra("contracts", "langchain_openai")
async def test_no_connection_to_a_server_that_sent_a_stray_is_used_twice() -> None:
    """httpx connects anew for each call from then on, also where nothing more comes unasked. A
    call whose answer came together with the stray, on a busy machine, is a fault and made again."""
    from langchain_openai import ChatOpenAI

    with stray_server("idle", n_strays=1) as server:
        chat = ChatOpenAI(
            model="m", base_url=server.base_url, api_key=SecretStr("canary"), max_retries=0
        )
        client = LangChainClient(chat, "m", timeout_s=20)
        calls = 5
        for words in WORDS[:5]:
            request = ModelRequest("", (words,))
            try:
                answer = await client.complete(request)
            except CallError as error:
                assert "neither is used" in str(error)
                calls += 1
                answer = await client.complete(request)
            assert answer.text == text_for(words)
            await asyncio.sleep(0.1)
        assert (len(server.asked), server.n_connections) == (calls, calls)


@needs_extra("contracts", "langchain_anthropic")
def test_clients_are_mended_before_they_import_their_connections() -> None:
    """A provider's package may import the modules of its HTTP client with the first call only: a
    process in which a model was just made has them mended."""
    code = """
import sys
from langchain_anthropic import ChatAnthropic
from persona_panel.models.langchain import LangChainClient
chat = ChatAnthropic(model_name="m", api_key="canary", timeout=None, stop=None)
LangChainClient(chat, "m", timeout_s=20)
connections = [name for name in sys.modules if name.endswith("._async.http11")]
print({sys.modules[name].AsyncHTTP11Connection.has_expired.__module__ for name in connections})
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=100)
    assert done.stdout.strip() == "{'persona_panel.models.stray_answers'}", done.stderr


# The rule by itself.


def digest(words: str) -> int:
    return int(hashlib.sha256(words.encode()).hexdigest()[:8], 16)


def test_the_answer_to_another_request_is_doubted_by_its_id() -> None:
    """The same id and the same words to another request: it is a copy, and is doubted; asked again,
    the request gets its own."""
    strays = StrayAnswers("m")
    assert strays.doubt(1, digest("yes"), "chatcmpl-0123456789", "m") is None
    assert "the answer to another request" in str(
        strays.doubt(2, digest("yes"), "chatcmpl-0123456789", "m")
    )
    assert strays.doubt(2, digest("no"), "chatcmpl-abcdefghij", "m") is None


def test_a_request_that_gets_two_strays_is_doubted_twice() -> None:
    """Another stray answer to the same request is no sign that the server repeats its ids: neither
    is taken, and a later stray is doubted, too, however often the same answer came."""
    strays = StrayAnswers("m")
    for n in range(3):
        assert strays.doubt(n, digest(f"{n}"), f"chatcmpl-0000000{n}", "m") is None
    for n in (0, 1, 0, 2, 1):
        assert strays.doubt(9, digest(f"{n}"), f"chatcmpl-0000000{n}", "m")
    for asked in range(10, 20):
        assert strays.doubt(asked, digest("0"), "chatcmpl-00000000", "m")


def test_a_server_that_repeats_its_ids_is_recognised() -> None:
    """The same id again to a request that was doubted for it, or a third answer with it: its ids
    tell nothing, and are compared no more."""
    for said in ((1, 1), (1, 2)):
        strays = StrayAnswers("m")
        strays.doubt(0, 0, "chatcmpl-abcdefgh", "m")
        strays.doubt(1, said[0], "chatcmpl-01234567", "m")
        assert strays.doubt(2, said[1], "chatcmpl-01234567", "m")
        assert strays.doubt(2, said[1], "chatcmpl-01234567", "m") is None
        assert strays.doubt(3, said[1], "chatcmpl-01234567", "m") is None
    strays = StrayAnswers("m")
    strays.doubt(0, 0, "chatcmpl-abcdefgh", "m")
    strays.doubt(1, 1, "chatcmpl-01234567", "m")
    assert strays.doubt(2, 2, "chatcmpl-01234567", "m")
    assert strays.doubt(3, 3, "chatcmpl-01234567", "m") is None


def test_the_same_request_may_get_the_same_answer() -> None:
    """A server that keeps its answers gives them again, with their ids."""
    strays = StrayAnswers("m")
    assert strays.doubt(1, digest("yes"), "chatcmpl-0123456789", "m") is None
    assert strays.doubt(1, digest("yes"), "chatcmpl-0123456789", "m") is None


def test_a_model_that_has_not_answered_before_is_doubted_once() -> None:
    """Another model's name is doubted, and taken where it comes again: routers send elsewhere. A
    dated name is no other model's."""
    strays = StrayAnswers("gpt-4o")
    assert strays.doubt(1, 1, None, "gpt-4o-2024-08-06") is None
    assert "the answer is from the model 'llama-3'" in str(strays.doubt(2, 2, None, "llama-3"))
    assert strays.doubt(2, 2, None, "llama-3") is None
    assert strays.doubt(3, 3, None, "llama-3") is None


def test_the_first_answer_may_be_of_any_model() -> None:
    """Who is asked by an alias or by way of a router answers under its own name: that is no doubt,
    and no call is made again."""
    strays = StrayAnswers("auto")
    assert strays.doubt(1, 1, None, "llama-3") is None
    assert strays.doubt(2, 2, None, "llama-3") is None
