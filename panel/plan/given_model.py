"""A model that a user has made: as a client, and on its way to another process."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from persona_panel.files.errors import ConfigurationError
from persona_panel.files.secrets import scrub
from persona_panel.models.client import ModelClient
from persona_panel.models.config import ModelConfig

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel


@dataclass(frozen=True, slots=True)
class GivenModel:
    """A chat model given as an object.

    Its pickle is what LangChain's own serialization makes of it, with the names of environment
    variables in the place of keys.

    Raises:
        ConfigurationError: when pickled, its class does not allow that, or a secret would be in
            the pickle; when unpickled, the environment lacks a key.
    """

    chat: BaseChatModel | ModelClient

    def config(self) -> ModelConfig:
        """What it is called and the limits that all models have."""
        kind = str(getattr(self.chat, "_llm_type", type(self.chat).__name__))
        return ModelConfig(model=f"{re.sub(r'[^a-z0-9]+', '_', kind.lower())}:{self._name()}")

    def client(self, config: ModelConfig, keep_prefix: bool) -> ModelClient:
        """The way to ask it; a chat model is asked through LangChain unless it is a client, too.

        Raises:
            ConfigurationError: it is neither a client nor a chat model.
        """
        chat = self.chat
        if isinstance(chat, ModelClient):
            return chat
        from langchain_core.language_models import BaseChatModel

        from persona_panel.models.langchain import LangChainClient

        if not isinstance(chat, BaseChatModel):
            raise ConfigurationError(
                "a model is provider:name, a ModelConfig, a ModelClient or a LangChain chat model, "
                f"found {type(chat).__name__}"
            )
        return LangChainClient(
            chat, self._name(), timeout_s=config.timeout, keep_prefix=keep_prefix
        )

    @property
    def temperature(self) -> float | None:
        """As it is set on the object; None where its class has no such setting, or none is set."""
        found = getattr(self.chat, "temperature", None)
        return float(found) if isinstance(found, int | float) else None

    def _name(self) -> str:
        chat = self.chat
        name = getattr(chat, "model", None) or getattr(chat, "model_name", None)
        return str(name or type(chat).__name__)

    def __reduce__(self) -> tuple[Callable[..., GivenModel], tuple[Any, ...]]:
        return _revived, (type(self.chat), self._serialized())

    def _serialized(self) -> str:
        from langchain_core.language_models import BaseChatModel
        from langchain_core.load import dumpd

        from persona_panel.models.identity import identity_of, secrets_of

        if not isinstance(self.chat, BaseChatModel):
            raise self._refused("it is not a chat model of LangChain's")
        document = dumpd(self.chat)
        if document.get("type") != "constructor":
            raise self._refused("its class does not let LangChain serialize it")
        text = json.dumps(document)
        if scrub(text, [secret for secret in secrets_of(self.chat) if secret]) != text:
            raise self._refused("a key or password stands in its settings")
        # A setting that is lost on the way would bring other answers.
        try:
            again = _loaded(document, type(self.chat), dict.fromkeys(_secrets_in(document), "-"))
            same = identity_of(again) == identity_of(self.chat)
        except Exception as error:
            raise self._refused(
                f"it cannot be made anew from what LangChain serializes ({type(error).__name__})"
            ) from None
        if not same:
            raise self._refused("LangChain does not serialize all of its settings")
        return text

    def _refused(self, why: str) -> ConfigurationError:
        return ConfigurationError(
            f"{self.config().model} was given as an object of {type(self.chat).__name__} and "
            f"cannot be pickled: {why}; give it as a spec, such as 'openai:gpt-5', or as a "
            "ModelConfig, which names the environment variable of its key"
        )


def _revived(kind: type[BaseChatModel], serialized: str) -> GivenModel:
    try:
        return GivenModel(_loaded(json.loads(serialized), kind, None))
    # Each provider's package refuses in its own way.
    except Exception as error:
        names = ", ".join(sorted(_secrets_in(json.loads(serialized)))) or "none"
        raise ConfigurationError(
            f"a model of {kind.__name__} cannot be made anew here: {scrub(str(error))[:300]} (the "
            f"environment variables that it takes its keys from: {names})"
        ) from None


def _loaded(
    document: Mapping[str, Any], kind: type[BaseChatModel], secrets: dict[str, str] | None
) -> BaseChatModel:
    from langchain_core.load import load

    with warnings.catch_warnings():
        # LangChain calls `load` a beta.
        warnings.simplefilter("ignore")
        chat: BaseChatModel = load(
            document,
            allowed_objects=[kind],
            valid_namespaces=[kind.__module__.partition(".")[0]],
            secrets_map=secrets,
            secrets_from_env=secrets is None,
        )
    return chat


def _secrets_in(document: Any) -> Iterator[str]:
    """The environment variables that stand for keys in a serialized object."""
    if isinstance(document, Mapping):
        if document.get("type") == "secret":
            yield from document["id"]
        else:
            for inner in document.values():
                yield from _secrets_in(inner)
    elif isinstance(document, list):
        for inner in document:
            yield from _secrets_in(inner)
