"""Unpacking within bounds: a few bytes of gzip may hold a thousand times as many.

All that comes from outside is unpacked here, or is held to `most_unpacked`: answers, entries of a
cache, files.
"""

from __future__ import annotations

import gzip
import io
import zlib
from typing import IO, cast

_RATIO = 100
"""How many times its own size a file may unpack to; text rarely gets beyond 30."""
_ALWAYS_BYTES = 64_000_000
"""What any file may unpack to: a small one of equal lines has a higher ratio."""
_PIECE_BYTES = 16_384


class TooMuchUnpacked(ValueError):
    """Something unpacks to more than it may; the message says how much that is."""

    def __init__(self, most_bytes: int) -> None:
        super().__init__(
            f"unpacks to more than {most_bytes:,} bytes, the most that is read of it: {_RATIO} "
            f"times its size, but {_ALWAYS_BYTES // 1_000_000} MB at the least"
        )


class UnreadablePacking(ValueError):
    """Something breaks off, or is not packed by gzip or deflate; the message says so."""


def most_unpacked(packed_bytes: int) -> int:
    """How many bytes a file of so many may unpack to."""
    return max(_ALWAYS_BYTES, _RATIO * packed_bytes)


def require_unpackable(packed_bytes: int, bytes_: int) -> None:
    """Refuse what would be too large.

    Raises:
        TooMuchUnpacked: a file of `packed_bytes` unpacks to `bytes_`.
    """
    if bytes_ > (most := most_unpacked(packed_bytes)):
        raise TooMuchUnpacked(most)


def unpacked(body: bytes, most_bytes: int, *, whole: bool = True) -> bytes:
    """What was packed by gzip or deflate, up to `most_bytes` of it; `whole` where nothing of the
    body is missing.

    Raises:
        UnreadablePacking: it breaks off, or is no such thing.
    """
    rest, found, room = memoryview(body), list[bytes](), most_bytes
    ended = 0
    try:
        # One after another, as gzip allows.
        while rest and room:
            # Some servers leave out what deflate begins with.
            bare = not ended and body[0] & 15 != 8 and body[:2] != b"\x1f\x8b"
            unpacking = zlib.decompressobj(-zlib.MAX_WBITS if bare else 32 + zlib.MAX_WBITS)
            while rest and room and not unpacking.eof:
                # Not all of it: what it leaves is copied each time.
                piece = rest[:_PIECE_BYTES]
                found.append(unpacking.decompress(piece, room))
                room -= len(found[-1])
                left = len(unpacking.unused_data) + len(unpacking.unconsumed_tail)
                rest = rest[len(piece) - left :]
            if whole and room and not unpacking.eof:
                raise UnreadablePacking("broke off")
            ended = len(found)
    except zlib.error as error:
        # What follows a whole one means nothing.
        if not ended:
            raise UnreadablePacking(f"cannot be read: {error}") from None
    return b"".join(found[:ended])


def unpacked_file(file: IO[bytes]) -> IO[bytes]:
    """What a file holds that was packed by gzip, to be read piece by piece or line by line.

    Reading raises gzip.BadGzipFile, EOFError or zlib.error where it is damaged, and
    TooMuchUnpacked once more has been read than the part of the file so far may unpack to.
    """
    return cast("IO[bytes]", io.BufferedReader(_GzipStream(file)))


class _GzipStream(io.RawIOBase):
    def __init__(self, file: IO[bytes]) -> None:
        self._file, self._unpacking, self._n_bytes = file, gzip.GzipFile(fileobj=file), 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray) -> int:  # type: ignore[override]
        # Not `read`, which waits for so many bytes, and has none where a file ends early.
        piece = self._unpacking.read1(min(len(buffer), _PIECE_BYTES))
        self._n_bytes += len(piece)
        require_unpackable(self._file.tell(), self._n_bytes)
        buffer[: len(piece)] = piece
        return len(piece)
