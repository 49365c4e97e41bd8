"""`persona-panel people make`, `collect` and `status` as a user runs it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import fromstring

import pytest
import yaml
from click.testing import CliRunner, Result

from persona_panel.cli.main import command
from tests.helpers.study import answer


def persona_panel(*words: str | Path) -> Result:
    return CliRunner().invoke(command, ["people", *map(str, words)])


@pytest.fixture(scope="module")
def responses(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three prompts of three texts, with columns of other names; one text names its system."""
    file = tmp_path_factory.mktemp("texts") / "texts.csv"
    rows = ["question,answer,model"]
    for topic in ("work", "sleep", "play"):
        rows += [
            f"On {topic}?,{topic} is {n}{' says Birch' if (topic, n) == ('work', 1) else ''},{name}"
            for n, name in enumerate(("aspen", "yarrow", "birch"))
        ]
    file.write_text("\n".join(rows) + "\n")
    return file


def made(responses: Path, out: Path, *more: str) -> Result:
    return persona_panel(
        "make", responses, "--map", "prompt=question,response=answer,system=model", "--raters", "2",
        "--per-rater", "9", "--rubric", "debate-speech", "--out", out, *more,
    )  # fmt: skip


def by_number(text: str, dimension: str) -> int:
    return int(text.split()[2]) + 1


def test_make_status_and_collect(responses: Path, tmp_path: Path) -> None:
    """The design is printed and a text that names a system is warned of; status counts who has
    answered; one odd file is left out alone, and with it answers are missing: exit status 1; all
    answers: 0. Other ratings that are there are replaced only with --overwrite."""
    study = tmp_path / "study"
    done = made(responses, study, "--json")
    assert done.exit_code == 0, done.output
    tables = json.loads(done.stdout)["tables"]
    assert json.loads(done.stdout)["conclusion"][0].endswith("; rubric: debate-speech.")
    [design] = tables["design"]
    assert (design["pairs_compared"], design["pairs"]) == (9, 9)
    spans = {row["of"]: (row["least"], row["most"]) for row in tables["spans"]}
    assert (spans["texts_per_rater"], spans["ratings_per_text"]) == ((9, 9), (2, 2))
    assert "Warning: the name of another system stands in 1 text," in done.stderr
    [named] = tables["naming"]
    assert (named["name"], named["system"]) == ("Birch", "yarrow")
    assert "Keep " in done.stderr
    answers = [
        answer(study / "packets" / f"rater-0{n}.html", tmp_path / f"{n}.json", by_number)
        for n in (1, 2)
    ]
    status = persona_panel("status", study, answers[0], "--json")
    tables = json.loads(status.stdout)["tables"]
    assert (status.exit_code, tables["study"][0]["missing"]) == (1, 18)
    assert [row["missing"] for row in tables["raters"]] == [0, 18]
    required = ("status", study, answers[0], "--require")
    assert persona_panel(*required, "missing[rater-02] <= 17").exit_code == 3
    assert persona_panel(*required, "missing <= 18").exit_code == 0
    odd = tmp_path / "odd.json"
    odd.write_text("{}")
    out = tmp_path / "ratings.csv"
    some = persona_panel("collect", study, answers[0], odd, "--out", out)
    assert some.exit_code == 1
    assert "1 of 2 raters answered; of their answers none is missing." in some.stdout
    assert f"Left out: {odd}: schema: found null" in some.stderr
    out.write_text(out.read_text() + "edited by hand\n")
    edited = out.read_text()
    refused = persona_panel("collect", study, *answers, "--out", out)
    assert (refused.exit_code, out.read_text()) == (2, edited)
    assert f"{out}: found a file that is there already; expected another name, or --overwrite" in (
        refused.stderr
    )
    whole = persona_panel("collect", study, *answers, "--out", out, "--overwrite")
    assert whole.exit_code == 0, whole.output
    # As `make` printed it, with the files where it said; an editor may have put a mark before one.
    (study / "answers").mkdir()
    for mark, file in zip(("", "\ufeff"), answers, strict=True):
        (study / "answers" / file.name).write_text(mark + file.read_text("utf-8"), "utf-8")
    printed = done.stderr.splitlines()[-1].split()[2:]
    again = persona_panel(*printed)
    assert again.exit_code == 0, again.output
    assert (study / "ratings.csv").read_bytes() == out.read_bytes()
    assert "2 of 2 raters answered, all that was asked." in whole.stdout
    assert out.read_text().count("\n") == 1 + 2 * 9


