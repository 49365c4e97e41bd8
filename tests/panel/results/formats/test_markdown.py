"""Results as Markdown."""

from __future__ import annotations

from tests.helpers.results import SAMPLE


def test_tables_have_the_cells_of_the_terminal() -> None:
    """With signs that are no markup."""
    markdown = SAMPLE.text("markdown", full=True)
    assert "**Means over prompts**" in markdown
    assert r"| alder | 6.00 \[5.50, 6.25\] | 0.50 | 16/40 | better |" in markdown


def test_headings_stand_above_their_lines() -> None:
    """Of two keys the one that changes less often is a bold line, as wide as the table."""
    table = SAMPLE.text("markdown", full=True).split("\n\n")[3]
    assert table.splitlines() == [
        r"| system | mean,<br>points | weight | rated | verdict |",
        r"|---|---:|---:|---:|---:|",
        r"| **composite** | | | | |",
        r"| alder | 6.00 \[5.50, 6.25\] | 0.50 | 16/40 | better |",
        r"| =birch | 5.00 | – | 2/40 | open |",
        r"| **Depth of it** | | | | |",
        r"| alder | – | 1.00 | 0/40 | open |",
    ]
