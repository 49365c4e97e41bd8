"""What `python -m benchmarks.papers` takes of a page, and what it lets stand."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

from benchmarks import papers
from tests.documents import ROOT
from tests.helpers.printed_commands import parse

PAGE = """# A page

| in the paper | command |
|---|---|
| Figure 9 | none, 9.99 |

<!-- needs public data -->
```sh
python -c "print('clear-ness 0.129 40.5%\\nelse 0.77')"
```

| dimension | α | share |
|---|---|---|
| clear ness | {alpha} | 41 % |
"""


def test_figures_of_a_row_are_those_printed_in_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A page's numbers are compared with the line of their row, rounded; those of tables before a
    command are not. A number that the line lacks is named."""
    monkeypatch.setattr(papers, "ROOT", tmp_path)
    monkeypatch.setattr(papers, "FOLDERS", {"page": {}})
    page = tmp_path / "docs" / "papers" / "page.md"
    page.parent.mkdir(parents=True)
    for alpha, status in (("0.13", 0), ("0.77", 1)):
        page.write_text(PAGE.format(alpha=alpha))
        assert papers.main(str(tmp_path)) == status
        said = capsys.readouterr().out
        assert ("page: clear ness: 0.77 is not printed" in said) is bool(status)
        assert f"page: {2 - status} figures made anew" in said


def test_a_number_stands_where_it_is_rounded() -> None:
    """Halves may go either way, since what is printed is rounded itself."""
    assert papers.stands("0.45", "τ 0.446 [0.40, 0.49]")
    assert papers.stands("55", "5 54.5% 0.232")
    assert papers.stands("-0.2", "κ −0.18")
    assert not papers.stands("0.45", "τ 0.456")
    # What an example repeats of papers.yaml is left out by its title.
    assert f'title="{papers.RECORDED}"' in (ROOT / "examples" / "shared.py").read_text("utf-8")


def test_what_the_rows_name_is_there() -> None:
    """Each command of papers.yaml is one that the parser takes, each script and call is there, and
    a row without one says why. All rows of the five papers are listed, each once."""
    every = [row for page in papers.rows().values() for row in page]
    for row in every:
        command, words = row.get("command"), str(row.get("command", "")).split()
        if command is None:
            assert row["note"], row
        elif words[0] == "persona-panel":
            parse(command)
        elif words[0] == "python":
            script = (ROOT / words[1]).read_text("utf-8")
            assert [word for word in words if word.startswith("--") and word not in script] == []
        else:
            module, _, name = words[0].partition("(")[0].rpartition(".")
            assert hasattr(import_module(module), name)
        assert row.keys() <= {"place", "method", "command", "ours", "theirs", "note", "table"}, row
    assert {page: len(of) for page, of in papers.rows().items()} == {
        "argument-quality": 15, "debate-speeches": 18, "conceptual-critiques": 16,
        "critical-questions": 16, "scrub": 20,
    }  # fmt: skip
    assert len({(row["place"], row["method"]) for row in every}) == len(every)


def test_a_figure_that_the_command_does_not_print_differs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The numbers of a row's own figures have to stand in what its command prints."""
    command = "python -c \"print('x 0.446')\""
    made = [{"place": "1", "command": command, "ours": f"κ {n}"} for n in ("0.45", "0.46")]
    monkeypatch.setattr(papers, "rows", lambda: {"page": made})
    monkeypatch.setattr(papers, "FOLDERS", {"page": {}})
    assert papers.check_rows("page", tmp_path) == 1
    assert capsys.readouterr().out == "page: 1: κ 0.45: equal\npage: 1: κ 0.46: differs\n"


def test_each_page_has_its_rows() -> None:
    """The pages of the papers name the place where the site has the table."""
    for page in papers.rows():
        text = (ROOT / "docs" / "papers" / f"{page}.md").read_text("utf-8")
        assert text.count("<!-- rows of the paper -->") == 1
