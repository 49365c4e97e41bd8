"""`people votes`: the effective votes of personas, replicates and models of a run."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from click.testing import CliRunner

from persona_panel import Panel, Persona, Response, load_ratings, load_run, votes
from persona_panel.analyses.votes import votes_conclusion
from persona_panel.cli.main import command
from persona_panel.results.conclusions.wording import ONE_PERSON
from persona_panel.rubrics import ModelRequest
from persona_panel.runs.votes import DimensionVotes, VotesReport
from persona_panel.statistics import Estimate
from persona_panel.statistics.votes import Votes
from persona_panel.testing import ScriptedModel

PERSONAS = [
    Persona(id=name, label=name.title(), axis="own", description=f"You are {name}.")
    for name in ("ann", "bob", "cat")
]
N = 40
LIKE_WITH_LIKE = "The differences compare like with like."


def answers(model: str, own_view: float) -> Callable[[ModelRequest], str]:
    """The essay's quality, 1 to 5, and by chance a point more or less; personas add their own."""
    drawn = Random(model)

    def answer(request: ModelRequest) -> str:
        asked = str(request)
        essay = int(re.findall(r"essay (\d+)", asked)[-1])
        score = 1 + essay % 5 + drawn.choice((-1, 0, 0, 1))
        for persona in PERSONAS:
            if persona.description in asked and Random(f"{persona.id}{essay}").random() < own_view:
                score += Random(f"{persona.id}{essay}way").choice((-2, 2))
        return json.dumps({"good_opening": min(max(score, 1), 5)})

    return answer


def scored(out: Path, own_view: float, *, plain_judge: bool = True) -> Path:
    models = [ScriptedModel(answers(name, own_view), model=name) for name in ("one", "two")]
    panel = Panel(PERSONAS, models, "debate-speech", plain_judge=plain_judge, replicates=2)
    panel.score(
        [
            Response(id=f"r{i}", prompt=f"Why {i // 2}?", text=f"An essay {i}.", system=f"s{i % 2}")
            for i in range(N)
        ],
        out=out,
    )
    return out


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """40 responses to 20 prompts by three personas with a view of their own on most."""
    return scored(tmp_path_factory.mktemp("votes") / "run", 0.8)


def test_a_number_of_votes_has_the_digits_of_its_interval() -> None:
    """1.03 votes are not said to be 1.0 beside an interval in hundredths; 1.00 is one vote."""
    for number, told in (
        (1.03, "1.03 effective votes (95 %"),
        (1.001, "1.00 effective vote (95 %"),
    ):
        one = Votes("personas", 1, 5, 5, 0.98, Estimate(number, 1.0, 1.05, over="prompts"))
        (first, *_) = votes_conclusion(
            VotesReport((DimensionVotes("composite", (one,), ()),), 0, 5, False, None)
        )
        assert told in first


def document(*arguments: str) -> dict[str, Any]:
    result = CliRunner().invoke(command, ["people", "votes", *arguments, "--json"])
    assert result.exit_code == 0, result.stdout
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def tables(*arguments: str) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = document(*arguments)["tables"]
    return found


def test_personas_with_views_of_their_own_add_votes(folder: Path) -> None:
    """They have more than replicates of the judge without a persona, and more than models."""
    result = CliRunner().invoke(command, ["people", "votes", str(folder), "--full"])
    said = (
        "Personas raise the effective number of votes (independent judges) over as many calls to "
        "a plain judge by "
    )
    assert said in " ".join(result.stdout.split())
    assert re.search(
        r"At the same number of judges, personas have \d\.\d\d effective votes more than models \(",
        " ".join(result.stdout.split()),
    )
    found = tables(str(folder))
    assert LIKE_WITH_LIKE in " ".join(result.stdout.split())
    by_source = {one["source"]: one for one in found["sources"]}
    assert list(by_source) == [
        "personas", "replicates without a persona", "replicates of a persona", "models"
    ]  # fmt: skip
    assert found["sources"][0]["dimension"] == "composite"
    # Two models ask three personas twice, and the plain judge six times.
    sizes = [(one["n_sets"], one["largest_set"]) for one in by_source.values()]
    assert sizes == [(4, 3), (2, 6), (6, 2), (6, 2)]
    first = found["differences"][0]
    assert (first["a"], first["b"]) == ("personas", "replicates without a persona")
    assert first["difference"]["low"] > 0


