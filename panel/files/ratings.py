"""Ratings in, of a run's folder or a CSV, JSON or Parquet file: read, put on their scales, and
checked for what their analysis needs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from persona_panel.files.addresses import is_address
from persona_panel.files.errors import Fault, InputError
from persona_panel.files.judgments import read_judgments
from persona_panel.files.limits import json_in, lines_of
from persona_panel.files.named_files import local_run
from persona_panel.files.outputs import DECIMAL, DecimalSign
from persona_panel.files.records import (
    ColumnMapping,
    DataTable,
    GivenMapping,
    Report,
    Source,
    name_of,
    read_records,
)
from persona_panel.files.secrets import SECRETS
from persona_panel.files.selections import PROBABILITY
from persona_panel.files.tabulation import (
    RATING_FIELDS,
    Categories,
    Rating,
    RatingCell,
    Tabulation,
    long_cells,
    read_commas,
    score_of,
    wide_cells,
    with_point,
)
from persona_panel.files.wording import alike, did_you_mean, shown, some
from persona_panel.statistics.core.arrays import Array
from persona_panel.statistics.core.display import ALL, COMPOSITE, counted, general
from persona_panel.statistics.core.table import Ratings, RatingsOrigin

Ends = tuple[float, float]
GivenScale = Ends | Mapping[str, Ends]
"""The lowest and the highest value of all ratings, or of those on each dimension."""

_MOST_LISTED = 20


def with_scales(ratings: Ratings, scale: GivenScale, file: str, option: str) -> Ratings:
    """Return the ratings with scales, after a check that they lie on them. Raises InputError: a
    dimension is not there, an end is not above the other, or ratings lie outside; lists them."""
    numeric = ratings.numeric().dimensions
    scales = dict(scale) if isinstance(scale, Mapping) else dict.fromkeys(numeric, scale)
    faults = []
    for name, (low, high) in scales.items():
        if name not in numeric:
            expected = f"one of {some(numeric, 12)}{did_you_mean(name, numeric)}"
            faults.append(Fault(file, f"the dimension {shown(name)}", expected, field=option))
        elif not low < high:
            problem = f"{general(low)} to {general(high)}"
            faults.append(Fault(file, problem, "the lowest value first", field=option))
    if ratings.lower_is_better:
        faults.append(Fault(file, "ranks", "scores: ranks have no scale", field=option))
    if not faults:
        faults = off_scale(ratings, scales, file, f"the scale that {option} gives")
    if faults:
        raise InputError(faults)
    ends = {name: (float(low), float(high)) for name, (low, high) in scales.items()}
    return replace(ratings, scales={**ratings.scales, **ends})


def off_scale(
    ratings: Ratings,
    scales: Mapping[str, Ends],
    file: str,
    which: str,
    items: Iterable[str] | None = None,
) -> list[Fault]:
    """Return a fault for each rating outside its scale, with its line, rater and item; at most 20,
    then one with their number. `scales`: by dimension of these ratings; `which`: what the scale is,
    for the faults; `items`: what the items are called in the file, in their order."""
    lines = ratings.origin.lines if ratings.origin is not None else {}
    names = tuple(items or ratings.items)
    numeric = [name for name in ratings.dimensions if name not in ratings.categories]
    faults: list[Fault] = []
    n = 0
    for dimension, (low, high) in scales.items():
        if dimension not in numeric:
            continue
        scores = ratings.scores[:, :, ratings.dimensions.index(dimension)]
        for item, rater in np.argwhere((scores < low) | (scores > high)).tolist():
            n += 1
            if len(faults) == _MOST_LISTED:
                continue
            who = names[item], ratings.raters[rater]
            line = lines.get((*who, dimension), lines.get((*who, ALL)))
            on = "" if dimension in (ALL, COMPOSITE) else f" on {shown(dimension)}"
            problem = f"{general(scores[item, rater])} by {shown(who[1])} of {shown(who[0])}{on}"
            expected = f"{general(low)} to {general(high)}, {which}"
            faults.append(Fault(file, problem, expected, line, "score"))
    faults.sort(key=lambda fault: fault.line or 0)
    if n > len(faults):
        problem = (
            f"{counted(n, 'rating')} off the scale in all; the first {_MOST_LISTED} are listed"
        )
        faults.append(Fault(file, problem, "all on it", field="score"))
    return faults


_LEAST = 10
"""Of so many ratings of a rater the range says something of the scale."""
_SCALE_RATIO = 1.6
"""Between raters' highest values: below 2, since nobody may give the longer scale's highest."""


def rating_remarks(ratings: Ratings) -> tuple[str, ...]:
    """Return sentences on raters who may be the same, on raters who rated nothing, and on raters
    who may have used another scale."""
    remarks = list(alike(ratings.raters, "raters"))
    scores = ratings.scores
    if names := [each for r, each in enumerate(ratings.raters) if np.isnan(scores[:, r]).all()]:
        remarks.append(f"There is no rating by {some(names)}.")
    if not ratings.lower_is_better:
        for d, name in enumerate(ratings.dimensions):
            if name not in ratings.categories:
                remarks += _two_scales(ratings.scores[:, :, d], ratings.raters, name)
    return tuple(remarks)


def _two_scales(scores: Array, raters: tuple[str, ...], dimension: str) -> Iterator[str]:
    """Yield a sentence where some raters never go above 1 / `_SCALE_RATIO` of the highest value of
    any of the others, who mostly rate above the first ones' highest."""
    there = ~np.isnan(scores)
    used = [column for column in range(len(raters)) if there[:, column].sum() >= _LEAST]
    if len(used) < 2 or not np.nanmin(scores) >= 0:
        return
    highest = {column: float(np.nanmax(scores[:, column])) for column in used}
    order = sorted(used, key=lambda column: highest[column])
    for n in range(1, len(order)):
        low, high = order[:n], order[n:]
        most = highest[low[-1]]
        if highest[high[0]] >= _SCALE_RATIO * most and all(
            np.nanmedian(scores[:, column]) > most for column in high
        ):
            on = "" if dimension == ALL else f" on {shown(dimension)}"
            top = max(highest[column] for column in high)
            yield (
                f"Two scales may be in one column{on}: {counted(len(low), 'rater')} "
                f"({some(raters[c] for c in low)}) never went above {general(most)}, and "
                f"{counted(len(high), 'rater')} ({some(raters[c] for c in high)}) went up to "
                f"{general(top)}, most of the time above {general(most)}."
            )
            return


