"""Where the command starts: outside the package `panel`, whose name another library has too.

Installed, this file is the module `persona_panel` (see pyproject.toml). HoloViz Panel
installs an import package named `panel`, too. Whichever of the two Python finds, half of the
other is missing: so that is said before anything is imported.
"""

from __future__ import annotations

import gc
import sys
from importlib.metadata import PackageNotFoundError, version

CLASH = (
    "persona-panel and HoloViz Panel (the distribution 'panel') both own the import name "
    "'panel' and cannot share an environment: install persona-panel in one of its own, "
    "or run 'pip uninstall panel' and install persona-panel again."
)


def clashes() -> bool:
    """Whether HoloViz Panel is installed here too."""
    try:
        version("panel")
    except PackageNotFoundError:
        return False
    return True


def main() -> None:
    """Run the command."""
    if clashes():
        sys.exit(CLASH)
    # Imports make little that is let go of, and a call lets go of all it makes: looking for
    # cycles as often as Python does costs a seventh of the start and as much of a run.
    gc.set_threshold(50_000, 20, 50)
    from panel.cli.main import command

    command()
