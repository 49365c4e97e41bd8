"""`persona-panel view` as a process: what it prints and how it ends, who is answered, and what is
never served."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
from pathlib import Path

import pytest

from persona_panel.results.formats.html import TEMPLATES, part
from persona_panel.view.server import ViewServer
from tests.helpers.command import COMMAND, Command
from tests.helpers.viewed import JUDGMENTS, Viewed, scored, viewing

HOSTILE = "<img src=x onerror=alert(1)>\u202e %2e%2e & \"'"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs on the same texts, one on others, and one in a folder of folders."""
    folder = tmp_path_factory.mktemp("runs")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PERSONA_PANEL_CACHE", str(folder.parent / "cache"))
        scored(folder / "one")
        scored(folder / "two", replicates=2)
        scored(folder / "deep" / HOSTILE, text="another")
    return folder


def test_the_address_is_printed_last_and_ctrl_c_ends_it_with_0(runs: Path) -> None:
    """Standard output has the address alone; nothing else is ended after it."""
    process = subprocess.Popen(
        [COMMAND, "view", str(runs)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    address = process.stdout.readline()
    assert Viewed(process, address.strip()).get().status == 200
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert (process.returncode, out) == (0, "")
    assert err == f"Runs below {runs}, until Ctrl-C ends this:\n"
    assert address.startswith("http://127.0.0.1:")


def test_it_ends_at_once_while_pages_are_open(runs: Path) -> None:
    """A page that waits for news does not keep the server."""
    with viewing(runs) as viewed:
        events = viewed.events()
        next(events)
        viewed.process.send_signal(signal.SIGINT)
        assert viewed.process.wait(5) == 0


def test_no_folder_and_a_taken_port_are_refused(command: Command, tmp_path: Path) -> None:
    """Each is a sentence that says what would do, with exit status 2."""
    ended = command("view", "nowhere")
    assert ended.returncode == 2
    assert "nowhere: found no such file" in ended.stderr
    assert "`score --out FOLDER/NAME`" in ended.stderr
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        ended = command("view", tmp_path, "--port", str(port))
    assert ended.returncode == 2
    assert f"--port {port}: 127.0.0.1 cannot be listened on there" in ended.stderr


def test_a_folder_without_runs_says_how_to_make_one(tmp_path: Path) -> None:
    with viewing(tmp_path) as viewed:
        page = viewed.get().text
    assert f"<code>persona-panel score RESPONSES --out {tmp_path}/NAME</code>" in page
    assert "<table" not in page


def test_a_line_for_each_run(runs: Path) -> None:
    """Its name, size, answer and completeness; markup in a name is text."""
    summary = json.loads((runs / "one" / "summary.json").read_text())
    with viewing(runs) as viewed:
        page = viewed.get().text
    assert page.count('<tr class="ended">') == 3
    assert "24 × 5" in page
    assert "100 %" in page
    assert summary["answers"][0]["sentence"][:30] in page
    assert "deep/&lt;img src=x onerror=alert(1)&gt;\\u202e" in page
    assert "<img" not in page


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "0.0.0.0", ""])
def test_another_hosts_name_is_refused(runs: Path, host: str) -> None:
    """As a page of the internet has whose name was made to lead here."""
    with viewing(runs) as viewed:
        assert viewed.get(Host=host).status == 421
        assert viewed.get(Host=f"localhost:{viewed.port}").status == 200


def test_without_the_key_nothing_is_shown(runs: Path) -> None:
    """Another user of the machine reaches the port, and is told nothing."""
    with viewing(runs) as viewed:
        for path in ("/", "/run/one/report.html", "/" + "x" * 22 + "/", viewed.base[:-1]):
            got = viewed.get(path)
            assert (got.status, "one" in got.text) == (404, False)


