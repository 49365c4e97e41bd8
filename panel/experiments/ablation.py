"""An ablation: a panel and panels that differ from it in one setting each, on the same responses.

Each of them is a run in a folder of its own. They are made one after the other over one cache, so
that a call which two have in common is made once, and what all of them spend counts toward the
caps.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import fsum
from typing import TYPE_CHECKING, Any

from persona_panel.analyses.ablation import more_than_named
from persona_panel.analyses.comparison.opened_run import panel_differences
from persona_panel.analyses.run_summary import run_summary
from persona_panel.calls.budget import NO_CAPS, NOTHING_SPENT, Amount, Caps, Spending
from persona_panel.calls.rate_limiter import CallsState
from persona_panel.files.errors import PanelError
from persona_panel.files.outputs import file_names
from persona_panel.models.config import total_cost, with_batches
from persona_panel.planning.panel_plan import PanelPlan, manifest_of
from persona_panel.planning.variation import BASE
from persona_panel.results.conclusions.wording import counted
from persona_panel.runs.cost_estimate import CostEstimate
from persona_panel.runs.execution import CALLED, Execution, OnStart
from persona_panel.runs.executor import Scoring
from persona_panel.runs.folder import HeldRun
from persona_panel.runs.job import Job, predicted_calls
from persona_panel.runs.output import RunOutput, locked
from persona_panel.runs.run import Run
from persona_panel.runs.spending import earlier_spending

if TYPE_CHECKING:
    from persona_panel.files.records import Responses
    from persona_panel.statistics.core.table import Ratings


@dataclass(frozen=True, slots=True)
class Ablation:
    """The outcome of an ablation: the run of each panel by its name, the base's first, and why
    there is none of the others."""

    runs: Mapping[str, Run]
    failures: Mapping[str, str]

    @property
    def complete(self) -> bool:
        """Return whether every panel has all of its judgments."""
        return not self.failures and all(run.coverage.complete for run in self.runs.values())


class Ablating(Job[Ablation]):
    """An ablation; each panel is written to a folder of its name in `out`.

    Args:
        panels: `base`, and the others by their names, as `varied_panels` returns them.
        responses: that all of them judge.
        humans: people's ratings of these, which are refused before a call where they do not fit.
    """

    output: RunOutput

    def __init__(
        self,
        panels: Mapping[str, PanelPlan],
        responses: Responses,
        out: RunOutput,
        humans: Ratings | None = None,
    ) -> None:
        self.output = out
        self.folders = {name: out.folder / file for name, file in file_names(panels).items()}
        self.cells = {
            name: Scoring(
                plan, responses, replace(out, path=self.folders[name]),
                summary=run_summary, humans=humans if name == BASE else None,
            )
            for name, plan in panels.items()
        }  # fmt: skip
        self.models = {model.id: model for plan in panels.values() for model in plan.models}
        self.shares = sum((Counter(cell.shares) for cell in self.cells.values()), Counter())
        self.n_results = self.most_results = sum(cell.most_results for cell in self.cells.values())
        n = len(self.cells[BASE].batch)
        self.heading = f"{counted(n, 'response')} × {len(panels)} panels: {', '.join(panels)}"
        base = manifest_of(panels[BASE])
        changes = [
            more_than_named(name, panel_differences(base, manifest_of(plan), (BASE, name)))
            for name, plan in panels.items()
        ]
        of_panels = dict.fromkeys(notice for cell in self.cells.values() for notice in cell.notices)
        self.notices = [*of_panels, *(f"{change}." for change in changes if change)]

    def estimate(self) -> list[CostEstimate]:
        # By one prediction: what two panels ask alike is asked once.
        with predicted_calls() as predicted:
            return [
                replace(each, panel=name)
                for name, cell in self.cells.items()
                for each in cell.mode.estimate(cell.batch, predicted)
            ]

    def refuse_others(self) -> None:
        for cell in self.cells.values():
            cell.refuse_others()

    def refuse_unkept(self) -> None:
        for cell in self.cells.values():
            cell.refuse_unkept()

    def n_done(self) -> int:
        return sum(cell.n_done() for cell in self.cells.values())

    def held(self, caps: Caps = NO_CAPS) -> HeldRun | None:
        parts = [part for cell in self.cells.values() if (part := cell.held(caps)) is not None]
        prices = [part.usd for part in parts]
        known = [usd for usd in prices if usd is not None]
        return HeldRun(
            self.output.folder,
            sum(part.results for part in parts),
            sum((part.spent for part in parts), NOTHING_SPENT),
            fsum(known) if len(known) == len(prices) else None,
            sum((part.unsure for part in parts), NOTHING_SPENT),
        )

    async def run(
        self,
        caps: Caps = NO_CAPS,
        execution: Execution = CALLED,
        on_event: Callable[[Any], None] | None = None,
    ) -> Ablation:
        """Make the run of each panel, as `Job.run`; `on_event` is called with a panel's name
        before its judgments. A panel whose run cannot be made ends none of the others. Raises
        RunFolderError: another ablation is writing to the folder."""
        for cell in self.cells.values():
            cell.held(caps)
            cell.mode.check(cell.batch)
        states: list[Callable[[], CallsState]] = []
        runs: dict[str, Run] = {}
        failures: dict[str, str] = {}
        self.output.folder.mkdir(parents=True, exist_ok=True)
        # The cap is of all panels: a second ablation here would not count what this one still asks.
        with locked(self.output.folder / "lock"):
            for name, cell in self.cells.items():
                if on_event is not None:
                    on_event(name)
                started = replace(execution, on_start=_joined(states, execution.on_start))
                try:
                    runs[name] = await cell.run(self._caps_of(name, caps), started, on_event)
                except PanelError as error:
                    failures[name] = str(error)
        return Ablation(runs, failures)

    def _caps_of(self, name: str, caps: Caps) -> Caps:
        """Return the caps of a panel's run, which count what the others have spent."""
        if caps == NO_CAPS:
            return caps
        prices = with_batches({model.id: model.price for model in self.models.values()})
        others, is_made = Amount(), True
        for each, cell in self.cells.items():
            is_made = is_made and each != name
            if each == name or cell.output is None:
                continue
            # Those that come later are yet to be overwritten.
            gone = self.output.overwrite and not is_made
            for spent in earlier_spending(cell.output.spent, overwrite=gone):
                usd = total_cost(prices, spent.usage) or 0.0
                others += Amount(usd, spent.tokens, spent.calls)
        return replace(caps, elsewhere=others)


def _joined(states: list[Callable[[], CallsState]], on_start: OnStart | None) -> OnStart:
    """Return what takes the start of each run, and tells of the first, how the calls of all
    stand."""

    def state() -> CallsState:
        every = [read() for read in states]
        spent = sum((Spending(usage=each.spent) for each in every), NOTHING_SPENT).usage
        usd: dict[str, float | None] = {}
        for each in every:
            for model, cost in each.usd.items():
                before = usd.get(model, 0.0)
                usd[model] = None if cost is None or before is None else before + cost
        return CallsState(every[-1].endpoints, spent, usd)

    def take(read: Callable[[], CallsState]) -> None:
        states.append(read)
        if len(states) == 1 and on_start is not None:
            on_start(state)

    return take
