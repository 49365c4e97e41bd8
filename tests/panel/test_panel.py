"""The Python API: making a panel, scoring with it, and what it refuses before any call."""

from __future__ import annotations

import asyncio
import json
import math
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult

import persona_panel as public
from persona_panel import (
    Caps,
    ConfigurationError,
    InputError,
    Judgment,
    ModelConfig,
    Panel,
    PanelError,
    Persona,
    PersonaSet,
    Response,
    RunFolderError,
    RunOutput,
)
from persona_panel.analyses.run_summary import run_summary
from persona_panel.files.outputs import prompt_id_of
from persona_panel.testing import Answer, Script, ScriptedServer, always, ok, raw, serving, status
from tests.helpers.plain_rubric import plain_rubric

LIBRARIAN = Persona(id="librarian", label="Librarian", axis="own", description="You keep books.")
CRITIC = Persona(id="critic", label="Critic", axis="own", description="You doubt.")
TWO = [LIBRARIAN, CRITIC]
PLAIN = plain_rubric("clarity", "depth")
GOOD = '{"clarity": 7, "depth": 5}'
RESPONSES = [
    Response(id=f"r{i}", prompt=f"Question {i // 2}?", text=f"Text {i}.", system=f"s{i % 2}")
    for i in range(4)
]

PERSONAS_YAML = """\
id: own
label: Own
personas:
  - {id: librarian, label: Librarian, axis: own, description: You keep books.}
"""
RUBRIC_YAML = """\
id: own
label: Own
question: How plain is it?
dimensions:
  - id: clarity
    label: Clarity
    definition: How it is.
    guiding_question: Is it?
    scale: {min: 1, max: 5, low: not, high: very}
"""


def stub(server: ScriptedServer, name: str = "stub", **options: Any) -> ModelConfig:
    return ModelConfig(model=f"openai:{name}", base_url=server.base_url, **options)


def plain(server: ScriptedServer, **options: Any) -> Panel:
    return Panel(TWO, stub(server), PLAIN, **options)


class Parrot(BaseChatModel):
    """A chat model of a user's own, which says the same to everything."""

    says: str = GOOD
    kind: str = "parrot"
    model: str = "grey"

    @property
    def _llm_type(self) -> str:
        return self.kind

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=AIMessage(self.says))])


# Making a panel


def test_names_make_the_papers_judges() -> None:
    """Library names give ten perspectives and the scrub rubric; a judge is persona × model."""
    with serving() as server:
        panel = Panel("perspectives", [stub(server, "a"), stub(server, "b")], "scrub")
    assert len(panel.judges) == 20
    assert panel.models == ("openai:a", "openai:b")
    assert len({judge.id for judge in panel.judges}) == 20
    assert len(panel.rubric.dimensions) == 5


def test_a_spec_alone_reaches_the_customary_address(monkeypatch: pytest.MonkeyPatch) -> None:
    """`openai:stub` as one text goes to OPENAI_BASE_URL, without a key."""
    with serving(always(ok(GOOD))) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        run = Panel(TWO, "openai:stub", PLAIN).score(RESPONSES)
        assert run.coverage.complete
        assert len(server.calls) == 8


def test_files_beside_the_code_make_a_panel(tmp_path: Path) -> None:
    """Personas and rubric as paths to YAML files."""
    (tmp_path / "who.yaml").write_text(PERSONAS_YAML)
    (tmp_path / "what.yaml").write_text(RUBRIC_YAML)
    with serving(always(ok('{"clarity": 4}'))) as server:
        panel = Panel(tmp_path / "who.yaml", stub(server), str(tmp_path / "what.yaml"))
        assert panel.score(RESPONSES).ratings.tolist() == [[[4.0]]] * 4


