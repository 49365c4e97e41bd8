"""Biases as bias.json in a run's folder has them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from hashlib import file_digest
from pathlib import Path

import orjson

from panel.conclusions.bias import bias_conclusion
from panel.io.documents import as_json
from panel.io.private_files import replace_file
from panel.statistics.core.table import Row

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