def check_calibration(panel: Ratings, humans: Ratings, panel_name: str, humans_name: str) -> None:
    """Refuse ranks, and systems or prompts that only people's ratings name: of items that people
    did not rate nobody could say which they are. Raises InputError: lists every fault."""
    expected = "scores or labels: means of ranks say nothing of a system"
    faults = [
        Fault(name, "ranks", expected, field="rank")
        for name, side in ((panel_name, panel), (humans_name, humans))
        if side.lower_is_better
    ]
    for field, what in (("source", "the system"), ("prompt", "the prompt")):
        labels = f"{field}s"
        if getattr(panel, labels) is None and getattr(humans, labels) is not None:
            expected = f"a column {field!r} with {what} of every item, as {humans_name} has"
            faults.append(Fault(panel_name, f"no {field}s", expected, field=field))
    if faults:
        raise InputError(faults)


def check_groups(source: str, ratings: Ratings, *taken: str) -> None:
    """Refuse groups of raters whose names would be taken for something else. `taken`: names that no
    group may have, besides `all` where there are several. Raises InputError: there is such a
    group."""
    groups = dict.fromkeys(ratings.groups)
    reserved = (*taken, "all") if len(groups) > 1 else taken
    if faults := [
        Fault(source, f"a group called {name!r}", "another name: this one is used in the results")
        for name in groups
        if name in reserved
    ]:
        raise InputError(faults)


_RATERS = "raters"
_DELIMITERS = {";": "semicolons", "\t": "tabs"}
_COMMAS = {".": "decimal commas", "": "commas between thousands"}


