"""Runs by Anthropic's and by Gemini's batches, through the providers' own packages: the results of
calls, and nothing paid twice."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import certifi
import orjson
import pytest

from persona_panel import Panel, RunStopped
from persona_panel.analyses.run_summary import run_summary
from persona_panel.calls.batch_records import sought
from persona_panel.calls.batch_rounds import BatchPace, batches_of
from persona_panel.files.outputs import BATCHES
from persona_panel.models.batches import BatchClient, BatchSought, NotToldYet
from persona_panel.models.client import distinct, parameters_of
from persona_panel.models.config import ModelConfig
from persona_panel.models.providers import client_for
from persona_panel.rubrics import JudgePrompt, ModelRequest
from persona_panel.runs import executor
from persona_panel.runs.execution import Execution
from persona_panel.runs.provider_batches import cancel, headers_left_out, look, take_answers
from persona_panel.runs.request_files import ByFiles, RequestFiles
from persona_panel.testing import check_batch_client, serving
from persona_panel.testing.server import BatchScript
from tests.helpers.answers import answered
from tests.helpers.batch_wires import AnthropicBatchWire, BatchWire, GeminiBatchWire, served
from tests.helpers.batches import PERSONAS, PRICE, RESPONSES
from tests.helpers.batches import scored as scored_at
from tests.helpers.judgments import PLAIN

# Of Google's package.
pytestmark = pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession")
ASK = ModelRequest("You judge.", ("Rate it.",))
KEY = "key-of-a-provider-0123456789"
Anthropic = AnthropicBatchWire
PACE = BatchPace(first_look=0.01, longest_look=0.02, listed=0.1, patience=30.0)
scored = partial(scored_at, pace=PACE)


@pytest.fixture(scope="module")
def one_certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Google's package reads all that there are, three times a client, in a tenth of a second."""
    first, end, _ = Path(certifi.where()).read_text().partition("-----END CERTIFICATE-----")
    path = tmp_path_factory.mktemp("certificates") / "one.pem"
    path.write_text(first + end)
    return path


