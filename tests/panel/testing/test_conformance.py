"""The checks for extensions' authors: all of ours pass, and each fault is named."""

from __future__ import annotations

import asyncio
import json
import math
import pickle
import socket
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import fields, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TextIO, cast
from urllib.parse import urlsplit

import numpy as np
import pytest

from persona_panel import (
    Caps,
    ModelConfig,
    PanelPlan,
    Response,
    Rubric,
    Verdict,
    load_definition,
    personas,
    rubrics,
)
from persona_panel.analyses.run_summary import run_summary
from persona_panel.calls.budget import NO_CAPS
from persona_panel.calls.caller import Caller
from persona_panel.calls.stores.disk import open_store
from persona_panel.experiments.sweep.plan import shipped_framings
from persona_panel.graphs.deliberation import load_stopping_rule, stopping_rule_names
from persona_panel.models.client import CallError, Capabilities
from persona_panel.models.config import refuse_options
from persona_panel.models.providers import Availability, load_provider
from persona_panel.results.result import Result, format_names, load_format
from persona_panel.rubrics import (
    JudgePrompt,
    ModelRequest,
    ModelResponse,
    Usage,
    elicitation_names,
    is_comparative,
    load_elicitation,
)
from persona_panel.runs import executor
from persona_panel.runs.executor import OnJudgment, judged, prepared
from persona_panel.statistics import (
    AgreementBlock,
    Reason,
    Statistic,
    agreement_statistics,
)
from persona_panel.statistics.core.arrays import Array
from persona_panel.statistics.core.jackknife import Interval
from persona_panel.testing import (
    MemoryReplyStore,
    ScriptedModel,
    always,
    check_elicitation,
    check_engine,
    check_executor,
    check_framings,
    check_persona_set,
    check_provider,
    check_renderer,
    check_reply_store,
    check_statistic,
    check_stopping_rule,
    raw,
    serving,
)
from persona_panel.testing.store import SAMPLE


def shipped(name: str) -> Rubric:
    return load_definition(rubrics.shipped()[name], Rubric)


def refusal(check: Callable[..., None], *arguments: Any, **options: Any) -> str:
    with pytest.raises(AssertionError) as caught:
        check(*arguments, **options)
    return str(caught.value)


# Ours


@pytest.mark.parametrize("name", [n for n in elicitation_names() if not is_comparative(n)])
def test_elicitations_of_ours_conform(name: str) -> None:
    """Each leads its dialogue to an end, whatever it is answered; one that takes a prompt of the
    user's asks in that."""
    rubric = shipped("scrub")
    example = json.dumps({one.id: 5 for one in rubric.dimensions})
    words = {"prompt": "{text}", "read": {"json": "$.{dimension}"}, "example": example}
    template = JudgePrompt.model_validate(words)
    check_elicitation(load_elicitation(name), rubric.model_copy(update={"template": template}))


def test_an_elicitation_that_compares_is_told_that_there_is_no_check() -> None:
    """The sentence says which elicitations the check is for."""
    said = refusal(check_elicitation, load_elicitation("ranking"), shipped("scrub"))
    assert (
        said == "it compares responses (COMPARES), and this check is for elicitations that rate one"
    )


def test_what_an_elicitation_lacks_is_named() -> None:
    """Every part that is missing, in one sentence."""
    own = load_elicitation("dimensions")
    names = ("NEEDS_LOGPROBS", "GIVES_REASONS", "serves", "output_rubric", "dialogue")
    bare = SimpleNamespace(**{name: getattr(own, name) for name in names[:-1]})
    said = refusal(check_elicitation, bare, shipped("scrub"))
    assert said == "the elicitation has no 'calls', 'dialogue'"


