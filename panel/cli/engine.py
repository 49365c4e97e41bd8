"""Options for where a run's responses are judged."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from panel.cli.options import Command, option

if TYPE_CHECKING:
    from panel.runs.execution import Engine


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """The engine as `NAME` or `NAME:ADDRESS`, and how many workers it is to have; None, this
    process judges."""

    spec: str | None
    workers: int | None

    def refuse_unknown(self) -> None:
        """See that there is such an engine; whether its cluster answers, only a run finds out.

        Raises:
            ConfigurationError: there is none.
        """
        if self.spec is not None:
            from panel.clusters.engines import refuse_unknown

            refuse_unknown(self.spec)

    def opened(self) -> AbstractContextManager[Engine | None]:
        """The engine, connected for as long as the block lasts.

        Raises:
            ConfigurationError: as `opened_engine`.
        """
        if self.spec is None:
            return nullcontext()
        from panel.clusters.engines import opened_engine

        return opened_engine(self.spec, self.workers)


def engine_options(command: Command) -> Command:
    """Options for a cluster; the command is given them as `engine`."""

    @option(
        "--engine",
        "spec",
        metavar="ray[:ADDRESS]",
        help="Judge by workers on a Ray cluster: at ADDRESS (HOST:PORT), or the one that "
        "$RAY_ADDRESS names or that runs on this machine, or else a new one here. Limits, caps and "
        "the cache are shared by all workers.  [default: judge in this process]",
    )
    @option(
        "--workers",
        metavar="N",
        type=click.IntRange(min=1),
        help="Number of workers, each of one CPU; only with --engine.  [default: as many as the "
        "cluster has CPUs, 8 at most]",
    )
    @wraps(command)
    def with_engine(*args: Any, spec: str | None, workers: int | None, **others: Any) -> Any:
        if workers is not None and spec is None:
            raise click.UsageError("--workers works only with --engine; leave it out.")
        answering = others["answering"]
        if spec is not None and (answering.by_batches or answering.to or answering.answers):
            raise click.UsageError(
                "--engine calls models, and --batch, --batch-out and --batch-in do not; leave one "
                "of them out."
            )
        return command(*args, engine=EngineOptions(spec, workers), **others)

    return with_engine
