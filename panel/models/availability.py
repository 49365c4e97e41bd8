"""The availability of models, as `persona-panel models` shows it: providers, keys, and the dated
table of prices.

The table of models is checked by its date, and against the table that LiteLLM's package ships,
where that is installed.

LiteLLM itself is not imported; its table is a file of some megabytes.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import date, timedelta
from importlib.metadata import PackageNotFoundError, distribution
from typing import Any, NamedTuple

import orjson

from persona_panel.files.errors import ConfigurationError
from persona_panel.files.secrets import SECRETS, credentials_in
from persona_panel.models.config import ModelConfig, ModelFacts, known_models, prices_as_of


class Availability(NamedTuple):
    """A line of `persona-panel models`: whether `model` (`acme:NAME`, say) can be used here and
    now, and in a few words what is there, or what is missing and how to get it."""

    model: str
    usable: bool
    detail: str


_NAME_EXAMPLE = "OPENAI_API_KEY"
_PLAIN_NAME = re.compile(r"(?!(?:\D*\d){4})[A-Z][A-Z0-9]{0,19}(?:_[A-Z0-9]{1,19}){1,5}")
"""The pattern of a name that is no key and can be shown: words in capitals with underscores and few
digits."""


_missing: ContextVar[dict[str, None] | None] = ContextVar("missing", default=None)


@contextmanager
def keys_optional() -> Iterator[None]:
    """Let models be made without their keys within the block, for an estimate, which calls none of
    them."""
    before = _missing.set({})
    try:
        yield
    finally:
        _missing.reset(before)


def missing_keys() -> list[str]:
    """Return a sentence for each key that was missing so far, where keys are optional."""
    return list(_missing.get() or ())


def find_key(config: ModelConfig, variable: str | None, *, required: bool = True) -> str | None:
    """Return the key in the environment variable that `config` names, or else in `variable`.

    From then on neither the key nor a password in the model's address appears in any message. None
    where no variable is named, or it is not set and no key is `required`, or keys are optional
    (`keys_optional`). Raises ConfigurationError: a key is required, or named by `config`, and not
    there."""
    variable = config.key_env or variable
    key = os.environ.get(variable) if variable else None
    SECRETS.learn(key, *credentials_in(config.base_url or ""))
    if variable is None or key or not (required or config.key_env):
        return key or None
    message, missing = _no_key(config, variable), _missing.get()
    if missing is None:
        raise ConfigurationError(message)
    missing[message] = None
    return None


def _no_key(config: ModelConfig, variable: str) -> str:
    if not _PLAIN_NAME.fullmatch(variable):
        SECRETS.learn(variable)
        return (
            f"{config.model} needs a key, and key_env names no environment variable that is set "
            "(it is not shown, for it may be a key itself); put the key into a variable, and "
            f"that variable's name, such as {_NAME_EXAMPLE}, into key_env"
        )
    return (
        f"{config.model} needs a key; put it into the environment variable {variable}, or name "
        "another variable with key_env in a panel file"
    )


OLD = timedelta(days=180)
"""The age from which the table is called old: providers change prices a few times a year."""
_FILE = "litellm/model_prices_and_context_window_backup.json"
_PREFIXES = {
    "openai": "",
    "anthropic": "",
    "google_genai": "gemini/",
    "mistralai": "mistral/",
    "groq": "groq/",
}
"""The beginning of a provider's models' names in LiteLLM's table."""
_PRICES = {
    "input": "input_cost_per_token",
    "cached_input": "cache_read_input_token_cost",
    "cache_write": "cache_creation_input_token_cost",
    "output": "output_cost_per_token",
}
_NEXT_TO_EQUAL = 1e-6


class PublishedTable(NamedTuple):
    """LiteLLM's table: the version of the package, and what it says by LiteLLM's name."""

    version: str
    models: Mapping[str, Mapping[str, Any]]


class PriceDifference(NamedTuple):
    """A difference between the two tables; None where a table has no value."""

    model: str
    what: str
    listed: float | str | None
    published: float | str | None


def litellm_table() -> PublishedTable | None:
    """Read LiteLLM's table; None where the package is not installed or ships none that can be
    read.
    """
    try:
        package = distribution("litellm")
        models = orjson.loads(package.locate_file(_FILE).read_bytes())  # type: ignore[attr-defined]
    except (PackageNotFoundError, OSError, ValueError):
        return None
    return PublishedTable(package.version, models) if isinstance(models, dict) else None


def differences(published: PublishedTable) -> list[PriceDifference]:
    """Return the differences between LiteLLM's table and ours, in our order; a model that LiteLLM's
    lacks is one difference."""
    listed: list[PriceDifference] = []
    for model, facts in known_models().items():
        provider, _, name = model.partition(":")
        other = published.models.get(f"{_PREFIXES[provider]}{name}")
        if not isinstance(other, Mapping):
            listed.append(PriceDifference(model, "model", "listed", None))
        else:
            listed += _between(model, facts, other)
    return listed


def age_of_table(today: date) -> timedelta:
    """Return the age of the table."""
    return today - prices_as_of()


def retired(today: date) -> list[str]:
    """Return the models of the table that their providers have taken off."""
    return [
        model
        for model, facts in known_models().items()
        if facts.retires is not None and facts.retires <= today
    ]


def _between(model: str, facts: ModelFacts, other: Mapping[str, Any]) -> Iterator[PriceDifference]:
    if facts.context_window != (window := other.get("max_input_tokens")):
        yield PriceDifference(model, "context_window", facts.context_window, window)
    for ours, theirs in _PRICES.items():
        listed, per_token = getattr(facts, ours), other.get(theirs)
        # A price of nothing is LiteLLM's word for none.
        published = per_token * 1e6 if isinstance(per_token, int | float) and per_token else None
        if listed is None or published is None:
            same = listed is published
        else:
            same = abs(listed - published) <= _NEXT_TO_EQUAL
        if not same:
            shown = None if published is None else round(published, 6)
            yield PriceDifference(model, ours, listed, shown)
    reasons = bool(other.get("supports_reasoning"))
    if reasons != (facts.reasoning != "never"):
        yield PriceDifference(model, "reasoning", facts.reasoning, "yes" if reasons else "never")
