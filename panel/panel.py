"""The panel: who reads, through which models, by which rubric, and the reading itself.

Everything is checked when a panel is made and before the first call. In which order
judges are asked is `graphs.judging`'s business, how a call is made `panel.calls`'s.
"""

from __future__ import annotations

import math
import time
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    AsyncIterator,
    Callable,
    Iterable,
    Mapping,
    Sequence,
)
from contextlib import AbstractAsyncContextManager, aclosing, closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import personas as persona_library
import rubrics as rubric_library
from graphs import Judge, Judgment, Response, Verdict
from graphs.deliberation import Deliberation
from graphs.judging import Abort, Means, judging_graph
from graphs.side_by_side import comparing_graph
from panel.batch import Batch, as_async, identified_async
from panel.calling import calling, concurrency_of, in_a_loop, judging_means
from panel.calls.allowance import MOST
from panel.calls.budget import NO_CAPS, Caps
from panel.calls.cache import ReplyCache, default_folder
from panel.calls.caller import Caller
from panel.comparing import (
    estimate_comparing,
    refuse_too_long_together,
    refuse_uncomparable,
    refuse_with_comparing,
    together,
)
from panel.config import ModelConfig, PanelFile
from panel.errors import ConfigurationError, RunStopped
from panel.estimate import Estimate, estimate
from panel.files.definitions import load_definition
from panel.files.run_folder import RunFolder, refuse_another
from panel.manifest import manifest_of
from panel.models.catalogue import Price
from panel.models.weights import ENGINES
from panel.preflight import refuse_too_long, refuse_unpriced, refuse_without_logprobs
from panel.reading import one_by_one, read
from panel.run import Run
from panel.seating import (
    DEFAULT_MODEL,
    Seat,
    beside,
    persona_set,
    rated_by,
    refuse_repeats,
    refuse_unrevealed,
    rubric_of,
    seats,
)
from personas import Persona, PersonaSet
from rubrics import Layout, Rubric, compares

if TYPE_CHECKING:
    from typing import Unpack

    from langchain_core.language_models import BaseChatModel

    from graphs.framing import Prompt
    from panel.statistics.table import Ratings
    from panel.sweep.plan import Models, Options, Plan
    from panel.sweep.result import Sweep
    from panel.sweep.running import OnEvent

NOBODY: Mapping[str, Seat] = {}
OnJudgment = Callable[[Judgment], None]


