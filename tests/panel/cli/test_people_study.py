"""A study from `people make --design scrub` to the panel beside people, with simulated raters whose
agreement is known.

A simulated rater gives the true score or rank with probability 1 − e, else one at random. True
scores and ranks are uniform, as random ones are. Two ratings of a text are then both true with
probability (1 − e)², and else as far apart as two of different texts, whatever the distance is: so
Krippendorff's α is (1 − e)², and Kendall's W of m raters has the mean (1 + (m − 1)(1 − e)²) / m.
"""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from random import Random

import pytest
from click.testing import CliRunner, Result

from persona_panel import Panel, Persona, Response
from persona_panel.cli.main import command
from persona_panel.rubrics import ModelRequest
from persona_panel.study.collection import answers_by
from persona_panel.study.exports import packet_in
from persona_panel.study.packet import ShownDimension, ShownText
from persona_panel.testing import ScriptedModel

N_PROMPTS, READINGS, ERROR = 24, 6, 0.3
KNOWN = (1 - ERROR) ** 2
DISCIPLINES = ("history", "law", "sociology")
CARELESS = "expert-3"


def persona_panel(*words: str | Path) -> Result:
    return CliRunner().invoke(command, ["people", *map(str, words)])


def true_score(text: str) -> int:
    return int(re.findall(r"worth (\d+)", text)[-1])


def answer(request: ModelRequest) -> str:
    """The true score of the text, or a point more."""
    score = true_score(str(request))
    names = ("conceptual_clarity", "evidential_grounding", "contextual_relevance",
             "pluralistic_engagement", "argumentative_soundness")  # fmt: skip
    scores = {name: min(10, score + Random(f"{name}{request}").randrange(2)) for name in names}
    return json.dumps(scores | {"abstained": False})


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A panel's run on six texts to each prompt, whose true scores are drawn of 1 to 10."""
    draw = Random(1)
    responses = [
        Response(
            id=f"t{n}", prompt_id=f"p{p}", prompt=f"What of topic {p}?", system=f"writer{n}",
            text=f"Words of a kind, worth {score} in truth.",
        )
        for p in range(N_PROMPTS)
        for n, score in enumerate(draw.sample(range(1, 11), 6))
    ]  # fmt: skip
    folder = tmp_path_factory.mktemp("run") / "run"
    personas = [
        Persona(id=name, label=name.title(), axis="disciplinary", description=f"You teach {name}.")
        for name in DISCIPLINES[:2]
    ]
    panel = Panel(rubric="scrub", personas=personas, models=[ScriptedModel(answer)])
    panel.score(responses, out=folder)
    return folder


def simulated(page: Path) -> dict[str, object]:
    """The answers of a simulated rater; attention checks are followed, but by the careless one."""
    packet, draw = packet_in(page), Random(page.stem)
    merits: dict[str, float] = {}
    for text_set in packet.sets:
        if draw.random() < ERROR:
            order = draw.sample(range(len(text_set.texts)), len(text_set.texts))
            merits |= {text.id: place for text, place in zip(text_set.texts, order, strict=True)}

    def merit(text: ShownText) -> float:
        if (asked := re.search(r"give it rank (\d)", text.text)) is not None:
            return draw.random() if page.stem == CARELESS else -int(asked[1])
        return merits.get(text.id, float(true_score(text.text)))

    def score(text: ShownText, dimension: ShownDimension) -> int:
        if (asked := re.search(r"rate it (\d+) on every scale", text.text)) is not None:
            return 5 if page.stem == CARELESS else int(asked[1])
        return draw.randint(1, 10) if draw.random() < ERROR else true_score(text.text)

    return answers_by(packet, score, merit, reason=lambda text: "It argues.")


