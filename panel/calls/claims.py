"""Claims on replies among the processes of one machine: one process asks, and the others wait.

A claim is the lock of a single byte of a file. The operating system frees it as soon as its
process ends, however it ends, so that no clock decides whether a process is alive. These locks
belong to a process, so that one that is forked does not keep them; claims of two stores in one
process are told apart here. The file's content is nothing; its size says how many stores were ever
opened, so that a process which has the folder to itself sees that by one system call.
"""

from __future__ import annotations

import asyncio
import errno
import fcntl
import logging
import os
import random
import threading
import time
import zlib
from collections.abc import Awaitable, Callable
from pathlib import Path

from persona_panel.calls.in_flight import waiting_for_a_server
from persona_panel.files.private_files import PRIVATE_FILE
from persona_panel.rubrics import ModelResponse

_FILE = "claims"
_FIRST_POLL_S, _LONGEST_POLL_S, _GROWTH = 0.01, 0.25, 1.25
_LONG_WAIT_S = 60.0
_TAKEN = frozenset({errno.EAGAIN, errno.EACCES})
_PRESENCE = 0
"""The byte that every process with an open store has locked together with the others."""


class _ClaimsFile:
    """A file of claims, open once in this process: closing it a second time would free the locks
    of all that have it open."""

    def __init__(self, path: Path) -> None:
        self.descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, PRIVATE_FILE)
        self.stores = 0
        self.held: dict[int, object] = {}


_guard = threading.Lock()
_files: dict[tuple[int, int], _ClaimsFile] = {}


def _forget() -> None:
    """In a process that was forked, which has none of its parent's locks."""
    global _guard
    _guard = threading.Lock()
    _files.clear()


os.register_at_fork(after_in_child=_forget)


class Claims:
    """What a store claims in a folder that other stores may use as well.

    Raises:
        OSError: the file system has no such locks, or the file cannot be opened.
    """

    def __init__(self, folder: Path) -> None:
        path = folder / _FILE
        with _guard:
            self._file = _opened(path)
            self._descriptor = descriptor = self._file.descriptor
            self._file.stores += 1
            try:
                # In this order: of two that open at once, one at least sees the other.
                fcntl.lockf(descriptor, fcntl.LOCK_SH, 1, _PRESENCE)
                self._size = os.fstat(descriptor).st_size + 1
                # Takes no room, so that a full disk does not matter.
                os.ftruncate(descriptor, self._size)
                self._alone = self._file.stores == 1 and _is_only_process(descriptor)
            except BaseException:
                self._leave()
                raise
        self._folder = folder
        self._is_warned = False

    def is_alone(self) -> bool:
        """Whether no other store has been open in the folder since this one was opened."""
        if self._alone and os.fstat(self._descriptor).st_size != self._size:
            self._alone = False
        return self._alone

    def take(self, place: int) -> bool:
        """Claim a place, unless another store has it."""
        held, own = self._file.held, object()
        # In one step: another store of this process may be in another thread.
        if held.setdefault(place, own) is not own:
            return False
        try:
            fcntl.lockf(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)
        except OSError as error:
            if error.errno in _TAKEN:
                del held[place]
                return False
            # The system has no lock left: it is better asked twice than not at all.
        return True

    async def take_patiently(self, place: int) -> None:
        """Wait until a place can be claimed."""
        wait_s, began = _FIRST_POLL_S, time.monotonic()
        with waiting_for_a_server():
            while not self.take(place):
                # Jitter needs no secrecy.
                await asyncio.sleep(random.uniform(wait_s / 2, wait_s))
                wait_s = min(_GROWTH * wait_s, _LONGEST_POLL_S)
                if not self._is_warned and time.monotonic() - began > _LONG_WAIT_S:
                    self._is_warned = True
                    logging.getLogger(__name__).warning(
                        "An answer has been waited for for %.0f s that another process with the "
                        "cache %s asks for; if that process is stopped or hangs, end it, and this "
                        "run asks for the answer itself",
                        _LONG_WAIT_S,
                        self._folder,
                    )

    def give_up(self, place: int) -> None:
        """Let others claim a place."""
        fcntl.lockf(self._descriptor, fcntl.LOCK_UN, 1, place)
        del self._file.held[place]

    def close(self) -> None:
        """Give up this process's presence, if no other store of it uses the folder."""
        with _guard:
            self._leave()

    def _leave(self) -> None:
        self._file.stores -= 1
        if not self._file.stores:
            for known, file in list(_files.items()):
                if file is self._file:
                    del _files[known]
            os.close(self._descriptor)


class ReplyClaim:
    """Entered with the reply that another process has got, or with None once this process alone
    may ask for it; see `SharedReplyStore.claimed`.

    `look_up` finds what other processes have put.
    """

    __slots__ = ("_claims", "_look_up", "_place")

    def __init__(
        self,
        claims: Claims,
        page: str,
        key: bytes,
        look_up: Callable[[str, bytes], Awaitable[ModelResponse | None]],
    ) -> None:
        self._claims = claims
        self._place = place_of(page, key)
        self._look_up = look_up, page, key

    async def __aenter__(self) -> ModelResponse | None:
        claims, place = self._claims, self._place
        if not claims.take(place):
            await claims.take_patiently(place)
        # Without a pause since the caller has looked for the reply itself, which is not there then.
        elif claims.is_alone():
            return None
        look_up, page, key = self._look_up
        try:
            return await look_up(page, key)
        except BaseException:
            claims.give_up(place)
            raise

    async def __aexit__(self, *error: object) -> None:
        self._claims.give_up(self._place)


def place_of(page: str, key: bytes) -> int:
    """The byte that stands for a reply, from 1 to 2^62. Two that share one by chance wait for each
    other."""
    return ((int.from_bytes(key[:8], "big") ^ zlib.crc32(page.encode())) >> 2) + 1


def _opened(path: Path) -> _ClaimsFile:
    """The file, as this process has it open."""
    try:
        found = path.stat()
    except FileNotFoundError:
        file = _ClaimsFile(path)
        found = os.fstat(file.descriptor)
    else:
        known = _files.get((found.st_dev, found.st_ino))
        if known is not None:
            return known
        file = _ClaimsFile(path)
        found = os.fstat(file.descriptor)
    _files[found.st_dev, found.st_ino] = file
    return file


def _is_only_process(descriptor: int) -> bool:
    """Whether no other process has a store open in the folder."""
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _PRESENCE)
    except OSError as error:
        if error.errno in _TAKEN:
            return False
        raise
    fcntl.lockf(descriptor, fcntl.LOCK_SH, 1, _PRESENCE)
    return True
