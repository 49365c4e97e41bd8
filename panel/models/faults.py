"""The `CallError` of an exchange over HTTP that brought no reply, for clients over
`HttpConnection`: `reached` where no answer came, `fault_of` where the answer cannot be used.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any

from persona_panel.files.limits import is_lack_of_descriptors
from persona_panel.files.secrets import scrub
from persona_panel.models.client import NOTHING, CallError, FaultKind, usage_in
from persona_panel.models.completions import (
    Complaint,
    error_in,
    error_of,
    kind_of,
    parsed,
    retry_after,
    retry_delay,
)
from persona_panel.models.http_responses import MOST_BYTES, HttpResponse

_EXCERPT = 300


async def reached(exchange: Awaitable[HttpResponse], at: str, timeout_s: float) -> HttpResponse:
    """Return what an exchange of an `HttpConnection` brings, whatever its status. `at`: the
    address, as messages name it; without credentials; `timeout_s`: of the connection, for the
    message. Raises CallError: no answer came; `transient`, or `permanent` where no other try can
    fare better; TimeoutError: none came in time."""
    # When first called: libcurl is nothing that a run from the cache needs.
    from persona_panel.models.http_transfer import NoHttpResponse

    fault: CallError | TimeoutError
    try:
        return await exchange
    except TimeoutError:
        fault = TimeoutError(f"{at}: no answer within {timeout_s:g} s")
    except (NoHttpResponse, OSError) as error:
        unsent = getattr(error, "is_unsent", False)
        fault = CallError(
            one_line(f"{at}: {error}", at),
            kind="permanent" if getattr(error, "is_final", False) else "transient",
            used=NOTHING if unsent else None,
            unsent=unsent,
            no_descriptor=is_lack_of_descriptors(error),
        )
    # Raised out here, the fault has no context that could hold more than it says.
    raise fault


def fault_of(answer: HttpResponse, at: str) -> CallError:
    """Return the fault that an answer is which brought no reply.

    Its kind goes by the status, and by what providers are known to call a bad key, an empty account
    or a text that is too long. `retry_after` is what the answer says. `used` is what it says as
    OpenAI's servers do; else nothing where the call was refused, and None, unknown, where a success
    holds no reply. `answer`: any that is no success, or a success without what was asked for; `at`:
    the address, as the message names it; without credentials."""
    if not answer.whole and answer.status < 300:
        return too_long(at)
    content = parsed(answer)
    complaint = error_of(content, answer)
    return complained(complaint, kind_of(complaint), answer, content, at)


def too_long(at: str) -> CallError:
    """Return the fault of a success that is longer than is read: tried again, it would be sent, and
    paid for, once more. What it took, nobody knows."""
    message = f"{at}: the answer is longer than {MOST_BYTES:,} bytes"
    return CallError(message, kind="rejected", used=None)


def complained(
    complaint: Complaint, kind: FaultKind, answer: HttpResponse, content: Any, at: str
) -> CallError:
    """Return the fault of a complaint that was read in the content of an answer; see `fault_of`."""
    refused = answer.status >= 300 or (isinstance(content, dict) and error_in(content))
    return CallError(
        one_line(f"{at} answered {answer.status}: {complaint.message}", at),
        kind=kind,
        status=complaint.status,
        retry_after=_wait(answer, content) if kind == "transient" else None,
        # A success without an answer may have been paid for, whether or not it says so.
        used=usage_in(content) or (NOTHING if refused else None),
    )


def one_line(text: str, at: str) -> str:
    """Return a message that begins with an address, on one line, shortened and without keys."""
    # Scrubbed before it is shortened: half a key would not be recognised. The first,
    # generous cut only keeps a huge body from being searched.
    visible = "".join(char if char.isprintable() else " " for char in text[:20_000])
    line = " ".join(scrub(visible).split())
    limit = len(at) + _EXCERPT
    return line if len(line) <= limit else line[: limit - 1] + "…"


def _wait(answer: HttpResponse, content: Any) -> float | None:
    """Return how long the server asks to wait, in seconds, in its headers or, Google's, in its
    error."""
    seconds = retry_after(answer.headers)
    error = error_in(content) if seconds is None and isinstance(content, dict) else None
    return retry_delay(error.get("details")) if isinstance(error, dict) else seconds
