"""Key points, which are what judges give as reasons: counted over a run's rationales, and the
result of what keypoints.json holds.

Quotations are looked up in the rationales; counts, shares and differences are the project's own
statistics. After debate-speeches.txt, section 5.4 and Appendix G, which sums up judges' reasons by
key point analysis (R. Bar-Haim et al. (2020), "From arguments to key points").
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from math import nan
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from pydantic import ConfigDict, TypeAdapter, with_config
from typing_extensions import TypedDict

from persona_panel.experiments.key_point_steps import STANCES, MadePoint, Point, Stance, SummedUp
from persona_panel.files.errors import ConfigurationError, PanelError
from persona_panel.files.limits import json_of
from persona_panel.files.outputs import as_json, json_number, replace_file
from persona_panel.graphs.records import controls_among
from persona_panel.results.conclusions.wording import counted, in_brackets, p_adjusted
from persona_panel.results.required_figures import Figure, OpenKey, result_figures
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
OTHER: Mapping[Stance, str] = {"pro": "other (pro)", "con": "other (con)"}
"""The names of the points that belong to no key point."""
_QUOTED = 20
"""Quotations of a key point that are kept."""
_KeyPoint = tuple[str, Stance]
_POINTS = {
    "n": "points", "dropped_without_quotation": "points_dropped",
    "calls_without_answer": "calls_without_answer",
}  # fmt: skip


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
            judge = judgment.judge
            rationales[rows[judgment.prompt_id, judgment.id], columns[judge]] = Rationale(
                judgment.prompt_id, judgment.id, judgment.system, judge.id, judge.persona,
                judge.model, judgment.rationale, judge in controls,
            )  # fmt: skip
    if not rationales:
        raise ConfigurationError(
            f"the judgments in {run.folder} have no rationales; score with an elicitation that "
            "gives reasons: --elicitation justified"
        )
    return [rationales[place] for place in sorted(rationales)]


def rationales_digest(rationales: Sequence[Rationale]) -> str:
    """Return the SHA-256 of rationales and their places, which ties key points to them."""
    lines = [[each.prompt_id, each.id, each.judge, each.text] for each in rationales]
    return sha256(orjson.dumps(lines)).hexdigest()


def key_points_document(
    rationales: Sequence[Rationale], summed_up: SummedUp, model: str
) -> dict[str, Any]:
    """Count the key points of rationales that a model read; return the document of keypoints.json,
    in which undefined values are null.

    The commonest key points are first, those for the texts before those against; at the end of
    each the points that belong to none, where there are any. Shares are of the rationales that
    make a key point or, of points, that speak for the text, by kind of group; judges without a
    persona are in those by persona and by model alone.
    """
    read = [place for place, error in enumerate(summed_up.errors) if error is None]
    rows = {place: row for row, place in enumerate(read)}
    own = [rationales[place] for place in read]
    made = [
        (point, (OTHER[point.point.stance], point.point.stance) if of is None
         else summed_up.key_points[of])
        for point, of in zip(summed_up.points, summed_up.of, strict=True)
    ]  # fmt: skip
    there = {name for _, name in made}
    names = [
        name
        for name in (*summed_up.key_points, *((OTHER[stance], stance) for stance in STANCES))
        if name in there
    ]
    table = np.zeros((len(read), len(names)), dtype=np.bool_)
    for point, name in made:
        table[rows[point.rationale], names.index(name)] = True
    judged = np.array([not rationale.is_control for rationale in own], dtype=np.bool_)
    if not judged.any():
        judged[:] = True
    order = sorted(range(len(names)), key=lambda at: (
        STANCES.index(names[at][1]), names[at][0] in OTHER.values(), -table[judged, at].sum(),
    ))  # fmt: skip
    names, table = [names[at] for at in order], table[:, order]
    groups = _groups(own, judged)
    shares = _shares(table, own, groups)
    in_points = [rows[point.rationale] for point, _ in made]
    pro = np.array([[point.point.stance == "pro"] for point, _ in made], dtype=np.bool_)
    points = [own[row] for row in in_points]
    pros = _shares(pro.reshape(-1, 1), points, _groups(points, judged[in_points]))
    of, systems = groups["system"]
    prompts = [own[row].prompt_id for row in of]
    differences = share_differences(table[of], systems, prompts)
    missing = Counter(error for error in summed_up.errors if error is not None)
    document: dict[str, Any] = {
        "model": model,
        "rationales": {
            "n": len(rationales), "read": len(read), "missing": dict(missing),
            "sha256": rationales_digest(rationales),
        },
        "points": {
            "n": len(made), "dropped_without_quotation": summed_up.unquoted,
            "calls_without_answer": summed_up.unmerged,
        },
    }  # fmt: skip
    quoted = _quotations(rationales, made)

    def name_of(figure: GroupShare | ShareDifference) -> dict[str, str]:
        # Those for and against may have the same words.
        text, stance = names[figure.feature]
        return {"key_point": text, "stance": stance}

    return {
        "conclusion": _conclusion(document, names, shares["all"], differences),
        **document,
        "key_points": [
            {"text": name[0], "stance": name[1], **_share_document(share),
             "quotations": quoted.get(name, [])[:_QUOTED]}
            for name, share in zip(names, shares["all"], strict=False)
        ],
        "shares": {
            kind: [{**name_of(each), "group": each.group, **_share_document(each)} for each in of]
            for kind, of in shares.items()
        },
        "pro_share_of_points": {
            kind: [{"group": each.group, **_share_document(each)} for each in of]
            for kind, of in pros.items()
        },
        "differences": [
            {**name_of(each), "a": each.a, "b": each.b, "difference": json_number(each.value),
             **_ends(each), "p": json_number(each.p), "p_adjusted": json_number(each.p_adjusted),
             "n_prompts": each.n, "reason": each.reason}
            for each in differences
        ],
    }  # fmt: skip


def _share_document(share: GroupShare) -> dict[str, Any]:
    of = {"n": share.n_with, "of": share.of, "share": json_number(share.value)}
    return {**of, **_ends(share), "reason": share.reason}


def _ends(of: Estimate) -> dict[str, float | None]:
    return {"ci_low": json_number(of.low), "ci_high": json_number(of.high)}


_Groups = Mapping[str, tuple[list[int], list[str]]]


def _groups(own: Sequence[Rationale], judged: np.ndarray[Any, np.dtype[np.bool_]]) -> _Groups:
    """Return, for each kind of group, which rationales are in a group, and in which."""
    every, without_controls = list(range(len(own))), np.flatnonzero(judged).tolist()
    return {
        "all": (without_controls, ["all"] * len(without_controls)),
        "system": (without_controls, [own[row].system for row in without_controls]),
        "persona": (every, [rationale.persona for rationale in own]),
        "model": (every, [rationale.model for rationale in own]),
    }


def _shares(
    table: np.ndarray[Any, np.dtype[np.bool_]], of: Sequence[Rationale], groups: _Groups
) -> dict[str, list[GroupShare]]:
    return {
        kind: group_shares(table[rows], labels, [of[row].prompt_id for row in rows])
        for kind, (rows, labels) in groups.items()
    }


def _quotations(
    rationales: Sequence[Rationale], made: Sequence[tuple[MadePoint, _KeyPoint]]
) -> dict[_KeyPoint, list[dict[str, str]]]:
    """Return the words that make each key point: the first of each rationale, then further ones."""
    first: dict[_KeyPoint, list[dict[str, str]]] = {}
    further: dict[_KeyPoint, list[dict[str, str]]] = {}
    known: set[tuple[_KeyPoint, int]] = set()
    for point, name in made:
        of = rationales[point.rationale]
        quotation = {
            "prompt_id": of.prompt_id, "id": of.id, "system": of.system, "judge": of.judge,
            "quote": " ".join(point.point.quote.split()),
        }  # fmt: skip
        into = further if (name, point.rationale) in known else first
        into.setdefault(name, []).append(quotation)
        known.add((name, point.rationale))
    return {name: own + further.get(name, []) for name, own in first.items()}


_NAMED = 3
_IN_SENTENCES = {OTHER["pro"]: "other points for it", OTHER["con"]: "other points against it"}


def _conclusion(
    document: Mapping[str, Any],
    names: Sequence[_KeyPoint],
    shares: Sequence[GroupShare],
    differences: Sequence[ShareDifference],
) -> list[str]:
    """Say which points judges make most often, on which systems are shown to differ, and what is
    missing."""
    rationales, points = document["rationales"], document["points"]
    sentences = []
    for stance, word in (("pro", "for"), ("con", "against")):
        first = next(
            (at for at, name in enumerate(names) if name[1] == stance and name[0] != OTHER[stance]),
            None,
        )
        if first is not None:
            share, bounds = shares[first], shares[first].interval()
            sentences.append(
                f"What judges most often say {word} a text: {names[first][0].rstrip('.')} "
                f"({share.n_with:,} of {share.of:,} rationales, a share of {share.number()}"
                f"{f', {bounds}' if bounds else ''})."
            )
    if sentences:
        sentences += _differences(names, differences)
    else:
        sentences = [f"No key points were found ({counted(rationales['read'], 'rationale')} read)."]
    if unquoted := points["dropped_without_quotation"]:
        sentences.append(
            f"{unquoted:,} of {counted(points['n'] + unquoted, 'point')} were dropped, because the "
            "rationale does not contain their quotation."
        )
    if missing := rationales["missing"]:
        whys = "; ".join(f"{error} ({n:,})" for error, n in missing.items())
        of = counted(rationales["n"], "rationale")
        sentences.append(f"{sum(missing.values()):,} of {of} could not be read: {whys}.")
    if unmerged := points["calls_without_answer"]:
        sentences.append(
            f"{counted(unmerged, 'call')} to sum up or assign points had no usable answer: "
            "their points are under the commonest wordings, or under no key point."
        )
    return sentences


def _differences(names: Sequence[_KeyPoint], differences: Sequence[ShareDifference]) -> list[str]:
    tested = [difference for difference in differences if difference.reason is None]
    if not differences:
        return []
    if not tested:
        reasons = dict.fromkeys(str(difference.reason) for difference in differences)
        return [f"Whether systems differ is not known: {'; '.join(reasons)}."]
    of = counted(len(tested), "difference")
    shown = [difference for difference in tested if difference.shown]
    shown.sort(key=lambda difference: -abs(difference.value))
    if not shown:
        return [f"No two systems are shown to differ on a key point ({of} tested, corrected)."]
    sentences = [
        f"{len(shown):,} of {of} between systems {'is' if len(shown) == 1 else 'are'} significant "
        "(adjusted p < 0.05)."
    ]
    for difference in shown[:_NAMED]:
        more, less = difference.a, difference.b
        if difference.value <= 0:
            more, less = less, more
        points = number(100 * abs(difference.value), 0)
        far = f"{points} percentage points more of the rationales"
        text = names[difference.feature][0].rstrip(".")
        sentences.append(
            f"Of {more} judges say more often than of {less}: {_IN_SENTENCES.get(text, text)}"
            f"{in_brackets(far, p_adjusted(difference.p_adjusted))}."
        )
    return sentences


def write_key_points(document: Mapping[str, Any], folder: Path) -> Path:
    """Write keypoints.json into a run's folder; return its path. Raises OSError."""
    path = folder / NAME
    replace_file(path, as_json(document, orjson.OPT_INDENT_2) + b"\n")
    return path


