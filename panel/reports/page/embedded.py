"""The responses and judgments in the page, for its script: ratings of all of them, and as many
texts as the page has room for.

The script writes them as text, never as markup. There is no key in them.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np
import orjson

from persona_panel.files.errors import InputError, RunFolderError
from persona_panel.files.outputs import as_json
from persona_panel.files.secrets import SECRETS
from persona_panel.graphs import Response
from persona_panel.graphs.records import controls_among
from persona_panel.reports.page.sections import judge_names
from persona_panel.results.formats.html import NAME
from persona_panel.results.shown import short_names
from persona_panel.rubrics import Scale
from persona_panel.rubrics.segmentation import words
from persona_panel.runs.run import Run
from persona_panel.statistics.core.arrays import Array

BYTES = 2_500_000
"""The most bytes of ratings and texts in a page, which with everything else stays below 3 MB."""
_FOR_RATINGS = 0.8
"""Of the room, what ratings may take."""
_FOR_RESPONSES = 0.5
"""Of the room for texts, what responses may take; the rest is for rationales and raw replies."""
_STATUS_CODES = {
    "abstained": "a",
    "refused": "r",
    "truncated": "t",
    "unparsed": "u",
    "failed": "f",
    "skipped": "s",
}
# How a line of judgments.jsonl begins, and what follows its ids: no name has a quotation mark.
_BEGINNING, _BEHIND_IDS = b'{"prompt_id":"', b'","system":'
# What JavaScript writes in JSON otherwise than it is written here.
_WRITTEN_OTHERWISE = re.compile("[\x7f\ud800-\udfff]")
# So that no text can end the element that it is in, nor begin another.
_ESCAPES = {
    "<": "\\u003c",
    ">": "\\u003e",
    "&": "\\u0026",
    "\u2028": "\\u2028",
    "\u2029": "\\u2029",
}


@dataclass(frozen=True, slots=True)
class EmbeddedData:
    """The data, and what did not fit.

    Attributes:
        json: to be put into a script element of type application/json.
        n_responses, n_listed: in the run, and in the page.
        n_texts: how many of these have their text; None where the folder has none.
        n_replies: how many have rationales and raw replies; None where there is no folder.
    """

    json: str
    n_responses: int
    n_listed: int
    n_texts: int | None
    n_replies: int | None

    @property
    def left_out(self) -> list[str]:
        """Return what is not in the page, and where it is: a sentence each."""
        of, sentences = f"of {self.n_responses:,} responses", []
        if (n := self.n_responses - self.n_listed) > 0:
            sentences.append(f"ratings of {n:,} {of}: they are in judgments.jsonl.")
        if self.n_texts is None:
            sentences.append("the texts of responses: the run's folder has none.")
        elif (n := self.n_responses - self.n_texts) > 0:
            sentences.append(f"the texts of {n:,} {of}: they are in responses.jsonl.")
        if self.n_replies is None:
            sentences.append("rationales and raw replies: the run was not written to a folder.")
        elif (n := self.n_responses - self.n_replies) > 0:
            sentences.append(
                f"rationales and raw replies to {n:,} {of}: they are in judgments.jsonl; those to "
                "the most contested are here."
            )
        return [f"Not in this page: {each}" for each in sentences]


def embedded(
    run: Run,
    personas: Mapping[str, tuple[str, str]],
    contested: Sequence[int],
    room: int = BYTES,
    *,
    titles: Mapping[str, str],
) -> EmbeddedData:
    """A run for the page's script.

    Args:
        personas: label and axis of each, by its id.
        contested: places of responses in `run.items`, those first whose texts are to be there
            before others'.
        room: bytes that the data may take.
        titles: the beginnings of prompts, by their ids.
    """
    order = [*dict.fromkeys([*contested, *range(len(run.items))])]
    responses = _responses(run, order, int(room * _FOR_RATINGS))
    place = {row["row"]: n for n, row in enumerate(responses)}
    head = _head(run, personas)
    asked = {row["prompt"] for row in responses}
    head["titles"] = {
        name: title for name, title in titles.items() if name in asked and title != name
    }
    head["names"] = short_names({item.system for item in run.items if item.system}, NAME)
    left = room - _taken(as_json([head, responses]))
    texts, prompts, used = _texts(run, place, int(left * _FOR_RESPONSES))
    rounds_by_row = _written_by_judges(run, place, left - used)
    for row, text in (texts or {}).items():
        responses[place[row]] |= text
    head["prompts"] = prompts
    # What judges wrote is written once: to keep it as so many lists takes longer.
    written = [as_json(row) for row in responses]
    for row, rounds in (rounds_by_row or {}).items():
        written[place[row]] = b'%b,"said":%b}' % (written[place[row]][:-1], rounds)
    content = b'%b,"responses":[%b]}' % (as_json(head)[:-1], b",".join(written))
    return EmbeddedData(
        # Before signs are escaped, with which no key would be found but slowly.
        _inert(SECRETS.scrub_bytes(content).decode()),
        len(run.items),
        len(responses),
        None if texts is None else len(texts),
        None if rounds_by_row is None else len(rounds_by_row),
    )


def _inert(text: str) -> str:
    for char, escape in _ESCAPES.items():
        text = text.replace(char, escape)
    return text


def _taken(written: bytes) -> int:
    """Return the number of bytes of a text once its signs are escaped."""
    return len(written) + 5 * sum(written.count(char.encode()) for char in "<>&")


def _head(run: Run, personas: Mapping[str, tuple[str, str]]) -> dict[str, Any]:
    """Return what all responses share."""
    names = judge_names(run.judges, personas)
    controls = controls_among(run.judges)
    axes = list(dict.fromkeys(personas[judge.persona][1] for judge in run.judges))
    return {
        "dimensions": [
            {
                "id": dimension.id,
                "label": dimension.label,
                "categories": list(run.categories.get(dimension.id, ())),
                "low": getattr(dimension.scale, "min", 0),
                "high": getattr(
                    dimension.scale, "max", max(0, len(run.categories.get(dimension.id, ())) - 1)
                ),
                "whole": dimension.id in run.categories or isinstance(dimension.scale, Scale),
            }
            for dimension in run.rubric.dimensions
        ],
        "axes": axes,
        "judges": [
            {
                "name": names[judge.id],
                "persona": judge.persona,
                "label": personas[judge.persona][0],
                "axis": axes.index(personas[judge.persona][1]),
                "model": judge.model,
                "replicate": judge.replicate,
                "control": judge in controls,
            }
            for judge in run.judges
        ],
        "statuses": {code: status for status, code in _STATUS_CODES.items()},
    }


def _responses(run: Run, order: Sequence[int], room: int) -> list[dict[str, Any]]:
    """Return as many of the first responses as there is room for, each with its verdict and every
    rating."""
    verdicts = {(verdict.prompt_id, verdict.id): verdict for verdict in run.verdicts}
    statuses = run.statuses
    written = _Written(run.ratings)
    entries: list[dict[str, Any]] = []
    for row in order:
        item = run.items[row]
        verdict = verdicts.get(item[:2])
        entry: dict[str, Any] = {
            "row": row,
            "prompt": item.prompt_id,
            "id": item.id,
            "system": item.system,
            # orjson writes NaN as null.
            "composite": None if verdict is None else round(verdict.composite, 4),
            "ratings": _cells(run.ratings[row], statuses[row], written),
        }
        room -= len(as_json(entry)) + 1
        if room < 0 and entries:
            break
        entries.append(entry)
    return entries


class _Written(dict[float, str]):
    """Ratings as the page has them, each written once; empty where one is missing."""

    def __init__(self, ratings: Array) -> None:
        super().__init__()
        self._whole = bool(np.all(np.isnan(ratings) | (ratings == np.round(ratings))))

    def __missing__(self, value: float) -> str:
        if value != value:
            return ""
        self[value] = written = str(int(value)) if self._whole else f"{value:.4g}"
        return written


def _cells(ratings: Array, statuses: Sequence[str], written: _Written) -> str:
    """The judges' ratings of a response, short: `7,5,8;a;4,,6`."""
    return ";".join(
        [
            ",".join([written[value] for value in row])
            if status == "scored"
            else _STATUS_CODES[status]
            for row, status in zip(ratings.tolist(), statuses, strict=True)
        ]
    )


