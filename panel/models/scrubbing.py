"""Keeping keys out of whatever is shown or written."""

from __future__ import annotations

import math
import re
from base64 import b64encode
from collections.abc import Iterable, Iterator

_MASK = "[secret]"
_CREDENTIAL = re.compile(
    r"""authorization["']?\s*[:=,]\s*["']?(?:\w+\s+)?[^\s"',}]+"""
    r"|bearer(?:\s|%20|[+:=])+\S+"
    r"|\bsk-[\w.*-]{6,}",
    re.IGNORECASE,
)
_SHORTEST_SECRET = 4  # anything shorter is a placeholder, and would mask half a sentence


def scrub(text: str, secrets: Iterable[str]) -> str:
    """`text` with every credential replaced by `[secret]`.

    Replaced are the secrets themselves, also percent-encoded in any part and within
    base64, and whatever looks like a credential: the value of an Authorization header,
    `Bearer …`, `sk-…`.
    """
    for secret in secrets:
        if len(secret) >= _SHORTEST_SECRET:
            text = re.sub("|".join(_disguises(secret)), _MASK, text)
    return _CREDENTIAL.sub(_MASK, text)


def _disguises(secret: str) -> Iterator[str]:
    """Patterns for a secret: as it is, and in base64 at each offset it can have there."""
    yield _spelled(secret)
    raw = secret.encode()
    for offset in range(3):
        coded = b64encode(bytes(offset) + raw).decode()
        # The characters at either end also hold bits of what stands around the secret.
        first, last = math.ceil(offset * 8 / 6), (offset + len(raw)) * 8 // 6
        inner = coded[first:last]
        yield _spelled(inner) + r"[\w+/=%-]*"
        yield _spelled(inner.replace("+", "-").replace("/", "_")) + r"[\w+/=%-]*"


def _spelled(text: str) -> str:
    """A pattern for `text` in which any character may be percent-encoded."""
    return "".join(
        f"(?:{re.escape(char)}|(?i:{''.join(f'%{byte:02x}' for byte in char.encode())}))"
        for char in text
    )
