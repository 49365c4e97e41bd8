"""Sentences on how a file of ratings was read, and how many of its items a panel has."""

from __future__ import annotations

from persona_panel.statistics.core.display import counted
from persona_panel.statistics.core.table import ItemMatch, RatingsOrigin

_NAMED = 10


def origin_sentences(origin: RatingsOrigin) -> list[str]:
    """The reading in one line, then what matches nothing, then what may be wrong."""
    sentences = [origin.reading] if origin.reading else []
    if origin.match is not None and origin.match.unmatched:
        sentences.append(match_sentence(origin.match))
    return [*sentences, *(f"Warning: {remark}" for remark in origin.remarks)]


def match_sentence(match: ItemMatch) -> str:
    """Return how many items people rated that the panel does not have, and which.

    >>> match_sentence(ItemMatch(40, ("x1", "x2"), "runs/a"))
    "2 of the 40 items that people rated are not in runs/a and count for nothing: 'x1', 'x2'; 38 \
(95.0 %) match."
    """
    n = len(match.unmatched)
    named = ", ".join(map(repr, match.unmatched[:_NAMED])) + (", …" if n > _NAMED else "")
    verb = "is" if n == 1 else "are"
    return (
        f"{n:,} of the {counted(match.n_rated, 'item')} that people rated {verb} not in "
        f"{match.panel} and count{'s' if n == 1 else ''} for nothing: {named}; "
        f"{match.n_matched:,} ({100 * match.share:.1f} %) match."
    )
