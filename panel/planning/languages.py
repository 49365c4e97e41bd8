"""The languages in which judges can be asked: translations of the instructions, and of the rubrics
and persona sets of the library, by this project or in a file of a user's own.

A translation of this project is a file of its name in `rubrics/languages` and one in
`personas/languages`; a user's own is one file with the entries of both.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

import persona_panel.personas as persona_library
import persona_panel.rubrics as rubric_library
from persona_panel.files.definitions import load_definition
from persona_panel.files.errors import ConfigurationError
from persona_panel.files.wording import did_you_mean
from persona_panel.personas import NO_PERSONA, PersonaSet
from persona_panel.rubrics import Rubric
from persona_panel.rubrics.instructions import ENGLISH, ENGLISH_CODE, Language
from persona_panel.rubrics.replies import FAULTS

_WORDS = frozenset({"label", "question", "definition", "guiding_question", "family", "low", "high"})
_PARTS = frozenset({"prompt", "context", "response"})


class PersonaWords(BaseModel):
    """A persona's label and description in another language."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    label: str = Field(min_length=1)
    description: str = Field(min_length=1)


class PersonaTranslation(BaseModel):
    """Labels of persona sets and the words of personas in another language, by their ids."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    sets: Mapping[str, str] = Field(default_factory=dict)
    personas: Mapping[str, PersonaWords] = Field(default_factory=dict)


class Translation(PersonaTranslation, Language):
    """A language, and the words of the library in it, those of rubrics by the places where they
    stand."""

    rubrics: Mapping[str, Mapping[str, Any]] = Field(default_factory=dict)

    @property
    def language(self) -> Language:
        """Return the language alone."""
        return Language(name=self.name, instructions=self.instructions, replies=self.replies)


@cache
def language_names() -> tuple[str, ...]:
    """Return the languages into which this project has translated: English, then by their codes."""
    return (ENGLISH_CODE, *sorted(path.stem for path in _folder("rubrics").glob("*.yaml")))


def code_of(language: str) -> str:
    """Return the code of a language from its name: `fr` of the file `words/fr.yaml`."""
    return Path(language).stem


def is_own_file(language: str) -> bool:
    """Return whether a language is named by the file of a translation."""
    return language.endswith((".yaml", ".yml"))


def load_translation(language: str) -> Translation:
    """Read a translation, of this project by its code or of a user's own by the file's path.

    Raises:
        ConfigurationError: there is none; names those there are.
        InputError: the file is no translation; lists every fault.
    """
    if is_own_file(language):
        path = Path(language)
        changed = path.stat() if path.is_file() else None
        return _of_file(path, changed and (changed.st_mtime_ns, changed.st_size))
    names = language_names()
    if language not in names[1:]:
        raise ConfigurationError(
            f"there is no translation of the judges' instructions into {language!r}; expected one "
            f"of {', '.join(names)}{did_you_mean(language, names)}, or the path of a .yaml file of "
            "your own, such as `persona-panel library languages en` prints, translated"
        )
    return _of_the_library(language)


@lru_cache(maxsize=1)
def _of_file(path: Path, changed: tuple[int, int] | None) -> Translation:
    """Read a user's own translation, which a panel needs for personas, rubric and instructions,
    once; again where it has changed."""
    return load_definition(path, Translation)


@cache
def _of_the_library(language: str) -> Translation:
    own = load_definition(_folder("rubrics") / f"{language}.yaml", Translation)
    personas = load_definition(_folder("personas") / f"{language}.yaml", PersonaTranslation)
    return own.model_copy(update={name: getattr(personas, name) for name in ("sets", "personas")})


def translated_personas(personas: PersonaSet, language: str) -> PersonaSet:
    """Return a persona set of the library, in English, in the words of a language.

    Raises:
        ConfigurationError: as `load_translation`, or the language lacks words for it.
    """
    words = load_translation(language)
    names = [persona.id for persona in personas.personas if persona != NO_PERSONA]
    lacking = [f"personas.{name}" for name in names if name not in words.personas]
    if personas.id not in words.sets:
        lacking.insert(0, f"sets.{personas.id}")
    _refuse_lacking(lacking, language, "persona set", personas.id)
    translated = [
        persona
        if persona == NO_PERSONA
        else persona.model_copy(update=words.personas[persona.id].model_dump())
        for persona in personas.personas
    ]
    return personas.model_copy(
        update={
            "label": words.sets[personas.id],
            "personas": tuple(translated),
            "language": code_of(language),
        }
    )


def translated_rubric(rubric: Rubric, language: str) -> Rubric:
    """Return a rubric of the library, in English, in the words of a language. Raises as
    `translated_personas`."""
    words = dict(_flat(load_translation(language).rubrics.get(rubric.id, {})))
    document = rubric.model_dump(mode="json")
    places = {path: (holder, key) for path, holder, key in _places(document)}
    lacking = [".".join(("rubrics", rubric.id, *path)) for path in places if path not in words]
    _refuse_lacking(lacking, language, "rubric", rubric.id)
    for path, (holder, key) in places.items():
        holder[key] = words[path]
    return Rubric.model_validate(document | {"language": code_of(language)})


@cache
def english_words() -> Translation:
    """Return the English words of the instructions and the library, in the form of a
    translation."""
    instructions = ENGLISH.instructions.model_dump() | {
        "parts": {name: name for name in sorted(_PARTS)},
        "faults": {fault: fault for fault in FAULTS},
    }
    rubrics: dict[str, Any] = {}
    for id, path in rubric_library.shipped().items():
        for place, holder, key in _places(load_definition(path, Rubric).model_dump(mode="json")):
            inner = rubrics.setdefault(id, {})
            for step in place[:-1]:
                inner = inner.setdefault(step, {})
            inner[place[-1]] = holder[key]
    sets = [load_definition(path, PersonaSet) for path in persona_library.shipped().values()]
    personas = {
        persona.id: {"label": persona.label, "description": persona.description}
        for each in sets
        for persona in each.personas
        if persona != NO_PERSONA
    }
    return Translation.model_validate(
        {
            "name": ENGLISH.name,
            "instructions": instructions,
            "replies": ENGLISH.replies,
            "rubrics": rubrics,
            "sets": {each.id: each.label for each in sets},
            "personas": personas,
        }
    )


def texts_of(translation: Translation) -> dict[tuple[str, ...], str]:
    """Return the texts of a translation by the places where they stand in its file: all but the
    patterns by which replies are read, and marks without words."""
    document = translation.model_dump(exclude={"name", "replies"})
    return {
        place: text
        for place, text in _flat(document)
        if re.search(r"\w", re.sub(r"\{\w+\}", "", text))
    }


def _refuse_lacking(lacking: list[str], language: str, what: str, name: str) -> None:
    if lacking:
        more = f" and {len(lacking) - 3:,} more" if len(lacking) > 3 else ""
        raise ConfigurationError(
            f"the translation {language} lacks words for the {what} {name!r}: "
            f"{', '.join(lacking[:3])}{more}; add them, or name a file of your own that says "
            f"language: {code_of(language)}"
        )


def _folder(part: str) -> Path:
    return Path(str(files(f"persona_panel.{part}").joinpath("languages")))


def _flat(
    words: Mapping[str, Any], path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], str]]:
    for key, value in words.items():
        if isinstance(value, Mapping):
            yield from _flat(value, (*path, key))
        else:
            yield (*path, key), value


def _places(
    node: Any, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], dict[str, Any], str]]:
    """Yield each place of words in a document with the mapping and the key that hold them; a part
    of an item has words of its own where it is not called as usual."""
    if isinstance(node, list):
        for item in node:
            if isinstance(item, dict):
                yield from _places(item, (*path, item["id"]))
        return
    within = path[-1:]
    for key, value in node.items():
        if isinstance(value, dict | list) and key != "template":
            yield from _places(value, (*path, key))
        elif isinstance(value, str) and (
            key in _WORDS
            or within == ("values",)
            or (within == ("item",) and key in _PARTS and value != key)
        ):
            yield (*path, key), node, key
