"""A test of one's own that fails where a system is not as good as it has to be.

    python -m pytest examples/test_my_system.py

It judges the example batch with a model that follows a script; for results, put a model of yours in
its place: `Panel("disciplinary", "openai:gpt-4o-mini")`.
"""

from pathlib import Path

from persona_panel import Panel, load_responses
from persona_panel.testing import ScriptedModel, assert_requirements

BATCH = Path(__file__).with_name("responses.jsonl")


def test_my_system() -> None:
    """The judgments are there, alder is good enough, and no more than a point behind birch."""
    panel = Panel("disciplinary", ScriptedModel(), elicitation="dimensions")
    run = panel.score(load_responses(BATCH))
    assert_requirements(
        run,
        "coverage >= 0.98",
        "composite[alder] >= 5",
        "difference[alder, birch] > -1",
    )
