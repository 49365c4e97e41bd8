"""`score --batch`, `--batch-out`, `--batch-in`, and `persona-panel batch`."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import orjson
import pytest
from aiohttp import web

from panel import ModelConfig, Panel, Persona, Response
from panel.calls.batch_journal import BatchJournal, batches_of
from panel.calls.batch_records import BatchRecord, prepared, settled, submitted
from panel.calls.cache import ReplyKey
from panel.runs import executor
from panel.runs.answered_elsewhere import ByBatches
from panel.runs.execution import Execution
from panel.runs.request_files import RequestFiles
from panel.testing import ScriptedServer, serving
from panel.testing.batches import BatchScript, ScriptedBatches
from rubrics import Usage
from tests.helpers.answers import answered
from tests.helpers.invoked import invoked

KEY = "sk-batch-0123456789abcdef"


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with serving() as server:
        yield server


@pytest.fixture
def texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Four texts by two systems; the working folder is tmp_path."""
    monkeypatch.chdir(tmp_path)
    rows = [
        {"id": f"r{i}", "prompt": f"p{i // 2}", "response": f"Text {i}.", "system": f"s{i % 2}"}
        for i in range(4)
    ]
    Path("texts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return "texts.jsonl"


def scored(texts: str, server: ScriptedServer, *arguments: str) -> tuple[int, str, str]:
    """The exit status, standard output and standard error of `score` with five judges."""
    panel = ["--personas", "disciplinary", "--model", "openai:gpt-4o-mini", "--no-report"]
    done = invoked(
        "score", texts, *panel, *arguments, OPENAI_BASE_URL=server.base_url, OPENAI_API_KEY=KEY
    )
    return done.returncode, done.stdout, done.stderr


def test_a_run_by_batches(texts: str, server: ScriptedServer) -> None:
    """20 judgments go as one batch, at half the price of the table, and `batch status` has it; the
    key is in no file."""
    code, out, err = scored(texts, server, "--batch", "--out", "run")
    assert code == 0
    assert "batch_1 with 20 requests was submitted" in err
    assert "20 of 20 judgments scored" in out and "20 calls made" in out
    summary = json.loads(Path("run/summary.json").read_text())["calls"]
    used = summary["usage"]["openai:gpt-4o-mini (batch)"]
    assert summary["usd"] == pytest.approx(
        (used["input"] * 0.075 + used["output"] * 0.3) / 1e6, abs=1e-6
    )
    address = {"OPENAI_BASE_URL": server.base_url, "OPENAI_API_KEY": KEY}
    told = invoked("batch", "status", "run", "--json", **address)
    assert json.loads(told.stdout) == [
        {
            "model": "openai:gpt-4o-mini",
            "id": "batch_1",
            "state": "settled: completed",
            "open": False,
            "done": 20,
            "requests": 20,
        }
    ]
    assert invoked("batch", "cancel", "run", **address).stderr == "No batch is open.\n"
    files = [path for path in Path().rglob("*") if path.is_file()]
    assert not [path for path in files if KEY.encode() in path.read_bytes()]


def test_requests_answered_by_another_system(texts: str, server: ScriptedServer) -> None:
    """20 requests go out as files, 20 answers come in: no call is made, 20 are answered from the
    cache, and nothing is spent; no key is in the files."""
    code, _, err = scored(texts, server, "--batch-out", "out")
    assert (code, Path("runs").exists()) == (0, False)
    assert "Written to out: 20 requests (requests-openai-gpt-4o-mini-1.jsonl)" in err
    assert KEY.encode() not in next(Path("out").iterdir()).read_bytes()
    assert answered(Path("out")) == 20
    code, out, _ = scored(texts, server, "--batch-in", "out", "--out", "run")
    assert code == 0
    assert "20 of 20 judgments scored" in out
    assert "0 calls made, 20 answered from the cache" in " ".join(out.split())
    assert not server.calls and not server.batches.made


def test_what_follows_from_answers_is_written_out(texts: str, server: ScriptedServer) -> None:
    """With --batch-in and --batch-out answers are read and what is left is written; in the end
    nothing is. Without an answer judgments are missing, and no model is called."""
    scored(texts, server, "--batch-out", "out", "--limit", "2")
    answered(Path("out"))
    again = ("--batch-in", "out", "--batch-out", "out")
    code, _, err = scored(texts, server, *again)
    assert (code, "Read from out: 10 answers" in err, "out: 10 requests" in err) == (0, True, True)
    code, out, _ = scored(texts, server, "--batch-in", "out", "--out", "run")
    assert code == 1
    assert "10 of 20 judgments scored" in out
    answered(Path("out"))
    code, _, err = scored(texts, server, *again)
    assert "No request is left" in err
    assert not server.calls


def test_models_whose_file_names_would_be_the_same(tmp_path: Path, server: ScriptedServer) -> None:
    """Three models that differ by a sign or a letter's size have a file of requests each, also
    where another is called as a numbered file is; none is lost."""
    names = ("a/b", "a:b", "A-b", "a-b-model-1")
    models = [ModelConfig(model=f"openai:{name}", base_url=server.base_url) for name in names]
    personas = [Persona(id="ann", label="Ann", axis="own", description="You are Ann.")]
    text = Response(id="r", prompt="Why?", text="So.", system="s")
    plan = Panel(personas, models).plan
    done = asyncio.run(executor.export_requests(plan, [text], RequestFiles(tmp_path)))
    asked = [
        orjson.loads(line)["body"]["model"]
        for path in done.files
        for line in path.read_bytes().splitlines()
    ]
    assert sorted(set(asked)) == sorted(names)
    assert len(asked) == done.requests
    assert len({path.name.lower() for path in done.files}) == len(names)


def test_an_answer_beats_a_fault(texts: str, server: ScriptedServer) -> None:
    """Where a file of answers has faults, and a later one the answers, all 20 are read."""
    scored(texts, server, "--batch-out", "out")
    (export,) = Path("out").iterdir()
    error = {"code": "server_error", "message": "boom"}
    names = [orjson.loads(line)["custom_id"] for line in export.read_bytes().splitlines()]
    faults = [{"custom_id": name, "response": None, "error": error} for name in names]
    Path("out/a-faults.jsonl").write_bytes(b"\n".join(map(orjson.dumps, faults)))
    answered(Path("out"))
    code, out, _ = scored(texts, server, "--batch-in", "out", "--out", "run")
    assert (code, "20 of 20 judgments scored" in out) == (0, True)


def test_rows_that_are_no_results_are_told(texts: str, server: ScriptedServer) -> None:
    """Of 20 answers 17 are taken, also from a gzip file; the others are missing, and each kind of
    row that is left out is told in a sentence, with how many there are and where the first is."""
    scored(texts, server, "--batch-out", "out")
    answered(Path("out"))
    (path,) = Path("out").glob("answers-*")
    rows = path.read_bytes().splitlines(keepends=True)
    path.unlink()
    again = orjson.loads(rows[0])
    again["response"]["body"]["choices"][0]["message"]["content"] = "7"
    fault = orjson.loads(rows[1]) | {"response": None, "error": {"message": "boom"}}
    other, version = orjson.loads(rows[2]), orjson.loads(rows[3])
    other["response"]["body"]["model"] = "gpt-4o"
    version["response"]["body"]["model"] = "openai/gpt-4o-mini-2024-07-18"
    long = {"custom_id": "x", "response": None, "error": "e" * 8_000_000}
    odd = [again, fault, other, version, {"custom_id": "x", "error": "e"}, {"note": 1}, long]
    lines = [rows[0], rows[0], *(orjson.dumps(row) + b"\n" for row in odd), rows[19][:-9]]
    Path("out/a.jsonl").write_bytes(b"".join(lines))
    Path("out/b.jsonl.gz").write_bytes(gzip.compress(b"".join(rows[4:19])))
    code, out, err = scored(texts, server, "--batch-in", "out", "--out", "run")
    assert (code, "17 of 20 judgments scored" in out, server.calls) == (1, True, [])
    assert err.splitlines()[:7] == [
        "1 row left out, as the same request has another answer already: a.jsonl:3",
        "1 row with an error in place of an answer (the batch brought no answer: boom): a.jsonl:4",
        "1 row left out, answered by another model by their field model; where it is the one that "
        "was asked, remove the field ('gpt-4o', not 'gpt-4o-mini'): a.jsonl:5",
        "1 row left out, with answers to what is not asked here, of other models, settings or "
        "texts: a.jsonl:7",
        "1 row left out, without an answer or an error in the shape of batches: a.jsonl:8",
        "1 row left out, longer than 8,000,000 bytes: a.jsonl:9",
        "1 row left out, not valid JSON: a.jsonl:10",
    ]
    # Of files that were written for a model with another setting nothing is taken.
    code, out, err = scored(texts, server, "--option", "seed=7", "--batch-in", "out")
    assert (code, "0 of 20 judgments scored" in out) == (4, True)
    assert "of other models, settings or texts: a.jsonl:1, a.jsonl:2, a.jsonl:3, …" in err


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("empty.txt", b"", "out: found no file *.jsonl or *.jsonl.gz"),
        ("empty.jsonl", b"", "out: found requests without answers"),
        ("cut.jsonl.gz", gzip.compress(b"{}" * 99)[:-9], "cut.jsonl.gz: found a damaged gzip file"),
    ],
)
def test_folders_without_answers(
    name: str, content: bytes, told: str, texts: str, server: ScriptedServer
) -> None:
    """A folder without files of answers, or with a damaged one, is refused with status 2."""
    Path("out").mkdir()
    (Path("out") / name).write_bytes(content)
    code, _, err = scored(texts, server, "--batch-in", "out", "--out", "run")
    assert (code, told in err, "Traceback" in err) == (2, True, False)


