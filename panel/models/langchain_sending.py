"""Notice what a LangChain chat model sends, at the HTTP client beneath it.

An error of a provider's package may come before a request is sent, as of a message that it cannot
encode, or after, as of an answer that it cannot read. Only what was sent can have been paid for.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import wraps
from operator import attrgetter
from typing import Any

from langchain_core.language_models import BaseChatModel

from persona_panel.models.sent_parameters import note_sent

_HTTPX = {
    "langchain_openai": attrgetter("async_client._client._client"),
    "langchain_anthropic": attrgetter("_async_client._client"),
    "langchain_groq": attrgetter("async_client._client._client"),
    "langchain_mistralai": attrgetter("async_client"),
    "langchain_ollama": attrgetter("_async_client._client"),
}
"""Where packages have a client of httpx's kind, whose hooks are called before it sends."""


@dataclass(slots=True)
class Sending:
    """What is known of a call: `watched`, whether it can be told at all."""

    watched: bool = False
    begun: bool = False

    def watch(self, chat: BaseChatModel) -> None:
        """Have the chat model's connections tell when they send."""
        packages = {kind.__module__.partition(".")[0] for kind in type(chat).__mro__}
        try:
            self.watched = _is_watched(chat, packages)
        # Another version of the package, or a stand-in for its client.
        except (AttributeError, LookupError, TypeError):
            self.watched = False

    @property
    def surely_not(self) -> bool:
        """Whether nothing was sent."""
        return self.watched and not self.begun


_current: ContextVar[Sending | None] = ContextVar("_current", default=None)


@contextmanager
def sending() -> Iterator[Sending]:
    """Watches the call that the block makes, in whichever thread or loop."""
    call = Sending()
    token = _current.set(call)
    try:
        yield call
    finally:
        _current.reset(token)


def _is_watched(chat: Any, packages: set[str]) -> bool:
    for package in packages & _HTTPX.keys():
        hooks = _HTTPX[package](chat).event_hooks["request"]
        if _before_request not in hooks:
            hooks.append(_before_request)
        return True
    if "langchain_google_genai" in packages:
        _watch_google(chat.client._api_client)
        return True
    if "langchain_aws" in packages:
        chat.client.meta.events.register("before-send", _before_send, unique_id=__name__)
        return True
    return False


def _begin(body: Any) -> None:
    if (call := _current.get()) is not None:
        call.begun = True
    note_sent(body)


async def _before_request(request: Any) -> None:
    # A body that is streamed is not at hand; no package streams one.
    _begin(getattr(request, "_content", None))


def _before_send(request: Any, **others: Any) -> None:
    _begin(request.body)


def _watch_google(client: Any) -> None:
    """Google's package calls by aiohttp where it is installed, and has no hooks."""
    if "_async_request" in vars(client):
        return
    send = client._async_request

    @wraps(send)
    async def begin_and_send(http_request: Any, *args: Any, **more: Any) -> Any:
        _begin(http_request.data)
        return await send(http_request, *args, **more)

    client._async_request = begin_and_send
