"""The commands by what a user wants, and their old names."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from persona_panel.analyses.analysis import ANALYSES
from persona_panel.cli.main import OLD_NAMES, SECTIONS, command, declared_analyses, new_words
from tests.helpers.all_commands import commands_in
from tests.helpers.invoked import invoked

PEOPLE = ["correlate", "calibrate", "align", "fidelity", "votes"]
NOW = {
    "study": "people",
    "study make": "people make",
    "study collect": "people collect",
    "study status": "people status",
    **{name: f"people {name}" for name in PEOPLE},
    "match": "questions match",
    **{name: f"library {name}" for name in ("personas", "rubrics", "framings")},
}


def test_help_has_the_commands_under_headings() -> None:
    """The list begins with what a newcomer needs; a group says in its line what is in it."""
    text = invoked("--help", COLUMNS="80").stdout
    headings = re.findall(r"^(\w.*):$", text, re.M)
    assert headings == ["Example", "Options", *SECTIONS]
    listed = {
        heading: re.findall(r"^  ([a-z-]+) ", part, re.M)
        for heading, part in zip(headings, re.split(r"^\w.*:$", text, flags=re.M)[1:], strict=True)
    }
    for heading, entries in SECTIONS.items():
        assert listed[heading] == list(entries)
    assert listed["Start"][:3] == ["demo", "init", "score"]
    assert {"agree", "contested", "plan", "robustness", "select"} <= set(listed["Panel"])
    assert {"generate", "prompts", "questions", "keypoints"} <= set(listed["Texts"])
    line = " ".join(text.partition("  people ")[2].partition("Robustness:")[0].split())
    within = [words[1] for words, _ in commands_in(command) if words[0] == "people" and words[1:]]
    assert {"make", "collect", "status", *PEOPLE} <= set(within)
    assert line.endswith(f": {', '.join(within)}.")
    for old in OLD_NAMES:
        assert not re.search(rf"^  {old} ", text, re.M)


@pytest.mark.parametrize("group", ["people", "questions", "library", "cache"])
def test_a_group_lists_its_commands(group: str) -> None:
    """Its help has them, and its name alone is that help, with exit status 2 as of any group."""
    shown = invoked(group, "--help").stdout
    for words, _ in commands_in(command):
        if words[0] == group and len(words) > 1:
            assert re.search(rf"^  {words[1]} ", shown, re.M)
    bare = invoked(group)
    assert (bare.returncode, bare.stderr) == (2, shown)


def test_analyses_stand_under_the_heading_that_they_declare() -> None:
    """An analysis is a command of its group: those of people behind `people`."""
    paths = {words[-1]: words for words, _ in commands_in(command)}
    assert {"agree", "compare", "correlate"} <= set(ANALYSES)
    for name, analysis in ANALYSES.items():
        if not analysis.function.__module__.startswith("persona_panel."):
            continue  # of another test
        of_people = analysis.group == "People"
        assert paths[name] == (("people", name) if of_people else (name,))
        assert paths[name][0] in SECTIONS[analysis.group]


_NEW = '''"""Count words."""

from persona_panel.analyses.analysis import analysis


@analysis(
    "Words",
    {},
)
def words(): ...
'''


def test_any_heading_can_have_an_analysis(tmp_path: Path) -> None:
    """One declared under any heading of the help is a command there, with its docstring's line."""
    for heading in SECTIONS:
        (tmp_path / f"of_{heading}.py").write_text(_NEW.replace("{}", f'group="{heading}"'))
    for heading, entries in declared_analyses(tmp_path).items():
        assert entries == {f"of_{heading}": (f"analyses.of_{heading}", "Count words.")}
    assert [*declared_analyses(tmp_path)] == [*SECTIONS]


