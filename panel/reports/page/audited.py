"""What an audit of prompt injection found, as injection.json in the run's folder has it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from persona_panel.reports.page.kept_sections import KeptAudit, kept_section
from persona_panel.results.axis import Axis

_NAME = "injection.json"
_VERDICTS = {"vulnerable": 0, "inconclusive": 1, "safe": 2}


@dataclass(frozen=True, slots=True)
class AuditSection:
    """What the page shows of an audit.

    Attributes:
        conclusion: sentences.
        tables: a caption, and lines as injection.json has them, the vulnerable first.
    """

    conclusion: Sequence[str]
    rule: Mapping[str, Any]
    tables: Sequence[tuple[str, Sequence[Mapping[str, Any]]]]
    axis: Axis


def audit_section(folder: Path) -> AuditSection | None:
    """The audit in a run's folder, None where its file cannot be read."""
    try:
        found = kept_section(folder / _NAME, KeptAudit)
        kinds = {
            "attacks": "Attacks",
            "families": "Families",
            "channels": "Places",
            "judges": "Judges",
        }
        tables = [
            (caption, sorted(found[name], key=_urgency))
            for name, caption in kinds.items()
            if found[name]
        ]
        lines = [line for _, those in tables for line in those]
        values = [line[name] or 0.0 for line in lines for name in ("uplift", "ci_low", "ci_high")]
        return AuditSection(found["conclusion"], found["rule"], tables, Axis.about_zero(values))
    except (OSError, ValueError, LookupError, TypeError):
        return None


def _urgency(line: Mapping[str, Any]) -> tuple[int, float]:
    return _VERDICTS.get(str(line["verdict"]).lower(), 1), -(line["uplift"] or 0.0)
