"""What is said below a comparison of groups: what it takes for granted of raters and of items."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from persona_panel.files.wording import some
from persona_panel.results.conclusions.wording import counted

RATERS_NAMED = 8
"""How many raters or personas a note or a fault has by name."""


def of_the_same_people(
    sides: Sequence[tuple[str, str]], people: Mapping[str, list[int]]
) -> list[str]:
    """Says of contrasts whose groups have raters in common that these are on both sides."""
    notes = []
    for a, b in dict.fromkeys(sides):
        if both := len(set(people[a]) & set(people[b])):
            notes.append(
                f"{counted(both, 'rater')} {'is' if both == 1 else 'are'} in both {a} and {b} "
                f"({len(people[a]):,} and {len(people[b]):,} raters): they make people's "
                "difference smaller, and its interval takes the groups for different people."
            )
    return notes


def themselves(raters: Collection[str], names: tuple[str, str]) -> list[str]:
    """Says that raters of the panel are called as people are, who are then compared with
    themselves."""
    if not raters:
        return []
    n = len(raters)
    return [
        f"{counted(n, 'rater')} of {names[0]} {'has' if n == 1 else 'have'} the name of a rater "
        f"of {names[1]}: {some(sorted(raters), RATERS_NAMED)}. If they are the same people, people "
        "are compared with themselves, and the ratio says nothing of personas."
    ]


def of_prompts(prompts: Sequence[str] | None) -> list[str]:
    """Says what intervals take items as, where they are not over prompts."""
    if prompts is None:
        return [
            "No prompts are named, so the intervals take items as independent. Where several items "
            "are of one prompt or topic these are too narrow: name its column, as in "
            "--map-human prompt=topic."
        ]
    if len(set(prompts)) == 1 and len(prompts) > 1:
        return [
            "All items are of one prompt: the intervals are over its items, and say nothing of "
            "other prompts."
        ]
    return []