class Panel:
    """Personas × models that read responses by a rubric.

    Args:
        personas: a set from the library by name, the path of a YAML file, a
            `PersonaSet`, or personas.
        models: specs (`provider:name`), `ModelConfig`s, or LangChain chat models.
        rubric: from the library by name, the path of a YAML file, or a `Rubric`.
        elicitation: how every judge is asked; by default `expected` for embedded
            models where it can serve the rubric, and `dimensions` otherwise.
        layout: whether a question begins with what all judges of a response share, which
            a model then reads once for all of them, or with who the judge is.
        replicates: how often each persona is asked through each model; every answer is an
            annotator of its own.
        deliberation: whether and how judges, once each has read alone, see the others' readings
            and may revise; None, they do not.
        concurrency: calls in flight at most, for each model that sets no limit itself; by
            default as many as its provider is found to take.
        seed: of the resampling behind intervals.

    Attributes:
        rubric: what is asked.
        rated: the rubric as its ratings come, which depends on the elicitation: under one
            dimension `overall`, say, or as probabilities from 0 to 1.
        compares: whether the responses to a prompt are compared with each other, and not read
            one by one.

    Raises:
        ConfigurationError: a model cannot be had (says what is missing), an elicitation
            cannot serve the rubric, models rate different dimensions, replicates would
            repeat themselves, or deliberation would reveal reasons that nobody gives.
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
        layout: Layout = "shared-prefix",
        replicates: int = 1,
        deliberation: Deliberation | None = None,
        concurrency: int | None = None,
        seed: int = 0,
    ) -> None:
        if replicates < 1:
            raise ValueError(f"a judge is asked once at least, found {replicates} replicates")
        self.personas = persona_set(personas)
        self._by_id = {persona.id: persona for persona in self.personas}
        self.rubric = rubric_of(rubric)
        self.seed = seed
        # A text is a sequence, too, and a model's spec.
        several = (
            [models] if isinstance(models, str) or not isinstance(models, Sequence) else models
        )
        self._layout: Layout = layout
        voices = len(self.personas) * replicates
        self._models = seats(several, elicitation, layout, voices, self.rubric)
        self.rated = rated_by(self._models, self.rubric)
        # All of them or none: those that compare rate what no other does.
        self.compares = compares(self._models[0].elicitation)
        refuse_repeats(self._models, replicates)
        refuse_unrevealed(self._models, deliberation)
        if deliberation is not None:
            refuse_with_comparing(self._models, "deliberation")
        self._deliberation = deliberation
        self._replicates = replicates
        self._concurrency = concurrency
        self.judges = tuple(
            Judge(persona.id, model.id, model.elicitation, replicate)
            for model in self._models
            for persona in self.personas
            for replicate in range(1, replicates + 1)
        )

    @classmethod
    def from_file(
        cls,
        path: str | Path,
        *,
        deliberation: Deliberation | None = None,
        concurrency: int | None = None,
    ) -> Panel:
        """The panel that a YAML file describes; paths in it are relative to it.

        `deliberation` takes the place of the file's.
        """
        path = Path(path)
        file = load_definition(path, PanelFile)
        return cls(
            beside(path, file.personas, persona_library.shipped()),
            file.models,
            beside(path, file.rubric, rubric_library.shipped()),
            elicitation=file.elicitation,
            layout=file.layout,
            replicates=file.replicates,
            deliberation=deliberation or file.deliberation,
            concurrency=concurrency,
            seed=file.seed,
        )

    @property
    def prices(self) -> dict[str, Price | None]:
        """Each model's price, None where it is not known."""
        return {model.id: model.price for model in self._models}

    @property
    def deliberates(self) -> bool:
        """Whether judges see the others' readings and may revise."""
        return self._deliberation is not None

    @property
    def models(self) -> tuple[str, ...]:
        """The ids of the models, in the panel's order."""
        return tuple(model.id for model in self._models)

    def score(
        self,
        responses: Iterable[Response],
        *,
        out: str | Path | None = None,
        caps: Caps = NO_CAPS,
        humans: Ratings | None = None,
        on_judgment: OnJudgment | None = None,
    ) -> Run:
        """As `ascore`, from code that is not asynchronous; works where a loop runs, too."""
        return in_a_loop(
            self.ascore(responses, out=out, caps=caps, humans=humans, on_judgment=on_judgment)
        )

    async def ascore(
        self,
        responses: Iterable[Response],
        *,
        out: str | Path | None = None,
        caps: Caps = NO_CAPS,
        humans: Ratings | None = None,
        on_judgment: OnJudgment | None = None,
    ) -> Run:
        """Have every judge read every response.

        Args:
            responses: gone through several times where that can be done, and then never held in
                memory together (a `ResponseFile`).
            out: a folder to write the run to.
            caps: what the run may spend; what is left unasked then is `skipped`.
            humans: people's ratings of the same responses, for whether deliberation moved the
                panel toward them (`Run.deliberation`).
            on_judgment: told of each judgment as it is made.

        Raises:
            InputError: a response is there twice, is too long for a model, or has no other to
                be compared with; a prompt id stands for two prompts; `humans` shares no
                response or no dimension with them.
            ConfigurationError: a model cannot be asked in the way it is to be, or has no
                known price where `caps` are in dollars.
            RunFolderError: `out` holds another run, or cannot be made.
            RunStopped: the run could not go on; what it has is written.
        """
        batch = Batch(responses, one_prompt_each=True)
        self._refuse(batch)
        run = Run(
            batch,
            self.judges,
            self.rated,
            prices=self.prices,
            seed=self.seed,
            deliberating=self.deliberates,
        )
        if humans is not None:
            if not self.rated.numeric:
                raise ConfigurationError(
                    "people's ratings are compared with numbers, and the rubric "
                    f"{self.rubric.id!r} has categories alone; leave out the people's ratings"
                )
            run.humans = humans
            # Whether people and panel go together is found out before anything is spent.
            run.deliberation()
        refuse_unpriced(self._models, caps)
        async with self._calling(caps) as caller:
            manifest = self._manifest()
            if out is not None:
                refuse_another(Path(out), manifest)
            await refuse_without_logprobs(self._models, caller)
            folder = RunFolder(Path(out), manifest) if out is not None else None

            def take(judgment: Judgment) -> None:
                run.add(judgment)
                if folder is not None:
                    folder.add(judgment)
                if on_judgment is not None:
                    on_judgment(judgment)

            started = time.monotonic()
            run.tally = caller.tally
            try:
                try:
                    async with aclosing(self._read(self._units(batch), caller, take)) as reading:
                        async for verdict in reading:
                            run.conclude(verdict)
                            if folder is not None:
                                folder.flush()
                finally:
                    # Stopped or done, what there is is written.
                    run.elapsed_s = time.monotonic() - started
                    if folder is not None:
                        folder.finish(run, batch)
                        run.folder = folder.path
            except (Abort, OSError) as error:
                raise RunStopped(str(error)) from error
        return run

    def estimate(self, responses: Iterable[Response]) -> list[Estimate]:
        """What scoring these would take, model by model, the cache counted in; calls nothing.

        Raises:
            InputError: a response is there twice, or has no other to be compared with; a prompt
                id stands for two prompts.
        """
        return self._estimate(Batch(responses, one_prompt_each=True))

    def _estimate(self, batch: Batch) -> list[Estimate]:
        if self.compares:
            refuse_uncomparable(batch)
        with closing(ReplyCache(default_folder())) as cache:
            if self.compares:
                return [
                    estimate_comparing(
                        model,
                        self.rubric,
                        self.judges,
                        self._by_id,
                        batch,
                        cache,
                        self.seed,
                    )
                    for model in self._models
                ]
            return [
                estimate(
                    model,
                    self.rubric,
                    self.personas,
                    self._replicates,
                    1 + (self._deliberation.rounds if self._deliberation else 0),
                    len(self.judges) - 1,
                    batch,
                    cache,
                )
                for model in self._models
            ]

    async def astream(
        self,
        responses: Iterable[Response] | AsyncIterable[Response],
        *,
        on_judgment: OnJudgment | None = None,
    ) -> AsyncIterator[Verdict]:
        """Verdicts as they come, for a batch that need not fit into memory.

        Responses are taken from the iterator only as fast as they are read. They come
        back in the order in which they are finished. Nothing is remembered of those that are
        done: an id that comes again, of a response or of another prompt, is read like any other.

        Raises:
            ConfigurationError: a model cannot be asked in the way it is to be, or the panel
                compares responses, for which it must know how many a prompt has.
        """
        if self.compares:
            raise ConfigurationError(
                f"the elicitation {self._models[0].elicitation!r} compares the responses to a "
                "prompt, and a stream does not tell how many there are: score them as a batch"
            )
        async with self._calling(NO_CAPS) as caller:
            await refuse_without_logprobs(self._models, caller)
            units = one_by_one(identified_async(as_async(responses)))
            take = on_judgment or (lambda _: None)
            async with aclosing(self._read(units, caller, take)) as reading:
                async for verdict in reading:
                    yield verdict

    def sweep(
        self,
        prompts: Sequence[str | Prompt] | None = None,
        targets: Models = (),
        *,
        out: str | Path | None = None,
        caps: Caps = NO_CAPS,
        on_event: OnEvent | None = None,
        **options: Unpack[Options],
    ) -> Sweep:
        """As `asweep`, from code that is not asynchronous; works where a loop runs, too."""
        return in_a_loop(
            self.asweep(prompts, targets, out=out, caps=caps, on_event=on_event, **options)
        )

    async def asweep(
        self,
        prompts: Sequence[str | Prompt] | None = None,
        targets: Models = (),
        *,
        out: str | Path | None = None,
        caps: Caps = NO_CAPS,
        on_event: OnEvent | None = None,
        **options: Unpack[Options],
    ) -> Sweep:
        """Find out what pressure does to the quality of targets' answers.

        Each prompt is rewritten into every condition of a framing set, the targets answer
        it and the variants that pass their checks, and the panel scores every answer.

        Args:
            prompts: questions as they are asked without pressure.
            targets: whose robustness is measured; models as the panel's.
            out: a folder to write the sweep to.
            caps: what the whole sweep may spend.
            on_event: told of each variant, answer, judgment and verdict as it is made.
            options: see `panel.sweep.plan.Options`.

        Raises:
            as `ascore`, and for faults in prompts, framings and options.
        """
        from panel.sweep.running import Site, run_sweep

        plan = self._planned(prompts, targets, options)
        refuse_unpriced([*self._models, *plan.lines.values()], caps)
        manifest = self._manifest()
        if out is not None:
            refuse_another(Path(out), manifest | plan.manifest())
        async with self._calling(caps, plan.lines) as caller:
            await refuse_without_logprobs(self._models, caller)
            site = Site(
                caller=caller,
                judging=lambda texts, tell: self._means(texts, caller, tell),
                judges=self.judges,
                rubric=self.rated,
                prices=self.prices | {name: seat.price for name, seat in plan.lines.items()},
                manifest=manifest,
                deliberating=self.deliberates,
                embedded=all(model.embedded for model in self._models),
            )
            return await run_sweep(plan, site, out=out, on_event=on_event)

    def estimate_sweep(
        self,
        prompts: Sequence[str | Prompt] | None = None,
        targets: Models = (),
        **options: Unpack[Options],
    ) -> list[Estimate]:
        """What a sweep would take, model by model, the cache counted in; calls nothing."""
        from panel.sweep.estimating import estimate_sweep

        plan = self._planned(prompts, targets, options)
        with closing(ReplyCache(default_folder())) as cache:
            counted, batch = estimate_sweep(plan, cache)
        return [*counted, *self._estimate(Batch(batch))]

    def _planned(
        self, prompts: Sequence[str | Prompt] | None, targets: Models, options: Options
    ) -> Plan:
        from panel.sweep.plan import plan_of

        refuse_with_comparing(self._models, "a sweep")
        return plan_of(prompts, targets, options, self._models, self.rubric, self.rated, self.seed)

    def _calling(
        self, caps: Caps, more: Mapping[str, Seat] = NOBODY
    ) -> AbstractAsyncContextManager[Caller]:
        """The way to the panel's models, and to `more` under other names."""
        named = {model.id: model for model in self._models} | dict(more)
        return calling(named, caps, self._concurrency)

    def _responses_in_flight(self) -> int:
        """Enough that slow calls leave no gate idle (three times what may be in flight).

        An embedded model keeps one text in mind for each of its engines: more would only
        make it reread.
        """
        if all(model.embedded for model in self._models):
            return ENGINES
        calls = sum(concurrency_of(model, self._concurrency) or MOST for model in self._models)
        return math.ceil(3 * calls / len(self.judges)) + 1

    def _refuse(self, batch: Batch) -> None:
        """What cannot be read, before any call."""
        if self.compares:
            refuse_uncomparable(batch)
            refuse_too_long_together(
                self._models, batch, self.rubric, self.judges, self._by_id, self.seed
            )
        else:
            refuse_too_long(self._models, batch, self.rubric, self.personas[0])

    def _units(self, batch: Batch) -> AsyncIterator[tuple[Response, ...]]:
        """What is read at a time: a response, or all responses to a prompt."""
        return as_async(together(batch)) if self.compares else one_by_one(as_async(batch))

    def _means(self, texts: Mapping[str, Response], caller: Caller, tell: OnJudgment) -> Means:
        return judging_means(
            self.rubric,
            self._models,
            self.personas,
            self.judges,
            texts,
            caller,
            tell,
            deliberation=self._deliberation,
            seed=self.seed,
        )

    def _read(
        self,
        units: AsyncIterator[tuple[Response, ...]],
        caller: Caller,
        tell: OnJudgment,
    ) -> AsyncGenerator[Verdict, None]:
        texts: dict[str, Response] = {}
        graph = comparing_graph() if self.compares else judging_graph(self.deliberates)
        means = self._means(texts, caller, tell)
        return read(units, graph, means, texts, self._responses_in_flight())

    def _manifest(self) -> dict[str, Any]:
        return manifest_of(
            self.personas,
            self.judges,
            self.rubric,
            self.rated,
            self._models,
            layout=self._layout,
            replicates=self._replicates,
            deliberation=self._deliberation,
            seed=self.seed,
        )
