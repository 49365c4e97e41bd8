"""`persona-panel view` as a process, with what is asked of it; and a run that goes on beside it as
far as it is let."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from persona_panel import Panel, Run
from persona_panel.graphs import Response
from persona_panel.testing import Answer, ScriptedModel, ok, serving, stall
from tests.helpers import forked
from tests.helpers.command import COMMAND
from tests.helpers.fork_client import Forked

PROMPTS, SYSTEMS, JUDGES = 6, 4, 5
JUDGMENTS = PROMPTS * SYSTEMS * JUDGES


class Got(NamedTuple):
    """What was answered."""

    status: int
    headers: Mapping[str, str]
    text: str


class Viewed:
    """The server at work."""

    def __init__(self, process: Forked | subprocess.Popen[str], address: str) -> None:
        self.process, self.address = process, address
        parts = urlsplit(address)
        self.port, self.base = parts.port or 0, parts.path

    def get(self, path: str = "", *, method: str = "GET", **headers: str) -> Got:
        """Ask for a path below the address; one that begins with / is asked for as it is."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=30)
        whole = path if path.startswith("/") else self.base + path
        connection.putrequest(method, whole, skip_host="Host" in headers)
        for name, value in headers.items():
            connection.putheader(name, value)
        connection.endheaders()
        response = connection.getresponse()
        text = response.read().decode()
        connection.close()
        return Got(response.status, dict(response.getheaders()), text)

    def events(self, path: str = "events", within_s: float = 60) -> Iterator[dict[str, Any]]:
        """What is told, as it is told."""
        end = time.monotonic() + within_s
        connection = HTTPConnection("127.0.0.1", self.port, timeout=within_s)
        connection.request("GET", self.base + path)
        response = connection.getresponse()
        assert response.headers["Content-Type"].startswith("text/event-stream")
        try:
            while line := response.readline():
                assert time.monotonic() < end, "nothing that was waited for was told"
                if line.startswith(b"data: "):
                    yield json.loads(line.removeprefix(b"data: "))
        finally:
            connection.close()

    def until(
        self, moment: Callable[[dict[str, Any]], bool], path: str = "events"
    ) -> dict[str, Any]:
        """The first that is told of which this is true."""
        return next(event for event in self.events(path) if moment(event))


@contextmanager
def viewing(folder: Path, *options: str) -> Iterator[Viewed]:
    """The server of the runs below a folder."""
    reading, writing = os.pipe()
    with os.fdopen(reading) as lines:
        with os.fdopen(writing, "wb") as output:
            process = forked.begun(
                [COMMAND, "view", folder, *options], Path.cwd(), os.environ, output
            )
        try:
            yield Viewed(process, next(line for line in lines if line.startswith("http")).strip())
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
            process.wait(20)


def responses(text: str = "text") -> list[Response]:
    """Of four systems to six prompts."""
    return [
        Response(
            id=f"r{prompt}{system}",
            prompt=f"p{prompt}",
            text=f"{text} {prompt} {system}",
            system=f"s{system}",
        )
        for prompt in range(PROMPTS)
        for system in range(SYSTEMS)
    ]


def scored(folder: Path, text: str = "text", **settings: Any) -> Run:
    """A run that has ended, in a folder."""
    return Panel("disciplinary", ScriptedModel(), **settings).score(responses(text), out=folder)


class LiveBatch:
    """A command that scores by a server which answers so many calls, and others slowly before it is
    `let`."""

    def __init__(self, folder: Path, calls: int, *, fails_from: int = 10**9) -> None:
        self._folder, self._calls, self._fails_from = folder, calls, fails_from
        self.let = False

    def script(self, number: int, _: Mapping[str, Any]) -> Answer:
        """What becomes of a call."""
        if not self.let and number >= self._calls:
            return stall(3.0)
        return ok("no JSON at all") if number >= self._fails_from else ok()

    @contextmanager
    def serving(self) -> Iterator[LiveBatch]:
        """The server, for as long as the block lasts."""
        self._folder.mkdir(parents=True, exist_ok=True)
        lines = [
            {"id": each.id, "prompt": each.prompt, "response": each.text, "system": each.system}
            for each in responses()
        ]
        batch = "".join(json.dumps(line) + "\n" for line in lines)
        (self._folder / "batch.jsonl").write_text(batch)
        with serving(self.script) as server:
            (self._folder / "panel.yaml").write_text(
                "personas: disciplinary\nmodels:\n"
                f"  - {{model: 'openai:stub', base_url: '{server.base_url}', concurrency: 4, "
                "price: {input: 1000, output: 1000}}\n"
            )
            yield self

    def begin(self, out: Path, *options: str) -> Forked:
        """The command."""
        batch, panel = self._folder / "batch.jsonl", self._folder / "panel.yaml"
        command = [COMMAND, "score", batch, "--panel", panel, *options, "--out", out]
        with (self._folder / "output").open("ab") as output:
            return forked.begun(command, self._folder, os.environ, output)
