"""The way to the terminal: no control character, no key, whatever is to be shown.

Names, errors and answers come from files and servers. An escape sequence among them would
be obeyed by a terminal, and a line break would forge a line of ours.

Sentences of a command are printed by `say`, and a result by a renderer, ours or another package's,
on the stream of `standard_output`.
"""

from __future__ import annotations

import io
import json
import logging
import os
import re
import sys
import threading
import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import TextIO, cast
from unicodedata import category

import click

from persona_panel.files.secrets import SECRETS, mask_addresses

# Controls; formats, among them zero-width and bidirectional ones; surrogates; line ends.
_UNSAFE = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
# Persian, Hindi and emoji are written with joiners; they change no order.
_JOINER = re.compile(r"((?<=[^\x00-\x7f])[\u200c\u200d](?=[^\x00-\x7f]))")


def has_hidden(text: str) -> bool:
    """Return whether a text has characters that are not seen, or obeyed, but for joiners between
    letters of scripts that are written with them."""
    if text.isprintable():
        return False
    return any(category(char) in _UNSAFE for char in _JOINER.sub("", text))


def visible(text: str, keep: str = "") -> str:
    """Return a text as it can be printed: what is no visible character is written as Python would
    (`\x1b`, `\u202e`, `\n`) but for those to `keep`, and a key is `[secret]`, as a password or
    token of an address is."""
    text = mask_addresses(text)
    if not has_hidden(text):
        return text
    return "".join(
        part
        if place % 2
        else "".join(
            char if char in keep or category(char) not in _UNSAFE else _escaped(char)
            for char in part
        )
        for place, part in enumerate(_JOINER.split(text))
    )


def say(text: str, *, err: bool = False) -> None:
    """Print a text of our own, in which line breaks are meant."""
    click.echo(visible(text, keep="\n"), err=err)


def say_sentences(text: str, *, err: bool = False) -> None:
    """Print a text of our own on lines of its own, parted between words where a terminal, or
    COLUMNS, has a width. A log keeps whole lines, which can be searched."""
    import shutil
    import textwrap

    stream = sys.stderr if err else sys.stdout
    if os.environ.get("COLUMNS") or stream.isatty():
        width = shutil.get_terminal_size().columns
        text = textwrap.fill(text, width, break_long_words=False, break_on_hyphens=False)
    say(text, err=err)


class VisibleStream:
    """A text stream that writes to another what is visible of each line, without keys.

    It is no terminal (`isatty` is False): styles and colours, which are escape sequences, are
    written as text. A line is written when it is whole, so that no key comes in two parts.
    """

    def __init__(self, beneath: TextIO) -> None:
        self._beneath = beneath
        self._line = ""

    @property
    def encoding(self) -> str:
        return self._beneath.encoding

    def writable(self) -> bool:
        return True

    def isatty(self) -> bool:
        return False

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def write(self, text: str) -> int:
        lines, end, self._line = (self._line + text).rpartition("\n")
        self._beneath.write(visible(lines + end, keep="\n\t"))
        return len(text)

    def flush(self) -> None:
        """Write what there is of the last line, too."""
        rest, self._line = self._line, ""
        self._beneath.write(visible(rest, keep="\t"))
        self._beneath.flush()

    def beneath(self) -> TextIO:
        """Return the stream beneath, for writers that make visible what they write themselves."""
        self.flush()
        return self._beneath


@contextmanager
def standard_output() -> Iterator[TextIO]:
    """Return standard output for a renderer: all that is written is made visible."""
    stream = VisibleStream(sys.stdout)
    yield cast(TextIO, stream)
    stream.flush()


def unguarded(to: TextIO | VisibleStream | None) -> TextIO:
    """Return the stream beneath a `VisibleStream`, or the stream itself; None means standard
    output. It is for text with JSON's escapes or our own styles, which has been made visible."""
    if to is None:
        return sys.stdout
    return to.beneath() if isinstance(to, VisibleStream) else to


def say_json(text: str, to: TextIO | None = None) -> None:
    """Print JSON on a stream, by default standard output, with the same content: invisible
    characters are escaped.

    It is UTF-8, as programs read it, whatever the encoding of the stream is for people.
    """
    to = unguarded(to)
    text = SECRETS.scrub(text)
    if not text.replace("\n", "").isprintable():
        text = "".join(
            json.dumps(char)[1:-1] if char != "\n" and category(char) in _UNSAFE else char
            for char in text
        )
    line = f"{text.rstrip(chr(10))}\n" if text else ""
    to.flush()
    if isinstance(to, io.TextIOWrapper):
        to.buffer.write(line.encode())
    else:
        to.write(line)
    to.flush()


def guard() -> None:
    """Make what Python itself prints, tracebacks and warnings of loggers, visible too."""
    sys.excepthook = _tell_exception
    threading.excepthook = lambda event: _tell_exception(
        event.exc_type, event.exc_value, event.exc_traceback
    )
    if logging.lastResort is not None:
        logging.lastResort.setFormatter(_Visible())


def _escaped(char: str) -> str:
    return char.encode("unicode_escape").decode()


def _tell_exception(
    kind: type[BaseException], error: BaseException | None, trace: TracebackType | None
) -> None:
    say("".join(traceback.format_exception(kind, error, trace)).rstrip("\n"), err=True)


class _Visible(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return visible(super().format(record), keep="\n")
