"""About how many tokens a call takes, before and after it: what is not reported is estimated, and
rather too high than too low."""

from __future__ import annotations

from persona_panel.models.client import NOTHING
from persona_panel.models.usage import sound
from persona_panel.rubrics import ModelRequest, Usage


def tokens_in(text: str) -> int:
    """About how many tokens a text has: four ASCII characters to one, or one other."""
    if text.isascii():
        return len(text) // 4
    ascii_only = len(text.encode("ascii", "ignore"))
    return ascii_only // 4 + len(text) - ascii_only


def input_tokens(request: ModelRequest) -> int:
    """About how many tokens a request sends."""
    texts = [request.system, *request.blocks, request.prefill]
    texts += [text for turn in request.exchange for text in turn]
    return sum(map(tokens_in, texts))


def estimated_tokens(request: ModelRequest) -> int:
    """About how many tokens a call takes, with half of its answer's allowance."""
    return input_tokens(request) + request.max_tokens // 2


def most_usage(request: ModelRequest, tokens: int) -> Usage:
    """What a call of about `tokens` tokens may take: all of its answer's allowance, and its input
    written to a provider's cache."""
    read = tokens - request.max_tokens // 2
    return Usage(input=read, output=request.max_tokens, written=read)


def counted_usage(
    request: ModelRequest, said: Usage | None, tokens: int, reserved: Usage | None
) -> tuple[Usage, bool]:
    """What a call counts as, and whether that is an estimate: where it is not said what it took,
    it may have taken all."""
    if said is None:
        used = NOTHING
    elif said:
        used = sound(said)
    else:
        return NOTHING, False
    # No call is without input, and an odd report may have had the output in it.
    if used.input and (used.output or not used.odd):
        return used, False
    most = reserved or most_usage(request, tokens or estimated_tokens(request))
    output = used.output or most.output
    estimate = Usage(
        used.input or most.input,
        output=output,
        written=most.written,
        odd=used.odd,
        reasoning=min(used.reasoning, output),
    )
    return estimate, True
