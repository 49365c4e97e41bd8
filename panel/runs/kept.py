"""The contents of a run's folder, read back: its JSON documents, run.json field by field, its texts
and its responses.

A run that was begun with some texts goes on with these or more; with any others it is another run.
What the folder holds is read back from the file itself, line by line.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import ceil
from pathlib import Path
from typing import Any

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from persona_panel.files.addresses import is_address
from persona_panel.files.errors import (
    ConfigurationError,
    Fault,
    InputError,
    RunFolderError,
    first_lines,
)
from persona_panel.files.limits import json_in, json_of, lines_of
from persona_panel.files.named_files import shown_folder
from persona_panel.files.outputs import (
    DIGEST_BYTES,
    LABELS,
    TEXTS,
    digest_of,
    digest_of_all,
    own_ids,
    replacing,
    without_texts,
)
from persona_panel.files.responses import NAMES, Batch, Item, line_of
from persona_panel.files.secrets import MASK, SECRETS
from persona_panel.files.wording import explain, printable, some, unreadable
from persona_panel.graphs import Response
from persona_panel.graphs.framing import BASELINE
from persona_panel.models.config import Price
from persona_panel.results.conclusions.wording import two_digits
from persona_panel.rubrics import Rubric
from persona_panel.statistics.core.arrays import DEFAULT_OPTIONS, Random

OF_A_RUN = "that of a run"
"""The words for what is expected of a file of a run's folder that is another's."""


def require_folder(path: Path, name: str) -> None:
    """Refuse a path that is no folder. `name`: what the user calls it. Raises InputError: there is
    none."""
    if not path.is_dir():
        actual = "a file" if path.is_file() else unreadable(path)
        raise InputError([Fault(name, actual, "a run's folder, as `score --out` writes it")])


def kept_object(path: Path) -> dict[str, Any]:
    """Read the object in a file of a run. Raises InputError: it cannot be read, or holds none."""
    try:
        document = json_of(path)
    except OSError:
        raise InputError([Fault(str(path), unreadable(path), OF_A_RUN)]) from None
    except ValueError:
        document = None
    if not isinstance(document, dict):
        raise InputError([Fault(str(path), "no JSON object", OF_A_RUN)])
    return document


def object_if_there(path: Path) -> dict[str, Any] | None:
    """Read the object in a file of a run; return None where it cannot be read or holds none."""
    try:
        document = json_of(path)
    except (OSError, ValueError):
        return None
    return document if isinstance(document, dict) else None


def refuse_loss_of_ratings(
    folder: Path, lost_from: str, remedy: Callable[[Sequence[str]], str]
) -> None:
    """Refuse to write anew, without people's ratings, what is of a run's folder that has them.

    Args:
        lost_from: what is written anew, in words.
        remedy: from the words of a command that has these ratings to what keeps them.

    Raises:
        ConfigurationError: the summary has people's ratings.
    """
    if words := (object_if_there(folder / SUMMARY) or {}).get("human_ratings"):
        raise ConfigurationError(
            f"people's ratings, which summary.json has, would be lost from {lost_from}; "
            f"{remedy(words)}"
        )


def summary_at_end(folder: Path, start: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return what summary.json of a run's folder holds; None where there is none of its last start,
    which is `start`, and so has not come to its end."""
    path = folder / SUMMARY
    try:
        # A start is recorded in whole seconds.
        if path.stat().st_mtime < datetime.fromisoformat(start["at"]).timestamp():
            return None
    except OSError:
        return None
    return object_if_there(path)


def command_again(folder: Path, times: float, *, capped: bool) -> str:
    """Return the command that began a run's folder, to be run again, with caps `times` as high
    where one was reached, a tenth more of those on tokens and money; empty where the folder has
    none that runs as it stands there."""

    def higher(name: str, value: str) -> str:
        more = times * float(value)
        if name != "--max-calls":
            # Missing judgments may be longer than those made, and a call is held back where the
            # most that it may take goes beyond the cap.
            more *= 1.1
        # Rounded up to two digits.
        if name == "--max-usd":
            return f"{two_digits(ceil(more * 1e4)) / 1e4:g}"
        return str(two_digits(ceil(more)))

    return shlex.join(_command_of(folder, _CAPS if capped else (), higher))


