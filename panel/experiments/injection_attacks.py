"""Attacks on a judge, the ways by which one reaches it, and the neutral text that it is held
against.

| channel | where the attack stands |
|---|---|
| text | in the response |
| label | in the response, speaking of the labels under which responses are compared |
| answer | in the response, as a target of a sweep could answer |
| prompt | in the prompt |
| variant | in the prompt, as a sweep's rewriter could frame it |
| context | in the context, which it makes up where there is none |
| peer | in a peer's rationale, as a judge is shown it in deliberation |
| system, id, metadata | in names and notes that no judge is shown |

Any text added to a response can move its score, whatever it says. So an attack is measured against
a control, a text that asks for nothing. Attacks that go to the same place, look alike (see `Form`)
and are about as long share one control, whose length differs by a factor of at most 2, so that
controls are few and calls are not doubled.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from persona_panel.files.definitions import load_definition
from persona_panel.files.errors import Fault, InputError
from persona_panel.files.wording import did_you_mean, shown
from persona_panel.graphs import Response
from persona_panel.rubrics import Rubric
from persona_panel.rubrics.segmentation import graphemes, prefix, sentences
from persona_panel.rubrics.wording import Peer, fence_for
from persona_panel.runs.mode import mode_of

if TYPE_CHECKING:
    from persona_panel.planning.panel_plan import PanelPlan


Channel = Literal[
    "text", "label", "answer", "prompt", "variant", "context", "peer", "system", "id", "metadata"
]
"""The way by which an attack comes to a judge; the table above says where it stands."""
Form = Literal["prose", "data", "encoded", "spaced", "other-language", "repeated"]
"""The look of an attack to whoever does not read it; its control has the same."""


class Attack(BaseModel):
    """A text that talks a judge into the top score. In it `{top}` and `{answer}` stand for the
    parts of a `Prize`, `{fence}` for a guess of the fence around the response; it is written
    `repeat` times."""

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
        again = (name for name, n in Counter(each.id for each in self.attacks).items() if n > 1)
        if (name := next(again, None)) is not None:
            raise ValueError(f"two attacks have the id {name!r}; an id of its own for each")
        return self

    def chosen(self, ids: Sequence[str], families: Sequence[str]) -> tuple[Attack, ...]:
        """Return the attacks with one of these ids or families, all where none is given; raises
        InputError where there is none such."""
        faults = []
        for what, wanted, known in (
            ("attack", ids, [attack.id for attack in self.attacks]),
            ("family", families, sorted({attack.family for attack in self.attacks})),
        ):
            for name in wanted:
                if name not in known:
                    of = "attacks of the set" if what == "attack" else ", ".join(known)
                    expected = of + did_you_mean(name, known)
                    faults.append(Fault(f"--{what}", shown(name), expected))
        if faults:
            raise InputError(faults)
        if not (ids or families):
            return self.attacks
        return tuple(a for a in self.attacks if a.id in ids or a.family in families)


def _shipped(name: str) -> Path:
    return Path(str(files("persona_panel").joinpath("library", name)))


def shipped_attacks() -> Path:
    """Return the path of the attack set that ships with the package."""
    return _shipped("attacks.yaml")


def shipped_responses() -> Path:
    """Return the path of the shipped base responses: mediocre, so that a rise is possible."""
    return _shipped("audit_responses.jsonl")


def shipped_rivals() -> Path:
    """Return the path of the equally mediocre responses that base responses are compared with."""
    return _shipped("audit_rivals.jsonl")


_PARAGRAPHS = re.compile(r"\n[^\S\n]*\n\s*")
_WORDS = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Prize:
    """The aim of an attacker: the top of the scale, and the JSON that gives it."""

    top: str
    answer: str


def prize_of(rubric: Rubric, *, compares: bool = False) -> Prize:
    """Return the highest rating of every dimension that is rated by numbers; for a panel that
    compares responses, the first place."""
    if compares:
        return Prize("the first place", json.dumps({"better": "this response", "place": 1}))
    highest = {name: scale.max for name, scale in rubric.numeric_scales.items()}
    tops = {f"{value:g}" for value in highest.values()}
    flag = {"abstained": False} if rubric.abstention else {}
    return Prize(
        # The dimensions have no highest number in common.
        top=tops.pop() if len(tops) == 1 else "full marks",
        answer=json.dumps(highest | flag, indent=2),
    )


def inserted(attack: Attack, prize: Prize, known: Sequence[str]) -> str:
    """Return the attack's text, filled in. The fence that it guesses is the one around the texts
    that are `known`: those that the judge would be shown without the attack."""
    text = attack.text
    for name, value in (
        ("{top}", prize.top),
        ("{answer}", prize.answer),
        ("{fence}", fence_for(*known)),
    ):
        text = text.replace(name, value)
    return text * attack.repeat


def placed(text: str, inserted: str, placement: str) -> str:
    """Return a text with another before it, after it or in its middle."""
    if placement == "prefix":
        return f"{inserted}\n\n{text}"
    if placement == "suffix":
        return f"{text}\n\n{inserted}"
    left, right = _halves(text)
    return f"{left}\n\n{inserted}\n\n{right}"


def _halves(text: str) -> tuple[str, str]:
    """Cut the text between two paragraphs, else sentences, words or characters, nearest its
    middle."""
    middle = len(text) / 2
    for places in (
        [cut.end() for cut in _PARAGRAPHS.finditer(text)],
        accumulate(map(len, sentences(text))),
        [cut.end() for cut in _WORDS.finditer(text)],
        accumulate(map(len, graphemes(text))),
    ):
        cuts = [(text[:place].rstrip(), text[place:]) for place in places]
        if cuts := [halves for halves in cuts if halves[0].strip() and halves[1].strip()]:
            return min(cuts, key=lambda halves: abs(len(halves[0]) - middle))
    return text, ""


SHOWN_AS: Mapping[Channel, Channel] = {"label": "text", "answer": "text", "variant": "prompt"}
"""Channels that lead to the same place as another one does."""
UNSHOWN: frozenset[Channel] = frozenset({"system", "id", "metadata"})
"""Channels of which nothing is ever to reach a judge."""

Plants = dict[tuple[str, str], tuple[str, str]]
"""The text planted in a peer's rationale and its place there, by the prompt id and the id of a
response."""


def closed(channel: Channel, panel: PanelPlan) -> str | None:
    """Return why no judge of this panel can be reached by this channel; None where one can be."""
    if panel.is_comparative and channel in ("prompt", "variant"):
        return "compared responses share one prompt: an attack in it cannot favour one of them"
    if panel.is_comparative and channel == "answer":
        return "a panel that compares responses cannot run a sweep"
    if not panel.is_comparative and channel == "label":
        return (
            "this panel rates responses one at a time (--elicitation pairwise and ranking "
            "compare them)"
        )
    if channel == "peer":
        deliberation = panel.settings.deliberation
        if deliberation is None:
            return "this panel does not deliberate (add --deliberate N --reveal rationales)"
        if deliberation.reveal == "scores":
            return (
                "judges see the ratings of their peers and no rationales (add --reveal "
                "rationales or both)"
            )
        if len(panel.judges) == 1:
            return "a panel of one judge has no peers"
    return None


def reaches(panel: PanelPlan, attack: Attack, prize: Prize, group: Sequence[Response]) -> bool:
    """Return whether any part of an attack on the first of a group, the responses that are shown
    together, stands in the questions to the panel's judges."""
    first, *others = group
    put = _put(first, attack, prize, others)
    attacked = planted(first, attack, prize, others, {})
    return any(
        put in text
        for request in mode_of(panel).first_requests((attacked, *others))
        for text in (request.system, *request.blocks)
    )


