"""The page of runs whose answers are known, in a real browser at four widths, in light, dark and
print: what the first screen has, how long the page is, and that everybody can read it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from persona_panel.analyses.analysis import RunWithPeople
from persona_panel.analyses.answers import answers_of
from persona_panel.reports.page.report import report_of
from persona_panel.results.result import QUESTIONS, RunAnswer
from tests.helpers.answered_runs import answered_run
from tests.helpers.browser import chromium

CASES = ("winner", "biased", "few", "failed")
WIDTHS = (390, 768, 1280, 1920)
SCREEN = 800


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as found:
        yield found


@pytest.fixture(scope="module", params=CASES)
def made(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, Path, tuple[RunAnswer, ...]]:
    """A case, its page, its answers."""
    name, folder = request.param, tmp_path_factory.mktemp("case")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PERSONA_PANEL_CACHE", str(folder / "cache"))
        run, humans = answered_run(name, folder / name)
    people = None if humans is None else RunWithPeople.of(run, humans)
    page = report_of(run, humans).write(folder / "page.html")
    return name, page, answers_of(run, people)


def opened(browser: Any, path: Path, width: int, scheme: str = "light") -> Any:
    context = browser.new_context(viewport={"width": width, "height": SCREEN}, color_scheme=scheme)
    page = context.new_page()
    page.goto(path.as_uri())
    return page


def ends(page: Any, selector: str) -> list[float]:
    """Where the elements that a selector finds end, in pixels from the top of the page."""
    script = "those => those.map(one => one.getBoundingClientRect().bottom + scrollY)"
    found: list[float] = page.locator(selector).evaluate_all(script)
    return found


def test_the_first_screen_answers(
    browser: Any, made: tuple[str, Path, tuple[RunAnswer, ...]]
) -> None:
    """On 1280 × 800: the title, what was read, the answer, the ranking as a picture, a line for
    each other question with its figure drawn where there is one to draw, dimensions and the most
    contested text. Links lead to the evidence, which begins with the whole answer."""
    name, path, answers = made
    page = opened(browser, path, 1280)
    shown = " ".join(page.locator("#answer").inner_text().replace("\u00a0", " ").split())
    first, *others = answers
    assert " ".join(first.sentence.split()) in shown
    lines = page.locator(".line")
    assert lines.locator("h2").all_inner_texts() == [*QUESTIONS.values()][1:]
    for line, answer in zip(lines.all(), others, strict=True):
        assert answer.verdict.replace("`", "") in line.inner_text().replace("\u00a0", " ")
        drawn = answer.is_known and (answer.estimate.has_interval or answer.marks)
        assert line.locator("svg .dot").count() == bool(drawn)
        for link in line.locator("a").all():
            evidence = page.locator(str(link.get_attribute("href")))
            if answer.question != "settle" or answer.is_known:
                assert answer.sentence in evidence.inner_text().replace("\u00a0", " ")
    parts = ["h1", "header .note", "#answer .lede", ".line"]
    if name != "failed":
        parts += ["#answer table.forest", "#answer table.heat", ".most article svg"]
        rows = page.locator("#answer table.forest tbody tr")
        assert rows.count() == 3 == rows.locator("svg .dot").count()
    for part in parts:
        assert ends(page, part) and max(ends(page, part)) <= SCREEN, part
    assert page.evaluate("document.body.innerText.split(/\\s+/).length") < 1500
    page.context.close()


def test_a_telephone_shows_the_answer_and_the_ranking_first(
    browser: Any, made: tuple[str, Path, tuple[RunAnswer, ...]]
) -> None:
    """On 390 pixels: the title, the answer and the ranking, then trust, then the rest; no name in
    the navigation is cut, and α has its name."""
    name, path, _ = made
    page = opened(browser, path, 390)
    order = ["h1", "#answer .lede", "aside"]
    if name != "failed":
        order[2:2] = ["#answer table.forest"]
        order += ["#answer table.heat", ".most"]
        assert max(ends(page, "#answer table.forest")) <= SCREEN
    places = [ends(page, part)[0] for part in order]
    assert places == sorted(places)
    navigation = page.locator("nav ol")
    assert navigation.evaluate("each => each.scrollWidth - each.clientWidth") == 0
    trust = page.locator("#of-trust p").first.inner_text().replace("\u00a0", " ")
    assert name == "failed" or "Krippendorff's α" in trust
    page.context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_fits_every_width(
    browser: Any, made: tuple[str, Path, tuple[RunAnswer, ...]], scheme: str
) -> None:
    """Nothing but a table in its own frame scrolls sideways, open or closed, and the page follows
    the system's colours. The pictures are in PERSONA_PANEL_PICTURES, where that names a folder."""
    name, path, _ = made
    pictures = os.environ.get("PERSONA_PANEL_PICTURES")
    for width in WIDTHS:
        page = opened(browser, path, width, scheme)
        if pictures is not None:
            page.screenshot(path=f"{pictures}/{name}-{width}-{scheme}.png", full_page=True)
        assert page.evaluate("document.documentElement.scrollWidth") == width
        page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
        assert page.evaluate("document.documentElement.scrollWidth") == width
        paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
        brightness = sum(map(int, paper[4:-1].split(",")[:3]))
        assert (brightness > 600) == (scheme == "light")
        page.context.close()


