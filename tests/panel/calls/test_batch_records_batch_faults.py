"""What a fault says of a batch that was being sent."""

from __future__ import annotations

import pytest

from persona_panel.calls.batch_records import may_have_arrived, wait_after
from persona_panel.models.client import CallError


@pytest.mark.parametrize(
    ("fault", "seconds"),
    [
        (CallError("busy", kind="transient", status=429, retry_after=30.0), 30.0),
        # At once is a time, too.
        (CallError("busy", kind="transient", status=429, retry_after=0.0), 0.0),
        (CallError("busy", kind="transient", status=503), 2.0),
        (TimeoutError("late"), 2.0),
    ],
    ids=["later", "at once", "unsaid", "late"],
)
def test_it_is_waited_as_long_as_the_provider_asks(
    fault: CallError | TimeoutError, seconds: float
) -> None:
    """And as long as otherwise, here two seconds, where it does not say."""
    assert wait_after(fault, 2.0) == seconds


@pytest.mark.parametrize(
    ("fault", "arrived"),
    [
        (TimeoutError("late"), True),
        (CallError("broken off", kind="transient", used=None), True),
        (CallError("gateway", kind="transient", status=502), True),
        (CallError("busy", kind="transient", status=429), False),
        (CallError("no connection", kind="transient"), False),
    ],
    ids=["late", "broken off", "gateway", "busy", "no connection"],
)
def test_a_batch_may_be_at_its_provider(fault: CallError | TimeoutError, arrived: bool) -> None:
    """Unless it was told to wait, or no connection was made."""
    assert may_have_arrived(fault) is arrived
