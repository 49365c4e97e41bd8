"""Who sits on a panel: from names, files and objects to personas, a rubric and models.

Everything that can be wrong with them is found here, before anything is called.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from pydantic import ValidationError

import personas as persona_library
import rubrics as rubric_library
from graphs import Judge, Response
from graphs.deliberation import Deliberation
from graphs.judging import question_of
from graphs.side_by_side import Sheet, sheets
from panel.config import MODEL_SPEC, ModelConfig
from panel.errors import ConfigurationError
from panel.files.definitions import load_definition, resolve
from panel.files.wording import explain
from panel.models.catalogue import Price, context_window_of, price_of
from panel.models.speaker import Speaker
from panel.models.specs import speaker_for
from personas import Persona, PersonaSet
from rubrics import Ask, CategoryScale, Layout, Rubric, alike, load_comparing, load_elicitation

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

    @property
    def apart(self) -> bool:
        """Whether it is asked for each dimension in a call of its own, where that can be: it
        may be too small for all at once, and rereads nothing."""
        return self.embedded

    @property
    def repeats(self) -> bool:
        """Whether it gives the same answer however often it is asked."""
        reads = load_elicitation(self.elicitation).NEEDS_LOGPROBS
        return self.embedded and (reads or not self.config.temperature)

    def first_ask(self, rubric: Rubric, persona: Persona, response: Response) -> Ask:
        """What a judge of this model is asked first."""
        question = question_of(rubric, persona, response, self.layout, apart=self.apart)
        return next(load_elicitation(self.elicitation).dialogue(question))

    def sheets(
        self,
        rubric: Rubric,
        persona: Persona,
        judge: Judge,
        responses: Sequence[Response],
        seed: int,
    ) -> Iterator[Sheet]:
        """What a judge of this model, one that compares, is asked about responses."""
        return sheets(rubric, persona, judge, responses, self.layout, seed)

    def ask_about(self, sheet: Sheet) -> Ask:
        """What a judge is asked first about them."""
        return next(load_comparing(self.elicitation).dialogue(sheet.comparison))

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
    n_voices: int,
    rubric: Rubric,
) -> tuple[Seat, ...]:
    """The models of a panel, through each of which `n_voices` judges speak, in the given order.

    Raises:
        ConfigurationError: one cannot be had, is there twice, or its elicitation cannot
            serve the rubric; lists all.
    """
    # Where a judge's neighbours read the same words, a provider is told to keep them.
    several = n_voices > 1 and layout == "shared-prefix"
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


def rated_by(seats: Sequence[Seat], rubric: Rubric) -> Rubric:
    """The rubric as the ratings of these models come: their dimensions, on their scales.

    Raises:
        ConfigurationError: they rate different dimensions, or on different scales. A mean of
            theirs would mix what cannot be compared; gaps would leave no composite.
    """
    by_elicitation = {
        seat.elicitation: load_elicitation(seat.elicitation).rated(rubric) for seat in seats
    }
    first = next(iter(by_elicitation.values()))
    if all(rated == first for rated in by_elicitation.values()):
        return first
    told = "; ".join(
        f"{' and '.join(seat.id for seat in seats if seat.elicitation == name)} by {name!r}, "
        f"which rates {_told(rated)}"
        for name, rated in by_elicitation.items()
    )
    raise ConfigurationError(
        f"the models of a panel must rate the same dimensions on the same scales, and these do "
        f"not: {told}; run them as panels of their own"
    )


def _told(rubric: Rubric) -> str:
    """Dimensions with their scales, those that follow each other on the same one together."""
    parts: list[str] = []
    for scale, group in groupby(rubric.dimensions, key=lambda dimension: dimension.scale):
        names = ", ".join(dimension.id for dimension in group)
        if isinstance(scale, CategoryScale):
            parts.append(f"{names} by {len(scale.names)} categories")
        else:
            parts.append(f"{names} from {scale.min:g} to {scale.max:g}")
    return " and ".join(parts)


def refuse_repeats(seats: Sequence[Seat], replicates: int) -> None:
    """Several answers of a judge are annotators of their own only where they can differ.

    Raises:
        ConfigurationError: a model would give the same answer each time.
    """
    if replicates == 1:
        return
    for seat in seats:
        if seat.repeats:
            raise ConfigurationError(
                f"{seat.id}, asked by {seat.elicitation!r}, gives the same answer every time, so "
                f"that {replicates} replicates are one annotator counted {replicates} times: "
                "leave replicates out, or give the model a temperature in a panel file and an "
                "elicitation that reads what it writes, such as 'dimensions'"
            )


def refuse_unrevealed(seats: Sequence[Seat], deliberation: Deliberation | None) -> None:
    """Judges can only be shown reasons that are given.

    Raises:
        ConfigurationError: a model's elicitation gives none.
    """
    if deliberation is None or deliberation.reveal == "scores":
        return
    without = [seat for seat in seats if not load_elicitation(seat.elicitation).GIVES_REASONS]
    if without:
        told = ", ".join(f"{seat.id} by {seat.elicitation!r}" for seat in without)
        raise ConfigurationError(
            f"deliberation cannot reveal {deliberation.reveal}: {told} gives no reasons; use the "
            "elicitation 'justified', or reveal scores"
        )


def config_of(spec: str) -> ModelConfig:
    """The model that a spec names, without limits of its own.

    Raises:
        ConfigurationError: it is no `provider:name`.
    """
    if not re.match(MODEL_SPEC, spec):
        raise ConfigurationError(
            f"{spec!r} is no model; write provider:name, for instance {DEFAULT_MODEL}"
        )
    return ModelConfig(model=spec)


def _seat(
    given: str | ModelConfig | BaseChatModel,
    elicitation: str | None,
    layout: Layout,
    keep_prefix: bool,
    rubric: Rubric,
) -> Seat:
    if isinstance(given, str):
        given = config_of(given)
    if isinstance(given, ModelConfig):
        expects = given.provider == "local" and not load_elicitation("expected").serves(rubric)
        default = "expected" if expects else "dimensions"
        chosen = given.elicitation or elicitation or default
        _refuse_unknown(chosen)
        keep_prefix = keep_prefix and alike(chosen)
        return Seat(given.model, given, speaker_for(given, keep_prefix), chosen, layout)
    chosen = elicitation or "dimensions"
    _refuse_unknown(chosen)
    config, speaker = _own_model(given, keep_prefix and alike(chosen))
    return Seat(config.model, config, speaker, chosen, layout)


def _own_model(chat: BaseChatModel, keep_prefix: bool) -> tuple[ModelConfig, Speaker]:
    from panel.models.langchain import LangChainSpeaker

    name = getattr(chat, "model", None) or getattr(chat, "model_name", None) or type(chat).__name__
    kind = re.sub(r"[^a-z0-9]+", "_", chat._llm_type.lower())
    config = ModelConfig(model=f"{kind}:{name}")
    own: Any = chat
    if hasattr(chat, "reply"):
        return config, own
    speaker = LangChainSpeaker(chat, str(name), timeout_s=config.timeout, keep_prefix=keep_prefix)
    return config, speaker


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
