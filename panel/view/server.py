"""The server: on the loopback alone, for whoever has the key in its address, and to read only.

Every path begins with a random key, since other users of a machine reach its loopback, too, and the
files of a run are their owner's alone. A request under another host's name is refused, as that of a
page of the internet that has had its name lead here.
"""

from __future__ import annotations

import hmac
import secrets
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Literal
from urllib.parse import parse_qs, urlsplit

import orjson
from jinja2 import Environment

from persona_panel.files.errors import InputError, PanelError
from persona_panel.files.limits import content_of
from persona_panel.files.pages import content_source, sentence, shown, templates
from persona_panel.files.secrets import SECRETS
from persona_panel.files.wording import command_line
from persona_panel.results.formats.html import TEMPLATES, first_screen, part
from persona_panel.runs.collected import Paced
from persona_panel.view.lines import (
    MANIFEST,
    PAGE,
    Lines,
    RunFolders,
    RunLine,
    Writers,
    linked_file,
    quoted,
    unquoted,
)
from persona_panel.view.live_run import MOST_REASONS, LiveRun

_OWN = ("persona_panel.view", "templates")


@dataclass(frozen=True, slots=True)
class LivePanel:
    """The panel of a run that goes on, or was stopped: `now` as `LiveRun.update` gives it."""

    name: str
    now: Mapping[str, Any]
    ticks: Sequence[tuple[str, str]]
    n_systems: int
    command: str


