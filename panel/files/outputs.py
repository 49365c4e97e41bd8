"""Files as they are written: JSON of any value, digests, cells of CSV that no spreadsheet
calculates, files that only their owner reads, and never over a file that is read.

A cell that begins with =, +, - or @, also behind a tab, a line break or apostrophes, gets an
apostrophe in front (OWASP's remedy for CSV injection): taking one away gives back what was there.
Only files and folders that are made here are made private.
"""

from __future__ import annotations

import csv
import errno
import math
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import fields, is_dataclass
from decimal import Decimal
from functools import cache
from hashlib import blake2b, sha256
from importlib.metadata import distribution, version
from itertools import count
from pathlib import Path
from typing import IO, Any, Literal

import orjson

from persona_panel.files.addresses import is_meant_as_address
from persona_panel.files.errors import ConfigurationError, Fault, InputError, RunFolderError
from persona_panel.files.limits import RowLines, lines_of
from persona_panel.files.secrets import SECRETS
from persona_panel.files.wording import shown, unreadable
from persona_panel.rubrics.replies import well_formed

BATCHES = "batches.jsonl"
"""The journal of a run's batches."""
_MOST = 2**63
_LEVELS = 200


def as_json(value: Any, option: int = 0) -> bytes:
    """Encode a value as JSON, with orjson's options. What JSON in UTF-8 cannot hold is changed:
    half a surrogate pair into the replacement character, a whole number of more than 64 bits into a
    float, an object of another type into its text."""
    try:
        return orjson.dumps(value, option=option)
    # Looked at piece by piece only where that is needed: it takes a hundred times as long.
    except TypeError:
        return orjson.dumps(mended(value), option=option)


def json_lines(rows: Iterable[Mapping[str, Any]]) -> bytes:
    """Encode rows as JSONL: `as_json` of each on its own line."""
    return b"".join(as_json(row) + b"\n" for row in rows)


def json_number(value: float) -> float | None:
    """Round a float to six decimal places, as files show it; None (null) for NaN."""
    return None if math.isnan(value) else round(value, 6)


def record_document(record: Any, *without: str) -> dict[str, Any]:
    """Return the fields of a dataclass for a JSON file, but those named; numbers as `json_number`,
    dataclasses within as objects."""
    return {
        field.name: _plain(getattr(record, field.name))
        for field in fields(record)
        if field.name not in without
    }


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return json_number(value)
    if isinstance(value, Mapping):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(each) for each in value]
    return record_document(value) if is_dataclass(value) else value


def mended(value: Any, levels: int = _LEVELS) -> Any:
    """Return the value in JSON's types, all of which can be written. In place of what is nested
    more than `levels` deep, which orjson does not write, there is a sign."""
    match value:
        case str():
            return well_formed(value)
        case None | bool() | float():
            return value
        case int():
            return value if -_MOST <= value < _MOST else _as_float(value)
        case Mapping() | list() | tuple() if not levels:
            return "…"
        case Mapping():
            return {
                well_formed(str(name)): mended(item, levels - 1) for name, item in value.items()
            }
        case list() | tuple():
            return [mended(item, levels - 1) for item in value]
    return well_formed(str(value))


def _as_float(number: int) -> float:
    try:
        return float(number)
    except OverflowError:
        return float("inf") if number > 0 else float("-inf")


TEXTS = ("prompt", "response", "context")
"""The fields of a line of responses.jsonl that are texts."""
LABELS = ("prompt_id", "id", "system", "condition")
"""The fields of such a line that are names."""
DIGEST_BYTES = 32
_DIGITS = 12
_MADE_ID = re.compile(rf"[pr]-[0-9a-f]{{{_DIGITS}}}")


@cache
def version_of(package: str) -> str:
    """Return the version of an installed package, from the head of its metadata: to parse all of
    it, licences too, takes milliseconds a package. Raises PackageNotFoundError: there is none."""
    metadata = distribution(package).read_text("METADATA") or ""
    at = re.search(r"^Version: (\S+)$", metadata, re.MULTILINE)
    return version(package) if at is None else at[1]


