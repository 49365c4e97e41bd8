"""`persona-panel batch`: the provider batches of a run, and the options of commands for them."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from panel.cli.dry_run import at_batch_prices
from panel.cli.failures import refusals_without_calls
from panel.cli.options import Command, option
from panel.cli.run_folder_option import refuse_batches_at
from panel.cli.signals import run_to_end
from panel.secrets.visible import say, standard_output, visible

if TYPE_CHECKING:
    from panel.judging.cost_estimate import CostEstimate
    from panel.plan.bound_models import BoundModel
    from panel.runs.execution import Execution, OnStart
    from panel.runs.open_batches import BatchNow
    from panel.runs.request_files import Exported, RequestFiles


@dataclass(frozen=True, slots=True)
class AnswerOptions:
    """Whether and how requests are answered elsewhere.

    Attributes:
        by_batches: by batches of the models' providers.
        to: a folder that requests are written to, and no run is made.
        answers: a folder with answers.
    """

    by_batches: bool
    to: Path | None
    answers: Path | None

    def priced(
        self, estimates: Sequence[CostEstimate], models: Mapping[str, BoundModel]
    ) -> Sequence[CostEstimate]:
        """The estimates at the prices of what answers; `models` by the estimates' names."""
        return at_batch_prices(estimates, models) if self.by_batches else estimates

    def execution(self, run: Path, on_start: OnStart) -> Execution:
        """How a run is carried out; `run` is its folder, or the file of its texts."""
        from panel.runs.execution import Execution

        if self.by_batches:
            from panel.runs.provider_batches import ByBatches

            return Execution(on_start, ByBatches(run, _tell))
        if self.answers is not None:
            from panel.runs.answer_files import ByFiles

            return Execution(on_start, ByFiles(self.answers, _tell))
        return Execution(on_start)

    def export(self, start: Callable[[RequestFiles], Coroutine[Any, Any, Exported]]) -> bool:
        """Have requests written to files, where that is wanted in place of a run; whether it is."""
        if self.to is None:
            return False
        from panel.conclusions.wording import counted
        from panel.runs.request_files import RequestFiles

        done = run_to_end(start(RequestFiles(self.to, self.answers)))
        for line in done.left_out:
            _tell(line)
        if self.answers is not None:
            _tell(f"Read from {self.answers}: {counted(done.taken, 'answer')}.")
        if not done.requests:
            _tell("No request is left: without --batch-out, the same command makes the run.")
            return True
        names = ", ".join(file.name for file in done.files)
        _tell(f"Written to {self.to}: {counted(done.requests, 'request')} ({names}).")
        _tell(
            "Put files of answers into the same folder; then run the same command with --batch-in "
            f"{self.to}, too: it reads them and writes the requests that follow from them, until "
            "none is left."
        )
        return True


def batch_options(command: Command) -> Command:
    """Options for answers that come from elsewhere; the command is given them as `answering`."""

    @option(
        "--batch",
        "by_batches",
        is_flag=True,
        help="Ask models by their provider's batches, at a lower price and within a day, where "
        "openai:NAME or its server has such, and for anthropic:NAME and google_genai:NAME; others "
        "are called as usual. Needs --out, a folder of this machine: started again, the same "
        "command goes on with the same batches.",
    )
    @option(
        "--batch-out",
        metavar="DIR",
        help="Write the requests that the cache does not answer to files in DIR, as rows of "
        "its provider's batches, and make no run; with --batch-in, what follows from its answers.",
    )
    @option(
        "--batch-in",
        metavar="DIR",
        help="Read answers to such requests from the files *.jsonl and *.jsonl.gz in DIR, and make "
        "the run from these and the cache, without a call.",
    )
    @wraps(command)
    def with_batches(
        *args: Any, by_batches: bool, batch_out: str | None, batch_in: str | None, **others: Any
    ) -> Any:
        if by_batches and (batch_out or batch_in):
            raise click.UsageError(
                "--batch asks the models' providers, --batch-out and --batch-in another system; "
                "leave one of them out."
            )
        context = click.get_current_context()
        no_out = context.get_parameter_source("out") is _DEFAULT
        if by_batches and no_out and not context.params["dry_run"]:
            raise click.UsageError(
                "--batch needs --out RUN: the same command then goes on there with its batches."
            )
        to, answers = (None if one is None else Path(one) for one in (batch_out, batch_in))
        return command(*args, answering=AnswerOptions(by_batches, to, answers), **others)

    return with_batches


