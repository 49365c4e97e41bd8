"""Options of a model: how they are written, what is refused, and where they go."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from persona_panel.files.errors import ConfigurationError
from persona_panel.models.client import CallError, ModelClient
from persona_panel.models.config import ModelConfig, options_document, parsed_option
from persona_panel.models.providers import client_for
from persona_panel.rubrics import ModelRequest
from persona_panel.testing import ScriptedServer, always, in_turn, ok, serving, status

KEY = "canary-options-7d21-0123456789"
ASK = ModelRequest("You judge.", ("Rate it.",))
SECRETS = (
    *("api_key", "openai_api_key", "aws_secret_access_key", "auth_token", "token", "password"),
    *("Authorization", "x-api-key", "Cookie", "credentials", "azure_ad_token_provider"),
)


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with serving(always(ok("7"))) as running:
        yield running


@pytest.mark.parametrize(
    "name",
    [
        "openai:x@localhost:11434/v1", "openai:x@127.0.0.1:11434", "openai:x@ftp://host/v1",
        "openai:x@", "openai:@http://127.0.0.1:11434/v1", "openai:x@host.example:8000/v1",
    ],
)  # fmt: skip
def test_what_looks_like_an_address_is_never_a_part_of_a_name(name: str) -> None:
    """It would be sent, with the texts and the key, to the provider's own address."""
    with pytest.raises(ValidationError, match="provider:NAME@http://HOST:PORT/v1"):
        ModelConfig(model=name)


def test_the_last_address_is_the_one_that_is_asked() -> None:
    """A server may list a name that looks like an address: nothing is sent there."""
    made = ModelConfig(model="openai:a@http://evil.example/v1@http://127.0.0.1:11434/v1")
    assert str(made.base_url) == "http://127.0.0.1:11434/v1"


@pytest.mark.parametrize("name", ["openai:@cf/meta/llama-3-8b", "openai:claude-3@20240229"])
def test_a_name_may_have_the_sign(name: str) -> None:
    """Some providers' names do."""
    assert ModelConfig(model=name).model == name


@pytest.mark.parametrize("timeout", [0, -1, float("inf"), float("nan")])
def test_a_timeout_is_a_number_of_seconds(timeout: float) -> None:
    """One that never ends would hold a run up, and libcurl cannot count it."""
    with pytest.raises(ValidationError, match="timeout"):
        ModelConfig(model="openai:stub", timeout=timeout)


def refused(options: dict[str, Any]) -> str:
    with pytest.raises(ValidationError) as caught:
        ModelConfig(model="openai:stub", options=options)
    return str(caught.value)


def at(server: ScriptedServer, **options: Any) -> ModelClient:
    return client_for(ModelConfig(model="openai:stub", base_url=server.base_url, options=options))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("seed=7", 7),
        ("top_p=1e-1", 0.1),
        ("reasoning_effort=low", "low"),
        ("reasoning_effort=none", "none"),
        ("store=true", True),
        ("stop=null", None),
        ('provider={"order": ["a"]}', {"order": ["a"]}),
        (
            "thinking={type: enabled, budget_tokens: 2048}",
            {"type": "enabled", "budget_tokens": 2048},
        ),
        ("api_version=2024-10-21", "2024-10-21"),
        ("user=a=b", "a=b"),
    ],
)
def test_a_value_is_json_or_yaml(text: str, value: Any) -> None:
    """Numbers, words, true, false and objects are what they look like; a date is a text."""
    name, said = parsed_option(text)
    assert (name, said, type(said)) == (text.partition("=")[0], value, type(value))


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=8,
    )
)
def test_any_json_comes_back_as_it_was(value: Any) -> None:
    """What is written as JSON is read as what it was."""
    assert parsed_option(f"name={json.dumps(value)}") == ("name", value)


@pytest.mark.parametrize("text", ["seed", "=7", "a b=1", "thinking={type: [}"])
def test_what_is_no_option(text: str) -> None:
    """A name, an equals sign and a value; the refusal says so."""
    with pytest.raises(ValueError, match=r"NAME=VALUE|neither a number"):
        parsed_option(text)


@pytest.mark.parametrize("value", ["", "  ", "#5"])
def test_an_option_without_a_value_is_refused(value: str) -> None:
    """Nothing, or nothing but a YAML comment, is no value; a text that is empty has quotes, and
    null is written as such."""
    with pytest.raises(ValueError, match="user has no value"):
        parsed_option(f"user={value}")
    assert parsed_option('user=""') == ("user", "")
    assert parsed_option("user='#5'") == ("user", "#5")
    assert parsed_option("user=~") == ("user", None)


