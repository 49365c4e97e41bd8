"""What `python -m benchmarks.papers` takes of a page, and what it lets stand."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import papers

PAGE = """# A page

| in the paper | command |
|---|---|
| Figure 9 | none, 9.99 |

<!-- needs public data -->
```sh
python -c "print('clear-ness 0.129 40.5%\\nelse 0.77')"
```

| dimension | α | share | the paper's |
|---|---|---|---|
| clear ness | {alpha} | 41 % | 0.2 |
"""


def test_figures_of_a_row_are_those_printed_in_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A page's numbers are compared with the line of their row, rounded; the paper's own are not,
    nor those of tables before a command. A number that the line lacks is named."""
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
