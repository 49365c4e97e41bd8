"""The panel: who reads, through which models, by which rubric, and the reading itself.

Everything is checked when a panel is made and before the first call. In which order
judges are asked is `graphs.judging`'s business, how a call is made `panel.calls`'s.
"""

from __future__ import annotations

import asyncio
import hashlib
import math
import time
from collections.abc import AsyncIterable, AsyncIterator, Callable, Coroutine, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import orjson

import personas as persona_library
import rubrics as rubric_library
from graphs import Judge, Judgment, Response, Verdict
from panel.calls.cache import ReplyCache, default_folder, key_of
from panel.calls.caller import Caller, Line, Tally, estimated_tokens, tokens_in
from panel.calls.gate import shared_gate
from panel.config import ModelConfig, PanelFile
from panel.errors import ConfigurationError, Fault, InputError
from panel.files.definitions import load_definition, resolve
from panel.files.run_folder import RunFolder
from panel.models.catalogue import context_window_of
from panel.models.speaker import CallError, Speaker
from panel.models.specs import speaker_for
from panel.models.weights import ENGINES
from panel.run import Run
from personas import Persona, PersonaSet
from rubrics import Ask, Question, Reply, Rubric, load_elicitation

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

DEFAULT_MODEL = "local:smollm2-135m"
_SERVED_CONCURRENCY = 32

T = TypeVar("T")
OnJudgment = Callable[[Judgment], None]


@dataclass(frozen=True, slots=True)
class _Model:
    """A model that sits on the panel."""

    id: str
    config: ModelConfig
    speaker: Speaker
    elicitation: str

    @property
    def embedded(self) -> bool:
        return self.config.provider == "local"

    @property
    def context_window(self) -> int | None:
        if self.config.context_window is not None:
            return self.config.context_window
        if self.embedded:
            return cast(int, self.speaker.parameters["context_tokens"])
        return context_window_of(self.id)


