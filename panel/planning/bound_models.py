"""Models as a panel calls them, also those that a user has made.

Models as a panel calls them: each with its settings, its client and how it is asked.

Every fault of a model raises when it is bound, before anything is called.
"""

from __future__ import annotations

import json
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import persona_panel.rubrics as rubric_library
from persona_panel.calls.endpoint import AnswerLimit
from persona_panel.files.errors import ConfigurationError
from persona_panel.files.secrets import credentials_in, scrub
from persona_panel.graphs import Judge, Response
from persona_panel.graphs.records import ComparisonTask, comparison_tasks, question_of
from persona_panel.models.client import Capabilities, ModelClient
from persona_panel.models.config import (
    FREE,
    ModelConfig,
    Price,
    context_window_of,
    facts_of,
    price_of,
    reasoning_room,
)
from persona_panel.models.providers import client_for
from persona_panel.personas import Persona
from persona_panel.planning.definitions import config_of
from persona_panel.rubrics import (
    Layout,
    ModelRequest,
    Rubric,
    load_comparing,
    load_elicitation,
    shares_prefix,
)
from persona_panel.rubrics.extensions import ExtensionError

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel


AnyModel: TypeAlias = "str | ModelConfig | ModelClient | BaseChatModel"
"""A model as a user names it: by its spec or settings, or as an object."""
Models: TypeAlias = "AnyModel | Sequence[AnyModel]"


@dataclass(frozen=True, slots=True)
class GivenModel:
    """A chat model given as an object.

    Its pickle is what LangChain's own serialization makes of it, with the names of environment
    variables in the place of keys. Raises ConfigurationError: when pickled, its class does not
    allow that, or a secret would be in the pickle; when unpickled, the environment lacks a key."""

    chat: BaseChatModel | ModelClient

    def config(self) -> ModelConfig:
        """Return the model's name and the limits that all models have."""
        kind = str(getattr(self.chat, "_llm_type", type(self.chat).__name__))
        return ModelConfig(model=f"{re.sub(r'[^a-z0-9]+', '_', kind.lower())}:{self._name()}")

    def client(self, config: ModelConfig, keep_prefix: bool) -> ModelClient:
        """Return a client for it; a chat model is called through LangChain unless it is a client,
        too. Raises ConfigurationError: it is neither a client nor a chat model."""
        chat = self.chat
        if isinstance(chat, ModelClient):
            return chat
        from langchain_core.language_models import BaseChatModel

        from persona_panel.models.langchain import LangChainClient

        if not isinstance(chat, BaseChatModel):
            raise ConfigurationError(
                "a model is provider:name, a ModelConfig, a ModelClient or a LangChain chat model, "
                f"found {type(chat).__name__}"
            )
        return LangChainClient(
            chat, self._name(), timeout_s=config.timeout, keep_prefix=keep_prefix
        )

    @property
    def temperature(self) -> float | None:
        """Return the temperature set on the object; None where its class has no such setting, or
        none is set."""
        temperature = getattr(self.chat, "temperature", None)
        return float(temperature) if isinstance(temperature, int | float) else None

    def _name(self) -> str:
        chat = self.chat
        name = getattr(chat, "model", None) or getattr(chat, "model_name", None)
        return str(name or type(chat).__name__)

    def __reduce__(self) -> tuple[Callable[..., GivenModel], tuple[Any, ...]]:
        return _revived, (type(self.chat), self._serialized())

    def _serialized(self) -> str:
        from langchain_core.language_models import BaseChatModel
        from langchain_core.load import dumpd

        from persona_panel.models.langchain import identity_of, secrets_of

        if not isinstance(self.chat, BaseChatModel):
            raise self._refused("it is not a chat model of LangChain's")
        document = dumpd(self.chat)
        if document.get("type") != "constructor":
            raise self._refused("its class does not let LangChain serialize it")
        text = json.dumps(document)
        if scrub(text, [secret for secret in secrets_of(self.chat) if secret]) != text:
            raise self._refused("a key or password stands in its settings")
        # A setting that gets lost would change the answers.
        try:
            again = _loaded(document, type(self.chat), dict.fromkeys(_secrets_in(document), "-"))
            same = identity_of(again) == identity_of(self.chat)
        except Exception as error:
            raise self._refused(
                f"it cannot be made anew from what LangChain serializes ({type(error).__name__})"
            ) from None
        if not same:
            raise self._refused("LangChain does not serialize all of its settings")
        return text

    def _refused(self, why: str) -> ConfigurationError:
        return ConfigurationError(
            f"{self.config().model} was given as an object of {type(self.chat).__name__} and "
            f"cannot be pickled: {why}; give it as a spec, such as 'openai:gpt-5', or as a "
            "ModelConfig, which names the environment variable of its key"
        )