def test_files_that_are_not_ours_stay(texts: str, server: ScriptedServer) -> None:
    """An earlier export is replaced; answers and a user's own data stay, also where they are named
    as requests are; a name that is taken is refused."""
    scored(texts, server, "--batch-out", "out")
    answered(Path("out"))
    (export,) = Path("out").glob("requests-*")
    Path(f"out/answers-{export.name}").rename("out/requests-answered.jsonl")
    Path("out/requests-2025.jsonl").write_text("my own data\n")
    Path("out/requests-none.jsonl").touch()
    Path("out/requests-old.jsonl").write_bytes(export.read_bytes())
    kept = {export.name, "requests-answered.jsonl", "requests-2025.jsonl", "requests-none.jsonl"}
    assert scored(texts, server, "--batch-out", "out")[0] == 0
    assert {path.name for path in Path("out").iterdir()} == kept
    export.write_text("my own data\n")
    code, _, err = scored(texts, server, "--batch-out", "out")
    assert (code, "is not a file of requests" in err) == (2, True)
    assert export.read_text() == "my own data\n"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--batch"], "--batch needs --out RUN"),
        (["--batch", "--batch-in", "x", "--out", "run"], "leave one of them out"),
        (["--batch-in", "nowhere", "--out", "run"], "nowhere: found no file *.jsonl"),
    ],
)
def test_bad_options(arguments: list[str], told: str, texts: str, server: ScriptedServer) -> None:
    """Options that cannot be together, or lead nowhere, are refused in words, with status 2."""
    code, _, err = scored(texts, server, *arguments)
    assert (code, told in " ".join(err.split())) == (2, True)
    assert not server.calls and not server.batches.made


