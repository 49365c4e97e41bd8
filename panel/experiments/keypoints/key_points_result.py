"""The key points of a run as a result, from what keypoints.json holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import nan
from pathlib import Path
from typing import Any

from pydantic import ConfigDict, TypeAdapter, with_config
from typing_extensions import TypedDict

from persona_panel.experiments.keypoints.report import (
    NAME,
    OTHER,
    Rationale,
    key_point_report,
    key_points_document,
    rationales_digest,
    rationales_of,
)
from persona_panel.experiments.keypoints.steps import MadePoint, Point, SummedUp
from persona_panel.files.errors import PanelError
from persona_panel.files.limits import json_of
from persona_panel.results.conclusions.wording import counted
from persona_panel.results.requirements.figures import Figure, OpenKey
from persona_panel.results.requirements.of_result import result_figures
from persona_panel.results.result import Result
from persona_panel.results.table import Column, Key, Table
from persona_panel.runs.run import Run
from persona_panel.statistics.core.estimate import Difference, Estimate


class _Ends(TypedDict):
    ci_low: float | None
    ci_high: float | None
    reason: str | None


class _Quotation(TypedDict):
    prompt_id: str
    id: str
    system: str
    judge: str
    quote: str


class _Share(_Ends):
    share: float | None
    n: int
    of: int


class _KeyPoint(_Share):
    text: str
    stance: str
    quotations: list[_Quotation]


class _PointShare(_Share):
    group: str


class _GroupShare(_PointShare):
    stance: str
    key_point: str


class _Difference(_Ends):
    a: str
    b: str
    stance: str
    key_point: str
    difference: float | None
    p: float | None
    p_adjusted: float | None
    n_prompts: int


class _Rationales(TypedDict):
    n: int
    read: int
    missing: dict[str, int]
    sha256: str


@with_config(ConfigDict(strict=True))
class _KeptKeyPoints(TypedDict):
    """The part of keypoints.json that a result uses."""

    conclusion: list[str]
    model: str
    rationales: _Rationales
    points: dict[str, int]
    key_points: list[_KeyPoint]
    shares: dict[str, list[_GroupShare]]
    pro_share_of_points: dict[str, list[_PointShare]]
    differences: list[_Difference]


_STANCES = {"pro": "for the text", "con": "against the text"}
_QUOTED_IN_SHORT = 2
_HOW_TO_READ = (
    "A share is of the rationales that make the point. Every quotation stands in a rationale."
)
_OUTDATED = (
    "The judges' reasons have changed since: `persona-panel keypoints RUN` counts them anew."
)


def read_key_points(run: Run, folder: Path, judges: Mapping[str, str]) -> Result | None:
    """Return the key points in a run's folder, None where their file cannot be read.

    Args:
        judges: what people read in place of judges, by their ids.
    """
    try:
        kept = json_of(folder / NAME)
        TypeAdapter(_KeptKeyPoints).validate_python(kept)
        read = kept["rationales"]
        try:
            is_current = rationales_digest(rationales_of(run)[: read["n"]]) == read["sha256"]
        except PanelError:
            is_current = False
        if not is_current:
            kept["conclusion"].insert(0, _OUTDATED)
        return key_points_result(kept, judges=judges)
    except (OSError, ValueError, LookupError, TypeError):
        return None


def planned_key_points(rationales: Sequence[Rationale]) -> list[Figure]:
    """Return the figures that there will be; any text is taken for that of a key point."""
    # Every rationale makes the same point.
    made = tuple(MadePoint(place, Point("", "pro", "")) for place in range(len(rationales)))
    of, errors = (0,) * len(rationales), (None,) * len(rationales)
    summed_up = SummedUp((("", "pro"),), made, of, errors, 0, 0)
    planned = key_points_document(key_point_report(rationales, summed_up, ""))
    return [
        replace(
            figure,
            keys=tuple(
                OpenKey("pro", among=(*_STANCES, *_STANCES.values())) if key.name == "pro"
                else key if key.name else OpenKey("key point")
                for key in figure.keys
            ),
        )
        for figure in result_figures(key_points_result(planned))
    ]  # fmt: skip


def key_points_result(
    kept: Mapping[str, Any], *, source: str = "", judges: Mapping[str, str] | None = None
) -> Result:
    """Return the result of what keypoints.json holds: how often each key point is made, of which
    systems, by whom and in which words, and where systems differ.

    Args:
        source: what the run is called.
        judges: as of `read_key_points`.
    """
    judges = judges or {}
    stance = Key("stance", "stance", _STANCES.keys(), _STANCES)
    point = Key("key_point", "key point")
    by = Key("by", "by", labels={name: f"by {name}" for name in ("system", "persona", "model")})
    counts = Column("n", "whole", "rationales", of="of"), Column("of", "whole")
    systems = list(dict.fromkeys(each["group"] for each in kept["shares"]["system"]))
    by_system: dict[tuple[str, str], dict[str, float | None]] = {}
    for each in kept["shares"]["system"]:
        shares = by_system.setdefault((each["stance"], each["key_point"]), {})
        shares[_of_system(each["group"])] = each["share"]
    own = [each for each in kept["key_points"] if each["text"] not in OTHER.values()]

    def by_group(shares: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[dict[str, Any]]:
        return [
            {**each, "by": kind, "share": _estimate(each)}
            for kind, those in shares.items()
            for each in those
        ]  # fmt: skip

    tables = [
        Table(
            "key_points",
            (stance, point),
            (*counts, Column("share", "estimate", "share", figure="key_point_share")),
            [
                {**each, "key_point": each["text"], "share": _estimate(each)}
                for each in kept["key_points"]
            ],
            f"Key points of {counted(kept['rationales']['read'], 'rationale')}, by {kept['model']}",
        ),
        Table(
            "by_system",
            (stance, point),
            tuple(Column(_of_system(name), "number", name) for name in systems),
            [
                {"stance": of[0], "key_point": of[1], **shares} for of, shares in by_system.items()
            ],
            "Share of rationales that make each key point, by system",
            when="short",
            programs=False,
        ),
        Table(
            "shares",
            (by, Key("group", "group"), stance, point),
            (*counts, Column("share", "estimate", "share", figure="{by}_share")),
            [each for each in by_group(kept["shares"]) if each["by"] != "all"],
            "Share of rationales that make each key point",
            when="full",
        ),
        Table(
            "points",
            (by, Key("group", "group")),
            (
                Column("n", "whole", "points", of="of"),
                Column("of", "whole"),
                Column("share", "estimate", "share", figure="pro_share_by_{by}"),
            ),
            by_group(kept["pro_share_of_points"]),
            "Points for the text, of all points",
            short={"by": {"system"}},
        ),
        Table(
            "differences",
            (Key("a", "systems"), Key("b"), stance, point),
            (
                Column(
                    "difference", "estimate", "difference", p="column", figure="system_difference"
                ),
                Column("established", "flag"),
            ),
            [
                {**each, "difference": moved, "established": moved.shown}
                for each in kept["differences"] for moved in [_difference(each)]
            ],
            "Differences between systems",
            short={"established": {True}},
            sides=("a", "b"),
        ),
        Table(
            "quotations",
            (stance, point, Key("quote", "in the judges' words")),
            (
                Column("system", "text", "system"),
                Column("prompt_id", "text", "prompt"),
                Column("id", "text", "response"),
                Column("judge", "text", "judge"),
                Column("place", "whole"),
            ),
            [
                {
                    **quotation, "stance": each["stance"], "key_point": each["text"],
                    "judge": judges.get(quotation["judge"], quotation["judge"]), "place": place,
                }
                for each in kept["key_points"]
                for place, quotation in enumerate(each["quotations"], 1)
            ],
            "Quotations",
            short={
                "place": range(1, _QUOTED_IN_SHORT + 1),
                "key_point": [key_point["text"] for key_point in own],
            },
        ),
        Table(
            "rationales",
            (),
            (
                Column("model", "text"),
                *(Column(name, "whole") for name in ("n", "read", *_POINTS.values())),
            ),
            [
                {"model": kept["model"], "n": kept["rationales"]["n"],
                 "read": kept["rationales"]["read"],
                 **{name: kept["points"].get(field) for field, name in _POINTS.items()}}
            ],
        ),
        Table(
            "missing",
            (Key("reason"),),
            (Column("n", "whole"),),
            [{"reason": why, "n": n} for why, n in kept["rationales"]["missing"].items()],
        ),
    ]  # fmt: skip
    remarks = [_HOW_TO_READ] if own else []
    return Result("keypoints", kept["conclusion"], tables, remarks, source=source)


_POINTS = {
    "n": "points",
    "dropped_without_quotation": "points_dropped",
    "calls_without_answer": "calls_without_answer",
}


def _of_system(name: str) -> str:
    """Return the column of a system, whose name may also be that of a key."""
    return f"share of {name}"


def _estimate(share: Mapping[str, Any]) -> Estimate:
    low, high, value = _numbers(share, "ci_low", "ci_high", "share")
    limits = (0.0, 1.0)
    return Estimate(value, low, high, over="prompts", limits=limits, reason=share["reason"])


def _difference(of: Mapping[str, Any]) -> Difference:
    value, low, high, p, p_adjusted = _numbers(
        of, "difference", "ci_low", "ci_high", "p", "p_adjusted"
    )
    return Difference(
        value, low, high, over="prompts", n=of["n_prompts"], p=p, p_adjusted=p_adjusted,
        limits=(-1.0, 1.0), reason=of["reason"], a=of["a"], b=of["b"],
    )  # fmt: skip


def _numbers(of: Mapping[str, Any], *names: str) -> list[float]:
    """Return numbers by their names; a null in the file is NaN."""
    return [nan if of[name] is None else of[name] for name in names]
