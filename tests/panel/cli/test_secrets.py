"""A key that a server gives back, or that is in the wrong place, is in no file and no output."""

from __future__ import annotations

import base64
import json
import re
import sqlite3
import subprocess
import sys
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any
from urllib.parse import quote

import pytest

from persona_panel.calls.stores.disk import _records
from persona_panel.testing import Answer, default_text, ok, serving, status

Command = Callable[..., CompletedProcess[str]]

KEY = "canary-4f9e+Zq/0123456789"
ESCAPED = "".join(f"\\u{ord(char):04x}" for char in KEY)
FORMS = {
    "as it is": KEY,
    "percent-encoded": quote(KEY, safe=""),
    "base64": base64.b64encode(f"user:{KEY}".encode()).decode(),
    "JSON": ESCAPED,
    "slash escaped": KEY.replace("/", "\\/"),
}
READERS = """\
id: readers
label: Readers
personas:
  - {id: librarian, label: Librarian, axis: own, description: You keep a library.}
"""


def forms_in(content: bytes) -> list[str]:
    """The forms of the key that stand in a file or an output."""
    inner = base64.b64encode(f"user:{KEY}".encode()).decode()[8:-4]
    told = {**FORMS, "base64": inner, "twice escaped": ESCAPED.replace("\\", "\\\\")}
    return [name for name, form in told.items() if form.encode() in content]


