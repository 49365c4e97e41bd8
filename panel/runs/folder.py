"""A run's folder (docs/reference/run-folder.md), what it holds of a run that is to go on, and the
file of JSON lines that a command generates instead. Each file is written under another name first,
so that it is whole at any moment.
"""

from __future__ import annotations

import logging
import math
import os
import tempfile
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, NoReturn

import orjson

from persona_panel.calls.budget import NOTHING_SPENT, Budget, Caps, Spending
from persona_panel.files.errors import RunFolderError, RunStopped
from persona_panel.files.limits import content_of, json_of
from persona_panel.files.named_files import is_copy, written_place
from persona_panel.files.outputs import (
    LABELS,
    RUN_FILES,
    as_json,
    cell_of,
    csv_of,
    journal_of,
    json_lines,
    make_private_folder,
    refuse_as_output,
    replace_file,
    require_ending,
    writing,
)
from persona_panel.files.responses import Batch
from persona_panel.files.wording import printable
from persona_panel.graphs import Judgment
from persona_panel.models.config import total_cost, with_batches
from persona_panel.planning.bound_models import BoundModel
from persona_panel.planning.settings import recorded_language, recorded_settings
from persona_panel.rubrics.segmentation import words
from persona_panel.runs.execution import start_of
from persona_panel.runs.judgment_lines import judgment_key, line_of
from persona_panel.runs.kept import KeptTexts
from persona_panel.runs.output import SPENT, AppendedFile, RunOutput, results_in
from persona_panel.runs.run import Run, verdict_columns
from persona_panel.runs.spending import earlier_spending

logger = logging.getLogger(__name__)

_IDENTITY = ("personas", "rubric", "models", "graph", "sweep")
"""The parts of `run.json` that a run's identity has, besides its settings."""
_JUDGMENTS = "judgments.jsonl"
_RESULTS = ("scored", "abstained")
_WRITTEN = (
    *(RUN_FILES - {"run.json", _JUDGMENTS}), "report.html",
    *(f"{name}.{kind}" for name in ("heatmap", "scorecard") for kind in ("png", "svg")),
)  # fmt: skip
"""The files that runs of all kinds write besides run.json and judgments.jsonl, and that an
overwritten run leaves."""
_OF_JUDGMENTS = frozenset(_WRITTEN) - {
    "responses.jsonl", "prompts.jsonl", "framings.jsonl", "spent.json", "batches.jsonl",
    "bias.json", "keypoints.json",
}  # fmt: skip
"""The files that tell what judgments come to, and not of which judgments: once there are others,
they would mislead."""


