"""Does every judgment have the answer to its own request, paid for once, whatever the wire does?

    python -m benchmarks.histories                      100,000 judgments, all parts
    python -m benchmarks.histories --judgments 5000     a look
    python -m benchmarks.histories libcurl redis        some of the parts

`benchmarks.history_server`, a process of its own, answers each request with scores that are a
keyed hash of the request (`benchmarks.expected_scores`), under every fault at once, and logs what
became of it. The command scores a batch with these faults, twice; then without them; then once
more. This module computes again what each judgment must be, and counts, after each of the four:

answered wrongly
    a judgment that has scores (or is an abstention) other than its text, persona, model and address
    give; or that is in `judgments.jsonl` more than once.
lost though paid
    a judgment that is missing though it was paid for: before the command began, or meanwhile and
    by no other process; or that is not in `judgments.jsonl` at the end.
paid twice
    each payment for a judgment beyond its first.
kept though failed
    a judgment with scores for which the server never wrote a whole answer; or that is missing at
    the end, without faults, where a failure was served in place of a new request.

**Paid** is a request to which the server has written all bytes of a status 200 with scores, in
however odd a way, to a connection that the client had not closed. A row of a batch is paid for when
the provider has answered it, whatever becomes of its download. Not paid, as a client cannot have
it: an answer that was cut off, reset or in another encoding than it says; one without scores; and
one on a connection on which the server has written a response that nobody asked for, be it before
or, however much later, behind it, as a client cannot tell which is which (`unsure` or `doubted`: it
may be used, and asked again);
and one that the server has sent a second time on another connection (`sent twice`).

Parts: our client on libcurl, by one, two and four processes on one cache; `azure_openai:`,
`anthropic:` and `google_genai:`, by the providers' packages and LangChain's; two processes that
share a Redis server; two workers on Ray; batches of OpenAI, Anthropic and Gemini. A panel has the
same model at two addresses, which must not be confused. Exit status 1 if a count is not 0. A part
whose program or package is missing is left out, and said so.
"""

from __future__ import annotations

import argparse
import json
import secrets
import shutil
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import yaml

from benchmarks.expected_scores import (
    DIMENSIONS,
    Judgment,
    expected,
    persona_marker,
    response_marker,
)
from benchmarks.harness import ROOT, add_parts, environment, scratch
from benchmarks.history_server import OWN_ERROR
from tests.helpers import forked
from tests.helpers.batch_wires import AnthropicBatchWire, GeminiBatchWire

PERSONAS = 5
JUDGMENTS = 100_000
TIMEOUT_S = 20
CONCURRENCY = 256
EXAMPLES = 5
"""How many are printed of each kind."""
BATCH_STARTS = 4
"""A command with batches ends where a provider brings nothing but faults."""
PACED = """
from persona_panel.calls.batch_rounds import PACE
for name, seconds in {"first_look": 0.05, "longest_look": 0.1, "listed": 1.0}.items():
    object.__setattr__(PACE, name, seconds)
from persona_panel.cli.main import main
main()
"""
"""The command, which looks at batches in fractions of a second, not in minutes."""
KINDS = ("answered wrongly", "lost though paid", "paid twice", "kept though failed")


@dataclass(frozen=True, slots=True)
class Part:
    """A way to the models. `share` is of all judgments; `models` are of a panel file, where
    `{url0}` and `{url1}` are the server's addresses; `env` likewise."""

    share: float
    models: tuple[str, ...]
    processes: int = 1
    options: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    modules: tuple[str, ...] = ()
    redis: bool = False
    batches: bool = False


def _two_addresses(model: str, path: str = "") -> tuple[str, ...]:
    return tuple(
        f"{{name: m{n}, model: '{model}', base_url: '{{url{n}}}{path}', timeout: {TIMEOUT_S}, "
        f"concurrency: {CONCURRENCY}}}"
        for n in range(2)
    )


