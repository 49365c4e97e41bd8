"""What becomes of an exchange that brought no reply."""

from __future__ import annotations

import pytest

from persona_panel.models.client import NOTHING, CallError
from persona_panel.models.http_connection import HttpConnection
from persona_panel.models.http_responses import MOST_BYTES, HttpResponse
from persona_panel.models.openai_client import fault_of, reached
from persona_panel.testing import always, raw, serving, stall

AT = "http://localhost/v1/generate"


@pytest.mark.parametrize(
    ("status", "kind", "is_known"),
    [
        (200, "transient", False),
        (400, "rejected", True),
        (401, "permanent", True),
        (404, "permanent", True),
        (413, "rejected", True),
        (429, "transient", True),
        (500, "transient", True),
    ],
)
def test_the_kind_goes_by_the_status(status: int, kind: str, *, is_known: bool) -> None:
    """What a refused call took is nothing, what a success without a reply took is unknown; the
    answer's words are in the message, and its wait where another try may help."""
    fault = fault_of(HttpResponse(status, {"retry-after": "3"}, b'{"detail": "so\\nit is"}'), AT)
    assert (fault.kind, fault.used) == (kind, NOTHING if is_known else None)
    assert str(fault) == f"{AT} answered {status}: so it is"
    assert fault.retry_after == (3.0 if kind == "transient" else None)


async def test_an_answer_that_is_too_long_is_not_asked_for_again() -> None:
    """A success of which only the beginning was read says how much is read, and not what it
    holds: another try would be paid for, too, and be as long."""
    with serving(always(raw({"text": "7" * MOST_BYTES})), path="generate") as server:
        url = f"{server.base_url}/generate"
        connection = HttpConnection(url, None, 20.0)
        answer = await reached(connection.exchange(b"{}"), url, 20.0)
        await connection.aclose()
    fault = fault_of(answer, url)
    assert (fault.kind, fault.used) == ("rejected", None)
    assert str(fault) == f"{url}: the answer is longer than {MOST_BYTES:,} bytes"


async def test_an_exchange_without_an_answer_is_a_fault() -> None:
    """A port where nobody listens is a call that was not sent; one that takes too long is a
    TimeoutError that says how long was waited."""
    with serving(always(raw({"text": "7"})), path="generate") as server:
        url = f"{server.base_url}/generate"
        connection = HttpConnection(url, None, 5.0)
        answer = await reached(connection.exchange(b"{}"), url, 5.0)
        assert answer.body == b'{"text":"7"}'
        await connection.aclose()
    gone = HttpConnection(url, None, 5.0)
    with pytest.raises(CallError) as caught:
        await reached(gone.exchange(b"{}"), url, 5.0)
    await gone.aclose()
    assert (caught.value.kind, caught.value.unsent, caught.value.used) == (
        "transient",
        True,
        NOTHING,
    )
    with serving(always(stall(3)), path="generate") as server:
        url = f"{server.base_url}/generate"
        slow = HttpConnection(url, None, 0.1)
        with pytest.raises(TimeoutError, match=r"no answer within 0\.1 s"):
            await reached(slow.exchange(b"{}"), url, 0.1)
        await slow.aclose()
