"""`--require` as a user gives it: what is refused before any call, what is printed and written, and
how the command ends."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

import pytest
from click.testing import CliRunner, Result

from persona_panel.cli.main import command
from persona_panel.experiments.sweep.plan import framings_of
from persona_panel.results.requirement import parse_requirement
from persona_panel.statistics import agreement_statistics, comparison_statistics
from persona_panel.testing import Answer, ScriptedServer, always, ok, serving, status
from tests.helpers.invoked import invoked
from tests.helpers.results import concluded_in

SYSTEMS = ("my-model", "old, [v1]")
PERSONAS = """\
id: two
label: Two
personas:
  - {id: one, label: One, axis: reader, description: You read closely.}
  - {id: two, label: Two, axis: reader, description: You read fast.}
"""
RUBRIC = """\
id: short
label: Short
question: Is it?
dimensions:
  - id: clarity
    label: Clear, [really]
    definition: How clear it is.
    guiding_question: Is it clear?
    scale: {min: 1, max: 10, low: unclear, high: clear}
"""
N = 10


def answer(number: int, payload: Mapping[str, Any]) -> Answer:
    """From 7 for my-model, from 4 for the other; more on some prompts, and by one persona."""
    text = json.dumps(payload["messages"])
    best = 7 + ("odd" in text) if "mine" in text else 4 + ("odd 4" in text)
    return ok(json.dumps({"clarity": best + ("closely" in text)}))


def lines(rows: list[dict[str, str]]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with serving(answer) as found:
        yield found


@pytest.fixture(autouse=True)
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two systems that answer ten prompts, a panel of two personas, one dimension."""
    rows = [
        {
            "prompt_id": f"p{p}",
            "id": f"r{s}",
            "prompt": f"{p}?",
            "response": f"{('mine', 'theirs')[s]} {('odd', 'even')[p % 2]} {p}",
            "system": SYSTEMS[s],
        }
        for p in range(N)
        for s in range(2)
    ]
    (tmp_path / "batch.jsonl").write_text(lines(rows))
    (tmp_path / "two.yaml").write_text(PERSONAS)
    (tmp_path / "short.yaml").write_text(RUBRIC)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "400")


PANEL = ("--personas", "two.yaml", "--rubric", "short.yaml", "--model", "openai:stub")


def required(*expressions: str) -> list[str]:
    return [part for one in expressions for part in ("--require", one)]


def run(*arguments: str, server: ScriptedServer | None = None) -> Result:
    env = {} if server is None else {"OPENAI_BASE_URL": server.base_url}
    return CliRunner().invoke(command, arguments, env=env)


def score(server: ScriptedServer, *arguments: str, out: str = "run") -> Result:
    return run("score", "batch.jsonl", *PANEL, "--out", out, *arguments, server=server)


def told(done: Result) -> list[str]:
    """What became of the requirements, the last lines on standard error."""
    return [line for line in done.stderr.splitlines() if " met" in line]


def test_a_requirement_decides_how_score_ends(server: ScriptedServer) -> None:
    """Met, with quotes and by a label: 0. Not met: 3. A line for each is on standard error, none on
    standard output. The second run calls no model: it is decided from the cache."""
    met = required('composite["old, [v1]"] >= 4', "'Clear, [really]'[my-model] > 6")
    first = score(server, *met)
    assert (first.exit_code, len(told(first))) == (0, 3), told(first)
    assert told(first)[-1] == "2 of 2 requirements met: exit status 0."
    n_calls = len(server.calls)
    second = score(server, "--json", *met, *required("difference['old, [v1]', my-model] > -1"))
    assert second.exit_code == 3
    assert told(second)[2].startswith(
        'difference["old, [v1]", my-model] > -1 is not met: −3.40 (95 % interval over prompts '
    )
    assert told(second)[-1] == "1 of 3 requirements not met: exit status 3."
    assert json.loads(second.stdout)["missing"]["scored"] == 4 * N
    assert len(server.calls) == n_calls


def test_the_files_for_a_server(server: ScriptedServer) -> None:
    """JUnit XML and a summary in Markdown are written, whether requirements are met or not."""
    files = ("--junit", "found.xml", "--markdown", "found.md")
    done = score(server, *required("composite[my-model] >= 9", "coverage >= 1"), *files)
    assert done.exit_code == 3
    suite = Xml.parse("found.xml").getroot()[0]
    assert (suite.get("name"), suite.get("failures")) == ("persona-panel score", "1")
    summary = Path("found.md").read_text("utf-8")
    assert "| `composite[my-model] >= 9` | **not met** |" in summary
    assert "| `my-model` | 1 | " in summary
    assert "my-model is significantly ahead" in summary