def command_with(folder: Path, option: str) -> str:
    """Return the command that began a run's folder with an option more, into a folder beside it,
    as a folder keeps the panel that it began with, and without requirements on the first and other
    files of it; empty as of `command_again`."""
    beside = option.removeprefix("-")
    words = _command_of(
        folder, ("--out",), lambda _, value: value.rstrip("/") + beside, _PRINTED | _OF_THE_FIRST
    )
    return shlex.join([*words, option] if words else [])


_CAPS = ("--max-calls", "--max-tokens", "--max-usd")
_PRINTED = {"--format": 2, "--json": 1, "--csv": 1, "--latex": 1, "--full": 1}
"""The options for how a result is printed, with the words that each takes: a run's answers, which
name its command, are the same in whatever format they are printed."""
_OF_THE_FIRST = {
    "--require": 2, "--require-point": 1, "--junit": 2, "--markdown": 2, "--plot": 2
}  # fmt: skip


def _command_of(
    folder: Path,
    options: Collection[str],
    changed: Callable[[str, str], str],
    left_out: Mapping[str, int] = _PRINTED,
) -> list[str]:
    """Return the words of the command that began a run's folder, which it names, with what
    `changed` makes of the values of these options; empty where the folder has none that runs as it
    stands there."""
    starts = (object_if_there(folder / "run.json") or {}).get("starts") or [{}]
    command = str(starts[-1].get("command", ""))
    words: list[str] = []
    try:
        left = shlex.split(command)
        if left[:2] != ["persona-panel", "score"] or MASK in command:
            return []
        if not any(word.partition("=")[0] == "--out" for word in left):
            left += ["--out", shown_folder(folder)]
        while left:
            word = left.pop(0)
            name, equals, value = word.partition("=")
            if name in left_out:
                del left[: 0 if equals else left_out[name] - 1]
            elif name == "--out" or name in options:
                value = value if equals else left.pop(0)
                # A copy of the folder, or a moved one, is not where the command first wrote.
                if name == "--out" and not is_address(value):
                    value = shown_folder(folder)
                value = changed(name, value) if name in options else value
                words += [f"{name}={value}"] if equals else [name, value]
            else:
                words.append(word)
    except (IndexError, ValueError):  # somebody edited it
        return []
    return words


_REMEDY = (
    "as a run writes it there; restore the file from a copy, or repeat the run with --overwrite "
    "(replies that are in the cache are not asked for again)"
)


class _Part(BaseModel):
    """A mapping in run.json, whose values are of these types and not of others that could be read
    as such. Fields that it has besides stay unread."""

    model_config = ConfigDict(extra="ignore", strict=True)


class _KeptPersona(_Part):
    id: str
    label: str
    axis: str
    description: str


class _KeptModel(_Part):
    id: str
    model: str
    elicitation: str
    parameters: dict[str, Any]


class _KeptDeliberation(_Part):
    # No `Deliberation` of the graphs: the rule of an extension need not be installed here.
    rounds: int = Field(ge=1)
    reveal: str


class _KeptSweep(_Part):
    systems: list[str]
    conditions: list[str]
    judge_sees: str
    framings: dict[str, Any]


class _KeptTexts(_Part):
    file: str
    sha256: str


class _KeptInput(_Part):
    name: str


class _KeptStart(_Part):
    at: str
    command: str
    python: str
    versions: dict[str, str]
    inputs: list[_KeptInput]


