"""A model's entry in a panel file, the options for its provider, and the table of known models.

Options are settings that a user passes to a model's provider, under the provider's names. Any name
is allowed except those of settings that each request makes itself, and those of secrets: they are
refused here, before anything is called.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date
from functools import cache
from importlib.resources import files
from typing import Any, Literal, Protocol

import yaml
from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from persona_panel.files.errors import ConfigurationError
from persona_panel.files.secrets import CREDENTIAL_NAME, credentials_in, is_secret, scrub
from persona_panel.rubrics import Usage, elicitation_names


class Price(BaseModel):
    """US dollars for a million tokens. Input that is read from a provider's prompt cache, or
    written to it, costs as much as other input unless a price is set for it. `batch` is the share
    of the price that the provider's batches cost, 0.5 for half of it; None where that is not known.
    `batch_cached` says whether input read from a prompt cache has that share, too."""

    # An infinite price times no tokens would be no number, which no cap could be held against.
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    input: float = Field(ge=0)
    cached_input: float | None = Field(default=None, ge=0)
    cache_write: float | None = Field(default=None, ge=0)
    output: float = Field(ge=0)
    batch: float | None = Field(default=None, ge=0, le=1)
    batch_cached: bool = False

    @property
    def batched(self) -> Price | None:
        """The price in batches; None where it is not known.

        Input read from a prompt cache costs as much as other input there unless `batch_cached` is
        set: not every provider combines the discounts, and a cap must hold with each.
        """
        if self.batch is None:
            return None
        write = None if self.cache_write is None else self.cache_write * self.batch
        both = self.batch_cached and self.cached_input is not None
        return Price(
            input=self.input * self.batch,
            cached_input=(self.cached_input or 0.0) * self.batch if both else None,
            output=self.output * self.batch,
            cache_write=write,
        )

    def cost(self, usage: Usage) -> float:
        """Return the cost of a usage in US dollars."""
        cached = self.input if self.cached_input is None else self.cached_input
        write = self.input if self.cache_write is None else self.cache_write
        fresh = usage.input - usage.cached - usage.written
        read = fresh * self.input + usage.cached * cached + usage.written * write
        return (read + usage.output * self.output) / 1e6


def cost(price: Price | None, usage: Usage) -> float | None:
    """Return the cost of a usage in US dollars; None where the price is not known."""
    return None if price is None else price.cost(usage)


def total_cost(prices: Mapping[str, Price | None], used: Mapping[str, Usage]) -> float | None:
    """Return the cost of usage by model in US dollars; None where a price is not known."""
    costs = [cost(prices.get(model), usage) for model, usage in used.items()]
    known = [usd for usd in costs if usd is not None]
    return math.fsum(known) if len(known) == len(costs) else None


def batched_name(model: str) -> str:
    """Return the name under which a model's usage in batches is counted, since batches have their
    own price."""
    return f"{model} (batch)"


def with_batches(prices: Mapping[str, Price | None]) -> dict[str, Price | None]:
    """Return prices by model, with those of batches where they are known."""
    known = {name: price.batched for name, price in prices.items() if price is not None}
    batched = {batched_name(name): price for name, price in known.items() if price is not None}
    return dict(prices) | batched


class ModelFacts(Price):
    """The table's entry of a model, with its price.

    Attributes:
        context_window: tokens of input that it takes at once.
        reasoning: whether it thinks before it answers: by `default`, where it is `optional` and
            options ask for it, or `never`.
        logprobs: whether it returns log-probabilities; None where that depends on how it is asked.
        retires: the day on which its provider takes it off, None where none is announced.
    """

    context_window: int = Field(gt=0)
    reasoning: Literal["never", "optional", "default"] = "never"
    logprobs: bool | None = None
    retires: date | None = None


class _Table(BaseModel):
    as_of: date
    models: dict[str, ModelFacts]


FREE = Price(input=0, output=0)
"""The price of a model that runs in this process."""


@cache
def _table() -> _Table:
    text = files("persona_panel").joinpath("library/models.yaml").read_text("utf-8")
    # The C loader, where PyYAML has it, takes an eighth of the time; it would not bear what the
    # files of strangers may hold, but this one is ours.
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return _Table.model_validate(yaml.load(text, loader))  # noqa: S506


def known_models() -> Mapping[str, ModelFacts]:
    """Return the entries of the table by model."""
    return _table().models


def facts_of(spec: str) -> ModelFacts | None:
    """Return the table's entry of a model; None where it has none."""
    return _table().models.get(spec)