@pytest.fixture(scope="module")
def study(run: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Path]]:
    """The study of these texts by twelve experts of three disciplines, and their answers."""
    folder = tmp_path_factory.mktemp("study")
    rows = [f"expert-{n},{DISCIPLINES[n % 3]}" for n in range(12)]
    (folder / "experts.csv").write_text("\n".join(["rater,discipline", *rows]) + "\n")
    made = persona_panel(
        "make", run / "responses.jsonl", "--design", "scrub", "--experts", folder / "experts.csv",
        "--readings", str(READINGS), "--out", folder / "study",
    )  # fmt: skip
    assert made.exit_code == 0, made.output
    assert "An attention check is failed where any answer to it is not the one" in made.stdout
    files = []
    for page in sorted((folder / "study" / "packets").glob("*.html")):
        files.append(folder / f"{page.stem}.json")
        files[-1].write_text(json.dumps(simulated(page)), "utf-8")
    assert len(files) == 12
    return folder / "study", files


def test_a_study_recovers_the_known_agreement_and_stands_beside_the_panel(
    run: Path, study: tuple[Path, list[Path]], tmp_path: Path
) -> None:
    """Each text has exactly the readings that were asked for, two of each discipline; α of ranks
    and of each dimension is near (1 − e)² and W near its mean; the panel, which knows the truth,
    is compared task by task, and its page names people."""
    folder, files = study
    out = tmp_path / "ratings.csv"
    done = persona_panel("collect", folder, *files, "--out", out, "--panel", run, "--json")
    assert done.exit_code == 0, done.output
    with (tmp_path / "ratings-rankings.csv").open() as file:
        ranks = list(csv.DictReader(file))
    read: dict[str, list[str]] = {}
    for row in ranks:
        read.setdefault(row["item"], []).append(row["group"])
    assert {tuple(sorted(groups)) for groups in read.values()} == {tuple(sorted(2 * DISCIPLINES))}
    tables = json.loads(done.stdout)["tables"]
    agreement = {(row["task"], row["dimension"]): row for row in tables["agreement"]}
    assert len(agreement) == 1 + 6
    for (task, dimension), row in agreement.items():
        if dimension != "composite":
            alpha = row["krippendorff_alpha"]
            assert alpha["value"] == pytest.approx(KNOWN, abs=0.08), (task, dimension)
            assert alpha["low"] < KNOWN < alpha["high"]
        assert row["kendall_w"]["p"] < 0.001
    w = agreement["ranks", "all"]["kendall_w"]["value"]
    assert w == pytest.approx((1 + (READINGS - 1) * KNOWN) / READINGS, abs=0.08)
    for task in ("ranks", "scores"):
        tau = {
            row["dimension"]: row["estimate"]["value"]
            for row in tables[f"panel_{task}"]
            if (row["statistic"], row["by"]) == ("tau_b", None) and row["group"] != "humans"
        }
        assert tau and min(tau.values()) > 0.6
    page = (tmp_path / "ratings-panel.html").read_text()
    assert "May the panel stand in for people?" in page
    assert "12 people" in page


def test_a_run_of_other_texts_is_refused_before_anything_is_written(
    run: Path, study: tuple[Path, list[Path]], tmp_path: Path
) -> None:
    """A run that judged none of the study's texts, by a rubric that shares no dimension, is named
    with both, without an option that the command lacks; so is an unknown figure."""
    folder, files = study
    texts = [Response(id="t", prompt_id="p", prompt="What?", text="It is worth 4.", system="s")]
    panel = Panel(rubric="debate-speech", personas="none", models=[ScriptedModel("3")])
    panel.score(texts, out=tmp_path / "other")
    words = ("collect", folder, *files, "--out", tmp_path / "r.csv")
    done = persona_panel(*words, "--panel", tmp_path / "other")
    assert done.exit_code == 2
    assert f"found {6 * N_PROMPTS} of the study's {6 * N_PROMPTS} texts not judged" in done.stderr
    assert "found a run by the rubric debate-speech; expected dimensions and" in done.stderr
    assert "--allow-unmatched" not in done.stderr
    assert persona_panel(*words, "--require", "tau_x > 0").exit_code == 2
    assert not [*tmp_path.glob("r*")]