def _texts(
    run: Run, place: Mapping[int, int], room: int
) -> tuple[dict[int, dict[str, Any]] | None, dict[str, str], int]:
    """Text and metadata by response, the prompts, and what they take; None where there are none."""
    if run.folder is None:
        return None, {}, 0
    kept: dict[int, tuple[Response, int]] = {}
    total = 0
    try:
        for row, response in enumerate(run.responses()):
            if row not in place:
                continue
            parts = [response.text, response.context, _metadata(response)]
            kept[row] = response, _taken(as_json(parts))
            total += kept[row][1]
    except (RunFolderError, InputError):
        return None, {}, 0
    if total > room:
        chosen, total = set(), 0
        for row in place:
            if row in kept and total + kept[row][1] <= room:
                chosen.add(row)
                total += kept[row][1]
        kept = {row: kept[row] for row in kept if row in chosen}
    prompts: dict[str, str] = {}
    texts = {}
    for row, (response, _) in kept.items():
        if response.prompt_id is not None and response.prompt_id not in prompts:
            prompts[response.prompt_id] = response.prompt
            total += _taken(as_json(response.prompt))
        text: dict[str, Any] = {"text": response.text, "meta": _metadata(response)}
        text["words"] = len(words(response.text))
        if response.context is not None:
            text["context"] = response.context
        if response.prompt != prompts.get(str(response.prompt_id)):
            text["asked"] = response.prompt
        texts[row] = text
    return texts, prompts, total


