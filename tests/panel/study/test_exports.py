"""Exports for Label Studio and Potato, by every shipped rubric, checked by their own packages."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree.ElementTree import fromstring

import pytest
import yaml

from persona_panel import Response
from persona_panel.planning.definitions import resolve_rubric
from persona_panel.study.design import StudySettings
from persona_panel.study.exports import write_label_studio, write_potato
from persona_panel.study.kit import Study, make_study

RUBRICS = (
    "argument-quality",
    "conceptual-critique",
    "critical-question",
    "debate-speech",
    "media-bias",
    "offensiveness",
    "scrub",
)
LARGE = "pip install {}: it is too large for the extra test"


def made(rubric: str) -> Study:
    """Two prompts of three texts that look like markup, templates and fields."""
    responses = [
        Response(id=str(n), prompt_id=p, prompt=f"{p}? <b> & $x", system=str(n),
                 text=f"T{n} “ü” <script>\n{{{{x}}}} $y", context="c" if n else None)
        for p in "ab"
        for n in range(3)
    ]  # fmt: skip
    return make_study(responses, resolve_rubric(rubric), StudySettings(1, 6, attention=1))


@pytest.mark.parametrize("rubric", RUBRICS)
def test_no_two_fields_have_one_name(rubric: str, tmp_path: Path) -> None:
    """Also where a dimension is called reason, as one of critical-question is: the second of two
    fields of one name would take the answers of the first."""
    study = made(rubric)
    write_label_studio(study, tmp_path / "l")
    write_potato(study, tmp_path / "p")
    for file in (tmp_path / "l").rglob("*.xml"):
        names = [one.get("name") for one in fromstring(file.read_text()).iter() if one.get("name")]
        assert len(set(names)) == len(names) > 2
    for file in (tmp_path / "p").rglob("config.yaml"):
        names = [one["name"] for one in yaml.safe_load(file.read_text())["annotation_schemes"]]
        assert len(set(names)) == len(names) > 1


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("rubric", RUBRICS)
def test_label_studio_accepts_what_is_imported(rubric: str, tmp_path: Path) -> None:
    """Its package finds no fault with a configuration, with a task, or with an answer by it."""
    package = "label_studio_sdk.label_interface"
    interfaces = pytest.importorskip(package, reason=LARGE.format("label-studio-sdk"))
    for file in write_label_studio(made(rubric), tmp_path):
        interface = interfaces.LabelInterface(file.with_suffix(".xml").read_text())
        interface.validate()
        tasks = json.loads(file.read_text())
        assert len(tasks) in (3, 8)
        assert all(interface.validate_task(task) for task in tasks)
        assert interface.validate_prediction(interface.generate_sample_prediction())


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("rubric", RUBRICS)
def test_potato_accepts_its_projects(rubric: str, tmp_path: Path) -> None:
    """Its own check of a configuration, which its server runs before it starts, passes."""
    package = "potato.server_utils.config_module"
    module = pytest.importorskip(package, reason=LARGE.format("potato-annotation"))
    for file in write_potato(made(rubric), tmp_path):
        folder = str(file.parent)
        module.validate_yaml_structure(yaml.safe_load(file.read_text()), folder, folder)
