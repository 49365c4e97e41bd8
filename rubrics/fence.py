"""Fencing: how a text under judgment is set apart from what is asked about it.

A text is data, never instructions. The mark of its fence is derived from the text, so that
the same text gets the same prompt (and a cached reply), and is checked not to occur in it,
so that nothing inside can close it.

A model may also heed what only looks like the mark. So the check is made on what is left
when a text is folded (`_folded`), and eight digits of the mark in a row are too many. A mark
of 96 bits keeps out who would search for a text with a near-copy of its own mark: three
digits or more must then differ, and a text of a million characters has to be tried 2**53
times; with 64 bits two digits or more, and 2**29 times.
"""

from __future__ import annotations

import re
from functools import lru_cache
from hashlib import sha256
from unicodedata import decimal, normalize

MARK_DIGITS = 24
"""Hexadecimal digits of a mark."""
_TOO_MANY = 8
"""So many digits of a mark in a row, in one of the texts, and another mark is taken."""

# Letters of other alphabets (Cyrillic, Greek, small capitals) that look like a digit of a mark.
_LOOKALIKES = {
    letter: digit
    for digit, letters in {
        "a": "\u0430\u03b1\u0251\u1d00",
        "b": "\u0432\u044c\u03b2\u0180\u0299",
        "c": "\u0441\u03c2\u03f2\u1d04",
        "d": "\u0501\u1d05",
        "e": "\u0435\u03b5\u1d07",
        "f": "\u0493\ua730",
        "0": "\u043e\u03bf",
        "1": "\u0456\u04cf\u03b9\u0131\u01c0",
        "3": "\u0437",
        "6": "\u0431",
    }.items()
    for letter in letters
}
# ASCII's own lookalikes among them, and capitals.
_DIGITS = bytes.maketrans(b"ABCDEFOoLlIi|", b"abcdef0011111")
_NO_DIGITS = bytes(set(range(128)) - set(b"0123456789abcdefABCDEFOoLlIi|"))


def fence_for(*texts: str) -> str:
    """A word of `MARK_DIGITS` hexadecimal digits of which no text has `_TOO_MANY` in a row.

    Neither case, accents, spaces, punctuation and invisible characters in between, nor
    lookalikes from other alphabets make a difference.
    """
    digest = sha256("\x00".join(texts).encode("utf-8", "surrogatepass"))
    folded = b" ".join(map(_folded, texts))
    while _nearly_in(mark := digest.hexdigest()[:MARK_DIGITS], folded):
        digest.update(b"again")
    return mark


def fenced(name: str, text: str, fence: str) -> str:
    """`text` between two lines that carry its name and the fence."""
    name = _BREAKS.sub(" ", name)
    return f"<{name} {fence}>\n{text}\n</{name} {fence}>"


_BREAKS = re.compile(r"[\s<>]+")


def _nearly_in(mark: str, folded: bytes) -> bool:
    digits = mark.encode()
    return any(
        digits[start : start + _TOO_MANY] in folded for start in range(MARK_DIGITS - _TOO_MANY + 1)
    )


def _folded(text: str) -> bytes:
    """The hexadecimal digits of a text and what looks like one, with nothing in between."""
    if not text.isascii():
        # One by one: of most texts few characters count, and `str.translate` looks at all.
        for char in set(text):
            if not char.isascii() and (plain := _plain(char)):
                text = text.replace(char, plain)
    return text.encode("ascii", "ignore").translate(_DIGITS, _NO_DIGITS)


@lru_cache(maxsize=4096)
def _plain(char: str) -> str:
    """A character in ASCII: its compatible form without case and accents, or what it looks
    like; nothing where it has none."""
    if char in _LOOKALIKES:
        return _LOOKALIKES[char]
    parts = normalize("NFKD", normalize("NFKD", char).casefold())
    return "".join(
        part if part.isascii() else _LOOKALIKES.get(part) or _digit(part) for part in parts
    )


def _digit(char: str) -> str:
    """A decimal digit of any script as ASCII's; nothing for another character."""
    number = decimal(char, None)
    return "" if number is None else str(number)
