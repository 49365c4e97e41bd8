"""What `persona-panel models` says of a provider."""

from __future__ import annotations

from typing import NamedTuple


class Availability(NamedTuple):
    """A line of `persona-panel models`: whether `model` (`acme:NAME`, say) can be used here and
    now, and in a few words what is there, or what is missing and how to get it."""

    model: str
    usable: bool
    detail: str
