"""A run's folder as the next run finds it: gone on with, refused or replaced, and never shrunk."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from persona_panel.testing import Answer, ScriptedServer, ok, serving, status
from tests.helpers import forked
from tests.helpers.command import COMMAND, Command
from tests.sycophant import world

ROWS: list[dict[str, Any]] = [
    {
        "id": f"r{i}",
        "prompt": f"Question {i // 2}?",
        "response": f"A text of its own, {i}, näher besehen.",
        "system": ("alder", "birch")[i % 2],
        "note": ["x", i],
        "metadata_id": f"n{i}",
    }
    | ({"context": f"A position, {i}."} if i % 3 else {})
    for i in range(6)
]
ARGUMENTS = ("--personas", "disciplinary", "--model", "openai:stub", "--out", "run")


def jsonl(path: Path, rows: Sequence[Mapping[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture
def batch(tmp_path: Path) -> Path:
    return jsonl(tmp_path / "batch.jsonl", ROWS)


def at(server: ScriptedServer) -> dict[str, str]:
    return {"OPENAI_BASE_URL": server.base_url}


def files_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def said(done: subprocess.CompletedProcess[str]) -> str:
    return " ".join(done.stderr.split())


# Other texts


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        (
            [row | {"id": f"x{i}"} for i, row in enumerate(ROWS)],
            "contains a run on 6 other responses: 6 not among these ('r0', 'r1', 'r2', …); 6 new.",
        ),
        (ROWS[:4], "2 not among these ('r4', 'r5'). A run can be"),
        (
            [*ROWS[:5], ROWS[5] | {"response": "Another."}, ROWS[5] | {"id": "r6"}],
            "1 with another text or system ('r5'); 1 new.",
        ),
        ([*ROWS[:5], ROWS[5] | {"system": "cedar"}], "1 with another text or system"),
        ([ROWS[0] | {"context": "A position."}, *ROWS[1:]], "1 with another text or system"),
    ],
)
def test_a_run_on_other_responses_is_refused(
    command: Command, batch: Path, tmp_path: Path, rows: list[dict[str, Any]], told: str
) -> None:
    """Exit 2 and what differs, before any call; each file of the folder is as it was."""
    with serving() as server:
        assert command("score", batch, *ARGUMENTS, **at(server)).returncode == 0
        before, calls = files_of(tmp_path / "run"), len(server.calls)
        refused = command("score", jsonl(tmp_path / "b.jsonl", rows), *ARGUMENTS, **at(server))
        assert len(server.calls) == calls
    assert refused.returncode == 2
    assert told in said(refused)
    assert "--overwrite" in said(refused)
    assert files_of(tmp_path / "run") == before


def test_what_has_no_id_is_named_by_its_place_or_words(command: Command, tmp_path: Path) -> None:
    """Nobody knows the ids that are made of texts: what a run has besides is named by its lines,
    and in a comparison with the smaller run a prompt by its words."""
    rows = [{name: row[name] for name in ("prompt", "response", "system")} for row in ROWS]
    with serving() as server:
        whole, part = (jsonl(tmp_path / f"{n}.jsonl", rows[:n]) for n in (6, 4))
        assert command("score", whole, *ARGUMENTS, **at(server)).returncode == 0
        refused = command("score", part, *ARGUMENTS, **at(server))
        smaller = ("score", part, *ARGUMENTS[:-1], "smaller")
        assert command(*smaller, **at(server)).returncode == 0
        compared = command("compare", "run", "smaller", "--json")
    assert "1 prompt with ratings only in run: 'Question 2?'." in compared.stdout
    assert "2 not among these (lines 5-6 of its responses.jsonl). A run" in said(refused)


def test_a_larger_batch_goes_on(command: Command, batch: Path, tmp_path: Path) -> None:
    """A larger --limit and then all rows, in another order and with other metadata, ask only for
    what is new, and end as a run at once does."""
    with serving() as server:
        for limit, calls in (("2", 10), ("4", 20)):
            done = command("score", batch, *ARGUMENTS, "--limit", limit, **at(server))
            assert (done.returncode, len(server.calls)) == (0, calls)
        other = [{**row, "note": "other"} for row in reversed(ROWS)]
        whole = command("score", jsonl(tmp_path / "b.jsonl", other), *ARGUMENTS, **at(server))
        assert (whole.returncode, len(server.calls)) == (0, 30)
        alone = (*ARGUMENTS[:-1], "alone")
        assert command("score", tmp_path / "b.jsonl", *alone, **at(server)).returncode == 0
        assert len(server.calls) == 30
    run = tmp_path / "run"
    assert len(lines_of(run / "judgments.jsonl")) == 30
    assert [line["note"] for line in lines_of(run / "responses.jsonl")] == ["other"] * 6
    assert (run / "verdicts.csv").read_bytes() == (tmp_path / "alone/verdicts.csv").read_bytes()


def test_a_run_does_not_lose_its_peoples_ratings(
    command: Command, batch: Path, tmp_path: Path
) -> None:
    """A larger batch goes on without --human only by --overwrite: it is refused before a call, the
    folder as it was, with the option that keeps people's ratings, with which it goes on."""
    people = "item,rater,score\n" + "".join(f"r{i},ann,{i + 1}\n" for i in range(4))
    (tmp_path / "people.csv").write_text(people)
    human = ("--human", "people.csv")
    smaller = jsonl(tmp_path / "smaller.jsonl", ROWS[:4])
    with serving() as server:
        first = command("score", smaller, *ARGUMENTS, *human, **at(server))
        assert first.returncode == 0, first.stderr
        before = files_of(tmp_path / "run")
        for more in ((), ("--dry-run",)):
            refused = command("score", batch, *ARGUMENTS, *more, **at(server))
            assert refused.returncode == 2
            assert "keep them with the same command and `--human people.csv`" in said(refused)
        assert (len(server.calls), files_of(tmp_path / "run")) == (20, before)
        assert command("score", batch, *ARGUMENTS, *human, **at(server)).returncode == 0
        assert len(server.calls) == 30
        assert b"human_ratings" in (tmp_path / "run" / "summary.json").read_bytes()
        assert command("score", batch, *ARGUMENTS, "--overwrite", **at(server)).returncode == 0


