"""The providers that are reached through LangChain: a line each in `LANGCHAIN_PROVIDERS`.

Another distribution may register a `LangChainProvider` of its own by the entry point group
`persona_panel.providers`.
"""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from operator import attrgetter
from typing import TYPE_CHECKING, Any, cast

from persona_panel.files.errors import ConfigurationError
from persona_panel.files.secrets import scrub
from persona_panel.files.wording import extra, not_installed
from persona_panel.models.availability import Availability, find_key
from persona_panel.models.config import ModelConfig
from persona_panel.models.event_loops import MOST_THREADS

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

    from persona_panel.models.client import ModelClient


_NO_KEY = "not-needed"


@dataclass(frozen=True, slots=True)
class LangChainProvider:
    """A provider by its name in LangChain's `init_chat_model`.

    `module` is its integration package as it is imported, `key_env` the environment variable with
    its key, `extra` the one of persona-panel's that installs it. `max_retries` is what makes the
    package try a call once: 0, or 1 where it counts the first attempt. `close` is the method of its
    chat model that closes the connections; None where chat models share them, or a call closes its
    own. `batches` is the module whose `of` makes the batches of a `BatchedClient`. `made_up` are
    settings for which its chat model has values of its own, and sends them where none is set.
    `further_keys` are environment variables whose keys the package sends beside or without another;
    None where it finds credentials that no argument keeps it from sending.
    """

    name: str
    module: str
    key_env: str | None = None
    extra: str | None = None
    max_retries: int = 0
    close: str | None = None
    batches: str | None = None
    made_up: tuple[str, ...] = ()
    further_keys: tuple[str, ...] | None = ()

    @property
    def packages(self) -> tuple[str, ...]:
        """The distribution that reaches the provider."""
        return (_distribution(self.module),)

    def client(self, config: ModelConfig, keep_prefix: bool) -> ModelClient:
        """See `persona_panel.models.providers.Provider`."""
        if missing := self._missing_packages():
            raise ConfigurationError(
                not_installed(f"{config.model} needs", " and ".join(missing), self.install)
            )
        # On Vertex, Google's models are reached with the credentials of the machine.
        own = not config.options.get("vertexai")
        keyless = _has_address(config) and config.key_env is None
        if _has_address(config):
            self._refuse_further_keys(config, self.further_keys if own else None)
        key = find_key(config, None if keyless else self.key_env, required=own)
        if key is None and own and (config.key_env or self.key_env):
            # The classes take the provider's own key where they get none: another address must not
            # have it, and where keys are optional there may be none.
            return self._init_chat_model(config, _NO_KEY, keep_prefix)
        return self._init_chat_model(config, config.key_env and key, keep_prefix)

    def _refuse_further_keys(self, config: ModelConfig, further: tuple[str, ...] | None) -> None:
        if further is None and config.key_env is None:
            sent = "this machine's credentials for it"
        elif there := [name for name in further or () if os.environ.get(name)]:
            sent = " and ".join(there)
        else:
            return
        remedy = "name a key with key_env" if further is None else "unset it"
        raise ConfigurationError(
            f"{config.model} at an address of one's own: its package would send {sent} there; "
            f"{remedy}, or leave the address out"
        )

    def availability(self) -> Sequence[Availability]:
        """See `persona_panel.models.providers.Provider`."""
        model = f"{self.name}:NAME"
        if self._missing_packages():
            return [Availability(model, False, self.install)]
        if self.key_env is None:
            return [Availability(model, True, "installed")]
        if self.key_env not in os.environ:
            return [Availability(model, False, f"put a key into {self.key_env}")]
        return [Availability(model, True, f"key in {self.key_env}")]

    @property
    def install(self) -> str:
        """The command that installs it."""
        if self.extra:
            return extra(self.extra)
        return f"pip install langchain {_distribution(self.module)}"

    def _missing_packages(self) -> list[str]:
        return [
            _distribution(name) for name in ("langchain", self.module) if find_spec(name) is None
        ]

    def _init_chat_model(
        self, config: ModelConfig, key: str | None, keep_prefix: bool
    ) -> ModelClient:
        from langchain.chat_models import init_chat_model

        from persona_panel.models.langchain import LangChainClient, hint_on_options, refuse_unknown
        from persona_panel.models.langchain_batches import BatchedClient

        options: dict[str, Any] = {"temperature": config.temperature, "base_url": config.base_url}
        options["api_key"] = key
        if self.module == "langchain_aws" and self.name.startswith("bedrock"):
            options["config"] = _amazon_config()
        settings = {name: value for name, value in options.items() if value is not None}
        settings |= config.options
        try:
            # Retries are the caller's, who counts them.
            with warnings.catch_warnings():
                # What is refused below, packages warn of and send in some other place.
                warnings.filterwarnings("ignore", message=r"(?s).*is not default parameter")
                chat = init_chat_model(
                    config.model_name,
                    model_provider=self.name,
                    max_retries=self.max_retries,
                    # Some packages take whole seconds only; the client's own limit is exact.
                    timeout=math.ceil(config.timeout),
                    **settings,
                )
        # Each provider's package refuses in its own way.
        except Exception as error:
            # Scrubbed before it is shortened: half a key would not be recognised.
            reason = scrub(" ".join(str(error)[:20_000].split()))[:300]
            hint = hint_on_options(error, self.module, config)
            raise ConfigurationError(f"{config.model} cannot be used: {reason}{hint}") from None
        refuse_unknown(type(chat), config)
        for name in self.made_up:
            if name not in settings:
                # Then the provider's own is in force.
                setattr(chat, name, None)
        batches = self._batches_of(chat)
        kind = LangChainClient if batches is None else BatchedClient
        client = kind(
            chat,
            config.model_name,
            timeout_s=config.timeout,
            keep_prefix=keep_prefix,
            options=config.options,
            own=True,
            close=self._closing(chat),
        )
        if isinstance(client, BatchedClient):
            client.batches_module = batches or ""
        return client

    def _batches_of(self, chat: BaseChatModel) -> str | None:
        # Vertex takes batches from a bucket, not from who calls.
        return None if getattr(chat, "_use_vertexai", False) else self.batches

    def _closing(self, chat: BaseChatModel) -> Callable[[], Any] | None:
        try:
            return cast(Callable[[], Any], attrgetter(self.close)(chat)) if self.close else None
        # Another version of the package: its connections are left to the garbage collector.
        except AttributeError:
            return None