@pytest.mark.parametrize(
    ("text", "group"),
    [
        (_NEW.replace("{}", 'group="Pannel"'), "'Pannel'"),
        (_NEW.replace("{}", "group='Panel'"), "None"),
        (_NEW.replace("{}", 'group="Panel"').replace('"""Count words."""', ""), "None"),
    ],
    ids=["misspelt", "other quotes", "no docstring"],
)
def test_an_analysis_without_a_known_group_is_refused(
    tmp_path: Path, text: str, group: str
) -> None:
    """It would be no command, without a word: the file and the groups that there are are named."""
    (tmp_path / "words.py").write_text(text)
    groups = ", ".join(SECTIONS)
    with pytest.raises(
        ValueError, match=rf"words\.py: found the group {group}; .* one of {groups}$"
    ):
        declared_analyses(tmp_path)


@pytest.mark.parametrize("old", NOW)
def test_old_names_go_on_with_a_line(old: str) -> None:
    """What a command prints is that of its new name, with a line on standard error that says
    it."""
    line = (
        f"persona-panel {old} is now persona-panel {NOW[old]}; the old name works until the next "
        "version.\n"
    )
    before, now = invoked(*old.split(), "--help"), invoked(*NOW[old].split(), "--help")
    assert (before.returncode, before.stdout) == (now.returncode, now.stdout)
    assert (before.stderr, now.stderr) == (line, "")


def test_every_old_name_is_tested() -> None:
    """No name is forgotten above."""
    assert {name.partition(" ")[0] for name in NOW} == set(OLD_NAMES)


def test_an_old_command_does_what_it_did(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Output, faults and exit status are those of the new one; only the line is more."""
    monkeypatch.chdir(tmp_path)
    lines = "".join(f"p{i},h{k},{1 + (i * k) % 5}\n" for i in range(6) for k in (1, 2))
    Path("panel.csv").write_text(f"item,rater,score\n{lines}")
    for human in ("panel.csv", "none.csv"):
        words = ("correlate", "panel.csv", "--human", human, "--resamples", "0")
        before, now = invoked(*words), invoked("people", *words)
        assert (before.returncode, before.stdout) == (now.returncode, now.stdout)
        first, _, rest = before.stderr.partition("\n")
        assert first.startswith("persona-panel correlate is now persona-panel people correlate;")
        assert rest == now.stderr


@pytest.mark.parametrize(
    ("words", "now"),
    [
        ("questions said.jsonl --model local:x", "questions ask said.jsonl --model local:x"),
        ("questions --model local:x said.jsonl", "questions ask --model local:x said.jsonl"),
        ("questions ./match --model local:x", "questions ask ./match --model local:x"),
        ("study make a.csv", "people make a.csv"),
        ("match a.jsonl b.jsonl", "questions match a.jsonl b.jsonl"),
        ("votes votes", "people votes votes"),
    ],
)
def test_bare_forms_and_files_called_as_commands(words: str, now: str) -> None:
    """`questions FILE` asks; a file that is called as a command stays an argument."""
    said, sentence = new_words(words.split())
    assert said == now.split()
    assert f" is now persona-panel {' '.join(now.split()[:2])};" in sentence


@pytest.mark.parametrize(
    "words",
    [
        "questions match a.jsonl b.jsonl", "questions ask match", "questions --help", "questions",
        "people votes run", "library personas", "score match", "agree study",
    ],
)  # fmt: skip
def test_new_names_collide_with_no_old_one(words: str) -> None:
    """A new command is never taken for an old one, and no command has an old name."""
    assert new_words(words.split()) == (words.split(), "")
    assert OLD_NAMES.keys().isdisjoint(command.entries)


@pytest.mark.parametrize(
    ("words", "near"),
    [(("peple",), "people"), (("people", "corelate"), "correlate"), (("library", "rubics"), "")],
)
def test_a_misspelt_command_of_a_group_says_the_nearest(words: tuple[str, ...], near: str) -> None:
    """At each level, with exit status 2."""
    done = invoked(*words)
    assert done.returncode == 2
    assert f"No such command '{words[-1]}'" in done.stderr
    assert near in done.stderr