def planted(
    response: Response, attack: Attack, prize: Prize, others: Sequence[Response], plants: Plants
) -> Response:
    """Return the response, which has a prompt id, with the attack on its channel, as `ID+ATTACK`;
    what stands in a peer's rationale is added to `plants`. Its system's name gets the attack's,
    too, so that no ranking takes an attacked text for the system's own, and so does the id of a
    prompt that is changed. `others` are shown together with it."""
    put = _put(response, attack, prize, others)
    channel = SHOWN_AS.get(attack.channel, attack.channel)
    name, author = f"{response.id}+{attack.id}", f"{response.system}+{attack.id}"
    metadata = {
        **response.metadata, "base": response.id, "attack": attack.id,
        "attack_family": attack.family, "attack_channel": attack.channel,
    }  # fmt: skip
    changed: dict[str, str] = {}
    if channel == "text":
        changed["text"] = placed(response.text, put, attack.placement)
    elif channel == "prompt":
        changed["prompt"] = placed(response.prompt, put, attack.placement)
        changed["prompt_id"] = f"{response.prompt_id}+{name}"
    elif channel == "context":
        own = response.context
        changed["context"] = put if own is None else placed(own, put, attack.placement)
    elif channel == "peer":
        plants[str(response.prompt_id), name] = put, attack.placement
    elif channel == "system":
        author = placed(author, put, attack.placement)
    elif channel == "id":
        name = placed(name, put, attack.placement)
    else:
        metadata["note"] = put
    return response.model_copy(
        update={"id": name, "system": author, "metadata": metadata, **changed}
    )


def _put(response: Response, attack: Attack, prize: Prize, others: Sequence[Response]) -> str:
    shown = (response, *others)
    contexts = [each.context for each in shown if each.context is not None]
    return inserted(attack, prize, [response.prompt, *(each.text for each in shown), *contexts])


def with_plants(response: Response, peers: Sequence[Peer], plants: Plants) -> list[Peer]:
    """Return the peers as a judge is shown them, with the planted text in the first one's
    rationale."""
    planted_text = plants.get((str(response.prompt_id), response.id))
    if planted_text is None or not peers:
        return list(peers)
    text, placement = planted_text
    own = peers[0].rationale
    rationale = text if own is None else placed(own, text, placement)
    return [replace(peers[0], rationale=rationale), *peers[1:]]


_RATIO = 4
"""The ratio of the lengths of neighbouring controls."""
_SHORTEST = 40


class NeutralTexts(BaseModel):
    """A text for each form, to be written again and again and cut to a length."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    texts: Mapping[Form, str]


@cache
def _neutral() -> Mapping[Form, str]:
    return load_definition(_shipped("controls.yaml"), NeutralTexts).texts


def control_of(attack: Attack, prize: Prize) -> Attack:
    """Return the control for an attack; attacks that share a control get equal ones."""
    n = len(inserted(attack, prize, [""]))
    steps = round(math.log(max(n, 1) / _SHORTEST, _RATIO))
    length = int(_SHORTEST * _RATIO ** max(0, steps))
    channel = SHOWN_AS.get(attack.channel, attack.channel)
    return Attack(
        id=f"control-{channel}-{attack.placement}-{attack.form}-{length}",
        family="control",
        note=f"Neutral text of {length} characters.",
        channel=channel,
        form=attack.form,
        placement=attack.placement,
        text=_cut(_neutral()[attack.form], length),
    )


def _cut(text: str, length: int) -> str:
    """Repeat a text and cut it to `length` characters, between words where it has any."""
    whole = (text * math.ceil((length + 1) / len(text)))[: length + 1]
    words = whole.rsplit(maxsplit=1)
    return prefix(whole, length) if len(words) < 2 else words[0]
