"""Results as tables and sentences in a terminal: the conclusion first, then its figures."""

from __future__ import annotations

from typing import TYPE_CHECKING, TextIO

# Nothing is imported here that the result at hand may do without.
if TYPE_CHECKING:
    from persona_panel.experiments.keypoints.report import KeyPointReport
    from persona_panel.experiments.prompt_sets.building import BuiltPrompts
    from persona_panel.statistics import Alignment


def render_prompt_set(built: BuiltPrompts, to: TextIO) -> None:
    """The funnel of the set, who wrote its prompts, and how diverse they are."""
    from persona_panel.reports.formats.terminal.prompt_set import show_prompt_set
    from persona_panel.results.console import output

    show_prompt_set(built, output(to))


def render_alignment(found: Alignment, full: bool, to: TextIO) -> None:
    """The conclusion and the change of the error, a line a dimension, or all tables."""
    from persona_panel.reports.formats.terminal.alignment import show_alignment
    from persona_panel.results.console import output

    show_alignment(found, output(to), full=full)


def render_key_points(report: KeyPointReport, to: TextIO) -> None:
    """What judges say most often and on which points systems differ, then the counts."""
    from persona_panel.reports.formats.terminal.key_points import show_key_points
    from persona_panel.results.console import output

    show_key_points(report, output(to))
