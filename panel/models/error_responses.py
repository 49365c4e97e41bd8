"""What servers that speak OpenAI's protocol mean by an answer that is no completion.

Pure functions over what came over the wire: whether it is a completion, what was
complained about, whether the same call may succeed later, which parameter is not taken.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Iterable, Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from persona_panel.models.client import FaultKind
from persona_panel.models.http_responses import HttpResponse, content_of


def completion_in(content: Any, status: int) -> dict[str, Any] | None:
    """The content if it is a completion: a success that nowhere holds an error."""
    if status >= 300 or not isinstance(content, dict) or error_in(content):
        return None
    return content if content.get("choices") else None


def error_in(content: dict[str, Any]) -> Any:
    """The error that an answer holds, wherever it stands; None or empty where there is none."""
    if error := content.get("error"):
        return error
    # OpenRouter reports a provider that broke off in the choice itself.
    choices = content.get("choices")
    if isinstance(choices, list) and choices and isinstance(choices[0], dict):
        return choices[0].get("error")
    return None


class Complaint(NamedTuple):
    """An error in the server's own words.

    `status` is the HTTP status that fits it: a 200 with an error inside is none.
    `names` are its code and its type, `param` the parameter it blames.
    """

    message: str
    status: int
    names: frozenset[str] = frozenset()
    param: str = ""


_HOPELESS = {
    "insufficient_quota",
    "billing_hard_limit_reached",
    "account_deactivated",
    "invalid_api_key",
    "model_not_found",
    # Google's, Anthropic's, Mistral's and Groq's.
    "API_KEY_INVALID",
    "billing_error",
    "invalid_model",
    "organization_restricted",
    "blocked_api_access",
}
_FILTERED = {"content_filter", "content_policy_violation", "invalid_prompt"}
"""What OpenAI and Azure call a request that their filter stopped."""
_BUSY = {"capacity_exceeded"}
_STATUS_OF = {
    "invalid_request_error": 400,
    "context_length_exceeded": 400,
    "content_filter": 400,
    "authentication_error": 401,
    "invalid_api_key": 401,
    "model_not_found": 404,
    "not_found_error": 404,
    "insufficient_quota": 429,
    "rate_limit_exceeded": 429,
}
BROKEN = 502  # the status of an answer that says 200 and is no completion

_NO_SUCH_MODEL = re.compile(
    r"\bmodel\b.{0,80}?\b(does not exist|doesn't exist|not found)"
    r"|\b(unknown|invalid) model\b|not a valid model",
    re.IGNORECASE,
)
# What providers that have no code for it say of a key, an account and a model, with a 400 or 429.
_HOPELESS_WORDS = re.compile(
    r"api key (is )?(not valid|invalid|expired)"
    r"|credit balance is too low|credits are depleted"
    r"|model identifier is invalid|on-demand throughput isn.t supported"
    r"|user location is not supported",
    re.IGNORECASE,
)
# OpenRouter's words, and xAI's.
_MODERATED = re.compile(
    r"\bflagged\b|\bmoderation\b|violates usage guidelines|\bSAFETY_CHECK_", re.IGNORECASE
)
_FILTERED_WORDS = re.compile(r"blocked by content filtering policy", re.IGNORECASE)
_TOO_LONG = re.compile(
    r"context[_ ](length|window)|maximum number of tokens allowed|(prompt|input) is too long",
    re.IGNORECASE,
)


def parsed(answer: HttpResponse) -> Any:
    """What an answer holds, as JSON's types; None where it holds no JSON."""
    content = content_of(answer.body, answer.headers)
    # Gemini's endpoint wraps its errors in a list.
    return content[0] if isinstance(content, list) and content else content


def error_of(content: Any, answer: HttpResponse) -> Complaint:
    """What went wrong, from an answer that holds no completion."""
    if 300 <= answer.status < 400:
        host = _host(answer.headers.get("Location", ""))
        message = (
            f"a redirect to {host}, which is not followed; set base_url to the address "
            "that it points to"
        )
        return Complaint(message, answer.status)
    if not isinstance(content, dict):
        return Complaint(_unexplained(answer), _fitting_status(answer.status, ()))
    # Older vLLM has the error's fields at the top, FastAPI a `detail`.
    error = error_in(content) or content
    if not isinstance(error, dict):
        return Complaint(str(error), _fitting_status(answer.status, ()))
    names = [str(error[key]) for key in ("code", "type") if error.get(key) is not None]
    return Complaint(
        message=_explanation(error) or _unexplained(answer),
        status=_fitting_status(answer.status, names),
        names=frozenset(names),
        param=str(error.get("param") or ""),
    )


def _explanation(error: Mapping[str, Any]) -> str:
    parts = [error.get("message") or error.get("detail")]
    if isinstance(metadata := error.get("metadata"), dict):
        # OpenRouter's own message only says that the provider failed; why is in here.
        parts.append(metadata.get("raw"))
    return " ".join(str(part) for part in parts if part)


def _unexplained(answer: HttpResponse) -> str:
    said = answer.body[:20_000].decode(errors="replace").strip() or "nothing"
    return f"no chat completion but {said}" if answer.status < 300 else said


def _fitting_status(status: int, names: Iterable[str]) -> int:
    if status >= 300:
        return status
    for name in names:
        if name.isdecimal() and 400 <= int(name) < 600:
            return int(name)
        if name in _STATUS_OF:
            return _STATUS_OF[name]
    return BROKEN


