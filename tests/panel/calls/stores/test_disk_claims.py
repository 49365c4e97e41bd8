"""One process asks, the others that share its cache on a disk wait."""

from __future__ import annotations

import asyncio
import errno
import fcntl
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from dataclasses import replace
from pathlib import Path

import pytest

from persona_panel.calls.journal import encoded
from persona_panel.calls.stores.disk import Claims, DiskReplyStore, ReplyClaim, place_of
from persona_panel.rubrics import ModelResponse

PAGE, KEY = "a" * 64, b"k" * 32
REPLY = ModelResponse("7")
KEPT = replace(REPLY, cached=True)
UNSCORED = ModelResponse("well", latency_s=0.5)

ASKING = """
import asyncio, sys
from pathlib import Path
from persona_panel.calls.stores.disk import DiskReplyStore
from persona_panel.rubrics import ModelResponse

DiskReplyStore.batch_s = 60.0


async def main():
    store = DiskReplyStore(Path(sys.argv[1]))
    async with store.claimed("a" * 64, b"k" * 32) as kept:
        assert kept is None
        if sys.argv[2] == "put":
            store.put("a" * 64, b"k" * 32, ModelResponse("7"))
        print("asking", flush=True)
        await asyncio.sleep(60)


asyncio.run(main())
"""