def _revived(kind: type[BaseChatModel], serialized: str) -> GivenModel:
    try:
        return GivenModel(_loaded(json.loads(serialized), kind, None))
    # Each provider's package refuses in its own way.
    except Exception as error:
        names = ", ".join(sorted(_secrets_in(json.loads(serialized)))) or "none"
        raise ConfigurationError(
            f"a model of {kind.__name__} cannot be made anew here: {scrub(str(error))[:300]} (the "
            f"environment variables that it takes its keys from: {names})"
        ) from None


def _loaded(
    document: Mapping[str, Any], kind: type[BaseChatModel], secrets: dict[str, str] | None
) -> BaseChatModel:
    from langchain_core.load import load

    with warnings.catch_warnings():
        # LangChain calls `load` a beta.
        warnings.simplefilter("ignore")
        chat: BaseChatModel = load(
            document,
            allowed_objects=[kind],
            valid_namespaces=[kind.__module__.partition(".")[0]],
            secrets_map=secrets,
            secrets_from_env=secrets is None,
        )
    return chat


def _secrets_in(document: Any) -> Iterator[str]:
    """Yield the environment variables that stand for keys in a serialized object."""
    if isinstance(document, Mapping):
        if document.get("type") == "secret":
            yield from document["id"]
        else:
            for inner in document.values():
                yield from _secrets_in(inner)
    elif isinstance(document, list):
        for inner in document:
            yield from _secrets_in(inner)


