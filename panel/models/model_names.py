"""Whether two names are of one model; pure."""

from __future__ import annotations

import re

_VERSION = re.compile(r"[-:@](\d{4}-\d\d-\d\d|\d{3,8}|latest)$")


def is_another_model(said: str, asked: str) -> bool:
    """Whether two names are of two models: not by a date or number of a release at their end, and
    not by a path before them."""
    one, other = (
        _VERSION.sub("", name.casefold().rstrip("/").rpartition("/")[2]) for name in (said, asked)
    )
    return one != other
