"""Section 7, and the systems within strata: what not every run has.

What computes such a section is imported where the run has it: at the end of a run the modules of
all of them would take longer than the page of a small one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from persona_panel.results.formats.html import section
from persona_panel.runs.run import Run
from persona_panel.statistics.core.table import Coverage

if TYPE_CHECKING:
    from markupsafe import Markup

    from persona_panel.reports.page.swept import SweptSection

_STRATA_LINES = 200
"""How many systems within strata a page shows."""


@dataclass(frozen=True, slots=True)
class FurtherSections:
    """Each section, None where the run has nothing of the kind.

    Attributes:
        conclusion: of the sweep or the audit that the run is, in place of the run's own.
        coverage: of all judgments that a sweep planned.
    """

    strata: Markup | None = None
    deliberated: Markup | None = None
    swept: SweptSection | None = None
    audit: Markup | None = None
    bias: Markup | None = None
    key_points: Markup | None = None
    conclusion: Sequence[str] = ()
    coverage: Coverage | None = None


def further_sections(
    run: Run,
    manifest: Mapping[str, Any] | None,
    summary: Mapping[str, Any] | None,
    by: str | None,
    judges: Mapping[str, str],
) -> FurtherSections:
    """Return what a run has; arguments and errors as of `report_of`, with run.json, summary.json
    and what people read in place of judges."""
    found: dict[str, Any] = {}
    if by is not None:
        from persona_panel.analyses.breakdown.strata import systems_by
        from persona_panel.analyses.systems_by import systems_by_result

        result = systems_by_result(systems_by(run, by), run, lines=_STRATA_LINES)
        found["strata"] = section(result, f"By {by}", full=False)
    if run.before is not None:
        from persona_panel.analyses.deliberation import deliberation_result

        found["deliberated"] = section(deliberation_result(run), "Deliberation", level=3)
    if manifest is not None and summary is not None and "sweep" in summary:
        from persona_panel.reports.page.swept import swept_section

        found["swept"] = swept_section(run, manifest, summary)
        found["conclusion"] = summary["conclusion"]
        found["coverage"] = Coverage(**summary["coverage"])
    if run.folder is not None:
        if (run.folder / "injection.json").is_file():
            from persona_panel.experiments.audit.injection_result import read_injection

            if (audit := read_injection(run.folder, labels=judges)) is not None:
                found["conclusion"] = audit.conclusion
                below = replace(audit, conclusion=())
                found["audit"] = section(below, "Audit of prompt injection", level=3)
        if (run.folder / "bias.json").is_file():
            from persona_panel.reports.page.biased import bias_section

            found["bias"] = bias_section(run.folder)
        if (run.folder / "keypoints.json").is_file():
            from persona_panel.experiments.keypoints.key_points_result import read_key_points

            if (key_points := read_key_points(run, run.folder, judges)) is not None:
                title = "Key points of the judges’ reasons"
                found["key_points"] = section(key_points, title, level=3, full=False)
    return FurtherSections(**found)
