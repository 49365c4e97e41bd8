"""persona-panel: a panel of personas, through several models, reads texts without a gold answer.

The names below are the public interface, imported when first used:

    from panel import Panel, Response, load_responses
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from persona_panel import CLASH, clashes

if clashes():
    raise ImportError(CLASH)

if TYPE_CHECKING:
    from graphs import Judge, Judgment, LabelSummary, Response, Summary, Verdict
    from graphs.framing import FramedResponse, Framings, Prompt
    from panel.calls.budget import Caps
    from panel.config import ModelConfig
    from panel.errors import (
        ConfigurationError,
        Fault,
        InputError,
        PanelError,
        RunFolderError,
        RunStopped,
    )
    from panel.estimate import Estimate
    from panel.files.beside import load_beside
    from panel.files.definitions import load_definition
    from panel.files.prompts import load_framed_responses, load_prompts
    from panel.files.ratings import load_ratings
    from panel.files.responses import ResponseFile, load_responses
    from panel.panel import Panel
    from panel.run import Coverage, Run
    from panel.statistics.ranking import SystemRank
    from panel.statistics.table import Ratings
    from panel.sweep.result import Sweep
    from personas import Persona, PersonaSet
    from rubrics import (
        Abstention,
        CategoryScale,
        Composite,
        Dimension,
        RealScale,
        Rubric,
        Scale,
        Usage,
    )

_HOMES = {
    "graphs": ("Judge", "Judgment", "LabelSummary", "Response", "Summary", "Verdict"),
    "graphs.framing": ("FramedResponse", "Framings", "Prompt"),
    "panel.calls.budget": ("Caps",),
    "panel.config": ("ModelConfig",),
    "panel.errors": (
        "ConfigurationError",
        "Fault",
        "InputError",
        "PanelError",
        "RunFolderError",
        "RunStopped",
    ),
    "panel.estimate": ("Estimate",),
    "panel.files.beside": ("load_beside",),
    "panel.files.definitions": ("load_definition",),
    "panel.files.prompts": ("load_framed_responses", "load_prompts"),
    "panel.files.ratings": ("load_ratings",),
    "panel.files.responses": ("ResponseFile", "load_responses"),
    "panel.panel": ("Panel",),
    "panel.run": ("Coverage", "Run"),
    "panel.statistics.ranking": ("SystemRank",),
    "panel.sweep.result": ("Sweep",),
    "panel.statistics.table": ("Ratings",),
    "personas": ("Persona", "PersonaSet"),
    "rubrics": (
        "Abstention",
        "CategoryScale",
        "Composite",
        "Dimension",
        "RealScale",
        "Rubric",
        "Scale",
        "Usage",
    ),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "Abstention",
    "Caps",
    "CategoryScale",
    "Composite",
    "ConfigurationError",
    "Coverage",
    "Dimension",
    "Estimate",
    "Fault",
    "FramedResponse",
    "Framings",
    "InputError",
    "Judge",
    "Judgment",
    "LabelSummary",
    "ModelConfig",
    "Panel",
    "PanelError",
    "Persona",
    "PersonaSet",
    "Prompt",
    "Ratings",
    "RealScale",
    "Response",
    "ResponseFile",
    "Rubric",
    "Run",
    "RunFolderError",
    "RunStopped",
    "Scale",
    "Summary",
    "Sweep",
    "SystemRank",
    "Usage",
    "Verdict",
    "load_beside",
    "load_definition",
    "load_framed_responses",
    "load_prompts",
    "load_ratings",
    "load_responses",
]


def __getattr__(name: str) -> Any:
    # `panel --help` must not wait for numpy, pydantic and what else the names need.
    if name not in _HOME:
        raise AttributeError(f"module 'panel' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
