"""Batches of OpenAI's shape: the scripted server as OpenAI's own package sees it, and as we do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import openai
import orjson
import pytest
from pydantic import SecretStr

from persona_panel.models.batches import BatchSought, OpenAIBatches, listed_in, next_page
from persona_panel.models.client import CallError
from persona_panel.rubrics import ModelRequest, ModelResponse
from persona_panel.testing import (
    ScriptedServer,
    always,
    check_batch_client,
    in_turn,
    ok,
    raw,
    serving,
    status,
)
from persona_panel.testing.server import BatchScript
from tests.helpers.langchain_chats import OpenAICompatible

ASK = ModelRequest("You judge.", ("Read this. ", "Rate it."))
KEY = "sk-batches-0123456789"


def model_at(server: ScriptedServer) -> OpenAICompatible:
    return OpenAICompatible(model="stub", base_url=server.base_url, api_key=SecretStr(KEY))


def left_in(folder: Path) -> list[Path]:
    return [*folder.iterdir()]


async def answers(batches: OpenAIBatches, id_: str, folder: Path) -> dict[str, object]:
    found = await batches.status(id_)
    return {row.custom_id: row.answer async for row in batches.results(found, folder)}


@pytest.mark.parametrize(
    "page", [{}, {"data": {"a": 1}}, {"data": "abc"}, {"data": [None]}], ids=str
)
def test_what_is_no_list_of_batches_is_not_an_empty_one(page: dict[str, object]) -> None:
    """A batch that is sought would be sent once more, and paid for."""
    with pytest.raises(CallError, match="no list of batches"):
        listed_in(page)
    assert listed_in({"data": []}) == listed_in({"data": None}) == []


def test_a_list_of_batches_without_an_end_is_left() -> None:
    """A server that does not know how to go on after an id says the same page for ever."""
    seen = {"batch_1"}
    assert next_page("batch_2", seen) == "batch_2"
    with pytest.raises(CallError, match="has no end"):
        next_page("batch_2", seen)


async def test_the_scripted_server_speaks_the_protocol() -> None:
    """OpenAI's own package uploads, makes, lists, looks at and cancels batches there, finds every
    field that its types require, and reads the answers of a batch that expired."""
    with serving() as server:
        server.batches.script = BatchScript(looks=1, answered=1)
        model = model_at(server)
        api = OpenAIBatches(model)
        lines = b"\n".join(api.line(name, ASK) for name in ("one", "two"))
        async with openai.AsyncOpenAI(
            base_url=server.base_url, api_key="x", _strict_response_validation=True
        ) as client:
            file = await client.files.create(file=("rows.jsonl", lines), purpose="batch")
            made = await client.batches.create(
                input_file_id=file.id,
                endpoint="/v1/chat/completions",
                completion_window="24h",
                metadata={"persona_panel": "token"},
            )
            assert (made.status, made.request_counts and made.request_counts.total) == (
                "in_progress",
                2,
            )
            listed = [batch.id async for batch in client.batches.list()]
            assert listed == [made.id]
            assert (await client.batches.retrieve(made.id)).status == "in_progress"
            done = await client.batches.retrieve(made.id)
            assert done.status == "expired"
            text = (await client.files.content(done.output_file_id or "")).text
            assert orjson.loads(text)["custom_id"] == "one"
        # What the package has sent, our own client finds.
        found = await api.find(BatchSought("token", 0.0, 1))
        assert found is not None and (found.id, found.phase) == (made.id, "ended")
        await model.aclose()


async def test_a_batch_from_its_requests_to_its_answers(tmp_path: Path) -> None:
    """A row is the body of a live call; its answer reads as that of one; a row that had a 400 or
    never began is a fault, and what expired may go again."""
    with serving(in_turn(ok("4"), status(400), ok("5"))) as server:
        server.batches.script = BatchScript(answered=2)
        model = model_at(server)
        live = await model.complete(ASK)
        api = OpenAIBatches(model)
        lines = [api.line(name, ASK) for name in ("a", "b", "c")]
        assert orjson.loads(lines[0])["body"] == server.calls[0].payload
        sent = await api.submit("t", lines)
        assert server.batches.made[0]["metadata"] == {"persona_panel": "t"}
        assert (sent.phase, sent.total) == ("working", 3)
        got = await answers(api, sent.id, tmp_path)
        await model.aclose()
    assert isinstance(live, ModelResponse) and live.text == "4"
    a, b, c = got["a"], got["b"], got["c"]
    # The script's second and third answers.
    assert isinstance(a, CallError) and (a.kind, a.status) == ("rejected", 400)
    assert isinstance(b, ModelResponse) and b.text == "5" and b.usage == live.usage
    assert isinstance(c, CallError) and c.kind == "transient" and "expired" in str(c)
    assert not c.used
    assert not left_in(tmp_path)


async def test_no_key_is_in_a_file() -> None:
    """The key goes in a header, and neither a row nor the batch has it."""
    with serving() as server:
        model = model_at(server)
        api = OpenAIBatches(model)
        await api.submit("t", [api.line("a", ASK)])
        await model.aclose()
        sent = b"".join(server.batches.files.values()) + orjson.dumps(server.batches.made)
        assert b'"custom_id":"a"' in sent
        assert KEY.encode() not in sent and b"Bearer" not in sent


async def test_a_parameter_that_a_batch_declines_is_left_out_next_time(tmp_path: Path) -> None:
    """A row that is refused for max_tokens may go again, with the parameter's other name."""
    complaint = {
        "error": {
            "message": "Unsupported parameter: 'max_tokens' is not supported with this model.",
            "param": "max_tokens",
            "code": "unsupported_parameter",
        }
    }
    with serving(in_turn(status(400, body=complaint), ok("7"))) as server:
        model = model_at(server)
        api = OpenAIBatches(model)
        sent = await api.submit("t", [api.line("a", ASK)])
        fault = (await answers(api, sent.id, tmp_path))["a"]
        assert isinstance(fault, CallError) and fault.kind == "transient"
        body = orjson.loads(api.line("a", ASK))["body"]
        assert "max_tokens" not in body and body["max_completion_tokens"] == ASK.max_tokens
        await model.aclose()


