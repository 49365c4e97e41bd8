"""Reading an answer that is one number, tolerant about form ("**Score:** 8/10", "I'd give it a 7.",
a JSON object), strict about content: of two numbers none is chosen, and a number in passing is no
rating."""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from persona_panel.rubrics.instructions import ENGLISH, Language, ReplyWords
from persona_panel.rubrics.replies import (
    Unreadable,
    ascii_figures,
    is_refusal,
    read_object,
    read_score,
)
from persona_panel.rubrics.rubric import CategoryScale, Dimension

_FIGURE = r"-?[0-9]+(?:[.,][0-9]+)*"


class _NumberPatterns(NamedTuple):
    """Patterns of a number that is a rating, alone on a line or in a sentence, by language."""

    rating: str
    line: re.Pattern[str]
    cue: re.Pattern[str]
    negation: re.Pattern[str]
    ends: str

    @classmethod
    @cache
    def of(cls, words: ReplyWords) -> _NumberPatterns:
        # Where words are not separated, those of Latin letters end at other letters.
        within = r"\w" if words.spaced else "A-Za-z0-9_"
        begin, end = (r"\b", r"\b") if words.spaced else (f"(?<![{within}])", f"(?![{within}])")
        # Not within a word or a longer number: 3rd, 1e5.
        behind = rf"(?![{within}%])"
        rating = (
            rf"(?<![{within}.,])({_FIGURE}){behind}"
            rf"(?:\s*(?:/|{words.out_of})\s*({_FIGURE}){behind})?"
        )
        name = rf"(?:(?:{words.determiners})\s+)*(?:{words.rating})"
        return cls(
            rating,
            re.compile(
                rf"(?:{name}\s*(?:{words.copula}|[:=–-])?\s*)?{rating}\s*(?:{words.points})?"
                r"\s*[.!。]?",
                re.IGNORECASE,
            ),
            re.compile(
                rf"{begin}(?:{name}|{words.rates}){end}[^.!?。؟\n0-9]{{0,60}}$", re.IGNORECASE
            ),
            re.compile(words.negation, re.IGNORECASE),
            rf"{begin}<min>\s*(?:{words.to}|-|–)\s*<max>{end}",
        )


_MARKUP = re.compile(r"[*_`#>]+")
_OBJECT_KEYS = ("score", "rating")


def read_number(text: str, dimension: Dimension, language: Language = ENGLISH) -> float:
    """Return the single rating that `text`, in a language or in English, states on a dimension's
    scale of numbers.

    Lines that are a number and nothing else, but for a name such as "Score:", say it;
    where there are none, a sentence that gives the only number of the text.

    Raises:
        Unreadable: it states none, or several, or one that is not on the scale.
    """
    if "{" in text:
        return read_score(_in_object(text, dimension), dimension)
    patterns = _NumberPatterns.of(language.reply_words)
    plain = _MARKUP.sub(" ", ascii_figures(text))
    lines = [line.strip() for line in plain.splitlines()]
    stated = {_spelled(match) for line in lines if (match := patterns.line.fullmatch(line))}
    if not stated and not is_refusal(text, language):
        stated = _stated_numbers(plain, dimension, patterns)
    if not stated:
        raise Unreadable("it does not state a number")
    ratings = {read_score(number, dimension) for number in sorted(stated)}
    if len(ratings) > 1:
        raise Unreadable("it states more than one number")
    return float(ratings.pop())


def _in_object(text: str, dimension: Dimension) -> object:
    faults = []
    for key in (dimension.id, *_OBJECT_KEYS):
        try:
            return read_object(text, (key,))[key]
        except Unreadable as fault:
            faults.append(fault)
    raise faults[0]


def _stated_numbers(text: str, dimension: Dimension, patterns: _NumberPatterns) -> set[str]:
    """Return the only number of a text, where a sentence gives it as the rating."""
    scale = dimension.scale
    if isinstance(scale, CategoryScale):
        raise Unreadable("{name} has categories and no numbers", name=dimension.id)
    ends = patterns.ends.replace("<min>", f"{scale.min:g}").replace("<max>", f"{scale.max:g}")
    text = re.sub(ends, " ", text)
    matches = list(re.finditer(patterns.rating, text))
    if len({_spelled(match) for match in matches}) > 1:
        raise Unreadable("it holds more than one number, and none on a line of its own")
    if not matches or patterns.negation.search(text):
        return set()
    return {
        _spelled(match)
        for match in matches
        if match[2] is not None or patterns.cue.search(text[: match.start()])
    }


def _spelled(match: re.Match[str]) -> str:
    return match[1] if match[2] is None else f"{match[1]}/{match[2]}"
