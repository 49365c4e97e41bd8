"""Engines: systems that start workers of a run and carry letters between them and the driver.

An engine is a module of this package or an entry point (docs/how-to/extend.md), with two functions:

- `check(address, options)` raises a ConfigurationError where an address (None: the cluster at hand)
  or options cannot be right, without a connection: a dry run calls it, too;
- `opened(address, workers, options) -> AbstractContextManager[Engine]`
  (`persona_panel.runs.execution.Engine`): the connection to the cluster, and workers on it.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from persona_panel.files.errors import ConfigurationError
from persona_panel.files.wording import extra, not_installed
from persona_panel.rubrics.extensions import ExtensionError, extension_names, load_extension

if TYPE_CHECKING:
    # The help of a command names the engines, and needs no more.
    from persona_panel.runs.execution import Engine

_GROUP = "persona_panel.engines"


def engine_names() -> tuple[str, ...]:
    """Return the names of all engines, in alphabetical order."""
    return extension_names(__name__, _GROUP)


def opened_engine(
    spec: str, workers: int | None = None, options: Mapping[str, Any] | None = None
) -> AbstractContextManager[Engine]:
    """Open the engine `NAME` or `NAME:ADDRESS`, for as long as the block lasts:

        with opened_engine("ray:10.0.0.4:6379", 4, {"num_gpus": 1}) as engine:
            run = panel.score(responses, engine=engine)

    Args:
        workers: how many there are to be; None, as many as the engine finds fit.
        options: of the engine.

    Raises:
        ConfigurationError: there is no such engine, its package is not installed, its cluster
            cannot be reached, or an option is wrong.
    """
    module, address = _checked(spec, options or {})
    name = spec.partition(":")[0]
    try:
        engine: AbstractContextManager[Engine] = module.opened(address, workers, options or {})
    except ModuleNotFoundError as error:
        raise _not_installed(name, error) from None
    return engine


def check_engine_options(spec: str, options: Mapping[str, Any]) -> None:
    """Check that there is an engine of this name, and that its address and options can be right,
    before anything is connected. Raises ConfigurationError: there is none, or they cannot."""
    _checked(spec, options)


def _checked(spec: str, options: Mapping[str, Any]) -> tuple[Any, str | None]:
    name, colon, address = spec.partition(":")
    known = engine_names()
    if name not in known:
        raise ConfigurationError(f"no engine is called {name!r}; there are {', '.join(known)}")
    if colon and not address:
        raise ConfigurationError(f"found {spec!r} as the engine; expected {name} or {name}:ADDRESS")
    try:
        module = load_extension(__name__, _GROUP, name)
    except ExtensionError as error:
        raise ConfigurationError(str(error)) from error
    except ModuleNotFoundError as error:
        raise _not_installed(name, error) from None
    module.check(address or None, options)
    return module, address or None


def _not_installed(name: str, error: ModuleNotFoundError) -> ConfigurationError:
    # Ours have extras of their names; what installs another's is its own business.
    is_ours = find_spec(f"{__name__}.{name}") is not None
    needs = f"the engine {name} needs"
    if is_ours:
        return ConfigurationError(not_installed(needs, str(error.name), extra(name)))
    return ConfigurationError(f"{needs} {error.name}, which is not installed; install it")
