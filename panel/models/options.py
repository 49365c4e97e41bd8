"""Options of a model: settings that a user hands on to its provider, under the provider's names.

Which names there are is the provider's to say. Refused here, before anything is called, is what
belongs elsewhere: what a request sets itself, and secrets.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date
from typing import Any, Protocol

import yaml

from persona_panel.files.errors import ConfigurationError
from persona_panel.files.secrets import CREDENTIAL_NAME, credentials_in, is_secret, scrub

HEADER_OPTIONS = {"organization": "OpenAI-Organization", "project": "OpenAI-Project"}
"""Options that OpenAI takes as headers."""
LIMIT_NAMES = ("max_tokens", "max_completion_tokens", "max_output_tokens", "num_predict")
"""What providers call the limit of an answer."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,99}")
_ELICITATIONS = "the elicitation defines how ratings are asked for"
_SET_BY_A_REQUEST = {
    "model": "name the model itself as `model`",
    "model_name": "name the model itself as `model`",
    "model_id": "name the model itself as `model`",
    "messages": "the rubric and the personas define what a model reads",
    "prompt": "the rubric and the personas define what a model reads",
    "stream": "answers are read whole",
    "streaming": "answers are read whole",
    "stream_options": "answers are read whole",
    "n": "each judge gives one answer: for several, set replicates",
    "candidate_count": "each judge gives one answer: for several, set replicates",
    "cache": "answers are kept by the panel",
    "max_retries": "calls are repeated by the panel",
    "response_format": _ELICITATIONS,
    "response_schema": _ELICITATIONS,
    "response_mime_type": _ELICITATIONS,
    "tools": _ELICITATIONS,
    "tool_choice": _ELICITATIONS,
    "functions": _ELICITATIONS,
    "function_call": _ELICITATIONS,
    "logprobs": _ELICITATIONS,
    "top_logprobs": _ELICITATIONS,
}
_HEADERS_OF_A_REQUEST = frozenset(
    {"host", "content-type", "content-length", "transfer-encoding", "connection", "expect"}
)
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
_SECRET_NAME = re.compile(
    r"(?<!cache)(?<!cache[_-])key(_id|_path|_file)?$|token(_provider)?$|secret|passw|credential"
    r"|authori[sz]ation|^(x-)?auth$|cookie|signature|bearer",
    re.IGNORECASE,
)
# A tokenizer's own: `eos_token` is a setting.
_TOKENIZERS = re.compile(
    r"^(eos|bos|pad|unk|sep|cls|mask|stop|start|end)[_-]?token$", re.IGNORECASE
)
_DEEPEST = 20


class HasOptions(Protocol):
    """A model's entry (`persona_panel.models.config.ModelConfig`), as far as its options go."""

    @property
    def model(self) -> str: ...

    @property
    def options(self) -> Mapping[str, Any]: ...


def checked_options(options: Mapping[str, Any], fields: frozenset[str]) -> dict[str, Any]:
    """The options as JSON has them, dates as texts; `fields` are what a model's entry has besides.

    Raises:
        ValueError: one is no option; names each with a reason, and shows no value.
    """
    faults = list(_faults(options, fields))
    if faults:
        # What was found and what is expected, as `persona_panel.files.wording` takes them apart.
        raise ValueError(f"{', '.join(faults)}; settings of the provider's own")
    return {name: _as_json(value) for name, value in options.items()}


def parsed_option(text: str) -> tuple[str, Any]:
    """The name and the value of `NAME=VALUE`; the value is JSON or else YAML, and a date a text.

    >>> parsed_option("seed=7"), parsed_option('reasoning={"effort": "low"}')
    (('seed', 7), ('reasoning', {'effort': 'low'}))

    Raises:
        ValueError: it has no such form.
    """
    name, equals, value = text.partition("=")
    name = name.strip()
    if not equals or not _NAME.fullmatch(name):
        raise ValueError("expected NAME=VALUE, such as seed=7 or 'thinking={type: disabled}'")
    try:
        return name, json.loads(value)
    except ValueError:
        pass
    # YAML takes what stands behind # for a comment.
    if not value.partition("#")[0].strip():
        raise ValueError(
            f"{name} has no value; expected NAME=VALUE, such as seed=7, with quotes around a text "
            "that is empty or begins with #"
        )
    try:
        read = yaml.safe_load(value)
    except yaml.YAMLError:
        raise ValueError(
            f"the value of {name} is neither a number or a word nor JSON or YAML"
        ) from None
    return name, value.strip() if isinstance(read, date) else read


def answer_limit_in(options: Mapping[str, Any]) -> int | None:
    """The limit of an answer in tokens, thinking included, that options set; None for none."""
    found = (options.get(name) for name in LIMIT_NAMES)
    return next((limit for limit in found if isinstance(limit, int)), None)


