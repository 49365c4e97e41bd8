"""Versions of packages, as documents have them."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

import pytest

from persona_panel.files.outputs import version_of


@pytest.mark.parametrize("package", ["persona-panel", "numpy", "scipy", "pydantic", "orjson"])
def test_a_version_is_that_of_the_installed_package(package: str) -> None:
    """The same as by the parser of its whole metadata."""
    assert version_of(package) == version(package)


def test_a_package_that_is_not_installed_has_none() -> None:
    """It is refused as by importlib."""
    with pytest.raises(PackageNotFoundError):
        version_of("no-such-package")
