"""Any server that speaks OpenAI's chat completions: OpenAI, vLLM, Ollama, llama.cpp, …"""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import orjson
from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator

from persona_panel.files.limits import is_lack_of_descriptors
from persona_panel.files.secrets import scrub
from persona_panel.models.batches import BatchApi
from persona_panel.models.client import (
    NOTHING,
    CallError,
    Capabilities,
    FaultKind,
    name_of_answering,
    not_too_long,
    note_sent,
    usage_in,
)
from persona_panel.models.completions import (
    BROKEN,
    Complaint,
    SeveralChoices,
    blamed_option,
    body_of,
    completion_in,
    declined_parameter,
    error_in,
    error_of,
    is_filtered,
    kind_of,
    parsed,
    read_completion,
    refused_by_filter,
    retry_after,
    retry_delay,
    without,
)
from persona_panel.models.config import (
    HEADER_OPTIONS,
    header_faults,
    options_document,
    without_headers,
)
from persona_panel.models.http_responses import MOST_BYTES, HttpResponse
from persona_panel.models.stray_answers import StrayAnswers
from persona_panel.rubrics import ModelRequest, ModelResponse

if TYPE_CHECKING:
    from persona_panel.models.http_connection import HttpConnection

logger = logging.getLogger(__name__)

_WANTS_A_KEY = 401
_NOT_THERE = 404
_NO_KEY = "no key was sent (key_env in a panel file names the environment variable that holds it)"
_TOP_LOGPROBS_CAP = 20  # OpenAI's and vLLM's; above it they answer 400