def sha256_of(text: str) -> str:
    """Return the SHA-256 of a text in UTF-8, in hexadecimal digits."""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def short_digest(text: str) -> bytes:
    """Return a digest that tells a text from others of a batch: 16 bytes of BLAKE2b."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def prompt_id_of(prompt: str) -> str:
    """Return the id of a prompt that has none: `p-` and the first 12 digits of its SHA-256.

    The same prompt has it in every batch, so that runs can be joined. It begins with a letter:
    a spreadsheet would take 12 digits with an e among them for a number.
    """
    return f"p-{sha256_of(prompt)[:_DIGITS]}"


def prompt_name(prompt_id: str, prompt: str, as_: Callable[[str], str] = shown) -> str:
    """Return what messages call a prompt: its id, or its first words where it has none of its own.

    >>> prompt_name("p1", "Why?", str), prompt_name(prompt_id_of("Why?"), "Why?", str)
    ('p1', "'Why?'")
    """
    return shown(prompt) if prompt_id == prompt_id_of(prompt) else as_(prompt_id)


def own_ids(*ids: str) -> str:
    """Return the ids that a user gave, joined; empty where all were made of texts.

    >>> own_ids(prompt_id_of("Why?"), "r1"), own_ids("p1", "r1"), own_ids(prompt_id_of("Why?"))
    ('r1', 'p1/r1', '')
    """
    return "/".join(each for each in ids if each and not _MADE_ID.fullmatch(each))


def response_id_of(system: str, text: str, context: str | None = None) -> str:
    """Return the id of a response that has none: `r-` and the first 12 digits of the SHA-256 of its
    system, its text and, where it has one, its context, each followed by a line feed.

    Without the system, two that answer in the same words would have one id.
    """
    parts = [system, text] if context is None else [system, text, context]
    return f"r-{sha256_of(''.join(part + chr(10) for part in parts))[:_DIGITS]}"


def without_texts(line: Mapping[str, Any]) -> dict[str, Any]:
    """Return a line of responses.jsonl without metadata, and with the SHA-256 of each text in its
    place."""
    kept = {name: line[name] for name in LABELS if name in line}
    digests = {f"{name}_sha256": sha256_of(line[name]) for name in TEXTS if name in line}
    return kept | digests


def digest_of(line: Mapping[str, Any]) -> bytes:
    """Return a digest that tells a line of responses.jsonl from others, with or without its texts:
    32 bytes.

    Metadata has no part in it.
    """
    texts = [
        sha256_of(line[name]) if name in line else line.get(f"{name}_sha256") for name in TEXTS
    ]
    return sha256(orjson.dumps([[line.get(name) for name in LABELS], texts])).digest()


def digest_of_all(digests: Iterable[bytes]) -> str:
    """Return the digest of a batch from those of its lines, in whatever order."""
    return sha256(b"".join(sorted(digests))).hexdigest()


# In the fullwidth forms, too, which some take for the same.
_CALCULATED = re.compile(r"'*[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)


def cell_of(text: str) -> str:
    """Return a text as a cell that no spreadsheet calculates. A number stays one, also a negative
    one."""
    if _CALCULATED.match(text) and not _NUMBER.fullmatch(text):
        return f"'{text}"
    return text


def text_of(cell: str) -> str:
    """Return the text of a cell that `cell_of` made."""
    return cell[1:] if cell.startswith("'") and _CALCULATED.match(cell) else cell


def own_rows(path: Path) -> Iterator[dict[str, str]]:
    """Yield the rows of a CSV file that we wrote, by the names of its columns. Raises OSError: it
    cannot be opened; InputError, ValueError, csv.Error: it is none that we write."""
    lines = RowLines(line.decode() for line in lines_of(path))
    for row in csv.DictReader(lines):
        lines.length = 0
        yield row


DecimalSign = Literal["comma", "point"]
DECIMAL: ContextVar[DecimalSign | None] = ContextVar("DECIMAL", default=None)
"""The sign before decimals in files that a user reads and writes; None where no command was told
one."""


def csv_for_user(rows: Iterable[Iterable[Any]]) -> bytes:
    """Return rows as CSV that only a user reads, or `load_ratings`: `csv_of`, or where decimal
    commas are asked for, semicolons between cells."""
    if DECIMAL.get() != "comma":
        return csv_of(rows)
    return csv_of((map(_with_comma, row) for row in rows), ";")


def csv_of_records(rows: Sequence[Mapping[str, Any]]) -> bytes:
    """Return records with the same keys, one or more, as `csv_for_user` does, headed by these;
    no spreadsheet calculates their texts."""
    cells = ([cell_of(v) if isinstance(v, str) else v for v in row.values()] for row in rows)
    return csv_for_user([list(rows[0]), *cells])


def _with_comma(cell: Any) -> Any:
    return str(cell).replace(".", ",") if isinstance(cell, float | Decimal) else cell


def csv_of(rows: Iterable[Iterable[Any]], delimiter: str = ",") -> bytes:
    """Return rows as CSV in UTF-8, with a line feed at the end of each line."""
    lines = _Lines()
    # The module quotes what is in its line end alone, and reads a carriage return as one, too.
    writer = csv.writer(lines, delimiter=delimiter, lineterminator="\r\n")
    writer.writerows(rows)
    return "".join(lines.written).encode()


class _Lines:
    """A file for csv to write to, a row at a time."""

    def __init__(self) -> None:
        self.written: list[str] = []

    def write(self, row: str) -> None:
        self.written.append(row.removesuffix("\r\n") + "\n")


PRIVATE_FILE = 0o600
_PRIVATE_FOLDER = 0o700


def is_lack_of_room(error: OSError) -> bool:
    """Return whether something could not be written for lack of space."""
    return error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def make_private_folder(path: Path) -> None:
    """Make a folder and those above it, unless they are there; a link to one is followed. Raises
    OSError: it cannot be made."""
    # Where a link leads to nothing, the folder that it names is made.
    Path(os.path.realpath(path)).mkdir(mode=_PRIVATE_FOLDER, parents=True, exist_ok=True)


def journal_of(run: Path) -> Path:
    """Return the path of the journal of a run's batches: in its folder; for a run that is a file of
    texts, NAME.jsonl, NAME.batches.jsonl beside it."""
    if run.suffix == ".jsonl" and not run.is_dir():
        return run.with_name(f"{run.stem}.{BATCHES}")
    return run / BATCHES


def open_private(
    path: Path, mode: str, *, buffered: bool = True, permissions: int = PRIVATE_FILE
) -> IO[bytes]:
    """Open a file to write bytes; `mode` is `wb`, `ab` or `xb`."""

    def opener(name: str, flags: int) -> int:
        return os.open(name, flags, permissions)

    return open(path, mode, buffering=-1 if buffered else 0, opener=opener)


def sync(file: IO[bytes]) -> None:
    """Return once what was written is on the disk, where a power cut leaves it. Raises OSError: it
    cannot be written."""
    file.flush()
    os.fsync(file.fileno())


@contextmanager
def replacing(path: Path, *, permissions: int = PRIVATE_FILE) -> Iterator[IO[bytes]]:
    """Open a file to write in place of another: at `path` is either the old or the whole new one,
    even after a power cut. Beside it, a kill may leave a hidden file that nobody reads."""
    new = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with open_private(new, "wb", permissions=permissions) as file:
            yield file
            sync(file)
        new.replace(path)
    except BaseException:
        new.unlink(missing_ok=True)
        raise


def replace_file(path: Path, content: bytes, *, permissions: int = PRIVATE_FILE) -> None:
    """Write a file so that it is either the old one or the whole new one; known keys are masked."""
    with replacing(path, permissions=permissions) as file:
        file.write(SECRETS.scrub_bytes(content))


RUN_FILES = frozenset({
    "run.json", "judgments.jsonl", "verdicts.csv", "summary.json", "responses.jsonl",
    "prompts.jsonl", "injection.json", "keypoints.json", "bias.json", "framings.jsonl",
    "deltas.csv", "spent.json", "batches.jsonl",
})  # fmt: skip
"""The files that runs, and what is computed of them, write into a run's folder. The page,
report.html, is not among them: it can be made again, also elsewhere."""


def require_ending(output: str | Path, ending: str) -> None:
    """Refuse an output of a command, named by `--out`, whose name ends in anything but `ending`.
    Raises ConfigurationError: it does."""
    if (actual := Path(output).suffix).lower() != ending:
        raise ConfigurationError(
            f"--out {output}: found a name that ends in {actual or 'nothing'!r}; "
            f"expected one that ends in {ending}"
        )


def refuse_as_output(option: str, output: str | Path, others: Iterable[str | Path]) -> None:
    """Refuse a file as an output. `option`: which names it, for the message; `others`: the files
    and folders that the command is given besides; what is neither, such as the name of a model, is
    no matter. Raises ConfigurationError: it is one of these files, by whatever name, or a file of a
    run's folder: one that has a run.json, or is among the others; or it is at an address."""
    if is_meant_as_address(output):
        raise ConfigurationError(
            f"{option} {output}: found an address; expected a place on this machine, from where it "
            "can be copied"
        )
    path = Path(output)
    inputs = [Path(other) for other in others]
    if path.is_file() and any(_is_same(path, other) for other in inputs):
        raise ConfigurationError(
            f"{option} {path}: found a file that is read; expected another one"
        )
    if path.name in RUN_FILES and (
        (path.parent / "run.json").exists() or any(_is_same(path.parent, other) for other in inputs)
    ):
        raise ConfigurationError(
            f"{option} {path}: found a file of a run's folder; expected another one"
        )


