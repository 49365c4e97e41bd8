"""What is known of people and of items: columns of files, and a run's metadata."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from persona_panel.analyses.fidelity.condition import (
    AttributeCondition,
    AttributeValues,
    NotANumber,
)
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
from persona_panel.files.wording import did_you_mean, shown
from persona_panel.runs.kept_responses import kept_lines
from persona_panel.runs.kept_texts import RESPONSES

_MISSING = frozenset({"", "?", "na", "n/a", "nan", "null", "<na>"})
_SHOWN = 6


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
        """Those of one rater or item; None where it is not there."""
        if name in self.values or not self.of_items:
            return self.values.get(name)
        return self.values.get(name.partition("/")[2])


def rater_attributes(source: Source) -> AttributeTable:
    """People's attributes: a file with `rater` and further columns.

    Raises:
        InputError: it cannot be read, has no further column, or a rater twice; lists every fault.
    """
    return _table(source, "rater", None, once=True)


def item_attributes(
    source: Source, wanted: Iterable[str], mapping: ColumnMapping | None = None
) -> AttributeTable:
    """Attributes of items: the further columns of a file with `item`, one or several lines an item.

    Raises:
        InputError: it cannot be read, or an item has two values of an attribute that is `wanted`.
    """
    own = {name: column for name, column in (mapping or {}).items() if name == "item"}
    return _table(source, "item", tuple(wanted), own)


def run_attributes(folder: Path) -> AttributeTable:
    """The metadata of a run's responses, by `prompt_id/id`, and by id where ids come once.

    Raises:
        InputError: its responses cannot be read.
    """
    values: dict[str, AttributeValues] = {}
    columns: dict[str, None] = {}
    ids: dict[str, list[AttributeValues]] = {}
    for _, _, line in kept_lines(folder / RESPONSES):
        known = {name: _value(value) for name, value in line.items()}
        columns.update(dict.fromkeys(known))
        values[f"{line['prompt_id']}/{line['id']}"] = known
        ids.setdefault(str(line["id"]), []).append(known)
    for name, found in ids.items():
        if len(found) == 1:
            values.setdefault(name, found[0])
    return AttributeTable(str(folder / RESPONSES), tuple(columns), values, of_items=True)


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
            column: _value(value)
            for column, value in record.cells.items()
            if column != record.names[key]
        }
        columns.update(dict.fromkeys(cells))
        if once and name in lines:
            found = f"{shown(name)} again, first on line {lines[name]}"
            report.add(found, f"each {key} once", line=record.line, field=key)
        lines.setdefault(name, record.line)
        known = values.setdefault(name, {})
        for column, value in cells.items():
            first = known.setdefault(column, value)
            if first is None:
                known[column] = value
            elif value is not None and first != value and column in (wanted or ()):
                found = f"{shown(value)}, but {shown(first)} on a line before"
                expected = f"one value for the {key} {shown(name)}, as a condition is on it"
                report.add(found, expected, line=record.line, field=column)
    if not report.faults and not values:
        report.add("no lines", f"a line for each {key}")
    elif not report.faults and wanted is None and not columns:
        report.add(f"only the column {key!r}", "further columns: attributes")
    if report.faults:
        raise report.error()
    return AttributeTable(report.file, tuple(columns), values, of_items=key == "item")


def _value(given: Any) -> str | None:
    """A cell as a text; None where it is missing."""
    if isinstance(given, bool):
        return str(given).lower()
    named = label_of(given)
    if not isinstance(named, str) or named.strip().lower() in _MISSING:
        return None
    return named.strip()


def meeting(
    condition: AttributeCondition,
    tables: Sequence[AttributeTable],
    names: Sequence[str],
    where: str,
) -> list[bool | None]:
    """Of which raters or items a condition holds; None where it cannot be known.

    Each attribute is taken from the first table that has it.

    Args:
        where: what the condition is of, for faults: the file, and the field in it.

    Raises:
        InputError: no table has an attribute, or a value of it is no number where one is needed.
    """
    table_of = {}
    faults = []
    for name in condition.attributes:
        found = next((table for table in tables if name in table.columns), None)
        if found is None:
            known = list(dict.fromkeys(column for one in tables for column in one.columns))
            files = " and ".join(one.file for one in tables) or "no file with attributes"
            expected = f"one of {', '.join(known)}{did_you_mean(name, known)}, as in {files}"
            faults.append(Fault(where, f"the attribute {shown(name)}", expected))
        else:
            table_of[name] = found
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
    """The values that occur of the attributes in a condition, for an error."""
    told = []
    for attribute in condition.attributes:
        found = dict.fromkeys((table.of(name) or {}).get(attribute) for name in names)
        told.append(f"{attribute} is {_some([one for one in found if one is not None])}")
    return "; ".join(told)


def _some(values: Sequence[str]) -> str:
    first = ", ".join(map(shown, values[:_SHOWN]))
    more = len(values) - _SHOWN
    return (f"{first} and {more:,} more" if more > 0 else first) or "missing"
