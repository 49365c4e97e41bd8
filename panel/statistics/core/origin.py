"""Where ratings come from: how a file of them was read, and how many of its items a panel has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class ItemMatch:
    """How many of the items that people rated are among a panel's.

    Attributes:
        n_rated: how many items people rated.
        unmatched: those of them that the panel does not have.
        panel: what the panel's ratings are called.
    """

    n_rated: int
    unmatched: tuple[str, ...]
    panel: str

    @property
    def n_matched(self) -> int:
        """Return how many the panel has."""
        return self.n_rated - len(self.unmatched)

    @property
    def share(self) -> float:
        """The share that the panel has, from 0 to 1."""
        return self.n_matched / self.n_rated if self.n_rated else 0.0


@dataclass(frozen=True, slots=True)
class RatingsOrigin:
    """How a file of ratings was read.

    Attributes:
        file: its name.
        reading: what was read, and in which form, in one line.
        remarks: sentences on what may be wrong in it.
        lines: on which line each rating is, by item, rater and dimension (`all` without one).
        scale_option: the option of the command that says what the scale of these ratings is.
        allow_unmatched: whether fewer than 80 % of its items may be a panel's.
        match: how many of its items a panel has; None where it was compared with none.
    """

    file: str
    reading: str
    remarks: tuple[str, ...] = ()
    lines: Mapping[tuple[str, str, str], int] = field(default_factory=dict)
    scale_option: str = "--human-scale"
    allow_unmatched: bool = False
    match: ItemMatch | None = None
