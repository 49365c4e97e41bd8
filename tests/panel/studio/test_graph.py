"""The panel as LangGraph Studio opens it: what langgraph.json names can be built and run."""

from __future__ import annotations

import asyncio
import json
from importlib import import_module
from pathlib import Path

import pytest

from panel.testing import always, ok, serving

ROOT = Path(__file__).parents[3]
PANEL_FILE = """\
personas: people.yaml
rubric: debate-speech
elicitation: dimensions
models:
  - model: openai:stub
    base_url: {base_url}
"""
PEOPLE = """\
id: people
label: People
personas:
  - {id: ann, label: Ann, axis: own, description: You are Ann.}
  - {id: bob, label: Bob, axis: own, description: You are Bob.}
"""


def test_a_typed_response_is_judged_by_the_panel_of_the_named_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The graph that langgraph.json calls `panel` has each judge of PERSONA_PANEL_FILE read the
    prompt and text typed in, and gives the verdict's figures."""
    module, _, name = json.loads((ROOT / "langgraph.json").read_bytes())["graphs"][
        "panel"
    ].partition(":")
    with serving(always(ok('{"good_opening": 4}'))) as server:
        file = tmp_path / "panel.yaml"
        file.write_text(PANEL_FILE.format(base_url=server.base_url), encoding="utf-8")
        (tmp_path / "people.yaml").write_text(PEOPLE, encoding="utf-8")
        monkeypatch.setenv("PERSONA_PANEL_FILE", str(file))
        graph = getattr(import_module(module), name)()
        typed = {"prompt": "Should rents be capped?", "text": "No: fewer homes are built."}
        out = asyncio.run(graph.ainvoke(typed))
    assert out["verdict"]["n_judges"] == 2
    assert out["verdict"]["good_opening"] == 4
    assert len(server.calls) == 2
    for call in server.calls:
        asked = json.dumps(call.payload)
        assert "Should rents be capped?" in asked
        assert "No: fewer homes are built." in asked