@asynccontextmanager
async def asking(folder: Path, does: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """A process in the middle of a call, whose reply it has `put` or lacks."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", ASKING, str(folder), does, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    assert await process.stdout.readline() == b"asking\n"
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def waiting_for(store: DiskReplyStore) -> asyncio.Task[ModelResponse | None]:
    """Entering the claim, which waits."""
    waiting = asyncio.create_task(store.claimed(PAGE, KEY).__aenter__())
    await asyncio.sleep(0.1)
    assert not waiting.done()
    return waiting


async def test_who_waits_gets_the_reply_of_who_asks(tmp_path: Path) -> None:
    """A second store of one process waits, and has the reply while it is in the first one's journal
    still."""
    with closing(DiskReplyStore(tmp_path)) as one, closing(DiskReplyStore(tmp_path)) as two:
        async with one.claimed(PAGE, KEY) as kept:
            assert kept is None
            waiting = await waiting_for(two)
            one.put(PAGE, KEY, REPLY)
        assert await asyncio.wait_for(waiting, 10) == KEPT
        assert two.get(PAGE, KEY) == KEPT


async def test_what_another_has_put_meanwhile_is_not_asked_for(tmp_path: Path) -> None:
    """A store that was alone, and has the page in memory without the reply, sees one that was put
    by a store which came and went since; so it is with a store that came last."""
    with closing(DiskReplyStore(tmp_path)) as first:
        assert first.get(PAGE, KEY) is None
        with closing(DiskReplyStore(tmp_path)) as other:
            other.put(PAGE, KEY, REPLY)
        async with first.claimed(PAGE, KEY) as kept:
            assert kept == KEPT
        with closing(DiskReplyStore(tmp_path)) as last:
            assert last.get(PAGE, b"l" * 32) is None
            first.put(PAGE, b"l" * 32, REPLY)
            async with last.claimed(PAGE, b"l" * 32) as kept:
                assert kept == KEPT


async def test_what_another_has_dropped_is_asked_for(tmp_path: Path) -> None:
    """The last change in another's journal counts: a reply that was put and dropped is none."""
    with closing(DiskReplyStore(tmp_path)) as one, closing(DiskReplyStore(tmp_path)) as two:
        one.put(PAGE, KEY, REPLY)
        async with two.claimed(PAGE, KEY) as kept:
            assert kept == KEPT
        one.forget(PAGE, KEY, REPLY)
        async with two.claimed(PAGE, KEY) as kept:
            assert kept is None


@pytest.mark.parametrize("first_closed", ["one", "two"])
@pytest.mark.parametrize("batch_s", [0.0, 60.0])
async def test_a_late_drop_leaves_what_came_in_its_place(
    batch_s: float, first_closed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two were served an answer that is no result; the first has dropped it and put a better one
    when the second drops it: the better one is served, to all and for good, whichever of their
    changes reaches the database first."""
    monkeypatch.setattr(DiskReplyStore, "batch_s", batch_s)
    with closing(DiskReplyStore(tmp_path)) as third:
        one, two = DiskReplyStore(tmp_path), DiskReplyStore(tmp_path)
        one.put(PAGE, KEY, UNSCORED)
        async with two.claimed(PAGE, KEY) as served:
            assert served is not None
        one.forget(PAGE, KEY, UNSCORED)
        async with one.claimed(PAGE, KEY) as kept:
            assert kept is None
            one.put(PAGE, KEY, REPLY)
        two.forget(PAGE, KEY, served)
        async with two.claimed(PAGE, KEY) as kept:
            assert kept == KEPT
        for store in (one, two) if first_closed == "one" else (two, one):
            store.close()
        async with third.claimed(PAGE, KEY) as kept:
            assert kept == KEPT
    with closing(DiskReplyStore(tmp_path)) as last:
        assert last.get(PAGE, KEY) == KEPT


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
async def test_the_drop_of_who_put_it_comes_late(
    order: tuple[int, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process that put an answer drops it after another has dropped and replaced it; its
    journal is read before or after the other's."""
    monkeypatch.setattr(DiskReplyStore, "batch_s", 60.0)
    stores = DiskReplyStore(tmp_path), DiskReplyStore(tmp_path)
    one, two = (stores[n] for n in order)
    # Journals are read in the order in which they were begun.
    for store in stores:
        store.put("b" * 64, KEY, REPLY)
    one.put(PAGE, KEY, UNSCORED)
    async with two.claimed(PAGE, KEY) as served:
        assert served is not None
    two.forget(PAGE, KEY, served)
    async with two.claimed(PAGE, KEY) as kept:
        assert kept is None
        two.put(PAGE, KEY, REPLY)
    with closing(DiskReplyStore(tmp_path)) as third:
        one.forget(PAGE, KEY, UNSCORED)
        async with third.claimed(PAGE, KEY) as kept:
            assert kept == KEPT
        two.close()
        one.close()
        async with third.claimed(PAGE, KEY) as kept:
            assert kept == KEPT
    with closing(DiskReplyStore(tmp_path)) as last:
        assert last.get(PAGE, KEY) == KEPT


async def test_a_reply_under_another_requests_key_is_asked_for(tmp_path: Path) -> None:
    """What stands where it was not kept for is no reply to who claims it, as to who reads it."""
    with closing(DiskReplyStore(tmp_path)) as one, closing(DiskReplyStore(tmp_path)) as two:
        one.put_stored(PAGE, KEY, encoded(REPLY, PAGE, b"l" * 32))
        assert two.get(PAGE, KEY) is None
        async with two.claimed(PAGE, KEY) as kept:
            assert kept is None


async def test_a_call_that_failed_leaves_the_next_to_another(tmp_path: Path) -> None:
    """No reply was put: who waits asks."""
    with closing(DiskReplyStore(tmp_path)) as one, closing(DiskReplyStore(tmp_path)) as two:
        with pytest.raises(ValueError, match="no answer"):
            async with one.claimed(PAGE, KEY):
                waiting = await waiting_for(two)
                raise ValueError("no answer")
        assert await asyncio.wait_for(waiting, 10) is None


async def test_who_no_longer_waits_claims_nothing(tmp_path: Path) -> None:
    """A call that is cancelled while it waits for another leaves the claim to who comes next."""
    with closing(DiskReplyStore(tmp_path)) as one, closing(DiskReplyStore(tmp_path)) as two:
        async with one.claimed(PAGE, KEY):
            waiting = await waiting_for(two)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
        async with asyncio.timeout(5), one.claimed(PAGE, KEY) as kept:
            assert kept is None


@pytest.mark.parametrize(("does", "kept"), [("nothing", None), ("put", KEPT)])
async def test_the_claim_of_a_process_that_is_killed_ends(
    does: str, kept: ModelResponse | None, tmp_path: Path
) -> None:
    """Who waits may ask as soon as the other is dead, and not before; where that one had put its
    reply, it is taken out of the journal that the dead one has left."""
    with closing(DiskReplyStore(tmp_path)) as store:
        async with asking(tmp_path, does) as process:
            waiting = await waiting_for(store)
            process.kill()
            assert await asyncio.wait_for(waiting, 10) == kept


async def test_the_claims_of_a_process_outlast_a_store_of_it(tmp_path: Path) -> None:
    """A process that closes one of two stores in a folder keeps what the other has claimed."""
    source = ASKING.replace(
        "        print(", "        DiskReplyStore(Path(sys.argv[1])).close()\n        print("
    )
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", source, str(tmp_path), "nothing", stdout=asyncio.subprocess.PIPE
    )
    try:
        assert process.stdout is not None
        assert await process.stdout.readline() == b"asking\n"
        with closing(DiskReplyStore(tmp_path)) as store:
            (await waiting_for(store)).cancel()
    finally:
        process.kill()
        await process.wait()


async def test_a_long_wait_is_explained_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Where another process holds a reply for long, maybe stopped, it is said what helps."""
    monkeypatch.setattr("persona_panel.calls.stores.disk._LONG_WAIT_S", 0.05)
    with closing(DiskReplyStore(tmp_path)) as one, closing(DiskReplyStore(tmp_path)) as two:
        async with one.claimed(PAGE, KEY), one.claimed(PAGE, b"l" * 32):
            both = [two.claimed(PAGE, key).__aenter__() for key in (KEY, b"l" * 32)]
            waiting = asyncio.gather(*both)
            await asyncio.sleep(0.5)
            waiting.cancel()
    assert caplog.text.count(f"another process with the cache {tmp_path} asks for") == 1


async def test_without_locks_it_is_said_and_each_asks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """On a file system that has no such locks nobody waits, and the user is warned."""

    def none(*_: object) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "lockf", none)
    with closing(DiskReplyStore(tmp_path)) as one, closing(DiskReplyStore(tmp_path)) as two:
        async with one.claimed(PAGE, KEY) as first, two.claimed(PAGE, KEY) as second:
            assert (first, second) == (None, None)
    assert "on a file system without locks (No locks available)" in caplog.text


def test_replies_of_two_models_to_one_request_are_claimed_apart() -> None:
    """The place is of page and key, above that which all processes share."""
    assert len({place_of(PAGE, KEY), place_of("b" * 64, KEY), place_of(PAGE, b"l" * 32)}) == 3
    assert place_of(PAGE, bytes(32)) > 0
    assert place_of(PAGE, b"\xff" * 32) <= 2**62


async def test_who_cannot_look_up_a_reply_keeps_no_claim(tmp_path: Path) -> None:
    """Where the cache cannot be read, the error ends that call alone: others may ask."""

    async def unreadable(page: str, key: bytes) -> ModelResponse | None:
        raise OSError(errno.EIO, "Input/output error")

    with closing(Claims(tmp_path)) as one, closing(Claims(tmp_path)) as two:
        with pytest.raises(OSError, match="Input/output error"):
            await ReplyClaim(two, PAGE, KEY, unreadable).__aenter__()
        assert one.take(place_of(PAGE, KEY))
        one.give_up(place_of(PAGE, KEY))


FORKING = """
import os, sys
from pathlib import Path
from persona_panel.calls.stores.disk import Claims

folder = Path(sys.argv[1])
ours = Claims(folder)
assert ours.take(5)
asked, given_up = os.pipe(), os.pipe()
if os.fork() == 0:
    theirs = Claims(folder)
    assert not theirs.is_alone()
    assert not theirs.take(5)
    os.write(asked[1], b"x")
    os.read(given_up[0], 1)
    os._exit(0 if theirs.take(5) else 3)
os.read(asked[0], 1)
ours.give_up(5)
os.write(given_up[1], b"x")
print(os.waitstatus_to_exitcode(os.wait()[1]))
"""


def test_a_forked_process_has_claims_of_its_own(tmp_path: Path) -> None:
    """A claim that its parent held when it was forked is the parent's, and ends with it."""
    said = subprocess.run(
        [sys.executable, "-c", FORKING, tmp_path], capture_output=True, text=True, timeout=60
    )
    assert said.stdout == "0\n", said.stderr
