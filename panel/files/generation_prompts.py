"""Prompts in, with what belongs to them: what texts are generated from.

How a file is read is said by `persona_panel.files.records`; nothing is written here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from persona_panel.files.digests import prompt_id_of
from persona_panel.files.records import (
    ColumnMapping,
    Fields,
    Record,
    Report,
    Source,
    label_of,
    name_of,
    read_records,
)
from persona_panel.files.wording import shown

_FIELDS = Fields(
    (
        ("id", ("prompt_id", "id")),
        ("text", ("prompt", "prompt_text")),
        ("context", ("context",)),
        ("condition", ("condition",)),
    ),
    frozenset({"id", "context", "condition"}),
)
_GENERATION_LABELS = frozenset({"id", "condition"})


@dataclass(frozen=True, slots=True)
class GenerationPrompt:
    """One text that is wanted.

    `context` is what it is about: the position that a critique attacks, say. `condition` tells
    versions of one prompt apart, which share `id`. `metadata` is what else the file says of it.
    """

    id: str
    text: str
    context: str | None = None
    condition: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)


def load_generation_prompts(
    source: Source, *, limit: int | None = None, mapping: ColumnMapping | None = None
) -> list[GenerationPrompt]:
    """Read prompts, all of them or the first `limit`.

    `source` and `mapping` are as for `load_responses`. Fields are `prompt` (or `prompt_text`) and
    optionally `prompt_id` (or `id`), `context` and `condition`; all others are kept as metadata. A
    prompt without an id is called after its text (`persona_panel.files.digests.prompt_id_of`). An
    id may come again with another condition.

    Raises:
        InputError: anything is wrong with the mapping or the file; lists every fault in it.
    """
    report = Report(name_of(source))
    found: list[GenerationPrompt] = []
    seen: dict[tuple[str, str | None], int] = {}
    for record in read_records(source, _FIELDS.mapped(mapping, source), report):
        prompt = _prompt_in(record, report)
        if prompt is None:
            continue
        first = seen.setdefault((prompt.id, prompt.condition), record.line)
        if first != record.line:
            report.add(
                f"{shown(prompt.id)} again, first on line {first}",
                "an id of its own for each prompt, or another condition",
                line=record.line,
                field=record.names.get("id", record.names["text"]),
            )
        found.append(prompt)
    if not found and not report.faults:
        report.add("no prompts", "at least one")
    if report.faults:
        raise report.error()
    return found[:limit]


def _prompt_in(record: Record, report: Report) -> GenerationPrompt | None:
    cells: dict[str, str | None] = {}
    sound = True
    for field_, name in record.names.items():
        value = label_of(record.cells[name]) if field_ in _GENERATION_LABELS else record.cells[name]
        blank = value is None or (isinstance(value, str) and not value.strip())
        if blank and field_ != "text":
            value = None
        elif blank or not isinstance(value, str):
            found = "an empty value" if blank else shown(value)
            report.add(found, "text", line=record.line, field=name)
            sound = False
        elif not _is_unicode(value):
            report.add(
                "half a surrogate pair",
                "text that can be encoded in UTF-8",
                line=record.line,
                field=name,
            )
            sound = False
        cells[field_] = value
    text = cells.get("text")
    if not sound or text is None:
        return None
    named = set(record.names.values())
    return GenerationPrompt(
        id=cells.get("id") or prompt_id_of(text),
        text=text,
        context=cells.get("context"),
        condition=cells.get("condition"),
        metadata={name: value for name, value in record.cells.items() if name not in named},
    )


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
