"""The progress of a run as a terminal shows it: a pseudo-terminal of so many columns, and the
scripted server."""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from persona_panel.calls.rate_limiter import CallsState, EndpointState, LimiterState
from persona_panel.cli import progress
from persona_panel.cli.progress import duration, state_lines
from persona_panel.graphs import Judge, Judgment
from persona_panel.rubrics import Status
from persona_panel.statistics.core.display import clock
from persona_panel.testing import serving
from tests.helpers.command import COMMAND
from tests.helpers.ports import free_port
from tests.helpers.terminals import CONTROL, drawn
from tests.server import faulty

BAR = re.compile(
    r"judgments +[━╸╺ ]*([\d,]+)/([\d,]+) +([\d,.]+)/s  "
    r"(?:time left unknown|(?:at least )?\S+ left)"
)
LONG = "openai:a-model-whose-name-is-longer-than-any-line-should-have-to-hold-2026-11-22"


def on_a_terminal(folder: Path, columns: int, port: int, n: int, model: str) -> list[str]:
    """Every line that the run ever drew on standard error, a terminal of so many columns."""
    rows = [
        {"id": f"r{i}", "prompt": "Why?", "response": f"So {i}.", "system": "s"} for i in range(n)
    ]
    (folder / "batch.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "panel.yaml").write_text(
        "personas: disciplinary\nmodels:\n"
        f"  - {{model: '{LONG}', base_url: 'http://127.0.0.1:{port}/v1', {model}}}\n"
    )
    command = [COMMAND, "score", "batch.jsonl", "--panel", "panel.yaml", "--out", "run"]
    content = CONTROL.sub("", drawn(command, folder, columns))
    return [line.rstrip() for line in re.split(r"[\r\n]+", content)]