def test_models_without_batches(texts: str) -> None:
    """Where no model can be asked by batches, the run is refused with what can."""
    done = invoked("score", texts, "--model", "local:smollm2-135m", "--batch", "--out", "run")
    assert done.returncode == 2
    assert "openai:NAME" in done.stderr


def test_a_folder_without_batches(texts: str, tmp_path: Path) -> None:
    """`batch` says of a folder without batches what makes some."""
    for name in ("status", "wait", "cancel"):
        done = invoked("batch", name, tmp_path)
        assert (done.returncode, "with --batch" in done.stderr) == (2, True)


def test_a_dry_run_says_what_batches_would_cost(texts: str, server: ScriptedServer) -> None:
    """It has the price by calls, the least with prompt caches (half of the input's price, for this
    model), and that by batches (half of all), which is the lowest."""
    code, out, err = scored(texts, server, "--dry-run", "--batch", "--json")
    assert code == 0
    (row,) = json.loads(out)
    live = (row["input_tokens"] * 0.15 + row["output_tokens"] * 0.6) / 1e6
    least = (row["input_tokens"] * 0.075 + row["output_tokens"] * 0.6) / 1e6
    assert f"By calls: about ${live:,.4f}, or no less than ${least:,.4f}" in err
    assert f"With --batch: about ${live / 2:,.4f}, the cheapest in any case." in err
    # A cap between the two prices stops a run by calls, and none by batches.
    cap = ("--dry-run", "--max-usd", f"{0.75 * live:f}")
    assert "would stop before its end at --max-usd" in scored(texts, server, *cap)[2]
    assert "would stop" not in scored(texts, server, *cap, "--batch")[2]
    assert not server.batches.made


