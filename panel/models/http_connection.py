"""HTTP connections to one endpoint, by libcurl, kept open between the calls of an event loop.

What is sent and what an answer means is not here.
"""

from __future__ import annotations

import asyncio
import os
import ssl
from collections.abc import AsyncGenerator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import ClassVar
from urllib.parse import SplitResult, quote, unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

import pycurl
from pydantic import SecretStr

from persona_panel.files.limits import is_lack_of_descriptors
from persona_panel.files.secrets import SECRETS
from persona_panel.models.http_responses import HttpResponse
from persona_panel.models.http_transfer import NoHttpResponse, Transfer, no_descriptor
from persona_panel.models.kept_sockets import KeptSockets
from persona_panel.models.stray_answers import look_for_strays

_LONGEST_IDLE_S = 15
"""The seconds for which a connection is kept after its last answer: servers close them sooner or
later, and a request that is sent at that moment is lost."""
_MOST_IDLE = 10_000
"""More than are ever open. By itself libcurl keeps four connections for each request under way, and
would close the others whenever fewer calls are in flight for a moment."""
_SPARING_S = _LONGEST_IDLE_S
"""The seconds for which fewer connections are kept after a lack of descriptors."""
_LARGEST_VALUE = 2**31 - 1
"""The largest number that libcurl's options take on every system."""
_Options = dict[int, str | bytes | int | list[bytes]]


