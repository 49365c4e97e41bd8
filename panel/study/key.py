"""What tells the labels of a study: which text of which system each id stands for.

It lies apart from the packets, in a folder that its owner alone can read.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import orjson
from pydantic import BaseModel, ConfigDict, ValidationError

from persona_panel.files.errors import Fault, InputError
from persona_panel.files.file_limits import content_of
from persona_panel.files.wording import explain, unreadable
from persona_panel.rubrics import Rubric
from persona_panel.study.design import SetRole
from persona_panel.study.settings import Task

KEY_SCHEMA: Literal["persona-panel/study-key/1"] = "persona-panel/study-key/1"
KEY_FOLDER, KEY_NAME = "key", "key.json"


class _Kept(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class KeyedText(_Kept):
    """What a text's id in a packet stands for.

    Attributes:
        prompt_id, response, system: of the response, whose id is `response`; None of a text that
            checks attention.
        rank, scores: what a text that checks attention asks for; None otherwise.
    """

    id: str
    label: str
    response: str | None = None
    system: str | None = None
    rank: int | None = None
    scores: dict[str, int | str] | None = None


class KeyedSet(_Kept):
    """What a set in a packet is.

    Attributes:
        prompt_id: None of a set that checks attention.
        repeats: the id of the set that it repeats, if it does.
    """

    id: str
    role: SetRole
    prompt_id: str | None
    repeats: str | None
    texts: tuple[KeyedText, ...]


class KeyedPacket(_Kept):
    """What a packet is, and the SHA-256 of what its rater was shown."""

    packet: str
    rater: str
    sha256: str
    minutes: int
    sets: tuple[KeyedSet, ...]


class KeyedPrompt(_Kept):
    """A prompt of the study."""

    prompt_id: str
    prompt: str


class StudyKey(_Kept):
    """All that unblinds a study.

    `inclusion` has the probability with which each text was drawn, by `prompt_id/id`, in (0, 1];
    None where the texts were not drawn by `select`.
    """

    schema_: Literal["persona-panel/study-key/1"] = KEY_SCHEMA
    study: str
    secret: str
    seed: int
    tasks: tuple[Task, ...]
    rubric: Rubric
    prompts: tuple[KeyedPrompt, ...]
    packets: tuple[KeyedPacket, ...]
    inclusion: dict[str, float] | None = None

    def packet(self, name: str) -> KeyedPacket | None:
        """The packet of this id."""
        return next((one for one in self.packets if one.packet == name), None)

    def texts(self) -> Iterator[tuple[KeyedPacket, KeyedSet, KeyedText]]:
        """Every text of every packet."""
        for packet in self.packets:
            for one in packet.sets:
                for text in one.texts:
                    yield packet, one, text


def read_key(study: Path) -> StudyKey:
    """The key in a study's folder.

    Raises:
        InputError: there is none, or it is no key of this version.
    """
    path = study / KEY_FOLDER / KEY_NAME
    try:
        content = content_of(path)
    except OSError:
        expected = (
            f"the folder of a study, with {KEY_FOLDER}/{KEY_NAME} in it, as `study make` writes it"
        )
        found = unreadable(path) if study.is_dir() else unreadable(study)
        raise InputError([Fault(str(study), found, expected)]) from None
    try:
        document = orjson.loads(content)
        document["schema_"] = document.pop("schema", None)
        return StudyKey.model_validate(document, strict=False)
    except (ValueError, AttributeError, TypeError) as error:
        if not isinstance(error, ValidationError):
            expected = "a key that `study make` wrote"
            raise InputError([Fault(str(path), "no such key", expected)]) from None
        details = error.errors(include_url=False)[0]
        found, expected = explain(details)
        where = ".".join(map(str, details["loc"])).replace("schema_", "schema") or None
        raise InputError([Fault(str(path), found, expected, field=where)]) from None
