"""The table of the ratings of a file: the cells of long and wide files, numbers and labels,
contradictions.

A long file has a line for each rating, a wide one a line for each item and a column for each rater.
Whether a file's numbers have a decimal point or a comma is decided once for the whole file, which
is refused where it could be either.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from persona_panel.files.outputs import DecimalSign, text_of
from persona_panel.files.records import Fields, Record, Report, label_of
from persona_panel.files.wording import shown, some
from persona_panel.personas import NO_PERSONA
from persona_panel.rubrics.rubric import MOST_SCORE, folded
from persona_panel.statistics.core.display import ALL
from persona_panel.statistics.core.table import Ratings

_GAPS = frozenset(
    {"", "?", "na", "n/a", "<na>", "nan", "null", "none"}
    | {f"not{between}assessable" for between in " -_"}
)
"""Texts that stand for no rating, in any case."""

_LABEL_GAPS = _GAPS - {"none"}
"""Texts that stand for no label: `none` may be the name of a category."""

_MOST_CATEGORIES = 50

_DATE = re.compile(r"\d{1,4}[-./]\s?(\d{1,2}|[^\W\d]{3,4})\.?([-./ ]\s?\d{2,4})?")
"""A date, as a spreadsheet may make it of 3.5 or 1-2."""
_INFINITE = re.compile(r"[+-]?inf(inity)?", re.IGNORECASE)
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)


def score_of(value: Any, field: str, line: int, report: Report) -> float:
    """Return a cell as a score: NaN for a gap, and for anything that is no number, which is
    reported."""
    if value is None or (isinstance(value, str) and value.strip().lower() in _GAPS):
        return math.nan
    number = math.nan
    problem = shown(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if math.isnan(number):
            return math.nan
    elif isinstance(value, str):
        if _INFINITE.fullmatch(value.strip()):
            number = math.inf
        elif _NUMBER.fullmatch(value.strip()):
            # Stripped here as well: float() strips fewer characters.
            number = float(value.strip())
    if math.isinf(number):
        problem = "an infinite value"
    if math.isfinite(number) and abs(number) > MOST_SCORE:
        report.add(
            problem, f"a score from {-MOST_SCORE:g} to {MOST_SCORE:g}", line=line, field=field
        )
        return math.nan
    if not math.isfinite(number):
        report.add(problem, _expected_of(value), line=line, field=field)
        return math.nan
    return number


def is_number(value: Any) -> bool:
    """Return whether a cell is a number, with a decimal point."""
    if isinstance(value, str):
        return _NUMBER.fullmatch(value.strip()) is not None
    return isinstance(value, int | float) and not isinstance(value, bool) and value == value


def is_gap(value: Any) -> bool:
    """Return whether a cell holds no score."""
    if isinstance(value, float):
        return math.isnan(value)
    return value is None or (isinstance(value, str) and value.strip().lower() in _GAPS)


def _expected_of(value: Any) -> str:
    text = value.strip() if isinstance(value, str) else ""
    if text.endswith("%"):
        return "a number on the scale of the ratings, without a percent sign"
    if _DATE.fullmatch(text):
        return "a number; a spreadsheet may have made a date of it: format the column as text"
    if re.fullmatch(r"[+-]?\d{1,3}([., '’\u00a0\u202f]\d{3})+([.,]\d+)?", text):
        return "a number without signs between thousands"
    return "a finite number, or a gap (empty, ?, NA)"


class Categories:
    """The categories of a dimension, as labels name them: the first spelling of each counts."""

    def __init__(self) -> None:
        self._codes: dict[str, int] = {}
        self._names: list[str] = []

    @property
    def names(self) -> tuple[str, ...]:
        """The categories' names, in the order of their codes."""
        return tuple(self._names)

    def code_of(self, value: Any, line: int, report: Report) -> float:
        """Return the code of a cell's label: NaN for a gap, and for anything that is no label,
        which is reported."""
        label = label_of(value)
        if label is None or (isinstance(label, str) and label.strip().lower() in _LABEL_GAPS):
            return math.nan
        name = folded(label) if isinstance(label, str) else ""
        if not name or not label.isprintable():
            report.add(shown(value), "the name of a category", line=line, field="label")
            return math.nan
        if name not in self._codes:
            if len(self._names) == _MOST_CATEGORIES:
                report.add(
                    f"{shown(label)}, one label more than {_MOST_CATEGORIES}",
                    "a few categories, each by its name",
                    line=line,
                    field="label",
                )
                return math.nan
            self._codes[name] = len(self._names)
            self._names.append(label.strip())
        return float(self._codes[name])


