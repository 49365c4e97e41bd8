"""Paired prompts in: two versions of a question, one for each side, as conditions of one prompt."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from persona_panel.files.digests import prompt_id_of
from persona_panel.files.records import (
    ColumnMapping,
    Fields,
    Report,
    Source,
    label_of,
    name_of,
    read_records,
)
from persona_panel.graphs.framing import BASELINE

SECOND = "version_b"
"""The condition of a pair's second version; the first is the baseline."""
_FIELDS = Fields(
    (
        ("id", ("pair_id", "prompt_id", "id")),
        ("a", ("prompt_a",)),
        ("b", ("prompt_b",)),
        ("side_a", ("prompt_a_group", "side_a")),
        ("side_b", ("prompt_b_group", "side_b")),
    ),
    frozenset({"id", "side_a", "side_b"}),
)


def load_pairs(source: Source, *, mapping: ColumnMapping | None = None) -> list[dict[str, Any]]:
    """Read pairs, and give two lines of a file of prompts for each: with the same `prompt_id` and
    the conditions `baseline` and `version_b`.

    `source` and `mapping` are as for `load_responses`. Fields are `prompt_a` and `prompt_b`, and
    optionally `pair_id`, `side_a` and `side_b` (or `prompt_a_group`, `prompt_b_group`), which
    become the field `side`; all others are kept. A pair without an id is called after its first
    version.

    Raises:
        InputError: anything is wrong with the mapping or the file; lists every fault in it.
    """
    report = Report(name_of(source))
    found: list[dict[str, Any]] = []
    seen: dict[str, int] = {}
    for record in read_records(source, _FIELDS.mapped(mapping, source), report):
        cells = {field: record.cells[name] for field, name in record.names.items()}
        texts = [cells.get(side) for side in ("a", "b")]
        sound = True
        for side, text in zip(("a", "b"), texts, strict=True):
            if side in record.names and not (isinstance(text, str) and text.strip()):
                name = record.names[side]
                report.add("an empty value", "text", line=record.line, field=name)
                sound = False
        if not sound or None in texts:
            continue
        if texts[0] == texts[1]:
            found_, expected = "the same text in both versions", "two versions that differ"
            report.add(found_, expected, line=record.line, field=record.names["b"])
        own = label_of(cells.get("id")) or prompt_id_of(str(texts[0]))
        if (first := seen.setdefault(str(own), record.line)) != record.line:
            report.add(
                f"{own!r} again, first on line {first}",
                "each pair once, or with an id of its own",
                line=record.line,
                field=record.names.get("id", record.names["a"]),
            )
        named = set(record.names.values())
        more = {name: value for name, value in record.cells.items() if name not in named}
        found += _lines(str(own), cells, more)
    if not found and not report.faults:
        report.add("no pairs", "at least one")
    if report.faults:
        raise report.error()
    return found


def _lines(own: str, cells: Mapping[str, Any], more: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for side, condition in (("a", BASELINE), ("b", SECOND)):
        line = {"prompt_id": own, "prompt": cells[side], "condition": condition}
        if (named := cells.get(f"side_{side}")) is not None:
            line["side"] = named
        yield line | {name: value for name, value in more.items() if name not in line}
