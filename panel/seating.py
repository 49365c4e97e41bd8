"""Who sits on a panel: from names, files and objects to personas, a rubric and models.

Everything that can be wrong with them is found here, before anything is called.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from pydantic import ValidationError

import personas as persona_library
import rubrics as rubric_library
from graphs import Response
from graphs.judging import question_of
from panel.config import MODEL_SPEC, ModelConfig
from panel.errors import ConfigurationError
from panel.files.definitions import explain, load_definition, resolve
from panel.models.catalogue import Price, context_window_of, price_of
from panel.models.speaker import Speaker
from panel.models.specs import speaker_for
from personas import Persona, PersonaSet
from rubrics import Ask, Layout, Rubric, load_elicitation

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

DEFAULT_MODEL = "local:smollm2-135m"


@dataclass(frozen=True, slots=True)
class Seat:
    """A model that sits on the panel."""

    id: str
    config: ModelConfig
    speaker: Speaker
    elicitation: str
    layout: Layout

    @property
    def embedded(self) -> bool:
        return self.config.provider == "local"

    def first_ask(self, rubric: Rubric, persona: Persona, response: Response) -> Ask:
        """What a judge of this model is asked first."""
        question = question_of(rubric, persona, response, self.layout)
        return next(load_elicitation(self.elicitation).dialogue(question))

    @property
    def price(self) -> Price | None:
        return self.config.price or price_of(self.id)

    @property
    def context_window(self) -> int | None:
        if self.config.context_window is not None:
            return self.config.context_window
        if self.embedded:
            return cast(int, self.speaker.parameters["context_tokens"])
        return context_window_of(self.id)


def persona_set(given: str | Path | PersonaSet | Sequence[Persona]) -> tuple[Persona, ...]:
    if isinstance(given, str | Path):
        path = resolve(str(given), persona_library.shipped(), "persona set")
        return load_definition(path, PersonaSet).personas
    if isinstance(given, PersonaSet):
        return given.personas
    try:
        return PersonaSet(id="given", label="given", personas=tuple(given)).personas
    except ValidationError as error:
        wrong = "; ".join(", expected ".join(explain(fault)) for fault in error.errors())
        raise ConfigurationError(f"the personas cannot sit together: {wrong}") from None


def rubric_of(given: str | Path | Rubric) -> Rubric:
    if isinstance(given, Rubric):
        return given
    return load_definition(resolve(str(given), rubric_library.shipped(), "rubric"), Rubric)


def seats(
    given: Sequence[str | ModelConfig | BaseChatModel],
    elicitation: str | None,
    layout: Layout,
    n_personas: int,
    rubric: Rubric,
) -> tuple[Seat, ...]:
    """The models of a panel of `n_personas`, in the given order.

    Raises:
        ConfigurationError: one cannot be had, is there twice, or is to be asked in a way that
            cannot serve the rubric; lists all.
    """
    # Where a judge's neighbours read the same words, a provider is told to keep them.
    several = n_personas > 1 and layout == "shared-prefix"
    seats, wrong = [], []
    for one in given:
        try:
            seat = _seat(one, elicitation, layout, several, rubric)
            _refuse_unserved(seat, rubric)
            seats.append(seat)
        except ConfigurationError as error:
            wrong.append(str(error))
    if wrong:
        raise ConfigurationError("\n".join(wrong))
    if not seats:
        raise ConfigurationError("a panel needs at least one model")
    seen: set[str] = set()
    for model in seats:
        if model.id in seen:
            raise ConfigurationError(f"{model.id} is on the panel twice; name it once")
        seen.add(model.id)
    return tuple(seats)


def _seat(
    given: str | ModelConfig | BaseChatModel,
    elicitation: str | None,
    layout: Layout,
    keep_prefix: bool,
    rubric: Rubric,
) -> Seat:
    if isinstance(given, str):
        if not re.match(MODEL_SPEC, given):
            raise ConfigurationError(
                f"{given!r} is no model; write provider:name, for instance {DEFAULT_MODEL}"
            )
        given = ModelConfig(model=given)
    if isinstance(given, ModelConfig):
        expects = given.provider == "local" and not load_elicitation("expected").serves(rubric)
        default = "expected" if expects else "dimensions"
        chosen = given.elicitation or elicitation or default
        _refuse_unknown(chosen)
        return Seat(given.model, given, speaker_for(given, keep_prefix), chosen, layout)
    config, speaker = _own_model(given, keep_prefix)
    chosen = elicitation or "dimensions"
    _refuse_unknown(chosen)
    return Seat(config.model, config, speaker, chosen, layout)


def _own_model(chat: BaseChatModel, keep_prefix: bool) -> tuple[ModelConfig, Speaker]:
    from panel.models.langchain import LangChainSpeaker

    name = getattr(chat, "model", None) or getattr(chat, "model_name", None) or type(chat).__name__
    kind = re.sub(r"[^a-z0-9]+", "_", chat._llm_type.lower())
    config = ModelConfig(model=f"{kind}:{name}")
    own: Any = chat
    if hasattr(chat, "reply"):
        return config, own
    return config, LangChainSpeaker(chat, str(name), keep_prefix)


def _refuse_unknown(elicitation: str) -> None:
    known = rubric_library.elicitation_names()
    if elicitation not in known:
        raise ConfigurationError(
            f"no elicitation is called {elicitation!r}; there are {', '.join(known)}"
        )


def _refuse_unserved(seat: Seat, rubric: Rubric) -> None:
    why = load_elicitation(seat.elicitation).serves(rubric)
    if why is None:
        return
    able = [
        name
        for name in rubric_library.elicitation_names()
        if load_elicitation(name).serves(rubric) is None
    ]
    raise ConfigurationError(
        f"{seat.id}: the elicitation {seat.elicitation!r} cannot serve the rubric {rubric.id!r}: "
        f"{why}; use {' or '.join(map(repr, able))}"
    )


def beside(file: Path, name: str, shipped: dict[str, Path]) -> str | Path:
    return name if name in shipped else file.parent / name
