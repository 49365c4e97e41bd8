"""Keeping keys out of whatever is shown, kept or written.

`SECRETS` knows every key of this process: whatever resolves or uses one tells it
(`SECRETS.learn`), and whatever text comes in from a model or goes out of the process is put
through it: replies and errors as they come (`persona_panel.calls.caller`,
`persona_panel.models.client`), files as they are written (`persona_panel.runs.folder`), what a
command prints (`persona_panel.cli`).
"""

from __future__ import annotations

import io
import json
import logging
import math
import os
import re
import sys
import threading
import traceback
from base64 import b64encode
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import TextIO, cast
from unicodedata import category
from urllib.parse import parse_qsl, quote, quote_plus, unquote, urlsplit

import click

MASK = "[secret]"
_CREDENTIAL = re.compile(
    r"""authorization["']?\s*[:=,]\s*["']?(?:\w+\s+)?[^\s"',}]+"""
    r"|bearer(?:\s|%20|[+:=])+\S+"
    r"|\bsk-[\w.*-]{6,}"
    # As GitHub, GitLab, Hugging Face, Groq, xAI, Slack, Amazon and Google begin theirs.
    r"|\b(?:gh[opsur]_|github_pat_|glpat-|hf_|gsk_|xai-|xox[abprs]-)[\w-]{16,}"
    r"|\bAKIA[0-9A-Z]{16}\b|\bAIza[\w-]{30,}",
    re.IGNORECASE,
)
CREDENTIAL_NAME = re.compile(
    r"key|token$|secret|authorization|password|cookie|signature|^sig$", re.IGNORECASE
)
"""A pattern for the names of fields, headers and parameters that hold a secret."""

# After one slash, too, as in the path of an address.
_PASSWORD = re.compile(r"(?<=:/)(/?[^/?#@:\s]*:)([^/?#\s]*)(?=@)")
# The punctuation of a sentence may follow.
_PARAMETER = re.compile(r"""(?<=[?&])([^=&#\s]+)=([^&#\s]*[^&#\s:;,.'")])""")

_SHORTEST, _LONGEST_WORD = 8, 15
_PLACEHOLDERS = frozenset({"not-needed", "not-required", "not-used", "no-api-key", "test-key"})
_PERCENT = re.compile(r"%[2-7][0-9a-fA-F]")
_PERCENT_RAW = re.compile(rb"%[2-7][0-9a-fA-F]")


def is_secret(key: str) -> bool:
    """Return whether a key is long enough to be masked in texts.

    One that people would write by chance is not: fewer than 8 characters, figures alone, a
    single word of up to 15 letters, a character repeated, or a usual placeholder.
    """
    if len(key) < _SHORTEST or len(set(key)) < 3 or key.lower() in _PLACEHOLDERS:
        return False
    word = key.isalpha() and (key.islower() or key.isupper() or key.istitle())
    return any(map(str.isalpha, key)) and not (word and len(key) <= _LONGEST_WORD)


class Secrets:
    """The keys that are known, and texts without them.

    A key is found as it is, escaped as in JSON, percent-encoded in any part, and within base64.
    Folders of copies, which say nothing to a reader, are called otherwise, too.
    """

    def __init__(self) -> None:
        self._known: set[str] = set()
        self._lock = threading.Lock()
        # What one of follows stands in any text with a key in it that is not escaped.
        self._needles: tuple[str, ...] = ()
        self._raw_needles: tuple[bytes, ...] = ()
        self._pattern: re.Pattern[str] | None = None
        self._copies: dict[str, str] = {}

    def learn(self, *keys: str | None) -> None:
        """Look for these from now on, as far as they are secrets (`is_secret`)."""
        new = {key for key in map(str.strip, filter(None, keys)) if is_secret(key)}
        if new <= self._known:
            return
        with self._lock:
            self._known |= new
            # Of two keys, one within the other, the longer one first.
            known = sorted(self._known, key=lambda key: (-len(key), key))
            self._pattern = re.compile("|".join(part for key in known for part in _disguises(key)))
            self._needles = tuple(dict.fromkeys(part for key in known for part in _needles(key)))
            self._raw_needles = tuple(needle.encode() for needle in self._needles)

    def name_copy(self, folder: str, address: str) -> None:
        """Have texts call the folder of a copy by the address of what it is of, which holds no
        secret."""
        with self._lock:
            self._copies = {**self._copies, folder: address}

    def is_copy(self, folder: str) -> bool:
        """Return whether this is the folder of a copy."""
        return folder in self._copies

    def scrub(self, text: str) -> str:
        """Return the text with `[secret]` for every key in it."""
        for folder, address in self._copies.items():
            if folder in text:
                text = text.replace(folder, address)
        if self._pattern is None or not self._may_be_in(text):
            return text
        return self._pattern.sub(MASK, text)

    def _may_be_in(self, text: str) -> bool:
        # A loop, and no regular expression before there is need: every reply comes through here.
        for needle in self._needles:
            if needle in text:
                return True
        return "\\u00" in text or ("%" in text and _PERCENT.search(text) is not None)

    def scrub_bytes(self, content: bytes) -> bytes:
        """Return the same of a file's content; JSON and CSV stay what they are."""
        for folder, address in self._copies.items():
            if (raw := folder.encode()) in content:
                content = content.replace(raw, address.encode())
        if self._pattern is None or not self._may_be_in_bytes(content):
            return content
        text = content.decode("utf-8", "surrogateescape")
        clean = self.scrub(text)
        return content if clean is text else clean.encode("utf-8", "surrogateescape")

    def _may_be_in_bytes(self, content: bytes) -> bool:
        for needle in self._raw_needles:
            # As `needle in content`, which first tries the needle as a number, in CPython.
            if content.find(needle) >= 0:
                return True
        return b"\\u00" in content or (b"%" in content and _PERCENT_RAW.search(content) is not None)

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Return the places of keys in a text: (from, to), in characters."""
        if self.scrub(text) == text or self._pattern is None:
            return []
        return [match.span() for match in self._pattern.finditer(text)]


SECRETS = Secrets()
"""The keys of this process."""


def scrub(text: str, secrets: Iterable[str] = ()) -> str:
    """Return an error's text with every credential replaced by `[secret]`.

    Replaced are the keys of this process, the `secrets` given, which it learns, and whatever
    looks like a credential: the value of an Authorization header, `Bearer …`, `sk-…`.
    """
    SECRETS.learn(*secrets)
    return _CREDENTIAL.sub(MASK, SECRETS.scrub(text))


def credentials_in(address: str) -> Iterator[str]:
    """Yield the secrets that a web address holds: in its user information, in its query."""
    try:
        url = urlsplit(address)
    except ValueError:
        return
    if url.password or url.username:
        # Some services take a key for the name.
        yield unquote(url.password or url.username or "")
    yield from (value for name, value in parse_qsl(url.query) if CREDENTIAL_NAME.search(name))


def without_credentials(text: str) -> str:
    """Return an address, or another package's message on one, without credentials: `scrub`, and
    `mask_addresses`, whose secrets this process learns."""
    for match in _PASSWORD.finditer(text):
        SECRETS.learn(match[2], unquote(match[2]))
    for match in _PARAMETER.finditer(text):
        if CREDENTIAL_NAME.search(unquote(match[1])):
            SECRETS.learn(match[2], unquote(match[2]))
    return scrub(mask_addresses(text))


def mask_addresses(text: str) -> str:
    """Return a text with `[secret]` in place of every password and token in its addresses, also
    short ones, and of the keys of this process. A user name without a password stays: it may be a
    container's."""
    if "=" in text or ":/" in text:
        text = _PARAMETER.sub(_masked_parameter, _PASSWORD.sub(rf"\1{MASK}", text))
    return SECRETS.scrub(text)


