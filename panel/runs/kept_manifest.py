"""run.json read back: whether it says of a panel what a run writes there, field by field."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from persona_panel.files.errors import Fault, InputError
from persona_panel.files.wording import explain, printable
from persona_panel.models.config import Price
from persona_panel.rubrics import Rubric
from persona_panel.runs.kept_documents import OF_A_RUN, kept_object
from persona_panel.statistics.core.arrays import DEFAULT_OPTIONS, Random

_REMEDY = (
    "as a run writes it there; restore the file from a copy, or repeat the run with --overwrite "
    "(replies that are in the cache are not asked for again)"
)


class _Part(BaseModel):
    """A mapping in run.json, whose values are of these types and not of others that could be read
    as such. Fields that it has besides stay unread."""

    model_config = ConfigDict(extra="ignore", strict=True)


class _KeptPersona(_Part):
    id: str
    label: str
    axis: str
    description: str


class _KeptModel(_Part):
    id: str
    model: str
    elicitation: str
    parameters: dict[str, Any]


class _KeptDeliberation(_Part):
    # No `Deliberation` of the graphs: the rule of an extension need not be installed here.
    rounds: int = Field(ge=1)
    reveal: str


class _KeptSweep(_Part):
    systems: list[str]
    conditions: list[str]
    judge_sees: str
    framings: dict[str, Any]


class _KeptTexts(_Part):
    file: str
    sha256: str


class _KeptInput(_Part):
    name: str


class _KeptStart(_Part):
    at: str
    command: str
    python: str
    versions: dict[str, str]
    inputs: list[_KeptInput]


class KeptManifest(_Part):
    """What commands that read a run take from its run.json.

    `random` is absent in sweeps and in runs of earlier versions, which may lack fields that are not
    listed here, too.
    """

    personas: list[_KeptPersona] = Field(min_length=1)
    rubric: Rubric
    output_rubric: Rubric | None
    models: list[_KeptModel] = Field(min_length=1)
    layout: str
    replicates: int = Field(ge=1)
    plain_judge: bool
    deliberation: _KeptDeliberation | None
    seed: int
    prices: dict[str, Price | None]
    prompts: dict[str, str]
    version: str
    texts: _KeptTexts
    starts: list[_KeptStart] = Field(min_length=1)
    random: Random = DEFAULT_OPTIONS.random
    sweep: _KeptSweep | None = None


def kept_manifest(path: Path) -> tuple[dict[str, Any], KeptManifest]:
    """The document of a run.json, and what of it was checked.

    Raises:
        InputError: it cannot be read, is no run's, or a field is missing or is not what a run
            writes; names each such field.
    """
    document = kept_object(path)
    if not {"rubric", "models"} & document.keys():
        raise InputError([Fault(str(path), "none that this version writes", OF_A_RUN)])
    try:
        return document, KeptManifest.model_validate(document)
    except ValidationError as error:
        faults: dict[str, Fault] = {}
        for one in error.errors(include_url=False):
            field = printable(".".join(map(str, one["loc"])))
            found, expected = explain(one)
            # Of a field all of whose parts are wrong, the first.
            fault = Fault(str(path), found, f"{expected}, {_REMEDY}", field=field)
            faults.setdefault(str(one["loc"][0]), fault)
        raise InputError(list(faults.values())) from None
