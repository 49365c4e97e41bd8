"""The page in a real browser, from a file: it runs, finds, sorts and opens, and obeys no text."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from persona_panel import Run
from persona_panel.reports.page.report import report_of
from tests.helpers.browser import chromium


class Seen:
    """A page that is open, and what it said and asked for."""

    def __init__(self, browser: Any, path: Path, width: int = 1280, scheme: str = "light") -> None:
        self.context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme
        )
        self.page = self.context.new_page()
        self.page.set_default_timeout(10_000)
        self.said: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.url = path.as_uri()
        self.page.goto(self.url)

    def wait_for(self, n: int) -> None:
        """Until so many responses are listed."""
        rows = self.page.locator("table.all tbody tr")
        for _ in range(100):
            if rows.count() == n:
                return
            self.page.wait_for_timeout(50)
        raise AssertionError(f"{rows.count()} responses are listed, not {n}")

    def rows(self) -> list[str]:
        """The responses that are listed."""
        return [one.strip() for one in self.page.locator("table.all tbody th").all_inner_texts()]


def composites(seen: Seen) -> list[float]:
    """Those in the list, from top to bottom; of what nobody rated there is none."""
    cells = seen.page.locator("table.all tbody td:nth-child(7)").all_inner_texts()
    return [float(text) for text in cells if text != "–"]


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
    page.locator("table.all .open").first.click()
    for within in ("tr.opened .judgment", "tr.opened pre"):
        page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
        page.wait_for_selector(within)
    assert "<img src=" in page.locator("tr.opened").inner_text()
    assert page.evaluate("window.pwned") is None
    assert page.evaluate("document.images.length + document.querySelectorAll('iframe').length") == 0
    assert page.evaluate("document.scripts.length") == 2
    assert page.evaluate("document.querySelectorAll('a:not([href^=\"#\"])').length") == 0
    assert "\u202e" not in page.evaluate("document.body.innerText")
    assert "⟨U+202E⟩turned" in page.locator("tr.opened").inner_text()
    assert (seen.said, seen.requests) == ([], [seen.url])


def test_filters_and_search_find_responses(seen: Seen) -> None:
    """By system, prompt, metadata, a judge's status and words of a text; the number is said, and
    `Clear` brings all back."""
    page = seen.page
    assert len(seen.rows()) == 12
    page.select_option("select[name=system]", "able")
    assert seen.rows() == ["work-able", "money-able", "faith-able", "sleep-able"]
    page.select_option("select[name=prompt]", "faith")
    assert seen.rows() == ["faith-able"]
    assert page.locator(".found").inner_text() == "1 of 12 responses"
    page.click("button[type=reset]")
    seen.wait_for(12)
    page.get_by_label("topic").select_option(label="money")
    assert seen.rows() == ["money-able", "money-fair", "money-shy"]
    page.click("button[type=reset]")
    page.fill("input[name=query]", "ANSWER OF FAIR to sleep")
    seen.wait_for(1)
    assert seen.rows() == ["sleep-fair"]
    page.fill("input[name=query]", "")
    page.select_option("select[name=status]", "abstained")
    seen.wait_for(4)
    assert {name.split("-")[1] for name in seen.rows()} == {"shy"}


def test_numbers_and_values_of_one_response_each_are_no_list(seen: Seen) -> None:
    """Of metadata, numbers of which nearly every response has its own are filtered by a range and
    what is no number by search alone; a list of numbers, and a column, are in the order of numbers
    though a file had them as texts."""
    page = seen.page
    labels = page.locator(".filters .metadata label").all_inner_texts()
    assert [text.split("\n")[0].strip() for text in labels] == ["topic", "<b>hours</b>", "share"]
    options = page.get_by_label("<b>hours</b>").locator("option").all_inner_texts()
    assert options == ["all", "-2", "0.5", "9.5", "10.25"]
    page.get_by_label("share, from").fill("0.05")
    page.get_by_label("share, to").fill("0.1")
    page.keyboard.press("Enter")
    seen.wait_for(2)
    assert seen.rows() == ["money-able", "faith-able"]
    page.click("button[type=reset]")
    seen.wait_for(12)
    page.locator("table.all th", has_text="hours").get_by_role("button").click()
    page.locator("table.all th", has_text="hours").get_by_role("button").click()
    topics = [name.split("-")[0] for name in seen.rows()]
    assert list(dict.fromkeys(topics)) == ["faith", "sleep", "work", "money"]


def test_columns_sort_both_ways(seen: Seen) -> None:
    """The button in a column's head sorts, by keyboard, too, and says so to a screen reader."""
    page, head = seen.page, seen.page.locator("table.all th", has_text="Composite")
    head.get_by_role("button").focus()
    page.keyboard.press("Enter")
    assert head.get_attribute("aria-sort") == "descending"
    assert composites(seen) == sorted(composites(seen), reverse=True)
    first = seen.rows()
    page.keyboard.press("Enter")
    assert head.get_attribute("aria-sort") == "ascending"
    assert composites(seen) == sorted(composites(seen))
    assert seen.rows() != first
    assert page.locator("table.all th[aria-sort]").count() == 1