def test_failed_attention_checks_are_reported_and_left_out_by_a_stated_rule_alone(
    study: tuple[Path, list[Path]], tmp_path: Path
) -> None:
    """The careless rater is named and kept; with --exclude-failed there is no rating of hers, and
    that is said."""
    folder, files = study
    kept = persona_panel("collect", folder, *files, "--out", tmp_path / "kept.csv")
    assert f"Attention checks failed, raters kept: {CARELESS} 2 of 2." in " ".join(
        kept.stdout.split()
    )
    assert f",{CARELESS}," in (tmp_path / "kept.csv").read_text()
    out = tmp_path / "left.csv"
    left = persona_panel("collect", folder, *files, "--out", out, "--exclude-failed", "2")
    assert f"Attention checks failed, raters left out for it: {CARELESS} 2 of 2." in " ".join(
        left.stdout.split()
    )
    assert f",{CARELESS}," not in out.read_text()
    assert f",{CARELESS}," not in (tmp_path / "left-rankings.csv").read_text()
    named = persona_panel("collect", folder, *files, "--out", tmp_path / "3.csv",
                          "--exclude-failed", "3")  # fmt: skip
    assert f"raters kept: {CARELESS} 2 of 2." in " ".join(named.stdout.split())
    hers = [file for file in files if file.stem == CARELESS]
    nobody = persona_panel("collect", folder, *hers, "--out", out, "--exclude-failed", "1",
                           "--overwrite")  # fmt: skip
    assert nobody.exit_code == 2
    assert "leave out all who answered, 1 rater;" in nobody.stderr
    assert out.is_file()


def test_the_rule_of_the_design_leaves_out_without_an_option(run: Path, tmp_path: Path) -> None:
    """`people make --exclude-failed` is stated when the study is made, and holds at collection."""
    made = persona_panel(
        "make", run / "responses.jsonl", "--design", "scrub", "--raters", "3", "--readings", "2",
        "--exclude-failed", "1", "--out", tmp_path / "study",
    )  # fmt: skip
    assert "`people collect` leaves out raters who fail 1 or more." in made.stdout
    files = []
    for page in sorted((tmp_path / "study" / "packets").glob("*.html")):
        files.append(tmp_path / f"{page.stem}.json")
        document = answers_by(packet_in(page), lambda text, dimension: 5, lambda text: 0)
        files[-1].write_text(json.dumps(document if page.stem == "rater-02" else simulated(page)))
    done = persona_panel("collect", tmp_path / "study", *files, "--out", tmp_path / "r.csv")
    assert "left out for it: rater-02 2 of 2." in " ".join(done.stdout.split())
    assert {line.split(",")[1] for line in (tmp_path / "r.csv").read_text().splitlines()[1:]} == {
        "rater-01", "rater-03",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["--raters", "4", "--readings", "5"], "--readings 5 with 4 raters: a prompt of 6 texts"),
        (["--raters", "200", "--readings", "5"], "there are 120 sets, so that some raters would"),
        (["--readings", "5"], "give --raters N or --experts N"),
        (["--raters", "4"], "give --per-rater N or --readings N"),
        (
            ["--raters", "4", "--readings", "2", "--per-rater", "6"],
            "give --per-rater N or --readings N",
        ),
        (["--experts", "odd.csv", "--readings", "2"], "odd.csv: discipline: found no discipline"),
        (
            ["--experts", "taken.csv", "--readings", "2"],
            "discipline: found 'all'; expected another",
        ),
        (
            ["--experts", "taken.csv", "--readings", "2"],
            "rater: found 'REN', 'ren'; expected names",
        ),
        (["--experts", "taken.csv", "--readings", "2"], "rater: found '../ben'; expected letters"),
    ],
)
def test_designs_that_cannot_be_are_refused(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], found: str
) -> None:
    """With exit status 2, a sentence with what would do, and no folder."""
    monkeypatch.chdir(tmp_path)
    Path("odd.csv").write_text("rater,years\nann,3\n")
    Path("taken.csv").write_text("rater,discipline\nann,all\n../ben,law\nREN,law\nren,law\n")
    done = persona_panel("make", run / "responses.jsonl", *words, "--out", "study")
    assert done.exit_code == 2
    assert found in done.stderr
    assert not Path("study").exists()


