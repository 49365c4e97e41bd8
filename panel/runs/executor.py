"""A panel plan at work: a batch or a stream through its mode, within caps, written as it goes, with
its progress in a notebook.

Only what every notebook shows is used, text and HTML, and no widget, which some do not have.
"""

from __future__ import annotations

import asyncio
import logging
import shlex
import sys
import time
from abc import abstractmethod
from collections import Counter
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    AsyncIterator,
    Callable,
    Iterator,
    Mapping,
)
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar
from uuid import uuid4

from persona_panel.calls.budget import NO_CAPS, Caps
from persona_panel.calls.caller import Caller
from persona_panel.calls.in_flight import InFlightLimit
from persona_panel.files.errors import ConfigurationError, RunFolderError
from persona_panel.files.named_files import written_place
from persona_panel.files.records import Responses
from persona_panel.files.responses import Batch, ResponseFile, as_async, identified, responses_in
from persona_panel.files.secrets import visible
from persona_panel.files.wording import alike, shown
from persona_panel.graphs import Judgment, Response, Verdict
from persona_panel.graphs.context import ShowPeers
from persona_panel.graphs.records import has_own_prompt
from persona_panel.planning.bound_models import BoundModel
from persona_panel.planning.panel_plan import PanelPlan, counted_judges, manifest_of
from persona_panel.results.conclusions.wording import counted
from persona_panel.runs.collected import Unscored, ratings_of
from persona_panel.runs.cost_estimate import (
    CostEstimate,
    refuse_unpriced,
    refuse_without_logprobs,
)
from persona_panel.runs.execution import CALLED, Engine, Execution, start_of
from persona_panel.runs.folder import HeldRun, RunFolder, judgments_kept, refuse_another
from persona_panel.runs.job import Job, kept_going, predicted_calls, with_own_answers
from persona_panel.runs.kept import KeptTexts, refuse_loss_of_ratings
from persona_panel.runs.mode import mode_of
from persona_panel.runs.model_access import graph_context, open_caller, responses_in_flight
from persona_panel.runs.output import RunOutput, sent_to_address
from persona_panel.runs.run import Run
from persona_panel.statistics.core.display import clock

if TYPE_CHECKING:
    from persona_panel.runs.request_files import Exported, RequestFiles
    from persona_panel.statistics.core.arrays import Random
    from persona_panel.statistics.core.ranking import Leaderboard
    from persona_panel.statistics.core.table import Ratings


_EVERY_S = 0.5
_TIME_LEFT_AFTER_S = 3.0
_PAIRS_NAMED = 3


def notebook_progress(total: int) -> Callable[[object], None]:
    """Take a run's progress, and show how many judgments of `total` there are; outside of a
    notebook show nothing."""
    # Where nobody has imported IPython there is no notebook.
    ipython: Any = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    if getattr(shell, "kernel", None) is None:
        return lambda event: None
    return _NotebookProgress(total, shell).take


class _NotebookProgress:
    def __init__(self, total: int, shell: Any) -> None:
        self._total = total
        self._publish = shell.display_pub.publish
        self._done, self._unscored = 0, Unscored()
        self._started = self._shown = time.monotonic()
        self._place = {"display_id": f"persona-panel-{uuid4().hex}"}
        self._show(self._started, update=False)

    def take(self, event: object) -> None:
        """Count one more judgment; ratings after a deliberation are none more."""
        if not isinstance(event, Judgment) or event.round > 1:
            return
        is_new = self._unscored.take(event) is None
        self._done = min(self._done + is_new, self._total)
        now = time.monotonic()
        if now - self._shown >= _EVERY_S or self._done == self._total:
            self._show(now, update=True)

    def _show(self, now: float, *, update: bool) -> None:
        self._shown = now
        elapsed = now - self._started
        parts = [f"{self._done:,}/{self._total:,} judgments"]
        if n_missing := len(self._unscored):
            parts.append(f"{n_missing:,} missing")
        if self._done == self._total:
            parts.append(f"in {clock(round(elapsed))}")
        elif self._done and elapsed > _TIME_LEFT_AFTER_S:
            left = elapsed * (self._total - self._done) / self._done
            parts += [f"{self._done / elapsed:,.1f}/s", f"about {clock(round(left))} left"]
        text = ", ".join(parts)
        bar = f'<progress value="{self._done}" max="{self._total}"></progress>'
        data = {"text/plain": text, "text/html": f"<div>{bar} {text}</div>"}
        self._publish(data=data, metadata={}, transient=self._place, update=update)


