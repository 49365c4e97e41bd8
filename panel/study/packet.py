"""Packets for raters (sets of texts under labels, and how to rate them), and the key that says
which text of which system each label stands for. Both are versioned.

The digest of a packet or of answers is taken over JSON that a browser writes alike: keys sorted, no
spaces, whole numbers and texts alone (a rating on a scale of real numbers is a text).

The key lies apart from the packets, in a folder that its owner alone can read.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import orjson
from pydantic import BaseModel, ConfigDict, ValidationError

from persona_panel.files.errors import Fault, InputError
from persona_panel.files.limits import content_of
from persona_panel.files.outputs import sha256_of
from persona_panel.files.wording import explain, unreadable
from persona_panel.rubrics import Rubric
from persona_panel.rubrics.rubric import CategoryScale, RealScale
from persona_panel.rubrics.segmentation import words
from persona_panel.study.design import SetRole, Task

PACKET_SCHEMA: Literal["persona-panel/study-packet/1"] = "persona-panel/study-packet/1"
NOT_ASSESSABLE = "not_assessable"

_WORDS_A_MINUTE = 238
"""The speed at which adults read non-fiction silently. M. Brysbaert (2019), "How many words do we
read per minute?", Journal of Memory and Language 109."""
_SECONDS_A_SCORE = 8
_SECONDS_A_RANK = 10
_SECONDS_A_REASON = 60
"""The seconds that an answer takes besides reading: guesses, which the times of a pilot correct."""


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
    """A dimension of the rubric: a question with a scale of this kind; of numbers the ends and what
    they mean, of categories the values, each with what it means."""

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
    """The meanings of the first and the last rank, and the labels of the dimensions that texts are
    ranked by."""

    first: str
    last: str
    by: tuple[str, ...]

    @property
    def top(self) -> str:
        """Return the text of the first rank, for a heading."""
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
        """Return the packet as it stands in the page, the schema's name first."""
        document = self.model_dump(mode="json")
        return {"schema": document.pop("schema_"), **document}

    @property
    def digest(self) -> str:
        """Return the SHA-256 of its JSON."""
        return digest_of_json(self.as_json())

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Packet:
        """Return the packet that `as_json` gave."""
        return cls.model_validate(
            {("schema_" if name == "schema" else name): value for name, value in document.items()}
        )


