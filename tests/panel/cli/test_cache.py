"""`persona-panel cache`: answers counted, moved between caches, removed."""

from __future__ import annotations

import gzip
import json
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from persona_panel import Panel, Response
from persona_panel.calls.cache import ENVIRONMENT_VARIABLE, open_reply_store
from persona_panel.calls.journaled_store import JournaledStore
from persona_panel.cli.main import command
from persona_panel.files.secrets import SECRETS
from persona_panel.models.completions import body_of
from persona_panel.rubrics import ModelResponse, Position, Usage
from persona_panel.testing import ScriptedModel
from persona_panel.testing.scripted_model import default_text
from tests.helpers.redis_server import redis_server

DAY = 86_400
LONG = ModelResponse(
    "Grüße 🙂\n",
    usage=Usage(12, 0, 3),
    logprobs=tuple(Position(f"{n}", ((f"{n}", -0.1234567890123456),)) for n in range(99)),
    model="local:small",
)


def run(*arguments: str | Path, stdin: str = "") -> Result:
    return CliRunner().invoke(command, ["cache", *map(str, arguments)], input=stdin)


def key(n: int) -> bytes:
    return n.to_bytes(32)


def opened() -> JournaledStore:
    store = open_reply_store()
    assert isinstance(store, JournaledStore)
    return store


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Six answers on two pages: four of `openai:big`, two of them forty days old, one that is
    long, and one from before models and times were noted."""
    now = time.time()
    with closing(opened()) as store:
        for n in range(4):
            with monkeypatch.context() as then:
                then.setattr("time.time", partial(float, now - (40 * DAY if n < 2 else 0)))
                store.put("a" * 64, key(n), ModelResponse(f"{n}", model="openai:big"))
        store.put("b" * 64, key(4), LONG)
        store.put_stored("b" * 64, key(5), b'{"text":"5","usage":{},"logprobs":[]}')
    yield


def texts() -> list[str]:
    with closing(opened()) as store:
        pages = [("a" * 64, n) for n in range(4)] + [("b" * 64, 4), ("b" * 64, 5)]
        found = [store.get(page, key(n)) for page, n in pages]
    return [reply.text for reply in found if reply is not None]


def test_answers_are_counted_by_model(kept: None) -> None:
    """In a table that fits 80 columns, and as JSON, with the times as far as they are known."""
    table = CliRunner(env={"COLUMNS": "80"}).invoke(command, ["cache", "stats"])
    assert table.exit_code == 0
    assert "6 answers, " in table.stdout
    assert "(not noted)" in table.stdout
    assert max(map(len, table.stdout.splitlines()[1:])) <= 80
    document = json.loads(run("stats", "--json").stdout)
    assert (document["answers"], document["undated"], document["unreadable"]) == (6, 1, 0)
    found = {row["model"]: row["answers"] for row in document["by_model"]}
    assert found == {"openai:big": 4, "local:small": 1, None: 1}
    assert sum(row["bytes"] for row in document["by_model"]) == document["bytes"]
    assert document["oldest"] < document["newest"]


def test_an_empty_cache_has_no_answers() -> None:
    """That is said, and no table is printed."""
    assert run("stats").stdout.endswith(": 0 answers, 0 bytes.\n")


def test_of_many_models_those_with_the_most_are_listed() -> None:
    """Of 30 a screen, with how many more there are; all as JSON."""
    with closing(opened()) as store:
        for n in range(30):
            store.put("a" * 64, key(n), ModelResponse("x" * (n + 1), model=f"openai:model-{n:02}"))
    table = CliRunner(env={"COLUMNS": "80"}).invoke(command, ["cache", "stats"]).stdout
    assert len(table.splitlines()) <= 24
    assert "14 more: --json has all" in table
    assert len(json.loads(run("stats", "--json").stdout)["by_model"]) == 30


def test_a_damaged_entry_is_counted_apart_and_not_written(kept: None, tmp_path: Path) -> None:
    """What no version has written is in no figure of answers, and in no file."""
    with closing(opened()) as store:
        store.put_stored("c" * 64, key(6), b"\x80\x04pickle")
        store.put_stored("c" * 64, key(7), b"[1]")
    assert "2 more entries cannot be read" in run("stats").stdout
    assert run("export", tmp_path / "all.jsonl").exit_code == 0
    assert len((tmp_path / "all.jsonl").read_text().splitlines()) == 6


@pytest.mark.parametrize("name", ["all.jsonl", "all.jsonl.gz"])
def test_what_is_written_is_read_into_another_cache(
    kept: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """All answers are there, log-probabilities to the last bit; a second time adds none, and
    what is there stays."""
    file = tmp_path / name
    assert "6 answers of" in run("export", file).stdout
    assert file.stat().st_mode & 0o77 == 0
    monkeypatch.setenv(ENVIRONMENT_VARIABLE, str(tmp_path / "other"))
    with closing(opened()) as store:
        store.put("a" * 64, key(0), ModelResponse("mine"))
    assert "5 answers added" in run("import", file).stdout
    assert "0 answers added" in run("import", file).stdout
    assert texts() == ["mine", "1", "2", "3", LONG.text, "5"]
    with closing(opened()) as store:
        assert store.get("b" * 64, key(4)) == replace(LONG, cached=True)
    assert json.loads(run("stats", "--json").stdout)["oldest"] is not None


def test_answers_go_to_a_server_and_back(
    kept: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From a folder to Redis and to another folder, the answers are the same."""
    pytest.importorskip("redis")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    assert run("export", tmp_path / "one.jsonl").exit_code == 0
    with redis_server(tmp_path) as server:
        monkeypatch.setenv(ENVIRONMENT_VARIABLE, server.address)
        assert "6 answers added" in run("import", tmp_path / "one.jsonl").stdout
        assert run("export", tmp_path / "two.jsonl").exit_code == 0
        assert run("prune", "--model", "local:small", "--yes").exit_code == 0
        assert len(texts()) == 5
    one, two = (sorted((tmp_path / f"{n}.jsonl").read_text().splitlines()) for n in ("one", "two"))
    assert one == two