def test_overwrite_replaces_a_run_and_only_a_run(
    command: Command, batch: Path, tmp_path: Path
) -> None:
    """--overwrite leaves nothing of a run of another panel and batch; a folder of something else
    is refused as ever."""
    run = tmp_path / "run"
    other = ("--personas", "ideological", "--model", "openai:stub", "--out", "run")
    with serving() as server:
        assert command("score", batch, *ARGUMENTS, **at(server)).returncode == 0
        (run / "injection.json").write_text("{}")
        (run / "notes.txt").write_text("mine")
        jsonl(tmp_path / "b.jsonl", ROWS[:1])
        done = command("score", "b.jsonl", *other, "--overwrite", **at(server))
        assert done.returncode == 0, done.stderr
        (tmp_path / "thesis").mkdir()
        (tmp_path / "thesis" / "chapter.tex").write_text("mine")
        elsewhere = (*ARGUMENTS[:-1], "thesis", "--overwrite")
        assert command("score", batch, *elsewhere, **at(server)).returncode == 2
    assert len(lines_of(run / "judgments.jsonl")) == 5
    assert len(lines_of(run / "responses.jsonl")) == 1
    assert len(json.loads((run / "run.json").read_text())["starts"]) == 1
    assert not (run / "injection.json").exists()
    assert (run / "notes.txt").read_text() == "mine"


