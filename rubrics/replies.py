"""Reading what a model wrote: well-formed text, the JSON object in it, numbers, labels, a refusal,
and the object of ratings in which several elicitations have a judge answer.

Models write halves of surrogate pairs, which no encoder takes, as JSON escapes, where an emoji was
cut in two.

Tolerant about form (prose around the JSON, code fences, "8/10", a trailing comma, a category in
capitals), strict about content: a value that is not on the scale is an error, never rounded,
clipped or guessed.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any
from unicodedata import decimal

import orjson

from persona_panel.rubrics.elicitation import ParsedJudgment, Status
from persona_panel.rubrics.instructions import ENGLISH, JudgeInstructions, Language
from persona_panel.rubrics.rubric import (
    CategoryScale,
    Dimension,
    RealScale,
    Rubric,
    Scale,
    once_a_rubric,
)

_HALF = "\ufffd"
# Any escape, so that a backslash that is itself escaped begins none; whole pairs go first.
_ESCAPE = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    r"|(?P<half>u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)


def well_formed(text: str) -> str:
    """Return `text` with the replacement character for every half of a surrogate pair; two halves
    that belong together become their character."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def well_formed_json(text: str) -> str:
    """Replace escapes in JSON likewise: from the result no half of a surrogate pair can be read."""
    if "\\u" not in text:
        return text
    return _ESCAPE.sub(lambda escape: _HALF if escape["half"] else escape[0], text)


_FULL_WIDTH = {code + 0xFEE0: code for code in range(0x21, 0x7F)}
_JSON_SIGNS = {**dict.fromkeys(map(ord, "“”„«»「」"), '"'), ord("،"): ","}


def ascii_figures(text: str) -> str:
    """Return a text with the digits of every script and full-width signs as those of ASCII.

    >>> ascii_figures("٨٫٥ ／ １０")
    '8.5 / 10'
    """
    if text.isascii():
        return text
    plain = text.translate(_FULL_WIDTH).replace("٫", ".").replace("٪", "%")
    return "".join(
        char if char.isascii() or not char.isdecimal() else str(decimal(char)) for char in plain
    )


FAULTS = (
    "it is empty",
    "there is no complete JSON object in it",
    "these keys are missing: {keys}",
    "it holds two answers that contradict each other",
    "{name} has categories and no numbers",
    "{name} is {value}, not a number from {min} to {max}",
    "{name} is {value}, not a whole number from {min} to {max}",
    "{name} has numbers and no categories",
    "{name} is {value}, not one of {names}",
    "{name} is {value}, not true or false",
    "it says two things of {name}",
    "it does not state a number",
    "it states more than one number",
    "it holds more than one number, and none on a line of its own",
    "it holds more than one scratchpad",
    "there is no response {labels}",
)
"""The remarks on a judge's answer when it is asked for again: languages have words for each."""


class Unreadable(ValueError):
    """An answer does not say what was asked; the message says what is wrong with it: `fault`, one
    of `FAULTS` where a judge is asked again, in which `values` are filled in, lists with commas."""

    def __init__(self, fault: str, **values: object) -> None:
        self.fault, self.values = fault, values
        super().__init__(self.in_words(ENGLISH.instructions))

    def in_words(self, words: JudgeInstructions) -> str:
        """Return the message in the words of a language, where it has some."""
        template = words.faults.get(self.fault, self.fault)
        values = {
            name: words.comma.join(value) if isinstance(value, list) else value
            for name, value in self.values.items()
        }
        return template.format(**values) if values else template


# No scale reaches ten digits; without a bound, int() refuses a number of thousands.
_FRACTION = re.compile(r"(-?\d{1,9})(?:\.0+|,0)?(?:\s*/\s*(\d+))?")
_NUMBER = r"-?(?:\d{1,9}(?:\.\d{0,20})?|\.\d{1,20})"
_DECIMAL = re.compile(rf"({_NUMBER})(?:\s*/\s*({_NUMBER}))?")
# 1.500 or 1,500: by the language it is one and a half, or fifteen hundred.
_AMBIGUOUS = re.compile(r"-?[1-9]\d{0,2}[.,]\d{3}(?!\d)")
# Repair takes quadratic time on piles of braces.
_LONGEST_REPAIR = 10_000
_NUMERALS = re.compile(r"\d+")
_PLAIN = frozenset({int, bool, type(None)})


def is_refusal(text: str, language: Language = ENGLISH) -> bool:
    """Return whether an answer without JSON, to a question in this language, reads as a model
    declining to judge."""
    beginning = text.replace("\u2019", "'")[:600]
    return re.search(language.reply_words.refusal, beginning, re.IGNORECASE) is not None