class RunFolder:
    """One run's folder, open for writing.

    `manifest` is what makes the run what it is, `texts` what it reads, and `start` what is to be
    told of this start of it. Raises RunFolderError: the folder holds another run, is being written
    by one, or cannot be written; InputError: a response's metadata cannot be written.
    """

    def __init__(
        self,
        output: RunOutput,
        manifest: Mapping[str, Any],
        texts: KeptTexts,
        start: Mapping[str, Any],
    ) -> None:
        path = self.path = output.folder
        self._texts = output.texts
        with _writing(path):
            refuse_another(output, manifest, texts)
            make_private_folder(path)
            self._judgments = AppendedFile(
                path / _JUDGMENTS, _result, fresh=output.overwrite, on_change=self._remove_outdated
            )
            try:
                self._begin(output, manifest, texts, start)
            except BaseException:
                self._judgments.close()
                raise

    def _begin(
        self,
        output: RunOutput,
        manifest: Mapping[str, Any],
        texts: KeptTexts,
        start: Mapping[str, Any],
    ) -> None:
        """Write what is known before anything is read."""
        starts = [{**start}]
        if output.overwrite:
            for name in _WRITTEN:
                (self.path / name).unlink(missing_ok=True)
        elif kept := _kept(self.path):
            # Void results are made again in the same start.
            starts = [*(each for each in kept.get("starts", ()) if each != start), *starts]
            if (another := _other_mapping(kept, output)) is not None:
                logger.warning("%s: the texts are the same, but %s", self.path, another)
        about = {"texts": texts.document(), "starts": starts}
        self._manifest: dict[str, Any] = {**manifest, **about}
        replace_file(self.path / "run.json", _pretty(self._manifest))
        texts.write(self.path, texts=output.texts)

    def add(self, judgment: Judgment) -> None:
        """Append a judgment."""
        self._judgments.add(line_of(judgment))

    def _remove_outdated(self) -> None:
        for name in _OF_JUDGMENTS:
            (self.path / name).unlink(missing_ok=True)

    def flush(self) -> None:
        """Hand what was appended to the operating system."""
        self._judgments.flush()

    def finish(
        self, run: Run, batch: Batch, summary: Callable[[], dict[str, Any]], *, lacking: int = 0
    ) -> bool:
        """Close judgments.jsonl, and write the verdicts, the summary, the digest of the judgments,
        and with which parameters requests were sent.

        Gives whether that was done: a run that lacks judgments or, as `lacking` counts, other
        results that the folder holds leaves it as it was. `summary`: makes what summary.json holds.
        """
        self._lacking = lacking + self._judgments.close()
        if self._lacking:
            return False
        # As in responses.jsonl: metadata may be texts, but the names of what was judged.
        columns = [name for name in batch.metadata if self._texts or name in LABELS]
        replace_file(self.path / "verdicts.csv", _verdicts(run, batch, columns))
        replace_file(self.path / "summary.json", _pretty(summary()))
        at_end = {"judgments": self._judgments.sha256}
        self._manifest["starts"][-1] |= at_end | (
            {"sent": run.calls.sent} if run.calls.sent else {}
        )
        replace_file(self.path / "run.json", _pretty(self._manifest))
        return True

    def discard(self) -> None:
        """Close judgments.jsonl without this run's judgments, which are void: answers that they
        were made of turned out to be other requests'. Those that are not are in the cache."""
        self._judgments.discard()

    def require_whole(self) -> None:
        """Check at the end of a run that it has all results. Raises RunStopped: it lacks results
        that the folder holds."""
        if self._lacking:
            raise RunStopped(
                f"{self.path} contains {self._lacking:,} results that this run did not reach "
                "(their replies are not in the cache in use, and the models could not be called "
                "or a cap was reached), so the folder was not changed. The same command "
                "continues the run; --overwrite replaces the earlier run"
            )


def judgments_kept(path: Path) -> set[int]:
    """Return the judgments with a result in a run's folder, by the hashes of `judgment_key`; none
    where there is no such folder. Raises RunFolderError: the file cannot be read."""
    with _writing(path):
        try:
            return results_in(path / _JUDGMENTS, _result)
        except FileNotFoundError:
            return set()


def _result(line: Mapping[str, Any]) -> Hashable | None:
    """Return the key of the judgment in a line of judgments.jsonl, None where it has no result."""
    if line["status"] not in _RESULTS:
        return None
    return judgment_key(line["prompt_id"], line["id"], line["judge"])


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    """Raise an error that names the folder where writing it fails."""
    try:
        yield
    except OSError as error:
        remedy = "choose another --out"
        if is_copy(path):
            remedy = "set XDG_CACHE_HOME to another folder"
        raise RunFolderError(
            f"{written_place(path)} cannot be written: {error.strerror}; check that it is a folder "
            f"and its permissions, or {remedy}"
        ) from None


def refuse_another(output: RunOutput, manifest: Mapping[str, Any], texts: KeptTexts) -> None:
    """Check that a folder is free for this run, holds it already or is to be overwritten. Raises
    RunFolderError: it holds another run, or something else, or cannot be written."""
    path = output.folder
    with _writing(path):
        kept = _kept(path)
        _refuse_unwritable(path)
        if kept is None:
            there = path.iterdir() if path.exists() else ()
            others = [entry.name for entry in there if not _is_left(entry)]
            if others:
                raise RunFolderError(
                    f"{path} is not the folder of a run, and not empty (it contains "
                    f"{others[0]}); choose another --out"
                )
        elif not output.overwrite:
            # What an earlier version did not name, its runs did not have.
            changed = [
                key for key in _IDENTITY if (kept.get(key) or None) != (manifest.get(key) or None)
            ]
            # Another language has other words throughout.
            if changed and recorded_language(kept) != recorded_language(manifest):
                changed.insert(0, "language")
            then, now = recorded_settings(kept), recorded_settings(manifest)
            changed += [name for name, value in now.items() if value != then.get(name)]
            if changed:
                raise RunFolderError(
                    f"{path} contains another run (it differs in: {', '.join(changed)}); choose "
                    "another --out, or replace the earlier run with --overwrite"
                )
            texts.refuse_others(path, _other_mapping(kept, output))


