"""A panel plan at work: a batch or a stream through its mode, within caps, written as it goes, with
its progress in a notebook.

Only what every notebook shows is used, text and HTML, and no widget, which some do not have.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import time
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    AsyncIterator,
    Awaitable,
    Callable,
    Iterable,
    Iterator,
    Mapping,
)
from contextlib import aclosing, asynccontextmanager, closing, contextmanager
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypedDict, TypeVar
from uuid import uuid4

from persona_panel.calls.budget import NO_CAPS, Caps
from persona_panel.calls.cache import open_reply_store
from persona_panel.calls.caller import AnswersTakenBack, Caller, CallerFactory
from persona_panel.calls.rate_limiter import InFlightLimit
from persona_panel.files.errors import ConfigurationError, RunStopped
from persona_panel.files.named_files import written_place
from persona_panel.files.outputs import is_lack_of_room
from persona_panel.files.records import Responses
from persona_panel.files.responses import Batch, ResponseFile, as_async, identified, responses_in
from persona_panel.graphs import Judgment, Response, Verdict
from persona_panel.graphs.context import Abort, GraphContext, ShowPeers
from persona_panel.graphs.records import has_own_prompt
from persona_panel.planning.bound_models import BoundModel
from persona_panel.planning.panel_plan import PanelPlan, manifest_of
from persona_panel.runs.execution import CALLED, Engine, Execution, refuse_open_batches, start_of
from persona_panel.runs.folder import HeldRun, RunFolder, held_in, refuse_another
from persona_panel.runs.judging.cost_estimate import (
    CostEstimate,
    PredictedCalls,
    refuse_unpriced,
    refuse_without_logprobs,
)
from persona_panel.runs.judging.mode import Mode, mode_of
from persona_panel.runs.judging.model_access import graph_context, open_caller, responses_in_flight
from persona_panel.runs.kept import KeptTexts
from persona_panel.runs.output import RunOutput, sent_to_address
from persona_panel.runs.run import Run
from persona_panel.runs.spending import SPENT, earlier_spending, spending_kept
from persona_panel.statistics.core.display import clock

if TYPE_CHECKING:
    from persona_panel.runs.request_files import Exported, RequestFiles
    from persona_panel.statistics.core.arrays import Random
    from persona_panel.statistics.core.table import Ratings


_EVERY_S = 0.5
_TIME_LEFT_AFTER_S = 3.0


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
        self._done = self._missing = 0
        self._started = self._shown = time.monotonic()
        self._place = {"display_id": f"persona-panel-{uuid4().hex}"}
        self._show(self._started, update=False)

    def take(self, event: object) -> None:
        """Count one more judgment; ratings after a deliberation are none more."""
        if not isinstance(event, Judgment) or event.round > 1:
            return
        # Those whose answers were taken back come again.
        self._done = min(self._done + 1, self._total)
        self._missing += event.status not in ("scored", "abstained")
        now = time.monotonic()
        if now - self._shown >= _EVERY_S or self._done == self._total:
            self._show(now, update=True)

    def _show(self, now: float, *, update: bool) -> None:
        self._shown = now
        elapsed = now - self._started
        parts = [f"{self._done:,}/{self._total:,} judgments"]
        if self._missing:
            parts.append(f"{self._missing:,} missing")
        if self._done == self._total:
            parts.append(f"in {clock(round(elapsed))}")
        elif self._done and elapsed > _TIME_LEFT_AFTER_S:
            left = elapsed * (self._total - self._done) / self._done
            parts += [f"{self._done / elapsed:,.1f}/s", f"about {clock(round(left))} left"]
        text = ", ".join(parts)
        bar = f'<progress value="{self._done}" max="{self._total}"></progress>'
        data = {"text/plain": text, "text/html": f"<div>{bar} {text}</div>"}
        self._publish(data=data, metadata={}, transient=self._place, update=update)


async def judge_units(
    units: AsyncIterator[tuple[Response, ...]],
    mode: Mode,
    context: GraphContext,
    texts: dict[str, Response],
    at_once: int,
) -> AsyncGenerator[Verdict, None]:
    """Yield the verdicts on all units, in the order in which they are finished.

    Units are taken only as fast as they are judged, `at_once` of them, beside those that wait for
    nothing but a server that is down. `texts` is where `context` looks a response up by its key;
    it holds those that are being judged.
    """
    numbers = count()

    async def judged(unit: tuple[Response, ...]) -> list[Verdict]:
        # Numbers: two ids joined could be two others, and a stream may repeat itself.
        keys = tuple(str(next(numbers)) for _ in unit)
        texts.update(zip(keys, unit, strict=True))
        with limit.work():
            verdicts = await mode.judge(keys, context)
        for key in keys:
            del texts[key]
        return verdicts

    # Taken apart from the reading, so that no verdict waits for a slow source.
    limit = InFlightLimit(at_once)
    reading: set[asyncio.Task[list[Verdict]]] = set()
    finished: asyncio.Queue[asyncio.Task[Any]] = asyncio.Queue()

    async def take_units() -> None:
        while True:
            await limit.enter()
            try:
                unit = await anext(units)
            except StopAsyncIteration:
                return
            task = asyncio.create_task(judged(unit))
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


logger = logging.getLogger(__name__)

T = TypeVar("T")

OnJudgment = Callable[[Judgment], None]


class ScoreOptions(TypedDict, total=False):
    """The options for scoring a batch; see `Panel.ascore`."""

    out: str | Path | RunOutput | None
    caps: Caps
    humans: Ratings | None
    random: Random
    on_judgment: OnJudgment | None
    engine: Engine | None


@sent_to_address
async def score(
    plan: PanelPlan,
    responses: Responses,
    *,
    out: str | Path | RunOutput | None = None,
    caps: Caps = NO_CAPS,
    humans: Ratings | None = None,
    random: Random = "prompts",
    on_judgment: OnJudgment | None = None,
    peers: ShowPeers | None = None,
    execution: Execution = CALLED,
) -> Run:
    """Have every judge of a plan read every response; see `Panel.ascore`.

    `peers` changes what judges that deliberate are shown of each other; an audit puts attacks
    there.
    """
    batch, mode = Batch(responses, one_prompt_each=True), mode_of(plan)
    mode.check(batch)
    _warn_of_missing_prompts(plan, batch)
    if humans is not None:
        _compare_with(humans, Run.of(plan, batch), plan)
    output = None if out is None else _output(out, responses)
    manifest, texts = manifest_of(plan) | {"random": random}, KeptTexts.of_batch(batch)
    start = None if output is None else start_of(output, plan.models)
    caller_factory = _caller_factory(plan, caps, output, execution)
    probed = execution.probes
    on_each = on_judgment or notebook_progress(len(batch) * len(plan.judges))

    async def judged(caller: Caller, again: bool) -> Run:
        run = Run.of(plan, batch)
        run.random = random
        if humans is not None:
            _compare_with(humans, run, plan)
        folder = None
        if output is not None and start is not None:
            folder = RunFolder(output, manifest, texts, start)

        def take(judgment: Judgment) -> None:
            run.add(judgment)
            if folder is not None:
                kept_going(caller, folder.path, folder.add, judgment)
            # What is repeated from the cache has been told before.
            if not (again and judgment.cached):
                on_each(judgment)

        started = time.monotonic()
        run.calls = caller.counts

        def finish(stopped: bool) -> None:
            run.elapsed_s = time.monotonic() - started
            if folder is not None:
                folder.finish(run, batch)
                run.folder = folder.path

        with written_at_the_end(caller, folder, finish):
            judging = _Judging(plan, mode, caller, peers)
            if not again:
                models = {model.id: model for model in plan.models}
                await execution.begin(caller, models, lambda: judging.collect(batch))
            units, engine = mode.units(batch), execution.engine
            verdicts = (
                judging.verdicts(units, take)
                if engine is None
                else engine.verdicts(plan, units, caller, caps, take)
            )
            async with aclosing(verdicts):
                async for verdict in verdicts:
                    run.conclude(verdict)
                    if folder is not None:
                        kept_going(caller, folder.path, folder.flush)
            await caller.look_at_connections()
        return run

    async with prepared(
        plan, caps, output, manifest, texts, caller_factory=caller_factory, probed=probed
    ) as caller:
        return await _with_own_answers(caller, judged)


_MOST_PASSES = 4


async def _with_own_answers(caller: Caller, judged: Callable[[Caller, bool], Awaitable[T]]) -> T:
    """Do what makes a run, and again from the cache as long as answers were taken back meanwhile;
    `judged` is told whether it is done again.

    Raises:
        RunStopped: answers were taken back each time, or the run could not go on.
    """
    for n_before in range(_MOST_PASSES):
        try:
            return await judged(caller, n_before > 0)
        except RunStopped as stopped:
            is_last = n_before == _MOST_PASSES - 1
            if is_last or not isinstance(stopped.__cause__, AnswersTakenBack):
                raise
            caller.counts.cached = 0
    raise AssertionError


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
        async with aclosing(_Judging(plan, mode, caller).verdicts(units, take)) as verdicts:
            async for verdict in verdicts:
                yield verdict


async def export_requests(
    plan: PanelPlan, responses: Responses, files: RequestFiles, *, peers: ShowPeers | None = None
) -> Exported:
    """Write the requests that scoring would make and the cache does not answer, to be answered
    elsewhere; calls no model that could be asked so. `peers` as `score`. Raises as `score` and
    `export`."""
    # Most runs need nothing of batches.
    from persona_panel.runs.provider_batches import batch_caller_factory
    from persona_panel.runs.request_files import export

    batch, mode = Batch(responses, one_prompt_each=True), mode_of(plan)
    mode.check(batch)
    models = {model.id: model for model in plan.models}
    caller_factory, _ = batch_caller_factory(
        models, others_too=plan.settings.deliberation is not None
    )
    async with prepared(plan, NO_CAPS, caller_factory=caller_factory, probed=False) as caller:
        judging = _Judging(plan, mode, caller, peers)
        return await export(caller, models, lambda: judging.collect(batch), files)


def estimate(plan: PanelPlan, responses: Responses) -> list[CostEstimate]:
    """Estimate the calls and cost of scoring, model by model, the cache counted in; see
    `Panel.estimate`."""
    batch = Batch(responses, one_prompt_each=True)
    with predicted_calls() as predicted:
        return mode_of(plan).estimate(batch, predicted)


def held_run(
    plan: PanelPlan, responses: Iterable[Response], output: RunOutput, caps: Caps = NO_CAPS
) -> HeldRun:
    """Return what a folder holds of this run; refuse what `score` would refuse; see `held_in`."""
    texts = KeptTexts.of_batch(Batch(responses, one_prompt_each=True))
    models = {model.id: model for model in plan.models}
    return held_in(_output(output, responses), manifest_of(plan), texts, models, caps)


@contextmanager
def predicted_calls() -> Iterator[PredictedCalls]:
    """Open the cache, and predict for estimates which calls it will answer."""
    with closing(open_reply_store()) as cache:
        yield PredictedCalls(cache)


@asynccontextmanager
async def prepared(
    plan: PanelPlan,
    caps: Caps,
    output: RunOutput | None = None,
    manifest: Mapping[str, Any] | None = None,
    texts: KeptTexts | None = None,
    more: Mapping[str, BoundModel] | None = None,
    *,
    off_loop: bool = False,
    caller_factory: CallerFactory = Caller,
    probed: bool = True,
) -> AsyncIterator[Caller]:
    """Open the way to a plan's models, and to `more` under other names, once nothing speaks against
    the run that `manifest` and `texts` describe. `off_loop`, `caller_factory`: see `open_caller`.
    `probed`: models may be called to find out what they can do.

    Raises:
        ConfigurationError: a model cannot be asked in the way it is to be, or has no known price
            where `caps` are in dollars.
        RunFolderError: `output` holds another run, or cannot be written.
        RunStopped: a model did not answer whether it gives log-probabilities.
    """
    models = {model.id: model for model in plan.models} | dict(more or {})
    refuse_unpriced(list(models.values()), caps)
    if output is not None and manifest is not None and texts is not None:
        refuse_another(output, manifest, texts)
    opened = open_caller(
        models,
        caps,
        plan.settings.concurrency,
        plan.settings.patience,
        off_loop=off_loop,
        caller_factory=caller_factory,
    )
    async with opened as caller:
        if output is not None:
            # The probe counts, too; what is said here is read again behind the folder's lock.
            caller.budget.go_on_from(*earlier_spending(output))
        if probed:
            await refuse_without_logprobs(plan.models, caller)
        yield caller


class WrittenFolder(Protocol):
    """A run's folder, open for writing."""

    path: Path

    def discard(self) -> None:
        """Close it without what this run has written there."""

    def require_whole(self) -> None:
        """Check that the run has all results that the folder holds."""


