"""What holds of every job: what its output holds and what is foreseen make up all of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from persona_panel.analyses.run_summary import run_summary
from persona_panel.calls.budget import Caps
from persona_panel.experiments.generation import Generation
from persona_panel.files.errors import RunFolderError
from persona_panel.runs.executor import Scoring
from persona_panel.runs.folder import OutputFile
from persona_panel.runs.job import Job
from persona_panel.testing import serving
from tests.helpers.batches import RESPONSES, generation, panel_at


def scoring(url: str, folder: Path) -> Job[Any]:
    return Scoring(panel_at(url).plan, RESPONSES, folder / "out" / "run", summary=run_summary)


def generating(url: str, folder: Path) -> Job[Any]:
    return Generation(generation(url), OutputFile(folder / "out" / "texts.jsonl"))


@pytest.mark.parametrize("made", [scoring, generating])
def test_what_is_held_and_what_is_foreseen_make_up_the_job(
    made: Callable[[str, Path], Job[Any]], tmp_path: Path
) -> None:
    """Before it is run, after a cap has stopped it, and at its end, where nothing is asked again;
    a dry run calls nothing, writes nothing, and counts what was spent."""
    with serving() as server:
        job = made(server.base_url, tmp_path)
        for cap, n_done in ((None, 0), (3, 3), (None, job.n_results)):
            if n_done:
                asyncio.run(job.run(Caps(calls=cap)))
            held, estimates = job.held(), job.estimate()
            assert held is not None
            assert held.results == held.spent.calls == len(server.calls) == n_done
            assert sum(one.judgments for one in estimates) == (job.n_results or 0) - (n_done or 0)
            assert (tmp_path / "out").exists() == bool(n_done)
        asyncio.run(made(server.base_url, tmp_path).run())
        assert len(server.calls) == job.n_results


@pytest.mark.parametrize("made", [scoring, generating])
def test_a_dry_run_refuses_what_the_run_refuses(
    made: Callable[[str, Path], Job[Any]], tmp_path: Path
) -> None:
    """What is in the place of the output and of something else, before any call."""
    (tmp_path / "out" / "run").mkdir(parents=True)
    (tmp_path / "out" / "run" / "letter.txt").write_text("mine")
    (tmp_path / "out" / "texts.jsonl").write_text('{"mine": 1}\n')
    with serving() as server:
        job = made(server.base_url, tmp_path)
        for refused in (job.held, lambda: asyncio.run(job.run())):
            with pytest.raises(RunFolderError, match="choose another --out"):
                refused()
        assert not server.calls
