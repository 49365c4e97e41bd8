"""Runs whose models are not called, but answered in rounds: by their provider's batches, or by
files that another system answers."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from typing import Protocol

import orjson

from panel.calls.batch_caller import BatchCaller, WantedRows
from panel.calls.batch_journal import BatchJournal, batches_of
from panel.calls.batch_records import RowMatch, parts_of
from panel.calls.batch_rounds import PACE, BatchAddress, BatchPace, BatchRounds
from panel.calls.budget import Caps
from panel.calls.caller import Caller
from panel.errors import ConfigurationError, Fault, InputError, RunFolderError, RunStopped
from panel.io.private_files import make_private_folder, replace_file
from panel.judging.preflight import refuse_unpriced_batches
from panel.models.batches import BatchApi, BatchClient
from panel.models.client import CallError
from panel.plan.bound_models import BoundModel
from panel.plan.panel_plan import PanelPlan
from panel.runs.output import RunOutput

Collect = Callable[[], Awaitable[None]]
"""Has all judges asked once, by a caller that collects."""


class AnsweredElsewhere(Protocol):
    """How the requests of a run are answered.

    Attributes:
        probes: whether a model may be called to find out what it can do.
    """

    @property
    def probes(self) -> bool: ...

    def caller_of(self, plan: PanelPlan, caps: Caps) -> Callable[..., BatchCaller]:
        """What makes the run's caller.

        Raises:
            ConfigurationError: no model of the plan can be asked so, or caps cannot be held.
        """

    async def answer(self, caller: Caller, collect: Collect) -> None:
        """Have requests answered until the cache lacks none that can be.

        Raises:
            RunStopped, RunFolderError, Abort: the run cannot go on.
        """


@dataclass(frozen=True)
class ByBatches:
    """By the batches of models' providers; models without such are called as usual.

    Args:
        folder: of the run, which keeps the journal of its batches.
        tell: shows a user a line.
    """

    folder: Path
    plan: PanelPlan
    tell: Callable[[str], None]
    pace: BatchPace = PACE
    probes = True

    def caller_of(self, plan: PanelPlan, caps: Caps) -> Callable[..., BatchCaller]:
        """See `AnsweredElsewhere.caller_of`."""
        apis = _apis(plan)
        refuse_unpriced_batches([model for model in plan.models if model.id in apis], caps)
        for model in plan.models:
            if model.id not in apis:
                self.tell(f"{model.id} has no batches here and is called as usual.")
        return collecting_caller(plan)

    async def answer(self, caller: Caller, collect: Collect) -> None:
        """See `AnsweredElsewhere.answer`."""
        assert isinstance(caller, BatchCaller)  # noqa: S101
        journal = BatchJournal(self.folder)
        try:
            addresses = {
                model.id: _address(model) for model in self.plan.models if model.id in caller.apis
            }
            rounds = BatchRounds(caller, addresses, journal, self.tell, self.pace)
            rounds.go_on()
            await _settled(rounds)
            while True:
                with caller.collecting(self.folder) as wanted:
                    await collect()
                    if not await rounds.submit(wanted):
                        break
                await _settled(rounds)
        finally:
            journal.close()
        caller.read_only()


async def _settled(rounds: BatchRounds) -> None:
    """Wait for the open batches.

    Raises:
        RunStopped: one was cancelled, so that what it left is not wanted.
        Others: as `BatchRounds.settle`.
    """
    await rounds.settle()
    if rounds.cancelled:
        raise RunStopped(
            f"{', '.join(rounds.cancelled)} was cancelled. What it answered is in the cache; the "
            "same command submits the rest again"
        )


@dataclass(frozen=True)
class ByFiles:
    """By files of answers that another system has written."""

    answers: Path
    probes = False

    def caller_of(self, plan: PanelPlan, caps: Caps) -> Callable[..., BatchCaller]:
        """See `AnsweredElsewhere.caller_of`."""
        return collecting_caller(plan)

    async def answer(self, caller: Caller, collect: Collect) -> None:
        """See `AnsweredElsewhere.answer`."""
        assert isinstance(caller, BatchCaller)  # noqa: S101
        await _read_in(caller, collect, self.answers)
        caller.read_only()


@dataclass(frozen=True)
class Exported:
    """Requests that were written to files.

    Attributes:
        taken: how many answers were read before.
        requests: how many the files have.
    """

    files: tuple[Path, ...]
    requests: int
    taken: int


async def export(
    caller: Caller, collect: Collect, to: Path, answers: Path | None = None
) -> Exported:
    """Write what the cache lacks, once the answers that are there are in it, as JSON lines of
    its provider's batches; a file of an earlier export goes, and no other.

    Raises:
        RunFolderError: a file cannot be written, or its name is taken by another.
        InputError: answers cannot be read.
    """
    assert isinstance(caller, BatchCaller)  # noqa: S101
    taken = 0 if answers is None else await _read_in(caller, collect, answers)
    with caller.collecting() as wanted:
        await collect()
        try:
            files = _write(caller, wanted, to)
        except OSError as error:
            raise RunFolderError(f"{to} cannot be written: {error.strerror}") from None
        return Exported(files, sum(len(rows.rows) for rows in wanted.values()), taken)


def _write(caller: BatchCaller, wanted: Mapping[str, WantedRows], to: Path) -> tuple[Path, ...]:
    make_private_folder(to)
    for old in to.glob(f"{_REQUESTS}*.jsonl"):
        if _is_ours(old):
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


def collecting_caller(plan: PanelPlan) -> Callable[..., BatchCaller]:
    """What makes a caller that can collect a plan's requests.

    Raises:
        ConfigurationError: no model of the plan can be asked by batches.
    """
    # Who deliberates must have heard the others.
    return partial(BatchCaller, _apis(plan), others_too=plan.deliberation is not None)


def refuse_open_batches(output: RunOutput | None, batches: AnsweredElsewhere | None) -> None:
    """See that no request that is in a batch goes to its model again.

    Raises:
        RunFolderError: the run's folder has open batches, and is to be overwritten or scored
            without them.
    """
    if output is None:
        return
    folder = output.folder
    if not (folder.is_dir() and os.access(folder, os.R_OK | os.X_OK)):
        # That it cannot be written is said when it is opened for writing.
        return
    open_ = [batch for batch in batches_of(folder) if batch.open]
    if open_ and (output.overwrite or not isinstance(batches, ByBatches)):
        raise RunFolderError(
            f"{folder} has open batches, which are paid for ({len(open_):,}); go on with "
            "--batch and without --overwrite, or end them with `persona-panel batch cancel "
            f"{folder}`"
        )


_REQUESTS = "requests-"
_SHAPES = ({"custom_id", "method", "url", "body"}, {"custom_id", "params"}, {"key", "request"})
"""The fields of a request in files of OpenAI's, Anthropic's and Google's batches."""
_OPTIONS = ("organization", "project")