def _run_argument(command: Command) -> Command:
    def of_this_machine(ctx: click.Context, param: click.Parameter, run: str) -> str:
        refuse_batches_at(run)
        return run

    # Before `refusals` copies a run from an address.
    return click.argument("run", metavar="RUN", callback=of_this_machine)(command)


_DEFAULT = click.core.ParameterSource.DEFAULT


_trust = click.option(
    "--trust",
    is_flag=True,
    help="Send keys where RUN says, to a server that you have not submitted batches to from here: "
    "only for a run of your own.",
)


@click.group()
def batch() -> None:
    """Look at the batches of a run, wait for them or cancel them.

    They were submitted by a command with `--batch --out RUN`, which waits for them, too, takes
    their answers and goes on; it can be stopped and started again at any time. RUN is a folder, or
    the file of responses that `generate` writes.
    """


@batch.command()
@_run_argument
@click.option("--json", "as_json", is_flag=True, help="Print a list of objects.")
@_trust
@refusals_without_calls
def status(run: str, as_json: bool, trust: bool) -> None:
    """Show how each batch of RUN stands at its provider.

    Exit status: 0; 1, a provider did not say; 2, there are no batches, or wrong configuration.
    """
    from panel.runs.open_batches import look

    _say_what_is_not_sent(run)
    found = run_to_end(look(Path(run), trusted=trust))
    _show(found, as_json)
    if not found and not as_json:
        say("No batch was submitted.", err=True)
    if any(one.batch.open for one in found) and not as_json:
        say("The command that submitted them takes the answers and goes on.", err=True)


@batch.command()
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


@batch.command()
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
    from panel.runs.open_batches import cancel as cancelled

    _say_what_is_not_sent(run)
    found = run_to_end(cancelled(Path(run), trusted=trust))
    if not found:
        say("No batch is open.", err=True)
        return
    _show(found, False)
    _take(run, ending=True, trusted=trust)


def _say_what_is_not_sent(run: str) -> None:
    from panel.runs.open_batches import headers_left_out

    if names := headers_left_out(Path(run)):
        say(
            visible(
                f"Asked without the headers {', '.join(names)}, whose values are in no file of the "
                "run; if the server refuses that, go on with the command that submitted them."
            ),
            err=True,
        )


def _take(run: str, *, trusted: bool, ending: bool = False) -> None:
    from panel.calls.batch_journal import InUse
    from panel.runs.open_batches import take_answers

    try:
        run_to_end(take_answers(Path(run), _tell, ending=ending, trusted=trusted))
    except InUse as busy:
        say(visible(f"{busy}; nothing more is to be done here."), err=True)


def _show(found: list[BatchNow], as_json: bool) -> None:
    import orjson

    rows = [_row(one) for one in found]
    with standard_output() as to:
        if as_json:
            to.write(orjson.dumps(rows, option=orjson.OPT_INDENT_2).decode() + "\n")
            return
        for row in rows:
            counted = f"{row['done']:,} of {row['requests']:,}" if row["requests"] else ""
            line = f"{row['model']}  {row['id'] or '-'}  {row['state']}  {counted}"
            to.write(visible(line.rstrip()) + "\n")


def _row(one: BatchNow) -> dict[str, Any]:
    batch, status = one.batch, one.status
    if status is None:
        state = {"prepared": "not submitted", "submitted": "submitted"}.get(
            batch.state, f"{batch.state}: {batch.outcome}"
        )
        done, total = batch.calls, len(batch.rows)
    else:
        state, done = status.word, status.done
        total = status.total or len(batch.rows)
    return {
        "model": batch.model,
        "id": batch.id or (status and status.id),
        "state": state,
        "open": batch.open,
        "done": done,
        "requests": total,
    }


def _tell(line: str) -> None:
    say(visible(line), err=True)
