"""A reader of a result's conclusion that knows nothing of how its sentences are made: each number
in them must stand in a table of the result, and each claim agree with the estimate that it quotes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from persona_panel.results.result import Result
from persona_panel.results.table import Table
from persona_panel.statistics.core.estimate import Estimate
from tests.helpers.sentences import close, value

_NUMBER = r"[−-]?\d[\d,]*(?:\.\d+)?"
_SAID = re.compile(rf"(?<![\w.])(?:{_NUMBER})(?![\w]|\.\d)")
_INTERVAL = re.compile(rf"95 % interval (?P<low>{_NUMBER}) to (?P<high>{_NUMBER})")
_CONSTANT = re.compile(r"\b(?:95|80|50) %|\b80 % power|\b1 to \d+\b|a probability of at most \d+ %")
"""What is a part of the words: levels, powers."""
_BOUND = re.compile(rf"p < ({_NUMBER})")
_NEEDED = re.compile(rf"bout ({_NUMBER}) (?:new )?(?:prompts|items) would .*?now ({_NUMBER})")
"""How many it would take, which stands in no table, and how many there are, which does."""
_OPEN = re.compile(
    r"No system is|not significant|is not known|not shown|remains open|may be|no more than"
)
_UP = re.compile(r"\b(?:more|higher|better|nearer|above|ahead)\b")
_DOWN = re.compile(r"\b(?:fewer|lower|worse|farther|below|behind)\b")


def read_result(result: Result, derived: Iterable[float] = ()) -> list[str]:
    """What is wrong with the sentences of a result; `derived` are numbers that may be in them and
    follow from the tables in this analysis alone."""
    known = [*derived, *(number for table in result.tables for number in _numbers(table))]
    return [
        f"{result.analysis}: {fault}: {sentence}"
        for sentence in result.conclusion
        for fault in (*_unknown(sentence, result, known), *_wrong_claims(sentence, result))
    ]


def _unknown(sentence: str, result: Result, known: Sequence[float]) -> Iterator[str]:
    for reason in _reasons(result):
        sentence = sentence.replace(reason, "")
    sentence = _CONSTANT.sub("", sentence)
    for bound in _BOUND.findall(sentence):
        if not any(each < value(bound) for each in _p_values(result)):
            yield f"no p-value is below {bound}"
    for wanted, there in _NEEDED.findall(sentence):
        if value(wanted) <= value(there):
            yield f"{wanted} would do, and there are {there}"
        sentence = sentence.replace(f"bout {wanted} ", "bout ", 1)
    for said in _SAID.findall(_BOUND.sub("", sentence)):
        # A difference is told from either side.
        if not any(close(said, each) or close(said, -each) for each in known):
            yield f"{said} stands in no table"


def _numbers(table: Table) -> Iterator[float]:
    """What stands in a table, and how many rows have figures and have none, of all and of those of
    each value of each key."""
    groups = [table.rows]
    for key in table.keys:
        values = {row.get(key.name) for row in table.rows}
        groups += [[row for row in table.rows if row.get(key.name) == each] for each in values]
    for rows in groups:
        yield len(rows)
        for column in table.columns:
            n = sum(
                isinstance(c := row.get(column.name), Estimate) and not c.reason for row in rows
            )
            yield from (n, len(rows) - n)
    for row in table.rows:
        for cell in row.values():
            if isinstance(cell, Estimate):
                document = cell.document()
                yield from (n for n in document.values() if _is_number(n))
            elif _is_number(cell):
                yield float(cell)


def _estimates(result: Result) -> list[Estimate]:
    cells = (cell for table in result.tables for row in table.rows for cell in row.values())
    return [cell for cell in cells if isinstance(cell, Estimate)]


def _p_values(result: Result) -> list[float]:
    documents = [each.document() for each in _estimates(result)]
    values = [document.get(name) for document in documents for name in ("p", "p_adjusted")]
    return [each for each in values if each is not None]


def _reasons(result: Result) -> set[str]:
    """Why estimates are missing, which may have numbers of their own."""
    return {str(each.reason) for each in _estimates(result) if each.reason}


def _is_number(cell: Any) -> bool:
    return isinstance(cell, int | float) and not isinstance(cell, bool) and cell == cell


def _wrong_claims(sentence: str, result: Result) -> Iterator[str]:
    """What a sentence says of the sign of estimates against the intervals that it quotes."""
    for match in _INTERVAL.finditer(sentence):
        quoted = [
            (table, row, estimate)
            for table in result.tables
            for row in table.rows
            for estimate in row.values()
            if isinstance(estimate, Estimate) and _is_quoted(match, estimate)
        ]
        if not quoted:
            yield f"{match[0]} is that of no estimate"
            continue
        differences = [each for each in quoted if each[0].sides is not None]
        if differences and not any(
            _agrees(sentence, table, row, estimate) for table, row, estimate in differences
        ):
            yield f"it does not agree with {match[0]}"


def _is_quoted(match: re.Match[str], estimate: Estimate) -> bool:
    if not estimate.has_interval:
        return False
    low, high = estimate.ends
    return any(
        close(match["low"], a) and close(match["high"], b) for a, b in ((low, high), (-high, -low))
    )


def _agrees(sentence: str, table: Table, row: Mapping[str, Any], estimate: Estimate) -> bool:
    """Whether the words say what a difference of the two sides of a row is."""
    low, high = estimate.ends
    if _OPEN.search(sentence):
        return low <= 0 <= high
    at_most = re.search(rf"at most ({_NUMBER})", sentence)
    if at_most is not None:
        return high < 1 and abs(value(at_most[1])) <= max(abs(low), abs(high)) + 0.005
    up, down = _UP.search(sentence), _DOWN.search(sentence)
    if (up is None) == (down is None):
        return True
    assert table.sides is not None
    first, second = (str(row[name]).lower() for name in table.sides)
    said = sentence.lower()
    places = said.find(first), said.find(second)
    turned = min(places) >= 0 and places[1] < places[0]
    sign = (low > 0) - (high < 0)
    return (-sign if turned else sign) == (1 if up is not None else -1)
