"""What a dry run says of keys, of the run's folder and of caps; and that what is refused is refused
before anything else is said."""

from __future__ import annotations

import json
import os
from importlib.util import find_spec
from pathlib import Path

import pytest

from persona_panel.files.errors import ConfigurationError
from persona_panel.models.availability import keys_optional, missing_keys
from persona_panel.models.config import ModelConfig
from persona_panel.models.providers import client_for
from persona_panel.testing import serving
from tests.helpers.command import Command

ROWS = [
    {"id": f"r{i}", "prompt": "Why?", "response": f"Text {i}.", "system": "ash"} for i in range(4)
]


@pytest.fixture
def batch(tmp_path: Path) -> Path:
    path = tmp_path / "in.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return path


def panel_file(folder: Path, address: str, *, price: str = "{input: 1, output: 2}") -> Path:
    path = folder / "panel.yaml"
    priced = f", price: {price}" if price else ""
    path.write_text(
        "personas: disciplinary\nrubric: debate-speech\n"
        f"models: [{{model: 'openai:stub', base_url: '{address}'{priced}}}]\n"
    )
    return path


def test_no_key_is_needed_to_call_nothing(command: Command, batch: Path) -> None:
    """The estimate is that of a run with the key, and which key the run lacks is said."""
    score = ("score", batch, "--model", "openai:gpt-4o-mini", "--dry-run", "--json")
    without, with_ = command(*score), command(*score, OPENAI_API_KEY="canary-0123-abcdef")
    assert without.returncode == with_.returncode == 0, without.stderr
    assert without.stdout == with_.stdout
    assert "needs a key; put it into the environment variable OPENAI_API_KEY" in without.stderr
    assert "key" not in with_.stderr
    refused = command(*score[:-2])
    assert refused.returncode == 2
    assert refused.stderr.startswith("openai:gpt-4o-mini needs a key")


