"""How a command ends where its surroundings do: streams that take nothing more, signals."""

from __future__ import annotations

import csv
import json
import os
import shlex
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from persona_panel.testing import Answer, ScriptedServer, ok, serving
from tests.helpers import forked
from tests.helpers.command import COMMAND
from tests.helpers.results import statistics_of

ROOT = Path(__file__).parents[3]
FULL = Path("/dev/full")
DIMENSIONS = (
    "conceptual_clarity", "evidential_grounding", "contextual_relevance", "pluralistic_engagement",
    "argumentative_soundness",
)  # fmt: skip
N = 12
SYSTEMS = ("čapek", "Größe")

needs_full = pytest.mark.skipif(not FULL.exists(), reason="there is no /dev/full here")
needs_signals = pytest.mark.skipif(
    not hasattr(signal, "SIGHUP"), reason="this system has no such signals"
)


def answer(number: int, payload: Mapping[str, Any]) -> Answer:
    """Ratings, or critical questions where they are asked for."""
    text = json.dumps(payload["messages"], ensure_ascii=False)
    if '"questions"' in text or "critical question" in text.lower():
        asked = [f"Is it so, naïvely? {number}", f"Why “so”? {number}", f"Since when … {number}?"]
        return ok(json.dumps({"questions": asked, "critical_questions": asked}))
    return ok(json.dumps(dict.fromkeys(DIMENSIONS, 3 + number % 5) | {"abstained": False}))


