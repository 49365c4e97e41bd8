"""The lines of a text in UTF-8, and what keeps a file from being one: one fault for each kind,
with its first lines and their number, whatever their number is.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Protocol, cast

from persona_panel.files.errors import Fault, InputError, first_lines
from persona_panel.files.file_limits import LONGEST_LINE, HasLines, content_of, lines_in
from persona_panel.files.wording import undecodable, unreadable

_LARGEST_TEXT = 1_000_000
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


class AddFault(Protocol):
    """Takes a fault of a file; see `persona_panel.files.records.Report.add`."""

    def __call__(
        self, found: str, expected: str, *, line: int | None = None, field: str | None = None
    ) -> None: ...


def text_lines(
    stream: Iterable[bytes | str] | HasLines[bytes | str],
    add: AddFault,
    longest: int = LONGEST_LINE,
) -> Iterator[str]:
    """A text's physical lines, without a byte order mark, and made whole where they are not, so
    that reading goes on; the faults come at the end.

    Raises:
        LineTooLong: a line of a stream is longer than that.
    """
    decoding, nul = _Decoding(), _Nul()
    lines: Iterator[bytes | str] = iter(
        lines_in(stream, longest) if isinstance(stream, HasLines) else stream
    )
    first = next(lines, b"")
    whole: Iterable[bytes | str] = chain([first], lines) if first else ()
    if isinstance(first, bytes) and first.startswith(_UTF_16):
        whole = _utf_16_lines(whole, add)
    for number, raw in enumerate(whole, 1):
        if isinstance(raw, bytes):
            if number == 1 and _is_utf_16(raw):
                add("UTF-16 text without a byte order mark", "UTF-8 text", line=1)
                return
            text = decoding.text_of(raw, number)
        else:
            text = raw
        if number == 1:
            text = text.removeprefix("\ufeff")
        yield nul.removed(text, number) if "\0" in text else text
    decoding.report(add)
    nul.report(add)


def _utf_16_lines(stream: Iterable[bytes | str], add: AddFault) -> Iterator[str]:
    """The lines of UTF-16 text with a byte order mark, as Excel's Unicode Text is."""
    decoder = codecs.getincrementaldecoder("utf-16")()
    rest, number = "", 0
    try:
        for raw in stream:
            # A line of bytes ends at 0x0a, which may be half of another character.
            *whole, rest = (rest + decoder.decode(cast("bytes", raw))).split("\n")
            for line in whole:
                number += 1
                yield f"{line}\n"
        decoder.decode(b"", final=True)
    except UnicodeDecodeError as error:
        add(f"bytes that are not UTF-16 ({error.reason})", "UTF-16 or UTF-8 text", line=number + 1)
        return
    if rest:
        yield rest


def text_of_file(path: Path, *, field: str | None = None) -> str:
    """Return the whole text of a file, without a byte order mark; `field` is what faults name.

    Raises:
        InputError: it cannot be read, is too large, or is no UTF-8.
    """
    expected = "a file of text in UTF-8"
    try:
        return content_of(path, _LARGEST_TEXT).decode("utf-8-sig")
    except OSError:
        raise InputError([Fault(str(path), unreadable(path), expected, field=field)]) from None
    except UnicodeDecodeError as error:
        raise InputError([Fault(str(path), undecodable(error), expected, field=field)]) from None


def _is_utf_16(line: bytes) -> bool:
    # Every other byte of Western text is a NUL.
    return line.count(0) * 3 > len(line)


class _Decoding:
    """Decodes lines, and remembers those that are not UTF-8."""

    def __init__(self) -> None:
        self._offset = 0
        self._lines: list[int] = []
        self._first = ""
        self._n_bytes = self._n_high = 0
        self._is_cp1252 = True
        self._has_utf_8 = False

    def text_of(self, raw: bytes, line: int) -> str:
        try:
            text = raw.decode()
        except UnicodeDecodeError as error:
            text = self._guessed(raw, error, line)
        else:
            self._has_utf_8 = self._has_utf_8 or not raw.isascii()
        self._offset += len(raw)
        return text

    def _guessed(self, raw: bytes, error: UnicodeDecodeError, line: int) -> str:
        if not self._lines:
            self._first = undecodable(error, self._offset)
        self._lines.append(line)
        self._n_bytes += len(raw)
        self._n_high += sum(byte > 127 for byte in raw)
        try:
            return raw.decode("cp1252")
        except UnicodeDecodeError:
            self._is_cp1252 = False
            return raw.decode(errors="replace")

    def report(self, add: AddFault) -> None:
        if not self._lines:
            return
        found, expected = self._first, "UTF-8 text"
        # Other alphabets have bytes above 127 in most letters, and cp1252 reads them, too.
        if self._is_cp1252 and self._n_high * 3 < self._n_bytes:
            found = f"probably Windows-1252 (cp1252): {found}"
            expected += "; save the file as UTF-8 (in Excel: CSV UTF-8)"
        if len(self._lines) > 1:
            found += f", and such bytes on {first_lines(self._lines)}"
        if self._has_utf_8:
            found += "; other lines are UTF-8"
        add(found, expected, line=self._lines[0])


class _Nul:
    """Takes NULs out of lines, and remembers where they were."""

    def __init__(self) -> None:
        self._lines: list[int] = []
        self._column = 0

    def removed(self, text: str, line: int) -> str:
        self._column = self._column or text.index("\0") + 1
        self._lines.append(line)
        return text.replace("\0", "")

    def report(self, add: AddFault) -> None:
        if not self._lines:
            return
        more = f", and NULs on {first_lines(self._lines)}" if len(self._lines) > 1 else ""
        add(f"a NUL at column {self._column}{more}", "UTF-8 text", line=self._lines[0])
