"""The systems so far below a run's progress: fair, without a claim, and whole in any width; and the
answer so far where a run is stopped."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.cells import cell_len

from persona_panel import Run
from persona_panel.analyses.score import score_result
from persona_panel.cli.progress import Board, board_lines
from persona_panel.graphs import Judgment
from persona_panel.graphs.aggregate import aggregate
from persona_panel.results.result import format_names, load_format
from persona_panel.statistics.core.ranking import Leaderboard, rank_systems
from persona_panel.testing import Answer, ok, serving, stall
from tests.helpers import forked
from tests.helpers.command import COMMAND
from tests.helpers.terminals import drawn, frames
from tests.helpers.viewed import scored

DIMENSIONS = ("conceptual_clarity", "evidential_grounding", "contextual_relevance",
              "pluralistic_engagement", "argumentative_soundness")  # fmt: skip
SO_FAR = re.compile(r"So far ([\d,]+) of ([\d,]+) judgments; no claim is made before the end\.")


def answer(number: int, payload: Mapping[str, Any]) -> Answer:
    """A rating that the text alone decides: the later the system, the better."""
    found = re.search(r"Answer (\d+) of (\d+)", json.dumps(payload["messages"]))
    assert found is not None
    prompt, system = map(int, found.groups())
    score = 2 + system % 7 + (prompt * 7 + system * 3) % 3
    return ok(json.dumps(dict.fromkeys(DIMENSIONS, score) | {"abstained": False}))


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Path]:
    """A folder with a panel of a server that takes its time."""
    with serving(answer, latency_s=0.1) as server:
        (tmp_path / "address").write_text(server.base_url)
        write_panel(tmp_path)
        yield tmp_path


def write_panel(folder: Path, *, concurrency: int = 4, seed: int = 0) -> None:
    url = (folder / "address").read_text()
    (folder / "panel.yaml").write_text(
        f"seed: {seed}\npersonas: disciplinary\nmodels:\n"
        f"  - {{model: 'openai:stub', base_url: '{url}', concurrency: {concurrency}}}\n"
    )


def write_batch(folder: Path, systems: int, prompts: int) -> None:
    """Write so many answers to each prompt, sorted by system."""
    rows = [
        {"prompt": f"Why {p}?", "response": f"Answer {p} of {s}.", "system": f"system-{s}"}
        for s in range(systems)
        for p in range(prompts)
    ]
    (folder / "batch.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def judgments(run: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / "judgments.jsonl").read_text().splitlines()]


def command(out: str = "run") -> list[str | Path]:
    return [COMMAND, "score", "batch.jsonl", "--panel", "panel.yaml", "--no-report", "--out", out]


def leaderboard(names: Sequence[str], n_prompts: int = 4) -> Leaderboard:
    """Of systems, the first the best."""
    scores = np.array([[9 - s + p % 2 for s in range(len(names))] for p in range(n_prompts)], float)
    prompts = [f"p{p}" for p in range(n_prompts) for _ in names]
    return rank_systems(
        [*names] * n_prompts, prompts, scores.ravel(), np.empty((scores.size, 0)), [],
        compared=False,
    )  # fmt: skip


def test_lines_of_a_board() -> None:
    """Rank, mean, interval and number of prompts stand one below the other; what is more than there
    is room for is counted."""
    lines = board_lines(leaderboard(["gpt", "llama-3", "humans"]), 80, 2)
    assert lines == [
        "rank  system   mean  95 % interval  prompts",
        "   1  gpt      9.50  8.58 to 10.42        4",
        "   2  llama-3  8.50   7.58 to 9.42        4",
        "and 1 more system",
    ]


@pytest.mark.parametrize("width", range(10, 100, 5))
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    """Whatever names are: figures are left out from the last on, and names cut."""
    names = ["a-system-whose-name-is-longer-than-a-line-" + "x" * 60, "模型" * 30, "b\x1b[31m\n"]
    lines = board_lines(leaderboard(names), width, 8)
    assert all(cell_len(line) <= width for line in lines)
    assert all(line.isprintable() for line in lines)
    assert len(lines) == 4
    assert ("95 % interval" in lines[0]) == (width >= 40)


def test_a_board_takes_no_more_lines_than_there_are() -> None:
    """It shows fewer systems, and nothing where there is no room for one."""
    board = Board(lambda: leaderboard([f"s{i}" for i in range(20)]))
    for height in range(20):
        lines = board.lines(10, 100, "judgments", 80, height)
        assert len(lines) <= height
        assert bool(lines) == (height >= 4)
        if lines:
            assert SO_FAR.fullmatch(lines[-1])
    assert "and 12 more systems" in lines


def test_one_prompt_is_no_ranking() -> None:
    """Before two prompts are whole nothing is shown: there is no interval."""
    board = Board(lambda: leaderboard(["a", "b"], n_prompts=1))
    assert board.lines(10, 100, "judgments", 80, 20) == []


def test_a_printed_board_comes_at_each_step_of_a_run_that_lasts() -> None:
    """At 5, 25, 50 and 75 % of the judgments, once each; in a run of ten seconds, not of five."""
    board = Board(lambda: leaderboard(["a", "b"]))
    assert not any(board.is_due(done / 100, done / 20) for done in range(1, 101))
    printed_at = []
    for done in range(1, 101):
        if board.is_due(done / 100, done / 10):
            assert SO_FAR.fullmatch(board.printed(done, 100, "judgments")[-1])
            printed_at.append(done)
    assert printed_at == [5, 25, 50, 75]


def test_the_board_grows_on_a_terminal(served: Path) -> None:
    """It is there before a tenth of the judgments are, with the means of prompts that all systems
    have answered, though the file has one system after the other, and is gone at the end."""
    write_batch(served, 10, prompts=60)
    write_panel(served, concurrency=16)
    shown = frames(drawn(command(), served, 80, lines=24))
    boards = [frame for frame in shown if any(map(SO_FAR.fullmatch, frame))]
    firsts = [match for line in boards[0] if (match := SO_FAR.fullmatch(line))]
    assert firsts[0][2] == "3,000"
    assert int(firsts[0][1]) <= 300
    assert len(boards) > 5
    assert all(len(frame) <= 24 and max(map(len, frame)) <= 80 for frame in boards)
    n_prompts = []
    for frame in boards:
        [start] = [place for place, line in enumerate(frame) if line.startswith("rank  system")]
        rows = [line.split() for line in frame[start + 1 : start + 9]]
        assert [row[0] for row in rows] == sorted((row[0] for row in rows), key=int)
        assert len({row[-1] for row in rows}) == 1
        n_prompts.append(int(rows[0][-1]))
        assert frame[start + 9] == "and 2 more systems"
    assert n_prompts == sorted(n_prompts)
    assert n_prompts[0] >= 2
    assert any(line.startswith("judgments") and "3,000/3,000" in line for line in shown[-1])
    assert not any(map(SO_FAR.fullmatch, shown[-1]))


def test_a_short_run_without_a_terminal_prints_no_board(served: Path) -> None:
    """What ends within seconds has its answer soon."""
    write_batch(served, 2, prompts=6)
    done = forked.run(command(), served, os.environ)
    assert done.returncode == 0, done.stderr
    assert "no claim" not in done.stderr


@contextmanager
def started(folder: Path) -> Iterator[subprocess.Popen[str]]:
    # A shell's background job ignores Ctrl-C, and so would what it starts.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    process = subprocess.Popen(
        command(), cwd=folder, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    signal.signal(signal.SIGINT, before)
    with process:
        try:
            yield process
        finally:
            process.kill()


def test_ctrl_c_gives_the_answer_so_far(served: Path) -> None:
    """Without a terminal the board comes as lines before a tenth is done. Stopped then, the run
    prints its five answers, that they are of what is there, and the command that goes on, which
    asks for the rest alone and comes to what a run comes to that was not stopped."""
    write_batch(served, 3, prompts=80)
    with started(served) as process:
        assert process.stderr is not None
        said = ""
        while (line := process.stderr.readline()) and "no claim" not in line:
            said += line
        assert re.search(r"^ +rank  system", said, re.MULTILINE)
        so_far = SO_FAR.search(line)
        assert so_far is not None
        assert int(so_far[1]) <= 120
        assert so_far[2] == "1,200"
        process.send_signal(signal.SIGINT)
        out, last = process.communicate(timeout=60)
    assert process.returncode == 130
    done = re.search(r"Incomplete: (\d+) of 1,200 judgments are there\.", out)
    assert done is not None
    assert int(so_far[1]) <= int(done[1]) < 400
    assert "Which system is best? Incomplete: " in out
    text = " ".join(out.split())
    assert "significantly ahead:" not in text.replace("No system is sig", "")
    summary = json.loads((served / "run/summary.json").read_text())
    assert summary["answers"][0]["sentence"].startswith(f"Incomplete: {done[1]} of 1,200 judgments")
    assert summary["winner"] is None
    assert len(re.findall(r"^(?:Which|Can|Do|May|What) .*\? ", out, re.MULTILINE)) == 5
    command = "\n  persona-panel score batch.jsonl --panel panel.yaml --no-report --out run\n"
    assert last.endswith(command)
    assert (
        f"Interrupted: {done[1]} of 1,200 judgments are done and written to run. The same command "
        "continues the run:"
    ) in " ".join(last.split())
    # Every prompt that is judged was answered by all systems, but for those that were under way.
    systems = [line["system"] for line in judgments(served / "run")]
    counts = [systems.count(f"system-{s}") for s in range(3)]
    assert max(counts) - min(counts) < 30


def test_ctrl_c_before_a_response_is_whole_says_why_there_is_no_answer(tmp_path: Path) -> None:
    """Where judges of each response are still to be heard."""

    def script(number: int, payload: Mapping[str, Any]) -> Answer:
        return answer(number, payload) if number < 3 else stall(60)

    with serving(script) as server:
        (tmp_path / "address").write_text(server.base_url)
        write_panel(tmp_path)
        write_batch(tmp_path, 3, prompts=4)
        with started(tmp_path) as process:
            while len(server.calls) < 7:
                time.sleep(0.02)
            process.send_signal(signal.SIGINT)
            out, last = process.communicate(timeout=60)
    assert process.returncode == 130
    assert not out
    assert "There is no answer yet: no response is scored by all of its judges." in last
    assert "Interrupted: 3 of 60 judgments are done" in last


def test_the_order_changes_no_result(served: Path) -> None:
    """Runs of other seeds ask in other orders, and their verdicts and judgments are the same."""
    write_batch(served, 3, prompts=10)
    env = os.environ | {"PERSONA_PANEL_CACHE": str(served / "cache")}
    orders, judged, verdicts = [], [], []
    for seed in (1, 2):
        write_panel(served, seed=seed, concurrency=16)
        out = f"run-{seed}"
        assert forked.run(command(out=out), served, env).returncode == 0
        lines = judgments(served / out)
        orders.append(list(dict.fromkeys(line["prompt_id"] for line in lines)))
        scores = {(line["prompt_id"], line["id"], line["judge"]): line["scores"] for line in lines}
        judged.append(scores)
        verdicts.append((served / out / "verdicts.csv").read_bytes())
    assert orders[0] != orders[1]
    assert judged[0] == judged[1]
    assert verdicts[0] == verdicts[1]


@pytest.mark.parametrize("name", format_names())
def test_wherever_a_run_stops_it_has_an_answer(tmp_path: Path, name: str) -> None:
    """After each response that has its verdict the answers can be printed, in every format."""
    whole = scored(tmp_path / "run")
    so_far = Run(
        whole.items, whole.titles, whole.judges, whole.rubric, prices=whole.prices, seed=whole.seed
    )
    so_far.personas = whole.personas
    by_response: dict[tuple[str, str], list[Judgment]] = {}
    for judgment in whole.judgments():
        so_far.add(judgment)
        of_response = by_response.setdefault((judgment.prompt_id, judgment.id), [])
        of_response.append(judgment)
        if len(of_response) < len(whole.judges):
            continue
        so_far.conclude(aggregate(of_response, whole.rubric))
        if len(so_far.verdicts) in (1, 2, 3, 5, 9, 14, 23):
            for full in (False, True):
                to = io.StringIO()
                load_format(name).render(score_result(so_far), to, full=full)
                assert to.getvalue()
    assert len(so_far.verdicts) == len(whole.verdicts) == 24
