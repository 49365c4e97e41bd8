"""Replies on disk: `persona_panel.calls.stores.disk`, and the store of a process:
`persona_panel.calls.cache`."""

from __future__ import annotations

import hashlib
import os
import pickle
import resource
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from persona_panel.calls.cache import ENVIRONMENT_VARIABLE, cache_location, key_of, page_of
from persona_panel.calls.journal import journals_in, one_at_a_time
from persona_panel.calls.stores.disk import DiskReplyStore
from persona_panel.files.errors import ConfigurationError
from persona_panel.rubrics import ModelRequest, ModelResponse, Position, Usage

ASK = ModelRequest(system="You judge.", blocks=("Read this. ", "Rate it."))
KEY = bytes(32)
BAD, GOOD = b"b" * 32, b"g" * 32
PARAMETERS = {"model": "stub", "base_url": "http://here/v1", "temperature": None}
REPLY = ModelResponse(
    text='{"score": 7}',
    usage=Usage(input=120, cached=100, output=5),
    latency_s=0.25,
)


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[DiskReplyStore]:
    with closing(DiskReplyStore(tmp_path / "cache")) as opened:
        yield opened


def is_kept(store: DiskReplyStore, page: str, key: bytes) -> bool:
    return store.get(page, key) is not None


def rows(folder: Path, query: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(folder / "cache.db")) as database:
        return database.execute(query).fetchall()


def process(source: str, *arguments: str) -> subprocess.Popen[str]:
    preamble = (
        "import sys\n"
        "from pathlib import Path\n"
        "from persona_panel.calls.stores.disk import DiskReplyStore\n"
        "from persona_panel.rubrics import ModelResponse\n"
    )
    command = [sys.executable, "-c", preamble + source, *arguments]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def killed_once_it_says_kept(source: str, folder: Path) -> None:
    writer = process(source, str(folder))
    assert writer.stdout is not None
    assert writer.stdout.readline() == "kept\n"
    writer.kill()
    writer.communicate(timeout=60)
    assert writer.returncode == -signal.SIGKILL


# Several connections


def test_a_second_store_leaves_the_locks_of_the_first(tmp_path: Path) -> None:
    """SQLite tells by a lock on these bytes of the database (its SHARED lock) that a process still
    uses it. POSIX takes all locks of a process from a file that it closes; another process would
    then take itself for the last one, and remove the log that this one still writes to."""
    lock = (
        "import fcntl\n"
        "with open(sys.argv[1], 'r+b') as file:\n"
        "    try:\n"
        "        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 510, 0x40000002)\n"
        "    except OSError:\n"
        "        print('locked')\n"
    )

    def locked() -> bool:
        return process(lock, str(tmp_path / "cache.db")).communicate(timeout=60)[0] == "locked\n"

    with closing(DiskReplyStore(tmp_path)):
        assert locked()
        DiskReplyStore(tmp_path).close()
        assert locked()
    assert not locked()


# What is kept


def test_a_reply_comes_back_as_it_was(cache: DiskReplyStore) -> None:
    """Text in any script, log-probabilities to the last bit and usage survive; only `cached`
    differs."""
    full = replace(
        REPLY,
        text="Zwölf Boxkämpfer 🥊\u2028 \x00 «да» 判断",
        finish_reason="length",
        refusal="no — sorry",
        logprobs=(
            Position("7", (("7", -0.1234567890123456), ("８", -2.5e-17))),
            Position(" ", ()),
        ),
        usage=Usage(input=120, cached=100, output=5, written=20, odd="a text", reasoning=4),
        model="openai:m",
    )
    cache.put("page", KEY, full)
    kept = cache.get("page", KEY)
    assert kept == replace(full, cached=True)
    assert kept is not None and kept.model == "openai:m"  # which no comparison looks at


def test_what_is_not_there_is_none(cache: DiskReplyStore) -> None:
    """An unknown key is no reply and no error."""
    assert cache.get("page", KEY) is None
    assert not is_kept(cache, "page", KEY)