def test_a_run_that_cannot_bring_back_what_a_folder_holds_leaves_it(
    command: Command, batch: Path, tmp_path: Path
) -> None:
    """Comparisons without their cache and without a server: the same command takes no judgment
    away, says so and exits 1; with --overwrite it does, and exits 4, as nothing was scored."""
    run = tmp_path / "run"
    compared = (*ARGUMENTS, "--elicitation", "pairwise")
    with serving(lambda number, payload: ok() if number < 20 else status(401)) as server:
        assert command("score", batch, *compared, "--limit", "4", **at(server)).returncode == 0
        before = files_of(run)
        shutil.rmtree(tmp_path / "cache")
        done = command("score", batch, *compared, **at(server))
        assert done.returncode == 1
        assert "run contains 20 results that this run did not reach" in said(done)
        kept = ("judgments.jsonl", "verdicts.csv", "summary.json")
        assert all(files_of(run)[name] == before[name] for name in kept)
        assert not [name for name in files_of(run) if name.startswith(".")]
        assert command("score", batch, *compared, "--overwrite", **at(server)).returncode == 4
    statuses = {line["status"] for line in lines_of(run / "judgments.jsonl")}
    assert statuses <= {"failed", "skipped"}


@pytest.mark.parametrize("more", [(), ("--dry-run",)])
def test_judgments_that_the_cache_lacks_are_not_paid_for_again(
    command: Command, batch: Path, tmp_path: Path, more: tuple[str, ...]
) -> None:
    """With half of the answers in the cache, the other ten judgments of the folder are counted and
    nothing is asked or changed; their own cache goes on, and --overwrite asks."""
    other = {"PERSONA_PANEL_CACHE": str(tmp_path / "other")}
    two = (*ARGUMENTS[:-1], "two")
    with serving() as server:
        assert command("score", batch, *ARGUMENTS, "--limit", "4", **at(server)).returncode == 0
        done = command("score", batch, *two, "--limit", "2", **at(server), **other)
        assert (done.returncode, len(server.calls)) == (0, 30)
        before = files_of(tmp_path / "run")
        refused = command("score", batch, *ARGUMENTS, *more, **at(server), **other)
        assert refused.returncode == 2
        assert "run contains 10 judgments that the cache in use" in said(refused)
        assert "--overwrite No model was called." in said(refused)
        assert len(server.calls) == 30
        assert files_of(tmp_path / "run") == before
        assert command("score", batch, *ARGUMENTS, **at(server)).returncode == 0
        assert len(server.calls) == 40
        again = command("score", batch, *ARGUMENTS, "--overwrite", **at(server), **other)
        assert (again.returncode, len(server.calls)) == (0, 60)


def test_a_killed_larger_run_leaves_no_summary_of_the_smaller(
    command: Command, batch: Path, tmp_path: Path
) -> None:
    """Killed before a new judgment, a larger run leaves the page and the figures of the smaller;
    killed after one, it leaves none; the same command makes them."""
    run, written = tmp_path / "run", {"summary.json", "verdicts.csv", "report.html"}
    # Of 20 new judgments, 17 answers make at least one response whole.
    waits = {"from": 10}

    def script(number: int, payload: Mapping[str, Any]) -> Answer:
        return replace(ok(), wait_s=60.0 if number >= waits["from"] else 0.0)

    with serving(script) as server:
        assert command("score", batch, *ARGUMENTS, "--limit", "2", **at(server)).returncode == 0
        before = {name: (run / name).read_bytes() for name in written}
        for n_new in (0, 17):
            waits["from"] = len(server.calls) + n_new
            n_before = len(server.calls)
            process = forked.begun(
                [COMMAND, "score", batch, *ARGUMENTS], tmp_path, os.environ | at(server)
            )
            until = time.monotonic() + 30
            while (
                len(server.calls) <= n_before + n_new
                or (run / ".judgments.jsonl.new").exists()
                or (n_new and len(lines_of_whole(run)) <= 10)
            ):
                assert process.poll() is None
                assert time.monotonic() < until
                time.sleep(0.01)
            process.kill()
            process.wait(10)
            left = {name: text for name, text in files_of(run).items() if name in written}
            assert left == ({} if n_new else before)
        waits["from"] = 1_000
        assert command("score", batch, *ARGUMENTS, **at(server)).returncode == 0
    assert json.loads((run / "summary.json").read_text())["coverage"]["scored"] == 30
    assert written <= set(files_of(run))


def lines_of_whole(run: Path) -> list[bytes]:
    return (run / "judgments.jsonl").read_bytes().rpartition(b"\n")[0].splitlines()


