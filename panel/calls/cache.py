"""Replies that have been paid for, kept so that none is paid for twice: what is kept under which
key, and what a store must do. Which replies are worth keeping is the caller's.

A store is a file of `persona_panel.calls.stores` or an entry point (docs/how-to/extend.md). One of
ours that needs a package is called as the extra that installs it.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager
from functools import lru_cache
from typing import Any, Generic, NamedTuple, Protocol, TypeVar, runtime_checkable

import orjson
import platformdirs

from persona_panel.files.errors import ConfigurationError, RunStopped
from persona_panel.files.wording import extra, not_installed
from persona_panel.graphs.context import Abort
from persona_panel.rubrics import ModelRequest, ModelResponse
from persona_panel.rubrics.extensions import ExtensionError, extension_names, load_extension

ENVIRONMENT_VARIABLE = "PERSONA_PANEL_CACHE"
_PACKAGE, _GROUP = "persona_panel.calls.stores", "persona_panel.reply_stores"
_ALSO_OPENED_BY = {"rediss": "redis", "unix": "redis"}
"""Addresses that begin otherwise than their store is called: by TLS, by a local socket."""


class CannotBeKept(ValueError):
    """A reply that cannot be written; the message says why."""


class CacheUnreachable(Abort, RunStopped):
    """A store elsewhere no longer answers; the message is a sentence with the remedy. It ends a
    run wherever it is raised."""


class ReplyKey(NamedTuple):
    """The place of a reply to a request; see `ReplyStore`."""

    page: str
    key: bytes

    @property
    def custom_id(self) -> str:
        """The request's name in a provider's batch, 64 characters from 0 to 9 and a to f."""
        return hashlib.sha256(self.page.encode() + self.key).hexdigest()


class ReplyStore(Protocol):
    """The interface of a storage of replies.

    A reply has a `key`, 32 bytes, on a `page`, a text of 64 characters. Replies about one subject
    from one model share a page and are looked up one after the other: a store that is slow to read
    reads a page at once. Several processes may use a store together.

    `put` and `forget` return when a kill of the process, or of the machine's other processes,
    undoes nothing; all methods are called from the event loop's thread and must not block it for
    longer than writing to a local disk does. How replies are written, batched, compressed and held
    in memory, and when another process sees them, is private to each store.
    """

    @property
    def location(self) -> str:
        """The place of the replies, for messages: no password, no key."""

    def get(self, page: str, key: bytes) -> ModelResponse | None:
        """Return the reply kept under `key`, as it was put except for `cached`, which is True; None
        where there is none, or one that can no longer be read."""

    def put(self, page: str, key: bytes, reply: ModelResponse) -> None:
        """Keep a reply, in place of an earlier one. Raises CannotBeKept: it holds what the storage
        cannot, such as half a surrogate pair; nothing is wrong with the storage; Exception: any
        other: nothing more can be kept, and the run ends."""

    def forget(self, page: str, key: bytes, reply: ModelResponse) -> None:
        """Drop a reply that turned out to be no result, if it is still the one that is kept
        (`cached` apart): another process that was served it may have put a better one in its place.
        """

    def sync(self) -> None:
        """Return when a power cut does not undo what was put, either. It is called in a thread of
        its own, and may take a second or two. Raises Exception: it cannot be kept for good, and the
        run ends."""

    def close(self) -> None:
        """Give back files and connections; nothing is called afterwards."""


@runtime_checkable
class SharedReplyStore(ReplyStore, Protocol):
    """A store that several processes share, which may ask for the same reply at once. A store
    without this method is not shared."""

    def claimed(self, page: str, key: bytes) -> AbstractAsyncContextManager[ModelResponse | None]:
        """Wait until another process that asks for the reply has put it, and enter with the reply;
        or enter with None once no other asks for it. Other processes then wait until the block has
        ended and they can see what was put in it, or until this process has died.

        It is called in the same step as `get`, which had no such reply. Raises `CacheUnreachable`.
        """


@runtime_checkable
class RemoteReplyStore(SharedReplyStore, Protocol):
    """A shared store that is far away, so that a run's loop must not wait for it."""

    async def read_ahead(self, page: str, key: bytes) -> None:
        """Read a page so that the next `get` of it does not block. Raises `CacheUnreachable`."""


