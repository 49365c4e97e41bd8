"""Batches of providers that are reached through LangChain: rows as its chat models make and read
them, and the provider's own package for the rest.

A row has the body of a live call, and its answer is read like a live one. So both go through the
chat model itself, whose connection is replaced by an object that notes the body to be sent, or
returns the answer that a batch has brought. A package takes milliseconds to make a body: it makes
one of each form, with marks in the place of texts, and the others are made from that one.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from typing import Any, NamedTuple, TypeVar, cast
from uuid import uuid4

import orjson
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import HumanMessage
from langchain_core.outputs import ChatGeneration
from langsmith.run_helpers import tracing_context

from persona_panel.models.batches import BatchApi
from persona_panel.models.client import NOTHING, CallError, not_too_long
from persona_panel.models.config import header_names, without_headers
from persona_panel.models.event_loops import in_lasting_loop
from persona_panel.models.langchain import LangChainClient, as_reply, lasting_context, only
from persona_panel.models.langchain_errors import answer_in, call_error_of, request_for_logprobs
from persona_panel.rubrics import ModelRequest, ModelResponse


class SentRequest(NamedTuple):
    """The request that a chat model would send: its body, as orjson writes it, and its headers."""

    body: bytes
    headers: Mapping[str, str]


class _Template(NamedTuple):
    """A body without its texts: what stands before, between and behind them, and which they are."""

    parts: list[bytes]
    texts: list[int]
    headers: Mapping[str, str]

    def filled(self, texts: list[str]) -> bytes:
        pieces = [self.parts[0]]
        for place, part in zip(self.texts, self.parts[1:], strict=True):
            # Without the quotes: a text may stand within a longer one.
            pieces += [orjson.dumps(texts[place])[1:-1], part]
        return b"".join(pieces)


class RequestTemplates:
    """A maker of requests' bodies from templates. `make`: how the package makes one; raises what it
    raises."""

    def __init__(self, make: Callable[[ModelRequest], SentRequest]) -> None:
        self._make = make
        self._mark = f"text-{uuid4().hex}-"
        self._met: set[object] = set()
        # None: of this form there is none.
        self._templates: dict[object, _Template | None] = {}

    def sent(self, request: ModelRequest) -> SentRequest:
        """Return the request that would be sent; raises as `make`."""
        form = _form_of(request)
        if (template := self._templates.get(form)) is not None:
            try:
                return SentRequest(template.filled(_texts_of(request)), template.headers)
            except orjson.JSONEncodeError:
                # Half a character: let the package say what it makes of it.
                return self._make(request)
        made = self._make(request)
        if form not in self._met:
            # Many a form has one request only.
            self._met.add(form)
        elif form not in self._templates:
            self._templates[form] = self._template(request, made)
        return made

    def _template(self, request: ModelRequest, made: SentRequest) -> _Template | None:
        marked = self._make(_with_texts(request, self._marked(request)))
        mark = re.compile(rb"%b(\d+)-" % self._mark.encode())
        pieces = mark.split(marked.body)
        places = [int(place) for place in pieces[1::2]]
        template = _Template(pieces[::2], places, made.headers)
        is_same = template.filled(_texts_of(request)) == made.body
        return template if is_same else None

    def _marked(self, request: ModelRequest) -> Iterator[str]:
        for place, text in enumerate(_texts_of(request)):
            yield f"{self._mark}{place}-" if text.strip() else text


def _texts_of(request: ModelRequest) -> list[str]:
    turns = [text for turn in request.exchange for text in turn]
    return [request.system, *request.blocks, *turns]


def _with_texts(request: ModelRequest, texts: Iterator[str]) -> ModelRequest:
    return replace(
        request,
        system=next(texts),
        blocks=tuple(next(texts) for _ in request.blocks),
        exchange=tuple((next(texts), next(texts)) for _ in request.exchange),
    )


def _form_of(request: ModelRequest) -> object:
    """Return all that a body may depend on but the words of the texts: packages leave out blank
    texts, and may cut spaces off the ends of others."""
    schema = None if request.schema is None else orjson.dumps(request.schema, default=dict)
    ends = tuple(
        (text[0].isspace(), text[-1].isspace()) if text.strip() else text
        for text in _texts_of(request)
    )
    return (
        ends,
        len(request.blocks),
        request.prefill,
        schema,
        request.top_logprobs,
        request.max_tokens,
    )


T = TypeVar("T")


class _Noted(Exception):
    """An error that is raised in place of sending, once the request is noted."""


class BatchedClient(LangChainClient):
    """A `LangChainClient` whose provider has batches; see
    `persona_panel.models.batches.BatchClient`."""

    batches_module = ""
    """The module whose `of` makes them."""

    @property
    def address(self) -> str:
        """The address of the server that takes batches."""
        return str(import_module(self.batches_module).address_of(self._chat))

    @property
    def settings(self) -> Mapping[str, Any]:
        """See `persona_panel.models.batches.BatchClient`."""
        return without_headers(self._options)

    @property
    def header_names(self) -> Sequence[str]:
        """See `persona_panel.models.batches.BatchClient`."""
        return header_names(self._options)

    def batches(self) -> BatchApi:
        """Return its provider's batches."""
        return cast(BatchApi, import_module(self.batches_module).of(self))

    @property
    def chat(self) -> BaseChatModel:
        """The chat model, whose connections belong to the lasting loop."""
        return self._chat

    @property
    def timeout_s(self) -> float:
        """The seconds in which a call must be answered."""
        return self._timeout_s

    def offline(self, chat: BaseChatModel, line: OfflineLine) -> OfflineClient:
        """Return the same model without a connection; `chat` is a copy that calls `line`."""
        return OfflineClient(
            chat, self._name, line, timeout_s=self._timeout_s, keep_prefix=self._marks
        )


