"""How much CPU and memory a judgment costs: the whole command against bare client loops.

    python benchmarks/overhead.py [--responses 1000] [--concurrency 200]

A local stub (tests/server.py, 20 ms latency, a process of its own) answers the same
calls to each contender, one after the other, in this one run. Figures are each
contender's own process: user + system CPU, peak resident memory. Only the ratios mean
anything on another machine. Needs the extra `test`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
TEXT = "Meritocracy promises that places go to the able, and hides how ability is made. " * 30


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--responses", type=int, default=1000)
    parser.add_argument("--judges", type=int, default=30)
    parser.add_argument("--concurrency", type=int, default=200)
    parser.add_argument("--contender", choices=("aiohttp", "langchain"), help=argparse.SUPPRESS)
    parser.add_argument("--url", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.contender:
        asyncio.run(_bare_loop(options))
        return
    calls = options.responses * options.judges
    stub = subprocess.Popen(
        [sys.executable, "-m", "tests.server", "--latency", "0.02"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert stub.stdout is not None
        url = f"http://127.0.0.1:{json.loads(stub.stdout.readline())['port']}/v1"
        with tempfile.TemporaryDirectory() as folder:
            rows = [
                _measure(name, command, environment)
                for name, command, environment in _contenders(options, url, Path(folder))
            ]
    finally:
        stub.terminate()
    floor = rows[0][1]
    print(f"{calls:,} calls, {options.concurrency} in flight, stub latency 20 ms")
    print(f"{'contender':<28}{'CPU ms/call':>12}{'ratio':>8}{'wall s':>9}{'peak MB':>9}")
    for name, cpu, wall, peak in rows:
        per_call = 1000 * cpu / calls
        print(f"{name:<28}{per_call:>12.3f}{cpu / floor:>8.2f}{wall:>9.1f}{peak:>9.0f}")


def _contenders(
    options: argparse.Namespace, url: str, folder: Path
) -> list[tuple[str, list[str], dict[str, str]]]:
    """The bare aiohttp loop, LangChain's client, ours, and ours from its cache."""
    responses = folder / "responses.jsonl"
    with responses.open("w") as file:
        for i in range(options.responses):
            row = {"id": f"r{i}", "prompt": f"Prompt {i // 4}", "response": f"{i} {TEXT}"}
            file.write(json.dumps(row | {"system": f"s{i % 4}"}) + "\n")
    models = "".join(
        f"  - {{model: 'openai:stub-{n}', base_url: '{url}', concurrency: "
        f"{options.concurrency // 3}}}\n"
        for n in range(3)
    )
    panel = folder / "panel.yaml"
    panel.write_text(f"personas: perspectives\nrubric: scrub\nmodels:\n{models}")
    again = [sys.executable, __file__, "--url", url, "--responses", str(options.responses)]
    again += ["--judges", str(options.judges), "--concurrency", str(options.concurrency)]
    command = str(Path(sys.executable).with_name("persona-panel"))
    score = [command, "score", str(responses), "--panel", str(panel), "--json", "--out"]
    cache = {"PERSONA_PANEL_CACHE": str(folder / "cache")}
    return [
        ("bare aiohttp loop", [*again, "--contender", "aiohttp"], {}),
        ("LangChain ChatOpenAI loop", [*again, "--contender", "langchain"], {}),
        ("persona-panel", [*score, str(folder / "run1")], cache),
        ("persona-panel, from cache", [*score, str(folder / "run2")], cache),
    ]


def _measure(
    name: str, command: list[str], environment: dict[str, str]
) -> tuple[str, float, float, float]:
    """Run a command; its CPU and wall seconds, and its peak memory in MB."""
    import time

    started = time.monotonic()
    process = subprocess.Popen(
        command, cwd=ROOT, env=os.environ | environment, stdout=subprocess.DEVNULL
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"{name} ended with {process.returncode}")
    wall = time.monotonic() - started
    return name, usage.ru_utime + usage.ru_stime, wall, usage.ru_maxrss / 1024


async def _bare_loop(options: argparse.Namespace) -> None:
    """Make the same calls, keep nothing."""
    from panel.files.definitions import load_definition
    from personas import PersonaSet
    from personas import shipped as persona_sets
    from rubrics import Question, Rubric, load_elicitation
    from rubrics import shipped as rubric_library

    rubric = load_definition(rubric_library()["scrub"], Rubric)
    personas = load_definition(persona_sets()["perspectives"], PersonaSet).personas
    elicitation = load_elicitation("dimensions")
    ask: Any = _aiohttp(options.url) if options.contender == "aiohttp" else _langchain(options.url)
    left = iter(range(options.responses * options.judges))

    async def worker() -> None:
        for n in left:
            i, persona = n // options.judges, personas[n % len(personas)]
            question = Question(
                rubric, persona.label, persona.description, f"Prompt {i // 4}", f"{i} {TEXT}"
            )
            await ask(next(elicitation.dialogue(question)))

    async with asyncio.TaskGroup() as group:
        for _ in range(options.concurrency):
            group.create_task(worker())
    if hasattr(ask, "close"):
        await ask.close()


class _aiohttp:  # noqa: N801
    """POST and parse, nothing else."""

    def __init__(self, url: str) -> None:
        import aiohttp

        self._url = f"{url}/chat/completions"
        self._session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0))

    async def __call__(self, ask: Any) -> None:
        import orjson

        from panel.models.completions import request_of

        body = orjson.dumps({"model": "stub", **request_of(ask)})
        async with self._session.post(
            self._url, data=body, headers={"Content-Type": "application/json"}
        ) as answer:
            orjson.loads(await answer.read())

    async def close(self) -> None:
        await self._session.close()


class _langchain:  # noqa: N801
    """LangChain's own chat model."""

    def __init__(self, url: str) -> None:
        from langchain_openai import ChatOpenAI
        from pydantic import SecretStr

        self._chat = ChatOpenAI(model="stub", base_url=url, api_key=SecretStr("none"))

    async def __call__(self, ask: Any) -> None:
        from panel.models.completions import request_of

        request = request_of(ask)
        await self._chat.ainvoke(
            request.pop("messages"), response_format=request["response_format"]
        )


if __name__ == "__main__":
    main()
