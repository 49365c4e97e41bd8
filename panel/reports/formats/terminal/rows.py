"""Sentences around the tables in the terminal."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console
from rich.text import Text


def show_conclusion(sentences: Iterable[str], console: Console) -> None:
    """What may be concluded, each sentence on a line of its own, before the tables."""
    for sentence in sentences:
        console.print(Text(sentence))
    console.print()


def remark(console: Console, line: str) -> None:
    """What is to be said below a table."""
    console.print(Text(line, "dim"))