def _masked_parameter(match: re.Match[str]) -> str:
    is_credential = CREDENTIAL_NAME.search(unquote(match[1]))
    return f"{match[1]}={MASK}" if is_credential else match[0]


def learn_proxies() -> None:
    """Learn the passwords of the proxies that the environment names."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        for address in (os.environ.get(name), os.environ.get(name.lower())):
            SECRETS.learn(*credentials_in(address or ""))


def _needles(secret: str) -> Iterator[str]:
    yield secret
    # In JSON, and in JSON within JSON.
    once = json.dumps(secret)[1:-1]
    yield from (once, json.dumps(once)[1:-1])
    yield from (secret.replace("/", "\\" * n + "/") for n in (1, 2))
    yield from (quote(secret), quote(secret, safe=""), quote_plus(secret))
    yield from _in_base64(secret)


def _disguises(secret: str) -> Iterator[str]:
    """Yield patterns for a secret: as it is, and in base64 at each offset it can have there."""
    yield _spelled(secret)
    for inner in _in_base64(secret):
        yield _spelled(inner) + r"[\w+/=%-]*"


def _in_base64(secret: str) -> Iterator[str]:
    """Yield the part of a secret's base64 that does not depend on its surroundings, in both
    alphabets."""
    raw = secret.encode()
    for offset in range(3):
        coded = b64encode(bytes(offset) + raw).decode()
        # The characters at either end also hold bits of what stands around the secret.
        first, last = math.ceil(offset * 8 / 6), (offset + len(raw)) * 8 // 6
        yield (inner := coded[first:last])
        if (safe := inner.replace("+", "-").replace("/", "_")) != inner:
            yield safe


def _spelled(text: str) -> str:
    """Return a pattern for `text` in which any character may be percent-encoded, or escaped as JSON
    escapes it, within JSON as well."""
    return "".join(map(_spelling, text))


def _spelling(char: str) -> str:
    coded = "".join(f"%{byte:02x}" for byte in char.encode())
    slashes = r"\\*" if char in '"/' else ""
    plain = r"\\+" if char == "\\" else slashes + re.escape(char)
    return rf"(?:{plain}|(?i:{coded}|\\+u{ord(char):04x}))"


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
            char if char in keep or category(char) not in _UNSAFE else escaped(char)
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


_WORD = re.compile(r"""(?:'[^']*'|"[^"]*"|[^\s'"])+""")


def to_paste(command: str) -> str:
    """Return a command as it stands on standard error: on a terminal that is too narrow for it, on
    several lines, each but the last with a backslash behind it."""
    import shutil

    width = shutil.get_terminal_size().columns - 4 if sys.stderr.isatty() else len(command)
    lines: list[str] = []
    for word in _WORD.findall(visible(command)):
        if lines and len(lines[-1]) + 1 + len(word) <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return "  " + " \\\n    ".join(lines)


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


def escaped(char: str) -> str:
    """Return a character as Python writes it where it cannot be seen: `\\u202e`."""
    return char.encode("unicode_escape").decode()


def _tell_exception(
    kind: type[BaseException], error: BaseException | None, trace: TracebackType | None
) -> None:
    say("".join(traceback.format_exception(kind, error, trace)).rstrip("\n"), err=True)


class _Visible(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return visible(super().format(record), keep="\n")
