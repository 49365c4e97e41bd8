"""Plan how many prompts, judges and raters a study takes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import click

from persona_panel.analyses import parameters
from persona_panel.analyses.analysis import analysis
from persona_panel.analyses.parameters import Option
from persona_panel.results.result import Result

if TYPE_CHECKING:
    from persona_panel.files.ratings import GivenScale
    from persona_panel.files.records import ColumnMapping


class _Points(click.FloatRange):
    """The type of points: click takes nan and inf for numbers, which no width is."""

    name = "points"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        points = super().convert(value, param, ctx)
        if not math.isfinite(points):
            self.fail(f"found {value!r}; expected a number of points above 0", param, ctx)
        return points


class _Run(click.types.StringParamType):
    def get_missing_message(
        self, param: click.Parameter, ctx: click.Context | None = None
    ) -> str | None:
        return "The run that is to be planned from stands behind it: persona-panel plan --from RUN."


@analysis(
    "Precision by design",
    Option(
        "--from",
        "source",
        metavar="RUN",
        type=_Run(),
        required=True,
        help="A run's folder, or a file of ratings as `agree` reads it.",
    ),
    Option(
        "--half-width",
        metavar="POINTS",
        type=_Points(min=0, min_open=True),
        help="Wanted half-width (the ± ) of the 95 % interval of a system's mean over prompts and "
        "judges: the cheapest design that can be expected to reach it is printed.",
    ),
    Option(
        "--difference",
        metavar="POINTS",
        type=_Points(min=0, min_open=True),
        help="Difference of two systems' means that is to be detected with 80 % power, at 5 %: the "
        "cheapest design that can be expected to detect it is printed.",
    ),
    parameters.people(
        "Human ratings of the same responses: how many raters and prompts people would take."
    ),
    group="Panel",
    example="--from runs/first --half-width 0.3",
    requirements=("half_width[system] <= 0.5", "generalizability[item] >= 0.8"),
)
def plan(
    source: str,
    *,
    half_width: float | None = None,
    difference: float | None = None,
    human: str | None = None,
    human_mapping: ColumnMapping | None = None,
    human_scale: GivenScale | None = None,
    allow_unmatched: bool = False,
) -> Result:
    """Plan a study: how many prompts, personas, models, replicates and human raters it takes.

    From the ratings of a run, a pilot say. Of systems that answered the same prompts, and of single
    responses, it prints where the variance of scores comes from (generalizability study), and for
    the present number of prompts, personas, models and replicates, and for half and twice as many
    of each (decision study): the standard errors of a mean, the generalizability and dependability
    coefficients, the expected half-width of the leaderboard's interval over prompts and judges, the
    difference of two systems that is detected with 80 % power, calls and, of a run, dollars.

    Prompts, personas, models and systems are taken as samples; the dimensions of the rubric are
    not. Figures are of the composite; --full has those of each dimension.

    Args:
        source: a run's folder, or a file of ratings.
        half_width, difference: what a design is to reach; either, or none.
        human: people's ratings of the same responses, of which the same is said.
        human_mapping, human_scale, allow_unmatched: of people's ratings; see
            `load_aligned_ratings`.

    Raises:
        ConfigurationError: both a half-width and a difference are wanted.
        InputError: as `persona_panel.runs.design.design_report`.
    """
    from persona_panel.analyses.plan_result import plan_result
    from persona_panel.files.errors import ConfigurationError
    from persona_panel.runs.design import PrecisionTarget, design_report

    if half_width is not None and difference is not None:
        raise ConfigurationError("--half-width and --difference exclude each other; leave one out.")
    target = None
    if half_width is not None:
        target = PrecisionTarget("half_width", half_width)
    elif difference is not None:
        target = PrecisionTarget("difference", difference)
    report = design_report(
        source, target, human, human_mapping,
        human_scale=human_scale, allow_unmatched=allow_unmatched,
    )  # fmt: skip
    return plan_result(report, source=source)
