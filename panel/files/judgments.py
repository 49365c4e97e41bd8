"""The judgments of a run's folder: as ratings, where judges rate and models are groups, and as
comparisons, where a judge preferred one of two responses.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from hashlib import file_digest
from math import nan
from pathlib import Path
from typing import Any, NamedTuple, get_args

from persona_panel.files.errors import Fault, InputError
from persona_panel.files.limits import json_in, json_of, lines_of
from persona_panel.files.records import Fields, Record, Report, read_records
from persona_panel.files.tabulation import Rating, score_of
from persona_panel.files.wording import shown, unreadable
from persona_panel.graphs.records import judges_in
from persona_panel.rubrics.comparison import Outcome
from persona_panel.statistics.core.table import Coverage

JUDGMENTS, GOING_ON = "judgments.jsonl", ".judgments.jsonl.new"
"""The judgments of a run, and where those of one that goes on gather until they are as many."""
_LOCKS = Path("/proc/locks")
_TEXTS = ("prompt_id", "id", "system", "judge", "persona", "model", "status")
_FIELDS = Fields(
    tuple((name, (name,)) for name in (*_TEXTS, "round", "scores", "labels")),
    frozenset({"round", "labels"}),
    is_users=False,
    grows=True,
)


def _inode(path: Path) -> int:
    try:
        return path.stat().st_ino
    except OSError:
        return -1


def locked_inodes() -> frozenset[int]:
    """Return the inodes of the files that are locked as a run locks its own."""
    try:
        lines = _LOCKS.read_text().splitlines()
    except OSError:
        return frozenset()
    # As in "1: FLOCK  ADVISORY  WRITE 11204 fe:00:2146754 0 EOF".
    fields = [line.split() for line in lines]
    return frozenset(
        int(words[5].rpartition(":")[2])
        for words in fields
        if len(words) > 5 and words[1] == "FLOCK" and words[3] == "WRITE"
    )


def is_being_written(folder: Path, locked: Collection[int] | None = None) -> bool:
    """Return whether a process is seen to write a run's folder; `locked`: as `locked_inodes` has
    them, of now if None."""
    inodes = locked_inodes() if locked is None else locked
    # The inode alone: on some file systems the list names another device than a file's status.
    return any(_inode(folder / name) in inodes for name in (JUDGMENTS, GOING_ON))


def judgments_digest(folder: Path) -> str:
    """Return the SHA-256 of a run's judgments, which ties figures to them. Raises OSError."""
    with (folder / JUDGMENTS).open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


def is_edited(folder: Path, document: Mapping[str, Any]) -> bool:
    """Return whether a run's judgments are others than at its end; no, where it has not ended, or
    an earlier version wrote it. `document`: its run.json. Raises OSError."""
    starts = document.get("starts") or [{}]
    at_end = starts[-1].get("judgments")
    return at_end is not None and at_end != judgments_digest(folder)


class Judgments(NamedTuple):
    """The ratings of a run: every judge's of every response on every dimension.

    Attributes:
        ratings: NaN where there is none; a category as its place in the scale.
        categories: the scale of each dimension whose ratings are categories.
        scales: the lowest and the highest value of each other dimension.
        composite_of: the dimensions of the composite, as `Ratings.composite_of` has them.
        labels: of dimensions, by their ids.
        coverage: the numbers of judgments, as `Ratings.coverage` has them.
    """

    ratings: list[Rating]
    categories: dict[str, tuple[str, ...]]
    scales: dict[str, tuple[float, float]]
    composite_of: tuple[str, ...] | None
    labels: dict[str, str]
    coverage: Coverage | None = None


