"""Keys that a model gives back in its answer: masked before anything keeps or reads it."""

from __future__ import annotations

from dataclasses import replace

from panel.secrets import SECRETS
from rubrics import ModelResponse, Position


def without_keys(reply: ModelResponse) -> ModelResponse:
    """The reply with `[secret]` for every key in it; the same one where there is none."""
    text = SECRETS.scrub(reply.text)
    refusal = reply.refusal and SECRETS.scrub(reply.refusal)
    reason = SECRETS.scrub(reply.finish_reason)
    logprobs = _masked(reply.logprobs) if reply.logprobs else reply.logprobs
    if (text, refusal, reason) == (reply.text, reply.refusal, reply.finish_reason) and (
        logprobs is reply.logprobs
    ):
        return reply
    return replace(reply, text=text, refusal=refusal, finish_reason=reason, logprobs=logprobs)


def _masked(positions: tuple[Position, ...]) -> tuple[Position, ...]:
    """The tokens of an answer, those that a key is made of as one, without probabilities."""
    spans = SECRETS.spans("".join(position.token for position in positions))
    if not spans:
        return positions
    kept: list[Position] = []
    at = 0
    inside = False
    for position in positions:
        start, at = at, at + len(position.token)
        if any(start < end and begin < at for begin, end in spans):
            if not inside:
                kept.append(Position("[secret]", ()))
            inside = True
        else:
            kept.append(position)
            inside = False
    return tuple(kept)
