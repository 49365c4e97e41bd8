"""What a dry run says beside the estimate: what is done already, what will not do.

On standard error: standard output has the estimate alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from persona_panel.calls.budget import NOTHING_SPENT, Caps, Spending
from persona_panel.files.secrets.visible import say, standard_output, visible
from persona_panel.models.availability import missing_keys
from persona_panel.rubrics import Usage

if TYPE_CHECKING:
    from persona_panel.models.config import Price
    from persona_panel.plan.bound_models import BoundModel
    from persona_panel.results.result import ResultFormat
    from persona_panel.runs.held import HeldRun
    from persona_panel.runs.judging.cost_estimate import CostEstimate


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
    return [replace(one, usd=_batch_usd(one, models[one.model])) for one in estimates]


def _batch_usd(one: CostEstimate, model: BoundModel) -> float | None:
    price = _batch_price(model)
    if price is None:
        return one.usd
    return price.cost(Usage(one.input_tokens, output=one.output_tokens))


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
    for one in estimates:
        model = models[one.model]
        price = model.price
        if price is None:
            return []
        most_cached = Usage(one.input_tokens, one.input_tokens, one.output_tokens)
        usage = Usage(one.input_tokens, output=one.output_tokens)
        live += price.cost(usage)
        least += price.cost(most_cached)
        by_batch = _batch_price(model)
        batched += (by_batch or price).cost(usage)
        least_batched += (by_batch or price).cost(most_cached)
        cheaper = cheaper or (by_batch is not None and one.calls > 0)
    if not cheaper:
        return []
    told = f"By calls: about ${live:,.4f}"
    if least < live:
        told += f", or no less than ${least:,.4f} with all input read from prompt caches"
    told += f". With --batch: about ${batched:,.4f}"
    if least_batched < batched:
        told += f", or no less than ${least_batched:,.4f} likewise"
    if batched <= least:
        return [f"{told}, the cheapest in any case."]
    return [f"{told}; which is cheaper depends on how much input is read from caches."]


def _done(held: HeldRun | None, expected: int | None, what: str) -> list[str]:
    if held is None or not (held.results or held.spent.calls):
        return []
    done = f"{held.results:,} {what} are done"
    if expected is not None:
        left = max(expected - held.results, 0)
        done = f"{held.results:,} of {expected:,} {what} are done, {left:,} are left"
    told = f"{held.path} holds this run: {done}; {_told(held.spent, held.usd)} spent so far."
    if held.unsure.calls:
        told += (
            f" It was killed: up to {held.unsure.calls:,} calls more may have been made; caps "
            "count them."
        )
    return [told]


def _told(spent: Spending, usd: float | None) -> str:
    dollars = "dollars unknown" if usd is None else f"${usd:,.4f}"
    return f"{spent.calls:,} calls, {spent.tokens:,} tokens, {dollars}"


def _caps(
    estimates: Sequence[CostEstimate], caps: Caps, spent: Spending, usd: float | None
) -> list[str]:
    """A sentence for each cap that the run would reach, with what was spent before."""
    before = ", what was spent so far included" if spent.calls else ""
    found = []
    if caps.usd is not None:
        total = math.fsum(one.usd or 0.0 for one in estimates) + (usd or 0.0)
        if total > caps.usd:
            found.append(_stops(f"--max-usd {caps.usd:g}", f"about ${total:,.4f}", before))
    if caps.calls is not None:
        least, most = (
            spent.calls + sum(counts)
            for counts in (
                [one.calls_at_least for one in estimates],
                [one.calls_at_most for one in estimates],
            )
        )
        cap = f"--max-calls {caps.calls}"
        if least > caps.calls:
            found.append(_stops(cap, f"at least {least:,} calls", before))
        elif most > caps.calls:
            found.append(_stops(cap, f"up to {most:,} calls", before, may=True))
    if caps.tokens is not None:
        tokens = spent.tokens + sum(one.input_tokens + one.output_tokens for one in estimates)
        if tokens > caps.tokens:
            found.append(_stops(f"--max-tokens {caps.tokens}", f"about {tokens:,} tokens", before))
    return found


def _stops(cap: str, takes: str, before: str, *, may: bool = False) -> str:
    verb = "may" if may else "would"
    return f"The run {verb} stop before its end at {cap}: it takes {takes}{before}."