logger = logging.getLogger(__name__)

OnJudgment = Callable[[Judgment], None]
SummaryOf = Callable[[Run], dict[str, Any]]
"""Makes what the summary.json of a run holds: `persona_panel.analyses.run_summary`."""


async def judged(
    plan: PanelPlan,
    units: AsyncIterator[tuple[Response, ...]],
    caller: Caller,
    on_judgment: OnJudgment,
    *,
    peers: ShowPeers | None = None,
    collecting: bool = False,
) -> AsyncGenerator[Verdict, None]:
    """Yield the verdicts on units of responses (see `Mode.units`) by a caller that is open, in the
    order in which they are finished.

    Units are taken only as fast as they are judged, as many at a time as `responses_in_flight`
    says, beside those that wait for nothing but a server that is down. `peers`: as of `Scoring`;
    `collecting`: as of `GraphContext`.
    """
    mode, texts = mode_of(plan), dict[str, Response]()
    window, n_judgments = responses_in_flight(plan), {judge.model: 0 for judge in plan.judges}
    limit = InFlightLimit(window.first)

    def take(judgment: Judgment) -> None:
        on_judgment(judgment)
        n_judgments[judgment.judge.model] += 1
        limit.widen(window.after(min(n_judgments.values())))

    context = replace(graph_context(plan, texts, caller, take, peers), collecting=collecting)
    numbers = count()

    async def read(unit: tuple[Response, ...]) -> list[Verdict]:
        # Numbers: two ids joined could be two others, and a stream may repeat itself.
        keys = tuple(str(next(numbers)) for _ in unit)
        texts.update(zip(keys, unit, strict=True))
        with limit.work():
            verdicts = await mode.judge(keys, context)
        for key in keys:
            del texts[key]
        return verdicts

    # Taken apart from the reading, so that no verdict waits for a slow source.
    reading: set[asyncio.Task[list[Verdict]]] = set()
    finished: asyncio.Queue[asyncio.Task[Any]] = asyncio.Queue()

    async def take_units() -> None:
        while True:
            await limit.enter()
            try:
                unit = await anext(units)
            except StopAsyncIteration:
                return
            task = asyncio.create_task(read(unit))
            reading.add(task)
            task.add_done_callback(finished.put_nowait)

    taking = asyncio.create_task(take_units())
    taking.add_done_callback(finished.put_nowait)
    more = True
    try:
        while more or reading:
            task = await finished.get()
            verdicts: list[Verdict] | None = task.result()
            if verdicts is None:
                more = False
            else:
                reading.remove(task)
                limit.leave()
                for verdict in verdicts:
                    yield verdict
    finally:
        for task in (taking, *reading):
            task.cancel()
        await asyncio.gather(taking, *reading, return_exceptions=True)


class ScoreOptions(TypedDict, total=False):
    """The options for scoring a batch; see `Panel.ascore`."""

    out: str | Path | RunOutput | None
    caps: Caps
    humans: Ratings | None
    random: Random
    on_judgment: OnJudgment | None
    engine: Engine | None


J = TypeVar("J")


