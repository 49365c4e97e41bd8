"""Key points counted over a run's rationales, and the result of what keypoints.json holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from math import nan
from pathlib import Path
from typing import Any, Literal

import numpy as np
import orjson
from pydantic import ConfigDict, TypeAdapter, with_config
from typing_extensions import TypedDict

from persona_panel.experiments.keypoints.steps import STANCES, MadePoint, Point, Stance, SummedUp
from persona_panel.files.errors import ConfigurationError, PanelError
from persona_panel.files.limits import json_of
from persona_panel.files.outputs import as_json, json_number, replace_file
from persona_panel.graphs.records import controls_among
from persona_panel.results.conclusions.wording import counted, in_brackets, interval, p_adjusted
from persona_panel.results.requirements.figures import Figure, OpenKey
from persona_panel.results.requirements.of_result import result_figures
from persona_panel.results.result import Result
from persona_panel.results.table import Column, Key, Table
from persona_panel.runs.run import Run
from persona_panel.statistics.core.display import number
from persona_panel.statistics.core.estimate import Difference, Estimate
from persona_panel.statistics.sources import (
    GroupShare,
    ShareDifference,
    group_shares,
    share_differences,
)

NAME = "keypoints.json"


@dataclass(frozen=True, slots=True)
class Rationale:
    """A judge's reasons for a rating. `is_control` of a judge without a persona among such that
    have one."""

    prompt_id: str
    id: str
    system: str
    judge: str
    persona: str
    model: str
    text: str
    is_control: bool


def rationales_of(run: Run) -> list[Rationale]:
    """Return the rationale of each judge on each response, of the last round that has one, in the
    order of responses and judges. Raises ConfigurationError where none has one, else as
    `Run.judgments`."""
    controls = controls_among(run.judges)
    rows = {item[:2]: row for row, item in enumerate(run.items)}
    columns = {judge: column for column, judge in enumerate(run.judges)}
    rationales: dict[tuple[int, int], Rationale] = {}
    for judgment in run.judgments():
        if judgment.rationale and judgment.rationale.strip():
            rationales[rows[judgment.prompt_id, judgment.id], columns[judgment.judge]] = Rationale(
                judgment.prompt_id, judgment.id, judgment.system, judgment.judge.id,
                judgment.judge.persona, judgment.judge.model, judgment.rationale,
                judgment.judge in controls,
            )  # fmt: skip
    if not rationales:
        raise ConfigurationError(
            f"the judgments in {run.folder} have no rationales; score with an elicitation that "
            "gives reasons: --elicitation justified"
        )
    return [rationales[place] for place in sorted(rationales)]


def rationales_digest(rationales: Sequence[Rationale]) -> str:
    """Return the SHA-256 of rationales and their places, which ties key points to them."""
    lines = [
        [rationale.prompt_id, rationale.id, rationale.judge, rationale.text]
        for rationale in rationales
    ]
    return sha256(orjson.dumps(lines)).hexdigest()


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
    """A key point, or the points of a stance that belong to none (`OTHER`), with the share of
    rationales that make it, judges without a persona left out, and words that do."""

    text: str
    stance: Stance
    share: GroupShare
    quotations: tuple[Quotation, ...]


@dataclass(frozen=True, slots=True)
class KeyPointReport:
    """What a model read in rationales, which `digest` ties it to. Key points stand with the
    commonest first, those for the texts before those against, in each the points that belong to
    none last; the feature of shares and differences is a place among them. `missing` rationales by
    reason; `points` have a quotation that was found, `unquoted` do not; `unmerged` calls had no
    usable answer. `shares` of rationales that make a key point, and `pro` of points that speak for
    the text, are by kind of group; judges without a persona are in those by persona and model
    alone."""

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
        """Return the number of rationales whose points are known."""
        return self.rationales - sum(self.missing.values())


def key_point_report(
    rationales: Sequence[Rationale], summed_up: SummedUp, model: str
) -> KeyPointReport:
    """Count the key points of these rationales."""
    read = [place for place, error in enumerate(summed_up.errors) if error is None]
    rows = {place: row for row, place in enumerate(read)}
    names = _features(summed_up)
    table = np.zeros((len(read), len(names)), dtype=np.bool_)
    for made, of in zip(summed_up.points, summed_up.of, strict=True):
        table[rows[made.rationale], names.index(_name(summed_up, made.point.stance, of))] = True
    own = [rationales[place] for place in read]
    judged = np.array([not rationale.is_control for rationale in own], dtype=np.bool_)
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
    quoted = _quotations(rationales, summed_up)
    rows_, systems = groups["system"]
    return KeyPointReport(
        model,
        rationales_digest(rationales),
        tuple(
            KeyPoint(text, stance, share, tuple(quoted.get((text, stance), ())[:_QUOTED]))
            for (text, stance), share in zip(names, shares["all"], strict=False)
        ),
        len(rationales),
        Counter(error for error in summed_up.errors if error is not None),
        len(summed_up.points),
        summed_up.unquoted,
        summed_up.unmerged,
        shares,
        _pro(own, judged, summed_up, rows),
        tuple(share_differences(table[rows_], systems, [own[row].prompt_id for row in rows_])),
    )


def _features(summed_up: SummedUp) -> list[tuple[str, Stance]]:
    """Return the key points that a rationale makes, and the points that belong to none, if any."""
    made = {
        _name(summed_up, point.point.stance, of)
        for point, of in zip(summed_up.points, summed_up.of, strict=True)
    }  # fmt: skip
    others = [(OTHER[stance], stance) for stance in STANCES]
    return [name for name in (*summed_up.key_points, *others) if name in made]


def _name(summed_up: SummedUp, stance: Stance, of: int | None) -> tuple[str, Stance]:
    return (OTHER[stance], stance) if of is None else summed_up.key_points[of]


def _groups(
    own: Sequence[Rationale], judged: np.ndarray[Any, np.dtype[np.bool_]]
) -> dict[KeyPointGroups, tuple[list[int], list[str]]]:
    """Return, for each kind of group, which rationales are in a group, and in which."""
    every, without_controls = list(range(len(own))), np.flatnonzero(judged).tolist()
    return {
        "all": (without_controls, ["all"] * len(without_controls)),
        "system": (without_controls, [own[row].system for row in without_controls]),
        "persona": (every, [rationale.persona for rationale in own]),
        "model": (every, [rationale.model for rationale in own]),
    }


def _pro(
    own: Sequence[Rationale],
    judged: np.ndarray[Any, np.dtype[np.bool_]],
    summed_up: SummedUp,
    rows: Mapping[int, int],
) -> dict[KeyPointGroups, tuple[GroupShare, ...]]:
    """Return the share of points that speak for the text."""
    at = [rows[made.rationale] for made in summed_up.points]
    pro = np.array([[made.point.stance == "pro"] for made in summed_up.points], dtype=np.bool_)
    pro = pro.reshape(-1, 1)
    points = [own[row] for row in at]
    groups = _groups(points, judged[at])
    return {
        kind: tuple(group_shares(pro[rows_], labels, [points[row].prompt_id for row in rows_]))
        for kind, (rows_, labels) in groups.items()
    }


def _quotations(
    rationales: Sequence[Rationale], summed_up: SummedUp
) -> dict[tuple[str, Stance], list[Quotation]]:
    """Return the words that make each key point: the first of each rationale, then further ones."""
    first: dict[tuple[str, Stance], list[Quotation]] = {}
    further: dict[tuple[str, Stance], list[Quotation]] = {}
    known: set[tuple[tuple[str, Stance], int]] = set()
    for made, of in zip(summed_up.points, summed_up.of, strict=True):
        name = _name(summed_up, made.point.stance, of)
        rationale = rationales[made.rationale]
        words = " ".join(made.point.quote.split())
        quotation = Quotation(
            rationale.prompt_id, rationale.id, rationale.system, rationale.judge, words
        )
        into = further if (name, made.rationale) in known else first
        into.setdefault(name, []).append(quotation)
        known.add((name, made.rationale))
    return {name: own + further.get(name, []) for name, own in first.items()}


_NAMED = 3
_IN_SENTENCES = {OTHER["pro"]: "other points for it", OTHER["con"]: "other points against it"}


def key_points_conclusion(report: KeyPointReport) -> list[str]:
    """Say which points judges make most often, on which systems are shown to differ, and what is
    missing."""
    read = f"{counted(report.read, 'rationale')} read"
    own = [key_point for key_point in report.key_points if key_point.text not in OTHER.values()]
    if not own:
        return [f"No key points were found ({read}).", *_left_out(report)]
    said = []
    for stance, word in (("pro", "for"), ("con", "against")):
        those = [key_point for key_point in own if key_point.stance == stance]
        if those:
            first = those[0]
            said.append(
                f"What judges most often say {word} a text: {first.text.rstrip('.')} "
                f"({first.share.n:,} of {first.share.of:,} rationales, a share of "
                f"{number(first.share.share)}{_ends(first.share)})."
            )
    return [*said, *_differences(report), *_left_out(report)]


def _ends(share: GroupShare) -> str:
    bounds = interval(share.ci_low, share.ci_high)
    return f", {bounds}" if bounds else ""


def _differences(report: KeyPointReport) -> list[str]:
    tested = [difference for difference in report.differences if difference.reason is None]
    if not report.differences:
        return []
    if not tested:
        reasons = dict.fromkeys(str(difference.reason) for difference in report.differences)
        return [f"Whether systems differ cannot be said: {'; '.join(reasons)}."]
    shown = sorted(
        (difference for difference in tested if difference.shown),
        key=lambda difference: -abs(difference.difference),
    )
    if not shown:
        n_tested = counted(len(tested), "difference")
        return [
            f"No two systems are shown to differ on a key point ({n_tested} tested, corrected)."
        ]
    sentences = [
        f"{len(shown):,} of {counted(len(tested), 'difference')} between systems "
        f"{'is' if len(shown) == 1 else 'are'} established (adjusted p < 0.05)."
    ]
    for difference in shown[:_NAMED]:
        more, less = (
            (difference.a, difference.b)
            if difference.difference > 0
            else (difference.b, difference.a)
        )
        far = (
            f"{number(100 * abs(difference.difference), 0)} percentage points "
            "more of the rationales"
        )
        text = report.key_points[difference.feature].text.rstrip(".")
        sentences.append(
            f"Of {more} judges say more often than of {less}: {_IN_SENTENCES.get(text, text)}"
            f"{in_brackets(far, p_adjusted(difference.p_adjusted))}."
        )
    return sentences


def _left_out(report: KeyPointReport) -> list[str]:
    said = []
    if report.unquoted:
        n = report.points + report.unquoted
        said.append(
            f"{report.unquoted:,} of {counted(n, 'point')} were dropped, because the rationale "
            "does not contain their quotation."
        )
    if missing := report.rationales - report.read:
        said.append(
            f"{missing:,} of {counted(report.rationales, 'rationale')} could not be read: "
            + "; ".join(f"{error} ({n:,})" for error, n in report.missing.items())
            + "."
        )
    if report.unmerged:
        said.append(
            f"{counted(report.unmerged, 'call')} to sum up or assign points had no usable answer: "
            "their points are under the commonest wordings, or under no key point."
        )
    return said


_FIGURES = ("share", "ci_low", "ci_high", "difference", "p", "p_adjusted")


def key_points_document(report: KeyPointReport) -> dict[str, Any]:
    """Return the document of keypoints.json; undefined values are null."""
    return {
        "conclusion": key_points_conclusion(report),
        "model": report.model,
        "rationales": {
            "n": report.rationales,
            "read": report.read,
            "missing": dict(report.missing),
            "sha256": report.digest,
        },
        "points": {
            "n": report.points,
            "dropped_without_quotation": report.unquoted,
            "calls_without_answer": report.unmerged,
        },
        "key_points": [
            {
                "text": key_point.text,
                "stance": key_point.stance,
                **_figures(key_point.share, "group", "feature"),
                "quotations": [asdict(quotation) for quotation in key_point.quotations],
            }
            for key_point in report.key_points
        ],
        "shares": _by_kind(report, report.shares),
        "pro_share_of_points": {
            kind: [_figures(share, "feature") for share in group_shares]
            for kind, group_shares in report.pro.items()
        },
        "differences": [
            {**_of(report, difference), **_figures(difference, "feature")}
            for difference in report.differences
        ],
    }


def _by_kind(
    report: KeyPointReport, shares: Mapping[KeyPointGroups, Sequence[GroupShare]]
) -> dict[str, Any]:
    return {
        kind: [{**_of(report, share), **_figures(share, "feature")} for share in group_shares]
        for kind, group_shares in shares.items()
    }


def _of(report: KeyPointReport, figure: GroupShare | ShareDifference) -> dict[str, str]:
    """Return the key point of a figure: those for and against may have the same words."""
    key_point = report.key_points[figure.feature]
    return {"key_point": key_point.text, "stance": key_point.stance}


def _figures(figure: GroupShare | ShareDifference, *left_out: str) -> dict[str, Any]:
    return {
        name: json_number(value) if name in _FIGURES else value
        for name, value in asdict(figure).items()
        if name not in left_out
    }


def write_key_points(report: KeyPointReport, folder: Path) -> Path:
    """Write keypoints.json into a run's folder; return its path. Raises OSError."""
    path = folder / NAME
    replace_file(path, as_json(key_points_document(report), orjson.OPT_INDENT_2) + b"\n")
    return path


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
    """Return the key points in a run's folder, None where their file cannot be read; people read
    `judges` in place of the judges' ids."""
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
    """Return the result of what keypoints.json holds, of the run called `source`: how often each
    key point is made, of which systems, by whom and in which words, and where systems differ."""
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