class _KeptFigure(TypedDict, total=False):
    """A share or a difference; a field that is used and not there is a LookupError."""

    share: float | None
    difference: float | None
    ci_low: float | None
    ci_high: float | None
    p: float | None
    p_adjusted: float | None
    n: int
    of: int
    n_prompts: int
    reason: str | None
    text: str
    stance: str
    group: str
    key_point: str
    a: str
    b: str
    quotations: list[dict[str, str]]


class _KeptRationales(TypedDict):
    n: int
    read: int
    missing: dict[str, int]
    sha256: str


@with_config(ConfigDict(strict=True))
class _KeptKeyPoints(TypedDict):
    """The part of keypoints.json that a result uses."""

    conclusion: list[str]
    model: str
    rationales: _KeptRationales
    points: dict[str, int]
    key_points: list[_KeptFigure]
    shares: dict[str, list[_KeptFigure]]
    pro_share_of_points: dict[str, list[_KeptFigure]]
    differences: list[_KeptFigure]


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
    return [
        replace(
            figure,
            keys=tuple(
                OpenKey("pro", among=(*_STANCES, *_STANCES.values())) if key.name == "pro"
                else key if key.name else OpenKey("key point")
                for key in figure.keys
            ),
        )
        for figure in result_figures(
            key_points_result(key_points_document(rationales, summed_up, ""))
        )
    ]  # fmt: skip


