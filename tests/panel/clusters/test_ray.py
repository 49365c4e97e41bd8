"""A run on Ray, with a real cluster of two CPUs on this machine."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from persona_panel import ConfigurationError, Panel, PanelPlan, Response, Run, load_run
from persona_panel.clusters.engines import opened_engine
from persona_panel.clusters.messages import LOST_S
from persona_panel.testing import ScriptedServer, serving
from tests.helpers.command import COMMAND
from tests.helpers.invoked import invoked

if TYPE_CHECKING or find_spec("ray") is not None or "PERSONA_PANEL_ALL_EXTRAS" in os.environ:
    import ray

    from persona_panel.clusters.ray_engine import RayEngine, RayMailbox
else:
    pytest.skip("pip install 'persona-panel[ray]'", allow_module_level=True)

# Ray warns of its own settings.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")

RESPONSES = [
    Response(id=f"r{i}", prompt=f"Why {i // 4}?", text=f"Text {i}.", system=f"s{i % 4}")
    for i in range(40)
]
JUDGES = 5
JUDGMENTS = len(RESPONSES) * JUDGES


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Its address. Workers of the module's runs leave what they leave in a folder of its own."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("home")))
        patched.setenv("OPENAI_API_KEY", "unused")
        patched.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patched.setenv("RAY_AUTH_MODE", "disabled")
        ray.init(
            num_cpus=2,
            num_gpus=2,
            include_dashboard=False,
            namespace="persona-panel",
            log_to_driver=False,
        )
        yield ray.get_runtime_context().gcs_address
        ray.shutdown()


def panel_file(folder: Path, server: ScriptedServer, **settings: float) -> Path:
    more = "".join(f", {name}: {value}" for name, value in settings.items())
    file = folder / "panel.yaml"
    file.write_text(
        "personas: disciplinary\nmodels:\n"
        f"  - {{model: 'openai:stub', base_url: '{server.base_url}'{more}}}\n"
    )
    return file


def scored(panel: Path, out: Path) -> Run:
    with opened_engine("ray", 2) as engine:
        return Panel.from_file(panel).score(RESPONSES, out=out, engine=engine)


def asked_again(server: ScriptedServer) -> int:
    """How many calls repeat the words of another."""
    words = Counter(json.dumps(call.payload, sort_keys=True) for call in server.calls)
    return sum(words.values()) - len(words)


def worker_names() -> list[str]:
    named = ray.util.list_named_actors(all_namespaces=True)
    return sorted(one["name"] for one in named if "worker" in one["name"])


def test_it_judges_as_this_process_does(
    cluster: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ratings, verdicts and counts are those of a run without Ray, and so are those of the folder
    that is read back; a run without Ray is then answered by the same cache."""
    with serving() as server:
        panel = panel_file(tmp_path, server)
        there = scored(panel, tmp_path / "there")
        assert (there.calls.made, there.calls.cached) == (JUDGMENTS, 0)
        again = Panel.from_file(panel).score(RESPONSES)
        assert (again.calls.made, again.calls.cached) == (0, JUDGMENTS)
        monkeypatch.setenv("PERSONA_PANEL_CACHE", str(tmp_path / "another"))
        here = Panel.from_file(panel).score(RESPONSES)
    read = load_run(tmp_path / "there")
    for run in (there, again, read):
        np.testing.assert_array_equal(run.ratings, here.ratings)
        assert run.leaderboard() == here.leaderboard()
    assert read.calls.spent == there.calls.spent == here.calls.spent
    assert worker_names() == []


def test_a_killed_worker_is_replaced_and_repeats_only_what_was_in_flight(
    cluster: str, tmp_path: Path
) -> None:
    """One of two workers is killed in the middle: all judgments are made, none of them twice, and
    no more calls are repeated than may have been in flight."""
    with serving(latency_s=0.05) as server:
        panel = panel_file(tmp_path, server, concurrency=8)

        def kill() -> None:
            while len(server.calls) < JUDGMENTS // 3:
                time.sleep(0.005)
            ray.kill(ray.get_actor(worker_names()[0], namespace="persona-panel"))

        killing = threading.Thread(target=kill)
        killing.start()
        run = scored(panel, tmp_path / "run")
        killing.join()
        assert server.in_flight_max <= 8 + 8
        assert 0 <= asked_again(server) <= 8
    assert run.coverage.scored == JUDGMENTS
    lines = (tmp_path / "run" / "judgments.jsonl").read_text().splitlines()
    assert len(lines) == JUDGMENTS