def test_a_large_reply_comes_back(cache: DiskReplyStore) -> None:
    """A reply of several hundred kilobytes that does not compress comes back."""
    large = replace(REPLY, text=os.urandom(200_000).hex())
    cache.put("page", KEY, large)
    assert cache.get("page", KEY) == replace(large, cached=True)


def test_a_long_page_goes_on_in_further_rows(tmp_path: Path) -> None:
    """Fifty replies of about 5 kB, ten a run, fill several rows of at most 64 kB and a run's more,
    and each is found again, also by the next run."""
    replies = {bytes([n]) * 32: replace(REPLY, text=os.urandom(4_000).hex()) for n in range(50)}
    for run in range(5):
        with closing(DiskReplyStore(tmp_path)) as one:
            for n in range(10 * run, 10 * run + 10):
                one.put("page", bytes([n]) * 32, replies[bytes([n]) * 32])
            assert one.get("page", bytes([n]) * 32) is not None
    sizes = [len(value) for (value,) in rows(tmp_path, "SELECT value FROM Cache")]
    assert len(sizes) >= 3
    assert max(sizes) < 65_536 + 55_000
    with closing(DiskReplyStore(tmp_path)) as second:
        for key, reply in replies.items():
            assert second.get("page", key) == replace(reply, cached=True)
        for key in (bytes([0]) * 32, bytes([49]) * 32):
            second.forget("page", key, replies[key])
        assert [is_kept(second, "page", key) for key in replies] == [False, *[True] * 48, False]


def test_a_reply_put_again_takes_the_place_of_the_first(tmp_path: Path) -> None:
    """Of two replies under one key the later is served, now and by the next run."""
    with closing(DiskReplyStore(tmp_path)) as first:
        first.put("page", KEY, REPLY)
        first.put("page", KEY, replace(REPLY, text="later"))
    with closing(DiskReplyStore(tmp_path)) as second:
        kept = second.get("page", KEY)
        assert kept is not None
        assert kept.text == "later"


def test_pages_are_kept_apart(cache: DiskReplyStore) -> None:
    """A key of one page is not found on another."""
    cache.put("page", KEY, REPLY)
    assert cache.get("another", KEY) is None


def test_it_survives_reopening(tmp_path: Path) -> None:
    """A reply is there for the next run."""
    with closing(DiskReplyStore(tmp_path)) as first:
        first.put("page", KEY, REPLY)
    with closing(DiskReplyStore(tmp_path)) as second:
        assert is_kept(second, "page", KEY)
        assert second.get("page", KEY) == replace(REPLY, cached=True)


def test_what_is_forgotten_is_gone_for_good(tmp_path: Path) -> None:
    """A forgotten reply is neither served nor found by the next run; its neighbour is."""
    with closing(DiskReplyStore(tmp_path)) as first:
        first.put("page", BAD, REPLY)
        first.put("page", GOOD, REPLY)
        first.forget("page", BAD, REPLY)
        first.forget("page", KEY, REPLY)
        first.forget("page", KEY, ModelResponse("\ud800"))
        assert first.get("page", BAD) is None
    with closing(DiskReplyStore(tmp_path)) as second:
        assert second.get("page", BAD) is None
        assert second.get("page", GOOD) is not None


