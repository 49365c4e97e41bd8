"""Results as JSON, for programs: one document in UTF-8, in which what is undefined is null."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TextIO

import orjson

from persona_panel.files.outputs import as_json
from persona_panel.files.secrets.visible import say_json

if TYPE_CHECKING:
    from persona_panel.analyses.breakdown.strata import SystemsBy
    from persona_panel.runs.run import Run


def render_run(run: Run, labels: Mapping[str, str], to: TextIO) -> None:
    """What summary.json holds."""
    write_json(run.summary(), to)


def render_run_by(run: Run, found: SystemsBy, labels: Mapping[str, str], to: TextIO) -> None:
    """What summary.json holds, and under `breakdown` the result of the strata."""
    from persona_panel.analyses.systems_by import systems_by_result
    from persona_panel.results.document import result_document

    breakdown = result_document(systems_by_result(found, run))
    write_json({**run.summary(), "breakdown": breakdown}, to)


def write_json(document: Any, to: TextIO | None = None) -> None:
    """Print a document, on standard output unless told otherwise."""
    say_json(as_json(document, orjson.OPT_INDENT_2).decode(), to)