class KeptManifest(_Part):
    """The parts of run.json that commands which read a run take from it.

    `random` is absent in sweeps, and it and `deterministic` in runs of earlier versions, which may
    lack fields that are not listed here, too.
    """

    personas: list[_KeptPersona] = Field(min_length=1)
    rubric: Rubric
    output_rubric: Rubric | None
    models: list[_KeptModel] = Field(min_length=1)
    layout: str
    replicates: int = Field(ge=1)
    plain_judge: bool
    deliberation: _KeptDeliberation | None
    seed: int
    prices: dict[str, Price | None]
    prompts: dict[str, str]
    version: str
    texts: _KeptTexts
    starts: list[_KeptStart] = Field(min_length=1)
    random: Random = DEFAULT_OPTIONS.random
    deterministic: bool = False
    sweep: _KeptSweep | None = None


def kept_manifest(path: Path) -> tuple[dict[str, Any], KeptManifest]:
    """Read the document of a run.json, and check the parts of it that commands read. Raises
    InputError: it cannot be read, is no run's, or a field is missing or is not what a run writes;
    names each such field."""
    document = kept_object(path)
    if not {"rubric", "models"} & document.keys():
        raise InputError([Fault(str(path), "none that this version writes", OF_A_RUN)])
    try:
        return document, KeptManifest.model_validate(document)
    except ValidationError as error:
        faults: dict[str, Fault] = {}
        for detail in error.errors(include_url=False):
            field = printable(".".join(map(str, detail["loc"])))
            actual, expected = explain(detail)
            # Of a field all of whose parts are wrong, the first.
            fault = Fault(str(path), actual, f"{expected}, {_REMEDY}", field=field)
            faults.setdefault(str(detail["loc"][0]), fault)
        raise InputError(list(faults.values())) from None


RESPONSES = "responses.jsonl"
SUMMARY = "summary.json"
PROMPTS = "prompts.jsonl"


@dataclass(frozen=True, slots=True)
class KeptTexts:
    """The texts that a run reads, as its folder keeps them.

    `name` is the file's. `items` say which texts there are, and `digests` holds the digests of
    all of them, one behind the other; `lines` gives them anew each time that it is called.
    """

    name: str
    items: Sequence[Item]
    digests: bytes | bytearray
    lines: Callable[[], Iterable[Mapping[str, Any]]]

    @classmethod
    def of_batch(cls, batch: Batch) -> KeptTexts:
        """Make the texts of a batch, whose responses need not fit into memory."""
        return cls(RESPONSES, batch.items, batch.digests, lambda: map(_whole, batch))

    @classmethod
    def of_lines(cls, name: str, lines: Sequence[Mapping[str, Any]]) -> KeptTexts:
        """Make the texts of lines that are there already."""
        items = [Item(*(line.get(label, "") for label in Item._fields)) for line in lines]
        return cls(name, items, b"".join(map(digest_of, lines)), lambda: lines)

    def document(self) -> dict[str, Any]:
        """Return the entry about these texts in run.json."""
        digests = [self._digest(place) for place in range(len(self.items))]
        return {"file": self.name, "lines": len(self.items), "sha256": digest_of_all(digests)}

    def write(self, folder: Path, *, texts: bool) -> None:
        """Write the texts into a run's folder, or, without `texts`, their digests. Raises
        InputError: a response's metadata cannot be written as JSON."""
        with replacing(folder / self.name) as file:
            for place, line in enumerate(self.lines(), start=1):
                file.write(json_line(line if texts else without_texts(line), place))

    def refuse_others(self, folder: Path, reason: str | None = None) -> None:
        """Check that all texts that a folder holds are among these; `reason` is what may be why
        they are not. Raises RunFolderError: some are not; says which."""
        places = {item[:2]: place for place, item in enumerate(self.items)}
        gone, changed, n_held = [], [], 0
        for n_held, (key, digest) in enumerate(_held(folder, self.name), start=1):
            place = places.get(key)
            if place is None:
                gone.append((n_held, key))
            elif self._digest(place) != digest:
                changed.append((n_held, key))
        if not (gone or changed):
            return
        what = self.name.partition(".")[0]
        why = "" if reason is None else f"; {reason}"
        others = [
            f"{n:,} {how}{names}"
            for n, how, names in (
                (len(gone), "not among these", self._named(gone)),
                (len(changed), "with another text or system", self._named(changed)),
                (len(self.items) - n_held + len(gone), "new", ""),
            )
            if n
        ]
        raise RunFolderError(
            f"{folder} contains a run on {n_held:,} other {what}: {'; '.join(others)}{why}. A run "
            f"can be continued only with all the {what} that it began with, and further ones; "
            "choose another --out, or replace the earlier run with --overwrite"
        )

    def _named(self, held: Sequence[tuple[int, tuple[str, str]]]) -> str:
        """Name the first of the texts that a folder holds, by the ids that a user gave or, where
        one has none, by their lines."""
        if all(names := [own_ids(*key) for _, key in held]):
            return f" ({some(names)})"
        numbers = [number for number, _ in held]
        return f" ({first_lines(numbers)} of its {self.name})"

    def _digest(self, place: int) -> bytes:
        return bytes(self.digests[place * DIGEST_BYTES : (place + 1) * DIGEST_BYTES])


