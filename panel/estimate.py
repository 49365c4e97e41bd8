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
from rubrics.conference import REASON_TOKENS

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
    peers: int,
    batch: Batch,
    cache: ReplyCache,
) -> Estimate:
    """One model's part of a run.

    What its first calls send is counted; further ones of the same judge are taken to be
    as long, and answers to be of the usual length. A panel that deliberates is taken to go
    through all its `rounds`, everybody to change a rating in each and to say why, and none of
    that to be in the cache: what peers will say is not known, and so at most this. A provider's
    own prompt cache is left out: to write what two judges share and to read it once costs less
    than to read it twice.
    """
    calls_each, output_each = load_elicitation(seat.elicitation).calls(rubric, seat.apart)
    tokenizer, count = tokenizer_of(seat.id)
    parameters = seat.speaker.parameters
    judgments = input_tokens = all_tokens = 0
    for response in batch:
        counted: dict[str, int] = {}
        page = page_of(parameters, response.prompt, response.text, response.context)
        for persona in personas:
            ask = seat.first_ask(rubric, persona, response)
            for text in (ask.system, *ask.blocks):
                if text not in counted:
                    counted[text] = count(text)
            tokens = sum(counted[text] for text in (ask.system, *ask.blocks))
            for replicate in range(1, replicates + 1):
                all_tokens += tokens
                if not cache.has(page, key_of(ask, replicate)):
                    judgments += 1
                    input_tokens += tokens
    of = len(batch) * len(personas) * replicates
    again = of * (rounds - 1)
    shown = again * peers * count(_reading_of(rubric))
    calls = judgments * calls_each + again * (calls_each + 1)
    usage = Usage(
        input=input_tokens * calls_each + (all_tokens * (rounds - 1) + shown) * (calls_each + 1),
        output=judgments * calls_each * output_each
        + again * (calls_each * output_each + REASON_TOKENS),
    )
    return Estimate(
        model=seat.id,
        judgments=judgments,
        of=of,
        calls=calls,
        input_tokens=usage.input,
        output_tokens=usage.output,
        tokenizer=tokenizer,
        usd=cost(seat.price, usage),
    )


def _reading_of(rubric: Rubric) -> str:
    """About what a judge is shown of one peer."""
    said = ", ".join(f"{dimension.label} 5" for dimension in rubric.dimensions)
    return f"<reader 10 00000000>\n{said}\n</reader 10 00000000>\n\n"
