"""What tells one LangChain chat model from another, and what of it must never be shown.

`_identifying_params` alone does not: providers' packages leave out of it what changes answers.
So a model is identified by all of its public fields but those that surely change nothing; a
field too many costs a call, a field too few brings another model's answers from the cache.
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Iterator, Mapping, Set
from dataclasses import fields, is_dataclass
from decimal import Decimal
from enum import Enum
from functools import lru_cache, partial
from pathlib import PurePath
from typing import Any
from urllib.parse import unquote_plus, urlsplit
from uuid import UUID

from langchain_core.language_models import BaseChatModel
from pydantic import BaseModel, SecretBytes, SecretStr

from persona_panel.files.secrets import CREDENTIAL_NAME, credentials_in
from persona_panel.models.options import digest
from persona_panel.rubrics.unicode import well_formed

_OWN = frozenset(
    {"name", "tags", "metadata", "verbose", "callbacks", "callback_manager", "rate_limiter"}
    | {"custom_get_token_ids"}
)
"""Fields of LangChain's own: names for its traces, and how often and by whom it is called."""

_PATIENCE = re.compile(r"time_?out|retr(y|ies)|callback|max_concurren", re.IGNORECASE)
# Not every token is a secret: eos_token is a setting, and max_tokens.
_SECRET = re.compile(
    r"key(_id)?$|secret|password|credentials?$|authorization|cookie"
    r"|(^|access|auth|session|bearer|refresh|api|ad|hub|id|security)[_-]?token(_provider)?$",
    re.IGNORECASE,
)
_HEADERS = re.compile(r"header", re.IGNORECASE)
_SURELY_THE_SAME = (
    datetime.date,
    datetime.time,
    datetime.timedelta,
    Decimal,
    PurePath,
    UUID,
    re.Pattern,
    range,
    complex,
)
"""Types whose text says all of them, and says it alike in every process."""
_DEEPEST = 12
_WHERE_CLIENTS_ARE = ("base_url", "meta.endpoint_url", "_client.base_url", "_api_client.location")
"""Where the clients of providers' packages keep what they took from the environment."""


def identity_of(chat: BaseChatModel) -> dict[str, Any]:
    """All that may change what a chat model answers, as plain JSON without secrets; the same in
    every process for a model that was made alike.

    Objects that show no more than an address in memory count by their type alone.
    """
    return {
        "type": _name_of(type(chat)),
        "fields": _public(chat, 0),
        "identifying": _plain(chat._identifying_params, 0),
        "reached": {
            name: where for name, client in _clients(chat) if (where := _where(client)) is not None
        },
    }


def secrets_of(chat: BaseChatModel) -> Iterator[str]:
    """The secrets among a model's fields and parameters, to be masked in what it says."""
    yield from _hidden(_fields(chat))
    yield from _hidden(chat._identifying_params)


def _fields(model: BaseModel) -> dict[str, Any]:
    names = type(model).model_fields
    return {name: getattr(model, name, None) for name in names} | (model.model_extra or {})


def _public(model: BaseModel, depth: int) -> dict[str, Any]:
    """The fields of a model that say something; a field that a later version adds unset is none."""
    own = _OWN if isinstance(model, BaseChatModel) else ()
    declared = type(model).model_fields
    public = {}
    for name, value in _fields(model).items():
        kept_out = name in declared and declared[name].exclude
        # What is kept out of a model's dump are clients, mostly; a plain value is a setting.
        if value is None or name in own or (kept_out and not isinstance(value, str | int | float)):
            continue
        public[name] = value
    return _of_mapping(public, depth)


def _of_mapping(mapping: Mapping[Any, Any], depth: int) -> dict[str, Any]:
    plain = {}
    for key, value in mapping.items():
        name = _text(str(key))
        if _left_out(name) or _is_secret(value):
            continue
        if _HEADERS.search(name) and isinstance(value, Mapping):
            # A header may change an answer, and any of them may be a secret.
            plain[name] = {
                str(header).lower(): digest(str(said))
                for header, said in value.items()
                if not _SECRET.search(str(header))
            }
        else:
            plain[name] = _plain(value, depth + 1)
    return plain