def test_a_panel_files_paths_are_relative_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Read from another folder, a panel file finds what lies beside it, and keeps its seed."""
    folder = tmp_path / "panels"
    folder.mkdir()
    (folder / "who.yaml").write_text(PERSONAS_YAML)
    (folder / "what.yaml").write_text(RUBRIC_YAML)
    (folder / "panel.yaml").write_text(
        "personas: who.yaml\nrubric: what.yaml\nseed: 9\nmodels:\n"
        "  - {model: 'openai:stub', base_url: 'http://127.0.0.1:9/v1', concurrency: 3}\n"
    )
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    panel = Panel.from_file("../panels/panel.yaml")
    assert [judge.id for judge in panel.judges] == ["librarian|openai:stub|dimensions|1"]
    assert (panel.rubric.id, panel.plan.settings.seed) == ("own", 9)


@pytest.mark.parametrize("kind", ["parrot", "my-model", "GPT4All", "llama2", "λ"])
def test_a_langchain_model_of_ones_own_judges(kind: str) -> None:
    """Any chat model of langchain-core is asked as it is, whatever it calls its type."""
    run = Panel(TWO, Parrot(kind=kind), PLAIN).score(RESPONSES)
    assert run.coverage.complete
    assert run.ratings.tolist() == [[[7.0, 5.0]] * 2] * 4


def test_own_and_served_models_sit_together() -> None:
    """A chat model and a ModelConfig make one panel, in the order given."""
    with serving(always(ok(GOOD))) as server:
        panel = Panel(TWO, [Parrot(says='{"clarity": 1, "depth": 1}'), stub(server)], PLAIN)
        ratings = panel.score(RESPONSES[:1]).ratings
    assert ratings.tolist() == [[[1.0, 1.0]] * 2 + [[7.0, 5.0]] * 2]


def test_what_is_twice_is_refused() -> None:
    """A model, a persona or a response that is there twice is an error of the package's own."""
    with serving() as server:
        with pytest.raises(ConfigurationError, match="twice"):
            Panel(TWO, [stub(server), stub(server)], PLAIN)
        with pytest.raises(PanelError, match="librarian"):
            Panel([LIBRARIAN, LIBRARIAN], stub(server), PLAIN)
        with pytest.raises(InputError, match="r0") as caught:
            plain(server).score([*RESPONSES, RESPONSES[0]])
        assert caught.value.faults[0].line == 5
        assert not server.calls


def test_one_prompt_id_for_two_prompts_is_refused() -> None:
    """By a run and by an estimate, each place where an id is another prompt's is named at once,
    with a response that is there twice; an id given by us meets nobody's."""

    def response(name: str, prompt: str, prompt_id: str | None) -> Response:
        return Response(id=name, prompt=prompt, text="T.", system="s", prompt_id=prompt_id)

    batch = [
        response("a", "Why?", "q"),
        response("b", "Why?", "q"),
        response("a", "Who?", "q"),
        response("b", "Where?", "q"),
        response("b", "Why?", "q"),
        response("a", "When?", "p1"),
        response("a", "What?", None),
    ]
    another = "found 'q', which is another prompt's, in response 1; expected one prompt for each"
    with serving(always(ok(GOOD))) as server:
        for work in (plain(server).score, plain(server).estimate):
            with pytest.raises(InputError) as refused:
                work(batch)
            said = [str(fault) for fault in refused.value.faults]
            assert said[0] == f"responses:3: prompt_id: {another} prompt_id"
            assert said[1] == f"responses:4: prompt_id: {another} prompt_id"
            assert said[2].startswith("responses:5: id: found 'b' a second time")
            assert len(said) == 3
        assert not server.calls
        assert plain(server).score([*batch[:2], *batch[5:]]).coverage.complete


async def test_a_stream_reads_two_prompts_under_one_id() -> None:
    """A stream, of which nothing is remembered, reads each response with its own prompt."""
    twice = [Response(id="a", prompt=p, text="T.", system="s", prompt_id="q") for p in ("A?", "B?")]
    with serving(always(ok(GOOD))) as server:
        verdicts = [verdict async for verdict in plain(server).astream(twice)]
    assert [verdict.n_judges for verdict in verdicts] == [2, 2]
    asked = "".join(json.dumps(call.payload["messages"]) for call in server.calls)
    assert asked.count("A?") == asked.count("B?") > 0


def test_a_panel_wants_someone_on_it() -> None:
    """No model and no persona are refused."""
    with serving() as server:
        with pytest.raises(ConfigurationError, match="at least one model"):
            Panel(TWO, [], PLAIN)
        with pytest.raises(PanelError, match="persona"):
            Panel([], stub(server), PLAIN)


def test_a_persona_set_is_taken_as_it_is() -> None:
    """A PersonaSet object keeps its order."""
    with serving() as server:
        chosen = PersonaSet(id="two", label="Two", personas=(CRITIC, LIBRARIAN))
        panel = Panel(chosen, stub(server), PLAIN)
    assert [judge.persona for judge in panel.judges] == ["critic", "librarian"]


