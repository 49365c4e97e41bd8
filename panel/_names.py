"""Public names, loaded when they are first used, as an import must not wait for numpy or pydantic;
and the former name `panel`, which stands for the same modules."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any


@cache
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


_ALIAS, _NAME = "panel", "persona_panel"


class _SameModules:
    """Finder and loader of `panel.X`: the module `persona_panel.X`, never a second copy of it."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not name.startswith(f"{_ALIAS}.") or sys.modules.get(_ALIAS) is not sys.modules[_NAME]:
            return None
        return ModuleSpec(name, self)  # type: ignore[arg-type]  # a loader by its methods

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = import_module(_NAME + spec.name.removeprefix(_ALIAS))
        self._own_spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        # The import system has given it the alias's.
        module.__spec__ = self._own_spec


def let_panel_go_on() -> None:
    """Let the name `panel` stand for `persona_panel`, module by module; a package of the same name,
    such as HoloViz Panel, comes before the module `panel` that calls this."""
    if not any(isinstance(finder, _SameModules) for finder in sys.meta_path):
        sys.meta_path.insert(0, _SameModules())
    sys.modules[_ALIAS] = sys.modules[_NAME]
