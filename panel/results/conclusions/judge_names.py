"""What judges of a run are called in sentences: by what they differ in, not by their ids."""

from __future__ import annotations

from collections.abc import Sequence

from persona_panel.statistics.core.table import Ratings

BETWEEN = "|"
PARTS = ("persona", "model", "elicitation", "replicate")


def rater_word(ratings: Ratings) -> str:
    """What one of those who rated is called: a judge in a run, a rater in a file of ratings, whose
    raters may be people."""
    return "rater" if ratings.personas is None else "judge"


def parts_of(judges: Sequence[str]) -> list[tuple[str, ...]]:
    """The parts of the judges' ids, part by part; none where ids are not those of a run."""
    split = [name.split(BETWEEN) for name in judges]
    if any(len(one) != len(PARTS) for one in split):
        return []
    return list(zip(*split, strict=True))


def differing_parts(judges: Sequence[str], between: str) -> dict[str, str]:
    """By the ids of a run's judges the parts in which they differ; nothing where ids have other
    parts.

    >>> differing_parts(("historian|m|dimensions|1", "lawyer|n|dimensions|1"), " · ")
    {'historian|m|dimensions|1': 'historian · m', 'lawyer|n|dimensions|1': 'lawyer · n'}
    """
    kept = [part for part in parts_of(judges) if len(set(part)) > 1]
    names = [between.join(one) for one in zip(*kept, strict=True)]
    return dict(zip(judges, names, strict=False))


def called_judges(ratings: Ratings) -> dict[str, str]:
    """What sentences call the judges of a run, by their ids; nothing of other raters."""
    return {} if ratings.personas is None else differing_parts(ratings.raters, " · ")
