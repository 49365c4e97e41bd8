"""The special functions of scipy that are ufuncs, by name: `special.stdtr`.

`scipy.special` itself rewrites a hundred docstrings when it is loaded, a sixth of the CPU of a
short command. Its module of ufuncs needs nothing of that, and is loaded with the first of them.
"""

from __future__ import annotations

import sys
from functools import cache
from importlib import import_module
from importlib.util import find_spec, module_from_spec
from threading import Lock
from types import ModuleType
from typing import Any

_PACKAGE = "scipy.special"
_LOCK = Lock()


def __getattr__(name: str) -> Any:
    return getattr(_ufuncs(), name)


@cache
def _ufuncs() -> ModuleType:
    with _LOCK:
        if _PACKAGE not in sys.modules and (spec := find_spec(_PACKAGE)) is not None:
            # An empty package in its place until they are loaded: whoever imports it later gets it.
            sys.modules[_PACKAGE] = module_from_spec(spec)
            try:
                return import_module(f"{_PACKAGE}._ufuncs")
            except ImportError:
                pass
            finally:
                del sys.modules[_PACKAGE]
        return import_module(_PACKAGE)
