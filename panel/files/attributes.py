"""Attributes of people and of items, conditions on them, `age >= 50 and gender = woman`, and the
file of groups and contrasts that are made by them.

    condition  = all { "or" all }
    all        = term { "and" term }
    term       = "not" term | "(" condition ")" | attribute comparison
    comparison = ( "=" | "==" | "!=" | "<" | "<=" | ">" | ">=" ) value
               | "in" "(" value { "," value } ")"
    value      = plain | '"' … '"' | "'" … "'"

Nothing is evaluated as code. A plain value may have several words, but neither a bracket, a comma
nor one of the words `and`, `or`, `not` and `in`; within quotes it may have them all. `=`, `!=` and
`in` compare numbers as numbers and texts whatever their case; the others compare numbers alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from operator import ge, gt, le, lt
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator, model_validator

from persona_panel.files.definitions import load_definition
from persona_panel.files.errors import Fault, InputError
from persona_panel.files.records import (
    ColumnMapping,
    Fields,
    Report,
    Source,
    label_of,
    name_of,
    read_records,
)
from persona_panel.files.wording import caseless, did_you_mean, shown
from persona_panel.statistics.core.display import ALL

_MISSING = frozenset({"", "?", "na", "n/a", "nan", "null", "<na>"})
_SHOWN = 6
_TOKEN = re.compile(
    r"""\s*(?:(?P<quoted>"[^"]*"|'[^']*')|(?P<sign><=|>=|!=|==|=|<|>|[(),])"""
    r"""|(?P<word>[^\s"'<>=!(),]+)|(?P<other>\S))"""
)
_WORDS = frozenset({"and", "or", "not", "in"})
_ORDERED: Mapping[str, Callable[[float, float], bool]] = {"<": lt, "<=": le, ">": gt, ">=": ge}
_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?")
_DEEPEST = 40

AttributeValues = Mapping[str, str | None]
"""The attributes of one rater or item: a value by name, None where it is missing."""
ConditionTest = Callable[[AttributeValues], bool | None]


class WrongCondition(ValueError):
    """A condition that cannot be read. `problem`: what is wrong; `expected`: what would be
    right."""

    def __init__(self, problem: str, expected: str) -> None:
        super().__init__(f"{problem}; {expected}")
        self.problem, self.expected = problem, expected


class NotANumber(ValueError):
    """A value that `<` or the like cannot compare, with its attribute and the comparison."""

    def __init__(self, attribute: str, value: str, comparison: str) -> None:
        super().__init__(f"{attribute} {value!r} is not a number, as {comparison!r} needs it")
        self.attribute, self.value, self.comparison = attribute, value, comparison


@dataclass(frozen=True, slots=True, eq=False)
class AttributeCondition:
    """A condition that was read.

    Attributes:
        text: as it was written.
        attributes: the names that occur in it, each once.
        test: whether it holds of attributes; None where one that decides is missing.

    >>> condition = parse_condition("age >= 50 and not gender = man")
    >>> condition.test({"age": "61", "gender": "Woman"})
    True
    """

    text: str
    attributes: tuple[str, ...]
    test: ConditionTest


def parse_condition(text: str) -> AttributeCondition:
    """Read a condition. Raises WrongCondition: it is none."""
    reader = _Reader(text)
    test = reader.condition(0)
    if reader.kind:
        raise WrongCondition(reader.token(), "and, or, or the end of the condition" + _QUOTES)
    return AttributeCondition(" ".join(text.split()), tuple(dict.fromkeys(reader.attributes)), test)


_QUOTES = " (a value with and, or, not, in, a comma or a bracket stands in quotes)"


