"""A batch on its way to the panel: every response with a prompt id, none of them twice."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Sequence
from typing import TypeVar

from graphs import Response
from panel.errors import Fault, InputError

T = TypeVar("T")


def identified(responses: Iterable[Response]) -> Iterable[Response]:
    """Every response with a prompt id: p1, p2, … by first appearance where it has none."""
    given: dict[str, str] = {}
    for response in responses:
        yield _with_prompt_id(response, given)


async def identified_async(responses: AsyncIterator[Response]) -> AsyncIterator[Response]:
    given: dict[str, str] = {}
    async for response in responses:
        yield _with_prompt_id(response, given)


def _with_prompt_id(response: Response, given: dict[str, str]) -> Response:
    if response.prompt_id is not None:
        return response
    digest = hashlib.sha256(response.prompt.encode("utf-8", "surrogatepass")).hexdigest()
    return response.model_copy(update={"prompt_id": given.setdefault(digest, f"p{len(given) + 1}")})


def refuse_repeated(batch: Sequence[Response]) -> None:
    seen: set[tuple[str | None, str]] = set()
    faults = []
    for place, response in enumerate(batch, start=1):
        key = (response.prompt_id, response.id)
        if key in seen:
            faults.append(
                Fault(
                    file="responses",
                    line=place,
                    field="id",
                    found=f"{response.id!r} a second time for the prompt {response.prompt_id!r}",
                    expected="an id of its own for every response to a prompt",
                )
            )
        seen.add(key)
    if faults:
        raise InputError(faults)


async def as_async(items: Iterable[T] | AsyncIterable[T]) -> AsyncIterator[T]:
    if isinstance(items, AsyncIterable):
        async for item in items:
            yield item
    else:
        for item in items:
            yield item
