"""Requirements as they are written: `composite[my-model] >= 6`.

    requirement = figure comparison number [ "level=" number ] | figure ( "==" | "!=" ) word
    figure      = name [ "[" name { "," name } "]" ]
    comparison  = ">=" | ">" | "<=" | "<"
    name        = plain | '"' … '"' | "'" … "'"

A plain name ends before a comma, a bracket or a comparison, and begins with no quote; spaces around
it do not count. Within quotes everything is the name's, a quote of the same kind written twice.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from math import isfinite, nan
from typing import Literal, cast, get_args
from unicodedata import normalize

Comparator = Literal[">=", ">", "<=", "<", "==", "!="]

_QUOTES = "\"'"
_SIGNS = "[],<>=!"
_QUOTED = re.compile(r"""(["'])(?:(?!\1).|\1\1)*+\1""", re.DOTALL)
_PLAIN = re.compile(r"[^][,<>=!]*")
_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)


class WrongRequirement(ValueError):
    """A requirement that cannot be read: what was found, and what is expected."""

    def __init__(self, actual: str, expected: str) -> None:
        super().__init__(f"found {actual}; expected {expected}")
        self.actual, self.expected = actual, expected


@dataclass(frozen=True, slots=True)
class Requirement:
    """Bound or word that a figure has to meet.

    Attributes:
        name: of the figure.
        keys: what it is of, in the order written: systems, dimensions, ….
        comparison, bound: the figure has to be on this side of the bound.
        level: of the interval whose end decides; 0.95 is a one-sided test at 2.5 %.
        word: what a figure that is a word, such as a verdict, has to be (`==`) or not to be (`!=`);
            empty of the others.
    """

    name: str
    keys: tuple[str, ...]
    comparison: Comparator
    bound: float
    word: str = ""
    level: float = 0.95

    @property
    def at_least(self) -> bool:
        """Return whether higher figures meet it, not lower ones."""
        return self.comparison.startswith(">")

    def holds_for(self, value: float) -> bool:
        """Return whether a value is on the right side; False for NaN. The last bit of a sum does
        not
        decide: values that are equal to nine decimals are equal.

        >>> parse_requirement("tau_c >= 0.3").holds_for(0.1 + 0.2)
        True
        """
        beyond = round(value - self.bound, 9)
        if not self.at_least:
            beyond = -beyond
        return beyond > 0 or (beyond == 0 and self.comparison.endswith("="))

    def __str__(self) -> str:
        """Return it as it is written, in the shortest form."""
        word = quoted(self.word)
        # Without quotes it would be compared as a number, which is no verdict.
        word = f'"{word}"' if _NUMBER.fullmatch(word) else word
        of = word if self.word else f"{self.bound:.12g}"
        of += "" if self.level == 0.95 else f" level={self.level!r}"
        return f"{written(self.name, self.keys)} {self.comparison} {of}"


def parse_requirement(text: str) -> Requirement:
    """Read a requirement.

    Raises:
        WrongRequirement: it is none.

    >>> parse_requirement('difference["new, later", old] > -0.2').keys
    ('new, later', 'old')
    """
    name, rest = _name(text, "the name of a figure")
    keys: list[str] = []
    if rest.startswith("["):
        while rest[:1] in ("[", ","):
            key, rest = _name(rest[1:], "a name")
            keys.append(key)
        if not rest.startswith("]"):
            raise WrongRequirement(_rest_shown(rest), "a comma and another name, or ]")
        rest = rest[1:].lstrip()
    comparison = next((arg for arg in get_args(Comparator) if rest.startswith(arg)), None)
    is_equality = comparison in ("==", "!=")
    if comparison is None or (is_equality and _NUMBER.fullmatch(rest[2:].strip())):
        raise WrongRequirement(_rest_shown(rest), "one of >=, >, <= and <")
    if is_equality:
        word, after = _name(rest[len(comparison) :], "a verdict")
        if after:
            raise WrongRequirement(_rest_shown(after), "the end of the requirement")
        return Requirement(name, tuple(keys), cast(Comparator, comparison), nan, word)
    number, at, level = (part.strip() for part in rest[len(comparison) :].partition("level="))
    if _NUMBER.fullmatch(number) is None or not isfinite(float(number)):
        raise WrongRequirement(_rest_shown(number), "a number, such as 6, -0.2 or 1e-3")
    if at and (_NUMBER.fullmatch(level) is None or not 0.5 <= float(level) < 1):
        raise WrongRequirement(f"level={level}", "a level of confidence from 0.5 to below 1")
    requirement = Requirement(name, tuple(keys), cast(Comparator, comparison), float(number))
    return replace(requirement, level=float(level)) if at else requirement


def written(name: str, keys: tuple[str, ...]) -> str:
    """A figure's name as a requirement has it, with quotes where they are needed.

    >>> written("difference", ("new, later", "old"))
    'difference["new, later", old]'
    """
    of = f"[{', '.join(map(quoted, keys))}]" if keys else ""
    return f"{quoted(name)}{of}"


def quoted(name: str) -> str:
    """A name as it is written: in quotes where it could be taken for something else."""
    plain = name == name.strip() and name and name[0] not in _QUOTES
    if plain and not any(sign in name for sign in _SIGNS):
        return name
    if '"' in name and "'" not in name:
        return f"'{name}'"
    doubled = name.replace('"', '""')
    return f'"{doubled}"'


def same_name(text: str) -> str:
    """A name as names are compared: é is the same as e with an accent."""
    return normalize("NFC", text)


def _name(text: str, expected: str) -> tuple[str, str]:
    """The name that a text begins with, and what follows it."""
    text = text.lstrip()
    quote = text[:1] if text.startswith(tuple(_QUOTES)) else ""
    match = (_QUOTED if quote else _PLAIN).match(text)
    if match is None:
        raise WrongRequirement(_rest_shown(text), f"another {quote} that ends the name")
    name = match[0][1:-1].replace(quote * 2, quote) if quote else match[0].strip()
    rest = text[match.end() :].lstrip()
    if not name:
        raise WrongRequirement(_rest_shown(rest), expected)
    return same_name(name), rest


def _rest_shown(rest: str) -> str:
    return repr(rest.strip()) if rest.strip() else "nothing"
