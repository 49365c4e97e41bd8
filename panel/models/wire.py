"""HTTP connections to one endpoint, kept for as long as an event loop lives.

What is sent and what an answer means is not here.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import NamedTuple

from aiohttp import ClientSession, ClientTimeout, DummyCookieJar, TCPConnector
from pydantic import SecretStr
from yarl import URL

from panel.models.complaints import Answer


class Wire:
    """Posts JSON to `endpoint`, each event loop through connections of its own.

    `timeout_s` spans a whole exchange, from connecting to the last byte.
    """

    def __init__(self, endpoint: URL, api_key: SecretStr | None, timeout_s: float) -> None:
        self._endpoint = endpoint
        self._api_key = api_key
        self._timeout = ClientTimeout(total=timeout_s)
        self._pools: dict[asyncio.AbstractEventLoop, _Pool] = {}

    async def exchange(self, data: bytes) -> Answer:
        """One request and its answer, whatever its status. A redirect is not followed.

        Raises:
            TimeoutError, OSError, aiohttp.ClientError: none came. Their context may hold
                the key.
        """
        pool = self._pools.get(asyncio.get_running_loop()) or await self._open()
        async with pool.session.post(self._endpoint, data=data, allow_redirects=False) as response:
            return Answer(response.status, response.headers, await response.read())

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
        keeper = self._keep_session(loop)
        # Nothing is awaited up to its yield, so no second caller gets in between.
        pool = self._pools[loop] = _Pool(await anext(keeper), keeper)
        return pool

    async def _keep_session(
        self, loop: asyncio.AbstractEventLoop
    ) -> AsyncGenerator[ClientSession, None]:
        headers = {"Content-Type": "application/json"}
        if self._api_key:
            headers["Authorization"] = f"Bearer {self._api_key.get_secret_value()}"
        session = ClientSession(
            headers=headers,
            timeout=self._timeout,
            # How many calls are in flight is decided above; the default would stop at 100.
            connector=TCPConnector(limit=0),
            cookie_jar=DummyCookieJar(),
        )
        try:
            yield session
        finally:
            self._pools.pop(loop, None)
            await session.close()


class _Pool(NamedTuple):
    """A loop's connections, and the generator that closes them when it is closed."""

    session: ClientSession
    keeper: AsyncGenerator[ClientSession, None]