def test_personas_without_views_are_said_to_add_nothing(tmp_path: Path) -> None:
    """Where personas vary as replicates do, no sentence says that they add votes."""
    result = CliRunner().invoke(command, ["people", "votes", str(scored(tmp_path / "run", 0.0))])
    assert result.exit_code == 0, result.stdout
    printed = " ".join(result.stdout.split())
    assert "Personas add next to nothing: at most " in printed or "do not significantly" in printed
    assert "Personas raise" not in result.stdout


def test_of_personas_alone_there_is_no_difference(tmp_path: Path) -> None:
    """One model asks three personas once: nothing is said of differences, of which there are
    none."""
    texts = [
        Response(id=f"r{i}", prompt=f"Why {i}?", text=f"An essay {i}.", system="s")
        for i in range(8)
    ]
    model = ScriptedModel(answers("one", 0.8), model="one")
    Panel(PERSONAS, model, "debate-speech").score(texts, out=tmp_path / "run")
    output = " ".join(
        CliRunner().invoke(command, ["people", "votes", str(tmp_path / "run")]).output.split()
    )
    assert "Without human ratings" in output
    assert LIKE_WITH_LIKE not in output


def test_people_show_whether_the_panel_is_nearer_than_its_best_judge(tmp_path: Path) -> None:
    """Judges err each in their own way about what people say: their mean errs less."""
    folder, people = scored(tmp_path / "run", 1.0), tmp_path / "people.csv"
    lines = [
        f"r{i},{rater},{min(max(1 + i % 5 + (rater - 1) * (i % 3 == 0), 1), 5)}"
        for i in range(N)
        for rater in range(3)
    ]
    people.write_text("\n".join(["item,rater,value", *lines]) + "\n")
    given = [str(folder), "--human", str(people), "--map-human", "score=value"]
    result = CliRunner().invoke(command, ["people", "votes", *given, "--full"])
    assert "The panel is closer to people than its best judge" in result.stdout
    # The answer to that question is of agreement with people, and stands elsewhere.
    assert "Do personas add" not in result.stdout
    assert "change the effective number of votes" in " ".join(result.stdout.split())
    half = "10 prompts; the best judge was chosen on the other prompts, every second one)"
    assert half in " ".join(result.stdout.split())
    (beside,) = tables(*given)["people"]
    assert beside["n_items"] == N // 2
    assert str(beside["best_judge"]).count("|") == 3


def test_without_a_plain_judge_it_says_how_to_get_one(tmp_path: Path) -> None:
    """And a run of one judge, or a file, is refused with the remedy."""
    result = CliRunner().invoke(
        command, ["people", "votes", str(scored(tmp_path / "run", 0.8, plain_judge=False))]
    )
    assert "Not known: needs --plain-judge." in " ".join(result.stdout.split())
    (tmp_path / "some.csv").write_text("item,rater,score\na,b,1\n")
    refused = CliRunner().invoke(command, ["people", "votes", str(tmp_path / "some.csv")])
    assert refused.exit_code == 2
    assert "no folder of a run" in refused.output
    alone = tmp_path / "alone"
    Panel(PERSONAS[:1], ScriptedModel(answers("one", 0)), "debate-speech").score(
        [Response(id="r", prompt="Why?", text="An essay 1.", system="s")], out=alone
    )
    refused = CliRunner().invoke(command, ["people", "votes", str(alone)])
    assert (refused.exit_code, "a single judge" in refused.output) == (2, True)


def test_the_reliability_is_that_of_the_composite(folder: Path, tmp_path: Path) -> None:
    """With people the reliability of their mean is printed; `--json` has it of each dimension. One
    person is said to be one."""
    people = tmp_path / "people.csv"
    lines = [
        f"r{i},{rater},{1 + (i + (rater == i % 3)) % 5}" for i in range(N) for rater in range(3)
    ]
    people.write_text("\n".join(["item,rater,score", *lines]) + "\n")
    given = [str(folder), "--human", str(people)]
    (of_mean,) = (one["reliability"] for one in tables(*given)["people"])
    result = CliRunner().invoke(command, ["people", "votes", *given, "--full"])
    assert isinstance(of_mean, float)
    assert f"corrected for its noise (reliability {of_mean:.2f})" in " ".join(result.stdout.split())
    assert ONE_PERSON not in result.stdout
    people.write_text("\n".join(["item,rater,score", *lines[::3]]) + "\n")
    assert document(*given)["conclusion"][-1] == ONE_PERSON
    people.write_text("\n".join(["item,rater,score", *lines[::3], "elsewhere,1,3"]) + "\n")
    assert document(*given)["conclusion"][-1] == ONE_PERSON


