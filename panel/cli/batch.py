"""`persona-panel batch`: the batches of a run, and the options of `score` for them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from panel.cli.failures import refusals_without_calls
from panel.cli.options import Command, option
from panel.cli.signals import run_to_end
from panel.secrets.visible import say, standard_output, visible

if TYPE_CHECKING:
    from panel.panel import Panel
    from panel.runs.answered_elsewhere import AnsweredElsewhere
    from panel.runs.open_batches import BatchNow


@dataclass(frozen=True, slots=True)
class BatchOptions:
    """Whether and how requests are answered elsewhere.

    Attributes:
        by_provider: by batches of the models' providers.
        to: a folder that requests are written to, and no run is made.
        answers: a folder with answers.
    """

    by_provider: bool
    to: Path | None
    answers: Path | None

    def of(self, panel: Panel, folder: Path) -> AnsweredElsewhere | None:
        """How the models of a run are answered; None, they are called."""
        from panel.runs.answered_elsewhere import ByBatches, ByFiles

        if self.by_provider:
            return ByBatches(folder, panel.plan, _tell)
        return None if self.answers is None else ByFiles(self.answers)


def batch_options(command: Command) -> Command:
    """Options for answers that come in batches; the command is given them as `batches`."""

    @option(
        "--batch",
        "by_provider",
        is_flag=True,
        help="Ask models by their provider's batches, at a lower price and within a day, where "
        "openai:NAME or its server has such, and for anthropic:NAME and google_genai:NAME; others "
        "are called as usual. Needs --out: started again, the same command goes on with the same "
        "batches.",
    )
    @option(
        "--batch-out",
        metavar="DIR",
        help="Write the requests that the cache does not answer to files in DIR, as rows of "
        "its provider's batches, and make no run.",
    )
    @option(
        "--batch-in",
        metavar="DIR",
        help="Read answers to such requests from the files *.jsonl in DIR, and make the run from "
        "these and the cache, without a call.",
    )
    @wraps(command)
    def with_batches(
        *args: Any, by_provider: bool, batch_out: str | None, batch_in: str | None, **others: Any
    ) -> Any:
        if by_provider and (batch_out or batch_in):
            raise click.UsageError(
                "--batch asks the models' providers, --batch-out and --batch-in another system; "
                "leave one of them out."
            )
        source = click.get_current_context().get_parameter_source("out")
        if by_provider and not others["options"].dry_run and source is _DEFAULT:
            raise click.UsageError(
                "--batch needs --out RUN: the same command then goes on there with its batches."
            )
        to, answers = (None if one is None else Path(one) for one in (batch_out, batch_in))
        return command(*args, batches=BatchOptions(by_provider, to, answers), **others)

    return with_batches


_DEFAULT = click.core.ParameterSource.DEFAULT


@click.group()
def batch() -> None:
    """Look at the batches of a run, wait for them or cancel them.

    They were submitted by `score --batch --out RUN`, which waits for them, too, takes their
    answers and goes on; it can be stopped and started again at any time.
    """


@batch.command()
@click.argument("run", metavar="RUN")
@click.option("--json", "as_json", is_flag=True, help="Print a list of objects.")
@refusals_without_calls
def status(run: str, as_json: bool) -> None:
    """Show how each batch of RUN stands at its provider.

    Exit status: 0; 1, a provider did not say; 2, there are no batches, or wrong configuration.
    """
    from panel.runs.open_batches import look

    _say_what_is_not_sent(run)
    found = run_to_end(look(Path(run)))
    _show(found, as_json)
    if any(one.batch.open for one in found) and not as_json:
        say("The command that submitted them takes the answers and goes on.", err=True)


@batch.command()
@click.argument("run", metavar="RUN")
@refusals_without_calls
def wait(run: str) -> None:
    """Wait for the batches of RUN, and store their answers.

    Answers go into the cache. Nothing else is submitted: what follows from the answers, and what
    had none, is asked by the same `score --batch` command.

    Exit status: 0; 1, a provider did not answer or refused a batch; 2, there are no batches, or
    wrong configuration.
    """
    _say_what_is_not_sent(run)
    _take(run)


@batch.command()
@click.argument("run", metavar="RUN")
@refusals_without_calls
def cancel(run: str) -> None:
    """Cancel the batches of RUN, and store the answers that are there.

    Answers go into the cache, and are paid for. A batch that its provider does not know any more
    counts as the most that it may have cost. The run can then be continued by `score`, with --batch
    or without.

    Exit status: as of `wait`.
    """
    from panel.runs.open_batches import cancel as cancelled

    _say_what_is_not_sent(run)
    found = run_to_end(cancelled(Path(run)))
    if not found:
        say("No batch is open.", err=True)
        return
    _show(found, False)
    _take(run, ending=True)


def _say_what_is_not_sent(run: str) -> None:
    from panel.runs.open_batches import headers_left_out

    if names := headers_left_out(Path(run)):
        say(
            visible(
                f"Asked without the headers {', '.join(names)}, whose values are in no file of the "
                "run; if the server refuses that, go on with `score --batch` itself."
            ),
            err=True,
        )


def _take(run: str, *, ending: bool = False) -> None:
    from panel.calls.batch_journal import InUse
    from panel.runs.open_batches import take_answers

    try:
        run_to_end(take_answers(Path(run), _tell, ending=ending))
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