def test_a_run_of_a_version_without_texts_is_refused(
    command: Command, batch: Path, tmp_path: Path
) -> None:
    """Which texts such a folder's judgments are about cannot be told, and is not guessed."""
    with serving() as server:
        assert command("score", batch, *ARGUMENTS, **at(server)).returncode == 0
        (tmp_path / "run" / "responses.jsonl").unlink()
        before = files_of(tmp_path / "run")
        refused = command("score", batch, *ARGUMENTS, **at(server))
    assert refused.returncode == 2
    assert "without responses.jsonl" in said(refused)
    assert files_of(tmp_path / "run") == before


def test_a_killed_run_can_be_read_and_gone_on_with(command: Command, tmp_path: Path) -> None:
    """After kill -9 all texts are there, every line of judgments is whole, but for the last, in
    which the kernel may have been, and `agree` reads them; a larger batch asks for the rest."""
    rows = [ROWS[i % 6] | {"id": f"r{i}", "prompt": f"Question {i // 4}?"} for i in range(60)]
    batch = jsonl(tmp_path / "batch.jsonl", rows)
    run = tmp_path / "run"
    with serving(latency_s=0.02) as server:
        process = forked.begun(
            [COMMAND, "score", batch, *ARGUMENTS, "--limit", "40"],
            tmp_path, os.environ | at(server),
        )  # fmt: skip
        judgments = run / "judgments.jsonl"
        while not (judgments.exists() and judgments.stat().st_size > 20_000):
            assert process.poll() is None
            time.sleep(0.002)
        process.kill()
        assert process.wait(10) == -signal.SIGKILL
        assert [line["id"] for line in lines_of(run / "responses.jsonl")] == [
            row["id"] for row in rows[:40]
        ]
        whole = judgments.read_bytes().rpartition(b"\n")[0].splitlines()
        assert 0 < len([json.loads(line) for line in whole]) < 200
        read = command("agree", "run")
        assert read.returncode == 0, read.stderr
        done = command("score", batch, *ARGUMENTS, **at(server))
        assert done.returncode == 0, done.stderr
        # Those in flight at the kill are asked again.
        assert len(server.calls) <= 300 + 256
    assert len(lines_of(judgments)) == 300
    assert len(lines_of(run / "responses.jsonl")) == 60


# What a folder tells


def test_commands_on_a_run_that_goes_on_say_so(
    command: Command, batch: Path, tmp_path: Path
) -> None:
    """While a process holds a run's lock, analyses of it and its page say that they read what there
    is, and no longer that the same command makes what is missing; afterwards the reverse."""
    fcntl = pytest.importorskip("fcntl", reason="locks are those of Unix")
    with serving() as server:
        assert command("score", batch, *ARGUMENTS, **at(server)).returncode == 0
    shutil.copytree(tmp_path / "run", tmp_path / "whole")
    path = tmp_path / "run" / "judgments.jsonl"
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:17]))
    (tmp_path / "run" / "summary.json").unlink()
    goes_on, again = "The run run goes on: only what it has so far is read.", "folder again asks"
    commands = (("agree", "run"), ("compare", "whole", "run", "--full"), ("report", "run"))
    with path.open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        during = [command(*each) for each in commands]
    after = [command(*each) for each in commands]
    assert [done.stderr.count(goes_on) for done in (*during, *after)] == [1, 1, 1, 0, 0, 0]
    assert "13 of 30 judgments of run are missing" in said(during[0])
    assert (again in said(during[0]), again in said(after[0])) == (False, True)
    assert "run goes on: " in during[1].stdout
    assert "run is unfinished: " in after[1].stdout


def test_what_was_judged_can_be_scored_again(command: Command, batch: Path, tmp_path: Path) -> None:
    """`score` reads a run's responses.jsonl: the same verdicts, of contexts and metadata too, and
    no call."""
    with serving() as server:
        assert command("score", batch, *ARGUMENTS, **at(server)).returncode == 0
        again = (*ARGUMENTS[:-1], "again")
        done = command("score", "run/responses.jsonl", *again, **at(server))
        assert done.returncode == 0, done.stderr
        assert len(server.calls) == 30
    for name in ("verdicts.csv", "responses.jsonl"):
        assert (tmp_path / "run" / name).read_bytes() == (tmp_path / "again" / name).read_bytes()
    [first, *_] = lines_of(tmp_path / "run" / "responses.jsonl")
    assert first == ROWS[0] | {"prompt_id": "p-4f10ddf2629b"}


