"""A run whose texts try everything that a page must not do."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from persona_panel import Panel, Response, Run
from persona_panel.reports.page.report import report_of
from persona_panel.rubrics import ModelRequest
from persona_panel.testing import ScriptedModel
from persona_panel.testing.scripted_model import stable_hash

HOSTILE = (
    '</script><script>window.pwned = 1</script><img src="http://127.0.0.1:9/x" '
    'onerror="window.pwned = 2"><a href="javascript:window.pwned = 3">x</a> '
    "\u202eturned\u202c \x1b[31m <!--<script> ${1} {{ 7 * 7 }}"
)
SYSTEMS = ("able", "fair", "shy")
TOPICS = ("work", "money", "faith", "sleep")
HOURS = {"work": "9.5", "money": "10.25", "faith": "-2", "sleep": "0.5"}
"""As a CSV file has numbers: as text they have another order."""
MEANS = {"able": 8, "fair": 5}


def _answer(request: ModelRequest) -> str:
    """Reasons with hostile text, then ratings: by system, and nobody assesses `shy` but few."""
    asked = "".join(request.blocks)
    system = next(name for name in SYSTEMS if f"answer of {name}" in asked)
    seed = stable_hash([request.system, asked])
    if system == "fair" and "to money" in asked and "sociolog" in asked:
        return "I would rather not."
    declines = system == "shy" and seed % 9 > 0
    names = list(dict.fromkeys(re.findall(r"`(\w+)`", asked)))
    scores: dict[str, object] = {
        name: None if declines else MEANS.get(system, 3) + (seed >> 3 * place) % 3 - 1
        for place, name in enumerate(names)
        if name != "abstained"
    }
    said = f"{HOSTILE} The answer of {system}, seen by {seed % 1000}."
    return f"<scratchpad>{said}</scratchpad>\n{json.dumps(scores | {'abstained': declines})}"


@pytest.fixture(scope="session")
def hostile_run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """Three systems on four prompts, five personas through two models: 120 judgments, of which a
    few are refused; most judgments of `shy` are abstentions."""
    folder = tmp_path_factory.mktemp("report")
    responses = [
        Response(
            id=f"{topic}-{system}",
            prompt_id=topic,
            prompt=f"What of {topic}? {HOSTILE}",
            text=f"The answer of {system} to {topic}. {HOSTILE}",
            system=system,
            metadata={
                "topic": topic,
                "<b>hours</b>": HOURS[topic],
                "note": HOSTILE,
                "digest": f"{stable_hash([topic, system]):x}",
                "share": f"{0.05 * (4 * SYSTEMS.index(system) + TOPICS.index(topic)):.2f}",
            },
        )
        for topic in TOPICS
        for system in SYSTEMS
    ]
    models = [ScriptedModel(_answer, model=f"m{n}{HOSTILE if n else ''}") for n in range(2)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PERSONA_PANEL_CACHE", str(folder / "cache"))
        panel = Panel("disciplinary", models, "scrub", elicitation="justified")
        yield panel.score(responses, out=folder / "run")


@pytest.fixture(scope="session")
def page(hostile_run: Run) -> Path:
    """Its page."""
    assert hostile_run.folder is not None
    return report_of(hostile_run).write(hostile_run.folder / "report.html")
