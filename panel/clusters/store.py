"""The driver's cache, as a worker uses it."""

from __future__ import annotations

import platform
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager
from typing import ClassVar

from persona_panel.calls.journal import JournalEntry
from persona_panel.calls.journaled_store import JournaledStore, Pages, unsent_folder
from persona_panel.clusters.lease_client import LeaseClient
from persona_panel.clusters.messages import DRIVER, ClaimReply, GiveUp, Letter, Mailbox, Store
from persona_panel.rubrics import ModelResponse


class ClusterStore(JournaledStore):
    """A `RemoteReplyStore` that holds nothing for long: replies are in a journal on this machine
    until the driver has them. What a worker has left that was killed, the next one on its machine
    sends.

    `location` is that of the driver's cache.
    """

    batch_s: ClassVar[float] = 0.02

    def __init__(self, location: str, name: str, client: LeaseClient, mailbox: Mailbox) -> None:
        super().__init__(unsent_folder(location))
        self._location = location
        # The writer's own letters: it waits for their answers while the loop may wait for it.
        self._name, self._reply_to = name, f"{name}/writer"
        self._client = client
        self._mailbox = mailbox
        # By page and key; whether the reply was put, so that the driver ends the claim with it.
        self._claims: dict[tuple[str, bytes], bool] = {}

    @property
    def location(self) -> str:
        return self._location

    @property
    def journals(self) -> str:
        """A name of the folder of journals, and of no other on any machine."""
        found = self._folder.stat()
        return f"{platform.node()}:{found.st_dev}:{found.st_ino}"

    def put_stored(self, page: str, key: bytes, stored: bytes) -> None:
        """Keep a reply; raises as `put`."""
        super().put_stored(page, key, stored)
        if (page, key) in self._claims:
            self._claims[page, key] = True

    async def read_ahead(self, page: str, key: bytes) -> None:
        """Nothing: what the driver has comes with the claim."""

    @asynccontextmanager
    async def claimed(self, page: str, key: bytes) -> AsyncIterator[ModelResponse | None]:
        """The reply, or the right to ask for it; see `SharedReplyStore`."""
        reply: ModelResponse | None = await self._client.ask(ClaimReply(page, key))
        if reply is not None:
            yield reply
            return
        self._claims[page, key] = False
        try:
            yield None
        finally:
            if not self._claims.pop((page, key)):
                self._client.tell(GiveUp(page, key))

    def entries(self) -> Iterator[JournalEntry]:
        """None: they are the driver's to list."""
        return iter(())

    def _write(self, changes: Pages, *, again: bool = False) -> None:
        letter = Letter(self._name, (), [(0, Store(changes))], self._reply_to)
        self._mailbox.post(DRIVER, letter)
        for answers in self._mailbox.wait(self._reply_to):
            for _, said in answers.to:
                if isinstance(said, Exception):
                    raise said

    def _read_page(self, page: str) -> Iterable[tuple[bytes, bytes]]:
        return ()

    def _close_database(self) -> None:
        """There is none here."""

    def _unmoved(self, error: Exception) -> str:
        return (
            f"Answers on their way to the cache {self._location} are in a journal in "
            f"{self._folder}; the next worker on this machine sends them."
        )
