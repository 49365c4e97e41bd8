"""What is not in the database yet: `persona_panel.calls.journal`."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from persona_panel.calls.journal import Journal, JournalEntry, journals_in, taken_over

CHANGES = st.lists(
    st.builds(
        JournalEntry,
        st.text(max_size=70),
        st.binary(min_size=32, max_size=32),
        st.binary(max_size=200),
    ),
    max_size=5,
)


def test_one_s_own_journal_is_gone_once_it_is_removed(tmp_path: Path) -> None:
    """Two journals of one folder are two files, each there until it is removed."""
    first, second = Journal(tmp_path), Journal(tmp_path)
    assert journals_in(tmp_path) == [first.path, second.path]
    first.remove()
    assert journals_in(tmp_path) == [second.path]
    second.close()
    assert journals_in(tmp_path) == [second.path]


def test_journals_come_in_the_order_in_which_they_were_made(tmp_path: Path) -> None:
    """Of twenty that one process has left the oldest is first: what a later one says counts."""
    made = [Journal(tmp_path) for _ in range(20)]
    assert journals_in(tmp_path) == [journal.path for journal in made]
    for journal in made:
        journal.close()


def test_a_journal_is_taken_over_once(tmp_path: Path) -> None:
    """Nothing is taken from a journal that is being written or is gone; what is left goes to the
    first who comes, and stays where that one fails."""
    with taken_over(tmp_path / "gone.journal") as left:
        assert left == []
    journal, change = Journal(tmp_path), JournalEntry("page", bytes(32), b"stored")
    with taken_over(journal.path) as left:
        assert left == []
    journal.add(*change)
    with taken_over(journal.path) as left:
        assert left == []
    journal.close()
    with pytest.raises(ZeroDivisionError), taken_over(journal.path) as left:
        assert left == [change]
        raise ZeroDivisionError
    with taken_over(journal.path) as left, taken_over(journal.path) as second:
        assert (left, second) == ([change], [])
    assert journals_in(tmp_path) == []


@given(changes=CHANGES, cut=st.integers(0, 1500))
def test_what_is_whole_comes_back(changes: list[JournalEntry], cut: int) -> None:
    """Wherever a kill cuts a journal, all changes before the cut are read, in order, and nothing
    of the one that it hit."""
    with TemporaryDirectory() as name:
        journal, ends = Journal(Path(name)), [0]
        for change in changes:
            journal.add(*change)
            ends.append(journal.path.stat().st_size)
        journal.close()
        journal.path.write_bytes(journal.path.read_bytes()[:cut])
        whole = sum(end <= cut for end in ends[1:])
        with taken_over(journal.path) as left:
            assert left == changes[:whole]