def test_workers_are_as_many_as_what_each_takes_is_there(
    cluster: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """On a machine of two CPUs and GPUs there is room for two workers of a GPU each, for four of
    half a GPU and no CPU, and for none of what it lacks, which is told; where there is room for two
    of four, the two make the run, and it does not wait for the others."""
    half = {"num_cpus": 0, "num_gpus": 0.5}
    with opened_engine("ray", None, {"num_gpus": 1}) as two, opened_engine("ray", None, half) as of:
        assert isinstance(two, RayEngine) and isinstance(of, RayEngine)
        assert (two.workers, of.workers) == (2, 4)
    assert not caplog.messages
    with opened_engine("ray", 1, {"resources": {"a100": 1}}):
        pass
    with serving() as server, opened_engine("ray", 4, {"num_gpus": 1}) as engine:
        other = ray.remote(num_gpus=1, num_cpus=0)(_Occupant).remote()
        ray.get(other.__ray_ready__.remote())
        run = Panel.from_file(panel_file(tmp_path, server)).score(RESPONSES, engine=engine)
        ray.kill(other)
    assert run.coverage.scored == JUDGMENTS
    assert [message for message in caplog.messages if "room" in message] == [
        "The cluster has room for no worker that takes 1 CPU, 1 a100: nothing is judged until it "
        "has.",
        "The cluster has room for 2 of 4 workers that take 1 CPU, 1 GPU each; more begin only if "
        "it grows.",
    ]
    assert worker_names() == []


class _Occupant:
    """Takes what it is given, and does nothing."""


def test_the_same_command_goes_on_after_the_driver_was_killed(
    cluster: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command is killed with SIGKILL in the middle: started again, it repeats no more calls
    than were in flight, and the folder holds a whole run."""
    rows = [
        {"id": one.id, "prompt": one.prompt, "response": one.text, "system": one.system}
        for one in RESPONSES
    ]
    (tmp_path / "texts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    monkeypatch.setenv("OPENAI_API_KEY", "unused")
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    with serving(latency_s=0.05) as server:
        panel = panel_file(tmp_path, server, concurrency=8)
        arguments = ["score", str(tmp_path / "texts.jsonl"), "--panel", str(panel)]
        arguments += [
            "--engine",
            f"ray:{cluster}",
            "--workers",
            "1",
            "--out",
            str(tmp_path / "run"),
        ]
        process = subprocess.Popen([COMMAND, *arguments], stderr=subprocess.PIPE)
        while len(server.calls) < JUDGMENTS // 3:
            assert process.poll() is None, process.stderr and process.stderr.read()
            time.sleep(0.005)
        process.kill()
        process.communicate()
        done = invoked(*arguments)
        assert done.returncode == 0, done.stderr
        assert 0 <= asked_again(server) <= 8
    run = load_run(tmp_path / "run")
    assert run.coverage.scored == JUDGMENTS


def test_a_data_set_of_responses_becomes_one_of_judgments(cluster: str, tmp_path: Path) -> None:
    """Its rows are those of the same run's data frame, in whatever order, each call made once; a
    panel that compares is refused."""
    from persona_panel.clusters.ray_data import judge

    rows = [
        {"id": one.id, "prompt": one.prompt, "answer": one.text, "system": one.system}
        for one in RESPONSES
    ]
    with serving() as server:
        plan = PanelPlan.from_file(panel_file(tmp_path, server))
        data = judge(
            ray.data.from_items(rows),
            plan,
            mapping={"response": "answer"},
            workers=1,
            batch_size=len(rows) // 2,
        )
        judged = data.to_pandas()
        assert len(server.calls) == JUDGMENTS
        expected = Panel.from_plan(plan).score(RESPONSES).to_frame()
    columns = ["prompt_id", "id", "judge", "dimension", "score", "status"]
    there, here = (
        sorted(map(tuple, frame[columns].to_numpy().tolist())) for frame in (judged, expected)
    )
    assert there == here
    comparing = replace(plan, models=(replace(plan.models[0], elicitation="pairwise"),))
    with pytest.raises(ConfigurationError, match="compares the responses to a prompt"):
        judge(ray.data.from_items(rows), comparing)


class _Announced:
    """A worker, as far as its process goes."""

    def __init__(self, mailbox: RayMailbox) -> None:
        self._mailbox = mailbox
        mailbox.announce("one")


async def test_a_driver_is_told_when_the_process_of_a_worker_ends(cluster: str) -> None:
    """Also where Ray Data has started it: at once, and not as long as it lives."""
    mailbox, coordinator = RayMailbox.started()
    lost = asyncio.Queue[str]()
    watching = asyncio.create_task(mailbox.watch(lost.put))
    worker = ray.remote(num_cpus=0)(_Announced).remote(mailbox)
    await worker.__ray_ready__.remote()
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(lost.get(), 0.5)
    ray.kill(worker)
    assert await asyncio.wait_for(lost.get(), LOST_S / 3) == "one"
    watching.cancel()
    ray.kill(coordinator)


def test_a_cluster_that_does_not_answer_is_told(tmp_path: Path) -> None:
    """Of an address where nothing listens, a sentence says so, and what to do."""
    told = "no Ray cluster at 127.0.0.1:1 answers"
    with pytest.raises(ConfigurationError, match=told), opened_engine("ray:127.0.0.1:1"):
        pass
