"""Reading an answer that is to be one number, from what models make of that.

Tolerant about form ("**Score:** 8/10", "I'd give it a 7.", a JSON object), strict about
content: of two numbers none is chosen, and a number in passing is no rating.
"""

from __future__ import annotations

import re

from persona_panel.rubrics.replies import Unreadable, is_refusal, read_object, read_score
from persona_panel.rubrics.rubric import Dimension
from persona_panel.rubrics.scale import CategoryScale

_FIGURE = r"-?[0-9]+(?:[.,][0-9]+)*"
# Not within a word or a longer number: 3rd, 1e5.
_RATING = rf"(?<![\w.,])({_FIGURE})(?![\w%])(?:\s*(?:/|out\s+of)\s*({_FIGURE})(?![\w%]))?"
_NAME = (
    r"(?:(?:my|the|final|overall|total|numerical|single)\s+)*"
    r"(?:score|rating|mark|grade|answer|overall|judge?ment|number)"
)
_LINE = re.compile(
    rf"(?:{_NAME}\s*(?:is|of|[:=–-])?\s*)?{_RATING}\s*(?:points?)?\s*[.!]?", re.IGNORECASE
)
_CUE = re.compile(
    rf"\b(?:{_NAME}|give|giving|rate|rated|assign|award|deserves?|merits?)\b[^.!?\n0-9]{{0,60}}$",
    re.IGNORECASE,
)
_NOT = re.compile(r"\b(?:not|never|cannot|hardly)\b|n['’]t\b", re.IGNORECASE)
_MARKUP = re.compile(r"[*_`#>]+")
_OBJECT_KEYS = ("score", "rating")


def read_number(text: str, dimension: Dimension) -> float:
    """The one rating that `text` states on a dimension's scale of numbers.

    Lines that are a number and nothing else, but for a name such as "Score:", say it;
    where there are none, a sentence that gives the only number of the text.

    Raises:
        Unreadable: it states none, or several, or one that is not on the scale.
    """
    if "{" in text:
        return read_score(_in_object(text, dimension), dimension)
    plain = _MARKUP.sub(" ", text)
    lines = [line.strip() for line in plain.splitlines()]
    stated = {_spelled(found) for line in lines if (found := _LINE.fullmatch(line))}
    if not stated and not is_refusal(text):
        stated = _given(plain, dimension)
    if not stated:
        raise Unreadable("it does not state a number")
    ratings = {read_score(one, dimension) for one in sorted(stated)}
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


def _given(text: str, dimension: Dimension) -> set[str]:
    """The only number of a text, where a sentence gives it as the rating."""
    scale = dimension.scale
    if isinstance(scale, CategoryScale):
        raise Unreadable(f"{dimension.id} has categories and no numbers")
    ends = rf"\b{scale.min:g}\s*(?:to|-|–|and)\s*{scale.max:g}\b"
    text = re.sub(ends, " ", text)
    found = list(re.finditer(_RATING, text))
    if len({_spelled(one) for one in found}) > 1:
        raise Unreadable("it holds more than one number, and none on a line of its own")
    if not found or _NOT.search(text):
        return set()
    return {
        _spelled(one) for one in found if one[2] is not None or _CUE.search(text[: one.start()])
    }


def _spelled(found: re.Match[str]) -> str:
    return found[1] if found[2] is None else f"{found[1]}/{found[2]}"