def json_line(line: Mapping[str, Any], place: int) -> bytes:
    """Return a line of JSON in UTF-8. `place` is that of the response, for the fault. Raises
    InputError: something in it is nothing that JSON can hold."""
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
    """Return a response with its metadata, in the form that `load_responses` reads."""
    line = line_of(response)
    for column, value in response.metadata.items():
        name = column
        # As in verdicts.csv: metadata never takes the place of a field of ours.
        while name in line or name in NAMES:
            name = f"metadata_{name}"
        line[name] = value
    return line


def _held(folder: Path, name: str) -> Iterator[tuple[tuple[str, str], bytes]]:
    """Return which texts a run's folder holds, and their digests."""
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


def has_other_texts(folder: Path) -> bool:
    """Return whether the responses in a run's folder are others than run.json has the digest of."""
    kept = (object_if_there(folder / "run.json") or {}).get("texts") or {}
    if kept.get("file") != RESPONSES:
        return False
    held = digest_of_all(digest for _, digest in _held(folder, RESPONSES))
    return held != kept.get("sha256")


_KNOWN = frozenset({*LABELS, *TEXTS, *(f"{name}_sha256" for name in TEXTS)})


_OWN = frozenset({"prompt_id", "id", "system", *TEXTS, *(f"{name}_sha256" for name in TEXTS)})
_UNREADABLE = (ValueError, LookupError, TypeError, AttributeError)


def kept_lines(path: Path) -> Iterator[tuple[int, int, dict[str, Any]]]:
    """Yield the whole lines of a file of JSON lines: the offset, number and object of each. Raises
    InputError: it cannot be read, or a line is no object with a prompt's id, and of responses with
    theirs and a system's."""
    offset = 0
    try:
        for number, text in enumerate(lines_of(path), start=1):
            if text.endswith(b"\n"):
                yield offset, number, _object_in(path, number, text)
            offset += len(text)
    except OSError:
        raise InputError([Fault(str(path), unreadable(path), "texts of a run")]) from None


def _object_in(path: Path, number: int, text: bytes) -> dict[str, Any]:
    try:
        line: dict[str, Any] = json_in(text)
        needed = ("prompt_id", "id", "system") if path.name == RESPONSES else ("prompt_id",)
        if not all(isinstance(line[name], str) for name in needed):
            raise TypeError
    except _UNREADABLE:
        raise _no_line(path, number) from None
    return line


def _no_line(path: Path, number: int) -> InputError:
    return InputError([Fault(str(path), "none that a run writes", "a line of a run", number)])