def test_no_texts_keeps_digests(command: Command, batch: Path, tmp_path: Path) -> None:
    """With --no-texts no file of the folder has a text; SHA-256s stand for them and for the input,
    and tell this batch from another. No file has metadata, which may be texts, too."""
    with serving() as server:
        quiet = (*ARGUMENTS, "--no-texts")
        assert command("score", batch, *quiet, "--limit", "4", **at(server)).returncode == 0
        assert command("score", batch, *quiet, **at(server)).returncode == 0
        changed = [ROWS[0] | {"response": "Another."}, *ROWS[1:]]
        refused = command("score", jsonl(tmp_path / "b.jsonl", changed), *quiet, **at(server))
        assert refused.returncode == 2
        assert "('r0')" in said(refused)
        assert len(server.calls) == 30
    run = tmp_path / "run"
    for content in files_of(run).values():
        assert not any(
            str(row[name]).encode() in content
            for row in ROWS
            for name in ("prompt", "response", "context")
            if name in row
        )
    [header, *_] = (run / "verdicts.csv").read_text().splitlines()
    assert header.endswith(",words")
    by = command("score", batch, *quiet, "--by", "note", **at(server))
    assert by.returncode == 0, by.stderr
    assert "no breakdown by note: without texts" in by.stderr
    lines = lines_of(run / "responses.jsonl")
    assert lines[1] == {
        "prompt_id": "p-4f10ddf2629b",
        "id": "r1",
        "system": "birch",
        **{
            f"{name}_sha256": hashlib.sha256(ROWS[1][name].encode()).hexdigest()
            for name in ("prompt", "response", "context")
        },
    }
    assert "context_sha256" not in lines[0]
    [given] = json.loads((run / "run.json").read_text())["starts"][0]["inputs"]
    assert given == {
        "name": str(batch),
        "sha256": hashlib.sha256(batch.read_bytes()).hexdigest(),
        "bytes": batch.stat().st_size,
    }


def test_run_json_tells_of_every_start(command: Command, batch: Path, tmp_path: Path) -> None:
    """Time in UTC, command without the key that stands in it, files with their digests, versions
    and platform, of the first start and of the one that went on; the order of a batch is no part
    of its digest."""
    key = "hunter2-canary-0815"
    (tmp_path / "panel.yaml").write_text("personas: disciplinary\nmodels: ['openai:stub']\n")
    named = jsonl(tmp_path / f"of-{key}.jsonl", ROWS)
    with serving() as server:
        for limit in ("3", "6"):
            done = command(
                *("score", named, "--panel", "panel.yaml", "--out", "run", "--limit", limit),
                OPENAI_API_KEY=key, TZ="Asia/Tokyo", **at(server),
            )  # fmt: skip
            assert done.returncode == 0, done.stderr
        jsonl(tmp_path / "b.jsonl", ROWS[::-1])
        elsewhere = ("--panel", "panel.yaml", "--out", "other")
        assert command("score", "b.jsonl", *elsewhere, **at(server)).returncode == 0
    document = json.loads((tmp_path / "run" / "run.json").read_text())
    one, two = document["starts"]
    for start, limit in ((one, "3"), (two, "6")):
        assert time.time() - 300 < time_of(start["at"]) < time.time() + 5
        assert start["command"] == (
            f"persona-panel score '{tmp_path}/of-[secret].jsonl' --panel panel.yaml --out run "
            f"--limit {limit}"
        )
        assert [Path(file["name"]).suffix for file in start["inputs"]] == [".jsonl", ".yaml"]
        assert all(file["sha256"] and file["bytes"] for file in start["inputs"])
        assert start["python"] == ".".join(map(str, sys.version_info[:3]))
        assert start["platform"]
        assert {
            "persona-panel", "langgraph", "langchain-core", "numpy", "scipy", "pydantic", "pycurl",
        } <= set(start["versions"])  # fmt: skip
    assert key not in (tmp_path / "run" / "run.json").read_text()
    other = json.loads((tmp_path / "other" / "run.json").read_text())
    assert document["texts"] == other["texts"]
    assert (document["texts"]["file"], document["texts"]["lines"]) == ("responses.jsonl", 6)


