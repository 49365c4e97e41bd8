"""Results as JSON, for programs: one document in UTF-8, in which what is undefined is null."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from math import isnan
from typing import TYPE_CHECKING, Any, TextIO

import orjson

from persona_panel.files.documents import as_json
from persona_panel.files.secrets.visible import say_json

if TYPE_CHECKING:
    from persona_panel.analyses.breakdown import Contested
    from persona_panel.analyses.breakdown.strata import SystemsBy
    from persona_panel.analyses.comparison.result import ComparedRuns, RunComparison, RunDifference
    from persona_panel.analyses.fidelity.result import FidelityReport
    from persona_panel.experiments.keypoints.report import KeyPointReport
    from persona_panel.experiments.prompt_sets.building import BuiltPrompts
    from persona_panel.runs.design import DesignReport
    from persona_panel.runs.run import Run
    from persona_panel.statistics import Alignment, Calibration, CorrectedMean, Ratings, Row

ANNOTATOR_TEST = "alt_test_"
"""What the names of its statistics begin with."""

_DIFFERENCE = (
    "a", "b", "dimension", "difference", "ci_low", "ci_high", "p", "p_adjusted", "effect_size",
    "n_prompts", "n_pairs",
)  # fmt: skip


def render_run(run: Run, labels: Mapping[str, str], to: TextIO) -> None:
    """What summary.json holds."""
    write_json(run.summary(), to)


def render_run_by(run: Run, found: SystemsBy, labels: Mapping[str, str], to: TextIO) -> None:
    """What summary.json holds, and under `breakdown` the fields of `SystemsBy`."""
    write_json({**run.summary(), "breakdown": asdict(found)}, to)


def render_prompt_set(built: BuiltPrompts, to: TextIO) -> None:
    """What the manifest has under `result`: the funnel, the writers, the diversity."""
    from persona_panel.experiments.prompt_sets.summary import document_of

    write_json(document_of(built), to)


def render_agreement(
    rows: Sequence[Row], ratings: Ratings, by: str, full: bool, to: TextIO
) -> None:
    """`conclusion`, a list of sentences, and `rows`, objects with the fields of `Row`."""
    from persona_panel.results.conclusions.agree import agree_conclusion

    _write_rows(agree_conclusion(rows, ratings, by), rows, to)


def render_design(report: DesignReport, to: TextIO) -> None:
    """Variance components and designs as lists of objects, and the cheapest design."""
    write_json(report.document(), to)


def render_comparison(
    rows: Sequence[Row], panel: Ratings, humans: Ratings, full: bool, to: TextIO
) -> None:
    """As `render_agreement`. Rows of the alternative annotator test have `rater`, too: the judge's
    name, null for the panel."""
    from persona_panel.results.conclusions.correlate import correlate_conclusion

    _write_rows(correlate_conclusion(rows, panel, humans), rows, to)


def render_calibration(found: Calibration, full: bool, to: TextIO) -> None:
    """`conclusion`, a list of sentences; `rows`, one for each system and dimension; `differences`,
    one for each pair of systems; `labels_to_halve`, how many items people would have to rate for
    half of a row's interval, null where more of those scored are not enough."""
    from persona_panel.results.conclusions.calibrate import calibrate_conclusion

    rows, to_halve = [], []
    for one in found.systems:
        names = {"system": one.system, "dimension": one.dimension}
        rows.append(names | _corrected(one.found))
        to_halve.append(names | {"n_human": one.found.n_human, "needed": one.found.to_halve})
    differences = []
    for pair in found.pairs:
        figures = _corrected(pair.found)
        del figures["lambda"]
        names = {"a": pair.a, "b": pair.b, "dimension": pair.dimension}
        differences.append(names | figures | {"p": pair.found.p, "p_adjusted": pair.p_adjusted})
    conclusion = calibrate_conclusion(found)
    parts = {"rows": rows, "differences": differences, "labels_to_halve": to_halve}
    write_json({"conclusion": conclusion, **parts}, to)


def render_alignment(found: Alignment, full: bool, to: TextIO) -> None:
    """`conclusion`, a list of sentences; `rows`, one for each dimension, method and figure, the
    verdict on the figure `rmse`; `people`, by dimension, how reliable their mean is; `rules`, what
    was learnt from everything that they rated."""
    from persona_panel.results.conclusions.align import align_conclusion, verdict

    rows, people, rules = [], [], []
    for each in found.dimensions:
        learnt = asdict(replace(each.learnt, methods=()))
        del learnt["methods"]
        people.append({"dimension": each.dimension, **learnt})
        for one in each.learnt.methods:
            names = {"dimension": each.dimension, "method": one.method}
            sizes = {"n_items": one.n_items, "n_prompts": one.n_prompts}
            for figure in one.figures:
                claim = figure is one.error
                rows.append(
                    names
                    | asdict(figure)
                    | {
                        "order_p": one.order_p if claim else None,
                        "p_adjusted": one.p_adjusted if claim else None,
                        "verdict": verdict(one) if claim else None,
                        **sizes,
                        "n_left_out": one.n_left_out,
                    }
                )
            rule = one.rule
            rules.append(
                names
                | {
                    "weights": rule and dict(zip(each.judges, rule.weights.tolist(), strict=True)),
                    "scores": rule and rule.scores.tolist(),
                    "values": rule and rule.values.tolist(),
                    "reason": one.reason,
                }
            )
    conclusion = align_conclusion(found)
    write_json({"conclusion": conclusion, "rows": rows, "people": people, "rules": rules}, to)


