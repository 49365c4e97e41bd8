"""What the lower floors may not do, beyond what the import linter sees."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
IO = re.compile(r"^\s*(?:from|import) (?:aiohttp|socket|sqlite3|diskcache|httpx|requests)\b", re.M)


def test_graphs_rubrics_and_personas_open_no_socket_and_no_cache() -> None:
    """No module below `panel` imports a library that talks to a network or a database."""
    below = [
        path for floor in ("graphs", "rubrics", "personas") for path in (ROOT / floor).rglob("*.py")
    ]
    assert len(below) > 10
    assert [path.name for path in below if IO.search(path.read_text("utf-8"))] == []