def _has_address(config: ModelConfig) -> bool:
    """Say whether a panel names an address itself, as `base_url` or in an option."""
    return config.base_url is not None or any(
        isinstance(option, str) and "://" in option for option in config.options.values()
    )


def _amazon_config() -> Any:
    """Return a configuration with as many connections as calls: with the usual ten, each further
    call opens its own connection and warns of it."""
    from botocore.config import Config

    return Config(max_pool_connections=MOST_THREADS)


def _distribution(module: str) -> str:
    return module.replace("_", "-")


_BEDROCK = ("AWS_BEARER_TOKEN_BEDROCK",)
"""Requests are signed with Amazon's other keys, and do not hold them."""

LANGCHAIN_PROVIDERS: Mapping[str, LangChainProvider] = {
    provider.name: provider
    for provider in (
        LangChainProvider(
            "anthropic",
            "langchain_anthropic",
            "ANTHROPIC_API_KEY",
            "anthropic",
            batches="persona_panel.models.anthropic_batches",
            further_keys=("ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_CUSTOM_HEADERS"),
        ),
        LangChainProvider("anthropic_bedrock", "langchain_aws", further_keys=_BEDROCK),
        LangChainProvider("azure_ai", "langchain_azure_ai", further_keys=None),
        LangChainProvider(
            "azure_openai",
            "langchain_openai",
            "AZURE_OPENAI_API_KEY",
            close="root_async_client.close",
            further_keys=("AZURE_OPENAI_AD_TOKEN",),
        ),
        LangChainProvider("baseten", "langchain_baseten", "BASETEN_API_KEY"),
        LangChainProvider("bedrock", "langchain_aws", close="client.close", further_keys=_BEDROCK),
        LangChainProvider(
            "bedrock_converse", "langchain_aws", close="client.close", further_keys=_BEDROCK
        ),
        LangChainProvider("cohere", "langchain_cohere", "COHERE_API_KEY"),
        LangChainProvider("deepseek", "langchain_deepseek", "DEEPSEEK_API_KEY"),
        LangChainProvider("fireworks", "langchain_fireworks", "FIREWORKS_API_KEY"),
        LangChainProvider(
            "google_anthropic_vertex", "langchain_google_vertexai", further_keys=None
        ),
        LangChainProvider(
            "google_genai",
            "langchain_google_genai",
            "GOOGLE_API_KEY",
            "google",
            1,
            "aclose",
            batches="persona_panel.models.gemini_batches",
            made_up=("temperature",),
        ),
        LangChainProvider(
            "google_vertexai", "langchain_google_vertexai", max_retries=1, further_keys=None
        ),
        LangChainProvider(
            "groq",
            "langchain_groq",
            "GROQ_API_KEY",
            close="async_client._client.close",
            made_up=("temperature",),
        ),
        LangChainProvider("huggingface", "langchain_huggingface", further_keys=None),
        LangChainProvider("ibm", "langchain_ibm", "WATSONX_APIKEY"),
        LangChainProvider("litellm", "langchain_litellm", further_keys=None),
        LangChainProvider("meta", "langchain_meta", further_keys=None),
        LangChainProvider(
            "mistralai",
            "langchain_mistralai",
            "MISTRAL_API_KEY",
            close="async_client.aclose",
            made_up=("temperature", "top_p"),
        ),
        LangChainProvider("nvidia", "langchain_nvidia_ai_endpoints", "NVIDIA_API_KEY"),
        LangChainProvider(
            "ollama",
            "langchain_ollama",
            close="_async_client.close",
            further_keys=("OLLAMA_API_KEY",),
        ),
        LangChainProvider("openrouter", "langchain_openrouter", "OPENROUTER_API_KEY"),
        LangChainProvider("perplexity", "langchain_perplexity", "PPLX_API_KEY"),
        LangChainProvider("together", "langchain_together", "TOGETHER_API_KEY"),
        LangChainProvider("upstage", "langchain_upstage", "UPSTAGE_API_KEY"),
        LangChainProvider("xai", "langchain_xai", "XAI_API_KEY"),
    )
}