def _apis(plan: PanelPlan) -> dict[str, BatchApi]:
    apis = {
        model.id: model.client.batches()
        for model in plan.models
        if isinstance(model.client, BatchClient)
    }
    if not apis:
        names = ", ".join(model.id for model in plan.models)
        raise ConfigurationError(
            f"{names}: no such model can be asked by batches, only openai:NAME and servers that "
            "speak OpenAI's protocol, anthropic:NAME and google_genai:NAME; leave out --batch, "
            "--batch-out and --batch-in"
        )
    return apis


def _address(model: BoundModel) -> BatchAddress:
    client, config = model.client, model.config
    assert isinstance(client, BatchClient)  # noqa: S101
    settings = {name: config.options[name] for name in _OPTIONS if name in config.options}
    return BatchAddress(
        spec=config.model,
        address=client.address,
        key_env=config.key_env,
        settings=settings | {"timeout": config.timeout},
        # Their values may be secret.
        headers=tuple(config.options.get("headers") or ()),
    )


async def _read_in(caller: BatchCaller, collect: Collect, folder: Path) -> int:
    """Take answers from a folder's files until they answer nothing more; how many that are.

    Raises:
        InputError: there are no files, or they hold no answers.
    """
    n = 0
    while True:
        with caller.collecting() as wanted:
            await collect()
            rows = {model: RowMatch.of(gathered.rows) for model, gathered in wanted.items()}
        taken = 0
        for line in _lines(folder):
            for model, match in rows.items():
                row = caller.apis[model].read(line)
                if row is None:
                    continue
                is_fault = isinstance(row.answer, CallError)
                if match.take(row.custom_id, is_fault=is_fault) in ("first", "better"):
                    caller.take(model, match.rows[row.custom_id], row.answer)
                    taken += not is_fault
        n += taken
        if not taken:
            return n


def _is_ours(path: Path) -> bool:
    """Whether a file holds requests that were written out, and nothing else."""
    with path.open("rb") as lines:
        for line in lines:
            try:
                row = orjson.loads(line)
            except orjson.JSONDecodeError:
                return False
            if not isinstance(row, dict) or row.keys() not in _SHAPES:
                return False
            if not re.fullmatch("[0-9a-f]{64}", str(row.get("custom_id") or row.get("key"))):
                return False
        # Of an empty file it is not known what it was for.
        return lines.tell() > 0


def _lines(folder: Path) -> Iterator[bytes]:
    files = sorted(folder.glob("*.jsonl"))
    if not files:
        raise InputError([Fault(str(folder), "no file *.jsonl", "files of answers, one a line")])
    for path in files:
        try:
            with path.open("rb") as lines:
                yield from lines
        except OSError as error:
            why = error.strerror or "what cannot be read"
            raise InputError([Fault(str(path), why, "a file of answers")]) from None


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
