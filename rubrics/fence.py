"""Fencing: how a text under judgment is set apart from what is asked about it.

A text is data, never instructions. Its fence is derived from the text, so that the
same text gets the same prompt (and a cached reply), and is checked not to occur in
it, so that nothing inside can close it.
"""

from __future__ import annotations

from hashlib import sha256


def fence_for(*texts: str) -> str:
    """A word of 8 hexadecimal digits that occurs in none of the texts."""
    digest = sha256("\x00".join(texts).encode("utf-8", "surrogatepass"))
    while any((mark := digest.hexdigest()[:8]) in text for text in texts):
        digest.update(b"again")
    return mark


def fenced(name: str, text: str, fence: str) -> str:
    """`text` between two lines that carry its name and the fence."""
    return f"<{name} {fence}>\n{text}\n</{name} {fence}>"
