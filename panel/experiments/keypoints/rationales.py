"""The rationales of a run: which judge gave which reasons for rating which response."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256

import orjson

from persona_panel.files.errors import ConfigurationError
from persona_panel.graphs.records import controls_among
from persona_panel.runs.run import Run


@dataclass(frozen=True, slots=True)
class Rationale:
    """A judge's reasons for a rating. `is_control` of a judge without a persona among such that
    have one."""

    prompt_id: str
    id: str
    system: str
    judge: str
    persona: str
    model: str
    text: str
    is_control: bool


def rationales_of(run: Run) -> list[Rationale]:
    """The rationale of each judge on each response, of the last round that has one, in the order of
    responses and judges.

    Raises:
        ConfigurationError: no judgment has a rationale.
        RunFolderError, InputError: as `Run.judgments`.
    """
    controls = controls_among(run.judges)
    rows = {item[:2]: row for row, item in enumerate(run.items)}
    columns = {judge: column for column, judge in enumerate(run.judges)}
    found: dict[tuple[int, int], Rationale] = {}
    for one in run.judgments():
        if one.rationale and one.rationale.strip():
            found[rows[one.prompt_id, one.id], columns[one.judge]] = Rationale(
                one.prompt_id, one.id, one.system, one.judge.id, one.judge.persona,
                one.judge.model, one.rationale, one.judge in controls,
            )  # fmt: skip
    if not found:
        raise ConfigurationError(
            f"the judgments in {run.folder} have no rationales; score with an elicitation that "
            "gives reasons: --elicitation justified"
        )
    return [found[place] for place in sorted(found)]


def rationales_digest(rationales: Sequence[Rationale]) -> str:
    """SHA-256 of rationales with where they stand, by which key points are known to be of these."""
    lines = [[one.prompt_id, one.id, one.judge, one.text] for one in rationales]
    return sha256(orjson.dumps(lines)).hexdigest()
