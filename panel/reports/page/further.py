"""The sections that not every run has, each the result of what made it.

What reads such a result is imported where the run has it: at the end of a run the modules of all of
them would take longer than the page of a small one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from persona_panel.analyses.answers import command_on
from persona_panel.reports.page.sections import PageSection
from persona_panel.runs.run import Run


def further_results(
    run: Run,
    manifest: Mapping[str, Any] | None,
    summary: Mapping[str, Any] | None,
    judges: Mapping[str, str],
    titles: Mapping[str, str],
) -> Iterator[PageSection]:
    """Yield what a run has.

    Args:
        manifest, summary: run.json and summary.json of its folder.
        judges, titles: what people read in place of the ids of judges and prompts.
    """
    command = command_on(run, "report")
    if run.before is not None:
        from persona_panel.analyses.deliberation import deliberation_result

        yield PageSection("Deliberation", "Deliberation", deliberation_result(run), command)
    if manifest is not None and summary is not None and "sweep" in summary:
        from persona_panel.experiments.sweep.sweep_result import kept_sweep_result

        swept = kept_sweep_result(run, manifest, summary, titles)
        yield PageSection("Sweep", "Sweep", swept, command, leads=True)
    if (folder := run.folder) is None:
        return
    if (folder / "injection.json").is_file():
        from persona_panel.experiments.audit.uplift import read_injection

        if (audit := read_injection(folder, labels=judges)) is not None:
            yield PageSection("Injection", "Audit of prompt injection", audit, command, leads=True)
    if (folder / "bias.json").is_file():
        from persona_panel.analyses.bias_result import read_biases

        if (bias := read_biases(folder)) is not None:
            yield PageSection("Bias", "Audit of bias", bias, command_on(run, "audit bias"))
    if (folder / "keypoints.json").is_file():
        from persona_panel.experiments.keypoints.report import read_key_points

        if (key_points := read_key_points(run, folder, judges)) is not None:
            title = "Key points of the judges’ reasons"
            yield PageSection("Key points", title, key_points, command, full=False)
