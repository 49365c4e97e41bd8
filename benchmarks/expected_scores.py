"""Scores that follow from a request alone: a keyed hash of the markers in it and of its model.

Each response's text and each persona's description has a marker, which is in every request about
them, however the prompt words it. The server answers by these scores, and the checker computes
them again from the texts: an answer that belongs to another request has other scores, but for one
in 100,000 by chance.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b

DIMENSIONS = (
    "conceptual_clarity",
    "evidential_grounding",
    "contextual_relevance",
    "pluralistic_engagement",
    "argumentative_soundness",
)
"""Of the rubric `scrub`, each on a scale from 1 to 10."""
ABSTENTIONS = 16
"""Of how many judgments one is an abstention."""
_RESPONSE = re.compile(rb"RMARK(\d+)")
_PERSONA = re.compile(rb"PMARK(\d+)")


@dataclass(frozen=True, slots=True)
class Judgment:
    """What a request is about: the numbers in its markers, its model, and the server's address,
    as a number."""

    response: int
    persona: int
    model: str
    address: int = 0


def response_marker(number: int) -> str:
    return f"RMARK{number:07d}"


def persona_marker(number: int) -> str:
    return f"PMARK{number:03d}"


def judgment_in(request: bytes, model: str, address: int = 0) -> Judgment | None:
    """What a request's body asks for; None where it lacks a marker, or has two of a kind."""
    responses = {*_RESPONSE.findall(request)}
    personas = {*_PERSONA.findall(request)}
    if len(responses) != 1 or len(personas) != 1:
        return None
    return Judgment(int(responses.pop()), int(personas.pop()), model, address)


@lru_cache(maxsize=1 << 18)
def expected(key: str, judgment: Judgment) -> tuple[int, ...] | None:
    """The score on each dimension; None, an abstention."""
    drawn = drawn_bytes(key, judgment)
    if drawn[-1] % ABSTENTIONS == 0:
        return None
    return tuple(1 + byte % 10 for byte in drawn[: len(DIMENSIONS)])


def drawn_bytes(*what: object) -> bytes:
    """16 bytes that follow from this alone."""
    return blake2b(repr(what).encode(), digest_size=16).digest()


def answer_text(key: str, judgment: Judgment) -> str:
    """The model's words: JSON with the expected scores."""
    scores = expected(key, judgment)
    said: dict[str, object] = dict(zip(DIMENSIONS, scores or (1,) * len(DIMENSIONS), strict=True))
    return json.dumps(said | {"abstained": scores is None})
