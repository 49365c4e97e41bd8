"""What a run's folder says of calls that a kill left uncounted."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from panel import Caps, Judgment, ModelConfig, Panel, Persona, Response
from panel.runs.executor import held_run
from panel.runs.output import RunOutput
from panel.testing import serving
from tests.helpers.judgments import PLAIN

ANN = Persona(id="ann", label="Ann", axis="own", description="You are Ann.")
RESPONSES = [
    Response(id=f"r{i}", prompt="Why?", text=f"Text {i}.", system=f"s{i % 2}") for i in range(4)
]


@pytest.mark.parametrize(("caps", "uncounted"), [(Caps(), 34), (Caps(calls=50), 0)])
def test_a_kill_leaves_as_many_uncounted_as_may_be_unwritten(
    caps: Caps, uncounted: int, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """While a run without a cap goes on, spent.json has the concurrency of its models and the calls
    between two writes (31) as those that may be missing; the next start and a dry run say so, and
    add no more once they have ended.
    With a cap calls are set aside before they are sent, and none is missing."""

    def killed_here(_: Judgment) -> None:
        if not (tmp_path / "killed").exists():
            shutil.copytree(tmp_path / "run", tmp_path / "killed")

    def recorded(name: str) -> int:
        found: int = json.loads((tmp_path / name / "spent.json").read_text())["uncounted"]
        return found

    with serving() as server:
        model = ModelConfig(model="openai:stub", base_url=server.base_url, concurrency=3)
        panel = Panel([ANN], model, PLAIN)
        panel.score(RESPONSES, out=tmp_path / "run", caps=caps, on_judgment=killed_here)
        assert recorded("run") == 0
        assert recorded("killed") == uncounted
        held = held_run(panel.plan, RESPONSES, RunOutput(tmp_path / "killed"))
        assert held.uncounted == uncounted
        assert "not counted" not in caplog.text
        panel.score(RESPONSES, out=tmp_path / "killed", caps=caps)
    assert recorded("killed") == uncounted
    assert (f"up to {uncounted} of their calls are not counted" in caplog.text) == bool(uncounted)