class Panel:
    """Personas × models that read responses by a rubric.

    Args:
        personas: a set from the library by name, the path of a YAML file, a
            `PersonaSet`, or personas.
        models: specs (`provider:name`), `ModelConfig`s, or LangChain chat models.
        rubric: from the library by name, the path of a YAML file, or a `Rubric`.
        elicitation: how every judge is asked; by default `expected` for embedded
            models and `dimensions` for the others.
        concurrency: calls in flight at most, for each model that sets no limit itself.
        seed: of the resampling behind intervals.

    Raises:
        ConfigurationError: a model cannot be had; says what is missing.
        InputError: a persona set or rubric cannot be read; lists every fault.
    """

    def __init__(
        self,
        personas: str | Path | PersonaSet | Sequence[Persona] = "perspectives",
        models: str | ModelConfig | BaseChatModel | Sequence[str | ModelConfig | BaseChatModel] = (
            DEFAULT_MODEL
        ),
        rubric: str | Path | Rubric = "scrub",
        *,
        elicitation: str | None = None,
        concurrency: int | None = None,
        seed: int = 0,
    ) -> None:
        self.personas = _personas(personas)
        self.rubric = _rubric(rubric)
        self.seed = seed
        # A text is a sequence, too, and a model's spec.
        several = (
            [models] if isinstance(models, str) or not isinstance(models, Sequence) else models
        )
        self._models = _models(several, elicitation)
        self._concurrency = concurrency
        self.judges = tuple(
            Judge(persona.id, model.id, model.elicitation)
            for model in self._models
            for persona in self.personas
        )

    @classmethod
    def from_file(cls, path: str | Path, *, concurrency: int | None = None) -> Panel:
        """The panel that a YAML file describes; paths in it are relative to it."""
        path = Path(path)
        file = load_definition(path, PanelFile)
        return cls(
            _beside(path, file.personas, persona_library.shipped()),
            file.models,
            _beside(path, file.rubric, rubric_library.shipped()),
            elicitation=file.elicitation,
            concurrency=concurrency,
            seed=file.seed,
        )

    @property
    def models(self) -> tuple[str, ...]:
        """The ids of the models, in the panel's order."""
        return tuple(model.id for model in self._models)

    def score(
        self,
        responses: Iterable[Response],
        *,
        out: str | Path | None = None,
        on_judgment: OnJudgment | None = None,
    ) -> Run:
        """As `ascore`, from code that is not asynchronous; works where a loop runs, too."""
        return _in_a_loop(self.ascore(responses, out=out, on_judgment=on_judgment))

    async def ascore(
        self,
        responses: Iterable[Response],
        *,
        out: str | Path | None = None,
        on_judgment: OnJudgment | None = None,
    ) -> Run:
        """Have every judge read every response.

        Args:
            out: a folder to write the run to.
            on_judgment: told of each judgment as it is made.

        Raises:
            InputError: a response is there twice, or is too long for a model.
            ConfigurationError: a model cannot be asked in the way it is to be.
            RunFolderError: `out` holds another run, or cannot be written.
        """
        batch = list(_identified(responses))
        _refuse_repeated(batch)
        self._refuse_too_long(batch)
        run = Run(batch, self.judges, self.rubric, self.seed)
        async with self._means_to_call() as caller:
            await self._refuse_without_logprobs(caller)
            folder = RunFolder(Path(out), self._manifest()) if out is not None else None

            def take(judgment: Judgment) -> None:
                run.add(judgment)
                if folder is not None:
                    folder.add(judgment)
                if on_judgment is not None:
                    on_judgment(judgment)

            started = time.monotonic()
            run.tally = caller.tally
            try:
                async for verdict in self._read(_as_async(batch), caller, take):
                    run.conclude(verdict)
                    if folder is not None:
                        folder.flush()
            finally:
                run.elapsed_s = time.monotonic() - started
                if folder is not None:
                    folder.close()
            if folder is not None:
                folder.finish(run)
                run.folder = folder.path
        return run

    async def astream(
        self,
        responses: Iterable[Response] | AsyncIterable[Response],
        *,
        on_judgment: OnJudgment | None = None,
    ) -> AsyncIterator[Verdict]:
        """Verdicts as they come, for a batch that need not fit into memory.

        Responses are taken from the iterator only as fast as they are read. They come
        back in the order in which they are finished.
        """
        async with self._means_to_call() as caller:
            await self._refuse_without_logprobs(caller)
            reading = self._read(
                _identified_async(_as_async(responses)), caller, on_judgment or (lambda _: None)
            )
            async for verdict in reading:
                yield verdict

    @asynccontextmanager
    async def _means_to_call(self) -> AsyncIterator[Caller]:
        cache = ReplyCache(default_folder())
        try:
            yield Caller({model.id: self._line(model) for model in self._models}, cache)
        finally:
            for model in self._models:
                await model.speaker.aclose()
            cache.close()

    def _line(self, model: _Model) -> Line:
        config = model.config
        return Line(
            speaker=model.speaker,
            gate=shared_gate(
                orjson.dumps(model.speaker.parameters, option=orjson.OPT_SORT_KEYS),
                self._concurrency_of(model),
                config.requests_per_minute,
                config.tokens_per_minute,
            ),
            # What runs in this process cannot be hurried by giving up on it.
            timeout_s=None if model.embedded else config.timeout,
            one_by_one=model.embedded,
        )

    def _concurrency_of(self, model: _Model) -> int:
        if model.embedded:
            return ENGINES
        return model.config.concurrency or self._concurrency or _SERVED_CONCURRENCY

    def _responses_in_flight(self) -> int:
        """Enough that slow calls leave no gate idle (three times what may be in flight).

        An embedded model keeps one text in mind for each of its engines: more would only
        make it reread.
        """
        if all(model.embedded for model in self._models):
            return ENGINES
        calls = sum(self._concurrency_of(model) for model in self._models)
        return math.ceil(3 * calls / len(self.judges)) + 1

    async def _read(
        self, responses: AsyncIterator[Response], caller: Caller, on_judgment: OnJudgment
    ) -> AsyncIterator[Verdict]:
        from graphs.judging import Means, judging_graph

        graph = judging_graph()
        texts: dict[str, Response] = {}
        means = Means(
            rubric=self.rubric,
            personas={persona.id: persona for persona in self.personas},
            judges=self.judges,
            responses=texts,
            ask=caller.ask,
            turn=caller.turn,
            forget=caller.forget,
        )

        async def judged(response: Response) -> Verdict:
            key = f"{response.prompt_id}\n{response.id}"
            texts[key] = response
            verdict: Verdict | None = None
            stream = graph.astream(
                cast(Any, {"response": key}), context=means, stream_mode=["custom", "updates"]
            )
            async for mode, chunk in stream:
                if mode == "custom":
                    on_judgment(cast(Judgment, chunk))
                elif isinstance(chunk, dict) and "aggregate" in chunk:
                    verdict = chunk["aggregate"]["verdict"]
            del texts[key]
            return cast(Verdict, verdict)

        at_once = self._responses_in_flight()
        reading: set[asyncio.Task[Verdict]] = set()
        more = True
        try:
            while more or reading:
                while more and len(reading) < at_once:
                    try:
                        response = await anext(responses)
                    except StopAsyncIteration:
                        more = False
                    else:
                        reading.add(asyncio.create_task(judged(response)))
                if reading:
                    done, reading = await asyncio.wait(reading, return_when=asyncio.FIRST_COMPLETED)
                    for task in done:
                        yield task.result()
        finally:
            for task in reading:
                task.cancel()
            await asyncio.gather(*reading, return_exceptions=True)

    def _refuse_too_long(self, batch: Sequence[Response]) -> None:
        """Name what cannot fit into a model's context, before anything is called."""
        if not batch:
            return
        faults = []
        for model in self._models:
            window = model.context_window
            if window is None:
                continue
            first = next(load_elicitation(model.elicitation).dialogue(self._question(batch[0])))
            around = estimated_tokens(first) - _length(batch[0])
            for response in batch:
                needed = around + _length(response)
                if needed > window:
                    faults.append(
                        Fault(
                            file=f"{response.prompt_id}/{response.id}",
                            field="response",
                            found=f"about {needed:,} tokens with the question",
                            expected=f"at most {window:,}, the context of {model.id}: shorten "
                            "the response, leave this model out, or set its context_window in "
                            "a panel file if it takes more",
                        )
                    )
        if faults:
            raise InputError(faults)

    def _question(self, response: Response) -> Question:
        persona = self.personas[0]
        return Question(
            rubric=self.rubric,
            persona_label=persona.label,
            persona_description=persona.description,
            prompt=response.prompt,
            text=response.text,
            context=response.context,
        )

    async def _refuse_without_logprobs(self, caller: Caller) -> None:
        """Find out, by one small call, whether a model gives the probabilities it must."""
        from graphs.judging import Unanswered

        for model in self._models:
            if model.embedded or not load_elicitation(model.elicitation).NEEDS_LOGPROBS:
                continue
            probe = Ask(
                "", ("Answer with the number 1 and nothing else.",), top_logprobs=20, max_tokens=1
            )
            judge = Judge("probe", model.id, model.elicitation)
            try:
                reply: Reply | None = await caller.ask(judge, probe)
                why = "it returned none"
            except (Unanswered, CallError) as error:
                reply, why = None, str(error)
            if reply is None or not reply.logprobs:
                await caller.forget(judge, [probe])
                raise ConfigurationError(
                    f"the elicitation {model.elicitation!r} needs log-probabilities, and "
                    f"{model.id} gave none ({why}); use the elicitation 'dimensions'"
                )
            caller.tally = Tally()

    def _manifest(self) -> dict[str, Any]:
        """What run.json holds: all that makes this run what it is. No keys, no headers."""
        return {
            "personas": [persona.model_dump() for persona in self.personas],
            "rubric": self.rubric.model_dump(mode="json"),
            "models": [
                {"id": model.id, "elicitation": model.elicitation}
                | {"parameters": dict(model.speaker.parameters)}
                for model in self._models
            ],
            "seed": self.seed,
            "prompts": {model.id: self._prompt_digest(model) for model in self._models},
            "version": version("persona-panel"),
        }

    def _prompt_digest(self, model: _Model) -> str:
        """A digest of the words in which this model is asked, whatever the response."""
        sample = Response(id="id", prompt="prompt", text="text", system="system")
        ask = next(load_elicitation(model.elicitation).dialogue(self._question(sample)))
        return hashlib.sha256(key_of({}, ask, 1).encode()).hexdigest()[:16]