def test_an_odd_line_is_reported_and_left_out(
    kept: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each with its line and field; the others are added, and the exit status says that something
    is missing."""
    assert run("export", tmp_path / "all.jsonl").exit_code == 0
    good = (tmp_path / "all.jsonl").read_text().splitlines()
    fields = json.loads(good[0])
    odd = [
        "no JSON",
        json.dumps(fields | {"page": "../../etc"}),
        json.dumps(fields | {"key": "ff"}),
        json.dumps(fields | {"reply": {"text": 7, "usage": {}, "logprobs": []}}),
        json.dumps(fields | {"reply": {"text": "7", "usage": {}, "logprobs": [], "evil": 1}}),
        json.dumps({"key": fields["key"]}),
        json.dumps(fields | {"reply": fields["reply"] | {"usage": {"input": "many"}}}),
    ]
    (tmp_path / "odd.jsonl").write_text("\n".join([*odd, *good[1:]]) + "\n")
    monkeypatch.setenv(ENVIRONMENT_VARIABLE, str(tmp_path / "other"))
    done = run("import", tmp_path / "odd.jsonl")
    assert done.exit_code == 1
    assert "5 answers added" in done.stdout
    assert "7 lines left out." in done.stderr
    for said in (
        "odd.jsonl:2: page: found",
        "odd.jsonl:3: key: found",
        "lines 4-5, 7: reply: found",
    ):
        assert said in done.stderr
    assert len(texts()) == 5


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("none.jsonl", None, "no such file"),
        ("all.csv", b"a,b\n", "a name that ends in '.csv'"),
        ("all.jsonl.gz", gzip.compress(b"{}\n" * 1_000, mtime=0)[:-8], "a damaged file"),
        ("all.jsonl", b"{}\n", "64 hexadecimal digits"),
        ("all.jsonl", b'{"x":1\n', "all.jsonl:1: found a syntax error at column 7"),
        ("all.jsonl", b'{"x":1', "all.jsonl:1: found a syntax error at column 7"),
    ],
)
def test_a_file_of_which_nothing_can_be_read_is_refused(
    tmp_path: Path, name: str, content: bytes | None, said: str
) -> None:
    """With what is wrong, where, exit status 2 and no traceback; the help says so."""
    if content is not None:
        (tmp_path / name).write_bytes(content)
    done = run("import", tmp_path / name)
    assert done.exit_code == 2
    assert said in done.stderr
    assert "2 for bad input, also if no line can be read" in " ".join(
        run("import", "--help-all").stdout.split()
    )


def test_old_answers_are_removed_once_that_is_confirmed(kept: None) -> None:
    """Not with --dry-run, nor without --yes where nobody can be asked; what has no time stays."""
    older = ("prune", "--older-than", "30")
    dry = run(*older, "--dry-run")
    assert (dry.exit_code, len(texts())) == (0, 6)
    assert "2 answers" in dry.stdout
    assert "Nothing was removed" in dry.stdout
    assert run(*older).exit_code == 2
    assert len(texts()) == 6
    assert "2 answers removed." in run(*older, "--yes").stdout
    assert texts() == ["2", "3", LONG.text, "5"]
    assert run("prune", "--older-than", "0", "--model", "local:small", "--dry-run").exit_code == 0


def test_answers_of_a_model_are_removed(kept: None) -> None:
    """Those of the model that is named, and of the age too where both are given."""
    both = ("--model", "openai:big", "--older-than", "30")
    assert "2 answers removed." in run("prune", *both, "--yes").stdout
    assert "2 answers removed." in run("prune", "--model", "openai:big", "--yes").stdout
    assert texts() == [LONG.text, "5"]
    assert run("prune", "--yes").exit_code == 2


def test_a_model_that_no_answer_has_is_refused(kept: None) -> None:
    """With the models that there are, the closest first, and nothing is removed; one whose answers
    are all too young is no unknown one."""
    done = run("prune", "--model", "openai:bg", "--model", "local:small", "--yes")
    assert (done.exit_code, len(texts())) == (2, 6)
    assert "--model: found 'openai:bg'; expected one of openai:big, local:small\n" in done.stderr
    assert done.stdout == ""
    young = run("prune", "--model", "local:small", "--older-than", "30", "--yes")
    assert (young.exit_code, "0 answers" in young.stdout) == (0, True)


def test_an_empty_cache_refuses_no_model() -> None:
    """There is no answer that another name would find."""
    done = run("prune", "--model", "nobody", "--yes")
    assert (done.exit_code, "0 answers" in done.stdout) == (0, True)


def test_a_run_notes_its_model_and_no_key(tmp_path: Path) -> None:
    """A model that repeats the key of this process: the file of its answers says who answered,
    and the key is masked."""
    SECRETS.learn(canary := "canary-4f9e-0123456789")
    model = ScriptedModel(
        lambda request: f'{default_text(body_of(request))[:-1]}, "note": "{canary}"}}'
    )
    essay = Response(id="a", prompt="Why?", text="Because.", system="s")
    Panel("disciplinary", model).score([essay])
    assert run("export", tmp_path / "all.jsonl").exit_code == 0
    rows = [json.loads(line) for line in (tmp_path / "all.jsonl").read_text().splitlines()]
    assert len(rows) == 5
    assert canary not in (tmp_path / "all.jsonl").read_text()
    assert all("[secret]" in row["reply"]["text"] and row["reply"]["model"] for row in rows)


def test_an_export_replaces_no_file_unasked(kept: None, tmp_path: Path) -> None:
    """A file that is there stays as it is without --overwrite, and is replaced with it."""
    file = tmp_path / "texts.jsonl"
    file.write_text("mine\n")
    refused = run("export", file)
    assert refused.exit_code == 2
    assert "a file that is there already" in refused.stderr
    assert "--overwrite" in refused.stderr
    assert file.read_text() == "mine\n"
    assert run("export", file, "--overwrite").exit_code == 0
    assert len(file.read_text().splitlines()) == 6
    absent = run("export", tmp_path / "absent" / "texts.jsonl")
    assert absent.exit_code == 2
    assert "texts.jsonl: found what cannot be written (No such file or directory)" in absent.stderr


@pytest.mark.parametrize("at", [b"-1", b"253402300800", b"1e999"])
def test_a_time_that_no_calendar_has_is_not_known(at: bytes) -> None:
    """An entry of a file may say anything; it is counted, and its time is not."""
    with closing(opened()) as store:
        store.put_stored("d" * 64, key(8), b'{"text":"8","usage":{},"logprobs":[],"at":%b}' % at)
    done = run("stats")
    assert done.exit_code == 0 and (": 1 answer, " in done.stdout) == (at != b"1e999")


def test_a_file_that_ends_early_is_told(
    kept: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a compressed file that was cut off, how many answers were read; no line is counted as left
    out."""
    file = tmp_path / "all.jsonl.gz"
    assert run("export", file).exit_code == 0
    file.write_bytes(file.read_bytes()[:-8])
    monkeypatch.setenv(ENVIRONMENT_VARIABLE, str(tmp_path / "other"))
    done = run("import", file)
    assert done.exit_code == 1
    assert "ends early: 6 answers could be read" in done.stderr
    assert "left out" not in done.stderr
