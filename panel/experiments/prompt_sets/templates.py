"""Templates filled with the values of slots, each value about as often. Pure."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import product

from persona_panel.experiments.prompt_sets.candidates import SeedItem, candidate_id
from persona_panel.experiments.prompt_sets.places import filled, list_of, places_in
from persona_panel.experiments.prompt_sets.spec import PromptTemplate
from persona_panel.files.errors import ConfigurationError

_TRIES = 200
MOST_FILLINGS = 100_000


def fillings(
    template: PromptTemplate, slots: Mapping[str, Sequence[str]], seed: int
) -> list[SeedItem]:
    """The filled texts of a template: all, or as many as it draws.

    Slots of one list have different values in a filling. The same seed draws the same.
    """
    places = places_in(template.text)
    generator = random.Random(f"{seed} {template.id}")
    n = number_of_fillings(places, slots)
    if min(n, template.draw or n) > MOST_FILLINGS:
        raise ConfigurationError(
            f"template {template.id!r} has {n:,} fillings, more than {MOST_FILLINGS:,}; say with "
            "`draw` how many of them to take"
        )
    if template.draw is None or template.draw >= n:
        chosen = list(_all(places, slots))
    else:
        chosen = _drawn(places, slots, template.draw, generator)
    return [_item(template, values) for values in chosen]


def number_of_fillings(places: Sequence[str], slots: Mapping[str, Sequence[str]]) -> int:
    """How many different fillings there are: of several slots of a list, without repetition."""
    return math.prod(
        math.perm(len(slots[name]), n) for name, n in Counter(map(list_of, places)).items()
    )


def _all(places: Sequence[str], slots: Mapping[str, Sequence[str]]) -> Iterator[dict[str, str]]:
    for values in product(*(slots[list_of(place)] for place in places)):
        found = dict(zip(places, values, strict=True))
        if _differ(found):
            yield found


def _drawn(
    places: Sequence[str],
    slots: Mapping[str, Sequence[str]],
    n: int,
    generator: random.Random,
) -> list[dict[str, str]]:
    used: dict[str, Counter[str]] = {place: Counter() for place in places}
    seen: set[tuple[str, ...]] = set()
    chosen: list[dict[str, str]] = []
    while len(chosen) < n:
        for attempt in range(_TRIES):
            # The least used values first; where these have been together already, any.
            found = {
                place: _next_value(
                    slots[list_of(place)],
                    used[place] if attempt < _TRIES // 2 else Counter(),
                    generator,
                )
                for place in places
            }
            if _differ(found) and tuple(found.values()) not in seen:
                break
        else:
            rest = [one for one in _all(places, slots) if tuple(one.values()) not in seen]
            found = generator.choice(rest)
        seen.add(tuple(found.values()))
        for place, value in found.items():
            used[place][value] += 1
        chosen.append(found)
    return chosen


def _next_value(values: Sequence[str], used: Counter[str], generator: random.Random) -> str:
    return min(generator.sample([*values], len(values)), key=lambda value: used[value])


def _differ(values: Mapping[str, str]) -> bool:
    pairs = [(list_of(place), value) for place, value in values.items()]
    return len(set(pairs)) == len(pairs)


def _item(template: PromptTemplate, values: Mapping[str, str]) -> SeedItem:
    text = filled(template.text, values)
    stratum = filled(template.stratum, values) if template.stratum else template.id
    return SeedItem(candidate_id(template.id, text), text, template.id, stratum, dict(values))