def is_filtered(complaint: Complaint) -> bool:
    """Whether the provider's filter stopped a request or its answer: a refusal, and no fault."""
    return complaint.status in (400, 403) and bool(
        complaint.names & _FILTERED or _FILTERED_WORDS.search(complaint.message)
    )


def refused_by_filter(complaint: Complaint, content: Any) -> dict[str, Any]:
    """A completion that says what the filter said."""
    message = {"role": "assistant", "content": "", "refusal": complaint.message}
    choice = {"index": 0, "message": message, "finish_reason": "content_filter"}
    usage = content.get("usage") if isinstance(content, dict) else None
    return {"choices": [choice], "usage": usage}


def kind_of(complaint: Complaint) -> FaultKind:
    """Whether the same call may succeed later, never, or no call will."""
    status = complaint.status
    if complaint.names & _HOPELESS:
        return "permanent"
    if status in (400, 429) and _HOPELESS_WORDS.search(complaint.message):
        return "permanent"
    # 424 is Amazon's for a model that failed.
    if status in (408, 409, 424, 425, 429) or status >= 500 or complaint.names & _BUSY:
        return "transient"
    # Some of these say that a model's context has no such length, which is no word on the model.
    if status in (400, 413, 422) and _TOO_LONG.search(complaint.message):
        return "rejected"
    # OpenRouter's 403 for a text that its moderation flagged says nothing about the next.
    if status == 403 and _MODERATED.search(complaint.message):
        return "rejected"
    # 402 is an empty account, 405 an address that is no API.
    if status < 400 or status in (401, 402, 403, 404, 405):
        return "permanent"
    if status == 400 and _NO_SUCH_MODEL.search(complaint.message):
        return "permanent"
    return "rejected"


def _host(location: str) -> str:
    try:
        return urlsplit(location).hostname or "the same host"
    except ValueError:
        return "nowhere"


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds from now, from `retry-after-ms` or either form of `Retry-After`; by those names in
    lower case, where case tells headers apart."""
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    value = headers.get("retry-after")
    seconds = _number(value)
    if seconds is not None or value is None:
        return seconds
    until = _moment(value)
    if until is None:
        return None
    # By the server's own clock: this machine's may be an hour off.
    now = _moment(headers.get("date"))
    return max(0.0, until - (time.time() if now is None else now))


def retry_delay(details: Any) -> float | None:
    """Seconds from now, as Google's errors say in their details."""
    for detail in details if isinstance(details, list) else ():
        if isinstance(detail, dict) and str(detail.get("@type")).endswith("google.rpc.RetryInfo"):
            return _number(str(detail.get("retryDelay")).removesuffix("s"))
    return None


def _moment(value: str | None) -> float | None:
    """Seconds since 1970 of a header's date."""
    try:
        moment = parsedate_to_datetime(value or "")
    except (ValueError, OverflowError):
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _number(value: str | None) -> float | None:
    try:
        number = float(value or "")
    except ValueError:
        return None
    return max(0.0, number) if math.isfinite(number) else None


_DROPPABLE = (
    "temperature",
    "seed",
    "max_tokens",
    "max_completion_tokens",
    "continue_final_message",
    "add_generation_prompt",
)
"""What may be left out and still bring an answer of the kind asked for. Logprobs may not."""

_RESPONSE_FORMAT = re.compile(r"response[_ ]format|json[_ ]schema", re.IGNORECASE)
_UNSUPPORTED = re.compile(
    r"unsupported|(not|n't) support|unknown|unrecogni[sz]ed|unexpected|not implemented"
    r"|extra[_ ](inputs|fields|forbidden)|not permitted|unavailable",
    re.IGNORECASE,
)
_TWINS = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}


def declined_parameter(complaint: Complaint, payload: Mapping[str, Any]) -> str | None:
    """The parameter of this payload that the server says it does not take, if any."""
    words = " ".join((*complaint.names, complaint.param, complaint.message))
    # OpenAI's words for too long a text mention the schema among what takes up room.
    if complaint.status not in (400, 422, 501) or _TOO_LONG.search(words):
        return None
    if "response_format" in payload and _RESPONSE_FORMAT.search(words):
        return "response_format"
    if not _UNSUPPORTED.search(words):
        return None
    if complaint.param in _DROPPABLE and complaint.param in payload:
        return complaint.param
    # The first it names: what follows is often what to use instead.
    named = re.search(rf"\b({'|'.join(_DROPPABLE)})\b", complaint.message)
    return named[1] if named and named[1] in payload else None


def blamed_option(complaint: Complaint, options: Iterable[str]) -> str | None:
    """The option that the server says it does not take, or not with this value; None where it
    names none. A limit of tokens may be too high for one text alone."""
    if complaint.status not in (400, 422) or _TOO_LONG.search(complaint.message):
        return None
    named = re.split(r"[.\[]", complaint.param)[0]
    for option in options:
        if option in _TWINS:
            continue
        quoted = re.search(rf"[`'\"]{re.escape(option)}\b", complaint.message)
        if named == option or (quoted and _UNSUPPORTED.search(complaint.message)):
            return option
    return None


def without(payload: dict[str, Any], declined: set[str]) -> dict[str, Any]:
    """The payload less what was declined; a limit on tokens takes its other name first."""
    if declined.isdisjoint(payload):
        return payload
    kept = {name: value for name, value in payload.items() if name not in declined}
    for name in declined & payload.keys() & _TWINS.keys():
        if _TWINS[name] not in declined:
            kept[_TWINS[name]] = payload[name]
    return kept