def lines(rows: Sequence[Mapping[str, Any]]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


class Desk:
    """A folder with the inputs of every command, a panel of five judges, and a cache."""

    def __init__(self, folder: Path, server: ScriptedServer) -> None:
        self.folder, self.server = folder, server
        prompts = [f"Größe {i // 2}?" for i in range(N)]
        rows = [
            {"prompt_id": f"p{i // 2}", "id": f"r{i}", "prompt": prompts[i], "response": f"ä {i}",
             "system": SYSTEMS[i % 2]}
            for i in range(N)
        ]  # fmt: skip
        (folder / "batch.jsonl").write_text(lines(rows), "utf-8")
        framed = [
            {"prompt_id": row["prompt_id"], "prompt": row["prompt"], "system": "čapek",
             "condition": ("baseline", "emotion_agree")[i % 2], "response": row["response"]}
            for i, row in enumerate(rows)
        ]  # fmt: skip
        (folder / "framed.jsonl").write_text(lines(framed), "utf-8")
        said = [{"id": f"i{i}", "intervention": f"Çe qui est dit {i}."} for i in range(N)]
        (folder / "said.jsonl").write_text(lines(said), "utf-8")
        references = [
            {"prompt_id": f"p{i // 2}", "id": f"q{i}", "prompt": prompts[i], "response": f"ä {i}?",
             "system": "people", "label": ("useful", "invalid")[i % 2]}
            for i in range(N)
        ]  # fmt: skip
        (folder / "references.jsonl").write_text(lines(references), "utf-8")
        with (folder / "human.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(["item", "rater", "score", "prompt", "source"])
            for rater in ("Zoë", "Ålund", "Çelik"):
                for i, row in enumerate(rows):
                    score = 1 + (i + len(rater)) % 5
                    writer.writerow(
                        [f"{row['prompt_id']}/r{i}", rater, score, row["prompt_id"], row["system"]]
                    )
        (folder / "panel.yaml").write_text(
            "personas: disciplinary\nmodels:\n"
            f"  - {{model: 'openai:stub', base_url: '{server.base_url}', concurrency: 4}}\n"
        )
        self.env = os.environ | {
            "PERSONA_PANEL_CACHE": str(folder / "cache"),
            "OPENAI_BASE_URL": server.base_url,
            "COLUMNS": "160",
        }

    def command(self, *arguments: str) -> list[str]:
        return [COMMAND, *arguments]

    def run(
        self, *arguments: str, redirected: str = "", **env: str
    ) -> subprocess.CompletedProcess[bytes]:
        """The command as a shell starts it with these redirections; it is a fork unless one of its
        streams is closed, which Python looks at when it starts."""
        own = "&-" in redirected
        surroundings = self.env | env | ({} if own else forked.for_shells())
        command = self.command(*arguments) if own else ["persona-panel", *arguments]
        return subprocess.run(
            ["bash", "-c", f'"$@" {redirected}', "bash", *command],
            cwd=self.folder, env=surroundings, capture_output=True, timeout=120, check=False,
        )  # fmt: skip

    def summary(self, out: str = "run") -> dict[str, Any]:
        summary: dict[str, Any] = json.loads((self.folder / out / "summary.json").read_bytes())
        return summary

    def verdicts(self, out: str = "run") -> list[dict[str, str]]:
        with (self.folder / out / "verdicts.csv").open(newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))


PANEL = ("--panel", "panel.yaml", "--out", "run")
RUNS = {
    "score": ("score", "batch.jsonl", *PANEL),
    "sweep": ("sweep", "--responses", "framed.jsonl", *PANEL),
    "audit": ("audit", "injection", "batch.jsonl", "--limit", "6", "--family", "threat", *PANEL),
}
QUESTIONS = ("questions", "ask", "said.jsonl", "--model", "openai:stub")
EVERY_RUN = pytest.mark.parametrize("run", RUNS.values(), ids=list(RUNS))


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with serving(answer) as server:
        yield Desk(tmp_path, server)


# Characters


def test_an_encoding_that_lacks_characters_ends_no_command(desk: Desk) -> None:
    """Every command does what it does in UTF-8, with a question mark for what cannot be written,
    and no traceback."""
    for arguments, statuses in {
        RUNS["score"]: (0,),
        (*RUNS["score"], "--dry-run"): (0,),
        (*RUNS["sweep"][:-1], "sweep"): (0,),
        (*RUNS["audit"][:-1], "audit"): (0, 1),
        ("people", "correlate", "run", "--human", "human.csv"): (0,),
        ("agree", "human.csv"): (0,),
        ("audit", "bias", "run"): (0,),
        ("questions", "match", "batch.jsonl", "references.jsonl", "--by", "chrf"): (0,),
        ("library", "personas", "perspectives"): (0,),
        ("library", "rubrics", "argument-quality"): (0,),
        ("library", "framings", "scrub"): (0,),
        ("models",): (0,),
        ("score", "--help"): (0,),
        ("score", "Größe☃.jsonl"): (2,),
    }.items():
        done = desk.run(*arguments, PYTHONIOENCODING="ascii")
        assert done.returncode in statuses, (arguments, done.stderr.decode())
        assert b"Traceback" not in done.stderr, arguments


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_what_is_for_programs_is_utf_8(desk: Desk, encoding: str) -> None:
    """JSON and JSONL on standard output are UTF-8 and whole, where tables are in the encoding that
    a terminal has."""
    tables = desk.run(*RUNS["score"], PYTHONIOENCODING=encoding)
    assert tables.returncode == 0
    tables.stdout.decode(encoding)
    found = json.loads(desk.run(*RUNS["score"], "--json", PYTHONIOENCODING=encoding).stdout)
    assert {row["system"] for row in found["tables"]["systems"]} == set(SYSTEMS)
    assert {entry["system"] for entry in desk.summary()["ranking"]} == set(SYSTEMS)
    asked = desk.run(*QUESTIONS, PYTHONIOENCODING=encoding)
    assert "“so”" in asked.stdout.decode("utf-8")
    rows = desk.run("agree", "run", "--json", PYTHONIOENCODING=encoding)
    assert statistics_of(rows.stdout)


# Streams that take nothing more


@needs_full
@pytest.mark.parametrize("redirected", ["2>/dev/full", "2>&-", "2> >(:)"])
@EVERY_RUN
def test_a_lost_standard_error_costs_nothing(
    desk: Desk, run: Sequence[str], redirected: str
) -> None:
    """With a full, a closed and a broken standard error a run is written whole, its tables are
    printed, and its exit status is its own."""
    done = desk.run(*run, redirected=redirected)
    assert done.returncode in (0, 1) if "audit" in run else done.returncode == 0
    assert done.stdout.splitlines()[-1] in (b"Page: run/report.html", b"Run: run")
    coverage = desk.summary()["coverage"]
    assert coverage["scored"] == coverage["expected"] > 0
    assert len(desk.verdicts()) == coverage["expected"] / 5


@needs_full
@pytest.mark.parametrize(
    ("redirected", "status"), [(">/dev/full", 5), (">&-", 0), ("> >(:)", 0), ("| head -1", 0)]
)
def test_a_lost_standard_output_costs_no_file(desk: Desk, redirected: str, status: int) -> None:
    """A run is written whole; a full standard output is told, by exit status 5 as well, and one
    that nobody reads is not missed."""
    whole = f"{redirected}; exit ${{PIPESTATUS[0]}}" if "|" in redirected else redirected
    done = desk.run(*RUNS["score"], redirected=whole)
    assert done.returncode == status, done.stderr.decode()
    assert b"Traceback" not in done.stderr
    told = b"Standard output could not be written: No space left on device." in done.stderr
    assert told == (status == 5)
    assert desk.summary()["coverage"]["scored"] == 5 * N
    assert len(desk.verdicts()) == N


@needs_full
def test_all_streams_lost(desk: Desk) -> None:
    """Without any stream that works a run is written all the same; a run that lacks judgments
    ends with 1, whatever else could not be said."""
    done = desk.run(*RUNS["score"], redirected="<&- >&- 2>&-")
    assert done.returncode == 0
    assert len(desk.verdicts()) == N
    capped = desk.run(
        *RUNS["score"][:-1], "capped", "--max-calls", "1", redirected=">/dev/full 2>/dev/full",
        PERSONA_PANEL_CACHE=str(desk.folder / "another"),
    )  # fmt: skip
    assert capped.returncode == 1
    assert desk.summary("capped")["coverage"]["scored"] == 1


def test_a_closed_standard_input_is_bad_input(desk: Desk) -> None:
    """`score - <&-` says what is missing and what to give instead, and exits 2."""
    done = desk.run("score", "-", *PANEL, redirected="<&-")
    assert done.returncode == 2
    assert b"a standard input that is closed" in done.stderr
    assert b"Traceback" not in done.stderr
    assert not desk.server.calls


def test_a_stream_that_cannot_be_read_is_bad_input(desk: Desk) -> None:
    """Standard input that is open for writing only is told, and exits 2."""
    done = desk.run("score", "-", *PANEL, redirected="0>out")
    assert done.returncode == 2
    assert b"cannot be read" in done.stderr
    assert b"Traceback" not in done.stderr


# Signals


SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"]


@contextmanager
def opened(
    command: Sequence[str], desk: Desk, **settings: Any
) -> Iterator[subprocess.Popen[bytes]]:
    """A process that is gone at the end of the block."""
    # A shell's background job ignores Ctrl-C, and so would what it starts.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    process = subprocess.Popen(
        command, cwd=desk.folder, env=desk.env, stderr=subprocess.PIPE, stdout=subprocess.PIPE,
        **settings,
    )  # fmt: skip
    signal.signal(signal.SIGINT, before)
    with process:
        try:
            yield process
        finally:
            process.kill()


