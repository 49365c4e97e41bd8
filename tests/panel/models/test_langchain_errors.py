"""Errors of providers' packages, by what they hold: `persona_panel.models.langchain_errors`."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core import exceptions as langchain

from persona_panel.models.client import CallError
from persona_panel.models.langchain_errors import answer_in, call_error_of

RETRY_INFO = "type.googleapis.com/google.rpc.RetryInfo"


def error(text: str = "as it says", **attributes: Any) -> Exception:
    """An error of a package that nobody knows, with these attributes."""
    made = RuntimeError(text)
    for name, value in attributes.items():
        setattr(made, name, value)
    return made


def caused(outer: Exception, inner: Exception) -> Exception:
    outer.__cause__ = inner
    return outer


def amazon(code: str, message: str, status: int, **headers: str) -> Exception:
    """What botocore's `ClientError` holds."""
    meta = {"HTTPStatusCode": status, "HTTPHeaders": headers}
    return error(response={"Error": {"Code": code, "Message": message}, "ResponseMetadata": meta})


@pytest.mark.parametrize(
    ("raised", "kind", "status"),
    [
        (error(status_code=503), "transient", 503),
        (error(code=503), "transient", 503),
        (error(response=SimpleNamespace(status_code=401)), "permanent", 401),
        (error(response=SimpleNamespace(status=429)), "transient", 429),
        (amazon("ThrottlingException", "Slow down.", 429), "transient", 429),
        (
            amazon("ValidationException", "Input is too long for requested model.", 400),
            "rejected",
            400,
        ),
        (caused(error("wrapped"), error(code=429)), "transient", 429),
        (caused(error("wrapped"), error(status_code=404)), "permanent", 404),
        # A stream that ended in an error, and a success that was none.
        (error(status_code=-1), "transient", 502),
        (error(status_code=200), "transient", 502),
        # No status: neither of a boolean nor of a code of another kind.
        (error(status_code=True, code=1006), "rejected", None),
        (error(code="insufficient_quota", status_code=429), "permanent", 429),
        (error("API key not valid. Please pass one.", code=400), "permanent", 400),
        (error(body={"error": {"type": "billing_error"}}, status_code=400), "permanent", 400),
        (
            error(details={"error": {"details": [{"reason": "API_KEY_INVALID"}]}}, code=400),
            "permanent",
            400,
        ),
    ],
)
def test_what_an_error_holds_says_what_it_means(
    raised: Exception, kind: str, status: int | None
) -> None:
    """The status, the codes and the reasons are found wherever a package keeps them."""
    fault = call_error_of(raised)
    assert (fault.kind, fault.status) == (kind, status)


@pytest.mark.parametrize(
    ("raised", "kind"),
    [
        (langchain.ModelRateLimitError("x"), "transient"),
        (langchain.ModelAPIError("x"), "transient"),
        (langchain.ModelConnectionError("x"), "transient"),
        (langchain.ModelTimeoutError("x"), "transient"),
        (langchain.ModelAuthenticationError("x"), "permanent"),
        (langchain.ModelPermissionDeniedError("x"), "permanent"),
        (langchain.ModelNotFoundError("x"), "permanent"),
        (langchain.ModelInvalidRequestError("x"), "rejected"),
        (langchain.ContextOverflowError("x"), "rejected"),
        (caused(error("wrapped"), langchain.ModelAPIError("x")), "transient"),
    ],
)
def test_langchain_s_own_classes(raised: Exception, kind: str) -> None:
    """Without a status, LangChain's classes and its word on repetition are heeded."""
    assert call_error_of(raised).kind == kind


def test_a_context_overflow_is_one_text_s_whatever_its_status() -> None:
    """LangChain's class for it outweighs a status that would end the model."""

    class TooLong(langchain.ContextOverflowError):
        status_code = 404

    assert call_error_of(TooLong("too long")).kind == "rejected"


@pytest.mark.parametrize(
    ("raised", "seconds"),
    [
        (error(status_code=429, response=SimpleNamespace(headers={"RETRY-AFTER": "3"})), 3.0),
        (amazon("ThrottlingException", "Slow down.", 429, **{"retry-after": "4"}), 4.0),
        (
            error(
                code=429,
                details=[
                    {
                        "error": {
                            "details": [{"@type": "x/google.rpc.RetryInfo", "retryDelay": "7s"}]
                        }
                    }
                ],
            ),
            7.0,
        ),
        (error(code=429, body={"details": [{"@type": RETRY_INFO, "retryDelay": "soon"}]}), None),
        (error(status_code=401, response=SimpleNamespace(headers={"retry-after": "3"})), None),
    ],
)
def test_how_long_to_wait(raised: Exception, seconds: float | None) -> None:
    """Headers and Google's body tell it; of a fault that stays, nobody waits for an end."""
    assert call_error_of(raised).retry_after == seconds


def test_a_connection_that_was_never_made_costs_nothing() -> None:
    """Packages wrap what their client says of it, Ollama's without a cause."""
    try:
        try:
            raise ConnectionRefusedError("refused")
        except OSError:
            raise ConnectionError("is it running?") from None
    except ConnectionError as raised:
        fault = call_error_of(raised)
    assert (fault.kind, fault.used is None) == ("transient", False)
    assert call_error_of(ConnectionError("broke off")).used is None


def test_what_a_model_said_beside_the_schema_is_its_answer() -> None:
    """Groq refuses a text that fits no schema, and quotes it: it is read all the same."""
    said = {"error": {"code": "json_validate_failed", "failed_generation": '{"score": "seven"}'}}
    reply = answer_in(error(status_code=400, body=said), 0.5)
    assert reply is not None
    assert (reply.text, reply.finish_reason, reply.refusal) == ('{"score": "seven"}', "stop", None)


def test_a_circle_of_causes_ends() -> None:
    """Errors that are each other's cause are read once each."""
    one, other = error("one"), error("other", status_code=503)
    one.__cause__, other.__cause__ = other, one
    assert call_error_of(one).status == 503


def test_a_response_that_is_still_to_be_read_is_no_obstacle() -> None:
    """A body that a client has not fetched raises where it is looked for; the status is enough."""

    class Streaming:
        status_code = 500
        headers = SimpleNamespace()

        @property
        def content(self) -> bytes:
            raise RuntimeError("not read yet")

    assert call_error_of(error(response=Streaming())).kind == "transient"


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["error", "details", "code", "type", "message", "retryDelay", "@type", "x"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(
    st.dictionaries(
        st.sampled_from(["status_code", "code", "body", "details", "response", "headers", "type"]),
        _JSON,
        max_size=5,
    )
)
def test_no_error_is_too_odd(attributes: dict[str, Any]) -> None:
    """Whatever a package puts into its errors, they become a fault or a refusal."""
    raised = error(**attributes)
    if (answer := answer_in(raised, 0.1)) is not None:
        # Half a surrogate pair could be written nowhere.
        (answer.text + (answer.refusal or "")).encode()
    fault = call_error_of(raised)
    assert isinstance(fault, CallError)
    assert fault.kind in ("transient", "rejected", "permanent")
    assert fault.status is None or 300 <= fault.status < 600
