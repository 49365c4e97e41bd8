"""The file that says which people and personas form groups, and which groups are contrasted."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator, model_validator

from persona_panel.files.attributes import AttributeCondition, WrongCondition, parse_condition
from persona_panel.files.definitions import load_definition
from persona_panel.files.wording import did_you_mean
from persona_panel.statistics.core.display import ALL

_MINUS = re.compile(r"[-−–]")
_Names = Annotated[
    tuple[str, ...], BeforeValidator(lambda names: (names,) if isinstance(names, str) else names)
]


# YAML reads the name of a group such as 1990 as a number.
_GroupName = Annotated[
    str, Field(min_length=1), BeforeValidator(lambda name: str(name) if type(name) is int else name)
]


def _condition(text: str) -> str:
    try:
        parse_condition(text)
    except WrongCondition as error:
        raise ValueError(f"{error.problem}; {error.expected}") from None
    return text


class HumanGroup(BaseModel):
    """A group of people, and the personas that stand for it. `condition`: on people's attributes;
    see `persona_panel.files.attributes`; `personas`: their ids in a run, or raters of a file of
    ratings; none where people alone are looked at."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    condition: str
    personas: _Names = ()

    _reads = field_validator("condition")(_condition)

    @property
    def of_people(self) -> AttributeCondition:
        """The condition, read."""
        return parse_condition(self.condition)


class GroupContrast(BaseModel):
    """A contrast of two groups, A − B. `contrast`: `A - B`, two groups of the file; `within`: a
    condition on items: those of a stratum only; `against`: another, whose difference is subtracted:
    an interaction."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    contrast: str
    within: str | None = None
    against: str | None = None

    @field_validator("within", "against")
    @classmethod
    def _reads(cls, text: str | None) -> str | None:
        return None if text is None else _condition(text)

    @model_validator(mode="after")
    def _has_a_stratum(self) -> GroupContrast:
        if self.against is not None and self.within is None:
            raise ValueError("against without within; within, too: the stratum to subtract from")
        return self

    @property
    def strata(self) -> tuple[AttributeCondition, ...]:
        """The conditions on items: none, the stratum's, or those of both strata."""
        return tuple(
            parse_condition(text) for text in (self.within, self.against) if text is not None
        )

    @property
    def stratum(self) -> str:
        """The stratum's name: `all`, the condition, or both with a minus between them."""
        texts = [condition.text for condition in self.strata]
        if len(texts) == 2:
            return " - ".join(f"({text})" for text in texts)
        return texts[0] if texts else ALL


def _contrast_by_name(value: Any) -> Any:
    return {"contrast": value} if isinstance(value, str) else value


_Contrasts = tuple[Annotated[GroupContrast, BeforeValidator(_contrast_by_name)], ...]


class GroupFile(BaseModel):
    """The file that `people fidelity --groups` reads: groups by name, contrasts of them, and null
    controls (contrasts in which people are not expected to differ)."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    groups: Mapping[_GroupName, HumanGroup] = Field(min_length=2)
    contrasts: _Contrasts = Field(min_length=1)
    controls: _Contrasts = ()

    @model_validator(mode="after")
    def _contrasts_are_of_the_groups(self) -> GroupFile:
        seen = set()
        for contrast in (*self.contrasts, *self.controls):
            sides = self.sides(contrast)
            if (sides, contrast.stratum) in seen:
                raise ValueError(f"the contrast {contrast.contrast!r} twice; each once")
            seen.add((sides, contrast.stratum))
        for contrast in self.contrasts:
            for name in self.sides(contrast):
                if not self.groups[name].personas:
                    raise ValueError(
                        f"no personas for {name!r}; the personas that stand for it, as it is in a "
                        "contrast (controls may go without)"
                    )
        return self

    def sides(self, contrast: GroupContrast) -> tuple[str, str]:
        """Return the names of the two groups of a contrast. Raises ValueError: it names no two
        groups of the file."""
        text = contrast.contrast
        parts = [
            (text[: at.start()].strip(), text[at.end() :].strip()) for at in _MINUS.finditer(text)
        ]
        pairs = [pair for pair in parts if set(pair) <= set(self.groups)]
        if len(pairs) == 1 and pairs[0][0] != pairs[0][1]:
            return pairs[0]
        unknown = [
            name
            for pair in parts[:1]
            for name in pair
            if len(parts) == 1 and name not in self.groups
        ]
        hint = did_you_mean(unknown[0], self.groups) if unknown else ""
        raise ValueError(
            f"the contrast {text!r}; two different groups with a minus between them, of "
            f"{', '.join(self.groups)}{hint}"
        )

    def name_of(self, contrast: GroupContrast) -> str:
        """Return the name of a contrast in results: `left-right`."""
        return "-".join(self.sides(contrast))


def load_groups(source: str | Path) -> GroupFile:
    """Read a file of groups. Raises InputError: it is none; lists every fault with its line."""
    return load_definition(Path(source), GroupFile)
