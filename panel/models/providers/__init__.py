"""Providers: from `provider:name` to a model that can be asked, or to what is missing for it.

A provider is one file of this package, found by its name (`openai.py` is `openai:`), a line of the
table in `persona_panel.models.langchain_providers`, or an entry point (docs/how-to/extend.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from typing import Protocol, cast

from persona_panel.files.errors import ConfigurationError
from persona_panel.files.secrets import learn_proxies
from persona_panel.files.wording import nearest
from persona_panel.models.availability import Availability as Availability
from persona_panel.models.client import ModelClient
from persona_panel.models.config import ModelConfig
from persona_panel.models.langchain_providers import LANGCHAIN_PROVIDERS
from persona_panel.rubrics.extensions import ExtensionError, extension_names, load_extension

_GROUP = "persona_panel.providers"


class Provider(Protocol):
    """The interface of a provider: a module or an object.

    `packages` are the distributions that reach its models; their versions are recorded with a run.
    """

    @property
    def packages(self) -> Sequence[str]: ...

    def client(self, config: ModelConfig, keep_prefix: bool) -> ModelClient:
        """Return the model `config.model_name` with the settings in `config`. Nothing is called.

        `keep_prefix`: further requests will begin with the same block; a provider that wants to be
        told so is told. Raises ConfigurationError: a package, key or file is missing; the message
        says which, and how to get it."""

    def availability(self) -> Sequence[Availability]:
        """Return what `persona-panel models` says about it; nothing is called."""


def provider_names() -> tuple[str, ...]:
    """Return all providers: those with a file or an entry point, then those by LangChain."""
    native = extension_names(__name__, _GROUP)
    return (*native, *(name for name in LANGCHAIN_PROVIDERS if name not in native))


def load_provider(name: str) -> Provider:
    """Return the provider called `name`; no other distribution's takes the place of one of ours.
    Raises KeyError: there is none of that name; ConfigurationError: another distribution's cannot
    be loaded."""
    if name in LANGCHAIN_PROVIDERS and find_spec(f"{__name__}.{name}") is None:
        return LANGCHAIN_PROVIDERS[name]
    if name not in provider_names():
        raise KeyError(name)
    try:
        return cast(Provider, load_extension(__name__, _GROUP, name))
    except ExtensionError as error:
        raise ConfigurationError(str(error)) from error


def client_for(config: ModelConfig, keep_prefix: bool = False) -> ModelClient:
    """Return the model that `config` names, ready to be asked; see `Provider.client`. Raises
    ConfigurationError: there is no such provider, or it lacks something."""
    learn_proxies()
    try:
        provider = load_provider(config.provider)
    except KeyError:
        known = sorted(provider_names())
        near = nearest(config.provider, known)
        hint = f"did you mean {near}:{config.model_name}? " if near else ""
        raise ConfigurationError(
            f"{config.model}: no provider is called {config.provider!r}; {hint}"
            f"the providers are {', '.join(known)}"
        ) from None
    return provider.client(config, keep_prefix)
