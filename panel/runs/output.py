"""Where a run is written, and what of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class RunOutput:
    """A folder for a run, in place of its path alone.

    `overwrite`: a run that is there, of another panel or other texts, is replaced; it is
    refused otherwise. `texts`: whether responses.jsonl keeps the texts that were judged, or
    only their SHA-256. `inputs`: files that the run is made of, to be named in run.json with
    size and SHA-256 (that of a `ResponseFile` is named anyhow).
    """

    path: str | Path
    overwrite: bool = False
    texts: bool = True
    inputs: tuple[str | Path, ...] = ()

    @classmethod
    def of(cls, given: str | Path | RunOutput) -> RunOutput:
        """A path as an output."""
        return given if isinstance(given, RunOutput) else cls(given)

    @property
    def folder(self) -> Path:
        """The path, as one."""
        return Path(self.path)
