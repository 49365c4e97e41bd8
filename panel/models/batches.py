"""What is needed of a provider that answers requests by batches: hours later, at a lower price.

A provider is a neighbouring module. When a batch is sent, written down and looked at again is
decided above, in `persona_panel.calls`.
"""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol, runtime_checkable

from persona_panel.files.file_limits import json_in
from persona_panel.files.wording import shown
from persona_panel.models.client import CallError
from persona_panel.models.error_responses import BROKEN
from persona_panel.rubrics import ModelRequest, ModelResponse

CLOCKS_S = 300.0
"""By how much a provider's clock may be behind."""

BatchPhase = Literal["working", "ended", "cancelled", "failed"]
"""`ended`, `cancelled`: there is all that there will be, be it of a batch that was completed, that
expired or that was cancelled. `failed`: it was refused as a whole, and nothing was paid for."""


@dataclass(frozen=True, slots=True)
class BatchStatus:
    """How a batch stands.

    Attributes:
        id: the provider's.
        word: the provider's own word for it.
        done: rows with an answer so far.
        failed: rows without one.
        total: all rows; 0 as long as the provider does not say.
        errors: why it was refused, in the provider's words.
        retry_after: how long the provider asks to wait before the next look, in seconds.
        files: where its answers are, in the provider's names.
    """

    id: str
    phase: BatchPhase
    word: str
    done: int = 0
    failed: int = 0
    total: int = 0
    errors: str = ""
    retry_after: float | None = None
    files: tuple[str, ...] = ()


_PLAIN_ID = re.compile(r"(?!.*\.\.)[\w.:-]*[\w:-][\w.:-]*", re.ASCII)
_NAME = re.compile(rb'"(?:custom_id|key)"\s*:\s*"([\w-]+)"')
LONGEST_ROW = 8_000_000
"""Bytes that a row of answers may have; a longer one is none."""
TRANSFER_S = 3_600.0
"""How long requests may take to be sent, or answers to be fetched."""


def plain_id(id_: Any, folder: str = "") -> str:
    """The id of a batch or file, which can be put into an address as it is: letters, figures and
    `_ . : -`, after the provider's `folder`. Ids come from journals and servers, and another one
    would lead a key elsewhere on the server.

    Raises:
        CallError: it is none.
    """
    said = id_ if isinstance(id_, str) else ""
    if not said.startswith(folder) or not _PLAIN_ID.fullmatch(said.removeprefix(folder)):
        raise CallError(
            f"found {shown(id_)} as the id of a batch or of its file; expected "
            f"{folder and f'{folder} and then '}letters, figures, '_', '.', ':' and '-'",
            kind="rejected",
        )
    return said


