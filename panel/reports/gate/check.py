"""`check`: whether a run, a sweep or the rows of a statistic meet requirements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from persona_panel.analyses.comparison.result import RunComparison
from persona_panel.analyses.fidelity.result import FidelityReport
from persona_panel.experiments.sweep.plan import SweepPlan
from persona_panel.experiments.sweep.result import Sweep
from persona_panel.files.errors import Fault, InputError
from persona_panel.files.response_batch import Batch
from persona_panel.plan.panel_plan import PanelPlan
from persona_panel.reports.gate.calibration_figures import calibration_figures
from persona_panel.reports.gate.comparison_figures import comparison_figures
from persona_panel.reports.gate.fidelity_figures import fidelity_figures
from persona_panel.reports.gate.row_figures import row_figures
from persona_panel.reports.gate.run_figures import run_figures
from persona_panel.reports.gate.sweep_figures import sweep_figures
from persona_panel.results.gate.decision import Decision, decide
from persona_panel.results.gate.figures import Figure, find
from persona_panel.results.gate.requirement import Requirement, WrongRequirement, parse_requirement
from persona_panel.results.gate.sentences import sentence
from persona_panel.runs.run import Run
from persona_panel.statistics.core.table import Row
from persona_panel.statistics.humans.calibration import Calibration


@dataclass(frozen=True, slots=True)
class GateResult:
    """What became of requirements, in their order."""

    decisions: tuple[Decision, ...]

    @property
    def met(self) -> bool:
        """Whether every one of them is met."""
        return all(one.met for one in self.decisions)

    @property
    def unmet(self) -> list[Decision]:
        """Those that are not."""
        return [one for one in self.decisions if not one.met]

    def sentences(self) -> list[str]:
        """One or two for each: what was required, what was found, what would settle it."""
        return [sentence(one) for one in self.decisions]

    def __str__(self) -> str:
        return "\n".join(self.sentences())


Gated = Run | Sweep | RunComparison | FidelityReport | Calibration | Sequence[Row]
"""Results whose figures may be required."""


def check(
    result: Gated,
    *requirements: str,
    by_point: bool = False,
) -> GateResult:
    """Whether a result meets requirements such as `composite[my-model] >= 6`.

    Args:
        result: of `score`, `load_run`, `sweep`, `compare`, `persona_fidelity` or `calibrate`, or
            the rows of `agree` or `correlate`.
        requirements: each a figure's name, a comparison and a number, or of a verdict a word;
            docs/how-to/gate.md lists the figures.
        by_point: decide by estimates, not by the unfavourable ends of 95 % intervals.

    Raises:
        InputError: a requirement cannot be read, or names no figure; lists all such.
    """
    return decide_all(parsed(requirements), figures_of(result), by_point=by_point)


def figures_of(result: Gated) -> list[Figure]:
    """Every figure that a requirement may name."""
    if isinstance(result, Run):
        return run_figures(result)
    if isinstance(result, RunComparison):
        return comparison_figures(result)
    if isinstance(result, FidelityReport):
        return fidelity_figures(result.rows)
    if isinstance(result, Calibration):
        return calibration_figures(result)
    return sweep_figures(result) if isinstance(result, Sweep) else row_figures(result)


def parsed(requirements: Sequence[str]) -> list[Requirement]:
    """Requirements, read.

    Raises:
        InputError: some cannot be read; lists them.
    """
    found, faults = [], []
    for text in requirements:
        try:
            found.append(parse_requirement(text))
        except WrongRequirement as error:
            faults.append(_fault(text, error))
    if faults:
        raise InputError(faults)
    return found


def named(requirements: Sequence[Requirement], figures: Sequence[Figure]) -> list[Figure]:
    """The figure that each requirement names.

    Raises:
        InputError: some name none; lists them, each with the nearest names.
    """
    found, faults = [], []
    for one in requirements:
        try:
            found.append(find(one, figures))
        except WrongRequirement as error:
            faults.append(_fault(str(one), error))
    if faults:
        raise InputError(faults)
    return found


def decide_all(
    requirements: Sequence[Requirement], figures: Sequence[Figure], *, by_point: bool = False
) -> GateResult:
    """Decide requirements by these figures; raises as `named`."""
    pairs = zip(requirements, named(requirements, figures), strict=True)
    return GateResult(tuple(decide(*pair, by_point=by_point) for pair in pairs))


def planned_run(plan: PanelPlan, batch: Batch) -> list[Figure]:
    """The figures that a run of a plan on a batch will have, all undefined: their names."""
    return run_figures(Run.of(plan, batch))


def planned_sweep(panel: PanelPlan, plan: SweepPlan) -> list[Figure]:
    """The figures that a sweep will have, all undefined: their names."""
    nothing = Batch([])
    run = Run.of(panel, nothing)
    return sweep_figures(Sweep(plan, panel.output_rubric, run, nothing, [], [], []))


def _fault(text: str, error: WrongRequirement) -> Fault:
    return Fault(f"the requirement {text}", error.found, error.expected)
