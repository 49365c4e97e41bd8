"""Answers that no request asked for: told by what they say, refused in other HTTP clients, and
those that one may have displaced, which are taken back (docs/explanation/http.md).

Over libcurl `persona_panel.models.http_transfer` refuses them. httpx looks for one in the system's
buffer only, not in the one of h11 that holds what was read with the answer before; aiohttp keeps
what comes while a connection is idle for its next use. Whoever asks says so by `taking`, and is
told by `TakenAnswer.keep` of what is taken back later.
"""

from __future__ import annotations

import asyncio
import logging
import re
import socket as sockets
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, NamedTuple, Protocol, TypeVar
from weakref import WeakMethod, WeakSet

from persona_panel.models.client import is_another_model

ON_ITS_CONNECTION = (
    "the server sent an answer that no request asked for, on the connection from which this one "
    "came: it may be another request's"
)
MOST_ANSWERS = 1_000
"""The most answers of a connection: all are remembered for as long as it is open."""
_MARGIN = 1.25
_SHORTEST_USUAL_S = 0.02
_HASTY = 4
"""An answer that comes so many times as quickly as usual was perhaps made for no request."""
_LONGEST_LOOK_S, _LONGEST_HASTY_LOOK_S, _LONGEST_STRAY_LOOK_S = 0.25, 0.5, 2.0
"""The most seconds for which results wait for an answer too many: in general, after an answer that
came in a fraction of the usual time, and where a server has sent such."""
_LOOKS = 4


class TakenAnswer:
    """An answer that a request is about to take, or has taken. `doubt`: why it may be another
    request's; None where nothing says so; `connection`: which it came on; None where that cannot be
    seen."""

    __slots__ = ("_callback", "_what", "connection", "doubt")

    def __init__(self) -> None:
        self.doubt: str | None = None
        self.connection: TakenAnswers | None = None
        self._callback: WeakMethod[Callable[[Any, str], None]] | None = None
        self._what: Any = None

    def keep(self, callback: WeakMethod[Callable[[Any, str], None]], what: Any) -> None:
        """Have `callback` called with `what` and the reason once the answer is taken back, as long
        as its object lives; at once where it has been by now."""
        self._callback, self._what = callback, what
        if self.doubt is not None:
            self._tell(self.doubt)

    def take_back(self, doubt: str) -> None:
        """Tell who uses the answer why it may be another request's."""
        if self.doubt is None:
            self.doubt = doubt
            self._tell(doubt)

    def take_back_all(self, doubt: str) -> None:
        """Take back this answer and all others of its connection."""
        self.take_back(doubt)
        if self.connection is not None:
            self.connection.take_back(doubt)

    def _tell(self, doubt: str) -> None:
        if self._callback is not None and (callback := self._callback()) is not None:
            callback(self._what, doubt)


_taking: ContextVar[TakenAnswer | None] = ContextVar("taking", default=None)


@contextmanager
def taking() -> Iterator[TakenAnswer]:
    """Ask within the block; what it gives stands for the answer that is then taken."""
    taken = TakenAnswer()
    token = _taking.set(taken)
    try:
        yield taken
    finally:
        _taking.reset(token)


def being_taken() -> TakenAnswer | None:
    """Return the answer that whoever runs here asks for; None where it cannot be taken back."""
    return _taking.get()


class TakenAnswers:
    """The answers that came on one connection since it was opened. `doubt`: why any of them may be
    another request's; None where nothing says so."""

    __slots__ = ("_taken", "doubt")

    def __init__(self) -> None:
        self._taken: list[TakenAnswer] = []
        self.doubt: str | None = None

    @property
    def is_full(self) -> bool:
        """Return whether no more can be remembered."""
        return len(self._taken) >= MOST_ANSWERS

    def add(self, taken: TakenAnswer | None) -> None:
        """Note that an answer has come on the connection."""
        if taken is None:
            return
        taken.connection = self
        if self.doubt is not None:
            taken.take_back(self.doubt)
        elif not self._taken or self._taken[-1] is not taken:
            self._taken.append(taken)

    def take_back(self, doubt: str = ON_ITS_CONNECTION) -> None:
        """Take back all answers, and those that are still to come."""
        self.doubt = self.doubt or doubt
        taken, self._taken = self._taken, []
        for each in taken:
            each.take_back(doubt)