def _is_left(entry: Path) -> bool:
    """Return whether a kill, or a full disk, left this of our own writing: it begins with a dot, or
    keeps others from the folder before run.json is there."""
    return entry.name[0] == "." or (entry.name == _JUDGMENTS and not entry.stat().st_size)


def _other_mapping(kept: Mapping[str, Any], output: RunOutput) -> str | None:
    """Say that columns of the inputs were mapped otherwise at the last start."""
    # The responses are the first of them: how people's ratings are mapped changes no text.
    starts = kept.get("starts") or [{}]
    inputs = starts[-1].get("inputs") or [{}]
    then = inputs[0].get("mapping") or {}
    now = output.mappings.get(str(output.inputs[0]), {}) if output.inputs else {}
    if then == now:
        return None
    return f"columns were mapped as {_mapped(then)} before, and are mapped as {_mapped(now)} now"


def _mapped(mapping: Mapping[str, str]) -> str:
    pairs = [f"{name}={column}" for name, column in mapping.items()]
    return printable(", ".join(pairs)) if pairs else "they are called"


def _kept(path: Path) -> dict[str, Any] | None:
    """Read the run.json of a folder; return None where there is none."""
    try:
        kept = json_of(path / "run.json")
    except FileNotFoundError:
        return None
    except ValueError:
        kept = None
    if not isinstance(kept, dict) or "models" not in kept or "rubric" not in kept:
        raise RunFolderError(
            f"{path}/run.json is not that of a run; choose another --out, or remove it"
        )
    return kept


def _refuse_unwritable(path: Path) -> None:
    """Raise for a folder, or the place for one, that cannot be written: known before a call."""
    place = Path(os.path.realpath(path))
    while not place.exists() and place != place.parent:
        place = place.parent
    if not place.is_dir():
        raise NotADirectoryError(20, "Not a directory", str(place))
    if not os.access(place, os.W_OK | os.X_OK):
        raise PermissionError(13, "Permission denied", str(place))
    # Permissions do not tell of every file system: that of /proc takes no folder from anybody.
    with tempfile.TemporaryDirectory(prefix=".persona-panel-", dir=place):
        pass
    for name in (_JUDGMENTS, "spent.json"):
        if (path / name).exists() and not os.access(path / name, os.W_OK):
            raise PermissionError(13, f"Permission denied for {name}", str(path))


def _verdicts(run: Run, batch: Batch, metadata: Sequence[str]) -> bytes:
    """Return verdicts.csv: one response a line, in the order of the input."""
    columns = verdict_columns(run)
    header = [column.name for column in columns]
    place = header.index("abstain_share") + 1
    header.insert(place, "words")
    for name in map(cell_of, metadata):
        # A metadata column never takes the place of one of ours, nor of another.
        while name in header:
            name = f"metadata_{name}"
        header.append(name)
    cells = zip(*(map(_CELLS[column.kind], column.values) for column in columns), strict=True)
    keys = [(verdict.prompt_id, verdict.id) for verdict in run.verdicts]
    rows = dict(zip(keys, map(list, cells), strict=True))

    def lines() -> Iterator[list[Any]]:
        yield header
        for response in batch:
            if (row := rows.get((str(response.prompt_id), response.id))) is not None:
                row.insert(place, len(words(response.text)))
                yield row + [_metadata_cell(response.metadata.get(name)) for name in metadata]

    return csv_of(lines())


_CELLS: Mapping[str, Callable[[Any], Any]] = {
    "text": lambda value: cell_of(value or ""),
    "number": lambda value: "" if math.isnan(value) else f"{value:.6f}",
    "whole": lambda value: "" if value is None else value,
}


def _metadata_cell(value: Any) -> Any:
    if isinstance(value, str):
        return cell_of(value)
    plain = isinstance(value, int | float) and not isinstance(value, bool)
    return value if plain else "" if value is None else as_json(value).decode()


def _pretty(document: dict[str, Any]) -> bytes:
    return as_json(document, orjson.OPT_INDENT_2) + b"\n"


@dataclass(frozen=True, slots=True)
class HeldRun:
    """The finished part of a run, as its folder, which need not be there, holds it: how many
    judgments are done, of those that are kept; what all earlier starts spent, in US dollars where
    prices are known, and what those that were killed may have spent besides (`unsure`)."""

    path: Path
    results: int
    spent: Spending
    usd: float | None
    unsure: Spending = NOTHING_SPENT


