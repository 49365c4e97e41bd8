"""What is known of models by name: their context windows and prices, from a dated table."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import NamedTuple

import yaml

from rubrics import Usage


class Known(NamedTuple):
    """A model's context window in tokens, and US dollars for a million tokens."""

    context_window: int
    input: float
    cached_input: float
    output: float


@cache
def _table() -> dict[str, Known]:
    document = yaml.safe_load(files("panel").joinpath("library/models.yaml").read_text("utf-8"))
    return {spec: Known(**entry) for spec, entry in document["models"].items()}


def context_window_of(spec: str) -> int | None:
    """How many tokens a model takes at once; None where that is not known."""
    known = _table().get(spec)
    return None if known is None else known.context_window


def cost_of(spec: str, usage: Usage) -> float | None:
    """What this usage costs in US dollars; None where the price is not known.

    A model that runs in this process costs nothing.
    """
    if spec.startswith("local:"):
        return 0.0
    known = _table().get(spec)
    if known is None:
        return None
    fresh = usage.input - usage.cached
    dollars = fresh * known.input + usage.cached * known.cached_input + usage.output * known.output
    return dollars / 1e6
