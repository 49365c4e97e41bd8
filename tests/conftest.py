"""What every test has: a cache of its own, and no key or address of the person who runs it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def own_surroundings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Replies are kept below tmp_path; OPENAI_* and the Studio's panel file are not set."""
    monkeypatch.setenv("PERSONA_PANEL_CACHE", str(tmp_path / "cache"))
    for name in [name for name in os.environ if name.startswith("OPENAI_")]:
        monkeypatch.delenv(name)
    monkeypatch.delenv("PERSONA_PANEL_FILE", raising=False)
