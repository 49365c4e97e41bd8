"""Replies on a server that workers share: `persona_panel.calls.stores.redis`, with a real one."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from persona_panel import ConfigurationError, Panel, Response, RunStopped
from persona_panel.calls.budget import NO_CAPS, Budget
from persona_panel.calls.cache import ENVIRONMENT_VARIABLE, CacheUnreachable, open_reply_store
from persona_panel.calls.caller import Caller
from persona_panel.calls.endpoint import Endpoint
from persona_panel.calls.journal import journals_in
from persona_panel.calls.kept_replies import counts_of
from persona_panel.calls.rate_limiter import RateLimiter
from persona_panel.rubrics import ModelRequest, ModelResponse
from persona_panel.testing import ScriptedModel, check_reply_store, serving
from tests.helpers.command import COMMAND
from tests.helpers.redis_server import PASSWORD, RedisServer, redis_server

if TYPE_CHECKING or find_spec("redis") is not None or "PERSONA_PANEL_ALL_EXTRAS" in os.environ:
    from persona_panel.calls.stores.redis import RedisReplyStore
else:
    pytest.skip("pip install 'persona-panel[redis]'", allow_module_level=True)

PAGE, KEY, OTHER = "a" * 64, b"k" * 32, b"o" * 32
REPLY = ModelResponse("7")


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    with redis_server(tmp_path_factory.mktemp("redis")) as server:
        yield server


@pytest.fixture
def server(
    running: RedisServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[RedisServer]:
    """A server that holds nothing, and is the cache of this process; it may be killed."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv(ENVIRONMENT_VARIABLE, running.address)
    with running.client() as client:
        client.flushall()
    yield running
    running.kill()
    running.start()


def opened(server: RedisServer, *, lease_s: float = 30, patience_s: float = 20) -> RedisReplyStore:
    class Hasty(RedisReplyStore):
        pass

    Hasty.lease_s, Hasty.patience_s = lease_s, patience_s
    return Hasty(server.address)


def caller_of(store: RedisReplyStore, model: ScriptedModel) -> Caller:
    return Caller({"m": Endpoint(model, RateLimiter(8))}, store, Budget(NO_CAPS, {"m": None}))


# A store


def test_it_keeps_what_a_store_keeps(server: RedisServer) -> None:
    """The check for authors of stores is content, and no lease is left."""
    check_reply_store(lambda: opened(server))
    with server.client() as client:
        assert client.keys("*lease*") == []


# Two workers


async def test_two_workers_pay_once_for_the_same_words(server: RedisServer) -> None:
    """Of forty requests that two workers make at the same moment, each is answered by the model
    once, both workers have all answers, and no lease is left."""
    model = ScriptedModel("4")
    with closing(opened(server)) as one, closing(opened(server)) as two:
        callers = [caller_of(store, model) for store in (one, two)]
        asks = [ModelRequest("", (f"Rate {n}.",)) for n in range(40)]
        replies = await asyncio.gather(
            *(caller.complete("m", ask, PAGE) for ask in asks for caller in callers)
        )
    assert [reply.text for reply in replies] == ["4"] * 80
    assert len(model.requests) == 40
    assert sum(caller.counts.cached for caller in callers) == 40
    with server.client() as client:
        assert client.keys("*lease*") == []


async def test_a_lease_is_renewed_while_its_worker_lives(server: RedisServer) -> None:
    """Who waits for a call of 1 s under leases of 0.3 s gets its reply, and not the lease."""
    with closing(opened(server, lease_s=0.3)) as one, closing(opened(server)) as two:
        async with one.claimed(PAGE, KEY) as kept:
            assert kept is None
            waiting = asyncio.create_task(two.claimed(PAGE, KEY).__aenter__())
            await asyncio.sleep(1)
            assert not waiting.done()
            one.put(PAGE, KEY, REPLY)
        assert (await asyncio.wait_for(waiting, 10)) == ModelResponse("7", cached=True)


async def test_a_lease_that_ended_is_taken_again_unless_another_has_it(server: RedisServer) -> None:
    """A lease that a server has lost is there again at the next renewal; one that another worker
    took meanwhile is left to it, and not given up with the reply."""
    with closing(opened(server, lease_s=0.15)) as store, server.client() as client:
        async with store.claimed(PAGE, KEY):
            (name,) = client.keys("*lease*")
            own = client.getdel(name)
            for _ in range(500):
                await asyncio.sleep(0.02)
                if client.get(name) == own:
                    break
            assert client.get(name) == own
            client.set(name, b"another")
            await asyncio.sleep(0.15)
            assert client.get(name) == b"another"
        assert client.get(name) == b"another"