@pytest.mark.parametrize(
    ("name", "own"),
    [
        ("score", {"composite", "difference", "coverage"}),
        ("report", {"composite", "difference", "rho"}),
        ("sweep", {"delta", "large_falls"}),
        ("compare", {"difference"}),
        ("people calibrate", {"corrected", "corrected_difference"}),
        ("people fidelity", {"fidelity", "fidelity_ratio"}),
        ("agree", {one.name for one in agreement_statistics}),
        ("people correlate", {"omega", *(one.name for one in comparison_statistics)}),
    ],
)
def test_each_command_has_examples_of_its_own(name: str, own: set[str]) -> None:
    """What --help-all gives as requirements can be read, and names figures of that command."""
    text = " ".join(invoked(*name.split(), "--help-all", COLUMNS="400").stdout.split())
    told = text.partition("What a figure has to be: ")[2].partition(" Names with commas")[0]
    examples = [parse_requirement(one) for one in re.findall(r"'([^']+)'", told)]
    assert len(examples) > 1
    assert {one.name for one in examples} <= own


def test_wrong_requirements_are_refused_before_any_call(server: ScriptedServer) -> None:
    """What cannot be read, and names that are not in the batch or the rubric: exit status 2, all of
    them at once, with the nearest names; the options of files want a requirement, and their
    folder."""
    done = score(server, *required("composite[my-model] = 6", "coverage"))
    assert done.exit_code == 2
    assert "found '= 6'; expected one of >=, >, <= and <" in done.stderr
    assert "the requirement coverage: found nothing" in done.stderr
    done = score(
        server, *required("compsite[my-model] > 6", "composite[mymodel] > 6", "clarity > 1")
    )
    assert done.exit_code == 2
    assert "expected one of composite; " in done.stderr
    assert "expected one of composite[my-model]; " in done.stderr
    assert "clarity, which is the name of 2 figures" in done.stderr
    assert "3 faults found; no model was called." in done.stderr
    percent = score(server, *required("coverage >= 98", "p[my-model] < 5"))
    assert percent.exit_code == 2
    assert "expected a number from 0 to 1: 98 % is 0.98" in " ".join(percent.stderr.split())
    for arguments in (("--junit", "x"), ("--markdown", "x"), ("--require-point",)):
        refused = score(server, *arguments)
        assert refused.exit_code == 2
        assert f"{arguments[0]} works only with --require" in refused.stderr
    refused = score(server, *required("coverage > 0"), "--junit", "nowhere/x.xml")
    assert "the folder of the file does not exist" in refused.stderr
    dry = score(server, "--dry-run", *required("composite[x] > 1"))
    assert dry.exit_code == 2
    assert score(server, "--dry-run", *required("coverage > 1")).exit_code == 0
    assert not server.calls
    assert not Path("run").exists()


def test_a_requirement_on_coverage_says_how_many_may_be_missing() -> None:
    """With judgments missing: 1; where a requirement on coverage is met 0, where one is not met 3,
    and where another is met 1."""
    with serving(answer) as server:
        assert score(server, "--max-calls", "30").exit_code == 1
        options = ("--max-calls", "30")
        assert score(server, *options, *required("coverage >= 0.5")).exit_code == 0
        assert score(server, *options, *required("missing <= 2")).exit_code == 3
        assert score(server, *options, *required("composite[my-model] > 1")).exit_code == 1


def test_a_command_without_a_result_leaves_no_earlier_one(server: ScriptedServer) -> None:
    """JUnit XML of an earlier command is gone after a refused one, and stays after a dry run; any
    other file stays."""
    files = ("--junit", "found.xml")
    assert score(server, *required("coverage >= 1"), *files).exit_code == 0
    before = Path("found.xml").read_bytes()
    assert score(server, *required("coverage >= 1"), *files, "--dry-run").exit_code == 0
    assert Path("found.xml").read_bytes() == before
    assert score(server, *required("no_such_figure >= 1"), *files).exit_code == 2
    assert not Path("found.xml").exists()
    Path("mine.xml").write_text("<mine/>")
    assert score(server, *required("no_such_figure >= 1"), "--junit", "mine.xml").exit_code == 2
    assert Path("mine.xml").read_text() == "<mine/>"


def test_where_nothing_was_scored(tmp_path: Path) -> None:
    """The reason comes last, in one sentence, there are no tables, and the exit status is 4 with a
    requirement that is met and with one that is not, each of which is an error in JUnit XML."""
    with serving(always(status(401))) as server:
        done = score(server)
        assert done.exit_code == 4
        said = concluded_in(done.stdout)
        assert said.startswith(
            f"Which system is best? Nothing could be scored: {server.base_url} answered 401: "
        )
        assert said.endswith("skipped): nothing can be concluded. Page: run/report.html")
        assert "─" not in done.stdout
        assert done.stdout.count("answered 401") == 1
        demands = required("composite[my-model] > 1", "coverage >= 0")
        again = score(server, *demands, "--junit", "found.xml")
        assert again.exit_code == 4
        suite = Xml.parse("found.xml").getroot()[0]
        assert (suite.get("failures"), suite.get("errors")) == ("0", "2")
        assert all(
            f"{server.base_url} answered 401: " in str(error.get("message"))
            for error in suite.iter("error")
        )
        assert told(again)[0].endswith("(no response of this system has a composite).")
        assert told(again)[-1] == "1 of 2 requirements not met: exit status 4."


