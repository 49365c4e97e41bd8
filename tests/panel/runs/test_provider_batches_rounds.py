"""Runs that are answered by batches: the same results at another price, and nothing paid twice."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from persona_panel import ModelConfig, Panel, RunFolderError, RunStopped
from persona_panel.analyses.run_summary import run_summary
from persona_panel.calls.batch_caller import WantedRows
from persona_panel.calls.batch_records import BatchRecord, prepared
from persona_panel.calls.batch_rounds import batches_of
from persona_panel.calls.budget import Caps
from persona_panel.calls.cache import ReplyKey
from persona_panel.files.outputs import BATCHES
from persona_panel.graphs.context import Abort
from persona_panel.graphs.deliberation import Deliberation
from persona_panel.models.batches import OpenAIBatches
from persona_panel.models.client import NOTHING
from persona_panel.runs import executor
from persona_panel.runs.execution import Execution
from persona_panel.runs.output import RunOutput
from persona_panel.runs.provider_batches import ByBatches, cancel, look, take_answers
from persona_panel.runs.request_files import ByFiles
from persona_panel.testing import ScriptedServer, in_turn, ok, serving, status
from persona_panel.testing.server import BatchScript
from tests.helpers.batches import (
    FAST,
    PRICE,
    RESPONSES,
    forking,
    generated,
    panel_at,
    scored,
    swept,
)
from tests.sycophant import world

NAME = "openai:stub (batch)"


def results(folder: Path) -> list[dict[str, object]]:
    """What a run's judgments say, apart from how long they took."""
    lines = (folder / "judgments.jsonl").read_text().splitlines()
    judgments = [json.loads(line) for line in lines]
    for judgment in judgments:
        judgment.pop("latency_s", None)
    return sorted(judgments, key=lambda one: (one["id"], one["judge"], one.get("round", 1)))


def spent(folder: Path) -> dict[str, Any]:
    document: dict[str, Any] = orjson.loads((folder / "spent.json").read_bytes())
    return document


