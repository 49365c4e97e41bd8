"""Keys that a model gives back in its answer: masked before anything keeps or reads it."""

from __future__ import annotations

from persona_panel.files.secrets import SECRETS
from persona_panel.rubrics import ModelResponse, Position


def without_keys(reply: ModelResponse, model: str) -> ModelResponse:
    """The reply of `model`, the model's id in the panel, with `[secret]` for every key in it."""
    text = SECRETS.scrub(reply.text)
    refusal = reply.refusal and SECRETS.scrub(reply.refusal)
    reason = SECRETS.scrub(reply.finish_reason)
    logprobs = _masked(reply.logprobs) if reply.logprobs else reply.logprobs
    # As dataclasses.replace, in a third of its time: each reply comes through here.
    return ModelResponse(
        text, reason, refusal, logprobs, reply.usage, reply.latency_s, reply.cached, model
    )


def _masked(positions: tuple[Position, ...]) -> tuple[Position, ...]:
    """The tokens of an answer, those that a key is made of as one, without probabilities."""
    spans = SECRETS.spans("".join(map(_text, positions)))
    if not spans:
        return positions
    kept: list[Position] = []
    at = 0
    inside = False
    for position in positions:
        start, at = at, at + len(_text(position))
        if any(start < end and begin < at for begin, end in spans):
            if not inside:
                kept.append(Position("[secret]", ()))
            inside = True
        else:
            kept.append(position)
            inside = False
    return tuple(kept)


def _text(position: Position) -> str:
    # Some servers have a token's place in the vocabulary: what that means is for others to say.
    return str(position.token)
