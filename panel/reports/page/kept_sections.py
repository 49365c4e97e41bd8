"""The documents of audits of bias and of key points in a run's folder, as far as the page shows
them: one that is not of these types is not shown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import ConfigDict, TypeAdapter, with_config
from typing_extensions import TypedDict

from persona_panel.files.limits import json_of


class _Ends(TypedDict):
    ci_low: float | None
    ci_high: float | None


class _Share(_Ends):
    share: float | None
    n: int
    of: int


class _Quotation(TypedDict):
    prompt_id: str
    system: str
    judge: str
    quote: str


class _KeyPoint(_Share):
    text: str
    stance: str
    quotations: list[_Quotation]


class _ShareOfSystem(_Share):
    group: str
    stance: str
    key_point: str


class _Shares(TypedDict):
    system: list[_ShareOfSystem]


class _Rationales(TypedDict):
    n: int
    sha256: str


@with_config(ConfigDict(strict=True))
class KeptKeyPoints(TypedDict):
    """What the page shows of keypoints.json."""

    conclusion: list[str]
    model: str
    rationales: _Rationales
    key_points: list[_KeyPoint]
    shares: _Shares


class _BiasRow(_Ends):
    statistic: str
    dimension: str
    group: str
    value: float | None
    reason: str | None
    ci_reason: str | None
    note: str | None


@with_config(ConfigDict(strict=True))
class KeptBias(TypedDict):
    """What the page shows of bias.json."""

    conclusion: list[str]
    judgments: str
    rows: list[_BiasRow]


def kept_section(path: Path, kind: type[Any]) -> dict[str, Any]:
    """The document in a file.

    Raises:
        OSError: it cannot be read.
        ValueError: it is none of this kind.
        InputError: it is too large.
    """
    document: dict[str, Any] = json_of(path)
    TypeAdapter(kind).validate_python(document)
    return document
