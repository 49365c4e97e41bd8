"""What the product and its documentation say is said in the field's terms."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
REFUSED = (
    r"who is ahead", r"cannot be said", r"told apart", r"judges' spread", r"costume",
    r"sees? it otherwise", r"(?<!well )\bestablished\b", r"first place is open between",
    r"judges as they are", r"nearer to people", r"goes? with people",
    r"may be chance", r"cannot be distinguished",
)  # fmt: skip
"""Phrases of our own that had a standard term: docs/reference/words.md has those."""
_PATTERN = re.compile("|".join(REFUSED), re.IGNORECASE)


@cache  # each test reads every module
def _texts(path: Path) -> list[str]:
    """The strings of a module that people read: those with a space, without docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docstrings = {
        node.body[0].value
        for node in ast.walk(tree)
        if isinstance(node, documented) and node.body and isinstance(node.body[0], ast.Expr)
    }
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and node not in docstrings
        and " " in node.value.strip()
    ]


@pytest.mark.parametrize("folder", ["panel", "graphs", "rubrics", "personas"])
def test_no_sentence_of_the_product_has_a_phrase_of_its_own(folder: str) -> None:
    """Sentences, headings and columns have the words of docs/reference/words.md."""
    found = [
        f"{path.relative_to(ROOT)}: {text[:80]!r}"
        for path in sorted((ROOT / folder).rglob("*.py"))
        for text in _texts(path)
        if _PATTERN.search(text)
    ]
    assert not found, "\n".join(found)


_ANSWERS = {
    r"is significantly ahead(?! of)|No system is significantly|is the best system": {
        "ranked_systems.py"
    },
    r"Can the panel|panel (?:can|may|should|cannot) (?:not )?be trusted|Judges agree": {
        "answers.py", "result.py"
    },
    r"Do personas add|Personas (?:add next|raise|lower|do not significantly change)": {
        "answers.py", "result.py"
    },
    r"stand in for people|take the place of (?:a person|people)|replace (?:a person|people)": {
        "result.py"
    },
    r" is shown at the 5 % level|What would settle": {"answers.py", "result.py"},
}  # fmt: skip
"""What answers a question, and the modules whose sentences may: each has one answer."""


@pytest.mark.parametrize("pattern", _ANSWERS)
def test_each_question_is_answered_in_one_place(pattern: str) -> None:
    """No sentence of another module answers it; the pattern finds the one that does."""
    found = {
        path.name: text
        for path in sorted((ROOT / "panel").rglob("*.py"))
        for text in _texts(path)
        if re.search(pattern, text)
    }
    assert found.keys() == _ANSWERS[pattern], found


def test_no_page_has_one() -> None:
    """The README and the documentation have the same words as the product."""
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    found = [
        f"{page.relative_to(ROOT)}: {line[:90]}"
        for page in pages
        for line in page.read_text(encoding="utf-8").splitlines()
        if _PATTERN.search(line)
    ]
    assert not found, "\n".join(found)
