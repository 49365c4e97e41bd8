"""Results as Markdown."""

from __future__ import annotations

from tests.helpers.results import SAMPLE


def test_tables_have_the_cells_of_the_terminal() -> None:
    """With signs that are no markup."""
    markdown = SAMPLE.text("markdown", full=True)
    assert "**Means over prompts**" in markdown
    assert r"| alder | 6.00 \[5.50, 6.25\] | 0.50 | 16/40 | better |" in markdown
