"""Load public names when they are first used: an import must not wait for numpy or pydantic."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from typing import Any


def lazy_names(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` of a package whose names are imported when first used.

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
