"""The texts that a run's folder keeps, and by which one batch is told from another.

A run that was begun with some texts goes on with these or more; with any others it is another
run. What the folder holds is read back from the file itself, line by line.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from persona_panel.files.digests import (
    DIGEST_BYTES,
    LABELS,
    TEXTS,
    digest_of,
    digest_of_all,
    without_texts,
)
from persona_panel.files.errors import Fault, InputError, RunFolderError
from persona_panel.files.private_files import replacing
from persona_panel.files.response_batch import Batch, Item, line_of
from persona_panel.files.responses import NAMES
from persona_panel.files.secrets import SECRETS
from persona_panel.files.wording import shown
from persona_panel.graphs import Response

RESPONSES = "responses.jsonl"
PROMPTS = "prompts.jsonl"
_NAMED = 3


@dataclass(frozen=True, slots=True)
class KeptTexts:
    """What a run reads, as its folder keeps it.

    `name` is the file's. `items` say which texts there are, and `digests` holds the digests of
    all of them, one behind the other; `lines` gives them anew each time that it is called.
    """

    name: str
    items: Sequence[Item]
    digests: bytes | bytearray
    lines: Callable[[], Iterable[Mapping[str, Any]]]

    @classmethod
    def of_batch(cls, batch: Batch) -> KeptTexts:
        """The responses of a batch, which need not fit into memory."""
        return cls(RESPONSES, batch.items, batch.digests, lambda: map(_whole, batch))

    @classmethod
    def of_lines(cls, name: str, lines: Sequence[Mapping[str, Any]]) -> KeptTexts:
        """Lines that are there already."""
        items = [Item(*(line.get(label, "") for label in Item._fields)) for line in lines]
        return cls(name, items, b"".join(map(digest_of, lines)), lambda: lines)

    def document(self) -> dict[str, Any]:
        """What run.json says of them."""
        digests = [self._digest(place) for place in range(len(self.items))]
        return {"file": self.name, "lines": len(self.items), "sha256": digest_of_all(digests)}

    def write(self, folder: Path, *, texts: bool) -> None:
        """Write them into a run's folder, or, without `texts`, their digests.

        Raises:
            InputError: a response's metadata cannot be written as JSON.
        """
        with replacing(folder / self.name) as file:
            for place, line in enumerate(self.lines(), start=1):
                file.write(json_line(line if texts else without_texts(line), place))

    def refuse_others(self, folder: Path, reason: str | None = None) -> None:
        """See that all texts that a folder holds are among these; `reason` is what may be why they
        are not.

        Raises:
            RunFolderError: some are not; says which.
        """
        places = {item[:2]: place for place, item in enumerate(self.items)}
        gone, changed, n_held = [], [], 0
        for key, digest in _held(folder, self.name):
            n_held += 1
            place = places.get(key)
            if place is None:
                gone.append(key)
            elif self._digest(place) != digest:
                changed.append(key)
        if not (gone or changed):
            return
        what = self.name.partition(".")[0]
        why = "" if reason is None else f"; {reason}"
        told = [
            f"{n:,} {how}{names}"
            for n, how, names in (
                (len(gone), "not among these", _named(gone)),
                (len(changed), "with another text or system", _named(changed)),
                (len(self.items) - n_held + len(gone), "new", ""),
            )
            if n
        ]
        raise RunFolderError(
            f"{folder} contains a run on {n_held:,} other {what}: {'; '.join(told)}{why}. A run "
            f"can be continued only with all the {what} that it began with, and further ones; "
            "choose another --out, or replace the earlier run with --overwrite"
        )

    def _digest(self, place: int) -> bytes:
        return bytes(self.digests[place * DIGEST_BYTES : (place + 1) * DIGEST_BYTES])


def json_line(line: Mapping[str, Any], place: int) -> bytes:
    """A line of JSON in UTF-8. `place` is that of the response, for the fault.

    Raises:
        InputError: something in it is nothing that JSON can hold.
    """
    try:
        content = orjson.dumps(line)
    except TypeError:
        try:
            # Whole numbers of more than 64 bits, which a file's metadata may have.
            content = json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode()
        except (TypeError, ValueError) as error:
            held = "values that can be written as JSON in UTF-8"
            raise InputError([Fault("responses", str(error), held, place, "metadata")]) from None
    return SECRETS.scrub_bytes(content) + b"\n"


def _whole(response: Response) -> dict[str, Any]:
    """A response with its metadata, in the form that `load_responses` reads."""
    line = line_of(response)
    for given, value in response.metadata.items():
        name = given
        # As in verdicts.csv: metadata never takes the place of a field of ours.
        while name in line or name in NAMES:
            name = f"metadata_{name}"
        line[name] = value
    return line


def _held(folder: Path, name: str) -> Iterator[tuple[tuple[str, str], bytes]]:
    """The texts that a run's folder holds: which they are, and their digests."""
    try:
        lines = (folder / name).open("rb")
    except FileNotFoundError:
        judgments = folder / "judgments.jsonl"
        # A kill may come before any text is written; nothing was judged then.
        if not judgments.exists() or not judgments.stat().st_size:
            return
        raise RunFolderError(
            f"{folder} contains a run without {name} (written by an earlier version, or "
            "removed), so that its texts cannot be compared; choose another --out, or replace "
            "the earlier run with --overwrite"
        ) from None
    with lines:
        for number, text in enumerate(lines, start=1):
            try:
                line = orjson.loads(text)
                known = {key: line[key] for key in line if key in _KNOWN}
                key = (line["prompt_id"], line.get("id", ""))
                yield key, digest_of(known)
            except (ValueError, LookupError, TypeError, AttributeError):
                raise RunFolderError(
                    f"{folder / name}, line {number}, was not written by a run; choose another "
                    "--out, or replace the earlier run with --overwrite"
                ) from None


_KNOWN = frozenset({*LABELS, *TEXTS, *(f"{name}_sha256" for name in TEXTS)})


def _named(keys: Sequence[tuple[str, str]]) -> str:
    names = [shown("/".join(filter(None, key))) for key in keys[:_NAMED]]
    return f" ({', '.join(names)}{', …' if len(keys) > _NAMED else ''})"