def _personas(given: str | Path | PersonaSet | Sequence[Persona]) -> tuple[Persona, ...]:
    if isinstance(given, str | Path):
        path = resolve(str(given), persona_library.shipped(), "persona set")
        return load_definition(path, PersonaSet).personas
    if isinstance(given, PersonaSet):
        return given.personas
    return PersonaSet(id="given", label="given", personas=tuple(given)).personas


def _rubric(given: str | Path | Rubric) -> Rubric:
    if isinstance(given, Rubric):
        return given
    return load_definition(resolve(str(given), rubric_library.shipped(), "rubric"), Rubric)


def _models(
    given: Sequence[str | ModelConfig | BaseChatModel], elicitation: str | None
) -> tuple[_Model, ...]:
    models, wrong = [], []
    for one in given:
        try:
            models.append(_model(one, elicitation))
        except ConfigurationError as error:
            wrong.append(str(error))
    if wrong:
        raise ConfigurationError("\n".join(wrong))
    if not models:
        raise ConfigurationError("a panel needs at least one model")
    seen: set[str] = set()
    for model in models:
        if model.id in seen:
            raise ConfigurationError(f"{model.id} is on the panel twice; name it once")
        seen.add(model.id)
    return tuple(models)


def _model(given: str | ModelConfig | BaseChatModel, elicitation: str | None) -> _Model:
    if isinstance(given, str):
        provider, colon, name = given.partition(":")
        if not (provider and colon and name):
            raise ConfigurationError(
                f"{given!r} is no model; write provider:name, for instance {DEFAULT_MODEL}"
            )
        given = ModelConfig(model=given)
    if isinstance(given, ModelConfig):
        default = "expected" if given.provider == "local" else "dimensions"
        chosen = given.elicitation or elicitation or default
        _refuse_unknown(chosen)
        return _Model(given.model, given, speaker_for(given), chosen)
    return _own_model(given, elicitation)