@pytest.mark.parametrize(
    ("made", "says"),
    [
        ({"models": "gpt-4o"}, "provider:name"),
        ({"models": "OpenAI:gpt-4o"}, "provider:name"),
        ({"models": "opnai:gpt-4o"}, "did you mean openai:gpt-4o"),
        ({"models": "openai:gpt-4o"}, "OPENAI_API_KEY"),
        ({"models": "local:/no/such.gguf"}, "/no/such.gguf"),
        ({"personas": "perspectivs"}, "perspectives"),
        ({"rubric": "scrubb"}, "scrub"),
        ({"elicitation": "telepathy"}, "telepathy"),
    ],
)
def test_what_cannot_be_had_is_named(made: Mapping[str, Any], says: str) -> None:
    """An unknown model, provider, key, persona set, rubric or elicitation says what to do."""
    with serving() as server:
        with pytest.raises(PanelError, match=says):
            Panel(
                **({"personas": "disciplinary", "models": stub(server), "rubric": "scrub"} | made)
            )
        assert not server.calls


# Scoring


def test_ratings_have_the_shape_of_responses_judges_dimensions() -> None:
    """Four responses, two judges and two dimensions make a 4 × 2 × 2 array of their ratings."""
    with serving(always(ok(GOOD))) as server:
        run = plain(server).score(RESPONSES)
    assert run.ratings.shape == (4, 2, 2)
    assert np.all(run.ratings == [7.0, 5.0])
    assert run.dimensions == ("clarity", "depth")
    assert [v.id for v in run.verdicts] == ["r0", "r1", "r2", "r3"]
    assert [v.composite for v in run.verdicts] == [6.0] * 4
    assert [entry.rank for entry in run.leaderboard().systems] == [1, 1]
    assert {v.prompt_id for v in run.verdicts} == {prompt_id_of(r.prompt) for r in RESPONSES}


def test_no_responses_make_an_empty_run(tmp_path: Path) -> None:
    """An empty batch is a complete run of nothing, with its folder."""
    with serving() as server:
        run = plain(server).score([], out=tmp_path / "run")
        assert run.ratings.shape == (0, 2, 2)
        assert run.leaderboard().systems == ()
        assert not server.calls
    assert (tmp_path / "run" / "summary.json").is_file()


def test_a_folder_belongs_to_its_batch(tmp_path: Path) -> None:
    """Responses that a folder's run is not of are refused; more of them go on, and an output that
    says so overwrites, here without texts."""
    with serving(always(ok(GOOD))) as server:
        panel, run = plain(server), tmp_path / "run"
        panel.score(RESPONSES[:2], out=run)
        with pytest.raises(RunFolderError, match="2 not among these"):
            panel.score(RESPONSES[2:], out=str(run))
        assert panel.score(RESPONSES[::-1], out=RunOutput(run)).calls.made == 4
        panel.score(RESPONSES[:1], out=RunOutput(str(run), overwrite=True, texts=False))
    assert len((run / "judgments.jsonl").read_text().splitlines()) == 2
    assert "Text 0" not in (run / "responses.jsonl").read_text()


def by_persona(librarian: Answer, critic: Answer) -> Script:
    """An answer for each of the two personas."""

    def script(number: int, payload: Mapping[str, Any]) -> Answer:
        return librarian if "You keep books." in json.dumps(payload) else critic

    return script


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (ok("", refusal="I will not."), "refused"),
        (ok("I liked it."), "unparsed"),
        (ok('{"clarity": 11, "depth": 5}'), "unparsed"),
        (ok('{"clarity": 7.5, "depth": 5}'), "unparsed"),
        (status(400), "failed"),
    ],
)
def test_a_gap_is_nan_with_its_reason(answer: Answer, reason: str) -> None:
    """One judge's refusal, unreadable answer or failure is NaN; the other's ratings stand alone."""
    with serving(by_persona(ok(GOOD), answer)) as server:
        run = plain(server).score(RESPONSES[:1])
    assert run.ratings[0, 0].tolist() == [7.0, 5.0]
    assert np.isnan(run.ratings[0, 1]).all()
    assert run.statuses == [["scored", reason]]
    assert run.coverage.missing == {reason: 1}
    assert not run.coverage.complete
    [verdict] = run.verdicts
    assert (verdict.n_judges, verdict.n_asked, verdict.composite) == (1, 2, 6.0)
    assert math.isnan(verdict.dimensions["clarity"].sd)


