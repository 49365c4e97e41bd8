"""A store of replies that processes on several machines share: a Redis or Valkey server
(docs/explanation/caching.md), at `redis://[[USER]:PASSWORD@]HOST[:PORT][/DB]`, `rediss://…` by TLS
or `unix://[…@]/PATH[?db=DB]`.

A page is a hash, `persona-panel:page:PAGE`, of stored replies by key. Who asks for a reply holds
`persona-panel:lease:PAGE:KEY` meanwhile, with a token of its own.
"""

from __future__ import annotations

import asyncio
import logging
import random
import re
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any, ClassVar, NamedTuple, TypeVar
from urllib.parse import parse_qs, urlsplit
from uuid import uuid4

import redis
from redis.backoff import NoBackoff
from redis.exceptions import AuthorizationError
from redis.retry import Retry
from tenacity import RetryCallState, Retrying, retry_if_exception, wait_random_exponential

from persona_panel.calls.cache import ENVIRONMENT_VARIABLE, CacheUnreachable, Coalesced
from persona_panel.calls.in_flight import waiting_for_a_server
from persona_panel.calls.journal import JournalEntry, decoded, is_among, journals_in
from persona_panel.calls.journaled_store import JournaledStore, Pages, unsent_folder
from persona_panel.files.errors import ConfigurationError
from persona_panel.files.secrets import SECRETS, credentials_in
from persona_panel.rubrics import ModelResponse


def odd_address() -> ConfigurationError:
    """Return the refusal of an address that cannot be read; it holds no part of it."""
    return ConfigurationError(
        f"the address in {ENVIRONMENT_VARIABLE} cannot be read; expected "
        "redis://[[USER]:PASSWORD@]HOST[:PORT][/DB], with special characters of the password as "
        "in a web address (%2F for /)"
    )


def refuse_unescaped(address: str) -> None:
    """Refuse an address whose password holds a sign at which it seems to end, as / does: the rest
    would be taken for the path, and shown. Raises ConfigurationError: it is one."""
    if address.startswith("unix:///"):  # A path, which may hold any sign, and no password.
        return
    user, at, _ = address.partition("://")[2].rpartition("@")
    if at and not frozenset("/?#").isdisjoint(user):
        raise odd_address()


def without_password(address: str) -> str:
    """Return the scheme, host, port, path and database of an address, as it is shown. Raises
    ConfigurationError: it cannot be read."""
    try:
        url = urlsplit(address)
        place = url.hostname or ""
        if url.port is not None:
            place += f":{url.port}"
    except ValueError:
        raise odd_address() from None
    numbers = parse_qs(url.query).get("db", [""])
    if len(numbers) > 1:
        raise odd_address()
    [number] = numbers
    return f"{url.scheme}://{place}{url.path}" + (f"?db={number}" if number else "")


class OutageReport:
    """A log of a server's outages, as the threads that ask it notice them. `name`: the server in a
    message; no password, no key."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = threading.Lock()
        self._since: float | None = None
        self._answered_at = 0.0

    def failed(self, asked_at: float, why: str, patience_s: float) -> None:
        """Note that the server did not answer what was asked at `asked_at` (`time.monotonic`); it
        is tried for `patience_s` seconds in all."""
        with self._lock:
            # A question from before its last answer is of an outage that has ended.
            if self._since is not None or asked_at < self._answered_at:
                return
            self._since = asked_at
        logger.warning(
            "%s does not answer (%s); waiting for it for up to %.0f s.", self._name, why, patience_s
        )

    def answered(self) -> None:
        """Note that the server answered."""
        if self._since is None:
            return
        with self._lock:
            since, self._since = self._since, None
            self._answered_at = time.monotonic()
        if since is not None:
            logger.warning("%s answers again, after %.0f s.", self._name, self._answered_at - since)


_APPEND = "Set `appendonly yes` in its configuration"


def possible_losses(info: Mapping[str, Any], save: str | None) -> Iterator[str]:
    """Yield what may be lost and the remedy, in words that follow the server's name. `info`: what
    INFO answers; `save`: when it takes snapshots, as CONFIG GET says; None where it does not
    say."""
    if not info.get("aof_enabled"):
        if save:
            yield f"loses in a crash what came since its last snapshot (appendonly no). {_APPEND}"
        elif save is None:
            yield f"may lose answers when it stops (appendonly no). {_APPEND}"
        else:
            yield f'loses all answers when it stops (appendonly no, save ""). {_APPEND}'
    policy = str(info.get("maxmemory_policy"))
    if info.get("maxmemory") and policy.startswith("allkeys"):
        yield (
            f"drops answers that were paid for when its memory is full (maxmemory-policy "
            f"{policy}). Set `maxmemory-policy noeviction` in its configuration"
        )


_TIMEOUT_S = 10.0
WITHOUT_ANSWER = (redis.ConnectionError, redis.TimeoutError, redis.ReadOnlyError)
"""The errors of a server that is down, starts, or has just become the replica of another."""
_REFUSED = (redis.AuthenticationError, AuthorizationError)


def client_at(address: str, **options: int) -> redis.Redis:
    """Return a client of the server at an address, which connects when it is used. Raises
    ConfigurationError: the address cannot be read."""
    try:
        client = redis.Redis.from_url(
            address,
            socket_timeout=_TIMEOUT_S,
            socket_connect_timeout=_TIMEOUT_S,
            # Retried here, where the reason is told and closing shortens it.
            retry=Retry(NoBackoff(), 0),
            **options,
        )
        # Made, not connected: refuses what the address calls an option and is none.
        client.connection_pool.connection_class(**client.connection_pool.connection_kwargs)
        return client
    # Not what it says: that may quote a part of the password.
    except (ValueError, TypeError):
        raise odd_address() from None


def is_worth_another(error: BaseException) -> bool:
    """Return whether the same command may succeed later."""
    return isinstance(error, WITHOUT_ANSWER) and not isinstance(error, _REFUSED)


def message_of(error: Exception) -> str:
    """Return an error's message on one line."""
    # Without our script, in which a server may quote it and redis-py does.
    message = re.sub(r"^Command # \d+ \(EVAL .*?\) of pipeline caused error: ", "", str(error))
    return re.sub(r",? script: \w{40},.*", "", message).rstrip(".") or type(error).__name__


