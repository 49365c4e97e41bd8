"""How a run was started, as run.json tells it."""

from __future__ import annotations

import hashlib
from pathlib import Path

import fsspec
import pytest

from persona_panel import RunOutput
from persona_panel.runs.execution import masked_command, start_of


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["score", "a b.jsonl", "--max-tokens", "100"], "score 'a b.jsonl' --max-tokens 100"),
        (["--api-key", "abc", "x"], "--api-key '[secret]' x"),
        (["--option", "key=abc", "--token=abc"], "--option 'key=[secret]' '--token=[secret]'"),
        (["https://me:pass@host/v1"], "'https://me:[secret]@host/v1'"),
        (["-H", "Authorization: Bearer abcdef"], "-H '[secret]'"),
        (["x-canary-4711", "y=canary-4711"], "'x-[secret]' 'y=[secret]'"),
        (
            ["--option", "headers={X-Team: hunter2}"],
            """--option 'headers={"x-team": "[secret]"}'""",
        ),
        (
            ["--option=extra_body={a: [{extra_headers: {X: 1}}]}"],
            """'--option=extra_body={"a": [{"extra_headers": {"x": "[secret]"}}]}'""",
        ),
        (["--option", "headers=on", "header.csv"], "--option headers=on header.csv"),
        (["--panel", "monkey.yaml", "--keys", "3"], "--panel monkey.yaml --keys 3"),
    ],
)
def test_a_command_is_told_without_its_secrets(
    monkeypatch: pytest.MonkeyPatch, arguments: list[str], told: str
) -> None:
    """What options called key, token, secret or password have, passwords in addresses, values of
    headers and what the environment holds as keys are masked; all else is as a shell takes it."""
    monkeypatch.setenv("SOME_API_KEY", "canary-4711")
    monkeypatch.setenv("SHORT_KEY", "x")
    monkeypatch.setenv("KEYBOARD", "a b.jsonl")
    assert masked_command(["/opt/bin/persona-panel", *arguments]) == f"persona-panel {told}"


def test_each_file_of_several_has_its_digest(tmp_path: Path) -> None:
    """Of a folder, a pattern and an address, in the order in which files are read; a file has its
    own, and what is not there none."""
    contents = {"b.parquet": b"1", "a.parquet": b"22", "c.parquet": b"333"}
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    there = f"memory://{tmp_path}"
    fsspec.filesystem("memory").put(f"{tmp_path}/", f"{tmp_path}/", recursive=True)
    files = [f"{tmp_path}/{name}" for name in sorted(contents)]

    def about(name: str, content: bytes | None) -> dict[str, object]:
        digest = None if content is None else hashlib.sha256(content).hexdigest()
        return {"name": name, "sha256": digest, "bytes": None if content is None else len(content)}

    parts = [about(file, contents[Path(file).name]) for file in files]
    elsewhere = [part | {"name": f"memory://{part['name']}"} for part in parts]
    names = (str(tmp_path), f"{tmp_path}/[bc].parquet", there, files[1], f"{tmp_path}/x", "-")
    assert start_of(RunOutput("run", inputs=names), [])["inputs"] == [
        about(names[0], None) | {"files": parts},
        about(names[1], None) | {"files": parts[1:]},
        about(names[2], None) | {"files": elsewhere},
        parts[1],
        about(names[4], None),
        about("-", None),
    ]
