"""What is left of a command that is killed at a random instant, and what does it make of that?

    python -m benchmarks.kills                          300 kills, through all jobs
    python -m benchmarks.kills --kills 30 score batch   a look at some of them
    python -m benchmarks.kills --power-cut              what was not synced to the disk is lost, too
    python -m benchmarks.kills --clock                  the clock is set back and forth meanwhile

Jobs: `score`, `score --batch` (its batches are submitted, looked at and collected), `sweep`,
`sweep --batch`, `generate`, `people collect` and `cache import`. Each is first run undisturbed.
Then it is started in a new folder, killed with SIGKILL after a random share of the time that it
took, and started again by the same command, three times over; and then left to end. Counted are

unreadable    after a kill: `agree` or `report` ends with a traceback, or refuses a run that has
              judgments; after the end: a file of JSON, JSONL or CSV that cannot be parsed
lost          results other than those of the undisturbed run
paid twice    a call that was repeated though none before was in flight, or had just been answered,
              at a kill; a row of a batch that was answered twice
failed        the command that is left to end does not end with 0, or shows a traceback

With --power-cut every file then has the content that it had when it was last synced (fsync,
fdatasync): none where it never was. With --clock the wall clock of the command goes forward and
back by minutes to years, twenty times a second, and sometimes the monotonic clock with it, but only
forward. Both are done by a library that is compiled from `power_and_clock.c` and loaded before all
others: they need Linux and a C compiler, and are left out without. Exit status 1 if a count is
not 0.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.harness import ROOT, add_parts, environment, scratch
from benchmarks.histories import PACED
from persona_panel.testing.server import BatchScript, ScriptedServer, serving
from tests.helpers import forked
from tests.helpers.command import COMMAND
from tests.helpers.ports import free_port
from tests.helpers.study import answer
from tests.sycophant import questions, world

LATENCY_S = 0.05
CONCURRENCY = 8
KILLS_A_TRIAL = 3
SETTLED_S = 0.5
"""How long before a kill an answer may have been sent of which the client need not know yet."""
WAIT_S = 120.0
SOURCE = Path(__file__).with_name("power_and_clock.c")
KINDS = ("unreadable", "lost", "paid twice", "failed")


@dataclass(frozen=True, slots=True)
class Job:
    """A command: from its folder and the server's address to its words; what it has made, less
    what another run may have otherwise; and the folder of a run that others read."""

    words: Callable[[Path, str], list[str]]
    made: Callable[[Path], Any]
    run: str | None = None


def _score(*options: str) -> Callable[[Path, str], list[str]]:
    def words(folder: Path, url: str) -> list[str]:
        rows = [
            {"id": f"r{i}", "prompt": f"p{i // 4}", "response": f"text {i}", "system": f"s{i % 4}"}
            for i in range(24)
        ]
        _write_lines(folder / "responses.jsonl", rows)
        return [
            "score",
            "responses.jsonl",
            "--panel",
            _panel(folder, url),
            *options,
            "--out",
            "run",
        ]

    return words


def _sweep(*options: str) -> Callable[[Path, str], list[str]]:
    def words(folder: Path, url: str) -> list[str]:
        _write_lines(folder / "prompts.jsonl", [{"prompt": text} for text in questions(3)])
        panel = _panel(folder, url)
        target = ["--target", _target(folder, url)]
        return ["sweep", "prompts.jsonl", "--panel", panel, *target, *options, "--out", "run"]

    return words


def _generate(folder: Path, url: str) -> list[str]:
    _write_lines(folder / "prompts.jsonl", [{"prompt": text} for text in questions(60)])
    return ["generate", "prompts.jsonl", "--target", _target(folder, url), "--out", "texts.jsonl"]


def _collect(folder: Path, url: str) -> list[str]:
    if not (folder / "study").exists():
        words = ["people", "make", str(ROOT / "examples" / "responses.jsonl"), "--raters", "6"]
        words += ["--per-rater", "12", "--tasks", "rank,rate", "--out", "study"]
        done = forked.run([COMMAND, *words], folder, environment())
        assert done.returncode == 0, done.stderr
        for n, page in enumerate(sorted((folder / "study" / "packets").iterdir())):
            answer(page, folder / "answers" / f"{n}.json", lambda text, by: 1 + len(text + by) % 5)
    answers = [f"answers/{path.name}" for path in sorted((folder / "answers").iterdir())]
    # As a user does who starts it again: what is there may be half of it.
    return ["people", "collect", "study", *answers, "--out", "ratings.csv", "--overwrite"]


def _import(folder: Path, url: str) -> list[str]:
    if not (folder / "answers.jsonl").exists():
        elsewhere = {**_environment(folder), "PERSONA_PANEL_CACHE": str(folder / "others")}
        words = _score()(folder, url)
        assert forked.run([COMMAND, *words], folder, elsewhere).returncode == 0
        done = forked.run([COMMAND, "cache", "export", "answers.jsonl"], folder, elsewhere)
        assert done.returncode == 0, done.stderr
        # A hundred times as many, so that it takes a while.
        lines = (folder / "answers.jsonl").read_text().splitlines()
        copies = [_copied(line, n) for line in lines for n in range(100)]
        (folder / "answers.jsonl").write_text("".join(f"{line}\n" for line in copies))
    return ["cache", "import", "answers.jsonl"]


def _copied(line: str, number: int) -> str:
    """An answer under another key, of the same form."""
    row = json.loads(line)
    # Its beginning is in the answer, too.
    row["key"] = f"{row['key'][:-2]}{number:02x}"
    return json.dumps(row)


def _judged(folder: Path) -> Any:
    """What was judged, and all that follows from it."""
    run = folder / "run"
    rows = map(json.loads, (run / "judgments.jsonl").read_text().splitlines())
    told = ("prompt_id", "id", "judge", "round", "status", "scores", "raw")
    judgments = sorted(json.dumps([row[name] for name in told]) for row in rows)
    tables = {path.name: path.read_text() for path in sorted(run.glob("*.csv"))}
    framings = [run / name for name in ("framings.jsonl", "responses.jsonl", "prompts.jsonl")]
    texts = {path.name: _texts(path) for path in framings if path.exists()}
    summary = json.loads((run / "summary.json").read_text())
    # What it cost this run, and what a reply took.
    for name in ("calls", "elapsed_s"):
        summary.pop(name, None)
    return judgments, tables, texts, summary


def _texts(file: Path) -> list[str]:
    """Lines, less how long a reply took and where it was from."""
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    for row in rows:
        for name in ("latency_s", "cached"):
            row.pop(name, None)
    return sorted(map(json.dumps, rows))


def _generated(folder: Path) -> Any:
    return _texts(folder / "texts.jsonl")


def _collected(folder: Path) -> Any:
    paths = [path for path in sorted(folder.rglob("*")) if path.name.startswith("ratings")]
    paths += [inner for path in paths if path.is_dir() for inner in sorted(path.rglob("*"))]
    # A write that is killed leaves a hidden file, which nobody reads, beside its own.
    shown = [path for path in paths if path.is_file() and not path.name.startswith(".")]
    return {path.name: path.read_bytes() for path in shown}


def _imported(folder: Path) -> Any:
    """The answers in the cache."""
    done = forked.run([COMMAND, "cache", "export", "again.jsonl"], folder, _environment(folder))
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in (folder / "again.jsonl").read_text().splitlines()]
    answers = sorted(f"{row['page']} {row['key']} {row['reply']['text']}" for row in rows)
    (folder / "again.jsonl").unlink()
    return answers


JOBS = {
    "score": Job(_score(), _judged, "run"),
    "batch": Job(_score("--batch"), _judged, "run"),
    "sweep": Job(_sweep(), _judged, "run"),
    "sweep-batch": Job(_sweep("--batch"), _judged, "run"),
    "generate": Job(_generate, _generated),
    "collect": Job(_collect, _collected),
    "import": Job(_import, _imported),
}


def _panel(folder: Path, url: str) -> str:
    model = f"{{model: 'openai:stub', base_url: '{url}', concurrency: {CONCURRENCY}}}"
    (folder / "panel.yaml").write_text(f"personas: disciplinary\nmodels:\n  - {model}\n")
    return "panel.yaml"


def _target(folder: Path, url: str) -> str:
    lines = f"model: openai:target\nbase_url: {url}\nconcurrency: {CONCURRENCY}\n"
    (folder / "target.yaml").write_text(lines)
    return "target.yaml"


def _write_lines(file: Path, rows: list[dict[str, str]]) -> None:
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))


def _environment(folder: Path, **more: str) -> dict[str, str]:
    own = {"XDG_STATE_HOME": str(folder / "state"), "XDG_CACHE_HOME": str(folder / "state")}
    return environment(PERSONA_PANEL_CACHE=str(folder / "cache"), **own, **more)


@dataclass(slots=True)
class Tally:
    """What a job came to."""

    kills: int = 0
    trials: int = 0
    calls: int = 0
    repeated: int = 0
    """Calls made again since they were in flight at a kill."""
    kinds: Counter[str] = field(default_factory=Counter)
    examples: list[str] = field(default_factory=list)

    def count(self, kind: str, why: str, n: int = 1) -> None:
        self.kinds[kind] += n
        self.examples.append(f"{kind}: {why}")


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.kills",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_parts(parser, JOBS, "job")
    parser.add_argument("--kills", type=int, default=300, help="of all jobs together")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--power-cut", action="store_true", help="lose what was not synced")
    parser.add_argument("--clock", action="store_true", help="set the clock meanwhile")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kills-") as built:
        if (options.power_cut or options.clock) and (why := preloaded(Path(built))):
            print(f"left out: {why}")
            return 0
        tallies = {
            name: tally(name, -(-options.kills // len(options.parts)), options)
            for name in options.parts
        }
    show(tallies)
    return 1 if any(sum(one.kinds.values()) for one in tallies.values()) else 0


def preloaded(folder: Path) -> str | None:
    """Have the processes to come load the library; why they cannot, or None."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if sys.platform != "linux" or compiler is None:
        return "this needs Linux and a C compiler"
    library = folder / "power_and_clock.so"
    command = [compiler, "-shared", "-fPIC", "-O1", "-o", str(library), str(SOURCE), "-ldl"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        return f"the library cannot be compiled: {done.stderr[-300:]}"
    # The server that forks for each command loads it with its start.
    os.environ["LD_PRELOAD"] = str(library)
    forked.address()
    del os.environ["LD_PRELOAD"]
    return None


def tally(name: str, kills: int, options: argparse.Namespace) -> Tally:
    """Kill a job so often, and count."""
    found, chance = Tally(), random.Random(f"{options.seed} {name}")
    expected, wall_s = None, 0.0
    # Keys of answers have the address in them.
    port = free_port()
    while found.kills < kills:
        with scratch("kills") as folder, ExitStack() as stack:
            server = stack.enter_context(
                serving(world(sycophantic=True), latency_s=LATENCY_S, port=port)
            )
            server.batches.script = BatchScript(looks=2)
            trial = Trial(JOBS[name], folder, server, found, chance, options.power_cut)
            if expected is None:
                # Twice: the first has to compile and to load.
                for _ in range(2):
                    shutil.rmtree(folder)
                    folder.mkdir()
                    began = time.monotonic()
                    if (status := trial.finish()) != 0:
                        raise RuntimeError(
                            f"{name}, undisturbed: {status}: {trial.output()[-2000:]}"
                        )
                    wall_s = time.monotonic() - began
                expected = JOBS[name].made(folder)
                continue
            if options.clock:
                stack.enter_context(trial.odd_clock())
            trial.run(min(KILLS_A_TRIAL, kills - found.kills), wall_s, expected)
            found.trials += 1
        counts = ", ".join(f"{found.kinds[kind]} {kind}" for kind in KINDS)
        print(f"{name}: {found.kills} kills; {counts}", file=sys.stderr, flush=True)
    return found


class Trial:
    """A job in a folder of its own, with a server of its own."""

    def __init__(
        self,
        job: Job,
        folder: Path,
        server: ScriptedServer,
        found: Tally,
        chance: random.Random,
        power_cut: bool,
    ) -> None:
        self._job, self._server, self._found = job, server, found
        self._chance, self._power_cut = chance, power_cut
        self._folder = folder
        self._synced = folder.with_name(f"{folder.name}-synced")
        self._more: dict[str, str] = {}
        # From when to when nothing ran that could send a call.
        self._kills = list[tuple[float, float]]()

    def run(self, kills: int, wall_s: float, expected: Any) -> None:
        """Kill it so often, let it end, and count."""
        self._job.words(self._folder, self._server.base_url)
        if self._power_cut:
            self._synced.mkdir()
            self._more |= {"SYNCED_FOLDER": str(self._synced), "WATCHED_FOLDER": str(self._folder)}
            # What is there before the job begins is on the disk.
            self._before = {path for path in self._folder.rglob("*") if path.is_file()}
        try:
            for _ in range(kills):
                self._kill(self._chance.uniform(0, wall_s))
                if self._power_cut:
                    self._cut_power()
                self._read_by_others()
            self._end(expected)
        finally:
            shutil.rmtree(self._synced, ignore_errors=True)

    def _kill(self, after_s: float) -> None:
        process = self._start()
        until = time.monotonic() + after_s
        while process.poll() is None and time.monotonic() < until:
            time.sleep(0.002)
        if process.poll() is None:
            killed_at = time.monotonic()
            process.kill()
            self._found.kills += 1
            # The server reads later what was sent before, where the machine is busy.
            time.sleep(SETTLED_S)
            self._kills.append((killed_at, time.monotonic()))
        process.wait(WAIT_S)

    def _start(self) -> forked.Forked:
        words = self._job.words(self._folder, self._server.base_url)
        env = _environment(self._folder, **self._more)
        with (self._folder / "output").open("ab") as output:
            return forked.begun(["python", "-c", PACED, *words], self._folder, env, output)

    def finish(self) -> int:
        """Let it end."""
        return self._start().wait(WAIT_S)

    def output(self) -> str:
        return (self._folder / "output").read_text(errors="replace")

    def _cut_power(self) -> None:
        """Every file as it was when it was last synced."""
        for path in sorted(self._folder.rglob("*")):
            if path in self._before or not path.is_file() or path.name == "output":
                continue
            synced = self._synced / f"{path.stat().st_ino}.data"
            content = synced.read_bytes() if synced.exists() else b""
            if path.read_bytes() != content:
                path.write_bytes(content)

    @contextmanager
    def odd_clock(self) -> Iterator[None]:
        """Set the clock of the command again and again."""
        file, over = self._folder.with_name(f"{self._folder.name}-clock"), threading.Event()
        file.write_bytes(bytes(16))
        self._more["CLOCK_FILE"] = str(file)
        chance = random.Random(self._chance.random())

        def keep_setting() -> None:
            forward_s = 0.0
            with file.open("r+b") as clock:
                while not over.wait(0.05):
                    wall_s = chance.choice((-1, 1)) * 10 ** chance.uniform(1, 7.5)
                    if chance.random() < 0.02:
                        # As a machine that slept: calls in flight may have timed out.
                        forward_s += chance.uniform(1, 100)
                        self._kills.append((time.monotonic(),) * 2)
                    clock.seek(0)
                    clock.write(struct.pack("qq", int(wall_s * 1e9), int(forward_s * 1e9)))
                    clock.flush()

        thread = threading.Thread(target=keep_setting)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()
            file.unlink()

    def _read_by_others(self) -> None:
        """A run is read by other commands as the kill has left it."""
        if self._job.run is None or not (run := self._folder / self._job.run).exists():
            return
        judgments = run / "judgments.jsonl"
        there = judgments.read_bytes().count(b"\n") if judgments.exists() else 0
        command = self._chance.choice(["agree", "report"])
        done = forked.run([COMMAND, command, str(run)], self._folder, _environment(self._folder))
        is_refused = done.returncode not in (0, 1) and there > 0
        if is_refused or "Traceback (most" in done.stderr:
            why = f"{command} of {there} judgments: {done.returncode}: {done.stderr.strip()[-400:]}"
            self._found.count("unreadable", why)

    def _end(self, expected: Any) -> None:
        found, before = self._found, len(self.output())
        status = self.finish()
        said = self.output()
        if status != 0 or "Traceback (most" in said:
            place = said.find("Traceback (most")
            found.count("failed", f"{status}: {said[max(before, place) :][-700:].strip()}")
        for path in sorted(self._folder.rglob("*")):
            if path.is_file() and (why := unparsed(path)):
                found.count("unreadable", f"{path.relative_to(self._folder)}: {why}")
        try:
            made = self._job.made(self._folder)
        except (OSError, ValueError, KeyError, AssertionError) as error:
            found.count("lost", f"no result: {error!r}"[:300])
        else:
            if made != expected:
                found.count("lost", f"other results: {_difference(made, expected)}")
        self._count_payments()

    def _count_payments(self) -> None:
        found, calls = self._found, self._server.calls
        found.calls += len(calls) + len(self._server.batches.asked)
        last: dict[str, float] = {}
        for call in sorted(calls, key=lambda one: one.at):
            asked = json.dumps(call.payload, sort_keys=True)
            if (at := last.get(asked)) is not None:
                ended = at + LATENCY_S + SETTLED_S
                if any(kill <= ended and at <= over for kill, over in self._kills):
                    found.repeated += 1
                else:
                    ago = [f"{kill - at:.2f} s" for kill, _ in self._kills if kill > at]
                    found.count("paid twice", f"a call {', '.join(ago) or 'not'} before a kill")
            last[asked] = call.at
        for name, n in Counter(self._server.batches.asked).items():
            if n > 1:
                found.count("paid twice", f"row {name} was answered {n} times", n - 1)


def unparsed(path: Path) -> str | None:
    """Why a file of JSON, JSONL or CSV cannot be read; None where it can, or is another."""
    try:
        if path.suffix == ".json":
            json.loads(path.read_bytes())
        elif path.suffix == ".jsonl":
            for line in path.read_bytes().splitlines():
                json.loads(line)
        elif path.suffix == ".csv":
            with path.open(newline="") as file:
                widths = {len(row) for row in csv.reader(file, strict=True)}
            if len(widths) != 1:
                return f"rows of {sorted(widths)} cells"
    except (ValueError, csv.Error) as error:
        return f"{error}"
    return None


def _difference(made: Any, expected: Any) -> str:
    """Where two results differ first."""
    if type(made) is type(expected):
        if isinstance(made, Mapping):
            for key in sorted(made.keys() | expected.keys()):
                if made.get(key) != expected.get(key):
                    return f"{key}: {_difference(made.get(key), expected.get(key))}"
        if isinstance(made, list | tuple):
            if len(made) != len(expected):
                return f"{len(made)} in place of {len(expected)}"
            pairs = zip(made, expected, strict=True)
            return next(_difference(a, b) for a, b in pairs if a != b)
    a, b = str(made), str(expected)
    same = next((n for n, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), 0)
    at = max(0, same - 40)
    return f"{a[at : at + 160]} in place of {b[at : at + 160]}"


def show(tallies: Mapping[str, Tally]) -> None:
    """Print the table, and examples of what is wrong."""
    print(f"{'job':<14}{'kills':>7}{'trials':>8}{'calls':>9}{'repeated':>10}", end="")
    print("".join(f"{kind:>12}" for kind in KINDS))
    for name, one in tallies.items():
        print(f"{name:<14}{one.kills:>7}{one.trials:>8}{one.calls:>9,}{one.repeated:>10}", end="")
        print("".join(f"{one.kinds[kind]:>12}" for kind in KINDS))
    for name, one in tallies.items():
        for example, n in Counter(one.examples).most_common(8):
            print(f"  {name}: {n} × {example}")


if __name__ == "__main__":
    sys.exit(main())