def test_a_dead_model_leaves_the_others_complete() -> None:
    """Of three models one has a bad key: its six judgments are missing, with the reason; the
    other twelve are there, and every verdict says that four of six judges scored."""

    def script(number: int, payload: Mapping[str, Any]) -> Answer:
        return status(401) if payload["model"] == "b" else ok(GOOD)

    with serving(script) as server:
        panel = Panel(TWO, [stub(server, name) for name in "abc"], PLAIN)
        run = panel.score(RESPONSES[:3])
        assert sum(call.payload["model"] == "b" for call in server.calls) <= 3
    assert run.coverage.scored == 12
    assert sum(run.coverage.missing.values()) == 6
    assert set(run.coverage.missing) <= {"failed", "skipped"}
    assert [(v.n_judges, v.n_asked, v.composite) for v in run.verdicts] == [(4, 6, 6.0)] * 3
    assert np.isnan(run.ratings[:, 2:4]).all()
    assert any("401" in reason["error"] for reason in run_summary(run)["reasons"])


def test_every_judgment_is_told() -> None:
    """`on_judgment` hears each judgment once, with its text."""
    heard: list[Judgment] = []
    with serving(always(ok(GOOD))) as server:
        plain(server).score(RESPONSES, on_judgment=heard.append)
    assert len({(j.prompt_id, j.id, j.judge.id) for j in heard}) == len(heard) == 8
    assert {j.raw for j in heard} == {GOOD}


async def test_score_works_inside_a_running_loop() -> None:
    """In a notebook, whose loop runs already, `score` needs no await; `ascore` does."""
    with serving(always(ok(GOOD))) as server:
        asyncio.get_running_loop()
        panel = plain(server)
        assert panel.score(RESPONSES[:2]).coverage.complete
        run = await panel.ascore(RESPONSES)
    assert run.coverage.complete
    assert (run.calls.made, run.calls.cached) == (4, 4)


# The same again


def test_a_second_run_calls_nothing_and_counts_the_same(tmp_path: Path) -> None:
    """The same panel made anew gives the same numbers and files from the cache."""
    with serving() as server:
        first = plain(server, seed=3).score(RESPONSES, out=tmp_path / "r1")
        made = len(server.calls)
        second = plain(server, seed=3).score(RESPONSES, out=tmp_path / "r2")
        assert len(server.calls) == made == 8
    np.testing.assert_array_equal(first.ratings, second.ratings)
    assert len(np.unique(first.ratings)) > 1
    assert first.verdicts == second.verdicts
    assert repr(first.leaderboard()) == repr(second.leaderboard())
    assert (second.calls.made, second.calls.cached) == (0, 8)
    whole = [(tmp_path / run / "verdicts.csv").read_bytes() for run in ("r1", "r2")]
    assert whole[0] == whole[1]
    told = [json.loads((tmp_path / run / "run.json").read_bytes()) for run in ("r1", "r2")]
    assert [len(one.pop("starts")) for one in told] == [1, 1]
    assert told[0] == told[1]


@pytest.mark.parametrize(
    ("answer", "is_corrected"),
    [
        (ok("", refusal="I will not."), False),
        (ok("I liked it."), True),
        (status(400), False),
        (ok(""), True),
    ],
)
def test_what_is_no_result_is_asked_for_again(answer: Answer, is_corrected: bool) -> None:
    """A refusal or a failure is not kept, of an unreadable answer its correction is not: the next
    run fills the gaps, and asks for nothing else."""
    well = False

    def script(number: int, payload: Mapping[str, Any]) -> Answer:
        good = well or "You keep books." in json.dumps(payload)
        return ok(GOOD) if good else answer

    with serving(script) as server:
        assert plain(server).score(RESPONSES).coverage.scored == 4
        well = True
        before = len(server.calls)
        again = plain(server).score(RESPONSES)
        assert len(server.calls) - before == 4
    assert again.coverage.complete
    # The unreadable answers are there, for the model to correct.
    assert again.calls.cached == (8 if is_corrected else 4)


def test_another_question_is_another_call() -> None:
    """A changed persona, rubric, temperature or text is not answered from the cache."""
    other = CRITIC.model_copy(update={"description": "You doubt it all."})
    wider = PLAIN.model_copy(update={"question": "How plain, really?"})
    text = RESPONSES[0].model_copy(update={"text": "Another text."})
    with serving(always(ok(GOOD))) as server:
        Panel([CRITIC], stub(server), PLAIN).score(RESPONSES[:1])
        for panel, batch in (
            (Panel([other], stub(server), PLAIN), RESPONSES[:1]),
            (Panel([CRITIC], stub(server), wider), RESPONSES[:1]),
            (Panel([CRITIC], stub(server, temperature=0.5), PLAIN), RESPONSES[:1]),
            (Panel([CRITIC], stub(server), PLAIN), [text]),
        ):
            assert panel.score(batch).calls.made == 1


