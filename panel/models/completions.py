"""Chat completions, which served and embedded models share: requests, answers and errors.

A `ModelRequest` becomes a request's body, and an answer's body a `ModelResponse` or a LangChain
message. For an answer of OpenAI's protocol that is no completion, pure functions say what the
server complained about, whether the same call may succeed later, and which parameter it does not
take.
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

import orjson

from persona_panel.files.outputs import as_json
from persona_panel.models.client import FaultKind, completion_usage
from persona_panel.models.http_responses import HttpResponse, content_of
from persona_panel.rubrics import ModelRequest, ModelResponse, Position
from persona_panel.rubrics.replies import well_formed

_LONGEST_REASON = 1_000
"""Characters of a refusal or of a reason to finish: a run's summary keeps each one."""
CONTINUED = {"continue_final_message": True, "add_generation_prompt": False}
"""Options that have the last message continued, in vLLM's words; llama.cpp does so unasked."""


def body_of(request: ModelRequest, *, top_logprobs_cap: int | None = None) -> dict[str, Any]:
    """Return the body of a request, without what belongs to a model (its name, its temperature)."""
    body: dict[str, Any] = {"messages": messages_of(request), "max_tokens": request.max_tokens}
    if request.prefill:
        body |= CONTINUED
    if request.schema is not None:
        wanted = {"name": "judgment", "strict": True, "schema": request.schema}
        body["response_format"] = {"type": "json_schema", "json_schema": wanted}
    if request.top_logprobs > 0:
        body["logprobs"] = True
        body["top_logprobs"] = min(request.top_logprobs, top_logprobs_cap or request.top_logprobs)
    return body


def messages_of(request: ModelRequest) -> list[dict[str, str]]:
    """Return the conversation so far, in OpenAI's shape."""
    messages = [{"role": "system", "content": request.system}] if request.system else []
    messages.append({"role": "user", "content": "".join(request.blocks)})
    for answered, asked in request.exchange:
        messages.append({"role": "assistant", "content": answered})
        messages.append({"role": "user", "content": asked})
    if request.prefill:
        messages.append({"role": "assistant", "content": request.prefill})
    return messages


class SeveralChoices(ValueError):
    """An answer of more than one choice, where one was asked for."""


def read_completion(completion: Mapping[str, Any], latency_s: float) -> ModelResponse:
    """Read an answer's body. Its form may differ from the protocol's: only the answer itself is
    required. Raises SeveralChoices: it is more than one answer; AttributeError, LookupError,
    TypeError, ValueError: it is no chat completion."""
    choice = completion["choices"][0]
    if (n := len(completion["choices"])) > 1:
        raise SeveralChoices(several(n))
    # The older protocol has a text in the choice, and no message.
    message = choice["message"] if "message" in choice else {"content": choice["text"]}
    finish_reason = short(choice.get("finish_reason")) or "stop"
    filtered = "content_filter" if finish_reason == "content_filter" else None
    logprobs = choice.get("logprobs")
    return ModelResponse(
        text=_text(message),
        finish_reason=finish_reason,
        refusal=short(message.get("refusal")) or filtered,
        logprobs=positions_of(logprobs) if logprobs else (),
        usage=completion_usage(completion.get("usage")),
        latency_s=latency_s,
    )


def several(n: int) -> str:
    """Return the fault of an answer with `n` choices, in words."""
    return f"the answer holds {n} choices, and one was asked for"


def positions_of(logprobs: Any) -> tuple[Position, ...]:
    """Return the log-probabilities of an answer, token by token; none where they are in no such
    form, which says nothing against the answer itself."""
    try:
        return tuple(
            Position(
                position["token"],
                tuple((top["token"], top["logprob"]) for top in position.get("top_logprobs") or ()),
                position.get("logprob"),
            )
            for position in logprobs.get("content") or ()
        )
    except (AttributeError, LookupError, TypeError):
        return ()


def _text(message: Mapping[str, Any]) -> str:
    """Return the text of a message. Where it has no content, other fields are searched for an
    answer."""
    content = message.get("content")
    text = content if isinstance(content, str) else _content(content)
    if text.strip():
        return text
    match message:
        # Servers that take a schema for a tool, in both of the protocol's words for one.
        case {"tool_calls": [{"function": {"arguments": str(answer)}}, *_]}:
            return answer
        case {"function_call": {"arguments": str(answer)}}:
            return answer
        # vLLM, where a model was told not to think: thoughts are no text, an object is.
        case {"reasoning_content": str(answer)} | {"reasoning": str(answer)} if _is_object(answer):
            return answer
    return text


