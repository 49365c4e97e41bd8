"""Ratings in: a run's folder, or a long CSV, JSON or Parquet file by people or other tools.

A line of a long file is one rating. What a rating is worth beside others is said by
`panel.io.tabulation`, how a run's folder is read by `panel.io.judgments`.
"""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

from panel.addresses import is_address
from panel.errors import Fault, InputError
from panel.io.csv_cells import text_of
from panel.io.judgments import read_judgments
from panel.io.records import (
    ColumnMapping,
    Fields,
    Record,
    Report,
    Source,
    label_of,
    name_of,
    read_records,
)
from panel.io.run_copies import local_run
from panel.io.tabulation import Categories, Given, Tabulation, score_of
from panel.io.wording import shown
from panel.statistics.core.table import ALL, Ratings

_FIELDS = Fields(
    (
        ("item", ("item",)),
        ("rater", ("rater",)),
        ("score", ("score", "rank", "label")),
        ("dimension", ("dimension",)),
        ("group", ("group",)),
        ("prompt", ("prompt",)),
        ("source", ("source",)),
    ),
    frozenset({"dimension", "group", "prompt", "source"}),
)
_LABELS = tuple(field for field, _ in _FIELDS.names if field != "score")


def load_ratings(
    source: Source, *, min_raters: int = 1, mapping: ColumnMapping | None = None
) -> Ratings:
    """Read ratings.

    `source` is a run's folder, a .jsonl, .ndjson, .json, .csv, .tsv (each also with .gz) or
    .parquet file, `-` for JSONL on standard input, or an open stream of JSONL.

    A file has a line for each rating: `item`, `rater`, and `score`, `rank` (1 the best, ties may
    share a rank) or `label` (the name of a category, whatever its case); optionally `dimension`,
    `group` (of the rater: human, expert, a model), `prompt` and `source` (of the item). An empty
    cell, `?`, `NA`, null and `not assessable` are gaps. In .csv and .tsv the apostrophe that our
    own files have before a name that begins with `=`, `+`, `-` or `@` is no part of it. Without
    a column `dimension` or `group` there is one, called `all`.

    Of a run, the judges are raters, their models groups, responses are items (called
    `prompt_id/id`), their systems sources; only judgments that are `scored` count, of several
    rounds the last one. A category is its place among those of its scale, from 0. How many
    judgments the run has and lacks is the ratings' `coverage`.

    Args:
        min_raters: fewer raters who rated anything are refused.
        mapping: for fields whose column has another name, that name: `{"score": "value"}`. A run's
            folder takes none.

    Raises:
        InputError: anything is wrong; lists every fault, with its line.
    """
    if isinstance(source, str | Path):
        source = local_run(source)
    # Without the ending of a file, it was to be a folder.
    if (
        isinstance(source, str | Path)
        and str(source) != "-"
        and not is_address(source)
        and not Path(source).suffix
        and not Path(source).exists()
    ):
        expected = "a run's folder, or a file of ratings"
        raise InputError([Fault(str(source), "no such file or folder", expected)])
    if isinstance(source, str | Path) and Path(source).is_dir():
        folder = Path(source)
        if mapping:
            found, expected = "a mapping for a run's folder", "a mapping for a file of ratings only"
            raise InputError([Fault(str(source), found, expected)])
        report = Report(str(folder / "judgments.jsonl"))
        given, categories, scales, composite_of, labels, coverage = read_judgments(folder, report)
        ranks = False
    else:
        fields = _FIELDS.mapped(mapping, source)
        report = Report(name_of(source), mapping)
        given, ranks, categories = _read_long(source, fields, report)
        scales, composite_of, coverage, labels = {}, None, None, {}
    table = Tabulation(report)
    for one in given:
        table.add(one)
    ratings = table.finish(ranks=ranks, min_raters=min_raters, categories=categories)
    if ratings is None:
        raise report.error()
    return replace(
        ratings, scales=scales, composite_of=composite_of, coverage=coverage, labels=labels
    )


def _read_long(
    source: Source, fields: Fields, report: Report
) -> tuple[list[Given], bool, dict[str, tuple[str, ...]]]:
    """The ratings of a long file, whether they are ranks, and of labels, which categories each
    dimension has."""
    given = []
    kinds: dict[str, int] = {}
    categories: dict[str, Categories] = {}
    is_csv = _is_csv(source)

    def unquoted(value: Any) -> Any:
        return text_of(value) if is_csv and isinstance(value, str) else value

    for record in read_records(source, fields, report):
        kind = _kind(fields, record)
        if kind is not None:
            kinds.setdefault(kind, record.line)
        labels = {field: unquoted(_label(field, record, report)) for field in _LABELS}
        if kind == "label":
            found = categories.setdefault(labels["dimension"] or ALL, Categories())
            label = unquoted(record.cells[record.names["score"]])
            score = found.code_of(label, record.line, report)
        else:
            score = _score(kind, record, report)
        if labels["item"] is not None and labels["rater"] is not None:
            given.append(Given(record.line, score=score, **labels))
    if len(kinds) > 1:
        (first, _), (other, line) = kinds.items()
        report.add(f"a {other}", f"a {first}, as on the lines before", line=line, field=other)
    return given, "rank" in kinds, {name: found.names for name, found in categories.items()}


def _is_csv(source: Source) -> bool:
    """Whether cells may have the apostrophe that our own CSV files put before = and the like."""
    if not isinstance(source, str | Path):
        return False
    return bool({".csv", ".tsv"}.intersection(map(str.lower, Path(source).suffixes[-2:])))


def _kind(fields: Fields, record: Record) -> str | None:
    """What a record's rating is: `score`, `rank` or `label`; None where it has none."""
    column = record.names.get("score")
    return None if column is None else fields.name_of("score", column)


def _score(kind: str | None, record: Record, report: Report) -> float:
    if kind is None:
        return math.nan
    return score_of(record.cells[record.names["score"]], kind, record.line, report)


def _label(field: str, record: Record, report: Report) -> Any:
    """The text that names something, None where there is none."""
    if field not in record.names:
        return None
    value = label_of(record.cells[record.names[field]])
    needed = field not in _FIELDS.optional
    if value is None and not needed:
        return None
    found = "an empty value" if value is None else shown(value)
    if isinstance(value, str):
        if value.isascii() or not any("\ud800" <= sign <= "\udfff" for sign in value):
            return value
        found = "half a surrogate pair"
    report.add(found, "text", line=record.line, field=field)
    return None
