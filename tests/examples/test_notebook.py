"""The notebook, as a reader runs it: in a kernel of Jupyter's, from top to bottom."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).parents[2]
NOTEBOOK = "data_frame_to_figures.ipynb"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example's files, as they lie next to each other."""
    folder = tmp_path_factory.mktemp("examples")
    for name in (NOTEBOOK, "responses.jsonl"):
        shutil.copy(ROOT / "examples" / name, folder)
    return folder


@pytest.fixture(scope="module")
def executed(folder: Path) -> Any:
    """The notebook with its outputs; a cell that raises ends it."""
    with pytest.MonkeyPatch.context() as surroundings:
        surroundings.setenv("PERSONA_PANEL_CACHE", str(folder / "cache"))
        surroundings.setenv("PYTHONPATH", str(ROOT))
        found = nbformat.read(folder / NOTEBOOK, as_version=4)
        NotebookClient(
            found, timeout=120, kernel_name="python3", resources={"metadata": {"path": folder}}
        ).execute()
    return found


def outputs(executed: Any, begins: str) -> list[Any]:
    """What came of the cell whose source begins so."""
    (cell,) = (one for one in executed.cells if one.source.startswith(begins))
    found: list[Any] = cell.outputs
    return found


def test_it_is_committed_without_outputs() -> None:
    """Pictures and figures of another version would stay in it unnoticed: each test makes them."""
    found = nbformat.read(ROOT / "examples" / NOTEBOOK, as_version=4)
    nbformat.validate(found)
    code = [cell for cell in found.cells if cell.cell_type == "code"]
    assert len(code) > 8
    assert not any(cell.outputs or cell.execution_count for cell in code)


def test_every_cell_runs_and_nothing_warns(executed: Any) -> None:
    """Nothing is written to standard error, and every cell shows something."""
    for cell in (one for one in executed.cells if one.cell_type == "code"):
        assert cell.outputs, cell.source
        assert [one.text for one in cell.outputs if one.get("name") == "stderr"] == []


def test_scoring_shows_its_progress_and_the_run_its_leaderboard(executed: Any) -> None:
    """Below the cell one line counts the judgments to the last, in its place; then comes the run
    as a table."""
    progress, run = outputs(executed, "run = panel.score")
    assert progress.data["text/plain"].startswith("320/320 judgments, in 0:")
    assert '<progress value="320" max="320">' in progress.data["text/html"]
    assert "<table>" in run.data["text/html"]


def test_figures_are_shown_once_and_saved(executed: Any, folder: Path) -> None:
    """Each figure is one picture, without pyplot; the file is a PDF."""
    for begins in ("plots = RunPlots(run)", "plots.personas()", "plots.contested(5)"):
        pictures = [one for one in outputs(executed, begins) if "image/png" in one.get("data", {})]
        assert len(pictures) == 1
    assert (folder / "runs" / "systems.pdf").read_bytes().startswith(b"%PDF")
