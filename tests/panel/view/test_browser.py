"""The pages of `view` in a real browser, beside a run that goes on: they are filled in as it does,
obey no text, and are read without JavaScript, by keyboard, and on a narrow screen."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.helpers.browser import chromium
from tests.helpers.viewed import JUDGMENTS, SYSTEMS, LiveBatch, Viewed, scored, viewing

HOSTILE = "<img src=x onerror='window.pwned = 1'>\u202e"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as there:
        yield there


class Live:
    """A run that goes on, two that have ended, one of another name, and the server of them all."""

    def __init__(self, viewed: Viewed, batch: LiveBatch, process: Any) -> None:
        self.viewed, self.batch, self.process = viewed, batch, process


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Live]:
    runs = tmp_path / "runs"
    scored(runs / "one")
    scored(runs / "two", replicates=2)
    scored(runs / HOSTILE)
    batch = LiveBatch(tmp_path / "batch", 70)
    with batch.serving(), viewing(runs) as viewed:
        process = batch.begin(runs / "live", "--max-usd", "1000000")
        viewed.until(lambda event: event["runs"].get("live", {}).get("done", 0) >= 40)
        yield Live(viewed, batch, process)
        if process.poll() is None:
            process.kill()
            process.wait(10)


@pytest.fixture
def console() -> list[str]:
    """What pages say on the console, and errors."""
    return []


def opened(browser: Any, url: str, console: list[str], **settings: Any) -> Any:
    """A page at an address, once it is loaded."""
    page = browser.new_context(**settings).new_page()
    page.set_default_timeout(30_000)
    page.on("console", lambda message: console.append(message.text))
    page.on("pageerror", lambda error: console.append(str(error)))
    page.on("request", lambda request: console.append(urlsplit(request.url).hostname or ""))
    page.goto(url)
    return page


def test_a_run_is_filled_in_as_it_goes_on_and_its_end_is_shown(
    browser: Any, live: Live, console: list[str], tmp_path: Path
) -> None:
    """Judgments, bar and systems; nothing is loaded anew until a run has ended. Names that are
    markup stay text, and nothing is asked of another host."""
    page = opened(browser, live.viewed.address, console, viewport={"width": 1280, "height": 900})
    panel = page.locator("[data-run=live]")
    before = panel.locator("[data-field=progress]").inner_text()
    assert before.endswith(f" of {JUDGMENTS} judgments")
    assert panel.locator("tr[data-system]:visible").count() == SYSTEMS
    assert panel.locator("circle.hollow:visible").count() == SYSTEMS
    page.evaluate("window.kept = true")
    page.screenshot(path=tmp_path / "live.png", full_page=True)
    live.batch.let = True
    progress = panel.locator("[data-field=progress]")
    ended = page.locator("tr.ended", has_text="live")
    while not ended.count():
        if page.evaluate("window.kept === true") and progress.count():
            now = progress.inner_text()
            assert int(re.match(r"\d+", now)[0]) >= int(re.match(r"\d+", before)[0])  # type: ignore[index]
        page.wait_for_timeout(200)
    assert page.evaluate("window.kept") is None
    assert page.evaluate("window.pwned") is None
    assert page.locator("img").count() == 0
    assert page.locator("th a", has_text="<img").inner_text().endswith("\\u202e")
    assert {*console} == {"127.0.0.1"}


def test_two_runs_are_picked_and_compared_by_keyboard(
    browser: Any, live: Live, console: list[str]
) -> None:
    """With the space bar and Return alone. Whoever picks is told of changes, and keeps the page."""
    page = opened(browser, live.viewed.address, console)
    page.evaluate("window.kept = true")
    for side, name in (("a", "one"), ("b", "two")):
        page.get_by_label(f"{side}: {name}", exact=True).focus()
        page.keyboard.press("Space")
    live.process.kill()
    live.process.wait(10)
    page.locator("[data-changed]", has_text="load the page again").wait_for()
    assert page.evaluate("window.kept") is True
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="two compared with one").wait_for()
    assert {*console} == {"127.0.0.1"}


def test_a_report_runs_and_reaches_nothing_of_the_server(
    browser: Any, live: Live, console: list[str]
) -> None:
    """Its own script works, without an origin: it can read neither the list nor what is stored."""
    page = opened(browser, live.viewed.address + "run/one/", console)
    page.wait_for_url("**/report.html")
    page.locator("details.texts > summary").click()
    page.locator("details.texts button").first.wait_for()
    assert {*console} == {"127.0.0.1"}
    assert page.evaluate("self.origin") == "null"
    reached = "fetch('../../').then(() => 'read', () => 'refused')"
    assert page.evaluate(reached) == "refused"


def test_it_is_read_without_javascript(browser: Any, live: Live, console: list[str]) -> None:
    """What there is when it is loaded, and a link to look again."""
    page = opened(browser, live.viewed.address, console, java_script_enabled=False)
    assert page.locator("[data-field=progress]").inner_text().endswith("judgments")
    assert page.get_by_role("link", name="look again").is_visible()
    assert page.locator("tr.ended").count() == 3


@pytest.mark.parametrize("path", ["", "run/live/", "compare?a=one&b=two"])
def test_nothing_is_wider_than_a_narrow_screen(
    browser: Any, live: Live, console: list[str], path: str
) -> None:
    settings = {"viewport": {"width": 390, "height": 800}, "color_scheme": "dark"}
    page = opened(browser, live.viewed.address + path, console, **settings)
    wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert page.evaluate(wide) <= 0


def test_the_end_of_the_server_is_said(browser: Any, live: Live, console: list[str]) -> None:
    page = opened(browser, live.viewed.address, console)
    live.viewed.process.send_signal(signal.SIGTERM)
    page.locator("[data-changed]", has_text="The server does not answer").wait_for()
