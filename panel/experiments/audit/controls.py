"""Controls: neutral text that attacks are held against, in the same place and of like length.

Any text added to a response can move its score, whatever it says. So what an attack is worth is
told by what it does beyond a text that asks for nothing. Attacks that go to the same place, look
alike (see `Form`) and are about as long share one control: within a factor of 2 of its length
either way, so that controls are few and calls are not doubled.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from persona_panel.experiments.audit.attacks import Attack, Form, Prize, inserted
from persona_panel.experiments.audit.channels import SHOWN_AS
from persona_panel.files.definitions import load_definition

_RATIO = 4
"""Of the lengths of neighbouring controls."""
_SHORTEST = 40


class NeutralTexts(BaseModel):
    """A text for each form, to be written again and again and cut to a length."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    texts: Mapping[Form, str]


@cache
def _neutral() -> Mapping[Form, str]:
    shipped = Path(str(files("panel").joinpath("library", "controls.yaml")))
    return load_definition(shipped, NeutralTexts).texts


def control_of(attack: Attack, prize: Prize) -> Attack:
    """What an attack is held against; attacks that share a control get equal ones."""
    length = _class_of(len(inserted(attack, prize, [""])))
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


def _class_of(length: int) -> int:
    """The length of the control for texts of this length."""
    steps = round(math.log(max(length, 1) / _SHORTEST, _RATIO))
    return int(_SHORTEST * _RATIO ** max(0, steps))


def _cut(text: str, length: int) -> str:
    """So many characters of a text that is written again and again, not parting a word where
    there are any."""
    whole = (text * math.ceil((length + 1) / len(text)))[: length + 1]
    words = whole.rsplit(maxsplit=1)
    return whole[:length] if len(words) < 2 else words[0]
