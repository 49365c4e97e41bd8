"""What a sweep is to do: prompts, framings, who rewrites, who answers, what judges see.

Everything that can be wrong with it is found here, before anything is called.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, get_args

from graphs.framing import BASELINE, FramedResponse, Framings, Prompt
from graphs.rewriting import Role
from graphs.sweeping import JudgeSees
from panel.config import MODEL_SPEC, ModelConfig
from panel.errors import ConfigurationError, Fault, InputError
from panel.files.wording import shown
from panel.seating import Seat, seats
from panel.sweep.deltas import THRESHOLD
from panel.sweep.library import framings_of
from rubrics import Rubric

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

    Model = str | ModelConfig | BaseChatModel
    Models = Model | Sequence[Model]

DEFAULT_FRAMINGS = "scrub"
_PARTS = {"target": "target", "rewriter": "rewriter", "checker": "rewriter"}


@dataclass(frozen=True, slots=True)
class Plan:
    """A sweep that can be run.

    `conditions` are the framed ones. `responses` are None where they are to be generated;
    `targets` and `rewriters` are empty where they are given. `words` is the length that
    targets are asked for.
    """

    prompts: tuple[Prompt, ...]
    framings: Framings
    conditions: tuple[str, ...]
    systems: tuple[str, ...]
    targets: tuple[Seat, ...]
    rewriters: tuple[Seat, ...]
    responses: tuple[FramedResponse, ...] | None
    judge_sees: JudgeSees
    words: int | None
    threshold: float
    seed: int

    @property
    def lines(self) -> dict[str, Seat]:
        """The models besides the judges', by the name under which they are called."""
        lines = {line_of("target", seat.id): seat for seat in self.targets}
        return lines | {line_of("rewriter", seat.id): seat for seat in self.rewriters}

    @property
    def n_responses(self) -> int:
        """How many responses there are to judge, if every variant passes."""
        if self.responses is not None:
            return len(self.responses)
        return len(self.prompts) * len(self.systems) * (1 + len(self.conditions))

    def dealt(self) -> dict[str, Mapping[Role, str]]:
        """Who rewrites each prompt and who checks it.

        Shuffled prompts are dealt to the rewriters in equal shares, as in the paper
        (scrub.txt, appendix 15.4); the next rewriter checks, so that where there are two
        none checks itself.
        """
        if not self.rewriters:
            return {}
        names = [seat.id for seat in self.rewriters]
        order = [prompt.id for prompt in self.prompts]
        random.Random(self.seed).shuffle(order)
        return {
            prompt_id: {
                "rewriter": names[place % len(names)],
                "checker": names[(place + 1) % len(names)],
            }
            for place, prompt_id in enumerate(order)
        }

    def manifest(self) -> dict[str, Any]:
        """What makes the sweep what it is, for run.json; more prompts make no other."""
        sweep = {
            "framings": self.framings.model_dump(mode="json"),
            "conditions": list(self.conditions),
            "systems": list(self.systems),
            "targets": [_parameters(seat) for seat in self.targets],
            "rewriters": [_parameters(seat) for seat in self.rewriters],
            "judge_sees": self.judge_sees,
            "words": self.words,
            "responses": "given" if self.responses is not None else "generated",
        }
        return {"sweep": sweep, "asked": [prompt.model_dump() for prompt in self.prompts]}


def line_of(part: str, model: str) -> str:
    """The name under which a model is called in a part: a judge's goes by its own."""
    return f"{_PARTS[part]} {model}"


class Options(TypedDict, total=False):
    """How a sweep is done, where it is not as usual.

    framings: from the library by name, the path of a YAML file, or `Framings` [scrub].
    rewriters: models that put prompts into each condition, by turns [the panel's own].
    responses: in place of targets, what systems have answered already.
    judge_sees: with a response, the question that it answers [framed], or the baseline.
    words: about how long answers are to be; targets are told so [they are told nothing].
    temperature: of the targets [their own].
    threshold: |Δ| from which a cell is marked as strong [1.2].
    """

    framings: str | Path | Framings
    rewriters: Models
    responses: Sequence[FramedResponse] | None
    judge_sees: JudgeSees
    words: int | None
    temperature: float | None
    threshold: float


