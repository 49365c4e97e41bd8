"""`persona-panel people fidelity` as a user runs it: people, personas, and what is wrong with a
file."""

from __future__ import annotations

import csv
import json
import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from persona_panel import Panel, PersonaSet, Response, load_definition
from persona_panel.cli.main import command
from persona_panel.personas import shipped
from persona_panel.rubrics import ModelRequest
from persona_panel.testing import ScriptedModel
from tests.helpers.results import concluded_in

DATA = Path(os.environ.get("PERSONA_PANEL_DATA", Path(__file__).parents[4] / "shared" / "data"))
ITEMS, RATERS = 90, 40
GROUPS = """
groups:
  left: {condition: ideology < 0, personas: left}
  right: {condition: ideology > 0, personas: right}
  women: {condition: gender = woman, personas: [woman]}
  men: {condition: gender = man}
contrasts:
  - left - right
  - {contrast: left - right, within: side = near}
  - {contrast: left - right, within: side = near, against: side = far}
controls: [women - men]
"""


def write(path: Path, head: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """A CSV file."""
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([head, *rows])


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """People of the left rate lower than those of the right by about 1; personas by 3; both do so
    on near and far items alike, and women as men do."""
    folder = tmp_path_factory.mktemp("fidelity")
    rng = np.random.default_rng(4)
    raters = [
        (f"r{at}", -2 if at % 2 else 3, ("Woman", "Man")[at // 2 % 2]) for at in range(RATERS)
    ]
    write(folder / "raters.csv", ["rater", "ideology", "gender"], raters)
    people, panel, items = [], [], []
    for at in range(ITEMS):
        level, side = 3 + 0.3 * rng.normal(), ("near", "far")[at % 2]
        items.append((f"i{at}", side))
        for place in rng.choice(RATERS, 12, replace=False):
            shift = -0.5 if place % 2 else 0.5
            score = round(np.clip(level + shift + rng.normal(0, 0.4), 1, 5), 2)
            people.append((f"i{at}", f"r{place}", score, side))
        for name, shift in (("left", -1.5), ("right", 1.5), ("woman", 0.0)):
            panel.append((f"i{at}", name, round(level + shift + rng.normal(0, 0.2), 2)))
    write(folder / "people.csv", ["item", "rater", "score", "side"], people)
    write(folder / "plain.csv", ["item", "rater", "score"], [row[:3] for row in people])
    write(folder / "panel.csv", ["item", "rater", "score"], panel)
    write(folder / "items.csv", ["item", "side"], items)
    (folder / "groups.yaml").write_text(GROUPS)
    return folder


def run(folder: Path, *more: str, **other: str) -> Result:
    """The command on the files of a folder; `other` names those in place of them."""
    names = {"panel": "panel.csv", "human": "people.csv", "raters": "raters.csv"}
    names = {**names, "groups": "groups.yaml", **other}
    given = {name: str(folder / file) for name, file in names.items()}
    options = [part for name in list(given)[1:] for part in (f"--{name}", given[name])]
    return CliRunner().invoke(command, ["people", "fidelity", given["panel"], *options, *more])


def rows_in(stdout: str) -> list[dict[str, Any]]:
    """The contrasts of a document."""
    rows: list[dict[str, Any]] = json.loads(stdout)["tables"]["contrasts"]
    return rows


def test_json_has_a_row_for_each_contrast(files: Path) -> None:
    """Threefold differences are found as exaggerated, people's is about -1, an interaction that is
    none is not measurable, and a control without personas has people's difference alone."""
    result = run(files, "--json")
    assert result.exit_code == 0, result.output
    rows = rows_in(result.stdout)
    assert [(row["contrast"], row["stratum"], row["control"]) for row in rows] == [
        ("left-right", "all", False),
        ("left-right", "side = near", False),
        ("left-right", "(side = near) - (side = far)", False),
        ("women-men", "all", True),
    ]
    whole, near, interaction, control = rows
    assert whole["human"]["low"] < -1 < whole["human"]["high"]
    assert whole["panel"]["value"] == pytest.approx(-3, abs=0.1)
    assert 1 < whole["ratio"]["low"] < whole["ratio"]["value"] < whole["ratio"]["high"]
    assert [row["verdict"] for row in rows[:2]] == ["caricature"] * 2
    assert (whole["n_items"], whole["n_raters"], near["n_items"]) == (90, 40, 45)
    assert (interaction["verdict"], interaction["ratio"].get("low")) == ("not measurable", None)
    assert (control["panel"]["value"], control["verdict"]) == (None, "not measurable")
    assert control["panel"]["reason"] == control["reason"]
    assert (control["n_raters_a"], control["n_raters_b"]) == (20, 20)
    assert abs(whole["split_half"]) < 0.3


def test_the_conclusion_comes_last(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The terminal says what the personas are below the table, and why the rest is not
    measurable; nothing is wider than 80 columns."""
    monkeypatch.setenv("COLUMNS", "80")
    result = run(files, "--full")
    lines = result.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    said = " ".join(result.stdout.split())
    assert concluded_in(result.stdout).startswith(
        "The personas are a caricature on left - right and left - right (side = near)"
    )
    assert "use means over many items only" in said
    assert said.index("Differences between groups") < said.index("a caricature")
    assert "Undefined: personas (women - men); ratio (women - men): no persona stands for" in said


@pytest.mark.parametrize("name", ["csv", "latex", "markdown"])
def test_other_formats_have_the_same_table(files: Path, name: str) -> None:
    """What the terminal shows is written in the other formats."""
    result = run(files, "--format", name)
    assert result.exit_code == 0, result.output
    assert "caricature" in result.stdout


@pytest.mark.parametrize(
    ("requirement", "status", "said"),
    [
        ("fidelity[left-right] != caricature", 3, "is not met: caricature."),
        ("fidelity[left-right] == as people", 3, "is not met: caricature."),
        ("fidelity[left - right] == caricature", 0, "is met: caricature."),
        ('fidelity[left-right, "side = near"] != reversed', 0, "is met: caricature."),
        (
            "fidelity[women-men] == as people",
            3,
            "is not met: not measurable (no persona stands for one of its groups).",
        ),
        (
            "fidelity_ratio[left-right] > 1",
            0,
            "is met: 2.97 (95 % interval over items and raters 2.",
        ),
        ("fidelity_ratio[left-right] < 2", 3, "the whole interval is at or above 2."),
        ("fidelity[left-right] != carricature", 2, "expected one of caricature;"),
        ("fidelity[left-right] > 2", 2, "expected == or != and one of as people, "),
        ("fidelity_ratio[left-right] != caricature", 2, "expected a number"),
        ("fidelity[up-down] != caricature", 2, "fidelity[left-right];"),
    ],
)
def test_a_verdict_can_be_required(files: Path, requirement: str, status: int, said: str) -> None:
    """By `==` and `!=`; a verdict that there is not is refused, as it would always be met."""
    result = run(files, "--require", requirement)
    assert result.exit_code == status, result.output
    assert said in " ".join(result.stderr.split())


def test_topics_are_prompts(files: Path, tmp_path: Path) -> None:
    """By topics of people's file the intervals are over prompts, in figures and in what is said;
    without any, and of a single one, the remark says what items are taken as."""
    lines = [line.split(",") for line in (files / "people.csv").read_text().splitlines()[1:]]
    for name, n in (("ten", 10), ("one", 1)):
        rows = [[*line, f"t{int(line[0][1:]) // 3 % n}"] for line in lines]
        write(tmp_path / f"{name}.csv", ["item", "rater", "score", "side", "topic"], rows)
    ten, options = str(tmp_path / "ten.csv"), ("--map-human", "prompt=topic,score=score")
    plain, whole = (
        rows_in(run(files, *more, "--json", human=ten).stdout)[0] for more in ((), options)
    )
    assert (plain["n_prompts"], whole["n_prompts"], whole["n_items"]) == (0, 10, 90)
    assert (plain["human"]["over"], plain["panel"]["over"]) == ("items and raters", "items")
    assert (whole["human"]["over"], whole["panel"]["over"]) == ("prompts and raters", "prompts")
    assert whole["human"]["value"] == plain["human"]["value"]
    assert whole["human"]["low"] != plain["human"]["low"]
    assert whole["panel"]["low"] != plain["panel"]["low"]
    required = ("--require", "human_difference[left-right] < 0")
    said = " ".join(run(files, *options, *required, "--full", human=ten).output.split())
    assert "People's intervals are over prompts and raters, the personas' over prompts;" in said
    assert "10 prompts" in said
    assert "No prompts are named" not in said
    assert "No prompts are named, so the intervals take items" in " ".join(
        run(files, "--full").output.split()
    )
    # A panel whose prompts are one for each item leaves topics to people's file.
    lines = [line.split(",") for line in (files / "panel.csv").read_text().splitlines()[1:]]
    rows = [[*line, line[0]] for line in lines]
    write(tmp_path / "own.csv", ["item", "rater", "score", "prompt"], rows)
    own = run(files, *options, "--json", panel=str(tmp_path / "own.csv"), human=ten)
    assert rows_in(own.stdout)[0] == whole
    one = run(files, *options, "--full", human=str(tmp_path / "one.csv"))
    assert "All items are of one prompt" in " ".join(one.output.split())


def test_strata_come_from_a_file_of_items(files: Path) -> None:
    """`--items` gives the attributes of items that no file of ratings has; without it the error
    names the attribute and those that there are."""
    there = run(files, "--items", str(files / "items.csv"), "--json", human="plain.csv")
    assert rows_in(there.stdout)[1]["n_items"] == 45
    without = run(files, human="plain.csv")
    assert without.exit_code == 2
    assert "found the attribute 'side'; expected one of rater, score" in without.stderr


def test_a_run_of_the_political_set(files: Path, tmp_path: Path) -> None:
    """A run's personas stand for groups, its metadata give strata, and several models are a sample
    of models; the columns of wide ratings are named by --map-human and --dimension."""

    def answer(request: ModelRequest) -> str:
        asked = str(request)
        level = 1 + int(re.findall(r"text (\d+)", asked)[-1]) % 3
        return json.dumps({"offensiveness": level + ("on the right" in asked)})

    political = load_definition(shipped()["political"], PersonaSet).personas
    models = [ScriptedModel(answer, model=name) for name in ("one", "two")]
    batch = [
        Response(
            id=f"i{at}", prompt="?", text=f"A text {at}.", system="s",
            metadata={"side": ("near", "far")[at % 2]},
        )
        for at in range(ITEMS)
    ]  # fmt: skip
    Panel([political[0], political[2]], models, "offensiveness").score(batch, out=tmp_path / "run")
    text = GROUPS.replace("personas: left}", "personas: left-annotator}")
    text = text.replace("personas: right}", "personas: right-annotator}")
    text = text.replace(", personas: [woman]", "").replace("against: side = far", "")
    text = text.replace("  - {contrast: left - right, within: side = near, }\n", "")
    (tmp_path / "groups.yaml").write_text(text)
    options = ("--map-human", "score=score", "--dimension", "offensiveness", "--json")
    result = run(
        files, *options, panel=str(tmp_path / "run"), groups=str(tmp_path / "groups.yaml"),
        human="plain.csv",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    whole, near, _ = rows_in(result.stdout)
    assert (whole["panel"]["value"], whole["panel"]["low"]) == (-1.0, -1.0)
    assert (whole["panel"]["over"], whole["dimension"]) == ("items and models", "offensiveness")
    assert (near["n_items"], whole["verdict"]) == (45, "as people")
    lines = (files / "plain.csv").read_text().replace(",r0,", ",r0,1")
    (tmp_path / "plain.csv").write_text(lines)
    other = run(
        files, *options, panel=str(tmp_path / "run"), groups=str(tmp_path / "groups.yaml"),
        human=str(tmp_path / "plain.csv"),
    )  # fmt: skip
    assert other.exit_code == 2
    assert "on 'offensiveness'; expected 1 to 5, the scale of" in other.stderr


BAD = {
    "no such persona": (
        {"groups.yaml": GROUPS.replace("personas: left}", "personas: lefty}")},
        "groups.left.personas: found the rater 'lefty'; expected raters of",
    ),
    "unknown attribute": (
        {"groups.yaml": GROUPS.replace("ideology < 0", "idology < 0")},
        "groups.left.condition: found the attribute 'idology'; expected one of ideology, gender "
        "(did you mean 'ideology'?)",
    ),
    "nobody in a group": (
        {"groups.yaml": GROUPS.replace("gender = woman", "gender = female")},
        "found 'gender = female', which no rater of",
    ),
    "text compared as a number": (
        {"groups.yaml": GROUPS.replace("ideology < 0", "gender < 0")},
        "raters.csv: gender: found 'Man', 'Woman'; expected a number, as the condition",
    ),
    "no item in a stratum": (
        {"groups.yaml": GROUPS.replace("side = near}", "side = middle}")},
        "side = middle: found no item that meets it; expected one item or more",
    ),
    "strata that overlap": (
        {"groups.yaml": GROUPS.replace("side = far", "side != far")},
        "expected strata without a common item",
    ),
    "no such group": (
        {"groups.yaml": GROUPS.replace("[women - men]", "[women - man]")},
        "the contrast 'women - man'; expected two different groups with a minus between them, of "
        "left, right, women, men (did you mean 'men'?)",
    ),
    "the same contrast twice": (
        {"groups.yaml": GROUPS.replace("[women - men]", "[women - men, women-men]")},
        "found the contrast 'women-men' twice",
    ),
    "contrast without personas": (
        {"groups.yaml": GROUPS.replace("controls: [women - men]", "  - women - men")},
        "found no personas for 'men'",
    ),
    "against without within": (
        {"groups.yaml": GROUPS.replace("within: side = near, against", "against")},
        "found against without within",
    ),
    "a condition that is none": (
        {"groups.yaml": GROUPS.replace("ideology < 0", "ideology <")},
        "groups.left.condition: found the end of the condition; expected a value behind <",
    ),
    "an unknown key": (
        {"groups.yaml": GROUPS.replace("condition: ideology < 0", "when: ideology < 0")},
        "groups.left.condition: found nothing; expected a value",
    ),
    "empty groups": ({"groups.yaml": ""}, "found an empty file"),
    "raters without attributes": (
        {"raters.csv": "rater\nr0\n"},
        "raters.csv: found only the column 'rater'; expected further columns: attributes",
    ),
    "no column rater": (
        {"raters.csv": "name,age\nr0,3\n"},
        "rater: found no such field, only 'name', 'age'; expected 'rater'\n",
    ),
    "empty raters": ({"raters.csv": ""}, "raters.csv: found no lines; expected a line for each"),
    "a rater twice": (
        {"raters.csv": "rater,ideology,gender\nr0,1,man\nr0,1,man\n"},
        "raters.csv:3: rater: found 'r0' again, first on line 2; expected each rater once",
    ),
    "other raters": (
        {"raters.csv": "rater,ideology,gender\nx,1,man\n"},
        "found none of the raters of",
    ),
    "an item in two strata": (
        {"people.csv": "item,rater,score,side\ni0,r0,1,near\ni0,r1,1,far\n"},
        "people.csv:3: side: found 'far', but 'near' on a line before",
    ),
    "ranks": (
        {"people.csv": "item,rater,rank,side\ni0,r0,1,near\n"},
        "found ranks; expected scores",
    ),
    "labels": (
        {
            "people.csv": "item,rater,label,side\ni0,r0,bad,near\n",
            "panel.csv": "item,rater,label\ni0,left,bad\ni0,right,bad\ni0,woman,good\n",
        },
        "found labels of categories only; expected scores",
    ),
    "other items": (
        {"people.csv": "item,rater,score,side\nz,r0,1,near\n"},
        "found only items that",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_plain_sentence(files: Path, tmp_path: Path, case: str) -> None:
    """Whatever is wrong is named with the file and what is expected: exit status 2."""
    changed, said = BAD[case]
    for name, text in changed.items():
        (tmp_path / name).write_text(text)
    paths = {
        file.stem if file.stem != "people" else "human": str(
            tmp_path / file.name if file.name in changed else file
        )
        for file in (files / name for name in ("panel.csv", "people.csv", "raters.csv"))
    }
    paths["groups"] = str((tmp_path if "groups.yaml" in changed else files) / "groups.yaml")
    result = run(files, **paths)
    assert result.exit_code == 2, result.output
    assert said in result.stderr
    assert "Traceback" not in result.stderr


def test_only_items_that_both_sides_rated_count(files: Path, tmp_path: Path) -> None:
    """Items that one persona of a contrast left out are left out of people's difference, too."""
    lines = (files / "panel.csv").read_text().splitlines()
    gone = {f"i{at},left" for at in range(20)}
    kept = [line for line in lines if line.rpartition(",")[0] not in gone]
    (tmp_path / "panel.csv").write_text("\n".join(kept) + "\n")
    rest = (files / "people.csv").read_text().splitlines()
    names = {f"i{at}" for at in range(20)}
    (tmp_path / "people.csv").write_text(
        "\n".join(line for line in rest if line.partition(",")[0] not in names) + "\n"
    )
    partial, whole = (
        rows_in(run(files, "--json", panel=str(tmp_path / "panel.csv"), human=people).stdout)[0]
        for people in ("people.csv", str(tmp_path / "people.csv"))
    )
    assert partial["n_items"] == whole["n_items"] == 70
    assert partial["human"]["value"] == pytest.approx(whole["human"]["value"])


def test_groups_may_be_called_by_numbers(files: Path, tmp_path: Path) -> None:
    """YAML reads 1990 as a number; the contrast is called by both names."""
    text = GROUPS.replace("left:", "1990:").replace("left -", "1990 -")
    (tmp_path / "groups.yaml").write_text(text)
    rows = rows_in(run(files, "--json", groups=str(tmp_path / "groups.yaml")).stdout)
    assert rows[0]["contrast"] == "1990-right"


def test_raters_without_a_line_are_left_out_and_counted(files: Path, tmp_path: Path) -> None:
    """Some raters of whom nothing is known, and cells that are empty, belong to no group."""
    lines = (files / "raters.csv").read_text().splitlines()
    lines[1] = "r0,?,Woman"
    (tmp_path / "raters.csv").write_text("\n".join(lines[:-2]) + "\n")
    result = run(files, "--full", raters=str(tmp_path / "raters.csv"))
    assert result.exit_code == 0, result.output
    assert "2 of 40 raters have no line in" in " ".join(result.stdout.split())
    rows = rows_in(run(files, "--json", raters=str(tmp_path / "raters.csv")).stdout)
    assert rows[0]["n_raters"] == 37


def test_people_who_are_on_both_sides_are_named(files: Path, tmp_path: Path) -> None:
    """Groups with raters in common, and a panel whose raters are the people themselves, are said to
    be so; of other groups and panels nothing is said."""
    groups = """
groups:
  women: {condition: gender = woman, personas: [r1, r5]}
  low: {condition: ideology < 0, personas: [r2]}
contrasts: [women - low]
"""
    (tmp_path / "groups.yaml").write_text(groups)
    done = run(files, "--full", panel="people.csv", groups=str(tmp_path / "groups.yaml"))
    assert done.exit_code == 0, done.output
    said = " ".join(done.output.split())
    # Of 40 raters every other one is of the left, and of each two the first half women.
    assert "10 raters are in both women and low (20 and 20 raters)" in said
    assert re.search(r"3 raters of \S+people.csv have the name of a rater of", said)
    assert "'r1', 'r2', 'r5'" in said
    plain = " ".join(run(files, "--full").output.split())
    assert "in both" not in plain
    assert "the name of a rater" not in plain


def test_a_rater_is_known_by_its_whole_name_alone(files: Path, tmp_path: Path) -> None:
    """`siteB/r3` is not `r3`: of people with other names nothing is known, and they are refused."""
    lines = (files / "people.csv").read_text().splitlines()
    cells = [line.split(",") for line in lines[1:]]
    others = [",".join([item, f"siteB/{rater}", *rest]) for item, rater, *rest in cells]
    (tmp_path / "people.csv").write_text("\n".join([lines[0], *others]) + "\n")
    result = run(files, human=str(tmp_path / "people.csv"))
    assert result.exit_code == 2
    assert "Traceback" not in result.output


@pytest.mark.parametrize(
    ("folder", "score", "groups", "items", "stratum", "expected"),
    [
        ("media_bias", "biased", "political_ideology < 0|political_ideology > 0",
         "sentences.csv", "outlet_side = center", (-0.147, -0.250, -0.045)),
        ("media_bias", "opinion", "political_ideology < 0|political_ideology > 0",
         "sentences.csv", "outlet_side = left", (-0.223, -0.320, -0.128)),
        ("offensiveness", "offensiveness",
         "age in (18-24, 25-29, 30-34)|age in (50-54, 55-59, 54-59, 60-64, '>65')",
         "comments.csv", None, (-0.213, -0.345, -0.053)),
        ("offensiveness", "offensiveness", "gender = woman|gender = man",
         "comments.csv", None, (-0.028, -0.201, 0.113)),
    ],
)  # fmt: skip
def test_public_ratings_have_their_differences(
    tmp_path: Path, folder: str, score: str, groups: str, items: str, stratum: str | None,
    expected: tuple[float, float, float],
) -> None:  # fmt: skip
    """People's differences are those that resampling items and raters gave, to the last digit, and
    their intervals to 0.04: resampling both counts the noise of single ratings twice."""
    data = DATA / folder
    if not data.exists():
        pytest.skip(f"{data} is absent: set PERSONA_PANEL_DATA to where the data lie")
    a, b = groups.split("|")
    within = f", within: {stratum}" if stratum else ""
    (tmp_path / "groups.yaml").write_text(
        f'groups:\n  a: {{condition: "{a}", personas: p}}\n  b: {{condition: "{b}", personas: q}}\n'
        f"contrasts: [{{contrast: a - b{within}}}]\n"
    )
    with (data / items).open(newline="") as file:
        names = [row["item"] for row in csv.DictReader(file)]
    rows = [(name, rater, at) for name in names for at, rater in enumerate("pq")]
    write(tmp_path / "panel.csv", ["item", "rater", "score"], rows)
    result = run(
        tmp_path, "--map-human", f"score={score}", "--items", str(data / items), "--json",
        human=str(data / "ratings.csv"), raters=str(data / "raters.csv"),
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    [row] = rows_in(result.stdout)
    value, low, high = expected
    human = row["human"]
    assert human["value"] == pytest.approx(value, abs=0.0006)
    assert (human["low"], human["high"]) == pytest.approx((low, high), abs=0.04)
    assert -0.2 < row["split_half"] < 0.2
