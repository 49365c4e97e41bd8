"""The wires as tests take them: each in turn, where its packages are installed."""

from __future__ import annotations

import pytest

from tests.contracts.measure import wires
from tests.contracts.wire import Wire

WIRES = wires()
each_wire = pytest.mark.parametrize("wire", WIRES, ids=[wire.provider for wire in WIRES])


def needed(wire: Wire) -> Wire:
    """The wire itself; without its packages the test is skipped."""
    if wire.missing:
        pytest.skip(f"{', '.join(wire.missing)} not installed; the extra contracts brings them")
    return wire
