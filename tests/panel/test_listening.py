"""What listens on this machine while a command is at work: the loopback alone, and nobody's page in
a browser gets an answer out of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import ip_address
from pathlib import Path

import httpx
import pytest

from persona_panel.testing import ScriptedServer, serving
from tests.helpers.extras import needs_extra
from tests.helpers.ports import free_port

ROOT = Path(__file__).parents[2]
psutil = pytest.importorskip("psutil", reason="the extra contracts brings it")
FOREIGN = {"Host": "rebound.example:8000", "Origin": "http://rebound.example:8000"}


def listening(process: psutil.Process) -> set[tuple[str, int]]:
    """The addresses and ports at which a process and its descendants listen."""
    found = set()
    for one in (process, *process.children(recursive=True)):
        try:
            connections = one.net_connections(kind="inet")
        except psutil.Error:
            continue
        found |= {tuple(said.laddr) for said in connections if said.status == psutil.CONN_LISTEN}
    return found


def is_loopback(address: str) -> bool:
    """Whether only this machine reaches an address; `::ffff:127.0.0.1` is one, too."""
    ip = ip_address(address)
    return (getattr(ip, "ipv4_mapped", None) or ip).is_loopback


def heard_during(command: list[str], folder: Path, **surroundings: str) -> set[tuple[str, int]]:
    """All that listened at any time while a command was at work, which succeeds."""
    heard: set[tuple[str, int]] = set()
    with (folder / "log").open("wb") as log:
        process = psutil.Popen(
            [str(Path(sys.executable).with_name("persona-panel")), *command],
            cwd=folder,
            env=os.environ | {"OPENAI_API_KEY": "none"} | surroundings,
            stdout=log,
            stderr=log,
        )
        while process.poll() is None:
            heard |= listening(process)
            time.sleep(0.1)
    assert process.returncode == 0, (folder / "log").read_text()
    return heard


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    """A slow model, so that what listens can be seen."""
    with serving(latency_s=0.4) as server:
        yield server


@pytest.fixture
def score(tmp_path: Path, server: ScriptedServer) -> list[str]:
    """A command that scores three texts."""
    rows = [{"id": f"r{n}", "prompt": "p", "response": f"Text {n}.", "system": "s"} for n in "abc"]
    (tmp_path / "texts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    model = {"model": "openai:stub", "base_url": server.base_url, "concurrency": 2}
    (tmp_path / "panel.yaml").write_text(json.dumps({"models": [model]}))
    return ["score", "texts.jsonl", "--panel", "panel.yaml", "--out", "run"]


def test_no_command_listens(score: list[str], tmp_path: Path) -> None:
    """A run, its figures and its page are made without a port."""
    assert heard_during(score, tmp_path) == set()
    assert heard_during(["agree", "run"], tmp_path) == set()
    assert heard_during(["report", "run"], tmp_path) == set()


@needs_extra("ray", "ray")
def test_a_cluster_of_ours_listens_on_the_loopback(score: list[str], tmp_path: Path) -> None:
    """A Ray cluster that a run starts is reached from this machine alone."""
    command = [*score, "--engine", "ray", "--workers", "1"]
    heard = heard_during(command, tmp_path, RAY_USAGE_STATS_ENABLED="0")
    assert len(heard) > 4
    assert [where for where in heard if not is_loopback(where[0])] == []


ASKED = """
import os, sys
address, os.environ["RAY_AUTH_TOKEN"] = sys.argv[1:]
os.environ["RAY_AUTH_MODE"] = "token"
from ray._raylet import GcsClient
print(len(GcsClient(address=address).get_all_node_info(timeout=5)))
"""
OPENED = """
import os, ray, subprocess, sys
from persona_panel.clusters.ray_engine import opened

with opened(None, 1, {}):
    address = ray.get_runtime_context().gcs_address
    for token in (os.environ["RAY_AUTH_TOKEN"], "0" * 64):
        asked = [sys.executable, "-c", sys.argv[1], address, token]
        done = subprocess.run(asked, capture_output=True, text=True, timeout=60)
        print(done.returncode, done.stdout.strip() or "InvalidAuthToken" in done.stderr)
"""


@needs_extra("ray", "ray")
def test_a_cluster_of_ours_wants_its_token(tmp_path: Path) -> None:
    """Another process of this machine is let in with the token alone, which is in no file."""
    surroundings = {name: said for name, said in os.environ.items() if name[:8] != "RAY_AUTH"}
    done = subprocess.run(
        [sys.executable, "-c", OPENED, ASKED],
        cwd=ROOT,
        env=surroundings | {"HOME": str(tmp_path), "RAY_USAGE_STATS_ENABLED": "0"},
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert done.stdout.splitlines() == ["0 1", "1 True"], done.stderr[-2000:]
    assert not (tmp_path / ".ray" / "auth_token").exists()


def test_the_scripted_server(server: ScriptedServer) -> None:
    """It is on the loopback, refuses another host's name, and lets no page read it."""
    mine = {where for where in listening(psutil.Process()) if where[1] == server.port}
    assert mine == {("127.0.0.1", server.port)}
    usual = httpx.get(f"{server.base_url}/models", headers={"Origin": FOREIGN["Origin"]})
    assert usual.is_success
    assert not [name for name in usual.headers if name.startswith("access-control")]
    assert httpx.get(f"http://localhost:{server.port}/v1/models").is_success
    strange = httpx.post(f"{server.base_url}/chat/completions", headers=FOREIGN, json={})
    assert strange.status_code == 421
    assert not server.calls


@contextmanager
def development_server(folder: Path) -> Iterator[tuple[psutil.Process, httpx.Client]]:
    """`langgraph dev` with the project's langgraph.json."""
    port = free_port()
    command = [str(Path(sys.executable).with_name("langgraph")), "dev", "--no-browser"]
    options = ["--no-reload", "--port", str(port), "--config", str(ROOT / "langgraph.json")]
    with (folder / "log").open("wb") as log:
        process = psutil.Popen([*command, *options], cwd=folder, stdout=log, stderr=log)
        try:
            with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as client:
                until = time.monotonic() + 60
                while time.monotonic() < until and process.poll() is None:
                    try:
                        if client.get("/ok").is_success:
                            break
                    except httpx.TransportError:
                        time.sleep(0.1)
                yield process, client
        finally:
            process.terminate()
            process.wait(30)


@needs_extra("studio", "langgraph_api")
def test_the_development_server(tmp_path: Path) -> None:
    """`langgraph dev` is on the loopback, answers to no other host's name, and is read by the pages
    of LangGraph's Studio alone."""
    with development_server(tmp_path) as (process, client):
        heard = listening(process)
        assert heard and all(is_loopback(address) for address, _ in heard)
        allowed = "access-control-allow-origin"
        studio = {"Origin": "https://smith.langchain.com"}
        assert client.get("/ok", headers=studio).headers[allowed] == studio["Origin"]
        assert allowed not in client.get("/ok", headers={"Origin": FOREIGN["Origin"]}).headers
        assert client.get("/ok", headers={"Host": FOREIGN["Host"]}).status_code == 400