async def test_the_lease_of_a_worker_that_died_ends(server: RedisServer) -> None:
    """A process is killed in the middle of a call: another may ask once its lease of half a
    second has ended, and not before."""
    source = (
        "import asyncio, sys\n"
        "from persona_panel.calls.stores.redis import RedisReplyStore\n"
        "async def main():\n"
        "    RedisReplyStore.lease_s = 0.5\n"
        "    async with RedisReplyStore(sys.argv[1]).claimed('a' * 64, b'k' * 32):\n"
        "        print('asking', flush=True)\n"
        "        await asyncio.sleep(60)\n"
        "asyncio.run(main())\n"
    )
    worker = await asyncio.create_subprocess_exec(
        sys.executable, "-c", source, server.address, stdout=asyncio.subprocess.PIPE
    )
    assert worker.stdout is not None
    assert await worker.stdout.readline() == b"asking\n"
    with closing(opened(server)) as store:
        waiting = asyncio.create_task(store.claimed(PAGE, KEY).__aenter__())
        await asyncio.sleep(1)
        assert not waiting.done()
        worker.kill()
        await worker.wait()
        assert await asyncio.wait_for(waiting, 10) is None


async def test_a_call_that_failed_leaves_the_next_to_another(server: RedisServer) -> None:
    """No reply was put: who waits asks at once, not when the lease of 30 s ends."""
    with closing(opened(server)) as one, closing(opened(server)) as two:
        with pytest.raises(ValueError, match="no answer"):
            async with one.claimed(PAGE, KEY):
                raise ValueError("no answer")
        async with asyncio.timeout(5), two.claimed(PAGE, KEY) as kept:
            assert kept is None


# A server that is killed


async def test_a_server_killed_under_load_loses_nothing(server: RedisServer) -> None:
    """300 requests while the server is killed and started again twice: each is paid for once, and
    its reply is with the server."""
    model = ScriptedModel("4")
    asks = [ModelRequest("", (f"Rate {n}.",)) for n in range(300)]

    async def outages() -> None:
        for _ in range(2):
            await asyncio.sleep(0.15)
            await asyncio.to_thread(server.kill)
            await asyncio.sleep(0.15)
            await asyncio.to_thread(server.start)

    with closing(opened(server)) as store:
        caller, limit = caller_of(store, model), asyncio.Semaphore(20)

        async def ask(request: ModelRequest) -> ModelResponse:
            async with limit:
                await asyncio.sleep(0.03)
                return await caller.complete("m", request, PAGE)

        await asyncio.gather(outages(), *map(ask, asks))
    assert len(model.requests) == 300
    with server.client() as client:
        assert client.hlen(f"persona-panel:page:{PAGE}") == 300


