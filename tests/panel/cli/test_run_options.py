"""Where a run is written that no folder is named for."""

from __future__ import annotations

from pathlib import Path

import pytest

from persona_panel.cli.run_options import folder_by_time


def test_runs_that_begin_in_one_second_have_folders_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of thirty that begin at once none finds another's run in its folder."""
    monkeypatch.chdir(tmp_path)
    for _ in range(30):
        folder = folder_by_time()
        assert folder.parent == Path("runs")
        # Not where it is there.
        folder.mkdir(parents=True)