def test_a_hundred_replies_share_a_transaction(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 100 replies put one after the other none is lost, and a transaction or two take them."""
    commits = 0
    with closing(DiskReplyStore(tmp_path)) as cache:
        write = cache._write

        def counted(changes: Any) -> None:
            nonlocal commits
            commits += 1
            write(changes)

        monkeypatch.setattr(cache, "_write", counted)
        for n in range(100):
            cache.put(f"p{n % 7}", bytes([n]) * 32, replace(REPLY, text=str(n)))
        assert {n: text_at(cache, n) for n in range(100)} == {n: str(n) for n in range(100)}
    assert 1 <= commits <= 2
    with closing(DiskReplyStore(tmp_path)) as again:
        assert {n: text_at(again, n) for n in range(100)} == {n: str(n) for n in range(100)}


def text_at(cache: DiskReplyStore, n: int) -> str | None:
    return getattr(cache.get(f"p{n % 7}", bytes([n]) * 32), "text", None)


@pytest.mark.parametrize("stage", ["waiting", "being written", "written"])
def test_a_reply_is_served_at_every_stage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stage: str
) -> None:
    """A reply is found while it waits, while it is being written and after, also once its page
    is no longer in mind; and so is that another was dropped."""
    monkeypatch.setattr(DiskReplyStore, "batch_s", 60 if stage == "waiting" else 0.01)
    with closing(DiskReplyStore(tmp_path)) as cache:
        begun, go_on, write = threading.Event(), threading.Event(), cache._write

        def slow(changes: Any) -> None:
            begun.set()
            assert go_on.wait(10)
            write(changes)

        monkeypatch.setattr(cache, "_write", slow)
        cache.put("page", GOOD, REPLY)
        cache.put("page", BAD, REPLY)
        cache.forget("page", BAD, REPLY)
        if stage != "waiting":
            assert begun.wait(10)
        if stage == "written":
            go_on.set()
            until(lambda: not journals_in(tmp_path))
        for n in range(200):
            is_kept(cache, f"another {n}", KEY)
        assert cache.get("page", GOOD) == replace(REPLY, cached=True)
        assert not is_kept(cache, "page", BAD)
        assert cache.get("page", BAD) is None
        go_on.set()


def test_a_reply_that_is_put_while_its_page_is_read_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where another thread than the loop's reads the page."""
    with closing(DiskReplyStore(tmp_path)) as cache:
        read = cache._read_page

        def read_slowly(page: str) -> dict[bytes, bytes]:
            found = read(page)
            cache.put("page", GOOD, REPLY)
            return found

        monkeypatch.setattr(cache, "_read_page", read_slowly)
        assert cache.get("page", GOOD) == replace(REPLY, cached=True)


def until(true: Callable[[], object]) -> None:
    limit = time.monotonic() + 10
    while not true():
        assert time.monotonic() < limit
        time.sleep(0.01)


def test_a_put_that_does_not_fit_on_the_disk_says_so(tmp_path: Path) -> None:
    """When a reply does not fit, its put raises instead of claiming to have kept it; those before
    and after it are there for the next run, and in the journal."""
    with closing(DiskReplyStore(tmp_path)) as cache:
        cache.put("page", GOOD, REPLY)
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        size = journals_in(tmp_path)[0].stat().st_size
        resource.setrlimit(resource.RLIMIT_FSIZE, (size + 40, limits[1]))
        try:
            with pytest.raises(OSError, match="File too large"):
                cache.put("page", BAD, REPLY)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        cache.put("page", KEY, REPLY)
        left = journals_in(tmp_path)[0].read_bytes()
    other = tmp_path / "other"
    other.mkdir()
    (other / "left.journal").write_bytes(left)
    for folder in (tmp_path, other):
        with closing(DiskReplyStore(folder)) as again:
            found = [is_kept(again, "page", key) for key in (GOOD, BAD, KEY)]
            assert found == [True, False, True]


def test_one_writer_keeps_the_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While another process holds the database, replies under one key wait for one thread, which
    moves them as they came: the last is the one that is kept."""
    monkeypatch.setattr(DiskReplyStore, "batch_s", 0.01)
    with (
        closing(DiskReplyStore(tmp_path)) as cache,
        closing(sqlite3.connect(tmp_path / "cache.db", isolation_level=None)) as other,
    ):
        other.execute("BEGIN IMMEDIATE")
        for text in ("first", "second", "third"):
            cache.put("page", KEY, replace(REPLY, text=text))
            time.sleep(0.05)
        names = [thread.name for thread in threading.enumerate()]
        assert sum(name.startswith("reply-cache") for name in names) == 1
        other.execute("ROLLBACK")
    with closing(DiskReplyStore(tmp_path)) as again:
        assert getattr(again.get("page", KEY), "text", None) == "third"


@contextmanager
def no_file_can_be_opened() -> Iterator[None]:
    """This process has as many open files as it may have."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, limits[1]))
    held: list[int] = []
    try:
        with suppress(OSError):
            while True:
                held.append(os.dup(0))
        yield
    finally:
        for descriptor in held:
            os.close(descriptor)
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)


