"""Extensions: modules found by their name, of ours or of any installed distribution.

An extension of ours is a file in a package (`rubrics/elicitations/justified.py` is `justified`).
One of another distribution is an entry point of the group that belongs to that package:

    [project.entry-points."persona_panel.elicitations"]
    socratic = "my_package.socratic"

and may be a module or any object with the same attributes. Ours are looked at first, so that no
distribution can take the place of one of them.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from pkgutil import iter_modules
from typing import Any


@cache
def extension_names(package: str, group: str) -> tuple[str, ...]:
    """The names of all extensions of a package, in alphabetical order."""
    return tuple(sorted({*_own(package), *(found.name for found in entry_points(group=group))}))


@cache
def load_extension(package: str, group: str, name: str) -> Any:
    """The extension called `name`.

    Raises:
        KeyError: there is none of that name.
    """
    if name in _own(package):
        return import_module(f"{package}.{name.replace('-', '_')}")
    for found in entry_points(group=group, name=name):
        return found.load()
    raise KeyError(name)


@cache
def _own(package: str) -> frozenset[str]:
    path = import_module(package).__path__
    return frozenset(module.name.replace("_", "-") for module in iter_modules(path))
