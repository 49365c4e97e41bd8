"""The biases of a panel and its judges: what an audit reads of a run, its result, bias.json."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from math import isnan, nan
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from pydantic import ConfigDict, TypeAdapter, ValidationError, with_config
from typing_extensions import TypedDict

from persona_panel.analyses.bias import (
    REAL_BINS,
    ScaleRange,
    biases_of_panel,
    unknown_families,
)
from persona_panel.files.errors import Fault, InputError
from persona_panel.files.judgments import Compared, judgments_digest, read_comparisons
from persona_panel.files.limits import json_of
from persona_panel.files.outputs import as_json, own_rows, replace_file, text_of
from persona_panel.files.wording import shown
from persona_panel.results.conclusions.rows import (
    adjusted_ends,
    figure,
    in_short,
    labelled_rows,
    short_names,
    sign_of,
    what_all_have,
)
from persona_panel.results.conclusions.wording import counted, listed, rescaling_of
from persona_panel.results.result import Result
from persona_panel.results.statistic_tables import StatisticTables
from persona_panel.results.table import Table
from persona_panel.rubrics import CategoryScale, Dimension, Scale
from persona_panel.runs.collected import ratings_of
from persona_panel.runs.kept import require_folder
from persona_panel.runs.run import Run
from persona_panel.runs.scale_limits import (
    POINTS,
    SHARES_OF_RESPONSES,
    SHARES_OF_WIDTH,
    FigureUnit,
)
from persona_panel.statistics.core.arrays import Array, Reason
from persona_panel.statistics.core.display import ALL, ends, signed
from persona_panel.statistics.core.table import Ratings, Row

_DIMENSIONS = TypeAdapter(tuple[Dimension, ...])


@dataclass(frozen=True, slots=True, eq=False)
class AuditedRun:
    """The data of a run that an audit of bias needs: the scales of dimensions rated by numbers;
    lengths in words `(items,)`, NaN where verdicts.csv has none; comparisons, if judges compared.
    """

    ratings: Ratings
    scales: dict[str, ScaleRange]
    lengths: Array
    comparisons: list[Compared]


def load_audited_run(folder: str | Path) -> AuditedRun:
    """Read a run's panel; judges without a persona that it is compared with are left out. Raises
    InputError with every fault of its files."""
    # A run at its end has its ratings, and needs no more of this than its biases.
    from persona_panel.files.ratings import load_ratings

    path = Path(folder)
    require_folder(path, str(folder))
    ratings = load_ratings(path)
    ratings, known = ratings.without_controls(), _lengths(path / "verdicts.csv")
    lengths = np.array([known.get(item, nan) for item in ratings.items], dtype=np.float64)
    compared = read_comparisons(path / "judgments.jsonl")
    own = [each for each in compared if each.judge in ratings.raters]
    return AuditedRun(ratings, _spans(path / "run.json"), lengths, own)


def _spans(path: Path) -> dict[str, ScaleRange]:
    try:
        document = json_of(path)
        dimensions = _DIMENSIONS.validate_python(
            (document.get("output_rubric") or document["rubric"])["dimensions"]
        )
    except (OSError, ValueError, LookupError, TypeError, AttributeError, ValidationError):
        fault = Fault(str(path), "no rubric with dimensions", "a rubric, as a run writes it")
        raise InputError([fault]) from None
    return _ranges(dimensions)


def _ranges(dimensions: Iterable[Dimension]) -> dict[str, ScaleRange]:
    return {
        each.id: ScaleRange(each.scale.min, each.scale.max, isinstance(each.scale, Scale))
        for each in dimensions
        if not isinstance(each.scale, CategoryScale)
    }


def panel_biases(run: Run, lengths: Sequence[float], n_tests: int) -> list[str]:
    """Return a sentence for each bias of a panel's mean over dimensions that is significant: with
    `lengths` in words `(items,)`, and for its own model family. Intervals are widened for `n_tests`
    claims; two of them are made here."""
    ratings = ratings_of(run)
    rows = biases_of_panel(ratings.without_controls(), _ranges(run.rubric.dimensions), lengths)
    panel = {row.statistic: row for row in rows if not row.reason}
    return list(_significant(panel, n_tests, _unit_of(ratings).after_number))


def _lengths(path: Path) -> dict[str, float]:
    """Return the number of words by item; empty where there is no such file or column."""
    lengths: dict[str, float] = {}
    try:
        for row in own_rows(path):
            if row.get("words"):
                item = "/".join(text_of(row[name]) for name in ("prompt_id", "id"))
                lengths[item] = float(row["words"])
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, KeyError, csv.Error) as error:
        fault = Fault(str(path), shown(str(error)), "the columns that a run writes")
        raise InputError([fault]) from None
    return lengths


NAME = "bias.json"
_JUDGES_SHOWN = 40
_OF_SCORES = {
    "length_correlation": "correlation with length\n(within systems)",
    "score_entropy": "entropy,\nbits",
    "mode_share": "share of\nthe mode",
}
_OF_THE_PANEL = {
    "length_correlation": ("longer responses score higher", "longer responses score lower"),
    "self_preference": (
        "judges prefer responses of their own model family",
        "judges prefer responses of other model families",
    ),
    "position_bias": ("the response shown first wins more", "the response shown second wins more"),
}
_NAMES = {
    "length_correlation": "correlation with length",
    "self_preference": "own-family bonus",
    "position_bias": "position bias",
}


_OUTDATED = (
    "These figures are of other judgments than the run has now: `persona-panel audit bias RUN` "
    "measures them again."
)
_NUMBERS = frozenset({"value", "ci_low", "ci_high", "ci_df", "p_value", "p_raw"})


class _BiasRow(TypedDict):
    statistic: str
    dimension: str
    group: str
    value: float | None
    ci_low: float | None
    ci_high: float | None
    reason: str | None
    ci_reason: str | None
    note: str | None


@with_config(ConfigDict(strict=True))
class _KeptBias(TypedDict):
    """The parts of bias.json that are read back."""

    conclusion: list[str]
    judgments: str
    rows: list[_BiasRow]


def bias_result(rows: Sequence[Row], ratings: Ratings, *, source: str = "") -> Result:
    """Return the result of rows of `persona_panel.analyses.bias.biases` of these ratings;
    `source` is what the run is called."""
    made = StatisticTables()
    left_out = []
    if unknown := ", ".join(unknown_families(ratings)):
        left_out = [f"Left out of self-preference, as their family is not known: {unknown}."]
    return Result(
        "bias",
        bias_conclusion(rows, ratings),
        (made.for_programs(rows, ratings.labels), *_for_people(made, rows, ratings)),
        [
            *left_out,
            *what_all_have(ratings),
            f"{len(ratings.items):,} responses, {len(ratings.raters):,} judges. Intervals are not "
            "widened for the number of biases or judges: one may leave out 0 where nothing is "
            "concluded. Entropy and share of the mode are of scores rounded to the scale's whole "
            f"numbers, on a scale of real numbers to one of {REAL_BINS} equal parts of it. --json "
            "has every statistic on every dimension.",
        ],
        reading=list(rescaling_of(ratings)),
        source=source,
        coverage=ratings.coverage,
    )


def _for_people(made: StatisticTables, rows: Sequence[Row], ratings: Ratings) -> list[Table]:
    """Return the biases of the panel by dimension; of judges, models and families on all."""
    rows, (ratings,) = labelled_rows(rows, ratings)
    names = short_names(ratings)
    rows = in_short(rows, names)
    compared = are_of_comparisons((row.statistic, row.reason) for row in rows)
    unit = SHARES_OF_RESPONSES if compared else _unit_of(ratings)
    # Beside that of all dimensions each one's own is in points of its scale.
    mixed = unit is SHARES_OF_WIDTH
    bonus = f"own-family bonus,\n{unit.plural}"
    # A run on one dimension has no rows on all of them.
    main = ALL if len({row.dimension for row in rows} - {ALL}) > 1 else rows[-1].dimension
    ours = [replace(row, dimension=ALL) for row in rows if row.dimension == main]
    far = {row.group: _size(row) for row in ours if row.statistic == "leniency"}
    # Those furthest from the panel first.
    judges = [names.get(rater, rater) for rater in ratings.raters]
    judges.sort(key=lambda judge: -far.get(judge, 0.0))
    n_more = len(judges) - _JUDGES_SHOWN
    places = [row for row in rows if row.statistic == "position_bias"]
    tables = []
    for title, of, headings, head in (
        (
            "Panel",
            [
                replace(row, dimension="all dimensions") if row.dimension == main == ALL else row
                for row in rows
                if row.group == ALL
            ],
            {**_OF_SCORES, "self_preference": "own-family bonus" if mixed else bonus},
            "",
        ),
        (
            "Judges",
            [row for judge in judges[:_JUDGES_SHOWN] for row in ours if row.group == judge],
            {"leniency": "leniency" if compared else f"leniency,\n{unit.plural}", **_OF_SCORES},
            "judge",
        ),
        (
            "Variance components within a model, as shares of the variance of its scores",
            ours,
            {
                "persona_share": "persona",
                "residual_share": "persona × response\ninteraction, and error",
            },
            "model",
        ),
        (
            "Self-preference by family",
            [row for row in ours if row.group != ALL],
            {"self_preference": bonus},
            "family",
        ),
        (
            "Position bias: wins of the response shown first less wins of the second, as a share",
            sorted(places, key=lambda row: (row.group != ALL, -_size(row)))[: 1 + _JUDGES_SHOWN],
            {"position_bias": "position bias"},
            "judge",
        ),
    ):
        cells = [
            (headings[row.statistic], (row.group, row.dimension), row)
            for row in of
            if row.statistic in headings
        ]
        cut = [f"{n_more} more judges are in --json."] if title == "Judges" and n_more > 0 else []
        heads, columns = (head, "dimension"), headings.values()
        tables.append(made.table(title, cells, heads, columns, when="always", remarks=cut))
    return tables


def _unit_of(ratings: Ratings | None) -> FigureUnit:
    """Return the unit of what is of all dimensions together."""
    return POINTS if ratings is None or not any(rescaling_of(ratings)) else SHARES_OF_WIDTH


def _size(row: Row) -> float:
    return 0.0 if isnan(row.value) else abs(row.value)


def write_biases(rows: Sequence[Row], folder: Path, ratings: Ratings | None = None) -> Path:
    """Write `conclusion`, sentences, `rows`, and the digest of the judgments that they are of;
    return the path. Raises OSError."""
    document = {
        "conclusion": bias_conclusion(rows, ratings),
        "judgments": judgments_digest(folder),
        "rows": [{k: v for k, v in asdict(row).items() if k != "limits"} for row in rows],
    }
    path = folder / NAME
    replace_file(path, as_json(document, orjson.OPT_INDENT_2) + b"\n")
    return path


def read_biases(folder: Path) -> Result | None:
    """Return the result of the audit of bias in a run's folder, which says first where it is of
    other judgments than there are now; None where its file cannot be read."""
    try:
        measured = json_of(folder / NAME)
        TypeAdapter(_KeptBias).validate_python(measured)
        rows = [_row(each) for each in measured["rows"]]
        result = bias_result(rows, load_audited_run(folder).ratings)
        if judgments_digest(folder) != measured["judgments"]:
            result = replace(result, conclusion=[_OUTDATED, *result.conclusion])
        return result
    except (OSError, ValueError, LookupError, TypeError, InputError):
        return None


def _row(kept: Mapping[str, Any]) -> Row:
    """A row of the file; undefined numbers are null there."""
    there = {field.name: kept[field.name] for field in fields(Row) if field.name in kept}
    return Row(**there | {name: nan for name in _NUMBERS & there.keys() if there[name] is None})


def bias_conclusion(rows: Sequence[Row], ratings: Ratings | None = None) -> list[str]:
    """Return sentences on the biases of the panel that are significant, and the judges who are
    lenient or severe: where the interval, widened for all biases and judges together, leaves 0 out.
    They are of all dimensions together (on one scale, without `ratings`), or of the only one."""
    names = {row.dimension for row in rows if row.statistic == "length_correlation"}
    main = ALL if ALL in names else min(names, default=ALL)
    panel = {
        row.statistic: row
        for row in rows
        if row.group == ALL and row.statistic in _OF_THE_PANEL and row.dimension in (main, ALL)
    }
    judges = {
        row.group: row
        for row in rows
        if row.statistic == "leniency" and row.dimension == main and not row.reason
    }
    compared = are_of_comparisons((row.statistic, row.reason) for row in rows)
    on_some = any(row.statistic == "leniency" and not row.reason for row in rows)
    n_tests = len(judges) + sum(not row.reason for row in panel.values())
    unit = "" if compared else _unit_of(ratings).after_number
    # Why stands with the figures.
    without = [_NAMES[name] for name, row in panel.items() if row.reason]
    return [
        *_of_the_panel(panel, n_tests, unit),
        *_of_judges(judges, n_tests, compared=compared, on_some=on_some),
        *([f"Not measured: {listed(without)}."] if without else []),
    ]


def are_of_comparisons(rows: Iterable[tuple[str, str | None]]) -> bool:
    """Return whether judges compared responses, so that scores are shares of responses, not points,
    by the statistic of each row of biases and why it is undefined."""
    return ("leniency", Reason.COMPARED) in rows


def _of_the_panel(panel: Mapping[str, Row], n_tests: int, unit: str) -> list[str]:
    measured = {name: row for name, row in panel.items() if not row.reason}
    sentences = [f"Significant: {bias}" for bias in _significant(measured, n_tests, unit)]
    if open_ := [name for name, row in measured.items() if not _sign(row, n_tests)]:
        open_biases = "; ".join(f"{_NAMES[name]} {figure(measured[name])}" for name in open_)
        sentences.append(f"Not significant, and not ruled out: {open_biases}.")
    return sentences


def _significant(measured: Mapping[str, Row], n_tests: int, unit: str) -> Iterator[str]:
    for name, row in measured.items():
        if sign := _sign(row, n_tests):
            its = unit if name == "self_preference" else ""
            yield (
                f"{_OF_THE_PANEL[name][sign < 0]} ({_NAMES[name]} {signed(row.value)}{its}, 95 % "
                f"interval {ends(row.ci_low, row.ci_high)})."
            )


def _of_judges(
    judges: Mapping[str, Row], n_tests: int, *, compared: bool, on_some: bool
) -> list[str]:
    """Say who is lenient or severe; `on_some` is whether it is known on some dimension."""
    if compared:
        return [
            "Leniency cannot be measured: judges compared responses, and what a judge prefers does "
            "not depend on how lenient it is."
        ]
    if not judges:
        where = " on all dimensions" if on_some else ""
        return [f"Leniency cannot be measured: no two judges rated the same response{where}."]
    signs = {name: _sign(row, n_tests) for name, row in judges.items()}
    parts = [
        f"{listed(names, 'judges')} {'is' if len(names) == 1 else 'are'} more {how} than the panel"
        for sign, how in ((1, "lenient"), (-1, "severe"))
        if (names := [name for name, its in signs.items() if its == sign])
    ]
    n = counted(len(judges), "judge")
    if not parts:
        return [f"None of {n} is shown to be more lenient or more severe than the panel."]
    return [f"Of {n}, {'; '.join(parts)}."]


def _sign(row: Row, n_tests: int) -> int:
    fisher = row.statistic == "length_correlation"
    return sign_of(adjusted_ends(row, n_tests, fisher=fisher))