def time_of(text: str) -> float:
    import calendar

    return calendar.timegm(time.strptime(text, "%Y-%m-%dT%H:%M:%SZ"))


# Who may read it, and where it is


@pytest.mark.skipif(os.name != "posix", reason="permissions are POSIX's")
def test_folders_and_files_are_their_owners_alone(
    command: Command, batch: Path, tmp_path: Path
) -> None:
    """A run's folder and the cache are made 0700 and every file in them 0600, whatever the
    umask, also after a second run; the permissions of a folder that was there stay."""
    (tmp_path / "there").mkdir()
    (tmp_path / "there").chmod(0o750)
    before = os.umask(0)
    try:
        with serving() as server:
            for out in ("deep/run", "deep/run", "there"):
                arguments = (*ARGUMENTS[:-1], out)
                assert command("score", batch, *arguments, **at(server)).returncode == 0
            cut = forked.begun(
                [COMMAND, "score", batch, *ARGUMENTS[:-1], "killed"],
                tmp_path, os.environ | at(server) | {"PERSONA_PANEL_CACHE": "own"},
            )  # fmt: skip
            while not list((tmp_path / "own").glob("*.journal")) and cut.poll() is None:
                time.sleep(0.001)
            cut.kill()
            cut.wait(10)
    finally:
        os.umask(before)
    for folder in ("deep/run", "cache", "own"):
        assert stat.S_IMODE((tmp_path / folder).stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "there").stat().st_mode) == 0o750
    found = [
        path for folder in ("deep/run", "there", "cache", "own")
        for path in (tmp_path / folder).rglob("*")
    ]  # fmt: skip
    assert len(found) > 12
    assert {path.name: oct(stat.S_IMODE(path.stat().st_mode)) for path in found} == {
        path.name: "0o600" for path in found
    }


def test_out_may_be_a_link(command: Command, batch: Path, tmp_path: Path) -> None:
    """A link to a folder is followed, also to one that is not there yet, and stays a link; one to
    a file or to itself is refused before any call."""
    (tmp_path / "file").write_text("mine")
    for name, target in (("run", "far/away"), ("wrong", "file"), ("loop", "loop")):
        (tmp_path / name).symlink_to(tmp_path / target)
    with serving() as server:
        for _ in range(2):
            assert command("score", batch, *ARGUMENTS, **at(server)).returncode == 0
        assert len(server.calls) == 30
        for name in ("wrong", "loop"):
            refused = command("score", batch, *ARGUMENTS[:-1], name, **at(server))
            assert refused.returncode == 2
            assert f"{name} cannot be written" in said(refused)
            assert "Traceback" not in refused.stderr
        assert len(server.calls) == 30
    assert (tmp_path / "run").is_symlink()
    assert len(lines_of(tmp_path / "far/away/judgments.jsonl")) == 30
    assert (tmp_path / "file").read_text() == "mine"


BOUND = """
import ctypes, os
if os.geteuid() == 0:
    # Of this process: version 3, and what may be done, is allowed and is inherited, in two halves.
    head, sets = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
    libc = ctypes.CDLL(None)
    assert libc.capget(head, sets) == 0
    for each in range(3):
        sets[each] &= ~0b110  # CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH
    assert libc.capset(head, sets) == 0
from persona_panel.cli.main import main
main()
"""


