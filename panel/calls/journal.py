"""Replies as stores keep them, their changes, and the journal by which changes reach a store
(docs/explanation/caching.md).

Several processes may share a cache, and each notes its changes in a journal and moves them later,
so that they reach the database in another order. So a reply is dropped by its content, not by its
key alone: a process that drops an answer late does not drop what others have put in its place.
"""

from __future__ import annotations

import os
import shutil
import struct
import sys
import time
import zlib
from collections.abc import Container, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, NamedTuple
from uuid import uuid4

import orjson

from persona_panel.files.limits import UnreadablePacking, unpacked
from persona_panel.files.outputs import open_private, sync
from persona_panel.models.client import sound
from persona_panel.rubrics import ModelResponse, Position, Usage

_WORTH_COMPRESSING = 2_000
_MOST_BYTES = 16_000_000
"""The most bytes of a reply's JSON: twice the longest answer that is read."""
_NOTED = (8, 6)
"""The number of fields that are noted of a reply, and of its usage."""


def encoded(reply: ModelResponse, page: str, key: bytes) -> bytes:
    """Return a reply as it is stored, when that was (Unix time), and under what. Raises TypeError:
    JSON in UTF-8 cannot hold it."""
    usage = reply.usage
    # A dictionary is written as JSON in half the time that a dataclass with slots takes.
    document = {
        "text": reply.text,
        "finish_reason": reply.finish_reason,
        "refusal": reply.refusal,
        "logprobs": reply.logprobs,
        "usage": {
            "input": usage.input,
            "cached": usage.cached,
            "output": usage.output,
            "written": usage.written,
            "odd": usage.odd,
            "reasoning": usage.reasoning,
        },
        "latency_s": reply.latency_s,
        "cached": reply.cached,
        "model": reply.model,
        "at": int(time.time()),
        "under": _place(page, key),
    }
    if reply.answered_by:
        document["answered_by"] = reply.answered_by
    return as_stored(orjson.dumps(document))


def as_stored(document: bytes) -> bytes:
    """Return the JSON of a reply, compressed where it is long."""
    # Log-probabilities shrink to a fifth; a reply of a few numbers is not worth the time.
    return document if len(document) < _WORTH_COMPRESSING else zlib.compress(document, level=1)


def document_of(stored: bytes) -> dict[str, Any]:
    """Return the fields of a stored reply: those of a `ModelResponse`, `at` and `under`; replies
    that were kept before `model`, `at` or `under` were noted lack them. Raises ValueError:
    something else is stored, or more than a reply may have."""
    if not stored.startswith(b"{"):
        try:
            stored = unpacked(stored, _MOST_BYTES + 1)
        except UnreadablePacking as error:
            raise ValueError(f"it {error}") from None
    if len(stored) > _MOST_BYTES:
        raise ValueError(f"it is longer than {_MOST_BYTES:,} bytes")
    document = orjson.loads(stored)
    if not isinstance(document, dict):
        raise ValueError("it is not a JSON object")
    return document


def decoded(stored: bytes, page: str = "", key: bytes = b"") -> ModelResponse | None:
    """Return the reply; None where something else is stored, or a reply that was kept under another
    page or key than these, if they are given: it is asked for again."""
    try:
        fields = document_of(stored)
        fields.pop("at", None)
        if (under := fields.pop("under", None)) and key and under != _place(page, key):
            return None
        fields["cached"] = True
        answered_by = fields.pop("answered_by", "")
        # Replies that were kept long ago lack some.
        refusal = fields.get("refusal")
        if not (
            type(fields["text"]) is type(fields.get("finish_reason", "")) is str
            and (refusal is None or type(refusal) is str)
        ):
            return None
        used, logprobs = fields["usage"], tuple(map(_position, fields["logprobs"]))
        if (len(fields), len(used)) != _NOTED:
            # Kept before some of them were noted.
            fields |= {"usage": sound(Usage(**used)), "logprobs": logprobs}
            return ModelResponse(**fields, answered_by=answered_by)
        # By place, in half the time.
        usage = sound(
            Usage(
                used["input"],
                used["cached"],
                used["output"],
                used["written"],
                used["odd"],
                used["reasoning"],
            )
        )
        return ModelResponse(
            fields["text"],
            fields["finish_reason"],
            fields["refusal"],
            logprobs,
            usage,
            fields["latency_s"],
            True,
            fields["model"],
            answered_by,
        )
    except (AttributeError, LookupError, TypeError, ValueError):
        return None