logger = logging.getLogger(__name__)

_PAGE, _LEASE = "persona-panel:page:", "persona-panel:lease:"
_FLUSHED_MS = 3_000
"""The most milliseconds until a write is on the server's disk; it flushes once a second, or at
once."""
_CLOSING_S = 5.0
_FIRST_POLL_S, _LONGEST_POLL_S = 0.05, 1.0

# The reply; else 1 where this process has the lease now, and 0 where another has it.
_CLAIM = """
local kept = redis.call('HGET', KEYS[1], ARGV[1])
if kept then return kept end
local holder = redis.call('GET', KEYS[2])
if holder and holder ~= ARGV[2] then return 0 end
redis.call('SET', KEYS[2], ARGV[2], 'PX', ARGV[3])
return 1
"""
# A lease that ended while the server was away is taken again, unless another has it.
_RENEW = """
local holder = redis.call('GET', KEYS[1])
if not holder or holder == ARGV[1] then redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2]) end
"""
_DROP = """
if redis.call('HGET', KEYS[1], ARGV[1]) == ARGV[2] then redis.call('HDEL', KEYS[1], ARGV[1]) end
"""
_RELEASE = "if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end"

_warned: set[tuple[str, str]] = set()

T = TypeVar("T")


class _Question(NamedTuple):
    """A question for the content of a page; or with a key, whether a reply is there or may be asked
    for."""

    page: str
    key: bytes | None = None


def open_store(location: str) -> RedisReplyStore:
    """Return the store at an address."""
    return RedisReplyStore(location)