@contextmanager
def started(
    desk: Desk, run: Sequence[str], prepare: str = "", **settings: Any
) -> Iterator[subprocess.Popen[bytes]]:
    """The command in a process of its own, once it has made some calls."""
    command = desk.command(*run)
    if prepare:
        command = ["bash", "-c", f'{prepare}; exec "$@"', "bash", *command]
    with opened(command, desk, **settings) as process:
        while len(desk.server.calls) < 8 and process.poll() is None:
            time.sleep(0.01)
        yield process


@pytest.fixture
def slow_desk(tmp_path: Path) -> Iterator[Desk]:
    with serving(answer, latency_s=0.1) as server:
        yield Desk(tmp_path, server)


@needs_signals
def test_the_printed_command_names_a_folder_that_was_made_by_itself(slow_desk: Desk) -> None:
    """A run without --out that is stopped goes on in its folder by the command that it prints, on
    a line of its own below a sentence that is parted between words where the width is known."""
    slow_desk.env["COLUMNS"] = "50"
    run = ("score", "batch.jsonl", "--panel", "panel.yaml", "--no-report")
    with (slow_desk.folder / "told").open("w+b") as output:
        process = forked.begun(slow_desk.command(*run), slow_desk.folder, slow_desk.env, output)
        while len(slow_desk.server.calls) < 8 and process.poll() is None:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 130
        output.seek(0)
        *above, printed = output.read().decode().rstrip().splitlines()
    begin = next(n for n, line in enumerate(above) if line.startswith("Interrupted: "))
    assert max(map(len, above[begin:])) <= 50
    assert "and written to runs/" in (sentence := " ".join(above[begin:]))
    assert sentence.endswith(". The same command continues the run:")
    again = slow_desk.run(*shlex.split(printed)[1:])
    assert again.returncode == 0, again.stderr
    [folder] = (slow_desk.folder / "runs").iterdir()
    assert folder.name in printed


