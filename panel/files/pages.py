"""What pages have in common: templates whose texts are escaped, and what a page may run."""

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
    is invisible in it visible; an unknown name is an error.

    Args:
        others: packages and folders whose templates these may import.
    """
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
    """Where compiled templates are kept, as Python keeps its modules': beside them in
    `__pycache__`. To compile them takes longer than to fill them in for a small run. None where
    that folder cannot be written, or Python is told to write none."""
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
    """A style sheet or a script as a content security policy allows it, by its digest."""
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"