@pytest.mark.parametrize(
    "options", [{}, {"deliberation": Deliberation(rounds=1)}, {"elicitation": "expected"}]
)
def test_a_run_by_batches_is_the_run_by_calls(
    options: dict[str, object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same judgments, in deliberation and with follow-up questions, too; the same tokens, at
    half the price; each request in one batch and none called, but for the one that asks whether the
    model gives log-probabilities."""
    with serving() as server:
        panel = panel_at(server.base_url, **options)
        live = scored(panel, tmp_path / "live", batches=False)
        n_calls = len(server.calls)
        monkeypatch.setenv("PERSONA_PANEL_CACHE", str(tmp_path / "other"))
        run = scored(panel, tmp_path / "batched")
        probes = 1 if options.get("elicitation") == "expected" else 0
        assert len(server.calls) == n_calls + probes
        assert len(server.batches.asked) == len(set(server.batches.asked)) == n_calls - probes
    assert results(tmp_path / "batched") == results(tmp_path / "live")
    assert (run.calls.made, run.calls.cached) == (live.calls.made, live.calls.cached)
    batched, called = run.calls.spent[NAME], live.calls.spent["openai:stub"]
    if not probes:
        assert batched == called
        usd = run_summary(run)["calls"]["usd"]
        assert usd == pytest.approx((batched.input * 1.0 + batched.output * 5.0) / 1e6, abs=1e-6)


def test_the_same_command_asks_nothing_more(tmp_path: Path) -> None:
    """Started again, the run makes no call and no batch: 8 replies are in the cache, and what was
    spent is not counted again."""
    with serving() as server:
        panel = panel_at(server.base_url)
        scored(panel, tmp_path / "run")
        before = spent(tmp_path / "run")
        run = scored(panel, tmp_path / "run")
        assert (run.calls.made, run.calls.cached) == (0, 8)
        assert len(server.batches.made) == 1
    assert spent(tmp_path / "run") == before


def test_answers_in_any_order_and_twice(tmp_path: Path) -> None:
    """Rows that come backwards, and each twice, are taken once: 8 calls are counted."""
    with serving() as server:
        server.batches.script = BatchScript(looks=2, backwards=True, twice=True)
        told: list[str] = []
        run = scored(panel_at(server.base_url), tmp_path / "run", tell=told.append)
        assert len(server.batches.made) == 1
    assert (run.calls.made, run.coverage.scored) == (8, 8)
    assert "8 rows came twice or belong to no request" in told[-1]


@pytest.mark.parametrize(
    ("most_rows", "submitted", "working", "ended"),
    [
        (8, "8 requests was", "0 of 8 requests answered", "8 of 8 requests have an answer"),
        (1, "1 request was", "0 of 1 request answered", "1 of 1 request has an answer"),
    ],
)
def test_each_thing_is_told_once(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    most_rows: int,
    submitted: str,
    working: str,
    ended: str,
) -> None:
    """A batch is submitted, in progress, and ended, each in one line; one request is not many."""
    monkeypatch.setattr(OpenAIBatches, "most_rows", most_rows)
    with serving() as server:
        server.batches.script = BatchScript(looks=1)
        told: list[str] = []
        scored(panel_at(server.base_url), tmp_path / "run", tell=told.append)
    start = "openai:stub: batch batch_1"
    first = [line for line in told if line.startswith((f"{start} ", f"{start}:"))]
    assert first == [
        f"{start} with {submitted} submitted",
        f"{start}: in_progress, {working}",
        f"{start} has ended (completed): {ended}",
    ]


def test_what_expired_goes_into_the_next_batch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a batch that expired after 6 of 16 rows, the others go into a second one. Judges confer
    about a response once all four have read it, so that as many requests are answered as by calls,
    each once, and only these are counted."""
    rules = Deliberation(rounds=1)
    with serving() as server:
        script = server.batches.script = BatchScript(answered=6)

        def tell(line: str) -> None:
            if "has ended (expired)" in line:
                script.answered = None

        panel = panel_at(server.base_url, deliberation=rules, replicates=2, temperature=1.0)
        run = scored(panel, tmp_path / "run", tell=tell)
        assert server.batches.made[0]["request_counts"]["completed"] == 6
        asked = server.batches.asked
        monkeypatch.setenv("PERSONA_PANEL_CACHE", str(tmp_path / "other"))
        scored(panel, tmp_path / "live", batches=False)
        assert len(asked) == len(set(asked)) == run.calls.made == len(server.calls)
    assert run.coverage.complete


def test_calls_that_do_not_say_what_they_took(tmp_path: Path) -> None:
    """An answer without usage counts as its share of the most that the batch may take, and is told
    as an estimate."""
    with serving(lambda number, payload: ok(usage={})) as server:
        run = scored(panel_at(server.base_url), tmp_path / "run")
    assert run.calls.estimated.calls == 8
    used = run.calls.spent[NAME]
    assert used == run.calls.estimated.usage[NAME]
    assert used.output == 8 * 1024 and used.input > 0


def test_rows_that_always_fail(tmp_path: Path) -> None:
    """A row that comes back with a 500 goes in three batches, one with a 400 in one; the judgments
    have failed, with what the server said."""
    with serving(lambda number, payload: status(500)) as server:
        run = scored(panel_at(server.base_url), tmp_path / "transient")
        assert len(server.batches.made) == 3
        assert run.coverage.missing["failed"] == 8
        errors = {str(one["error"]) for one in results(tmp_path / "transient")}
        assert len(errors) == 1 and "500" in (said := errors.pop()) and "3 batches" in said
        # They were answered, and the same command does not have them answered nine times.
        assert spent(tmp_path / "transient")["calls"] == run.calls.made == 24
        scored(panel_at(server.base_url), tmp_path / "transient")
        assert len(server.batches.made) == 3
        assert "in 3 batches" in str(results(tmp_path / "transient"))
    with serving(lambda number, payload: status(400)) as server:
        scored(panel_at(server.base_url), tmp_path / "rejected")
        assert len(server.batches.made) == 1


def test_answers_under_wrong_names_count(tmp_path: Path) -> None:
    """Eight answers that belong to no request were paid for: with a cap of 12 calls there is room
    for four more, and no third batch."""
    with serving() as server:
        damaged(server, lambda rows: [r.replace(b'"custom_id":"', b'"custom_id":"x') for r in rows])
        run = scored(panel_at(server.base_url), tmp_path / "run", Caps(calls=12))
        totals = [batch["request_counts"]["total"] for batch in server.batches.made]
    assert totals == [8, 4]
    assert spent(tmp_path / "run")["calls"] == run.calls.made == 12
    assert run.calls.spent[NAME].output > 0


def damaged(
    server: ScriptedServer, damage: Callable[[list[bytes]], list[bytes]], n: int = 1_000
) -> None:
    """The file of the first batch's answers is damaged when it is handed over the first n times."""
    files, whole, handed = server.batches.files, list[bytes](), [0]

    def told(method: str, path: str) -> None:
        handed[0] += path == "/v1/files/file-2/content"
        if "file-2" in files and not whole:
            whole.append(files["file-2"])
        if whole:
            lines = whole[0].splitlines(keepends=True)
            files["file-2"] = b"".join(damage(lines)) if handed[0] < n else whole[0]

    server.batches.script.on_call = told


def cut_off(lines: list[bytes]) -> list[bytes]:
    """All but the last two, of which one is there in part."""
    return [*lines[:-2], lines[-2][:150]]


def test_results_that_were_cut_off_are_fetched_once_more(tmp_path: Path) -> None:
    """A download that breaks off in the seventh of eight answers costs nothing: the second has
    all, and no request is sent again."""
    told: list[str] = []
    with serving() as server:
        damaged(server, cut_off, 1)
        run = scored(panel_at(server.base_url), tmp_path / "run", tell=told.append)
        assert (len(server.batches.made), len(server.batches.asked)) == (1, 8)
    assert run.coverage.complete and run.calls.made == 8
    assert any("answers are missing or cannot be read (2); fetching" in line for line in told)
    assert told[-1].endswith("8 of 8 requests have an answer")
    assert not run.calls.estimated.calls


@pytest.mark.parametrize(
    ("damage", "batches", "scored_", "said"),
    [
        # What the results hold is not asked for again: with its name, or without one.
        (lambda lines: [*lines[:-1], lines[-1][:150]], [8], 7, "1 answer cannot be read"),
        (lambda lines: [*lines[:-1], b"<html>\n"], [8], 7, "1 answer cannot be read"),
        # What they do not hold is.
        (lambda lines: lines[:-2], [8, 2], 8, "2 answers that the provider counts not in"),
    ],
    ids=["cut", "unnamed", "absent"],
)
def test_answers_that_nobody_can_read(
    damage: Callable[[list[bytes]], list[bytes]],
    batches: list[int],
    scored_: int,
    said: str,
    tmp_path: Path,
) -> None:
    """Answers that the provider counts are paid for, whether they can be read or not. Those that
    its results hold are not asked for again, by the same command started again neither; the
    judgment says why it is missing."""
    told: list[str] = []
    with serving() as server:
        damaged(server, damage, 99)
        run = scored(panel_at(server.base_url), tmp_path / "run", tell=told.append)
        assert run.calls.made == sum(batches)
        scored(panel_at(server.base_url), tmp_path / "run")
        totals = [batch["request_counts"]["total"] for batch in server.batches.made]
    assert (totals, run.coverage.scored) == (batches, scored_)
    assert any(said in line for line in told)
    assert spent(tmp_path / "run")["calls"] == sum(batches)
    # What nobody can read does not say what it took.
    assert run.calls.estimated.calls == sum(batches) - scored_
    errors = [one["error"] for one in results(tmp_path / "run") if one["status"] == "failed"]
    assert len(errors) == 8 - scored_ and all("cannot be read" in str(one) for one in errors)


@pytest.mark.parametrize("page", [b"<html>\n" * 9, b""], ids=["page", "empty"])
def test_results_without_an_answer_are_none(page: bytes, tmp_path: Path) -> None:
    """Where a proxy's page, or nothing, comes in place of all answers that the provider counts, the
    run stops and sends no second batch; the same command has the answers of the first."""
    with serving() as server:
        files, whole = server.batches.files, dict[str, bytes]()

        def told(method: str, path: str) -> None:
            if "file-2" in files:
                whole.setdefault("file-2", files["file-2"])
                files["file-2"] = page

        server.batches.script.on_call = told
        with pytest.raises(RunStopped, match="hold no answer, and it counts 8; `batch cancel`"):
            scored(panel_at(server.base_url), tmp_path / "run")
        server.batches.script.on_call = lambda method, path: None
        files.update(whole)
        run = scored(panel_at(server.base_url), tmp_path / "run")
        assert (run.coverage.scored, len(server.batches.made)) == (8, 1)


def test_an_answer_that_is_no_completion_is_not_asked_for_again(tmp_path: Path) -> None:
    """A row of a success whose body is something else was paid for: its judgment fails, and the
    request goes in no other batch, of the same command started again neither."""

    def odd(lines: list[bytes]) -> list[bytes]:
        return [*lines[:-1], lines[-1].replace(b'"choices"', b'"chosen"')]

    with serving() as server:
        damaged(server, odd, 99)
        for _ in range(2):
            run = scored(panel_at(server.base_url), tmp_path / "run")
            assert (len(server.batches.made), run.coverage.missing["failed"]) == (1, 1)
    assert spent(tmp_path / "run")["calls"] == 8


def test_answers_of_another_model_are_told(tmp_path: Path) -> None:
    """A release of the model is the model; another name is told with how many answers have it."""

    def renamed(lines: list[bytes]) -> list[bytes]:
        names = (b"stub-2026-01-01", b"stub-mini")
        new = [
            line.replace(b'"model":"stub"', b'"model":"%s"' % name)
            for line, name in zip(lines, names, strict=False)
        ]
        return [*new, *lines[2:]]

    told: list[str] = []
    with serving() as server:
        damaged(server, renamed, 99)
        run = scored(panel_at(server.base_url), tmp_path / "run", tell=told.append)
    assert run.coverage.complete
    assert told[-1].endswith("1 answer by the model 'stub-mini', not 'stub'")


def test_answers_that_cannot_be_read_are_asked_again(tmp_path: Path) -> None:
    """A row without a rating leads to the question that a call would have been followed by, in the
    next batch."""
    with serving(in_turn(ok("I liked it."), ok())) as server:
        run = scored(panel_at(server.base_url), tmp_path / "run")
        totals = [batch["request_counts"]["total"] for batch in server.batches.made]
    assert totals == [8, 1]
    assert run.coverage.scored == 8


def test_answers_that_were_cut_off_are_asked_again(tmp_path: Path) -> None:
    """A row that ended at its limit goes once more, with a higher one."""
    with serving(in_turn(ok('{"good', finish_reason="length"), ok())) as server:
        run = scored(panel_at(server.base_url), tmp_path / "run")
        files = [server.batches.files[batch["input_file_id"]] for batch in server.batches.made]
    rows = [[orjson.loads(line) for line in file.splitlines()] for file in files]
    assert [len(file) for file in rows] == [8, 1]
    assert rows[1][0]["custom_id"] == rows[0][0]["custom_id"]
    assert rows[1][0]["body"]["max_tokens"] > rows[0][0]["body"]["max_tokens"]
    assert run.coverage.scored == 8


def test_an_answer_that_was_cut_off_while_nobody_scored_is_asked_again(tmp_path: Path) -> None:
    """Its batch was settled without the panel: the run then sends it with a higher limit, once,
    also where that is cut off again."""
    folder = tmp_path / "run"
    answers = in_turn(ok('{"good', finish_reason="length"), *[ok()] * 7)
    with serving(answers) as server:
        panel = stopped_at_the_provider(server, folder)
        server.batches.script = BatchScript()
        asyncio.run(take_answers(folder, lambda line: None, FAST))
        run = scored(panel, folder)
        totals = [batch["request_counts"]["total"] for batch in server.batches.made]
        assert (run.coverage.scored, totals) == (8, [8, 1])
    again = in_turn(ok('{"good', finish_reason="length"))
    with serving(again) as server:
        panel = stopped_at_the_provider(server, tmp_path / "cut")
        server.batches.script = BatchScript()
        asyncio.run(take_answers(tmp_path / "cut", lambda line: None, FAST))
        scored(panel, tmp_path / "cut")
        totals = [batch["request_counts"]["total"] for batch in server.batches.made]
        assert totals == [8, 8]


def test_a_cap_holds_before_a_batch_is_sent(tmp_path: Path) -> None:
    """With room for 5 calls a batch of 5 is sent, and 3 judgments are skipped with the cap's name;
    with more room the same folder gets the other 3. In dollars, less than the cap is spent."""
    with serving() as server:
        panel = panel_at(server.base_url)
        run = scored(panel, tmp_path / "run", Caps(calls=5))
        assert (run.coverage.scored, run.coverage.missing["skipped"]) == (5, 3)
        assert "cap of 5 calls" in str(results(tmp_path / "run"))
        scored(panel, tmp_path / "run", Caps(calls=8))
        totals = [batch["request_counts"]["total"] for batch in server.batches.made]
        assert totals == [5, 3]
    assert spent(tmp_path / "run")["calls"] == 8


def test_a_cap_is_shared_by_the_models(tmp_path: Path) -> None:
    """With room for 6 of 16 calls each of two models is asked 3 times."""
    with serving() as server:
        models = [
            ModelConfig(model=f"openai:{name}", base_url=server.base_url, price=PRICE)
            for name in ("one", "two")
        ]
        run = scored(panel_at(server.base_url, models=models), tmp_path / "run", Caps(calls=6))
        totals = [batch["request_counts"]["total"] for batch in server.batches.made]
    assert totals == [3, 3]
    assert (run.coverage.scored, run.coverage.missing["skipped"]) == (6, 10)


def test_a_cap_in_dollars(tmp_path: Path) -> None:
    """Rows are counted at the most that they may cost at the batch's price: with room for two of
    them two go, and what they really took leaves room for more until it does not."""
    with serving() as server:
        panel = panel_at(server.base_url)
        rows = panel.estimate(RESPONSES)[0]
        assert rows.calls == 8
        run = scored(panel, tmp_path / "run", Caps(usd=0.013))
        first = server.batches.made[0]["request_counts"]["total"]
    # 1024 tokens of output at $5 a million are $0.0051, those of input next to nothing.
    assert first == 2
    usage = run.calls.spent[NAME]
    assert PRICE.batched is not None and 0 < PRICE.batched.cost(usage) < 0.013


@pytest.mark.parametrize("unlisted", [0, 2])
def test_a_batch_whose_reply_was_lost_is_not_sent_twice(unlisted: int, tmp_path: Path) -> None:
    """The connection breaks once a batch is made: it is found by its token, also where the list of
    batches lacks it at first."""
    with serving() as server:
        server.batches.script = BatchScript(lost=1, unlisted=unlisted)
        run = scored(panel_at(server.base_url), tmp_path / "run")
        assert len(server.batches.made) == 1
    assert run.coverage.complete


def test_a_refused_batch(tmp_path: Path) -> None:
    """A batch that the provider refuses as a whole stops the run with its words, and costs nothing;
    the same command sends another one."""
    with serving() as server:
        server.batches.script = BatchScript(refused="Too many tokens are enqueued.")
        panel = panel_at(server.base_url)
        with pytest.raises(RunStopped, match="batch_1: Too many tokens are enqueued"):
            scored(panel, tmp_path / "run")
        server.batches.script = BatchScript()
        run = scored(panel, tmp_path / "run", Caps(calls=8))
    assert (run.calls.made, spent(tmp_path / "run")["calls"]) == (8, 8)


def test_answers_that_cannot_be_fetched(tmp_path: Path) -> None:
    """A provider without the file of an ended batch stops the run, and that is what is said."""
    with serving() as server:

        def told(method: str, path: str) -> None:
            server.batches.files.pop("file-2", None)

        server.batches.script.on_call = told
        with pytest.raises(RunStopped, match="does not hand over the answers of its batch"):
            scored(panel_at(server.base_url), tmp_path / "run")


def stopped_at_the_provider(
    server: ScriptedServer, folder: Path, rules: Deliberation | None = None
) -> Panel:
    """A run that was stopped while its batch was in progress."""
    server.batches.script = BatchScript(looks=10_000)

    def tell(line: str) -> None:
        if "in_progress" in line:
            raise KeyboardInterrupt

    panel = panel_at(server.base_url, deliberation=rules)
    with pytest.raises(KeyboardInterrupt):
        scored(panel, folder, tell=tell)
    return panel


def test_open_batches_are_not_paid_for_again(tmp_path: Path) -> None:
    """While a batch is open its folder is neither scored by calls nor by files, nor overwritten."""
    folder = tmp_path / "run"
    with serving() as server:
        panel = stopped_at_the_provider(server, folder)
        with pytest.raises(RunFolderError, match="batch cancel"):
            scored(panel, folder, batches=False)
        with pytest.raises(RunFolderError, match="open batches"):
            files = Execution(answered_by=ByFiles(tmp_path, print))
            asyncio.run(
                executor.score(
                    panel.plan, RESPONSES, summary=run_summary, out=folder, execution=files
                )
            )
        with pytest.raises(RunFolderError, match="--overwrite"):
            panel.score(RESPONSES, out=RunOutput(folder, overwrite=True))
        server.batches.script = BatchScript()
        with pytest.raises(RunFolderError, match="without --overwrite"):
            by = Execution(answered_by=ByBatches(folder, lambda line: None, FAST))
            out = RunOutput(folder, overwrite=True)
            asyncio.run(
                executor.score(panel.plan, RESPONSES, summary=run_summary, out=out, execution=by)
            )
        assert (len(server.calls), len(server.batches.made)) == (0, 1)


def test_a_cap_counts_what_an_earlier_process_has_sent(tmp_path: Path) -> None:
    """Of 10 calls a batch that was open when the run was stopped takes 8: two revisions of the
    deliberation have room."""
    with serving() as server:
        panel = stopped_at_the_provider(server, tmp_path / "run", Deliberation(rounds=1))
        server.batches.script = BatchScript()
        scored(panel, tmp_path / "run", Caps(calls=10))
        totals = [batch["request_counts"]["total"] for batch in server.batches.made]
    assert totals == [8, 2]
    assert spent(tmp_path / "run")["calls"] == 10


def test_batches_are_looked_at_and_their_answers_taken(tmp_path: Path) -> None:
    """Without the panel, a batch in progress is seen, and once it has ended its answers are in the
    cache and counted; the run that is started again makes no call."""
    folder = tmp_path / "run"
    with serving() as server:
        panel = stopped_at_the_provider(server, folder)
        seen = asyncio.run(look(folder))
        assert [one.status and one.status.word for one in seen] == ["in_progress"]
        server.batches.script = BatchScript()
        asyncio.run(take_answers(folder, lambda line: None, FAST))
        assert [batch.state for batch in batches_of(folder)] == ["settled"]
        assert spent(folder)["calls"] == 8
        run = scored(panel, folder)
        assert (run.calls.made, run.calls.cached, len(server.batches.made)) == (0, 8, 1)


def test_a_batch_that_is_cancelled(tmp_path: Path) -> None:
    """A cancelled batch costs what it answered, here nothing; a run that waited for it stops, and
    the folder can be scored by calls."""
    folder = tmp_path / "run"
    with serving() as server:
        panel = stopped_at_the_provider(server, folder)
        ended = asyncio.run(cancel(folder))
        assert [one.status and one.status.word for one in ended] == ["cancelled"]
        with pytest.raises(RunStopped, match="batch_1 was cancelled"):
            scored(panel, folder)
        run = scored(panel, folder, batches=False)
    assert (run.calls.made, run.coverage.scored, len(server.batches.made)) == (8, 8, 1)


def test_a_batch_that_was_declined_for_now_is_sent_again(tmp_path: Path) -> None:
    """After a 429 it is not looked for at the provider: nothing has arrived there."""
    calls: list[tuple[str, str]] = []
    with serving() as server:
        server.batches.script = BatchScript(busy=1, on_call=lambda *call: calls.append(call))
        assert scored(panel_at(server.base_url), tmp_path / "run").coverage.complete
        assert (calls.count(("POST", "/v1/batches")), len(server.batches.made)) == (2, 1)
    assert ("GET", "/v1/batches") not in calls


def test_waiting_counts_what_a_kill_left_uncounted(tmp_path: Path) -> None:
    """Answers of a batch that is settled in the journal and not in what was spent are counted by
    `batch wait`, too: the folder may be scored by calls after it, whose caps count them."""
    folder = tmp_path / "run"
    with serving() as server:
        scored(panel_at(server.base_url), folder)
        before = spent(folder)
        (folder / "spent.json").unlink()
        asyncio.run(take_answers(folder, print, FAST))
    assert spent(folder) == before


@pytest.mark.parametrize("gone", ["batch", "answers"])
def test_a_batch_that_is_gone_can_be_given_up(gone: str, tmp_path: Path) -> None:
    """Where the provider answers 404 for a batch, or for its file of answers, waiting stops the
    command and cancelling settles it: 8 calls at the most they may take, told in words. The folder
    can then be scored by calls."""
    folder, told = tmp_path / "run", list[str]()
    with serving() as server:
        panel = stopped_at_the_provider(server, folder)
        (batch,) = batches_of(folder)
        if gone == "batch":
            server.batches.made.clear()
        else:
            server.batches.made[0] |= {"status": "completed", "output_file_id": "file-9"}
        with pytest.raises(RunStopped, match="404"):
            asyncio.run(take_answers(folder, lambda line: None, FAST))
        asyncio.run(cancel(folder))
        asyncio.run(take_answers(folder, told.append, FAST, ending=True))
        assert "batch_1 is lost" in told[-1] and "8 calls" in told[-1]
        assert spent(folder)["calls"] == 8
        assert spent(folder)["usage"][NAME]["output"] == batch.most.output > 0
        run = scored(panel, folder, batches=False)
    assert (run.calls.made, run.coverage.scored) == (8, 8)


def test_a_batch_that_is_found_late_is_cancelled(tmp_path: Path) -> None:
    """A batch whose id was not noted, and which the provider's list lacks at first, is cancelled
    once it is there."""
    folder = tmp_path / "run"
    with serving() as server:
        stopped_at_the_provider(server, folder)
        journal = folder / BATCHES
        journal.write_bytes(journal.read_bytes().splitlines(keepends=True)[0])
        server.batches.script.unlisted = 1
        (one,) = asyncio.run(cancel(folder))
        assert one.status is None
        asyncio.run(take_answers(folder, lambda line: None, FAST, ending=True))
        assert server.batches.made[0]["status"] == "cancelled"
    assert [batch.outcome for batch in batches_of(folder)] == ["cancelled"]


def test_what_a_kill_left_uncounted_is_counted_once(tmp_path: Path) -> None:
    """A batch that is settled in the journal and not in what was spent, as a kill came between, is
    counted when the run goes on, and no more after that."""
    folder = tmp_path / "run"
    with serving() as server:
        panel = panel_at(server.base_url)
        scored(panel, folder)
        before = spent(folder)
        (folder / "spent.json").unlink()
        for _ in range(2):
            scored(panel, folder)
            assert spent(folder) == before


def test_what_is_counted_when_killed_between_batches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Eight batches of a call each: each is in spent.json before the next. Of a record that lacks
    five, as one written earlier does, five are counted at the next start, and none after it."""
    monkeypatch.setattr(OpenAIBatches, "most_rows", 1)
    folder, written = tmp_path / "run", []
    with serving() as server:
        panel = panel_at(server.base_url)

        def tell(line: str) -> None:
            if "has ended" in line:
                written.append((folder / "spent.json").read_bytes())

        scored(panel, folder, tell=tell)
        assert [orjson.loads(record)["calls"] for record in written] == list(range(1, 9))
        before = spent(folder)
        (folder / "spent.json").write_bytes(written[2])
        for _ in range(2):
            scored(panel, folder)
            now = spent(folder)
            assert (now["calls"], now["usage"]) == (before["calls"], before["usage"])


@pytest.fixture(scope="module")
def killed() -> Iterator[Callable[..., None]]:
    """Does things in processes of their own that are killed."""
    with forking() as killed:
        yield killed


@pytest.mark.parametrize(
    ("at", "rows"),
    [
        # The requests are uploaded, and no batch is made of them.
        (("POST", "/v1/files"), 99),
        # The batch is made, and its id not known.
        (("POST", "/v1/batches"), 99),
        # It has ended, and nothing is fetched.
        (("GET", "/v1/batches/batch_1"), 99),
        (("GET", "/v1/files/file-2/content"), 99),
        # Three of eight answers are in the cache.
        (None, 3),
    ],
)
def test_a_kill_pays_nothing_twice(
    at: tuple[str, str] | None,
    rows: int,
    killed: Callable[..., None],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Killed with -9 at each step, the same run goes on: one batch is made, each request answered
    once, and each call counted once, with none that may not be."""
    pids: list[int] = []

    def told(method: str, path: str) -> None:
        if pids and (method, path) == at:
            os.kill(pids.pop(), signal.SIGKILL)

    with serving() as server:
        server.batches.script.on_call = told
        cache, folder = tmp_path / "cache", tmp_path / "run"
        killed(pids.append, "scored", folder, server.base_url, rows, cache)
        assert (folder / BATCHES).is_file()
        time.sleep(FAST.listed)
        run = scored(panel_at(server.base_url), folder, Caps(calls=8))
        assert len(server.batches.made) == 1
        assert len(server.batches.asked) == len(set(server.batches.asked)) == 8
        # A file of requests that no batch was made of is deleted.
        assert len(server.batches.uploads) == 1
    assert run.coverage.complete
    # No call was in flight of which a kill would leave nothing known.
    assert (spent(folder)["calls"], spent(folder)["reserved"]["calls"]) == (8, 0)


@pytest.mark.parametrize(
    ("what", "at", "number"),
    [
        # Two batches rewrite and check; that of the targets' requests is made, its id not known.
        ("swept", ("POST", "/v1/batches"), 3),
        # The judgments are there, and not fetched.
        ("swept", ("GET", "/v1/batches/batch_4"), 1),
        ("generated", ("POST", "/v1/batches"), 1),
    ],
)
def test_a_kill_of_what_is_written_and_judged_pays_nothing_twice(
    what: str,
    at: tuple[str, str],
    number: int,
    killed: Callable[..., None],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A sweep that is killed while answers are generated or judged, and a file of texts, go on with
    the same batches: each request is answered once, each call counted once, within a cap that has
    room for no more; nothing is called."""
    # Drawing a sweep takes seconds.
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    pids, seen = list[int](), Counter[tuple[str, str]]()

    def told(*call: str) -> None:
        seen[call[0], call[1]] += 1
        if pids and seen[at] == number:
            os.kill(pids.pop(), signal.SIGKILL)

    n, out, script = {
        "swept": (28, "run", world(sycophantic=True)),
        "generated": (4, "texts.jsonl", None),
    }[what]
    with serving(script) if script else serving() as server:
        server.batches.script.on_call = told
        killed(pids.append, what, tmp_path / out, server.base_url, 99, tmp_path / "cache")
        time.sleep(FAST.listed)
        caps = Caps(calls=n)
        if what == "swept":
            assert swept(server.base_url, tmp_path / out, caps).complete
            kept = tmp_path / out / "spent.json"
        else:
            assert generated(server.base_url, tmp_path / out, caps).complete
            kept = tmp_path / "texts.spent.json"
        assert len(server.batches.made) == (4 if what == "swept" else 1)
        assert len(server.batches.asked) == len(set(server.batches.asked)) == n
        assert not server.calls
    assert orjson.loads(kept.read_bytes())["calls"] == n


@pytest.mark.parametrize("spec", ["local:smollm2-135m", "nothing"])
def test_a_model_without_batches_in_a_journal_is_refused(tmp_path: Path, spec: str) -> None:
    """A spec that was changed by hand is told with the journal's line."""
    batch = BatchRecord("t", "m", spec, "http://127.0.0.1:9", None, (), NOTHING, 0.0)
    (tmp_path / BATCHES).write_bytes(orjson.dumps(prepared(batch)) + b"\n")
    with pytest.raises(RunFolderError, match=rf"{BATCHES}, line 1, spec: found '{spec}'"):
        asyncio.run(look(tmp_path, trusted=True))


def test_a_full_disk_before_a_batch_is_told() -> None:
    """With the folder that has no room, and the remedy."""
    with Path("/dev/full").open("r+b", buffering=0) as file:
        wanted = WantedRows(file, Path("/dev"))
        with pytest.raises(Abort, match=r"stored in /dev \(No space left on device\).*make room"):
            wanted.add(ReplyKey("page", b"k"), b"{}", NOTHING)
