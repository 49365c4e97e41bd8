"""Key points counted: how often judges make them, of which systems, and with which words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from persona_panel.experiments.keypoints.asking import STANCES, Stance
from persona_panel.experiments.keypoints.rationales import Rationale, rationales_digest
from persona_panel.experiments.keypoints.steps import SummedUp
from persona_panel.statistics.sources import (
    GroupShare,
    ShareDifference,
    group_shares,
    share_differences,
)

KeyPointGroups = Literal["all", "system", "persona", "model"]
OTHER: Mapping[Stance, str] = {"pro": "other (pro)", "con": "other (con)"}
"""What points are called that belong to no key point."""
_QUOTED = 20
"""Quotations of a key point that are kept."""


@dataclass(frozen=True, slots=True)
class Quotation:
    """A judge's words that make a key point, and where they stand."""

    prompt_id: str
    id: str
    system: str
    judge: str
    quote: str


@dataclass(frozen=True, slots=True)
class KeyPoint:
    """A key point, or the points for or against that belong to none.

    Attributes:
        text: a sentence; one of `OTHER` for those of none.
        stance: whether it speaks for a text (`pro`) or against it (`con`).
        share: of all rationales that were read, judges without a persona left out.
        quotations: up to 20, of different rationales first.
    """

    text: str
    stance: Stance
    share: GroupShare
    quotations: tuple[Quotation, ...]


@dataclass(frozen=True, slots=True)
class KeyPointReport:
    """What judges give as reasons. A feature of shares and differences is a place in `key_points`.

    Attributes:
        model: which model read the rationales.
        digest: of the rationales; see
            `persona_panel.experiments.keypoints.rationales.rationales_digest`.
        key_points: the commonest first, those for the texts before those against; at the end of
            each the points that belong to no key point, where there are any.
        rationales: how many there are.
        missing: how often each reason kept the points of a rationale from being known.
        points: how many points there are with a quotation that was found.
        unquoted: how many points were dropped because their quotation is not in the rationale.
        unmerged: how many calls to sum up or assign points had no usable answer.
        shares: of rationales that make a key point, by kind of group; judges without a persona are
            in those by persona and by model alone.
        pro: by kind of group, the share of points that speak for the text, of all points.
        differences: of every two systems on every key point.
    """

    model: str
    digest: str
    key_points: tuple[KeyPoint, ...]
    rationales: int
    missing: Mapping[str, int]
    points: int
    unquoted: int
    unmerged: int
    shares: Mapping[KeyPointGroups, tuple[GroupShare, ...]]
    pro: Mapping[KeyPointGroups, tuple[GroupShare, ...]]
    differences: tuple[ShareDifference, ...]

    @property
    def read(self) -> int:
        """Of how many rationales the points are known."""
        return self.rationales - sum(self.missing.values())


def key_point_report(
    rationales: Sequence[Rationale], found: SummedUp, model: str
) -> KeyPointReport:
    """Count the key points of these rationales."""
    read = [place for place, error in enumerate(found.errors) if error is None]
    rows = {place: row for row, place in enumerate(read)}
    names = _features(found)
    table = np.zeros((len(read), len(names)), dtype=np.bool_)
    for made, of in zip(found.points, found.of, strict=True):
        table[rows[made.rationale], names.index(_name(found, made.point.stance, of))] = True
    own = [rationales[place] for place in read]
    judged = np.array([not one.is_control for one in own], dtype=np.bool_)
    if not judged.any():
        judged[:] = True
    # The commonest first.
    order = sorted(range(len(names)), key=lambda at: (
        STANCES.index(names[at][1]), names[at][0] in OTHER.values(), -table[judged, at].sum(),
    ))  # fmt: skip
    names, table = [names[at] for at in order], table[:, order]
    groups = _groups(own, judged)
    shares = {
        kind: tuple(group_shares(table[rows_], labels, [own[row].prompt_id for row in rows_]))
        for kind, (rows_, labels) in groups.items()
    }
    quoted = _quotations(rationales, found)
    rows_, systems = groups["system"]
    return KeyPointReport(
        model,
        rationales_digest(rationales),
        tuple(
            KeyPoint(text, stance, share, tuple(quoted.get((text, stance), ())[:_QUOTED]))
            for (text, stance), share in zip(names, shares["all"], strict=False)
        ),
        len(rationales),
        Counter(error for error in found.errors if error is not None),
        len(found.points),
        found.unquoted,
        found.unmerged,
        shares,
        _pro(own, judged, found, rows),
        tuple(share_differences(table[rows_], systems, [own[row].prompt_id for row in rows_])),
    )


def _features(found: SummedUp) -> list[tuple[str, Stance]]:
    """The key points that a rationale makes, and what belongs to none, where anything does."""
    made = {
        _name(found, one.point.stance, of)
        for one, of in zip(found.points, found.of, strict=True)
    }  # fmt: skip
    others = [(OTHER[stance], stance) for stance in STANCES]
    return [name for name in (*found.key_points, *others) if name in made]


def _name(found: SummedUp, stance: Stance, of: int | None) -> tuple[str, Stance]:
    return (OTHER[stance], stance) if of is None else found.key_points[of]


def _groups(
    own: Sequence[Rationale], judged: np.ndarray[Any, np.dtype[np.bool_]]
) -> dict[KeyPointGroups, tuple[list[int], list[str]]]:
    """Of each kind which rationales are in a group, and in which."""
    every, without_controls = list(range(len(own))), np.flatnonzero(judged).tolist()
    return {
        "all": (without_controls, ["all"] * len(without_controls)),
        "system": (without_controls, [own[row].system for row in without_controls]),
        "persona": (every, [one.persona for one in own]),
        "model": (every, [one.model for one in own]),
    }


def _pro(
    own: Sequence[Rationale],
    judged: np.ndarray[Any, np.dtype[np.bool_]],
    found: SummedUp,
    rows: Mapping[int, int],
) -> dict[KeyPointGroups, tuple[GroupShare, ...]]:
    """The share of points that speak for the text."""
    at = [rows[made.rationale] for made in found.points]
    pro = np.array([[made.point.stance == "pro"] for made in found.points], dtype=np.bool_)
    pro = pro.reshape(-1, 1)
    points = [own[row] for row in at]
    groups = _groups(points, judged[at])
    return {
        kind: tuple(group_shares(pro[rows_], labels, [points[row].prompt_id for row in rows_]))
        for kind, (rows_, labels) in groups.items()
    }


def _quotations(
    rationales: Sequence[Rationale], found: SummedUp
) -> dict[tuple[str, Stance], list[Quotation]]:
    """Of each key point the words that make it: the first of each rationale, then further ones."""
    first: dict[tuple[str, Stance], list[Quotation]] = {}
    further: dict[tuple[str, Stance], list[Quotation]] = {}
    known: set[tuple[tuple[str, Stance], int]] = set()
    for made, of in zip(found.points, found.of, strict=True):
        name = _name(found, made.point.stance, of)
        one = rationales[made.rationale]
        words = " ".join(made.point.quote.split())
        quotation = Quotation(one.prompt_id, one.id, one.system, one.judge, words)
        into = further if (name, made.rationale) in known else first
        into.setdefault(name, []).append(quotation)
        known.add((name, made.rationale))
    return {name: own + further.get(name, []) for name, own in first.items()}
