"""Any server that speaks OpenAI's chat completions: OpenAI, vLLM, Ollama, llama.cpp, …

The panel asks through `OpenAICompatible.reply`, which goes from an `Ask` straight to the
socket and back; LangChain reaches the same endpoint through the ordinary chat model
methods. What this family of servers means by its errors is read here. The shape of a
request and an answer is in `panel.models.completions`; retrying, pacing and caching
stand above, in `panel.calls`.
"""

from __future__ import annotations

import asyncio
import logging
import math
import re
import time
from collections.abc import AsyncGenerator, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple

import orjson
from aiohttp import (
    ClientConnectorCertificateError,
    ClientError,
    ClientSession,
    ClientTimeout,
    DummyCookieJar,
    TCPConnector,
)
from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage, convert_to_openai_messages
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic import ConfigDict, Field, PrivateAttr, SecretStr, field_validator
from yarl import URL

from panel.models.completions import as_message, read_completion, request_of
from panel.models.scrubbing import scrub
from panel.models.speaker import CallError, FaultKind
from rubrics import Ask, Reply

logger = logging.getLogger(__name__)

_TOP_LOGPROBS_CAP = 20  # OpenAI's and vLLM's; above it they answer 400
_EXCERPT = 300


class OpenAICompatible(BaseChatModel):
    """One model behind one chat completions endpoint.

    `base_url` ends where `/chat/completions` begins; it must hold no credentials.
    `timeout_s` is in seconds and spans a whole call, from connecting to the last byte.
    `temperature` and `seed` are sent only where they are given.

    A parameter that the server says it does not support is left out from then on, with a
    warning in the log.
    """

    # A failed validation must not print its input: it may be the key.
    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    model: str = Field(min_length=1)
    base_url: str = "https://api.openai.com/v1"
    api_key: SecretStr | None = None
    temperature: float | None = None
    timeout_s: float = Field(default=60.0, gt=0)
    seed: int | None = None

    _endpoint: URL = PrivateAttr()
    _declined: set[str] = PrivateAttr(default_factory=set)
    _pools: dict[asyncio.AbstractEventLoop, _Pool] = PrivateAttr(default_factory=dict)

    @field_validator("base_url")
    @classmethod
    def _is_a_bare_address(cls, value: str) -> str:
        try:
            url = URL(value)
        except ValueError:
            raise ValueError("base_url is no web address") from None
        if url.scheme not in ("http", "https") or not url.host:
            raise ValueError("base_url starts with http:// or https:// and a host")
        if url.user or url.password or url.query_string or url.fragment:
            raise ValueError("base_url ends with its path; a key goes into api_key")
        return value.rstrip("/")

    @field_validator("api_key")
    @classmethod
    def _fits_a_header(cls, value: SecretStr | None) -> SecretStr | None:
        # A key read from a file often ends with a line break, which no header may hold.
        key = value.get_secret_value().strip() if value else ""
        if not key.isascii() or not key.isprintable() or " " in key:
            raise ValueError("api_key holds a character that no key has, such as a space")
        return SecretStr(key) if key else None

    def model_post_init(self, context: Any, /) -> None:
        super().model_post_init(context)
        self._endpoint = URL(self.base_url + "/chat/completions")
        if self._endpoint.host == "api.openai.com":
            self._declined.add("max_tokens")

    @property
    def parameters(self) -> Mapping[str, Any]:
        """What changes an answer: `model`, `base_url`, `temperature` and `seed`."""
        return {
            "model": self.model,
            "base_url": self.base_url,
            "temperature": self.temperature,
            "seed": self.seed,
        }

    async def reply(self, ask: Ask) -> Reply:
        """Answer one ask, in one call to the server unless it declines a parameter.

        Raises:
            CallError: no usable reply came. Where a 200 holds none, `status` is the one
                that would have fitted: what the error in it names, else 502.
        """
        started = time.perf_counter()
        completion = await self._complete(
            self._settings() | request_of(ask, top_logprobs_cap=_TOP_LOGPROBS_CAP)
        )
        return self._read(completion, time.perf_counter() - started)

    async def aclose(self) -> None:
        """Close the running loop's connections; a later call opens new ones.

        Another loop's are closed by `aclose` there, or when that loop ends.
        """
        if pool := self._pools.get(asyncio.get_running_loop()):
            await pool.keeper.aclose()

    @property
    def _llm_type(self) -> str:
        return "openai-compatible"

    @property
    def _identifying_params(self) -> dict[str, Any]:
        return dict(self.parameters)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        answering = self._agenerate(messages, stop, **kwargs)
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return asyncio.run(answering)
        with ThreadPoolExecutor(max_workers=1) as thread:
            return thread.submit(asyncio.run, answering).result()

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        payload = self._settings() | {"messages": convert_to_openai_messages(messages)} | kwargs
        if stop:
            payload["stop"] = stop
        started = time.perf_counter()
        completion = await self._complete(payload)
        reply = self._read(completion, time.perf_counter() - started)
        message = as_message(reply, completion)
        return ChatResult(generations=[ChatGeneration(message=message)])

    def _settings(self) -> dict[str, Any]:
        settings: dict[str, Any] = {"model": self.model}
        if self.temperature is not None:
            settings["temperature"] = self.temperature
        if self.seed is not None:
            settings["seed"] = self.seed
        return settings

    async def _complete(self, payload: dict[str, Any]) -> dict[str, Any]:
        """The server's completion. Each turn of the loop sends one parameter fewer."""
        while True:
            payload = _without(payload, self._declined)
            answer = await self._post(payload)
            content = _parsed(answer.body)
            if completion := _completion(content, answer.status):
                return completion
            complaint = _complaint(content, answer)
            declined = _declined_parameter(complaint, payload)
            if declined is None:
                raise self._fault(complaint, answer)
            self._remember(declined)

    def _remember(self, declined: str) -> None:
        # Of the calls in flight together each learns it; one line in the log is enough.
        if declined not in self._declined:
            self._declined.add(declined)
            message = "%s at %s does not take %s; asking without it"
            logger.warning(message, self.model, self.base_url, declined)

    async def _post(self, payload: dict[str, Any]) -> _Answer:
        try:
            data = orjson.dumps(payload, default=dict)
        except orjson.JSONEncodeError as error:
            fault = CallError(self._one_line(f"cannot be sent: {error}"), kind="rejected")
        else:
            try:
                return await self._exchange(data)
            except TimeoutError:
                message = f"{self.base_url}: no answer within {self.timeout_s:g} s"
                fault = CallError(message, kind="transient")
            except (ClientError, OSError) as error:
                fault = self._unreachable(error)
        # Raised out here, the fault has no context either: aiohttp's errors hold the
        # request and so the key.
        raise fault

    async def _exchange(self, data: bytes) -> _Answer:
        session = await self._session()
        async with session.post(self._endpoint, data=data, allow_redirects=False) as response:
            return _Answer(response.status, response.headers, await response.read())

    async def _session(self) -> ClientSession:
        """The running loop's session, opened on first use.

        A session belongs to one loop. An asynchronous generator keeps it, because a loop
        that ends closes those of its generators that are still open.
        """
        loop = asyncio.get_running_loop()
        pool = self._pools.get(loop)
        if pool is None:
            keeper = self._keep_session(loop)
            # Nothing is awaited up to its yield, so no second caller gets in between.
            pool = self._pools[loop] = _Pool(await anext(keeper), keeper)
        return pool.session

    async def _keep_session(
        self, loop: asyncio.AbstractEventLoop
    ) -> AsyncGenerator[ClientSession, None]:
        headers = {"Content-Type": "application/json"}
        if self.api_key:
            headers["Authorization"] = f"Bearer {self.api_key.get_secret_value()}"
        session = ClientSession(
            headers=headers,
            timeout=ClientTimeout(total=self.timeout_s),
            # How many calls are in flight is decided above; the default would stop at 100.
            connector=TCPConnector(limit=0),
            cookie_jar=DummyCookieJar(),
        )
        try:
            yield session
        finally:
            self._pools.pop(loop, None)
            await session.close()

    def _read(self, completion: dict[str, Any], latency_s: float) -> Reply:
        try:
            return read_completion(completion, latency_s)
        except (AttributeError, LookupError, TypeError, ValueError):
            message = f"{self.base_url}: the answer is no chat completion"
            raise CallError(message, kind="transient", status=_BROKEN) from None

    def _fault(self, complaint: _Complaint, answer: _Answer) -> CallError:
        kind = _kind(complaint)
        return CallError(
            self._one_line(f"{self.base_url} answered {answer.status}: {complaint.message}"),
            kind=kind,
            status=complaint.status,
            retry_after=_retry_after(answer.headers) if kind == "transient" else None,
        )

    def _unreachable(self, error: Exception) -> CallError:
        hopeless = isinstance(error, ClientConnectorCertificateError)
        return CallError(
            self._one_line(f"{self.base_url}: {type(error).__name__}: {error}"),
            kind="permanent" if hopeless else "transient",
        )

    def _one_line(self, text: str) -> str:
        # Scrubbed before it is shortened: half a key would not be recognised. The first,
        # generous cut only keeps a huge body from being searched.
        secrets = (self.api_key.get_secret_value(),) if self.api_key else ()
        visible = "".join(char if char.isprintable() else " " for char in text[:20_000])
        line = " ".join(scrub(visible, secrets).split())
        limit = len(self.base_url) + _EXCERPT
        return line if len(line) <= limit else line[: limit - 1] + "…"


