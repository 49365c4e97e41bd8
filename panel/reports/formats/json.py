"""Results as JSON, for programs: one document in UTF-8, in which what is undefined is null."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, TextIO

import orjson

from persona_panel.files.outputs import as_json
from persona_panel.files.secrets.visible import say_json

if TYPE_CHECKING:
    from persona_panel.experiments.keypoints.report import KeyPointReport
    from persona_panel.experiments.prompt_sets.building import BuiltPrompts
    from persona_panel.statistics import Alignment


def render_prompt_set(built: BuiltPrompts, to: TextIO) -> None:
    """What the manifest has under `result`: the funnel, the writers, the diversity."""
    from persona_panel.experiments.prompt_sets.building import document_of

    write_json(document_of(built), to)


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


def render_key_points(report: KeyPointReport, to: TextIO) -> None:
    """What keypoints.json holds."""
    from persona_panel.experiments.keypoints.report import key_points_document

    write_json(key_points_document(report), to)


def write_json(document: Any, to: TextIO | None = None) -> None:
    """Print a document, on standard output unless told otherwise."""
    say_json(as_json(document, orjson.OPT_INDENT_2).decode(), to)