def written(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Every file below the folder, and every reply in the cache, which is compressed there."""
    for path in folder.rglob("*"):
        if path.is_file():
            yield str(path.relative_to(folder)), path.read_bytes()
    with sqlite3.connect(folder / "cache" / "cache.db") as cache:
        for key, row in cache.execute("SELECT key, value FROM Cache"):
            for number, (_, reply) in enumerate(_records(row)):
                compressed = not reply.startswith(b"{")
                yield f"row {key}, {number}", zlib.decompress(reply) if compressed else reply
    cache.close()


def echoes(form: str) -> Callable[[int, Mapping[str, Any]], Answer]:
    """A server that gives the key back in every place that it has, by response."""
    places: list[Callable[[str], Answer]] = [
        lambda good: ok(f"You sent {form}. {good}"),
        lambda good: ok(good[:-1] + f', "note": "{form}"}}'),
        lambda good: ok(good + form * 200),
        lambda good: ok("", refusal=f"Not with {form}."),
        lambda good: ok(f'{{"{form}": 1, "{form}": 2}}'),
        lambda good: ok(good, finish_reason=form),
        lambda good: status(400, body={"error": {"message": f"{form} is no key"}}),
        lambda good: status(400, body=f"<html>{form}</html>"),
    ]

    def script(number: int, payload: Mapping[str, Any]) -> Answer:
        # The same place when a response is asked about again.
        asked = re.search(r"Text (\d+)\.", payload["messages"][1]["content"])
        assert asked is not None
        return places[int(asked[1]) % len(places)](default_text(payload))

    return script


def score(command: Command, tmp_path: Path, address: str, *more: str, **env: str) -> Any:
    (tmp_path / "readers.yaml").write_text(READERS)
    rows = [
        {"id": f"r{i}", "prompt": f"Question {i}?", "response": f"Text {i}.", "system": "birch"}
        for i in range(16)
    ]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return command(
        "score", "in.jsonl", "--personas", "readers.yaml", "--model", "openai:stub",
        "--out", "run", *more, OPENAI_BASE_URL=address, **env,
    )  # fmt: skip


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_an_echoed_key_is_in_no_file_and_no_output(
    command: Command, tmp_path: Path, form: str
) -> None:
    """Content, a refusal, a duplicate JSON key, a finish reason and errors that hold the key, as it
    is or in disguise, bring it into no file, no output and no bytes of the cache."""
    with serving(echoes(form)) as server:
        done = score(command, tmp_path, server.base_url, OPENAI_API_KEY=KEY)
        assert server.calls[0].headers["Authorization"] == f"Bearer {KEY}"
    assert done.returncode == 1, done.stderr
    files = dict(written(tmp_path))
    assert {"run/judgments.jsonl", "run/summary.json", "run/run.json", "run/verdicts.csv"} <= set(
        files
    )
    assert sum(name.startswith("row ") for name in files) >= 4
    outputs = {"stdout": done.stdout.encode(), "stderr": done.stderr.encode()}
    found = {name: forms_in(content) for name, content in (files | outputs).items()}
    assert {name: forms for name, forms in found.items() if forms} == {}
    lines = [json.loads(line) for line in files["run/judgments.jsonl"].splitlines()]
    assert {line["status"] for line in lines} == {"scored", "refused", "unparsed", "failed"}
    assert any("[secret]" in line["raw"] for line in lines if line["status"] == "scored")
    assert json.loads(files["run/summary.json"])["coverage"]["expected"] == 16


@pytest.mark.parametrize("key", ["x", "none", "test", "EMPTY", "12345678", "anything", "Response"])
def test_a_placeholder_for_a_key_mangles_no_text(
    command: Command, tmp_path: Path, key: str
) -> None:
    """A key that people would write by chance stays in texts where it stands."""

    def script(number: int, payload: Mapping[str, Any]) -> Answer:
        return ok(f"{key} and {key}: {default_text(payload)}")

    with serving(script) as server:
        done = score(command, tmp_path, server.base_url, OPENAI_API_KEY=key)
    assert done.returncode == 0, done.stderr
    lines = (tmp_path / "run" / "judgments.jsonl").read_text().splitlines()
    assert all(json.loads(line)["raw"].startswith(f"{key} and {key}: ") for line in lines)


@pytest.mark.parametrize(
    "key",
    [
        "sk-proj-4f9e0123456789abcdef",
        "gsk_AbCdEf0123456789AbCdEf0123456789",
        "hf_abcdefghijklmnopqrstuvwxyzABCDEFGH",
        "AIzaSyA1B2C3D4E5F6G7H8I9J0K1L2M3N4O5P6Q",
        "AKIAIOSFODNN7EXAMPLE",
        "0123456789abcdef0123456789abcdef",
        "key with spaces 4711",
    ],
)
def test_a_key_in_the_place_of_a_variables_name_is_not_printed(
    command: Command, tmp_path: Path, key: str
) -> None:
    """A key that was put into key_env is refused, with what belongs there and without the key."""
    (tmp_path / "panel.yaml").write_text(
        f"models: [{{model: 'openai:stub', key_env: '{key}', base_url: 'http://127.0.0.1:9/v1'}}]\n"
    )
    (tmp_path / "in.jsonl").write_text(
        json.dumps({"id": "a", "prompt": "Why?", "response": "So.", "system": "s"}) + "\n"
    )
    done = command("score", "in.jsonl", "--panel", "panel.yaml", "--out", "run")
    assert done.returncode == 2
    assert "key_env" in done.stderr
    assert "such as OPENAI_API_KEY" in done.stderr
    assert key not in done.stdout + done.stderr
    assert key[:12] not in done.stdout + done.stderr


def test_pythons_own_words_hold_no_key_and_no_control() -> None:
    """A traceback, of the main thread or another, and a warning in the log are cleaned, too."""
    code = f"""
import logging, threading
from persona_panel.files.secrets import guard
from persona_panel.files.secrets import SECRETS
guard()
SECRETS.learn({KEY!r})
def fails():
    raise RuntimeError("one " + {KEY!r} + chr(27) + "[2J" + chr(0x202E))
thread = threading.Thread(target=fails)
thread.start()
thread.join()
logging.getLogger("other").warning("two %s " + chr(27), {KEY!r})
fails()
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, timeout=60, check=False
    )
    assert done.returncode == 1
    said = done.stderr.decode()
    assert said.count("RuntimeError: one [secret]\\x1b[2J\\u202e") == 2
    assert "two [secret] \\x1b" in said
    assert KEY not in said.replace(repr(KEY), "")
    assert "\x1b" not in said
