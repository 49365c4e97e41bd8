"""Options of a LangChain chat model: which its class takes, and what is said of another."""

from __future__ import annotations

from difflib import get_close_matches
from importlib import import_module

from langchain_core.language_models import BaseChatModel
from pydantic import BaseModel, ValidationError

from persona_panel.files.errors import ConfigurationError
from persona_panel.models.config import ModelConfig
from persona_panel.models.options import LIMIT_NAMES, checked_options

_LANGCHAINS = frozenset(
    {"name", "cache", "verbose", "callbacks", "tags", "metadata", "custom_get_token_ids"}
    | {"rate_limiter", "disable_streaming", "output_version", "profile"}
)
"""Fields of LangChain's own, which no provider is told."""


def option_names(kind: type[BaseModel]) -> list[str]:
    """The options that a class takes, by their public names, in alphabetical order."""
    names = set()
    for field, info in kind.model_fields.items():
        names |= {field, info.alias or field}
    return sorted(name for name in names if _is_option(name))


def refuse_unknown(kind: type[BaseChatModel], config: ModelConfig) -> None:
    """Refuse options that a chat model's class does not have: it would drop them, or send them
    where they change nothing.

    Raises:
        ConfigurationError: there are some; says which names the class takes.
    """
    known = {name for field, info in kind.model_fields.items() for name in (field, info.alias)}
    if unknown := [name for name in config.options if name not in known]:
        raise ConfigurationError(_told(unknown, kind, config))


def told_with_options(error: Exception, module: str, config: ModelConfig) -> str:
    """What is added to the words of a chat model that could not be made: where its class forbids
    an option, the names that it takes; else nothing."""
    if not isinstance(error, ValidationError):
        return ""
    forbidden = [
        str(fault["loc"][0])
        for fault in error.errors(include_input=False, include_url=False, include_context=False)
        if fault["type"] == "extra_forbidden" and fault["loc"]
    ]
    kind = getattr(import_module(module), error.title, None)
    if not forbidden or not isinstance(kind, type) or not issubclass(kind, BaseModel):
        return ""
    return f". {_told(forbidden, kind, config)}"


def _told(unknown: list[str], kind: type[BaseModel], config: ModelConfig) -> str:
    takes = option_names(kind)
    near = get_close_matches(unknown[0], takes, n=1)
    hint = f" (did you mean {near[0]}?)" if near else ""
    return (
        f"{config.model} does not take the option{'s' if len(unknown) > 1 else ''} "
        f"{', '.join(unknown)}{hint}: {kind.__name__} takes {', '.join(takes)}"
    )


def _is_option(name: str) -> bool:
    if name in _LANGCHAINS or name.startswith("_") or name.endswith("client"):
        return False
    try:
        checked_options({name: 1 if name in LIMIT_NAMES else {}}, _FIELDS)
    except ValueError:
        return False
    return True


_FIELDS = frozenset(ModelConfig.model_fields)
