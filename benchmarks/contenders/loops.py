"""Bare loops over three clients: nothing but the calls, and JSON read from each reply.

python loops.py CLIENT FOLDER URL CONCURRENCY, where CLIENT is aiohttp, openai or langchain.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from batch import Batch, check, is_judgment, read_batch

Ask = Callable[[list[dict[str, str]]], Awaitable[str]]


@asynccontextmanager
async def over_aiohttp(batch: Batch) -> AsyncIterator[Ask]:
    """The floor: POST, read, parse."""
    import aiohttp
    import orjson

    rest = {"model": "stub", "max_tokens": batch.max_tokens}
    rest["response_format"] = batch.response_format
    url, headers = f"{batch.url}/chat/completions", {"Content-Type": "application/json"}
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

        async def ask(messages: list[dict[str, str]]) -> str:
            body = orjson.dumps({**rest, "messages": messages})
            async with session.post(url, data=body, headers=headers) as answer:
                completion = orjson.loads(await answer.read())
            text: str = completion["choices"][0]["message"]["content"]
            return text

        yield ask


@asynccontextmanager
async def over_openai(batch: Batch) -> AsyncIterator[Ask]:
    """openai.AsyncOpenAI as it comes."""
    import openai

    async with openai.AsyncOpenAI(base_url=batch.url, api_key="none") as client:

        async def ask(messages: list[dict[str, str]]) -> str:
            completion = await client.chat.completions.create(
                model="stub",
                messages=messages,
                max_tokens=batch.max_tokens,
                response_format=batch.response_format,
            )
            return completion.choices[0].message.content or ""

        yield ask


@asynccontextmanager
async def over_langchain(batch: Batch) -> AsyncIterator[Ask]:
    """LangChain's ChatOpenAI as it comes."""
    from langchain_openai import ChatOpenAI

    chat = ChatOpenAI(
        model="stub", base_url=batch.url, api_key="none", max_tokens=batch.max_tokens
    ).bind(response_format=batch.response_format)

    async def ask(messages: list[dict[str, str]]) -> str:
        return (await chat.ainvoke(messages)).content

    yield ask


CLIENTS = {"aiohttp": over_aiohttp, "openai": over_openai, "langchain": over_langchain}


async def main() -> None:
    client = CLIENTS[sys.argv.pop(1)]
    batch = read_batch()
    asked, read = batch.messages, 0
    async with client(batch) as ask, asyncio.TaskGroup() as group:

        async def worker() -> None:
            nonlocal read
            for messages in asked:
                said = await ask(messages)
                read += is_judgment(said, batch)

        for _ in range(batch.concurrency):
            group.create_task(worker())
    check(read, batch)


if __name__ == "__main__":
    asyncio.run(main())
