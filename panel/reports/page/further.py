"""Section 7: what not every run has, each the result of what made it.

What reads such a result is imported where the run has it: at the end of a run the modules of all of
them would take longer than the page of a small one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from markupsafe import Markup

from persona_panel.results.formats.html import section
from persona_panel.results.result import Result
from persona_panel.runs.run import Run


@dataclass(frozen=True, slots=True)
class FurtherResult:
    """A result with its title; in short, or with the tables of the full report.

    Attributes:
        leads: whether it concludes in place of the run, which is a sweep or an audit.
    """

    title: str
    result: Result
    full: bool = True
    leads: bool = False

    def section(self) -> Markup:
        """Return its section; what concludes in place of the run does so in section 1."""
        shown = replace(self.result, conclusion=()) if self.leads else self.result
        return section(shown, self.title, level=3, full=self.full)


def further_results(
    run: Run,
    manifest: Mapping[str, Any] | None,
    summary: Mapping[str, Any] | None,
    judges: Mapping[str, str],
    titles: Mapping[str, str],
) -> Iterator[FurtherResult]:
    """Yield what a run has.

    Args:
        manifest, summary: run.json and summary.json of its folder.
        judges, titles: what people read in place of the ids of judges and prompts.
    """
    if run.before is not None:
        from persona_panel.analyses.deliberation import deliberation_result

        yield FurtherResult("Deliberation", deliberation_result(run))
    if manifest is not None and summary is not None and "sweep" in summary:
        from persona_panel.experiments.sweep.sweep_result import kept_sweep_result

        yield FurtherResult("Sweep", kept_sweep_result(run, manifest, summary, titles), leads=True)
    if (folder := run.folder) is None:
        return
    if (folder / "injection.json").is_file():
        from persona_panel.experiments.audit.uplift import read_injection

        if (audit := read_injection(folder, labels=judges)) is not None:
            yield FurtherResult("Audit of prompt injection", audit, leads=True)
    if (folder / "bias.json").is_file():
        from persona_panel.experiments.audit.bias_result import read_biases

        if (bias := read_biases(folder)) is not None:
            yield FurtherResult("Audit of bias", bias)
    if (folder / "keypoints.json").is_file():
        from persona_panel.experiments.keypoints.report import read_key_points

        if (key_points := read_key_points(run, folder, judges)) is not None:
            yield FurtherResult("Key points of the judges’ reasons", key_points, full=False)
