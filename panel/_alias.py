"""Let `import panel` go on: the name stands for `persona_panel`, module by module.

The module `panel`, installed beside the package `persona_panel`, imports this one. A package of the
same name, such as HoloViz Panel, comes before it; code that imports `persona_panel` works beside
both.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType

import persona_panel

_ALIAS, _NAME = "panel", persona_panel.__name__


class _SameModules:
    """Finder and loader of `panel.X`: the module `persona_panel.X`, never a second copy of it."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not name.startswith(f"{_ALIAS}.") or sys.modules.get(_ALIAS) is not persona_panel:
            return None
        return ModuleSpec(name, self)  # type: ignore[arg-type]  # a loader by its methods

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = import_module(_NAME + spec.name.removeprefix(_ALIAS))
        self._own_spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        # The import system has given it the alias's.
        module.__spec__ = self._own_spec


if not any(isinstance(finder, _SameModules) for finder in sys.meta_path):
    sys.meta_path.insert(0, _SameModules())
sys.modules[_ALIAS] = persona_panel
