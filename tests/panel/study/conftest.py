"""A study of two systems' and two people's texts, made once."""

from __future__ import annotations

from pathlib import Path

import pytest

from persona_panel import Response
from persona_panel.planning.definitions import resolve_rubric
from persona_panel.study.design import StudySettings
from persona_panel.study.exports import write_pages
from persona_panel.study.kit import Study, make_study, write_key

SYSTEMS = ("vendor:Quagmire-9ö", "zyxwriter", "Human Expert 4", "plumbago/XL")


@pytest.fixture(scope="session")
def study() -> Study:
    """Six prompts of four texts for four raters, with calibration, a repeat and attention sets."""
    responses = [
        Response(
            id=f"response-{n}-kumquat",
            prompt_id=f"prompt-{topic}-rutabaga",
            prompt=f"What of {topic}?",
            text=f"On {topic} there are {n + 1} things to say. " + "And more. " * n,
            system=system,
            context=f"A position on {topic}.",
            metadata={"source": "secretmetadata"},
        )
        for topic in ("work", "sleep", "money", "faith", "games", "trust")
        for n, system in enumerate(SYSTEMS)
    ]
    settings = StudySettings(4, 8, calibration=1, repeats=1, attention=1, seed=1)
    return make_study(responses, resolve_rubric("scrub"), settings)


@pytest.fixture(scope="session")
def folder(study: Study, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its folder."""
    folder = tmp_path_factory.mktemp("study") / "study"
    write_key(study, folder)
    write_pages(study, folder)
    return folder