def test_a_reply_is_kept_each_time_no_file_can_be_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A descriptor is held back for the journal, and again once that journal is gone: a second
    lack of them loses nothing either."""
    monkeypatch.setattr(DiskReplyStore, "batch_s", 0.01)
    with closing(DiskReplyStore(tmp_path)) as cache:
        for key in (GOOD, KEY):
            with no_file_can_be_opened():
                cache.put("page", key, REPLY)
            until(lambda: cache._journal is None and cache._spare is not None)
            until(lambda: not journals_in(tmp_path))
            until(lambda: cache._spare is not None)
    with closing(DiskReplyStore(tmp_path)) as again:
        assert is_kept(again, "page", GOOD)
        assert is_kept(again, "page", KEY)


def test_a_database_that_cannot_be_written_is_told_to_who_comes_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """When the database cannot be written the next put raises, closing says where the replies
    are, and they are there once it can be."""
    monkeypatch.setattr(DiskReplyStore, "batch_s", 0.01)
    with closing(DiskReplyStore(tmp_path)) as cache:
        rename(tmp_path, "Cache", "elsewhere")
        cache.put("page", GOOD, REPLY)
        until(lambda: cache._fault is not None)
        with pytest.raises(sqlite3.OperationalError):
            cache.put("page", BAD, REPLY)
    assert f"{tmp_path} (no such table: Cache). They are stored in a journal" in caplog.text
    rename(tmp_path, "elsewhere", "Cache")
    with closing(DiskReplyStore(tmp_path)) as again:
        assert is_kept(again, "page", GOOD)


def rename(folder: Path, table: str, name: str) -> None:
    with closing(sqlite3.connect(folder / "cache.db")) as database:
        database.execute(f"ALTER TABLE {table} RENAME TO {name}")
        database.commit()


def test_closing_moves_what_waits_and_leaves_no_journal(tmp_path: Path) -> None:
    """Once a cache is closed its replies are in the database and its journal is gone, without a
    wait for more of them."""
    cache = DiskReplyStore(tmp_path)
    cache.put("page", KEY, REPLY)
    assert len(journals_in(tmp_path)) == 1
    cache.close()
    assert journals_in(tmp_path) == []
    assert len(rows(tmp_path, "SELECT value FROM Cache")) == 1


def test_what_is_synced_is_in_the_database(tmp_path: Path) -> None:
    """Replies wait in no journal once sync has returned; a move that failed fails it, too."""
    with closing(DiskReplyStore(tmp_path / "cache")) as cache:
        cache.put("p", KEY, REPLY)
        cache.sync()
        assert len(rows(tmp_path / "cache", "SELECT key FROM Cache")) == 1
        rename(tmp_path / "cache", "Cache", "Hidden")
        cache.put("p", GOOD, REPLY)
        with pytest.raises(sqlite3.OperationalError):
            cache.sync()
        rename(tmp_path / "cache", "Hidden", "Cache")


def test_what_another_process_left_is_taken_over(tmp_path: Path) -> None:
    """The journal of a process that is gone is moved into the database, what was dropped in it
    too; and moved again, after a kill at the worst moment, it adds nothing."""
    theirs, mine = tmp_path / "theirs", tmp_path / "mine"
    with closing(DiskReplyStore(theirs)) as cache:
        cache.put("page", GOOD, REPLY)
        cache.put("page", BAD, REPLY)
        cache.forget("page", BAD, REPLY)
        left = journals_in(theirs)[0].read_bytes()
    mine.mkdir()
    for _ in range(2):
        (mine / "left.journal").write_bytes(left)
        with closing(DiskReplyStore(mine)) as cache:
            assert is_kept(cache, "page", GOOD)
            assert not is_kept(cache, "page", BAD)
        assert journals_in(mine) == []
    ((row,),) = rows(mine, "SELECT value FROM Cache")
    assert row.count(GOOD) == 1


def test_a_store_opens_once_another_has_taken_over_what_was_left(tmp_path: Path) -> None:
    """While one process takes over journals, a second that opens the folder waits, so that it has
    all that is in them."""
    with one_at_a_time(tmp_path):
        opening = threading.Thread(target=lambda: DiskReplyStore(tmp_path).close())
        opening.start()
        opening.join(0.3)
        assert opening.is_alive()
    opening.join(10)
    assert not opening.is_alive()


def test_what_was_dropped_once_may_come_again(tmp_path: Path) -> None:
    """A reply that was dropped, a kill, and the reply to a new call: the old drop does not take
    the new reply away, however often the folder is opened."""
    source = (
        "cache = DiskReplyStore(Path(sys.argv[1]))\n"
        "cache.put('page', bytes(32), ModelResponse('no result'))\n"
        "cache.forget('page', bytes(32), ModelResponse('no result'))\n"
        "print('kept', flush=True)\n"
        "sys.stdin.read()\n"
    )
    killed_once_it_says_kept(source, tmp_path)
    with closing(DiskReplyStore(tmp_path)) as cache:
        assert not is_kept(cache, "page", KEY)
        cache.put("page", KEY, REPLY)
    for _ in range(2):
        with closing(DiskReplyStore(tmp_path)) as cache:
            assert cache.get("page", KEY) == replace(REPLY, cached=True)


def test_the_journal_of_a_process_that_runs_is_its_own(tmp_path: Path) -> None:
    """Who opens a folder in which another process is at work leaves that one's journal alone."""
    with closing(DiskReplyStore(tmp_path)) as first:
        first.put("page", KEY, REPLY)
        (journal,) = journals_in(tmp_path)
        with closing(DiskReplyStore(tmp_path)):
            assert journals_in(tmp_path) == [journal]
    with closing(DiskReplyStore(tmp_path)) as again:
        assert is_kept(again, "page", KEY)


