"""The cells of a file of ratings, one rating each, whether the file is long or wide.

A long file has a line for each rating, a wide one a line for each item and a column for each rater.
Which sign its numbers have before their decimals is decided once for the whole file, and refused
where it could be either.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from persona_panel.files.csv_cells import text_of
from persona_panel.files.records import Fields, Record, Report, label_of
from persona_panel.files.tabulation import is_gap, is_number
from persona_panel.files.wording import shown, some
from persona_panel.rubrics.scale import folded

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
_COMMA = re.compile(r"[+-]?\d+,\d+", re.ASCII)
_POINT = re.compile(r"[+-]?\d*\.\d+", re.ASCII)
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
    """The ratings of a file with a line for each."""
    found = []
    for record in records:
        if is_csv and not any(map(str.strip, record.cells.values())):
            # A spreadsheet writes rows that hold nothing.
            continue
        column = record.names.get("score")
        kind = None if column is None else fields.name_of("score", column)
        value = None if column is None else record.cells[column]
        if kind == "label" and is_csv and isinstance(value, str):
            value = text_of(value)
        found.append(RatingCell(record.line, _labels(record, report, is_csv), kind, value))
    return RatingCells(found)


def wide_cells(
    records: Iterable[Record], report: Report, raters: Sequence[str] | None, *, is_csv: bool
) -> RatingCells:
    """The ratings of a file with a line for each item and a column for each rater.

    Args:
        raters: the columns of raters; None: all but those of the fields of items.
    """
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
            _refuse_text(name, kept[name], report)
            del kept[name]
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


def decimal_commas(cells: Iterable[RatingCell], report: Report) -> bool | None:
    """Whether the numbers of a file have a decimal comma; None where that cannot be known, which is
    reported."""
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
        return False
    first, text = commas[0]
    more = f" ({len(commas):,} such numbers)" if len(commas) > 1 else ""
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
    if all(_MAY_BE_THOUSANDS.fullmatch(one) for _, one in commas):
        whole = text.replace(",", "")
        report.add(
            f"{shown(text)}{more}, which may be {text.replace(',', '.')} or {whole}",
            f"{text.replace(',', '.')} with a decimal point, or {whole} without a sign between "
            "thousands",
            line=first.line,
            field=first.kind,
        )
        return None
    return True


def with_point(value: Any) -> Any:
    """A number with a decimal comma as one with a point; anything else as it is."""
    if isinstance(value, str) and _COMMA.fullmatch(value.strip()):
        return value.replace(",", ".")
    return value


def _no_rater(name: str, raters: Sequence[str] | None) -> bool:
    if raters is not None:
        return name.strip() not in raters
    return name.strip().lower() in _NO_RATER


def _is_score(value: Any) -> bool:
    return is_number(with_point(value))


def _share_labels(columns: Mapping[str, Sequence[Any]]) -> bool:
    """Whether every column has a label of another one, and all together few: labels of raters."""
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


def _refuse_text(name: str, values: Sequence[Any], report: Report) -> None:
    first = next(value for value in values if not is_gap(value))
    report.add(
        f"{shown(first)} and no number in the column {shown(name)}",
        "ratings in every column but those of the item: leave this one out, or name the raters' "
        "columns, raters=ANN,BOB,… ; of a file with a line for each rating, name its columns, "
        "rater=COLUMN,score=COLUMN",
        field="rater",
    )


def _labels(
    record: Record, report: Report, is_csv: bool, without: str = ""
) -> dict[str, str | None]:
    found: dict[str, str | None] = {}
    for field in _LABELS:
        if field == without or field not in record.names:
            found[field] = None
            continue
        value = _label(field, record, report)
        found[field] = text_of(value) if is_csv and isinstance(value, str) else value
    return found


def _label(field: str, record: Record, report: Report) -> str | None:
    """The text that names something, None where there is none."""
    value = label_of(record.cells[record.names[field]])
    if value is None and field not in _NEEDED:
        return None
    told = "an empty value" if value is None else shown(value)
    if isinstance(value, str):
        if value.isascii() or not any("\ud800" <= sign <= "\udfff" for sign in value):
            return value.strip()
        told = "half a surrogate pair"
    report.add(told, "text", line=record.line, field=field)
    return None
