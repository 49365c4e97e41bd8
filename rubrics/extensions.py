"""Extensions: modules found by their name, of ours or of any installed distribution.

An extension of ours is a file in a package (`panel/results/formats/json.py` is `json`), called as
the file is; an elicitation's name has hyphens (`rubrics/elicitations/yes_no.py` is `yes-no`).
One of another distribution is an entry point of the group that belongs to that package:

    [project.entry-points."persona_panel.elicitations"]
    socratic = "my_package.socratic"

and may be a module or any object with the same attributes. Ours are looked at first, so that no
distribution can take the place of one of them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, EntryPoints, entry_points
from pkgutil import iter_modules
from typing import Any


class ExtensionError(Exception):
    """An extension of another distribution cannot be imported; the message says which, and what
    to do."""


@cache
def extension_names(package: str, group: str, *, hyphens: bool = False) -> tuple[str, ...]:
    """Return the names of all extensions of a package, in alphabetical order.

    `hyphens`: a file `yes_no.py` is called `yes-no`.
    """
    own = _own(package, hyphens)
    return tuple(sorted({*own, *(point.name for point in _installed()(group=group))}))


@cache
def load_extension(package: str, group: str, name: str, *, hyphens: bool = False) -> Any:
    """Return the extension called `name`; `hyphens` as for `extension_names`.

    Raises:
        KeyError: there is none of that name.
        ExtensionError: another distribution's cannot be imported.
    """
    own = _own(package, hyphens)
    if name in own:
        return import_module(f"{package}.{own[name]}")
    for point in _installed()(group=group, name=name):
        try:
            return point.load()
        # Whatever another distribution does when it is imported.
        except Exception as error:
            raise ExtensionError(_cannot_load(point, error)) from error
    raise KeyError(name)


def _cannot_load(point: EntryPoint, error: Exception) -> str:
    kind = point.group.rpartition(".")[2].removesuffix("s").replace("_", " ")
    package = "another package" if point.dist is None else f"the package {point.dist.name}"
    return (
        f"the {kind} {point.name!r} of {package} cannot be loaded "
        f"({type(error).__name__}: {error}); repair or uninstall that package"
    )


@cache
def _installed() -> Callable[..., EntryPoints]:
    """Return a function that selects among the entry points of all distributions, by `group` and
    `name`. They are read once, since that reads a file of every distribution."""
    return entry_points().select


@cache
def _own(package: str, hyphens: bool) -> dict[str, str]:
    """Return the module of each extension of ours, by its name."""
    modules = [module.name for module in iter_modules(import_module(package).__path__)]
    return {name.replace("_", "-") if hyphens else name: name for name in modules}
