"""How a run was started, as run.json tells it."""

from __future__ import annotations

import pytest

from panel.runs.provenance import command_line


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
    assert command_line(["/opt/bin/persona-panel", *arguments]) == f"persona-panel {told}"
