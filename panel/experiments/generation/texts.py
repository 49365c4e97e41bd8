"""What is made of a model's answer: its length, its end, whether it refuses, its questions. Pure.

Words are what white space parts: a text in a script without spaces has few of them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from persona_panel.rubrics.replies import is_refusal

TrimmedAt = Literal["sentence", "word"]

_SENTENCE_END = re.compile(r"[.!?…][\"'”’»)\]]*$|[。！？][”’」』）]*$")
_NO_END = re.compile(
    r"(?:\b(?:Mr|Mrs|Ms|Dr|Prof|St|vs|cf|e\.g|i\.e|No|Fig|approx)|(?:^|\W)[A-Z])\.$"
)
_WORD = re.compile(r"\S+")
_NUMBERING = re.compile(r"^\s*(?:\(?\d{1,2}[.):]|[-*•])\s+")
_EMPHASIS = re.compile(r"^[*_\"“]+|[*_\"”]+$")
_LONGEST_REFUSAL = 80
"""A longer text that says "I cannot" somewhere is taken for an answer."""


@dataclass(frozen=True, slots=True)
class TrimmedText:
    """A text within a cap of words, and where it was cut; None where it was not."""

    text: str
    at: TrimmedAt | None


def n_words(text: str) -> int:
    """How many words a text has.

    >>> n_words("It is, they say, so.")
    5
    """
    return len(text.split())


def trimmed(text: str, most: int) -> TrimmedText:
    """A text cut behind the last sentence that ends within `most` words; where none does, behind
    the last word.

    A full stop behind an abbreviation or an initial ends no sentence.

    >>> trimmed("One two. Three four. Five", 4)
    TrimmedText(text='One two. Three four.', at='sentence')
    >>> trimmed("One two three", 2)
    TrimmedText(text='One two', at='word')
    >>> trimmed("One two.", 2)
    TrimmedText(text='One two.', at=None)
    """
    words = [*_WORD.finditer(text)]
    if len(words) <= most:
        return TrimmedText(text, None)
    kept = words[:most]
    for word in reversed(kept):
        if _SENTENCE_END.search(word[0]) and not _NO_END.search(word[0]):
            return TrimmedText(text[: word.end()], "sentence")
    return TrimmedText(text[: kept[-1].end()], "word")


def reads_as_refusal(text: str) -> bool:
    """Whether a short text reads as a model that declines to write.

    >>> reads_as_refusal("I'm sorry, but I cannot write that.")
    True
    """
    return n_words(text) <= _LONGEST_REFUSAL and is_refusal(text)


def questions_of(text: str) -> tuple[str, ...]:
    """The lines of a text that end in a question mark, without numbering, each once.

    >>> questions_of("Here they are:\\n1. Who says so?\\n2. **Why?**")
    ('Who says so?', 'Why?')
    """
    lines = (_EMPHASIS.sub("", _NUMBERING.sub("", line).strip()) for line in text.splitlines())
    return tuple(dict.fromkeys(line for line in lines if line.endswith(("?", "？", "؟"))))
