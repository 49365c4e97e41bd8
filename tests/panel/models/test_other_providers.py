"""Providers that another distribution brings along."""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.helpers import forked
from tests.helpers.command import COMMAND
from tests.helpers.distributions import installed

PROVIDER = """
import json
from persona_panel.files.errors import ConfigurationError
from persona_panel.models.client import Capabilities
from persona_panel.models.providers import Availability
from persona_panel.rubrics import ModelResponse

packages = ("others",)


def client(config, keep_prefix):
    if config.model_name == "absent":
        raise ConfigurationError(f"{config.model} is not there; take others:present")
    return Client(config.model_name)


def availability():
    return [Availability("others:present", True, "says 4 of everything")]


class Client:
    capabilities = Capabilities(free=True)

    def __init__(self, model):
        self.model = model

    @property
    def parameters(self):
        return {"provider": "others", "model": self.model}

    async def complete(self, request):
        names = request.schema["properties"]
        return ModelResponse(json.dumps({name: 4 for name in names} | {"abstained": False}))

    async def aclose(self):
        pass
"""

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """The command, with a distribution beside it whose provider is `others`."""

    def start(*arguments: str) -> subprocess.CompletedProcess[str]:
        path = os.pathsep.join(
            [str(tmp_path / "site"), *filter(None, [os.environ.get("PYTHONPATH")])]
        )
        surroundings = os.environ | {"PYTHONPATH": path, "COLUMNS": "160"}
        return forked.run([COMMAND, *arguments], tmp_path, surroundings)

    installed(tmp_path / "site", "providers", "others = others_panel", "others_panel", PROVIDER)
    return start


def test_a_provider_of_another_distribution_scores_a_run(run: Run, tmp_path: Path) -> None:
    """Its models judge like ours, and its distribution's version is recorded with the run."""
    (tmp_path / "essays.csv").write_text("id,prompt,text,system\na,Why?,Because.,s\n")
    done = run("score", "essays.csv", "--model", "others:present", "--out", "run")
    assert done.returncode == 0, done.stderr
    judgments = [
        json.loads(line) for line in (tmp_path / "run" / "judgments.jsonl").read_text().splitlines()
    ]
    assert {judgment["status"] for judgment in judgments} == {"scored"}
    assert {score for one in judgments for score in one["scores"].values()} == {4}
    with (tmp_path / "run" / "verdicts.csv").open(newline="") as file:
        assert len(list(csv.DictReader(file))) == 1
    [start] = json.loads((tmp_path / "run" / "run.json").read_text())["starts"]
    assert start["versions"]["others"] == "1.0"


def test_models_lists_the_providers_of_other_distributions(run: Run) -> None:
    """What it says about itself stands in the table with ours."""
    listed = run("models", "--full")
    assert listed.returncode == 0, listed.stderr
    assert re.search(r"others:present +says 4 of everything", listed.stdout)
    assert "anthropic:NAME" in listed.stdout


def test_what_another_s_provider_lacks_is_said_before_any_call(run: Run, tmp_path: Path) -> None:
    """Its own words are the refusal, exit 2."""
    (tmp_path / "essays.csv").write_text("id,prompt,text,system\na,Why?,Because.,s\n")
    done = run("score", "essays.csv", "--model", "others:absent")
    assert done.returncode == 2
    assert "others:absent is not there; take others:present" in done.stderr


def test_a_provider_that_cannot_be_loaded_hides_no_other(run: Run, tmp_path: Path) -> None:
    """Its line says what went wrong; a panel that wants it is refused, another is not."""
    (tmp_path / "site" / "others_panel.py").write_text("import no_such_module\n")
    listed = run("models", "--full")
    assert listed.returncode == 0, listed.stderr
    said = " ".join(listed.stdout.split())
    assert re.search(r"others:NAME: .*cannot be loaded.*no_such_module", said)
    assert "openai:NAME" in listed.stdout
    (tmp_path / "essays.csv").write_text("id,prompt,text,system\na,Why?,Because.,s\n")
    refused = run("score", "essays.csv", "--model", "others:present")
    assert refused.returncode == 2
    assert "the provider 'others' of the package others cannot be loaded" in refused.stderr


def test_no_distribution_takes_the_place_of_a_provider_of_ours(run: Run, tmp_path: Path) -> None:
    """`openai:` and `groq:` stay what they are, whatever entry points there are."""
    info = tmp_path / "site" / "others-1.0.dist-info" / "entry_points.txt"
    info.write_text("[persona_panel.providers]\nopenai = others_panel\ngroq = others_panel\n")
    listed = run("models", "--full").stdout
    assert "others:present" not in listed
    assert all(re.search(rf"^ *{name}:NAME", listed, re.M) for name in ("openai", "groq"))
