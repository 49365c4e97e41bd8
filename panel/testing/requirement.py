"""What every check for authors of extensions does with what it finds: `require`."""

from __future__ import annotations


def require(right: bool, otherwise: str) -> None:
    """
    Raises:
        AssertionError: it is not right; `otherwise` says what is wrong.
    """
    if not right:
        raise AssertionError(otherwise)