class OfflineLine:
    """A stand-in for a connection: it notes what is sent, or returns the answer that it holds."""

    def __init__(self) -> None:
        self.sent: SentRequest | None = None
        self.answer: tuple[int, bytes] | None = None

    def transport(self, client_class: type) -> Any:
        """Return a transport for HTTP clients of this class, from the package of which the class is
        derived."""
        base = next(kind for kind in client_class.__mro__ if kind.__name__ == "Client")
        http = import_module(base.__module__.partition(".")[0])

        def exchange(request: Any) -> Any:
            if self.answer is None:
                body = orjson.dumps(orjson.loads(request.read()))
                self.sent = SentRequest(body, dict(request.headers))
                raise _Noted
            status, body = self.answer
            return http.Response(status, content=body, headers={"Content-Type": "application/json"})

        return http.MockTransport(exchange)


class OfflineClient(LangChainClient):
    """A client that makes the bodies of a model's calls, and reads answers to them, without a
    call.
    """

    def __init__(
        self,
        chat: BaseChatModel,
        name: str,
        line: OfflineLine,
        *,
        timeout_s: float,
        keep_prefix: bool,
    ) -> None:
        super().__init__(chat, name, timeout_s=timeout_s, keep_prefix=keep_prefix)
        self._line = line
        self._templates = RequestTemplates(self._made)

    def sent(self, request: ModelRequest) -> SentRequest:
        """Return the request that a live call would send. Raises CallError: the provider's package
        refuses the request."""
        return self._templates.sent(request)

    def _made(self, request: ModelRequest) -> SentRequest:
        """Return the same, by the package itself; raises as `sent`."""
        self._line.sent = self._line.answer = None
        try:
            with tracing_context(enabled=False):
                messages = self._messages(request)
                if (structured := self._structured_output(request)) is not None:
                    structured.invoke(messages)
                else:
                    options = request_for_logprobs(self._chat, request.top_logprobs)
                    self._chat.invoke(messages, **options)
        # The provider's package wraps `_Noted` in an error of its own.
        except Exception as error:
            if self._line.sent is None:
                raise call_error_of(error) from None
        assert self._line.sent is not None  # noqa: S101
        return self._line.sent

    def read(self, status: int, body: Any) -> ModelResponse | CallError:
        """Return the reply that a live call would bring of this answer, or its fault."""
        self._line.answer = (status, orjson.dumps(body))
        try:
            with tracing_context(enabled=False):
                (answers,) = self._chat.generate([[HumanMessage("-")]]).generations
            message = only(cast(ChatGeneration, answers[0]).message, len(answers))
            return not_too_long(as_reply(message, 0.0))
        except CallError as error:
            return error
        except Exception as error:
            return answer_in(error, 0.0) or call_error_of(error)


def unpaid(answer: ModelResponse | CallError) -> ModelResponse | CallError:
    """Return the same, of a row with an error in place of an answer, which costs nothing."""
    if isinstance(answer, CallError):
        answer.used = NOTHING
    return answer


async def at_provider(work: Coroutine[Any, Any, T], timeout_s: float) -> T:
    """Await a call of a provider's package in the lasting loop; returns its result. Raises
    CallError, TimeoutError: it brings nothing."""
    timer = asyncio.timeout(timeout_s)
    try:
        async with timer:
            return await in_lasting_loop(work, lasting_context())
    except CallError:
        raise
    # Every provider's package raises its own.
    except Exception as error:
        if timer.expired():
            raise TimeoutError(f"no answer within {timeout_s:g} s") from None
        raise call_error_of(error) from None