# A stream of verdicts


def endless(taken: list[int]) -> Iterator[Response]:
    """Responses without end, noting how many were taken."""
    while True:
        taken.append(len(taken))
        yield Response(id=f"r{len(taken)}", prompt="p", text=f"t{len(taken)}", system="s")


async def test_a_stream_takes_only_what_it_reads() -> None:
    """Five verdicts of an endless iterator cost no more responses than are in flight with them."""
    taken: list[int] = []
    with serving(always(ok(GOOD))) as server:
        panel = Panel(TWO, stub(server, concurrency=2), PLAIN)
        verdicts = panel.astream(endless(taken))
        seen = [await anext(verdicts) for _ in range(5)]
        await verdicts.aclose()  # type: ignore[attr-defined]
    assert len({verdict.id for verdict in seen}) == 5
    # Three times two calls, two judges: at most four responses are read at a time.
    assert len(taken) <= 5 + 4 + 4


async def test_a_stream_brings_every_verdict() -> None:
    """From an async iterator, from a generator and from a list: all of them, each once."""

    async def slowly() -> AsyncIterator[Response]:
        for response in RESPONSES:
            await asyncio.sleep(0.01)
            yield response

    with serving(always(ok(GOOD))) as server:
        panel = plain(server)
        for source in (slowly(), iter(RESPONSES), RESPONSES):
            verdicts = [verdict async for verdict in panel.astream(source)]
            assert sorted(verdict.id for verdict in verdicts) == ["r0", "r1", "r2", "r3"]
            assert {verdict.n_judges for verdict in verdicts} == {2}
        assert len(server.calls) == 8


async def test_a_verdict_does_not_wait_for_the_next_response() -> None:
    """A source that gives the next response only when the last one's verdict is known goes on."""
    known: asyncio.Queue[str] = asyncio.Queue()

    async def one_after_the_other() -> AsyncIterator[Response]:
        for response in RESPONSES:
            yield response
            assert await known.get() == response.id

    with serving(always(ok(GOOD))) as server:
        async with asyncio.timeout(10):
            async for verdict in plain(server).astream(one_after_the_other()):
                known.put_nowait(verdict.id)
        assert len(server.calls) == 8


async def test_a_source_that_breaks_is_the_callers_error() -> None:
    """What the iterator raises comes out of the stream."""

    def broken() -> Iterator[Response]:
        yield RESPONSES[0]
        raise LookupError("no more pages")

    with serving(always(ok(GOOD))) as server, pytest.raises(LookupError, match="no more pages"):
        async for _ in plain(server).astream(broken()):
            pass


def test_ids_that_join_alike_keep_their_own_texts() -> None:
    """Two responses whose ids differ only in where the line break falls are read as they are."""
    sly = [
        Response(id="b\nc", prompt_id="a", prompt="p", text="First text.", system="s"),
        Response(id="c", prompt_id="a\nb", prompt="p", text="Second text.", system="s"),
    ]
    with serving(always(ok(GOOD))) as server:
        assert plain(server).score(sly).coverage.complete
        asked = json.dumps([call.payload for call in server.calls])
    assert asked.count("First text.") == asked.count("Second text.") == 2


async def test_a_stream_may_repeat_itself() -> None:
    """The same response twice in a stream gets a verdict each time."""
    with serving(always(ok(GOOD))) as server:
        panel = plain(server)
        verdicts = [v async for v in panel.astream([RESPONSES[0], RESPONSES[0]])]
    assert [verdict.id for verdict in verdicts] == ["r0", "r0"]


async def test_a_stream_stops_at_a_cap() -> None:
    """Under a cap of five calls two judges read two of four responses whole; the verdicts on the
    others come with their judgments skipped, and no sixth call is made."""
    heard: list[Judgment] = []
    with serving(always(ok(GOOD))) as server:
        panel = plain(server)
        stream = panel.astream(RESPONSES, caps=Caps(calls=5), on_judgment=heard.append)
        verdicts = [verdict async for verdict in stream]
        assert len(server.calls) == 5
    assert len(verdicts) == len(RESPONSES)
    statuses = Counter(judgment.status for judgment in heard)
    assert statuses == {"scored": 5, "skipped": 2 * len(RESPONSES) - 5}


