"""persona-panel: a panel of personas, through several models, reads texts without a gold answer.

The public names stand in `__init__.pyi`, each once, and are imported when first used:

    from persona_panel import Panel, Response, load_responses
"""

from typing import Any

if __name__ == "persona_panel":
    from persona_panel._names import lazy_names

    # `persona-panel --help` must not wait for numpy, pydantic and what else the names need.
    _name, _names = lazy_names(__name__)
else:
    # This folder, imported by its own name: it stands for the installed package.
    from persona_panel._names import let_panel_go_on

    let_panel_go_on()


def __getattr__(name: str) -> Any:
    if name != "__version__":
        return _name(name)
    from importlib.metadata import version

    globals()[name] = value = version("persona-panel")
    return value


def __dir__() -> list[str]:
    return ["__version__", *_names()]
