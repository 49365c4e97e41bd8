"""The panel, as a user holds it: a plan, and what `persona_panel.runs` and
`persona_panel.experiments.sweep` do with it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from persona_panel.analyses.run_summary import run_summary
from persona_panel.calls.budget import NO_CAPS, Caps
from persona_panel.graphs import Judge, Verdict
from persona_panel.graphs.deliberation import Deliberation
from persona_panel.models.event_loops import run_in_loop
from persona_panel.personas import Persona, PersonaSet
from persona_panel.planning.bound_models import Models
from persona_panel.planning.panel_plan import PanelPlan, plan_facts
from persona_panel.planning.settings import DEFAULT_MODEL
from persona_panel.rubrics import Rubric
from persona_panel.runs import executor
from persona_panel.runs.cost_estimate import CostEstimate
from persona_panel.runs.execution import Engine, Execution
from persona_panel.runs.output import RunOutput, sent_to_address
from persona_panel.runs.run import Run

if TYPE_CHECKING:
    from typing import Any, Unpack

    from langgraph.checkpoint.base import BaseCheckpointSaver

    from persona_panel.experiments.sweep.plan import Options, SweepOptions
    from persona_panel.experiments.sweep.result import Sweep
    from persona_panel.experiments.sweep.running import OnEvent
    from persona_panel.files.records import Responses
    from persona_panel.graphs import Response
    from persona_panel.graphs.framing import Prompt
    from persona_panel.graphs.judging import Builder
    from persona_panel.planning.settings import PanelKeywords, PanelOverrides
    from persona_panel.runs.executor import OnJudgment, ScoreOptions
    from persona_panel.runs.panel_graph import PanelGraph
    from persona_panel.statistics.core.arrays import Random
    from persona_panel.statistics.core.table import Ratings


class Panel:
    """Personas × models that judge responses by a rubric.

    The arguments are those of `PanelPlan.of`, and so are the errors; `settings`, such as
    `replicates=2`, are the fields of `PanelSettings`. `plan` is who judges by what: it can be
    pickled, and makes the same panel elsewhere (`Panel.from_plan`).
    """

    def __init__(
        self,
        personas: str | Path | PersonaSet | Sequence[Persona] = "perspectives",
        models: Models = DEFAULT_MODEL,
        rubric: str | Path | Rubric = "scrub",
        *,
        graph: Builder | None = None,
        **settings: Unpack[PanelKeywords],
    ) -> None:
        self.plan = PanelPlan.of(personas, models, rubric, graph=graph, **settings)

    @classmethod
    def from_plan(cls, plan: PanelPlan) -> Panel:
        """The panel of a plan that is there already."""
        panel = cls.__new__(cls)
        panel.plan = plan
        return panel

    @classmethod
    def from_file(cls, path: str | Path, **overrides: Unpack[PanelOverrides]) -> Panel:
        """The panel that a YAML file describes; see `PanelPlan.from_file`."""
        return cls.from_plan(PanelPlan.from_file(path, **overrides))

    def __repr__(self) -> str:
        return plan_facts(self.plan).text

    def _repr_html_(self) -> str:
        return plan_facts(self.plan).html()

    def graph(self, checkpointer: BaseCheckpointSaver[Any] | None = None) -> PanelGraph:
        """The panel as a compiled LangGraph graph: one to run, or a node of another graph.

        It takes a `response` and gives `judgments`, without raw text, and a `verdict`; a panel that
        compares takes `responses` to one prompt and gives `verdicts`. Its stream of mode `custom`
        has each judgment, whole, as it is made. It has no caps, and raises as `ascore`.

        Args:
            checkpointer: where it keeps its state (`graphs.CHECKPOINTED`), so that it can be
                interrupted and resumed; a node has that of the graph around it.
        """
        from persona_panel.runs.panel_graph import panel_graph

        return panel_graph(self.plan, checkpointer)

    @property
    def personas(self) -> tuple[Persona, ...]:
        """Return the personas that judge."""
        return self.plan.personas

    @property
    def rubric(self) -> Rubric:
        """Return the rubric that judges are asked by."""
        return self.plan.rubric

    @property
    def output_rubric(self) -> Rubric:
        """The rubric as its ratings come; see `PanelPlan.output_rubric`."""
        return self.plan.output_rubric

    @property
    def judges(self) -> tuple[Judge, ...]:
        """Persona × model × replicate, model by model."""
        return self.plan.judges

    @property
    def models(self) -> tuple[str, ...]:
        """The ids of the models, in the panel's order."""
        return tuple(model.id for model in self.plan.models)

    @property
    def deliberation(self) -> Deliberation | None:
        """Return the rules by which judges see the others' readings and may revise."""
        return self.plan.settings.deliberation

    def score(self, responses: Responses, **options: Unpack[ScoreOptions]) -> Run:
        """Score as `ascore`, from code that is not asynchronous; works where a loop runs, too."""
        return run_in_loop(self.ascore(responses, **options))

    async def ascore(
        self, responses: Responses, *, out: str | Path | RunOutput | None = None,
        caps: Caps = NO_CAPS, humans: Ratings | None = None, random: Random = "prompts",
        on_judgment: OnJudgment | None = None, engine: Engine | None = None,
    ) -> Run:  # fmt: skip
        """Have every judge read every response.

        Args:
            responses: or a table of them with the columns of a file (data frame, data set, list of
                dicts). Gone through several times where that can be done (a `ResponseFile`).
            out: a folder to write the run to, or an address for one (`s3://bucket/run`); a
                `RunOutput` says more of how.
            caps: what the run may spend, with what earlier runs into `out` have spent.
            humans: people's ratings, for whether deliberation moved the panel toward them.
            random: what differences of systems take as a sample: `prompts`, `prompts-and-judges`.
            on_judgment: called with each judgment; without it, a notebook shows how many there are.
            engine: where responses are judged, as `opened_engine` gives it; None, in this process.

        Raises:
            InputError: a response is there twice, is too long for a model, or has no other to be
                compared with; a prompt id stands for two prompts; `humans` shares no response or
                no dimension with them.
            ConfigurationError: a model cannot be asked in the way it is to be, or has no known
                price where `caps` are in dollars.
            RunFolderError: `out` holds a run of another panel or of responses that are not among
                these, is being written by one, or cannot be written.
            RunStopped: the run could not go on (what it has is written), or lacks what `out` holds.
        """
        return await executor.score(
            self.plan, responses, summary=run_summary, out=out, caps=caps, humans=humans,
            random=random, on_judgment=on_judgment, execution=Execution(engine=engine),
        )  # fmt: skip

    def estimate(self, responses: Responses) -> list[CostEstimate]:
        """Estimate what scoring these would take, model by model, the cache counted in; calls
        nothing, and knows nothing of nodes in a graph of one's own. Raises InputError as
        `ascore`."""
        return executor.Scoring(self.plan, responses, summary=run_summary).estimate()

    def astream(
        self, responses: Responses | AsyncIterable[Response], *, caps: Caps = NO_CAPS,
        on_judgment: OnJudgment | None = None,
    ) -> AsyncGenerator[Verdict, None]:  # fmt: skip
        """Verdicts as they come, for a batch that need not fit into memory.

        Responses are taken only as fast as they are read, and come back in the order in which they
        are finished. Nothing is remembered of those that are done: an id that comes again, of a
        response or of another prompt, is read like any other.

        Args:
            caps: what this stream may spend; then what needs a call is `skipped`.
            on_judgment: called with each judgment as it is made.

        Raises:
            ConfigurationError: as `ascore`, or the panel compares responses.
        """
        return executor.stream(self.plan, responses, caps=caps, on_judgment=on_judgment)

    def sweep(
        self,
        prompts: Sequence[str | Prompt] | None = None,
        targets: Models = (),
        **options: Unpack[SweepOptions],
    ) -> Sweep:
        """Sweep as `asweep`, from code that is not asynchronous; works where a loop runs, too."""
        return run_in_loop(self.asweep(prompts, targets, **options))

    @sent_to_address
    async def asweep(
        self,
        prompts: Sequence[str | Prompt] | None = None,
        targets: Models = (),
        *,
        out: str | Path | RunOutput | None = None,
        caps: Caps = NO_CAPS,
        on_event: OnEvent | None = None,
        **options: Unpack[Options],
    ) -> Sweep:
        """Find out what pressure does to the quality of targets' answers.

        Each prompt is rewritten into every condition of a framing set, the targets answer it and
        the variants that pass their checks, and the panel scores every answer.

        Args:
            prompts: questions as they are asked without pressure.
            targets: whose robustness is measured; models as the panel's.
            out, caps: of the whole sweep, as of `ascore`.
            on_event: called with each variant, answer, judgment and verdict; as `on_judgment`.
            options: see `persona_panel.experiments.sweep.plan.Options`.

        Raises as `ascore`, and for faults in prompts, framings and options.
        """
        from persona_panel.experiments.sweep.running import Sweeping

        job = Sweeping(self.plan, prompts, targets, options, out)
        return await job.run(caps, on_event=on_event)

    def estimate_sweep(
        self,
        prompts: Sequence[str | Prompt] | None = None,
        targets: Models = (),
        **options: Unpack[Options],
    ) -> list[CostEstimate]:
        """Estimate what a sweep would take, model by model, the cache counted in; calls nothing."""
        from persona_panel.experiments.sweep.running import Sweeping

        return Sweeping(self.plan, prompts, targets, options).estimate()
