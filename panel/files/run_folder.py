"""A run's folder: run.json, judgments.jsonl, verdicts.csv and summary.json.

judgments.jsonl grows while the panel reads and is begun anew by every run into the
folder: what was read before comes back from the cache, so no line is ever torn or
doubled. Every other file is written under another name and then renamed.
"""

from __future__ import annotations

import csv
import io
import math
import os
from pathlib import Path
from typing import IO, Any

import orjson

try:
    import fcntl
except ImportError:  # Windows has none: there two runs must be kept apart by hand
    fcntl = None  # type: ignore[assignment]

from graphs import Judgment, Verdict
from panel.batch import Batch
from panel.errors import RunFolderError
from panel.run import Run, share_name
from rubrics import Usage

_FLUSH_BYTES = 1 << 16


class RunFolder:
    """One run's folder, open for writing.

    `manifest` is what makes the run what it is. A folder that holds another one is
    refused, so that no result is overwritten by a different panel's.
    """

    def __init__(self, path: Path, manifest: dict[str, Any]) -> None:
        self.path = path
        try:
            path.mkdir(parents=True, exist_ok=True)
            refuse_another(path, manifest)
            # Not emptied before it is sure that nobody else is writing it.
            self._judgments = (path / "judgments.jsonl").open("ab", buffering=_FLUSH_BYTES)
            _lock(self._judgments, path)
            self._judgments.truncate(0)
            replace_file(path / "run.json", _pretty(manifest))
        except OSError as error:
            raise RunFolderError(f"{path} cannot be written: {error.strerror}") from None

    def add(self, judgment: Judgment) -> None:
        """Append a judgment."""
        self._judgments.write(orjson.dumps(as_line(judgment)) + b"\n")

    def flush(self) -> None:
        """Hand what was appended to the operating system."""
        self._judgments.flush()

    def finish(self, run: Run, batch: Batch) -> None:
        """Close judgments.jsonl, and write the verdicts and the summary."""
        self._judgments.close()
        replace_file(self.path / "verdicts.csv", _verdicts(run, batch))
        replace_file(self.path / "summary.json", _pretty(run.summary()))


def _lock(file: IO[bytes], folder: Path) -> None:
    """Keep a file for this run while it is open; that ends with the process, however it ends.

    Raises:
        RunFolderError: another process, or another run of this one, writes there.
    """
    if fcntl is None:
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        raise RunFolderError(
            f"another run is writing to {folder}; wait for it, or choose another --out"
        ) from None


def refuse_another(path: Path, manifest: dict[str, Any]) -> None:
    """See that a folder is free for this run, or holds it already.

    Raises:
        RunFolderError: it holds another run, or something else.
    """
    try:
        kept = orjson.loads((path / "run.json").read_bytes())
    except NotADirectoryError as error:
        raise RunFolderError(f"{path} cannot be written: {error.strerror}") from None
    except FileNotFoundError:
        # What a kill left of our own writing begins with a dot.
        there = path.iterdir() if path.exists() else ()
        others = [entry.name for entry in there if entry.name[0] != "."]
        if others:
            raise RunFolderError(
                f"{path} is no run folder and not empty (it holds {others[0]}); choose "
                "another --out"
            ) from None
        return
    except ValueError:
        raise RunFolderError(
            f"{path}/run.json is no JSON; choose another --out, or remove it"
        ) from None
    if not isinstance(kept, dict):
        kept = {}
    changed = [key for key in _IDENTITY if kept.get(key) != manifest.get(key)]
    if changed:
        raise RunFolderError(
            f"{path} holds another run (it differs in: {', '.join(changed)}); choose another "
            "--out, or remove it"
        )


_IDENTITY = (
    "personas", "rubric", "models", "layout", "replicates", "deliberation", "seed", "sweep",
)  # fmt: skip


def as_line(judgment: Judgment) -> dict[str, Any]:
    """A judgment as a line of judgments.jsonl."""
    judge = judgment.judge
    return {
        "prompt_id": judgment.prompt_id,
        "id": judgment.id,
        "system": judgment.system,
        "judge": judge.id,
        "persona": judge.persona,
        "model": judge.model,
        "elicitation": judge.elicitation,
        "replicate": judge.replicate,
        "round": judgment.round,
        "status": judgment.status,
        "scores": dict(judgment.scores),
        "labels": dict(judgment.labels),
        "abstained": judgment.abstained,
        "rationale": judgment.rationale,
        "raw": judgment.raw,
        "off_scale": dict(judgment.off_scale),
        "usage": usage_of(judgment.usage),
        "latency_s": round(judgment.latency_s, 6),
        "cached": judgment.cached,
        "changed_because": judgment.changed_because,
        "kept": judgment.kept,
        "unexplained": judgment.unexplained,
        "error": judgment.error,
        "compared": dict(judgment.compared),
    }


def usage_of(usage: Usage) -> dict[str, int]:
    """Tokens as JSON has them."""
    return {"input": usage.input, "cached": usage.cached, "output": usage.output}


def _verdicts(run: Run, batch: Batch) -> bytes:
    """verdicts.csv: one response a line, in the order of the input."""
    own = ["prompt_id", "id", "system", "composite", "rank", "n_judges"]
    for name in run.dimensions:
        if categories := run.categories.get(name):
            own += [f"{name}_majority", *(share_name(name, each) for each in categories)]
        else:
            own += [f"{name}_mean", f"{name}_sd"]
        own.append(f"{name}_n")
    own += ["abstain_share", "words"]
    if run.reliability:
        own.append("n_unreliable")
    header = [*own]
    for name in batch.metadata:
        # A metadata column never takes the place of one of ours, nor of another.
        while name in header:
            name = f"metadata_{name}"
        header.append(name)
    ranks = {
        (verdict.prompt_id, verdict.id): rank
        for ranking in run.prompt_rankings().values()
        for rank, verdict in ranking
    }
    verdicts = {(verdict.prompt_id, verdict.id): verdict for verdict in run.verdicts}
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    for response in batch:
        key = (str(response.prompt_id), response.id)
        if key in verdicts:
            metadata = [response.metadata.get(name, "") for name in batch.metadata]
            words = len(response.text.split())
            writer.writerow(_row(verdicts[key], ranks[key], words, run, metadata))
    return text.getvalue().encode()


def _row(
    verdict: Verdict,
    rank: int | None,
    words: int,
    run: Run,
    metadata: list[Any],
) -> list[Any]:
    row: list[Any] = [verdict.prompt_id, verdict.id, verdict.system, _cell(verdict.composite)]
    row += ["" if rank is None else rank, verdict.n_judges]
    for name in run.dimensions:
        if name in run.categories:
            labels = verdict.labels[name]
            row += [labels.majority or "", *map(_cell, labels.shares.values()), labels.n]
        else:
            summary = verdict.dimensions[name]
            row += [_cell(summary.mean), _cell(summary.sd), summary.n]
    row += [_cell(verdict.abstain_share), words]
    if run.reliability:
        row.append(verdict.n_unreliable)
    for value in metadata:
        plain = isinstance(value, str | int | float) and not isinstance(value, bool)
        row.append(value if plain else "" if value is None else orjson.dumps(value).decode())
    return row


def _cell(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.6f}"


def _pretty(document: dict[str, Any]) -> bytes:
    return orjson.dumps(document, option=orjson.OPT_INDENT_2) + b"\n"


def replace_file(path: Path, content: bytes) -> None:
    """Write a file so that it is either the old one or the whole new one."""
    new = path.with_name(f".{path.name}.{os.getpid()}")
    new.write_bytes(content)
    new.replace(path)
