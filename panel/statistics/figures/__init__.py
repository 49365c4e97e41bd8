"""Statistics as figures for a paper: numbers and names in, a Matplotlib figure out."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal

from persona_panel.statistics.core.arrays import AnalysisOptions

if TYPE_CHECKING:
    from persona_panel.statistics.core.registry import Registry
    from persona_panel.statistics.core.table import Ratings, Row
    from persona_panel.statistics.figures.charts import PaperFigure


PageColumns = Literal[1, 2]
"""The width of a figure, in columns of a page."""

PLOTS = "pip install 'persona-panel[plots]'"
"""The way to install what figures need."""


def plots_at_hand() -> bool:
    """Return whether the packages for plots are installed."""
    return find_spec("matplotlib") is not None


def check_plots(columns: PageColumns) -> None:
    """Raise ModuleNotFoundError with the package to install where plots cannot be drawn, and
    ValueError for a width that is neither one column nor two."""
    if not plots_at_hand():
        raise ModuleNotFoundError(
            f"figures need matplotlib, which is not installed: {PLOTS}", name="matplotlib"
        )
    if columns not in (1, 2):
        raise ValueError(f"columns is 1 or 2, the columns of a page, found {columns!r}")


_NO_TESTS = AnalysisOptions(n_permutations=0)
_CEILING = "human_ceiling_"
_OVER = {
    "prompts": "95 % interval over {}",
    "prompts-and-judges": "95 % interval over {} and judges",
}


class RatingsPlots:
    """The figures of ratings, each a Matplotlib `Figure` to save as PDF, SVG or PNG.

    `columns` and `figure.caption` are as of a run's figures (`RunPlots`). Every method raises
    ModuleNotFoundError without matplotlib, and ValueError for other numbers of columns.
    """

    def __init__(self, ratings: Ratings) -> None:
        self._ratings = ratings

    def agreement(
        self,
        statistic: str = "krippendorff_alpha",
        *,
        options: AnalysisOptions = _NO_TESTS,
        columns: PageColumns = 1,
    ) -> PaperFigure:
        """Plot inter-rater agreement by dimension, for each group of raters and for all together.

        Args:
            statistic: the name of a statistic of `agree`, such as `krippendorff_alpha` or `icc2`.
            options: how it is computed, as of `agree`.

        Raises:
            ValueError: these ratings have no such statistic.
        """
        check_plots(columns)
        from persona_panel.statistics.agreement import agree, agreement_statistics
        from persona_panel.statistics.core.display import ALL

        _check(agreement_statistics, statistic)
        kept = _of(agree(self._ratings, options, only=[statistic]), [statistic])
        return _by_dimension(
            kept,
            self._ratings,
            _heading(agreement_statistics, statistic),
            {
                (row.group, row.statistic): "all raters" if row.group == ALL else row.group
                for row in kept
            },
            columns,
        )

    def correlation(
        self,
        humans: Ratings,
        statistic: str = "tau_c",
        *,
        options: AnalysisOptions = _NO_TESTS,
        columns: PageColumns = 1,
    ) -> PaperFigure:
        """Plot the correlation of these ratings of a panel with people's, by dimension, next to it
        that of one person with the others.

        Args:
            humans: people's ratings of the same items, as `load_aligned_ratings` gives them.
            statistic: the name of a correlation of `correlate`, such as `tau_c`, `spearman` or
                `tau_b_within_prompts`.
            options: how it is computed, as of `correlate`.

        Raises:
            ValueError: the two have no such statistic.
        """
        check_plots(columns)
        from persona_panel.statistics.comparison import comparison_statistics, correlate
        from persona_panel.statistics.core.display import ALL

        _check(comparison_statistics, statistic)
        ceiling = f"{_CEILING}{statistic}"
        kept = _of(correlate(self._ratings, humans, options), [statistic, ceiling])
        # The panel's groups first, then all of it; a person stands last.
        kept.sort(key=lambda row: row.statistic == ceiling)
        names = {
            (row.group, row.statistic): "one person, and the others"
            if row.statistic == ceiling
            else ("panel" if row.group == ALL else row.group)
            for row in kept
        }
        heading = _heading(comparison_statistics, statistic)
        return _by_dimension(kept, humans, f"{heading} with the mean human rating", names, columns)


def _check(registry: Registry[Any], statistic: str) -> None:
    names = [entry.name for entry in registry]
    if statistic not in names:
        raise ValueError(f"no statistic {statistic!r}; there are {', '.join(names)}")


def _of(rows: Sequence[Row], statistics: Sequence[str]) -> list[Row]:
    kept = [row for row in rows if row.by is None and row.statistic in statistics]
    if not any(row.statistic == statistics[0] for row in kept):
        raise ValueError(f"{statistics[0]!r} does not apply to these ratings")
    return kept


def _heading(registry: Registry[Any], statistic: str) -> str:
    return " ".join(next(entry.heading for entry in registry if entry.name == statistic).split())


def _by_dimension(
    rows: Sequence[Row],
    ratings: Ratings,
    axis: str,
    names: dict[tuple[str, str], str],
    columns: PageColumns,
) -> PaperFigure:
    """Plot a row for each dimension and a series for each name; the rows are not broken down."""
    from persona_panel.statistics.core.display import ALL
    from persona_panel.statistics.figures.charts import (
        ForestMarks,
        ForestPanel,
        ForestPoint,
        ForestSeries,
        forest,
    )

    dimensions = list(dict.fromkeys(row.dimension for row in rows))
    row_of = {(row.group, row.statistic, row.dimension): row for row in rows}
    series = []
    for (group, statistic), name in names.items():
        its = [row_of.get((group, statistic, dimension)) for dimension in dimensions]
        points = [None if row is None else ForestPoint(row.value, row.ci_low, row.ci_high)
                  for row in its]  # fmt: skip
        series.append(ForestSeries(name, points))
    sampled = "prompts" if ratings.prompts else "items"
    over = next((row.ci_over for row in rows if row.ci_over is not None), None)
    mark = "" if over is None else _OVER[over].format(sampled)
    figure = forest(
        ["all dimensions" if name == ALL else name.replace("_", " ") for name in dimensions],
        [ForestPanel("", series)],
        axis,
        ForestMarks(mark),
        columns=columns,
        zero=True,
    )
    reasons: dict[str, list[str]] = {}
    for row in rows:
        if why := row.reason or row.ci_reason:
            what = "value" if row.reason else "interval"
            reasons.setdefault(f"No {what} for {{}}: {why}.", []).append(
                f"{names[row.group, row.statistic]} ({row.dimension})"
            )
    sizes = f"{len(ratings.items):,} items, {ratings.counted_raters()}"
    figure.caption = " ".join(
        [f"{axis} by dimension; {sizes}{f'; lines: {mark}' if mark else ''}."]
        + [reason.replace("{}", "; ".join(those)) for reason, those in reasons.items()]
    )
    return figure