_REPORT_POLICY = (
    "sandbox allow-scripts allow-popups; default-src 'none'; script-src 'unsafe-inline'; "
    "style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""A run's report may run its own script, has no origin, so that it cannot read what else the server
has, and loads nothing."""


@cache
def _environment() -> Environment:
    made = templates(*_OWN, shown, TEMPLATES)
    made.filters |= {"sentence": sentence, "quoted": quoted}
    made.globals["reason_places"] = range(MOST_REASONS)
    return made


ON_LIST = 3
"""So many of the runs that go on are shown in full above the list."""
_KEPT = 32


@dataclass(frozen=True, slots=True)
class RunList:
    """The list as it was last looked at; `version` is another one where another line is there."""

    lines: Sequence[RunLine]
    version: str

    @property
    def running(self) -> list[RunLine]:
        """Return those that are shown in full."""
        return [line for line in self.lines if line.state == "running"][:ON_LIST]


class WatchedRuns:
    """The list of the runs below a folder, and what those that go on have come to.

    Nothing is read but when it is asked for.
    """

    def __init__(self, root: Path) -> None:
        self.folders = RunFolders(root)
        self._lines = Lines(self.folders, Writers())
        self._list = Paced(self._listed)
        self._live: dict[tuple[str, int, str], tuple[LiveRun, Paced[dict[str, Any]]]] = {}
        self._lock = threading.Lock()

    def list(self) -> RunList:
        """Return the list."""
        return self._list.value()

    def line(self, name: str) -> RunLine | None:
        """Return the line of a run; None where there is no such run."""
        return next((line for line in self.list().lines if line.name == name), None)

    def panel(self, line: RunLine) -> LivePanel | None:
        """Return what is shown of a run that goes on or was stopped; None where its files cannot be
        read at this moment."""
        try:
            live, paced = self._live_run(line)
            return LivePanel(line.name, paced.value(), live.ticks(), live.n_systems, live.command)
        except (OSError, ValueError, LookupError, TypeError, AttributeError, PanelError):
            return None

    def _listed(self) -> RunList:
        lines = self._lines.all()
        # What goes on costs more all the time, and is no other line for that.
        known = [(line.name, line.state, "" if line.state == "running" else line) for line in lines]
        return RunList(lines, sha256(repr(known).encode("utf-8", "replace")).hexdigest()[:16])

    def _live_run(self, line: RunLine) -> tuple[LiveRun, Paced[dict[str, Any]]]:
        folder = self.folders.path_of(line.name)
        if folder is None:
            raise FileNotFoundError(line.name)
        key = line.name, (folder / MANIFEST).stat().st_mtime_ns, line.state
        with self._lock:
            if key not in self._live:
                live = LiveRun(folder)
                if len(self._live) >= _KEPT:
                    self._live.pop(next(iter(self._live)))
                self._live[key] = live, Paced(lambda: live.update(line.state))
            return self._live[key]


HOST = "127.0.0.1"
_NAMES = frozenset({HOST, "localhost"})
_EVERY_S = 1.0
_ALIVE_S = 15.0
_MOST_WATCHERS = 32
_MOST_REPORTS = 4
"""So many reports that were made are kept."""
_NOT_THERE = "There is no such run, or it has gone."


class ViewServer(ThreadingHTTPServer):
    """The server of the runs below a folder, listening from its making on. `root`: the folder,
    which is there; `port`: 0: a free one. Raises OSError: the port cannot be had."""

    daemon_threads = True
    block_on_close = False
    # Another process may not listen on it at the same time, as Windows would let it.
    allow_reuse_port = False

    def __init__(self, root: Path, port: int = 0) -> None:
        self.runs = WatchedRuns(root)
        self.root = root
        self.base = f"/{secrets.token_urlsafe(16)}/"
        self.ended = threading.Event()
        self.watchers = threading.BoundedSemaphore(_MOST_WATCHERS)
        # Statistics of large runs, one at a time.
        self.working = threading.Lock()
        self.reports: dict[object, bytes] = {}
        self._once: str | None = None
        super().__init__((HOST, port), _Handler)

    @property
    def address(self) -> str:
        """Return the address of the list, with the key."""
        return f"http://{HOST}:{self.server_address[1]}{self.base}"

    def address_to_open_once(self) -> str:
        """Return an address that leads to the list a single time: that of a browser's command can
        be seen by other users."""
        self._once = f"/{secrets.token_urlsafe(16)}"
        return f"http://{HOST}:{self.server_address[1]}{self._once}"

    def is_opened(self, path: str) -> bool:
        """Return whether a path is the one that is opened once, and have it used up."""
        once = self._once
        if once is None or not _same(path, once):
            return False
        self._once = None
        return True

    def end(self) -> None:
        """Close the server; connections that wait for news end."""
        self.ended.set()
        self.server_close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a connection that has broken off; of another error all."""
        if not isinstance(sys.exception(), ConnectionError | TimeoutError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    server: ViewServer
    server_version, sys_version = "persona-panel", ""
    timeout = 30

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing: paths have the key."""

    def do_GET(self) -> None:
        name = urlsplit(f"//{self.headers.get('Host', '')}").hostname
        address = urlsplit(self.path)
        if name not in _NAMES:
            self._plain(HTTPStatus.MISDIRECTED_REQUEST, "This server answers on 127.0.0.1 alone.")
        elif self.server.is_opened(address.path):
            self._lead_to(self.server.base)
        elif not _same(address.path[: len(self.server.base)], self.server.base):
            self._plain(HTTPStatus.NOT_FOUND, "Open the address that persona-panel view printed.")
        else:
            path = address.path[len(self.server.base) :].split("/")
            self._answer(path, parse_qs(address.query))

    def _answer(self, path: Sequence[str], query: Mapping[str, Sequence[str]]) -> None:
        match path:
            case [""]:
                self._list()
            case ["events"]:
                self._events(None)
            case ["compare"]:
                self._compare(query)
            case ["run", part, ""]:
                self._run(unquoted(part))
            case ["run", part, "events"]:
                self._events(unquoted(part))
            case ["run", part, name] if name == PAGE:
                self._report(unquoted(part))
            case _:
                self._say(HTTPStatus.NOT_FOUND, "Not there", "There is no such page.")

    def _list(self) -> None:
        listed = self.server.runs.list()
        panels = [panel for line in listed.running if (panel := self.server.runs.panel(line))]
        root = str(self.server.root)
        self._page(
            "list",
            f"Runs below {root}",
            root=root,
            lines=listed.lines,
            panels=panels,
            # What events compare with.
            version=listed.version,
            example=command_line("score", ["RESPONSES"], {"--out": f"{root}/NAME"}),
            has_agreement=any(line.agreement for line in listed.lines),
        )

    def _run(self, name: str) -> None:
        line = self.server.runs.line(name)
        if line is None or line.state == "unreadable":
            text = _NOT_THERE if line is None else line.answer
            self._say(HTTPStatus.NOT_FOUND, "No run", text)
        elif line.state in ("ended", "damaged"):
            self._lead_to(f"{self.server.base}run/{quoted(name)}/{PAGE}")
        elif (panel := self.server.runs.panel(line)) is None:
            self._say(HTTPStatus.NOT_FOUND, name, "Its files cannot be read at this moment.")
        else:
            self._page("run", line.name, line=line, panel=panel)

    def _report(self, name: str) -> None:
        """The run's report.html, or, of a run that has none, the one that `report` would write."""
        line, folder = self.server.runs.line(name), self.server.runs.folders.path_of(name)
        if line is None or folder is None or linked_file(folder) is not None:
            self._say(HTTPStatus.NOT_FOUND, "No run", _NOT_THERE)
            return
        if line.state == "running":
            self._lead_to(f"{self.server.base}run/{quoted(name)}/")
            return
        try:
            # The page that a run wrote at its end does not know what has gone since.
            kept = None if line.state == "damaged" else self._kept_report(folder)
            body = kept or self._made_report(folder, line)
        except PanelError as error:
            self._say(HTTPStatus.UNPROCESSABLE_ENTITY, name, _sentence_of(error))
            return
        self._send(HTTPStatus.OK, SECRETS.scrub_bytes(body), _REPORT_POLICY)

    @staticmethod
    def _kept_report(folder: Path) -> bytes | None:
        try:
            return content_of(folder / PAGE)
        except OSError:
            return None

    def _made_report(self, folder: Path, line: RunLine) -> bytes:
        # What most runs have a page for need not be loaded.
        from persona_panel.reports.page.report import report_of
        from persona_panel.runs.load import load_run

        with self.server.working:
            kept = self.server.reports
            if line not in kept:
                html = report_of(load_run(folder)).html.encode("utf-8", "replace")
                if len(kept) >= _MOST_REPORTS:
                    kept.pop(next(iter(kept)))
                kept[line] = html
            return kept[line]

    def _compare(self, query: Mapping[str, Sequence[str]]) -> None:
        from persona_panel.analyses.compare import compare

        names = [unquoted(query.get(side, [""])[0]) for side in ("a", "b")]
        title = "Two runs compared"
        if not all(names):
            text = "Pick two runs in the list: one as a, with which the other, b, is compared."
            self._say(HTTPStatus.BAD_REQUEST, title, text)
            return
        folders = [self.server.runs.folders.path_of(name) for name in names]
        known = [folder for folder in folders if folder is not None and not linked_file(folder)]
        if len(known) < 2:
            self._say(HTTPStatus.NOT_FOUND, title, _NOT_THERE)
            return
        try:
            with self.server.working:
                result = compare(*known)
        except PanelError as error:
            self._say(HTTPStatus.UNPROCESSABLE_ENTITY, title, _sentence_of(error))
            return
        title = f"{names[1]} compared with {names[0]}"
        self._page("comparison", title, body=first_screen(result, title))

    def _events(self, name: str | None) -> None:
        """Tell what goes on as it goes on: of one run, or of those in full on the list."""
        if not self.server.watchers.acquire(blocking=False):
            self._plain(HTTPStatus.SERVICE_UNAVAILABLE, "Too many pages are open.")
            return
        try:
            self._begin(HTTPStatus.OK, "text/event-stream", "default-src 'none'")
            self.end_headers()
            last, quiet_s = b"", 0.0
            while True:
                event = self._event(name)
                if event != last or quiet_s >= _ALIVE_S:
                    # A comment where there is no news finds out whether anybody is left.
                    self.wfile.write(b": \n\n" if event == last else b"data: " + event + b"\n\n")
                    last, quiet_s = event, 0.0
                if self.server.ended.wait(_EVERY_S):
                    return
                quiet_s += _EVERY_S
        finally:
            self.server.watchers.release()

    def _event(self, name: str | None) -> bytes:
        watched = self.server.runs
        listed = watched.list()
        lines, version = listed.running, listed.version
        if name is not None:
            lines = [line for line in listed.lines if line.name == name]
            version = lines[0].state if lines else ""
        panels: list[LivePanel] = [
            panel
            for line in lines
            if line.state in ("running", "stopped") and (panel := watched.panel(line)) is not None
        ]
        runs = {quoted(panel.name): panel.now for panel in panels}
        event = orjson.dumps({"version": version, "runs": runs})
        return SECRETS.scrub_bytes(event)

    def _page(
        self,
        name: Literal["list", "run", "comparison", "message"],
        title: str,
        status: HTTPStatus = HTTPStatus.OK,
        **values: Any,
    ) -> None:
        style = part(*TEMPLATES, "page.css") + "\n" + part(*_OWN, "view.css")
        script = part(*_OWN, "view.js")
        template = _environment().get_template(f"{name}.html.jinja")
        html = template.render(
            title=title, base=self.server.base, style=style, script=script, **values
        )
        policy = (
            f"default-src 'none'; script-src {content_source(script)}; "
            f"style-src {content_source(style)}; connect-src 'self'; form-action 'self'; "
            "base-uri 'none'; frame-ancestors 'none'"
        )
        self._send(status, SECRETS.scrub(html).encode("utf-8", "replace"), policy)

    def _say(self, status: HTTPStatus, title: str, text: str) -> None:
        self._page("message", title, status, text=text)

    def _plain(self, status: HTTPStatus, text: str) -> None:
        self._send(status, text.encode(), "default-src 'none'", "text/plain")

    def _lead_to(self, path: str) -> None:
        self.send_response(HTTPStatus.SEE_OTHER)
        self.send_header("Location", path)
        self.send_header("Content-Length", "0")
        self.send_header("Cache-Control", "no-store")
        self.end_headers()

    def _send(self, status: HTTPStatus, body: bytes, policy: str, kind: str = "text/html") -> None:
        self._begin(status, kind, policy)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _begin(self, status: HTTPStatus, kind: str, policy: str) -> None:
        self.send_response(status)
        for name, value in {
            "Content-Type": f"{kind}; charset=utf-8",
            "Content-Security-Policy": policy,
            "X-Content-Type-Options": "nosniff",
            "Referrer-Policy": "no-referrer",
            "Cross-Origin-Resource-Policy": "same-origin",
            "Cache-Control": "no-store",
        }.items():
            self.send_header(name, value)


def _same(path: str, key: str) -> bool:
    """Return whether both are the same, in a time that tells nothing of where they part."""
    return hmac.compare_digest(path.encode("utf-8", "replace"), key.encode())


def _sentence_of(error: PanelError) -> str:
    if isinstance(error, InputError):
        return " ".join(map(str, error.faults))
    return str(error)
