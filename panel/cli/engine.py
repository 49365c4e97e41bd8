"""Options for where a run's responses are judged."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from persona_panel.cli.call_options import options_by_name
from persona_panel.cli.options import Command, option
from persona_panel.clusters.engines import engine_names

if TYPE_CHECKING:
    from persona_panel.runs.execution import Engine


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """The engine as `NAME` or `NAME:ADDRESS`, how many workers it is to have, and options of its
    own; None, this process judges."""

    spec: str | None
    workers: int | None
    options: Mapping[str, Any]

    def check(self) -> None:
        """See that there is such an engine; whether its cluster answers, only a run finds out.

        Raises:
            ConfigurationError: there is none, or its address or options cannot be right.
        """
        if self.spec is not None:
            from persona_panel.clusters.engines import check_engine_options

            check_engine_options(self.spec, self.options)

    def opened(self) -> AbstractContextManager[Engine | None]:
        """The engine, connected for as long as the block lasts.

        Raises:
            ConfigurationError: as `opened_engine`.
        """
        if self.spec is None:
            return nullcontext()
        from persona_panel.clusters.engines import opened_engine

        return opened_engine(self.spec, self.workers, self.options)


def engine_options(command: Command) -> Command:
    """Options for a cluster; the command is given them as `engine`."""

    @option(
        "--engine",
        "spec",
        metavar="NAME[:ADDRESS]",
        help="Judge by the workers of an engine, which share limits, caps and the cache. "
        f"Installed: {', '.join(engine_names())}. `ray` is a Ray cluster, at ADDRESS (HOST:PORT), "
        "or the one that $RAY_ADDRESS names or that runs on this machine, or else a new one here.  "
        "[default: judge in this process]",
    )
    @option(
        "--workers",
        metavar="N",
        type=click.IntRange(min=1),
        help="Number of workers; only with --engine.  [default: as many as the cluster has room "
        "for, 8 at most]",
    )
    @option(
        "--engine-option",
        "options_of_engine",
        metavar="NAME=VALUE",
        multiple=True,
        callback=options_by_name,
        help="An option of the engine. Of `ray`, what each worker takes of the cluster: num_cpus "
        "(1 if not given), num_gpus, or 'resources={NAME: AMOUNT}'. Repeatable; only with "
        "--engine.",
    )
    @wraps(command)
    def with_engine(
        *args: Any,
        spec: str | None,
        workers: int | None,
        options_of_engine: Mapping[str, Any],
        **others: Any,
    ) -> Any:
        for name, given in (("--workers", workers), ("--engine-option", options_of_engine)):
            if given and spec is None:
                raise click.UsageError(f"{name} works only with --engine; leave it out.")
        answering = others["answering"]
        if spec is not None and (answering.by_batches or answering.to or answering.answers):
            raise click.UsageError(
                "--engine calls models, and --batch, --batch-out and --batch-in do not; leave one "
                "of them out."
            )
        return command(*args, engine=EngineOptions(spec, workers, options_of_engine), **others)

    return with_engine
