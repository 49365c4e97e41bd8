"""Where the command starts: outside the package `panel`, whose name another library has too.

Installed, this file is the module `persona_panel` (see pyproject.toml). HoloViz Panel
installs an import package named `panel`, too. Whichever of the two Python finds, half of the
other is missing: so that is said before anything is imported.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any

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


def lazy_names(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a package whose names are imported when first used.

    Its `__init__.pyi` names them, each once, as `from MODULE import NAME as NAME`. No module or
    folder in the package may have the name of one of them: once imported it would hide it.
    """

    @cache
    def modules() -> Mapping[str, str]:
        import ast
        from importlib.resources import files

        stub = ast.parse(files(package).joinpath("__init__.pyi").read_text("utf-8"))
        imports = [node for node in stub.body if isinstance(node, ast.ImportFrom)]
        return {alias.name: node.module or "" for node in imports for alias in node.names}

    def get(name: str) -> Any:
        value: Any
        if name == "__all__":
            value = sorted(modules())
        elif name in modules():
            value = getattr(import_module(modules()[name]), name)
        else:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        setattr(sys.modules[package], name, value)
        return value

    return get, lambda: sorted(modules())


def main() -> None:
    """Run the command."""
    if clashes():
        sys.exit(CLASH)
    # Imports make little that is let go of: to look for cycles while they go on, as Python does
    # again and again, costs a seventh of the start. All of them make fewer objects than this.
    gc.set_threshold(300_000, 20, 50)
    from persona_panel.cli.main import command

    command()