def test_a_provider_whose_model_brings_no_reply_is_told_why() -> None:
    """The fault's kind and words, and of a path that the server does not have the paths it has; at
    a path of its own it is answered."""
    with serving(always(raw({})), path="generate") as server:
        config = ModelConfig(model="openai:stub", base_url=f"{server.base_url}/elsewhere")
        said = refusal(check_provider, load_provider("openai"), config)
        assert "brings no reply (CallError, permanent)" in said
        assert "no such path /v1/elsewhere/chat/completions; there are /v1/chat/completions" in said
        assert "/v1/generate" in said
        assert not server.calls
    body = {"choices": [{"message": {"role": "assistant", "content": "1"}}]}
    with serving(always(raw(body)), path="own/chat/completions") as server:
        config = ModelConfig(model="openai:stub", base_url=f"{server.base_url}/own")
        check_provider(load_provider("openai"), config)
        assert len(server.calls) == 1
    with pytest.raises(ValueError, match="needs a script"), serving(path="generate"):
        pass


@pytest.mark.parametrize("name", stopping_rule_names())
def test_stopping_rules_of_ours_conform(name: str) -> None:
    """Each answers True or False."""
    check_stopping_rule(load_stopping_rule(name))


def test_libraries_of_ours_conform() -> None:
    """Every framing set and persona set that ships."""
    for name in shipped_framings():
        check_framings(name)
    for name, path in personas.shipped().items():
        check_persona_set(path)
        check_persona_set(name)


def test_a_provider_of_ours_conforms() -> None:
    """The native one, over HTTP."""
    with serving() as server:
        config = ModelConfig(model="openai:stub", base_url=server.base_url)
        check_provider(load_provider("openai"), config)
        assert len(server.calls) == 1


def test_stores_of_ours_conform(tmp_path: Path) -> None:
    """On disk and in memory."""
    check_reply_store(lambda: open_store(str(tmp_path)))
    replies: dict[tuple[str, bytes], ModelResponse] = {}
    check_reply_store(lambda: MemoryReplyStore(replies), in_memory=True)


@pytest.mark.parametrize("name", ["perfect_agreement", "tau_c", "smallest_subset"])
def test_statistics_of_ours_conform(name: str) -> None:
    """One of each command that shows statistics."""
    check_statistic(name)


@pytest.mark.parametrize("name", format_names())
def test_renderers_of_ours_conform(name: str) -> None:
    """Each writes every kind of result."""
    check_renderer(load_format(name))


def scored(plan: PanelPlan, responses: Sequence[Response], out: Path) -> list[Path]:
    asyncio.run(executor.score(plan, responses, summary=run_summary, out=out))
    return [out]


def test_the_executor_of_ours_conforms() -> None:
    """The one that works in this process."""
    check_executor(scored)


# Faults


class Unmarked(MemoryReplyStore):
    def get(self, page: str, key: bytes) -> ModelResponse | None:
        found = super().get(page, key)
        return found and replace(found, cached=False)


class Unforgetting(MemoryReplyStore):
    def forget(self, page: str, key: bytes, reply: ModelResponse) -> None:
        pass


class Hasty(MemoryReplyStore):
    """One that drops what is under the key, whatever that is by now."""

    def forget(self, page: str, key: bytes, reply: ModelResponse) -> None:
        self._replies.pop((page, key), None)


class OnePage(MemoryReplyStore):
    def get(self, page: str, key: bytes) -> ModelResponse | None:
        return super().get("a" * 64, key)


class Nameless(MemoryReplyStore):
    """One that keeps no `model`, which no comparison of replies looks at."""

    def put(self, page: str, key: bytes, reply: ModelResponse) -> None:
        super().put(page, key, replace(reply, model=""))


class Thoughtless(MemoryReplyStore):
    """One that was written before there were tokens for thinking."""

    def put(self, page: str, key: bytes, reply: ModelResponse) -> None:
        super().put(page, key, replace(reply, usage=replace(reply.usage, reasoning=0)))


class Uncritical(MemoryReplyStore):
    """One that does not keep what a provider reported that cannot be."""

    def put(self, page: str, key: bytes, reply: ModelResponse) -> None:
        super().put(page, key, replace(reply, usage=replace(reply.usage, odd=None)))


