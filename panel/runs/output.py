"""Where a run is written, and what of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path


@dataclass(frozen=True, slots=True)
class RunOutput:
    """A folder for a run, in place of its path alone.

    `overwrite`: a run that is there, of another panel or other texts, is replaced; it is
    refused otherwise. `texts`: whether responses.jsonl keeps the texts that were judged, or
    only their SHA-256; without texts no file has metadata. `inputs`: files that the run is made
    of, to be named in run.json with size and SHA-256 (that of a `ResponseFile` is named anyhow).
    `mappings`: by the names of such files, how their columns were mapped.
    """

    path: str | Path
    overwrite: bool = False
    texts: bool = True
    inputs: tuple[str | Path, ...] = ()
    mappings: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @classmethod
    def of(cls, given: str | Path | RunOutput) -> RunOutput:
        """A path as an output."""
        return given if isinstance(given, RunOutput) else cls(given)

    def with_file(self, name: str, mapping: Mapping[str, str]) -> RunOutput:
        """The same for a run whose first input is this file, with its columns so mapped."""
        mappings = {name: mapping, **self.mappings} if mapping else self.mappings
        return replace(self, inputs=(name, *self.inputs), mappings=mappings)

    @property
    def folder(self) -> Path:
        """The path, as one."""
        return Path(self.path)