UNEXPLAINED = {
    "abstentions", "judges", "judgments", "largest set", "level of measurement", "missing",
    "p, adjusted", "prompts", "rated/ scored", "sets", "value",
    # Tables that are explained as a whole: shares of scores, variance components.
    *map(str, range(1, 11)), "persona", "persona × response interaction, and error",
}  # fmt: skip
"""Columns of counts and texts; of p-values what they are of says how they are adjusted."""


def test_every_figure_says_how_it_is_computed(
    made: tuple[str, Path, tuple[RunAnswer, ...]],
) -> None:
    """Each table that a reader opens ends with "How computed?", and each column of figures has its
    sentence."""
    name, path, _ = made
    html = path.read_text()
    heads = set(re.findall(r'<th scope="col" class="r foreign"><span>([^<]+)</span>', html))
    explained = set(re.findall(r"<i>([^<]+)</i>:", html))
    assert heads - explained <= UNEXPLAINED
    assert name == "failed" or {"difference", "α"} <= explained
    opened_by_readers = re.findall(
        r"<details><summary>((?:(?!</details>).)*)</details>", html, re.S
    )
    tables = [each for each in opened_by_readers if "<table" in each]
    unexplained = [each.partition("<")[0] for each in tables if "How computed?" not in each]
    assert unexplained == []


def test_a_print_has_at_most_eight_pages(
    browser: Any, made: tuple[str, Path, tuple[RunAnswer, ...]]
) -> None:
    """Closed tables stay closed, texts are not printed, and the paper is white in the dark, too."""
    _, path, _ = made
    page = opened(browser, path, 1280, "dark")
    pages = len(re.findall(rb"/Type\s*/Page\b", page.pdf(format="A4")))
    assert 1 <= pages <= 8
    page.emulate_media(media="print")
    assert not page.locator("#texts").is_visible()
    assert not page.locator("nav").is_visible()
    paper = page.evaluate("getComputedStyle(document.querySelector('.page')).backgroundColor")
    assert paper == "rgb(255, 255, 255)"
    page.context.close()


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 390)])
def test_everybody_can_read_it(
    browser: Any, made: tuple[str, Path, tuple[RunAnswer, ...]], scheme: str, width: int
) -> None:
    """axe finds nothing, with everything closed and with everything open, a response among it; the
    first stop of a keyboard leads past the navigation."""
    if "PERSONA_PANEL_ALL_EXTRAS" not in os.environ:
        pytest.importorskip("axe_playwright_python", reason="pip install 'persona-panel[test]'")
    from axe_playwright_python.sync_playwright import Axe

    _, path, _ = made
    options = {"resultTypes": ["violations"]}
    page = opened(browser, path, width, scheme)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.getAttribute('href')") == "#answer"
    for opening in ("", "details"):
        if opening:
            script = "those => those.forEach(one => { one.open = true; })"
            page.locator(opening).evaluate_all(script)
            page.locator(".list .open").first.click()
        found = [
            (each["id"], each["nodes"][0]["html"][:200])
            for each in Axe().run(page, options=options).response["violations"]
        ]
        assert found == []
    page.context.close()