def listed_in(page: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The batches in a page of a list of them.

    Raises:
        CallError: it is no such page. A batch that is not found is sent again, and paid for.
    """
    batches = page.get("data", "")
    # Some servers say so of an empty list.
    if batches is None:
        return []
    if not isinstance(batches, list) or not all(isinstance(one, dict) for one in batches):
        raise CallError("the server gives no list of batches", kind="transient", status=BROKEN)
    return batches


def next_page(last: Any, seen: set[str]) -> str:
    """The id after which the next page of a list begins, which is added to those `seen`.

    Raises:
        CallError: it is no id, or the list goes round.
    """
    id_ = plain_id(last)
    if id_ in seen:
        raise CallError("the server's list of batches has no end", kind="transient", status=BROKEN)
    seen.add(id_)
    return id_


class BatchSought(NamedTuple):
    """A batch that may be at its provider, of which no id was noted.

    Attributes:
        token: under which it was sent.
        since: before which it was not sent, in seconds since 1970.
        rows: how many requests it has.
        others: the ids of the run's other batches, none of which it is.
    """

    token: str
    since: float
    rows: int
    others: Collection[str] = ()


class NotToldYet(Exception):
    """Batches that may be the one that is sought say so only once they have ended; the message
    names them."""


class BatchAnswer(NamedTuple):
    """What came back for one request: an answer, or why there is none.

    Attributes:
        custom_id: of the request; None where nobody can read it.
        model: who answered, in the answer's own words; None where it does not say.
    """

    custom_id: Any
    answer: ModelResponse | CallError
    model: str | None = None


def object_in(line: bytes) -> dict[str, Any] | None:
    """The object that a line holds; None where it holds none."""
    try:
        row = json_in(line) if len(line) <= LONGEST_ROW else None
    except ValueError:
        return None
    return row if isinstance(row, dict) else None


def unreadable_answer() -> CallError:
    """In place of an answer that a provider's results hold and that cannot be read."""
    said = "its answer in the batch cannot be read, and is paid for; it is not asked for again"
    # Nobody knows what it took.
    return CallError(said, kind="rejected", status=BROKEN, used=None)


def answers_in(
    file: Path,
    read: Callable[[bytes], BatchAnswer | None],
    plain_name: Callable[[str], str] = str,
) -> Iterator[BatchAnswer]:
    """The answers in a provider's file of results.

    Args:
        read: see `BatchApi.read`. A line that it cannot read is an answer, too: a fault under the
            name that stands in it, or under None.
        plain_name: from a name as it was sent to that of its request.
    """
    with file.open("rb") as lines:
        for number, line in enumerate(lines):
            if not number:
                line = line.removeprefix(BOM_UTF8)
            if (answer := read(line)) is not None:
                yield answer
            elif line.strip():
                found = _NAME.search(line)
                name = None if found is None else plain_name(found[1].decode())
                yield BatchAnswer(name, unreadable_answer())


class BatchApi(Protocol):
    """A provider's batches of one model.

    All methods that call the provider raise CallError, or TimeoutError, where it does not answer
    as it should; the kinds are those of a call.
    """

    most_rows: int
    """Rows that a batch may have."""
    most_bytes: int
    """Bytes that the rows of a batch may have together."""

    def line(self, custom_id: str, request: ModelRequest) -> bytes:
        """A request as a row of a batch, without a line break; no key and no header is in it."""

    def read(self, line: bytes) -> BatchAnswer | None:
        """What a line of answers says; None where it is no answer. A fault's `used` is `NOTHING`
        where the provider says that there is no answer, None where there is one and it cannot be
        read."""

    async def submit(self, token: str, lines: Sequence[bytes]) -> BatchStatus:
        """Send a batch, under a token by which `find` knows it."""

    async def find(self, sought: BatchSought) -> BatchStatus | None:
        """The batch that was sent under a token; None where the provider lists none.

        Raises:
            NotToldYet: the provider does not tell yet. It is asked again; until then nothing is
                sent in the batch's place.
        """

    async def status(self, id_: str) -> BatchStatus:
        """How a batch stands."""

    def results(self, status: BatchStatus, folder: Path) -> AsyncIterator[BatchAnswer]:
        """What an ended batch brought, row by row, in no order; files that it takes are in
        `folder`, and go."""

    async def cancel(self, id_: str) -> BatchStatus:
        """Ask the provider to end a batch; what is answered already is paid for."""

    async def aclose(self) -> None:
        """Give back connections."""


@runtime_checkable
class UploadingBatchApi(Protocol):
    """A `BatchApi` whose requests are uploaded to a file before a batch is made of it."""

    async def remove_uploads(self, token: str) -> None:
        """Delete the files of a token of which no batch came to be; raises as the other methods
        do."""


@runtime_checkable
class BatchClient(Protocol):
    """A `ModelClient` whose requests can go as batches."""

    @property
    def address(self) -> str:
        """Of the server that takes them."""

    @property
    def settings(self) -> Mapping[str, Any]:
        """The options with which another process makes a client that reaches the same batches:
        JSON, without secrets and without headers, whose values may be such."""

    @property
    def header_names(self) -> Sequence[str]:
        """The headers of its own that it sends and `settings` leaves out."""

    def batches(self) -> BatchApi:
        """Its provider's batches."""