@dataclass(slots=True)
class AnswerTimes:
    """The times in which a server answers, which say when an answer too many would have come.
    `has_strays`: it has sent answers that no request asked for."""

    has_strays: bool = False
    last_at: float | None = field(default=None, init=False)
    longest_s: float = field(default=0.0, init=False)
    _usual_s: float = field(default=0.0, init=False)
    _hasty_at: float = field(default=float("-inf"), init=False)

    def add(self, seconds: float, now: float) -> bool:
        """Note an answer that has come now; return whether it came so much sooner than others that
        it may have been made for no request."""
        is_hasty = seconds < self._usual_s / _HASTY and self._usual_s >= _SHORTEST_USUAL_S
        if is_hasty:
            self._hasty_at = now
        # The first of a server is no measure: it opens a connection, too.
        self._usual_s += 0.1 * (seconds - self._usual_s) if self._usual_s else seconds
        self.longest_s = max(self.longest_s, seconds)
        self.last_at = now
        return is_hasty

    def left_s(self, now: float) -> float:
        """Return for how many seconds from now an answer too many may still come."""
        if self.last_at is None:
            return 0.0
        late_s = _MARGIN * self.longest_s + 0.01
        last, most = self.last_at, _LONGEST_LOOK_S
        if self.has_strays:
            most = _LONGEST_STRAY_LOOK_S
        elif now - self._hasty_at < late_s:
            most = _LONGEST_HASTY_LOOK_S
        return last + min(late_s, most) - now


class Watcher(Protocol):
    """Connections that can be looked at, all of one event loop. `times`: how their servers
    answer."""

    @property
    def times(self) -> AnswerTimes: ...

    def look_for_strays(self) -> None:
        """Look at the connections that no request uses, and take back the answers of those on which
        something waits."""

    def is_here(self) -> bool:
        """Return whether they can be looked at from the running event loop."""


_watchers: WeakSet[Any] = WeakSet()


def watch(watcher: Watcher) -> None:
    """Have `look_for_strays` look at these connections, too."""
    _watchers.add(watcher)


async def look_for_strays() -> None:
    """Look at all connections that no request uses, as soon as an answer too many would be there:
    after as long as their servers take, and a fraction of a second at most unless one of them has
    sent such before."""
    here: list[Watcher] = [watcher for watcher in _watchers if watcher.is_here()]
    for _ in range(_LOOKS):
        if (wait_s := _left_s(here)) > 0:
            await asyncio.sleep(wait_s)
        for watcher in here:
            watcher.look_for_strays()
        # A server that has just been found out is waited for longer.
        if _left_s(here) <= 0:
            return


def _left_s(watchers: list[Watcher]) -> float:
    now = time.monotonic()
    return max((watcher.times.left_s(now) for watcher in watchers), default=0.0)


T = TypeVar("T")

UNASKED = "the server sent an answer that no request asked for, next to another: neither is used"
logger = logging.getLogger(__name__)
_mended: set[str] = set()
_distrusted: set[str] = set()
"""Origins that have sent strays: no connection to them is used twice."""
_PEEKED_BYTES = 64
_UNKNOWN_S = 0.2
_MOST_IDS = 10_000
_MOST_DOUBTED = 1_000
_MOST_REPEATS = 3
_UNIQUE = re.compile(r"[0-9A-Za-z]{8}")
"""A part of an id that cannot come twice by chance; Ollama's are one of 999."""


class _KnownAnswer(NamedTuple):
    """Digests of the request and the answer that came with an id, who took it, and how many answers
    had it."""

    asked: int
    answered: int
    taken: TakenAnswer | None = None
    n: int = 1