def read_object(text: str, required: tuple[str, ...]) -> dict[str, Any]:
    """Return the JSON object in `text` that answers, with its keys normalised.

    Where several objects hold every required key they must say the same.

    Raises:
        Unreadable: there is no object, it lacks a key, or two contradict each other.
    """
    if (answer := _plain_answer(text.strip(), required)) is not None:
        return answer
    # Neither a request, a file nor the cache could hold half a surrogate pair.
    text = well_formed(text)
    candidates, answers = _answers(text, required)
    if not answers and not text.isascii():
        # Some write the signs of another script: {“depth”：８}.
        in_ascii = ascii_figures(text).translate(_JSON_SIGNS)
        candidates, answers = _answers(in_ascii, required)
    if not candidates:
        raise Unreadable("there is no complete JSON object in it")
    if not answers:
        best = max(candidates, key=lambda candidate: sum(key in candidate for key in required))
        missing = [key for key in required if key not in best]
        raise Unreadable("these keys are missing: {keys}", keys=missing)
    # As text: to Python, true and 1 are equal.
    if len(answers) > 1 and (
        len({json.dumps([answer[key] for key in required]) for answer in answers}) > 1
    ):
        raise Unreadable("it holds two answers that contradict each other")
    return answers[0]


def _answers(
    text: str, required: tuple[str, ...]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the objects of a text, and those of them that have every key."""
    values = map(_value_of, _braced(text))
    candidates = [_normalised(value) for value in values if isinstance(value, dict)]
    return candidates, [each for each in candidates if all(key in each for key in required)]


def value_at(text: str, path: str) -> object:
    """Return what stands at a path (`$.scores[0].value`) of the JSON objects in `text`.

    Raises:
        Unreadable: there is no object, none has the path, or two say different things there.
    """
    steps = [
        step[1:] if step[0] == "." else int(step[1:-1])
        for step in re.findall(r"\.[\w-]+|\[\d+\]", path)
    ]
    values: dict[str, object] = {}
    n_objects = 0
    for braced in _braced(well_formed(text)):
        value = _value_of(braced)
        n_objects += isinstance(value, dict)
        try:
            for step in steps:
                value = _member(value, step)
        except LookupError:
            continue
        values[json.dumps(value)] = value
    if not n_objects:
        raise Unreadable("there is no complete JSON object in it")
    if len(values) != 1:
        raise Unreadable(f"it says {'two things' if values else 'nothing'} at {path}")
    [value] = values.values()
    return value


def _member(value: object, step: str | int) -> object:
    """Return what has a name in an object or a number in a list; raises LookupError."""
    if isinstance(value, dict if isinstance(step, str) else list):
        return value[step]  # type: ignore[index]
    raise LookupError(step)


def read_score(value: object, dimension: Dimension) -> float:
    """Return the rating that `value` states on a dimension's scale of numbers.

    Raises:
        Unreadable: it is no number on the scale, or the scale has no numbers.
    """
    scale = dimension.scale
    # By `kind`: every rating comes through here, and `isinstance` is slow to say no of a model of
    # pydantic's.
    if scale.kind == "category":
        raise Unreadable("{name} has categories and no numbers", name=dimension.id)
    number = _real(value, scale) if scale.kind == "real" else _whole(value, scale)
    if number is None:
        raise Unreadable(
            "{name} is {value}, not a number from {min} to {max}"
            if scale.kind == "real"
            else "{name} is {value}, not a whole number from {min} to {max}",
            name=dimension.id,
            value=shown(value),
            min=f"{scale.min:g}",
            max=f"{scale.max:g}",
        )
    return number


def read_label(value: object, dimension: Dimension) -> str:
    """Return the category that `value` names, in the rubric's spelling.

    Case, quotes, spaces for hyphens and a full stop are no difference; a word more is.

    Raises:
        Unreadable: it names no category of the dimension, or the dimension has none.
    """
    scale = dimension.scale
    if scale.kind != "category":
        raise Unreadable("{name} has numbers and no categories", name=dimension.id)
    label = scale.find(value) if isinstance(value, str) else None
    if label is None:
        raise Unreadable(
            "{name} is {value}, not one of {names}",
            name=dimension.id,
            value=shown(value),
            names=list(scale.names),
        )
    return label


def _whole(value: object, scale: Scale) -> int | None:
    number: int | None = None
    if isinstance(value, str):
        value = ascii_figures(value).strip()
    if isinstance(value, int) and not isinstance(value, bool):
        number = value
    elif isinstance(value, float) and value.is_integer():
        number = int(value)
    elif (
        isinstance(value, str)
        and (match := _FRACTION.fullmatch(value))
        and match[2] in (None, str(scale.max))
    ):
        number = int(match[1])
    return number if number is not None and scale.min <= number <= scale.max else None


def _real(value: object, scale: RealScale) -> float | None:
    number = math.nan
    if isinstance(value, str):
        value = ascii_figures(value).strip()
        if scale.max >= 1000 and _AMBIGUOUS.match(value):
            return None
        value = value.replace(",", ".")
    if isinstance(value, int | float) and not isinstance(value, bool):
        # An integer of thousands of digits is no float.
        number = float(value) if scale.min <= value <= scale.max else math.nan
    elif (
        isinstance(value, str)
        and (match := _DECIMAL.fullmatch(value))
        and (match[2] is None or float(match[2]) == scale.max)
    ):
        number = float(match[1])
    return number if scale.min <= number <= scale.max else None


def read_flag(value: object, key: str, language: Language = ENGLISH) -> bool:
    """Return the yes or no that `value` states, in words of a language or English ones.

    Raises:
        Unreadable: it is neither.
    """
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        words, flag = language.reply_words, value.strip().lower()
        for is_yes, pattern in ((True, words.affirmed), (False, words.denied)):
            if re.fullmatch(pattern, flag):
                return is_yes
    raise Unreadable("{name} is {value}, not true or false", name=key, value=shown(value))


def shown(value: object) -> str:
    """Return a value as an error shows it, in 60 characters at most."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _named(key: str) -> str:
    """Return a key as an error shows it. A judge may write anything for a key, and sees the
    error.
    """
    return key if key.isidentifier() and len(key) <= 60 else shown(key)


def _plain_answer(text: str, required: tuple[str, ...]) -> dict[str, Any] | None:
    """Return an answer that consists of one object with these keys in this order, whole numbers,
    true, false and null, as nearly all do; None for any other.

    Read in a fifth of the time.
    """
    try:
        value = orjson.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) and _is_plain_answer(value, text, required) else None


