"""What is refused of models before the first call: caps without prices, models that cannot be
asked in the way they are to be, and requests that are too long."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from persona_panel.calls.budget import Caps
from persona_panel.calls.caller import Caller
from persona_panel.calls.endpoint import tokens_in
from persona_panel.files.errors import ConfigurationError, RunStopped
from persona_panel.graphs.context import Unanswered
from persona_panel.personas import Persona
from persona_panel.plan.bound_models import BoundModel
from persona_panel.rubrics import ModelRequest, load_elicitation


def refuse_unpriced(models: Sequence[BoundModel], caps: Caps) -> None:
    """A cap in dollars wants the price of every model.

    Raises:
        ConfigurationError: one is not known.
    """
    unknown = [model.id for model in models if model.price is None]
    if caps.usd is not None and unknown:
        raise ConfigurationError(
            f"the price of {', '.join(unknown)} is unknown, so that a cap in dollars cannot be "
            "applied; set it in a panel file, or cap calls or tokens"
        )


def refuse_unpriced_batches(models: Sequence[BoundModel], caps: Caps) -> None:
    """A cap in dollars wants the batch price of every model that is asked by batches.

    Raises:
        ConfigurationError: one is not known.
    """
    unpriced = [model.id for model in models if model.price is None or model.price.batched is None]
    # A sweep has a model in several parts.
    unknown = dict.fromkeys(unpriced)
    if caps.usd is not None and unknown:
        raise ConfigurationError(
            f"the price of batches of {', '.join(unknown)} is unknown, so that a cap in dollars "
            "cannot be applied; set it in a panel file (batch: 0.5 in its price is half of it), or "
            "cap calls or tokens"
        )


def longest_persona(personas: Iterable[Persona]) -> Persona:
    """The persona that takes the most tokens of a request."""
    return max(personas, key=lambda one: tokens_in(one.label) + tokens_in(one.description))


PROBE = ModelRequest(
    "", ("Answer with the number 1 and nothing else.",), top_logprobs=20, max_tokens=1
)
"""Asked of a model to find out whether it gives log-probabilities."""
PROBE_PAGE = "probe"


def is_probed(model: BoundModel) -> bool:
    """Whether a model is asked, before all else, if it gives log-probabilities."""
    unknown = model.logprobs is None
    return unknown and load_elicitation(model.elicitation).NEEDS_LOGPROBS


async def refuse_without_logprobs(models: Sequence[BoundModel], caller: Caller) -> None:
    """Find out, by one small call, whether a model gives the probabilities it must.

    The call counts as one of the run.

    Raises:
        ConfigurationError: one does not.
        RunStopped: one did not answer.
    """
    for n_calls, model in enumerate(filter(is_probed, models), start=1):
        page = caller.page(model.id, PROBE_PAGE)
        try:
            reply = await caller.complete(model.id, PROBE, page)
        except Unanswered as error:
            raise RunStopped(
                f"{model.id}: the elicitation {model.elicitation!r} needs log-probabilities, and "
                f"the test call for them failed: {error}"
            ) from None
        if not reply.logprobs:
            caller.forget([(PROBE, reply)], page)
            raise ConfigurationError(
                f"the elicitation {model.elicitation!r} needs log-probabilities, and {model.id} "
                "returned none; use the elicitation 'dimensions'",
                n_calls=n_calls,
            )
