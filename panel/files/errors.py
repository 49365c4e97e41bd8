"""Every error that a user of the package can meet.

PanelError
  ├── InputError        a file or argument is wrong; lists every fault found
  ├── ConfigurationError a panel cannot be built: a missing extra, key, model, option
  ├── RunFolderError    a run folder is in use by another run, or cannot be made
  └── RunStopped        a run could not go on (a full disk, say); the same command resumes
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, islice
from typing import Any, Literal

from persona_panel.files.secrets import mask_addresses

_RANGES_SHOWN = 5


# A RuntimeError, as LangGraph's server tells of other exceptions that users define no more than
# their names.
class PanelError(RuntimeError):
    """The base class of all errors. No message holds a key that the process knows, or a password or
    token of an address.

    Attributes:
        n_calls: how many calls were made before it was found out, 0 for most.
    """

    def __init__(self, message: str, *, n_calls: int = 0) -> None:
        super().__init__(mask_addresses(message))
        self.n_calls = n_calls


class ConfigurationError(PanelError):
    """A panel cannot be built from what was given; the message says what to do."""


class RunFolderError(PanelError):
    """A run folder belongs to another run, or cannot be made."""


class RunStopped(PanelError):
    """A run could not go on; started again, it calls models only for what it lacks."""


Unit = Literal["line", "row"]


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong in an input, and where.

    `line` is the number, from 1, of a line of a file, or where `unit` says so, of a row of a table
    that was in memory.
    """

    file: str
    actual: str
    expected: str
    line: int | None = None
    field: str | None = None
    unit: Unit = "line"

    def __str__(self) -> str:
        if self.line is None:
            return self._text("")
        return self._text(f":{self.line}" if self.unit == "line" else f": row {self.line}")

    def on(self, lines: Sequence[int]) -> str:
        """Return the same fault in words, on several lines."""
        return self._text(f": {first_lines(lines, self.unit)}")

    def _text(self, where: str) -> str:
        field = "" if self.field is None else f": {self.field}"
        text = f"{self.file}{where}{field}: found {self.actual}; expected {self.expected}"
        return mask_addresses(text)


def distinct_faults(faults: Iterable[Fault]) -> list[str]:
    """Return the faults in words, each once; of a fault that many lines have, such as a field that
    a whole file lacks, with the first lines and their number."""
    lines: dict[Fault, list[int]] = {}
    for fault in faults:
        numbers = lines.setdefault(replace(fault, line=None), [])
        if fault.line is not None:
            numbers.append(fault.line)
    return [
        fault.on(numbers)
        if len(numbers) > 1
        else str(replace(fault, line=next(iter(numbers), None)))
        for fault, numbers in ((fault, sorted(set(numbers))) for fault, numbers in lines.items())
    ]


def first_lines(lines: Sequence[int], unit: Unit = "line") -> str:
    """Put rising numbers of lines into words, only the first where there are many: `lines 1-3,
    7`.
    """
    ranges = list(islice(_ranges(lines), _RANGES_SHOWN + 1))
    if len(ranges) <= _RANGES_SHOWN:
        return f"{unit}s {', '.join(ranges)}"
    return f"{unit}s {', '.join(ranges[:_RANGES_SHOWN])}, … ({len(lines):,} {unit}s)"


def _ranges(lines: Sequence[int]) -> Iterator[str]:
    """Yield rising numbers, consecutive ones as a range: 1-3, 7."""
    for _, run in groupby(enumerate(lines), key=lambda pair: pair[1] - pair[0]):
        numbers = [number for _, number in run]
        yield f"{numbers[0]}" + (f"-{numbers[-1]}" if len(numbers) > 1 else "")


class InputError(PanelError):
    """An input cannot be used. `faults` lists everything that is wrong with it."""

    def __init__(self, faults: Sequence[Fault]) -> None:
        self.faults = tuple(faults)
        super().__init__("\n".join(distinct_faults(self.faults)))

    def __reduce__(self) -> tuple[Any, ...]:
        # Its message alone, by which an exception is made anew, does not hold the faults.
        return type(self), (self.faults,), vars(self)