class PanelJob(Job[J]):
    """A job whose responses a panel judges, in a run's folder. `texts`: what the panel judges, in
    words; `more`: the models besides the panel's, by the names under which they are called."""

    output: RunOutput | None

    def __init__(
        self,
        plan: PanelPlan,
        output: RunOutput | None,
        texts: str,
        more: Mapping[str, BoundModel] | None = None,
    ) -> None:
        self.plan, self.output = plan, output
        names = ", ".join(model.id for model in plan.models)
        self.heading = f"{texts} × {counted_judges(plan.judges)} ({names})"
        self.shares = Counter(judge.model for judge in plan.judges)
        self.models = {model.id: model for model in plan.models} | dict(more or {})
        self.probed, self.notices = plan.models, plan.notice
        self.concurrency, self.patience_s = plan.settings.concurrency, plan.settings.patience

    @property
    @abstractmethod
    def manifest(self) -> dict[str, Any]:
        """Return what makes the run what it is, for run.json."""

    @property
    @abstractmethod
    def texts(self) -> KeptTexts:
        """Return what the run reads."""

    def refuse_others(self) -> None:
        assert self.output is not None  # noqa: S101
        refuse_another(self.output, self.manifest, self.texts)

    def n_done(self) -> int:
        assert self.output is not None  # noqa: S101
        return len(judgments_kept(self.output.folder))


