"""What pages have in common: templates whose texts are escaped, and what a page may run."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from hashlib import sha256
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined


def templates(package: str, folder: str, shown: Callable[[Any], Any]) -> Environment:
    """The templates in a package's folder: every value is escaped, after `shown` made what is
    invisible in it visible; an unknown name is an error."""
    return Environment(
        loader=PackageLoader(package, folder),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def content_source(text: str) -> str:
    """A style sheet or a script as a content security policy allows it, by its digest."""
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"
