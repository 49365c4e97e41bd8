"""persona-panel: a panel of personas, through several models, reads texts without a gold answer.

The public names stand in `__init__.pyi`, each once, and are imported when first used:

    from persona_panel import Panel, Response, load_responses
"""

from typing import Any

from persona_panel import CLASH, clashes, lazy_names

if clashes():
    raise ImportError(CLASH)

# `panel --help` must not wait for numpy, pydantic and what else the names need.
_name, _names = lazy_names(__name__)


def __getattr__(name: str) -> Any:
    if name != "__version__":
        return _name(name)
    from importlib.metadata import version

    globals()[name] = found = version("persona-panel")
    return found


def __dir__() -> list[str]:
    return ["__version__", *_names()]
