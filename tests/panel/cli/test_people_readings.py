"""Every command that takes people's ratings reads, checks and matches them in the same way."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from persona_panel import Panel, Persona, Response
from persona_panel.cli.main import command
from persona_panel.testing import ScriptedModel

N = 24
GROUPS = "groups:\n  a: {condition: side = a, personas: ann}\n  b: {condition: side = b, personas: bob}\ncontrasts: [a - b]\n"  # noqa: E501
COMMANDS = ("correlate", "calibrate", "align", "votes", "plan", "report", "fidelity", "compare")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs of the same texts, and files of people's attributes."""
    base = tmp_path_factory.mktemp("readings")
    for name, level in (("run", 3), ("other", 5)):
        personas = [
            Persona(id=who, label=who, axis="own", description=f"You are {who}.")
            for who in ("ann", "bob", "eve")
        ]
        texts = [
            Response(id=f"r{n}", prompt=f"p{n % 12}", prompt_id=f"p{n % 12}", text=f"Text {n}.",
                     system="xy"[n // 12])
            for n in range(N)
        ]  # fmt: skip

        def answer(request: object, level: int = level) -> str:
            return json.dumps({"good_opening": 1 + len(str(request)) % level})

        Panel(personas, ScriptedModel(answer), "debate-speech").score(texts, out=base / name)
    (base / "raters.csv").write_text(
        "rater,side\n" + "".join(f"h{k},{'ab'[k % 2]}\n" for k in range(4))
    )
    (base / "groups.yaml").write_text(GROUPS)
    return base


def _run(name: str, folder: Path, people: Path, *options: str) -> Result:
    given = {
        "plan": ["plan", "--from", str(folder / "run")],
        "report": ["report", str(folder / "run")],
        "compare": ["compare", str(folder / "run"), str(folder / "other")],
    }.get(name, ["people", name, str(folder / "run")])
    if name == "fidelity":
        given += ["--raters", str(folder / "raters.csv"), "--groups", str(folder / "groups.yaml")]
    return CliRunner(env={"COLUMNS": "400"}).invoke(
        command, [*given, "--human", str(people), *options]
    )


def _people(path: Path, **changed: str) -> Path:
    rows = [
        f"{changed.get(f'r{n}', f'r{n}')};{1 + (n + k) % 5};h{k}"
        for n in range(N)
        for k in range(4)
    ]
    path.write_text("item;score;rater\n" + "\n".join(rows) + "\n", "utf-8-sig")
    return path


@pytest.mark.parametrize("name", COMMANDS)
def test_the_reading_and_what_matches_nothing_are_said(
    name: str, folder: Path, tmp_path: Path
) -> None:
    """In one line, then the names that match nothing with their number, on standard error."""
    people = _people(tmp_path / "people.csv", r0="nowhere", r1="elsewhere")
    done = _run(name, folder, people)
    assert done.exit_code == 0, done.output
    first, second, *_ = done.stderr.splitlines()
    form = "24 items, 4 raters (a line for each rating; semicolons), 96 ratings, 0 missing."
    assert first == f"{people}: {form}"
    assert second.startswith("2 of the 24 items that people rated are not in ")
    assert second.endswith("'nowhere', 'elsewhere'; 22 (91.7 %) match.")


@pytest.mark.parametrize("name", COMMANDS)
def test_few_matches_need_an_option(name: str, folder: Path, tmp_path: Path) -> None:
    """Below 80 % the command refuses with the share, unless --allow-unmatched is there."""
    people = _people(tmp_path / "people.csv", **{f"r{n}": f"{n}" for n in range(6)})
    done = _run(name, folder, people)
    assert done.exit_code == 2
    assert "6 of the 24 items" in done.stderr
    assert "75.0 % match" in done.stderr
    allowed = _run(name, folder, people, "--allow-unmatched")
    assert allowed.exit_code == 0, allowed.output


@pytest.mark.parametrize("name", COMMANDS)
def test_what_lies_off_the_scale_is_refused(name: str, folder: Path, tmp_path: Path) -> None:
    """With file, line, rater, value and scale; of people on another scale the user says which."""
    people = _people(tmp_path / "people.csv")
    people.write_text(people.read_text("utf-8-sig").replace("r0;1;h0", "r0;80;h0"))
    done = _run(name, folder, people)
    assert done.exit_code == 2
    assert f"{people}:2: score: found 80 by 'h0' of 'r0'" in done.stderr
    assert "expected 1 to 5, the scale of " in done.stderr
    other = _run(name, folder, people, "--human-scale", "0-100")
    if name == "fidelity":
        assert "found the scale 0 to 100" in other.stderr
    else:
        assert other.exit_code == 0, other.output


def test_options_of_people_need_people(folder: Path) -> None:
    """Without --human each of them is refused."""
    for option in (["--allow-unmatched"], ["--human-scale", "1-5"], ["--map-human", "score=x"]):
        done = CliRunner().invoke(command, ["people", "votes", str(folder / "run"), *option])
        assert done.exit_code == 2
        assert f"{option[0]} works only with --human" in done.stderr