def load_ratings(
    source: Source | DataTable,
    *,
    min_raters: int = 1,
    mapping: ColumnMapping | None = None,
    scale: GivenScale | None = None,
    allow_unmatched: bool = False,
    scale_option: str = "scale",
    decimal: DecimalSign | None = None,
) -> Ratings:
    """Read ratings.

    `source` is a run's folder, a .jsonl, .ndjson, .json, .csv, .tsv (each also with .gz) or
    .parquet file, `-` for JSONL on standard input, an open stream of JSONL, or a table in memory.

    A long file has a line for each rating: `item`, `rater`, and `score`, `rank` (1 the best, ties
    may share a rank) or `label` (the name of a category, whatever its case); optionally
    `dimension`, `group` (of the rater: human, expert, a model), `prompt` and `source` (of the
    item). A wide file has a line for each item, `item`, and a column for each rater, called as the
    rater is. An empty cell, `?`, `NA`, null and `not assessable` are gaps. A rating that is there
    twice counts once; two different ones of an item by a rater are refused. Numbers of a table of
    text have a decimal point or, throughout, a decimal comma. Spaces around names and values are
    no part of them, nor is in .csv and .tsv the apostrophe that our own files have before a name
    that begins with `=`, `+`, `-` or `@`. Without a column `dimension` or `group` there is one,
    called `all`. How the file was read is the ratings' `origin`.

    Of a run, the judges are raters, their models groups, responses are items (called
    `prompt_id/id`), their systems sources; only judgments that are `scored` count, of several
    rounds the last one. A category is its place among those of its scale, from 0. How many
    judgments the run has and lacks is the ratings' `coverage`.

    Args:
        min_raters: fewer raters who rated anything are refused.
        mapping: for fields whose column has another name, that name: `{"score": "value"}`; of a
            wide file `{"raters": "ann,bob"}` names the columns of raters, where there are others.
            Of a run, `item` and `rater` are columns of its responses: reasons that people gave
            for texts are judged, and the ratings are of the texts, by each person as each judge
            reads that person.
        scale: the lowest and the highest value that a rating of a file may have, `(1, 5)`, or these
            by dimension; a value outside is refused.
        allow_unmatched: whether these ratings may be compared with a panel that has fewer than
            80 % of the items.
        scale_option: what faults call `scale`.
        decimal: what the comma is in a file whose numbers are such as `1,234` alone: "comma",
            before decimals; "point", between thousands. By default such a file is refused.

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
        ratings = _of_run(Path(source), min_raters, mapping)
    else:
        ratings = _of_file(source, min_raters, mapping, decimal or DECIMAL.get())
    if ratings.origin is not None:
        options = ratings.origin.options
        if isinstance(source, str | Path) and not ratings.origin.from_stream:
            options = _as_options(source, mapping, scale, allow_unmatched=allow_unmatched)
        origin = replace(ratings.origin, allow_unmatched=allow_unmatched, options=options)
        ratings = replace(ratings, origin=origin)
    return ratings if scale is None else with_scales(ratings, scale, name_of(source), scale_option)


def _as_options(
    source: str | Path,
    mapping: ColumnMapping | None,
    scale: GivenScale | None,
    *,
    allow_unmatched: bool,
) -> tuple[str, ...]:
    """Return the words of a command that has people's ratings from this file, read alike."""
    words = ["--human", SECRETS.scrub(str(source))]
    for field, column in (mapping or {}).items():
        words += ["--map-human", f"{field}={column}"]
    scales = scale if isinstance(scale, Mapping) else {"": scale} if scale else {}
    for dimension, (low, high) in scales.items():
        words += ["--human-scale", f"{dimension}{'=' * bool(dimension)}{low:.15g}-{high:.15g}"]
    return *words, *(["--allow-unmatched"] if allow_unmatched else [])


def _of_run(folder: Path, min_raters: int, mapping: ColumnMapping | None) -> Ratings:
    if other := [name for name in mapping or () if name not in ("item", "rater")]:
        problem, expected = f"{', '.join(other)} for a run's folder", "item and rater alone"
        raise InputError([Fault(str(folder), problem, expected)])
    report = Report(str(folder / "judgments.jsonl"))
    rows, categories, scales, composite_of, labels, coverage = read_judgments(folder, report)
    if mapping:
        rows = list(_renamed(rows, folder / "responses.jsonl", mapping))
    table = Tabulation(report)
    for row in rows:
        table.add(row)
    ratings = table.finish(ranks=False, min_raters=min_raters, categories=categories)
    if ratings is None:
        raise report.error()
    return replace(
        ratings, scales=scales, composite_of=composite_of, coverage=coverage, labels=labels
    )


def _renamed(rows: Iterable[Rating], path: Path, columns: Mapping[str, str]) -> Iterator[Rating]:
    """Yield ratings with items, or raters beside the judges, by columns of the run's responses."""
    lines = {f"{line['prompt_id']}/{line['id']}": line for line in map(json_in, lines_of(path))}
    for name in columns.values():
        if missing := [item for item, line in lines.items() if not line.get(name)]:
            expected = f"a column {name}"
            raise InputError([Fault(str(path), f"{missing[0]} without it", expected, field=name)])
    for row in rows:
        own = {name: str(lines[row.item][column]) for name, column in columns.items()}
        item, rater = own.get("item", row.item), own.get("rater")
        yield row._replace(item=item, rater=f"{rater} · {row.rater}" if rater else row.rater)


def _of_file(
    source: Source | DataTable,
    min_raters: int,
    mapping: ColumnMapping | None,
    decimal: DecimalSign | None,
) -> Ratings:  # fmt: skip
    mapping, raters = _without_raters(mapping)
    fields = RATING_FIELDS.mapped(mapping, source)
    if raters is not None:
        fields = replace(fields, optional=fields.optional | fields.wide, wide=frozenset())
    report = Report(name_of(source), mapping)
    is_csv = _is_csv(source)
    records = list(read_records(source, fields, report))
    is_wide = report.is_wide or raters is not None
    if is_wide:
        cells = wide_cells(records, report, raters, is_csv=is_csv, option=fields.map_option)
    else:
        cells = long_cells(records, fields, report, is_csv=is_csv)
    commas = read_commas(cells.cells, report, decimal)
    table = Tabulation(report, merges=True)
    rows, kinds, categories = _rated(cells.cells, report, commas=commas)
    for row in rows:
        table.add(row)
    ranks = "rank" in kinds
    from_stream = not isinstance(source, str | Path) or str(source) == "-"
    names = {name: of_dimension.names for name, of_dimension in categories.items()}
    ratings = table.finish(ranks=ranks, min_raters=min_raters, categories=names)
    if ratings is None:
        raise report.error()
    columns = ratings.raters if is_wide else ()
    form = _form(report, columns, commas, cells.left_out, ranks)
    origin = RatingsOrigin(
        report.file,
        _reading(report.file, ratings, form, rows, table.n_repeated),
        rating_remarks(ratings),
        table.lines,
        from_stream=from_stream,
        has_inclusion=from_stream and any(PROBABILITY in record.cells for record in records),
    )
    return replace(ratings, origin=origin)


