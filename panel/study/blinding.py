"""Ids that say nothing of what they stand for, and texts that say too much.

An id is a keyed digest: whoever has the packets, the texts and even the systems' names, but not
the study's secret, cannot find out which id is whose.
"""

from __future__ import annotations

import hmac
import re
import secrets
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from persona_panel.graphs import Response

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
        own: whether it is the name of the system that wrote the text.
    """

    prompt_id: str
    id: str
    system: str
    part: str
    name: str
    own: bool


def naming_texts(responses: Iterable[Response], systems: Collection[str]) -> list[NamingText]:
    """The texts in which the name of a system stands, each once, by that of its own if it has both.

    A name counts as a whole word, whatever its case and whether its words are parted by hyphens,
    underscores, spaces or not at all: `gpt-4o` is also found in "GPT 4o" and "GPT4o". It is looked
    for without what stands before its last colon or slash, too, without what follows its first
    number (`gpt-4o` for `gpt-4o-mini-2024-07-18`), and of a model with its provider by its first
    word (`claude` for `anthropic:claude-sonnet-4-5`). Names of fewer than three letters and digits
    are not looked for.
    """
    by_system = {one: _pattern_of(name for name in _names_of(one)) for one in systems}
    patterns = [pattern for pattern in by_system.values() if pattern is not None]
    if not patterns:
        return []
    any_name = re.compile("|".join(pattern.pattern for pattern in patterns), re.IGNORECASE)
    found = []
    for one in responses:
        parts = {"response": one.text, "prompt": one.prompt, "context": one.context or ""}
        own = by_system.get(one.system)
        for is_own, pattern in ((True, own), (False, any_name)):
            match = None if pattern is None else _first_in(parts, pattern)
            if match is not None:
                found.append(NamingText(str(one.prompt_id), one.id, one.system, *match, own=is_own))
                break
    return found


def _first_in(parts: Mapping[str, str], pattern: re.Pattern[str]) -> tuple[str, str] | None:
    """The first part in which the pattern is found, and what is found."""
    for part, text in parts.items():
        if (match := pattern.search(text)) is not None:
            return part, match.group()
    return None


def _names_of(system: str) -> Iterator[list[str]]:
    """The words of each name that a system goes by."""
    last = re.split(r"[:/]", system)[-1]
    for name in (system, last):
        yield _words_of(name)
    words = _words_of(last)
    if last != system:
        yield words[:1]
    # Up to the first number: gpt 4o, llama 3.1.
    numbered = next((at for at, word in enumerate(words) if word[0].isdigit()), None)
    if numbered:
        yield words[: numbered + 1]


def _words_of(name: str) -> list[str]:
    """The words of a name: parted by what is no letter or digit, but for points in numbers, and
    where letters are followed by a number."""
    return re.findall(r"[^\W\d_]+|\d[\w.]*\w|\d", name)


def _pattern_of(names: Iterable[list[str]]) -> re.Pattern[str] | None:
    """Finds each of some names; None where all are too short."""
    found = {
        r"[\W_]{0,2}".join(map(re.escape, words)): len("".join(words))
        for words in names
        if len("".join(words)) >= _LEAST_LETTERS
    }
    if not found:
        return None
    longest_first = sorted(found, key=found.__getitem__, reverse=True)
    return re.compile(rf"(?<![^\W_])(?:{'|'.join(longest_first)})(?![^\W_])", re.IGNORECASE)
