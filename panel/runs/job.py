"""A job: what asks models, whatever for. It is foreseen without a call, run within caps, handed to
another system in files, and gone on with, in one way."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Coroutine,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import asynccontextmanager, closing, contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from persona_panel.calls.budget import NO_CAPS, Caps
from persona_panel.calls.cache import open_reply_store
from persona_panel.calls.caller import AnswersTakenBack, Caller, CallerFactory
from persona_panel.files.errors import RunStopped
from persona_panel.files.named_files import written_place
from persona_panel.files.outputs import is_lack_of_room
from persona_panel.graphs.context import Abort
from persona_panel.planning.bound_models import BoundModel
from persona_panel.runs.cost_estimate import (
    CostEstimate,
    PredictedCalls,
    refuse_unpriced,
    refuse_without_logprobs,
)
from persona_panel.runs.execution import CALLED, Execution, refuse_open_batches
from persona_panel.runs.folder import HeldRun, OutputFile, held_for
from persona_panel.runs.model_access import open_caller
from persona_panel.runs.output import RunOutput
from persona_panel.runs.spending import earlier_spending, spending_kept

if TYPE_CHECKING:
    from persona_panel.runs.request_files import Exported, RequestFiles

T = TypeVar("T")

_MOST_PASSES = 4


class Job(ABC, Generic[T]):
    """A task that asks models, by the names under which they are called, and comes to a `T`.

    Attributes:
        output: where it is written; None, nowhere.
        probed: the models that are asked, before all else, whether they give log-probabilities.
        concurrency, patience_s: of models that say nothing of it themselves.
        others_too: whether what models without batches say decides what others are asked.
        heading: says what is asked of whom; `what` is what its results are called.
        n_results: how many there are to be, if known; `most_results` at most.
        shares: in which proportion each model gives them.
        notices: what is to be known of its results before they are there.
    """

    models: Mapping[str, BoundModel]
    output: RunOutput | OutputFile | None = None
    probed: Sequence[BoundModel] = ()
    concurrency: int | None = None
    patience_s: float | None = None
    others_too = False
    heading: str
    what: ClassVar[str] = "judgments"
    n_results: int | None = None
    most_results = 0
    shares: Mapping[str, int] = MappingProxyType({})
    notices: Sequence[str] = ()

    @abstractmethod
    def estimate(self) -> list[CostEstimate]:
        """Estimate the cost by model, the cache counted in; call nothing. Raises InputError:
        something cannot be asked."""

    @abstractmethod
    async def run(
        self,
        caps: Caps = NO_CAPS,
        execution: Execution = CALLED,
        on_event: Callable[[Any], None] | None = None,
    ) -> T:
        """Ask what the cache does not answer, and write what comes of it. `on_event`: called with
        each result as it comes. Raises ConfigurationError: a model cannot be asked, or has no known
        price where `caps` are in dollars; RunFolderError: the output holds something else, is being
        written, or cannot be; RunStopped: the job could not go on, or lacks what the output holds.
        """

    def refuse_others(self) -> None:
        """Check that the output is free for this job, holds it already or is to be overwritten.
        Raises RunFolderError: it holds something else, or cannot be written."""

    def refuse_unkept(self) -> None:
        """Check that the cache answers again what the output holds. Raises RunFolderError: it lacks
        half of the answers or more, which would be paid for twice; ConfigurationError: the cache
        cannot be used."""

    def n_done(self) -> int:
        """Count the results that the output holds."""
        return 0

    async def collect(self, caller: Caller) -> None:
        """Ask all that follows from the replies that there are, for the caller to collect."""

    def held(self, caps: Caps = NO_CAPS) -> HeldRun | None:
        """Return what the output holds of this job; call nothing, and refuse what `run` would
        refuse."""
        refuse_unpriced(list(self.models.values()), caps)
        if self.output is None:
            return None
        self.refuse_others()
        n_done = 0 if self.output.overwrite else self.n_done()
        return held_for(self.output, n_done, self.models, caps)

    async def export(self, files: RequestFiles) -> Exported:
        """Write the requests that the cache does not answer, to be answered elsewhere; call no
        model that can be asked in this way. Raises as `run` and
        `persona_panel.runs.request_files.export`."""
        # Most runs need nothing of batches.
        from persona_panel.runs.provider_batches import batch_caller_factory
        from persona_panel.runs.request_files import export

        caller_factory, _ = batch_caller_factory(self.models, others_too=self.others_too)
        async with open_caller(
            self.models, NO_CAPS, self.concurrency, self.patience_s, caller_factory=caller_factory
        ) as caller:
            return await export(caller, self.models, lambda: self.collect(caller), files)

    @asynccontextmanager
    async def calling(self, caps: Caps, execution: Execution) -> AsyncIterator[Caller]:
        """Open the way to the models, once nothing speaks against the job. Raises as `run`."""
        refuse_unpriced(list(self.models.values()), caps)
        if self.output is not None:
            path, overwrite = Path(self.output.path), self.output.overwrite
            refuse_open_batches(path, execution.answered_by, overwrite=overwrite)
            self.refuse_others()
            if execution.answered_by is None:
                await asyncio.to_thread(self.refuse_unkept)
        elsewhere = execution.answered_by
        caller_factory: CallerFactory = Caller
        if elsewhere is not None:
            others_too = self.others_too
            caller_factory = elsewhere.caller_factory(self.models, caps, others_too=others_too)
        async with open_caller(
            self.models, caps, self.concurrency, self.patience_s, caller_factory=caller_factory
        ) as caller:
            if self.output is not None:
                # The probe counts, too; what is said here is read again behind the output's lock.
                earlier = earlier_spending(self.output.spent, overwrite=self.output.overwrite)
                caller.budget.go_on_from(*earlier)
            if elsewhere is None or elsewhere.probes:
                await refuse_without_logprobs(self.probed, caller)
            yield caller

    @asynccontextmanager
    async def asking(
        self,
        caller: Caller,
        execution: Execution,
        finish: Callable[[bool], None] = lambda stopped: None,
        discard: Callable[[], None] = lambda: None,
    ) -> AsyncIterator[None]:
        """Keep count of what is spent while the job asks, and have what there is written once it
        ends, however it ends: `finish` is told whether it was stopped. What was made of answers
        that were taken back is no result: `discard` closes the output without it. Raises
        RunStopped: the job could not go on; because of `AnswersTakenBack` it can, if it is done
        again."""
        stopped = True
        try:
            try:
                with spending_kept(caller, None if self.output is None else self.output.spent):
                    if execution.answered_by is not None:
                        # Most runs need nothing of batches.
                        from persona_panel.calls.batch_caller import BatchCaller

                        assert isinstance(caller, BatchCaller)  # noqa: S101
                        await execution.answered_by.answer(
                            caller, self.models, lambda: self.collect(caller)
                        )
                    if execution.on_start is not None:
                        execution.on_start(caller.state)
                    yield
                    await caller.look_at_connections()
                    caller.require_not_stopped()
                stopped = False
            finally:
                if caller.has_taken_back():
                    discard()
                else:
                    finish(stopped)
            caller.require_own_answers()
        except Abort as error:
            raise RunStopped(str(error)) from error
        except OSError as error:
            unkept = error if self.output is None else unwritten(Path(self.output.path), error)
            raise RunStopped(str(unkept)) from error


async def with_own_answers(caller: Caller, work: Callable[[bool], Awaitable[T]]) -> T:
    """Do a job's work, and again, from the cache, as long as answers were taken back meanwhile;
    `work` is told whether it is done again. Raises RunStopped: answers were taken back each time,
    or the job could not go on."""
    for n_before in range(_MOST_PASSES):
        try:
            return await work(n_before > 0)
        except RunStopped as stopped:
            is_last = n_before == _MOST_PASSES - 1
            if is_last or not isinstance(stopped.__cause__, AnswersTakenBack):
                raise
            caller.counts.cached = 0
    raise AssertionError


async def at_once(work: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """Do all of it at once, and return what comes of it, in its order. Raises Abort: the run cannot
    go on."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(each) for each in work]
    except* Abort as stopped:
        raise stopped.exceptions[0] from None
    return [task.result() for task in tasks]


@contextmanager
def predicted_calls() -> Iterator[PredictedCalls]:
    """Open the cache, and predict for estimates which calls it will answer."""
    with closing(open_reply_store()) as cache:
        yield PredictedCalls(cache)


def kept_going(caller: Caller, path: Path, write: Callable[..., None], *results: object) -> None:
    """Write results to a path; where that fails, the calls in flight come to their end before the
    run does, so that their replies are in the cache."""
    try:
        write(*results)
    except OSError as error:
        caller.stop(unwritten(path, error))


def unwritten(path: Path, error: OSError) -> Abort:
    """Return the error of a run that ends because its results cannot be written."""
    if isinstance(error, FileNotFoundError) and not path.exists():
        return Abort(
            f"{written_place(path)} was moved or removed during the run. What was written is where "
            "it is now, and every answer is in the cache: the same command with that place as "
            "--out continues the run"
        )
    if not is_lack_of_room(error):
        return Abort(str(error))
    reason = f"{written_place(path)} cannot be written ({error.strerror})"
    return Abort(f"{reason}; make room, then run the same command again")