@contextmanager
def written_at_the_end(
    caller: Caller, folder: WrittenFolder | None, finish: Callable[[bool], None]
) -> Iterator[None]:
    """Keep count of what is spent for a folder while a run goes on, and have what there is
    written once it ends, however it ends: `finish` is told whether it was stopped.

    What was made of answers that were taken back is not written, and no result.

    Raises:
        RunStopped: the run could not go on; because of `AnswersTakenBack` it can, if it is made
            again. Or it lacks results that the folder holds, which is left as it was.
    """
    try:
        stopped = True
        try:
            with spending_kept(caller, folder.path / SPENT if folder else None):
                yield
                caller.require_not_stopped()
            stopped = False
        finally:
            if not caller.has_taken_back():
                finish(stopped)
            elif folder is not None:
                folder.discard()
        caller.require_own_answers()
    except Abort as error:
        raise RunStopped(str(error)) from error
    except OSError as error:
        raise RunStopped(str(error if folder is None else unwritten(folder.path, error))) from error
    if folder is not None:
        folder.require_whole()


def kept_going(caller: Caller, path: Path, write: Callable[..., None], *results: object) -> None:
    """Write results to a path; where that fails, the calls in flight come to their end before the
    run does, so that their replies are in the cache."""
    try:
        write(*results)
    except OSError as error:
        caller.stop(unwritten(path, error))


