"""Runs whose requests are answered in rounds by the batches of models' providers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from persona_panel.calls.batch_caller import BatchCaller
from persona_panel.calls.batch_rounds import (
    PACE,
    BatchAddress,
    BatchJournal,
    BatchPace,
    BatchRounds,
)
from persona_panel.calls.budget import Caps
from persona_panel.calls.caller import CallerFactory
from persona_panel.files.errors import ConfigurationError, RunStopped
from persona_panel.models.batches import BatchApi, BatchClient
from persona_panel.plan.bound_models import BoundModel
from persona_panel.runs.batch_servers import remember
from persona_panel.runs.execution import Collect
from persona_panel.runs.judging.preflight import refuse_unpriced_batches


@dataclass(frozen=True)
class ByBatches:
    """By the batches of models' providers; models without such are called as usual.

    Args:
        run: the run's folder, or the file of its texts: the journal of its batches is there.
        tell: shows a user a line.
    """

    run: Path
    tell: Callable[[str], None]
    pace: BatchPace = PACE
    probes = True
    keeps_batches = True

    def caller_factory(
        self, models: Mapping[str, BoundModel], caps: Caps, *, others_too: bool
    ) -> CallerFactory:
        """See `AnsweredElsewhere.caller_factory`."""
        caller_factory, apis = batch_caller_factory(models, others_too=others_too)
        refuse_unpriced_batches([models[name] for name in apis], caps)
        for name in models:
            if name not in apis:
                self.tell(f"{name} has no batches here and is called as usual.")
        return caller_factory

    async def answer(
        self, caller: BatchCaller, models: Mapping[str, BoundModel], collect: Collect
    ) -> None:
        """See `AnsweredElsewhere.answer`."""
        journal = BatchJournal(self.run)
        try:
            addresses = {name: _address(models[name]) for name in caller.apis}
            remember(addresses.values())
            rounds = BatchRounds(caller, addresses, journal, self.tell, self.pace)
            rounds.go_on()
            await _settled(rounds)
            while True:
                with caller.collecting(journal.path.parent) as wanted:
                    await collect()
                    if not await rounds.submit(wanted):
                        break
                await _settled(rounds)
        finally:
            journal.close()
        caller.read_only()


async def _settled(rounds: BatchRounds) -> None:
    """Wait for the open batches.

    Raises:
        RunStopped: one was cancelled, so that what it left is not wanted.
        Others: as `BatchRounds.settle`.
    """
    await rounds.settle()
    if rounds.cancelled:
        raise RunStopped(
            f"{', '.join(rounds.cancelled)} was cancelled. What it answered is in the cache; the "
            "same command submits the rest again"
        )


def batch_caller_factory(
    models: Mapping[str, BoundModel], *, others_too: bool
) -> tuple[CallerFactory, Mapping[str, BatchApi]]:
    """What makes a caller that can collect requests, and the batches of the models that it collects
    them of; `others_too`: see `BatchCaller`.

    Raises:
        ConfigurationError: no model can be asked by batches.
    """
    apis = {
        name: model.client.batches()
        for name, model in models.items()
        if isinstance(model.client, BatchClient)
    }
    if not apis:
        raise ConfigurationError(
            f"{', '.join(models)}: no such model can be asked by batches, only one whose provider "
            "has them, such as openai:NAME, servers that speak OpenAI's protocol, anthropic:NAME "
            "and google_genai:NAME; leave out --batch, --batch-out and --batch-in"
        )
    return partial(BatchCaller, apis, others_too=others_too), apis


def _address(model: BoundModel) -> BatchAddress:
    client, config = model.client, model.config
    assert isinstance(client, BatchClient)  # noqa: S101
    return BatchAddress(
        spec=config.model,
        address=client.address,
        key_env=config.key_env,
        settings={**client.settings, "timeout": config.timeout},
        headers=tuple(client.header_names),
    )
