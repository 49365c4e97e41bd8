"""From a spec to a model, or to what is missing for it: `persona_panel.models.providers`."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from persona_panel.files.errors import ConfigurationError
from persona_panel.models.client import CallError
from persona_panel.models.config import ModelConfig
from persona_panel.models.embedded import EmbeddedClient
from persona_panel.models.langchain import LangChainClient, secrets_of
from persona_panel.models.langchain_providers import LANGCHAIN_PROVIDERS as PROVIDERS
from persona_panel.models.openai_client import OpenAIClient
from persona_panel.models.providers import client_for
from persona_panel.rubrics import ModelRequest
from persona_panel.testing import ScriptedServer, always, serving, status

KEY = "canary-4f9e-0123456789"
MISSING = next((name for name, one in PROVIDERS.items() if find_spec(one.module) is None), None)

needs_langchain_openai = pytest.mark.skipif(
    find_spec("langchain_openai") is None or find_spec("langchain") is None,
    reason="langchain and langchain-openai are not installed",
)


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No key and no address of whoever runs the tests."""
    variables = [one.key_env for one in PROVIDERS.values() if one.key_env]
    for variable in (*variables, "OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(variable, raising=False)


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with serving() as running:
        yield running


def refusal_of(model: str, **options: Any) -> str:
    with pytest.raises(ConfigurationError) as caught:
        client_for(ModelConfig(model=model, **options))
    return str(caught.value)


# What is missing


def test_an_unknown_provider_with_its_nearest() -> None:
    """A misspelt provider is named with the one that was probably meant, and all there are."""
    said = refusal_of("antropic:claude-haiku-4-5")
    assert "no provider is called 'antropic'" in said
    assert "did you mean anthropic:claude-haiku-4-5?" in said
    assert all(name in said for name in ("local", "openai", "google_genai", "mistralai"))


def test_an_unknown_provider_like_no_other() -> None:
    """Where no provider's name is near, none is suggested."""
    said = refusal_of("qqqqqq:model")
    assert "no provider is called 'qqqqqq'" in said
    assert "did you mean" not in said


@pytest.mark.skipif(MISSING is None, reason="every provider's package is installed")
def test_a_missing_package_with_the_command_that_brings_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A provider whose package is not there says which it is and how to get it, before it
    asks for a key."""
    assert MISSING is not None
    provider = PROVIDERS[MISSING]
    said = refusal_of(f"{MISSING}:model")
    assert said.startswith(f"{MISSING}:model needs ")
    assert provider.module.replace("_", "-") in said
    assert said.endswith(f"get it with: {provider.install}")


def test_the_commands_that_install_a_provider() -> None:
    """A provider with an extra of ours is got by it, another by its LangChain package."""
    assert PROVIDERS["anthropic"].install == "pip install 'persona-panel[anthropic]'"
    assert PROVIDERS["google_genai"].install == "pip install 'persona-panel[google]'"
    assert PROVIDERS["groq"].install == "pip install langchain langchain-groq"


@pytest.mark.parametrize("value", [None, ""])
def test_a_missing_key(value: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without OPENAI_API_KEY, or with an empty one, OpenAI's own models are not to be had."""
    if value is not None:
        monkeypatch.setenv("OPENAI_API_KEY", value)
    said = refusal_of("openai:gpt-4o-mini")
    assert said.startswith("openai:gpt-4o-mini needs a key")
    assert "OPENAI_API_KEY" in said
    assert "key_env" in said


@needs_langchain_openai
@pytest.mark.parametrize("value", [None, ""])
def test_a_missing_key_of_another_provider(
    value: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each provider is told by the variable that is its own."""
    if value is not None:
        monkeypatch.setenv("AZURE_OPENAI_API_KEY", value)
    said = refusal_of("azure_openai:judge")
    assert said.startswith("azure_openai:judge needs a key")
    assert "AZURE_OPENAI_API_KEY" in said


@pytest.mark.parametrize("model", ["openai:gpt-4o-mini", "azure_openai:judge"])
def test_key_env_is_where_the_key_has_to_be(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With key_env only that variable counts, whatever else is set."""
    if model.startswith("azure") and find_spec("langchain_openai") is None:
        pytest.skip("langchain-openai is not installed")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", KEY)
    said = refusal_of(model, key_env="MY_KEY")
    assert "MY_KEY" in said
    assert KEY not in said


def test_key_env_is_demanded_of_a_server_of_one_s_own_too() -> None:
    """Whoever names a variable means it: a server with key_env is not asked without one."""
    said = refusal_of("openai:stub", base_url="http://127.0.0.1:1/v1", key_env="MY_KEY")
    assert "MY_KEY" in said


def test_a_bad_address() -> None:
    """What is wrong with an address is said in a line, with the model's name."""
    said = refusal_of("openai:stub", base_url="127.0.0.1:8000")
    assert said.startswith("openai:stub: ")
    assert "http://" in said
    assert "\n" not in said


def test_a_bad_key_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key that no header can hold is refused without being quoted."""
    monkeypatch.setenv("OPENAI_API_KEY", f"{KEY} and more")
    said = refusal_of("openai:gpt-4o-mini")
    assert "api_key contains a character" in said
    assert KEY not in said


@needs_langchain_openai
def test_what_a_provider_s_package_refuses_is_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """What else a provider needs is said in its own package's words, without the key."""
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", KEY)
    said = refusal_of("azure_openai:judge")
    assert said.startswith("azure_openai:judge cannot be used: ")
    assert "Must provide" in said
    assert KEY not in said


def test_missing_weights() -> None:
    """A local model that is no file is refused when the panel is made."""
    assert "neither a shipped model" in refusal_of("local:/no/such/file.gguf")


# What is found


async def test_an_own_server_needs_no_key(server: ScriptedServer) -> None:
    """With a base_url openai: works without a key, and sends none; making it calls nothing."""
    client = client_for(ModelConfig(model="openai:stub", base_url=server.base_url))
    assert server.calls == []
    assert (await client.complete(ModelRequest("", ("Rate it.",)))).text
    await client.aclose()
    assert "Authorization" not in server.calls[0].headers


async def test_openai_base_url_is_honoured(
    server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The variable that OpenAI's own client reads redirects openai:, key and all."""
    monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    client = client_for(ModelConfig(model="openai:stub"))
    assert server.calls == []
    await client.complete(ModelRequest("", ("Rate it.",)))
    await client.aclose()
    assert server.calls[0].headers["Authorization"] == f"Bearer {KEY}"


async def test_openai_s_key_goes_to_no_other_address(
    server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A base_url may be anybody's: the key is sent there where key_env names it, or the environment
    names the address."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)

    async def authorization(**settings: str) -> str | None:
        client = client_for(ModelConfig(model="openai:stub", **settings))
        await client.complete(ModelRequest("", ("Rate it.",)))
        await client.aclose()
        return server.calls[-1].headers.get("Authorization")

    assert await authorization(base_url=server.base_url) is None
    own = await authorization(base_url=server.base_url, key_env="OPENAI_API_KEY")
    assert own == f"Bearer {KEY}"
    monkeypatch.setenv("OPENAI_BASE_URL", f"{server.base_url}/")
    assert await authorization(base_url=server.base_url) == f"Bearer {KEY}"


@pytest.mark.parametrize("key_env", [None, "OPENAI_API_KEY"])
async def test_a_server_that_wants_a_key_and_got_none(
    key_env: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its 401 is told with the remedy; where a key was sent, that is no remedy."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with serving(always(status(401))) as server:
        config = ModelConfig(model="openai:stub", base_url=server.base_url, key_env=key_env)
        client = client_for(config)
        with pytest.raises(CallError) as raised:
            await client.complete(ModelRequest("", ("Rate it.",)))
        await client.aclose()
    assert ("no key was sent (key_env in a panel file" in str(raised.value)) is (key_env is None)


async def test_a_panel_file_s_address_comes_before_the_environment_s(
    server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """base_url wins over OPENAI_BASE_URL, and key_env over OPENAI_API_KEY."""
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "another-key")
    monkeypatch.setenv("MY_KEY", KEY)
    config = ModelConfig(model="openai:stub", base_url=server.base_url, key_env="MY_KEY")
    client = client_for(config)
    await client.complete(ModelRequest("", ("Rate it.",)))
    await client.aclose()
    assert server.calls[0].headers["Authorization"] == f"Bearer {KEY}"


def test_settings_reach_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """Temperature and timeout are the model's; a name may hold colons and slashes."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    client = client_for(ModelConfig(model="openai:org/m:free", temperature=0.5, timeout=7))
    assert isinstance(client, OpenAIClient)
    assert (client.model, client.temperature, client.timeout_s) == ("org/m:free", 0.5, 7)
    assert client.base_url == "https://api.openai.com/v1"


@needs_langchain_openai
def test_another_provider_by_langchain(monkeypatch: pytest.MonkeyPatch) -> None:
    """A provider with its package and its key becomes a LangChain model, without a call."""
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_API_VERSION", "2024-10-21")
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", "http://127.0.0.1:1")
    client = client_for(ModelConfig(model="azure_openai:judge", temperature=0.5))
    assert isinstance(client, LangChainClient)
    assert client.parameters["model"] == "judge"
    assert "0.5" in json.dumps(client.parameters)
    assert KEY not in json.dumps(client.parameters)


def test_a_local_file(tmp_path: Path) -> None:
    """local: with a path is an embedded model of that file, which is not read yet."""
    if find_spec("xllamacpp") is None:
        pytest.skip("xllamacpp is not installed")
    file = tmp_path / "own.gguf"
    file.write_bytes(b"not weights")
    client = client_for(ModelConfig(model=f"local:{file}", context_window=1024))
    assert isinstance(client, EmbeddedClient)
    assert client.context_tokens == 1024
    assert client.temperature == 0.0


def test_parameters_hold_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """What identifies a model in the cache and the run's folder is the same with any key."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with_key = client_for(ModelConfig(model="openai:stub", base_url="http://127.0.0.1:1/v1"))
    monkeypatch.delenv("OPENAI_API_KEY")
    without = client_for(ModelConfig(model="openai:stub", base_url="http://127.0.0.1:1/v1"))
    assert KEY not in json.dumps(dict(with_key.parameters))
    assert with_key.parameters == without.parameters
    assert KEY not in repr(with_key)


# Where keys go


@pytest.mark.parametrize("key_env", [None, "ANTHROPIC_API_KEY"])
def test_a_key_goes_to_another_address_only_where_key_env_names_it(
    key_env: str | None, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An address in a panel file gets a provider's own key where the file says so, else none."""
    pytest.importorskip("langchain_anthropic")
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    address = server.base_url.removesuffix("/v1")
    client = client_for(ModelConfig(model="anthropic:stub", key_env=key_env, base_url=address))

    async def ask() -> None:
        # The server speaks in another provider's words.
        with suppress(CallError):
            await client.complete(ModelRequest(system="You judge.", blocks=("Rate it.",)))
        await client.aclose()

    asyncio.run(ask())
    [call] = server.calls
    assert (KEY in " ".join(map(str, call.headers.values()))) == (key_env is not None)


@needs_langchain_openai
@pytest.mark.parametrize("key_env", [None, "AZURE_OPENAI_API_KEY"])
def test_an_address_in_an_option_is_another_too(
    key_env: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So with Azure's endpoint; that in the environment gets the environment's key."""
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", KEY)
    options = {"azure_endpoint": "https://a.example", "api_version": "2024-10-21"}
    client = client_for(ModelConfig(model="azure_openai:stub", key_env=key_env, options=options))
    assert (KEY in secrets_of(client._chat)) == (key_env is not None)  # type: ignore[attr-defined]
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", options.pop("azure_endpoint"))
    client = client_for(ModelConfig(model="azure_openai:stub", options=options))
    assert KEY in secrets_of(client._chat)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("model", "variable"),
    [
        ("anthropic:stub", "ANTHROPIC_AUTH_TOKEN"),
        ("azure_openai:stub", "AZURE_OPENAI_AD_TOKEN"),
        ("ollama:stub", "OLLAMA_API_KEY"),
        ("bedrock_converse:stub", "AWS_BEARER_TOKEN_BEDROCK"),
    ],
)
def test_what_a_package_sends_by_itself_is_refused_at_another_address(
    model: str, variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No argument keeps the package from sending it; the refusal names it, not its value."""
    pytest.importorskip(PROVIDERS[model.partition(":")[0]].module)
    monkeypatch.setenv(variable, KEY)
    assert refusal_of(model, base_url="http://127.0.0.1:9") == (
        f"{model} at an address of one's own: its package would send {variable} there; unset it, "
        "or leave the address out"
    )