class _Pool(NamedTuple):
    """A loop's connections, and the generator that closes them when it is closed."""

    session: ClientSession
    keeper: AsyncGenerator[ClientSession, None]


class _Answer(NamedTuple):
    """What came over the wire."""

    status: int
    headers: Mapping[str, str]
    body: bytes


def _completion(content: Any, status: int) -> dict[str, Any] | None:
    """The content if it is a completion: a success that nowhere holds an error."""
    if status >= 300 or not isinstance(content, dict) or _error_in(content):
        return None
    return content if content.get("choices") else None


def _error_in(content: dict[str, Any]) -> Any:
    if error := content.get("error"):
        return error
    # OpenRouter reports a provider that broke off in the choice itself.
    match content.get("choices"):
        case [{"error": error}, *_]:
            return error
    return None


class _Complaint(NamedTuple):
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
}
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
_BROKEN = 502  # the status of an answer that says 200 and is no completion

_NO_SUCH_MODEL = re.compile(
    r"\bmodel\b.{0,80}?\b(does not exist|doesn't exist|not found)"
    r"|\b(unknown|invalid) model\b|not a valid model",
    re.IGNORECASE,
)
_MODERATED = re.compile(r"\bflagged\b|\bmoderation\b", re.IGNORECASE)
_TOO_LONG = re.compile(r"context[_ ](length|window)", re.IGNORECASE)