def unwritten(path: Path, error: OSError) -> Abort:
    """Return the error of a run that ends because its results cannot be written."""
    if not is_lack_of_room(error):
        return Abort(str(error))
    said = f"{written_place(path)} cannot be written ({error.strerror})"
    return Abort(f"{said}; make room, then run the same command again")


def _output(out: str | Path | RunOutput, responses: Responses) -> RunOutput:
    """Return where a run is written, with the file of its responses among its inputs."""
    output = RunOutput.of(out)
    if not isinstance(responses, ResponseFile) or responses.is_table:
        return output
    return output.with_file(responses.name, responses.mapping)


def _compare_with(humans: Ratings, run: Run, plan: PanelPlan) -> None:
    """Give a run human ratings; refuse those that cannot be compared before anything is spent."""
    if not plan.output_rubric.numeric:
        raise ConfigurationError(
            "human ratings are compared with numeric ratings, and the rubric "
            f"{plan.rubric.id!r} has only categories; leave out the human ratings"
        )
    run.humans = humans
    # What matches nothing is said beside the run's figures.
    if (deliberation := run.deliberation()) is not None:
        run.humans = replace(humans, origin=deliberation.people)


@dataclass(frozen=True, slots=True)
class _Judging:
    """The judges of a plan, with the way to their models; `peers` as `score`."""

    plan: PanelPlan
    mode: Mode
    caller: Caller
    peers: ShowPeers | None = None

    def verdicts(
        self,
        units: AsyncIterator[tuple[Response, ...]],
        on_judgment: OnJudgment,
        *,
        collecting: bool = False,
    ) -> AsyncGenerator[Verdict, None]:
        """Yield the verdicts on responses that are read together or one by one."""
        texts: dict[str, Response] = {}
        context = graph_context(self.plan, texts, self.caller, on_judgment, self.peers)
        context = replace(context, collecting=collecting)
        return judge_units(units, self.mode, context, texts, responses_in_flight(self.plan))

    async def collect(self, batch: Batch) -> None:
        """Have all judges asked, for what the caller gathers of it: nothing comes of their
        answers."""
        verdicts = self.verdicts(self.mode.units(batch), lambda _: None, collecting=True)
        async with aclosing(verdicts):
            async for _ in verdicts:
                pass


