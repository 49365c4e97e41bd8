"""Options for answers by provider batches or from files of such, and what a dry run says beside the
estimate.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from persona_panel.calls.budget import NOTHING_SPENT, Caps, Spending
from persona_panel.cli.options import Command, option
from persona_panel.cli.signals import run_to_end
from persona_panel.files.secrets.visible import say, standard_output, visible
from persona_panel.models.availability import missing_keys
from persona_panel.rubrics import Usage

if TYPE_CHECKING:
    from persona_panel.models.config import Price
    from persona_panel.planning.bound_models import BoundModel
    from persona_panel.results.result import ResultFormat
    from persona_panel.runs.execution import Execution, OnStart
    from persona_panel.runs.folder import HeldRun
    from persona_panel.runs.judging.cost_estimate import CostEstimate
    from persona_panel.runs.request_files import Exported, RequestFiles


def show_estimates(estimates: Sequence[CostEstimate], to: ResultFormat) -> None:
    """Print what a run would take, in a format."""
    from persona_panel.runs.judging.cost_result import cost_result

    with standard_output() as stream:
        to.render(cost_result(estimates), stream, full=False)


def tell(
    estimates: Sequence[CostEstimate],
    caps: Caps,
    held: HeldRun | None = None,
    expected: int | None = None,
    what: str = "judgments",
) -> None:
    """Say what is done in the run's folder, which caps would stop the run, and which keys it lacks.

    Args:
        held: what the folder holds, where the command has one.
        expected: how many judgments the run is to have, where that is known.
        what: what the folder holds, where it is not judgments.
    """
    spent, usd = (held.spent, held.usd) if held else (NOTHING_SPENT, 0.0)
    lines = [*_done(held, expected, what), *_caps(estimates, caps, spent, usd), *missing_keys()]
    for line in lines:
        say(visible(line), err=True)


def at_batch_prices(
    estimates: Sequence[CostEstimate], models: Mapping[str, BoundModel]
) -> list[CostEstimate]:
    """The estimates at what batches cost, where a model has such at a known price.

    Args:
        models: by the names that the estimates have for them.
    """
    return [
        replace(estimate, usd=_batch_usd(estimate, models[estimate.model]))
        for estimate in estimates
    ]


def _batch_usd(estimate: CostEstimate, model: BoundModel) -> float | None:
    price = _batch_price(model)
    if price is None:
        return estimate.usd
    return price.cost(Usage(estimate.input_tokens, output=estimate.output_tokens))


def _batch_price(model: BoundModel) -> Price | None:
    from persona_panel.models.batches import BatchClient

    if model.price is None or not isinstance(model.client, BatchClient):
        return None
    return model.price.batched


def tell_batches(estimates: Sequence[CostEstimate], models: Mapping[str, BoundModel]) -> None:
    """Say what the run costs by calls and by batches, where a model has such at a known price.

    Args:
        models: by the names that the estimates have for them.
    """
    for line in _by_batches(estimates, models):
        say(visible(line), err=True)


def _by_batches(estimates: Sequence[CostEstimate], models: Mapping[str, BoundModel]) -> list[str]:
    """The costs in sentences; nothing where no price of a batch is known.

    How much input comes from a provider's prompt cache is not known before. All of it is the most
    that can; of batches, too, where the provider combines the two discounts.
    """
    live = least = batched = least_batched = 0.0
    cheaper = False
    for estimate in estimates:
        model = models[estimate.model]
        price = model.price
        if price is None:
            return []
        most_cached = Usage(estimate.input_tokens, estimate.input_tokens, estimate.output_tokens)
        usage = Usage(estimate.input_tokens, output=estimate.output_tokens)
        live += price.cost(usage)
        least += price.cost(most_cached)
        by_batch = _batch_price(model)
        batched += (by_batch or price).cost(usage)
        least_batched += (by_batch or price).cost(most_cached)
        cheaper = cheaper or (by_batch is not None and estimate.calls > 0)
    if not cheaper:
        return []
    costs = f"By calls: about ${live:,.4f}"
    if least < live:
        costs += f", or no less than ${least:,.4f} with all input read from prompt caches"
    costs += f". With --batch: about ${batched:,.4f}"
    if least_batched < batched:
        costs += f", or no less than ${least_batched:,.4f} likewise"
    if batched <= least:
        return [f"{costs}, the cheapest in any case."]
    return [f"{costs}; which is cheaper depends on how much input is read from caches."]


def _done(held: HeldRun | None, expected: int | None, what: str) -> list[str]:
    if held is None or not (held.results or held.spent.calls):
        return []
    done = f"{held.results:,} {what} are done"
    if expected is not None:
        left = max(expected - held.results, 0)
        done = f"{held.results:,} of {expected:,} {what} are done, {left:,} are left"
    state = f"{held.path} holds this run: {done}; {_told(held.spent, held.usd)} spent so far."
    if held.unsure.calls:
        state += (
            f" It was killed: up to {held.unsure.calls:,} calls more may have been made; caps "
            "count them."
        )
    return [state]


def _told(spent: Spending, usd: float | None) -> str:
    dollars = "dollars unknown" if usd is None else f"${usd:,.4f}"
    return f"{spent.calls:,} calls, {spent.tokens:,} tokens, {dollars}"


def _caps(
    estimates: Sequence[CostEstimate], caps: Caps, spent: Spending, usd: float | None
) -> list[str]:
    """A sentence for each cap that the run would reach, with what was spent before."""
    before = ", what was spent so far included" if spent.calls else ""
    warnings = []
    if caps.usd is not None:
        total = math.fsum(estimate.usd or 0.0 for estimate in estimates) + (usd or 0.0)
        if total > caps.usd:
            warnings.append(_stops(f"--max-usd {caps.usd:g}", f"about ${total:,.4f}", before))
    if caps.calls is not None:
        least, most = (
            spent.calls + sum(counts)
            for counts in (
                [estimate.calls_at_least for estimate in estimates],
                [estimate.calls_at_most for estimate in estimates],
            )
        )
        cap = f"--max-calls {caps.calls}"
        if least > caps.calls:
            warnings.append(_stops(cap, f"at least {least:,} calls", before))
        elif most > caps.calls:
            warnings.append(_stops(cap, f"up to {most:,} calls", before, may=True))
    if caps.tokens is not None:
        tokens = spent.tokens + sum(
            estimate.input_tokens + estimate.output_tokens for estimate in estimates
        )
        if tokens > caps.tokens:
            warnings.append(
                _stops(f"--max-tokens {caps.tokens}", f"about {tokens:,} tokens", before)
            )
    return warnings


def _stops(cap: str, takes: str, before: str, *, may: bool = False) -> str:
    verb = "may" if may else "would"
    return f"The run {verb} stop before its end at {cap}: it takes {takes}{before}."


_DEFAULT = click.core.ParameterSource.DEFAULT


@dataclass(frozen=True, slots=True)
class AnswerOptions:
    """Settings of requests that are answered elsewhere.

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
        """Return the execution of a run; `run` is its folder, or the file of its texts."""
        from persona_panel.runs.execution import Execution

        if self.by_batches:
            from persona_panel.runs.provider_batches import ByBatches

            return Execution(on_start, ByBatches(run, say_line))
        if self.answers is not None:
            from persona_panel.runs.request_files import ByFiles

            return Execution(on_start, ByFiles(self.answers, say_line))
        return Execution(on_start)

    def export(self, start: Callable[[RequestFiles], Coroutine[Any, Any, Exported]]) -> bool:
        """Have requests written to files, where that is wanted in place of a run; whether it is."""
        if self.to is None:
            return False
        from persona_panel.results.conclusions.wording import counted
        from persona_panel.runs.request_files import RequestFiles

        done = run_to_end(start(RequestFiles(self.to, self.answers)))
        for line in done.left_out:
            say_line(line)
        if self.answers is not None:
            say_line(f"Read from {self.answers}: {counted(done.taken, 'answer')}.")
        if not done.requests:
            say_line("No request is left: without --batch-out, the same command makes the run.")
            return True
        names = ", ".join(file.name for file in done.files)
        say_line(f"Written to {self.to}: {counted(done.requests, 'request')} ({names}).")
        say_line(
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
        to, answers = (None if path is None else Path(path) for path in (batch_out, batch_in))
        return command(*args, answering=AnswerOptions(by_batches, to, answers), **others)

    return with_batches


def say_line(line: str) -> None:
    """Say on standard error what a line from anywhere says."""
    say(visible(line), err=True)