class OpenAIClient(BaseModel):
    """One model behind one chat completions endpoint.

    `base_url` ends where `/chat/completions` begins; it must hold no credentials.
    `timeout_s` is in seconds and spans a whole call, from connecting to the last byte.
    `temperature` and `seed` are sent only where they are given. `extra_body` is part of each
    request's body, `headers` go with each request.

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
    extra_body: dict[str, Any] = Field(default_factory=dict)
    headers: dict[str, str] = Field(default_factory=dict)

    @field_validator("base_url")
    @classmethod
    def _is_a_bare_address(cls, value: str) -> str:
        try:
            url = urlsplit(value)
            _ = url.port
        except ValueError:
            raise ValueError("base_url is not a web address") from None
        if url.scheme not in ("http", "https") or not url.hostname:
            raise ValueError("base_url must start with http:// or https:// and a host")
        if url.username or url.password or url.query or url.fragment:
            raise ValueError(
                "base_url must not have anything after its path; a key goes into api_key"
            )
        return value.rstrip("/")

    @field_validator("api_key")
    @classmethod
    def _fits_a_header(cls, value: SecretStr | None) -> SecretStr | None:
        # A key read from a file often ends with a line break, which no header may hold.
        key = value.get_secret_value().strip() if value else ""
        if not key.isascii() or not key.isprintable() or " " in key:
            raise ValueError("api_key contains a character that no key has, such as a space")
        return SecretStr(key) if key else None

    @field_validator("headers")
    @classmethod
    def _fit_lines(cls, value: dict[str, str]) -> dict[str, str]:
        if faults := list(header_faults(value)):
            raise ValueError(", ".join(faults))
        return value

    # Cached properties, since pydantic looks a private attribute up slowly.
    @cached_property
    def _wire(self) -> HttpConnection:
        # When first called: libcurl is nothing that a run from the cache needs.
        from persona_panel.models.http_connection import HttpConnection

        endpoint = self.base_url + "/chat/completions"
        return HttpConnection(endpoint, self.api_key, self.timeout_s, self.headers)

    @property
    def _authorizes(self) -> bool:
        return self.api_key is not None or "authorization" in map(str.lower, self.headers)

    @cached_property
    def _strays(self) -> StrayAnswers:
        return StrayAnswers(self.model)

    @cached_property
    def _declined(self) -> set[str]:
        is_openai = urlsplit(self.base_url).hostname == "api.openai.com"
        newer = is_openai or "max_completion_tokens" in self.extra_body
        return {"max_tokens"} if newer else set()

    @property
    def capabilities(self) -> Capabilities:
        """Only a call tells what stands behind the address; tiktoken knows OpenAI's own models."""
        return Capabilities(tiktoken_model=self.model)

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The settings that change an answer: `model`, `base_url`, `temperature` and `seed`, and
        the options, with a digest of each header."""
        sent = {"extra_body": self.extra_body, "headers": self.headers}
        options = options_document({name: value for name, value in sent.items() if value})
        return {
            "model": self.model,
            "base_url": self.base_url,
            "temperature": self.temperature,
            "seed": self.seed,
        } | options

    async def complete(self, request: ModelRequest) -> ModelResponse:
        """Answer one request, in one call to the server unless it declines a parameter. Raises
        CallError: no usable reply came. Where a 200 holds none, `status` is the one that would have
        fitted: what the error in it names, else 502; TimeoutError: none came within `timeout_s`."""
        started = time.perf_counter()
        completion = await self._accepted(self._payload(request))
        return self.answer_in(completion, time.perf_counter() - started)

    @property
    def address(self) -> str:
        """See `persona_panel.models.batches.BatchClient`."""
        return self.base_url

    @property
    def settings(self) -> Mapping[str, Any]:
        """See `persona_panel.models.batches.BatchClient`."""
        parameters: dict[str, Any] = {
            name: self.headers.get(header) for name, header in HEADER_OPTIONS.items()
        }
        parameters |= {"seed": self.seed, "extra_body": without_headers(self.extra_body) or None}
        return {name: value for name, value in parameters.items() if value is not None}

    @property
    def header_names(self) -> Sequence[str]:
        """See `persona_panel.models.batches.BatchClient`."""
        return [name for name in self.headers if name not in HEADER_OPTIONS.values()]

    def batches(self) -> BatchApi:
        """Return its batches, where the server has such (`persona_panel.models.batches`)."""
        from persona_panel.models.batches import OpenAIBatches

        return OpenAIBatches(self)

    def body(self, request: ModelRequest) -> dict[str, Any]:
        """Return the body of a live call, without what the server is known to decline."""
        return without(self._payload(request), self._declined)

    def read_answer(self, completion: dict[str, Any], latency_s: float) -> ModelResponse:
        """Return the reply in a completion, of a live call or of a batch. A subclass for a server
        that answers in another form overrides this.

        `completion` has `choices` that are not empty. Where a filter of the server's refused the
        request it is in OpenAI's form, its message with a `refusal`. Raises AttributeError,
        LookupError, TypeError, ValueError: there is none."""
        return read_completion(completion, latency_s)

    def answer_in(self, completion: dict[str, Any], latency_s: float) -> ModelResponse:
        """Read a completion by `read_answer`. Raises a CallError where there is no answer, or too
        long a one."""
        try:
            reply = self.read_answer(completion, latency_s)
        except SeveralChoices as error:
            message, used = f"{self.base_url}: {error}", usage_in(completion)
            # Asked again, it would be paid for again and be as odd.
            raise CallError(message, kind="rejected", used=used or None) from None
        except (AttributeError, LookupError, TypeError, ValueError):
            message = f"{self.base_url}: the answer is not a chat completion"
            fault = CallError(message, kind="transient", status=BROKEN, used=usage_in(completion))
            raise fault from None
        reply.answered_by = name_of_answering(completion.get("model"), self.model)
        return not_too_long(reply)

    async def exchange_at(
        self, method: str, path: str, data: bytes | None, kind: str, timeout_s: float | None
    ) -> HttpResponse:
        """Return an exchange below `base_url`; see `HttpConnection.exchange_at`. Raises CallError,
        TimeoutError: there was no answer."""
        url = self.base_url + path
        return await self._reached(self._wire.exchange_at(method, url, data, kind, timeout_s))

    async def download(self, path: str, to: Path, timeout_s: float) -> HttpResponse:
        """Write what is below `base_url` into a file; see `HttpConnection.download`. Raises as
        `exchange_at`."""
        return await self._reached(self._wire.download(self.base_url + path, to, timeout_s))

    def fault_of(self, answer: HttpResponse) -> CallError:
        """Return the error of an answer that brought nothing."""
        content = parsed(answer)
        return self._fault(error_of(content, answer), answer, content)

    def fault_in_row(self, complaint: Complaint, answer: HttpResponse, content: Any) -> CallError:
        """Return the error of a batch's row. Where the server declines a parameter, the same
        request may go again without it."""
        asked = self.body(ModelRequest("", ("",), schema={}))
        blamed = declined_parameter(complaint, asked)
        fault = self._fault(complaint, answer, content)
        if blamed is None:
            return fault
        self._remember(blamed)
        return CallError(str(fault), kind="transient", status=fault.status, used=fault.used)

    async def aclose(self) -> None:
        """Close the running loop's connections; a later call opens new ones."""
        if "_wire" in vars(self):
            await self._wire.aclose()

    @property
    def _llm_type(self) -> str:
        return "openai-compatible"

    def _payload(self, request: ModelRequest) -> dict[str, Any]:
        return self._settings() | body_of(request, top_logprobs_cap=_TOP_LOGPROBS_CAP)

    def _settings(self) -> dict[str, Any]:
        settings: dict[str, Any] = {"model": self.model}
        if self.temperature is not None:
            settings["temperature"] = self.temperature
        if self.seed is not None:
            settings["seed"] = self.seed
        return settings | self.extra_body

    async def _accepted(self, payload: dict[str, Any]) -> dict[str, Any]:
        """Return the server's completion. Each turn of the loop sends one parameter fewer."""
        while True:
            payload = without(payload, self._declined)
            note_sent(payload)
            data = self._encoded(payload)
            answer = await self._reached(self._wire.exchange(data))
            if not answer.whole and answer.status < 300:
                raise too_long(self.base_url)
            content = parsed(answer)
            if completion := completion_in(content, answer.status):
                self._require_own(completion, hash(data), hash(answer.body))
                return completion
            complaint = error_of(content, answer)
            if is_filtered(complaint):
                return refused_by_filter(complaint, content)
            blamed = declined_parameter(complaint, payload)
            if blamed is None:
                raise self._fault(complaint, answer, content)
            self._remember(blamed)

    def _require_own(self, completion: Mapping[str, Any], asked: int, answered: int) -> None:
        """Refuse a completion that may be the answer to another request."""
        id_, model = completion.get("id"), completion.get("model")
        if (doubt := self._strays.doubt(asked, answered, id_, model)) is not None:
            self._wire.distrust()
            # What the answer to this one took, nobody knows.
            message = one_line(f"{self.base_url}: {doubt}; it is not used", self.base_url)
            raise CallError(message, kind="transient", status=BROKEN, used=None)

    def _remember(self, declined: str) -> None:
        # Of the calls in flight together each learns it; one line in the log is enough.
        if declined not in self._declined:
            self._declined.add(declined)
            message = "%s at %s does not support %s; calling it without"
            logger.warning(message, self.model, self.base_url, declined)

    def _encoded(self, payload: dict[str, Any]) -> bytes:
        try:
            return orjson.dumps(payload, default=dict)
        except orjson.JSONEncodeError as error:
            fault = CallError(
                one_line(f"cannot be sent: {error}", self.base_url), kind="rejected", unsent=True
            )
        raise fault

    async def _reached(self, exchange: Awaitable[HttpResponse]) -> HttpResponse:
        return await reached(exchange, self.base_url, self.timeout_s)

    def _fault(self, complaint: Complaint, answer: HttpResponse, content: Any) -> CallError:
        kind = kind_of(complaint)
        if complaint.status == _WANTS_A_KEY and not self._authorizes:
            complaint = complaint._replace(message=f"{_NO_KEY}: {complaint.message}")
        if complaint.status == _NOT_THERE:
            message = f"correct the model's name, {self.model}, or the address: {complaint.message}"
            complaint = complaint._replace(message=message)
        seeded = () if self.seed is None else ("seed",)
        option = blamed_option(complaint, (*self.extra_body, *seeded))
        if option is not None and kind == "rejected":
            # No other text will fare better.
            kind = "permanent"
            message = f"{complaint.message} (the option {option} is set for this model)"
            complaint = complaint._replace(message=message)
        return complained(complaint, kind, answer, content, self.base_url)


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
            nobody_there=getattr(error, "is_refused", False) and _is_this_machine(at),
        )
    # Raised out here, the fault has no context that could hold more than it says.
    raise fault


def _is_this_machine(at: str) -> bool:
    host = urlsplit(at).hostname or ""
    return host in ("localhost", "::1") or host.startswith("127.")


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