class StrayAnswers:
    """The answers of a model so far, to tell those that belong to other requests.

    An id that came with the answer to another request is doubted: always where the answer is the
    same, letter by letter; where it differs only if the server's ids are made to be unique, of
    which there must be two. A server that repeats its ids without that is recognised, and its ids
    are compared no more: the same id comes again to a request that was doubted for it, or with a
    third answer. Else who took the id first may have had the other's answer: it is taken back as
    soon as the request that was doubted has another, or the connections are looked at.

    A name of a model is doubted that is neither the one that was asked for nor one of those that
    answered before; where it comes again to the same request it is one of them: providers answer
    under dated names, and routers send a request elsewhere.
    """

    def __init__(self, model: str) -> None:
        self._answers: dict[str, _KnownAnswer] = {}
        self._models = [model]
        self._has_answered = False
        self._doubted: dict[int, str] = {}
        """The requests that were doubted, and the id of the answer then."""
        self._repeats_ids = False
        self._suspects: dict[int, tuple[TakenAnswer, str]] = {}
        """By the request that was doubted: who took its id before, and why that is doubted too."""
        self.times = AnswerTimes()
        watch(self)

    def is_here(self) -> bool:
        """See `Watcher`."""
        return True

    def look_for_strays(self) -> None:
        """Take back answers whose ids came a second time."""
        for asked in list(self._suspects):
            self._take_back_first(asked)

    def doubt(self, asked: int, answered: int, id_: Any, model: Any) -> str | None:
        """Return why an answer may be another request's; None where nothing says so.

        Args:
            asked: a digest of the request.
            answered: a digest of the answer.
            id_: the answer's id, of any type.
            model: who answered, by the answer, of any type.
        """
        reason = self._doubt_id(asked, answered, id_) or self._doubt_model(
            model, was_doubted=asked in self._doubted
        )
        if reason is None:
            self._take_back_first(asked)
        else:
            if (taken := being_taken()) is not None:
                taken.take_back_all(reason)
            self._doubted[asked] = str(id_)
            if len(self._doubted) > _MOST_DOUBTED:
                del self._doubted[next(iter(self._doubted))]
        return reason

    def _doubt_id(self, asked: int, answered: int, id_: Any) -> str | None:
        if self._repeats_ids or not isinstance(id_, str) or not id_:
            return None
        answers = self._answers
        if (before := answers.get(id_)) is None:
            answers[id_] = _KnownAnswer(asked, answered, being_taken())
            if len(answers) > _MOST_IDS:
                del answers[next(iter(answers))]
            return None
        # Some servers keep answers, too.
        if before.asked == asked:
            return None
        is_copy = before.answered == answered
        if not is_copy and not _UNIQUE.search(id_.rpartition("-")[2]):
            return None
        # A server that answers too often may do so more than once, always with the same answer.
        n = before.n + (not is_copy)
        is_again = self._doubted.get(asked) == id_
        if is_again or n >= _MOST_REPEATS or (not is_copy and len(answers) == 1):
            self._repeats_ids = True
            self._suspects.clear()
            if is_copy:
                _warn_of_copies(self._models[0])
            return None
        answers[id_] = before._replace(n=n)
        reason = f"the answer has the id {id_[:80]!r} of the answer to another request"
        if before.taken is not None:
            self._suspects[asked] = before.taken, reason
        return reason

    def _take_back_first(self, asked: int) -> None:
        if (suspect := self._suspects.pop(asked, None)) is not None:
            suspect[0].take_back_all(suspect[1])

    def _doubt_model(self, model: Any, *, was_doubted: bool) -> str | None:
        if not isinstance(model, str) or not model:
            return None
        # Nearly always the same words.
        if model in self._models:
            self._has_answered = True
            return None
        is_known = any(not is_another_model(model, known) for known in self._models)
        if is_known or was_doubted or not self._has_answered:
            self._has_answered = True
            self._models.append(model)
            return None
        known = self._models[-1][:80]
        return f"the answer is from the model {model[:80]!r}, those before were from {known!r}"


def refuse_stray_answers() -> None:
    """Have the clients whose packages are imported by now refuse such answers, in the whole
    process: an error as of a connection that broke off, or a new connection."""
    for client, modules in _CLIENTS.items():
        if client in sys.modules:
            for name in modules.keys() - _mended:
                _mended.add(name)
                # A client imports them when it makes its first connection only.
                modules[name](import_module(name))


def is_stray(unread: bytes | None) -> bool:
    """Return whether what waits on an idle connection is an answer that no request asked for."""
    # Some servers announce with an error that they close what is idle.
    return unread is not None and unread.startswith(b"HTTP/") and unread[9:10] == b"2"


def warn_of_strays() -> None:
    """Warn of an answer that nobody asked for, on a connection that took requests before."""
    logger.warning(
        "A server sent an answer that no request asked for. It was thrown away, with its "
        "connection, and all answers on that connection are taken back and asked for again, since "
        "they may be other requests'. Check the server, or the proxy before it."
    )


def _warn_of_copies(model: str) -> None:
    logger.warning(
        "%s gave different requests the same answer, letter by letter and with its id, and did so "
        "again when it was asked again. It is used from now on, and may belong to another request: "
        "check whether a cache before the server tells requests apart.",
        model[:80],
    )


def asked(descriptor: int, question: Callable[[sockets.socket], T]) -> T | None:
    """Return the answer of a client's socket to a question; None where the descriptor is no socket
    any more."""
    try:
        # Its family is not asked for: a question about the name brings that.
        near = sockets.socket(sockets.AF_INET, sockets.SOCK_STREAM, 0, descriptor)
        try:
            return question(near)
        finally:
            # The client's to close.
            near.detach()
    except OSError:
        return None