def test_answers_from_the_cache_have_a_rate(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where no judgment took a call the rate is that of all of them, not 0."""
    monkeypatch.setattr(progress, "_REFRESH_S", 0.02)
    monkeypatch.setattr(progress, "_LINE_EVERY_S", 0.0)
    judge = Judge("ann", "openai:m", "dimensions")

    async def replay() -> None:
        shown = progress.ScoreProgress("Scoring", 400, {"openai:m": 1})
        with shown:
            shown.begin(lambda: CallsState({}, {}, {}))
            for i in range(100):
                shown.take(Judgment("q", f"r{i}", "s", judge, "scored", cached=True))
            # The pace starts anew with every 20 that come at once.
            await asyncio.sleep(0.1)

    asyncio.run(replay())
    rates = re.findall(r"100/400 judgments, ([\d,.]+)/s", capsys.readouterr().err)
    assert len(rates) > 2
    assert all(float(rate.replace(",", "")) > 50 for rate in rates)


def test_failures_alone_foresee_no_end(capsys: pytest.CaptureFixture[str]) -> None:
    """How fast requests are given up says nothing of how long judgments take."""
    judge = Judge("ann", "openai:m", "dimensions")
    shown = progress.ScoreProgress("Scoring", 400, {"openai:m": 1})

    async def fail() -> None:
        with shown:
            shown.begin(lambda: CallsState({}, {}, {}))
            pace = shown._paces["openai:m"]
            for i in range(30):
                status: Status = "failed" if i < 29 else "scored"
                shown.take(Judgment("q", f"r{i}", "s", judge, status))
                pace.take(pace._now + 1, i + 1, i + 1, still=False)
                shown._print_line(CallsState({}, {}, {}), pace._now)

    asyncio.run(fail())
    lines = [line for line in capsys.readouterr().err.splitlines() if "missing" in line]
    assert [" left" in line for line in lines[:30]] == [False] * 29 + [True]


def test_judgments_that_come_again_are_counted_once(capsys: pytest.CaptureFixture[str]) -> None:
    """Of 20 judgments 8 are missing; after answers were taken back the 8 come again, and 3 of them
    are scored: 5 of 20 are missing. Another panel's judgments are others."""
    judge = Judge("ann", "openai:m", "dimensions")
    shown = progress.ScoreProgress("Scoring", 40, {"openai:m": 1})

    def take(n: int, n_missing: int) -> None:
        for i in range(n):
            status: Status = "skipped" if i < n_missing else "scored"
            shown.take(Judgment("q", f"r{i}", "s", judge, status))
        shown._print_line(CallsState({}, {}, {}), shown._came)

    async def run() -> None:
        with shown:
            shown.begin(lambda: CallsState({}, {}, {}))
            take(20, 8)
            take(8, 5)
            shown.note("the next panel")
            take(20, 8)

    asyncio.run(run())
    lines = [line for line in capsys.readouterr().err.splitlines() if "missing" in line]
    counts = [re.search(r"(\d+)/40 .* (\d+) missing", line).groups() for line in lines]  # type: ignore[union-attr]
    assert counts[:3] == [("12", "8"), ("15", "5"), ("27", "13")]


@pytest.mark.parametrize("columns", [80, 120, 200])
def test_count_rate_and_time_left_stay_whole(tmp_path: Path, columns: int) -> None:
    """With 30 % faults each frame has count, rate and time left on one line, and one line for the
    model, none wider than the terminal; the cost comes with what it may come to."""
    with serving(faulty(0.3), latency_s=0.15) as server:
        price = "concurrency: 2, price: {input: 1, output: 2}"
        lines = on_a_terminal(tmp_path, columns, server.port, 12, price)
    bars = [line for line in lines if line.startswith("judgments")]
    shown = [
        line for line in lines if line.startswith(("judgments", "openai:")) or "tokens" in line
    ]
    assert max(map(len, shown)) <= columns
    running = [match for line in bars if (match := BAR.fullmatch(line))]
    assert len(running) >= 3
    # The last one says how long it took.
    assert len(running) == len([line for line in bars if " left" in line]) >= len(bars) - 1
    counts = [int(match[1]) for match in running]
    assert counts == sorted(counts)
    assert {match[2] for match in running} == {"60"}
    assert any(re.search(r"\d+ in flight, \d+ retr", line) for line in lines)
    assert any(re.search(r"\$0\.\d{4} of about \$0\.\d{4}, \d+ missing", line) for line in lines)
    assert re.match(r"judgments .*\b60/60 [\d.]+/s  in 0:\d\d", bars[-1])


def test_a_server_that_is_not_there(tmp_path: Path) -> None:
    """While it is tried the line of the model says so; in the end it says why, whole, and no
    judgment counts that nobody was asked for."""
    lines = on_a_terminal(tmp_path, 80, free_port(), 40, "patience: 6, concurrency: 4")
    assert any(
        re.search(r"…: no answer for 0:0\d, (next try in 0:0\d|trying now)", line) for line in lines
    )
    bars = [line for line in lines if line.startswith("judgments")]
    assert all("0/200" in line and "200/200" not in line for line in bars)
    assert any("time left unknown" in line for line in bars)
    assert not any("-:--" in line for line in bars)
    end = " ".join(lines[lines.index(bars[-1]) :])
    assert "200 missing" in end
    assert "no longer called: it never answered in" in end
    assert "Could not connect to server (libcurl: 7); start the server, or correct" in end


def test_a_limit_of_requests_is_said(tmp_path: Path) -> None:
    """At 120 requests a minute the calls that have a slot and wait for the quota are counted."""
    with serving(latency_s=0.05) as server:
        lines = on_a_terminal(
            tmp_path, 80, server.port, 2, "requests_per_minute: 120, concurrency: 4"
        )
    assert any(re.search(r": [01] in flight, [1-4] waiting", line) for line in lines)


def test_a_line_of_state() -> None:
    """All that there is to say stands in one line, in fewer words where there is less room, with
    the name shortened last."""
    busy = EndpointState(LimiterState(3, 5, 12.0), 120, (2.0, 30.0), 2)
    (wide,) = state_lines({"openai:m": busy}, 120)
    assert wide == (
        "openai:m: 3 in flight, 5 waiting for a limit (next in 0:12), "
        "120 retries (2 to come, next in 0:02), 2 given up"
    )
    (narrow,) = state_lines({"openai:m": busy}, 80)
    assert narrow == ("openai:m: 3 in flight, 5 waiting 0:12, 120 retries (next 0:02), 2 given up")
    (narrowest,) = state_lines({LONG: busy}, 80)
    assert len(narrowest) <= 80
    assert narrowest.endswith("2 given up")
    (failing,) = state_lines({"openai:m": replace(busy, last_fault="status 500")}, None)
    assert failing == f"{wide}, last fault: status 500"
    (failing,) = state_lines({"openai:m": replace(busy, last_fault="status 500")}, 100)
    assert failing == f"{narrow}, last fault: status 500"
    (failing,) = state_lines({"openai:m": replace(busy, last_fault="status 500")}, 80)
    assert failing == narrow
    calm = {f"openai:m{i}": EndpointState() for i in range(12)}
    assert state_lines(calm | {"openai:z": busy}, 200)[0].startswith("openai:z: 3 in flight")
    assert state_lines(calm, 80)[-1] == "and 2 more models"
    assert state_lines(calm, 80, trouble_only=True) == []
    assert state_lines({"m": EndpointState(retries=3)}, 80, trouble_only=True) == []
    (paused,) = state_lines({"m": EndpointState(LimiterState(paused_s=61.5))}, 80)
    assert paused == "m: 0 in flight, asked to wait 1:02"
    silent = EndpointState(LimiterState(8), unanswered_s=12.0, timeout_s=120.0)
    (line,) = state_lines({"m": silent}, 80, trouble_only=True)
    assert line == "m: 8 in flight, no answer yet in 0:12 (tried again after 2:00)"
    assert state_lines({"m": replace(silent, unanswered_s=2.0)}, 80, trouble_only=True) == []


def test_durations() -> None:
    """In figures to the second, in words as long as is of use."""
    assert [clock(s) for s in (0, 30.2, 725, 12_010)] == ["0:00", "0:31", "12:05", "3:20:10"]
    told = [duration(s) for s in (31.2, 119, 720, 12_010)]
    assert told == ["31 s", "119 s", "12 min", "3 h 20 min"]