def held_for(
    output: RunOutput | OutputFile, n_done: int, models: Mapping[str, BoundModel], caps: Caps
) -> HeldRun:
    """Return what earlier runs have done and spent for an output, which holds `n_done` results.
    Raises ConfigurationError: a model that was called before has no known price where `caps` are in
    dollars; RunFolderError: the record of what was spent cannot be read."""
    prices = with_batches({name: model.price for name, model in models.items()})
    spent, unsure = earlier_spending(output.spent, overwrite=output.overwrite)
    Budget(caps, prices).go_on_from(spent, unsure)
    return HeldRun(Path(output.path), n_done, spent, total_cost(prices, spent.usage), unsure)


_ENDING = ".jsonl"


@dataclass(frozen=True, slots=True)
class OutputFile:
    """The file that a command writes, which ends in .jsonl; the inputs that it is generated from,
    and how their columns were mapped, for the manifest. Raises ConfigurationError: the path ends
    otherwise, is that of an input, or of a file of a run's folder."""

    path: Path
    overwrite: bool = False
    inputs: tuple[str, ...] = ()
    mappings: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        require_ending(self.path, _ENDING)
        refuse_as_output("--out", self.path, self.inputs)

    def named(self, ending: str) -> Path:
        """Return the path of a file in the same folder, of the same name with another ending."""
        return self.path.with_name(f"{self.path.stem}.{ending}")

    @property
    def manifest(self) -> Path:
        """Return the file that says where this one comes from."""
        return self.named("manifest.json")

    @property
    def spent(self) -> Path:
        """Return the file of what all runs into this one have spent."""
        return self.named(SPENT)

    def lines(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield the objects that the file holds, with their line's number; none where there is no
        file. Raises RunFolderError: it cannot be read, or a line is no object. Half a line at its
        end, as a kill leaves it, is passed over."""
        with self.writing():
            content = content_of(self.path) if self.path.exists() else b""
        for number, raw in enumerate(content.splitlines(keepends=True), start=1):
            try:
                line = orjson.loads(raw)
                if not isinstance(line, dict):
                    raise TypeError
            except (ValueError, TypeError):
                if not raw.endswith(b"\n"):
                    return
                raise self._foreign(f"line {number} is not JSON with keys") from None
            yield number, line

    def prepare(self) -> None:
        """Make the folder, and forget what a run that is replaced has spent. Raises RunFolderError:
        it cannot be made."""
        with self.writing():
            make_private_folder(self.path.parent)
            if self.overwrite:
                self.spent.unlink(missing_ok=True)
                journal_of(self.path).unlink(missing_ok=True)

    def write_manifest(self, document: Mapping[str, Any], starts: list[dict[str, Any]]) -> None:
        """Write a description of the file, and each start of the command."""
        about = {**document, "starts": starts}
        replace_file(self.manifest, as_json(about, orjson.OPT_INDENT_2) + b"\n")

    def write(
        self,
        rows: Iterable[Mapping[str, Any]],
        document: Mapping[str, Any],
        result: Mapping[str, Any],
        starts: list[dict[str, Any]],
    ) -> None:
        """Write the file whole, and its manifest with what it holds and what the command came
        to."""
        replace_file(self.path, json_lines(rows))
        content = self.path.read_bytes()
        digest = sha256(content).hexdigest()
        output = {"file": self.path.name, "lines": content.count(b"\n"), "sha256": digest}
        self.write_manifest({**document, "output": output, "result": result}, starts)

    def starts(self, models: Iterable[BoundModel]) -> list[dict[str, Any]]:
        """Return the earlier starts of the command by the manifest, and this one."""
        own = start_of(RunOutput(self.path, inputs=self.inputs, mappings=self.mappings), models)
        if self.overwrite:
            return [own]
        try:
            return [*json_of(self.manifest)["starts"], own]
        except (OSError, ValueError, LookupError, TypeError):
            return [own]

    def refuse(self, why: str) -> NoReturn:
        """Refuse to write over what the file holds. Raises RunFolderError: always."""
        raise self._foreign(why)

    def _foreign(self, why: str) -> RunFolderError:
        return RunFolderError(
            f"{self.path} contains something else: {why}; choose another --out, or "
            "replace the file with --overwrite"
        )

    def writing(self) -> AbstractContextManager[None]:
        """Raise an error that names the file where writing it fails, as
        `persona_panel.files.outputs.writing`."""
        return writing(self.path, "choose another --out")
