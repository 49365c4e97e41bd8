"""The common parts of pages: templates whose texts are escaped, and the policy on what a page may
run."""

from __future__ import annotations

import os
import sys
from base64 import b64encode
from collections.abc import Callable
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import (
    ChoiceLoader,
    Environment,
    FileSystemBytecodeCache,
    PackageLoader,
    StrictUndefined,
)


def templates(
    package: str, folder: str, shown: Callable[[Any], Any], *others: tuple[str, str]
) -> Environment:
    """Return the templates in a package's folder: every value is escaped, after `shown` made what
    is invisible in it visible; an unknown name is an error. `others`: packages and folders whose
    templates these may import."""
    return Environment(
        loader=ChoiceLoader([PackageLoader(*each) for each in ((package, folder), *others)]),
        bytecode_cache=_compiled(files(package).joinpath(folder)),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _compiled(folder: object) -> FileSystemBytecodeCache | None:
    """Return a cache of compiled templates: beside them in `__pycache__`, as Python keeps compiled
    modules, since compiling takes longer than filling in a small run's page. None where that folder
    cannot be written, or Python is set to write none."""
    if sys.dont_write_bytecode or not isinstance(folder, Path):
        return None
    kept = folder / "__pycache__"
    try:
        kept.mkdir(exist_ok=True)
    except OSError:
        return None
    if not os.access(kept, os.W_OK | os.X_OK):
        return None
    return FileSystemBytecodeCache(str(kept), f"%s.{sys.implementation.cache_tag}.jinja")


def content_source(text: str) -> str:
    """Return a style sheet's or script's digest in the form in which a content security policy
    allows it."""
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"
