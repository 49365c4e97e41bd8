"""What became of requirements, as JUnit XML and as Markdown."""

from __future__ import annotations

from xml.etree import ElementTree as Xml

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from persona_panel import check
from persona_panel.analyses.score import score_result
from persona_panel.results.decision import GateResult, decide, junit, markdown
from persona_panel.results.required_figures import Figure, FigureKey
from persona_panel.results.requirement import parse_requirement, written
from persona_panel.results.shown import first_table
from tests.helpers.gate_runs import run_of

HOSTILE = "</failure>&\"'\x00\x1b[31m\u202e\ufffe\ud800|`@team #1 <img src=x>\n| x |"
SCORES = np.arange(24, dtype=float).reshape(6, 2, 2) % 7 + 1


def about(name: str) -> GateResult:
    """One requirement met and one that is not, on a system of this name."""
    run = run_of(SCORES, (name, "b"))
    of = written("composite", (name,))
    return check(run, f"{of} >= 1", f"{of} >= 9.5")


def test_junit_has_a_case_for_each_requirement() -> None:
    """A suite with the counts, a case for each requirement, and a failure with the sentence of the
    one that is not met."""
    found = about("a, b")
    suite = Xml.fromstring(junit(found, "persona-panel score"))[0]
    assert (suite.get("name"), suite.get("tests"), suite.get("failures")) == (
        "persona-panel score", "2", "1",
    )  # fmt: skip
    met, unmet = suite.findall("testcase")
    assert met.get("name") == 'composite["a, b"] >= 1'
    assert met.find("failure") is None
    assert met.findtext("system-out") == found.sentences()[0]
    assert unmet.find("system-out") is None
    failure = unmet.find("failure")
    assert failure is not None
    assert failure.get("message") == failure.text == found.sentences()[1]
    assert failure.get("type") == f"requirement: {found.decisions[1].why}"
    assert {case.get("time") for case in (met, unmet)} == {"0"}


def test_junit_of_a_command_without_a_result_has_errors() -> None:
    """Each requirement, met or not, is an error with the reason, and none is a failure."""
    found = about("a")
    suite = Xml.fromstring(junit(found, "x", no_result="The server\x00 is gone."))[0]
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("2", "0", "2")
    for case, sentence in zip(suite, found.sentences(), strict=True):
        (error,) = case
        assert (error.tag, error.get("type"), error.text) == ("error", "no result", sentence)
        assert error.get("message") == "The server\\x00 is gone."


@given(st.text(min_size=1).filter(lambda name: name.strip() != ""))
def test_junit_is_xml_whatever_systems_are_called(name: str) -> None:
    """Control characters, surrogates and what else XML cannot hold are written as escapes; what it
    can is there as it is."""
    figure = Figure("composite", (FigureKey(name),), value=5.0, is_exact=True)
    one = parse_requirement(f"{written('composite', (name,))} >= 6")
    found = GateResult((decide(one, figure),))
    case = Xml.fromstring(junit(found, "x").encode("utf-8"))[0][0]
    said = case.get("name")
    assert said is not None
    if name.isprintable():
        assert said == str(one)


def test_hostile_names_do_nothing_in_xml() -> None:
    """A name that closes elements, or holds what no document may, is the text of an attribute."""
    text = junit(about(HOSTILE), "x")
    suite = Xml.fromstring(text.encode("utf-8"))[0]
    assert len(suite) == 2
    assert len(suite[1]) == 1
    assert '</failure>&""\'\\x00\\x1b[31m\\u202e\\ufffe\\ud800' in (suite[1].get("name") or "")


def test_markdown_has_conclusion_requirements_and_leaderboard() -> None:
    """What is met, the conclusion in lines that can be read, a row for each requirement, and one
    for each system."""
    run = run_of(SCORES, ("a", "b"))
    found = check(run, "composite[a] >= 1", "composite[a] >= 9.5")
    lines = markdown(
        found, ["Who is ahead " + "is not known " * 9], first_table(score_result(run))
    ).splitlines()
    assert lines[0] == "### persona-panel: 1 of 2 requirements not met"
    assert lines[2] == "```text"
    assert max(map(len, lines[3:5])) <= 90
    table = [line for line in lines if line.startswith("|")]
    assert table[0] == "| requirement | result | found |"
    assert table[2].startswith("| `composite[a] >= 1` | met | ")
    assert table[3].startswith("| `composite[a] >= 9.5` | **not met** | ")
    assert table[4] == "| system | rank | composite | prompts |"
    assert len(table) == 8
    assert "1 of 1 requirement met" in markdown(check(run, "composite[a] >= 1"), [])


def test_hostile_names_do_nothing_in_markdown() -> None:
    """Of a name with pipes, backticks, mentions and HTML every line stays a row of its table, and
    all of the name is in code; in the conclusion it cannot close the block."""
    run = run_of(SCORES, (HOSTILE, "b"))
    text = markdown(about(HOSTILE), ["```", f"@team {HOSTILE}"], first_table(score_result(run)))
    block, _, rest = text.partition("````text\n")[2].partition("\n````\n")
    assert "@team" in block
    assert "```" in block
    rows = [line for line in rest.splitlines() if line]
    assert all(line.startswith("|") and line.endswith("|") for line in rows)
    cells = [len(line.replace("\\|", "").split("|")) for line in rows]
    assert cells == [5] * 4 + [6] * 4
    for line in rows:
        outside = "".join(line.replace("\\|", "").split("``")[::2])
        assert "@" not in outside
        assert "<" not in outside