@pytest.fixture(params=[AnthropicBatchWire, GeminiBatchWire], ids=["anthropic", "gemini"])
def wire(
    request: pytest.FixtureRequest, one_certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[BatchWire]:
    monkeypatch.setenv("SSL_CERT_FILE", str(one_certificate))
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    monkeypatch.setenv("GOOGLE_API_KEY", KEY)
    with served(request.param()) as server:
        yield server


@pytest.fixture
def anthropic(monkeypatch: pytest.MonkeyPatch) -> Iterator[BatchWire]:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    with served(AnthropicBatchWire()) as server:
        yield server


def panel_at(wire: BatchWire) -> Panel:
    model = ModelConfig(model=wire.spec, base_url=wire.url, price=PRICE)
    return Panel(PERSONAS, model, PLAIN)


def forget_the_id(folder: Path) -> None:
    """The journal as a kill leaves it between a batch's submission and the note of its id."""
    journal = folder / BATCHES
    lines = journal.read_bytes().splitlines(keepends=True)
    while orjson.loads(lines.pop())["change"] != "submitted":
        pass
    journal.write_bytes(b"".join(lines))


def stopped(wire: BatchWire, folder: Path, panel: Panel | None = None) -> Panel:
    """A run that was stopped while its batch was in progress."""
    wire.script = BatchScript(looks=10_000)
    panel = panel or panel_at(wire)

    def tell(line: str) -> None:
        if "requests answered" in line:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        scored(panel, folder, tell=tell)
    return panel


def test_a_run_from_its_requests_to_its_answers(wire: BatchWire, tmp_path: Path) -> None:
    """Rows that come backwards, each twice, and after a while, are taken once: eight judgments, at
    half the price, with no key in what was sent or written; the same command asks no more."""
    wire.script = BatchScript(looks=1, backwards=True, twice=True)
    folder = tmp_path / "run"
    run = scored(panel_at(wire), folder)
    assert (run.calls.made, run.coverage.scored, len(wire.made)) == (8, 8, 1)
    assert len(wire.asked) == 8
    used = run.calls.spent[f"{wire.spec} (batch)"]
    usd = (used.input * 1.0 + used.output * 5.0) / 1e6
    assert run_summary(run)["calls"]["usd"] == pytest.approx(usd, abs=1e-6) and used.output > 0
    written = b"".join(path.read_bytes() for path in folder.iterdir() if path.is_file())
    assert KEY.encode() not in written + orjson.dumps(wire.rows)
    again = scored(panel_at(wire), folder)
    assert (again.calls.made, again.calls.cached, len(wire.made)) == (0, 8, 1)


def test_a_published_prompt_is_sent_word_for_word(wire: BatchWire, tmp_path: Path) -> None:
    """A row has the template's words for its judge and text, no system message and no form of the
    answer, which is read by the template's rule; run again, nothing is asked."""
    template = JudgePrompt.model_validate(
        {
            "prompt": "{persona} {question} {text} End with [[rating]].",
            "read": {"regex": r"\[\[(\d+)\]\]"},
            "scale": {"min": 1, "max": 10, "low": "bad", "high": "good"},
            "example": "Fine. [[5]]",
        }
    )
    wire.usual = lambda asked: wire.wire.judged(asked, "Fine. [[7]]").body
    model = ModelConfig(model=wire.spec, base_url=wire.url, price=PRICE)
    panel = Panel(PERSONAS, model, PLAIN, prompt=template)
    for _ in range(2):
        run = scored(panel, tmp_path / "run")
        assert (run.dimensions, run.ratings.ravel().tolist()) == (("overall",), [7.0] * 8)
    assert (len(wire.made), wire.live) == (1, [])
    [rows] = wire.rows.values()
    asked = [row.get("params") or row["request"] for row in rows]
    assert not re.search(rb"(?i)system|schema|tool", orjson.dumps(asked))
    assert sorted(map(words_of, asked)) == sorted(
        f"{persona.description} Why? {response.text} End with [[rating]]."
        for persona in PERSONAS
        for response in RESPONSES
    )


def words_of(asked: Mapping[str, Any]) -> str:
    """What a request says, by Anthropic's messages or Gemini's contents."""
    said: dict[str, Any]
    [said] = asked.get("messages") or asked["contents"]
    return said.get("content") or "".join(part["text"] for part in said["parts"])


def test_answers_are_in_the_database_before_their_batch_counts_as_collected(
    anthropic: BatchWire, tmp_path: Path
) -> None:
    """A power cut behind the record cannot lose what the record says is there."""
    cache, rows = Path(os.environ["PERSONA_PANEL_CACHE"]), []

    def tell(line: str) -> None:
        if "has ended" in line:
            with closing(sqlite3.connect(cache / "cache.db")) as database:
                rows.extend(database.execute("SELECT key FROM Cache").fetchall())

    scored(panel_at(anthropic), tmp_path / "run", tell=tell)
    assert rows


def test_a_row_is_the_body_of_a_live_call(
    wire: BatchWire, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a batch asks is what a call would send, word for word; the answers read as a call's, and
    take as many tokens."""
    live = scored(panel_at(wire), tmp_path / "live", batches=False)
    monkeypatch.setenv("PERSONA_PANEL_CACHE", str(tmp_path / "other"))
    run = scored(panel_at(wire), tmp_path / "batched")
    part = "params" if isinstance(wire, Anthropic) else "request"
    rows = [row[part] for row in next(iter(wire.rows.values()))]
    assert len(rows) == len(wire.live) == 8
    assert all(row in wire.live for row in rows)
    spec = wire.spec
    assert run.calls.spent[f"{spec} (batch)"] == live.calls.spent[spec]
    assert run_summary(run)["ranking"] == run_summary(live)["ranking"]


@pytest.mark.parametrize("package", ["httpx", "httpx2"])
def test_google_may_call_by_either_package(
    package: str, one_certificate: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Answers of Gemini's batches are read whichever HTTP client Google's package is set to use."""
    pytest.importorskip(package)
    monkeypatch.setenv("GOOGLE_GENAI_HTTP_CLIENT", package)
    monkeypatch.setenv("GOOGLE_API_KEY", KEY)
    monkeypatch.setenv("SSL_CERT_FILE", str(one_certificate))
    with served(GeminiBatchWire()) as wire:
        assert scored(panel_at(wire), tmp_path / "run").coverage.scored == 8


def test_the_version_of_geminis_api_is_an_option(
    one_certificate: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without it calls go to the version that Google's package prefers."""
    monkeypatch.setenv("GOOGLE_API_KEY", KEY)
    monkeypatch.setenv("SSL_CERT_FILE", str(one_certificate))
    with served(GeminiBatchWire()) as wire:
        options = {"api_version": "v1beta"}
        model = ModelConfig(model=wire.spec, base_url=wire.url, options=options, price=PRICE)
        scored(Panel(PERSONAS, model, PLAIN), tmp_path / "run", batches=False)
        assert wire.heard and all(path.startswith("/v1beta/") for path, _ in wire.heard)


def test_requests_in_files(wire: BatchWire, tmp_path: Path) -> None:
    """Requests go to files and answers come from files, also where another provider's models are
    beside: what was asked is the body of a live call, and nothing is called."""
    with serving() as other:
        model = ModelConfig(model=wire.spec, base_url=wire.url, price=PRICE)
        beside = ModelConfig(model="openai:stub", base_url=other.base_url, price=PRICE)
        panel, out = Panel(PERSONAS, [model, beside], PLAIN), tmp_path / "out"
        done = asyncio.run(
            executor.Scoring(panel.plan, RESPONSES, summary=run_summary).export(RequestFiles(out))
        )
        assert (done.requests, len(done.files)) == (16, 2)
        for name, lines in wire.answers_in_files(out):
            (out / f"answers-{name}").write_bytes(lines)
        answered(out, files="requests-openai*.jsonl")
        by = Execution(answered_by=ByFiles(out, print))
        run = asyncio.run(
            executor.score(
                panel.plan, RESPONSES, summary=run_summary, out=tmp_path / "run", execution=by
            )
        )
        assert run.coverage.complete and run.calls.made == 0
        assert not wire.live and not wire.made and not other.calls


def test_run_json_says_what_rows_were_sent_with(wire: BatchWire, tmp_path: Path) -> None:
    """The parameters of a batch's rows are in run.json as those of calls are, and neither hold a
    temperature that nobody has set."""
    scored(panel_at(wire), tmp_path / "run")
    part = "params" if isinstance(wire, Anthropic) else "request"
    rows = [parameters_of(row[part]) for row in next(iter(wire.rows.values()))]
    start = orjson.loads((tmp_path / "run" / "run.json").read_bytes())["starts"][0]
    assert start["sent"] == {wire.spec: distinct([], rows)}
    assert b"temperature" not in orjson.dumps(start["sent"])


def test_faults_of_rows(wire: BatchWire, tmp_path: Path) -> None:
    """A row that may pass goes into the next batch, one that never will does not; the judgments
    say why."""
    # A gateway's, which says that nothing was answered.
    busy = (502, "overloaded_error")
    wire.faults = {0: busy, 1: (3, "invalid_request_error")}

    def tell(line: str) -> None:
        if "has ended" in line:
            wire.faults = {}

    run = scored(panel_at(wire), tmp_path / "run", tell=tell)
    assert [len(rows) for rows in wire.rows.values()] == [8, 1]
    assert (run.coverage.scored, run.coverage.missing["failed"]) == (7, 1)
    lines = (tmp_path / "run" / "judgments.jsonl").read_text().splitlines()
    (failed,) = [one for one in map(json.loads, lines) if one["status"] == "failed"]
    assert "invalid_request_error" in failed["error"]


def test_what_expired_goes_into_the_next_batch(wire: BatchWire, tmp_path: Path) -> None:
    """Of Anthropic's expired batches the answers that are there count, Gemini's bring none; the
    rest goes into a second one, and no request is answered twice."""
    wire.script = BatchScript(answered=3)

    def tell(line: str) -> None:
        if "has ended (expired)" in line:
            wire.script.answered = None

    run = scored(panel_at(wire), tmp_path / "run", tell=tell)
    left = 5 if isinstance(wire, Anthropic) else 8
    assert [len(rows) for rows in wire.rows.values()] == [8, left]
    assert run.coverage.complete and run.calls.made == 8 and len(wire.asked) == 8


@pytest.mark.parametrize("unlisted", [0, 1])
def test_a_lost_reply_is_not_paid_twice(wire: BatchWire, unlisted: int, tmp_path: Path) -> None:
    """The connection breaks once a batch is made: it is found again, and is the only one."""
    wire.script = BatchScript(lost=1, unlisted=unlisted)
    if isinstance(wire, Anthropic):
        end_at_the_second_look(wire)
    run = scored(panel_at(wire), tmp_path / "run")
    assert len(wire.made) == 1 and run.coverage.complete


def end_at_the_second_look(wire: BatchWire) -> None:
    """Its batches end without being looked at, as a provider's do."""
    listed, n = wire.listed, [0]

    def ended() -> list[dict[str, object]]:
        n[0] += 1
        for batch in wire.made if n[0] > 2 else ():
            if batch["processing_status"] == "in_progress":
                wire._end(batch, None, "expired")  # type: ignore[attr-defined]
        return listed()

    wire.listed = ended  # type: ignore[method-assign]


def test_an_unnoted_batch_is_found_among_others(anthropic: BatchWire, tmp_path: Path) -> None:
    """Killed before the id was noted, with three other batches of eight requests at the provider:
    while these are in progress nobody can tell, so that nothing is submitted; once they have ended
    the one with our token is taken. One of another size is not waited for."""
    folder = tmp_path / "run"
    panel = stopped(anthropic, folder)
    forget_the_id(folder)
    others = [
        [{"custom_id": f"other-{one}-{n}", "params": {}} for n in range(8)] for one in range(2)
    ]
    for rows in (*others, [{"custom_id": "one", "params": {"messages": []}}]):
        anthropic._make({"requests": rows})  # type: ignore[attr-defined]
    (record,) = batches_of(folder)
    api = client_for(ModelConfig(model=Anthropic.spec, base_url=anthropic.url)).batches()  # type: ignore[attr-defined]
    with pytest.raises(NotToldYet) as waiting:
        asyncio.run(api.find(sought(record, [record])))
    names = ("msgbatch_1", "msgbatch_2", "msgbatch_3", "msgbatch_4")
    assert [name in str(waiting.value) for name in names] == [True, True, True, False]
    (now,) = asyncio.run(look(folder))
    assert now.status is None
    end_at_the_second_look(anthropic)
    told: list[str] = []
    anthropic.script = BatchScript()
    run = scored(panel, folder, tell=told.append)
    assert "waiting, so as not to pay twice" in told[0]
    assert len(anthropic.made) == 4 and run.coverage.complete and run.calls.made == 8
    assert [batch.id for batch in batches_of(folder)] == ["msgbatch_1"]


def test_an_unnoted_batch_is_found_on_a_later_page(anthropic: BatchWire) -> None:
    """Of 150 batches the oldest is found on the second page of the list. The run's own other
    batches are not waited for, nor is what is older than the batch that is sought."""
    client = client_for(ModelConfig(model=Anthropic.spec, base_url=anthropic.url))
    assert isinstance(client, BatchClient)
    api = client.batches()

    async def look_for_it() -> None:
        since = time.time()
        sent = await api.submit("a" * 32, [api.line("0" * 64, ASK)])
        other = {"custom_id": "0" * 43 + "b" * 21, "params": {}}
        for _ in range(149):
            anthropic._make({"requests": [other]})  # type: ignore[attr-defined]
        names = [batch["id"] for batch in anthropic.made]
        ours = BatchSought("a" * 32, since, 1)
        with pytest.raises(NotToldYet):
            await api.find(ours)
        # All but ours are the run's own: it is the one that is waited for.
        with pytest.raises(NotToldYet, match="as msgbatch_1,"):
            await api.find(ours._replace(others=names[1:]))
        assert await api.find(ours._replace(others=names)) is None
        for batch in anthropic.made:
            anthropic._end(batch, None, "expired")  # type: ignore[attr-defined]
        found = await api.find(ours._replace(others=names[1:]))
        assert found is not None and found.id == sent.id
        # A provider's clock may be some minutes behind ours.
        n = len(anthropic.heard)
        assert await api.find(BatchSought("c" * 32, since + 10_000, 1)) is None
        assert len(anthropic.heard) == n + 1

    asyncio.run(look_for_it())


def test_a_batch_that_never_arrived_is_sent(wire: BatchWire, tmp_path: Path) -> None:
    """Killed before anything was sent: the provider lists no such batch, and it is submitted."""
    folder = tmp_path / "run"
    panel = stopped(wire, folder)
    forget_the_id(folder)
    wire.made.clear()
    wire.script = BatchScript()
    assert scored(panel, folder).coverage.complete
    assert len(wire.made) == 1


def test_answers_that_were_being_taken(wire: BatchWire, tmp_path: Path) -> None:
    """Killed before the answers were in the cache, and started again: they are fetched once more,
    and nothing is submitted."""
    folder = tmp_path / "run"
    scored(panel_at(wire), folder)
    journal = folder / BATCHES
    journal.write_bytes(b"".join(journal.read_bytes().splitlines(keepends=True)[:-1]))
    run = scored(panel_at(wire), folder)
    assert (len(wire.made), len(wire.asked)) == (1, 8) and run.coverage.complete


def test_it_is_a_batch_provider(wire: BatchWire) -> None:
    """The check for authors of providers passes, and fails for answers under other names."""
    wire.script = BatchScript(looks=1)
    client = client_for(ModelConfig(model=wire.spec, base_url=wire.url, price=PRICE))
    check_batch_client(client)
    in_order = wire.in_order
    wire.in_order = lambda lines: in_order(lines[:1])  # type: ignore[method-assign]
    with pytest.raises(AssertionError, match="answers are named"):
        check_batch_client(client)


def test_a_batch_is_waited_for_as_it_was_sent(
    wire: BatchWire, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`batch wait` reaches the provider with the model's own key and options, without the panel;
    only headers, whose values are in no file, are left out, and named."""
    if isinstance(wire, Anthropic):
        options = {"default_headers": {"X-Team": "team-7351"}, "betas": ["some-2026-01-01"]}
    else:
        options = {"additional_headers": {"X-Team": "team-7351"}, "api_version": "v1alpha"}
    monkeypatch.setenv("TEAM_KEY", "key-of-a-team-0123456789")
    folder = tmp_path / "run"
    model = ModelConfig(
        model=wire.spec, base_url=wire.url, key_env="TEAM_KEY", timeout=7, options=options
    )
    stopped(wire, folder, Panel(PERSONAS[:1], model, PLAIN))
    # Google's package leaves headers out of the upload of a file's content.
    teams = {headers.get("X-Team") for path, headers in wire.heard if "/upload/" not in path}
    assert teams == {"team-7351"}
    if isinstance(wire, Anthropic):
        # Announced as with a call, where the batch is made.
        betas = [headers.get("anthropic-beta") for path, headers in wire.heard]
        assert betas[0] == "some-2026-01-01"
    (batch,) = batches_of(folder)
    name = list(options)[1]
    assert batch.settings == {"timeout": 7, name: options[name]}
    assert headers_left_out(folder) == ["X-Team"]
    assert b"team-7351" not in (folder / BATCHES).read_bytes()
    wire.heard.clear()
    wire.script = BatchScript()
    asyncio.run(take_answers(folder, lambda line: None, PACE))
    # In one header or another, as the package's version has it.
    assert wire.heard and all("key-of-a-team" in str(headers) for _, headers in wire.heard)
    if not isinstance(wire, Anthropic):
        assert all("/v1alpha/" in path for path, _ in wire.heard)


def test_wait_and_cancel(wire: BatchWire, tmp_path: Path) -> None:
    """Without the panel: answers are waited for, or the batch is cancelled, which costs nothing
    where nothing was answered."""
    folder = tmp_path / "run"
    panel = stopped(wire, folder)
    assert [one.status and one.status.phase for one in asyncio.run(look(folder))] == ["working"]
    wire.script = BatchScript()
    asyncio.run(take_answers(folder, lambda line: None, PACE))
    assert scored(panel, folder).calls.cached == 8
    gone = tmp_path / "gone"
    # Other words, so that the cache does not answer.
    panel = Panel(PERSONAS[:1], panel.plan.models[0].config.changed(temperature=0.5), PLAIN)
    wire.script = BatchScript(looks=10_000)
    with pytest.raises(KeyboardInterrupt):
        scored(panel, gone, tell=_stop)
    (ended,) = asyncio.run(cancel(gone))
    assert ended.status is not None and ended.status.word == "cancelled"
    with pytest.raises(RunStopped, match="was cancelled"):
        scored(panel, gone)
    assert [batch.calls for batch in batches_of(gone)] == [0]


def _stop(line: str) -> None:
    if "requests answered" in line:
        raise KeyboardInterrupt
