"""Biases as bias.json in a run's folder has them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from hashlib import file_digest
from pathlib import Path

import orjson

from persona_panel.files.documents import as_json
from persona_panel.files.private_files import replace_file
from persona_panel.results.conclusions.bias import bias_conclusion
from persona_panel.statistics.core.table import Row

NAME = "bias.json"


def write_biases(rows: Sequence[Row], folder: Path) -> Path:
    """Write `conclusion`, sentences, `rows`, and of which judgments.jsonl they are; gives the path.

    Raises:
        OSError: it cannot be written.
    """
    document = {
        "conclusion": bias_conclusion(rows),
        "judgments": judgments_digest(folder),
        "rows": [asdict(row) for row in rows],
    }
    path = folder / NAME
    replace_file(path, as_json(document, orjson.OPT_INDENT_2) + b"\n")
    return path


def judgments_digest(folder: Path) -> str:
    """The SHA-256 of a run's judgments, by which figures of others are told.

    Raises:
        OSError: they cannot be read.
    """
    with (folder / "judgments.jsonl").open("rb") as file:
        return file_digest(file, "sha256").hexdigest()