def _own_model(chat: BaseChatModel, elicitation: str | None) -> _Model:
    from panel.models.langchain import LangChainSpeaker

    name = getattr(chat, "model", None) or getattr(chat, "model_name", None) or type(chat).__name__
    kind = chat._llm_type.replace("-", "_").lower()
    config = ModelConfig(model=f"{kind}:{name}")
    own: Any = chat
    speaker = own if hasattr(chat, "reply") else LangChainSpeaker(chat, str(name))
    chosen = elicitation or "dimensions"
    _refuse_unknown(chosen)
    return _Model(config.model, config, speaker, chosen)


def _refuse_unknown(elicitation: str) -> None:
    known = rubric_library.elicitation_names()
    if elicitation not in known:
        raise ConfigurationError(
            f"no elicitation is called {elicitation!r}; there are {', '.join(known)}"
        )


def _beside(file: Path, name: str, shipped: dict[str, Path]) -> str | Path:
    return name if name in shipped else file.parent / name


def _length(response: Response) -> int:
    return tokens_in(response.prompt) + tokens_in(response.text) + tokens_in(response.context or "")


def _identified(responses: Iterable[Response]) -> Iterable[Response]:
    """Every response with a prompt id: p1, p2, … by first appearance where it has none."""
    given: dict[str, str] = {}
    for response in responses:
        yield _with_prompt_id(response, given)


async def _identified_async(responses: AsyncIterator[Response]) -> AsyncIterator[Response]:
    given: dict[str, str] = {}
    async for response in responses:
        yield _with_prompt_id(response, given)


def _with_prompt_id(response: Response, given: dict[str, str]) -> Response:
    if response.prompt_id is not None:
        return response
    digest = hashlib.sha256(response.prompt.encode("utf-8", "surrogatepass")).hexdigest()
    return response.model_copy(update={"prompt_id": given.setdefault(digest, f"p{len(given) + 1}")})


def _refuse_repeated(batch: Sequence[Response]) -> None:
    seen: set[tuple[str | None, str]] = set()
    faults = []
    for place, response in enumerate(batch, start=1):
        key = (response.prompt_id, response.id)
        if key in seen:
            faults.append(
                Fault(
                    file="responses",
                    line=place,
                    field="id",
                    found=f"{response.id!r} a second time for the prompt {response.prompt_id!r}",
                    expected="an id of its own for every response to a prompt",
                )
            )
        seen.add(key)
    if faults:
        raise InputError(faults)


async def _as_async(items: Iterable[T] | AsyncIterable[T]) -> AsyncIterator[T]:
    if isinstance(items, AsyncIterable):
        async for item in items:
            yield item
    else:
        for item in items:
            yield item


def _in_a_loop(work: Coroutine[Any, Any, T]) -> T:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    # A notebook's loop is already running here: the work gets one of its own, beside it.
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()
