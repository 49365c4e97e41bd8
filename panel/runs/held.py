"""What a folder holds of a run that is to be started there, or gone on with: for a dry run."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from persona_panel.calls.budget import NOTHING_SPENT, Budget, Caps, Spending
from persona_panel.models.config import cost, with_batches
from persona_panel.plan.bound_models import BoundModel
from persona_panel.runs.folder import count_results, refuse_another
from persona_panel.runs.judging.preflight import refuse_unpriced
from persona_panel.runs.kept_texts import KeptTexts
from persona_panel.runs.output import RunOutput
from persona_panel.runs.spending import earlier_spending


@dataclass(frozen=True, slots=True)
class HeldRun:
    """What a run's folder holds.

    Attributes:
        path: of the folder, which need not be there.
        results: how many judgments are done, of those that are kept.
        spent: by all earlier starts of the run.
        usd: what that came to in US dollars; None where a price is not known.
        unsure: what earlier starts that were killed may have spent besides.
    """

    path: Path
    results: int
    spent: Spending
    usd: float | None
    unsure: Spending = NOTHING_SPENT


def held_in(
    output: RunOutput,
    manifest: Mapping[str, Any],
    texts: KeptTexts,
    models: Mapping[str, BoundModel],
    caps: Caps,
) -> HeldRun:
    """What a folder holds of the run that `manifest` and `texts` describe; calls nothing.

    Raises:
        ConfigurationError: a model that is called, or was called before, has no known price where
            `caps` are in dollars.
        RunFolderError: the folder holds another run, or cannot be written.
    """
    refuse_unpriced(list(models.values()), caps)
    refuse_another(output, manifest, texts)
    prices = with_batches({name: model.price for name, model in models.items()})
    spent, unsure = earlier_spending(output)
    Budget(caps, prices).go_on_from(spent, unsure)
    costs = [cost(prices.get(name), usage) for name, usage in spent.usage.items()]
    return HeldRun(
        output.folder,
        0 if output.overwrite else count_results(output.folder),
        spent,
        sum_of(costs),
        unsure,
    )


def sum_of(costs: Sequence[float | None]) -> float | None:
    """The sum of costs; None where one is not known."""
    known = [usd for usd in costs if usd is not None]
    return math.fsum(known) if len(known) == len(costs) else None