def write_new(path: Path, content: bytes, expected: str) -> None:
    """Write a file that is not there yet; one that has the same content already stays as it is.
    `expected`: what to do where another file is there. Raises InputError: there is another file, or
    it cannot be written."""
    try:
        if path.exists() and path.read_bytes() != content:
            raise InputError([Fault(str(path), "a file that is there already", expected)])
        path.write_bytes(content)
    except OSError as error:
        problem = "no such folder" if isinstance(error, FileNotFoundError) else unreadable(path)
        raise InputError([Fault(str(path), problem, "a file that can be written")]) from None


@contextmanager
def writing(path: Path, remedy: str = "") -> Iterator[None]:
    """Turn an error in writing a file or folder into one that names it, says why, and adds a
    remedy. Raises RunFolderError: something does."""
    try:
        yield
    except OSError as error:
        what_helps = f"; {remedy}" if remedy else ""
        raise RunFolderError(f"{path} cannot be written: {error.strerror}{what_helps}") from None


def _is_same(first: Path, other: Path) -> bool:
    """Return whether both exist and are the same file or folder, also through links."""
    try:
        return first.samefile(other)
    except (OSError, ValueError):
        return False


def file_names(things: Iterable[str]) -> dict[str, str]:
    """Return by the name of each thing the name of its file or folder; those that would share one
    are numbered.

    >>> file_names(["a/b", "a:b"])
    {'a/b': 'a-b-no-1', 'a:b': 'a-b-no-2'}
    """
    plain = {
        thing: "".join(char if char.isalnum() or char in "-_.+=" else "-" for char in thing)
        for thing in things
    }
    # Some file systems take large and small letters for the same.
    n = Counter(name.lower() for name in plain.values())
    taken, names = set(n), dict[str, str]()
    for thing, name in plain.items():
        numbered = (f"{name}-no-{number}" for number in count(1))
        free = (item for item in numbered if item.lower() not in taken)
        names[thing] = name if n[name.lower()] == 1 else next(free)
        taken.add(names[thing].lower())
    return names