def _is_plain_answer(value: dict[str, Any], text: str, required: tuple[str, ...]) -> bool:
    return (
        tuple(value) == required
        # No more quotes than these keys have: no key is there twice.
        and text.count('"') == 2 * len(required)
        # A number that is too large for orjson's integers would be a float.
        and _PLAIN.issuperset(map(type, value.values()))
    )


def _normalised(candidate: dict[str, Any]) -> dict[str, Any]:
    """Return the object with its keys in the rubric's spelling, and a nested object of scores
    lifted out."""
    # As most are: each key has its own spelling, and no value is an object.
    plain = {_spelling(key): value for key, value in candidate.items()}
    if len(plain) == len(candidate) and dict not in map(type, plain.values()):
        return plain
    flat: dict[str, Any] = {}
    for key, value in candidate.items():
        name = _spelling(key)
        if isinstance(value, dict) and name in ("scores", "ratings"):
            for inner, item in _normalised(value).items():
                _put(flat, inner, item)
        else:
            _put(flat, name, value)
    return flat


def _put(flat: dict[str, Any], name: str, value: object) -> None:
    known = flat.setdefault(name, value)
    if known is not value and known != value:
        raise Unreadable("it says two things of {name}", name=_named(name))


# Thirty judges of ten thousand responses write the same few keys.
@lru_cache(maxsize=1_000)
def _spelling(key: str) -> str:
    return re.sub(r"[\s-]+", "_", key.strip().lower())


def _value_of(braced: str) -> object:
    """Return the value of a complete object in a text; something other than a dict where it is not
    valid."""
    snippet = well_formed_json(braced)
    try:
        # Its braces balance, so that nothing can stand after the object.
        value, _ = _strict.raw_decode(snippet)
    except Unreadable:
        raise
    except (ValueError, RecursionError):
        value = _repaired(snippet)
    return value


