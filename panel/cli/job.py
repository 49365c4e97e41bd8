"""A job from the command line: foreseen, exported, or run with its progress."""

from __future__ import annotations

import gc
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

from persona_panel.cli.analysis_command import ResultOutput
from persona_panel.cli.run_options import AnswerOptions, CallOptions
from persona_panel.cli.signals import run_to_end
from persona_panel.files.secrets import say, standard_output, to_paste, visible
from persona_panel.results.result import load_format
from persona_panel.rubrics import Usage

if TYPE_CHECKING:
    from persona_panel.calls.budget import Caps, Spending
    from persona_panel.cli.progress import RankingSoFar, ScoreProgress
    from persona_panel.models.config import Price
    from persona_panel.planning.bound_models import BoundModel
    from persona_panel.results.required_figures import Figure
    from persona_panel.results.result import Result, ResultFormat
    from persona_panel.runs.cost_estimate import CostEstimate
    from persona_panel.runs.execution import Engine
    from persona_panel.runs.folder import HeldRun
    from persona_panel.runs.job import Job

T = TypeVar("T")


def carried_out(
    job: Job[T],
    calling: CallOptions,
    output: ResultOutput | None,
    planned: Callable[[], Sequence[Figure]] = list,
    *,
    answering: AnswerOptions | None = None,
    engine: AbstractContextManager[Engine | None] | None = None,
    watch: Callable[[ScoreProgress], Callable[[Any], None]] | None = None,
    foreseen: Callable[[Sequence[CostEstimate]], Result] | None = None,
    ranking: RankingSoFar = lambda: None,
) -> T | None:
    """Return what a job comes to; None where it is only foreseen, or its requests are exported.

    Args:
        output: where the result goes; None, it has no figures.
        planned: gives the figures that there will be: a requirement on others is refused first.
        answering: how requests are answered elsewhere, where that can be.
        engine: where responses are judged, to be connected; None, in this process.
        watch: from the progress to what is called with each event; judgments alone are counted
            where nothing is said.
        foreseen: from the estimates to what a dry run prints, where it is more than the cost.
        ranking: gives the systems so far, to be shown below the progress, where there are any.

    Raises:
        KeyboardInterrupt: a signal stopped it, with what is done and how to continue; its files
            are written.
    """
    if output is not None:
        output.gate.refuse_unknown(planned)
    for notice in job.notices:
        say(visible(notice), err=True)
    if calling.dry_run:
        to = load_format("terminal") if output is None else output.to
        _foresee(job, calling.caps, to, answering, foreseen)
        return None
    if answering is not None and answering.export(job.export):
        return None
    at = engine or nullcontext()
    return _run(job, calling.caps, answering or AnswerOptions(), at, watch, ranking)


def dialogues_counted(progress: ScoreProgress) -> Callable[[Any], None]:
    """Have a progress count dialogues, step by step."""
    from persona_panel.experiments.dialogues import DialogueDone, DialogueStep

    def take(event: DialogueStep | DialogueDone) -> None:
        if isinstance(event, DialogueStep):
            progress.expect(event.by_model)
            progress.note(event.name)
        else:
            progress.count(event.model, event.status, cached=event.cached)

    return take


def _foresee(
    job: Job[Any],
    caps: Caps,
    to: ResultFormat,
    answering: AnswerOptions | None,
    foreseen: Callable[[Sequence[CostEstimate]], Result] | None,
) -> None:
    """Print what a job would take, and say what is done of it."""
    from persona_panel.calls.budget import NOTHING_SPENT
    from persona_panel.models.availability import missing_keys
    from persona_panel.runs.cost_estimate import cost_result

    held = job.held(caps)
    if answering is None or not (answering.by_batches or answering.answers):
        job.refuse_unkept()
    estimates = job.estimate()
    with standard_output() as stream:
        to.render((foreseen or cost_result)(estimates), stream, full=False)
    by_batches = answering is not None and answering.by_batches
    priced = _at_batch_prices(estimates, job.models) if by_batches else estimates
    spent, usd = (held.spent, held.usd) if held else (NOTHING_SPENT, 0.0)
    lines = [*_done(held, job), *_caps(priced, caps, spent, usd), *missing_keys()]
    for line in lines + (_by_batches(estimates, job.models) if answering is not None else []):
        say(visible(line), err=True)


def _run(
    job: Job[T],
    caps: Caps,
    answering: AnswerOptions,
    engine: AbstractContextManager[Engine | None],
    watch: Callable[[ScoreProgress], Callable[[Any], None]] | None,
    ranking: RankingSoFar,
) -> T:
    """Return what a job comes to, with its progress on standard error from its beginning on."""
    from persona_panel.cli.progress import ScoreProgress
    from persona_panel.files.named_files import shown_folder
    from persona_panel.runs.execution import masked_command

    path = None if job.output is None else Path(job.output.path)
    # Dialogues follow from each other: their calls are counted as they come.
    what = job.what if job.most_results else "calls"
    goes_on = job.output is not None and not job.output.overwrite
    stored = job.n_done() if goes_on else 0
    progress = ScoreProgress(job.heading, job.most_results, job.shares, what, ranking, stored)
    execution = answering.execution(path, progress.begin)
    # What the imports made stays for good: the collector need not look at it again.
    gc.freeze()
    # A call lets go of all it makes: looking for cycles as often as Python does costs a seventh.
    gc.set_threshold(50_000, 20, 50)
    try:
        with engine as opened, progress:
            on_event = progress.take if watch is None else watch(progress)
            return run_to_end(job.run(caps, replace(execution, engine=opened), on_event))
    except KeyboardInterrupt as signal:
        if not progress.begun or path is None or not job.most_results:
            raise signal from None
        # What stands around a command is still to be done, such as to send a run to an address.
        raise KeyboardInterrupt(
            f"{progress.done:,} of {progress.total:,} {what} are done and written to "
            f"{shown_folder(path)}. The same command continues the run:\n"
            f"{to_paste(masked_command([*sys.argv, *_into(shown_folder(path))]))}"
        ) from None


def _into(folder: str) -> list[str]:
    """Return the option that names a run's folder where the command was begun without it."""
    source = click.get_current_context().get_parameter_source("out")
    by_itself = source is ParameterSource.DEFAULT
    return ["--out", folder] if by_itself else []


def _at_batch_prices(
    estimates: Sequence[CostEstimate], models: Mapping[str, BoundModel]
) -> list[CostEstimate]:
    """The estimates at what batches cost, where a model has such at a known price."""
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


def _done(held: HeldRun | None, job: Job[Any]) -> list[str]:
    if held is None or not (held.results or held.spent.calls):
        return []
    done = f"{held.results:,} {job.what} are done"
    if job.n_results is not None:
        left = max(job.n_results - held.results, 0)
        done = f"{held.results:,} of {job.n_results:,} {job.what} are done, {left:,} are left"
    state = f"{held.path} holds this run: {done}; {_in_words(held.spent, held.usd)} spent so far."
    if held.unsure.calls:
        state += (
            f" It was killed: up to {held.unsure.calls:,} calls more may have been made; caps "
            "count them."
        )
    return [state]


def _in_words(spent: Spending, usd: float | None) -> str:
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