def key_points_result(
    kept: Mapping[str, Any], *, source: str = "", judges: Mapping[str, str] | None = None
) -> Result:
    """Return the result of what keypoints.json holds, of the run called `source`: how often each
    key point is made, of which systems, by whom and in which words, and where systems differ."""
    stance = Key("stance", "stance", _STANCES.keys(), _STANCES)
    point = Key("key_point", "key point")
    own = [each["text"] for each in kept["key_points"] if each["text"] not in OTHER.values()]
    rationales, points = kept["rationales"], kept["points"]
    differences = Table(
        "differences", (Key("a", "systems"), Key("b"), stance, point),
        (
            Column("difference", "estimate", "difference", p="column", figure="system_difference"),
            Column("established", "flag"),
        ),
        [
            {**each, "difference": moved, "established": moved.shown}
            for each in kept["differences"] for moved in [_difference(each)]
        ],
        "Differences between systems", short={"established": {True}}, sides=("a", "b"),
    )  # fmt: skip
    read = Table(
        "rationales", (),
        (
            Column("model", "text"),
            *(Column(name, "whole") for name in ("n", "read", *_POINTS.values())),
        ),
        [
            {"model": kept["model"], "n": rationales["n"], "read": rationales["read"],
             **{name: points.get(field) for field, name in _POINTS.items()}}
        ],
    )  # fmt: skip
    missing = Table(
        "missing", (Key("reason"),), (Column("n", "whole"),),
        [{"reason": why, "n": n} for why, n in rationales["missing"].items()],
    )  # fmt: skip
    tables = [
        *_share_tables(kept, stance, point), differences,
        _quotation_table(kept, stance, point, own, judges or {}), read, missing,
    ]  # fmt: skip
    remarks = [_HOW_TO_READ] if own else []
    return Result("keypoints", kept["conclusion"], tables, remarks, source=source)