def judged(
    plan: PanelPlan,
    units: AsyncIterator[tuple[Response, ...]],
    caller: Caller,
    on_judgment: OnJudgment,
) -> AsyncGenerator[Verdict, None]:
    """Yield the verdicts on units of responses (see `Mode.units`) by a caller that is open: a part
    of a run, for engines."""
    return _Judging(plan, mode_of(plan), caller).verdicts(units, on_judgment)


def _caller_factory(
    plan: PanelPlan, caps: Caps, output: RunOutput | None, execution: Execution
) -> CallerFactory:
    """Return the function that makes the caller of a run, whose folder has no open batches that it
    does not go on with."""
    if output is not None:
        refuse_open_batches(output.folder, execution.answered_by, overwrite=output.overwrite)
    # Who deliberates must have heard the others.
    others_too = plan.settings.deliberation is not None
    models = {model.id: model for model in plan.models}
    return execution.caller_factory(models, caps, others_too=others_too)


def _warn_of_missing_prompts(plan: PanelPlan, batch: Batch) -> None:
    """Warn how many responses lack the field that the rubric shows in place of the prompt."""
    field = plan.rubric.item.prompt_from
    if field is None:
        return
    n = sum(not has_own_prompt(response, plan.rubric) for response in batch)
    if n:
        logger.warning(
            "%d of %d responses have no text in the field %r, which the rubric %s:%s shows as the "
            "%s: their prompt is shown in its place",
            n,
            len(batch),
            field,
            plan.rubric.id,
            plan.rubric.variant,
            plan.rubric.item.prompt,
        )
