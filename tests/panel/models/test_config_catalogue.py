"""Prices and context windows: `persona_panel.models.config`."""

from __future__ import annotations

from datetime import date

import pytest
from pydantic import ValidationError

from persona_panel.models.config import (
    Price,
    context_window_of,
    cost,
    price_of,
    prices_as_of,
)
from persona_panel.rubrics import Usage

USAGE = Usage(input=1_200_000, cached=200_000, output=300_000)


def test_cost_by_hand() -> None:
    """Fresh input, cached input and output each count at their own price."""
    price = Price(input=2.5, cached_input=1.25, output=10)
    # 1,000,000 fresh at 2.50 + 200,000 cached at 1.25 + 300,000 out at 10 = 2.5 + 0.25 + 3.
    assert cost(price, USAGE) == pytest.approx(5.75)


def test_cost_of_a_model_in_the_table() -> None:
    """The table's own price of gpt-4o-mini is applied to a usage."""
    # 1,000,000 at 0.15 + 200,000 at 0.075 + 300,000 at 0.60 = 0.15 + 0.015 + 0.18.
    assert cost(price_of("openai:gpt-4o-mini"), USAGE) == pytest.approx(0.345)


def test_cached_input_costs_what_other_input_does_unless_it_is_said() -> None:
    """Without a price for cached input nothing is taken off for it."""
    # 1,200,000 at 2 + 300,000 at 10 = 2.4 + 3.
    assert cost(Price(input=2, output=10), USAGE) == pytest.approx(5.4)


def test_what_is_written_to_a_prompt_cache_has_its_own_price() -> None:
    """Input that a provider charges more for, because it keeps it, counts at that price, and like
    other input where none is given."""
    usage = Usage(input=1_000_000, cached=300_000, output=100_000, written=200_000)
    # 500,000 fresh at 3 + 300,000 read at 0.30 + 200,000 written at 3.75 + 100,000 out at 15
    # = 1.5 + 0.09 + 0.75 + 1.5.
    assert cost(price_of("anthropic:claude-sonnet-4-5"), usage) == pytest.approx(3.84)
    # 700,000 fresh and written at 3 + 300,000 read at 0.30 + 1.5 = 2.1 + 0.09 + 1.5.
    assert cost(Price(input=3, cached_input=0.3, output=15), usage) == pytest.approx(3.69)


def test_a_price_that_is_not_known_is_none() -> None:
    """An unknown model costs an unknown amount, which is not nothing."""
    assert price_of("openai:gpt-99") is None
    assert cost(price_of("openai:gpt-99"), USAGE) is None
    assert context_window_of("openai:gpt-99") is None


def test_a_known_model_s_context_window() -> None:
    """The table says how much a model takes at once."""
    assert context_window_of("openai:gpt-4o-mini") == 128_000


def test_the_table_is_dated() -> None:
    """Prices come with the date on which they were read, and not one to come."""
    assert date(2025, 1, 1) < prices_as_of() <= date.today()


def test_a_price_below_nothing_is_refused() -> None:
    """A negative price, or one with a misspelt field, is no price."""
    with pytest.raises(ValidationError):
        Price(input=-1, output=1)
    with pytest.raises(ValidationError):
        Price(input=1, outptu=1)  # type: ignore[call-arg]
