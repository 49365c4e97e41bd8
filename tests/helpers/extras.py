"""Tests of an extra's packages: left out where they are absent, and a fault where CI says that they
are there."""

from __future__ import annotations

import os
from importlib.util import find_spec

import pytest


def needs_extra(extra: str, module: str) -> pytest.MarkDecorator:
    """Skips where the extra is not installed, by one of its modules; under CI, which sets
    PERSONA_PANEL_ALL_EXTRAS, the test is run and fails."""
    try:
        absent = find_spec(module) is None
    except ModuleNotFoundError:
        absent = True
    left_out = absent and "PERSONA_PANEL_ALL_EXTRAS" not in os.environ
    return pytest.mark.skipif(left_out, reason=f"pip install 'persona-panel[{extra}]'")