class Scoring(PanelJob[Run]):
    """The scoring of responses by the judges of a plan; see `Panel.ascore`.

    Args:
        summary: makes what summary.json holds.
        texts: what the responses are, in words; how many there are where nothing is said.
        peers: changes what judges that deliberate are shown of each other; an audit puts attacks
            there.

    Attributes:
        so_far: the run, once it has begun, with what has come of it.

    Raises:
        InputError: as `Panel.ascore`.
    """

    def __init__(
        self,
        plan: PanelPlan,
        responses: Responses,
        out: str | Path | RunOutput | None = None,
        *,
        summary: SummaryOf,
        humans: Ratings | None = None,
        random: Random = "prompts",
        texts: str = "",
        peers: ShowPeers | None = None,
    ) -> None:
        self.batch, self.mode = Batch(responses, one_prompt_each=True), mode_of(plan)
        output = None if out is None else _output(out, responses)
        super().__init__(plan, output, texts or counted(len(self.batch), "response"))
        systems = (item.system for item in self.batch.items)
        of_texts = [*_of_missing_prompts(plan, self.batch), *alike(systems, "systems")]
        self.notices = [*self.notices, *of_texts, *_of_shared_texts(self.batch)]
        self.n_results = self.most_results = len(self.batch) * len(plan.judges)
        # Who deliberates must have heard the others.
        self.others_too = plan.settings.deliberation is not None
        self._humans, self._random, self._peers = humans, random, peers
        self._summary = summary
        self.so_far: Run | None = None

    def ranking_so_far(self) -> Leaderboard | None:
        """Return the systems by the prompts that are judged whole, while the job runs; None where
        there is none."""
        return None if self.so_far is None else self.so_far.leaderboard_so_far()

    @property
    def manifest(self) -> dict[str, Any]:
        return manifest_of(self.plan) | {"random": self._random}

    @cached_property
    def texts(self) -> KeptTexts:
        return KeptTexts.of_batch(self.batch)

    def estimate(self) -> list[CostEstimate]:
        with predicted_calls() as predicted:
            return self.mode.estimate(self.batch, predicted)

    def held(self, caps: Caps = NO_CAPS) -> HeldRun | None:
        if self._humans is not None:
            self._new_run()
        return super().held(caps)

    def refuse_others(self) -> None:
        super().refuse_others()
        assert self.output is not None  # noqa: S101
        if self._humans is None and not self.output.overwrite:
            refuse_loss_of_ratings(
                self.output.folder,
                f"the summary and page of {written_place(self.output.folder)}",
                lambda words: (
                    f"keep them with the same command and `{visible(shlex.join(words))}`, or "
                    "choose another --out"
                ),
            )

    def refuse_unkept(self) -> None:
        if self.output is None or self.output.overwrite:
            return
        if not (kept := judgments_kept(self.output.folder)):
            return
        with predicted_calls() as predicted:
            n = self.mode.count_unanswered(self.batch, predicted, kept)
            # A full disk or a power cut loses the answers of a few, which are asked again.
            if n and n >= len(kept) / 2:
                raise RunFolderError(
                    f"{written_place(self.output.folder)} contains {counted(n, 'judgment')} that "
                    f"the cache in use ({predicted.location}) does not answer; asking again would "
                    "be paid for a second time, and replace what the folder holds. Set "
                    "PERSONA_PANEL_CACHE to the cache that the run used, choose another --out, or "
                    "ask again with --overwrite"
                )

    async def collect(self, caller: Caller) -> None:
        units = self.mode.units(self.batch)
        verdicts = judged(
            self.plan, units, caller, lambda _: None, peers=self._peers, collecting=True
        )
        async with aclosing(verdicts):
            async for _ in verdicts:
                pass

    async def export(self, files: RequestFiles) -> Exported:
        self.mode.check(self.batch)
        return await super().export(files)

    async def run(
        self,
        caps: Caps = NO_CAPS,
        execution: Execution = CALLED,
        on_event: Callable[[Any], None] | None = None,
    ) -> Run:
        self.mode.check(self.batch)
        # People's ratings that do not fit are refused before a call.
        run = self._new_run()
        start = None if self.output is None else start_of(self.output, self.plan.models, caps)
        on_each = on_event or notebook_progress(self.most_results)
        async with self.calling(caps, execution) as caller:
            return await with_own_answers(
                caller,
                lambda again: self._judged(
                    self._new_run() if again else run,
                    caller,
                    caps,
                    execution,
                    start,
                    on_each,
                    again,
                ),
            )

    def _new_run(self) -> Run:
        """Return the run without a judgment; refuse people's ratings that do not fit it."""
        run = Run.of(self.plan, self.batch)
        run.random = self._random
        if self._humans is not None:
            _compare_with(self._humans, run, self.plan)
        return run

    async def _judged(
        self,
        run: Run,
        caller: Caller,
        caps: Caps,
        execution: Execution,
        start: dict[str, Any] | None,
        on_each: Callable[[Any], None],
        again: bool,
    ) -> Run:
        """Give the run its judgments, and write it; `again` after answers were taken back."""
        batch = self.batch
        self.so_far = run
        folder = None
        if self.output is not None and start is not None:
            folder = RunFolder(self.output, self.manifest, self.texts, start)
        if again:
            execution = replace(execution, on_start=None, answered_by=None)

        def take(judgment: Judgment) -> None:
            run.add(judgment)
            if folder is not None:
                kept_going(caller, folder.path, folder.add, judgment)
            # What is repeated from the cache was reported before.
            if not (again and judgment.cached):
                on_each(judgment)

        started = time.monotonic()
        run.calls = caller.counts

        def finish(stopped: bool) -> None:
            run.elapsed_s = time.monotonic() - started
            if folder is not None:
                # Commands that its summary names are on its folder.
                run.folder = folder.path
                folder.finish(run, batch, lambda: self._summary(run))

        def discard() -> None:
            if folder is not None:
                folder.discard()

        async with self.asking(caller, execution, finish, discard):
            units, engine = self.mode.units(batch), execution.engine
            verdicts = (
                judged(self.plan, units, caller, take, peers=self._peers)
                if engine is None
                else engine.verdicts(self.plan, units, caller, caps, take)
            )
            async with aclosing(verdicts):
                async for verdict in verdicts:
                    run.conclude(verdict)
                    if folder is not None:
                        kept_going(caller, folder.path, folder.flush)
        if folder is not None:
            folder.require_whole()
        return run


@sent_to_address
async def score(
    plan: PanelPlan,
    responses: Responses,
    *,
    summary: SummaryOf,
    out: str | Path | RunOutput | None = None,
    caps: Caps = NO_CAPS,
    humans: Ratings | None = None,
    random: Random = "prompts",
    on_judgment: OnJudgment | None = None,
    execution: Execution = CALLED,
) -> Run:
    """Have every judge of a plan read every response; see `Panel.ascore`."""
    job = Scoring(plan, responses, out, summary=summary, humans=humans, random=random)
    for notice in _of_missing_prompts(plan, job.batch):
        logger.warning(notice)
    return await job.run(caps, execution, on_judgment)


