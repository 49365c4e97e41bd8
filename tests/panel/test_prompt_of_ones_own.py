"""A prompt of one's own as a user runs it: on a command line, in a panel file and in Python."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from persona_panel import ConfigurationError, InputError, Panel, Response, load_run
from persona_panel.rubrics import JudgePrompt
from persona_panel.testing import Answer, ok, serving
from tests.helpers.command import Command
from tests.helpers.embedded import READERS, stub

TEXTS = ("They {question} us 🙂.", "No: {text}.")
ROWS = [
    {"id": str(n), "prompt": f"Ban cars {n}?", "response": text, "system": "s"}
    for n, text in enumerate(TEXTS)
]
TEMPLATE: dict[str, Any] = {
    "prompt": "Q: {question}\nA: {text}\nEnd with [[rating]].",
    "read": {"regex": r"\[\[(\d+)\]\]"},
    "scale": {"min": 1, "max": 10, "low": "bad", "high": "good"},
    "example": "Fine. [[5]]",
}
ALONE = ("--personas", "none", "--model", "openai:stub")


@pytest.fixture(autouse=True)
def _files(tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    write(tmp_path / "judge.yaml", TEMPLATE)


def write(path: Path, document: Mapping[str, Any]) -> None:
    path.write_text(yaml.safe_dump(dict(document), allow_unicode=True), "utf-8")


def seven(number: int, payload: Mapping[str, Any]) -> Answer:
    return ok("It holds. [[7]]")


def test_on_the_command_line(command: Command, tmp_path: Path) -> None:
    """A model gets the file's words and nothing else, a dry run foresees the calls, run.json has
    the words, and the answer says that no fence stood around the texts. The same command again
    calls nothing; another prompt is another run."""
    with serving(seven) as server:
        env = {"OPENAI_BASE_URL": server.base_url}
        score = ("score", "in.jsonl", "--prompt", "judge.yaml", *ALONE)
        dry = command(*score, "--dry-run", "--json", **env)
        assert json.loads(dry.stdout)["tables"]["models"][0]["calls"] == 2
        done = command(*score, "--out", "run", **env)
        assert done.returncode == 0, done.stderr
        assert sorted(
            json.dumps(call.payload["messages"], ensure_ascii=False) for call in server.calls
        ) == [
            json.dumps(
                [
                    {
                        "role": "user",
                        "content": f"Q: Ban cars {n}?\nA: {text}\nEnd with [[rating]].",
                    }
                ],
                ensure_ascii=False,
            )
            for n, text in enumerate(TEXTS)
        ]
        again = command(*score, "--out", "run", **env)
        assert (again.returncode, len(server.calls)) == (0, 2)
        write(tmp_path / "judge.yaml", TEMPLATE | {"prompt": "Rate:\n{text}"})
        other = command(*score, "--out", "run", **env)
    assert other.returncode == 2
    assert "rubric" in other.stderr
    assert "no marks set a response apart" in " ".join(done.stdout.split())
    page = (tmp_path / "run" / "report.html").read_text("utf-8")
    assert "no marks set a response apart" in page
    # Nothing of the default rubric was asked.
    assert "<h1>Judge prompt</h1>" in page
    assert "Reasoning about social concepts" not in page
    manifest = json.loads((tmp_path / "run" / "run.json").read_text("utf-8"))
    assert manifest["rubric"]["template"]["prompt"] == TEMPLATE["prompt"]
    assert manifest["models"][0]["elicitation"] == "verbatim"
    inputs = {each["name"]: each["sha256"] for each in manifest["starts"][0]["inputs"]}
    assert set(inputs) == {"in.jsonl", "judge.yaml"}
    run = load_run(tmp_path / "run")
    assert (run.dimensions, run.ratings.ravel().tolist()) == (("overall",), [7, 7])


def test_in_a_panel_file_with_personas(command: Command, tmp_path: Path) -> None:
    """A panel file's prompt is found beside the file, and each persona is in its own request."""
    folder = tmp_path / "panels"
    folder.mkdir()
    words = {"prompt": "{text}\nAs this reader: {persona}"}
    write(folder / "judge.yaml", TEMPLATE | words)
    with serving(seven) as server:
        model = {"model": "openai:stub", "base_url": server.base_url}
        panel = {"personas": "disciplinary", "models": [model], "prompt": "judge.yaml"}
        write(folder / "panel.yaml", panel)
        done = command("score", "in.jsonl", "--panel", "panels/panel.yaml", "--out", "run")
        assert done.returncode == 0, done.stderr
        sent = {call.payload["messages"][0]["content"] for call in server.calls}
    assert len(sent) == 2 * 5
    assert all(any(text.startswith(each) for each in TEXTS) for text in sent)


def test_in_python() -> None:
    """A template made in Python, with personas of one's own and several dimensions."""
    template = JudgePrompt.model_validate(
        TEMPLATE
        | {
            "prompt": "{persona} {text} {dimensions}",
            "system": "You judge.",
            "read": {"json": "$.{dimension}"},
            "scale": None,
            "example": '{"good_opening": 4}',
        }
    )
    with serving(lambda number, payload: ok('{"good_opening": 4}')) as server:
        panel = Panel(READERS, stub(server), "debate-speech", prompt=template)
        run = panel.score(
            [
                Response(id=row["id"], prompt=row["prompt"], text=row["response"], system="s")
                for row in ROWS
            ]
        )
        assert server.calls[0].payload["messages"][0] == {"role": "system", "content": "You judge."}
    assert run.dimensions == ("good_opening",)
    assert set(run.ratings.ravel()) == {4}


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"prompt": "{text} {answer}"}, "the field {answer}; expected one of {text}"),
        ({"prompt": "{question}"}, "no field {text}"),
        ({"read": {"regex": "Score (.)"}}, "its rule does not read its example"),
        ({"rule": 1}, "unknown key"),
    ],
)
def test_a_file_that_is_no_prompt(
    command: Command, tmp_path: Path, change: dict[str, Any], told: str
) -> None:
    """A fault of the file is told with its name before any call."""
    write(tmp_path / "judge.yaml", TEMPLATE | change)
    with serving(seven) as server:
        done = command(
            "score", "in.jsonl", "--prompt", "judge.yaml", *ALONE, OPENAI_BASE_URL=server.base_url
        )
        assert not server.calls
    assert done.returncode == 2
    said = " ".join(done.stderr.split())
    assert "judge.yaml" in said
    assert told in said


def test_an_empty_file(tmp_path: Path) -> None:
    """An empty file and one that is not there are refused by name."""
    (tmp_path / "empty.yaml").write_text("")
    for name in ("empty.yaml", "none.yaml"):
        with pytest.raises(InputError, match=name):
            Panel("none", "local:smollm2-135m", prompt=tmp_path / name)


def test_what_does_not_go_with_a_prompt(tmp_path: Path) -> None:
    """Personas that the words do not show, and an elicitation with words of its own."""
    file = tmp_path / "judge.yaml"
    with serving(seven) as server:
        with pytest.raises(ConfigurationError, match=r"no field \{persona\}"):
            Panel("disciplinary", stub(server), prompt=file)
        with pytest.raises(ConfigurationError, match="'holistic' has words of its own"):
            Panel("none", stub(server), prompt=file, elicitation="holistic")
        with pytest.raises(ConfigurationError, match="needs a prompt"):
            Panel("none", stub(server), elicitation="verbatim")
