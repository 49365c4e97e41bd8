"""Runs whose requests another system answers: the files of requests that are written for it, and
the files of answers that it has written.
"""

from __future__ import annotations

import gzip
import re
import zlib
from codecs import BOM_UTF8
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, NoReturn

import orjson

from persona_panel.calls.batch_caller import BatchCaller, WantedRows
from persona_panel.calls.batch_records import RowMatch, parts_of
from persona_panel.calls.budget import Caps
from persona_panel.calls.caller import Caller, CallerFactory, without_keys
from persona_panel.files.errors import Fault, InputError, RunFolderError
from persona_panel.files.limits import TooMuchUnpacked, unpacked_file
from persona_panel.files.outputs import file_names, make_private_folder, replace_file, writing
from persona_panel.files.wording import shown
from persona_panel.models.batches import LONGEST_ROW, BatchAnswer, BatchApi
from persona_panel.models.client import CallError, is_another_model
from persona_panel.planning.bound_models import BoundModel
from persona_panel.rubrics import ModelRequest
from persona_panel.runs.execution import Collect
from persona_panel.runs.provider_batches import batch_caller_factory

_ENDINGS = (".jsonl", ".jsonl.gz")
_SHOWN = 3


@dataclass(frozen=True)
class ByFiles:
    """The answering of requests by files of answers that another system has written. `answers`: the
    folder that has them; `tell`: shows a user a line."""

    answers: Path
    tell: Callable[[str], None]
    probes = False
    keeps_batches = False

    def caller_factory(
        self, models: Mapping[str, BoundModel], caps: Caps, *, others_too: bool
    ) -> CallerFactory:
        """Return the function that makes the run's caller; see `AnsweredElsewhere.caller_factory`.
        Raises InputError: there are no files, found out before a run's folder is made."""
        files_of_answers(self.answers)
        return batch_caller_factory(models, others_too=others_too)[0]

    async def answer(
        self, caller: BatchCaller, models: Mapping[str, BoundModel], collect: Collect
    ) -> None:
        """Have requests answered by files; see `AnsweredElsewhere.answer`."""
        read = await read_answer_files(caller, models, collect, self.answers)
        for line in read.left_out:
            self.tell(line)
        caller.read_only()


class AnswersRead(NamedTuple):
    """The result of reading files of answers: how many answers were taken from them, and sentences
    on what was left out."""

    taken: int
    left_out: tuple[str, ...]


def files_of_answers(folder: Path) -> list[Path]:
    """Return the files of a folder that may hold answers, in the order of their names. Raises
    InputError: there are none."""
    files = sorted(path for path in folder.glob("*") if path.name.endswith(_ENDINGS))
    if not files:
        _refuse(folder, "no file *.jsonl or *.jsonl.gz")
    return files


async def read_answer_files(
    caller: BatchCaller, models: Mapping[str, BoundModel], collect: Collect, folder: Path
) -> AnswersRead:
    """Take answers from a folder's files until they answer nothing more. Raises InputError: there
    are no files, they cannot be read, or hold no answers."""
    files, n = files_of_answers(folder), 0
    asked = {name: models[name].config.model.partition(":")[2] for name in caller.apis}
    while True:
        with caller.collecting(known=True) as wanted:
            await collect()
            rows = {name: RowMatch.of(gathered.rows) for name, gathered in wanted.items()}
        reading = _Reading(caller, rows, asked)
        for path in files:
            for number, line in _lines(path):
                reading.take(f"{path.name}:{number}", line)
        if not reading.lines:
            _refuse(folder, "requests without answers")
        n += reading.taken
        # What is left out is known once every request has been met.
        if not reading.taken:
            return AnswersRead(n, tuple(reading.sentences()))


@dataclass(slots=True)
class _LeftOut:
    """The rows of one kind that were left out: how many, where the first are, and what the first
    says."""

    reason: str
    places: list[str] = field(default_factory=list)
    n: int = 0


