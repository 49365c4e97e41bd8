"""A batch on its way to the panel: every response with a prompt id, none of them twice."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator, Mapping, Sized
from pathlib import Path
from textwrap import shorten
from typing import Any, NamedTuple, TypeVar

import orjson

from persona_panel.files.digests import digest_of, prompt_id_of, short_digest
from persona_panel.files.errors import Fault, InputError
from persona_panel.files.responses import CONDITION, ResponseFile
from persona_panel.files.tables import Responses, is_table
from persona_panel.files.wording import shown
from persona_panel.graphs import Response

T = TypeVar("T")


def identified(response: Response) -> Response:
    """The response with a prompt id: that of its prompt's text where it has none.

    Raises:
        InputError: it is no `Response`.
    """
    if not isinstance(response, Response):
        expected = (
            "a Response; load_responses makes them of a file, a data frame or a list of dicts"
        )
        raise InputError([Fault("responses", shown(response), expected)])
    if response.prompt_id is not None:
        return response
    return response.model_copy(update={"prompt_id": prompt_id_of(response.prompt)})


def responses_in(given: Responses) -> Iterable[Response]:
    """What was given as responses, of a table those in its rows, read anew each time.

    Raises:
        InputError: it is a path, one mapping, or no iterable; or anything is wrong with the table.
    """
    if is_table(given):
        return ResponseFile(given)
    if isinstance(given, str | Path | Mapping) or not isinstance(given, Iterable):
        found = shown(str(given) if isinstance(given, str | Path) else given)
        expected = (
            "Responses, a data frame, one split of a data set or a list of dicts; "
            "load_responses(FILE) reads a file"
        )
        raise InputError([Fault("responses", found, expected)])
    return given


def title_of(prompt: str) -> str:
    """The beginning of a prompt, as tables show it."""
    return shorten(prompt, 60, placeholder="…")


def line_of(response: Response) -> dict[str, Any]:
    """A response as a line of responses.jsonl, without its metadata."""
    line = {
        "prompt_id": response.prompt_id,
        "id": response.id,
        "system": response.system,
        "prompt": response.prompt,
        "response": response.text,
    }
    return line if response.context is None else line | {"context": response.context}


class Item(NamedTuple):
    """What a run remembers of a response: which one it is, and whose."""

    prompt_id: str
    id: str
    system: str


class Batch:
    """The responses of a run: what must be known of all of them before the first is read.

    Goes through `responses` anew whenever it is gone through, so that a file need not fit
    into memory; what can be gone through only once is kept.

    Args:
        responses: with prompt ids or without, or a table of them.
        one_prompt_each: whether a prompt id stands for one prompt in each condition (the metadata
            `condition`), as it must where responses to a prompt are ranked against each other. A
            sweep's stands for a prompt and its variants.

    Attributes:
        items: which responses there are, in order.
        titles: the beginning of each prompt, by its id.
        metadata: the names of all metadata, in order of appearance.
        versions: a prompt id that stands for versions of a prompt; None where each has one.
        digests: of the responses, `persona_panel.files.digests.DIGEST_BYTES` each, in order.

    Raises:
        InputError: a response is there twice or is no text, or a prompt id stands for two
            prompts; lists all.
    """

    def __init__(self, responses: Responses, *, one_prompt_each: bool = False) -> None:
        given = responses_in(responses)
        # A list of dicts is known for one when it is there, and not while it is made.
        self._responses = given if isinstance(given, Sized) else responses_in(list(given))
        self.items: list[Item] = []
        self.titles: dict[str, str] = {}
        metadata: dict[str, None] = {}
        self.digests = bytearray()
        seen: set[tuple[str, str]] = set()
        # Their digests: the prompts themselves may be more than memory holds.
        prompts: dict[tuple[str, Any], tuple[bytes, int]] = {}
        self.versions: str | None = None
        faults = []
        for place, response in enumerate(self, start=1):
            item = Item(str(response.prompt_id), response.id, response.system)
            own = (short_digest(response.prompt), place)
            whole = prompts.setdefault((item.prompt_id, None), own)
            condition = response.metadata.get(CONDITION)
            version = condition if isinstance(condition, str) else None
            first = prompts.setdefault((item.prompt_id, version), own)
            if whole[0] != own[0]:
                self.versions = self.versions or item.prompt_id
            if one_prompt_each and first[0] != own[0]:
                faults.append(_another(place, item, first[1]))
            elif item[:2] in seen:
                faults.append(_repeated(place, item))
            seen.add(item[:2])
            self.items.append(item)
            line = line_of(response)
            try:
                orjson.dumps(line)
            except TypeError:
                faults.append(_no_text(place, item))
            else:
                self.digests += digest_of(line)
            if item.prompt_id not in self.titles:
                self.titles[item.prompt_id] = title_of(response.prompt)
            metadata |= dict.fromkeys(response.metadata)
        if faults:
            raise InputError(faults)
        self.metadata = tuple(metadata)

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[Response]:
        yield from map(identified, self._responses)


def _another(place: int, item: Item, first: int) -> Fault:
    return Fault(
        file="responses",
        line=place,
        field="prompt_id",
        found=f"{item.prompt_id!r}, which is another prompt's, in response {first}",
        expected="one prompt for each prompt_id",
    )


def _repeated(place: int, item: Item) -> Fault:
    return Fault(
        file="responses",
        line=place,
        field="id",
        found=f"{item.id!r} a second time for the prompt {item.prompt_id!r}",
        expected="an id of its own for every response to a prompt",
    )


def _no_text(place: int, item: Item) -> Fault:
    return Fault(
        file="responses",
        line=place,
        found=f"half a surrogate pair in {item.id!r}",
        expected="text that can be encoded in UTF-8",
    )


async def as_async(items: Iterable[T] | AsyncIterable[T]) -> AsyncIterator[T]:
    if isinstance(items, AsyncIterable):
        async for item in items:
            yield item
    else:
        for item in items:
            yield item