def test_an_address_to_open_once_leads_to_the_list_once(tmp_path: Path) -> None:
    """What a browser's command line shows is of no use to who sees it."""
    server = ViewServer(tmp_path)
    try:
        path = "/" + server.address_to_open_once().rpartition("/")[2]
        assert not server.is_opened("/")
        assert server.is_opened(path)
        assert not server.is_opened(path)
        assert path not in server.address
    finally:
        server.end()


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
def test_nothing_but_get_is_answered(runs: Path, method: str) -> None:
    with viewing(runs) as viewed:
        assert viewed.get(method=method).status == 501


@pytest.mark.parametrize(
    "path",
    [
        "run/../../etc/passwd", "run/..%2f..%2f..%2fetc/", "run/%2e%2e/report.html",
        "run/one/../two/report.html", "run/one/run.json", "run/one/judgments.jsonl",
        "run/%2fetc/report.html", "run/one%00/report.html", "run/.%2fone/report.html",
        "run//report.html", "run/one%2f..%2ftwo/report.html", "compare?a=..&b=one",
    ],
)  # fmt: skip
def test_no_path_leads_to_another_file(runs: Path, path: str) -> None:
    (runs.parent / "report.html").write_text("outside")
    shutil.copy(runs / "one" / "run.json", runs.parent / "run.json")
    with viewing(runs) as viewed:
        got = viewed.get(path)
    assert got.status == 404
    assert "outside" not in got.text


def test_links_are_not_followed_to_other_files(runs: Path, tmp_path: Path) -> None:
    """A run's folder in which a file is a link is shown as unreadable, and not read; a link to a
    whole run is that run."""
    secret = tmp_path / "secret"
    secret.write_text("a secret")
    folder = tmp_path / "runs"
    for name in ("report.html", "judgments.jsonl", "summary.json"):
        shutil.copytree(runs / "one", folder / name)
        (folder / name / name).unlink(missing_ok=True)
        (folder / name / name).symlink_to(secret)
    (folder / "linked").symlink_to(runs / "one")
    with viewing(folder) as viewed:
        page = viewed.get().text
        assert page.count("is a link or no file; it is not read.") == 3
        assert page.count('<tr class="ended">') == 1
        for name in ("report.html", "judgments.jsonl"):
            got = viewed.get(f"run/{name}/report.html")
            assert (got.status, "a secret" in got.text) == (404, False)
        assert viewed.get("compare?a=judgments.jsonl&b=linked").status == 404


def test_a_broken_folder_is_a_line_of_its_own(runs: Path, tmp_path: Path) -> None:
    """Whatever is in it, the other runs are shown."""
    shutil.copytree(runs / "one", tmp_path / "whole")
    kept = json.loads((runs / "one" / "run.json").read_text())
    for name, content in {
        "no-json": "{", "a-list": "[]", "nothing": "", "another": '{"models": 1, "rubric": 2}',
        "no-starts": json.dumps(kept | {"starts": []}),
        "no-time": json.dumps(kept | {"starts": [kept["starts"][0] | {"at": "yesterday"}]}),
    }.items():  # fmt: skip
        (tmp_path / name).mkdir()
        (tmp_path / name / "run.json").write_text(content)
    shutil.copytree(runs / "one", tmp_path / "odd-summary")
    (tmp_path / "odd-summary" / "summary.json").write_text('{"conclusion": {"a": 1}}')
    with viewing(tmp_path) as viewed:
        page = viewed.get().text
        assert page.count('<tr class="unreadable">') == 7
        assert page.count('<tr class="ended">') == 1
        assert viewed.get("run/no-json/").status == 404
        assert viewed.get("compare?a=no-json&b=whole").status == 422