def test_one_text_a_prompt_can_be_rated(responses: Path, tmp_path: Path) -> None:
    """There are no pairs to compare, and none is said to be compared."""
    lines = responses.read_text().splitlines()
    (tmp_path / "one.csv").write_text("\n".join([lines[0], *lines[1::3]]) + "\n")
    done = persona_panel(
        "make", tmp_path / "one.csv", "--map", "prompt=question,response=answer,system=model",
        "--raters", "2", "--per-rater", "3", "--tasks", "rate", "--rubric", "debate-speech",
        "--out", tmp_path / "study", "--json",
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["tables"]["design"][0]["pairs"] == 0


def test_rankings_alone_are_collected_as_ranks(responses: Path, tmp_path: Path) -> None:
    """Without `rate` the file has ranks, and each text its set's reason, to infer scores from."""
    study, out = tmp_path / "study", tmp_path / "ranks.csv"
    assert made(responses, study, "--tasks", "rank").exit_code == 0
    file = answer(study / "packets" / "rater-01.html", tmp_path / "1.json", by_number)
    assert persona_panel("collect", study, file, "--out", out).exit_code == 1
    lines = out.read_text().splitlines()
    assert lines[0] == "item,rater,rank,prompt,source"
    # The text that says 2 has the highest score.
    assert {line.split(",")[2] for line in lines if line.endswith("birch")} == {"1"}
    reasons = tmp_path / "ranks-justifications"
    assert (reasons / "ratings.csv").read_text().startswith("item,rater,rank,")
    assert len((reasons / "responses.jsonl").read_text().splitlines()) == 9


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["--raters", "1", "--per-rater", "4"], "of 9 texts would be seen by nobody"),
        (["--tasks", "sort"], "'sort' is not one of 'rank,rate', 'rank', 'rate'"),
        (["--consent", "absent.txt"], "absent.txt: --consent: found no such file"),
        (["--rubric", "absent"], "no rubric of this name"),
        (["--out", "."], "a folder that is not empty"),
    ],
)
def test_bad_input_is_refused_in_a_sentence(
    responses: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], found: str
) -> None:
    """With exit status 2, and nothing is written."""
    monkeypatch.chdir(tmp_path)
    Path("there").touch()
    done = made(responses, tmp_path / "study", *words)
    assert done.exit_code == 2
    assert found in done.stderr
    assert not (tmp_path / "study").exists()


def test_no_study_and_no_usable_file_are_bad_input(responses: Path, tmp_path: Path) -> None:
    """A folder without a key, a key that is cut off, and no answers that can be used: exit status
    2, and no file is written."""
    out = tmp_path / "ratings.csv"
    assert made(responses, tmp_path / "study").exit_code == 0
    for folder in (tmp_path, tmp_path / "absent", tmp_path / "study"):
        done = persona_panel("collect", folder, tmp_path / "absent.json", "--out", out)
        assert done.exit_code == 2
        assert "found no such file" in done.stderr
    key = tmp_path / "study" / "key" / "key.json"
    key.write_text(key.read_text()[:100])
    done = persona_panel("status", tmp_path / "study")
    assert done.exit_code == 2
    assert "no such key" in done.stderr
    assert not out.exists()


def controls(config: str) -> dict[str, str]:
    """The controls of a labelling configuration, each with the object that it is of."""
    tree = fromstring(config)
    objects = {
        one.get("name"): one.get("value") for one in tree.iter() if one.get("value", "")[:1] == "$"
    }
    found = {}
    for one in tree.iter():
        if (of := one.get("toName")) is not None:
            assert of in objects
            found[str(one.get("name"))] = str(objects[of])
    return found


def test_label_studio_imports_have_its_form(responses: Path, tmp_path: Path) -> None:
    """Every control of a configuration is of one of its objects, and every object shows a field
    that each task has."""
    assert made(responses, tmp_path / "s", "--format", "label-studio").exit_code == 0
    files = sorted((tmp_path / "s" / "packets").rglob("*.xml"))
    assert [file.name for file in files] == ["rank.xml", "rate.xml"] * 2
    for file in files:
        config, tasks = file.read_text(), json.loads(file.with_suffix(".json").read_text())
        fields = controls(config)
        assert set(fields) in ({"rank", "written-reason"}, {"good_opening", "written-reason"})
        assert len(tasks) == (3 if file.stem == "rank" else 9)
        for task in tasks:
            assert {value[1:] for value in fields.values()} <= set(task["data"])


def test_potato_projects_have_its_form(responses: Path, tmp_path: Path) -> None:
    """A configuration names its data file, whose items have the fields that it names, and schemas
    with what each must have."""
    assert made(responses, tmp_path / "s", "--format", "potato").exit_code == 0
    files = sorted((tmp_path / "s" / "packets").rglob("config.yaml"))
    assert [file.parent.name for file in files] == ["rank-3", "rate"] * 2
    for file in files:
        config: dict[str, Any] = yaml.safe_load(file.read_text())
        (data,) = config["data_files"]
        items = [json.loads(line) for line in (file.parent / data).read_text().splitlines()]
        assert len(items) == (9 if file.parent.name == "rate" else 3)
        named = {config["item_properties"]["id_key"], config["item_properties"]["text_key"]}
        assert all(named <= set(item) for item in items)
        for scheme in config["annotation_schemes"]:
            assert scheme["name"]
            assert scheme["description"]
            written = scheme["name"] == "written-reason"
            assert scheme["annotation_type"] == ("text" if written else "radio")
            assert scheme["annotation_type"] == "text" or len(scheme["labels"]) in (3, 5)
