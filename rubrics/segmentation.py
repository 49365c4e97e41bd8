"""Words, sentences and characters of a text in any language (Unicode Standard Annex #29, Unicode
Text Segmentation).

A word is what stands between white space, with its punctuation, as `wc -w` counts. Chinese,
Japanese, Thai, Lao, Khmer and Burmese put no space between words: there each character is one, as
Annex #29 has it for Chinese and Japanese and word processors count them. A dictionary would find
longer words, other ones in each version: figures would depend on what is installed. So lengths
compare within a language, not across languages.
"""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, NamedTuple
from unicodedata import normalize

if TYPE_CHECKING:
    import regex

_UNSPACED = r"\p{Han}\p{Hiragana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
_CLOSING = r"[\"'*_\p{Pe}\p{Pf}\p{Pi}]*"


class TrimmedText(NamedTuple):
    """A text within a cap of words, and where it was cut; None where it was not."""

    text: str
    at: Literal["sentence", "word"] | None


@cache
def _compiled(pattern: str) -> regex.Pattern[str]:
    # Loaded where a text goes beyond ASCII.
    import regex

    return regex.compile(pattern)


def words(text: str) -> list[str]:
    """Return the words of a text in their order, with their punctuation.

    >>> words("It is well-known, e.g. here."), words("用 GPT-4 模型。")
    (['It', 'is', 'well-known,', 'e.g.', 'here.'], ['用', 'GPT-4', '模', '型。'])
    """
    pieces = text.split()
    if text.isascii():
        return pieces
    return [word for piece in pieces for word in parted(piece)]


def parted(piece: str) -> list[str]:
    """Return the words of what stands between two spaces: itself, unless its script puts no space
    between words."""
    if piece.isascii() or not _compiled(f"[{_UNSPACED}]").search(piece):
        return [piece]
    mark = r"[^\w\s]"
    unit = _compiled(rf"{mark}*(?=[{_UNSPACED}])\X{mark}*|[^{_UNSPACED}]+")
    return [each[0] for each in unit.finditer(piece)]


def plain_words(text: str) -> list[str]:
    """Return the words of a text by Annex #29 without case, punctuation and compatible forms, to
    compare texts by.

    >>> plain_words("Don’t STOP — ﬁne!"), plain_words("हिन्दी, 世界")
    (['don', 't', 'stop', 'fine'], ['हिन्दी', '世', '界'])
    """
    folded = normalize("NFKC", normalize("NFKC", text).casefold())
    return [word for run in _compiled(r"\w+").findall(folded) for word in parted(run)]


def graphemes(text: str) -> list[str]:
    """Return the characters of a text as a reader sees them: a letter with its marks, a flag.

    >>> graphemes("कि🇩🇪")
    ['कि', '🇩🇪']
    """
    if text.isascii() and "\r\n" not in text:
        return list(text)
    return [each[0] for each in _compiled(r"\X").finditer(text)]


def prefix(text: str, most: int) -> str:
    """Return the beginning of a text in at most `most` code points, cut between two characters.

    >>> prefix("🇩🇪🇫🇷", 3)
    '🇩🇪'
    """
    if len(text) <= most:
        return text
    end = 0
    for each in graphemes(text[: most + 1]):
        if end + len(each) > most:
            break
        end += len(each)
    return text[:end]


def abbreviated(text: str, most: int) -> str:
    """Return a text in at most `most` code points, with an ellipsis where it was longer."""
    return text if len(text) <= most else prefix(text, most - 1) + "…"


_ABBREVIATION = (
    r"Mr|Mrs|Ms|Dr|Prof|St|vs|cf|e\.g|i\.e|No|Fig|approx|al|Nr|Hr|Fr|bzw|ca|vgl|z|d|u|Sr|Sra|\p{Lu}"
)
_LONGEST = 8
"""Longer than any of these with what stands before it."""
_NO_END = rf"\b(?:{_ABBREVIATION})\.$"


def sentences(text: str) -> list[str]:
    """Return the sentences of a text in their order, with the space behind them: joined, they are
    the text. A full stop behind an abbreviation or an initial ends none; a line break ends none.

    >>> sentences("Dr. No came. Who? 我来了。他走了。")
    ['Dr. No came. ', 'Who? ', '我来了。', '他走了。']
    """
    places = [0]
    # Whole runs of marks, so that each is looked at once.
    marks = rf"(?:([\p{{STerm}}…]){_CLOSING})++(\s*+)"
    for run in _compiled(marks).finditer(text):
        # Scripts that put no space between words put none behind a sentence.
        is_end = run[2] or run.end() == len(text) or run[1] not in ".!?…"
        before = text[max(0, run.start() - _LONGEST) : run.start() + 1]
        if is_end and not (run[0].strip() == "." and _compiled(_NO_END).search(before)):
            places.append(run.end())
    if places[-1] < len(text):
        places.append(len(text))
    return [text[start:end] for start, end in pairwise(places)]


def trimmed(text: str, most: int) -> TrimmedText:
    """Cut a text behind the last sentence that ends within `most` words; where none does, behind
    the last word.

    >>> trimmed("One two. Three four. Five", 4)
    TrimmedText(text='One two. Three four.', at='sentence')
    >>> trimmed("One two three", 2)
    TrimmedText(text='One two', at='word')
    """
    there = words(text)
    if len(there) <= most:
        return TrimmedText(text, None)
    end = 0
    for word in there[:most]:
        end = text.index(word, end) + len(word)
    at = 0
    for sentence in sentences(text):
        if at + len(sentence.rstrip()) > end:
            break
        at += len(sentence)
    whole = text[:at].rstrip()
    return TrimmedText(whole, "sentence") if whole else TrimmedText(text[:end], "word")
