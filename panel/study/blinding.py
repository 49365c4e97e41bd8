"""Ids that say nothing of what they stand for, and texts that say too much.

An id is a keyed digest: whoever has the packets, the texts and even the systems' names, but not
the study's secret, cannot find out which id is whose.
"""

from __future__ import annotations

import hmac
import re
import secrets
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from graphs import Response

_DIGITS = 16
_LEAST_LETTERS = 3
"""Shorter names would be found in any text."""


def new_secret() -> str:
    """A study's secret: 32 random bytes in hexadecimal digits."""
    return secrets.token_hex(32)


def opaque_id(secret: str, *parts: object) -> str:
    """The id of what these parts name: 16 hexadecimal digits of their HMAC-SHA256."""
    message = "\x1f".join(map(str, parts)).encode("utf-8", "surrogatepass")
    return hmac.new(bytes.fromhex(secret), message, "sha256").hexdigest()[:_DIGITS]


@dataclass(frozen=True, slots=True)
class NamingText:
    """A text that names a system, which a rater may take for its author.

    Attributes:
        prompt_id, id, system: of the response.
        part: where the name stands: "response", "prompt" or "context".
        name: the name as it stands there.
    """

    prompt_id: str
    id: str
    system: str
    part: str
    name: str


def naming_texts(responses: Iterable[Response], systems: Collection[str]) -> list[NamingText]:
    """The texts in which the name of a system stands, each once.

    A name counts as a whole word, whatever its case, and without what stands before its last
    colon or slash, too: `openai:gpt-4o` is also looked for as `gpt-4o`. Names of fewer than three
    letters are not looked for.
    """
    names = {name for system in systems for name in (system, re.split(r"[:/]", system)[-1])}
    looked_for = sorted(
        (name for name in names if len(name) >= _LEAST_LETTERS), key=len, reverse=True
    )
    if not looked_for:
        return []
    pattern = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, looked_for))})(?!\w)", re.IGNORECASE)
    found = []
    for one in responses:
        parts = {"response": one.text, "prompt": one.prompt, "context": one.context or ""}
        for part, text in parts.items():
            if (match := pattern.search(text)) is not None:
                found.append(
                    NamingText(str(one.prompt_id), one.id, one.system, part, match.group())
                )
                break
    return found
