"""persona-panel: a panel of personas, through several models, reads texts without a gold answer.

The public names stand in `__init__.pyi`, each once, and are imported when first used:

    from persona_panel import Panel, Response, load_responses
"""

from __future__ import annotations

# Until the command heeds Ctrl-C little is imported, not even `typing`; and `persona-panel --help`
# must not wait for numpy, pydantic and what else the names need.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

if __name__ != "persona_panel":
    # This folder, imported by its own name: it stands for the installed package.
    from persona_panel._names import let_panel_go_on

    let_panel_go_on()


def __getattr__(name: str) -> Any:
    if name != "__version__":
        from persona_panel._names import lazy_names

        return lazy_names(__name__)[0](name)
    from importlib.metadata import version

    globals()[name] = value = version("persona-panel")
    return value


def __dir__() -> list[str]:
    from persona_panel._names import lazy_names

    return ["__version__", *lazy_names(__name__)[1]()]
