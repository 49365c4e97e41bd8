"""Requests in files that another system answers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Set
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import orjson

from persona_panel.calls.batch_caller import BatchCaller, WantedRows
from persona_panel.calls.batch_records import parts_of
from persona_panel.calls.caller import Caller
from persona_panel.files.errors import RunFolderError
from persona_panel.files.outputs import writing
from persona_panel.files.private_files import make_private_folder, replace_file
from persona_panel.plan.bound_models import BoundModel
from persona_panel.runs.answer_files import read_answer_files, request_fields
from persona_panel.runs.execution import Collect

_REQUESTS = "requests-"


@dataclass(frozen=True)
class RequestFiles:
    """Where requests are written to be answered elsewhere, in place of a run.

    Args:
        to: a folder.
        answers: a folder with answers, which are read before; None, there are none.
    """

    to: Path
    answers: Path | None = None


@dataclass(frozen=True)
class Exported:
    """Requests that were written to files.

    Attributes:
        files: those that were written.
        requests: how many the files have.
        taken: how many answers were read before.
        left_out: what of the answers was not, in sentences.
    """

    files: tuple[Path, ...]
    requests: int
    taken: int = 0
    left_out: tuple[str, ...] = ()


async def export(
    caller: Caller, models: Mapping[str, BoundModel], collect: Collect, files: RequestFiles
) -> Exported:
    """Write what the cache lacks, once the answers that are there are in it, as JSON lines of
    provider batches; a file of an earlier export goes, and no other.

    Raises:
        RunFolderError: a file cannot be written, or its name is taken by another.
        InputError: answers cannot be read.
    """
    assert isinstance(caller, BatchCaller)  # noqa: S101
    taken, left_out = 0, tuple[str, ...]()
    if files.answers is not None:
        taken, left_out = await read_answer_files(caller, models, collect, files.answers)
    with caller.collecting() as wanted:
        await collect()
        with writing(files.to):
            written = _write(caller, wanted, files.to)
        n = sum(len(rows.rows) for rows in wanted.values())
        return Exported(written, n, taken, left_out)


def _write(caller: BatchCaller, wanted: Mapping[str, WantedRows], to: Path) -> tuple[Path, ...]:
    make_private_folder(to)
    fields = request_fields(caller.apis.values())
    for old in to.glob(f"{_REQUESTS}*.jsonl"):
        if _is_ours(old, fields):
            old.unlink()
    files, names = [], _file_names(wanted)
    for model, rows in wanted.items():
        api = caller.apis[model]
        for number, part in enumerate(parts_of(rows.sizes, api.most_rows, api.most_bytes), start=1):
            path = to / f"{_REQUESTS}{names[model]}-{number}.jsonl"
            if path.exists():
                raise RunFolderError(
                    f"{path} exists and is not a file of requests; move it, or choose another "
                    "--batch-out"
                )
            replace_file(path, b"".join(line + b"\n" for line in rows.lines(part)))
            files.append(path)
    return tuple(files)


def _is_ours(path: Path, fields: Collection[Set[str]]) -> bool:
    """Whether a file holds requests that were written out, and nothing else."""
    with path.open("rb") as lines:
        for line in lines:
            try:
                row = orjson.loads(line)
            except orjson.JSONDecodeError:
                return False
            if not isinstance(row, dict) or row.keys() not in fields:
                return False
            if not any(re.fullmatch(r"[\w-]{64}", str(value)) for value in row.values()):
                return False
        # Of an empty file it is not known what it was for.
        return lines.tell() > 0


def _file_names(models: Iterable[str]) -> dict[str, str]:
    """A file's name for each model; those that would share one are numbered."""
    plain = {
        model: "".join(char if char.isalnum() or char in "-_." else "-" for char in model)
        for model in models
    }
    # Some file systems take large and small letters for the same.
    n = Counter(name.lower() for name in plain.values())
    taken, names = set(n), dict[str, str]()
    for model, name in plain.items():
        numbered = (f"{name}-model-{number}" for number in count(1))
        free = (one for one in numbered if one.lower() not in taken)
        names[model] = name if n[name.lower()] == 1 else next(free)
        taken.add(names[model].lower())
    return names