def test_a_response_opens_with_ratings_text_rationales_and_raw_replies(
    seen: Seen, hostile_run: Run
) -> None:
    """A strip for each dimension with a mark for each judge who rated, the lowest and the highest
    judge quoted, the text, every judgment's rationale, and the raw reply as it is in the folder
    after one click."""
    page = seen.page
    page.locator("table.all .open", has_text="work-able").click()
    opened = page.locator("tr.opened")
    judgments = hostile_run.judgments().of("work", "work-able")
    rated = [one for one in judgments if one.status == "scored"]
    assert opened.locator("svg[role=img]").count() == 5
    assert opened.locator("use").count() == 5 * len(rated)
    assert opened.locator(".quotes h4").all_inner_texts()[0].startswith("Lowest: ")
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
    assert shown == raw.replace("\u202e", "⟨U+202E⟩").replace("\u202c", "⟨U+202C⟩").replace(
        "\x1b", "⟨U+001B⟩"
    )


def test_a_link_opens_its_response(seen: Seen) -> None:
    """`#r/PROMPT/ID` opens the response, whatever is filtered, and so does the heading of a
    contested response; opening one gives the address."""
    page = seen.page
    page.select_option("select[name=system]", "shy")
    page.evaluate("location.hash = '#r/faith/faith-fair'")
    page.wait_for_selector("tr.opened")
    button = page.locator("table.all .open", has_text="faith-fair")
    assert button.get_attribute("aria-expanded") == "true"
    assert button.evaluate("one => one === document.activeElement")
    page.locator("table.all .open", has_text="work-shy").click()
    assert page.url.endswith("#r/work/work-shy")
    heading = page.locator("#contested article a").first
    heading.click()
    assert page.url.endswith(str(heading.get_attribute("href")))
    assert page.locator("tr.opened:visible").count() == 3


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_fits_a_phone_in_light_and_dark(browser: Any, page: Path, scheme: str) -> None:
    """At 400 pixels nothing but a table in its own frame scrolls sideways, and the page follows the
    system's colours."""
    seen = Seen(browser, page, 400, scheme)
    assert seen.page.evaluate("document.documentElement.scrollWidth") == 400
    paper = seen.page.evaluate("getComputedStyle(document.body).backgroundColor")
    brightness = sum(map(int, paper[4:-1].split(",")[:3]))
    assert (brightness > 600) == (scheme == "light")
    seen.context.close()


def test_a_notebook_shows_it_in_a_frame(browser: Any, hostile_run: Run) -> None:
    """What a notebook is given shows the whole page, whose script runs, and without an origin."""
    context = browser.new_context()
    page = context.new_page()
    page.set_content(f"<h1>Notebook</h1>{report_of(hostile_run)._repr_html_()}")
    frame = page.frame_locator("iframe")
    frame.locator("table.all tbody tr").first.wait_for()
    assert frame.locator("table.all tbody tr").count() == 12
    assert page.locator("iframe").get_attribute("sandbox") == "allow-scripts"
    context.close()
