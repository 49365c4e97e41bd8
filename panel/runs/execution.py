"""How a run is carried out, which is no part of what is run: who is told of it, who answers,
and where responses are judged."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from persona_panel.calls.batch_rounds import batches_of, journal_of
from persona_panel.calls.budget import Caps
from persona_panel.calls.caller import Caller, CallerFactory
from persona_panel.calls.rate_limiter import CallsState
from persona_panel.files.commands import command_line
from persona_panel.files.errors import RunFolderError
from persona_panel.graphs import Judgment, Response, Verdict
from persona_panel.plan.bound_models import BoundModel
from persona_panel.plan.panel_plan import PanelPlan

if TYPE_CHECKING:
    from persona_panel.calls.batch_caller import BatchCaller

OnStart = Callable[[Callable[[], CallsState]], None]
"""Called once nothing speaks against a run, before it judges anything; what it is given tells how
the run's calls stand, whenever it is called."""
Collect = Callable[[], Awaitable[None]]
"""Has everything asked once that a run asks, by a caller that collects."""


class AnsweredElsewhere(Protocol):
    """How requests are answered where models are not called for them.

    Attributes:
        probes: whether a model may be called to find out what it can do.
        keeps_batches: whether provider batches that are open are gone on with.
    """

    @property
    def probes(self) -> bool: ...

    @property
    def keeps_batches(self) -> bool: ...

    def caller_factory(
        self, models: Mapping[str, BoundModel], caps: Caps, *, others_too: bool
    ) -> CallerFactory:
        """What makes the run's caller.

        Args:
            models: that the run asks, by the names under which they are called.
            others_too: whether what models without batches say decides what others are asked.

        Raises:
            ConfigurationError: no model can be asked so, or caps cannot be held.
        """

    async def answer(
        self, caller: BatchCaller, models: Mapping[str, BoundModel], collect: Collect
    ) -> None:
        """Have requests answered until the cache lacks none that can be.

        Raises:
            RunStopped, RunFolderError, InputError, Abort: the run cannot go on.
        """


class Engine(Protocol):
    """Where the responses of a run are judged, if not in its own process."""

    def verdicts(
        self,
        plan: PanelPlan,
        units: AsyncIterator[tuple[Response, ...]],
        caller: Caller,
        caps: Caps,
        on_judgment: Callable[[Judgment], None],
    ) -> AsyncGenerator[Verdict, None]:
        """The verdicts on units of responses (see `Mode.units`), as they come, and each of their
        judgments before. Cache, limits and budget are the caller's, wherever calls are made.

        Raises:
            Abort, PanelError: the run cannot go on.
        """


@dataclass(frozen=True, slots=True)
class Execution:
    """How a run is carried out.

    Attributes:
        on_start: see `OnStart`.
        answered_by: who answers in rounds, before the run itself is made from the cache; None, the
            models are called.
        engine: where responses are judged; None, in this process.
    """

    on_start: OnStart | None = None
    answered_by: AnsweredElsewhere | None = None
    engine: Engine | None = None

    @property
    def probes(self) -> bool:
        """Whether a model may be called to find out what it can do."""
        return self.answered_by is None or self.answered_by.probes

    def caller_factory(
        self, models: Mapping[str, BoundModel], caps: Caps, *, others_too: bool
    ) -> CallerFactory:
        """What makes the run's caller; see `AnsweredElsewhere.caller_factory`."""
        if self.answered_by is None:
            return Caller
        return self.answered_by.caller_factory(models, caps, others_too=others_too)

    async def begin(
        self, caller: Caller, models: Mapping[str, BoundModel], collect: Collect
    ) -> None:
        """Have answered what is not to be called for, and tell that the run itself begins.

        Raises as `AnsweredElsewhere.answer`.
        """
        if self.answered_by is not None:
            # Most runs need nothing of batches.
            from persona_panel.calls.batch_caller import BatchCaller

            assert isinstance(caller, BatchCaller)  # noqa: S101
            await self.answered_by.answer(caller, models, collect)
        if self.on_start is not None:
            self.on_start(caller.state)


CALLED = Execution()
"""Models are called, and nobody is told."""


def refuse_open_batches(
    run: Path, answered_by: AnsweredElsewhere | None, *, overwrite: bool
) -> None:
    """See that no request that is in a provider's batch goes to its model again.

    Args:
        run: the run's folder, or the file of its texts.

    Raises:
        RunFolderError: it has open batches, and is to be overwritten or made without them.
    """
    place = journal_of(run).parent
    if not (place.is_dir() and os.access(place, os.R_OK | os.X_OK)):
        # That it cannot be written is said when it is opened for writing.
        return
    n_open = sum(batch.open for batch in batches_of(run))
    if n_open and (overwrite or answered_by is None or not answered_by.keeps_batches):
        raise RunFolderError(
            f"{run} has open batches, which are paid for ({n_open:,}); go on with --batch and "
            f"without --overwrite, or end them with `{command_line('batch cancel', [run])}`"
        )