def open_reply_store() -> ReplyStore:
    """Return the store of this process, by $PERSONA_PANEL_CACHE or in the user's cache folder.
    Raises ConfigurationError: there is no such store, or it cannot be used."""
    location = cache_location()
    name, is_address, _ = location.partition("://")
    name = _ALSO_OPENED_BY.get(name, name) if is_address else "disk"
    known = extension_names(_PACKAGE, _GROUP)
    scheme, colon, _ = location.partition(":")
    if colon and not is_address and scheme.lower() in {"redis", *_ALSO_OPENED_BY}:
        # Not the rest, which may hold a password, and is no folder.
        raise ConfigurationError(
            f"{ENVIRONMENT_VARIABLE} begins with {scheme}: and not {scheme}://; write the address "
            f"as {scheme}://…, or a folder of this name as ./{scheme}:…"
        )
    if name not in known:
        raise ConfigurationError(
            f"{ENVIRONMENT_VARIABLE} begins with {name}://, and no store of replies is called "
            f"{name!r}; there are {', '.join(known)}"
        )
    try:
        module = load_extension(_PACKAGE, _GROUP, name)
    except ExtensionError as error:
        raise ConfigurationError(
            f"{error}; or set {ENVIRONMENT_VARIABLE} to a folder instead"
        ) from error
    except ModuleNotFoundError as error:
        raise ConfigurationError(
            not_installed(
                f"{ENVIRONMENT_VARIABLE} with {name} needs",
                str(error.name),
                extra(name),
            )
        ) from None
    store: ReplyStore = module.open_store(location)
    return store


def cache_location() -> str:
    """Return $PERSONA_PANEL_CACHE, or the user's cache folder."""
    return os.environ.get(ENVIRONMENT_VARIABLE) or platformdirs.user_cache_dir("persona-panel")


def page_of(parameters: Mapping[str, Any], *subject: str | None) -> str:
    """Return the page of a model, by its `parameters`, and of what it is asked about."""
    document = orjson.dumps([2, parameters, subject], option=orjson.OPT_SORT_KEYS)
    return hashlib.sha256(document).hexdigest()


def key_of(request: ModelRequest, replicate: int) -> bytes:
    """Return a digest of all that changes a reply besides the model, 32 bytes: the SHA-256 of both
    as JSON with sorted keys."""
    # Most of what is digested is the first block, which is the same for all judges of a response
    # and stands near the beginning: it is written as JSON, which takes long of other letters than
    # ASCII's, and digested once.
    digest = _digest_begun(request.system, request.blocks[:1]).copy()
    schema = orjson.dumps(request.schema, option=orjson.OPT_SORT_KEYS, default=dict)
    # A dictionary is written in half the time that a dataclass with slots takes.
    rest = {
        "blocks": request.blocks[1:],
        "exchange": request.exchange,
        "prefill": request.prefill,
        "schema": orjson.Fragment(schema),
        "top_logprobs": request.top_logprobs,
        "max_tokens": request.max_tokens,
    }
    document = orjson.dumps([rest, replicate])
    if rest["blocks"]:
        digest.update(b",")
    digest.update(document[_BEGINNING:])
    return digest.digest()


_BEGINNING = len(b'[{"blocks":[')


# As many responses are judged at a time.
@lru_cache(maxsize=64)
def _digest_begun(system: str, first: tuple[str, ...]) -> hashlib._Hash:
    """Return the digest of a request's JSON up to the end of its first block."""
    return hashlib.sha256(orjson.dumps([{"system": system, "blocks": first}]).removesuffix(b"]}]"))


_MOST_AT_ONCE = 500

Q = TypeVar("Q", bound=Hashable)


class Coalesced(Generic[Q]):
    """A queue of questions to `ask`, which answers, in order and in a thread, all at once that have
    come while it answered those before. Equal questions that wait are asked once.

    `thread` runs whatever else must not happen at the same time.
    """

    def __init__(self, ask: Callable[[Sequence[Q]], Sequence[Any]], name: str) -> None:
        self._ask = ask
        self.thread = ThreadPoolExecutor(1, thread_name_prefix=name)
        self._waiting: dict[Q, asyncio.Future[Any]] = {}
        self._asking: asyncio.Task[None] | None = None

    async def answer(self, question: Q) -> Any:
        """Return the answer of `ask`; an error that it raises is raised for each of the
        questions.
        """
        loop = asyncio.get_running_loop()
        if (answer := self._waiting.get(question)) is None:
            answer = self._waiting[question] = loop.create_future()
        if self._asking is None:
            self._asking = loop.create_task(self._ask_all(loop))
        # Another may wait for the same.
        return await asyncio.shield(answer)

    async def _ask_all(self, loop: asyncio.AbstractEventLoop) -> None:
        try:
            while self._waiting:
                asked = list(self._waiting.items())[:_MOST_AT_ONCE]
                for question, _ in asked:
                    del self._waiting[question]
                questions = [question for question, _ in asked]
                try:
                    answers = await loop.run_in_executor(self.thread, self._ask, questions)
                except Exception as error:
                    for _, answer in asked:
                        answer.set_exception(error)
                        # Read once: whoever asked may be gone.
                        answer.exception()
                else:
                    for (_, answer), reply in zip(asked, answers, strict=True):
                        answer.set_result(reply)
        finally:
            self._asking = None
