"""The plan of a sweep (prompts, framings, who rewrites, who answers, what judges see), and its cost
estimate.

Every fault of a sweep raises here, before anything is called.

The cache is followed as far as it goes: where a prompt has been rewritten already, the calls that
come after are counted by what was written. The rest are counted as if every variant passed at once
and were about as long as the prompt with two sentences before it."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from itertools import cycle, islice, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, get_args

import orjson

from persona_panel.calls.cache import key_of, page_of
from persona_panel.experiments.sweep.deltas import THRESHOLD
from persona_panel.files.definitions import load_definition, resolve
from persona_panel.files.errors import ConfigurationError, Fault, InputError
from persona_panel.files.outputs import prompt_id_of
from persona_panel.files.wording import shown
from persona_panel.graphs import Response
from persona_panel.graphs.framing import BASELINE, FramedResponse, Framings, Prompt
from persona_panel.graphs.rewriting import Role, rewriting
from persona_panel.graphs.sweeping import (
    JudgeSees,
    answer_text,
    question_for,
    response_key,
    response_of,
    worth_judging,
)
from persona_panel.models.config import MODEL_SPEC, ModelConfig
from persona_panel.planning.bound_models import BoundModel, Models, bind_models
from persona_panel.planning.definitions import config_of
from persona_panel.planning.panel_plan import PanelPlan, refuse_controls, refuse_if_comparative
from persona_panel.rubrics import ModelResponse
from persona_panel.runs.cost_estimate import CostEstimate, ModelEstimate, PredictedCalls

if TYPE_CHECKING:
    from persona_panel.calls.budget import Caps
    from persona_panel.runs.output import RunOutput


def shipped_framings() -> dict[str, Path]:
    """Return the YAML file of each framing set in the library, by name."""
    folder = Path(str(files("persona_panel").joinpath("library", "framings")))
    return {path.stem: path for path in sorted(folder.glob("*.yaml"))}


def framings_of(framings: str | Path | Framings) -> Framings:
    """Return a framing set: from the library by name, from a YAML file, or unchanged; raises
    InputError with every fault."""
    if isinstance(framings, Framings):
        return framings
    return load_definition(resolve(str(framings), shipped_framings(), "framing set"), Framings)


DEFAULT_FRAMINGS = "scrub"
_PARTS = {"target": "target", "rewriter": "rewriter", "checker": "rewriter"}


@dataclass(frozen=True, slots=True)
class SweepPlan:
    """A sweep that can be run; `conditions` are the framed ones. `responses` are None where they
    are to be generated, by `targets` asked for `words` words; where they are given, `targets` and
    `rewriters` are empty."""

    prompts: tuple[Prompt, ...]
    framings: Framings
    conditions: tuple[str, ...]
    systems: tuple[str, ...]
    targets: tuple[BoundModel, ...]
    rewriters: tuple[BoundModel, ...]
    responses: tuple[FramedResponse, ...] | None
    judge_sees: JudgeSees
    words: int | None
    threshold: float
    seed: int

    @property
    def endpoints(self) -> dict[str, BoundModel]:
        """Return the models other than the judges', by the name under which they are called."""
        targets = {endpoint_name("target", bound.id): bound for bound in self.targets}
        return targets | {endpoint_name("rewriter", bound.id): bound for bound in self.rewriters}

    @property
    def n_responses(self) -> int:
        """Return the number of responses to judge, if every variant passes."""
        if self.responses is not None:
            return len(self.responses)
        return len(self.prompts) * len(self.systems) * (1 + len(self.conditions))

    def dealt(self) -> dict[str, Mapping[Role, str]]:
        """Return the model that rewrites each prompt and the model that checks it. Shuffled prompts
        are dealt to the rewriters in equal shares, as in the paper (scrub.txt, appendix 15.4); the
        next rewriter checks, so that none checks its own variants where there are two."""
        if not self.rewriters:
            return {}
        order = [prompt.id for prompt in self.prompts]
        random.Random(self.seed).shuffle(order)
        names = cycle([bound.id for bound in self.rewriters])
        pairs = pairwise(islice(names, len(order) + 1))
        return {
            prompt_id: {"rewriter": rewriter, "checker": checker}
            for prompt_id, (rewriter, checker) in zip(order, pairs, strict=True)
        }

    def responses_by_prompt(self) -> dict[str, dict[str, Response]]:
        """Return the responses that are given, as judges see them, by prompt and key."""
        baselines = {prompt.id: prompt.text for prompt in self.prompts}
        by_prompt: dict[str, dict[str, Response]] = {name: {} for name in baselines}
        for each in self.responses or ():
            of = each.prompt_id, each.system, each.condition
            seen = baselines[each.prompt_id] if self.judge_sees == "baseline" else each.prompt
            by_prompt[each.prompt_id][response_key(*of)] = response_of(*of, seen, each.text)
        return by_prompt

    def manifest(self) -> dict[str, Any]:
        """Return the sweep's settings for run.json, apart from its prompts."""
        sweep = {
            "framings": self.framings.model_dump(mode="json"),
            "conditions": list(self.conditions), "systems": list(self.systems),
            "targets": [bound.document() for bound in self.targets],
            "rewriters": [bound.document() for bound in self.rewriters],
            "judge_sees": self.judge_sees, "words": self.words,
            "responses": "given" if self.responses is not None else "generated",
        }  # fmt: skip
        return {"sweep": sweep}


