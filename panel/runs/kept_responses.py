"""The responses that a run's folder keeps, read back one by one in the order of the run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from persona_panel.files.digests import TEXTS
from persona_panel.files.errors import Fault, InputError, RunFolderError
from persona_panel.files.file_limits import json_in, json_of, lines_of
from persona_panel.files.response_batch import Item
from persona_panel.files.wording import unreadable
from persona_panel.graphs import Response
from persona_panel.graphs.degradation import BASELINE
from persona_panel.runs.kept_texts import PROMPTS, RESPONSES

_OWN = frozenset({"prompt_id", "id", "system", *TEXTS, *(f"{name}_sha256" for name in TEXTS)})
_UNREADABLE = (ValueError, LookupError, TypeError, AttributeError)


def kept_lines(path: Path) -> Iterator[tuple[int, int, dict[str, Any]]]:
    """The whole lines of a file of JSON lines: where each begins, its number, its object.

    Raises:
        InputError: it cannot be read, or a line is no object with a prompt's id, and of responses
            with theirs and a system's.
    """
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
    """The responses of a run in the order of `items`; see `Run.responses`.

    Raises:
        RunFolderError: the folder keeps no texts.
        InputError: its file cannot be read, or lacks a response.
    """
    path = folder / RESPONSES
    response_in = _reader(folder)
    offsets = {}
    for offset, number, line in kept_lines(path):
        if "response" not in line:
            raise RunFolderError(
                f"{folder} keeps the SHA-256 of its texts and no texts (--no-texts): read them "
                "from where they were scored"
            )
        offsets[line["prompt_id"], line["id"]] = (offset, number)
    return _in_order(path, items, offsets, response_in)


def kept_metadata(folder: Path, items: Sequence[Item]) -> list[dict[str, Any]]:
    """The further columns of each response of a run; none of a folder without texts.

    Raises:
        InputError: its file cannot be read.
    """
    found = {
        (line["prompt_id"], line["id"]): metadata_in(line)
        for _, _, line in kept_lines(folder / RESPONSES)
    }
    return [found.get(item[:2], {}) for item in items]


def _in_order(
    path: Path,
    items: Sequence[Item],
    offsets: Mapping[tuple[str, str], tuple[int, int]],
    response_in: Callable[[Mapping[str, Any]], Response],
) -> Iterator[Response]:
    with path.open("rb") as file:
        for item in items:
            if item[:2] not in offsets:
                found = f"no response {item.prompt_id}/{item.id}"
                raise InputError([Fault(str(path), found, "every response that was judged")])
            offset, number = offsets[item[:2]]
            file.seek(offset)
            try:
                yield response_in(orjson.loads(file.readline()))
            except _UNREADABLE:
                raise _no_line(path, number) from None


def _reader(folder: Path) -> Callable[[Mapping[str, Any]], Response]:
    """How a line of this folder's responses is read: a sweep's are answers to variants."""
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
    """The further columns of a response, of its line."""
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