def framed(folder: Path) -> None:
    rows = [
        {
            "prompt_id": f"p{p}",
            "prompt": f"{p}? {c}",
            "system": "my sys",
            "condition": c,
            "response": f"{'mine' if c == 'baseline' else 'theirs'} {('odd', 'even')[p % 2]} {p}",
        }
        for p in range(N)
        for c in ("baseline", "emotion_agree")
    ]
    (folder / "framed.jsonl").write_text(lines(rows))


def test_sweep(server: ScriptedServer, tmp_path: Path) -> None:
    """Names are those of conditions, by id or label; refused before any call; nothing scored is
    exit status 4, with the reason first."""
    framed(tmp_path)
    sweep = ("sweep", "--responses", "framed.jsonl", *PANEL, "--out", "swept")
    wrong = run(*sweep, *required("delta[my sys, emotion] < 1"), server=server)
    assert wrong.exit_code == 2
    assert "one of delta[my sys, emotion_agree]" in wrong.stderr
    assert not server.calls
    expressions = required("score[my sys, clarity, baseline] > 6", "coverage >= 1")
    assert run(*sweep, *expressions, server=server).exit_code == 0
    unmet = run(*sweep, *required("delta[emotion_agree] < 1"), "--require-point", server=server)
    assert unmet.exit_code == 3
    assert told(unmet)[0].startswith("delta[emotion_agree] < 1 is not met: 3.40 (95 % interval")


def test_a_sweep_in_which_nothing_was_scored(tmp_path: Path) -> None:
    """A rewriter that is refused leaves nothing to judge: why is said first, without the list of
    variants; exit status 4."""
    (tmp_path / "prompts.jsonl").write_text(lines([{"prompt": "Why?"}]))
    with serving(always(status(401))) as server:
        done = run(
            "sweep", "prompts.jsonl", "--target", "openai:t", *PANEL, "--out", "swept",
            server=server,
        )  # fmt: skip
    assert done.exit_code == 4
    said = concluded_in(done.stdout)
    assert said.startswith(f"Nothing could be scored: failed: {server.base_url} answered 401: ")
    assert "None of 12 judgments was scored (12 without an answer to judge)" in said
    assert done.stdout.count("answered 401") == 1


def test_a_sweep_whose_variants_all_fail_says_which_check(tmp_path: Path) -> None:
    """A rewriter that makes one text of every condition leaves nothing to judge: the reason names
    a variant and what is wrong with it."""
    (tmp_path / "prompts.jsonl").write_text(lines([{"prompt": "Why is the sea salt?"}]))
    names = [condition.id for condition in framings_of("scrub").conditions]
    same = json.dumps(dict.fromkeys(names, "Why does the sea taste of salt?"))
    with serving(always(ok(same))) as server:
        done = run(
            "sweep", "prompts.jsonl", "--target", "openai:t", *PANEL, "--out", "swept",
            "--framings", "scrub", server=server,
        )  # fmt: skip
    said = concluded_in(done.stdout)
    expected = f"the variant {names[0]} failed its checks: its text is the same as that of "
    assert said.startswith(f"Nothing could be scored: {expected}")


def test_agree_and_correlate(server: ScriptedServer, tmp_path: Path) -> None:
    """Rows are named by statistic, dimension (by its label, too) and group."""
    assert score(server).exit_code == 0
    people = "item,rater,dimension,score\n" + "".join(
        f"p{p}/r{s},{who},clarity,{6 - 4 * s + p % 3 + len(who)}\n"
        for p in range(N)
        for s in range(2)
        for who in ("x", "yy")
    )
    (tmp_path / "people.csv").write_text(people)
    agree = run("agree", "run", *required("kendall_w['Clear, [really]'] > 0"))
    assert agree.exit_code in (0, 3)
    assert told(agree)[0].startswith('kendall_w["Clear, [really]"] > 0 is')
    human = ("--human", "people.csv", "--resamples", "99")
    found = run(
        "people", "correlate", "run", *human, *required("tau_c >= 0.4"), "--junit", "tau.xml"
    )
    assert found.exit_code == 0, told(found)
    assert told(found)[0].startswith("tau_c >= 0.4 is met: ")
    assert Path("tau.xml").exists()
    assert run("people", "correlate", "run", *human, *required("tau_c >= 0.99")).exit_code == 3
    wrong = run("people", "correlate", "run", *human, *required("tau_d >= 0.4"))
    assert wrong.exit_code == 2
    assert "expected one of tau_" in wrong.stderr
