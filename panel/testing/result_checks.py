"""Checks for authors of statistics, executors and engines. Each raises an `AssertionError` that
says what is required.

The check for authors of output formats: `check_renderer`.

Requirements in your own tests: `assert_requirements`.
"""

from __future__ import annotations

import asyncio
import io
import math
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from math import nan
from pathlib import Path
from typing import Any

import numpy as np

from persona_panel.analyses.score import score_result
from persona_panel.calls.budget import NO_CAPS, Caps
from persona_panel.experiments.sweep.result import Sweep
from persona_panel.files.outputs import as_json
from persona_panel.graphs import Response
from persona_panel.panel import Panel
from persona_panel.planning.panel_plan import PanelPlan
from persona_panel.reports.check import check
from persona_panel.results.decision import sentence
from persona_panel.results.formats.json import result_document
from persona_panel.results.result import Result, ResultFormat
from persona_panel.results.table import Column, Key, Table
from persona_panel.runs.execution import Engine
from persona_panel.runs.load import load_run
from persona_panel.runs.run import Run
from persona_panel.statistics import (
    AnalysisOptions,
    Ratings,
    Reason,
    Row,
    agree,
    correlate,
    panel_quality,
)
from persona_panel.statistics.core.estimate import Difference, Estimate
from persona_panel.testing.conformance import require
from persona_panel.testing.scripted_model import MODEL, ScriptedModel
from persona_panel.testing.server import serving

_N_ITEMS, _N_RATERS = 24, 4
"""So many items, three to a prompt, as every kind of figure has an interval of."""
_REFUSED = (Reason.NOT_THE_VALUE, Reason.OUTSIDE_LIMITS, Reason.NOT_HELD)
_OPTIONS = AnalysisOptions(n_permutations=99)


def check_statistic(name: str) -> None:
    """Check that a registered statistic of `agree`, `correlate` or panel quality has complete rows:
    a finite value or the reason why there is none; an interval in order that holds the value, from
    a resampling function of the right shape that gives the value where every item counts once; and
    the same value in whatever order the items come.

    It is tried on ratings of 24 items of 8 prompts by 4 raters on one dimension that are complete,
    have gaps, are all equal, and are of categories.
    """
    n_rows = 0
    for what, ratings in _samples():
        order = np.random.default_rng(1).permutation(len(ratings.items))
        rows = _rows_of(name, ratings)
        n_rows += len(rows)
        for row in rows:
            _check_row(row, what)
        values = Counter(_value(row) for row in rows)
        again = Counter(_value(row) for row in _rows_of(name, _in_order(ratings, order)))
        require(values == again, f"{name} depends on the order of items, where ratings {what}")
    require(n_rows > 0, f"no command shows a statistic {name!r}")


def _samples() -> Iterator[tuple[str, Ratings]]:
    draw = np.random.default_rng(0)
    quality = draw.normal(4, 1.2, (_N_ITEMS, 1, 1))
    scores = np.clip(np.round(quality + draw.normal(0, 0.8, (_N_ITEMS, _N_RATERS, 1))), 1, 7)
    gaps = scores.copy()
    gaps[draw.random(scores.shape) < 0.2] = math.nan
    complete = Ratings(
        scores=scores,
        items=tuple(f"item {n}" for n in range(_N_ITEMS)),
        raters=tuple(f"rater {n}" for n in range(_N_RATERS)),
        dimensions=("quality",),
        groups=("raters",) * _N_RATERS,
        prompts=tuple(f"prompt {n // 3}" for n in range(_N_ITEMS)),
        sources=tuple(f"source {n % 3}" for n in range(_N_ITEMS)),
    )
    yield "are complete", complete
    yield "have gaps", replace(complete, scores=gaps)
    yield "are all equal", replace(complete, scores=np.full_like(scores, 4.0))
    names = tuple(f"category {n}" for n in range(7))
    yield "are of categories", replace(complete, scores=scores - 1, categories={"quality": names})


def _in_order(ratings: Ratings, order: np.ndarray[Any, Any]) -> Ratings:
    prompts, sources = ratings.prompts or (), ratings.sources or ()
    return replace(
        ratings,
        scores=ratings.scores[order],
        items=tuple(ratings.items[n] for n in order),
        prompts=tuple(prompts[n] for n in order),
        sources=tuple(sources[n] for n in order),
    )


def _rows_of(name: str, ratings: Ratings) -> list[Row]:
    only = [name]
    rows = agree(ratings, _OPTIONS, only=only) + panel_quality(ratings, _OPTIONS, only=only)
    if not ratings.categories:
        others = replace(ratings, scores=ratings.scores[:, ::-1])
        rows += correlate(ratings, others, _OPTIONS, only=only)
    return rows


def _value(row: Row) -> tuple[object, ...]:
    value = "undefined" if math.isnan(row.value) else round(row.value, 9)
    return row.group, row.dimension, row.by, row.by_value, value


def _check_row(row: Row, what: str) -> None:
    where = f"{row.statistic}, where ratings {what},"
    require(row.reason is not Reason.ERROR, f"{where} raises an error: {row.note}")
    require(not math.isinf(row.value), f"{where} is infinite")
    require(
        math.isnan(row.ci_low) == math.isnan(row.ci_high) and not row.ci_low > row.ci_high,
        f"{where} has the interval {row.ci_low} to {row.ci_high}",
    )
    require(row.ci_reason not in _REFUSED, f"{where} has no interval, as {row.ci_reason}")