def digest_of_json(document: Mapping[str, Any]) -> str:
    """Return the SHA-256 of a document as the page's script writes it."""
    return sha256_of(
        json.dumps(document, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    )


def shown_dimensions(rubric: Rubric) -> tuple[ShownDimension, ...]:
    """Return the dimensions of a rubric as a rater is asked about them."""
    dimensions = []
    for dimension in rubric.dimensions:
        scale: dict[str, Any]
        if isinstance(dimension.scale, CategoryScale):
            scale = {"values": tuple(dimension.scale.values.items())}
        else:
            # Text, since a browser writes some real numbers otherwise.
            ends = (
                (f"{dimension.scale.min:g}", f"{dimension.scale.max:g}")
                if isinstance(dimension.scale, RealScale)
                else (dimension.scale.min, dimension.scale.max)
            )
            scale = dict(zip(("min", "max"), ends, strict=True))
            scale |= {"low": dimension.scale.low, "high": dimension.scale.high}
        dimensions.append(
            ShownDimension(
                id=dimension.id, label=dimension.label, definition=dimension.definition,
                question=dimension.guiding_question, kind=dimension.scale.kind, **scale,
            )
        )  # fmt: skip
    return tuple(dimensions)


def estimated_minutes(
    sets: Sequence[ShownSet], tasks: Sequence[Task], n_dimensions: int, introduction: str = ""
) -> int:
    """Estimate how long a packet takes, in minutes, 1 or more: each text read once, and the
    answers."""
    texts = [text for text_set in sets for text in text_set.texts]
    read = [introduction, *(each.prompt for each in sets)]
    read += [f"{text.context or ''} {text.text}" for text in texts]
    seconds = 60 * sum(len(words(each)) for each in read) / _WORDS_A_MINUTE
    if "rank" in tasks:
        seconds += _SECONDS_A_RANK * len(texts) + _SECONDS_A_REASON * len(sets)
    if "rate" in tasks:
        seconds += (_SECONDS_A_SCORE * n_dimensions + _SECONDS_A_REASON) * len(texts)
    return max(1, round(seconds / 60))


KEY_SCHEMA: Literal["persona-panel/study-key/1"] = "persona-panel/study-key/1"
KEY_FOLDER, KEY_NAME = "key", "key.json"


class _Kept(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class KeyedText(_Kept):
    """The text that an id in a packet stands for, by the response's id and system; both None of a
    text that checks attention, which asks for a rank and scores."""

    id: str
    label: str
    response: str | None = None
    system: str | None = None
    rank: int | None = None
    scores: dict[str, int | str] | None = None


class KeyedSet(_Kept):
    """The meaning of a set in a packet; without a prompt id where it checks attention, with the id
    of the set that it repeats, if it does."""

    id: str
    role: SetRole
    prompt_id: str | None
    repeats: str | None
    texts: tuple[KeyedText, ...]


class KeyedPacket(_Kept):
    """The meaning of a packet's ids, and the SHA-256 of what its rater was shown; the group of the
    rater, such as a discipline, None where raters have none."""

    packet: str
    rater: str
    group: str | None = None
    sha256: str
    minutes: int
    sets: tuple[KeyedSet, ...]


class KeyedPrompt(_Kept):
    """A prompt of the study."""

    prompt_id: str
    prompt: str


class StudyKey(_Kept):
    """All that unblinds a study. `inclusion` has the probability with which each text was drawn by
    `select`, by `prompt_id/id`, in (0, 1]; None where they were not. `exclude_failed`: raters who
    fail so many attention checks are left out, as was stated before; None: nobody is."""

    schema_: Literal["persona-panel/study-key/1"] = KEY_SCHEMA
    study: str
    secret: str
    seed: int
    tasks: tuple[Task, ...]
    rubric: Rubric
    prompts: tuple[KeyedPrompt, ...]
    packets: tuple[KeyedPacket, ...]
    inclusion: dict[str, float] | None = None
    exclude_failed: int | None = None
    abstain: bool = False

    @property
    def abstains(self) -> bool:
        """Return whether raters may say that a text cannot be assessed or compared."""
        return self.abstain or self.rubric.not_assessable

    def packet(self, name: str) -> KeyedPacket | None:
        """Return the packet of this id."""
        return next((packet for packet in self.packets if packet.packet == name), None)

    def texts(self) -> Iterator[tuple[KeyedPacket, KeyedSet, KeyedText]]:
        """Yield every text of every packet."""
        for packet in self.packets:
            for text_set in packet.sets:
                for text in text_set.texts:
                    yield packet, text_set, text


def read_key(study: Path) -> StudyKey:
    """Read the key in a study's folder; raises InputError where there is none of this version."""
    path = study / KEY_FOLDER / KEY_NAME
    try:
        content = content_of(path)
    except OSError:
        with_key = f"with {KEY_FOLDER}/{KEY_NAME} in it, as `people make` writes it"
        fault = unreadable(path) if study.is_dir() else unreadable(study)
        expected = f"the folder of a study, {with_key}"
        raise InputError([Fault(str(study), fault, expected)]) from None
    try:
        document = orjson.loads(content)
        document["schema_"] = document.pop("schema", None)
        return StudyKey.model_validate(document, strict=False)
    except (ValueError, AttributeError, TypeError) as error:
        if not isinstance(error, ValidationError):
            expected = "a key that `people make` wrote"
            raise InputError([Fault(str(path), "no such key", expected)]) from None
        details = error.errors(include_url=False)[0]
        fault, expected = explain(details)
        where = ".".join(map(str, details["loc"])).replace("schema_", "schema") or None
        raise InputError([Fault(str(path), fault, expected, field=where)]) from None
