"""How many prompt tokens llama.cpp's server evaluates for a run, of those that it is sent.

    python -m benchmarks.prefix_cache [--responses 12] [--slots 4] [--concurrency N]

A server with the embedded weights (extra `local`) and so many slots is asked by a panel of five
personas, each response by each of them; answers are cut off after a few tokens, since only what is
read is counted. The server keeps in each slot what it read last: a call that begins in the same way
is spared that part. What it evaluated is its own count (`/metrics`).
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import sys
import tempfile
import time
import urllib.request

from benchmarks.real_servers import MODEL, ROOT, llama_server
from persona_panel import ModelConfig, Panel, load_responses

_EVALUATED = re.compile(r"^llamacpp:prompt_tokens_total (\S+)$", re.M)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--responses", type=int, default=12)
    parser.add_argument("--slots", type=int, default=4, help="of the server (default: 4)")
    parser.add_argument(
        "--concurrency", type=int, help="calls in flight at most (default: found by the panel)"
    )
    parser.add_argument("--layout", default="shared-prefix")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, llama_server(options.slots) as url:
        os.environ["PERSONA_PANEL_CACHE"] = folder
        started = time.monotonic()
        sent, calls = asyncio.run(scored(url, options))
        seconds = time.monotonic() - started
        evaluated = evaluated_by(url)
    print(
        f"{options.slots} slots, {calls} calls, {seconds:.0f} s: {sent:,} prompt tokens sent, "
        f"{evaluated:,} evaluated ({evaluated / sent:.0%})"
    )
    return 0


async def scored(url: str, options: argparse.Namespace) -> tuple[int, int]:
    """The prompt tokens of a run, and its calls."""
    batch = load_responses(ROOT / "examples" / "debate_speeches.jsonl")[: options.responses]
    model = ModelConfig(
        model=f"openai:{MODEL}", base_url=f"{url}/v1", timeout=600, key_env=None,
        concurrency=options.concurrency, context_window=8192, options={"max_tokens": 2},
    )  # fmt: skip
    panel = Panel("disciplinary", model, "debate-speech", layout=options.layout)
    run = await panel.ascore(batch)
    [used] = run.calls.spent.values()
    return used.input, run.calls.made


def evaluated_by(url: str) -> int:
    """The prompt tokens that a server has evaluated since its start."""
    with urllib.request.urlopen(f"{url}/metrics", timeout=10) as answer:
        found = _EVALUATED.search(answer.read().decode())
    if found is None:
        raise SystemExit("the server does not say how many tokens it has evaluated")
    return int(float(found[1]))


if __name__ == "__main__":
    sys.exit(main())
