"""`persona-panel batch`: the provider batches of a run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from persona_panel.cli.analysis_command import ResultOutput, result_options
from persona_panel.cli.failures import refusals_without_calls
from persona_panel.cli.help import PanelGroup
from persona_panel.cli.run_options import refuse_batches_at, say_line
from persona_panel.cli.signals import run_to_end
from persona_panel.files.secrets import say, visible
from persona_panel.results.result import Result
from persona_panel.results.table import Column, Key, Table

if TYPE_CHECKING:
    from persona_panel.runs.provider_batches import BatchNow


def _of_this_machine(ctx: click.Context, param: click.Parameter, run: str) -> str:
    # Before `refusals` copies a run from an address.
    refuse_batches_at(run)
    return run


_run_argument = click.argument("run", metavar="RUN", callback=_of_this_machine)
_trust = click.option(
    "--trust",
    is_flag=True,
    help="Send keys where RUN says, to a server that you have not submitted batches to from here: "
    "only for a run of your own.",
)


@click.group(cls=PanelGroup, example="status runs/first")
def batch() -> None:
    """Look at the batches of a run, wait for them or cancel them.

    They were submitted by a command with `--batch --out RUN`, which waits for them, too, takes
    their answers and goes on; it can be stopped and started again at any time. RUN is a folder, or
    the file of responses that `generate` writes.
    """


@batch.command(example="runs/first")
@_run_argument
@_trust
@result_options("open_batches <= 0")
@refusals_without_calls
def status(run: str, trust: bool, output: ResultOutput) -> None:
    """Show how each batch of RUN stands at its provider.

    Exit status: 0; 1, a provider did not say; 2, there are no batches, or wrong configuration.
    """
    from persona_panel.runs.provider_batches import look

    _say_what_is_not_sent(run)
    batches = run_to_end(look(Path(run), trusted=trust))
    output.show(_result(batches))


@batch.command(example="runs/first")
@_run_argument
@_trust
@refusals_without_calls
def wait(run: str, trust: bool) -> None:
    """Wait for the batches of RUN, and store their answers.

    Answers go into the cache. Nothing else is submitted: what follows from the answers, and what
    had none, is asked by the command that submitted them.

    Exit status: 0; 1, a provider did not answer or refused a batch; 2, there are no batches, or
    wrong configuration.
    """
    _say_what_is_not_sent(run)
    _take(run, trusted=trust)


@batch.command(example="runs/first")
@_run_argument
@_trust
@refusals_without_calls
def cancel(run: str, trust: bool) -> None:
    """Cancel the batches of RUN, and store the answers that are there.

    Answers go into the cache, and are paid for. A batch that its provider does not know any more
    counts as the most that it may have cost. The run can then be continued by the same command,
    with --batch or without.

    Exit status: as of `wait`.
    """
    from persona_panel.runs.provider_batches import cancel as cancelled

    _say_what_is_not_sent(run)
    cancelled_batches = run_to_end(cancelled(Path(run), trusted=trust))
    if not cancelled_batches:
        say("No batch is open.", err=True)
        return
    say(_result(cancelled_batches).text().rstrip())
    _take(run, ending=True, trusted=trust)


def _say_what_is_not_sent(run: str) -> None:
    from persona_panel.runs.provider_batches import headers_left_out

    if names := headers_left_out(Path(run)):
        say(
            visible(
                f"Asked without the headers {', '.join(names)}, whose values are in no file of the "
                "run; if the server refuses that, go on with the command that submitted them."
            ),
            err=True,
        )


def _take(run: str, *, trusted: bool, ending: bool = False) -> None:
    from persona_panel.calls.batch_rounds import InUse
    from persona_panel.runs.provider_batches import take_answers

    try:
        run_to_end(take_answers(Path(run), say_line, ending=ending, trusted=trusted))
    except InUse as busy:
        say(visible(f"{busy}; nothing more is to be done here."), err=True)


def _result(states: list[BatchNow]) -> Result:
    """Return the state of each batch."""
    columns = (
        Column("state", "text", "state"),
        Column("done", "whole", "done", of="requests"),
        Column("requests", "whole"),
        Column("open", "flag"),
    )
    of = (Key("model", "model"), Key("id", "batch"))
    batches = Table("batches", of, columns, [_row(state) for state in states], "Batches")
    n_open = sum(state.batch.open for state in states)
    counts = Table(
        "counts", (), (Column("open", "whole", figure="open_batches"),), [{"open": n_open}]
    )
    sentences = [] if states else ["No batch was submitted."]
    goes_on = "The command that submitted them takes the answers and goes on." if n_open else ""
    return Result("batch status", sentences, [batches, counts], next_step=goes_on)


def _row(state: BatchNow) -> dict[str, Any]:
    batch, status = state.batch, state.status
    if status is None:
        word = {"prepared": "not submitted", "submitted": "submitted"}.get(
            batch.state, f"{batch.state}: {batch.outcome}"
        )
        done, total = batch.calls, len(batch.rows)
    else:
        word, done = status.word, status.done
        total = status.total or len(batch.rows)
    return {
        "model": batch.model,
        "id": batch.id or (status and status.id),
        "state": word,
        "open": batch.open,
        "done": done,
        "requests": total,
    }