def unread_at(near: sockets.socket) -> bytes:
    """Return the beginning of what can be read at a socket; empty where nothing is or after a
    close."""
    try:
        # It does not block anyway, but who watches for blocking calls cannot know that.
        near.setblocking(False)
        return near.recv(_PEEKED_BYTES, sockets.MSG_PEEK)
    except OSError:
        # Nothing is there; or reset, which is a close.
        return b""


def _mend_h11(h11: Any) -> None:
    read_event = h11.Connection.next_event

    def next_event(self: Any) -> Any:
        event = read_event(self)
        is_end = type(event) is h11.EndOfMessage and self.our_role is h11.CLIENT
        # A line break too many is no answer.
        if is_end and self.trailing_data[0].strip():
            # Else the connection would be used again.
            self._process_error(self.their_role)
            taken_on(self).take_back()
            raise h11.RemoteProtocolError(UNASKED)
        return event

    h11.Connection.next_event = next_event


class _OtherClients:
    """Connections of other HTTP clients, which are looked at from any loop."""

    def __init__(self) -> None:
        self.times = AnswerTimes()
        self.of_httpcore: WeakSet[Any] = WeakSet()
        self.of_aiohttp: WeakSet[Any] = WeakSet()
        watch(self)

    def is_here(self) -> bool:
        """See `Watcher`."""
        return True

    def look_for_strays(self) -> None:
        """See `Watcher`."""
        for connection in list(self.of_httpcore):
            if connection.is_idle():
                _look_at(connection)
        for protocol in list(self.of_aiohttp):
            _look_at_tail(protocol)


_others = _OtherClients()


def taken_on(connection: Any) -> TakenAnswers:
    """Return the answers that came on another client's connection."""
    taken: TakenAnswers | None = getattr(connection, "persona_panel_taken", None)
    if taken is None:
        taken = connection.persona_panel_taken = TakenAnswers()
    return taken


def _mend_httpcore(http11: Any) -> None:
    kind = http11.AsyncHTTP11Connection
    expired, exchange = kind.has_expired, kind.handle_async_request

    def has_expired(self: Any) -> Any:
        # Asked after each answer, and before a connection is used again.
        is_expired = expired(self)
        if not self.is_idle():
            return is_expired
        if is_expired:
            _look_at(self)
        is_used_up = str(self._origin) in _distrusted or taken_on(self._h11_state).is_full
        return is_expired or is_used_up

    async def handle_async_request(self: Any, request: Any) -> Any:
        began = time.monotonic()
        answer = await exchange(self, request)
        # By the parser, which sees what comes with an answer.
        taken_on(self._h11_state).add(being_taken())
        now = time.monotonic()
        _others.of_httpcore.add(self)
        _others.times.add(now - began, now)
        return answer

    kind.has_expired, kind.handle_async_request = has_expired, handle_async_request


def _look_at(connection: Any) -> None:
    stream = connection._network_stream
    socket = stream.get_extra_info("socket")
    # TLS hides what it is, and may be a ticket.
    if socket is None or stream.get_extra_info("ssl_object") is not None:
        return
    if is_stray(asked(socket.fileno(), unread_at)):
        if str(connection._origin) not in _distrusted:
            warn_of_strays()
        _distrusted.add(str(connection._origin))
        _others.times.has_strays = True
        taken_on(connection._h11_state).take_back()


def _mend_aiohttp(protocols: Any) -> None:
    kind = protocols.ResponseHandler
    is_open, begin = kind.is_connected, kind.set_response_params

    def is_connected(self: Any) -> bool:
        # Asked before a connection is used again.
        _look_at_tail(self)
        has_unread = getattr(self, "_tail", b"") or getattr(self, "_buffer", ())
        return is_open(self) and not (has_unread or taken_on(self).is_full)

    def set_response_params(self: Any, **settings: Any) -> None:
        taken_on(self).add(being_taken())
        _others.of_aiohttp.add(self)
        # When its answer comes is not seen here: it is waited for as long as for any.
        _others.times.add(_UNKNOWN_S, time.monotonic())
        begin(self, **settings)

    kind.is_connected, kind.set_response_params = is_connected, set_response_params


def _look_at_tail(protocol: Any) -> None:
    if is_stray(getattr(protocol, "_tail", b"")):
        if taken_on(protocol).doubt is None:
            warn_of_strays()
        _others.times.has_strays = True
        taken_on(protocol).take_back()


_CLIENTS: dict[str, dict[str, Callable[[Any], None]]] = {
    "httpx": {"h11": _mend_h11, "httpcore._async.http11": _mend_httpcore},
    "httpx2": {"h11": _mend_h11, "httpcore2._async.http11": _mend_httpcore},
    "aiohttp": {"aiohttp.client_proto": _mend_aiohttp},
}
"""The modules of HTTP clients' packages that are mended."""
