"""Results as tables and sentences in a terminal: the conclusion first, then its figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

# Nothing is imported here that the result at hand may do without.
if TYPE_CHECKING:
    from rich.console import Console

    from persona_panel.analyses.breakdown import Contested
    from persona_panel.analyses.breakdown.strata import SystemsBy
    from persona_panel.analyses.comparison.result import RunComparison
    from persona_panel.analyses.fidelity.result import FidelityReport
    from persona_panel.experiments.keypoints.report import KeyPointReport
    from persona_panel.experiments.prompt_sets.building import BuiltPrompts
    from persona_panel.runs.design import DesignReport
    from persona_panel.runs.run import Run
    from persona_panel.statistics import Alignment, Calibration, Ratings, Row


def render_run(run: Run, labels: Mapping[str, str], to: TextIO) -> None:
    """The leaderboard, the ranking within each prompt, what is missing, and what a deliberation
    changed."""
    from persona_panel.reports.formats.terminal.run import show_run
    from persona_panel.results.console import output

    console = output(to)
    show_run(run, console, labels)
    if (report := run.deliberation()) is not None:
        from persona_panel.reports.formats.terminal.deliberation import show_deliberation

        show_deliberation(report, console, labels)
    _show_folder(run.folder, console)


def render_run_by(run: Run, found: SystemsBy, labels: Mapping[str, str], to: TextIO) -> None:
    """As `render_run`, then the systems within strata."""
    from persona_panel.reports.formats.terminal.systems_by import show_systems_by
    from persona_panel.results.console import output

    render_run(run, labels, to)
    show_systems_by(found, output(to))


def render_prompt_set(built: BuiltPrompts, to: TextIO) -> None:
    """The funnel of the set, who wrote its prompts, and how diverse they are."""
    from persona_panel.reports.formats.terminal.prompt_set import show_prompt_set
    from persona_panel.results.console import output

    show_prompt_set(built, output(to))


def render_agreement(
    rows: Sequence[Row], ratings: Ratings, by: str, full: bool, to: TextIO
) -> None:
    """The conclusion and the main statistics of all raters, a line a dimension, or all tables."""
    from persona_panel.reports.formats.terminal.agreement import show_agreement
    from persona_panel.results.console import output

    show_agreement(rows, ratings, by, output(to), full=full)


def render_design(report: DesignReport, to: TextIO) -> None:
    """What the present design gives and what would narrow it, variance components, designs."""
    from persona_panel.reports.formats.terminal.design import show_design
    from persona_panel.results.console import output

    show_design(report, output(to))


def render_comparison(
    rows: Sequence[Row], panel: Ratings, humans: Ratings, full: bool, to: TextIO
) -> None:
    """The conclusion and the main statistics, a line a dimension, or all tables."""
    from persona_panel.reports.formats.terminal.comparison import show_comparison
    from persona_panel.results.console import output

    show_comparison(rows, panel, humans, output(to), full=full)


def render_calibration(found: Calibration, full: bool, to: TextIO) -> None:
    """The conclusion, and systems' means by the panel, by people and corrected, or all tables."""
    from persona_panel.reports.formats.terminal.calibration import show_calibration
    from persona_panel.results.console import output

    show_calibration(found, output(to), full=full)


def render_alignment(found: Alignment, full: bool, to: TextIO) -> None:
    """The conclusion and the change of the error, a line a dimension, or all tables."""
    from persona_panel.reports.formats.terminal.alignment import show_alignment
    from persona_panel.results.console import output

    show_alignment(found, output(to), full=full)


def render_run_comparison(comparison: RunComparison, to: TextIO) -> None:
    """For each run compared with the first: what was compared, differences, what changed most and,
    of panels, how alike they are and which is nearer to people."""
    from persona_panel.reports.formats.terminal.run_comparison import show_run_comparison
    from persona_panel.results.console import output

    show_run_comparison(comparison, output(to))


def render_fidelity(found: FidelityReport, to: TextIO) -> None:
    """What is established, then people's and personas' differences by contrast."""
    from persona_panel.reports.formats.terminal.fidelity import show_fidelity
    from persona_panel.results.console import output

    show_fidelity(found, output(to))


def render_biases(rows: Sequence[Row], ratings: Ratings, to: TextIO) -> None:
    """A table for each bias."""
    from persona_panel.reports.formats.terminal.bias import show_biases
    from persona_panel.results.console import output

    show_biases(rows, ratings, output(to))


def render_contested(found: Sequence[Contested], top: int, to: TextIO) -> None:
    """How many are contested beyond noise, then each with who stands on which side."""
    from persona_panel.analyses.breakdown.contested import conclusion_on
    from persona_panel.reports.formats.terminal.contested import show_contested
    from persona_panel.results.console import output

    show_contested(found, conclusion_on(found), top, output(to))


def render_key_points(report: KeyPointReport, to: TextIO) -> None:
    """What judges say most often and on which points systems differ, then the counts."""
    from persona_panel.reports.formats.terminal.key_points import show_key_points
    from persona_panel.results.console import output

    show_key_points(report, output(to))


def _show_folder(folder: Path | None, console: Console) -> None:
    if folder is None:
        return
    from persona_panel.files.run_copies import is_copy, shown_folder

    # It is not at its address yet: who sends it says so.
    if not is_copy(folder):
        console.print(f"The run is in {shown_folder(folder)}", soft_wrap=True)