class _Reader:
    """A reader of a condition from left to right; `kind` and `next` are what comes next."""

    def __init__(self, text: str) -> None:
        self._tokens = _tokens(text)
        self.attributes: list[str] = []
        self.kind, self.next = "", ""
        self.step()

    def step(self) -> str:
        """Go on to the next word or sign; returns the one before."""
        passed = self.next
        self.kind, self.next = next(self._tokens, ("", ""))
        return passed

    def token(self) -> str:
        """Return the next word or sign, for an error."""
        return repr(self.next) if self.kind else "the end of the condition"

    def is_word(self, *words: str) -> bool:
        return self.kind == "word" and self.next.lower() in words

    def condition(self, depth: int) -> ConditionTest:
        tests = [self._all(depth)]
        while self.is_word("or"):
            self.step()
            tests.append(self._all(depth))
        return _joined(tests, decides=True)

    def _all(self, depth: int) -> ConditionTest:
        tests = [self._term(depth)]
        while self.is_word("and"):
            self.step()
            tests.append(self._term(depth))
        return _joined(tests, decides=False)

    def _term(self, depth: int) -> ConditionTest:
        if depth > _DEEPEST:
            raise WrongCondition(f"more than {_DEEPEST} levels of brackets and not", "fewer")
        if self.is_word("not"):
            self.step()
            inner = self._term(depth + 1)
            return lambda known: None if (held := inner(known)) is None else not held
        if self.next == "(":
            self.step()
            inner = self.condition(depth + 1)
            self._expect(")", ") that closes the bracket")
            return inner
        return self._comparison()

    def _comparison(self) -> ConditionTest:
        attribute = self._text("the name of an attribute")
        self.attributes.append(attribute)
        if self.is_word("in"):
            self.step()
            self._expect("(", "( and values, such as in (a, b)")
            values = [self._text("a value")]
            while self.next == ",":
                self.step()
                values.append(self._text("a value"))
            self._expect(")", "a comma and another value, or )")
            return lambda known: _is_among(known.get(attribute), values)
        sign = self.next
        if self.kind != "sign" or sign in "(),":
            raise WrongCondition(self.token(), f"=, !=, <, <=, >, >= or in, behind {attribute!r}")
        self.step()
        value = self._text(f"a value behind {sign}")
        if sign in _ORDERED:
            return _ordered(attribute, sign, value)
        if sign == "!=":
            return lambda known: (
                None if (held := _is_among(known.get(attribute), [value])) is None else not held
            )
        return lambda known: _is_among(known.get(attribute), [value])

    def _expect(self, sign: str, expected: str) -> None:
        if self.next != sign or self.kind != "sign":
            raise WrongCondition(self.token(), expected)
        self.step()

    def _text(self, expected: str) -> str:
        """Return a name or a value: quoted, or words up to what ends it."""
        if self.kind == "quoted":
            return self.step()[1:-1].strip()
        words = []
        while self.kind == "word" and not self.is_word(*_WORDS):
            words.append(self.step())
        if not words:
            raise WrongCondition(self.token(), expected + _QUOTES)
        return " ".join(words)


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    for match in _TOKEN.finditer(text.rstrip()):
        kind = str(match.lastgroup)
        if kind == "other":
            raise WrongCondition(repr(match[kind]), "a quote that is closed, or no such sign")
        yield kind, match[kind]


def _joined(tests: list[ConditionTest], *, decides: bool) -> ConditionTest:
    """Join tests by `or` (`decides` is True) or `and` (False). The result is None where a value is
    missing that could change it."""
    if len(tests) == 1:
        return tests[0]

    def joined(known: AttributeValues) -> bool | None:
        held = [test(known) for test in tests]
        if decides in held:
            return decides
        return None if None in held else not decides

    return joined


def _ordered(attribute: str, sign: str, value: str) -> ConditionTest:
    bound = number_in(value)
    if bound is None:
        expected = f"a number behind {sign}; = and in compare texts"
        raise WrongCondition(repr(value), expected)

    def compared(known: AttributeValues) -> bool | None:
        value_of_item = known.get(attribute)
        if value_of_item is None:
            return None
        number = number_in(value_of_item)
        if number is None:
            raise NotANumber(attribute, value_of_item, f"{attribute} {sign} {value}")
        return _ORDERED[sign](number, bound)

    return compared


def _is_among(known: str | None, values: list[str]) -> bool | None:
    return None if known is None else any(_same(known, value) for value in values)


def _same(known: str, value: str) -> bool:
    numbers = number_in(known), number_in(value)
    if None not in numbers:
        return numbers[0] == numbers[1]
    return caseless(known) == caseless(value)


def number_in(text: str) -> float | None:
    """Return the number that a text is; None where it is none."""
    plain = text.strip().replace("−", "-")
    if _NUMBER.fullmatch(plain) is None or not isfinite(float(plain)):
        return None
    return float(plain)


@dataclass(frozen=True, slots=True)
class AttributeTable:
    """Attributes by name.

    Attributes:
        file: where they come from, for faults.
        columns: which there are.
        values: by rater or item, those that it has.
        of_items: whether they are of items: one that is called `prompt/id` is known by its id, too.
    """

    file: str
    columns: tuple[str, ...]
    values: Mapping[str, AttributeValues]
    of_items: bool = False

    def of(self, name: str) -> AttributeValues | None:
        """Return the attributes of a rater or item; None where the table does not have it."""
        if name in self.values or not self.of_items:
            return self.values.get(name)
        return self.values.get(name.partition("/")[2])


def rater_attributes(source: Source) -> AttributeTable:
    """Read people's attributes: a file with `rater` and further columns. Raises InputError: it
    cannot be read, has no further column, or a rater twice; lists every fault."""
    return _table(source, "rater", None, once=True)


