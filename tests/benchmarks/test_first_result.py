"""What `python -m benchmarks.first_result` takes apart and shows."""

from __future__ import annotations

import pytest

from benchmarks.first_result import first_command, show_screen


def test_the_readme_begins_with_the_demo() -> None:
    """Its first command makes an environment, installs into it and ends with the demo."""
    make, *installs, demo = first_command()
    assert make == ["python3", "-m", "venv", ".venv"]
    assert all(words[:2] == [".venv/bin/pip", "install"] for words in installs)
    assert demo == [".venv/bin/persona-panel", "demo"]


def test_the_screen_at_each_mark(capsys: pytest.CaptureFixture[str]) -> None:
    """A mark shows how many lines were printed by then, empty ones apart, and the last of them."""
    show_screen([(0.5, "a"), (4.0, "b"), (4.5, ""), (59.0, "c"), (61.0, "d")])
    shown = [line.strip() for line in capsys.readouterr().out.splitlines()]
    assert shown == [
        "1 s  1 line: a", "5 s  2 lines: b", "15 s  2 lines: b", "30 s  2 lines: b",
        "60 s  3 lines: c",
    ]  # fmt: skip