def ordinary(tmp_path: Path, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    """The command as a user whom permissions bind, which they do not bind root."""
    if os.geteuid() == 0 and sys.platform != "linux":
        pytest.skip("root is bound by no permission, and that is changed on Linux alone")
    return forked.run([sys.executable, "-c", BOUND, *arguments], tmp_path, os.environ | env)


@pytest.mark.skipif(os.name != "posix", reason="permissions are POSIX's")
@pytest.mark.parametrize("elicitation", ["dimensions", "expected"])
@pytest.mark.parametrize(
    ("locked", "mode"), [(".", 0o500), ("run", 0o500), ("run", 0o600), ("run/run.json", 0o200)]
)
def test_a_folder_that_may_not_be_written_costs_no_call(
    command: Command, batch: Path, tmp_path: Path, elicitation: str, locked: str, mode: int
) -> None:
    """A folder that an ordinary user may not write or read, or the one that it would be made in,
    is exit 2 with the reason, before the probe for log-probabilities too."""
    desk = tmp_path / "desk"
    desk.mkdir()
    arguments = ("score", str(batch), *ARGUMENTS, "--elicitation", elicitation)
    with serving() as server:
        if locked != ".":
            plain = ("score", str(batch), *ARGUMENTS, "--elicitation", "dimensions")
            made = forked.run([COMMAND, *plain], desk, os.environ | at(server))
            assert made.returncode == 0, made.stderr
        calls = len(server.calls)
        (desk / locked).chmod(mode)
        try:
            refused = ordinary(desk, *arguments, **at(server))
        finally:
            (desk / locked).chmod(0o700)
        assert len(server.calls) == calls
    assert refused.returncode == 2, refused.stderr
    told = said(refused)
    assert "run cannot be written: Permission denied" in told
    assert "No model was called" in told


@pytest.mark.skipif(os.name != "posix", reason="permissions are POSIX's")
def test_a_cache_that_may_not_be_written_is_named(batch: Path, tmp_path: Path) -> None:
    """Exit 2, the cache's folder and how to choose another; no call and no traceback."""
    (tmp_path / "cache").mkdir(mode=0o500)
    with serving() as server:
        refused = ordinary(tmp_path, "score", str(batch), *ARGUMENTS, **at(server))
        assert not server.calls
    assert refused.returncode == 2
    assert "PERSONA_PANEL_CACHE" in refused.stderr
    assert "Traceback" not in refused.stderr


# Sweeps

READER = "id: one\nlabel: One\npersonas:\n  - {id: r, label: R, axis: a, description: You read.}\n"
PROMPTS = [{"prompt": f"What of matter {i}, and why?"} for i in range(4)]
SWEEP = ("--target", "openai:target", "--personas", "reader.yaml", "--model", "openai:judge")


@pytest.fixture
def prompts(tmp_path: Path) -> Path:
    (tmp_path / "reader.yaml").write_text(READER)
    return jsonl(tmp_path / "prompts.jsonl", PROMPTS)


def test_a_sweep_goes_on_with_more_prompts_and_no_others(
    command: Command, prompts: Path, tmp_path: Path
) -> None:
    """More prompts go on; others are exit 2 with what differs, and nothing of the folder is
    touched; --overwrite replaces it. Every judgment finds its response by its ids."""
    arguments = (*SWEEP, "--out", "run")
    other = jsonl(tmp_path / "other.jsonl", [{"prompt": "Another?"}, *PROMPTS[2:]])
    run = tmp_path / "run"
    with serving(world(sycophantic=False)) as server:
        assert command("sweep", prompts, *arguments, "--limit", "3", **at(server)).returncode == 0
        calls = len(server.calls)
        assert command("sweep", prompts, *arguments, **at(server)).returncode == 0
        assert 0 < len(server.calls) - calls < calls
        before, calls = files_of(run), len(server.calls)
        refused = command("sweep", other, *arguments, **at(server))
        assert refused.returncode == 2
        assert "contains a run on 4 other prompts: 2 not among these" in said(refused)
        assert "; 1 new." in said(refused)
        assert len(server.calls) == calls
        assert files_of(run) == before
        responses = lines_of(run / "responses.jsonl")
        assert len(responses) == 24
        assert {(line["prompt_id"], line["id"]) for line in responses} == {
            (line["prompt_id"], line["id"]) for line in lines_of(run / "judgments.jsonl")
        }
        replaced = command("sweep", other, *arguments, "--overwrite", **at(server))
        assert replaced.returncode == 0, replaced.stderr
    assert len(lines_of(run / "prompts.jsonl")) == 3
    assert len(lines_of(run / "responses.jsonl")) == 18


def test_a_killed_sweep_has_what_was_said(command: Command, prompts: Path, tmp_path: Path) -> None:
    """After kill -9 the folder has the prompts and, line by line, the answers that were judged;
    the same command goes on."""
    run = tmp_path / "run"
    arguments = ("sweep", str(prompts), *SWEEP, "--out", "run", "--concurrency", "1")
    with serving(world(sycophantic=False), latency_s=0.01) as server:
        process = forked.begun([COMMAND, *arguments], tmp_path, os.environ | at(server))
        judged = run / "judgments.jsonl"
        while not (judged.exists() and judged.stat().st_size):
            assert process.poll() is None
            time.sleep(0.002)
        process.kill()
        process.wait(10)
        assert len(lines_of(run / "prompts.jsonl")) == 4
        there = {(line["prompt_id"], line["id"]) for line in lines_of(run / "responses.jsonl")}
        assert {(line["prompt_id"], line["id"]) for line in lines_of(judged)} <= there
        done = command(*arguments, **at(server))
        assert done.returncode == 0, done.stderr
    assert len(lines_of(run / "responses.jsonl")) == 24


def test_a_sweep_without_texts(command: Command, prompts: Path, tmp_path: Path) -> None:
    """--no-texts keeps no prompt, variant or answer, and goes on with the same prompts."""
    run = tmp_path / "run"
    with serving(world(sycophantic=False)) as server:
        arguments = ("sweep", prompts, *SWEEP, "--out", "run")
        assert command(*arguments, **at(server)).returncode == 0
        texts = {
            str(line[name]).encode()
            for file in ("responses.jsonl", "framings.jsonl", "prompts.jsonl")
            for line in lines_of(run / file)
            for name in ("prompt", "response")
            if name in line
        }
        calls = len(server.calls)
        done = command(*arguments, "--no-texts", **at(server))
        assert done.returncode == 0, done.stderr
        assert len(server.calls) == calls
    for name, content in files_of(run).items():
        assert not any(text in content for text in texts), name
    assert len(lines_of(run / "responses.jsonl")) == 24


def test_given_responses_are_kept_as_they_are_read(
    command: Command, prompts: Path, tmp_path: Path
) -> None:
    """A sweep of given responses keeps them in the form that --responses reads, goes on with more,
    and refuses changed ones."""
    rows = [
        {"prompt_id": f"q{i}", "prompt": f"{lead}What of {i}?", "condition": condition,
         "system": "alder", "response": f"Pluralism {i}."}
        for i in range(4)
        for condition, lead in (("baseline", ""), ("emotion_agree", "So sure! "))
    ]  # fmt: skip
    given = jsonl(tmp_path / "given.jsonl", rows)
    arguments = (*SWEEP[2:], "--out", "run")
    with serving(world(sycophantic=False)) as server:
        first = command("sweep", "--responses", given, *arguments, "--limit", "2", **at(server))
        assert first.returncode == 0, first.stderr
        assert command("sweep", "--responses", given, *arguments, **at(server)).returncode == 0
        calls = len(server.calls)
        kept = tmp_path / "run" / "responses.jsonl"
        again = (*SWEEP[2:], "--out", "again")
        assert command("sweep", "--responses", kept, *again, **at(server)).returncode == 0
        jsonl(given, [rows[0] | {"response": "Other."}, *rows[1:]])
        refused = command("sweep", "--responses", given, *arguments, **at(server))
        assert len(server.calls) == calls
    assert refused.returncode == 2
    assert "1 with another text or system ('q0/alder+baseline')" in said(refused)
    assert [{name: line[name] for name in rows[0]} for line in lines_of(kept)] == rows
    assert kept.read_bytes() == (tmp_path / "again" / "responses.jsonl").read_bytes()
