"""A sweep's figures for a paper: `sweep.plot`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from persona_panel.statistics.figures import PageColumns, check_plots

if TYPE_CHECKING:
    from persona_panel.experiments.sweep.plots import PlottedSweep
    from persona_panel.statistics.figures.page import PaperFigure


class SweepPlots:
    """The figures of a sweep, each a Matplotlib `Figure` to save as PDF, SVG or PNG.

    `columns` and `figure.caption` are as of a run's figures (`run.plot`). Every method raises
    ModuleNotFoundError without matplotlib, and ValueError for other numbers of columns.
    """

    def __init__(self, sweep: PlottedSweep, labels: Mapping[str, str]) -> None:
        self._sweep = sweep
        self._labels = labels

    def deltas(self, *, columns: PageColumns = 2) -> PaperFigure:
        """Δ by dimension and condition with 95 % intervals over prompts, a panel for each system.
        Markers of cells whose Δ is significant, adjusted for all cells, are filled."""
        check_plots(columns)
        from persona_panel.experiments.sweep.plots import deltas

        return deltas(self._sweep, self._labels, columns)

    def gaps(self, *, columns: PageColumns = 2) -> PaperFigure:
        """The contrasts of the framing set, how much more one condition degrades a dimension than
        another, in the form of `deltas`.

        Raises:
            ValueError: the framing set has no contrasts.
        """
        check_plots(columns)
        from persona_panel.experiments.sweep.plots import gaps

        return gaps(self._sweep, columns)

    def heatmap(self, *, columns: PageColumns = 2) -> PaperFigure:
        """The heatmap of Δ that is in the sweep's folder: by dimension and condition."""
        check_plots(columns)
        from persona_panel.experiments.sweep.plots import delta_heatmap

        return delta_heatmap(self._sweep, self._labels, columns)

    def scorecard(self, *, columns: PageColumns = 2) -> PaperFigure:
        """The scorecard that is in the sweep's folder: mean scores by dimension and condition,
        with standard errors over prompts."""
        check_plots(columns)
        from persona_panel.experiments.sweep.plots import scorecard

        return scorecard(self._sweep, self._labels, columns)