def test_people_on_another_scale_are_at_no_distance(folder: Path, tmp_path: Path) -> None:
    """Of people who rated from 10 to 50 beside a panel from 1 to 5 no distance is printed, with the
    reason; the effective votes do not depend on the scale."""
    people = tmp_path / "people.csv"
    votes_on = []
    for times in (1, 10):
        lines = [f"r{i},{k},{times * (1 + (i + k) % 5)}" for i in range(N) for k in range(3)]
        people.write_text("\n".join(["item,rater,score", *lines]) + "\n")
        scale = f"{times}-{5 * times}"
        found = document(str(folder), "--human", str(people), "--human-scale", scale)
        votes_on.append(found["tables"]["sources"][0]["votes"]["value"])
        (beside,) = found["tables"]["people"]
    assert votes_on[0] == pytest.approx(votes_on[1])
    assert beside["ensemble"] is None
    assert beside["difference"] == {"value": None, "n": N // 2, "reason": "not on the same scale"}
    assert str(found["conclusion"][-1]).endswith(
        "not compared with people (not on the same scale)."
    )


def test_a_run_that_was_stopped_is_said_to_be(folder: Path, tmp_path: Path) -> None:
    """Of a run of which judgments are missing one line on standard error says how many, for
    `people votes`, `agree`, `plan`, `select` and `people calibrate`; of a whole run nothing is
    said."""
    stopped = tmp_path / "stopped"
    shutil.copytree(folder, stopped)
    lines = (stopped / "judgments.jsonl").read_text().splitlines(keepends=True)
    (stopped / "judgments.jsonl").write_text("".join(lines[:-17]))
    for name in ("summary.json", "verdicts.csv"):
        (stopped / name).unlink()
    people = tmp_path / "people.csv"
    people.write_text("item,rater,score\n" + "".join(f"r{i},h,{1 + i % 5}\n" for i in range(N)))
    for of in (
        ["people", "votes"],
        ["agree", "--resamples", "0", "--no-intervals"],
        ["plan", "--from"],
        ["select", "--n", "8"],
        ["people", "calibrate", "--human", str(people)],
    ):
        result = CliRunner().invoke(command, [*of, str(stopped)])
        assert result.exit_code == 0, result.stdout
        told = f"17 of {len(lines)} judgments of {stopped} are missing (17 skipped): figures are of"
        assert told in " ".join(result.stderr.split())
        assert "are missing" not in result.stdout
    result = CliRunner().invoke(command, ["people", "votes", str(folder), "--full"])
    assert "are missing" not in result.stderr


def test_the_function_takes_files_and_objects(folder: Path, tmp_path: Path) -> None:
    """A run that was opened, and people's ratings that were read, give what their files give."""
    people = tmp_path / "people.csv"
    lines = [f"r{i},{rater},{1 + (i + rater) % 5}" for i in range(N) for rater in range(3)]
    people.write_text("\n".join(["item,rater,score", *lines]) + "\n")
    of_files = votes(folder, people)
    of_objects = votes(load_run(folder), load_ratings(people))
    assert of_files["sources"].rows == of_objects["sources"].rows
    assert of_files.conclusion == of_objects.conclusion
    assert of_files.coverage is not None
    assert of_files.source == str(folder)


def test_votes_may_be_required(folder: Path) -> None:
    """Of the composite unless a dimension is named, decided by the low end of the interval; of a
    difference from either side; exit status 3 where one is not met."""
    (first, *_) = tables(str(folder))["sources"]
    low = first["votes"]["low"]
    for bound, status in ((low - 0.01, 0), (low + 0.01, 3)):
        required = ["--require", f"votes[personas] >= {bound:.6f}"]
        result = CliRunner().invoke(command, ["people", "votes", str(folder), *required])
        assert result.exit_code == status, result.output
    (pair, *_) = tables(str(folder))["differences"]
    bound = 0.001 - pair["difference"]["low"]
    turned = f"votes_difference[{pair['b']}, {pair['a']}, composite] < {bound:.6f}"
    result = CliRunner().invoke(command, ["people", "votes", str(folder), "--require", turned])
    assert result.exit_code == 0, result.output


def test_a_mapping_without_people_is_refused(folder: Path) -> None:
    """What says how people's ratings are read works only with --human."""
    result = CliRunner().invoke(command, ["people", "votes", str(folder), "--allow-unmatched"])
    assert result.exit_code == 2
    assert "--allow-unmatched works only with --human" in result.output