def kept_responses(folder: Path, items: Sequence[Item]) -> Iterator[Response]:
    """Return the responses of a run in the order of `items`; see `Run.responses`. Raises
    RunFolderError: the folder keeps no texts; InputError: its file cannot be read, or lacks a
    response."""
    path = folder / RESPONSES
    response_in = _reader(folder)
    offsets = {}
    n_read = 0
    for offset, number, line in kept_lines(path):
        if "response" not in line:
            raise RunFolderError(
                f"{folder} keeps the SHA-256 of its texts and no texts (--no-texts): read them "
                "from where they were scored"
            )
        key = line["prompt_id"], line["id"]
        # Most stand in this order: those need not be read again.
        if n_read < len(items) and key == items[n_read][:2]:
            yield _response_of(path, number, line, response_in)
            n_read += 1
        else:
            offsets[key] = (offset, number)
    yield from _in_order(path, items[n_read:], offsets, response_in)


def kept_metadata(folder: Path, items: Sequence[Item]) -> list[dict[str, Any]]:
    """Return the further columns of each response of a run; none of a folder without texts. Raises
    InputError: its file cannot be read."""
    columns = {
        (line["prompt_id"], line["id"]): metadata_in(line)
        for _, _, line in kept_lines(folder / RESPONSES)
    }
    return [columns.get(item[:2], {}) for item in items]


def _in_order(
    path: Path,
    items: Sequence[Item],
    offsets: Mapping[tuple[str, str], tuple[int, int]],
    response_in: Callable[[Mapping[str, Any]], Response],
) -> Iterator[Response]:
    with path.open("rb") as file:
        for item in items:
            if item[:2] not in offsets:
                actual = f"no response {item.prompt_id}/{item.id}"
                raise InputError([Fault(str(path), actual, "every response that was judged")])
            offset, number = offsets[item[:2]]
            file.seek(offset)
            yield _response_of(path, number, orjson.loads(file.readline()), response_in)


def _response_of(
    path: Path,
    number: int,
    line: Mapping[str, Any],
    response_in: Callable[[Mapping[str, Any]], Response],
) -> Response:
    try:
        return response_in(line)
    except _UNREADABLE:
        raise _no_line(path, number) from None


def _reader(folder: Path) -> Callable[[Mapping[str, Any]], Response]:
    """Return the function that reads a line of this folder's responses."""
    try:
        sweep = json_of(folder / "run.json").get("sweep")
    except (OSError, *_UNREADABLE):
        path = folder / "run.json"
        raise InputError([Fault(str(path), unreadable(path), "that of a run")]) from None
    if sweep is None:
        return _response_in
    return _answer_reader(folder, sweep)


def _response_in(line: Mapping[str, Any]) -> Response:
    return Response(
        id=line["id"],
        prompt=line["prompt"],
        text=line["response"],
        system=line["system"],
        prompt_id=line["prompt_id"],
        context=line.get("context"),
        metadata=metadata_in(line),
    )


def metadata_in(line: Mapping[str, Any]) -> dict[str, Any]:
    """Return the further columns of a response, of its line."""
    return {name: value for name, value in line.items() if name not in _OWN}


def _answer_reader(
    folder: Path, sweep: Mapping[str, Any]
) -> Callable[[Mapping[str, Any]], Response]:
    from persona_panel.graphs.sweeping import response_of

    baselines = {}
    if sweep["judge_sees"] == "baseline":
        own = (folder / PROMPTS).is_file()
        baselines = {
            line["prompt_id"]: line["prompt"]
            for _, _, line in kept_lines(folder / (PROMPTS if own else RESPONSES))
            if own or line["condition"] == BASELINE
        }

    def response_in(line: Mapping[str, Any]) -> Response:
        prompt_id = line["prompt_id"]
        seen = baselines.get(prompt_id, line["prompt"])
        system, condition, text = line["system"], line["condition"], line["response"]
        return response_of(prompt_id, system, condition, seen, text)

    return response_in