class _Reading:
    """One go through files of answers: how many were taken, how many lines are not requests of
    ours."""

    def __init__(
        self, caller: BatchCaller, rows: Mapping[str, RowMatch], asked: Mapping[str, str]
    ) -> None:
        self._caller, self._rows, self._asked = caller, rows, asked
        self._left_out: dict[str, _LeftOut] = {}
        # Files of requests are in the same folder.
        self._requests = request_fields(caller.apis.values())
        self.taken = self.lines = 0

    def take(self, place: str, line: bytes | None) -> None:
        """Take the answer that is in a line; None, one that is too long."""
        row = None if line is None else self._read(line)
        if row is None:
            why = "too long" if line is None else self._why_no_answer(line)
            if why is not None:
                self.lines += 1
                self._leave_out(why, place)
            return
        self.lines += 1
        caller, known = self._caller, self._caller.known or {}
        if not isinstance(row.custom_id, str) or row.custom_id not in known:
            self._leave_out("unknown", place)
            return
        model, key = known[row.custom_id]
        if row.model is not None and is_another_model(row.model, asked := self._asked[model]):
            self._leave_out("model", place, f"{shown(row.model)}, not {shown(asked)}")
            return
        is_fault = isinstance(row.answer, CallError)
        is_new = self._rows[model].take(row.custom_id, is_fault=is_fault) in ("first", "better")
        if is_new:
            caller.take(model, key, row.answer)
        if isinstance(row.answer, CallError):
            if caller.kept(key) is None:
                self._leave_out("fault", place, str(row.answer))
        elif is_new:
            self.taken += 1
        elif (kept := caller.kept(key)) is None:
            self._leave_out("odd", place)
        elif kept.text != without_keys(row.answer, model).text:
            self._leave_out("other", place)

    def sentences(self) -> Iterator[str]:
        """Return what was left out, a sentence for each kind."""
        for why, rows in self._left_out.items():
            sentence = _SENTENCES[why].format(
                n=f"{rows.n:,}", rows="row" if rows.n == 1 else "rows"
            )
            first = ", ".join(rows.places) + (", …" if rows.n > len(rows.places) else "")
            yield f"{sentence}{rows.reason and f' ({rows.reason})'}: {first}"

    def _read(self, line: bytes) -> BatchAnswer | None:
        """Read the answer in a line, as the batches of the model read it whose request it
        answers."""
        apis, known = self._caller.apis, self._caller.known or {}
        for name, api in apis.items():
            if (row := api.read(line)) is not None:
                asked = known.get(row.custom_id) if isinstance(row.custom_id, str) else None
                if asked is None or asked[0] == name:
                    return row
                return apis[asked[0]].read(line)
        return None

    def _why_no_answer(self, line: bytes) -> str | None:
        """Return why a line is no answer; None of a request of ours."""
        if len(line) > LONGEST_ROW:
            return "too long"
        try:
            row = orjson.loads(line)
        except orjson.JSONDecodeError:
            return "no JSON"
        return None if isinstance(row, dict) and row.keys() in self._requests else "no answer"

    def _leave_out(self, why: str, place: str, reason: str = "") -> None:
        rows = self._left_out.setdefault(why, _LeftOut(reason))
        rows.n += 1
        if len(rows.places) < _SHOWN:
            rows.places.append(place)


def request_fields(apis: Iterable[BatchApi]) -> list[Set[str]]:
    """Return the fields of a request in a file, for each provider."""
    # Google's package refuses an empty text.
    shortest = ModelRequest("", ("-",))
    return [orjson.loads(api.line("", shortest)).keys() for api in apis]


_SENTENCES = {
    "too long": f"{{n}} {{rows}} left out, longer than {LONGEST_ROW:,} bytes",
    "no JSON": "{n} {rows} left out, not valid JSON",
    "no answer": "{n} {rows} left out, without an answer or an error in the shape of batches",
    "unknown": "{n} {rows} left out, with answers to what is not asked here, of other models, "
    "settings or texts",
    "model": "{n} {rows} left out, answered by another model by their field model; where it is the "
    "one that was asked, remove the field",
    "fault": "{n} {rows} with an error in place of an answer",
    "other": "{n} {rows} left out, as the same request has another answer already",
    "odd": "{n} {rows} left out, whose answers cannot be stored",
}


def _lines(path: Path) -> Iterator[tuple[int, bytes | None]]:
    """Yield the lines of a file with their numbers, from 1."""
    try:
        with path.open("rb") as raw:
            file = unpacked_file(raw) if path.suffix == ".gz" else raw
            number = 0
            while line := file.readline(LONGEST_ROW + 2):
                number += 1
                if number == 1:
                    line = line.removeprefix(BOM_UTF8)
                if len(line) <= LONGEST_ROW + 1:
                    if line.strip():
                        yield number, line
                    continue
                while not line.endswith(b"\n") and (line := file.readline(LONGEST_ROW)):
                    pass
                yield number, None
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        _refuse(path, f"a damaged gzip file ({error})")
    except TooMuchUnpacked as error:
        _refuse(path, f"a file that {error}")
    except OSError as error:
        _refuse(path, error.strerror or "what cannot be read")


def _refuse(path: Path, result: str) -> NoReturn:
    raise InputError([Fault(str(path), result, "files of answers, one a line")])


_REQUESTS = "requests-"


@dataclass(frozen=True)
class RequestFiles:
    """The folder where requests are written to be answered elsewhere, in place of a run. `to`: a
    folder; `answers`: a folder with answers, which are read before; None, there are none."""

    to: Path
    answers: Path | None = None


@dataclass(frozen=True)
class Exported:
    """Requests that were written to files: how many; how many answers were read before, and what of
    these was left out, in sentences."""

    files: tuple[Path, ...]
    requests: int
    taken: int = 0
    left_out: tuple[str, ...] = ()


async def export(
    caller: Caller, models: Mapping[str, BoundModel], collect: Collect, files: RequestFiles
) -> Exported:
    """Write what the cache lacks, once the answers that are there are in it, as JSON lines of
    provider batches; a file of an earlier export goes, and no other. Raises RunFolderError: a file
    cannot be written, or its name is taken by another; InputError: answers cannot be read."""
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
    files, names = [], file_names(wanted)
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
    """Return whether a file holds requests that were written out, and nothing else."""
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