class Overwriting(MemoryReplyStore):
    """One that writes all that it knows when it is closed, over what another has written."""

    def __init__(self, kept: dict[tuple[str, bytes], ModelResponse]) -> None:
        super().__init__(dict(kept))
        self._kept = kept

    def close(self) -> None:
        self._kept.clear()
        self._kept |= self._replies


@pytest.mark.parametrize(
    "kind", [Unmarked, Unforgetting, Hasty, OnePage, Nameless, Thoughtless, Uncritical, Overwriting]
)
def test_a_store_that_serves_something_else_is_named(kind: type[MemoryReplyStore]) -> None:
    """What was found and expected is said."""
    replies: dict[tuple[str, bytes], ModelResponse] = {}
    assert "found" in refusal(check_reply_store, lambda: kind(replies), in_memory=True)


def test_a_store_that_loses_all_when_closed_is_named() -> None:
    """The next one must serve what the first has kept."""
    assert "by the next store" in refusal(check_reply_store, MemoryReplyStore, in_memory=True)


class WrittenWhenClosed(MemoryReplyStore):
    """One whose file has nothing before the store is closed."""

    def __init__(self, file: Path) -> None:
        super().__init__(pickle.loads(file.read_bytes()) if file.exists() else {})
        self._file = file

    def close(self) -> None:
        self._file.write_bytes(pickle.dumps(self._replies))


class WrittenSoon(WrittenWhenClosed):
    """One whose file has what was put a moment ago, by a thread that writes it."""

    def put(self, page: str, key: bytes, reply: ModelResponse) -> None:
        super().put(page, key, reply)
        threading.Timer(0.5, self.close).start()


class WrittenNever(WrittenWhenClosed):
    """One that cannot write."""

    def put(self, page: str, key: bytes, reply: ModelResponse) -> None:
        raise OSError("no space left")


@pytest.mark.parametrize("kind", [WrittenWhenClosed, WrittenSoon])
def test_a_store_that_loses_what_a_killed_process_put_is_named(
    kind: type[WrittenWhenClosed], tmp_path: Path
) -> None:
    """What put has returned from must be there without close, however soon it would have been."""
    said = refusal(check_reply_store, lambda: kind(tmp_path / "kept"))
    assert "is not served after a kill of the process that put it" in said


def test_a_store_that_fails_in_another_process_is_named(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """With where to read why."""
    said = refusal(check_reply_store, lambda: WrittenNever(tmp_path / "kept"))
    assert said == "put() or forget() fails in a forked child of this process; stderr says why"
    assert "OSError: no space left" in capfd.readouterr().err


def test_the_reply_that_stores_are_checked_by_leaves_no_field_at_its_default() -> None:
    """But `cached`, which only a store sets."""
    for filled, bare in ((SAMPLE, ModelResponse("")), (SAMPLE.usage, Usage())):
        assert isinstance(filled, ModelResponse | Usage)
        same = [
            field.name
            for field in fields(filled)
            if getattr(filled, field.name) == getattr(bare, field.name)
        ]
        assert same == (["cached"] if filled is SAMPLE else [])


def provider(**changes: Any) -> Any:
    def client(config: ModelConfig, keep_prefix: bool) -> ScriptedModel:
        refuse_options(config)
        return ScriptedModel(
            "1", model=config.model_name, capabilities=Capabilities(deterministic_text=True)
        )

    parts: dict[str, Any] = {
        "packages": ("acme",),
        "availability": lambda: [Availability("acme:NAME", True, "there")],
        "client": client,
    }
    return SimpleNamespace(**parts | changes)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"packages": "acme"}, "packages is a sequence"),
        ({"availability": list}, "says nothing of any model"),
        ({"availability": lambda: [("other:NAME", True, "there")]}, "begin with acme:"),
        ({"client": lambda config, keep_prefix: object()}, "returns a ModelClient, found object"),
        (
            {"client": lambda config, keep_prefix: ScriptedModel(lambda request: "1")},
            "two clients of one config",
        ),
        (
            {
                "client": lambda config, keep_prefix: ScriptedModel(
                    "1",
                    model=config.model_name,
                    capabilities=Capabilities(deterministic_text=True),
                )
            },
            "an option changes nothing",
        ),
        ({"client": lambda config, keep_prefix: ScriptedModel("1")}, "another model has the same"),
        (
            {"client": lambda config, keep_prefix: ScriptedModel("1", model=config.model_name)},
            "another temperature has the same",
        ),
        (
            {"client": lambda config, keep_prefix: ScriptedModel("1", model=str(config))},
            "parameters hold a key or password",
        ),
    ],
)
def test_what_a_provider_lacks_is_named(changes: dict[str, Any], said: str) -> None:
    """One sentence for each fault; without one it passes."""
    config = ModelConfig(model="acme:m", base_url="http://me:nq7Xw2mZ4@localhost:9/v1")
    check_provider(provider(), config)
    assert said in refusal(check_provider, provider(**changes), config)


