"""Strata of ratings: items by a label of theirs, or raters by one of theirs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from persona_panel.statistics.core.table import NO_PERSONA_GROUP, Ratings

PROMPT = "prompt"


@dataclass(frozen=True, slots=True)
class Strata:
    """What ratings are broken down by.

    Attributes:
        by: what the labels are: `prompt`, `source`, `persona`, `topic`.
        of: whose labels they are.
        labels: one an item, or one a rater, in the order of the ratings; None: in no stratum.
    """

    by: str
    of: Literal["items", "raters"]
    labels: Sequence[str | None]

    @classmethod
    def named(cls, ratings: Ratings, by: str) -> Strata:
        """Return those that ratings name themselves: `prompt` and `source` of items, `persona` and
        `model` (the raters' group) of raters, controls in none.

        Raises:
            ValueError: the ratings do not name them.
        """
        if by in (PROMPT, "source"):
            labels = ratings.prompts if by == PROMPT else ratings.sources
            if labels is not None:
                return cls(by, "items", labels)
        elif by in ("persona", "model"):
            labels = ratings.personas if by == "persona" else ratings.groups
            if labels is not None:
                return cls(by, "raters", labels)
        raise ValueError(f"these ratings name no {by}")

    def parts(self, ratings: Ratings) -> Iterator[tuple[str, Ratings]]:
        """Each stratum, in order of appearance, with its ratings.

        Within a prompt its items are all there is to draw from: they have no prompt there.

        Raises:
            ValueError: not one label an item, or a rater.

        >>> import numpy as np
        >>> ratings = Ratings(np.ones((2, 1, 1)), ("a", "b"), ("r",), ("d",), ("all",))
        >>> [(name, part.items) for name, part in Strata("topic", "items", "xy").parts(ratings)]
        [('x', ('a',)), ('y', ('b',))]
        """
        owners = ratings.items if self.of == "items" else ratings.raters
        if len(self.labels) != len(owners):
            raise ValueError(f"{len(self.labels)} labels for {len(owners)} {self.of}")
        if self.by == PROMPT:
            ratings = replace(ratings, prompts=None)
        for name in dict.fromkeys(self.labels):
            if name is None:
                continue
            kept = [place for place, label in enumerate(self.labels) if label == name]
            if self.of == "items":
                yield name, ratings.of_items(kept)
            elif own := {owners[place] for place in kept} - ratings.controls:
                yield name, ratings.by(own)


def all_raters_of(ratings: Ratings) -> tuple[str, list[int]]:
    """The group of all raters that are no controls, and their columns."""
    groups = {
        name: columns
        for name, columns in ratings.raters_by_group().items()
        if not name.endswith(NO_PERSONA_GROUP)
    }
    name = list(groups)[-1]
    return name, groups[name]