def _without_contradiction(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object's dict; the last of two values of one key must not win unnoticed."""
    whole: dict[str, Any] = dict(pairs)
    if len(whole) == len(pairs):
        return whole
    whole = {}
    for key, value in pairs:
        if key in whole and whole[key] != value:
            raise Unreadable("it says two things of {name}", name=_named(key))
        whole[key] = value
    return whole


_strict = json.JSONDecoder(object_pairs_hook=_without_contradiction)


def _repaired(snippet: str) -> object:
    """Return the value of a malformed object; None where repair would drop or join its numbers.

    "7 or 8" must not become a 7, nor "7_5" a 75.
    """
    if len(snippet) > _LONGEST_REPAIR:
        return None
    # Twenty modules, which runs of models that write JSON never need.
    import json_repair

    try:
        value = json_repair.loads(snippet)
        written = json.dumps(value, ensure_ascii=False)
        kept = _NUMERALS.findall(snippet) == _NUMERALS.findall(written)
        return _strict.decode(well_formed(written)) if kept else None
    except (ValueError, RecursionError):
        return None


def _is_plain(text: str) -> bool:
    """Return whether a text is one flat object, its braces outside of strings, as most answers
    are.
    """
    return (
        text[:1] == "{"
        and text[-1:] == "}"
        and text.count("{") == text.count("}") == 1
        and text.count('"') % 2 == 0
        and "\\" not in text
    )


def _braced(text: str) -> Iterable[str]:
    """Return each outermost `{…}` whose braces balance outside of strings.

    An object that is cut short is not complete: a 1 at its end may have been a 10.
    """
    return (whole,) if _is_plain(whole := text.strip()) else _balanced(text)


def _balanced(text: str) -> Iterator[str]:
    depth, start, quoted, escaped = 0, 0, False, False
    for place, char in enumerate(text):
        if depth and quoted:
            if escaped:
                escaped = False
            elif char == "\\":
                escaped = True
            elif char == '"':
                quoted = False
        elif char == '"' and depth:
            quoted = True
        elif char == "{":
            if depth == 0:
                start = place
            depth += 1
        elif char == "}" and depth:
            depth -= 1
            if depth == 0:
                yield text[start : place + 1]


TOKENS_A_KEY = 16
"""About how many tokens a key takes with its value, where a small model writes it; others get by
with less."""


@once_a_rubric
def keys_of(rubric: Rubric) -> tuple[str, ...]:
    """Return the object's keys, in the rubric's order."""
    keys = tuple(dimension.id for dimension in rubric.dimensions)
    return (*keys, "abstained") if rubric.abstention else keys


@once_a_rubric
def form_of(rubric: Rubric) -> str:
    """Return the form that the object must have, in words."""
    words = rubric.asked_in.instructions
    parts = [words.json_form]
    if rubric.categories:
        parts.append(words.json_categories)
    if rubric.not_assessable:
        parts.append(words.json_null)
    if rubric.abstention:
        asked = rubric.abstention
        parts.append(
            words.json_abstained.format(
                definition=asked.definition, question=asked.guiding_question
            )
        )
    return words.between.join(parts)


@once_a_rubric
def schema_of(rubric: Rubric) -> dict[str, Any]:
    """Return the object's JSON schema, for models that can be held to one."""
    properties: dict[str, Any] = {
        dimension.id: _value_schema(dimension, rubric.not_assessable)
        for dimension in rubric.dimensions
    }
    if rubric.abstention:
        properties["abstained"] = {"type": "boolean"}
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def read_ratings(text: str, rubric: Rubric) -> ParsedJudgment:
    """Read the judgment in the object in `text`.

    Raises:
        Unreadable: there is none, or it does not say what was asked.
    """
    answer = read_object(text, keys_of(rubric))
    abstained: bool | None = None
    if rubric.abstention:
        abstained = read_flag(answer["abstained"], "abstained", rubric.asked_in)
    scores: dict[str, float] = {}
    labels: dict[str, str] = {}
    for name, plain, dimension in _plain_values_of(rubric):
        value = answer[name]
        # As nearly always.
        if type(value) is int and value in plain:
            scores[name] = float(value)
        elif value is None and (rubric.not_assessable or abstained):
            continue
        elif dimension.scale.kind == "category":
            labels[name] = read_label(value, dimension)
        else:
            scores[name] = float(read_score(value, dimension))
    status: Status = "abstained" if abstained else "scored"
    # By place, in half the time.
    return ParsedJudgment(status, scores, abstained, None, text, None, {}, labels)


@once_a_rubric
def _plain_values_of(rubric: Rubric) -> list[tuple[str, range, Dimension]]:
    """Return each dimension with its id and the whole numbers that can be its rating as they are:
    none where it has other values."""
    return [(dimension.id, _whole_numbers(dimension), dimension) for dimension in rubric.dimensions]


def _whole_numbers(dimension: Dimension) -> range:
    scale = dimension.scale
    return scale.values if scale.kind == "integer" else range(0)


def _value_schema(dimension: Dimension, nullable: bool) -> dict[str, Any]:
    scale = dimension.scale
    if isinstance(scale, RealScale):
        kind = ["number", "null"] if nullable else "number"
        return {"type": kind, "minimum": scale.min, "maximum": scale.max}
    name = "string" if isinstance(scale, CategoryScale) else "integer"
    values: list[int | str | None] = list(scale.values)
    if nullable:
        values.append(None)
    return {"type": [name, "null"] if nullable else name, "enum": values}
