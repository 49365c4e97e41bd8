"""Rubrics: what is asked, how it is put to a model, and how an answer is read."""

from importlib.resources import files
from pathlib import Path

from rubrics.composite import Composite
from rubrics.elicitation import (
    Ask,
    Comparing,
    Comparison,
    Dialogue,
    Elicitation,
    Layout,
    Position,
    Question,
    Reading,
    Reply,
    Status,
    Usage,
    alike,
    compares,
    elicitation_names,
    load_comparing,
    load_elicitation,
)
from rubrics.rubric import Abstention, Dimension, Rubric
from rubrics.scale import CategoryScale, RealScale, Scale

__all__ = [
    "Abstention",
    "Ask",
    "CategoryScale",
    "Comparing",
    "Comparison",
    "Composite",
    "Dialogue",
    "Dimension",
    "Elicitation",
    "Layout",
    "Position",
    "Question",
    "Reading",
    "RealScale",
    "Reply",
    "Rubric",
    "Scale",
    "Status",
    "Usage",
    "alike",
    "compares",
    "elicitation_names",
    "load_comparing",
    "load_elicitation",
    "shipped",
]


def shipped() -> dict[str, Path]:
    """The YAML file of each rubric in the library, by name."""
    folder = Path(str(files("rubrics").joinpath("library")))
    return {path.stem: path for path in sorted(folder.glob("*.yaml"))}
