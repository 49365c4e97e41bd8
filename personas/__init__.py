"""Personas: the viewpoints that read, and the sets that ship with the package."""

from importlib.resources import files
from pathlib import Path

from persona_panel.personas.persona import NO_PERSONA, Persona, PersonaSet

__all__ = ["NO_PERSONA", "Persona", "PersonaSet", "shipped"]


def shipped() -> dict[str, Path]:
    """Return the YAML file of each persona set in the library, by name."""
    folder = Path(str(files("persona_panel.personas").joinpath("library")))
    return {path.stem: path for path in sorted(folder.glob("*.yaml"))}
