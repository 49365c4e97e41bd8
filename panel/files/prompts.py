"""Prompts in: those of a sweep with the responses to its framed prompts, and those that texts are
generated from.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from persona_panel.files.outputs import prompt_id_of, prompt_name
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
from persona_panel.files.wording import explain, shown
from persona_panel.graphs.framing import BASELINE, FramedResponse, Prompt

M = TypeVar("M", bound=BaseModel)

_PROMPT = Fields(
    (("id", ("prompt_id", "id")), ("text", ("prompt", "prompt_text"))), frozenset({"id"})
)
_RESPONSE = Fields(
    (
        ("prompt_id", ("prompt_id",)),
        ("prompt", ("prompt", "prompt_text")),
        ("condition", ("condition",)),
        ("system", ("system", "respondent_id")),
        ("text", ("response", "response_text", "text")),
    ),
    frozenset(),
)
_LABELS = frozenset({"id", "prompt_id", "condition", "system"})


def load_prompts(
    source: Source, *, limit: int | None = None, mapping: ColumnMapping | None = None
) -> list[Prompt]:
    """Read prompts, all of them or the first `limit`.

    `source` and `mapping` are as for `load_responses`. Fields are `prompt` (or `prompt_text`) and
    optionally `prompt_id` (or `id`); others are left aside. A prompt without an id is called
    after its text (`persona_panel.files.outputs.prompt_id_of`), and so must come once.

    Raises:
        InputError: anything is wrong with the mapping or the file; lists every fault in it.
    """
    report = Report(name_of(source))
    prompts: list[Prompt] = []
    seen: dict[str, int] = {}
    for record, fields in _cells(source, _PROMPT.mapped(mapping, source), report):
        if fields.get("id") is None:
            text = fields.get("text")
            own = fields["id"] = prompt_id_of(text if isinstance(text, str) else "")
            expected = "each prompt once, or with an id of its own"
            if isinstance(text, str) and text.strip():
                _refuse_again(seen, own, record, report, "text", expected, "the same prompt")
        elif isinstance(fields["id"], str):
            expected = "an id of its own for each prompt"
            _refuse_again(seen, fields["id"], record, report, "id", expected)
        prompt = _made(Prompt, fields, record, report)
        if prompt is not None:
            prompts.append(prompt)
    if not prompts and not report.faults:
        report.add("no prompts", "at least one")
    if report.faults:
        raise report.error()
    return prompts[:limit]


def load_framed_responses(
    source: Source, *, mapping: ColumnMapping | None = None
) -> list[FramedResponse]:
    """Read responses to prompts and to framed versions of them.

    `source` and `mapping` are as for `load_responses`. Fields are `prompt_id`, `prompt`,
    `condition`, `system` and `response` (or `prompt_text`, `respondent_id`, `response_text`);
    others are left aside. One condition is `baseline`: wherever a system answered a framed prompt,
    its answer to the baseline must be there, too.

    Raises:
        InputError: anything is wrong with the mapping or the file; lists every fault in it.
    """
    report = Report(name_of(source))
    responses: list[tuple[int, FramedResponse]] = []
    seen: dict[tuple[Any, ...], int] = {}
    asked: dict[tuple[Any, ...], tuple[str, int]] = {}
    for record, fields in _cells(source, _RESPONSE.mapped(mapping, source), report):
        key = tuple(fields.get(name) for name in ("prompt_id", "condition", "system"))
        expected = "one response for each prompt, condition and system"
        if all(isinstance(label, str) for label in key):
            _refuse_again(seen, key, record, report, "system", expected)
            _refuse_another_prompt(asked, key[:2], fields.get("prompt"), record, report)
        response = _made(FramedResponse, fields, record, report)
        if response is not None:
            responses.append((record.line, response))
    if not responses and not report.faults:
        report.add("no responses", "at least two, one of them to a baseline")
    column = (mapping or {}).get("condition", "condition")
    _refuse_without_baseline(responses, set(seen), column, report)
    if report.faults:
        raise report.error()
    return [response for _, response in responses]


def _cells(
    source: Source, fields: Fields, report: Report
) -> Iterable[tuple[Record, dict[str, Any]]]:
    """Yield each record with its fields by their names."""
    for record in read_records(source, fields, report):
        yield (
            record,
            {
                field: label_of(record.cells[name]) if field in _LABELS else record.cells[name]
                for field, name in record.names.items()
            },
        )


def _made(model: type[M], fields: Mapping[str, Any], record: Record, report: Report) -> M | None:
    try:
        return model.model_validate(dict(fields))
    except ValidationError as error:
        for detail in error.errors(include_url=False):
            field = str(detail["loc"][0])
            # A field without a name was reported with the names.
            if field not in record.names:
                continue
            problem, expected = explain(detail)
            value = detail["input"]
            if value is None or (isinstance(value, str) and not value.strip()):
                problem, expected = "an empty value", "text"
            report.add(problem, expected, line=record.line, field=record.names[field])
    return None


def _refuse_again(
    seen: dict[Any, int],
    key: Any,
    record: Record,
    report: Report,
    field: str,
    expected: str,
    what: str | None = None,
) -> None:
    """Report a key that came before; `what` is its name, where that is not the key itself."""
    first = seen.setdefault(key, record.line)
    if first != record.line:
        name = ", ".join(key) if isinstance(key, tuple) else key
        report.add(
            f"{what or shown(name)} again, first on line {first}",
            expected,
            line=record.line,
            field=record.names.get(field, field),
        )


def _refuse_another_prompt(
    asked: dict[tuple[Any, ...], tuple[str, int]],
    key: tuple[Any, ...],
    prompt: Any,
    record: Record,
    report: Report,
) -> None:
    if not isinstance(prompt, str):
        return
    first, line = asked.setdefault(key, (prompt, record.line))
    if first != prompt:
        report.add(
            f"another prompt than on line {line}, for {shown(', '.join(key))}",
            "the same prompt for every system under one condition",
            line=record.line,
            field=record.names["prompt"],
        )


def _refuse_without_baseline(
    responses: Sequence[tuple[int, FramedResponse]],
    seen: set[tuple[Any, ...]],
    column: str,
    report: Report,
) -> None:
    # Of every system and prompt without a baseline the first line is named.
    reported: set[tuple[str, str]] = set()
    for line, response in responses:
        pair = (response.prompt_id, response.system)
        if (response.prompt_id, BASELINE, response.system) in seen or pair in reported:
            continue
        reported.add(pair)
        report.add(
            f"{response.condition!r} of {shown(response.system)} for the prompt "
            f"{prompt_name(response.prompt_id, response.prompt)}, and no baseline",
            f"a line with the condition {BASELINE!r} for the same prompt and system",
            line=line,
            field=column,
        )
    if responses and not report.faults and all(r.condition == BASELINE for _, r in responses):
        report.add("baselines only", "at least one other condition", field=column)


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
    prompt without an id is called after its text (`persona_panel.files.outputs.prompt_id_of`). An
    id may come again with another condition. Raises InputError: anything is wrong with the mapping
    or the file; lists every fault in it."""
    report = Report(name_of(source))
    prompts: list[GenerationPrompt] = []
    seen: dict[tuple[str, str | None], int] = {}
    for record in read_records(source, _FIELDS.mapped(mapping, source), report):
        prompt = _prompt_in(record, report)
        if prompt is None:
            continue
        first = seen.setdefault((prompt.id, prompt.condition), record.line)
        if first != record.line:
            report.add(
                f"{prompt_name(prompt.id, prompt.text)} again, first on line {first}",
                "an id of its own for each prompt, or another condition",
                line=record.line,
                field=record.names.get("id", record.names["text"]),
            )
        prompts.append(prompt)
    if not prompts and not report.faults:
        report.add("no prompts", "at least one")
    if report.faults:
        raise report.error()
    return prompts[:limit]


def _prompt_in(record: Record, report: Report) -> GenerationPrompt | None:
    cells: dict[str, str | None] = {}
    sound = True
    for field_, name in record.names.items():
        value = label_of(record.cells[name]) if field_ in _GENERATION_LABELS else record.cells[name]
        blank = value is None or (isinstance(value, str) and not value.strip())
        if blank and field_ != "text":
            value = None
        elif blank or not isinstance(value, str):
            problem = "an empty value" if blank else shown(value)
            report.add(problem, "text", line=record.line, field=name)
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