def prices_as_of() -> date:
    """Return the date of the table."""
    return _table().as_of


def context_window_of(spec: str) -> int | None:
    """Return how many tokens a model takes at once; None where that is not known."""
    known = facts_of(spec)
    return None if known is None else known.context_window


def price_of(spec: str) -> Price | None:
    """Return a model's price; None where it is not known."""
    return facts_of(spec)


HEADER_OPTIONS = {"organization": "OpenAI-Organization", "project": "OpenAI-Project"}
"""Options that OpenAI takes as headers."""
LIMIT_NAMES = ("max_tokens", "max_completion_tokens", "max_output_tokens", "num_predict")
"""Providers' names for the limit of an answer."""

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
    """A model's entry (`ModelConfig`), as far as its options go."""

    @property
    def model(self) -> str: ...

    @property
    def options(self) -> Mapping[str, Any]: ...


def checked_options(options: Mapping[str, Any], fields: frozenset[str]) -> dict[str, Any]:
    """Return the options as JSON has them, with dates as text; `fields` are the other fields of a
    model's entry. Raises ValueError: one is no option; names each with a reason, and shows no
    value."""
    faults = list(_faults(options, fields))
    if faults:
        # What was found and what is expected, as `persona_panel.files.wording` takes them apart.
        raise ValueError(f"{', '.join(faults)}; settings of the provider's own")
    return {name: _as_json(value) for name, value in options.items()}


def parsed_option(text: str) -> tuple[str, Any]:
    """Return the name and the value of `NAME=VALUE`. The value is read as JSON or else YAML; a date
    stays text.

    >>> parsed_option("seed=7"), parsed_option('reasoning={"effort": "low"}')
    (('seed', 7), ('reasoning', {'effort': 'low'}))

    Raises ValueError: it has no such form."""
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
    """Return the limit of an answer in tokens, thinking included, that options set; None for
    none.
    """
    limits = (options.get(name) for name in LIMIT_NAMES)
    return next((limit for limit in limits if isinstance(limit, int)), None)