class Rating(NamedTuple):
    """A rating as it was read, NaN for a gap; names that it lacks are None. Where it is a category,
    `label` is its name and the score its code."""

    line: int
    item: str
    rater: str
    score: float
    dimension: str | None = None
    group: str | None = None
    prompt: str | None = None
    source: str | None = None
    persona: str | None = None
    label: str | None = None


def _as_text(rating: Rating) -> str:
    """Return a rating in words."""
    if math.isnan(rating.score):
        return "a gap"
    return f"{rating.score!r}".removesuffix(".0") if rating.label is None else shown(rating.label)


class Tabulation:
    """A table of ratings in the making: it takes them in any order, and reports those that
    contradict others.

    Args:
        merges: whether a rating that is there twice counts once, as an export of rows twice has it.

    Attributes:
        n_repeated: how many ratings were there already, and counted once.
    """

    def __init__(self, report: Report, *, merges: bool = False) -> None:
        self.n_repeated = 0
        self._merges = merges
        self._report = report
        self._cells: dict[tuple[str, str, str], Rating] = {}
        self._items: dict[str, int] = {}
        self._raters: dict[str, int] = {}
        self._dimensions: dict[str, int] = {}
        self._prompts = _Labels(report, "prompt", "item")
        self._sources = _Labels(report, "source", "item")
        self._groups = _Labels(report, "group", "rater")
        self._personas = _Labels(report, "persona", "rater")
        self._without_dimension: list[int] = []

    def add(self, rating: Rating) -> None:
        """Take a rating in."""
        line, dimension = rating.line, rating.dimension
        if dimension is None:
            self._without_dimension.append(line)
            dimension = ALL
        self._items.setdefault(rating.item, line)
        self._raters.setdefault(rating.rater, line)
        self._dimensions.setdefault(dimension, line)
        self._prompts.take(rating.item, rating.prompt, line)
        self._sources.take(rating.item, rating.source, line)
        self._groups.take(rating.rater, rating.group, line)
        self._personas.take(rating.rater, rating.persona, line)
        first = self._cells.setdefault((rating.item, rating.rater, dimension), rating)
        if first is rating:
            return
        if self._merges and _as_text(first) == _as_text(rating):
            self.n_repeated += 1
            return
        of = "" if rating.dimension is None else f" on {shown(dimension)}"
        again = f"{shown(rating.item)} rated again{of}, first on line {first.line}"
        if _as_text(first) != _as_text(rating):
            again += f" ({_as_text(rating)}, first {_as_text(first)})"
        self._report.add(
            again, f"one rating of it by {shown(rating.rater)}", line=line, field="item"
        )

    @property
    def lines(self) -> dict[tuple[str, str, str], int]:
        """The line of each rating, by item, rater and dimension."""
        return {key: rating.line for key, rating in self._cells.items()}

    def finish(
        self, *, ranks: bool, min_raters: int, categories: Mapping[str, tuple[str, ...]]
    ) -> Ratings | None:
        """Return all ratings as a table, or None where a fault was reported. `ranks`: whether the
        scores are ranks, 1 the best; `min_raters`: fewer who rated anything are a fault;
        `categories`: for each dimension whose scores are codes of categories, their names."""
        if set(self._dimensions) != {ALL}:
            for line in self._without_dimension:
                self._report.add(
                    "nothing", "a dimension, as other lines have", line=line, field="dimension"
                )
        labels = [
            kind.of(names)
            for kind, names in (
                (self._groups, self._raters),
                (self._personas, self._raters),
                (self._prompts, self._items),
                (self._sources, self._items),
            )
        ]
        if ranks:
            self._refuse_ranks_beyond(labels[2])
        self._refuse_few(min_raters)
        if self._report.faults:
            return None
        groups, personas, prompts, sources = labels
        return Ratings(
            self._scores(),
            tuple(self._items),
            tuple(self._raters),
            tuple(self._dimensions),
            groups or (ALL,) * len(self._raters),
            prompts,
            sources,
            lower_is_better=ranks,
            personas=personas,
            categories={
                name: of_dimension
                for name, of_dimension in categories.items()
                if name in self._dimensions
            },
            controls=_controls(self._raters, personas),
        )

    def _scores(self) -> NDArray[np.float64]:
        names = (self._items, self._raters, self._dimensions)
        places = [{name: place for place, name in enumerate(axis)} for axis in names]
        scores = np.full([len(axis) for axis in names], np.nan)
        for key, rating in self._cells.items():
            scores[tuple(of[name] for of, name in zip(places, key, strict=True))] = rating.score
        return scores

    def _refuse_ranks_beyond(self, prompts: tuple[str, ...] | None) -> None:
        of = dict(zip(self._items, prompts or ("",) * len(self._items), strict=True))
        sizes = Counter(of.values())
        where = "that its prompt has" if prompts else "that there are"
        for rating in self._cells.values():
            most = sizes[of[rating.item]]
            if not (math.isnan(rating.score) or 1 <= rating.score <= most):
                self._report.add(
                    f"{rating.score:g}",
                    f"a rank from 1 to {most}, the items {where}",
                    line=rating.line,
                    field="rank",
                )

    def _refuse_few(self, min_raters: int) -> None:
        rated = {rating.rater for rating in self._cells.values() if not math.isnan(rating.score)}
        if self._report.faults:
            return
        if not self._cells:
            self._report.add("no ratings", "at least one")
        elif not rated:
            self._report.add("gaps only", "at least one rating")
        elif len(rated) < min_raters:
            self._report.add(
                f"ratings by {shown(next(iter(rated)))} only", f"{min_raters} raters or more"
            )