def _content(content: Any) -> str:
    if content is None:
        return ""
    if isinstance(content, list):
        # Mistral's reasoning models answer in parts, of which the thoughts are no text.
        return "".join(map(_part, content))
    # Some servers hand out the JSON that was asked for as JSON.
    return orjson.dumps(content).decode()


def _part(part: Any) -> str:
    match part:
        case str():
            return part
        case {"type": "text" | "output_text", "text": str(text)}:
            return text
    return ""


def _is_object(text: str) -> bool:
    return text.lstrip()[:1] == "{" and text.rstrip()[-1:] == "}"


def short(reason: Any) -> str | None:
    """Return a reason as text; what is no reason, or an empty one, is None."""
    if not reason:
        return None
    if not isinstance(reason, str):
        reason = as_json(reason).decode()
    elif len(reason) <= _LONGEST_REASON and reason.isascii():
        return reason
    return well_formed(reason[:_LONGEST_REASON])


def completion_in(content: Any, status: int) -> dict[str, Any] | None:
    """Return the content if it is a completion: a success that nowhere holds an error."""
    if status >= 300 or not isinstance(content, dict) or error_in(content):
        return None
    return content if content.get("choices") else None


def error_in(content: dict[str, Any]) -> Any:
    """Return the error that an answer holds, wherever it stands; None or empty where there is
    none.
    """
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
"""The codes with which OpenAI and Azure say that their filter stopped a request."""
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
    """Return an answer's body as JSON's types; None where it is no JSON."""
    content = content_of(answer.body, answer.headers)
    # Gemini's endpoint wraps its errors in a list.
    return content[0] if isinstance(content, list) and content else content


def error_of(content: Any, answer: HttpResponse) -> Complaint:
    """Return the complaint in an answer that holds no completion."""
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
    body = answer.body[:20_000].decode(errors="replace").strip() or "nothing"
    return f"no chat completion but {body}" if answer.status < 300 else body


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
    """Return whether the provider's filter stopped a request or its answer: a refusal, and no
    fault."""
    return complaint.status in (400, 403) and bool(
        complaint.names & _FILTERED or _FILTERED_WORDS.search(complaint.message)
    )


def refused_by_filter(complaint: Complaint, content: Any) -> dict[str, Any]:
    """Return a completion that says what the filter said."""
    message = {"role": "assistant", "content": "", "refusal": complaint.message}
    choice = {"index": 0, "message": message, "finish_reason": "content_filter"}
    usage = content.get("usage") if isinstance(content, dict) else None
    return {"choices": [choice], "usage": usage}


def kind_of(complaint: Complaint) -> FaultKind:
    """Return whether the same call may succeed later, never, or no call will."""
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
    """Return the seconds to wait, from `retry-after-ms` or either form of `Retry-After`; where
    `headers` tells upper from lower case, its names are in lower case."""
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
    """Return the seconds to wait, from the details of one of Google's errors."""
    for detail in details if isinstance(details, list) else ():
        if isinstance(detail, dict) and str(detail.get("@type")).endswith("google.rpc.RetryInfo"):
            return _number(str(detail.get("retryDelay")).removesuffix("s"))
    return None


def _moment(value: str | None) -> float | None:
    """Return a header's date in seconds since 1970."""
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
"""The parameters that can be left out and still bring an answer of the kind asked for. Logprobs
cannot."""

_RESPONSE_FORMAT = re.compile(r"response[_ ]format|json[_ ]schema", re.IGNORECASE)
_UNSUPPORTED = re.compile(
    r"unsupported|(not|n't) support|unknown|unrecogni[sz]ed|unexpected|not implemented"
    r"|extra[_ ](inputs|fields|forbidden)|not permitted|unavailable",
    re.IGNORECASE,
)
_TWINS = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}


def declined_parameter(complaint: Complaint, payload: Mapping[str, Any]) -> str | None:
    """Return the parameter of this payload that the server says it does not take, if any."""
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
    """Return the option that the server says it does not take, or not with this value; None where
    it names none. A limit of tokens may be too high for one text alone."""
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
    """Return the payload less what was declined; a limit on tokens takes its other name first."""
    if declined.isdisjoint(payload):
        return payload
    kept = {name: value for name, value in payload.items() if name not in declined}
    for name in declined & payload.keys() & _TWINS.keys():
        if _TWINS[name] not in declined:
            kept[_TWINS[name]] = payload[name]
    return kept
