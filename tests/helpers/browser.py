"""A real browser for the tests of the page: the system's Chromium, by Playwright."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

_NAMES = ("chromium", "chromium-browser", "google-chrome")
_OFFLINE = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@contextmanager
def chromium() -> Iterator[Any]:
    """A browser; skips the test where there is none, but under CI, which has installed it."""
    found = next(filter(None, map(shutil.which, _NAMES)), None)
    if found is None and "PERSONA_PANEL_ALL_EXTRAS" not in os.environ:
        pytest.skip("no Chromium on this machine: apt-get install chromium")
    assert found is not None, "no Chromium, which .ci/run installs"
    api = pytest.importorskip("playwright.sync_api", reason="pip install 'persona-panel[test]'")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=list(_OFFLINE))
        yield browser
        browser.close()
