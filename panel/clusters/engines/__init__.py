"""Engines: systems that start workers of a run and carry letters between them and the driver.

An engine is a module of this package, found by its name, with a function
`opened(address, workers) -> AbstractContextManager[Engine]` (`panel.runs.execution.Engine`): the
connection to a cluster at an address, or where that is None, to the one at hand. Another
distribution adds one by an entry point:

    [project.entry-points."persona_panel.engines"]
    acme = "acme_panel.engine"

`persona-panel score … --engine acme:ADDRESS` then uses it.
"""

from __future__ import annotations

from contextlib import AbstractContextManager

from panel.errors import ConfigurationError
from panel.runs.execution import Engine
from rubrics.extensions import ExtensionError, extension_names, load_extension

_GROUP = "persona_panel.engines"


def opened_engine(spec: str, workers: int | None = None) -> AbstractContextManager[Engine]:
    """The engine `NAME` or `NAME:ADDRESS`, for as long as the block lasts.

    Args:
        workers: how many there are to be; None, as many as the engine finds fit.

    Raises:
        ConfigurationError: there is no such engine, its package is not installed, or its cluster
            cannot be reached.
    """
    refuse_unknown(spec)
    name, _, address = spec.partition(":")
    try:
        module = load_extension(__name__, _GROUP, name)
    except ExtensionError as error:
        raise ConfigurationError(str(error)) from error
    except ModuleNotFoundError as error:
        raise ConfigurationError(
            f"the engine {name} needs the package {error.name}, which is not installed; get it "
            f"with: pip install 'persona-panel[{name}]'"
        ) from None
    found: AbstractContextManager[Engine] = module.opened(address or None, workers)
    return found


def refuse_unknown(spec: str) -> None:
    """See that there is an engine of this name, before anything is connected.

    Raises:
        ConfigurationError: there is none.
    """
    name, _, _ = spec.partition(":")
    known = extension_names(__name__, _GROUP)
    if name not in known:
        raise ConfigurationError(f"no engine is called {name!r}; there are {', '.join(known)}")
