"""Few files may be open: `persona_panel.files.limits`, and runs, calls and caches under a
limit."""

from __future__ import annotations

import asyncio
import gc
import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from persona_panel import ConfigurationError
from persona_panel.calls.budget import NO_CAPS, Budget
from persona_panel.calls.cache import key_of
from persona_panel.calls.caller import Caller
from persona_panel.calls.endpoint import Endpoint
from persona_panel.calls.rate_limiter import RateLimiter
from persona_panel.calls.stores.disk import DiskReplyStore
from persona_panel.files.limits import is_lack_of_descriptors, left_for_calls, shared_out
from persona_panel.rubrics import ModelRequest, ModelResponse
from persona_panel.testing import serving
from tests.helpers.command import COMMAND
from tests.helpers.langchain_chats import OpenAICompatible

ROOT = Path(__file__).parents[3]


@contextmanager
def at_most(descriptors: int) -> Iterator[None]:
    """So many files more may be open in this process."""
    usual = resource.getrlimit(resource.RLIMIT_NOFILE)
    # Numbered from the lowest that is free: other tests leave some open, with gaps in between.
    numbers = [os.open(os.devnull, os.O_RDONLY) for _ in range(descriptors)]
    for number in numbers:
        os.close(number)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(numbers) + 1, usual[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, usual)


@contextmanager
def none_left() -> Iterator[None]:
    """Every descriptor that may be had is taken by somebody else."""
    taken: list[int] = []
    try:
        while True:
            try:
                taken.append(os.open(os.devnull, os.O_RDONLY))
            except OSError as error:
                assert is_lack_of_descriptors(error)
                break
        yield
    finally:
        for one in taken:
            os.close(one)


@contextmanager
def server_of_its_own() -> Iterator[str]:
    """A server that has descriptors of its own; its address."""
    command = [sys.executable, "-m", "tests.server", "--latency", "0.05"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield orjson.loads(process.stdout.readline())["base_url"]
        finally:
            process.kill()


@pytest.mark.parametrize(
    ("limit", "options"), [(64, ["--concurrency", "100"]), (64, []), (256, [])]
)
def test_a_run_under_a_limit_goes_to_its_end(
    limit: int, options: list[str], tmp_path: Path
) -> None:
    """With as few descriptors as `ulimit -n` allows, and more calls wanted, all is scored."""
    rows = [
        {"id": f"r{i}", "prompt": "What?", "response": f"Text {i}.", "system": "s"}
        for i in range(60)
    ]
    (tmp_path / "batch.jsonl").write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows))
    with serving(latency_s=0.2) as server:
        done = subprocess.run(
            [COMMAND, "score", "batch.jsonl", "--model", "openai:stub", "--out", "run", *options],
            cwd=tmp_path,
            env=os.environ | {"OPENAI_BASE_URL": server.base_url},
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit)),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert server.in_flight_max < limit
    summary = orjson.loads((tmp_path / "run/summary.json").read_bytes())
    assert summary["coverage"]["scored"] == 10 * len(rows)
    lowered = "openai:stub: at most" in done.stderr
    assert lowered == bool(options)
    if lowered:
        assert "concurrent calls instead of 100" in " ".join(done.stderr.split())


async def test_a_call_that_can_open_no_connection_is_made_later(tmp_path: Path) -> None:
    """Whoever lacks a descriptor waits for one: all calls are answered, fewer are in flight, and
    no server is blamed."""
    limiter = RateLimiter(50)
    with server_of_its_own() as url:
        model = OpenAICompatible(model="stub", base_url=url)
        line = Endpoint(model, limiter)
        cache = DiskReplyStore(tmp_path)
        caller = Caller({"m": line}, cache, Budget(NO_CAPS, {"m": None}))
        asks = [ModelRequest("", (f"Rate {number}.",)) for number in range(100)]
        with at_most(20):
            replies = await asyncio.gather(*(caller.complete("m", ask, "page") for ask in asks))
        await model.aclose()
        cache.close()
    assert len(replies) == 100
    assert caller.counts.faults["too many open files"] > 0
    assert line.dead is None


async def test_a_reply_that_cannot_be_kept_for_want_of_a_descriptor_is_kept_later(
    tmp_path: Path,
) -> None:
    """A reply waits for the cache to open its files again, and the run goes on."""
    with server_of_its_own() as url:
        model = OpenAICompatible(model="stub", base_url=url)
        cache = DiskReplyStore(tmp_path)
        caller = Caller({"m": Endpoint(model, RateLimiter(1))}, cache, Budget(NO_CAPS, {"m": None}))
        await caller.complete("m", ModelRequest("", ("First.",)), "page")
        cache.close()
        cache = DiskReplyStore(tmp_path)
        caller = Caller({"m": Endpoint(model, RateLimiter(1))}, cache, Budget(NO_CAPS, {"m": None}))
        assert cache._spare is not None
        os.close(cache._spare)
        cache._spare = None
        with at_most(20), none_left():
            asking = asyncio.create_task(
                caller.complete("m", ModelRequest("", ("Second.",)), "page")
            )
            await asyncio.sleep(0.3)
            assert not asking.done()
        assert (await asyncio.wait_for(asking, 20)).text == "7"
        await model.aclose()
        cache.close()
    again = DiskReplyStore(tmp_path)
    assert again.get("page", key_of(ModelRequest("", ("Second.",)), 1)) is not None
    again.close()


def test_a_cache_that_cannot_be_opened_leaves_no_descriptor_open(tmp_path: Path) -> None:
    """Tried again and again, where what a killed process left cannot be read."""
    (tmp_path / "left.journal").mkdir()

    def tried() -> int:
        with pytest.raises(ConfigurationError, match="cannot be used"):
            DiskReplyStore(tmp_path)
        gc.collect()
        return sum(1 for _ in Path("/dev/fd").iterdir())

    before = tried()
    assert [tried() for _ in range(3)] == [before] * 3


def test_a_cache_keeps_and_drops_without_a_free_descriptor(tmp_path: Path) -> None:
    """What is put and what is dropped is in the journal, and in the database later."""
    kept, dropped = key_of(ModelRequest("", ("a",)), 1), key_of(ModelRequest("", ("b",)), 1)
    cache = DiskReplyStore(tmp_path)
    cache.put("page", dropped, ModelResponse("7"))
    cache.close()
    cache = DiskReplyStore(tmp_path)
    with at_most(20), none_left():
        cache.put("page", kept, ModelResponse("7"))
        cache.forget("page", dropped, ModelResponse("7"))
    cache.close()
    again = DiskReplyStore(tmp_path)
    assert again.get("page", kept) is not None
    assert again.get("page", dropped) is None
    again.close()


def test_what_is_left_is_counted() -> None:
    """What is open and what the run will open is taken off the limit; one call always goes."""
    with at_most(100):
        left = left_for_calls()
        assert left is not None
        assert 0 < left < 100
    with at_most(3):
        assert left_for_calls() == 1


@given(st.lists(st.integers(1, 300), min_size=1, max_size=6), st.integers(1, 500))
def test_shares_are_fair(wanted: list[int], available: int) -> None:
    """Nobody gets more than was wanted or nothing, all together no more than there is (or one
    each), and nobody is short while another has more than they."""
    shares = shared_out(wanted, available)
    assert all(1 <= share <= want for share, want in zip(shares, wanted, strict=True))
    assert sum(shares) <= max(available, len(wanted))
    short = [share for share, want in zip(shares, wanted, strict=True) if share < want]
    assert not short or max(shares) <= min(short) + 1
    assert shared_out(wanted, None) == wanted