@pytest.mark.parametrize("name", SECRETS)
@pytest.mark.parametrize("nest", ["{}", "headers", "extra_body", "a.b"])
def test_secrets_are_refused_with_the_remedy(name: str, nest: str) -> None:
    """However deep it stands; the value is not shown, and key_env is named."""
    options: dict[str, Any] = {name: "hunter2hunter2"}
    if nest != "{}":
        for outer in reversed(nest.split(".")):
            options = {outer: options}
    elif "-" in name:
        pytest.skip("no option is called so")
    said = refused(options)
    assert "key_env" in said
    assert "hunter2" not in said


def test_a_key_is_refused_under_any_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that an environment variable holds, one that looks like one, a password in an address."""
    monkeypatch.setenv("ACME_API_KEY", KEY)
    for value in (KEY, f"Bearer {KEY}", "sk-0123456789abcdef", f"https://me:{KEY}@host/v1"):
        said = refused({"user": {"deep": [value]}})
        assert "key_env" in said
        assert KEY not in said


@pytest.mark.parametrize(
    "begin", ["ghp_", "github_pat_", "glpat-", "hf_", "gsk_", "xai-", "xoxb-", "AKIA", "AIza"]
)
def test_what_begins_as_known_keys_do_is_refused(begin: str) -> None:
    """Keys of services that no variable of this process holds."""
    key = begin + "R7KQ2M5T9X4B8N1W"
    if begin == "AIza":
        key += "R7KQ2M5T9X4B8N1W"
    said = refused({"user": key})
    assert "key_env" in said
    assert key not in said


@pytest.mark.parametrize(
    "name", ["max_tokens", "eos_token", "prompt_cache_key", "stop_token_ids", "safety_identifier"]
)
def test_settings_whose_names_sound_like_secrets(name: str) -> None:
    """Limits, a tokenizer's tokens and the name of a prompt cache are no secrets."""
    assert ModelConfig(model="openai:stub", options={name: 5}).options == {name: 5}


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"messages": []}, "the rubric and the personas"),
        ({"stream": True}, "read whole"),
        ({"extra_body": {"tools": []}}, "the elicitation defines"),
        ({"n": 3}, "replicates"),
        ({"temperature": 1}, "next to `options`"),
        ({"max_tokens": 0}, "1 or more"),
        ({"seed": None}, "seed (not a whole number)"),
        ({"seed": "7"}, "seed (not a whole number)"),
        ({"seed": True}, "seed (not a whole number)"),
        ({"max_tokens": 5, "max_completion_tokens": 6}, "set one of them"),
        ({"top_p": float("nan")}, "finite"),
        ({"client": object()}, "neither a number"),
        ({"headers": {"X-Title": "a\nb"}}, "one line"),
        ({"headers": {"Host": "a"}}, "no header that can be set"),
        ({"headers": "X-Title: a"}, "mapping"),
        ({"a b": 1}, "not a word"),
    ],
)
def test_what_belongs_elsewhere_is_refused_with_a_reason(options: dict[str, Any], why: str) -> None:
    """What a request sets itself, what has a field of its own, and what no request can hold."""
    assert why in refused(options)


async def test_options_of_an_openai_compatible_server(server: ScriptedServer) -> None:
    """Into the body, the headers, or where `extra_body` merges into the body; what is not set is
    not sent."""
    client = at(
        server,
        seed=7,
        provider={"order": ["a"]},
        extra_body={"top_k": 4},
        headers={"X-Title": "essays"},
        organization="org-1",
        project="proj-1",
    )
    await client.complete(ASK)
    await client.aclose()
    [call] = server.calls
    sent = {name: call.payload[name] for name in call.payload if name not in ("messages", "model")}
    assert sent == {"max_tokens": 1024, "seed": 7, "provider": {"order": ["a"]}, "top_k": 4}
    names = ("X-Title", "OpenAI-Organization", "OpenAI-Project")
    assert [call.headers[name] for name in names] == ["essays", "org-1", "proj-1"]


async def test_a_seed_is_the_seed_of_the_model(server: ScriptedServer) -> None:
    """It is told as the model's seed, not among other options, and is sent."""
    client = at(server, seed=7, top_p=0.5)
    assert client.parameters["seed"] == 7
    assert client.parameters["extra_body"] == {"top_p": 0.5}
    await client.complete(ASK)
    await client.aclose()
    assert server.calls[0].payload["seed"] == 7


async def test_a_seed_that_the_server_refuses_stops_the_model() -> None:
    """As any option, whose name the message has."""
    said = {"error": {"message": "seed must be below 5", "param": "seed", "code": None}}
    with serving(in_turn(status(400, body=said))) as server:
        client = at(server, seed=7)
        with pytest.raises(CallError, match="option seed is set") as caught:
            await client.complete(ASK)
        await client.aclose()
    assert caught.value.kind == "permanent"


