"""The way to the terminal: no control character, no key, whatever is to be shown.

Names, errors and answers come from files and servers. An escape sequence among them would
be obeyed by a terminal, and a line break would forge a line of ours.
`panel.reports.terminal.tables` puts tables and sentences through here, too.
"""

from __future__ import annotations

import io
import json
import logging
import sys
import threading
import traceback
from types import TracebackType
from typing import TextIO
from unicodedata import category

import click

from panel.secrets import SECRETS

# Controls; formats, among them zero-width and bidirectional ones; surrogates; line ends.
_UNSAFE = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


def visible(text: str, keep: str = "") -> str:
    """A text as it can be printed: what is no visible character is written as Python would
    (`\\x1b`, `\\u202e`, `\\n`) but for those to `keep`, and a key is `[secret]`."""
    text = SECRETS.scrub(text)
    if text.isprintable():
        return text
    return "".join(
        char if char in keep or category(char) not in _UNSAFE else _escaped(char) for char in text
    )


def say(text: str, *, err: bool = False) -> None:
    """Print a text of our own, in which line breaks are meant."""
    click.echo(visible(text, keep="\n"), err=err)


def say_json(text: str, to: TextIO | None = None) -> None:
    """Print JSON on a stream, standard output unless told otherwise, with the same content: what
    is not visible is escaped.

    It is UTF-8, as programs read it, whatever the encoding of the stream is for people.
    """
    to = to or sys.stdout
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
    """Have what Python itself prints, tracebacks and warnings of loggers, come this way."""
    sys.excepthook = _tell_exception
    threading.excepthook = lambda given: _tell_exception(
        given.exc_type, given.exc_value, given.exc_traceback
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
