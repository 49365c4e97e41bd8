"""A stream of responses that are written as they are asked for, and a consumer that is slow.

    python benchmarks/contenders/streaming.py URL COUNT CONCURRENCY

Each response has a prompt of its own, without a prompt_id. The models answer faster than the
verdicts are taken: every PAUSE_EVERY verdicts the consumer does something else for PAUSE_S.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator

from persona_panel import ModelConfig, Panel, Persona, Response

TEXT = "Meritocracy promises that places go to the able, and hides how ability is made. " * 30
READER = Persona(
    id="reader", label="Reader", axis="annotator", description="You read whatever comes."
)
PAUSE_EVERY, PAUSE_S = 200, 0.1


def responses(count: int) -> Iterator[Response]:
    for n in range(count):
        yield Response(id=f"r{n}", prompt=f"Prompt {n}", text=f"{n} {TEXT}", system=f"s{n % 4}")


async def main(url: str, count: int, concurrency: int) -> None:
    model = ModelConfig(model="openai:stub", base_url=f"{url}/v1", concurrency=concurrency)
    panel = Panel([READER], [model], "debate-speech")
    taken = 0
    async for _ in panel.astream(responses(count)):
        taken += 1
        if taken % PAUSE_EVERY == 0:
            await asyncio.sleep(PAUSE_S)
    assert taken == count


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