async def stream(
    plan: PanelPlan,
    responses: Responses | AsyncIterable[Response],
    *,
    caps: Caps = NO_CAPS,
    on_judgment: OnJudgment | None = None,
) -> AsyncGenerator[Verdict, None]:
    """Yield verdicts as they come, for a batch that need not fit into memory; see
    `Panel.astream`."""
    mode = mode_of(plan)
    stream_of = responses if isinstance(responses, AsyncIterable) else responses_in(responses)
    units = mode.streamed_units(identified(response) async for response in as_async(stream_of))
    async with prepared(plan, caps) as caller:
        take = on_judgment or (lambda _: None)
        async with aclosing(judged(plan, units, caller, take)) as verdicts:
            async for verdict in verdicts:
                yield verdict


@asynccontextmanager
async def prepared(
    plan: PanelPlan,
    caps: Caps,
    more: Mapping[str, BoundModel] | None = None,
    *,
    off_loop: bool = False,
) -> AsyncIterator[Caller]:
    """Open the way to a plan's models, and to `more` under other names, without a folder;
    `off_loop`: see `open_caller`. Raises ConfigurationError: a model cannot be asked in the way it
    is to be, or has no known price where `caps` are in dollars; RunStopped: a model did not answer
    whether it gives log-probabilities."""
    models = {model.id: model for model in plan.models} | dict(more or {})
    refuse_unpriced(list(models.values()), caps)
    settings = plan.settings
    async with open_caller(
        models, caps, settings.concurrency, settings.patience, off_loop=off_loop
    ) as caller:
        await refuse_without_logprobs(plan.models, caller)
        yield caller


def _output(out: str | Path | RunOutput, responses: Responses) -> RunOutput:
    """Return where a run is written, with the file of its responses among its inputs."""
    output = RunOutput.of(out)
    if not isinstance(responses, ResponseFile) or responses.is_table:
        return output
    return output.with_file(responses.name, responses.mapping)


def _compare_with(humans: Ratings, run: Run, plan: PanelPlan) -> None:
    """Give a run human ratings; refuse those that cannot be compared before anything is spent."""
    if plan.settings.deliberation is None:
        # Only where people have rated.
        from persona_panel.files.aligned_ratings import align_ratings

        file = "human ratings" if humans.origin is None else humans.origin.file
        _, theirs = align_ratings(ratings_of(run), humans, "the run", file)
        # What matches nothing is said beside the run's figures.
        run.humans = replace(humans, origin=theirs.origin)
        return
    if not plan.output_rubric.numeric:
        raise ConfigurationError(
            "human ratings are compared with numeric ratings, and the rubric "
            f"{plan.rubric.id!r} has only categories; leave out the human ratings"
        )
    run.humans = humans
    if (deliberation := run.deliberation()) is not None:
        run.humans = replace(humans, origin=deliberation.people)


def _of_shared_texts(batch: Batch) -> Iterator[str]:
    """Yield for the pairs of systems that share the most texts how many these are."""
    for (a, b), n in batch.shared.most_common(_PAIRS_NAMED):
        yield (
            f"{shown(a)} and {shown(b)} have {counted(n, 'text')} in common: see that response and "
            "system are the columns that they should be."
        )


def _of_missing_prompts(plan: PanelPlan, batch: Batch) -> Iterator[str]:
    """Say how many responses lack the field that the rubric shows in place of the prompt."""
    rubric, field = plan.rubric, plan.rubric.item.prompt_from
    if field is None:
        return
    n = sum(not has_own_prompt(response, rubric) for response in batch)
    if n:
        yield (
            f"{n} of {len(batch)} responses have no text in the field {field!r}, which the rubric "
            f"{rubric.id}:{rubric.variant} shows as the {rubric.item.prompt}: their prompt is "
            "shown in its place."
        )