def test_what_the_server_did_not_get_is_sent_by_the_next_run(
    server: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    """Replies that were paid for while the server was away are in a journal, those that came after
    its end was noticed too; closing says so, and the next store sends them."""
    store = opened(server, patience_s=0.3)
    server.kill()
    store.put(PAGE, KEY, REPLY)
    limit = time.monotonic() + 10
    with pytest.raises(CacheUnreachable, match=r"does not answer \(.*run the same command again"):
        while time.monotonic() < limit:
            store.put(PAGE, OTHER, REPLY)
            time.sleep(0.05)
    store.close()
    assert "The last answers are not in the cache redis://127.0.0.1" in caplog.text
    assert PASSWORD not in caplog.text
    server.start()
    with closing(opened(server)) as again:
        assert [again.get(PAGE, key) is not None for key in (KEY, OTHER)] == [True, True]
        assert journals_in(again._folder) == []


def test_a_run_ends_with_one_sentence_where_the_server_is_gone(
    server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It says where the cache is, what is wrong and what to do; no password is in it."""
    monkeypatch.setattr("persona_panel.calls.stores.redis.RedisReplyStore.patience_s", 0.3)
    essay = Response(id="a", prompt="Why?", text="Because.", system="s")

    class Deadly(ScriptedModel):
        async def complete(self, request: ModelRequest) -> ModelResponse:
            server.kill()
            return await super().complete(request)

    with pytest.raises(RunStopped) as stopped:
        Panel("disciplinary", Deadly()).score([essay])
    said = str(stopped.value)
    assert said.startswith(f"the cache redis://127.0.0.1:{server.port}/0 does not answer (")
    assert said.endswith("then run the same command again")
    assert PASSWORD not in said


@pytest.mark.slow("a server is killed and begun again")
def test_two_commands_and_a_server_that_is_killed(server: RedisServer, tmp_path: Path) -> None:
    """Two processes score the same texts while the server is killed and started again: the model
    is asked once for each judgment, and no file of theirs and no output holds the password."""
    rows = "".join(f"r{n},Why {n}?,Because of {n}.,s\n" for n in range(8))
    (tmp_path / "essays.csv").write_text("id,prompt,text,system\n" + rows)
    with serving(latency_s=0.05) as model:
        environment = os.environ | {"OPENAI_BASE_URL": model.base_url}
        workers = [
            subprocess.Popen(
                [COMMAND, "score", "essays.csv", "--model", "openai:stub", "--personas",
                 "disciplinary", "--concurrency", "2", "--out", name],
                cwd=tmp_path, env=environment, text=True,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            )
            for name in "ab"
        ]  # fmt: skip
        limit = time.monotonic() + 60
        # Both must have begun: one that cannot open its cache makes no run.
        while len(model.calls) < 10 or not all((tmp_path / name).exists() for name in "ab"):
            assert time.monotonic() < limit
            time.sleep(0.01)
        server.kill()
        time.sleep(0.3)
        server.start()
        said = [worker.communicate(timeout=120) for worker in workers]
        assert [worker.returncode for worker in workers] == [0, 0], said
        assert len(model.calls) == 40
    written = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert len(written) > 10
    for secret in (PASSWORD, "canary%2F4f9e"):
        assert secret not in str(said)
        assert not any(secret.encode() in content for content in written)


# A server that may lose what it has


def test_a_server_that_may_lose_replies_is_warned_of(
    server: RedisServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Without appendonly, and with a policy that evicts, each is said once, with its remedy."""
    monkeypatch.setattr("persona_panel.calls.stores.redis._warned", set())
    opened(server).close()
    assert caplog.text == ""
    with server.client() as client:
        client.config_set("appendonly", "no")
        client.config_set("maxmemory", "100mb")
        client.config_set("maxmemory-policy", "allkeys-lru")
    for _ in range(2):
        opened(server).close()
    assert caplog.text.count("Set `appendonly yes` in its configuration") == 1
    assert caplog.text.count("Set `maxmemory-policy noeviction` in its configuration") == 1
    assert len(caplog.messages) == 2


@pytest.mark.parametrize(
    ("save", "said"),
    [
        ("3600 1 300 100", "loses in a crash what came since its last snapshot (appendonly no)"),
        ("", 'loses all answers when it stops (appendonly no, save "")'),
    ],
)
def test_what_a_crash_would_lose_is_told(
    server: RedisServer,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    save: str,
    said: str,
) -> None:
    """Without appendonly: what came since the last snapshot, or all where none is taken."""
    monkeypatch.setattr("persona_panel.calls.stores.redis._warned", set())
    with server.client() as client:
        client.config_set("appendonly", "no")
        client.config_set("save", save)
        opened(server).close()
        client.config_set("save", "")
    assert [said in message for message in caplog.messages] == [True]


def test_a_server_that_does_not_tell_its_snapshots_is_warned_of(
    server: RedisServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Where CONFIG is not allowed nothing is said of snapshots, and the store opens."""
    monkeypatch.setattr("persona_panel.calls.stores.redis._warned", set())
    with server.client() as client:
        client.config_set("appendonly", "no")
        client.execute_command(
            "ACL", "SETUSER", "few", "on", ">pw4f9e01234", "~*", "+@all", "-config"
        )
        RedisReplyStore(f"redis://few:pw4f9e01234@127.0.0.1:{server.port}/0").close()
        client.execute_command("ACL", "DELUSER", "few")
    assert ["may lose answers when it stops" in said for said in caplog.messages] == [True]


def test_an_outage_is_told_at_once_and_its_end(
    server: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    """Of two outages each is told once, however many ask, with how long the server is waited for,
    and that it answers again."""
    with closing(opened(server)) as store:
        for n in range(2):
            server.kill()
            store.put(PAGE, bytes([n]) * 32, REPLY)
            with ThreadPoolExecutor(4) as pool:
                asking = [pool.submit(store.get, f"{n}{i}" * 32, KEY) for i in range(4)]
                limit = time.monotonic() + 5
                while len(caplog.messages) < 2 * n + 1:
                    assert time.monotonic() < limit
                    time.sleep(0.01)
                time.sleep(0.3)
                server.start()
                assert [one.result(20) for one in asking] == [None] * 4
    where = f"The cache redis://127.0.0.1:{server.port}/0"
    assert len(caplog.messages) == 4, caplog.text
    for lost, back in (caplog.messages[:2], caplog.messages[2:]):
        assert lost.startswith(f"{where} does not answer (")
        assert lost.endswith("; waiting for it for up to 20 s.")
        assert back.startswith(f"{where} answers again, after ")
    assert PASSWORD not in caplog.text


# An address that does not do


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("redis://:wrong-4f9e-0123456789@127.0.0.1:{port}", "password"),
        ("redis://:wrong-4f9e-0123456789@127.0.0.1:1", "cannot be used"),
        ("redis://:wrong-4f9e/0123456789@127.0.0.1:{port}", "cannot be read; expected redis://"),
        ("unix://:wrong-4f9e-0123456789@/no/such.sock?db=2", r"unix:///no/such.sock\?db=2"),
        ("redis://:wrong-4f9e-0123456789@127.0.0.1:{port}?db=1&db=2", "cannot be read; expected"),
    ],
)
def test_an_address_that_does_not_do_is_refused(
    server: RedisServer, monkeypatch: pytest.MonkeyPatch, address: str, said: str
) -> None:
    """With what is wrong and no part of its password."""
    monkeypatch.setenv(ENVIRONMENT_VARIABLE, address.format(port=server.port))
    with pytest.raises(ConfigurationError, match=said) as refused:
        open_reply_store()
    assert "wrong-4f9e" not in str(refused.value)
    assert "0123456789" not in str(refused.value)


@pytest.mark.parametrize(
    "address",
    [
        "redis://:12/PW4f9e@127.0.0.1:6399/0",
        "redis://:12?PW4f9e@127.0.0.1:6399/0",
        "redis://127.0.0.1:6399/0?foo=PW4f9e",
        "redis:/:PW4f9e@127.0.0.1:6399/0",
        "rediss::PW4f9e@127.0.0.1:6399",
        "unix:/PW4f9e",
    ],
)
def test_an_address_that_cannot_be_read_is_not_shown(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, address: str
) -> None:
    """An unescaped sign in the password, an option that there is not, a missing slash: refused,
    with nothing of the address, and no folder is called by it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(ENVIRONMENT_VARIABLE, address)
    with pytest.raises(ConfigurationError, match=r"redis|unix://") as refused:
        open_reply_store()
    assert "PW4f9e" not in str(refused.value)
    assert list(tmp_path.iterdir()) == []


def test_what_others_keep_under_such_names_is_counted_apart(server: RedisServer) -> None:
    """What is no hash, or has a name that no page has, hides no answer; a run that needs that page
    is told its name."""
    with server.client() as client, closing(opened(server)) as store:
        store.put(PAGE, KEY, REPLY)
    with closing(opened(server)) as store:
        client.set("persona-panel:page:other", "x")
        client.hset(b"persona-panel:page:\xff", "x", "x")
        counts = counts_of(store)
        assert (counts.all.n, counts.unreadable) == (1, 2)
        with pytest.raises(CacheUnreachable, match="WRONGTYPE"):
            store.get("other", KEY)


def test_a_full_server_is_told_in_its_words(server: RedisServer) -> None:
    """Without the script that it refused."""
    with server.client() as client:
        client.config_set("maxmemory", "1")
        try:
            essay = Response(id="r", prompt="Why?", text="Because.", system="s")
            with pytest.raises(RunStopped) as stopped:
                Panel("disciplinary", ScriptedModel(), "debate-speech").score([essay])
        finally:
            client.config_set("maxmemory", "0")
    assert "(command not allowed when used memory > 'maxmemory'); put that right" in str(
        stopped.value
    )


def test_a_server_that_does_not_list_its_answers_is_told_of(server: RedisServer) -> None:
    """A user without the right to SCAN, and a server that is gone: one sentence with the remedy."""
    with server.client() as client:
        client.execute_command(
            "ACL", "SETUSER", "few", "on", ">pw4f9e01234", "~*", "+@all", "-scan"
        )
        address = f"redis://few:pw4f9e01234@127.0.0.1:{server.port}/0"
        refused = pytest.raises(CacheUnreachable, match=r"refuses to work.*'scan'.*put that right")
        with closing(RedisReplyStore(address)) as store, refused:
            list(store.entries())
        client.execute_command("ACL", "DELUSER", "few")
    with closing(opened(server, patience_s=0.2)) as store:
        server.kill()
        with pytest.raises(CacheUnreachable, match=r"does not answer.*run the same command again"):
            list(store.entries())