def item_attributes(
    source: Source, wanted: Iterable[str], mapping: ColumnMapping | None = None
) -> AttributeTable:
    """Read attributes of items: a file with `item` and further columns, one or several lines an
    item. Raises InputError: it cannot be read, or an item has two values of an attribute that is
    `wanted`."""
    own = {name: column for name, column in (mapping or {}).items() if name == "item"}
    return _table(source, "item", tuple(wanted), own)


def _table(
    source: Source,
    key: str,
    wanted: tuple[str, ...] | None,
    mapping: ColumnMapping | None = None,
    *,
    once: bool = False,
) -> AttributeTable:
    # No option maps columns of a file of attributes, so that no fault may name one.
    fields = Fields(((key, (key,)),), is_users=False).mapped(mapping, source)
    report = Report(name_of(source), mapping)
    values: dict[str, dict[str, str | None]] = {}
    lines: dict[str, int] = {}
    columns: dict[str, None] = {}
    for record in read_records(source, fields, report):
        if key not in record.names:
            continue
        name = label_of(record.cells[record.names[key]])
        if not isinstance(name, str):
            report.add("an empty value", "text", line=record.line, field=key)
            continue
        cells = {
            column: value_of(value)
            for column, value in record.cells.items()
            if column != record.names[key]
        }
        columns.update(dict.fromkeys(cells))
        if once and name in lines:
            problem = f"{shown(name)} again, first on line {lines[name]}"
            report.add(problem, f"each {key} once", line=record.line, field=key)
        lines.setdefault(name, record.line)
        known = values.setdefault(name, {})
        for column, value in cells.items():
            first = known.setdefault(column, value)
            if first is None:
                known[column] = value
            elif value is not None and first != value and column in (wanted or ()):
                problem = f"{shown(value)}, but {shown(first)} on a line before"
                expected = f"one value for the {key} {shown(name)}, as a condition is on it"
                report.add(problem, expected, line=record.line, field=column)
    if not report.faults and not values:
        report.add("no lines", f"a line for each {key}")
    elif not report.faults and wanted is None and not columns:
        report.add(f"only the column {key!r}", "further columns: attributes")
    if report.faults:
        raise report.error()
    return AttributeTable(report.file, tuple(columns), values, of_items=key == "item")


def value_of(cell: Any) -> str | None:
    """Return a cell as a text; None where it is missing."""
    if isinstance(cell, bool):
        return str(cell).lower()
    named = label_of(cell)
    if not isinstance(named, str) or named.strip().lower() in _MISSING:
        return None
    return named.strip()


def meeting(
    condition: AttributeCondition,
    tables: Sequence[AttributeTable],
    names: Sequence[str],
    where: str,
) -> list[bool | None]:
    """Return for each rater or item whether a condition holds; None where it cannot be known.

    Each attribute is taken from the first table that has it. `where`: what the condition is of, for
    faults: the file, and the field in it. Raises InputError: no table has an attribute, or a value
    of it is no number where one is needed."""
    table_of = {}
    faults = []
    for name in condition.attributes:
        holder = next((table for table in tables if name in table.columns), None)
        if holder is None:
            known = list(dict.fromkeys(column for table in tables for column in table.columns))
            files = " and ".join(table.file for table in tables) or "no file with attributes"
            expected = f"one of {', '.join(known)}{did_you_mean(name, known)}, as in {files}"
            faults.append(Fault(where, f"the attribute {shown(name)}", expected))
        else:
            table_of[name] = holder
    if faults:
        raise InputError(faults)
    held: list[bool | None] = []
    wrong: dict[str, NotANumber] = {}
    for name in names:
        known_of = {
            attribute: (table.of(name) or {}).get(attribute)
            for attribute, table in table_of.items()
        }
        try:
            held.append(condition.test(known_of))
        except NotANumber as error:
            wrong.setdefault(error.value, error)
            held.append(None)
    if wrong:
        first = next(iter(wrong.values()))
        raise InputError(
            [
                Fault(
                    table_of[first.attribute].file,
                    _some(list(wrong)),
                    f"a number, as the condition {first.comparison!r} needs; = and in compare "
                    "texts",
                    field=first.attribute,
                )
            ]
        )
    return held


def values_of(condition: AttributeCondition, table: AttributeTable, names: Sequence[str]) -> str:
    """Return the values that the attributes in a condition have among `names`, for an error."""
    sentences = []
    for attribute in condition.attributes:
        values = dict.fromkeys((table.of(name) or {}).get(attribute) for name in names)
        sentences.append(
            f"{attribute} is {_some([value for value in values if value is not None])}"
        )
    return "; ".join(sentences)


def _some(values: Sequence[str]) -> str:
    first = ", ".join(map(shown, values[:_SHOWN]))
    more = len(values) - _SHOWN
    return (f"{first} and {more:,} more" if more > 0 else first) or "missing"


