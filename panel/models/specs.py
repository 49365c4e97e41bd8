"""From `provider:name` to a model that can be asked, or to what is missing for it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from difflib import get_close_matches
from importlib.util import find_spec
from typing import Any, NamedTuple

from panel.config import ModelConfig
from panel.errors import ConfigurationError
from panel.models.speaker import Speaker
from panel.models.weights import CONTEXT_TOKENS

OPENAI_URL = "https://api.openai.com/v1"


class Provider(NamedTuple):
    """A provider: its LangChain package, the variable with its key, our extra for it."""

    package: str
    key_env: str | None = None
    extra: str | None = None


# The names are those of LangChain's init_chat_model.
PROVIDERS: Mapping[str, Provider] = {
    "anthropic": Provider("langchain_anthropic", "ANTHROPIC_API_KEY", "anthropic"),
    "anthropic_bedrock": Provider("langchain_aws"),
    "azure_ai": Provider("langchain_azure_ai"),
    "azure_openai": Provider("langchain_openai", "AZURE_OPENAI_API_KEY"),
    "baseten": Provider("langchain_baseten", "BASETEN_API_KEY"),
    "bedrock": Provider("langchain_aws"),
    "bedrock_converse": Provider("langchain_aws"),
    "cohere": Provider("langchain_cohere", "COHERE_API_KEY"),
    "deepseek": Provider("langchain_deepseek", "DEEPSEEK_API_KEY"),
    "fireworks": Provider("langchain_fireworks", "FIREWORKS_API_KEY"),
    "google_anthropic_vertex": Provider("langchain_google_vertexai"),
    "google_genai": Provider("langchain_google_genai", "GOOGLE_API_KEY", "google"),
    "google_vertexai": Provider("langchain_google_vertexai"),
    "groq": Provider("langchain_groq", "GROQ_API_KEY"),
    "huggingface": Provider("langchain_huggingface"),
    "ibm": Provider("langchain_ibm", "WATSONX_APIKEY"),
    "litellm": Provider("langchain_litellm"),
    "meta": Provider("langchain_meta"),
    "mistralai": Provider("langchain_mistralai", "MISTRAL_API_KEY"),
    "nvidia": Provider("langchain_nvidia_ai_endpoints", "NVIDIA_API_KEY"),
    "ollama": Provider("langchain_ollama"),
    "openrouter": Provider("langchain_openrouter", "OPENROUTER_API_KEY"),
    "perplexity": Provider("langchain_perplexity", "PPLX_API_KEY"),
    "together": Provider("langchain_together", "TOGETHER_API_KEY"),
    "upstage": Provider("langchain_upstage", "UPSTAGE_API_KEY"),
    "xai": Provider("langchain_xai", "XAI_API_KEY"),
}


def speaker_for(config: ModelConfig, keep_prefix: bool = False) -> Speaker:
    """The model that a spec names, ready to be asked. Nothing is called.

    `keep_prefix`: further asks will begin with the same block; a provider that wants to be
    told so is told.

    Raises:
        ConfigurationError: a provider, package, key or file is missing; the message
            says which, and how to get it.
    """
    if config.provider == "local":
        return _local(config)
    if config.provider == "openai":
        return _compatible(config)
    return _langchain(config, keep_prefix)


def _local(config: ModelConfig) -> Speaker:
    from panel.models.embedded import EmbeddedChat

    return EmbeddedChat(
        model=config.name,
        context_tokens=config.context_window or CONTEXT_TOKENS,
        temperature=config.temperature or 0.0,
    )


def _compatible(config: ModelConfig) -> Speaker:
    from pydantic import SecretStr, ValidationError

    from panel.models.compatible import OpenAICompatible

    base_url = config.base_url or os.environ.get("OPENAI_BASE_URL") or OPENAI_URL
    variable = config.key_env or "OPENAI_API_KEY"
    key = os.environ.get(variable)
    # A server of one's own wants no key, unless the panel file says where one is.
    if not key and (config.key_env is not None or base_url.rstrip("/") == OPENAI_URL):
        raise ConfigurationError(_no_key(config, variable))
    try:
        return OpenAICompatible(
            model=config.name,
            base_url=base_url,
            api_key=SecretStr(key) if key else None,
            temperature=config.temperature,
            timeout_s=config.timeout,
        )
    except ValidationError as error:
        problems = "; ".join(str(fault["msg"]) for fault in error.errors(include_input=False))
        raise ConfigurationError(f"{config.model}: {problems}") from None


def _langchain(config: ModelConfig, keep_prefix: bool) -> Speaker:
    known = sorted([*PROVIDERS, "local", "openai"])
    provider = PROVIDERS.get(config.provider)
    if provider is None:
        near = get_close_matches(config.provider, known, n=1)
        hint = f"did you mean {near[0]}:{config.name}? " if near else ""
        raise ConfigurationError(
            f"{config.model}: no provider is called {config.provider!r}; {hint}"
            f"the providers are {', '.join(known)}"
        )
    if missing := missing_packages(provider):
        raise ConfigurationError(
            f"{config.model} needs {' and '.join(missing)}; get it with: {install(provider)}"
        )
    variable = config.key_env or provider.key_env
    key = os.environ.get(variable) if variable else None
    if variable is not None and not key:
        raise ConfigurationError(_no_key(config, variable))
    return _init_chat_model(config, key, keep_prefix)


def _init_chat_model(config: ModelConfig, key: str | None, keep_prefix: bool) -> Speaker:
    from langchain.chat_models import init_chat_model

    from panel.models.langchain import LangChainSpeaker
    from panel.models.scrubbing import scrub

    options: dict[str, Any] = {"temperature": config.temperature, "base_url": config.base_url}
    if config.key_env is not None:
        options["api_key"] = key
    given = {name: value for name, value in options.items() if value is not None}
    try:
        # Retries are the caller's, who counts them.
        chat = init_chat_model(
            config.name,
            model_provider=config.provider,
            max_retries=0,
            timeout=config.timeout,
            **given,
        )
    # Each provider's package refuses in its own way.
    except Exception as error:
        # Scrubbed before it is shortened: half a key would not be recognised.
        reason = scrub(" ".join(str(error)[:20_000].split()), (key,) if key else ())[:300]
        raise ConfigurationError(f"{config.model} cannot be used: {reason}") from None
    return LangChainSpeaker(chat, config.name, timeout_s=config.timeout, keep_prefix=keep_prefix)


def missing_packages(provider: Provider) -> list[str]:
    """The distributions that this provider still wants."""
    modules = ("langchain", provider.package)
    return [module.replace("_", "-") for module in modules if find_spec(module) is None]


def install(provider: Provider) -> str:
    """The command that installs a provider."""
    if provider.extra:
        return f"pip install 'persona-panel[{provider.extra}]'"
    return f"pip install langchain {provider.package.replace('_', '-')}"


def _no_key(config: ModelConfig, variable: str) -> str:
    return (
        f"{config.model} needs a key; put it into the environment variable {variable}, or name "
        "another variable with key_env in a panel file"
    )