class RedisReplyStore(JournaledStore):
    """The replies kept by a Redis or Valkey server. Raises ConfigurationError: the server cannot be
    reached or used."""

    batch_s: ClassVar[float] = 0.05
    lease_s: ClassVar[float] = 30.0
    """The seconds for which others wait for a process that has died."""
    patience_s: ClassVar[float] = 60.0
    """The seconds for which a server that does not answer is tried."""

    def __init__(self, address: str) -> None:
        refuse_unescaped(address)
        SECRETS.learn(*credentials_in(address))
        self._location = without_password(address)
        super().__init__(unsent_folder(self._location))
        self._token = uuid4().hex
        self._outage = OutageReport(f"The cache {self._location}")
        # By page and key; whether the reply has been put, so that the writer gives the lease up.
        self._held: dict[tuple[str, bytes], bool] = {}
        self._questions = Coalesced(self._ask, "shared-cache")
        self._client = client_at(address)
        # All of one connection: what WAITAOF waits for are the writes of its own.
        self._writing = client_at(address, max_connections=1)
        self._flushes = self._opened()
        self.take_over()
        threading.Thread(target=self._keep_leases, name="cache-leases", daemon=True).start()

    @property
    def location(self) -> str:
        return self._location

    def entries(self) -> Iterator[JournalEntry]:
        """Yield all replies, even if the connection is lost meanwhile. A key that is named like a
        page but is none becomes an entry that cannot be read. Raises CacheUnreachable: the server
        no longer answers, or refuses to list what it holds."""
        for name in self._page_names():
            try:
                page = name.decode().removeprefix(_PAGE)
            except UnicodeDecodeError:
                yield JournalEntry("", b"", b"")
                continue
            replies: dict[bytes, bytes] = self._patiently(partial(self._hash_at, name))
            for key, stored in replies.items():
                yield JournalEntry(page, key, stored)

    def _hash_at(self, name: bytes) -> dict[bytes, bytes]:
        hash_: Any
        try:
            hash_ = self._client.hgetall(name)
        except redis.ResponseError as error:
            if "WRONGTYPE" not in str(error):
                raise
            hash_ = {b"": b""}
        return dict(hash_)

    def _page_names(self) -> Iterator[bytes]:
        """Yield the names of pages; a name may come twice, where hashes are moved meanwhile."""
        cursor, is_first = 0, True
        while is_first or cursor:
            scan = partial(self._client.scan, cursor, match=f"{_PAGE}*", count=1_000)
            scanned: Any = self._patiently(scan)
            (cursor, names), is_first = scanned, False
            yield from names

    def put_stored(self, page: str, key: bytes, stored: bytes) -> None:
        """Keep a reply; others who wait for it have it once it is with the server."""
        if (page, key) in self._held:
            self._held[page, key] = True
        super().put_stored(page, key, stored)

    # Waiting without standing in the loop's way

    async def read_ahead(self, page: str, key: bytes) -> None:
        """Read a page so that it is at hand; see `RemoteReplyStore`."""
        if page not in self._pages:
            newer = self._unwritten(page)
            stored: dict[bytes, bytes] = await self._questions.answer(_Question(page))
            self._remember(page, stored.items(), newer)

    @asynccontextmanager
    async def claimed(self, page: str, key: bytes) -> AsyncIterator[ModelResponse | None]:
        """Enter with the reply, or with the right to ask for it; see `SharedReplyStore`."""
        if (reply := await self._claim(page, key)) is not None:
            yield reply
            return
        self._held[page, key] = False
        try:
            yield None
        finally:
            # One that was put is given up by the writer, once others can see the reply.
            if not self._held.get((page, key), True):
                del self._held[page, key]
                self._questions.thread.submit(self._release, [(page, key)])

    async def _claim(self, page: str, key: bytes) -> ModelResponse | None:
        wait_s = _FIRST_POLL_S
        while (claimed := await self._questions.answer(_Question(page, key))) == 0:
            with waiting_for_a_server():
                await asyncio.sleep(random.uniform(wait_s / 2, wait_s))
            wait_s = min(2 * wait_s, _LONGEST_POLL_S)
        return decoded(claimed, page, key) if isinstance(claimed, bytes) else None

    def _ask(self, questions: Sequence[_Question]) -> list[Any]:
        def ask() -> list[Any]:
            with self._client.pipeline(transaction=False) as pipe:
                for page, key in questions:
                    if key is None:
                        pipe.hgetall(_PAGE + page)
                    else:
                        names, lease_ms = (_PAGE + page, _lease(page, key)), self._lease_ms
                        pipe.eval(_CLAIM, 2, *names, key, self._token, lease_ms)
                return pipe.execute()

        return self._patiently(ask)

    # Leases

    @property
    def _lease_ms(self) -> int:
        return round(1_000 * self.lease_s)

    def _keep_leases(self) -> None:
        """Renew the leases in a separate thread, so that a busy loop loses none."""
        while not self._closing.wait(self.lease_s / 3):
            self._on_leases(_RENEW, list(self._held), self._lease_ms)

    def _release(self, entries: Iterable[tuple[str, bytes]]) -> None:
        self._on_leases(_RELEASE, entries)

    def _on_leases(self, script: str, entries: Iterable[tuple[str, bytes]], *more: int) -> None:
        # Not tried again: a lease ends by itself.
        with suppress(redis.RedisError), self._client.pipeline(transaction=False) as pipe:
            for page, key in entries:
                pipe.eval(script, 1, _lease(page, key), self._token, *more)
            pipe.execute()

    # The database of `JournaledStore`

    def _write(self, changes: Pages, *, again: bool = False) -> None:
        # Written twice, a change is the same.
        def write() -> None:
            gone = self._kept_of(changes)
            with self._writing.pipeline(transaction=True) as pipe:
                for page, key, kept in gone:
                    pipe.eval(_DROP, 1, _PAGE + page, key, kept)
                for page, changed in changes.items():
                    for key, change in changed.items():
                        if change.stored:
                            pipe.hset(_PAGE + page, key, change.stored)
                        if self._held.get((page, key)):
                            pipe.eval(_RELEASE, 1, _lease(page, key), self._token)
                pipe.execute()
            if self._flushes:
                flushed, _ = self._writing.waitaof(1, 0, _FLUSHED_MS)
                if not flushed:
                    self._warn(
                        "writes to its disk too late (appendfsync no, or a slow disk): answers "
                        "that were paid for may be lost when its machine stops"
                    )

        self._patiently(write)
        for page, changed in changes.items():
            for key in changed:
                if self._held.get((page, key)):
                    del self._held[page, key]

    def _kept_of(self, changes: Pages) -> list[JournalEntry]:
        """Return the replies that the server keeps of those that are dropped."""
        dropped = [
            (page, key, change.dropped)
            for page, changed in changes.items()
            for key, change in changed.items()
            if change.dropped
        ]
        if not dropped:
            return []
        with self._writing.pipeline(transaction=False) as pipe:
            for page, key, _ in dropped:
                pipe.hget(_PAGE + page, key)
            kept: list[Any] = pipe.execute()
        return [
            JournalEntry(page, key, stored)
            for (page, key, gone), stored in zip(dropped, kept, strict=True)
            if stored is not None and is_among(stored, gone)
        ]

    def _read_page(self, page: str) -> Iterable[tuple[bytes, bytes]]:
        hash_: Any = self._patiently(lambda: self._client.hgetall(_PAGE + page))
        return dict(hash_).items()

    def _close_database(self) -> None:
        self._questions.thread.shutdown(wait=True, cancel_futures=True)
        self._release(list(self._held))
        self._client.close()
        self._writing.close()

    def _unmoved(self, error: Exception) -> str:
        n = len(journals_in(self._folder))
        return (
            f"The last answers are not in the cache {self._location} yet. They are in {n} "
            f"journal{'s' if n != 1 else ''} in {self._folder}, and the next run on this machine "
            "that uses this cache sends them."
        )

    # The server

    def _patiently(self, work: Callable[[], T]) -> T:
        """Try until the server answers, or the patience ends."""

        def is_lost(state: RetryCallState) -> bool:
            return (state.seconds_since_start or 0.0) + state.upcoming_sleep > self._longest_s

        def attempt() -> T:
            asked_at = time.monotonic()
            try:
                result = work()
            except WITHOUT_ANSWER as error:
                if is_worth_another(error):
                    self._outage.failed(asked_at, message_of(error), self._longest_s)
                raise
            self._outage.answered()
            return result

        retrying = Retrying(
            retry=retry_if_exception(is_worth_another),
            wait=wait_random_exponential(multiplier=0.1, max=2),
            stop=is_lost,
            reraise=True,
        )
        try:
            return retrying(attempt)
        except WITHOUT_ANSWER as error:
            if not is_worth_another(error):
                raise self._refused(error) from None
            raise CacheUnreachable(
                f"the cache {self._location} does not answer ({message_of(error)}); see that its "
                "server runs and can be reached, then run the same command again"
            ) from None
        except redis.RedisError as error:
            raise self._refused(error) from None

    @property
    def _longest_s(self) -> float:
        return min(self.patience_s, _CLOSING_S) if self._closing.is_set() else self.patience_s

    def _refused(self, error: redis.RedisError) -> CacheUnreachable:
        return CacheUnreachable(
            f"the cache {self._location} refuses to work ({message_of(error)}); put that right on "
            "its server, then run the same command again"
        )

    def _opened(self) -> bool:
        """Return whether the server can be asked if a write is on its disk. Warns of settings that
        could lose replies. Raises ConfigurationError: it cannot be reached, or used."""
        try:
            info = self._client.info()
        except redis.RedisError as error:
            raise ConfigurationError(
                f"the cache {self._location} cannot be used ({message_of(error)}); see that its "
                f"server runs, and that {ENVIRONMENT_VARIABLE} says its address and password"
            ) from None
        if info.get("role") == "slave":
            raise ConfigurationError(
                f"the cache {self._location} is a replica and takes no answers; set "
                f"{ENVIRONMENT_VARIABLE} to its primary"
            )
        save: str | None = None
        with suppress(redis.RedisError):  # A server that is rented may refuse to say.
            save = self._client.config_get("save").get("save")
        for loss in possible_losses(info, save):
            self._warn(loss)
        major, minor = str(info.get("redis_version", "0.0")).split(".")[:2]
        return bool(info.get("aof_enabled")) and (int(major), int(minor)) >= (7, 2)

    def _warn(self, what: str) -> None:
        """Log a warning, once a process."""
        if (self._location, what) not in _warned:
            _warned.add((self._location, what))
            logger.warning("The cache %s %s.", self._location, what)


def _lease(page: str, key: bytes) -> str:
    return f"{_LEASE}{page}:{key.hex()}"