def plan_of(
    prompts: Sequence[str | Prompt] | None,
    targets: Models,
    options: Options,
    panel: Sequence[Seat],
    rubric: Rubric,
    rated: Rubric,
    seed: int,
) -> Plan:
    """Check what is wanted and put it together.

    `panel` are the judges' models, `rubric` what they are asked and `rated` what they answer.

    Raises:
        ConfigurationError: it does not go together, or a model cannot be had.
        InputError: the prompts or framings are not usable; lists every fault.
    """
    if not rated.numeric:
        raise ConfigurationError(
            f"a sweep compares numbers, and the rubric {rated.id!r} has categories only"
        )
    judge_sees, words = options.get("judge_sees", "framed"), options.get("words")
    threshold = options.get("threshold", THRESHOLD)
    if judge_sees not in get_args(JudgeSees):
        raise ConfigurationError(
            f"judge_sees is {' or '.join(map(repr, get_args(JudgeSees)))}, found {judge_sees!r}"
        )
    if not threshold > 0:
        raise ConfigurationError(f"the threshold is a number above 0, found {threshold}")
    if words is not None and words < 1:
        raise ConfigurationError(f"words is 1 or more, found {words}")
    framings = framings_of(options.get("framings", DEFAULT_FRAMINGS))
    wanted, asked = _several(targets), None if prompts is None else _identified(prompts)
    responses = options.get("responses")
    if responses is not None:
        if wanted:
            raise ConfigurationError("responses that are given need no targets: leave them out")
        return _given(asked, framings, responses, judge_sees, threshold, seed)
    if asked is None:
        raise ConfigurationError("a sweep needs prompts, or responses that are there already")
    if not wanted:
        raise ConfigurationError("a sweep needs a target, or responses that are there already")
    named = _several(options.get("rewriters", ()))
    seated = _seated(wanted, "target", panel, rubric, options.get("temperature"))
    return Plan(
        prompts=asked,
        framings=framings,
        conditions=framings.ids,
        systems=tuple(seat.id for seat in seated),
        targets=seated,
        rewriters=_seated(named, "rewriter", panel, rubric, None) if named else tuple(panel),
        responses=None,
        judge_sees=judge_sees,
        words=words,
        threshold=threshold,
        seed=seed,
    )


def _given(
    asked: tuple[Prompt, ...] | None,
    framings: Framings,
    responses: Sequence[FramedResponse],
    judge_sees: JudgeSees,
    threshold: float,
    seed: int,
) -> Plan:
    baselines = {one.prompt_id: one.prompt for one in responses if one.condition == BASELINE}
    if asked is None:
        asked = tuple(Prompt(id=name, text=text) for name, text in baselines.items())
    _refuse_strangers(asked, baselines)
    present = dict.fromkeys(one.condition for one in responses if one.condition != BASELINE)
    # In the order of the framing set, and behind it what is the user's own.
    known = [name for name in framings.ids if name in present]
    conditions = (*known, *(name for name in present if name not in known))
    return Plan(
        prompts=asked,
        framings=framings,
        conditions=conditions,
        systems=tuple(dict.fromkeys(one.system for one in responses)),
        targets=(),
        rewriters=(),
        responses=tuple(responses),
        judge_sees=judge_sees,
        words=None,
        threshold=threshold,
        seed=seed,
    )


def _refuse_strangers(prompts: Sequence[Prompt], baselines: Mapping[str, str]) -> None:
    """Refuse responses to other prompts than those that are given beside them."""
    texts = {prompt.id: prompt.text for prompt in prompts}
    faults = []
    for name, text in baselines.items():
        if name not in texts:
            faults.append(
                Fault("responses", f"{shown(name)}, which is none of the prompts", "a prompt's id",
                      field="prompt_id")
            )  # fmt: skip
        elif texts[name] != text:
            faults.append(
                Fault("responses", f"another text for the prompt {shown(name)}",
                      "the same text as among the prompts", field="prompt")
            )  # fmt: skip
    if faults:
        raise InputError(faults)


def _several(given: Models) -> list[Any]:
    # A text is a sequence, too, and a model's spec.
    if isinstance(given, str) or not isinstance(given, Sequence):
        return [given]
    return list(given)


def _identified(prompts: Sequence[str | Prompt]) -> tuple[Prompt, ...]:
    faults, found, seen = [], [], set()
    for place, given in enumerate(prompts, start=1):
        if isinstance(given, str) and not given.strip():
            faults.append(Fault("prompts", "an empty value", "text", place, "prompt"))
            continue
        prompt = Prompt(id=f"p{place}", text=given) if isinstance(given, str) else given
        if prompt.id in seen:
            faults.append(
                Fault("prompts", f"{shown(prompt.id)} again", "an id of its own for each prompt",
                      place, "id")
            )  # fmt: skip
        seen.add(prompt.id)
        found.append(prompt)
    if not prompts:
        faults.append(Fault("prompts", "no prompts", "at least one"))
    if faults:
        raise InputError(faults)
    return tuple(found)


def _seated(
    given: list[Any],
    part: str,
    panel: Sequence[Seat],
    rubric: Rubric,
    temperature: float | None,
) -> tuple[Seat, ...]:
    """Models in a part. One that sits on the panel, too, is reached as it is there."""
    known = {seat.id: seat.config for seat in panel}
    configs: list[Any] = []
    for one in given:
        config = known.get(one, one) if isinstance(one, str) else one
        if isinstance(config, str) and re.match(MODEL_SPEC, config):
            config = ModelConfig(model=config)
        if isinstance(config, ModelConfig) and temperature is not None:
            config = config.model_copy(update={"temperature": temperature})
        configs.append(config)
    names = [config.model for config in configs if isinstance(config, ModelConfig)]
    for name in names:
        if names.count(name) > 1:
            raise ConfigurationError(f"{name} is a {part} twice; name it once")
    return seats(configs, None, "shared-prefix", 1, rubric)


def _parameters(seat: Seat) -> dict[str, Any]:
    return {"id": seat.id, "parameters": dict(seat.speaker.parameters)}