@pytest.mark.parametrize(
    ("raised", "said"),
    [
        (lambda error: CallError(str(error), kind="transient"), "counts as sent"),
        (lambda error: error, "raises ConnectionRefusedError, where a CallError"),
    ],
    ids=["a call that was sent", "no fault of ours"],
)
def test_a_call_that_reaches_no_server_has_to_say_so(raised: Any, said: str) -> None:
    """A provider whose call counts as made where nobody listens, or ends in another error, is
    told so; one that says it was not sent passes."""

    class OverSockets(ScriptedModel):
        def __init__(self, config: ModelConfig, raised: Any) -> None:
            refuse_options(config)
            free = Capabilities(deterministic_text=True)
            super().__init__("1", model=config.model_name, capabilities=free)
            self._url, self._raised = urlsplit(config.base_url or ""), raised

        async def complete(self, request: ModelRequest) -> ModelResponse:
            try:
                socket.create_connection((self._url.hostname, self._url.port)).close()
            except OSError as error:
                raise self._raised(error) from None
            return await super().complete(request)

    def unsent(error: OSError) -> CallError:
        return CallError(str(error), kind="transient", unsent=True)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/v1"
        config = ModelConfig(model="acme:m", base_url=url)
        check_provider(provider(client=lambda config, _: OverSockets(config, unsent)), config)
        faulty = provider(client=lambda config, _: OverSockets(config, raised))
        assert said in refusal(check_provider, faulty, config)


def test_a_provider_cannot_take_the_name_of_another() -> None:
    """One that would be shadowed by ours is told so."""
    config = ModelConfig(model="openai:m")
    assert "another provider is called 'openai'" in refusal(check_provider, provider(), config)


def test_an_elicitation_that_fails_is_named() -> None:
    """One that announces no call, and one that rates what it does not announce."""
    own = load_elicitation("dimensions")
    parts = {name: getattr(own, name) for name in dir(own)}
    liar = SimpleNamespace(**parts | {"calls": lambda rubric, apart: rubrics.Calls.just(0, 1)})
    assert "from 1 on" in refusal(check_elicitation, liar, shipped("scrub"))
    many = SimpleNamespace(**parts | {"calls": lambda rubric, apart: rubrics.Calls.just(2, 1)})
    assert "takes 1 calls, and calls() says 2 to 2" in refusal(
        check_elicitation, many, shipped("scrub")
    )
    tens = (
        shipped("scrub")
        .dimensions[0]
        .model_copy(update={"scale": rubrics.Scale(min=20, max=30, low="no", high="yes")})
    )
    narrow = shipped("scrub")
    narrow = narrow.model_copy(update={"dimensions": (tens, *narrow.dimensions[1:])})
    off = SimpleNamespace(**parts | {"output_rubric": lambda rubric: narrow})
    assert "which is not on its scale" in refusal(check_elicitation, off, shipped("scrub"))
    assert "is unparsed" in refusal(check_elicitation, own, shipped("scrub"), "Splendid.")
    other = SimpleNamespace(**parts | {"output_rubric": lambda rubric: shipped("debate-speech")})
    assert "output_rubric() does not have" in refusal(check_elicitation, other, shipped("scrub"))


