"""What there is to generate: each prompt by each target, once for each sample."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, TypeAlias

from persona_panel.calls.cache import key_of, page_of
from persona_panel.experiments.generation.request import Instructions, request_for
from persona_panel.experiments.generation.texts import (
    n_words,
    questions_of,
    reads_as_refusal,
    trimmed,
)
from persona_panel.files.digests import sha256_of
from persona_panel.files.errors import ConfigurationError
from persona_panel.files.generation_prompts import GenerationPrompt
from persona_panel.graphs.framing import BASELINE
from persona_panel.graphs.sweeping import TargetAnswer, response_id
from persona_panel.models.config import ModelConfig
from persona_panel.plan.bound_models import BoundModel, bind_writers
from persona_panel.plan.definitions import config_of
from persona_panel.plan.panel_plan import prices_document
from persona_panel.rubrics import ModelRequest

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

    from persona_panel.models.client import ModelClient

TargetModel: TypeAlias = "str | ModelConfig | ModelClient | BaseChatModel"

_OURS = frozenset({"prompt_id", "id", "prompt", "condition", "context", "system", "response"})


@dataclass(frozen=True, slots=True)
class WantedText:
    """One text to be generated: for which prompt, by whom, for which time, from 1 on.

    `digest` is of all that decides what it can be.
    """

    prompt: GenerationPrompt
    target: str
    sample: int
    request: ModelRequest
    digest: str

    @property
    def id(self) -> str:
        """What the text is called among those for its prompt."""
        named = self.target
        if self.prompt.condition is not None:
            named = response_id(self.target, self.prompt.condition)
        return named if self.sample == 1 else f"{named}#{self.sample}"

    def unanswered(self) -> TargetAnswer:
        """The text as one that there is not yet."""
        condition = self.prompt.condition or BASELINE
        return TargetAnswer(
            self.prompt.id, self.target, condition, self.prompt.text, None, "failed"
        )


@dataclass(frozen=True)
class GenerationPlan:
    """What there is to generate, and how.

    Attributes:
        prompts: what is asked.
        targets: the models that write.
        samples: how many texts each writes for a prompt.
        words: the length that they are asked for.
        max_words: where longer texts are cut, at the end of a sentence.
        instructions: in which words they are asked; None, in the prompt's own.
        questions: whether each question of a text becomes a row of its own.
    """

    prompts: tuple[GenerationPrompt, ...]
    targets: tuple[BoundModel, ...]
    samples: int = 1
    words: int | None = None
    max_words: int | None = None
    instructions: Instructions | None = None
    questions: bool = False
    wanted: tuple[WantedText, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "wanted", tuple(self._wanted()))

    @property
    def endpoints(self) -> dict[str, BoundModel]:
        """The targets by their names."""
        return {bound.id: bound for bound in self.targets}

    def _wanted(self) -> Iterator[WantedText]:
        parameters = {bound.id: bound.client.parameters for bound in self.targets}
        for prompt in self.prompts:
            request = request_for(prompt, self.words, self.max_words, self.instructions)
            for bound in self.targets:
                page = page_of(parameters[bound.id], prompt.text)
                for sample in range(1, self.samples + 1):
                    made_of = page.encode() + key_of(request, sample)
                    digest = sha256(made_of).hexdigest()[:16]
                    yield WantedText(prompt, bound.id, sample, request, digest)

    def rows_of(self, wanted: WantedText, answer: TargetAnswer) -> list[dict[str, Any]]:
        """The lines of the output for an answer: one, or one for each of its questions."""
        text = str(answer.text)
        refused = answer.declined or reads_as_refusal(text)
        if not self.questions:
            return [self._row(wanted, answer, wanted.id, text, refused)]
        asked = () if refused else questions_of(text)
        return [
            self._row(wanted, answer, f"{wanted.id}/q{number}", question, refused)
            for number, question in enumerate(asked, start=1)
        ]

    def _row(
        self, wanted: WantedText, answer: TargetAnswer, name: str, text: str, refused: bool
    ) -> dict[str, Any]:
        prompt = wanted.prompt
        kept = text if self.max_words is None else (cut := trimmed(text, self.max_words)).text
        row: dict[str, Any] = {"prompt_id": prompt.id, "id": name, "prompt": prompt.text}
        if prompt.condition is not None:
            row["condition"] = prompt.condition
        if prompt.context is not None:
            row["context"] = prompt.context
        row |= {
            "system": wanted.target,
            "response": kept,
            "sample": wanted.sample,
            "words": n_words(kept),
            "words_generated": n_words(text),
            "trimmed": None if self.max_words is None else cut.at,
            "cut_off": answer.cut_off,
            "refused": refused,
            "request": wanted.digest,
        }
        # Never in the place of a field of ours.
        more = {
            given if given not in row and given not in _OURS else f"prompt_{given}": value
            for given, value in prompt.metadata.items()
        }
        return row | more

    def document(self) -> dict[str, Any]:
        """What the manifest says of it: all that decides what the texts can be."""
        instructions = self.instructions
        return {
            "command": "generate",
            "version": version("persona-panel"),
            "prompts": len(self.prompts),
            "targets": [
                {
                    "id": bound.id,
                    "model": bound.config.model,
                    "seed": bound.config.options.get("seed"),
                    "parameters": dict(bound.client.parameters),
                }
                for bound in self.targets
            ],
            "samples": self.samples,
            "words": self.words,
            "max_words": self.max_words,
            "questions": self.questions,
            "instructions": instructions
            and {
                "name": instructions.name,
                "sha256": sha256_of(instructions.text),
                "text": instructions.text,
            },
            "prices": prices_document({bound.id: bound.price for bound in self.targets}),
        }


def generation_plan(
    prompts: Sequence[GenerationPrompt],
    targets: Sequence[TargetModel],
    *,
    samples: int = 1,
    words: int | None = None,
    max_words: int | None = None,
    temperature: float | None = None,
    instructions: Instructions | None = None,
    questions: bool = False,
) -> GenerationPlan:
    """Check what is wanted, and put it together; see `GenerationPlan`.

    `temperature` is that of the targets, in place of their own.

    Raises:
        ConfigurationError: a target cannot be had, is there twice, or answers alike each time
            where there are several samples.
    """
    given: list[Any] = []
    for one in targets:
        config = config_of(one) if isinstance(one, str) else one
        if isinstance(config, ModelConfig) and temperature is not None:
            config = config.model_copy(update={"temperature": temperature})
        given.append(config)
    bound = bind_writers(given, "target")
    if not bound:
        raise ConfigurationError("texts are generated by targets, and there is none; name one")
    _refuse_same_samples(bound, samples)
    return GenerationPlan(tuple(prompts), bound, samples, words, max_words, instructions, questions)


def _refuse_same_samples(targets: Sequence[BoundModel], samples: int) -> None:
    repeats = [bound.id for bound in targets if bound.capabilities.deterministic_text]
    if samples > 1 and repeats:
        raise ConfigurationError(
            f"{repeats[0]} gives the same answer every time, so that its {samples} samples would "
            "be one text; set --temperature above 0, or leave out --samples"
        )


def texts_by_target(wanted: Sequence[WantedText]) -> Mapping[str, int]:
    """How many texts there are to be of each target."""
    found: dict[str, int] = {}
    for one in wanted:
        found[one.target] = found.get(one.target, 0) + 1
    return found