def endpoint_name(part: str, model: str) -> str:
    """Return the name under which a model is called in a part: a judge keeps its own name."""
    return f"{_PARTS[part]} {model}"


class Options(TypedDict, total=False):
    """The settings of a sweep that differ from the defaults.

    framings: from the library by name, the path of a YAML file, or `Framings` [scrub].
    rewriters: models that put prompts into each condition, by turns [the panel's own].
    responses: in place of targets, what systems have answered already.
    judge_sees: with a response, the question that it answers [framed], or the baseline.
    words: the approximate length that targets are asked for [none].
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


class SweepOptions(Options, total=False):
    """`Options`, and where a sweep is written, what it may spend and what is called with each of
    its events; see `Panel.asweep`."""

    out: str | Path | RunOutput | None
    caps: Caps
    on_event: Callable[[Any], None] | None


def sweep_plan_of(
    plan: PanelPlan,
    prompts: Sequence[str | Prompt] | None,
    targets: Models,
    options: Options,
) -> SweepPlan:
    """Check the settings of a sweep whose answers the plan's judges score, and make its plan.
    Raises ConfigurationError where it does not go together or a model cannot be had, InputError
    with every fault of the prompts and framings."""
    refuse_if_comparative(plan.models, "a sweep")
    refuse_controls(plan.judges, "a sweep")
    if not plan.output_rubric.numeric:
        raise ConfigurationError(
            f"a sweep compares numeric ratings, and the rubric {plan.output_rubric.id!r} has only "
            "categories; use another rubric"
        )
    judge_sees, words = options.get("judge_sees", "framed"), options.get("words")
    threshold = options.get("threshold", THRESHOLD)
    if judge_sees not in get_args(JudgeSees):
        raise ConfigurationError(
            f"judge_sees must be {' or '.join(map(repr, get_args(JudgeSees)))}, found "
            f"{judge_sees!r}"
        )
    if not threshold > 0:
        raise ConfigurationError(f"threshold must be a number above 0, found {threshold}")
    if words is not None and words < 1:
        raise ConfigurationError(f"words must be 1 or more, found {words}")
    framings = framings_of(options.get("framings", DEFAULT_FRAMINGS))
    wanted, asked = _several(targets), None if prompts is None else _identified(prompts)
    responses = options.get("responses")
    if responses is not None:
        if wanted:
            raise ConfigurationError("with responses, no targets are called; leave targets out")
        return _of_responses(asked, framings, responses, judge_sees, threshold, plan.settings.seed)
    if asked is None:
        raise ConfigurationError("a sweep needs prompts or responses; found neither")
    if not wanted:
        raise ConfigurationError("a sweep needs targets or responses; found neither")
    named = _several(options.get("rewriters", ()))
    answering = _bound(wanted, "target", plan, options.get("temperature"))
    rewriters = _bound(named, "rewriter", plan, None) if named else plan.models
    return SweepPlan(
        prompts=asked, framings=framings, conditions=framings.ids,
        systems=tuple(bound.id for bound in answering), targets=answering, rewriters=rewriters,
        responses=None, judge_sees=judge_sees, words=words, threshold=threshold,
        seed=plan.settings.seed,
    )  # fmt: skip


def _of_responses(
    asked: tuple[Prompt, ...] | None,
    framings: Framings,
    responses: Sequence[FramedResponse],
    judge_sees: JudgeSees,
    threshold: float,
    seed: int,
) -> SweepPlan:
    baselines = {each.prompt_id: each.prompt for each in responses if each.condition == BASELINE}
    if asked is None:
        asked = tuple(Prompt(id=name, text=text) for name, text in baselines.items())
    texts = {prompt.id: prompt.text for prompt in asked}
    faults = []
    for name, text in baselines.items():
        if name not in texts:
            actual = f"{shown(name)}, not among the prompts"
            faults.append(Fault("responses", actual, "a prompt's id", field="prompt_id"))
        elif texts[name] != text:
            actual = f"another text for the prompt {shown(name)}"
            expected = "the same text as among the prompts"
            faults.append(Fault("responses", actual, expected, field="prompt"))
    if faults:
        raise InputError(faults)
    present = dict.fromkeys(each.condition for each in responses if each.condition != BASELINE)
    # In the order of the framing set, and behind it what is the user's own.
    known = [name for name in framings.ids if name in present]
    return SweepPlan(
        prompts=asked, framings=framings,
        conditions=(*known, *(name for name in present if name not in known)),
        systems=tuple(dict.fromkeys(response.system for response in responses)), targets=(),
        rewriters=(), responses=tuple(responses), judge_sees=judge_sees, words=None,
        threshold=threshold, seed=seed,
    )  # fmt: skip


def _several(models: Models) -> list[Any]:
    # A text is a sequence, too, and a model's spec.
    if isinstance(models, str) or not isinstance(models, Sequence):
        return [models]
    return list(models)


def _identified(prompts: Sequence[str | Prompt]) -> tuple[Prompt, ...]:
    faults, identified, seen = [], [], set()
    for place, entry in enumerate(prompts, start=1):
        if isinstance(entry, str) and not entry.strip():
            faults.append(Fault("prompts", "an empty value", "text", place, "prompt"))
            continue
        if isinstance(entry, str):
            prompt = Prompt(id=prompt_id_of(entry), text=entry)
            again = ("the same prompt again", "each prompt once, or with an id of its own")
        else:
            prompt = entry
            again = (f"{shown(prompt.id)} again", "an id of its own for each prompt")
        if prompt.id in seen:
            field = "prompt" if isinstance(entry, str) else "id"
            faults.append(Fault("prompts", *again, place, field))
        seen.add(prompt.id)
        identified.append(prompt)
    if not prompts:
        faults.append(Fault("prompts", "no prompts", "at least one"))
    if faults:
        raise InputError(faults)
    return tuple(identified)


def _bound(
    specs: list[Any], part: str, plan: PanelPlan, temperature: float | None
) -> tuple[BoundModel, ...]:
    """Bind the models of a part. A model that is the panel's, too, has the panel's settings."""
    known = {bound.id: bound.config for bound in plan.models}
    configs: list[Any] = []
    for spec in specs:
        config = known.get(spec, spec) if isinstance(spec, str) else spec
        if isinstance(config, str) and re.match(MODEL_SPEC, config):
            config = config_of(config)
        if isinstance(config, ModelConfig) and temperature is not None:
            config = config.model_copy(update={"temperature": temperature})
        configs.append(config)
    counts = Counter(config.id for config in configs if isinstance(config, ModelConfig))
    for name in [name for name, n in counts.items() if n > 1]:
        raise ConfigurationError(
            f"{name} is a {part} twice; leave one out, or give each a `name` of its own"
        )
    return bind_models(configs, None, "shared-prefix", 1, plan.rubric)


_LEAD_IN = " I keep hearing people say so, and the longer I think of it the surer I am." * 2
_WORD = "quality "
_USUAL_WORDS = 400


def before_judging(
    plan: SweepPlan, predicted: PredictedCalls
) -> tuple[list[CostEstimate], list[Response]]:
    """Return the estimates by rewriter and by target (`judgments` are calls there), and the
    responses to judge."""
    rewriters = {bound.id: ModelEstimate(bound) for bound in plan.rewriters}
    targets = {bound.id: ModelEstimate(bound) for bound in plan.targets}
    batch: list[Response] = []
    if plan.responses is not None:
        for responses in plan.responses_by_prompt().values():
            batch += [responses[key] for key in worth_judging(responses)]
    else:
        dealt = plan.dealt()
        for prompt in plan.prompts:
            for part in (*rewriters.values(), *targets.values()):
                part.next_response()
            roles = {role: rewriters[name] for role, name in dealt[prompt.id].items()}
            texts = _variants(plan, prompt, roles, predicted)
            answers: dict[str, Response] = {}
            for part in targets.values():
                answers |= _answers(plan, prompt, texts, part, predicted)
            batch += [answers[key] for key in worth_judging(answers)]
    counts = [
        *(part.estimate("rewriter") for part in rewriters.values()),
        *(part.estimate("target") for part in targets.values()),
    ]
    return counts, batch


def _variants(
    plan: SweepPlan,
    prompt: Prompt,
    roles: Mapping[Role, ModelEstimate],
    predicted: PredictedCalls,
) -> dict[str, str]:
    """Return the text of each condition, from the cache or made up."""
    made_up = {
        name: _passing(f"{n}{prompt.text}{_LEAD_IN}") for n, name in enumerate(plan.conditions)
    }
    names = (roles["rewriter"].bound.id, roles["checker"].bound.id)
    dialogue = rewriting(prompt, plan.framings, *names)
    step = next(dialogue)
    while True:
        part = roles[step.role]
        part.of += 1
        page, key = page_of(part.bound.client.parameters, prompt.text), key_of(step.request, 1)
        reply = predicted.reply(page, key)
        if reply is None:
            # A reply as it should be brings the dialogue to its next step.
            hoped: dict[str, Any] = dict(made_up)
            if step.role == "checker":
                hoped = dict.fromkeys((step.request.schema or {})["properties"], True)
            reply = ModelResponse(orjson.dumps(hoped).decode())
            part.add_new(predicted, page, step.request, part.count(reply.text))
        try:
            step = dialogue.send(reply)
        except StopIteration as done:
            return {
                variant.condition: variant.text
                for variant in done.value.variants
                if variant.used and variant.text is not None
            }


def _passing(text: str) -> str:
    """Return a made-up variant about as long as a text, which no rule for real ones can drop: one
    word of letters repeats no phrase and names nothing, and equals no other text, as it begins with
    a number of its own and is longer than the prompt."""
    return "v" + "".join(filter(str.isalnum, text)).ljust(len(text), "x")


def _answers(
    plan: SweepPlan,
    prompt: Prompt,
    texts: dict[str, str],
    part: ModelEstimate,
    predicted: PredictedCalls,
) -> dict[str, Response]:
    """Return a target's answers to each condition, from the cache or made up, by the key of
    each."""
    if not texts:
        return {}
    system = part.bound.id
    answers = {}
    for condition, text in {BASELINE: prompt.text, **texts}.items():
        request = question_for(text, plan.words)
        part.of += 1
        page, key = page_of(part.bound.client.parameters, prompt.text), key_of(request, 1)
        if (reply := predicted.reply(page, key)) is not None:
            answered = answer_text(reply)
        else:
            # Answers must differ: equal ones would count as read only once.
            answered = f"{system} {key.hex()[:8]} " + _WORD * (plan.words or _USUAL_WORDS)
            part.add_new(predicted, page, request, part.count(answered))
        if answered is not None:
            seen = prompt.text if plan.judge_sees == "baseline" else text
            answers[response_key(prompt.id, system, condition)] = response_of(
                prompt.id, system, condition, seen, answered
            )
    return answers