def _plain(value: Any, depth: int) -> Any:
    match value:
        case None | bool():
            return value
        case Enum():
            return [_name_of(type(value)), _plain(value.value, depth + 1)]
        case int():
            return value if abs(value) < 2**63 else str(value)
        case float():
            return value if math.isfinite(value) else str(value)
        case str():
            return _text(value)
        case bytes():
            return digest(value.hex())
    if depth > _DEEPEST:
        return _name_of(type(value))
    match value:
        case Mapping():
            return _of_mapping(value, depth)
        case list() | tuple():
            return [_plain(one, depth + 1) for one in value if not _is_secret(one)]
        case Set():
            return {"set": sorted((_plain(one, depth + 1) for one in value), key=repr)}
        case BaseModel():
            return {"type": _name_of(type(value)), **_public(value, depth)}
        case partial():
            return [_plain(part, depth + 1) for part in (value.func, value.args, value.keywords)]
    if is_dataclass(value) and not isinstance(value, type):
        own = {field.name: getattr(value, field.name, None) for field in fields(value)}
        return {"type": _name_of(type(value)), **_of_mapping(own, depth)}
    if isinstance(value, _SURELY_THE_SAME):
        return [_name_of(type(value)), _text(str(value))]
    # A class or a function has a name; of another object only its type is surely the same.
    return _name_of(value if hasattr(value, "__qualname__") else type(value))


def _name_of(named: Any) -> str:
    return f"{getattr(named, '__module__', '')}.{named.__qualname__}"


# The same few names come with each model and each page.
@lru_cache(maxsize=1_000)
def _left_out(name: str) -> bool:
    return bool(_PATIENCE.search(name) or _SECRET.search(name))


def _is_secret(value: Any) -> bool:
    return isinstance(value, SecretStr | SecretBytes)


def _text(text: str) -> str:
    """A text, of a web address without the credentials, and no more of its query than a digest."""
    text = well_formed(text)
    if not text.startswith(("http://", "https://")):
        return text
    try:
        url = urlsplit(text)
        netloc = url.netloc.rpartition("@")[2].lower()
    except ValueError:
        return digest(text)
    bare = url._replace(netloc=netloc, query="").geturl()
    return f"{bare}?{digest(unquote_plus(url.query))}" if url.query else bare


def _clients(chat: BaseChatModel) -> Iterator[tuple[str, Any]]:
    """The objects through which a model reaches its provider."""
    for name, field in type(chat).model_fields.items():
        if field.exclude:
            yield name, getattr(chat, name, None)
    yield from (chat.__pydantic_private__ or {}).items()


def _where(client: Any) -> Any:
    """Where a client sends its calls, which may come from the environment; None if unknown."""
    for path in _WHERE_CLIENTS_ARE:
        found = client
        for name in path.split("."):
            found = getattr(found, name, None)
        # Of the types that are meant: a stand-in of a test's has every attribute.
        if isinstance(found, str) or type(found).__name__ == "URL":
            return _text(str(found))
    return None


def _hidden(value: Any, depth: int = 0) -> Iterator[str]:
    """The texts under names of secrets, in pydantic's secrets and in web addresses."""
    if isinstance(value, SecretStr):
        yield value.get_secret_value()
    elif isinstance(value, SecretBytes):
        yield value.get_secret_value().decode(errors="replace")
    elif isinstance(value, str) and "://" in value:
        yield from credentials_in(value)
    elif isinstance(value, Mapping) and depth <= _DEEPEST:
        for name, inner in value.items():
            yield from (_texts if CREDENTIAL_NAME.search(str(name)) else _hidden)(inner, depth + 1)
    elif isinstance(value, list | tuple) and depth <= _DEEPEST:
        for one in value:
            yield from _hidden(one, depth + 1)


def _texts(value: Any, depth: int = 0) -> Iterator[str]:
    if isinstance(value, str):
        # A header is a scheme and a key.
        yield from {value, *value.split()}
    elif isinstance(value, Mapping) and depth <= _DEEPEST:
        for inner in value.values():
            yield from _texts(inner, depth + 1)
    elif isinstance(value, list | tuple) and depth <= _DEEPEST:
        for inner in value:
            yield from _texts(inner, depth + 1)
    else:
        yield from _hidden(value, depth)
