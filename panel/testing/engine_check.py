"""Check for authors of engines: raises an `AssertionError` whose message is one sentence, or
returns None."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractContextManager

import numpy as np

from persona_panel.calls.budget import NO_CAPS, Caps
from persona_panel.graphs import Response
from persona_panel.panel import Panel
from persona_panel.runs.execution import Engine
from persona_panel.runs.run import Run
from persona_panel.testing.answers import MODEL
from persona_panel.testing.requirement import require
from persona_panel.testing.server import serving

_CONCURRENCY = 3
_CALLS = 20
_CALLS_BEFORE_A_LOSS = 12
_LOOK_S = 0.01


def check_engine(
    opened: Callable[[], AbstractContextManager[Engine]],
    *,
    kill: Callable[[], object] | None = None,
    timeout_s: float = 120.0,
) -> None:
    """Whether the workers of an engine judge every response once and as one process does, and
    together make no more calls than a cap allows, nor more at once than a model's limit; and with
    `kill`, whether a run goes on where a worker is killed.

    The replies that it makes go into the cache in use. The model that answers is a server on this
    machine, which workers elsewhere do not reach.

    Args:
        opened: the engine, with two workers or more: `lambda: opened_engine("acme", 2)`.
        kill: kills the process of one worker, from outside, while workers judge; it is called once,
            in a thread.
        timeout_s: how long a run may take from then on.
    """
    responses = _responses_to("Question", 24)
    with serving(latency_s=0.02) as server:
        panel = _panel_at(server.base_url)

        def by_engine(rows: list[Response], caps: Caps = NO_CAPS) -> tuple[Run, int]:
            before = len(server.calls)
            with opened() as engine:
                run = panel.score(rows, caps=caps, engine=engine)
            return run, len(server.calls) - before

        run, calls = by_engine(responses[:12])
        n = run.coverage.expected
        missing = f"{n - run.coverage.scored} of {n} judgments are missing"
        require(run.coverage.complete, f"with the engine {missing}")
        require(calls == n, f"the engine makes {calls} calls for {n} judgments")
        require(run.calls.made == n, f"of {n} calls {run.calls.made} are counted")
        here = panel.score(responses[:12])
        same = np.array_equal(run.ratings, here.ratings, equal_nan=True)
        require(same, "the judgments differ from those of one process")
        made = here.calls.made
        require(not made, f"after a run with the engine, the cache lacks {made} replies")
        _, calls = by_engine(responses[12:], Caps(calls=_CALLS))
        require(calls == _CALLS, f"under a cap of {_CALLS} calls the engine makes {calls}")
        most = server.in_flight_max
        within = f"of a model that takes {_CONCURRENCY} calls at once {most} are in flight"
        require(most <= _CONCURRENCY, within)
    if kill is not None:
        _check_a_loss(opened, kill, timeout_s)


def _responses_to(prompt: str, n: int) -> list[Response]:
    """So many, two to a prompt that begins so, each of another system."""
    return [
        Response(id=f"r{i}", prompt=f"{prompt} {i // 2}?", text=f"Answer {i}.", system=f"s{i % 2}")
        for i in range(n)
    ]


def _panel_at(url: str) -> Panel:
    from persona_panel.models.config import ModelConfig

    model = ModelConfig(model=f"openai:{MODEL}", base_url=url, concurrency=_CONCURRENCY)
    return Panel("disciplinary", model, "debate-speech")


def _check_a_loss(
    opened: Callable[[], AbstractContextManager[Engine]],
    kill: Callable[[], object],
    timeout_s: float,
) -> None:
    responses = _responses_to("Again", 12)
    # Slow, so that a worker is killed before it has done its part.
    with serving(latency_s=0.2) as server:
        panel = _panel_at(server.base_url)

        async def scored() -> Run:
            with opened() as engine:
                scoring = asyncio.ensure_future(panel.ascore(responses, engine=engine))
                while len(server.calls) < _CALLS_BEFORE_A_LOSS and not scoring.done():
                    await asyncio.wait({scoring}, timeout=_LOOK_S)
                if not scoring.done():
                    await asyncio.to_thread(kill)
                await asyncio.wait({scoring}, timeout=timeout_s)
                if scoring.done():
                    return await scoring
                scoring.cancel()
                await asyncio.wait({scoring}, timeout=timeout_s)
                raise AssertionError(
                    f"a run is not finished {timeout_s:g} s after a worker was killed; the methods "
                    "of its handle raise WorkerLost"
                )

        try:
            run = asyncio.run(scored())
        except AssertionError:
            raise
        except Exception as error:
            said = f"{type(error).__name__}: {error}"
            raise AssertionError(
                f"a run ends with its worker that was killed ({said}); the methods of its handle "
                "raise WorkerLost"
            ) from error
        n = run.coverage.expected
        missing = f"{n - run.coverage.scored} of {n} judgments are missing"
        require(run.coverage.complete, f"after a worker was killed {missing}")
        most = n + _CONCURRENCY
        calls = len(server.calls)
        require(
            calls <= most,
            f"after a worker was killed {calls} calls are made for {n} judgments, and no more than "
            f"{_CONCURRENCY} were in flight",
        )
