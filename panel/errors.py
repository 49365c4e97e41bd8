"""Every error that a user of the package can meet.

PanelError
  ├── InputError        a file or argument is wrong; lists every fault found
  ├── ConfigurationError a panel cannot be built: a missing extra, key, model, option
  ├── RunFolderError    a run folder is in use by another run, or cannot be made
  └── RunStopped        a run could not go on (a full disk, say); the same command resumes
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


class PanelError(Exception):
    """The base of them all."""


class ConfigurationError(PanelError):
    """A panel cannot be built from what was given; the message says what to do."""


class RunFolderError(PanelError):
    """A run folder belongs to another run, or cannot be made."""


class RunStopped(PanelError):
    """A run could not go on; started again, it calls models only for what it lacks."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong in an input, and where."""

    file: str
    found: str
    expected: str
    line: int | None = None
    field: str | None = None

    def __str__(self) -> str:
        place = self.file
        if self.line is not None:
            place += f":{self.line}"
        if self.field is not None:
            place += f": {self.field}"
        return f"{place}: found {self.found}; expected {self.expected}"


class InputError(PanelError):
    """An input cannot be used. `faults` lists everything that is wrong with it."""

    def __init__(self, faults: Sequence[Fault]) -> None:
        self.faults = tuple(faults)
        super().__init__("\n".join(str(fault) for fault in self.faults))