def _controls(raters: Iterable[str], personas: Iterable[str] | None) -> frozenset[str]:
    """Return the raters without a persona, where others have one."""
    if personas is None or set(personas) == {NO_PERSONA.id}:
        return frozenset()
    pairs = zip(raters, personas, strict=True)
    return frozenset(rater for rater, persona in pairs if persona == NO_PERSONA.id)


class _Labels:
    """One label for each name: an item's prompt, a rater's group."""

    def __init__(self, report: Report, kind: str, owner: str) -> None:
        self._report = report
        self._kind = kind
        self._owner = owner
        self._labels: dict[str, tuple[str, int]] = {}

    def take(self, name: str, label: str | None, line: int) -> None:
        if label is None:
            return
        first, before = self._labels.setdefault(name, (label, line))
        if first != label:
            self._report.add(
                f"{shown(label)}, but {shown(first)} on line {before}",
                f"one {self._kind} for the {self._owner} {shown(name)}",
                line=line,
                field=self._kind,
            )

    def of(self, names: dict[str, int]) -> tuple[str, ...] | None:
        """Return the label of each name; None where no name has one."""
        if not self._labels:
            return None
        for name, line in names.items():
            if name not in self._labels:
                self._report.add(
                    f"nothing for the {self._owner} {shown(name)}",
                    f"a {self._kind}, as other {self._owner}s have",
                    line=line,
                    field=self._kind,
                )
        return tuple(self._labels.get(name, ("", 0))[0] for name in names)


SCORE = ("score", "rank", "label")
_LABELS = ("item", "rater", "dimension", "group", "prompt", "source")
_ORDER = ("item", "rater", "score", *_LABELS[2:])
_NEEDED = frozenset({"item", "rater"})