def _metadata(response: Response) -> dict[str, Any]:
    return {
        str(name): value
        if isinstance(value, str | int | float | bool) or value is None
        else as_json(value).decode()
        for name, value in response.metadata.items()
    }


def _written_by_judges(run: Run, rows: Iterable[int], room: int) -> dict[int, bytes] | None:
    """Return what judges wrote of the first responses, as many as there is room for, in JSON."""
    if run.folder is None:
        return None
    path, columns = (
        run.folder / "judgments.jsonl",
        {judge.id: n for n, judge in enumerate(run.judges)},
    )
    written_of: dict[int, bytes] = {}
    used = 0
    try:
        with path.open("rb") as file:
            segments = _segments_by_response(file)
            for row in rows:
                rounds = []
                places = iter(segments.get(run.items[row][:2], ()))
                for begin, end in zip(places, places, strict=True):
                    file.seek(begin)
                    for line in map(orjson.loads, file.read(end - begin).splitlines()):
                        rounds.append([columns[line["judge"]], line["round"], *_words(line)])
                rounds.sort(key=lambda entry: (entry[0], entry[1]))
                written = as_json(rounds)
                used += _taken(written)
                if used > room:
                    break
                written_of[row] = written
    except OSError:
        return None
    return written_of


def _segments_by_response(file: BinaryIO) -> dict[tuple[str, str], array[int]]:
    """Return where judgments of each response that follow each other begin and end, by its ids: a
    run's replies may be more than memory holds. The lines were checked when the run was read from
    them."""
    places_of: dict[tuple[str, str], array[int]] = {}
    # By how lines begin: what most have in common is read once.
    known: dict[bytes, array[int]] = {}
    end, ids, places = 0, b"\n", array("q")
    for text in file:
        if not text.endswith(b"\n"):
            break
        begin, end = end, end + len(text)
        # Most lines are of the same response as the line before.
        if text.startswith(ids):
            places[-1] = end
            continue
        at = text.find(_BEHIND_IDS)
        whole = at < 0 or not text.startswith(_BEGINNING)
        ids = text if whole else text[: at + len(_BEHIND_IDS)]
        if ids in known:
            places = known[ids]
        else:
            line = orjson.loads(text)
            places = places_of.setdefault((line["prompt_id"], line["id"]), array("q"))
            if not whole:
                known[ids] = places
        places.extend((begin, end))
    return places_of


def _words(line: Mapping[str, Any]) -> list[Any]:
    """Rationale, raw reply, error and what changed the judge's mind. Of a reply that quotes the
    rationale, what stands before and after it, and whether it stands there as JSON writes it."""
    raw, rationale = line["raw"], line["rationale"]
    if rationale:
        before, quoted, after = raw.partition(rationale)
        is_json = not quoted and not _WRITTEN_OTHERWISE.search(rationale)
        if is_json:
            before, quoted, after = raw.partition(as_json(rationale).decode()[1:-1])
        if quoted:
            raw = [before, after, int(is_json)]
    parts = [rationale, raw, line["error"], line["changed_because"]]
    while parts and not parts[-1]:
        parts.pop()
    return parts