@dataclass(frozen=True)
class BoundModel:
    """A model of a panel.

    `keep_prefix`: several requests begin alike, and a provider that has to be told so is told.
    `user_model` is the user's own chat model, None where `config` says which model it is.

    Its pickle has neither the client nor a key: where it is unpickled, the client is made anew
    when it is first needed, with keys from the environment there.
    """

    id: str
    config: ModelConfig
    elicitation: str
    layout: Layout
    keep_prefix: bool = False
    user_model: GivenModel | None = None

    @cached_property
    def client(self) -> ModelClient:
        """Return the client, made when first needed. Raises ConfigurationError: a provider,
        package, key or file is missing; says which."""
        if self.user_model is not None:
            return self.user_model.client(self.config, self.keep_prefix)
        return client_for(self.config, self.keep_prefix)

    def __getstate__(self) -> dict[str, Any]:
        if any(credentials_in(self.config.base_url or "")):
            raise ConfigurationError(
                f"{self.id} cannot be pickled: its base_url holds a key or password, which would "
                "be in the pickle; put it into an environment variable, and the variable's name "
                "into key_env"
            )
        return {name: value for name, value in vars(self).items() if name != "client"}

    def document(self) -> dict[str, Any]:
        """Return the model as manifests have it: all that decides what it says."""
        parameters = dict(self.client.parameters)
        return {"id": self.id, "model": self.config.model, "parameters": parameters}

    @property
    def capabilities(self) -> Capabilities:
        return self.client.capabilities

    @property
    def one_call_per_dimension(self) -> bool:
        return self.capabilities.one_call_per_dimension

    @property
    def repeats(self) -> bool:
        """Return whether the model gives the same answer however often it is asked."""
        if load_elicitation(self.elicitation).NEEDS_LOGPROBS:
            return self.capabilities.deterministic_logprobs
        return self.capabilities.deterministic_text

    @property
    def is_deterministic(self) -> bool:
        """Return whether another answer would differ too little to count as one: of a model that
        repeats itself, at temperature 0, or of the probabilities of its answer."""
        reads_probabilities = load_elicitation(self.elicitation).NEEDS_LOGPROBS
        return self.repeats or self.temperature == 0 or reads_probabilities

    @property
    def temperature(self) -> float | None:
        """Return the temperature that is set; None where the provider's default holds."""
        if self.user_model is not None:
            return self.user_model.temperature
        return self.config.temperature

    def first_request(self, rubric: Rubric, persona: Persona, response: Response) -> ModelRequest:
        """Return the first request of a judge of this model."""
        question = question_of(
            rubric,
            persona,
            response,
            self.layout,
            one_call_per_dimension=self.one_call_per_dimension,
        )
        return next(load_elicitation(self.elicitation).dialogue(question))

    def comparison_tasks(
        self,
        rubric: Rubric,
        persona: Persona,
        judge: Judge,
        responses: Sequence[Response],
        seed: int,
    ) -> Iterator[ComparisonTask]:
        """Yield the comparisons of responses that a judge of this model is asked for."""
        return comparison_tasks(rubric, persona, judge, responses, self.layout, seed)

    def request_for(self, task: ComparisonTask) -> ModelRequest:
        """Return the first request of a comparison."""
        return next(load_comparing(self.elicitation).dialogue(task.comparison))

    @property
    def price(self) -> Price | None:
        return self.config.price or (
            FREE if self.capabilities.free else price_of(self.config.model)
        )

    @property
    def context_window(self) -> int | None:
        if self.config.context_window is not None:
            return self.config.context_window
        return self.capabilities.context_window or context_window_of(self.config.model)

    @property
    def answer_limit(self) -> AnswerLimit:
        """Return the limit of the model's answers, before any call."""
        return AnswerLimit(
            reasoning_room(self.config),
            self.config.answer_limit,
            self.context_window,
            self.capabilities.adjustable_limit,
        )

    @property
    def logprobs(self) -> bool | None:
        """Return whether the model returns log-probabilities; None where only a call can show
        it."""
        if self.capabilities.logprobs is not None:
            return self.capabilities.logprobs
        known = facts_of(self.config.model)
        # A table knows what a model cannot do; what stands behind an address, only a call.
        if known is not None and known.logprobs is False:
            return False
        # OpenAI refuses log-probabilities of a model that reasons.
        at_openai = self.config.provider == "openai" and self.config.base_url is None
        return False if at_openai and reasoning_room(self.config) else None


def bind_models(
    specs: Sequence[AnyModel],
    elicitation: str | None,
    layout: Layout,
    n_voices: int,
    rubric: Rubric,
) -> tuple[BoundModel, ...]:
    """Bind the models of a panel, through each of which `n_voices` judges speak, in the given
    order. Raises ConfigurationError: one cannot be had, is there twice, or its elicitation cannot
    serve the rubric; lists all."""
    # Where a judge's neighbours read the same words, a provider is told to keep them.
    several = n_voices > 1 and layout == "shared-prefix"
    models: list[BoundModel] = []
    ids, wrong = [], []
    for model in specs:
        try:
            config, object_ = _configured(model)
            ids.append(config.id)
            bound = _bind(config, object_, elicitation, layout, several, rubric)
            _refuse_unserved(bound, rubric)
            models.append(bound)
        except ConfigurationError as error:
            wrong.append(str(error))
    remedy = "give each a `name` of its own in a panel file, and settings that differ"
    twice = [f"{name} is on the panel twice; leave one out, or {remedy}" for name in _twice(ids)]
    _refuse_all(twice + wrong)
    if not models:
        raise ConfigurationError("a panel needs at least one model")
    _refuse_the_same(models)
    return tuple(models)


def bind_writers(specs: Sequence[AnyModel], part: str) -> tuple[BoundModel, ...]:
    """Bind models that write texts and judge nothing, in the given order; `part` is what errors
    call one. Raises ConfigurationError: one cannot be had, or is there twice; lists all."""
    models: list[BoundModel] = []
    ids, wrong = [], []
    for model in specs:
        try:
            config, object_ = _configured(model)
            ids.append(config.id)
            # The elicitation does not matter here.
            bound = BoundModel(config.id, config, "dimensions", "shared-prefix", False, object_)
            # Making the client raises for whatever is missing.
            _ = bound.client
            models.append(bound)
        except ConfigurationError as error:
            wrong.append(str(error))
    remedy = "leave one out, or give each a `name` of its own"
    _refuse_all([f"{name} is a {part} twice; {remedy}" for name in _twice(ids)] + wrong)
    return tuple(models)