_OPENAI = _two_addresses("openai:judge", "/v1")
_KEY = "histories-key-4f9e0123456789ab"
_AZURE = {"AZURE_OPENAI_API_KEY": _KEY, "OPENAI_API_VERSION": "2024-10-21"}
_RAY = {"RAY_USAGE_STATS_ENABLED": "0"}

PARTS = {
    "libcurl": Part(0.4, _OPENAI),
    "two-processes": Part(0.1, _OPENAI, processes=2),
    "four-processes": Part(0.1, _OPENAI, processes=4),
    "redis": Part(0.1, _OPENAI, processes=2, redis=True, modules=("redis",)),
    "ray": Part(
        0.1, _OPENAI, options=("--engine", "ray", "--workers", "2"), env=_RAY, modules=("ray",)
    ),
    "azure": Part(
        0.04,
        tuple(
            f"{{name: m{n}, model: 'azure_openai:judge', timeout: {TIMEOUT_S}, concurrency: 64, "
            f"options: {{azure_endpoint: '{{url{n}}}'}}}}"
            for n in range(2)
        ),
        env=_AZURE,
        modules=("langchain_openai",),
    ),
    "anthropic": Part(
        0.04,
        _two_addresses("anthropic:claude-sonnet-4-6"),
        env={"ANTHROPIC_API_KEY": _KEY},
        modules=("langchain_anthropic",),
    ),
    "gemini": Part(
        0.02,
        _two_addresses("google_genai:gemini-2.5-flash"),
        env={"GOOGLE_API_KEY": _KEY},
        modules=("langchain_google_genai",),
    ),
    "openai-batches": Part(0.04, _two_addresses("openai:judge", "/v1")[:1], batches=True),
    "anthropic-batches": Part(
        0.03,
        _two_addresses(AnthropicBatchWire.spec)[:1],
        env={"ANTHROPIC_API_KEY": _KEY},
        modules=("langchain_anthropic",),
        batches=True,
    ),
    "gemini-batches": Part(
        0.03,
        _two_addresses(GeminiBatchWire.spec)[:1],
        env={"GOOGLE_API_KEY": _KEY},
        modules=("langchain_google_genai",),
        batches=True,
    ),
}


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.histories",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_parts(parser, PARTS)
    parser.add_argument("--judgments", type=int, default=JUDGMENTS, help="of all parts together")
    parser.add_argument("--errors", type=float, default=0.3, help="share of the requests")
    parser.add_argument("--odd", type=float, default=0.5, help="share of the other requests")
    parser.add_argument(
        "--kind", action="append", help="of the errors, this one alone; repeatable (default: all)"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--verbose", action="store_true", help="print the fates and the faults")
    options = parser.parse_args()
    total = sum(PARTS[name].share for name in options.parts)
    counts: dict[str, Counted | str] = {}
    for name in options.parts:
        part = PARTS[name]
        if missing := _missing(part):
            counts[name] = f"left out: {missing} is not installed"
        else:
            judgments = round(options.judgments * part.share / total)
            with scratch("histories") as folder:
                counts[name] = History(part, judgments, options, folder).counted()
        print(_line(name, counts[name]), file=sys.stderr, flush=True)
    show(counts)
    bad = sum(
        sum(counted.kinds.values()) for counted in counts.values() if not isinstance(counted, str)
    )
    return 1 if bad else 0


def _missing(part: Part) -> str | None:
    if part.redis and shutil.which("redis-server") is None:
        return "redis-server"
    return next((name for name in part.modules if find_spec(name) is None), None)


@dataclass(slots=True)
class Counted:
    """What a part came to: judgments, requests, those paid, seconds, and the four counts, with the
    first examples of each."""

    judgments: int
    requests: int
    paid: int
    wall_s: float
    kinds: dict[str, int]
    examples: list[str]


class History:
    """A part under faults, and what the server and the run folders say of it."""

    def __init__(
        self, part: Part, judgments: int, options: argparse.Namespace, folder: Path
    ) -> None:
        self._part, self._options, self._folder = part, options, folder
        self._key = secrets.token_hex(8)
        self._responses = max(2, judgments // (PERSONAS * len(part.models)))
        self._log = folder / "asked.jsonl"
        self._read_to = 0
        self._paid: Counter[Judgment] = Counter()
        self._whole: set[Judgment] = set()
        self._fates: dict[Judgment, list[str]] = {}
        self._requests = 0
        self._bad: dict[str, dict[tuple[int, Judgment], str]] = {kind: {} for kind in KINDS}

    def counted(self) -> Counted:
        """Run it all."""
        started = time.monotonic()
        with ExitStack() as stack:
            ports = stack.enter_context(self._server())
            urls = {f"url{n}": f"http://127.0.0.1:{port}" for n, port in enumerate(ports)}
            env = self._environment(urls)
            if self._part.redis:
                from tests.helpers.redis_server import redis_server

                (self._folder / "redis").mkdir()
                server = stack.enter_context(redis_server(self._folder / "redis"))
                env["PERSONA_PANEL_CACHE"] = server.address
            self._write_inputs(urls)
            for number in range(4):
                if number == 2:
                    control(ports[0], errors=0, odd=0)
                self._run(env, number)
            fates = control(ports[0])["fates"]
        if n_own := fates.get(OWN_ERROR):
            raise RuntimeError(f"the server failed by itself {n_own} times: see above")
        if self._options.verbose:
            for fate, n in sorted(fates.items()):
                print(f"  {fate}: {n:,}", file=sys.stderr)
        twice = sum(n - 1 for n in self._paid.values() if n > 1)
        kinds = {kind: len(found) for kind, found in self._bad.items()} | {"paid twice": twice}
        for judgment, n in self._paid.items():
            if n > 1:
                self._bad["paid twice"][0, judgment] = f"{judgment}: {n} times"
        examples = [
            f"{kind}: {text}; fates: {', '.join(self._fates.get(judgment, ()))}"
            for kind, found in self._bad.items()
            for (_, judgment), text in [*found.items()][:EXAMPLES]
        ]
        n = self._responses * PERSONAS * len(self._part.models)
        wall_s = time.monotonic() - started
        return Counted(n, self._requests, self._paid.total(), wall_s, kinds, examples)

    @contextmanager
    def _server(self) -> Iterator[list[int]]:
        command = [sys.executable, "-m", "benchmarks.history_server", "--log", str(self._log)]
        command += ["--key", self._key, "--seed", str(self._options.seed)]
        command += [word for kind in self._options.kind or () for word in ("--kind", kind)]
        command += ["--errors", str(self._options.errors), "--odd", str(self._options.odd)]
        process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
        try:
            assert process.stdout is not None
            yield json.loads(process.stdout.readline())
        finally:
            process.terminate()
            process.wait()

    def _environment(self, urls: Mapping[str, str]) -> dict[str, str]:
        own = {name: value.format(**urls) for name, value in self._part.env.items()}
        cache, home = str(self._folder / "cache"), str(self._folder / "home")
        return environment(
            PERSONA_PANEL_CACHE=cache, XDG_STATE_HOME=home, XDG_CACHE_HOME=home, **own
        )

    def _write_inputs(self, urls: Mapping[str, str]) -> None:
        with (self._folder / "responses.jsonl").open("w") as lines:
            for i in range(self._responses):
                text = f"{response_marker(i)} It depends."
                row = {"id": f"r{i}", "prompt": f"Prompt {i // 4}", "system": f"s{i % 4}"}
                lines.write(json.dumps(row | {"response": text}) + "\n")
        personas = [
            {
                "id": f"p{n}",
                "label": f"Reader {n}",
                "axis": "own",
                "description": f"You are reader {persona_marker(n)}.",
            }
            for n in range(PERSONAS)
        ]
        own = {"id": "readers", "label": "Readers", "personas": personas}
        (self._folder / "personas.yaml").write_text(yaml.safe_dump(own))
        models = [yaml.safe_load(_placed(model, urls)) for model in self._part.models]
        panel = {"personas": "personas.yaml", "rubric": "scrub", "models": models}
        (self._folder / "panel.yaml").write_text(yaml.safe_dump(panel))

    # Runs

    def _run(self, env: Mapping[str, str], number: int) -> None:
        """Have the command read the batch, as often as there are processes, and check."""
        before, started = Counter(self._paid), time.monotonic()
        folders = [self._folder / f"run-{n}" for n in range(self._part.processes)]
        for _ in range(BATCH_STARTS if self._part.batches else 1):
            statuses = self._start(env, folders, batches=self._part.batches and number < 3)
            if not any(statuses):
                break
        self._read_log()
        rows = [self._judgments(folder) for folder in folders]
        found = [{judgment for judgment, row in one.items() if _is_there(row)} for one in rows]
        anywhere = set[Judgment]().union(*found)
        for place, one in enumerate(rows):
            for judgment in self._all():
                self._check(place, judgment, one.get(judgment), before, anywhere, number)
        if self._options.verbose:
            there = [len(one) for one in found]
            wall = f"{time.monotonic() - started:.1f} s"
            for folder in folders if any(status > 1 for status in statuses) else ():
                output = folder.with_suffix(".output").read_text(errors="replace")
                print(f"  {folder.name}: {output[-600:].strip()}", file=sys.stderr)
            print(f"  pass {number + 1}: {wall}, exit {statuses}, there {there}", file=sys.stderr)

    def _start(
        self, env: Mapping[str, str], folders: Sequence[Path], *, batches: bool
    ) -> list[int]:
        command = [
            "python",
            "-c",
            PACED,
            "score",
            "responses.jsonl",
            "--panel",
            "panel.yaml",
            "--no-report",
        ]
        command += [*self._part.options, *(["--batch"] if batches else [])]
        processes = []
        for folder in folders:
            with folder.with_suffix(".output").open("ab") as output:
                words = [*command, "--out", str(folder)]
                processes.append(forked.begun(words, self._folder, env, output))
        statuses = [process.wait() for process in processes]
        for folder, status in zip(folders, statuses, strict=True):
            output = folder.with_suffix(".output").read_text(errors="replace")
            if (status not in (0, 1) and not self._part.batches) or "Traceback (most" in output:
                raise RuntimeError(f"ended with {status}: {output[-3000:]}")
        return statuses

    def _all(self) -> Iterator[Judgment]:
        for response in range(self._responses):
            for persona in range(PERSONAS):
                for address, model in enumerate(self._models()):
                    yield Judgment(response, persona, model, address)

    def _models(self) -> list[str]:
        """As the server hears them."""
        named = (yaml.safe_load(_placed(line, {})) for line in self._part.models)
        return [one["model"].partition(":")[2] for one in named]

    # What is read

    def _read_log(self) -> None:
        with self._log.open() as lines:
            lines.seek(self._read_to)
            for line in lines:
                *place, fate, how = json.loads(line)
                judgment = Judgment(*place)
                self._requests += fate not in ("sent twice", "doubted")
                self._fates.setdefault(judgment, []).append(f"{fate} {how}".strip())
                self._paid[judgment] += {"paid": 1, "sent twice": -1, "doubted": -1}.get(fate, 0)
                if fate in ("paid", "unsure"):
                    self._whole.add(judgment)
            self._read_to = lines.tell()

    def _judgments(self, folder: Path) -> dict[Judgment, dict[str, Any]]:
        """The rows of a run by what they judge."""
        rows: dict[Judgment, dict[str, Any]] = {}
        file = folder / "judgments.jsonl"
        models = self._models()
        for line in file.open() if file.exists() else ():
            row = json.loads(line)
            address = int(row["model"].removeprefix("m"))
            persona = int(row["persona"].removeprefix("p"))
            judgment = Judgment(int(row["id"][1:]), persona, models[address], address)
            if judgment in rows:
                self._bad["answered wrongly"][0, judgment] = f"{judgment}: two rows"
            rows[judgment] = row
        return rows

    def _check(
        self,
        place: int,
        judgment: Judgment,
        row: Mapping[str, Any] | None,
        before: Counter[Judgment],
        anywhere: set[Judgment],
        number: int,
    ) -> None:
        """Count what is wrong with a judgment; `before` is what was paid before this pass."""

        def bad(kind: str, why: str) -> None:
            self._bad[kind].setdefault((place, judgment), f"{judgment}: pass {number + 1}, {why}")

        if row is not None and _is_there(row):
            scores = expected(self._key, judgment)
            said = None
            if row["status"] == "scored":
                said = tuple(row["scores"].get(dimension) for dimension in DIMENSIONS)
            if said != scores:
                bad("answered wrongly", f"{said} in place of {scores}")
            elif judgment not in self._whole:
                bad("kept though failed", "scored, and no whole answer was written")
            return
        why = "not in the run" if row is None else f"{row['status']}: {row['error']}"
        is_last = number >= (3 if self._part.batches else 2)
        if row is None and not is_last:
            return
        if self._part.batches and not is_last:
            # Rows that came back with an error, or are still with the provider.
            return
        if before[judgment] or (self._paid[judgment] and judgment not in anywhere):
            bad("lost though paid", why)
        elif is_last:
            bad("kept though failed" if row is not None else "lost though paid", why)


def _is_there(row: Mapping[str, Any]) -> bool:
    return row["status"] in ("scored", "abstained")


def _placed(line: str, urls: Mapping[str, str]) -> str:
    """A line of YAML with the server's addresses in their places."""
    for name, url in urls.items():
        line = line.replace(f"{{{name}}}", url)
    return line


def control(port: int, **settings: float) -> dict[str, Any]:
    """Set the server's shares of faults; what it has counted."""
    query = "&".join(f"{name}={value}" for name, value in settings.items())
    for tries_left in reversed(range(5)):
        try:
            url = f"http://127.0.0.1:{port}/control?{query}"
            with urllib.request.urlopen(url, timeout=30) as answer:
                counted: dict[str, Any] = json.load(answer)
            break
        # Some systems reset a connection that is opened amid many that are closed.
        except OSError:
            if not tries_left:
                raise
            time.sleep(0.2)
    return counted


def _line(name: str, counted: Counted | str) -> str:
    if isinstance(counted, str):
        return f"{name}: {counted}"
    bad = ", ".join(f"{n} {kind}" for kind, n in counted.kinds.items())
    return f"{name}: {counted.judgments:,} judgments in {counted.wall_s:.0f} s; {bad}"


def show(counts: Mapping[str, Counted | str]) -> None:
    """Print the table, and the first examples of what is wrong."""
    heads = ("part", "judgments", "requests", "paid", "seconds", *KINDS)
    rows = [heads]
    done = {name: one for name, one in counts.items() if isinstance(one, Counted)}
    for name, one in done.items():
        figures = (one.judgments, one.requests, one.paid, round(one.wall_s), *one.kinds.values())
        rows.append((name, *(f"{figure:,}" for figure in figures)))
    if len(done) > 1:
        sums = [
            sum(column)
            for column in zip(
                *(
                    (one.judgments, one.requests, one.paid, round(one.wall_s), *one.kinds.values())
                    for one in done.values()
                ),
                strict=True,
            )
        ]
        rows.append(("all", *(f"{figure:,}" for figure in sums)))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))
        print(f"{row[0]:<{widths[0]}}  {'  '.join(cells)}")
    for name, counted in counts.items():
        if isinstance(counted, str):
            print(f"{name}: {counted}")
        else:
            for example in counted.examples:
                print(f"  {name}: {example}")


if __name__ == "__main__":
    sys.exit(main())
