"""A file of JSON lines that a command generates, and the files of its name that tell where it
comes from: NAME.manifest.json, and NAME.spent.json, which caps count.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import orjson

from persona_panel.calls.batch_rounds import journal_of
from persona_panel.calls.budget import NOTHING_SPENT, Budget, Caps
from persona_panel.files.documents import as_json
from persona_panel.files.errors import ConfigurationError, RunFolderError
from persona_panel.files.file_limits import content_of, json_of
from persona_panel.files.outputs import refuse_as_output, writing
from persona_panel.files.private_files import make_private_folder, replace_file
from persona_panel.models.config import cost, with_batches
from persona_panel.plan.bound_models import BoundModel
from persona_panel.runs.held import HeldRun, sum_of
from persona_panel.runs.judging.preflight import refuse_unpriced
from persona_panel.runs.output import RunOutput
from persona_panel.runs.provenance import start_of
from persona_panel.runs.spending import SPENT, record_in

_ENDING = ".jsonl"


@dataclass(frozen=True, slots=True)
class OutputFile:
    """Where a command writes.

    Attributes:
        path: of the file, which ends in .jsonl.
        overwrite: whether what another command has written there is replaced.
        inputs: the files that it is generated from, for the manifest.
        mappings: by the names of such files, how their columns were mapped.

    Raises:
        ConfigurationError: the path ends otherwise, is that of an input, or of a file of a
            run's folder.
    """

    path: Path
    overwrite: bool = False
    inputs: tuple[str, ...] = ()
    mappings: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.path.suffix != _ENDING:
            raise ConfigurationError(
                f"--out {self.path}: found a name that ends in {self.path.suffix or 'nothing'!r}; "
                f"expected one that ends in {_ENDING}"
            )
        refuse_as_output("--out", self.path, self.inputs)

    def named(self, ending: str) -> Path:
        """A file in the same folder, of the same name with another ending."""
        return self.path.with_name(f"{self.path.stem}.{ending}")

    @property
    def manifest(self) -> Path:
        """What tells where the file comes from."""
        return self.named("manifest.json")

    @property
    def spent(self) -> Path:
        """What all runs into the file have spent."""
        return self.named(SPENT)

    def lines(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """The objects that the file holds, with their line's number; none where there is no file.

        Raises:
            RunFolderError: it cannot be read, or a line is no object. Half a line at its end, as
                a kill leaves it, is passed over.
        """
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
        """Make the folder, and forget what a run that is replaced has spent.

        Raises:
            RunFolderError: it cannot be made.
        """
        with self.writing():
            make_private_folder(self.path.parent)
            if self.overwrite:
                self.spent.unlink(missing_ok=True)
                journal_of(self.path).unlink(missing_ok=True)

    def held(self, results: int, models: Mapping[str, BoundModel], caps: Caps) -> HeldRun:
        """What earlier runs into the file have done and spent; `results` are in it.

        Raises:
            ConfigurationError: a model that is or was called has no known price, where `caps` are
                in dollars.
            RunFolderError: the record of what was spent cannot be read.
        """
        refuse_unpriced(list(models.values()), caps)
        nothing = NOTHING_SPENT, NOTHING_SPENT
        spent, unsure = nothing if self.overwrite else record_in(self.spent)
        prices = with_batches({name: model.price for name, model in models.items()})
        Budget(caps, prices).go_on_from(spent, unsure)
        costs = [cost(prices.get(name), usage) for name, usage in spent.usage.items()]
        return HeldRun(self.path, results, spent, sum_of(costs), unsure)

    def write_manifest(self, document: Mapping[str, Any], starts: list[dict[str, Any]]) -> None:
        """Write what the file is, and each start of the command."""
        about = {**document, "starts": starts}
        replace_file(self.manifest, as_json(about, orjson.OPT_INDENT_2) + b"\n")

    def starts(self, models: Iterable[BoundModel]) -> list[dict[str, Any]]:
        """The earlier starts of the command by the manifest, and this one."""
        own = start_of(RunOutput(self.path, inputs=self.inputs, mappings=self.mappings), models)
        if self.overwrite:
            return [own]
        try:
            return [*json_of(self.manifest)["starts"], own]
        except (OSError, ValueError, LookupError, TypeError):
            return [own]

    def refuse(self, why: str) -> NoReturn:
        """Refuse to write over what the file holds.

        Raises:
            RunFolderError: always.
        """
        raise self._foreign(why)

    def _foreign(self, why: str) -> RunFolderError:
        return RunFolderError(
            f"{self.path} contains something else: {why}; choose another --out, or "
            "replace the file with --overwrite"
        )

    def writing(self) -> AbstractContextManager[None]:
        """Says of the file what keeps it from being written, as
        `persona_panel.files.outputs.writing`."""
        return writing(self.path, "choose another --out")
