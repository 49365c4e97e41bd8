"""The page in a real browser, from a file: it runs, finds and opens, and obeys no text."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from persona_panel import Run
from persona_panel.reports.page.report import report_of
from tests.helpers.browser import chromium
from tests.helpers.results import SAMPLE


class Seen:
    """A page that is open, and what it said and asked for."""

    def __init__(self, browser: Any, path: Path) -> None:
        self.context = browser.new_context(viewport={"width": 1280, "height": 900})
        self.page = self.context.new_page()
        self.page.set_default_timeout(10_000)
        self.said: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.url = path.as_uri()
        self.page.goto(self.url)

    def search(self, words: str, n: int) -> list[str]:
        """The ids of the responses that have these words, once so many are listed."""
        self.page.evaluate("document.querySelector('details.texts').open = true")
        self.page.fill("input[name=query]", words)
        rows = self.page.locator(".list .open")
        for _ in range(100):
            if rows.count() == n:
                return [one.strip() for one in rows.all_inner_texts()]
            self.page.wait_for_timeout(50)
        raise AssertionError(f"{rows.count()} responses are listed, not {n}")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as found:
        yield found


@pytest.fixture
def seen(browser: Any, page: Path) -> Iterator[Seen]:
    found = Seen(browser, page)
    yield found
    found.context.close()


def test_the_page_loads_itself_alone_and_obeys_no_text(seen: Seen) -> None:
    """Nothing is said on the console (which has every violation of the policy), nothing but the
    file is asked for, and of the hostile texts, which are in systems' answers, prompts, metadata,
    rationales and a model's name, no element is made and no script is run; opened, too."""
    page = seen.page
    seen.search("", 12)
    page.locator(".list .open").first.click()
    for within in (".detail .judgment", ".detail pre"):
        page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
        page.wait_for_selector(within)
    assert "<img src=" in page.locator(".detail").inner_text()
    assert page.evaluate("window.pwned") is None
    assert page.evaluate("document.images.length + document.querySelectorAll('iframe').length") == 0
    assert page.evaluate("document.scripts.length") == 2
    assert page.evaluate("document.querySelectorAll('a:not([href^=\"#\"])').length") == 0
    assert "\u202e" not in page.evaluate("document.body.innerText")
    assert "\\u202eturned" in page.locator(".detail").inner_text()
    assert (seen.said, seen.requests) == ([], [seen.url])


def test_a_search_finds_the_responses_that_have_all_words(seen: Seen) -> None:
    """System, prompt, metadata, a judge's status and words of a text, in any order; the number is
    said, and the most contested come first."""
    assert len(seen.search("", 12)) == 12
    assert seen.search("ANSWER work-able", 1) == ["work-able"]
    assert {name.split("-")[1] for name in seen.search("system:fair", 4)} == {"fair"}
    assert seen.search("able to faith", 1) == ["faith-able"]
    assert seen.page.locator("#texts [role=status]").inner_text() == "1 of 12 responses"
    assert {name.split("-")[0] for name in seen.search("10.25", 3)} == {"money"}
    assert {name.split("-")[1] for name in seen.search("status:abstained", 4)} == {"shy"}
    assert seen.search("status:unparsed", 1) == ["money-fair"]
    assert seen.search("no such word", 0) == []
    assert len(seen.search("", 12)) == 12