async def test_a_stream_capped_in_dollars_wants_a_price() -> None:
    """An unknown price is refused before any call."""
    with serving() as server:
        with pytest.raises(ConfigurationError, match="price of openai:stub is unknown"):
            await anext(plain(server).astream(RESPONSES, caps=Caps(usd=1.0)))
        assert not server.calls


# Refused before any call


def test_a_text_that_is_too_long_is_refused() -> None:
    """100,000 words for a window of 4,096 tokens: named with its row and the model, and nothing is
    called."""
    long = Response(id="long", prompt="p", text="word " * 100_000, system="s", prompt_id="q")
    with serving() as server:
        panel = Panel(TWO, [stub(server, "small", context_window=4096), stub(server)], PLAIN)
        with pytest.raises(InputError) as caught:
            panel.score([RESPONSES[0], long])
        assert not server.calls
    [fault] = caught.value.faults
    assert (fault.file, fault.line, fault.field) == ("responses", 2, "response long")
    assert "4,096, the context of openai:small" in fault.expected


def completion(payload: Mapping[str, Any]) -> dict[str, Any]:
    message = {"role": "assistant", "content": "7"}
    return {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}], "usage": {}}


def test_expected_wants_log_probabilities(tmp_path: Path) -> None:
    """A server that gives none is refused after one probing call, before any response is sent."""
    with serving(lambda number, payload: raw(completion(payload))) as server:
        panel = plain(server, elicitation="expected")
        with pytest.raises(ConfigurationError, match="log-probabilities"):
            panel.score(RESPONSES)
        assert len(server.calls) == 1
        assert "Text 0." not in json.dumps(server.calls[0].payload["messages"])


def test_a_folder_of_something_else_costs_no_call(tmp_path: Path) -> None:
    """A folder in which something else lies is refused before the probe for log-probabilities,
    of a batch and of a sweep."""
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "thesis.txt").write_text("mine")
    with serving() as server:
        panel = plain(server, elicitation="expected")
        with pytest.raises(RunFolderError, match=r"thesis\.txt"):
            panel.score(RESPONSES, out=folder)
        with pytest.raises(RunFolderError, match=r"thesis\.txt"):
            panel.sweep(["Is merit a myth?"], [stub(server)], out=folder)
        assert not server.calls


def test_expected_weighs_the_scale_by_its_probabilities() -> None:
    """7 at 0.5, 9 at 0.25 and something else at 0.25 is (7 × 0.5 + 9 × 0.25) / 0.75, and a
    quarter off the scale; one call asks a served model for both dimensions."""
    number = {"7": math.log(0.5), "9": math.log(0.25), "x": math.log(0.25)}
    tokens = [{'{"clarity": ': 0.0}, number, {', "depth": ': 0.0}, number, {"}": 0.0}]
    answer = ok('{"clarity": 7, "depth": 7}', logprobs=tokens)
    heard: list[Judgment] = []
    with serving(always(answer)) as server:
        run = plain(server, elicitation="expected").score(RESPONSES[:1], on_judgment=heard.append)
    assert run.ratings == pytest.approx(np.full((1, 2, 2), 5.75 / 0.75))
    assert heard[0].off_scale == pytest.approx({"clarity": 0.25, "depth": 0.25})
    assert run.judges[0].id == "librarian|openai:stub|expected|1"
    # One call for each of two judges, and the probe for log-probabilities.
    assert run.calls.made == len(server.calls) == 3


# The public names


def test_every_public_name_is_there() -> None:
    """Each name in `panel.__all__` can be imported; others are an ordinary AttributeError."""
    for name in public.__all__:
        # All but a persona that stands for none are classes or functions.
        assert getattr(getattr(public, name), "__name__", name) == name
    assert set(public.__all__) <= set(dir(public))
    with pytest.raises(AttributeError, match="nonsense"):
        public.nonsense  # noqa: B018


def test_the_import_is_light() -> None:
    """`import panel` loads neither numpy nor pydantic nor langgraph; the first name does."""
    heavy: Sequence[str] = ("numpy", "pydantic", "langgraph", "langchain_core", "scipy", "pycurl")
    code = (
        f"import sys, panel; heavy = {heavy!r}\n"
        "assert not [name for name in heavy if name in sys.modules], sys.modules.keys()\n"
        "panel.Response; assert 'pydantic' in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-500:]


def test_reading_a_run_imports_no_langgraph() -> None:
    """`load_run` loads neither LangGraph nor LangChain, which take longer than all else."""
    code = (
        "import sys; from persona_panel import load_run\n"
        "assert not {'langgraph', 'langchain_core', 'langsmith'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