RATING_FIELDS = Fields(
    tuple((name, SCORE if name == "score" else (name,)) for name in _ORDER),
    frozenset(_LABELS) - _NEEDED,
    wide=frozenset({"rater", "score"}),
    never_wide=frozenset(
        {"annotator", "annotatorid", "annotation", "coder", "judge", "judgeid", "labeler"}
        | {"labelerid", "participant", "participantid", "person", "raterid", "rating", "respondent"}
        | {"respondentid", "reviewer", "user", "userid", "value", "worker", "workerid", "scores"}
        | {"ratings", "raters", "labels", "ranks", "ranking", "raterscore", "humanscore"}
    ),
)
_NO_RATER = frozenset({"", "unnamed: 0", "inclusion_probability", "spread"})
"""Columns that hold no ratings: numbers of rows, and those of `select`."""
_MOST_LABELS = 50
_COMMA = re.compile(r"[+-]?\d*,\d+(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)
_POINT = re.compile(r"[+-]?\d*\.\d+(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)
_MAY_BE_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}", re.ASCII)


class RatingCell(NamedTuple):
    """One rating as it stands in a file; `kind` is `score`, `rank` or `label`, None where there is
    none."""

    line: int
    labels: Mapping[str, str | None]
    kind: str | None
    value: Any


class RatingCells(NamedTuple):
    """The ratings of a file, and the columns that hold none."""

    cells: list[RatingCell]
    left_out: tuple[str, ...] = ()


def long_cells(
    records: Iterable[Record], fields: Fields, report: Report, *, is_csv: bool
) -> RatingCells:
    """Read the ratings of a file with a line for each."""
    cells = []
    for record in records:
        if is_csv and not any(map(str.strip, record.cells.values())):
            # A spreadsheet writes rows that hold nothing.
            continue
        column = record.names.get("score")
        kind = None if column is None else fields.name_of("score", column)
        value = None if column is None else record.cells[column]
        if kind == "label" and is_csv and isinstance(value, str):
            value = text_of(value)
        cells.append(RatingCell(record.line, _labels(record, report, is_csv), kind, value))
    return RatingCells(cells)


def wide_cells(
    records: Iterable[Record],
    report: Report,
    raters: Sequence[str] | None,
    *,
    is_csv: bool,
    option: str,
) -> RatingCells:
    """Read the ratings of a file with a line for each item and a column for each rater. `raters`:
    the columns of raters; None: all but those of the fields of items; `option`: which maps columns,
    as remedies name it."""
    rows: list[tuple[Record, Mapping[str, str | None]]] = []
    columns: dict[str, list[Any]] = {}
    first: dict[tuple[str | None, str | None], int] = {}
    for record in records:
        if is_csv and not any(map(str.strip, record.cells.values())):
            continue
        labels = _labels(record, report, is_csv, without="rater")
        key = labels["item"], labels["dimension"]
        if first.setdefault(key, record.line) != record.line:
            report.add(
                f"{shown(labels['item'])} again, first on line {first[key]}",
                "one line for each item, as the file has a column for each rater; of a file with a "
                "line for each rating, name the columns of `rater` and `score`",
                line=record.line,
                field="item",
            )
            continue
        rows.append((record, labels))
        for name, value in record.cells.items():
            if name not in record.names.values():
                columns.setdefault(name, []).append(value)
    left_out = tuple(name for name in columns if _no_rater(name, raters))
    kept = {name: values for name, values in columns.items() if name not in left_out}
    if raters is not None and (
        unknown := [name for name in raters if name not in map(str.strip, kept)]
    ):
        expected = f"columns of the file: {some(columns, 12)}"
        report.add(f"no such column: {some(unknown)}", expected, field="raters")
    kind = "score"
    texts = [
        name
        for name, values in kept.items()
        if not all(map(is_gap, values)) and not any(map(_is_score, values))
    ]
    if kept and len(texts) == len(kept) and _share_labels(kept):
        kind = "label"
    else:
        for name in texts:
            _refuse_text(name, kept[name], report, option)
            del kept[name]
    for name, n in Counter(map(str.strip, kept)).items():
        if n > 1:
            expected = "one, as spaces around a name do not count"
            report.add(f"{n} columns of this name", expected, field=name)
            kept = {column: kept[column] for column in kept if column.strip() != name}
    cells = [
        RatingCell(
            record.line,
            {**labels, "rater": (text_of(name) if is_csv else name).strip()},
            kind,
            text_of(value) if is_csv and isinstance(value, str) and kind == "label" else value,
        )
        for record, labels in rows
        for name in kept
        for value in [record.cells.get(name)]
    ]
    return RatingCells(cells, tuple(name for name in left_out if name))


def read_commas(
    cells: Iterable[RatingCell], report: Report, decimal: DecimalSign | None
) -> str | None:
    """Return what replaces the comma in the numbers of a file: a point where it stands before
    decimals, nothing where it stands between thousands; None where there is no comma, or it is
    unclear what it is, which is reported. `decimal`: the sign before decimals, as the user says."""
    commas: list[tuple[RatingCell, str]] = []
    point: tuple[RatingCell, str] | None = None
    for cell in cells:
        if cell.kind == "label" or not isinstance(cell.value, str):
            continue
        text = cell.value.strip()
        if _COMMA.fullmatch(text):
            commas.append((cell, text))
        elif point is None and _POINT.fullmatch(text):
            point = cell, text
    if not commas:
        return None
    first, text = commas[0]
    more = f" ({len(commas):,} such numbers)" if len(commas) > 1 else ""
    others = [each for each in commas if not _MAY_BE_THOUSANDS.fullmatch(each[1])]
    if decimal == "point":
        for cell, number in others[:1]:
            expected = "a decimal point, as --decimal says"
            report.add(shown(number), expected, line=cell.line, field=cell.kind)
        return None if others else ""
    if point is not None:
        other, written = point
        report.add(
            f"{shown(text)}{more}, but {shown(written)} on line {other.line}",
            "one sign before decimals in the whole file, a point or a comma, and none between "
            "thousands",
            line=first.line,
            field=first.kind,
        )
        return None
    if not others and decimal is None:
        whole = text.replace(",", "")
        report.add(
            f"{shown(text)}{more}, which may be {text.replace(',', '.')} or {whole}",
            f"--decimal comma for {text.replace(',', '.')}, or --decimal point for {whole}",
            line=first.line,
            field=first.kind,
        )
        return None
    return "."


def with_point(value: Any, sign: str = ".") -> Any:
    """Return a number that has a comma with another sign in its place; anything else as it is."""
    if isinstance(value, str) and _COMMA.fullmatch(value.strip()):
        return value.replace(",", sign)
    return value


def _no_rater(name: str, raters: Sequence[str] | None) -> bool:
    if raters is not None:
        return name.strip() not in raters
    return name.strip().lower() in _NO_RATER


def _is_score(value: Any) -> bool:
    return is_number(with_point(value))


def _share_labels(columns: Mapping[str, Sequence[Any]]) -> bool:
    """Return whether the columns hold labels of raters."""
    sets = [
        {folded(value) for value in values if isinstance(value, str) and not is_gap(value)}
        for values in columns.values()
    ]
    every = set().union(*sets)
    return 0 < len(every) <= _MOST_LABELS and all(
        any(own & other for at, other in enumerate(sets) if at != place)
        for place, own in enumerate(sets)
        if own
    )


def _refuse_text(name: str, values: Sequence[Any], report: Report, option: str) -> None:
    first = next(value for value in values if not is_gap(value))
    report.add(
        f"{shown(first)} and no number in the column {shown(name)}",
        "ratings in every column but those of the item: leave this one out, or name the raters' "
        f"columns, {option} raters=ANN,BOB,… ; of a file with a line for each rating, name its "
        f"columns, {option} rater=COLUMN,score=COLUMN",
        field="rater",
    )


def _labels(
    record: Record, report: Report, is_csv: bool, without: str = ""
) -> dict[str, str | None]:
    labels: dict[str, str | None] = {}
    for field in _LABELS:
        if field == without or field not in record.names:
            labels[field] = None
            continue
        value = _label(field, record, report)
        labels[field] = text_of(value) if is_csv and isinstance(value, str) else value
    return labels


def _label(field: str, record: Record, report: Report) -> str | None:
    """Return the text of a field that names something; None where there is none."""
    value = label_of(record.cells[record.names[field]])
    if value is None and field not in _NEEDED:
        return None
    problem = "an empty value" if value is None else shown(value)
    if isinstance(value, str):
        if value.isascii() or not any("\ud800" <= sign <= "\udfff" for sign in value):
            return value.strip()
        problem = "half a surrogate pair"
    report.add(problem, "text", line=record.line, field=field)
    return None
