"""A result as JSON, for programs: one document in UTF-8, in which what is undefined is null.

docs/reference/result.schema.json has its schema.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, TextIO

import orjson

from persona_panel.files.outputs import as_json
from persona_panel.files.secrets import say_json
from persona_panel.results.result import Result
from persona_panel.results.table import document_of

SCHEMA = 1
"""The version of the documents' form: it counts up where a field changes its name or meaning."""
_NUMBER = {"type": ["number", "null"]}
_CELL = {"type": ["number", "string", "boolean", "null"]}
_TEXTS = {"type": "array", "items": {"type": "string"}}
_ESTIMATE: dict[str, Any] = {
    "description": "A figure. What does not apply is left out; `value` is null where there is "
    "none, and `reason` says why there is no value, or no interval.",
    "type": "object",
    "required": ["value"],
    "additionalProperties": False,
    "dependentRequired": {"low": ["high", "level"], "high": ["low", "level"]},
    "properties": {
        "value": _NUMBER,
        "low": {"type": ["number", "null"], "description": "The lower end of the interval."},
        "high": {"type": ["number", "null"], "description": "The upper end of the interval."},
        "level": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
        "over": {"type": "string", "description": "What the interval takes as a sample."},
        "n": {"type": "integer", "minimum": 0, "description": "How many of these there are."},
        "p": {"type": "number", "minimum": 0, "maximum": 1},
        "p_adjusted": {"type": "number", "minimum": 0, "maximum": 1},
        "df": {"type": "number", "description": "Degrees of freedom of Student's t."},
        "unit": {"type": "string"},
        "reason": {"type": "string"},
    },
}


def render(result: Result, to: TextIO, *, full: bool) -> None:
    """Write everything that was found, whether in short or in full."""
    say_json(as_json(result_document(result), orjson.OPT_INDENT_2).decode(), to)


def result_document(result: Result) -> dict[str, Any]:
    """Return the conclusion, each table for programs as a list of objects, how to read them, and
    what is missing; undefined numbers are NaN or None."""
    remarks = [*result.remarks, *result.remarks_in_full]
    remarks += [remark for table in result.tables for remark in table.remarks]
    coverage = result.coverage
    return {
        "schema": SCHEMA,
        "analysis": result.analysis,
        "conclusion": list(result.conclusion),
        "tables": {table.name: document_of(table) for table in result.tables if table.programs},
        "remarks": list(dict.fromkeys(remarks)),
        "reading": list(result.reading),
        "missing": None if coverage is None else asdict(coverage),
        "next_step": result.next_step or None,
    }


def schema() -> dict[str, Any]:
    """Return the JSON schema of every result's document, as docs/reference/result.schema.json has
    it."""
    counts = {"type": "object", "additionalProperties": {"type": "integer", "minimum": 0}}
    count = {"type": "integer", "minimum": 0}
    missing = {
        "expected": count, "scored": count, "abstained": count, "missing": counts,
        "partial": count, "revisions_failed": counts, "reasons_missing": count,
        "edited": {"type": "boolean"},
    }  # fmt: skip
    parts: dict[str, Any] = {
        "schema": {"const": SCHEMA},
        "analysis": {"type": "string", "minLength": 1},
        "conclusion": _TEXTS,
        "tables": {
            "type": "object",
            "additionalProperties": {
                "type": "array",
                "items": {
                    "type": "object",
                    "additionalProperties": {
                        "anyOf": [_CELL, _TEXTS, {"$ref": "#/$defs/estimate"}],
                    },
                },
            },
        },
        "remarks": _TEXTS,
        "reading": _TEXTS,
        "missing": {
            "anyOf": [
                {"type": "null"},
                {
                    "type": "object",
                    "required": list(missing),
                    "additionalProperties": False,
                    "properties": missing,
                },
            ]
        },
        "next_step": {"type": ["string", "null"]},
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A result of persona-panel",
        "type": "object",
        "required": list(parts),
        "additionalProperties": False,
        "properties": parts,
        "$defs": {"estimate": _ESTIMATE},
    }
