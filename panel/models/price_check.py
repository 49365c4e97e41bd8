"""How the table of models compares with what is known elsewhere: by its date, and with the table
that LiteLLM's package ships, where that is installed.

LiteLLM itself is not imported; its table is a file of some megabytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date, timedelta
from importlib.metadata import PackageNotFoundError, distribution
from typing import Any, NamedTuple

import orjson

from persona_panel.models.catalogue import ModelFacts, known_models, prices_as_of

OLD = timedelta(days=180)
"""From this age on the table is said to be old: providers change prices some times a year."""
_FILE = "litellm/model_prices_and_context_window_backup.json"
_PREFIXES = {
    "openai": "",
    "anthropic": "",
    "google_genai": "gemini/",
    "mistralai": "mistral/",
    "groq": "groq/",
}
"""How LiteLLM calls a provider's models."""
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
    """What the two tables say of one thing; None where one says nothing of it."""

    model: str
    what: str
    listed: float | str | None
    published: float | str | None


def litellm_table() -> PublishedTable | None:
    """LiteLLM's table; None where the package is not installed or ships none that can be read."""
    try:
        package = distribution("litellm")
        models = orjson.loads(package.locate_file(_FILE).read_bytes())  # type: ignore[attr-defined]
    except (PackageNotFoundError, OSError, ValueError):
        return None
    return PublishedTable(package.version, models) if isinstance(models, dict) else None


def differences(published: PublishedTable) -> list[PriceDifference]:
    """Where LiteLLM's table says something else than ours, in our order; a model that it does not
    have is one difference."""
    found: list[PriceDifference] = []
    for model, facts in known_models().items():
        provider, _, name = model.partition(":")
        other = published.models.get(f"{_PREFIXES[provider]}{name}")
        if not isinstance(other, Mapping):
            found.append(PriceDifference(model, "model", "listed", None))
        else:
            found += _between(model, facts, other)
    return found


def age_of_table(today: date) -> timedelta:
    """How old the table is."""
    return today - prices_as_of()


def retired(today: date) -> list[str]:
    """The models of the table that their providers have taken off."""
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