def read_judgments(folder: Path, report: Report) -> Judgments:
    """Return the judgments of a run's folder.

    `report` is that of judgments.jsonl; faults of run.json go there too.
    """
    document, by_id, rule = _rubric(folder / "run.json", report)
    path = folder / JUDGMENTS
    if not by_id:
        return Judgments([], {}, {}, None, {})
    if not path.is_file():
        report.add(unreadable(path), "a run's folder, which contains this file")
        return Judgments([], {}, {}, None, {})
    dimensions = {name: tuple(_categories(dimension["scale"])) for name, dimension in by_id.items()}
    scales = {
        name: ends
        for name, dimension in by_id.items()
        if (ends := _ends(dimension["scale"])) is not None
    }
    last: dict[tuple[str, str], list[tuple[int, Record]]] = {}
    counted = _StatusCounts()
    for record in read_records(path, _FIELDS, report):
        number = _round(record, report)
        if number is None:
            continue
        cells = record.cells
        _require_on_scale(record, scales, report)
        counted.add(cells, number)
        item = f"{cells['prompt_id']}/{cells['id']}"
        kept = last.setdefault((item, cells["judge"]), [])
        # Deliberation has judges read again; the same round twice is for the table to refuse.
        if kept and number > kept[0][0]:
            kept.clear()
        if not kept or number == kept[0][0]:
            # Not the texts: a run's replies may be more than memory holds.
            slim = {name: cells[name] for name in record.names if name in cells}
            kept.append((number, Record(record.line, slim, record.names)))
    # As they came in: in a chance order, on which shuffled p-values would depend.
    place = _places(folder / "responses.jsonl")
    ordered = sorted(last.items(), key=lambda each: place.get(each[0][0], len(place)))
    ratings = [
        Rating(
            record.line,
            item,
            judge,
            score,
            dimension,
            group=record.cells["model"],
            prompt=record.cells["prompt_id"],
            source=record.cells["system"],
            persona=record.cells["persona"],
        )
        for (item, judge), records in ordered
        for _, record in records
        for dimension, score in _scores(record, dimensions, report)
    ]
    return Judgments(
        ratings,
        {name: categories for name, categories in dimensions.items() if categories},
        scales,
        _mean_of(rule),
        {name: str(dimension.get("label") or name) for name, dimension in by_id.items()},
        None if report.faults else counted.coverage(place, folder, document, last),
    )


def _places(path: Path) -> dict[str, int]:
    """Return the places of responses in the order of the input; none where any cannot be read. A
    last line that is not whole, as a kill may leave, is left out."""
    places: dict[str, int] = {}
    try:
        for line in lines_of(path):
            if not line.endswith(b"\n"):
                break
            response = json_in(line)
            places[f"{response['prompt_id']}/{response['id']}"] = len(places)
    except (OSError, ValueError, TypeError, LookupError):
        return {}
    return places


class _StatusCounts:
    """The counts of judgments of every round that a run's `Coverage` needs."""

    def __init__(self) -> None:
        self._partial = self._reasons_missing = 0
        self._revisions_failed = Counter[str]()

    def add(self, cells: Mapping[str, Any], number: int) -> None:
        failed = cells.get("revision_failed")
        # Comparisons that failed leave a score that rests on the others.
        self._partial += cells.get("error") is not None and (failed or cells["status"]) == "scored"
        if number > 1:
            self._reasons_missing += cells.get("reason_missing") is not None
            self._revisions_failed.update([] if failed is None else [failed])

    def coverage(
        self,
        responses: Mapping[str, int],
        folder: Path,
        document: Mapping[str, Any],
        last: Mapping[tuple[str, str], Sequence[tuple[int, Record]]],
    ) -> Coverage | None:
        """Return the coverage by the last judgments of each response and judge; None where the
        folder does not say which there should be.

        Args:
            responses: their places; none where their file cannot be read.
        """
        try:
            judges = {judge.id for judge in judges_in(document)}
            edited = is_edited(folder, document)
        except (OSError, LookupError, TypeError, ValueError, AttributeError):
            return None
        # Which texts a sweep has is told by those that were judged.
        n_items = len(responses if document.get("sweep") is None else {item for item, _ in last})
        n_skipped = n_items * len(judges) - len(last)
        if n_skipped < 0 or not judges.issuperset(judge for _, judge in last):
            return None
        statuses = Counter(str(records[-1][1].cells["status"]) for records in last.values())
        statuses["skipped"] += n_skipped
        return Coverage.of(
            statuses,
            partial=self._partial,
            revisions_failed=self._revisions_failed,
            reasons_missing=self._reasons_missing,
            edited=edited,
        )


def _round(record: Record, report: Report) -> int | None:
    """Return the round of a judgment; None where the judgment is broken, which is reported."""
    before = len(report.faults)
    for name in _TEXTS:
        if name in record.names and not isinstance(record.cells[name], str):
            report.add(shown(record.cells[name]), "text", line=record.line, field=name)
    number = record.cells.get("round", 1)
    if not isinstance(number, int):
        report.add(shown(number), "a whole number", line=record.line, field="round")
    if not isinstance(record.cells.get("scores", {}), Mapping):
        report.add(
            shown(record.cells["scores"]), "scores by dimension", line=record.line, field="scores"
        )
    whole = {*_TEXTS, "scores"} <= record.names.keys()
    return number if whole and len(report.faults) == before else None


