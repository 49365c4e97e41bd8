"""A batch on its way to the panel: every response with a prompt id, none of them twice."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator, Sized
from itertools import count
from textwrap import shorten
from typing import NamedTuple, TypeVar

from graphs import Response
from panel.errors import Fault, InputError

T = TypeVar("T")


def identified(
    responses: Iterable[Response], taken: frozenset[str] = frozenset()
) -> Iterator[Response]:
    """Every response with a prompt id: p1, p2, … by first appearance where it has none, but for
    those that are `taken`."""
    names = _Names(taken)
    for response in responses:
        yield names.give(response)


async def identified_async(responses: AsyncIterator[Response]) -> AsyncIterator[Response]:
    """As `identified`, of responses that come one by one.

    Ids are given without a look at those that are still to come, and no id is refused: what to
    refuse before the first call is not known, and to remember every prompt of a stream would
    take memory without end. Each response is read with its own prompt, whatever its id.
    """
    names = _Names(frozenset())
    async for response in responses:
        yield names.give(response)


class _Names:
    """The ids that prompts are given."""

    def __init__(self, taken: frozenset[str]) -> None:
        self._given: dict[bytes, str] = {}
        self._free = (name for n in count(1) if (name := f"p{n}") not in taken)

    def give(self, response: Response) -> Response:
        if response.prompt_id is not None:
            return response
        digest = _digest(response.prompt)
        if digest not in self._given:
            self._given[digest] = next(self._free)
        return response.model_copy(update={"prompt_id": self._given[digest]})


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
        responses: with prompt ids or without.
        one_prompt_each: whether a prompt id stands for one prompt, as it must where responses to
            a prompt are ranked against each other. A sweep's stands for a prompt and its
            variants.

    Attributes:
        items: which responses there are, in order.
        titles: the beginning of each prompt, by its id.
        metadata: the names of all metadata, in order of appearance.

    Raises:
        InputError: a response is there twice, or a prompt id stands for two prompts; lists all.
    """

    def __init__(self, responses: Iterable[Response], *, one_prompt_each: bool = False) -> None:
        self._responses = responses if isinstance(responses, Sized) else list(responses)
        named = (response.prompt_id for response in self._responses)
        self._taken = frozenset(name for name in named if name is not None)
        self.items: list[Item] = []
        self.titles: dict[str, str] = {}
        metadata: dict[str, None] = {}
        seen: set[tuple[str, str]] = set()
        # Their digests: the prompts themselves may be more than memory holds.
        prompts: dict[str, tuple[bytes, int]] = {}
        faults = []
        for place, response in enumerate(self, start=1):
            item = Item(str(response.prompt_id), response.id, response.system)
            own = (_digest(response.prompt), place)
            first = prompts.setdefault(item.prompt_id, own)
            if one_prompt_each and first[0] != own[0]:
                faults.append(_another(place, item, first[1]))
            elif item[:2] in seen:
                faults.append(_repeated(place, item))
            seen.add(item[:2])
            self.items.append(item)
            if item.prompt_id not in self.titles:
                self.titles[item.prompt_id] = shorten(response.prompt, 60, placeholder="…")
            metadata |= dict.fromkeys(response.metadata)
        if faults:
            raise InputError(faults)
        self.metadata = tuple(metadata)

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[Response]:
        yield from identified(self._responses, self._taken)


def _digest(prompt: str) -> bytes:
    return hashlib.blake2b(prompt.encode("utf-8", "surrogatepass"), digest_size=16).digest()


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


async def as_async(items: Iterable[T] | AsyncIterable[T]) -> AsyncIterator[T]:
    if isinstance(items, AsyncIterable):
        async for item in items:
            yield item
    else:
        for item in items:
            yield item
