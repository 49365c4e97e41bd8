"""A batch over several processes, prompt by prompt."""

import asyncio
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import groupby
from multiprocessing import get_context
from pathlib import Path

from persona_panel.graphs import Response
from persona_panel.planning.panel_plan import PanelPlan
from persona_panel.runs import executor


def score_part(
    plan: PanelPlan, responses: Sequence[Response], folder: Path, summary: executor.SummaryOf
) -> Path:
    asyncio.run(executor.score(plan, responses, summary=summary, out=folder))
    return folder


def score(
    plan: PanelPlan,
    responses: Sequence[Response],
    out: Path,
    processes: int,
    summary: executor.SummaryOf,
) -> list[Path]:
    """Return the folders of the parts, one for each prompt; `summary` is
    `persona_panel.run_summary`, which stands on a floor above an executor's."""
    by_prompt = sorted(responses, key=lambda response: response.prompt)
    parts = [list(part) for _, part in groupby(by_prompt, key=lambda response: response.prompt)]
    with ProcessPoolExecutor(processes, get_context("spawn")) as pool:
        jobs = [
            pool.submit(score_part, plan, part, out / f"part-{n}", summary)
            for n, part in enumerate(parts)
        ]
        return [job.result() for job in jobs]