def test_a_refused_batch_is_told(texts: str, server: ScriptedServer) -> None:
    """A batch that the provider refuses ends the command with status 1 and the provider's words;
    a key that these quote is masked, in the journal, too."""
    server.batches.script = BatchScript(refused=f"Enqueued token limit of {KEY} reached.")
    code, _, err = scored(texts, server, "--batch", "--out", "run")
    assert code == 1
    assert "Enqueued token limit of [secret] reached. The same command goes on" in err
    journal = Path("run/batches.jsonl").read_text()
    assert "limit of [secret] reached" in journal and KEY not in journal


def test_batches_that_are_over_need_no_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a batch of three requests at OpenAI, one of which took tokens, `batch status` says so
    from the journal: without a key, and nothing is asked."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    rows = tuple(ReplyKey("a" * 64, bytes([number]) * 32) for number in range(3))
    at, most = "https://api.openai.com/v1", Usage(9, output=9)
    batch = BatchRecord(
        "t", "openai:m", "openai:m", at, None, rows, most, 5.0, settings={"timeout": 9.0}
    )
    with closing(BatchJournal(tmp_path)) as journal:
        journal.add(prepared(batch))
        journal.add(submitted("t", "batch_7"))
        journal.add(settled("t", 1, Usage(3, output=1), "expired"))
    done = invoked("batch", "status", tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (
        0, "openai:m  batch_7  settled: expired  1 of 3\n", ""
    )  # fmt: skip
    assert json.loads(invoked("batch", "status", tmp_path, "--json").stdout)[0]["requests"] == 3


def test_a_batch_is_looked_at_as_it_was_sent(
    tmp_path: Path, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Organization and project go with every request of `batch wait`; a header of one's own does
    not, which is said, as its value is in no file."""
    sent: list[tuple[str | None, ...]] = []
    folder = tmp_path / "run"
    handle = ScriptedBatches.handle

    async def seen(
        self: ScriptedBatches, request: web.BaseRequest, answer: Any
    ) -> web.StreamResponse:
        names = ("OpenAI-Organization", "OpenAI-Project", "X-Team")
        sent.append(tuple(request.headers.get(name) for name in names))
        return await handle(self, request, answer)

    monkeypatch.setattr(ScriptedBatches, "handle", seen)
    server.batches.script = BatchScript(looks=10_000)
    options = {"organization": "org-1", "project": "proj-1", "headers": {"X-Team": "team-7351"}}
    model = ModelConfig(model="openai:stub", base_url=server.base_url, timeout=7, options=options)

    def stop(line: str) -> None:
        if "in_progress" in line:
            raise KeyboardInterrupt

    personas = [Persona(id="ann", label="Ann", axis="own", description="You are Ann.")]
    panel, text = Panel(personas, model), Response(id="r", prompt="Why?", text="So.", system="s")
    with pytest.raises(KeyboardInterrupt):
        by = Execution(answered_by=ByBatches(folder, stop))
        asyncio.run(executor.score(panel.plan, [text], out=folder, execution=by))
    server.batches.script = BatchScript()
    assert set(sent) == {("org-1", "proj-1", "team-7351")}
    sent.clear()
    done = invoked("batch", "wait", folder)
    assert (done.returncode, set(sent)) == (0, {("org-1", "proj-1", None)})
    assert "without the headers X-Team" in done.stderr
    [batch] = batches_of(folder)
    assert batch.settings["timeout"] == 7
    assert "team-7351" not in (folder / "batches.jsonl").read_text()