def _twice(ids: Sequence[str]) -> list[str]:
    return [name for name, n in Counter(ids).items() if n > 1]


def _refuse_all(wrong: Sequence[str]) -> None:
    """Refuse models with all that is wrong with them, each fault listed once."""
    if wrong:
        raise ConfigurationError("\n".join(dict.fromkeys(wrong)))


def _refuse_the_same(models: Sequence[BoundModel]) -> None:
    """Refuse entries whose answers cannot be distinguished."""
    for place, model in enumerate(models):
        for other in models[:place]:
            alike = model.user_model is None and other.user_model is None
            if (
                alike
                and model.elicitation == other.elicitation
                and model.config.model == other.config.model
                and model.client.parameters == other.client.parameters
            ):
                raise ConfigurationError(
                    f"{other.id} and {model.id} are one model with the same settings, whose "
                    "answers would count twice; change settings of one, or set replicates"
                )


def _bind(
    config: ModelConfig,
    object_: GivenModel | None,
    elicitation: str | None,
    layout: Layout,
    keep_prefix: bool,
    rubric: Rubric,
) -> BoundModel:
    named = (config.elicitation if object_ is None else None) or elicitation
    if named is not None:
        _refuse_unknown(named)
        keep_prefix = keep_prefix and shares_prefix(named)
    bound = BoundModel(config.id, config, named or "dimensions", layout, keep_prefix, object_)
    # Making the client raises for whatever is missing.
    client = bound.client
    if named is None:
        return replace(bound, elicitation=_default_elicitation(client, rubric))
    return bound


def _configured(model: AnyModel) -> tuple[ModelConfig, GivenModel | None]:
    if isinstance(model, str):
        model = config_of(model)
    if isinstance(model, ModelConfig):
        return model, None
    object_ = GivenModel(model)
    return object_.config(), object_


def _default_elicitation(client: ModelClient, rubric: Rubric) -> str:
    """Return the elicitation that suits the model, or the usual one where that cannot serve the
    rubric."""
    own = client.capabilities.default_elicitation
    _refuse_unknown(own)
    usual = Capabilities().default_elicitation
    return own if own == usual or load_elicitation(own).serves(rubric) is None else usual


def texts_at_once(models: Sequence[BoundModel]) -> int | None:
    """Return how many responses are read at once where every model keeps one text in memory for
    each concurrent call: more would only make models reread. None where a model keeps none."""
    if not all(model.capabilities.one_judge_at_a_time for model in models):
        return None
    return max(model.capabilities.concurrency or 1 for model in models)


def _refuse_unknown(elicitation: str) -> None:
    known = rubric_library.elicitation_names()
    if elicitation not in known:
        raise ConfigurationError(
            f"no elicitation is called {elicitation!r}; the elicitations are {', '.join(known)}"
        )
    try:
        load_elicitation(elicitation)
    except ExtensionError as error:
        raise ConfigurationError(str(error)) from error


def can_serve(elicitation: str, rubric: Rubric) -> bool:
    """Return whether ratings by this rubric can be elicited in this way."""
    try:
        return load_elicitation(elicitation).serves(rubric) is None
    # Another package's elicitation that was not asked for may fail in any way.
    except Exception:
        return False


def _refuse_unserved(bound: BoundModel, rubric: Rubric) -> None:
    asked = load_elicitation(bound.elicitation)
    if asked.NEEDS_LOGPROBS and bound.logprobs is False:
        raise ConfigurationError(
            f"the elicitation {bound.elicitation!r} needs log-probabilities, and {bound.id} "
            "returns none; use the elicitation 'dimensions'"
        )
    why = asked.serves(rubric)
    if why is None:
        return
    able = [name for name in rubric_library.elicitation_names() if can_serve(name, rubric)]
    raise ConfigurationError(
        f"{bound.id}: the elicitation {bound.elicitation!r} cannot be used with the rubric "
        f"{rubric.id!r}: {why}; use {' or '.join(map(repr, able))}"
    )