def _parsed(body: bytes) -> Any:
    try:
        content = orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
    # Gemini's endpoint wraps its errors in a list.
    return content[0] if isinstance(content, list) and content else content


def _complaint(content: Any, answer: _Answer) -> _Complaint:
    """What went wrong, from an answer that holds no completion."""
    if 300 <= answer.status < 400:
        host = _host(answer.headers.get("Location", ""))
        message = f"a redirect to {host}, which is not followed; set base_url to where it leads"
        return _Complaint(message, answer.status)
    if not isinstance(content, dict):
        return _Complaint(_unexplained(answer), _fitting_status(answer.status, ()))
    # Older vLLM has the error's fields at the top, FastAPI a `detail`.
    error = _error_in(content) or content
    if not isinstance(error, dict):
        return _Complaint(str(error), _fitting_status(answer.status, ()))
    names = [str(error[key]) for key in ("code", "type") if error.get(key) is not None]
    return _Complaint(
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


def _unexplained(answer: _Answer) -> str:
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
    return _BROKEN


def _kind(complaint: _Complaint) -> FaultKind:
    status = complaint.status
    if complaint.names & _HOPELESS:
        return "permanent"
    if status in (408, 409, 425, 429) or status >= 500:
        return "transient"
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
        return URL(location).host or "the same host"
    except ValueError:
        return "nowhere"


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds from now, from `retry-after-ms` or either form of `Retry-After`."""
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    value = headers.get("Retry-After")
    seconds = _number(value)
    if seconds is not None or value is None:
        return seconds
    try:
        until = parsedate_to_datetime(value)
    except (ValueError, OverflowError):
        return None
    until = until if until.tzinfo else until.replace(tzinfo=UTC)
    return max(0.0, until.timestamp() - time.time())


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


def _declined_parameter(complaint: _Complaint, payload: Mapping[str, Any]) -> str | None:
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


def _without(payload: dict[str, Any], declined: set[str]) -> dict[str, Any]:
    """The payload less what was declined; a limit on tokens takes its other name first."""
    if declined.isdisjoint(payload):
        return payload
    kept = {name: value for name, value in payload.items() if name not in declined}
    for name in declined & payload.keys() & _TWINS.keys():
        if _TWINS[name] not in declined:
            kept[_TWINS[name]] = payload[name]
    return kept
