"""Every elicitation on real servers: llama.cpp's, with the embedded weights, and LiteLLM's proxy.

    python -m benchmarks.real_servers [--responses 2]

llama.cpp's server comes from xllamacpp (extra `local`), and LiteLLM's proxy stands before it where
its command `litellm` is installed (`pip install 'litellm[proxy]'`) or named by --litellm. Each
elicitation is asked of two personas; the table says how many judgments came to which end, and in
how many calls. The model is too small to judge: what is shown is that the servers are understood.
Exits with 1 if a judgment failed or was skipped; one that is cut off or cannot be parsed is the
model's doing.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path

from persona_panel import Judgment, ModelConfig, Panel, PanelError, Persona, load_responses
from persona_panel.models.embedded_weights import weights_of
from persona_panel.rubrics import elicitation_names, is_comparative
from tests.helpers.ports import free_port

ROOT = Path(__file__).parent.parent
MODEL = "smollm2-135m"
READERS = [
    Persona(id=name, label=name.title(), axis="own", description=f"You are {name}, a {trade}.")
    for name, trade in (("ada", "teacher"), ("ben", "sailor"))
]
FAULTS = ("failed", "skipped")
_LLAMA = """
import sys, time, xllamacpp
params = xllamacpp.CommonParams()
params.model.path, params.port = sys.argv[1], int(sys.argv[2])
params.n_parallel = int(sys.argv[4])
params.n_ctx = 8192 * params.n_parallel
params.model_alias, params.endpoint_metrics = {sys.argv[3]}, True
server = xllamacpp.Server(params)
time.sleep(1e6)
"""


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--responses", type=int, default=2, help="of each prompt (default: 2)")
    parser.add_argument(
        "--litellm", default=shutil.which("litellm"), help="the command of LiteLLM's proxy"
    )
    options = parser.parse_args()
    sound = True
    with tempfile.TemporaryDirectory() as folder, llama_server() as llama:
        os.environ["PERSONA_PANEL_CACHE"] = str(Path(folder) / "cache")
        # The proxy wants a key of its own, and llama.cpp's server none.
        os.environ["LITELLM_MASTER_KEY"] = f"sk-{secrets.token_hex(32)}"
        proxy = litellm_proxy(options.litellm, llama, Path(folder))
        with proxy as proxied:
            for server, url in (("llama.cpp", llama), ("LiteLLM", proxied)):
                if url is not None:
                    sound &= show(server, url, options.responses)
    if not options.litellm:
        print("LiteLLM's proxy is not installed: left out")
    return 0 if sound else 1


def show(server: str, url: str, n_responses: int) -> bool:
    """A line for each elicitation; whether none of its judgments failed."""
    sound = True
    # One has no words without a prompt of one's own.
    for name in set(elicitation_names()) - {"verbatim"}:
        started = time.monotonic()
        try:
            told, calls, well = asyncio.run(judged(url, name, n_responses))
        except PanelError as error:
            told, calls, well = str(error), 0, False
        sound &= well
        seconds = time.monotonic() - started
        print(f"{server:<11}{name:<12}{calls:>4} calls {seconds:>6.1f} s  {told}", flush=True)
    return sound


async def judged(url: str, elicitation: str, n_responses: int) -> tuple[str, int, bool]:
    """How a panel's judgments ended, in how many calls, and whether none failed."""
    every = load_responses(ROOT / "examples" / "debate_speeches.jsonl")
    batch = [one for one in every if one.prompt_id == every[0].prompt_id][:n_responses]
    model = ModelConfig(
        model=f"openai:{MODEL}", base_url=f"{url}/v1", concurrency=2, timeout=300,
        context_window=8192, key_env="LITELLM_MASTER_KEY",
        # The model goes on and on; what fits into it is enough to read.
        options={"max_tokens": 200},
    )  # fmt: skip
    panel = Panel(READERS, model, "debate-speech", elicitation=elicitation)
    ends: Counter[str] = Counter()
    errors: list[str] = []
    kind = "comparisons" if is_comparative(elicitation) else "judgments"

    def take(judgment: Judgment) -> None:
        ends[judgment.status] += 1
        if judgment.error:
            errors.append(judgment.error)

    run = await panel.ascore(batch, on_judgment=take)
    told = ", ".join(f"{n} {status}" for status, n in sorted(ends.items()))
    well = not any(ends[fault] for fault in FAULTS)
    reason = "" if well else f": {errors[0][:120]}"
    return f"{told} ({kind}){reason}", run.calls.made, well


@contextmanager
def llama_server(slots: int = 2) -> Iterator[str]:
    """llama.cpp's server with the embedded weights and so many slots; its address."""
    port = free_port()
    command = [sys.executable, "-c", _LLAMA, str(weights_of(MODEL)), str(port), MODEL, str(slots)]
    with running(command, f"http://127.0.0.1:{port}", "/health") as url:
        yield url


@contextmanager
def _proxy(command: str, llama: str, folder: Path) -> Iterator[str]:
    config = folder / "litellm.json"
    params = {"model": f"openai/{MODEL}", "api_base": f"{llama}/v1", "api_key": "none"}
    config.write_text(json.dumps({"model_list": [{"model_name": MODEL, "litellm_params": params}]}))
    port = free_port()
    arguments = [command, "--config", str(config), "--host", "127.0.0.1", "--port", str(port)]
    with running(arguments, f"http://127.0.0.1:{port}", "/health/liveliness") as url:
        yield url


def litellm_proxy(
    command: str | None, llama: str, folder: Path
) -> AbstractContextManager[str | None]:
    """LiteLLM's proxy before that server; its address, or None where it is not installed."""
    return _proxy(command, llama, folder) if command else nullcontext(None)


@contextmanager
def running(command: list[str], url: str, health: str) -> Iterator[str]:
    """A server for as long as the block lasts, once it answers."""
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 120
        while True:
            if server.poll() is not None:
                raise SystemExit(f"{command[0]} ended with {server.returncode}")
            try:
                with urllib.request.urlopen(url + health, timeout=5) as answer:
                    if answer.status == 200:
                        break
            except (urllib.error.URLError, OSError):
                pass
            if time.monotonic() > deadline:
                raise SystemExit(f"{command[0]} does not answer")
            time.sleep(0.5)
        yield url
    finally:
        server.terminate()
        server.wait()


if __name__ == "__main__":
    sys.exit(main())
