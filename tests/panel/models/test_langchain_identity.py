"""What tells LangChain chat models apart in the cache: `persona_panel.models.langchain`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage
from langchain_core.outputs import ChatResult
from langchain_core.rate_limiters import InMemoryRateLimiter
from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, SecretStr

from persona_panel.models.langchain import identity_of, secrets_of

ROOT = Path(__file__).parents[3]
KEY = "canary-4f9e+Zq/0123456789"
BEDROCK = "anthropic.claude-3-sonnet-20240229-v1:0"


class Chat(BaseChatModel):
    """A model with a field of each kind that providers' packages have."""

    model_config = ConfigDict(extra="allow", arbitrary_types_allowed=True)

    model: str = "stub"
    num_ctx: int | None = None
    guard: Any = None
    eos_token: str = "</s>"
    api_key: SecretStr | None = None
    session_token: str | None = None
    request_timeout: float | None = None
    max_retries: int = 2
    default_headers: Mapping[str, str] | None = None
    base_url: str | None = None
    client: Any = Field(default=None, exclude=True)
    hushed: str | None = Field(default=None, exclude=True)
    _reached: Any = PrivateAttr(default=None)

    @property
    def _llm_type(self) -> str:
        return "chat"

    @property
    def _identifying_params(self) -> dict[str, Any]:
        return {"model": self.model}

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        raise NotImplementedError


class Client:
    """Shows nothing of itself but its address in memory."""

    def __init__(self, base_url: str | None = None) -> None:
        self.base_url = base_url


class Settings(BaseModel):
    budget: int = 1
    token: SecretStr = SecretStr(KEY)


@dataclass
class Guard:
    level: int = 1
    client: Any = None


SETTINGS: list[dict[str, Any]] = [
    {"num_ctx": 4096},
    {"eos_token": "<|end|>"},
    {"hushed": "a setting"},
    {"guard": {"thinking": {"budget_tokens": 1024}}},
    {"guard": Settings()},
    {"guard": Settings(budget=2)},
    {"guard": Guard()},
    {"guard": Guard(level=2)},
    {"guard": ["a", "b"]},
    {"guard": {"a", "b"}},
    {"guard": partial(int, base=8)},
    {"guard": Settings},
    {"guard": float("nan")},
    {"guard": 10**30},
    {"guard": "\ud83d"},
    {"guard": Path("a")},
    {"guard": b"bytes"},
    {"guard": Client()},
    {"base_url": "http://127.0.0.1:1/v1"},
    {"base_url": "http://127.0.0.1:1/v1?api-version=2"},
    {"default_headers": {"X-Beta": "long-context"}},
    {"default_headers": {"X-Beta": "short-context"}},
    {"client": Client("http://127.0.0.1:2")},
    {"a_field_of_its_own": 3},
    {"disable_streaming": True},
]


def test_what_may_change_an_answer_changes_the_identity() -> None:
    """A setting of any type, a header, an address and a field that only this model has make
    another model to the cache, and one that can be written."""
    seen: dict[str, Any] = {json.dumps(identity_of(Chat())): None}
    for changed in SETTINGS:
        identity = json.dumps(identity_of(Chat(**changed)), ensure_ascii=False, allow_nan=False)
        identity.encode()
        assert seen.setdefault(identity, changed) is changed


@pytest.mark.parametrize(
    "changed",
    [
        {"api_key": SecretStr(KEY)},
        {"session_token": KEY},
        {"request_timeout": 3.0},
        {"max_retries": 0},
        {"callbacks": []},
        {"tags": ["a"]},
        {"metadata": {"a": 1}},
        {"name": "mine"},
        {"verbose": True},
        {"rate_limiter": InMemoryRateLimiter()},
        {"custom_get_token_ids": len},
        {"client": Client()},
    ],
)
def test_what_changes_no_answer_does_not(changed: dict[str, Any]) -> None:
    """Secrets, time limits, retries, callbacks, LangChain's own names and a client as such are
    no part of a model's identity."""
    assert identity_of(Chat(**changed)) == identity_of(Chat())


def test_objects_are_alike_when_they_were_made_alike() -> None:
    """An object that shows only where it is in memory counts by its type, wherever it stands."""

    def made() -> dict[str, Any]:
        chat = Chat(guard={"a": Client(), "b": [Guard(client=Client())], "c": lambda: 1})
        chat._reached = Client("http://127.0.0.1:1")
        return identity_of(chat)

    assert made() == made()
    assert "0x" not in json.dumps(made())


def test_no_secret_is_in_it() -> None:
    """Keys in fields, nested settings, headers and addresses are in no identity, and are known as
    secrets where they stand by themselves."""
    chat = Chat(
        api_key=SecretStr(KEY),
        session_token=KEY + "-session",
        guard={"settings": Settings(), "extra_body": {"apiKey": KEY}, "keys": [SecretStr(KEY)]},
        default_headers={"Authorization": KEY, "X-Own": KEY},
        base_url=f"http://user:{KEY.replace('/', '_')}@127.0.0.1:1/v1?sig=canary-sig",
        extra={"headers": {"X-Api-Key": KEY}},
    )
    assert "canary" not in json.dumps(identity_of(chat))
    assert {KEY, KEY + "-session"} <= set(secrets_of(chat))


def test_a_structure_without_end_has_an_identity() -> None:
    """A setting that holds itself is looked into only so far."""
    endless: dict[str, Any] = {}
    endless["again"] = [endless]
    assert json.dumps(identity_of(Chat(guard=endless)))


# Providers' own packages