# Keys

CHANGED = {
    "system": "You judge!",
    "blocks": ("Read this. Rate it.",),
    "exchange": (("seven", "As JSON, please."),),
    "prefill": "The score is",
    "schema": {"type": "object"},
    "top_logprobs": 20,
    "max_tokens": 1025,
}


@pytest.mark.parametrize("name", [field.name for field in fields(ModelRequest)])
def test_every_field_of_an_ask_changes_the_key(name: str) -> None:
    """Asks that differ in one field, whichever it is, do not share a reply."""
    changed = replace(ASK, **{name: CHANGED[name]})
    assert key_of(changed, 1) != key_of(ASK, 1)


@pytest.mark.parametrize(
    "parameters",
    [
        PARAMETERS | {"model": "stub2"},
        PARAMETERS | {"base_url": "http://there/v1"},
        PARAMETERS | {"temperature": 0.0},
        PARAMETERS | {"seed": 1},
    ],
)
def test_every_parameter_changes_the_page(parameters: dict[str, Any]) -> None:
    """Another model, address or setting is another page."""
    assert page_of(parameters, "essay") != page_of(PARAMETERS, "essay")


@pytest.mark.parametrize("blocks", [(), ("\u201cOne\u201d",), ("One", "Two", "Three")])
def test_the_key_is_the_digest_of_the_request(blocks: tuple[str, ...]) -> None:
    """However many blocks a request has, its key is the SHA-256 of it and the replicate as JSON:
    digested otherwise, kept replies would not be found again, or be found for other words."""
    ask = ModelRequest("You judge.", blocks, schema={"type": "object", "a": 1}, max_tokens=7)
    written = (
        '[{"system":"You judge.","blocks":[%s],"exchange":[],"prefill":"","schema":{"a":1,'
        '"type":"object"},"top_logprobs":0,"max_tokens":7},2]'
    )
    document = written % ",".join(f'"{block}"' for block in blocks)
    assert key_of(ask, 2) == hashlib.sha256(document.encode()).digest()