def test_a_click_opens_the_page(runs: Path) -> None:
    """report.html where there is one, which then runs in a frame of its own; else what `report`
    would write."""
    page = runs / "one" / "report.html"
    with viewing(runs) as viewed:
        led = viewed.get("run/one/")
        assert (led.status, led.headers["Location"]) == (303, f"{viewed.base}run/one/report.html")
        made = viewed.get("run/one/report.html")
        assert (made.status, "Can the panel be trusted?" in made.text) == (200, True)
        page.write_text("<p>its own page")
        try:
            got = viewed.get("run/one/report.html")
        finally:
            page.unlink()
    assert got.text == "<p>its own page"
    policy = got.headers["Content-Security-Policy"]
    assert policy.startswith("sandbox allow-scripts")
    assert "default-src 'none'" in policy
    assert "connect-src" not in policy


def test_a_page_from_before_judgments_were_cut_is_not_shown(runs: Path, tmp_path: Path) -> None:
    """The line says that they were changed, and a click opens a page made of these, whatever
    report.html holds."""
    run = tmp_path / "cut"
    shutil.copytree(runs / "one", run)
    (run / "report.html").write_text("<p>its own page")
    (run / "judgments.jsonl").write_text("")
    with viewing(tmp_path) as viewed:
        assert "judgments.jsonl was changed after the run ended." in viewed.get().text
        assert viewed.get("run/cut/").headers["Location"] == f"{viewed.base}run/cut/report.html"
        page = viewed.get("run/cut/report.html").text
    assert ("its own page" in page, "was scored" in page) == (False, True)


def test_two_runs_are_compared(runs: Path) -> None:
    """The result of `compare` as a page; what cannot be compared, and a lacking pick, are
    sentences."""
    with viewing(runs) as viewed:
        page = viewed.get("compare?a=one&b=two")
        assert (page.status, "two compared with one" in page.text) == (200, True)
        assert "Differences b − a" in page.text
        lacking = viewed.get("compare?a=one")
        assert (lacking.status, "Pick two runs" in lacking.text) == (400, True)
        gone = viewed.get("compare?a=one&b=three")
        assert (gone.status, "There is no such run" in gone.text) == (404, True)


def test_every_page_has_a_strict_policy(runs: Path) -> None:
    with viewing(runs) as viewed:
        for path in ("", "compare?a=one&b=two", "nothing"):
            headers = viewed.get(path).headers
            policy = headers["Content-Security-Policy"]
            assert policy.startswith("default-src 'none'; script-src 'sha256-")
            assert "unsafe" not in policy
            assert headers["Cache-Control"] == "no-store"
            assert headers["Referrer-Policy"] == "no-referrer"
            assert headers["X-Content-Type-Options"] == "nosniff"


def test_it_writes_nothing(runs: Path) -> None:
    """No file below the folder is made, changed or removed, whatever is asked for."""

    def state() -> list[tuple[str, int, int]]:
        there = sorted(runs.rglob("*"))
        return [(str(path), path.stat().st_size, path.stat().st_mtime_ns) for path in there]

    before = state()
    with viewing(runs) as viewed:
        viewed.get()
        viewed.get("run/one/report.html")
        viewed.get("compare?a=one&b=two")
        next(viewed.events())
    assert state() == before


def test_a_name_that_is_no_utf_8_is_shown(runs: Path, tmp_path: Path) -> None:
    shutil.copytree(runs / "one", os.fsdecode(os.fsencode(tmp_path) + b"/odd-\xff"))
    with viewing(tmp_path) as viewed:
        assert 'run/odd-%FF/"' in viewed.get().text
        assert viewed.get("run/odd-%FF/report.html").status == 200


def test_the_runs_were_whole(runs: Path) -> None:
    """What the tests above read: all judgments."""
    lines = (runs / "one" / "judgments.jsonl").read_bytes().count(b"\n")
    assert lines == JUDGMENTS


def test_every_colour_of_the_styles_is_defined() -> None:
    """A property whose variable is not defined is none: a bar, say, without a filling."""
    styles = part(*TEMPLATES, "page.css") + part("persona_panel.view", "templates", "view.css")
    used, defined = (set(re.findall(of, styles)) for of in (r"var\((--[\w-]+)\)", r"(--[\w-]+):"))
    assert used == defined
