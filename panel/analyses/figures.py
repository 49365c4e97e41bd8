"""A run as figures for a paper."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from math import isinf, isnan, nan
from typing import TYPE_CHECKING, Literal

from persona_panel.files.secrets import SECRETS
from persona_panel.planning.panel_plan import counted_judges
from persona_panel.results.page_columns import PageColumns, check_plots
from persona_panel.rubrics import Rubric
from persona_panel.runs.scale_limits import (
    POINTS,
    FigureUnit,
    composite_limits,
    dimension_labels,
    mean_limits,
    unit_of,
    unit_of_ratings,
)
from persona_panel.statistics.core.display import counted, general
from persona_panel.statistics.core.estimate import LEVEL
from persona_panel.statistics.core.ranking import SystemDifference, SystemRank
from persona_panel.statistics.core.sampled_mean import Limits

if TYPE_CHECKING:
    from persona_panel.results.charts import ForestPoint, PaperFigure
    from persona_panel.runs.run import Run

_OVER_PROMPTS = "95 % interval over prompts"
_OVER_BOTH = "95 % interval over prompts and judges"
_SAMPLES = {"prompts": _OVER_PROMPTS, "prompts-and-judges": _OVER_BOTH}


class RunPlots:
    """The figures of a run, each a Matplotlib `Figure` to save as PDF, SVG or PNG.

    `columns` is how wide a figure is: one column of a page (3.3 inches) or two (6.9); its height
    follows from what is in it. `figure.caption` says in words what is drawn, of how many, and what
    is missing and why. Figures have no title, letters that a PDF embeds, colours that colour-blind
    readers tell apart, and say nothing by colour alone. pyplot does not know them: nothing has
    to be closed.

    Every method raises ModuleNotFoundError without matplotlib, and ValueError for other numbers
    of columns.
    """

    def __init__(self, run: Run) -> None:
        self._run = run

    def systems(self, dimension: str | None = None, *, columns: PageColumns = 1) -> PaperFigure:
        """Draw a forest plot of the leaderboard: each system's composite, the best first, with its
        95 % intervals over prompts, and over prompts and judges.

        Args:
            dimension: the mean on this dimension, with its interval over prompts, in place of the
                composite; the share of a category is called `dimension:category`.

        Raises:
            ValueError: there is no such dimension.
        """
        check_plots(columns)
        from persona_panel.results.charts import (
            ForestMarks,
            ForestPanel,
            ForestSeries,
            forest,
        )

        systems = self._run.leaderboard().systems
        if dimension is None:
            what, unit = "Composite", composite_unit(self._run.rubric)
            points = [_composite(entry) for entry in systems]
        else:
            self._check(dimension, systems)
            (unit,) = units_of(self._run.rubric, [dimension])
            what = dimension_labels(self._run.rubric)[dimension]
            points = [_mean(entry, dimension) for entry in systems]
        wide = any(not isnan(point.wide_low) for point in points)
        figure = forest(
            [SECRETS.scrub(entry.system) for entry in systems],
            [ForestPanel("", [ForestSeries(what, points)])],
            f"{what} ({unit})",
            ForestMarks(_OVER_PROMPTS, _OVER_BOTH if wide else ""),
            columns=columns,
        )
        sentences = [
            f"{what} of {self._sizes(systems)} ({unit}); thick lines: {_OVER_PROMPTS}"
            + (f"; thin lines: {_OVER_BOTH}." if wide else ".")
        ]
        if dimension is None:
            for sample, reasons in (
                ("prompts", [(each.system, each.composite.reason) for each in systems]),
                (
                    "prompts and judges",
                    [(each.system, each.with_judges.reason) for each in systems],
                ),
            ):
                sentences += _reasons(f"interval over {sample}", reasons)
        figure.caption = " ".join(sentences)
        return figure

    def dimensions(self, *, columns: PageColumns = 2) -> PaperFigure:
        """Draw a forest plot for each dimension, systems in the order of the leaderboard: means
        with their 95 % intervals over prompts; of dimensions with categories, the share of each."""
        check_plots(columns)
        from persona_panel.results.charts import (
            ForestMarks,
            ForestPanel,
            ForestSeries,
            forest,
        )

        run = self._run
        systems = run.leaderboard().systems
        names = list(systems[0].dimensions) if systems else [item.id for item in run.rubric.numeric]
        units = units_of(run.rubric, names)
        labels = dimension_labels(run.rubric)
        same = len(set(units)) == 1
        figure = forest(
            [SECRETS.scrub(entry.system) for entry in systems],
            [
                ForestPanel(
                    labels[name] if same else f"{labels[name]} ({unit})",
                    [ForestSeries(name, [_mean(entry, name) for entry in systems])],
                )
                for name, unit in zip(names, units, strict=True)
            ],
            f"Mean ({units[0]})" if same else "Mean",
            ForestMarks(_OVER_PROMPTS),
            columns=columns,
            together=same,
        )
        figure.caption = f"Means by dimension of {self._sizes(systems)}; lines: {_OVER_PROMPTS}."
        return figure

    def differences(self, reference: str | None = None, *, columns: PageColumns = 1) -> PaperFigure:
        """Draw each other system's difference from one, with its 95 % interval; the marker is
        filled where p, adjusted by Shaffer's procedure over all pairs of systems, is below 0.05.

        Args:
            reference: the system that is taken from the others, the best unless named.

        Raises:
            ValueError: there is no such system, or no other.
        """
        check_plots(columns)
        from persona_panel.results.charts import (
            ForestMarks,
            ForestPanel,
            ForestPoint,
            ForestSeries,
            forest,
        )

        board = self._run.leaderboard()
        names = [entry.system for entry in board.systems]
        if len(names) < 2:
            raise ValueError(f"a difference takes two systems, found {len(names)}")
        reference = names[0] if reference is None else reference
        if reference not in names:
            raise ValueError(f"no system {reference!r}; there are {', '.join(names)}")
        of = {(difference.a, difference.b): difference for difference in board.differences}
        others = [name for name in names if name != reference]
        points, result = [], []
        for name in others:
            if (item := of.get((name, reference))) is not None:
                points.append(ForestPoint(item.value, *item.ends))
            elif (item := of.get((reference, name))) is not None:
                points.append(ForestPoint(-item.value, -item.high, -item.low))
            else:
                points.append(ForestPoint(nan))
                continue
            points[-1] = replace(points[-1], filled=item.shown)
            result.append(item)
        sample = _SAMPLES[board.random]
        shown = SECRETS.scrub(reference)
        figure = forest(
            [SECRETS.scrub(name) for name in others],
            [ForestPanel("", [ForestSeries("difference", points)])],
            f"Difference of the composite from {shown} ({unit_of(self._run.rubric).plural})",
            ForestMarks(sample, filled=f"adjusted p < {LEVEL}", empty=f"adjusted p ≥ {LEVEL}"),
            columns=columns,
            zero=True,
        )
        figure.caption = " ".join(
            [
                f"Differences of the composite from {shown}, of {self._sizes(board.systems)}; "
                f"lines: {sample}, not widened for the number of pairs; p: paired t-tests, "
                "adjusted by Shaffer's procedure over all pairs of systems.",
                *_untested(result),
            ]
        )
        return figure

    def strengths(self, *, columns: PageColumns = 1) -> PaperFigure:
        """Draw the systems' Bradley-Terry strengths with their 95 % intervals, where judges compare
        responses.

        Raises:
            ValueError: the judges of this run rate responses one by one.
        """
        check_plots(columns)
        from persona_panel.results.charts import (
            ForestMarks,
            ForestPanel,
            ForestPoint,
            ForestSeries,
            forest,
        )

        result = self._run.strengths()
        if result is None:
            raise ValueError("strengths are of judges that compare responses; these rate them")
        points = [
            ForestPoint(system.strength.value, *system.strength.ends) for system in result.systems
        ]
        figure = forest(
            [SECRETS.scrub(system.system) for system in result.systems],
            [ForestPanel("", [ForestSeries("strength", points)])],
            "Bradley-Terry strength (log-odds; 0 is the mean)",
            ForestMarks(_SAMPLES[result.random]),
            columns=columns,
            zero=True,
        )
        reasons = [(each.system, each.strength.reason) for each in result.systems]
        undefined = [
            reason
            for each, reason in zip(result.systems, reasons, strict=True)
            if isnan(each.strength.value)
        ]
        figure.caption = " ".join(
            [
                f"Bradley-Terry strengths of {counted(len(result.systems), 'system')}; lines: "
                f"{_SAMPLES[result.random]}.",
                *_reasons("strength", undefined),
                *_reasons("interval", reasons),
            ]
        )
        return figure

    def personas(
        self, by: Literal["system", "dimension"] = "system", *, columns: PageColumns = 2
    ) -> PaperFigure:
        """Draw a heatmap of how far each persona is from the panel on each system, on the same
        responses and with the persona's severity taken out: who sees a system otherwise. A star:
        more than chance explains. Personas are grouped by their axes.

        Args:
            by: `dimension`: on each dimension in place of each system.
        """
        check_plots(columns)
        from persona_panel.analyses.judge_groups import persona_departures
        from persona_panel.results.heatmap import HeatCell, HeatPanel, heatmap

        run = self._run
        result = persona_departures(run)
        if by == "system":
            departures, unit = result.by_system, unit_of(run.rubric)
            order = [entry.system for entry in run.leaderboard().systems]
            heads = [SECRETS.scrub(name) for name in order]
        else:
            departures, unit = result.by_dimension, unit_of_ratings(run.rubric)
            order = [dimension.id for dimension in run.rubric.numeric]
            heads = [dimension.label for dimension in run.rubric.numeric]
        of = {(departure.persona, departure.on): departure for departure in departures}
        panels = []
        for axis, personas in self._personas_by_axis(result.personas).items():
            its = [[of[persona, name] for name in order] for persona in personas]
            cells = [
                [HeatCell(item.value, "*" if item.shown else "") for item in row] for row in its
            ]
            panels.append(HeatPanel(axis, list(personas.values()), cells))
        figure = heatmap(
            heads,
            panels,
            f"Departure from the panel ({unit.plural})",
            [("negative", "below the panel"), ("*", f"adjusted p < {LEVEL}")],
            columns=columns,
            least=least_shown(run.rubric),
        )
        whys = dict.fromkeys(
            departure.reason for departure in departures if departure.reason is not None
        )
        figure.caption = " ".join(
            [
                f"Mean rating of each persona less that of the panel by {by}, on the same "
                "responses and less the persona's departure on all of them; "
                f"{self._sizes(run.leaderboard().systems)}. *: p < {LEVEL}, adjusted by Holm's "
                "method over all cells.",
                *(f"Some have no interval and no p: {why}." for why in whys),
            ]
        )
        return figure

    def contested(self, top: int = 10, *, columns: PageColumns = 1) -> PaperFigure:
        """Draw the most contested responses: where each persona stands above or below the panel, in
        points (of dimensions on different scales, in shares of their width), with its severity
        taken out. Markers are those of the personas' axes, filled where a persona alone differs by
        more than noise; those furthest from the panel are named.

        Args:
            top: how many responses, those first on which personas differ most beyond noise.
        """
        check_plots(columns)
        from persona_panel.analyses.contested import most_contested, unit_of_departures
        from persona_panel.results.charts import StripPoint, StripRow, strips

        result = most_contested(self._run, top)
        first = result[0].departures if result else {}
        by_axis = self._personas_by_axis(tuple(first))
        axis_of = {persona: axis for axis, those in by_axis.items() for persona in those}
        labels = {persona: name for those in by_axis.values() for persona, name in those.items()}
        rows = []
        for entry in result:
            points = [
                StripPoint(labels[persona], value, axis_of[persona], persona in entry.named)
                for persona, value in entry.departures.items()
            ]
            star = "* " if entry.established else ""
            rows.append(StripRow(f"{star}{SECRETS.scrub(entry.system)}/{entry.id}", points))
        figure = strips(
            rows,
            list(by_axis) or [""],
            f"Departure of the persona from the panel ({unit_of_departures(self._run).plural})",
            "beyond noise",
            "within noise",
            columns=columns,
        )
        whys = dict.fromkeys(item.reason for item in result if item.reason is not None)
        figure.caption = " ".join(
            [
                f"{counted(len(result), 'response')} on which personas differ most (system/id), "
                "each persona's mean rating less that of the panel, severity taken out. *: they "
                f"differ by more than noise (adjusted p < {LEVEL}). Filled: so does this persona "
                "alone.",
                *(f"Of some no noise is known: {why}." for why in whys),
            ]
        )
        return figure

    def _personas_by_axis(self, personas: Sequence[str]) -> dict[str, dict[str, str]]:
        """Return labels of personas by axis; one empty axis where there are not several."""
        known = {persona.id: persona for persona in self._run.personas}
        result: dict[str, dict[str, str]] = {}
        for persona in personas:
            item = known.get(persona)
            axis, name = ("", persona) if item is None else (item.axis, item.label)
            result.setdefault(axis, {})[persona] = SECRETS.scrub(name)
        if len(result) > 1:
            return result
        return {"": {persona: name for those in result.values() for persona, name in those.items()}}

    def _check(self, dimension: str, systems: Sequence[SystemRank]) -> None:
        known = systems[0].dimensions if systems else {}
        if dimension not in known:
            raise ValueError(f"no dimension {dimension!r}; there are {', '.join(known)}")

    def _sizes(self, systems: Sequence[SystemRank]) -> str:
        n_prompts = sorted({entry.n_prompts for entry in systems}) or [0]
        prompts = counted(n_prompts[-1], "prompt")
        if len(n_prompts) > 1:
            prompts = f"{n_prompts[0]:,} to {prompts}"
        return (
            f"{counted(len(systems), 'system')} over {prompts} by "
            f"{counted_judges(self._run.judges)}"
        )


def _composite(entry: SystemRank) -> ForestPoint:
    from persona_panel.results.charts import ForestPoint

    return ForestPoint(entry.composite.value, *entry.composite.ends, *entry.with_judges.ends)


def _mean(entry: SystemRank, dimension: str) -> ForestPoint:
    from persona_panel.results.charts import ForestPoint

    mean = entry.dimensions[dimension]
    return ForestPoint(mean.value, *mean.ends)


def _reasons(what: str, systems: Iterable[tuple[str, str | None]]) -> list[str]:
    """Return why systems, each with its reason, lack something; each reason once."""
    lacking: dict[str, list[str]] = {}
    for system, reason in systems:
        if reason:
            lacking.setdefault(reason, []).append(SECRETS.scrub(system))
    return [f"No {what} for {'; '.join(names)}: {why}." for why, names in lacking.items()]


def _untested(differences: Iterable[SystemDifference]) -> list[str]:
    whys = dict.fromkeys(
        difference.reason for difference in differences if difference.reason is not None
    )
    return [f"Some have no interval and no p: {why}." for why in whys]


def composite_unit(rubric: Rubric) -> str:
    """Return the unit of a composite, and its scale."""
    return _with_scale(unit_of(rubric), composite_limits(rubric))


def units_of(rubric: Rubric, names: Sequence[str]) -> list[str]:
    """Return the units of the means on these dimensions, and of shares of categories."""
    limits = mean_limits(rubric, names)
    return [
        _with_scale(unit_of(rubric, name), own) for name, own in zip(names, limits, strict=True)
    ]


def least_shown(rubric: Rubric) -> float:
    """Return the departure up to which colours go at least, so that a tiny one does not look large:
    a twentieth of the scale."""
    low, high = composite_limits(rubric)
    return 0.0 if isinf(low) or isinf(high) else (high - low) / 20


def _with_scale(unit: FigureUnit, limits: Limits) -> str:
    low, high = limits
    if unit != POINTS or isinf(low) or isinf(high):
        return unit.singular
    return f"{unit.singular}; scale {general(low)} to {general(high)}"
