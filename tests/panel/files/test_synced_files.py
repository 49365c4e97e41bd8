"""What a power cut leaves: files are on the disk before they take another's place."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from persona_panel.calls.stores.disk import DiskReplyStore
from persona_panel.files.outputs import replace_file
from persona_panel.rubrics import ModelResponse
from persona_panel.runs.output import AppendedFile


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> Callable[[Path], bytes | None]:
    """What of a file was synced last; None where nothing was."""
    contents: dict[int, bytes] = {}
    sync = os.fsync

    def kept(descriptor: int) -> None:
        sync(descriptor)
        contents[os.fstat(descriptor).st_ino] = Path(f"/proc/self/fd/{descriptor}").read_bytes()

    monkeypatch.setattr(os, "fsync", kept)
    return lambda path: contents.get(path.stat().st_ino)


pytestmark = pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc")


def test_a_file_that_takes_another_s_place_is_synced(
    tmp_path: Path, synced: Callable[[Path], bytes | None]
) -> None:
    """What a file holds that was put in place of another, a power cut leaves."""
    replace_file(tmp_path / "run.json", b"{}")
    assert synced(tmp_path / "run.json") == b"{}"


@pytest.mark.parametrize("is_again", [False, True])
def test_lines_are_synced_once_their_file_is_closed(
    is_again: bool, tmp_path: Path, synced: Callable[[Path], bytes | None]
) -> None:
    """Lines that were added to a new file, and those of a run that goes on, are on the disk."""
    path = tmp_path / "lines.jsonl"
    if is_again:
        path.write_bytes(b'{"id":1}\n')
    lines = AppendedFile(path, lambda line: line["id"], fresh=False)
    lines.add({"id": 1})
    lines.close()
    assert synced(path) == path.read_bytes() == b'{"id":1}\n'


def test_a_reply_is_on_the_disk_before_it_is_in_the_database(
    tmp_path: Path, synced: Callable[[Path], bytes | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """While replies wait for the database, their journal is synced again and again."""
    monkeypatch.setattr(DiskReplyStore, "batch_s", 60.0)
    store = DiskReplyStore(tmp_path)
    store.put("page", bytes(32), ModelResponse("a reply"))
    [journal] = tmp_path.glob("*.journal")
    while not (held := synced(journal)):
        pass
    assert b"a reply" in held
    assert store._store.sqlite_synchronous == 2
    store.close()