def check_executor(score: Callable[[PanelPlan, Sequence[Response], Path], Sequence[Path]]) -> None:
    """Check that an executor has a plan's judges read every response once, with the same ratings as
    in one process, and leaves run folders that `load_run` reads.

    Args:
        score: has responses judged, and returns the folders that it has written below the path
            that it is given. It may start other processes: the model that answers is a server
            on this machine.
    """
    from persona_panel.models.config import ModelConfig

    responses = _responses()
    with tempfile.TemporaryDirectory() as folder, serving() as server:
        model = ModelConfig(model=f"openai:{MODEL}", base_url=server.base_url)
        plan = PanelPlan.of("disciplinary", model, "debate-speech")
        expected = _ratings(Panel.from_plan(plan).score(responses))
        folders = score(plan, responses, Path(folder) / "run")
        require(bool(folders), "the executor returns no folder")
        runs = [load_run(path) for path in folders]
        items = Counter(item for run in runs for item in run.items)
        twice = [item for item, n in items.items() if n > 1]
        require(not twice, f"{twice[:1]} is in two folders")
        ratings: dict[Any, Any] = {}
        for run in runs:
            ratings |= _ratings(run)
    require(ratings == expected, "the judgments differ from those of one process")


def _responses() -> list[Response]:
    return [
        Response(id=f"r{n}", prompt=f"Question {n // 2}?", text=f"Answer {n}.", system=f"s{n % 2}")
        for n in range(6)
    ]


def _ratings(run: Run) -> dict[Any, Any]:
    return {
        (item, judge.id): tuple(run.ratings[i, j])
        for i, item in enumerate(run.items)
        for j, judge in enumerate(run.judges)
    }


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
    """Check that the workers of an engine judge every response once and as one process does, and
    together make no more calls than a cap allows, nor more at once than a model's limit; and with
    `kill`, that a run goes on where a worker is killed.

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
    """Return `n` responses, two to each prompt, each by another system; the prompts begin alike."""
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
            reason = f"{type(error).__name__}: {error}"
            raise AssertionError(
                f"a run ends with its worker that was killed ({reason}); the methods of its handle "
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


def check_renderer(renderer: ResultFormat) -> None:
    """Check that an output format takes any result, in short and in full: it writes text to an
    open stream, leaves it open, and changes nothing in the result."""
    require(callable(getattr(renderer, "render", None)), "the renderer has no render()")
    for result in (_of_a_run(), _of_every_kind()):
        before = as_json(result_document(result))
        for full in (False, True):
            to = io.StringIO()
            renderer.render(result, to, full=full)
            require(not to.closed, "render() closes the stream that it is given")
            require(bool(to.getvalue().strip()), "render() writes nothing")
            unchanged = as_json(result_document(result)) == before
            require(unchanged, "render() changes the result")


def _of_a_run() -> Result:
    panel = Panel("disciplinary", ScriptedModel(), "debate-speech")
    responses = [
        Response(id=f"r{n}", prompt=f"Question {n // 2}?", text=f"Answer {n}.", system=f"s{n % 2}")
        for n in range(6)
    ]
    return score_result(panel.score(responses))


def _of_every_kind() -> Result:
    """Return cells of each kind, undefined ones among them, and names as they come from files."""
    columns = (
        Column("mean", "estimate", "mean"),
        Column("number", "number", "number"),
        Column("p", "p", "p"),
        Column("whole", "whole", "whole"),
        Column("text", "text", "text"),
        Column("texts", "texts", "texts"),
        Column("flag", "flag", "flag"),
    )
    cells = {"number": 0.5, "p": 0.01, "whole": 3, "text": "=1", "texts": ("a", "b"), "flag": True}
    rows = [
        {"system": "a|b", "mean": Estimate(1.0, 0.5, 1.5, over="prompts"), **cells},
        {"system": "c & d", "mean": Estimate(nan, reason="nobody rated it"), "number": nan},
    ]
    differences = Table(
        "differences", (Key("a", "systems"), Key("b")),
        (Column("difference", "estimate", "a − b"),),
        [{"a": "a|b", "b": "c & d", "difference": Difference(-1.0, -2.0, 0.5, p=0.2)}],
        "Differences", sides=("a", "b"), when="full",
    )  # fmt: skip
    table = Table(
        "means", (Key("system", "system"),), columns, rows, "Means", remarks=["A remark."]
    )
    return Result("sample", ["Nothing is significant."], [table, differences], ["Another."])


def assert_requirements(
    result: Run | Sweep | Sequence[Row], *requirements: str, by_point: bool = False
) -> None:
    """Make a test fail where a result does not meet requirements; see `panel.check`. Raises
    AssertionError: some are not met; says of each what was found and what would settle it;
    InputError: a requirement cannot be read, or names no figure."""
    # pytest leaves this frame out of what it shows.
    __tracebackhide__ = True
    checked = check(result, *requirements, by_point=by_point)
    if not checked.met:
        raise AssertionError("\n".join(sentence(verdict) for verdict in checked.unmet))
