"""Biases of the panel and its judges, of which bias.json in the run's folder has the figures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from math import nan
from pathlib import Path
from typing import Any

from markupsafe import Markup
from pydantic import ConfigDict, TypeAdapter, with_config
from typing_extensions import TypedDict

from persona_panel.experiments.audit.audited import load_audited_run
from persona_panel.experiments.audit.bias_result import NAME, bias_result, judgments_digest
from persona_panel.files.errors import InputError
from persona_panel.files.limits import json_of
from persona_panel.results.formats.html import section
from persona_panel.statistics.core.table import Row

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
    """What the page shows of bias.json."""

    conclusion: list[str]
    judgments: str
    rows: list[_BiasRow]


def bias_section(folder: Path) -> Markup | None:
    """Return the audit of bias in a run's folder; None where its file cannot be read."""
    try:
        found = json_of(folder / NAME)
        TypeAdapter(_KeptBias).validate_python(found)
        rows = [_row(each) for each in found["rows"]]
        result = bias_result(rows, load_audited_run(folder).ratings)
        if judgments_digest(folder) != found["judgments"]:
            result = replace(result, conclusion=[_OUTDATED, *result.conclusion])
        return section(result, "Audit of bias", level=3)
    except (OSError, ValueError, LookupError, TypeError, InputError):
        return None


def _row(kept: Mapping[str, Any]) -> Row:
    """A row of the file; undefined numbers are null there."""
    there: dict[str, Any] = {
        field.name: kept[field.name] for field in fields(Row) if field.name in kept
    }
    undefined = {name: nan for name in _NUMBERS & there.keys() if there[name] is None}
    return Row(**{**there, **undefined})