@needs_signals
@pytest.mark.parametrize("name", SIGNALS)
@EVERY_RUN
def test_a_signal_ends_a_run_with_its_files(slow_desk: Desk, run: Sequence[str], name: str) -> None:
    """Stopped by Ctrl-C, SIGTERM or SIGHUP, a run writes summary and verdicts of what is done,
    says how to go on, and exits with 128 and the signal's number; the same command goes on."""
    with (slow_desk.folder / "told").open("w+b") as output:
        process = forked.begun(slow_desk.command(*run), slow_desk.folder, slow_desk.env, output)
        while len(slow_desk.server.calls) < 8 and process.poll() is None:
            time.sleep(0.01)
        process.send_signal(getattr(signal, name))
        status = process.wait(20)
        output.seek(0)
        told = output.read()
    assert status == 128 + getattr(signal, name), told.decode()
    assert b"The same command continues the run" in b" ".join(told.split())
    assert (b"Interrupted" if name == "SIGINT" else f"Ended by {name}".encode()) in told
    coverage = slow_desk.summary()["coverage"]
    judged = (slow_desk.folder / "run" / "judgments.jsonl").read_text("utf-8").splitlines()
    assert 0 < coverage["scored"] == len(judged) < coverage["expected"] or "sweep" in run
    assert (slow_desk.folder / "run" / "verdicts.csv").exists()
    made = len(slow_desk.server.calls)
    again = slow_desk.run(*run)
    assert again.returncode in (0, 1) if "audit" in run else again.returncode == 0
    expected = slow_desk.summary()["coverage"]["expected"]
    assert slow_desk.summary()["coverage"]["scored"] == expected
    # Those in flight, four at most, are asked again.
    assert made < len(slow_desk.server.calls) <= expected + 4


@needs_signals
def test_a_signal_sends_a_run_to_its_address(slow_desk: Desk) -> None:
    """Stopped by Ctrl-C, a run whose --out is an address is there with what is done, and no copy
    of it stays on this machine."""
    there, home = slow_desk.folder / "there", slow_desk.folder / "home"
    slow_desk.env["XDG_CACHE_HOME"] = str(home)
    run = ("score", "batch.jsonl", "--panel", "panel.yaml", "--out", f"file://{there}")
    with started(slow_desk, run) as process:
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=20)
    assert process.returncode == 130, told.decode()
    assert f"done and written to file://{there}. The same command" in " ".join(
        told.decode().split()
    )
    assert 0 < slow_desk.summary("there")["coverage"]["scored"] < 5 * N
    assert not [*(home / "persona-panel" / "runs").iterdir()]


@needs_signals
def test_a_background_job_heeds_sigterm(slow_desk: Desk) -> None:
    """A process that was started to ignore Ctrl-C and SIGHUP goes on ignoring them, and SIGTERM
    ends it with its files."""
    with started(slow_desk, RUNS["score"], prepare="trap '' INT HUP") as process:
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGHUP)
        seen = len(slow_desk.server.calls)
        while len(slow_desk.server.calls) < seen + 8 and process.poll() is None:
            time.sleep(0.01)
        assert process.poll() is None
        process.send_signal(signal.SIGTERM)
        _, told = process.communicate(timeout=20)
        assert process.returncode == 143, told.decode()
        assert 0 < slow_desk.summary()["coverage"]["scored"] < 5 * N


