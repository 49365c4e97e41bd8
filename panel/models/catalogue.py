"""What is known of models by name: their context windows and prices, from a dated table."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from functools import cache
from importlib.resources import files
from typing import Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field

from persona_panel.rubrics import Usage


class Price(BaseModel):
    """US dollars for a million tokens. Input that is read from a provider's prompt cache, or
    written to it, costs as much as other input unless it is said. `batch` is the share of the price
    that the provider's batches cost, 0.5 for half of it; None where that is not known.
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
        """What this usage costs, in US dollars."""
        cached = self.input if self.cached_input is None else self.cached_input
        write = self.input if self.cache_write is None else self.cache_write
        fresh = usage.input - usage.cached - usage.written
        read = fresh * self.input + usage.cached * cached + usage.written * write
        return (read + usage.output * self.output) / 1e6


def cost(price: Price | None, usage: Usage) -> float | None:
    """What a usage costs; None where the price is not known, which is not for nothing."""
    return None if price is None else price.cost(usage)


def batched_name(model: str) -> str:
    """Under which name it is counted what a model takes in batches, which have their own price."""
    return f"{model} (batch)"


def with_batches(prices: Mapping[str, Price | None]) -> dict[str, Price | None]:
    """Prices by model, and those in batches where they are known."""
    known = {name: price.batched for name, price in prices.items() if price is not None}
    batched = {batched_name(name): price for name, price in known.items() if price is not None}
    return dict(prices) | batched


class ModelFacts(Price):
    """What the table says of a model, its price included.

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
    text = files("panel").joinpath("library/models.yaml").read_text("utf-8")
    # The C loader, where PyYAML has it, takes an eighth of the time; it would not bear what the
    # files of strangers may hold, but this one is ours.
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return _Table.model_validate(yaml.load(text, loader))  # noqa: S506


def known_models() -> Mapping[str, ModelFacts]:
    """What the table says, by model."""
    return _table().models


def facts_of(spec: str) -> ModelFacts | None:
    """What the table says of a model; None where it is not in it."""
    return _table().models.get(spec)


def prices_as_of() -> date:
    """The date of the table."""
    return _table().as_of


def context_window_of(spec: str) -> int | None:
    """How many tokens a model takes at once; None where that is not known."""
    known = facts_of(spec)
    return None if known is None else known.context_window


def price_of(spec: str) -> Price | None:
    """A model's price; None where it is not known."""
    return facts_of(spec)
