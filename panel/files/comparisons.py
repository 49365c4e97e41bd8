"""The comparisons that a run's folder holds: which of two responses a judge preferred.

Reads what `persona_panel.runs.folder` writes; ratings are read by `persona_panel.files.judgments`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple, get_args

from persona_panel.files.errors import InputError
from persona_panel.files.records import Fields, Report, read_records
from persona_panel.files.wording import shown
from persona_panel.rubrics.comparison import Outcome

_COMPARISON_TEXTS = ("prompt_id", "id", "judge")
_COMPARISON_FIELDS = Fields(
    tuple((name, (name,)) for name in (*_COMPARISON_TEXTS, "comparisons")),
    frozenset({"comparisons"}),
    is_users=False,
    grows=True,
)
_OUTCOMES = get_args(Outcome)


class Compared(NamedTuple):
    """A judge's word on two responses to a prompt, by where they stood."""

    prompt_id: str
    judge: str
    first: str
    second: str
    outcome: Outcome


def read_comparisons(path: Path) -> list[Compared]:
    """The comparisons in a judgments.jsonl; none where no judge compared.

    Raises:
        InputError: a line cannot be read; lists every fault.
    """
    report = Report(str(path))
    found = []
    for record in read_records(path, _COMPARISON_FIELDS, report):
        said = record.cells.get("comparisons") or {}
        if not (isinstance(said, Mapping) and all(one in _OUTCOMES for one in said.values())):
            expected = f"for other responses {', '.join(_OUTCOMES)}"
            report.add(shown(said), expected, line=record.line, field="comparisons")
            continue
        if not said:
            continue
        prompt_id, first, judge = (str(record.cells.get(name)) for name in _COMPARISON_TEXTS)
        found += [
            Compared(prompt_id, judge, first, second, outcome) for second, outcome in said.items()
        ]
    if report.faults:
        raise InputError(report.faults)
    return found
