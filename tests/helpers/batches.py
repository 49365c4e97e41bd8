"""A run by batches, in this process or in one that can be killed.

`python -m tests.helpers.batches` reads lines `WHAT OUT URL ROWS CACHE` and does WHAT (a function of
this module, `scored`, `swept` or `generated`) in a fork of its own, whose process id it prints, and
then how it ended; after ROWS answers that fork kills itself. It begins once its number is printed.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from persona_panel import Panel, Persona, Response, Sweep
from persona_panel.analyses.run_summary import run_summary
from persona_panel.calls.batch_rounds import BatchPace
from persona_panel.calls.budget import NO_CAPS, Caps
from persona_panel.experiments.generation import (
    GeneratedTexts,
    Generation,
    GenerationPlan,
    generation_plan,
)
from persona_panel.experiments.sweep.running import Sweeping
from persona_panel.files.prompts import GenerationPrompt
from persona_panel.models.batches import BatchAnswer, BatchStatus, OpenAIBatches
from persona_panel.models.config import ModelConfig, Price
from persona_panel.models.openai_client import OpenAIClient
from persona_panel.runs import executor
from persona_panel.runs.execution import Execution
from persona_panel.runs.folder import OutputFile
from persona_panel.runs.provider_batches import ByBatches
from persona_panel.runs.run import Run
from tests.helpers.judgments import PLAIN
from tests.sycophant import questions

FAST = BatchPace(first_look=0.01, longest_look=0.02, listed=0.1, patience=0.5)
PRICE = Price(input=2.0, output=10.0, batch=0.5)
PERSONAS = [
    Persona(id=name, label=name.title(), axis="own", description=f"You are {name}.")
    for name in ("ann", "bob")
]
RESPONSES = [
    Response(id=f"r{i}", prompt="Why?", text=f"Text {i}.", system=f"s{i % 2}") for i in range(4)
]


def model_at(url: str, temperature: float | None = None) -> ModelConfig:
    """A model at a server, with a price."""
    return ModelConfig(model="openai:stub", base_url=url, price=PRICE, temperature=temperature)


def panel_at(url: str, *, temperature: float | None = None, **options: object) -> Panel:
    """Two judges by a model at a server, or by the option `models`."""
    models = options.pop("models", model_at(url, temperature))
    return Panel(PERSONAS, models, PLAIN, **options)  # type: ignore[arg-type]


def scored(
    panel: Panel,
    folder: Path,
    caps: Caps = NO_CAPS,
    tell: Callable[[str], None] = lambda line: None,
    *,
    batches: bool = True,
    pace: BatchPace = FAST,
) -> Run:
    """The run of four responses."""
    execution = Execution(answered_by=ByBatches(folder, tell, pace) if batches else None)
    return asyncio.run(
        executor.score(
            panel.plan, RESPONSES, summary=run_summary, out=folder, caps=caps, execution=execution
        )
    )


def swept(
    url: str,
    out: Path,
    caps: Caps = NO_CAPS,
    tell: Callable[[str], None] = lambda line: None,
    *,
    batches: bool = True,
) -> Sweep:
    """The sweep of two prompts by one target, with one judge: 28 requests, in four rounds."""
    panel = Panel(PERSONAS[:1], model_at(url))
    execution = Execution(answered_by=ByBatches(out, tell, FAST) if batches else None)
    job = Sweeping(panel.plan, questions(2), model_at(url), {}, out)
    return asyncio.run(job.run(caps, execution))


def generated(
    url: str,
    out: Path,
    caps: Caps = NO_CAPS,
    tell: Callable[[str], None] = lambda line: None,
    *,
    batches: bool = True,
) -> GeneratedTexts:
    """Answers to four prompts, in a file."""
    execution = Execution(answered_by=ByBatches(out, tell, FAST) if batches else None)
    return asyncio.run(Generation(generation(url), OutputFile(out)).run(caps, execution))


def generation(url: str) -> GenerationPlan:
    """Four prompts for one target."""
    prompts = [GenerationPrompt(id=f"p{i}", text=f"What of {i}?") for i in range(4)]
    return generation_plan(prompts, [model_at(url)])


@contextmanager
def forking() -> Iterator[Callable[..., None]]:
    """Gives what does something in a fork until it is killed, with what is told its process id."""
    made = [sys.executable, "-m", "tests.helpers.batches"]
    with subprocess.Popen(made, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as forks:
        assert forks.stdin is not None and forks.stdout is not None

        def killed(begun: Callable[[int], None], *told: object) -> None:
            print(*told, file=forks.stdin, flush=True)
            begun(int(forks.stdout.readline()))
            assert forks.stdout.readline() == f"{-signal.SIGKILL}\n"

        yield killed
        forks.stdin.close()


class _Killed(OpenAIBatches):
    rows = 0

    async def results(self, status: BatchStatus, folder: Path) -> AsyncIterator[BatchAnswer]:
        number = 0
        async for row in super().results(status, folder):
            if number == self.rows:
                os.kill(os.getpid(), signal.SIGKILL)
            number += 1
            yield row


def _main() -> None:
    for line in sys.stdin:
        what, out, url, rows, cache = line.split()
        begun, begin = os.pipe()
        if not (pid := os.fork()):
            os.environ["PERSONA_PANEL_CACHE"] = cache
            os.environ["XDG_STATE_HOME"] = cache
            os.read(begun, 1)
            _Killed.rows = int(rows)
            OpenAIClient.batches = lambda self: _Killed(self)  # type: ignore[method-assign]
            if what == "scored":
                scored(panel_at(url), Path(out))
            else:
                {"swept": swept, "generated": generated}[what](url, Path(out))
            os._exit(0)
        print(pid, flush=True)
        time.sleep(0.05)
        os.write(begin, b"1")
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)


if __name__ == "__main__":
    _main()