def _share_tables(kept: Mapping[str, Any], stance: Key, point: Key) -> Iterator[Table]:
    """Yield the share of rationales that make each key point, of all, by system and by each kind of
    group, and the share of points for the text."""
    by = Key("by", "by", labels={name: f"by {name}" for name in ("system", "persona", "model")})
    group = Key("group", "group")
    counts = Column("n", "whole", "rationales", of="of"), Column("of", "whole")
    yield Table(
        "key_points", (stance, point),
        (*counts, Column("share", "estimate", "share", figure="key_point_share")),
        [
            {**each, "key_point": each["text"], "share": _estimate(each)}
            for each in kept["key_points"]
        ],
        f"Key points of {counted(kept['rationales']['read'], 'rationale')}, by {kept['model']}",
    )  # fmt: skip
    systems = list(dict.fromkeys(each["group"] for each in kept["shares"]["system"]))
    by_system: dict[tuple[str, str], dict[str, Any]] = {}
    for each in kept["shares"]["system"]:
        of = each["stance"], each["key_point"]
        shares = by_system.setdefault(of, {"stance": of[0], "key_point": of[1]})
        # A system's name may also be that of a key.
        shares[f"share of {each['group']}"] = each["share"]
    yield Table(
        "by_system", (stance, point),
        tuple(Column(f"share of {name}", "number", name) for name in systems),
        list(by_system.values()), "Share of rationales that make each key point, by system",
        when="short", programs=False,
    )  # fmt: skip
    yield Table(
        "shares", (by, group, stance, point),
        (*counts, Column("share", "estimate", "share", figure="{by}_share")),
        [each for each in _by_group(kept["shares"]) if each["by"] != "all"],
        "Share of rationales that make each key point", when="full",
    )  # fmt: skip
    yield Table(
        "points", (by, group),
        (
            Column("n", "whole", "points", of="of"), Column("of", "whole"),
            Column("share", "estimate", "share", figure="pro_share_by_{by}"),
        ),
        _by_group(kept["pro_share_of_points"]), "Points for the text, of all points",
        short={"by": {"system"}},
    )  # fmt: skip


def _by_group(shares: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[dict[str, Any]]:
    return [
        {**each, "by": kind, "share": _estimate(each)}
        for kind, those in shares.items()
        for each in those
    ]


def _quotation_table(
    kept: Mapping[str, Any], stance: Key, point: Key, own: Sequence[str], judges: Mapping[str, str]
) -> Table:
    """Return the judges' words for each key point; in short the first of those in `own`."""
    return Table(
        "quotations", (stance, point, Key("quote", "in the judges' words")),
        (
            Column("system", "text", "system"), Column("prompt_id", "text", "prompt"),
            Column("id", "text", "response"), Column("judge", "text", "judge"),
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
        "Quotations", short={"key_point": own, "place": range(1, _QUOTED_IN_SHORT + 1)},
    )  # fmt: skip


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
