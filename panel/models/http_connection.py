"""HTTP connections to one endpoint, kept for as long as an event loop lives.

What is sent and what an answer means is not here.
"""

from __future__ import annotations

import asyncio
from base64 import b64encode
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import ClassVar, NamedTuple
from urllib.request import getproxies, proxy_bypass

from aiohttp import (
    ClientConnectorCertificateError,
    ClientConnectorError,
    ClientError,
    ClientResponse,
    ClientSession,
    ClientTimeout,
    DummyCookieJar,
    TCPConnector,
)
from multidict import CIMultiDict
from pydantic import SecretStr
from yarl import URL

from panel.io.private_files import open_private
from panel.models.error_responses import MOST_BYTES, HttpResponse
from panel.secrets import SECRETS

_PACKED = "Content-Encoding"


class ProxyRefused(ClientError):
    """A proxy that can never be used; the message says why, and holds no credentials."""


class HttpConnection:
    """Posts JSON to `endpoint`, each event loop through connections of its own.

    `timeout_s` spans a whole exchange, from connecting to the last byte. Calls go through the
    proxy that HTTP_PROXY or HTTPS_PROXY names, unless NO_PROXY leaves the endpoint out.
    `headers` go with each call.
    """

    FAULTS: ClassVar = (ClientError, OSError)
    """What is raised where no answer comes, besides TimeoutError."""

    def __init__(
        self,
        endpoint: URL,
        api_key: SecretStr | None,
        timeout_s: float,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self._endpoint = endpoint
        self._headers = dict(headers or {})
        self._api_key = api_key
        SECRETS.learn(api_key.get_secret_value() if api_key else None)
        self._timeout = ClientTimeout(total=timeout_s)
        self._pools: dict[asyncio.AbstractEventLoop, _Pool] = {}

    async def exchange(self, data: bytes) -> HttpResponse:
        """One request and its answer, whatever its status. A redirect is not followed, and of a
        body that is longer than `MOST_BYTES` only the beginning is read.

        Raises:
            TimeoutError, OSError, aiohttp.ClientError: none came. Their context may hold
                the key.
        """
        pool = self._pools.get(asyncio.get_running_loop()) or await self._open()
        response = await pool.session.post(
            self._endpoint,
            data=data,
            headers=pool.headers,
            allow_redirects=False,
            proxy_headers=pool.tunnel,
        )
        # Most answers have come whole, and their connection is free again: nothing to wait for.
        # A packed one may be of any length, as aiohttp 3.13 unpacks it at once.
        if response.connection is None and _PACKED not in response.headers:
            body = response.content.read_nowait()
            return HttpResponse(response.status, response.headers, body)
        async with response:
            return await _answer_in(response)

    async def exchange_at(
        self, method: str, url: URL, data: bytes | None, kind: str, timeout_s: float | None = None
    ) -> HttpResponse:
        """As `exchange`, at another address of the same server: `data` are of the media type
        `kind`. `timeout_s` is for the whole, where it may take longer than a call."""
        async with self._opened(method, url, data, kind, timeout_s) as response:
            return await _answer_in(response)

    async def download(self, url: URL, to: Path, timeout_s: float) -> HttpResponse:
        """Write what is at an address into a new file; the answer has a body only where it is no
        success. Raises as `exchange`, and OSError where the file cannot be written."""
        async with self._opened("GET", url, None, "application/json", timeout_s) as response:
            if response.status >= 300:
                return await _answer_in(response)
            with open_private(to, "xb") as file:
                async for part in response.content.iter_any():
                    file.write(part)
            return HttpResponse(response.status, response.headers, b"")

    @asynccontextmanager
    async def _opened(
        self, method: str, url: URL, data: bytes | None, kind: str, timeout_s: float | None
    ) -> AsyncIterator[ClientResponse]:
        pool = self._pools.get(asyncio.get_running_loop()) or await self._open()
        headers = pool.headers.copy()
        headers["Content-Type"] = kind
        seconds = self._timeout.total
        timeout = ClientTimeout(total=timeout_s or seconds, sock_read=seconds)
        async with pool.session.request(
            method,
            url,
            data=data,
            headers=headers,
            timeout=timeout,
            allow_redirects=False,
            proxy_headers=pool.tunnel,
        ) as response:
            yield response

    @staticmethod
    def is_final(fault: Exception) -> bool:
        """Whether no other try can fare better."""
        return isinstance(fault, ClientConnectorCertificateError | ProxyRefused)

    @staticmethod
    def is_unsent(fault: Exception) -> bool:
        """Whether there was no connection; else the request may have been read and worked on."""
        return isinstance(fault, ClientConnectorError)

    async def aclose(self) -> None:
        """Close the running loop's connections; a later call opens new ones.

        Another loop's are closed by `aclose` there, or when that loop ends.
        """
        if pool := self._pools.get(asyncio.get_running_loop()):
            await pool.keeper.aclose()

    async def _open(self) -> _Pool:
        """The running loop's connections, on first use.

        A session belongs to one loop. An asynchronous generator keeps it, because a loop
        that ends closes those of its generators that are still open.
        """
        loop = asyncio.get_running_loop()
        proxy = _proxy_to(self._endpoint)
        keeper = self._keep_session(loop, proxy.address if proxy else None)
        # Nothing is awaited up to its yield, so no second caller gets in between.
        session = await anext(keeper)
        # A proxy that tunnels is told who asks before a call, one that fetches with it.
        login = proxy.login if proxy else {}
        tunnel = login if self._endpoint.scheme == "https" else {}
        headers = CIMultiDict(self._headers | ({} if tunnel else login))
        if self._api_key:
            headers["Authorization"] = f"Bearer {self._api_key.get_secret_value()}"
        pool = self._pools[loop] = _Pool(session, keeper, headers, tunnel or None)
        return pool

    async def _keep_session(
        self, loop: asyncio.AbstractEventLoop, proxy: URL | None
    ) -> AsyncGenerator[ClientSession, None]:
        session = ClientSession(
            # Not the key: aiohttp tells a session's headers to its proxy as well.
            headers={"Content-Type": "application/json"},
            timeout=self._timeout,
            # How many calls are in flight is decided above; the default would stop at 100.
            connector=TCPConnector(limit=0),
            cookie_jar=DummyCookieJar(),
            proxy=proxy,
        )
        try:
            yield session
        finally:
            self._pools.pop(loop, None)
            await session.close()


class _Pool(NamedTuple):
    """A loop's connections, and the generator that closes them when it is closed. `headers` go
    with each call, `tunnel` to a proxy through which TLS goes."""

    session: ClientSession
    keeper: AsyncGenerator[ClientSession, None]
    headers: CIMultiDict[str]
    tunnel: dict[str, str] | None


async def _answer_in(response: ClientResponse) -> HttpResponse:
    """The status, the headers and the body, the latter no further than `MOST_BYTES`."""
    status, headers = response.status, response.headers
    # Most bodies say how long they are.
    if (response.content_length or MOST_BYTES) < MOST_BYTES and _PACKED not in headers:
        return HttpResponse(status, headers, await response.read())
    parts, length = [], 0
    # Unpacked piece by piece: a small body may hold gigabytes.
    async for part in response.content.iter_any():
        parts.append(part)
        length += len(part)
        if length > MOST_BYTES:
            # The rest is not wanted, nor a connection that it still comes on.
            response.close()
            return HttpResponse(status, headers, b"".join(parts)[:MOST_BYTES], whole=False)
    return HttpResponse(status, headers, b"".join(parts))


class _Proxy(NamedTuple):
    """Where a proxy is, and what it wants to be told of who asks: apart, since aiohttp shows an
    address in its errors."""

    address: URL
    login: dict[str, str]


def _proxy_to(endpoint: URL) -> _Proxy | None:
    """The proxy that the environment names for an endpoint, None for none.

    Worked out once a connection pool: aiohttp's own `trust_env` does it in a thread at each call,
    and takes what ~/.netrc says of the host for a second Authorization, beside the key.

    Raises:
        ProxyRefused: it is no proxy that can be used.
    """
    named = None if proxy_bypass(endpoint.host or "") else getproxies().get(endpoint.scheme)
    if not named:
        return None
    try:
        url = URL(named if "://" in named else f"http://{named}")
    except ValueError:
        url = URL()
    if url.scheme not in ("http", "https") or not url.host:
        raise ProxyRefused(
            f"{endpoint.scheme.upper()}_PROXY is not the address of a proxy at http:// or "
            f"https://; correct it, or add {endpoint.host} to NO_PROXY"
        )
    login = {}
    if url.user is not None:
        coded = b64encode(f"{url.user}:{url.password or ''}".encode()).decode()
        login["Proxy-Authorization"] = f"Basic {coded}"
    return _Proxy(url.with_user(None), login)
