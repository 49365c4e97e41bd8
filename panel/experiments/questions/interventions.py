"""Interventions in, and the questions about them out as responses that a panel can score."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from persona_panel.files.errors import Fault, InputError
from persona_panel.files.file_limits import content_of
from persona_panel.files.wording import explain, undecodable, unreadable

PROMPT = "Ask a critical question about the intervention."
"""The prompt that every question is a response to."""


class Intervention(BaseModel):
    """What someone said in a discussion. Other columns of its line are left aside."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    id: str = Field(min_length=1)
    intervention: str

    @field_validator("intervention")
    @classmethod
    def _is_not_blank(cls, value: str) -> str:
        if not value.strip():
            raise ValueError("an empty text; what was said")
        return value


def load_interventions(source: str | Path) -> list[Intervention]:
    """Read a JSONL file with an `id` and an `intervention` a line.

    Raises:
        InputError: anything is wrong with it; lists every fault.
    """
    path = Path(source)
    faults: list[Fault] = []
    found: dict[str, Intervention] = {}
    try:
        lines = content_of(path).splitlines()
    except OSError:
        raise InputError([Fault(str(source), unreadable(path), "a JSONL file")]) from None
    for number, raw in enumerate(lines, start=1):
        if not raw.strip():
            continue
        try:
            one = Intervention.model_validate(json.loads(raw.decode("utf-8-sig")))
        except UnicodeDecodeError as error:
            faults.append(Fault(str(source), undecodable(error), "UTF-8 text", number))
        except ValidationError as error:
            faults += [_fault(str(source), number, detail) for detail in error.errors()]
        except (ValueError, RecursionError):
            faults.append(Fault(str(source), "text that is not JSON", "a JSON object", number))
        else:
            if one.id in found:
                expected = "an id of its own for every intervention"
                faults.append(
                    Fault(str(source), f"{one.id!r} a second time", expected, number, "id")
                )
            found[one.id] = one
    if not found and not faults:
        faults.append(Fault(str(source), "no interventions", "at least one"))
    if faults:
        raise InputError(faults)
    return list(found.values())


def as_row(
    intervention: Intervention, number: int, question: str, system: str, run: int | None = None
) -> dict[str, Any]:
    """A question as a line of a file that `load_responses` reads; `run` is where it is one of
    several times that they were asked for."""
    return {
        "prompt_id": intervention.id,
        "id": f"q{number}" if run is None else f"run{run}-q{number}",
        **({} if run is None else {"run": run}),
        "prompt": PROMPT,
        "context": intervention.intervention,
        "response": question,
        "system": system,
    }


def _fault(file: str, line: int, detail: Any) -> Fault:
    found, expected = explain(detail)
    return Fault(file, found, expected, line, ".".join(map(str, detail["loc"])) or None)