def test_a_schema_that_is_changed_has_another_key() -> None:
    """An elicitation may ask with one dictionary that it changes from call to call."""
    schema = dict[str, object]()
    keys = set()
    for n in range(3):
        schema["maximum"] = n
        keys.add(key_of(replace(ASK, schema=schema), 1))
    assert len(keys) == 3


def test_a_replicate_changes_the_key() -> None:
    """The second replicate of a judge is not answered with the first one's reply."""
    assert key_of(ASK, 2) != key_of(ASK, 1)


def test_the_order_of_parameters_does_not_change_the_page() -> None:
    """The same settings named in another order are the same call."""
    backwards = dict(reversed(PARAMETERS.items()))
    assert page_of(backwards, "essay") == page_of(PARAMETERS, "essay")


def test_replies_of_an_earlier_version_are_found_again() -> None:
    """The page is a digest of the format's number, the model's settings and the subject, as kept
    replies have it: made otherwise, all that is in the cache would be paid for again."""
    kept = b'[2,{"base_url":"http://here/v1","model":"stub","temperature":null},["essay"]]'
    assert page_of(PARAMETERS, "essay") == hashlib.sha256(kept).hexdigest()


def test_the_key_is_the_same_in_another_process() -> None:
    """A key depends on no process's hash seed: else nothing would be found again."""
    source = (
        "from persona_panel.calls.cache import key_of, page_of\n"
        "from persona_panel.rubrics import ModelRequest\n"
        "ask = ModelRequest(system='You judge.', blocks=('Read this. ', 'Rate it.'))\n"
        f"print(page_of({PARAMETERS!r}, 'essay'), key_of(ask, 1).hex())\n"
    )
    other = process(source)
    printed, _ = other.communicate(timeout=60)
    assert printed.split() == [page_of(PARAMETERS, "essay"), key_of(ASK, 1).hex()]


# Processes


def test_two_processes_writing_at_once_lose_nothing(tmp_path: Path) -> None:
    """Two processes put 300 replies each into one folder, and all 600 are there."""
    source = (
        "DiskReplyStore.batch_s = 0.001\n"
        "cache = DiskReplyStore(Path(sys.argv[1]))\n"
        "name = sys.argv[2]\n"
        "for n in range(300):\n"
        "    cache.put(f'p{n % 5}', f'{name}{n}'.encode().ljust(32), ModelResponse(str(n)))\n"
        "cache.close()\n"
    )
    writers = [process(source, str(tmp_path), name) for name in "ab"]
    for writer in writers:
        writer.communicate(timeout=120)
        assert writer.returncode == 0
    with closing(DiskReplyStore(tmp_path)) as cache:
        kept = [
            cache.get(f"p{n % 5}", f"{name}{n}".encode().ljust(32)) is not None
            for name in "ab"
            for n in range(300)
        ]
        assert kept == [True] * 600


def test_what_put_returned_from_outlives_a_kill(tmp_path: Path) -> None:
    """A process killed with SIGKILL right after put returned has lost nothing."""
    source = (
        "cache = DiskReplyStore(Path(sys.argv[1]))\n"
        "cache.put('page', bytes(32), ModelResponse('paid for'))\n"
        "print('kept', flush=True)\n"
        "sys.stdin.read()\n"
    )
    killed_once_it_says_kept(source, tmp_path)
    with closing(DiskReplyStore(tmp_path)) as cache:
        assert cache.get("page", KEY) == ModelResponse("paid for", cached=True)


# No pickles


class Trap:
    """Leaves a file behind when it is unpickled."""

    def __init__(self, sign: Path) -> None:
        self.sign = sign

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.sign),)