CHATS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "openai": ("langchain_openai", "ChatOpenAI", {"model": "m", "api_key": KEY}),
    "azure": (
        "langchain_openai",
        "AzureChatOpenAI",
        {
            "azure_deployment": "d",
            "api_version": "2024-10-21",
            "azure_endpoint": "https://a.example",
            "api_key": KEY,
        },
    ),
    "anthropic": ("langchain_anthropic", "ChatAnthropic", {"model": "m", "api_key": KEY}),
    "ollama": ("langchain_ollama", "ChatOllama", {"model": "m"}),
    "groq": ("langchain_groq", "ChatGroq", {"model": "m", "api_key": KEY}),
    "mistral": ("langchain_mistralai", "ChatMistralAI", {"model": "m", "api_key": KEY}),
    "google": (
        "langchain_google_genai",
        "ChatGoogleGenerativeAI",
        {"model": "gemini-2.0-flash", "api_key": KEY},
    ),
    "bedrock": (
        "langchain_aws",
        "ChatBedrock",
        {"model": BEDROCK, "region_name": "us-east-1"},
    ),
    "converse": (
        "langchain_aws",
        "ChatBedrockConverse",
        {"model": BEDROCK, "region_name": "us-east-1"},
    ),
}
THINKING = {"type": "enabled", "budget_tokens": 1024}
GUARDRAIL = {"guardrailIdentifier": "g", "guardrailVersion": "1"}
CHANGED: list[tuple[str, dict[str, Any]]] = [
    ("openai", {"reasoning_effort": "low"}),
    ("openai", {"verbosity": "low"}),
    ("openai", {"logit_bias": {1: 3}}),
    ("openai", {"use_responses_api": True}),
    ("azure", {"azure_deployment": "e"}),
    ("azure", {"api_version": "2025-01-01"}),
    ("anthropic", {"thinking": THINKING}),
    ("anthropic", {"betas": ["b"]}),
    ("anthropic", {"default_headers": {"anthropic-beta": "b"}}),
    ("ollama", {"num_ctx": 4096}),
    ("ollama", {"reasoning": True}),
    ("ollama", {"num_predict": 5}),
    ("ollama", {"repeat_penalty": 1.5}),
    ("ollama", {"mirostat": 2}),
    ("ollama", {"base_url": "http://127.0.0.1:1"}),
    ("groq", {"reasoning_effort": "low"}),
    ("groq", {"reasoning_format": "parsed"}),
    ("mistral", {"random_seed": 3}),
    ("mistral", {"safe_mode": True}),
    ("google", {"thinking_budget": 5}),
    ("google", {"safety_settings": {"HARM_CATEGORY_HATE_SPEECH": "BLOCK_NONE"}}),
    ("bedrock", {"region_name": "eu-west-2"}),
    ("bedrock", {"guardrails": GUARDRAIL}),
    ("bedrock", {"model_kwargs": {"thinking": THINKING}}),
    ("converse", {"region_name": "eu-west-2"}),
    ("converse", {"guardrail_config": GUARDRAIL}),
    ("converse", {"additional_model_request_fields": {"thinking": THINKING}}),
]


@pytest.fixture
def make(monkeypatch: pytest.MonkeyPatch) -> Callable[..., BaseChatModel]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", KEY)

    def made(provider: str, **changed: Any) -> BaseChatModel:
        package, name, options = CHATS[provider]
        pytest.importorskip(package, reason=f"{package} is no dependency; checked where it is")
        return getattr(import_module(package), name)(**options | changed)

    return made


@pytest.mark.parametrize(("provider", "changed"), CHANGED)
def test_a_provider_s_settings_are_in_its_identity(
    provider: str, changed: dict[str, Any], make: Callable[..., BaseChatModel]
) -> None:
    """What changes the answers of a provider's model makes it another to the cache."""
    assert identity_of(make(provider, **changed)) != identity_of(make(provider))


@pytest.mark.parametrize("provider", [name for name in CHATS if name not in ("ollama", "converse")])
def test_a_provider_s_patience_is_not(provider: str, make: Callable[..., BaseChatModel]) -> None:
    """How long a model is waited for and how often it is asked again change no answer."""
    assert identity_of(make(provider, timeout=3, max_retries=1)) == identity_of(make(provider))


@pytest.mark.parametrize("provider", CHATS)
def test_a_provider_s_key_is_in_no_identity(
    provider: str, make: Callable[..., BaseChatModel]
) -> None:
    """Nor is any address in memory."""
    written = json.dumps(identity_of(make(provider)))
    assert "canary" not in written
    assert "0x" not in written


def test_an_address_from_the_environment_counts(
    make: Callable[..., BaseChatModel], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A model that another server answers is another model, though no field says so."""
    before = identity_of(make("openai"))
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
    assert identity_of(make("openai")) != before


def test_the_identity_is_the_same_in_another_process() -> None:
    """What one process kept, the next one finds, whatever its hashes and addresses."""
    program = (
        "import json\n"
        "from langchain_openai import ChatOpenAI\n"
        "from persona_panel.calls.cache import page_of\n"
        "from persona_panel.models.langchain import LangChainClient\n"
        "from tests.panel.models.test_langchain_identity import Chat, Client, Guard, Settings\n"
        "odd = Chat(guard=[{'a', 'b', 'c'}, Client(), Guard(client=Client()), Settings()])\n"
        "for chat in (ChatOpenAI(model='m', api_key='k', disabled_params={'n': None}), odd):\n"
        "    print(page_of(LangChainClient(chat, 'm', timeout_s=5).parameters, 'x'))\n"
    )
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    pages = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": path},
            check=True,
            capture_output=True,
            text=True,
            timeout=60,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(pages) == 1
    assert len(set(pages.pop().split())) == 2
