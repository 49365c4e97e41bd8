"""The library of framing sets. A new set is one new file in `panel/library/framings`."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from persona_panel.files.definitions import load_definition, resolve
from persona_panel.graphs.framing import Framings


def shipped_framings() -> dict[str, Path]:
    """Return the YAML file of each framing set in the library, by name."""
    folder = Path(str(files("persona_panel").joinpath("library", "framings")))
    return {path.stem: path for path in sorted(folder.glob("*.yaml"))}


def framings_of(framings: str | Path | Framings) -> Framings:
    """Return a framing set: from the library by name, from a YAML file, or unchanged.

    Raises:
        InputError: it is neither; lists every fault.
    """
    if isinstance(framings, Framings):
        return framings
    return load_definition(resolve(str(framings), shipped_framings(), "framing set"), Framings)