def options_document(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options as run.json and the cache's keys have them: of headers a digest, since a header
    whose name does not say so may be a secret all the same."""
    return with_headers(options, digest)


def with_headers(options: Mapping[str, Any], told: Callable[[str], str]) -> dict[str, Any]:
    """Options with what `told` makes of each header's value, however deep headers stand."""
    return {name: _told(name, value, told) for name, value in options.items()}


def without_headers(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options without headers, whose values may be secret, however deep they stand."""
    return {
        name: without_headers(value) if isinstance(value, Mapping) else value
        for name, value in options.items()
        if not _are_headers(name, value)
    }


def header_names(options: Mapping[str, Any]) -> tuple[str, ...]:
    """The names of headers in options, in their order, however deep they stand."""
    return tuple(
        str(header)
        for name, value in options.items()
        if isinstance(value, Mapping)
        for header in (value if _are_headers(name, value) else header_names(value))
    )


def _are_headers(name: str, value: Any) -> bool:
    return isinstance(value, Mapping) and "header" in str(name).lower()


def _told(name: str, value: Any, told: Callable[[str], str]) -> Any:
    match value:
        case Mapping() if _are_headers(name, value):
            return {str(header).lower(): told(str(said)) for header, said in value.items()}
        case Mapping():
            return {inner: _told(str(inner), one, told) for inner, one in value.items()}
        case list() | tuple():
            return [_told(name, one, told) for one in value]
    return value


def digest(text: str) -> str:
    """The first 16 hexadecimal digits of a text's SHA-256."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def refuse_options(config: HasOptions, takes: Sequence[str] = ()) -> None:
    """For a provider that takes only certain options, or none.

    Raises:
        ConfigurationError: there are others.
    """
    if unknown := [name for name in config.options if name not in takes]:
        known = f"it takes {', '.join(sorted(takes))}" if takes else "it takes none"
        raise ConfigurationError(
            f"{config.model} does not take the option{'s' if len(unknown) > 1 else ''} "
            f"{', '.join(unknown)}: {known}"
        )


def _faults(options: Mapping[str, Any], fields: frozenset[str]) -> Iterator[str]:
    for name, value in options.items():
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            yield "a name that is not a word like top_p"
        elif name in fields:
            yield f"{name} (a field of the model itself: set it next to `options`)"
        elif fault := _fault(name, value, 0):
            yield fault
        elif name == "headers":
            yield from header_faults(value)
        elif name in LIMIT_NAMES and (
            not isinstance(value, int) or isinstance(value, bool) or value < 1
        ):
            yield f"{name} (not a whole number of 1 or more)"
        elif name == "seed" and (not isinstance(value, int) or isinstance(value, bool)):
            yield "seed (not a whole number)"
    if len(limits := [name for name in LIMIT_NAMES if name in options]) > 1:
        yield f"{' and '.join(limits)} (both limit an answer: set one of them)"


def _fault(name: str, value: Any, depth: int) -> str | None:
    """What is wrong with a setting or with one within it; None where nothing is."""
    if (why := _SET_BY_A_REQUEST.get(name.lower())) and depth < 2:
        return f"{name} ({why})"
    if _SECRET_NAME.search(name) and not _TOKENIZERS.match(name):
        return (
            f"{name} (a secret, or where one is: put it into an environment variable, and the "
            "variable's name into key_env)"
        )
    if depth > _DEEPEST:
        return f"{name} (nested too deeply)"
    match value:
        case Mapping():
            inner = ((str(key), one) for key, one in value.items())
        case list() | tuple():
            inner = ((name, one) for one in value)
        case str() if _holds_a_secret(value):
            return (
                f"{name} (it holds a key or password, and is not shown: put that into an "
                "environment variable, and the variable's name into key_env)"
            )
        case float() if not math.isfinite(value):
            return f"{name} (not a finite number)"
        case None | bool() | int() | float() | str() | date():
            return None
        case _:
            return f"{name} (neither a number, text, true, false or null nor a list or mapping)"
    return next((fault for key, one in inner if (fault := _fault(key, one, depth + 1))), None)


def header_faults(value: Any) -> Iterator[str]:
    """What keeps headers from being sent, header by header; nothing where they can be."""
    if not isinstance(value, Mapping):
        yield "headers (a mapping from names to texts, such as {X-Title: essays})"
        return
    for name, said in value.items():
        if not _HEADER_NAME.fullmatch(str(name)) or str(name).lower() in _HEADERS_OF_A_REQUEST:
            yield f"{name!s:.40} (no header that can be set)"
        elif not isinstance(said, str) or not said.isascii() or not said.isprintable():
            yield f"{name} (a header's value is one line of ASCII text)"


def _holds_a_secret(text: str) -> bool:
    if scrub(text) != text or any(credentials_in(text)):
        return True
    # A key that no model of this process has used yet.
    return any(
        CREDENTIAL_NAME.search(name) and is_secret(value) and value in text
        for name, value in os.environ.items()
    )


def _as_json(value: Any) -> Any:
    match value:
        case Mapping():
            return {str(key): _as_json(one) for key, one in value.items()}
        case list() | tuple():
            return [_as_json(one) for one in value]
        # YAML reads 2024-10-21, a version of Azure's API, as a date.
        case date():
            return value.isoformat()
    return value