async def test_max_completion_tokens_goes_by_that_name(server: ScriptedServer) -> None:
    """Some servers know the one name of the limit, and some the other."""
    client = at(server, max_completion_tokens=50)
    await client.complete(ASK)
    await client.aclose()
    assert "max_tokens" not in server.calls[0].payload
    assert server.calls[0].payload["max_completion_tokens"] == ASK.max_tokens


def test_options_identify_a_model_and_show_no_header(server: ScriptedServer) -> None:
    """Other options are another cache identity; of a header's value there is only a digest."""
    plain, seeded = at(server).parameters, at(server, seed=7).parameters
    titled = at(server, headers={"X-Mark": KEY}).parameters
    other = at(server, headers={"X-Mark": "another"}).parameters
    texts = [json.dumps(dict(one), sort_keys=True) for one in (plain, seeded, titled, other)]
    assert len(set(texts)) == 4
    assert not any(KEY in text for text in texts)
    assert "extra_body" not in plain


def test_headers_within_options_are_told_by_their_digests() -> None:
    """However deep they stand, as in the parameters that a chat model's class hands on."""
    given = {"model_kwargs": {"extra_headers": {"X-Mark": KEY}, "top_k": 4}}
    told = options_document(given)
    assert KEY not in json.dumps(told)
    assert told["model_kwargs"]["top_k"] == 4
    assert list(told["model_kwargs"]["extra_headers"]) == ["x-mark"]
    assert options_document({"include_response_headers": True}) == {
        "include_response_headers": True
    }


async def test_an_option_that_the_server_does_not_take_stops_the_model() -> None:
    """No other text will fare better, and the message names the option."""
    said = {"error": {"message": "Unknown parameter: 'top_q'.", "param": "top_q", "code": None}}
    with serving(in_turn(status(400, body=said))) as server:
        client = at(server, top_q=1)
        with pytest.raises(CallError, match="option top_q is set") as caught:
            await client.complete(ASK)
        await client.aclose()
    assert caught.value.kind == "permanent"


def test_an_embedded_model_takes_none() -> None:
    """It says so rather than leaving an option out."""
    with pytest.raises(ConfigurationError, match=r"does not take the option seed: it takes none"):
        client_for(ModelConfig(model="local:smollm2-135m", options={"seed": 1}))


LANGCHAIN = [
    ("anthropic:m", {"thinking": {"type": "enabled", "budget_tokens": 2048}, "max_tokens": 9000}),
    ("google_genai:gemini-2.5-flash", {"thinking_budget": 512, "seed": 3}),
    ("mistralai:m", {"random_seed": 3}),
    ("groq:m", {"reasoning_effort": "low", "service_tier": "flex"}),
    ("ollama:m", {"num_ctx": 8192, "seed": 3}),
    (
        "azure_openai:m",
        {
            "azure_endpoint": "https://x.openai.azure.com",
            "api_version": "2024-10-21",
            "azure_deployment": "judge",
            "seed": 4,
        },
    ),
]
PACKAGES = {"google_genai": "google_genai", "azure_openai": "openai"}


@pytest.mark.parametrize(("model", "options"), LANGCHAIN, ids=[one[0] for one in LANGCHAIN])
def test_options_of_a_langchain_model(
    model: str, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """They go to its class, are part of the cache's identity, and one that the class does not
    take is refused with those that it does."""
    provider = model.partition(":")[0]
    package = f"langchain_{PACKAGES.get(provider, provider)}"
    if find_spec("langchain") is None or find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    for variable in ("ANTHROPIC", "GOOGLE", "MISTRAL", "GROQ", "AZURE_OPENAI"):
        monkeypatch.setenv(f"{variable}_API_KEY", KEY)
    client = client_for(ModelConfig(model=model, options=options))
    chat = client._chat  # type: ignore[attr-defined]
    for name, value in options.items():
        held = {field: getattr(chat, field) for field in type(chat).model_fields}
        aliases = {info.alias: field for field, info in type(chat).model_fields.items()}
        assert held[aliases.get(name, name)] == value
    assert client.parameters["options"] == options
    with pytest.raises(ConfigurationError, match="does not take the option nonsense") as caught:
        client_for(ModelConfig(model=model, options={**options, "nonsense": 1}))
    assert next(iter(options)) in str(caught.value)


@pytest.mark.parametrize("name", ["temperature", "requests_per_minute", "tokens_per_minute"])
def test_an_infinite_setting_is_refused(name: str) -> None:
    """JSON has no infinity: the request would be made without the setting."""
    with pytest.raises(ValidationError, match="finite"):
        ModelConfig.model_validate({"model": "openai:x", name: float("inf")})