_MINUS = re.compile(r"[-−–]")
_Names = Annotated[
    tuple[str, ...], BeforeValidator(lambda names: (names,) if isinstance(names, str) else names)
]


# YAML reads the name of a group such as 1990 as a number.
_GroupName = Annotated[
    str, Field(min_length=1), BeforeValidator(lambda name: str(name) if type(name) is int else name)
]


def _condition(text: str) -> str:
    try:
        parse_condition(text)
    except WrongCondition as error:
        raise ValueError(f"{error.problem}; {error.expected}") from None
    return text


class HumanGroup(BaseModel):
    """A group of people, and the personas that stand for it. `condition`: on people's attributes;
    see `persona_panel.files.attributes`; `personas`: their ids in a run, or raters of a file of
    ratings; none where people alone are looked at."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    condition: str
    personas: _Names = ()

    _reads = field_validator("condition")(_condition)

    @property
    def of_people(self) -> AttributeCondition:
        """The condition, read."""
        return parse_condition(self.condition)


class GroupContrast(BaseModel):
    """A contrast of two groups, A − B. `contrast`: `A - B`, two groups of the file; `within`: a
    condition on items: those of a stratum only; `against`: another, whose difference is subtracted:
    an interaction."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    contrast: str
    within: str | None = None
    against: str | None = None

    @field_validator("within", "against")
    @classmethod
    def _reads(cls, text: str | None) -> str | None:
        return None if text is None else _condition(text)

    @model_validator(mode="after")
    def _has_a_stratum(self) -> GroupContrast:
        if self.against is not None and self.within is None:
            raise ValueError("against without within; within, too: the stratum to subtract from")
        return self

    @property
    def strata(self) -> tuple[AttributeCondition, ...]:
        """The conditions on items: none, the stratum's, or those of both strata."""
        return tuple(
            parse_condition(text) for text in (self.within, self.against) if text is not None
        )

    @property
    def stratum(self) -> str:
        """The stratum's name: `all`, the condition, or both with a minus between them."""
        texts = [condition.text for condition in self.strata]
        if len(texts) == 2:
            return " - ".join(f"({text})" for text in texts)
        return texts[0] if texts else ALL


def _contrast_by_name(value: Any) -> Any:
    return {"contrast": value} if isinstance(value, str) else value


_Contrasts = tuple[Annotated[GroupContrast, BeforeValidator(_contrast_by_name)], ...]


class GroupFile(BaseModel):
    """The file that `people fidelity --groups` reads: groups by name, contrasts of them, and null
    controls (contrasts in which people are not expected to differ)."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    groups: Mapping[_GroupName, HumanGroup] = Field(min_length=2)
    contrasts: _Contrasts = Field(min_length=1)
    controls: _Contrasts = ()

    @model_validator(mode="after")
    def _contrasts_are_of_the_groups(self) -> GroupFile:
        seen = set()
        for contrast in (*self.contrasts, *self.controls):
            sides = self.sides(contrast)
            if (sides, contrast.stratum) in seen:
                raise ValueError(f"the contrast {contrast.contrast!r} twice; each once")
            seen.add((sides, contrast.stratum))
        for contrast in self.contrasts:
            for name in self.sides(contrast):
                if not self.groups[name].personas:
                    raise ValueError(
                        f"no personas for {name!r}; the personas that stand for it, as it is in a "
                        "contrast (controls may go without)"
                    )
        return self

    def sides(self, contrast: GroupContrast) -> tuple[str, str]:
        """Return the names of the two groups of a contrast. Raises ValueError: it names no two
        groups of the file."""
        text = contrast.contrast
        parts = [
            (text[: at.start()].strip(), text[at.end() :].strip()) for at in _MINUS.finditer(text)
        ]
        pairs = [pair for pair in parts if set(pair) <= set(self.groups)]
        if len(pairs) == 1 and pairs[0][0] != pairs[0][1]:
            return pairs[0]
        unknown = [
            name
            for pair in parts[:1]
            for name in pair
            if len(parts) == 1 and name not in self.groups
        ]
        hint = did_you_mean(unknown[0], self.groups) if unknown else ""
        raise ValueError(
            f"the contrast {text!r}; two different groups with a minus between them, of "
            f"{', '.join(self.groups)}{hint}"
        )

    def name_of(self, contrast: GroupContrast) -> str:
        """Return the name of a contrast in results: `left-right`."""
        return "-".join(self.sides(contrast))


def load_groups(source: str | Path) -> GroupFile:
    """Read a file of groups. Raises InputError: it is none; lists every fault with its line."""
    return load_definition(Path(source), GroupFile)
