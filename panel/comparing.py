"""What a panel that compares responses does otherwise: it takes all responses to a prompt
together, and so it does when it refuses a batch and when it estimates one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from graphs import Judge, Response
from graphs.side_by_side import Sheet
from panel.batch import Batch
from panel.calls.cache import ReplyCache, key_of, page_of
from panel.calls.caller import estimated_tokens, tokens_in
from panel.errors import ConfigurationError, Fault, InputError
from panel.estimate import Estimate, tokenizer_of
from panel.models.catalogue import cost
from panel.seating import Seat
from personas import Persona
from rubrics import Rubric, Usage, compares, load_comparing
from rubrics.comparison import MOST


def together(batch: Batch) -> Iterator[tuple[Response, ...]]:
    """All responses to a prompt at a time, as soon as the last of them has come.

    None is held longer than that.
    """
    sizes = Counter(item.prompt_id for item in batch.items)
    held: dict[str, list[Response]] = {}
    for response in batch:
        prompt_id = str(response.prompt_id)
        held.setdefault(prompt_id, []).append(response)
        if len(held[prompt_id]) == sizes[prompt_id]:
            yield tuple(held.pop(prompt_id))


def refuse_with_comparing(seats: Sequence[Seat], what: str) -> None:
    """Comparisons do not go with `what`, which is about each response by itself.

    Raises:
        ConfigurationError: a model's elicitation compares.
    """
    if comparing := [seat for seat in seats if compares(seat.elicitation)]:
        told = ", ".join(f"{seat.id} by {seat.elicitation!r}" for seat in comparing)
        raise ConfigurationError(
            f"{what} is about the ratings that each response gets by itself, and this panel "
            f"compares responses ({told}): use another elicitation, such as 'dimensions'"
        )


def refuse_uncomparable(batch: Batch) -> None:
    """Name every prompt whose responses cannot be compared with each other.

    Raises:
        InputError: one has a single response or too many.
    """
    faults = []
    for responses in together(batch):
        n = len(responses)
        if not 2 <= n <= MOST:
            faults.append(
                Fault(
                    file=str(responses[0].prompt_id),
                    field="prompt_id",
                    found=f"{n} response{'s' if n > 1 else ''} to the prompt",
                    expected=f"2 to {MOST}, to be compared with each other",
                )
            )
    if faults:
        raise InputError(faults)


def refuse_too_long_together(
    seats: Sequence[Seat],
    batch: Batch,
    rubric: Rubric,
    judges: Sequence[Judge],
    personas: Mapping[str, Persona],
    seed: int,
) -> None:
    """Name every prompt whose responses do not fit together into a model's context.

    Raises:
        InputError: there are some.
    """
    faults = []
    first = {judge.model: judge for judge in reversed(judges)}
    limited = [(seat, seat.context_window) for seat in seats]
    for responses in together(batch) if any(window for _, window in limited) else ():
        for seat, window in limited:
            if window is None:
                continue
            judge = first[seat.id]
            longest = max(
                seat.sheets(rubric, personas[judge.persona], judge, responses, seed), key=_length
            )
            needed = estimated_tokens(seat.ask_about(longest))
            if needed > window:
                named = ", ".join(sorted(response.id for response in longest.responses))
                faults.append(
                    Fault(
                        file=str(responses[0].prompt_id),
                        field="responses",
                        found=f"about {needed:,} tokens with the question for {named} together",
                        expected=f"at most {window:,}, the context of {seat.id}: leave out or "
                        "shorten responses, leave this model out, or set its context_window in a "
                        "panel file if it takes more",
                    )
                )
    if faults:
        raise InputError(faults)


def estimate_comparing(
    seat: Seat,
    rubric: Rubric,
    judges: Sequence[Judge],
    personas: Mapping[str, Persona],
    batch: Batch,
    cache: ReplyCache,
    seed: int,
) -> Estimate:
    """One model's part of a run; what every call sends is counted, answers are taken to be of
    the usual length."""
    elicitation = load_comparing(seat.elicitation)
    own = [judge for judge in judges if judge.model == seat.id]
    tokenizer, count = tokenizer_of(seat.id)
    judgments = calls = input_tokens = output_tokens = 0
    for responses in together(batch):
        counted: dict[str, int] = {}
        for judge in own:
            missing: set[str] = set()
            for sheet in seat.sheets(rubric, personas[judge.persona], judge, responses, seed):
                ask = seat.ask_about(sheet)
                first = sheet.responses[0]
                page = page_of(seat.speaker.parameters, first.prompt, first.text, first.context)
                if cache.has(page, key_of(ask, judge.replicate)):
                    continue
                missing |= {response.id for response in sheet.responses}
                calls += 1
                output_tokens += elicitation.tokens(len(sheet.responses))
                for text in (ask.system, *ask.blocks):
                    if text not in counted:
                        counted[text] = count(text)
                    input_tokens += counted[text]
            judgments += len(missing)
    return Estimate(
        model=seat.id,
        judgments=judgments,
        of=len(batch) * len(own),
        calls=calls,
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        tokenizer=tokenizer,
        usd=cost(seat.price, Usage(input=input_tokens, output=output_tokens)),
    )


def _length(sheet: Sheet) -> int:
    return sum(
        tokens_in(response.text) + tokens_in(response.context or "") for response in sheet.responses
    )