def render_run_comparison(comparison: RunComparison, to: TextIO) -> None:
    """A list of objects, one for each run compared with the first and dimension, that of the
    composite with the same of each system under `systems`, where there are several; of a comparison
    with people's ratings, or by strata, an object with that list, and the conclusion: under
    `people` a row for each run, dimension and figure (`tau_b`, `distance`, `alt_test_advantage`,
    `alt_test_winning_rate`), under `strata` and `apart` those of strata."""
    rows = [row for one in comparison.compared for row in _differences(one)]
    parts: dict[str, Any] = {}
    if any(one.people for one in comparison.compared):
        parts["people"] = [row for one in comparison.compared for row in _nearness(one)]
    if comparison.by is not None:
        parts["strata"] = [
            {"by": comparison.by, "stratum": row.stratum} | _difference(row)
            for one in comparison.compared
            for row in one.strata
        ]
        parts["apart"] = [asdict(row) for one in comparison.compared for row in one.apart]
    whole = {"conclusion": comparison.conclusion, "rows": rows, **parts}
    write_json(whole if parts else rows, to)


def _differences(one: ComparedRuns) -> Iterator[dict[str, Any]]:
    """Each dimension's difference, the composite's with those of the systems."""
    from persona_panel.statistics.core.names import COMPOSITE

    systems = []
    for row in one.systems:
        figures = _difference(row)
        del figures["dimension"]
        systems.append({"system": row.system} | figures)
    for row in one.differences:
        of_systems = {"systems": systems} if systems and row.dimension == COMPOSITE else {}
        yield _difference(row) | of_systems


def _difference(row: RunDifference) -> dict[str, Any]:
    return {name: getattr(row, name) for name in _DIFFERENCE}


def _nearness(one: ComparedRuns) -> Iterator[dict[str, Any]]:
    """Each figure of how near either panel is to people."""
    for dimension, found in one.people:
        sides = {
            "tau_b": (found.a_tau, found.b_tau, found.tau),
            "distance": (found.a_distance, found.b_distance, found.distance),
        }
        if (places := found.advantages) is not None:
            pair = places.a_advantage, places.b_advantage, places.difference
            sides["alt_test_advantage"] = pair
        names = {"a": one.a, "b": one.b, "dimension": dimension}
        for statistic, (a, b, figure) in sides.items():
            facts = {name: value for name, value in asdict(figure).items() if name != "value"}
            values = {"a_value": a, "b_value": b, "difference": figure.value}
            yield names | {"statistic": statistic} | values | facts
        if places is not None and not isnan(places.a_winning_rate):
            rates = {"a_value": places.a_winning_rate, "b_value": places.b_winning_rate}
            yield names | {"statistic": "alt_test_winning_rate"} | rates


def render_fidelity(found: FidelityReport, to: TextIO) -> None:
    """A list of objects, one for each contrast, with the fields of `FidelityContrast`."""
    write_json([asdict(row) for row in found.rows], to)


def render_biases(rows: Sequence[Row], ratings: Ratings, to: TextIO) -> None:
    """As `render_agreement`."""
    from persona_panel.results.conclusions.bias import bias_conclusion

    _write_rows(bias_conclusion(rows), rows, to)


def render_contested(found: Sequence[Contested], top: int, to: TextIO) -> None:
    """`conclusion`, a list of sentences, and `responses`, objects with the fields of
    `Contested`."""
    from persona_panel.analyses.breakdown.contested import conclusion_on

    responses = [asdict(one) for one in found[:top]]
    write_json({"conclusion": conclusion_on(found), "responses": responses}, to)


def _corrected(found: CorrectedMean) -> dict[str, Any]:
    return {
        "panel": found.panel,
        "human_only": found.human_only,
        "human_ci_low": found.human_ci_low,
        "human_ci_high": found.human_ci_high,
        "corrected": found.corrected,
        "ci_low": found.ci_low,
        "ci_high": found.ci_high,
        "lambda": found.tuning,
        "n_human": found.n_human,
        "n_items": found.n_items,
        "notes": list(map(str, found.notes)),
    }


def render_key_points(report: KeyPointReport, to: TextIO) -> None:
    """What keypoints.json holds."""
    from persona_panel.experiments.keypoints.document import key_points_document

    write_json(key_points_document(report), to)


def _write_rows(conclusion: Sequence[str], rows: Sequence[Row], to: TextIO) -> None:
    write_json({"conclusion": conclusion, "rows": list(map(_row, rows))}, to)


def _row(row: Row) -> dict[str, Any]:
    found = asdict(row)
    return {**found, "rater": row.by_value} if row.statistic.startswith(ANNOTATOR_TEST) else found


def write_json(document: Any, to: TextIO | None = None) -> None:
    """Print a document, on standard output unless told otherwise."""
    say_json(as_json(document, orjson.OPT_INDENT_2).decode(), to)