@pytest.mark.parametrize(
    "arguments",
    [
        ("sweep", "prompts.jsonl", "--target", "openai:gpt-4o", "--model", "openai:gpt-4o-mini"),
        ("audit", "injection", "--model", "openai:gpt-4o-mini", "--limit", "5"),
        ("questions", "ask", "asked.jsonl", "--model", "openai:gpt-4o-mini"),
    ],
    ids=lambda arguments: arguments[0],
)
def test_no_command_needs_one_for_a_dry_run(
    command: Command, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    """Sweeps, audits and questions likewise; with too low a cap they say so."""
    (tmp_path / "prompts.jsonl").write_text(json.dumps({"prompt": "Why?"}))
    (tmp_path / "asked.jsonl").write_text(json.dumps({"id": "a", "intervention": "It is so."}))
    done = command(*arguments, "--dry-run", "--max-usd", "0.000001")
    assert done.returncode == 0, done.stderr
    assert "The run would stop before its end at --max-usd 1e-06: it takes about $" in done.stderr
    assert "openai:gpt-4o-mini needs a key" in done.stderr


CHATS = [
    ("anthropic", "ANTHROPIC", {}),
    ("google_genai", "GOOGLE", {}),
    ("mistralai", "MISTRAL", {}),
    ("groq", "GROQ", {}),
    ("azure_openai", "AZURE_OPENAI", {"azure_endpoint": "https://x.y", "api_version": "2024"}),
]


@pytest.mark.parametrize(("provider", "name", "options"), CHATS, ids=[one[0] for one in CHATS])
def test_a_model_without_its_key_is_the_same_model(
    provider: str, name: str, options: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What identifies it in the cache is as with the key, so that the estimate finds its replies;
    outside, the key is required again."""
    package = f"langchain_{'openai' if provider == 'azure_openai' else provider}"
    if find_spec("langchain") is None or find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    for variable in list(os.environ):
        if variable.endswith("_API_KEY"):
            monkeypatch.delenv(variable)
    key = f"{name}_API_KEY" if "azure_endpoint" in options else None
    config = ModelConfig(model=f"{provider}:gemini-2.5-flash", options=options, key_env=key)
    with keys_optional():
        without = dict(client_for(config).parameters)
        [said] = missing_keys()
    assert f"{name}_API_KEY" in said
    with pytest.raises(ConfigurationError, match="needs a key"):
        client_for(config)
    monkeypatch.setenv(f"{name}_API_KEY", "canary-0123-abcdef")
    assert dict(client_for(config).parameters) == without


def test_it_looks_at_the_folder_and_the_caps(command: Command, tmp_path: Path, batch: Path) -> None:
    """What is done there and what was spent on it, what is left, and each cap that the rest would
    reach with it; and nothing is written."""
    with serving() as server:
        score = ("score", batch, "--panel", panel_file(tmp_path, server.base_url), "--out", "run")
        fresh = command(*score, "--dry-run")
        assert not (tmp_path / "run").exists()
        assert "run holds" not in fresh.stderr
        assert command(*score, "--max-calls", "7").returncode == 1
        before = {path.name: path.read_bytes() for path in (tmp_path / "run").iterdir()}
        caps = ("--max-calls", "19", "--max-usd", "0.001", "--max-tokens", "3000")
        done = command(*score, "--dry-run", *caps)
        enough = command(*score, "--dry-run", "--max-calls", "20", "--max-usd", "1")
    assert done.returncode == enough.returncode == 0, done.stderr
    assert {path.name: path.read_bytes() for path in (tmp_path / "run").iterdir()} == before
    spent = json.loads(before["spent.json"])["usage"]["openai:stub"]
    usd = (spent["input"] + 2 * spent["output"]) / 1e6
    tokens = f"{spent['input'] + spent['output']:,}"
    held = f"run holds this run: 7 of 20 judgments are done, 13 are left; 7 calls, {tokens} tokens"
    assert f"{held}, ${usd:.4f} spent so far." in done.stderr
    stops = [line for line in done.stderr.splitlines() if line.startswith("The run would stop")]
    assert len(stops) == 3
    assert "at --max-calls 19: it takes at least 20 calls, what was spent so far included" in (
        "".join(stops)
    )
    assert held in enough.stderr
    assert "would stop" not in enough.stderr


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="there is no /proc")
def test_a_place_that_takes_no_folder_is_refused(
    command: Command, batch: Path, tmp_path: Path
) -> None:
    """Also where its permissions are in order, as those of /proc: by a dry run as by a run."""
    panel = panel_file(tmp_path, "http://localhost:1/v1")
    score = ("score", batch, "--panel", panel, "--out", "/proc/none/run")
    for more in ((), ("--dry-run",)):
        refused = command(*score, *more)
        assert refused.returncode == 2
        assert "/proc/none/run cannot be written" in refused.stderr
        assert refused.stdout == ""


@pytest.mark.parametrize("more", [(), ("--dry-run",)])
def test_what_is_refused_is_refused_first(
    command: Command, tmp_path: Path, batch: Path, more: tuple[str, ...]
) -> None:
    """A folder that holds another run, and a cap without a price: no progress is shown before the
    refusal, and a dry run refuses what the run would."""
    with serving() as server:
        panel = panel_file(tmp_path, server.base_url)
        assert command("score", batch, "--panel", panel, "--out", "run").returncode == 0
        calls = len(server.calls)
        score = ("score", batch, "--panel", panel, *more, "--personas", "ideological")
        other = command(*score, "--out", "run")
        panel_file(tmp_path, server.base_url, price="")
        unpriced = command(*score, "--max-usd", "1", "--out", "new")
        assert len(server.calls) == calls
    said = "panel.yaml: replaced by options of the command or arguments: personas (ideological)"
    for done, why in ((other, "run contains another run"), (unpriced, "the price of openai:stub")):
        assert done.returncode == 2
        first, second, last = done.stderr.strip().split("\n")
        assert first.endswith(said)
        assert second.startswith(why)
        assert last == "No model was called."
        assert not done.stdout
    assert not (tmp_path / "new").exists()