class HttpConnection:
    """A client that posts JSON to `endpoint`, with separate connections for each event loop.

    `timeout_s` spans a whole exchange, from connecting to the last byte. Calls go through the
    proxy that HTTP_PROXY or HTTPS_PROXY names, unless NO_PROXY leaves the endpoint out.
    `headers` go with each call.
    """

    FAULTS: ClassVar = (NoHttpResponse, OSError)
    """The errors of an exchange without an answer, besides TimeoutError."""

    def __init__(
        self,
        endpoint: str,
        api_key: SecretStr | None,
        timeout_s: float,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self._endpoint = endpoint
        self._headers = dict(headers or {})
        if api_key and (key := api_key.get_secret_value()):
            SECRETS.learn(key)
            self._headers = _with_header(self._headers, "Authorization", f"Bearer {key}")
        self._timeout_s = timeout_s
        self._pools: dict[asyncio.AbstractEventLoop, _Pool] = {}

    async def exchange(self, data: bytes) -> HttpResponse:
        """Send one request and return its answer, whatever its status. A redirect is not followed,
        and of a body that is longer than `http_responses.MOST_BYTES` only the beginning is read.
        Raises TimeoutError, NoHttpResponse: none came; OSError: this process can open no
        connection."""
        with await self._pool() as pool:
            transfer = pool.idle.pop() if pool.idle else self._transfer(pool, self._endpoint)
            transfer.prepare(data)
            answer = await transfer.answer()
            # One that is cancelled is still libcurl's, and is used no more.
            pool.idle.append(transfer)
        return answer

    async def exchange_at(
        self, method: str, url: str, data: bytes | None, kind: str, timeout_s: float | None = None
    ) -> HttpResponse:
        """Exchange as `exchange` does, at another address of the same server: `data` are of the
        media type `kind`. `timeout_s` is for the whole exchange, where it may take longer than a
        call."""
        with await self._pool() as pool:
            transfer = self._transfer(pool, url, kind, timeout_s)
            transfer.prepare(data or b"", method)
            return await transfer.answer()

    async def download(self, url: str, to: Path, timeout_s: float) -> HttpResponse:
        """Write what is at an address into a new file; the answer has a body only where it is no
        success. Raises as `exchange`, and OSError where the file cannot be written."""
        with await self._pool() as pool:
            transfer = self._transfer(pool, url, timeout_s=timeout_s)
            transfer.prepare(b"", "GET")
            return await transfer.into(to)

    async def aclose(self) -> None:
        """Close the running loop's connections; a later call opens new ones.

        Another loop's are closed by `aclose` there, or when that loop ends.
        """
        if pool := self._pools.get(asyncio.get_running_loop()):
            try:
                # An answer too many may be on its way.
                await look_for_strays()
            finally:
                await pool.keeper.aclose()

    def distrust(self) -> None:
        """Use none of the running loop's connections again that are open now: an answer that came
        on one of them belongs to another request."""
        if pool := self._pools.get(asyncio.get_running_loop()):
            pool.sockets.distrust()

    def _transfer(
        self, pool: _Pool, url: str, kind: str = "application/json", timeout_s: float | None = None
    ) -> Transfer:
        """Return a way to send requests to an address, as `exchange_at`."""
        address = _in_ascii(url)
        # Empty, as libcurl would otherwise wait for leave to send a long body.
        lines = [
            f"{name}: {value}" if value.strip() else f"{name};"
            for name, value in _with_header(self._headers, "Content-Type", kind).items()
        ] + ["Expect:"]
        options = pool.options | {
            pycurl.URL: address.geturl(),
            pycurl.HTTPHEADER: [line.encode() for line in lines],
            pycurl.USERAGENT: "persona-panel",
            pycurl.HTTP_VERSION: pycurl.CURL_HTTP_VERSION_1_1,
            pycurl.ACCEPT_ENCODING: "gzip, deflate",
            pycurl.NOSIGNAL: True,
            pycurl.MAXAGE_CONN: _LONGEST_IDLE_S,
            # While a model thinks nothing is sent, and a router may forget the connection.
            pycurl.TCP_KEEPALIVE: True,
            pycurl.TIMEOUT_MS: _milliseconds(timeout_s or self._timeout_s),
        }
        if timeout_s is not None:
            low_speed_s = max(1, round(min(self._timeout_s, _LARGEST_VALUE)))
            options |= {pycurl.LOW_SPEED_LIMIT: 1, pycurl.LOW_SPEED_TIME: low_speed_s}
        curl = pycurl.Curl()
        for option, value in options.items():
            curl.setopt(option, value)
        is_tls = "https" in (address.scheme, str(options[pycurl.PROXY]).partition(":")[0])
        return Transfer(curl, pool.multi, pool.sockets, is_tls=is_tls)

    async def _pool(self) -> _Pool:
        """Return the running loop's connections, which are made on first use.

        They belong to one loop. An asynchronous generator keeps them, because a loop that ends
        closes those of its generators that are still open.
        """
        loop = asyncio.get_running_loop()
        if pool := self._pools.get(loop):
            return pool
        options = _certificates() | _proxy_options(self._endpoint)
        for closed in [loop for loop in list(self._pools) if loop.is_closed()]:
            if old := self._pools.pop(closed, None):
                old.close_after_loop()
        keeper = self._keep_connections(loop)
        # Nothing is awaited up to its yield, so no second caller gets in between.
        pool = self._pools[loop] = _Pool(loop, await anext(keeper), keeper, options)
        return pool

    async def _keep_connections(
        self, loop: asyncio.AbstractEventLoop
    ) -> AsyncGenerator[pycurl.AsyncCurlMulti, None]:
        try:
            connections = pycurl.AsyncCurlMulti()
        except pycurl.error as error:
            raise no_descriptor() or NoHttpResponse(str(error), is_unsent=True) from None
        async with connections as multi:
            multi.setopt(pycurl.M_MAXCONNECTS, _MOST_IDLE)
            try:
                yield multi
            finally:
                if pool := self._pools.pop(loop, None):
                    pool.close()


class _Pool:
    """A loop's connections, and the generator that closes them when it is closed. A block in it is
    an exchange: a while after the last, or at once where descriptors are lacking, all are closed.
    `options`: libcurl's, for each transfer; `idle`: transfers to the endpoint that can be used
    again."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        multi: pycurl.AsyncCurlMulti,
        keeper: AsyncGenerator[pycurl.AsyncCurlMulti, None],
        options: _Options,
    ) -> None:
        self._loop = loop
        self.multi, self.keeper, self.options = multi, keeper, options
        self.idle: list[Transfer] = []
        self.sockets = KeptSockets(loop)
        self._in_flight = 0
        self._kept_s: float = _LONGEST_IDLE_S
        self._sparing: asyncio.TimerHandle | None = None
        self._closing: asyncio.TimerHandle | asyncio.Task[None] | None = None

    def __enter__(self) -> _Pool:
        self._in_flight += 1
        if self._closing is not None:
            self._closing.cancel()
            self._closing = None
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, OSError) and is_lack_of_descriptors(error):
            self._keep_few()
        self._in_flight -= 1
        # libcurl closes idle connections only when the next request is made.
        if not (self._in_flight or self.multi.closed or self._loop.is_closed()):
            self._closing = self._loop.call_later(self._kept_s, self._close_idle)

    def close(self) -> None:
        """Look at the connections for the last time, before they are closed."""
        self.sockets.close()
        self.idle.clear()
        for later in (self._closing, self._sparing):
            if later is not None:
                later.cancel()

    def close_after_loop(self) -> None:
        """Close the connections of a loop that was closed and did not close its generators."""
        # Nothing is awaited. What is still in flight cannot be ended without its loop.
        with suppress(StopIteration, RuntimeError):
            self.keeper.aclose().send(None)

    def _keep_few(self) -> None:
        # Without descriptors others need them more than what is idle, such as the file that a reply
        # is kept in.
        if self.multi.closed or self._loop.is_closed():
            return
        self.multi.setopt(pycurl.M_MAXCONNECTS, max(1, self._in_flight // 2))
        self.sockets.closes_idle = True
        self._kept_s = 0
        if self._sparing is not None:
            self._sparing.cancel()
        self._sparing = self._loop.call_later(_SPARING_S, self._keep_all)

    def _keep_all(self) -> None:
        # Else each later call of a run that is never idle would open a connection of its own.
        self.multi.setopt(pycurl.M_MAXCONNECTS, _MOST_IDLE)
        self.sockets.closes_idle = False
        self._kept_s = _LONGEST_IDLE_S

    def _close_idle(self) -> None:
        self._closing = self._loop.create_task(self._closed())

    async def _closed(self) -> None:
        # Begun, it is not to be cancelled.
        self._closing = None
        await self.keeper.aclose()


def _with_header(headers: Mapping[str, str], name: str, value: str) -> dict[str, str]:
    """Return the headers with this one in place of any of the same name, in whatever case."""
    return {each: text for each, text in headers.items() if each.lower() != name.lower()} | {
        name: value
    }


def _in_ascii(url: str) -> SplitResult:
    """Return an address as it goes over the wire: libcurl takes it as it is, and need not know the
    names of hosts in other letters."""
    parts = urlsplit(url)
    return parts._replace(
        netloc=parts.netloc.encode("idna").decode(),
        path=quote(parts.path, safe="!$%&'()*+,/:;=@~"),
        query=quote(parts.query, safe="!$%&'()*+,/:;=?@~"),
    )


def _milliseconds(seconds: float) -> int:
    # 0 would be no limit.
    return max(1, round(min(seconds * 1000, _LARGEST_VALUE)))


def _certificates() -> _Options:
    """Return the certificates that Python's own clients trust: the system's, or those that
    SSL_CERT_FILE or SSL_CERT_DIR names. The libcurl in pycurl's wheels only knows their place on
    the system on which it was built."""
    paths = ssl.get_default_verify_paths()
    options: _Options = {}
    if paths.cafile:
        options |= {pycurl.CAINFO: paths.cafile, pycurl.PROXY_CAINFO: paths.cafile}
    # Where libcurl has a folder, too, it reads the file again for each connection.
    if paths.capath and (not paths.cafile or paths.openssl_capath_env in os.environ):
        options |= {pycurl.CAPATH: paths.capath, pycurl.PROXY_CAPATH: paths.capath}
    return options


def _proxy_options(endpoint: str) -> _Options:
    """Return the proxy that the environment names for an endpoint, and what it wants to be told of
    who asks.

    Not left to libcurl, which reads HTTP_PROXY in lower case only. Raises NoHttpResponse: it is no
    proxy that can be used."""
    server = urlsplit(endpoint)
    port = server.port or (443 if server.scheme == "https" else 80)
    # With brackets and without: either is written in NO_PROXY.
    hosts = (f"{server.hostname}:{port}", f"[{server.hostname}]:{port}")
    named = None if any(map(proxy_bypass, hosts)) else getproxies().get(server.scheme)
    if not named:
        # Empty, as libcurl would look into the environment by itself.
        return {pycurl.PROXY: ""}
    try:
        proxy = urlsplit(named if "://" in named else f"http://{named}")
        is_usable = proxy.scheme in ("http", "https") and proxy.hostname
    except ValueError:
        is_usable = False
    if not is_usable:
        raise NoHttpResponse(
            f"{server.scheme.upper()}_PROXY is not the address of a proxy at http:// or "
            f"https://; correct it, or add {server.hostname} to NO_PROXY",
            is_final=True,
        )
    address = f"{proxy.scheme}://{proxy.netloc.rpartition('@')[2]}"
    options: _Options = {pycurl.PROXY: address, pycurl.NOPROXY: ""}
    if proxy.username is not None:
        options |= {
            pycurl.PROXYUSERNAME: unquote(proxy.username).encode(),
            pycurl.PROXYPASSWORD: unquote(proxy.password or "").encode(),
        }
    return options
