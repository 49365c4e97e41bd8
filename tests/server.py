"""Further faults of the scripted server in `persona_panel.testing`, and the server as a process of
its own: `python -m tests.server`, which a benchmark wants.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

import orjson

from persona_panel.testing.scripted_model import (
    Answer,
    Call,
    Script,
    always,
    default_text,
    ok,
    raw,
    reset,
    stable_hash,
    stall,
    status,
    truncated,
)
from persona_panel.testing.server import ScriptedServer


def empty() -> Answer:
    """A completion without text."""
    return ok("")


def not_json() -> Answer:
    """A 200 that is a web page."""
    return raw("<html><body>It works!</body></html>")


def wrong_keys() -> Answer:
    """A completion whose JSON answers something else."""
    return ok('{"marks": 7, "remarks": "sound"}')


def in_words() -> Answer:
    """A completion with the right keys, and words where numbers belong."""

    def body(call: Call) -> bytes:
        said = re.sub(r":\s*-?\d+", ': "rather high"', default_text(call.payload))
        return ok(said).body(call)

    return Answer(body)


def cut_off() -> Answer:
    """A completion that ended at the token limit, in the middle of its JSON."""

    def body(call: Call) -> bytes:
        said = default_text(call.payload)
        return ok(said[: len(said) // 2], finish_reason="length").body(call)

    return Answer(body)


def filtered() -> Answer:
    """A completion that the provider's content filter withheld."""
    return ok("", finish_reason="content_filter")


UNUSABLE: Mapping[str, Answer] = {
    "wrong keys": wrong_keys(),
    "scores as words": in_words(),
    "length": cut_off(),
    "content_filter": filtered(),
}
"""Whole completions that hold no judgment, by kind."""


def echo_headers(code: int) -> Answer:
    """An error whose message quotes the request's headers, as careless proxies do."""

    def body(call: Call) -> bytes:
        quoted = json.dumps(dict(call.headers))
        return orjson.dumps({"error": {"message": f"not with these headers: {quoted}"}})

    return Answer(body, status=code)


def faulty(
    rate: float,
    seed: int = 0,
    answer: Answer | None = None,
    *,
    stall_s: float = 0.3,
    more: Mapping[str, Answer] | None = None,
) -> Script:
    """A fault for this share of the calls, of every kind that another try can get past.

    `more` are further kinds.

    What becomes of a call depends on the seed, on its messages and on how often they
    came before, so that it is the same in whichever order concurrent calls arrive.
    """
    kinds = {
        "429": status(429, retry_after=0.05),
        "500": status(500),
        "502": status(502, body="<html>bad gateway</html>"),
        "503": status(503, retry_after=0.05),
        "stall": stall(stall_s),
        "reset": reset(),
        "half a body": truncated(),
        "empty": empty(),
        "not JSON": not_json(),
    } | dict(more or {})
    faults = [replace(fault, kind=kind) for kind, fault in kinds.items()]
    good = answer or ok()
    seen: dict[int, int] = {}

    def script(number: int, payload: Mapping[str, Any]) -> Answer:
        asked = stable_hash(payload["messages"])
        seen[asked] = again = seen.get(asked, 0) + 1
        drawn = stable_hash([seed, asked, again])
        share, kind = drawn % 2**32 / 2**32, drawn >> 32
        return faults[kind % len(faults)] if share < rate else good

    return script


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.server", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="0 (the default): any free one")
    parser.add_argument("--latency", type=float, default=0.0, help="seconds before an answer")
    parser.add_argument("--fault-rate", type=float, default=0.0, help="share of calls, 0 to 1")
    parser.add_argument("--stall", type=float, default=0.3, help="seconds that a stall takes")
    parser.add_argument("--unusable", action="store_true", help="faults in what is said, too")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--scores", default="", help="integers to answer with, as in 5,6,7")
    return parser.parse_args()


async def _main(options: argparse.Namespace) -> None:
    scores = [int(score) for score in options.scores.split(",") if score]
    answer = Answer(lambda call: ok(default_text(call.payload, scores)).body(call))
    rate = options.fault_rate
    more = {"429 without Retry-After": status(429)} | dict(UNUSABLE) if options.unusable else None
    faults = faulty(rate, options.seed, answer, stall_s=options.stall, more=more)
    script = faults if rate else always(answer)
    server = ScriptedServer(script, options.latency, keep_calls=False)
    async with server.listening(options.port):
        print(json.dumps({"port": server.port, "base_url": server.base_url}), flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        asyncio.run(_main(_options()))
