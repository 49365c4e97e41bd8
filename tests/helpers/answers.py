"""Requests in files, answered as another system would."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import orjson

from persona_panel.testing import Answer, default_text, ok
from persona_panel.testing.scripted_model import Call

Script = Callable[[int, Mapping[str, Any]], Answer]


def answered(folder: Path, script: Script | None = None, files: str = "requests-*.jsonl") -> int:
    """Answer each request in files of a folder, into a file of its own; how many there were."""
    n = 0
    for path in folder.glob(files):
        lines = []
        for line in path.read_bytes().splitlines():
            row = orjson.loads(line)
            asked = row["body"]
            answer = ok(default_text(asked)) if script is None else script(n, asked)
            body = orjson.loads(answer.body(Call({}, asked, 0.0)))
            response = {"status_code": 200, "body": body}
            lines.append(orjson.dumps({"custom_id": row["custom_id"], "response": response}))
            n += 1
        (folder / f"answers-{path.name}").write_bytes(b"\n".join(lines))
    return n
