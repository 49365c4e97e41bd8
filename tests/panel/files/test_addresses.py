"""Addresses, and what is told of them: `persona_panel.files.addresses`."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import fsspec
import pytest

from persona_panel import InputError, Panel, Response, compare, load_responses, load_run
from persona_panel.cli import signals
from persona_panel.files.addresses import is_address, is_meant_as_address, temporary_folder
from persona_panel.files.named_files import copied_run
from persona_panel.files.secrets import SECRETS
from persona_panel.runs.execution import start_of
from persona_panel.runs.output import RunOutput
from persona_panel.testing import ScriptedModel
from tests.helpers.invoked import invoked

MEMORY = fsspec.filesystem("memory")
TEXTS = [Response(id=f"r{n}", prompt="Why?", text=f"Text {n}.", system="s") for n in range(4)]


@pytest.fixture(scope="module")
def run_there(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a run."""
    folder = tmp_path_factory.mktemp("made") / "run"
    Panel("disciplinary", ScriptedModel(), "debate-speech").score(TEXTS, out=folder)
    MEMORY.put(f"{folder}/", f"{folder}/", recursive=True)
    yield f"memory:/{folder}"
    MEMORY.rm(str(folder), recursive=True)


class _SameForAll(BaseHTTPRequestHandler):
    """A server that says the same of whatever begins as a file's path does."""

    def do_GET(self) -> None:
        content = json.dumps({"prompt": "Why?", "response": "Because.", "system": "s"}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(content)

    do_HEAD = do_GET  # noqa: N815

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing."""


@pytest.fixture(scope="module")
def signed() -> Iterator[str]:
    """The address of a file of responses, with a token."""
    with HTTPServer(("127.0.0.1", 0), _SameForAll) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/texts.jsonl?v=1&token=pw1"
        server.shutdown()


@pytest.mark.parametrize(
    ("name", "is_one", "is_meant"),
    [
        ("s3://bucket/run", True, True),
        ("simplecache::s3://bucket/run", True, True),
        ("s3:/bucket/run", False, True),
        (Path("s3://bucket/run"), False, True),
        ("c://texts", False, False),
        ("runs/a", False, False),
        ("texts: one/two", False, False),
        ("-", False, False),
    ],
)
def test_what_is_an_address(name: str | Path, is_one: bool, is_meant: bool) -> None:
    """A scheme of two letters or more and two slashes; one slash is meant as one."""
    assert (is_address(name), is_meant_as_address(name)) == (is_one, is_meant)


def test_a_file_with_a_token_in_its_address_is_read(signed: str) -> None:
    """Its name ends where the query begins, and it is no run's folder whatever a server says."""
    token = "a-token-4711"
    assert [one.text for one in load_responses(f"{signed}&sig={token}")] == ["Because."]
    assert copied_run(signed) is None
    # A token that is no ordinary word is masked in files from then on, too.
    assert SECRETS.scrub(f"it is {token}") == "it is [secret]"


def test_a_token_in_an_address_of_responses_is_told_nowhere(
    signed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither in a fault, nor in the command and the inputs of a run.json."""
    with pytest.raises(InputError) as refused:
        load_responses(signed, mapping={"response": "answer"})
    assert "texts.jsonl?v=1&token=[secret]" in str(refused.value)
    done = invoked("score", signed, "--map", "response=answer", "--model", "openai:stub")
    assert "texts.jsonl?v=1&token=[secret]" in done.stderr
    panel = invoked("score", signed, "--panel", "https://me:pw1@host/panel.yaml?sig=pw1")
    assert "me:[secret]@host/panel.yaml?sig=[secret]" in panel.stderr
    monkeypatch.setattr("sys.argv", ["persona-panel", "score", signed])
    start = start_of(RunOutput(tmp_path / "run", inputs=(signed,)), [])
    [file] = start["inputs"][0]["files"]
    assert file["name"].endswith("token=[secret]") and file["sha256"] is not None
    for told in (refused.value, done.stderr, panel.stderr, start):
        assert "pw1" not in str(told)


@pytest.mark.parametrize(
    "before",
    [(), ("score", "texts.jsonl"), ("score", "texts.jsonl", "--format"), ("cache",)],
    ids=["command", "argument", "choice", "subcommand"],
)
def test_a_token_in_a_usage_error_is_masked(before: tuple[str, ...]) -> None:
    """What click itself says of an argument that has no place there."""
    done = invoked(*before, "s3://me:pw1@bucket/run?token=pw2")
    assert done.returncode == 2 and "s3://me:[secret]@bucket/run?token=[secret]" in done.stderr
    assert "pw" not in done.stderr


@pytest.mark.parametrize(
    "command",
    [
        ("generate", "p.jsonl", "--target", "openai:stub", "--out", "s3://me:pw1@b/t.jsonl"),
        ("generate", "p.jsonl", "--target", "openai:stub", "--out", "s3:/b/t.jsonl"),
        ("prompts", "build", "p.yaml", "--out", "s3://b/t.jsonl"),
        ("people", "make", "p.jsonl", "--per-rater", "2", "--raters", "2", "--out", "s3://b/t"),
        ("report", "run", "--out", "s3://b/page.html"),
        ("score", "p.jsonl", "--model", "openai:stub", "--batch-out", "s3://b/requests"),
        ("cache", "export", "s3://b/cache.jsonl"),
    ],
)
def test_what_is_no_run_is_written_on_this_machine(
    command: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An address for it is refused, and no folder is called after its scheme."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "unused")
    done = invoked(*command)
    assert done.returncode == 2 and "found an address; expected a place on this" in done.stderr
    assert "pw1" not in done.stderr and not Path("s3:").exists()


def test_all_that_is_told_of_a_copy_calls_it_by_its_address(run_there: str) -> None:
    """Errors, what commands print and what they compare."""
    done = invoked("audit", "bias", run_there)
    assert f"Written to {run_there}/bias.json" in done.stderr
    done = invoked("compare", run_there, run_there)
    assert f"{run_there}: found the same run as {run_there};" in done.stderr
    place = f"{run_there.removeprefix('memory:/')}/run.json"
    content = MEMORY.cat_file(place)
    MEMORY.pipe_file(place, b"{")
    with pytest.raises(InputError, match=f"^{run_there}/run.json: found"):
        load_run(run_there)
    MEMORY.pipe_file(place, content)
    signed = f"{run_there}?sig=pw1"
    with pytest.raises(InputError, match=rf"{run_there}\?sig=\[secret\]: found no such file"):
        compare(run_there, signed)
    there = run_there.removeprefix("memory:/")
    MEMORY.put(f"{there}/", f"{there}?sig=pw1/", recursive=True)
    [row] = compare(run_there, signed)["runs"].rows
    assert (row["a"], row["b"]) == (run_there, f"{run_there}?sig=[secret]")


def test_what_cannot_be_sent_of_a_copy_is_told_as_lost(
    run_there: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page that the folder does not take, with another way to it."""

    def refusing(*given: object, **more: object) -> None:
        raise PermissionError("Access Denied")

    monkeypatch.setattr(type(MEMORY), "put_file", refusing)
    done = invoked("report", run_there)
    assert done.returncode == 1
    assert "(Access Denied); it is lost: copy the run to a folder of this machine" in done.stderr


@pytest.mark.parametrize("second", [False, True])
def test_copies_are_removed_where_a_signal_ends_the_process(
    second: bool, run_there: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It ends without what is registered for its end, in order or by a second signal."""

    def ended(status: int) -> None:
        raise SystemExit(status)

    temporary_folder.cache_clear()
    copy = copied_run(run_there)
    monkeypatch.setattr("os._exit", ended)
    assert copy is not None and copy.path.exists()
    if second:
        with signals.heeded():
            with pytest.raises(KeyboardInterrupt):
                os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.31)
            with pytest.raises(SystemExit):
                os.kill(os.getpid(), signal.SIGINT)
    else:
        with pytest.raises(SystemExit):
            signals.end("as told")
    assert not temporary_folder().exists()
    temporary_folder.cache_clear()
