"""Names that look alike."""

from __future__ import annotations

import pytest

from persona_panel.files.wording import alike


@pytest.mark.parametrize(
    ("names", "says"),
    [
        (("B", "A", "B "), "'B' and 'B ' differ in case or spaces alone"),
        (("Вова", "вова"), "'Вова' and 'вова' differ in case or spaces alone"),
        # A Cyrillic letter, one in full width, a composed and a decomposed one, no width at all.
        (("A", "А"), r"'A' and '\u0410' differ in characters that look alike alone"),
        (("B", "\uff22"), r"'B' and '\uff22' differ in characters that look alike alone"),
        (("\u00e9", "e\u0301"), r"'\xe9' and 'e\u0301' differ in characters that look alike alone"),
        (("new", "n\u200bew"), r"'new' and 'n\u200bew' differ in characters that look alike alone"),
    ],
)
def test_names_that_look_alike_are_pointed_out(names: tuple[str, ...], says: str) -> None:
    """Both stand there so that the difference can be seen."""
    assert list(alike(names, "systems")) == [f"{says}, and count as two systems."]


def test_names_that_do_not_look_alike_are_not_pointed_out() -> None:
    """Versions, other letters of one script, and a name that comes again are no variants."""
    names = ("gpt-4o", "gpt-40", "v1", "v1.0", "a b", "ab", "Боб", "Бор", "é", "e", "v1")
    assert list(alike(names, "systems")) == []