def _scores(
    record: Record, dimensions: Mapping[str, tuple[str, ...]], report: Report
) -> list[tuple[str, float]]:
    """Return a judgment's score on each of the rubric's dimensions, NaN unless it is scored."""
    if record.cells["status"] != "scored":
        return [(name, nan) for name in dimensions]
    scores = record.cells["scores"]
    for name in scores.keys() - set(dimensions):
        report.add(
            f"the dimension {shown(name)}",
            "one of the rubric's in run.json",
            line=record.line,
            field="scores",
        )
    return [
        (name, _code(name, record, categories, report))
        if categories
        else (name, score_of(scores.get(name), f"scores.{name}", record.line, report))
        for name, categories in dimensions.items()
    ]


def _require_on_scale(
    record: Record, scales: Mapping[str, tuple[float, float]], report: Report
) -> None:
    """Report scores off their scale in any round, as `RatingCheck` does of a run."""
    scores = record.cells["scores"]
    for name, score in scores.items() if isinstance(scores, Mapping) else ():
        if name in scales and isinstance(score, int | float):
            low, high = scales[name]
            if not low <= score <= high:
                expected = f"a number from {low:g} to {high:g}"
                report.add(shown(score), expected, line=record.line, field=f"scores.{name}")


def _code(name: str, record: Record, categories: tuple[str, ...], report: Report) -> float:
    """Return the place of the category that a judgment names on a dimension."""
    labels = record.cells.get("labels")
    label = labels.get(name) if isinstance(labels, Mapping) else None
    if label is None:
        return nan
    if label not in categories:
        expected = f"one of {', '.join(categories)}"
        report.add(shown(label), expected, line=record.line, field=f"labels.{name}")
        return nan
    return float(categories.index(label))


def _rubric(
    path: Path, report: Report
) -> tuple[Mapping[str, Any], dict[str, Mapping[str, Any]], Mapping[str, Any] | None]:
    """Return the document of run.json."""
    if not path.is_file():
        report.faults.append(
            Fault(str(path), unreadable(path), "a run's folder, which contains it")
        )
        return {}, {}, None
    try:
        document: Any = json_of(path)
        rubric = document.get("output_rubric") or document["rubric"]
        rule = rubric.get("composite")
        dimensions: dict[str, Mapping[str, Any]] = {
            str(dimension["id"]): {**dimension, "scale": dict(dimension.get("scale") or {})}
            for dimension in rubric["dimensions"]
        }
        return document, dimensions, None if rule is None else dict(rule)
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        fault = Fault(str(path), "no rubric with dimensions", "a rubric, as a run writes it")
        report.faults.append(fault)
        return {}, {}, None


def _mean_of(rule: Mapping[str, Any] | None) -> tuple[str, ...] | None:
    """Return the dimensions whose mean the composite is."""
    if rule is None:
        return None
    return () if rule.get("reliable_where") else tuple(map(str, rule.get("mean_of") or ()))


def _categories(scale: Mapping[str, Any]) -> Iterable[str]:
    """Return the categories of a scale, none where it is of numbers."""
    values: Any = scale.get("values") if scale.get("kind") == "category" else None
    return map(str, values or ())


def _ends(scale: Mapping[str, Any]) -> tuple[float, float] | None:
    """Return the lowest and the highest value of a scale of numbers."""
    low, high = scale.get("min"), scale.get("max")
    if isinstance(low, int | float) and isinstance(high, int | float):
        return float(low), float(high)
    return None


_COMPARISON_TEXTS = ("prompt_id", "id", "judge")
_COMPARISON_FIELDS = Fields(
    tuple((name, (name,)) for name in (*_COMPARISON_TEXTS, "comparisons")),
    frozenset({"comparisons"}),
    is_users=False,
    grows=True,
)
_OUTCOMES = get_args(Outcome)


class Compared(NamedTuple):
    """A judge's preference between two responses to a prompt, by their places."""

    prompt_id: str
    judge: str
    first: str
    second: str
    outcome: Outcome


def read_comparisons(path: Path) -> list[Compared]:
    """Return the comparisons in a judgments.jsonl; none where no judge compared. Raises InputError:
    a line cannot be read; lists every fault."""
    report = Report(str(path))
    comparisons = []
    for record in read_records(path, _COMPARISON_FIELDS, report):
        outcomes = record.cells.get("comparisons") or {}
        if not (
            isinstance(outcomes, Mapping)
            and all(outcome in _OUTCOMES for outcome in outcomes.values())
        ):
            expected = f"for other responses {', '.join(_OUTCOMES)}"
            report.add(shown(outcomes), expected, line=record.line, field="comparisons")
            continue
        if not outcomes:
            continue
        prompt_id, first, judge = (str(record.cells.get(name)) for name in _COMPARISON_TEXTS)
        comparisons += [
            Compared(prompt_id, judge, first, second, outcome)
            for second, outcome in outcomes.items()
        ]
    if report.faults:
        raise InputError(report.faults)
    return comparisons
