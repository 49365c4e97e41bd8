"""Replies that have been paid for, on disk, so that none is paid for twice.

A row is one reply, stored as compressed JSON under a digest of everything that
changes it. Which replies are worth keeping is the caller's business.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import sqlite3
import zlib
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any

import diskcache
import orjson
import platformdirs
from diskcache.core import MODE_BINARY, MODE_RAW

from panel.errors import ConfigurationError
from rubrics import Ask, Position, Reply, Usage

ENVIRONMENT_VARIABLE = "PERSONA_PANEL_CACHE"


def default_folder() -> Path:
    """$PERSONA_PANEL_CACHE, or the user's cache folder."""
    if folder := os.environ.get(ENVIRONMENT_VARIABLE):
        return Path(folder)
    return Path(platformdirs.user_cache_dir("persona-panel"))


def key_of(parameters: Mapping[str, Any], ask: Ask, replicate: int) -> str:
    """A digest of everything that changes a reply."""
    document = orjson.dumps(
        [1, parameters, asdict(ask), replicate],
        option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS,
    )
    return hashlib.sha256(document).hexdigest()


class _BytesDisk(diskcache.Disk):  # type: ignore[misc]
    """Bytes under text keys and nothing else: diskcache would pickle anything more, and
    unpickle whatever somebody put into its folder (CVE-2025-69872)."""

    def put(self, key: Any) -> tuple[Any, bool]:
        if not isinstance(key, str):
            raise TypeError(f"a cache key is text, not {type(key).__name__}")
        return super().put(key)  # type: ignore[no-any-return]

    def store(self, value: Any, read: bool, key: Any = diskcache.UNKNOWN) -> Any:
        if not isinstance(value, bytes):
            raise TypeError(f"a cached value is bytes, not {type(value).__name__}")
        return super().store(value, read, key)

    def fetch(self, mode: int, filename: str | None, value: Any, read: bool) -> Any:
        if mode not in (MODE_RAW, MODE_BINARY):
            raise ValueError("the cache holds a value that persona-panel did not write")
        return super().fetch(mode, filename, value, read)


class ReplyCache:
    """The replies kept in one folder. Several processes may share it.

    Writes are gathered and committed together off the event loop; `put` returns once
    its reply is on disk.

    Raises:
        ConfigurationError: the folder cannot be used.
    """

    def __init__(self, folder: Path) -> None:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            # Nothing that was paid for is evicted; a wait of a minute for another
            # process's write is better than a lost one.
            self._store = diskcache.Cache(
                str(folder), disk=_BytesDisk, eviction_policy="none", cull_limit=0, timeout=60
            )
        except (OSError, sqlite3.Error, diskcache.Timeout) as error:
            raise ConfigurationError(
                f"the cache {folder} cannot be used ({error}); see that there is space and "
                f"permission, or choose another with {ENVIRONMENT_VARIABLE}"
            ) from None
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="reply-cache")
        self._waiting: list[tuple[str, bytes, asyncio.Future[None]]] = []
        self._flushing: asyncio.Task[None] | None = None

    def get(self, key: str) -> Reply | None:
        """The reply kept under `key`, marked as cached; None where there is none."""
        stored = self._store.get(key)
        return None if stored is None else _decode(stored)

    def has(self, key: str) -> bool:
        """Whether a reply is kept under `key`."""
        return key in self._store

    async def put(self, key: str, reply: Reply) -> None:
        """Keep a reply; returns when it is on disk."""
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((key, _encode(reply), done))
        if self._flushing is None or self._flushing.done():
            self._flushing = asyncio.create_task(self._flush())
        await done

    async def forget(self, keys: Iterable[str]) -> None:
        """Drop replies that turned out to be no result."""
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(self._writer, self._delete, list(keys))

    def close(self) -> None:
        """Close the files. What `put` has returned from is safe without it."""
        self._writer.shutdown(wait=True)
        self._store.close()

    async def _flush(self) -> None:
        loop = asyncio.get_running_loop()
        while self._waiting:
            batch, self._waiting = self._waiting, []
            try:
                await loop.run_in_executor(
                    self._writer, self._write, [(key, value) for key, value, _ in batch]
                )
            except Exception as error:
                for _, _, done in batch:
                    if not done.done():
                        done.set_exception(error)
            else:
                for _, _, done in batch:
                    if not done.done():
                        done.set_result(None)

    def _write(self, rows: list[tuple[str, bytes]]) -> None:
        with self._store.transact(retry=True):
            for key, value in rows:
                self._store.set(key, value, retry=True)

    def _delete(self, keys: list[str]) -> None:
        with self._store.transact(retry=True):
            for key in keys:
                self._store.delete(key, retry=True)


def _encode(reply: Reply) -> bytes:
    return zlib.compress(orjson.dumps(asdict(reply)), level=1)


def _decode(stored: bytes) -> Reply:
    fields = orjson.loads(zlib.decompress(stored))
    fields["usage"] = Usage(**fields["usage"])
    fields["logprobs"] = tuple(
        Position(position["token"], tuple((token, p) for token, p in position["top"]))
        for position in fields["logprobs"]
    )
    fields["cached"] = True
    return Reply(**fields)