def options_document(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options as run.json and the cache's keys have them: with a digest in place of each
    header's value, since a header may be a secret whatever its name."""
    return with_headers(options, digest)


def with_headers(options: Mapping[str, Any], mask: Callable[[str], str]) -> dict[str, Any]:
    """Return options with `mask` of each header's value in its place, however deep headers
    stand.
    """
    return {name: _masked(name, value, mask) for name, value in options.items()}


def without_headers(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options without headers, whose values may be secret, however deep they stand."""
    return {
        name: without_headers(value) if isinstance(value, Mapping) else value
        for name, value in options.items()
        if not _are_headers(name, value)
    }


def header_names(options: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names of headers in options, in their order, however deep they stand."""
    return tuple(
        str(header)
        for name, value in options.items()
        if isinstance(value, Mapping)
        for header in (value if _are_headers(name, value) else header_names(value))
    )


def _are_headers(name: str, value: Any) -> bool:
    return isinstance(value, Mapping) and "header" in str(name).lower()


def _masked(name: str, value: Any, mask: Callable[[str], str]) -> Any:
    match value:
        case Mapping() if _are_headers(name, value):
            return {str(header).lower(): mask(str(text)) for header, text in value.items()}
        case Mapping():
            return {inner: _masked(str(inner), item, mask) for inner, item in value.items()}
        case list() | tuple():
            return [_masked(name, item, mask) for item in value]
    return value


def digest(text: str) -> str:
    """Return the first 16 hexadecimal digits of a text's SHA-256."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def refuse_options(config: HasOptions, takes: Sequence[str] = ()) -> None:
    """Refuse options that a provider does not take. Raises ConfigurationError: there are others."""
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
    """Return the fault of a setting or of one within it, in words; None where there is none."""
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
            inner = ((str(key), item) for key, item in value.items())
        case list() | tuple():
            inner = ((name, item) for item in value)
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
    return next((fault for key, item in inner if (fault := _fault(key, item, depth + 1))), None)


def header_faults(value: Any) -> Iterator[str]:
    """Yield why headers cannot be sent, header by header; nothing where they can."""
    if not isinstance(value, Mapping):
        yield "headers (a mapping from names to texts, such as {X-Title: essays})"
        return
    for name, text in value.items():
        if not _HEADER_NAME.fullmatch(str(name)) or str(name).lower() in _HEADERS_OF_A_REQUEST:
            yield f"{name!s:.40} (no header that can be set)"
        elif not isinstance(text, str) or not text.isascii() or not text.isprintable():
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
            return {str(key): _as_json(item) for key, item in value.items()}
        case list() | tuple():
            return [_as_json(item) for item in value]
        # YAML reads 2024-10-21, a version of Azure's API, as a date.
        case date():
            return value.isoformat()
    return value


MODEL_SPEC = r"^[a-z0-9_-]+:.+$"
"""The pattern of a model's name, `provider:name`; the provider is named as its file or entry point
is."""
_AT_AN_ADDRESS = re.compile(r"([^:]+:.+?)@(https?://[^@\s]+)", re.DOTALL)
_LIKE_AN_ADDRESS = re.compile(
    r"@(?:$|\w+://|localhost\b|\d+(?:\.\d+){3}|\[|[\w.-]+:\d)", re.IGNORECASE
)


def known_elicitation(value: str | None) -> str | None:
    """Return the name of an elicitation; raises ValueError if there is none of that name, as
    validators do."""
    if value is not None and value not in elicitation_names():
        raise ValueError(f"{value!r}; one of {', '.join(elicitation_names())}")
    return value


class ModelConfig(BaseModel):
    """A model and its limits.

    `model` is `provider:name`, or `provider:name@address` in place of a `base_url`; `name` is what
    it is called in tables and files, which tells two entries of one model apart. `key_env` names
    the environment variable that holds the key. `timeout` is in seconds, for one attempt;
    `patience`, in seconds, how long the model is tried while nothing but faults come;
    `context_window` in tokens; `price` in US dollars for a million tokens, in place of the one that
    is shipped. `reasoning_tokens` is the room for thinking that the limit of an answer has beside
    the answer itself; 0, the model does not reason. `options` are the provider's own settings, by
    its names for them.
    """

    # A value that is refused is not shown: it may be a key.
    model_config = ConfigDict(
        extra="forbid", frozen=True, protected_namespaces=(), hide_input_in_errors=True
    )

    model: str = Field(pattern=MODEL_SPEC)
    name: str | None = Field(default=None, min_length=1, max_length=100)
    base_url: str | None = None
    key_env: str | None = None
    requests_per_minute: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    tokens_per_minute: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    concurrency: int | None = Field(default=None, ge=1)
    temperature: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    timeout: float = Field(default=120.0, gt=0, allow_inf_nan=False)
    patience: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    context_window: int | None = Field(default=None, ge=512)
    price: Price | None = None
    reasoning_tokens: int | None = Field(default=None, ge=0)
    options: dict[str, Any] = Field(default_factory=dict)
    elicitation: str | None = None

    _elicitation = field_validator("elicitation")(known_elicitation)

    @model_validator(mode="before")
    @classmethod
    def _with_its_address(cls, value: Any) -> Any:
        match value:
            case {"model": str(model)} if at := _AT_AN_ADDRESS.fullmatch(model):
                if value.get("base_url") not in (None, at[2]):
                    raise ValueError("a base_url other than the address in model; give one of them")
                return {**value, "model": at[1], "base_url": at[2]}
            case {"model": str(model)} if _LIKE_AN_ADDRESS.search(model):
                # Taken for a part of the name, it would be sent to the provider's own address.
                name, _, address = model.partition("@")
                nameless = name.endswith(":") and address.startswith("http")
                lacks = "a name before it" if nameless else "http:// or https:// before it"
                raise ValueError(
                    f"an address without {lacks}; provider:NAME@http://HOST:PORT/v1, or https"
                )
        return value

    @field_validator("name")
    @classmethod
    def _is_a_plain_line(cls, value: str | None) -> str | None:
        if value is not None and (not value.isprintable() or value != value.strip()):
            raise ValueError("a name with line breaks or with spaces at its ends; one plain line")
        return value

    @field_validator("options")
    @classmethod
    def _is_an_option(cls, value: dict[str, Any]) -> dict[str, Any]:
        return checked_options(value, frozenset(cls.model_fields))

    @field_validator("key_env")
    @classmethod
    def _names_a_variable(cls, value: str | None) -> str | None:
        if value is not None and not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,99}", value):
            raise ValueError(
                "a value that is not shown, for it may be a key; the name of the environment "
                "variable that holds the key, such as OPENAI_API_KEY"
            )
        return value

    @property
    def provider(self) -> str:
        """The provider: the part of `model` before its first colon."""
        return self.model.partition(":")[0]

    @property
    def model_name(self) -> str:
        """The name at the provider: the part of `model` after its first colon."""
        return self.model.partition(":")[2]

    @property
    def id(self) -> str:
        """The model's name in results: its `name`, or else `model`."""
        return self.name or self.model

    @property
    def answer_limit(self) -> int | None:
        """The limit of an answer in tokens, thinking included, that its options set."""
        return answer_limit_in(self.options)

    def changed(self, **fields: Any) -> ModelConfig:
        """Return the same model with other values in these fields, checked as those of a file are.

        Raises:
            pydantic.ValidationError: one cannot be.
        """
        return ModelConfig.model_validate({**self.model_dump(), **fields})


REASONING_TOKENS = 8_192
"""Room for thinking beside an answer, unless a user says otherwise."""

_ASKING = (
    "thinking",
    "thinking_budget",
    "thinking_level",
    "enable_thinking",
    "reasoning",
    "reasoning_effort",
)
"""Providers' names for the setting of how much a model thinks."""
_WITHIN = ("extra_body", "model_kwargs", "chat_template_kwargs", "generation_config")
_OFF = frozenset({"none", "off", "disabled"})
_O_SERIES = re.compile(r"openai:o\d")
"""o1, o3-mini and their like, all of which reason; only some of them are in the table."""
_DATE = re.compile(r"-\d{4}-\d\d-\d\d$")
"""The end of a snapshot's name."""


def reasoning_room(config: ModelConfig) -> int | None:
    """Return how many tokens for thinking the limit of an answer has: as the user sets it, else by
    the options that ask for thinking, else by the catalogue. 0 if the model does not reason; None
    if that is not known."""
    if config.reasoning_tokens is not None:
        return config.reasoning_tokens
    asked = _asked(config.options)
    if asked is not None:
        return asked and max(asked, REASONING_TOKENS)
    known = facts_of(config.model) or facts_of(_DATE.sub("", config.model))
    reasons = _O_SERIES.match(config.model) if known is None else known.reasoning == "default"
    return REASONING_TOKENS if reasons else None


def _asked(options: Mapping[str, Any]) -> int | None:
    """Return how many tokens of thinking options ask for: 1 where they set no number, 0 where they
    turn thinking off; None where they do not mention it."""
    for name in _ASKING:
        if name in options:
            return _budget(options[name])
    for name in _WITHIN:
        inner = options.get(name)
        if isinstance(inner, Mapping) and (budget := _asked(inner)) is not None:
            return budget
    return None


def _budget(value: Any) -> int | None:
    match value:
        case None:
            return None
        case bool():
            return int(value)
        case int():
            # Gemini's -1 leaves it to the model.
            return value if value >= 0 else 1
        case str():
            return int(value.lower() not in _OFF)
        case {"type": "disabled"} | {"enabled": False} | {"effort": "none"}:
            return 0
        case {"budget_tokens": int(budget)} | {"max_tokens": int(budget)}:
            return max(budget, 1)
    return 1
