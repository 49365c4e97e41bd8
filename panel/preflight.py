"""What is refused before the first call: texts too long, caps without prices, models that
cannot be asked in the way they are to be."""

from __future__ import annotations

from collections.abc import Sequence

from graphs import Response
from graphs.judging import Unanswered
from panel.batch import Batch
from panel.calls.budget import Caps
from panel.calls.caller import Caller, Tally, estimated_tokens, tokens_in
from panel.errors import ConfigurationError, Fault, InputError, RunStopped
from panel.seating import Seat
from personas import Persona
from rubrics import Ask, Rubric, load_elicitation


def refuse_too_long(seats: Sequence[Seat], batch: Batch, rubric: Rubric, persona: Persona) -> None:
    """Name every response that cannot fit into a model's context.

    Raises:
        InputError: there are some.
    """
    faults = []
    for seat in seats:
        window = seat.context_window
        if window is None:
            continue
        around = None
        for response in batch:
            if around is None:
                first = estimated_tokens(seat.first_ask(rubric, persona, response))
                around = first - _length(response)
            needed = around + _length(response)
            if needed > window:
                faults.append(
                    Fault(
                        file=f"{response.prompt_id}/{response.id}",
                        field="response",
                        found=f"about {needed:,} tokens with the question",
                        expected=f"at most {window:,}, the context of {seat.id}: shorten the "
                        "response, leave this model out, or set its context_window in a panel "
                        "file if it takes more",
                    )
                )
    if faults:
        raise InputError(faults)


def refuse_unpriced(seats: Sequence[Seat], caps: Caps) -> None:
    """A cap in dollars wants the price of every model.

    Raises:
        ConfigurationError: one is not known.
    """
    unknown = [seat.id for seat in seats if seat.price is None]
    if caps.usd is not None and unknown:
        raise ConfigurationError(
            f"the price of {', '.join(unknown)} is not known, so a cap in dollars cannot be kept: "
            "give its price in a panel file, or cap calls or tokens"
        )


async def refuse_without_logprobs(seats: Sequence[Seat], caller: Caller) -> None:
    """Find out, by one small call, whether a served model gives the probabilities it must.

    Raises:
        ConfigurationError: one does not.
        RunStopped: one did not answer.
    """
    probe = Ask("", ("Answer with the number 1 and nothing else.",), top_logprobs=20, max_tokens=1)
    for seat in seats:
        if seat.embedded or not load_elicitation(seat.elicitation).NEEDS_LOGPROBS:
            continue
        page = caller.page(seat.id, "probe")
        try:
            reply = await caller.ask(seat.id, probe, page)
        except Unanswered as error:
            raise RunStopped(
                f"{seat.id} was asked whether it gives log-probabilities, which "
                f"{seat.elicitation!r} needs, and gave no answer: {error}"
            ) from None
        if not reply.logprobs:
            caller.forget([probe], page)
            raise ConfigurationError(
                f"the elicitation {seat.elicitation!r} needs log-probabilities, and {seat.id} "
                "returned none; use the elicitation 'dimensions'"
            )
    # What was asked to find out is no part of the run.
    caller.tally = Tally()


def _length(response: Response) -> int:
    return tokens_in(response.prompt) + tokens_in(response.text) + tokens_in(response.context or "")
