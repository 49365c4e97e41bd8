"""What a run would take, told before anything is called."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

from panel.batch import Batch
from panel.calls.cache import ReplyCache, key_of, page_of
from panel.calls.caller import tokens_in
from panel.models.catalogue import cost
from panel.seating import Seat
from personas import Persona
from rubrics import Rubric, Usage, load_elicitation

BY_CHARACTERS = "characters / 4"


@dataclass(frozen=True, slots=True)
class Estimate:
    """What one model's part of a run would take.

    `judgments` are those that the cache does not answer, out of `of`. `tokenizer` says
    how tokens were counted. `usd` is None where the price is not known.
    """

    model: str
    judgments: int
    of: int
    calls: int
    input_tokens: int
    output_tokens: int
    tokenizer: str
    usd: float | None


@cache
def tokenizer_of(spec: str) -> tuple[str, Callable[[str], int]]:
    """The name of the best tokenizer at hand for a model, and how it counts.

    OpenAI's own where tiktoken and its vocabulary are installed; else characters.
    """
    provider, _, name = spec.partition(":")
    if provider == "openai":
        try:
            import tiktoken

            encoding = tiktoken.encoding_for_model(name)
        # tiktoken may be missing, not know the model, or fail to fetch a vocabulary.
        except Exception:
            return BY_CHARACTERS, tokens_in
        return f"tiktoken {encoding.name}", lambda text: len(
            encoding.encode(text, disallowed_special=())
        )
    return BY_CHARACTERS, tokens_in


def estimate(
    seat: Seat,
    rubric: Rubric,
    personas: Sequence[Persona],
    replicates: int,
    rounds: int,
    batch: Batch,
    cache: ReplyCache,
) -> Estimate:
    """One model's part of a run.

    What its first calls send is counted; further ones of the same judge are taken to be
    as long, and answers to be of the usual length. A panel that deliberates is taken to go
    through all its `rounds`.
    """
    calls_each, output_each = load_elicitation(seat.elicitation).calls(rubric, seat.apart)
    tokenizer, count = tokenizer_of(seat.id)
    parameters = seat.speaker.parameters
    judgments = input_tokens = 0
    for response in batch:
        counted: dict[str, int] = {}
        page = page_of(parameters, response.prompt, response.text, response.context)
        for persona in personas:
            ask = seat.first_ask(rubric, persona, response)
            for replicate in range(1, replicates + 1):
                if cache.has(page, key_of(ask, replicate)):
                    continue
                judgments += 1
                for text in (ask.system, *ask.blocks):
                    if text not in counted:
                        counted[text] = count(text)
                    input_tokens += counted[text]
    calls = judgments * calls_each * rounds
    usage = Usage(input=input_tokens * calls_each * rounds, output=calls * output_each)
    return Estimate(
        model=seat.id,
        judgments=judgments,
        of=len(batch) * len(personas) * replicates,
        calls=calls,
        input_tokens=usage.input,
        output_tokens=usage.output,
        tokenizer=tokenizer,
        usd=cost(seat.price, usage),
    )