def _place(page: str, key: bytes) -> str:
    """Return a short name of the place of a reply."""
    return page[:16] + key[:8].hex()


def _position(stored: dict[str, Any]) -> Position:
    top = tuple((token, p) for token, p in stored["top"])
    return Position(stored["token"], top, stored.get("logprob"))


def is_among(stored: bytes, others: Iterable[bytes]) -> bool:
    """Return whether a stored reply is one of the others, whenever each was stored."""
    return any(_is_same(stored, other) for other in others)


def _is_same(stored: bytes, other: bytes) -> bool:
    if stored == other:
        return True
    reply = decoded(stored)
    return reply is not None and reply == decoded(other)


_DROPPED = b"-"
"""The first byte of a note that drops a reply; a stored reply begins with a brace or zlib's
header.
"""


class ReplyChange(NamedTuple):
    """A change of a key: `stored` is kept under it, unless that is empty, and replies in `dropped`
    no longer are."""

    stored: bytes = b""
    dropped: tuple[bytes, ...] = ()

    def then(self, later: ReplyChange) -> ReplyChange:
        """Return this change and a later one of the same process as one."""
        if not self.dropped and not later.dropped:
            return later if later.stored else self
        stored = b"" if is_among(self.stored, later.dropped) else self.stored
        # A model may say the same again.
        still = [each for each in self.dropped if not is_among(each, [later.stored])]
        return ReplyChange(later.stored or stored, (*still, *later.dropped))


Changes = dict[bytes, ReplyChange]
"""The changes of one page, by key."""


def dropping(stored: bytes) -> bytes:
    """Return the note that drops a stored reply."""
    return _DROPPED + stored


def change_of(noted: bytes) -> ReplyChange:
    """Return the change that a journal's entry notes: a stored reply, or a `dropping` of one."""
    is_drop = noted.startswith(_DROPPED)
    return ReplyChange(dropped=(noted[1:],)) if is_drop else ReplyChange(noted)


def merged(
    kept: Iterable[tuple[bytes, bytes]], *changes: Mapping[bytes, ReplyChange]
) -> dict[bytes, bytes]:
    """Return the stored replies of a page by their keys. `kept`: those in the database, the later
    of two under one key last; `changes`: of several processes, in an order that may be wrong."""
    dropped: dict[bytes, list[bytes]] = {}
    stored = list(kept)
    for each in changes:
        for key, change in each.items():
            if change.stored:
                stored.append((key, change.stored))
            if change.dropped:
                dropped.setdefault(key, []).extend(change.dropped)
    if not dropped:
        return dict(stored)
    return {key: reply for key, reply in stored if not is_among(reply, dropped.get(key, ()))}


_HEADER = struct.Struct(">H32sI")  # how long the page's name is, the key, how long the reply is
_SUFFIX = ".journal"
_SPARE = "spare-room"
_SPARE_BYTES = 1 << 21
"""The bytes kept free for the replies of calls in flight, some KB each."""


class JournalEntry(NamedTuple):
    """A reply kept under `key` of `page`, or in a journal also one that is dropped: see
    `change_of`."""

    page: str
    key: bytes
    stored: bytes


class Journal:
    """A new file in a folder, which a process writes and whose lock it holds as long as it lives.
    Raises OSError: it cannot be made."""

    def __init__(self, folder: Path) -> None:
        # One process may leave two, of which the later one counts.
        self.path = folder / f"{time.time_ns():020d}-{uuid4().hex}{_SUFFIX}"
        self._file = open_private(self.path, "xb", buffered=False)
        # Who looks into it while it is empty holds the lock for a moment.
        _lock(self._file, wait=True)

    def add(self, page: str, key: bytes, stored: bytes) -> None:
        """Write a `JournalEntry`; once this returns, a kill does not undo it. Raises OSError: it
        cannot be written; nothing of it is."""
        name = page.encode()
        line = _HEADER.pack(len(name), key, len(stored)) + name + stored
        begun = self._file.tell()
        rest = memoryview(line)
        try:
            while rest:
                rest = rest[self._file.write(rest) :]
        except OSError:
            # Else what comes after half a line could not be read.
            self._file.seek(begun)
            self._file.truncate()
            raise

    def sync(self) -> None:
        """Return once a power cut does not undo what was added, either. Raises OSError: it cannot
        be written to the disk."""
        sync(self._file)

    def close(self) -> None:
        """Leave the file for whoever comes next."""
        self._file.close()

    def remove(self) -> None:
        """Remove the file, since all that it holds is in the database."""
        # Emptied while the lock holds: nobody takes over what is done.
        self._file.truncate(0)
        self.close()
        self.path.unlink(missing_ok=True)