@needs_signals
def test_a_signal_to_process_and_group_is_one(slow_desk: Desk) -> None:
    """`timeout` sends its signal twice at once: the run's files are written all the same."""
    with started(slow_desk, RUNS["score"], start_new_session=True) as process:
        process.send_signal(signal.SIGTERM)
        os.killpg(process.pid, signal.SIGTERM)
        # Another number: of two that are alike the system may drop one.
        process.send_signal(signal.SIGHUP)
        _, told = process.communicate(timeout=20)
        assert process.returncode in (129, 143), told.decode()
        assert 0 < slow_desk.summary()["coverage"]["scored"] < 5 * N


@needs_signals
@pytest.mark.parametrize("name", SIGNALS)
def test_a_second_signal_ends_at_once(slow_desk: Desk, name: str) -> None:
    """A run whose ending does not come to its end (a file that cannot be opened, here) is ended
    by the next signal."""
    with started(slow_desk, RUNS["score"]) as process:
        # Where the verdicts are written first: nobody reads it, so that opening it waits.
        os.mkfifo(slow_desk.folder / "run" / f".verdicts.csv.{process.pid}")
        process.send_signal(signal.SIGTERM)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(timeout=1.5)
        process.send_signal(getattr(signal, name))
        process.communicate(timeout=5)
        assert process.returncode == 128 + getattr(signal, name)


@needs_signals
@pytest.mark.parametrize("name", SIGNALS)
def test_a_signal_ends_questions(slow_desk: Desk, name: str) -> None:
    """Questions that came are kept in the cache, no half of a file is left, and the same command
    asks for the rest."""
    with started(slow_desk, (*QUESTIONS, "--out", "asked.jsonl")) as process:
        process.send_signal(getattr(signal, name))
        _, told = process.communicate(timeout=20)
        assert process.returncode == 128 + getattr(signal, name), told.decode()
        assert b"the same command continues the run" in b" ".join(told.split())
        assert not (slow_desk.folder / "asked.jsonl").exists()
        assert slow_desk.run(*QUESTIONS, "--out", "asked.jsonl").returncode == 0
        asked = (slow_desk.folder / "asked.jsonl").read_text("utf-8").splitlines()
        assert len(asked) == 3 * N


@needs_signals
@pytest.mark.parametrize("name", SIGNALS)
def test_a_signal_before_the_run(desk: Desk, name: str) -> None:
    """While inputs are still being read no model was called, and that is said."""
    with opened(desk.command("score", "-", *PANEL), desk, stdin=subprocess.PIPE) as process:
        # Reading has begun once more lines than a pipe holds are gone.
        assert process.stdin is not None
        process.stdin.write((desk.folder / "batch.jsonl").read_bytes() + b"\n" * 300_000)
        process.stdin.flush()
        process.send_signal(getattr(signal, name))
        told = process.communicate(timeout=20)[1]
        assert process.returncode == 128 + getattr(signal, name), told.decode()
        assert b"no model was called" in told
        assert not desk.server.calls


def entered(*arguments: str, ignored: bool = False) -> subprocess.Popen[str]:
    """The command as its entry point in pyproject.toml starts it, once the package of commands is
    there: what comes before is Python's own start for the most part."""
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["scripts"]
    module, _, name = scripts["persona-panel"].partition(":")
    begin = f"import os, persona_panel.cli; os.write(2, b'begun\\n'); import {module}; "
    begin += f"{module}.{name}()"
    ignore = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN); " if ignored else ""
    process = subprocess.Popen(
        [sys.executable, "-c", ignore + begin, *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stderr is not None
    assert process.stderr.readline() == "begun\n"
    return process


@needs_signals
def test_ctrl_c_ends_a_command_in_one_line_from_its_first_moment() -> None:
    """Also while it is imported, which takes a tenth of a second and more; a process that was
    started to ignore the signal goes on."""
    ratings = ROOT / "tests/panel/statistics/lme4/ratings.csv"
    for delay_s in (0.005, 0.02, 0.04, 0.07, 0.1, 0.15, 0.3):
        with entered("agree", str(ratings), "--resamples", "1000000") as process:
            time.sleep(delay_s)
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=60)
        assert (process.returncode, out, err) == (130, "", "Interrupted: no model was called.\n")
    with entered("--version", ignored=True) as process:
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out.strip(), err) == (0, version("persona-panel"), "")
