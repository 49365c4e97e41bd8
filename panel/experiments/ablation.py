"""An ablation: a panel and panels that differ from it in one setting each, on the same responses.

Each of them is a run in a folder of its own. They are made one after the other over one cache, so
that a call which two have in common is made once, and what all of them spend counts toward the
caps.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import fsum
from typing import TYPE_CHECKING, Any, TypeVar, get_args, get_origin

from persona_panel.analyses.ablation import more_than_named
from persona_panel.analyses.comparison.opened_run import panel_differences
from persona_panel.analyses.run_summary import run_summary
from persona_panel.calls.budget import NO_CAPS, NOTHING_SPENT, Amount, Caps, Spending
from persona_panel.calls.rate_limiter import CallsState
from persona_panel.files.errors import ConfigurationError, InputError, PanelError
from persona_panel.files.outputs import file_names
from persona_panel.files.wording import did_you_mean
from persona_panel.graphs.deliberation import Deliberation
from persona_panel.graphs.records import controls_among
from persona_panel.models.config import ModelConfig, total_cost, with_batches
from persona_panel.personas import NO_PERSONA
from persona_panel.planning.definitions import configured
from persona_panel.planning.panel_plan import PanelPlan, manifest_of, refuse_plain_repeats
from persona_panel.planning.settings import (
    PanelFile,
    declared_settings,
    split_variant,
    varied_settings,
)
from persona_panel.results.conclusions.wording import counted
from persona_panel.rubrics import load_elicitation
from persona_panel.runs.execution import CALLED, Execution, OnStart
from persona_panel.runs.executor import Scoring
from persona_panel.runs.folder import HeldRun
from persona_panel.runs.job import Job, predicted_calls
from persona_panel.runs.judging.cost_estimate import CostEstimate
from persona_panel.runs.output import RunOutput, locked
from persona_panel.runs.run import Run
from persona_panel.runs.spending import earlier_spending

if TYPE_CHECKING:
    from persona_panel.files.records import Responses
    from persona_panel.statistics.core.table import Ratings

BASE = "base"
"""The panel with which the others are compared."""


def varied_panels(settings: Mapping[str, Any], vary: Sequence[str]) -> dict[str, PanelPlan]:
    """Return a panel as `base`, and panels that differ from it in one thing each, as `NAME=VALUE`.

    Args:
        settings: of the base, the arguments of `PanelPlan.of`; models are specs or `ModelConfig`s.
        vary: names joined by commas (`reasoning,personas`), of which the usual values are taken, or
            a name with its values (`replicates=3,5`). A name is a setting's, `temperature`,
            `reasoning` (`yes`, reasons before ratings, or `none`) or `guidelines` (a variant of the
            rubric, or `none`, no rubric).

    Raises:
        ConfigurationError: there is no such setting, one has no usual value, nothing differs from
            the base, or a panel cannot be; lists every fault.
    """
    base = PanelPlan.of(**settings)
    panels, faults = {BASE: base}, []
    for field, values in _named(vary):
        for value in values or _usual_values(field, settings, base):
            name = f"{field}={value}"
            try:
                plan = PanelPlan.of(**{**settings, **_change(field, value, settings, base)})
            except (ConfigurationError, InputError, ValueError) as error:
                faults.append(f"--vary {name}: {error}")
                continue
            if all(manifest_of(plan) != manifest_of(other) for other in panels.values()):
                panels[name] = plan
    if faults:
        raise ConfigurationError("\n".join(faults))
    if len(panels) == 1:
        raise ConfigurationError(
            f"--vary {' '.join(vary)} changes nothing: the panel has these values already"
        )
    return panels


def _named(vary: Sequence[str]) -> list[tuple[str, list[str]]]:
    """Return what is varied, with its values, none where the usual ones are meant."""
    named = []
    for text in vary:
        field, has_values, values = text.partition("=")
        those = [each.strip() for each in values.split(",") if each.strip()] if has_values else []
        named += [(each, those) for each in ([field] if has_values else field.split(","))]
    known = list(varied_settings())
    named = [(field.strip().replace("-", "_"), values) for field, values in named]
    for field, _ in named:
        if field not in known:
            raise ConfigurationError(
                f"--vary: nothing is called {field!r}{did_you_mean(field, known)}; one of "
                f"{', '.join(known)}"
            )
    return named


def _usual_values(field: str, settings: Mapping[str, Any], base: PanelPlan) -> list[str]:
    """Return the values that a setting is varied to where none is named; none at all is a fault."""
    values: list[str] = []
    match field:
        case "personas" if base.personas != (NO_PERSONA,):
            values = ["none"]
        case "reasoning":
            values = ["none" if _gives_reasons(base) else "yes"]
        case "guidelines":
            rubric, _ = _rubric_of(settings)
            values = [*_variants_of(rubric), "none"]
        case "models" if len(base.models) > 1:
            values = [model.id for model in base.models]
        case _:
            kinds = {setting.name: setting.type for setting in declared_settings()}
            now = getattr(base.settings, field, None)
            if kinds.get(field) is bool:
                values = [str(not now).lower()]
            elif get_args(kinds.get(field)) and get_origin(kinds[field]) is not tuple:
                values = [str(each) for each in get_args(kinds[field]) if each != now]
    if not values:
        raise ConfigurationError(f"--vary {field} needs values: --vary {field}=VALUE,VALUE")
    return values


def _rubric_of(settings: Mapping[str, Any]) -> tuple[str, str | None]:
    return split_variant(str(settings.get("rubric", PanelFile.model_fields["rubric"].default)))


def _variants_of(rubric: str) -> list[str]:
    from persona_panel.files.definitions import load_definition, resolve
    from persona_panel.rubrics import Rubric, shipped

    return list(load_definition(resolve(rubric, shipped(), "rubric"), Rubric).variants)


def _change(field: str, value: str, settings: Mapping[str, Any], base: PanelPlan) -> dict[str, Any]:
    """Return the arguments of `PanelPlan.of` that a value stands for."""
    match field, value:
        case "reasoning", "yes" | "none":
            if _gives_reasons(base) == (value == "yes"):
                return {}
            return _asked_by("justified" if value == "yes" else "dimensions", settings)
        case "reasoning", _:
            raise ConfigurationError(f"found {value!r}; expected yes or none")
        case "guidelines", "none":
            return _asked_by("unguided", settings)
        case "guidelines", _:
            rubric, _ = _rubric_of(settings)
            return {"rubric": f"{rubric}:{value}"}
        case "elicitation", _:
            return _asked_by(value, settings)
        case "personas", "none":
            # One judgment beside several would be compared for their number.
            judges = len(base.judges) - len(controls_among(base.judges))
            replicates = judges // len(base.models)
            if replicates > 1:
                refuse_plain_repeats(base.models, "leave out --vary personas=none")
            return {"personas": value, "plain_judge": False, "replicates": replicates}
        case "temperature", _:
            degree = _number(float, value, "a temperature, such as 0.7")
            return {
                "models": [configured(each, {"temperature": degree}) for each in settings["models"]]
            }
        case "models", _:
            own = {model.id: config for model, config in
                   zip(base.models, settings["models"], strict=True)}  # fmt: skip
            return {"models": [own.get(name, name) for name in value.split("+")]}
        case "deliberation", _:
            rounds = 0 if value == "none" else _number(int, value, "a number of rounds or none")
            rules = base.settings.deliberation
            if not rounds:
                return {"deliberation": None}
            if rules is None:
                return {"deliberation": Deliberation(rounds=rounds)}
            return {"deliberation": rules.model_copy(update={"rounds": rounds})}
    return {field: None if value == "none" and field == "prompt" else value}


N = TypeVar("N", int, float)


def _number(kind: Callable[[str], N], value: str, expected: str) -> N:
    try:
        return kind(value)
    except ValueError:
        raise ConfigurationError(f"found {value!r}; expected {expected}") from None


def _gives_reasons(plan: PanelPlan) -> bool:
    return all(load_elicitation(model.elicitation).GIVES_REASONS for model in plan.models)


def _asked_by(elicitation: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    models = [
        model.model_copy(update={"elicitation": None}) if isinstance(model, ModelConfig) else model
        for model in settings["models"]
    ]
    return {"elicitation": elicitation, "models": models}


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
        self.notices = [*of_panels, *(f"{said}." for said in changes if said)]

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
