"""persona-panel: a panel of personas, through several models, reads texts without a gold answer.

The public names stand in `__init__.pyi`, each once, and are imported when first used:

    from panel import Panel, Response, load_responses
"""

from functools import cache
from importlib import import_module
from typing import Any

from persona_panel import CLASH, clashes

if clashes():
    raise ImportError(CLASH)


@cache
def _modules() -> dict[str, str]:
    """The module of each public name."""
    import ast
    from importlib.resources import files

    stub = ast.parse(files(__name__).joinpath("__init__.pyi").read_text("utf-8"))
    imports = [node for node in stub.body if isinstance(node, ast.ImportFrom)]
    return {alias.name: node.module or "" for node in imports for alias in node.names}


def __getattr__(name: str) -> Any:
    # `panel --help` must not wait for numpy, pydantic and what else the names need.
    value: Any
    if name == "__version__":
        from importlib.metadata import version

        value = version("persona-panel")
    elif name == "__all__":
        value = sorted(_modules())
    elif name in _modules():
        value = getattr(import_module(_modules()[name]), name)
    else:
        raise AttributeError(f"module 'panel' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return ["__version__", *sorted(_modules())]