def test_a_response_opens_with_ratings_text_rationales_and_raw_replies(
    seen: Seen, hostile_run: Run
) -> None:
    """A strip of all judges and one for each dimension, with a mark for each judge who rated, the
    lowest and the highest judge quoted, the metadata, the text, every judgment's rationale, and the
    raw reply as it is in the folder after one click; by keyboard, too, and closed again."""
    page = seen.page
    seen.search("able to work", 1)
    button = page.locator(".list .open", has_text="work-able")
    button.focus()
    page.keyboard.press("Enter")
    assert button.get_attribute("aria-expanded") == "true"
    opened = page.locator(".detail")
    judgments = hostile_run.judgments().of("work", "work-able")
    rated = [one for one in judgments if one.status == "scored"]
    assert opened.locator("svg[role=img]").count() == 1 + 5
    assert opened.locator("use").count() == (1 + 5) * len(rated)
    assert opened.locator(".quotes b").all_inner_texts()[0].startswith("Lowest: ")
    assert "topic: work" in opened.inner_text()
    assert "The answer of able to work." in opened.locator(".text").all_inner_texts()[1]
    opened.locator("summary", has_text="Judgments").click()
    # They are unpacked first.
    opened.locator(".judgment").first.wait_for()
    assert opened.locator(".judgment").count() == 10
    assert opened.locator(".judgment .said").count() == len(rated)
    assert opened.locator("pre").count() == 0
    opened.locator(".judgment summary").first.click()
    shown = opened.locator("pre").first.inner_text()
    raw = judgments[0].raw
    assert shown.count("pluralistic_engagement") == 1
    assert shown == raw.replace("\u202e", "\\u202e").replace("\u202c", "\\u202c").replace(
        "\x1b", "\\x1b"
    )
    button.click()
    assert not opened.is_visible()


def test_a_link_opens_its_response(seen: Seen) -> None:
    """`#r/PROMPT/ID` opens the response, whatever is searched, and so does the heading of a
    contested response; opening one gives the address."""
    page = seen.page
    seen.search("shy", 4)
    page.evaluate("location.hash = '#r/faith/faith-fair'")
    page.wait_for_selector(".detail")
    button = page.locator(".list .open", has_text="faith-fair")
    assert button.get_attribute("aria-expanded") == "true"
    assert button.evaluate("one => one === document.activeElement")
    page.locator(".list .open", has_text="work-shy").click()
    assert page.url.endswith("#r/work/work-shy")
    heading = page.locator("#contested article a").first
    heading.click()
    assert page.url.endswith(str(heading.get_attribute("href")))
    assert page.locator(".detail:visible").count() == 3


def test_the_most_contested_text_is_on_the_first_screen(seen: Seen) -> None:
    """With a mark for each judge who rated it, and the two that are farthest apart quoted in its
    section."""
    first, contested = seen.page.locator("#answer .most article"), seen.page.locator("#contested")
    href = first.locator("a").get_attribute("href")
    assert contested.locator("article a").first.get_attribute("href") == href
    n = first.locator("use").count()
    assert 0 < n == contested.locator("article").first.locator("use").count()
    assert contested.locator("article").first.locator("use.quoted").count() == 2


def test_a_notebook_shows_it_in_a_frame(browser: Any, hostile_run: Run) -> None:
    """What a notebook is given shows the whole page, whose script runs, and without an origin."""
    context = browser.new_context()
    page = context.new_page()
    page.set_content(f"<h1>Notebook</h1>{report_of(hostile_run)._repr_html_()}")
    frame = page.frame_locator("iframe")
    frame.locator(".list .row").first.wait_for(state="attached")
    assert frame.locator(".list .row").count() == 12
    assert page.locator("iframe").get_attribute("sandbox") == "allow-scripts"
    context.close()


def test_a_result_in_a_notebook_leaves_its_page_as_it_is(browser: Any) -> None:
    """Its style is of what it shows alone: the page around it looks as before."""
    context = browser.new_context()
    page = context.new_page()
    looks = (
        "[...document.querySelectorAll('body, h1, table, td')].slice(0, 4).map(one => "
        "JSON.stringify(Object.fromEntries(['fontSize', 'margin', 'padding', 'color', "
        "'backgroundColor', 'borderCollapse'].map(name => [name, getComputedStyle(one)[name]]))))"
    )
    own = "<h1>Notebook</h1><table><tr><td>1</td></tr></table>"
    page.set_content(own)
    before = page.evaluate(looks)
    page.set_content(f"{own}<div id=cell></div>")
    page.evaluate(
        "html => { document.getElementById('cell').innerHTML = html; }", SAMPLE._repr_html_()
    )
    assert page.evaluate(looks) == before
    paper = page.evaluate("getComputedStyle(document.querySelector('.page')).backgroundColor")
    assert paper == "rgb(255, 254, 251)"
    context.close()
