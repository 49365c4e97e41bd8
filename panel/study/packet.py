"""What a rater is given: sets of texts under labels, and how to rate them. Versioned.

The digest of a packet or of answers is taken over JSON that a browser writes alike: keys sorted,
no spaces, whole numbers and texts alone (a rating on a scale of real numbers is a text).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from persona_panel.files.digests import sha256_of
from persona_panel.rubrics import Rubric
from persona_panel.rubrics.scale import CategoryScale, RealScale
from persona_panel.study.settings import Task

PACKET_SCHEMA: Literal["persona-panel/study-packet/1"] = "persona-panel/study-packet/1"
NOT_ASSESSABLE = "not_assessable"

_WORDS_A_MINUTE = 238
"""How fast adults read non-fiction silently. M. Brysbaert (2019), "How many words do we read per
minute?", Journal of Memory and Language 109."""
_SECONDS_A_SCORE = 8
_SECONDS_A_RANK = 10
_SECONDS_A_REASON = 60
"""What an answer takes besides reading: guesses, which the times of a pilot correct."""


class _Shown(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ShownText(_Shown):
    """A text under a label."""

    id: str
    label: str
    text: str
    context: str | None = None


class ShownSet(_Shown):
    """A prompt and the texts that a rater compares, in their order."""

    id: str
    prompt: str
    texts: tuple[ShownText, ...]


class ShownDimension(_Shown):
    """A dimension of the rubric: a question with a scale.

    `kind` is that of the scale. Of whole and real numbers there are the ends and what they mean,
    of categories the values, each with what it means.
    """

    id: str
    label: str
    definition: str
    question: str
    kind: Literal["integer", "real", "category"]
    min: int | str | None = None
    max: int | str | None = None
    low: str | None = None
    high: str | None = None
    values: tuple[tuple[str, str], ...] = ()


class RankingWords(_Shown):
    """What the first and the last rank mean, and the labels of the dimensions they are given by."""

    first: str
    last: str
    by: tuple[str, ...]

    @property
    def top(self) -> str:
        """The text of the first rank, for a heading."""
        return f"the text that is {self.first}, by {', '.join(self.by)}"


class Packet(_Shown):
    """All that a rater sees and does. No name of a system, and no id of a response or prompt.

    `ranking` is None where nothing is ranked.
    """

    schema_: Literal["persona-panel/study-packet/1"] = PACKET_SCHEMA
    study: str
    packet: str
    tasks: tuple[Task, ...]
    question: str
    part: str
    not_assessable: bool
    dimensions: tuple[ShownDimension, ...]
    ranking: RankingWords | None
    consent: str
    instructions: str
    minutes: int
    sets: tuple[ShownSet, ...]

    def as_json(self) -> dict[str, Any]:
        """As it stands in the page, the schema's name first."""
        found = self.model_dump(mode="json")
        return {"schema": found.pop("schema_"), **found}

    @property
    def digest(self) -> str:
        """The SHA-256 of its JSON."""
        return digest_of_json(self.as_json())

    @classmethod
    def from_json(cls, given: Mapping[str, Any]) -> Packet:
        """The packet that `as_json` gave."""
        return cls.model_validate(
            {("schema_" if name == "schema" else name): value for name, value in given.items()}
        )


def digest_of_json(document: Mapping[str, Any]) -> str:
    """The SHA-256 of a document as the page's script writes it."""
    return sha256_of(
        json.dumps(document, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    )


def shown_dimensions(rubric: Rubric) -> tuple[ShownDimension, ...]:
    """The dimensions of a rubric as a rater is asked about them."""
    found = []
    for one in rubric.dimensions:
        scale: dict[str, Any]
        if isinstance(one.scale, CategoryScale):
            scale = {"values": tuple(one.scale.values.items())}
        else:
            # Text, since a browser writes some real numbers otherwise.
            ends = (
                (f"{one.scale.min:g}", f"{one.scale.max:g}")
                if isinstance(one.scale, RealScale)
                else (one.scale.min, one.scale.max)
            )
            scale = {"min": ends[0], "max": ends[1], "low": one.scale.low, "high": one.scale.high}
        found.append(
            ShownDimension(
                id=one.id,
                label=one.label,
                definition=one.definition,
                question=one.guiding_question,
                kind=one.scale.kind,
                **scale,
            )
        )
    return tuple(found)


def estimated_minutes(
    sets: Sequence[ShownSet], tasks: Sequence[Task], n_dimensions: int, introduction: str = ""
) -> int:
    """How long a packet takes, in minutes, 1 or more: each text read once, and the answers."""
    texts = [text for one in sets for text in one.texts]
    words = len(introduction.split())
    words += sum(len(one.prompt.split()) for one in sets)
    words += sum(len(f"{text.context or ''} {text.text}".split()) for text in texts)
    seconds = 60 * words / _WORDS_A_MINUTE
    if "rank" in tasks:
        seconds += _SECONDS_A_RANK * len(texts) + _SECONDS_A_REASON * len(sets)
    if "rate" in tasks:
        seconds += (_SECONDS_A_SCORE * n_dimensions + _SECONDS_A_REASON) * len(texts)
    return max(1, round(seconds / 60))