def test_a_planted_pickle_is_refused(tmp_path: Path) -> None:
    """A row that somebody else wrote as a pickle raises and runs none of its code."""
    sign = tmp_path / "executed"
    folder = tmp_path / "cache"
    with closing(DiskReplyStore(folder)) as cache:
        cache.put("page", KEY, REPLY)
    planted = pickle.dumps(Trap(sign))
    with closing(sqlite3.connect(folder / "cache.db")) as database:
        database.execute("UPDATE Cache SET mode = 4, value = ?", (planted,))
        database.commit()
    with closing(DiskReplyStore(folder)) as cache, pytest.raises(ValueError, match="did not write"):
        cache.get("page", KEY)
    assert not sign.exists()
    pickle.loads(planted)  # the trap does work
    assert sign.exists()


def test_a_planted_pickle_in_the_raw_is_not_unpickled(tmp_path: Path) -> None:
    """A pickle in place of the bytes of a reply is no reply, and runs none of its code: the
    model is asked again."""
    sign = tmp_path / "executed"
    folder = tmp_path / "cache"
    with closing(DiskReplyStore(folder)) as cache:
        cache.put("page", KEY, REPLY)
    with closing(sqlite3.connect(folder / "cache.db")) as database:
        planted = pickle.dumps(Trap(sign))
        header = KEY + len(planted).to_bytes(4, "big")
        database.execute("UPDATE Cache SET value = ?", (header + planted,))
        database.commit()
    with closing(DiskReplyStore(folder)) as cache:
        assert cache.get("page", KEY) is None
        cache.put("page", KEY, REPLY)
    with closing(DiskReplyStore(folder)) as cache:
        assert cache.get("page", KEY) == replace(REPLY, cached=True)
    assert not sign.exists()


@pytest.mark.parametrize("length", range(0, 200, 7))
def test_a_row_cut_short_costs_only_what_is_cut(tmp_path: Path, length: int) -> None:
    """Whatever is left of a row, what is whole in it is served and the rest is not there."""
    with closing(DiskReplyStore(tmp_path)) as cache:
        cache.put("page", GOOD, ModelResponse("1"))
        cache.put("page", BAD, REPLY)
    ((whole,),) = rows(tmp_path, "SELECT value FROM Cache")
    first = 36 + int.from_bytes(whole[32:36], "big")
    with closing(sqlite3.connect(tmp_path / "cache.db")) as database:
        database.execute("UPDATE Cache SET value = ?", (whole[:length],))
        database.commit()
    with closing(DiskReplyStore(tmp_path)) as cache:
        assert (cache.get("page", GOOD) is not None) == (length >= first)
        assert (cache.get("page", BAD) is not None) == (length >= len(whole))


def test_nothing_on_disk_is_a_pickle(tmp_path: Path) -> None:
    """Every key is raw text and every value raw bytes of JSON, compressed where it is long."""
    with closing(DiskReplyStore(tmp_path)) as cache:
        cache.put(page_of(PARAMETERS, "essay"), KEY, REPLY)
        cache.put("large", KEY, replace(REPLY, text=os.urandom(200_000).hex()))
    found = rows(tmp_path, "SELECT key, raw, mode, value FROM Cache")
    assert {(type(key), raw, mode) for key, raw, mode, _ in found} == {(str, 1, 1)}
    # After 32 bytes of key and 4 of length: JSON, and zlib's mark at level 1.
    assert sorted(value[36:38] for _, _, _, value in found) == [b"x\x01", b'{"']


# The folder


def test_the_folder_can_be_chosen(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """$PERSONA_PANEL_CACHE decides where replies are kept; without it the user's cache does."""
    monkeypatch.setenv(ENVIRONMENT_VARIABLE, str(tmp_path))
    assert cache_location() == str(tmp_path)
    monkeypatch.delenv(ENVIRONMENT_VARIABLE)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert Path(cache_location()).name == "persona-panel"


def test_a_folder_that_cannot_be_used_is_said(tmp_path: Path) -> None:
    """A file where the folder should be is an error that names it and the way out."""
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(ConfigurationError, match=rf"file.*{ENVIRONMENT_VARIABLE}"):
        DiskReplyStore(tmp_path / "file")