def test_what_is_given_goes_before_the_design_by_name(run: Path, tmp_path: Path) -> None:
    """--per-rater takes the place of the design's readings, --attention of its checks."""
    made = persona_panel(
        "make", run / "responses.jsonl", "--design", "scrub", "--raters", "24", "--per-rater", "12",
        "--attention", "0", "--out", tmp_path / "study", "--json",
    )  # fmt: skip
    assert made.exit_code == 0, made.output
    spans = {row["of"]: (row["least"], row["most"])
             for row in json.loads(made.stdout)["tables"]["spans"]}  # fmt: skip
    assert spans["texts_per_rater"] == (12, 12)


def test_control_prompts_of_ones_own_are_seen_by_all_raters(run: Path, tmp_path: Path) -> None:
    """Each session begins with the prompts that --calibration names, and no other is for it; a name
    that no prompt has is refused."""
    words = ("make", run / "responses.jsonl", "--raters", "4", "--readings", "4", "--calibration")
    assert persona_panel(*words, "p7,p3", "--out", tmp_path / "study").exit_code == 0
    key = json.loads((tmp_path / "study" / "key" / "key.json").read_text())
    for packet in key["packets"]:
        roles = [(each["role"], each["prompt_id"]) for each in packet["sets"]]
        assert {name for role, name in roles[:2] if role == "calibration"} == {"p3", "p7"}
        assert {role for role, _ in roles[2:]} == {"main"}
    refused = persona_panel(*words, "p7,p99", "--out", tmp_path / "other")
    assert refused.exit_code == 2
    assert "no prompt is called 'p99'; prompts are 'p0', " in refused.stderr


def test_ranks_in_incomplete_blocks_have_a_w_of_their_own(tmp_path: Path) -> None:
    """Nine texts to a prompt make blocks of six: nobody ranks a whole prompt, so that W is that of
    incomplete rankings, and it is said that α of such ranks is not to be gone by."""
    rows = [
        {"prompt_id": f"p{p}", "prompt": "What?", "id": f"t{n}", "system": f"s{n}",
         "response": f"Words, worth {n + 1} in truth."}
        for p in range(6)
        for n in range(9)
    ]  # fmt: skip
    (tmp_path / "texts.jsonl").write_text("\n".join(map(json.dumps, rows)))
    made = persona_panel("make", tmp_path / "texts.jsonl", "--raters", "6", "--readings", "4",
                         "--out", tmp_path / "study")  # fmt: skip
    assert "--per-rater that" not in made.stdout
    assert "Six texts to a prompt, or fewer, avoid it." in made.stdout
    files = []
    for page in sorted((tmp_path / "study" / "packets").glob("*.html")):
        files.append(tmp_path / f"{page.stem}.json")
        files[-1].write_text(json.dumps(simulated(page)))
    out = tmp_path / "r.csv"
    done = persona_panel("collect", tmp_path / "study", *files, "--out", out, "--full")
    assert "go by W of incomplete rankings, not by α" in " ".join(done.stdout.split())
    again = persona_panel("collect", tmp_path / "study", *files, "--out", out, "--json")
    [ranks] = [row for row in json.loads(again.stdout)["tables"]["agreement"]
               if row["task"] == "ranks"]  # fmt: skip
    assert ranks["kendall_w_incomplete"]["value"] > 0.4
    assert "reason" in ranks["kendall_w"]