def test_a_stopping_rule_that_fails_is_named() -> None:
    """It answers by True or False and keeps its hands off the judgments."""

    class Rule:
        """Stops when all is said."""

        def should_stop(self, judgments: list[Any], rubric: Rubric) -> Any:
            return len(judgments)

    class Clearing(Rule):
        """Stops at once."""

        def should_stop(self, judgments: list[Any], rubric: Rubric) -> Any:
            judgments.clear()
            return True

    class Wavering(Rule):
        """Stops when asked twice."""

        asked = 0

        def should_stop(self, judgments: list[Any], rubric: Rubric) -> Any:
            self.asked += 1
            return self.asked % 2 == 0

    assert "when it is asked again" in refusal(check_stopping_rule, Wavering())
    assert "True or False" in refusal(check_stopping_rule, Rule())
    assert "changes the judgments" in refusal(check_stopping_rule, Clearing())


def test_a_persona_set_with_two_alike_is_named(tmp_path: Path) -> None:
    """Two personas with one description are one."""
    lines = "\n".join(
        f"  - {{id: {name}, label: {name}, axis: x, description: You sail.}}" for name in "ab"
    )
    (tmp_path / "set.yaml").write_text(f"id: set\nlabel: Set\npersonas:\n{lines}\n")
    assert "one description" in refusal(check_persona_set, tmp_path / "set.yaml")
    (tmp_path / "set.yaml").write_text("id: set\n")
    assert "not valid" in refusal(check_persona_set, tmp_path / "set.yaml")
    assert "not valid" in refusal(check_framings, tmp_path / "set.yaml")


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (lambda block: Statistic(math.nan, 1, 1), "raises an error: ValueError"),
        (lambda block: Statistic(math.inf, 1, 1), "is infinite"),
        (lambda block: Statistic(float(block.ratings[0, 0]), 1, 1), "the order of items"),
        (lambda block: Statistic(1 / 0, 1, 1), "raises an error: ZeroDivisionError"),
    ],
)
def test_a_statistic_that_fails_is_named(
    value: Callable[[AgreementBlock], Statistic], said: str
) -> None:
    """A value without a reason, one that is no number, one that depends on the order of items."""

    def rows(block: AgreementBlock) -> Iterator[Statistic]:
        yield value(block)

    agreement_statistics.register("odd", "odd")(rows)
    try:
        assert said in refusal(check_statistic, "odd")
    finally:
        del agreement_statistics._statistics["odd"]


@pytest.mark.parametrize(
    ("resampled", "said"),
    [
        (lambda weights: weights.sum(axis=1), "gives another value of all items"),
        (lambda weights: 0.5, "odd_resampling returns float for weights of the shape"),
        (lambda weights: np.full(weights.shape, 0.5), "expected an array (resamples,), here (9,)"),
    ],
)
def test_a_resampling_function_of_something_else_is_named(
    resampled: Callable[[Array], Array], said: str
) -> None:
    """One whose value of all items is another, and one that returns another shape, named with the
    shape that is wanted; neither is printed as an interval."""

    def odd_resampling(weights: Array) -> Array:
        return resampled(weights)

    def rows(block: AgreementBlock) -> Iterator[Statistic]:
        yield Statistic(0.5, 24, 4, resampled=odd_resampling)

    agreement_statistics.register("odd", "odd")(rows)
    try:
        assert said in refusal(check_statistic, "odd")
    finally:
        del agreement_statistics._statistics["odd"]


@pytest.mark.parametrize(
    ("result", "said"),
    [
        (
            Statistic(
                468.0, 24, 4, resampled=lambda weights: np.full(len(weights), 468.0),
                limits=(0.0, 1.0),
            ),
            "outside the limits",
        ),
        (
            Statistic(0.5, 24, 4, ci=Interval(0.6, 0.7, 0.1, 7.0, 8)),
            "does not hold it",
        ),
        (
            Statistic(0.5, 24, 4, ci=Interval(0.7, 0.3, 0.1, 7.0, 8)),
            "does not hold it",
        ),
    ],
)  # fmt: skip
def test_an_interval_without_its_value_is_refused(result: Statistic, said: str) -> None:
    """A value outside its limits, and an interval that lies beside its value or is reversed."""
    agreement_statistics.register("odd", "odd")(lambda block: [result])
    try:
        assert said in refusal(check_statistic, "odd")
    finally:
        del agreement_statistics._statistics["odd"]