def keep_spare_room(folder: Path) -> bool:
    """Take some room in a folder, for what must be written even when none is left; returns whether
    the room is there."""
    spare = folder / _SPARE
    try:
        # Else what there is would be taken for a moment, from the replies of another process.
        if shutil.disk_usage(folder).free < _SPARE_BYTES:
            return spare.exists()
        with open_private(spare, "xb", buffered=False) as file:
            # Not zeros, which some file systems keep in no room at all.
            if file.write(os.urandom(_SPARE_BYTES)) == _SPARE_BYTES:
                return True
    except FileExistsError:
        return True
    except OSError:
        pass
    spare.unlink(missing_ok=True)
    return False


def give_up_spare_room(folder: Path) -> None:
    """Give the spare room back, if there is any."""
    with suppress(OSError):
        (folder / _SPARE).unlink()


@contextmanager
def one_at_a_time(folder: Path) -> Iterator[None]:
    """Wait for a process that takes over the journals of a folder, since the next process would
    take what it has not moved yet for gone."""
    with open_private(folder / "taking-over", "ab") as file:
        _lock(file, wait=True)
        yield


def journals_in(folder: Path) -> list[Path]:
    """Return the journals of all processes, of those that are gone and of those that run, the
    oldest first."""
    return sorted(folder.glob(f"*{_SUFFIX}"))


@contextmanager
def taken_over(journal: Path) -> Iterator[list[JournalEntry]]:
    """Take over the entries that a process that is gone has left, in order; the file is removed
    once the block ends well.

    Nothing where the process is still running or a third has taken it over: applied twice, a
    change could undo a later one.
    """
    try:
        file = journal.open("r+b")
    except FileNotFoundError:
        yield []
        return
    with file:
        try:
            _lock(file)
        except OSError:
            yield []
            return
        held = file.read()
        # Its process has just made it, or somebody took it over a moment ago.
        if not held:
            yield []
            return
        yield [change for change, _ in _changes_in(held)]
        file.truncate(0)
    journal.unlink(missing_ok=True)


class JournalReader:
    """A reader of the journals of a folder, which does not take them over and reads each part
    once.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        # By the journal's name: how many bytes were read, and the changes in them by page.
        self._read: dict[str, tuple[int, dict[str, Changes]]] = {}

    def read_on(self, own: Container[str]) -> None:
        """Read what was written since; `own` are the names of journals that are left out. Raises
        OSError: one cannot be read."""
        read, self._read = self._read, {}
        with os.scandir(self._folder) as entries:
            names = sorted(
                entry.name
                for entry in entries
                if entry.name.endswith(_SUFFIX) and entry.name not in own
            )
        for name in names:
            with suppress(FileNotFoundError), (self._folder / name).open("rb", 0) as file:
                at, changes = read.get(name, (0, {}))
                # One that was emptied is in the database.
                if os.fstat(file.fileno()).st_size < at:
                    continue
                file.seek(at)
                end = at
                for (page, key, noted), n in _changes_in(file.read()):
                    of_page = changes.setdefault(page, {})
                    of_page[key] = of_page.get(key, ReplyChange()).then(change_of(noted))
                    end = at + n
                self._read[name] = end, changes

    def page(self, page: str) -> list[Changes]:
        """Return the changes of a page in each journal, in which others may go on to be read:
        copies."""
        return [dict(changes[page]) for _, changes in self._read.values() if page in changes]


def _changes_in(held: bytes) -> Iterator[tuple[JournalEntry, int]]:
    """Yield the changes up to where a kill has cut the last off, each with the place where it
    ends.
    """
    at = 0
    while at + _HEADER.size <= len(held):
        n_page, key, n_stored = _HEADER.unpack_from(held, at)
        page = at + _HEADER.size
        stored = page + n_page
        at = stored + n_stored
        if at > len(held):
            return
        yield JournalEntry(held[page:stored].decode(errors="replace"), key, held[stored:at]), at


if sys.platform == "win32":
    import msvcrt

    def _lock(file: IO[bytes], *, wait: bool = False) -> None:
        """Lock a file until it is closed; OSError where another process has the lock."""
        msvcrt.locking(file.fileno(), msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _lock(file: IO[bytes], *, wait: bool = False) -> None:
        """Lock a file until it is closed; OSError where another process has the lock."""
        fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
