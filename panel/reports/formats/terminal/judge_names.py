"""Judges of a run by what they differ in, on a terminal: their ids are too long for a column beside
figures. Where there is no width, in a pipe or a file, the ids stay, which can be searched for."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from rich.console import Console

from persona_panel.results.conclusions.judge_names import BETWEEN, PARTS, differing_parts, parts_of
from persona_panel.results.console import is_narrow
from persona_panel.statistics.core.table import Ratings, Row


def names_on(console: Console, ratings: Ratings, taken: Collection[str] = ()) -> dict[str, str]:
    """The `short_names` of judges where the console is narrow, else none."""
    return short_names(ratings, taken) if is_narrow(console) else {}


def short_names(ratings: Ratings, taken: Collection[str] = ()) -> dict[str, str]:
    """Each judge of a run without the parts of its id that all judges have alike; nothing of
    ratings that are of no run or whose ids have other parts, and where one of these names is
    `taken`.

    >>> import numpy as np
    >>> judges = ("historian|m|dimensions|1", "lawyer|m|dimensions|1")
    >>> ratings = Ratings(np.ones((1, 2, 1)), ("a",), judges, ("d",), ("m", "m"),
    ...                   personas=("historian", "lawyer"))
    >>> list(short_names(ratings).values())
    ['historian', 'lawyer']
    """
    names = {} if ratings.personas is None else short_ids(ratings.raters)
    return {} if set(names.values()) & set(taken) else names


def short_ids(judges: Sequence[str]) -> dict[str, str]:
    """The ids of a run's judges without the parts that all of them have alike; none where ids have
    other parts.

    >>> short_ids(("historian|m|dimensions|1", "historian|n|dimensions|1"))
    {'historian|m|dimensions|1': 'm', 'historian|n|dimensions|1': 'n'}
    """
    return differing_parts(judges, BETWEEN)


def in_short(rows: Sequence[Row], names: Mapping[str, str]) -> list[Row]:
    """The rows, with judges by these names."""
    return [
        replace(
            row,
            group=names.get(row.group, row.group),
            by=names.get(row.by or "", row.by),
            by_value=names.get(row.by_value or "", row.by_value),
        )
        for row in rows
    ]


def what_is_left_out(ratings: Ratings) -> str:
    """What short names leave out, in a sentence; nothing where they leave out nothing."""
    return "" if ratings.personas is None else left_out_of(ratings.raters)


def left_out_of(judges: Sequence[str]) -> str:
    """What `short_ids` leave out, as `what_is_left_out` says it."""
    parts = parts_of(judges)
    alike = [
        f"{name} {part[0]}" for name, part in zip(PARTS, parts, strict=False) if len(set(part)) < 2
    ]
    if not alike or len(alike) == len(parts):
        return ""
    return f"Judges are named by what they differ in; all have {', '.join(alike)}."