def test_an_undefined_statistic_conforms() -> None:
    """What says why it has no value is whole; what nobody registered is not there."""

    def rows(block: AgreementBlock) -> Iterator[Statistic]:
        yield Statistic.undefined(Reason.NO_PAIRS)

    agreement_statistics.register("undefined", "undefined")(rows)
    try:
        check_statistic("undefined")
    finally:
        del agreement_statistics._statistics["undefined"]
    assert "no command shows" in refusal(check_statistic, "undefined")


def test_only_the_statistic_in_question_is_computed() -> None:
    """Another one, however slow or faulty, is not called."""
    called: list[AgreementBlock] = []

    def rows(block: AgreementBlock) -> Iterator[Statistic]:
        called.append(block)
        yield Statistic.undefined(Reason.NO_PAIRS)

    agreement_statistics.register("slow", "slow")(rows)
    try:
        check_statistic("perfect_agreement")
        assert not called
        check_statistic("slow")
        assert called
    finally:
        del agreement_statistics._statistics["slow"]


def test_a_renderer_that_fails_is_named() -> None:
    """One that lacks the function, writes nothing, closes the stream, or changes the result."""

    def closing(result: Result, to: TextIO, *, full: bool) -> None:
        to.close()

    def changing(result: Result, to: TextIO, *, full: bool) -> None:
        cast(Any, result.tables[0].rows)[0]["system"] = "other"
        print("changed", file=to)

    silent = SimpleNamespace(render=lambda result, to, *, full: None)
    assert "no render()" in refusal(check_renderer, SimpleNamespace())
    assert "render() writes nothing" in refusal(check_renderer, silent)
    assert "closes the stream" in refusal(check_renderer, SimpleNamespace(render=closing))
    assert "changes the result" in refusal(check_renderer, SimpleNamespace(render=changing))


class _InThisProcess:
    """An engine without workers, which may drop units and pass a cap."""

    def __init__(self, drops: int = 0, *, ignores_caps: bool = False) -> None:
        self._drops, self._ignores_caps = drops, ignores_caps

    async def verdicts(
        self,
        plan: PanelPlan,
        units: AsyncIterator[tuple[Response, ...]],
        caller: Caller,
        caps: Caps,
        on_judgment: OnJudgment,
    ) -> AsyncGenerator[Verdict, None]:
        for _ in range(self._drops):
            await anext(units)
        if self._ignores_caps and caps != NO_CAPS:
            async with prepared(plan, NO_CAPS) as other:
                async for verdict in judged(plan, units, other, on_judgment):
                    yield verdict
        else:
            async for verdict in judged(plan, units, caller, on_judgment):
                yield verdict


def test_an_engine_that_fails_is_named() -> None:
    """One that leaves a response out, and one whose calls no cap holds; one that does neither
    passes."""
    check_engine(lambda: nullcontext(_InThisProcess()))
    dropping, spending = _InThisProcess(1), _InThisProcess(ignores_caps=True)
    said = refusal(check_engine, lambda: nullcontext(dropping))
    assert said == "with the engine 5 of 60 judgments are missing"
    said = refusal(check_engine, lambda: nullcontext(spending))
    assert said == "under a cap of 20 calls the engine makes 60"


def test_an_executor_that_fails_is_named() -> None:
    """One that leaves a response out, and one whose folders hold a response twice."""

    def short(plan: PanelPlan, responses: Sequence[Response], out: Path) -> list[Path]:
        return scored(plan, responses[1:], out)

    def double(plan: PanelPlan, responses: Sequence[Response], out: Path) -> list[Path]:
        return scored(plan, responses, out / "a") + scored(plan, responses, out / "b")

    assert "differ from those of one process" in refusal(check_executor, short)
    assert "in two folders" in refusal(check_executor, double)