class AtAzure(OpenAICompatible):
    """A model at the scripted server, as if that were Azure's."""

    @property
    def address(self) -> str:
        return "https://my-resource.openai.azure.com/openai/v1"


async def test_azure_names_paths_without_a_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the rows and for the batch alike; and a batch is made once its file is processed, which
    takes a while there."""
    monkeypatch.setattr("persona_panel.models.batches._FILE_LOOK_S", 0.01)
    with serving() as server:
        server.batches.script = BatchScript(unprocessed=3)
        model = AtAzure(model="my-deployment", base_url=server.base_url, api_key=SecretStr(KEY))
        api = OpenAIBatches(model)
        row = orjson.loads(api.line("a", ASK))
        assert (row["url"], row["body"]["model"]) == ("/chat/completions", "my-deployment")
        sent = await api.submit("t", [orjson.dumps(row)])
        assert server.batches.made[0]["endpoint"] == "/chat/completions"
        assert isinstance((await answers(api, sent.id, tmp_path))["a"], ModelResponse)
        await model.aclose()


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"no JSON",
        b"[]",
        b'{"custom_id": "a", "method": "POST", "url": "/v1/chat/completions", "body": {}}',
    ],
)
def test_what_is_no_answer(line: bytes) -> None:
    """A line that is no row of answers, such as a request, is nothing."""
    api = OpenAIBatches(OpenAICompatible(model="stub", base_url="http://127.0.0.1:1/v1"))
    assert api.read(line) is None


async def test_a_server_without_batches() -> None:
    """A server that has no such paths says so for good, with its address."""
    with serving() as server:
        model = OpenAICompatible(model="stub", base_url=f"http://127.0.0.1:{server.port}/v2")
        api = OpenAIBatches(model)
        with pytest.raises(CallError, match="/v2 answered 404") as caught:
            await api.submit("t", [b"{}"])
        assert caught.value.kind == "permanent"
        await model.aclose()


async def test_a_batch_is_found_among_many() -> None:
    """Of 150 batches the oldest is found on the second page of the list; one older than the time
    that is asked for is not looked for."""
    with serving() as server:
        model = model_at(server)
        api = OpenAIBatches(model)
        await api.submit("first", [api.line("a", ASK)])
        made = server.batches.made
        now = made[0]["created_at"]
        for number in range(149):
            made.append(made[0] | {"id": f"other_{number}", "metadata": {"persona_panel": "x"}})
        found = await api.find(BatchSought("first", now, 1))
        assert found is not None and found.id == "batch_1"
        assert await api.find(BatchSought("never", now, 1)) is None
        # A provider's clock may be some minutes behind ours.
        made[50]["created_at"] = now - 290
        assert await api.find(BatchSought("first", now, 1)) is not None
        # The last batch of the first page is older than that: so is what follows it.
        made[50]["created_at"] = now - 10_000
        assert await api.find(BatchSought("first", now, 1)) is None
        await model.aclose()


class InAnswer(OpenAICompatible):
    """A server's whose messages have their text in `answer`."""

    def read_answer(self, completion: dict[str, Any], latency_s: float) -> ModelResponse:
        message = completion["choices"][0]["message"]
        return ModelResponse(message["answer"], latency_s=latency_s)


class AlsoLive(OpenAICompatible):
    """One that reads such answers otherwise in live calls alone."""

    async def complete(self, request: ModelRequest) -> ModelResponse:
        completion = await self._accepted(self._payload(request))
        return ModelResponse(completion["choices"][0]["message"]["answer"])


IN_ANSWER = {"choices": [{"message": {"role": "assistant", "answer": "7"}}]}


def test_a_subclass_that_reads_answers_otherwise_has_batches_read_so() -> None:
    """The check for batch clients passes with the text that the subclass finds; where live calls
    alone read it so, the check says what each has."""
    with serving(always(raw(IN_ANSWER))) as server:
        check_batch_client(InAnswer(model="stub", base_url=server.base_url))
        with pytest.raises(AssertionError, match=r"the answer '7' of a call is '' in a batch"):
            check_batch_client(AlsoLive(model="stub", base_url=server.base_url))


async def test_what_a_subclass_cannot_read_is_a_fault_of_the_call(tmp_path: Path) -> None:
    """A live call and a batch tell of it alike, by the address and as transient."""
    with serving(always(ok("7"))) as server:
        model = InAnswer(model="stub", base_url=server.base_url)
        api = model.batches()
        sent = await api.submit("token", [api.line("one", ASK)])
        while (found := await api.status(sent.id)).phase == "working":
            pass
        (row,) = [row async for row in api.results(found, tmp_path)]
        with pytest.raises(CallError) as caught:
            await model.complete(ASK)
        assert isinstance(row.answer, CallError)
        said = f"{server.base_url}: the answer is not a chat completion"
        assert str(row.answer) == str(caught.value) == said
        assert row.answer.kind == caught.value.kind == "transient"
        await api.aclose()