def _without_raters(mapping: ColumnMapping | None) -> tuple[ColumnMapping | None, list[str] | None]:
    """Split a mapping into the mapping of fields and the columns of raters."""
    if not mapping or not isinstance(mapping.get(_RATERS), str):
        return mapping, None
    rest = {name: column for name, column in mapping.items() if name != _RATERS}
    raters = [name.strip() for name in mapping[_RATERS].split(",") if name.strip()]
    if isinstance(mapping, GivenMapping):
        return GivenMapping(rest, mapping.option), raters
    return rest, raters


def _rated(
    cells: Iterable[RatingCell], report: Report, *, commas: str | None
) -> tuple[list[Rating], dict[str, int], dict[str, Categories]]:
    """Return the ratings; the line on which each kind of them comes first; and the categories of
    each dimension that has labels."""
    rows = []
    kinds: dict[str, int] = {}
    categories: dict[str, Categories] = {}
    for line, labels, kind, value in cells:
        if kind is not None:
            kinds.setdefault(kind, line)
        label = None
        if kind == "label":
            own_categories = categories.setdefault(labels["dimension"] or ALL, Categories())
            score = own_categories.code_of(value, line, report)
            label = value if isinstance(value, str) else None
        else:
            score = _score(value, kind, line, report, commas)
        item, rater = labels["item"], labels["rater"]
        if item is not None and rater is not None:
            own = {name: labels[name] for name in ("dimension", "group", "prompt", "source")}
            rows.append(Rating(line, item, rater, score, label=label, **own))
    if len(kinds) > 1:
        (first, _), (other, line) = list(kinds.items())[:2]
        report.add(f"a {other}", f"a {first}, as on the lines before", line=line, field=other)
    return rows, kinds, categories


def _score(value: Any, kind: str | None, line: int, report: Report, commas: str | None) -> float:
    if kind is None:
        return math.nan
    pointed = with_point(value, commas or "")
    # Where it cannot be known what the comma is, that was reported once.
    is_unclear = commas is None and pointed is not value
    return math.nan if is_unclear else score_of(pointed, kind, line, report)


def _is_csv(source: Source | DataTable) -> bool:
    """Return whether cells may have the apostrophe that our own CSV files put before = and the
    like."""
    if not isinstance(source, str | Path):
        return False
    return bool({".csv", ".tsv"}.intersection(map(str.lower, Path(source).suffixes[-2:])))


_COLUMNS_NAMED = 5


def _form(
    report: Report, columns: Sequence[str], commas: str | None, left_out: Sequence[str], ranks: bool
) -> list[str]:
    """Return words on the form of a file, which has these raters' columns if it is wide."""
    # A column of something else, such as a mean of the others, is known by its name alone.
    named = [*columns[:_COLUMNS_NAMED], *(["…"] if len(columns) > _COLUMNS_NAMED else [])]
    wide = f"wide, one column a rater: {', '.join(named)}"
    form = [wide if columns else "a line for each rating"]
    form += [_DELIMITERS[report.delimiter]] if report.delimiter in _DELIMITERS else []
    form += [] if commas is None else [_COMMAS[commas]]
    form += ["ranks, 1 the best"] if ranks else []
    form += [f"columns left out: {', '.join(left_out)}"] if left_out else []
    return form


def _reading(
    file: str, ratings: Ratings, form: Sequence[str], rows: Sequence[Rating], n_repeated: int
) -> str:
    """Return one line on what was read."""
    n_missing = sum(math.isnan(row.score) for row in rows)
    what = [
        counted(len(ratings.items), "item"),
        f"{counted(len(ratings.raters), 'rater')} ({'; '.join(form)})",
        *([counted(len(ratings.dimensions), "dimension")] if len(ratings.dimensions) > 1 else []),
        counted(int((~np.isnan(ratings.scores)).sum()), "rating"),
        f"{n_missing:,} missing",
    ]
    text = f"{file}: {', '.join(what)}"
    if n_repeated:
        text += f"; {n_repeated:,} there twice, with the same value, counted once"
    return f"{text}."
