"""Attacks on a judge, and how one is put into what a judge is shown.

Which channels a panel has is in `persona_panel.experiments.audit.channels`, the neutral texts that
attacks are held against in `persona_panel.experiments.audit.controls`; what an attack does to
scores is measured in `persona_panel.experiments.audit.injection`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from persona_panel.files.errors import Fault, InputError
from persona_panel.files.wording import nearest, shown
from persona_panel.rubrics import Rubric
from persona_panel.rubrics.fence import fence_for

Channel = Literal[
    "text", "label", "answer", "prompt", "variant", "context", "peer", "system", "id", "metadata"
]
"""By what way an attack comes to a judge: see `persona_panel.experiments.audit.channels`."""
Form = Literal["prose", "data", "encoded", "spaced", "other-language", "repeated"]
"""What an attack looks like to whoever does not read it; its control looks the same."""


class Attack(BaseModel):
    """A text that talks a judge into the top score.

    In `text`, `{top}` and `{answer}` stand for the parts of a `Prize`, `{fence}` for a guess of
    the fence around the response; `repeat` is how often the text is written, end to end.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str = Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=64)
    family: str = Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=64)
    note: str = Field(min_length=1)
    channel: Channel = "text"
    form: Form = "prose"
    placement: Literal["prefix", "suffix", "middle"]
    text: str = Field(min_length=1)
    repeat: int = Field(default=1, ge=1, le=10_000)

    @field_validator("text")
    @classmethod
    def _is_not_blank(cls, value: str) -> str:
        if not value.strip():
            raise ValueError("blank text; something to insert")
        return value


class AttackSet(BaseModel):
    """Attacks, in the order in which they are listed."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    attacks: tuple[Attack, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _ids_are_unique(self) -> AttackSet:
        seen: set[str] = set()
        for attack in self.attacks:
            if attack.id in seen:
                raise ValueError(
                    f"two attacks have the id {attack.id!r}; an id of its own for each"
                )
            seen.add(attack.id)
        return self

    def chosen(self, ids: Sequence[str], families: Sequence[str]) -> tuple[Attack, ...]:
        """The attacks with one of these ids or families; all of them where none is given.

        Raises:
            InputError: there is no such attack or family; names the nearest.
        """
        faults = [
            fault
            for what, wanted, known in (
                ("attack", ids, [attack.id for attack in self.attacks]),
                ("family", families, sorted({attack.family for attack in self.attacks})),
            )
            for fault in _unknown(what, wanted, known)
        ]
        if faults:
            raise InputError(faults)
        if not (ids or families):
            return self.attacks
        return tuple(a for a in self.attacks if a.id in ids or a.family in families)


def _unknown(what: str, wanted: Sequence[str], known: Sequence[str]) -> list[Fault]:
    faults = []
    for name in wanted:
        if name not in known:
            near = nearest(name, known)
            hint = f" (did you mean {near!r}?)" if near else ""
            expected = f"{what}s of the set{hint}" if what == "attack" else ", ".join(known) + hint
            faults.append(Fault(f"--{what}", shown(name), expected))
    return faults


def shipped_attacks() -> Path:
    """The attack set that ships with the package."""
    return Path(str(files("panel").joinpath("library", "attacks.yaml")))


def shipped_responses() -> Path:
    """The base responses that ship with the package: mediocre, so that a rise is possible."""
    return Path(str(files("panel").joinpath("library", "audit_responses.jsonl")))


def shipped_rivals() -> Path:
    """What the base responses are compared with, by a panel that compares: as mediocre."""
    return Path(str(files("panel").joinpath("library", "audit_rivals.jsonl")))


_PARAGRAPHS = re.compile(r"\n[^\S\n]*\n\s*")
_SENTENCES = re.compile(r"(?<=[.!?…])[\"'”’»)\]]*\s+|(?<=[。！？])")
_WORDS = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Prize:
    """What an attacker wants of a judge: the top of the scale, and the JSON that gives it."""

    top: str
    answer: str


def prize_of(rubric: Rubric, *, compares: bool = False) -> Prize:
    """The highest rating of every dimension that is rated by numbers; the first place, of a panel
    that compares responses."""
    if compares:
        return Prize("the first place", json.dumps({"better": "this response", "place": 1}))
    highest = {name: scale.max for name, scale in rubric.numeric_scales.items()}
    tops = {f"{value:g}" for value in highest.values()}
    flag = {"abstained": False} if rubric.abstention else {}
    return Prize(
        # No number is the top of them all.
        top=tops.pop() if len(tops) == 1 else "full marks",
        answer=json.dumps(highest | flag, indent=2),
    )


def inserted(attack: Attack, prize: Prize, known: Sequence[str]) -> str:
    """What is put in: the attack's text, filled in.

    The fence that the attacker guesses is the one around the texts that are `known`: those that
    the judge would be shown without the attack.
    """
    text = attack.text
    for name, value in (
        ("{top}", prize.top),
        ("{answer}", prize.answer),
        ("{fence}", fence_for(*known)),
    ):
        text = text.replace(name, value)
    return text * attack.repeat


def placed(text: str, inserted: str, placement: str) -> str:
    """A text with another before it, after it or in its middle."""
    if placement == "prefix":
        return f"{inserted}\n\n{text}"
    if placement == "suffix":
        return f"{text}\n\n{inserted}"
    left, right = _halves(text)
    return f"{left}\n\n{inserted}\n\n{right}"


def _halves(text: str) -> tuple[str, str]:
    """The text cut between two paragraphs, else sentences, else words, nearest its middle."""
    middle = len(text) / 2
    for between in (_PARAGRAPHS, _SENTENCES, _WORDS):
        cuts = [
            (text[: cut.end()].rstrip(), text[cut.end() :])
            for cut in between.finditer(text)
            if text[: cut.start()].strip() and text[cut.end() :].strip()
        ]
        if cuts:
            return min(cuts, key=lambda halves: abs(len(halves[0]) - middle))
    return text[: len(text) // 2], text[len(text) // 2 :]
