"""What is not in the database yet: `panel.calls.journal`."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given
from hypothesis import strategies as st

from panel.calls.journal import Change, Journal, changes_in, journals_in

CHANGES = st.lists(
    st.builds(
        Change, st.text(max_size=70), st.binary(min_size=32, max_size=32), st.binary(max_size=200)
    ),
    max_size=5,
)


def test_one_s_own_journal_is_gone_once_it_is_removed(tmp_path: Path) -> None:
    """Two journals of one folder are two files, each there until it is removed."""
    first, second = Journal(tmp_path), Journal(tmp_path)
    assert journals_in(tmp_path) == sorted([first.path, second.path])
    first.remove()
    assert journals_in(tmp_path) == [second.path]
    second.close()
    assert journals_in(tmp_path) == [second.path]


def test_a_journal_that_is_gone_holds_nothing(tmp_path: Path) -> None:
    """Its process may remove it between two looks."""
    assert list(changes_in(tmp_path / "gone.journal")) == []


@given(changes=CHANGES, cut=st.integers(0, 1500))
def test_what_is_whole_comes_back(changes: list[Change], cut: int) -> None:
    """Wherever a kill cuts a journal, all changes before the cut are read, in order, and nothing
    of the one that it hit."""
    with TemporaryDirectory() as name:
        journal, ends = Journal(Path(name)), [0]
        for change in changes:
            journal.add(change)
            ends.append(journal.path.stat().st_size)
        journal.close()
        journal.path.write_bytes(journal.path.read_bytes()[:cut])
        whole = sum(end <= cut for end in ends[1:])
        assert list(changes_in(journal.path)) == changes[:whole]
