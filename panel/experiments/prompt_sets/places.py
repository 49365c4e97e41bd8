"""Texts with places in braces, `{concept}`, and how they are filled. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping

_PLACE = re.compile(r"\{\{|\}\}|\{([^{}]+)\}|[{}]")


def places_in(text: str) -> tuple[str, ...]:
    """The names of the places in a text, each once, in order.

    >>> places_in("{a} and {b} and {a}, {{as it is}}")
    ('a', 'b')
    """
    return tuple(dict.fromkeys(found[1] for found in _PLACE.finditer(text) if found[1]))


def stray_brace(text: str) -> str | None:
    """A brace that belongs to no place; None where there is none."""
    return next((one[0] for one in _PLACE.finditer(text) if one[0] in "{}"), None)


def filled(text: str, values: Mapping[str, str]) -> str:
    """A text with each place filled; doubled braces are braces.

    >>> filled("{a} or {{b}}", {"a": "this"})
    'this or {b}'
    """
    return _PLACE.sub(lambda found: values[found[1]] if found[1] else found[0][0], text)


def list_of(slot: str) -> str:
    """The list of values that a slot takes its value from: `concept` of `concept.other`."""
    return slot.partition(".")[0]
