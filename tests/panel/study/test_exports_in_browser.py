"""A packet in a real browser, from a file: a whole session of rating, with a reload in its middle,
and what is exported collected."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from persona_panel import Response
from persona_panel.planning.definitions import resolve_rubric
from persona_panel.study.collection import collect_study, read_answers
from persona_panel.study.design import StudySettings
from persona_panel.study.exports import write_pages
from persona_panel.study.kit import Study, make_study
from tests.helpers.browser import chromium

HOSTILE = '</script><script>window.pwned = 1</script><img src="http://127.0.0.1:9/x"> \u202e turned'


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def study() -> Study:
    """One rater, two prompts of two texts by `good` and `bad`, to be ranked and rated."""
    responses = [
        Response(id=f"{n}", prompt_id=topic, prompt=f"On {topic}?", system=system,
                 text=f"A {quality} text on {topic}. {HOSTILE}")
        for topic in ("work", "sleep")
        for n, (system, quality) in enumerate((("zzgood", "fine"), ("zzbad", "poor")))
    ]  # fmt: skip
    settings = StudySettings(raters=1, per_rater=4, seed=3)
    return make_study(responses, resolve_rubric("debate-speech"), settings)


class Session:
    """A packet that is open, and what it said and asked for."""

    def __init__(self, browser: Any, path: Path, script: str = "") -> None:
        self.context = browser.new_context(accept_downloads=True, color_scheme="dark")
        self.page = self.context.new_page()
        self.page.set_default_timeout(10_000)
        self.said: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        if script:
            self.page.add_init_script(script)
        self.page.goto(path.as_uri())

    def next(self) -> None:
        self.page.locator("button[type=submit]").click()

    def heading(self) -> str:
        return str(self.page.locator("h1").inner_text())

    def begin(self) -> None:
        self.page.locator("#consent").focus()
        self.page.keyboard.press("Space")
        self.page.keyboard.press("Enter")

    def answer(self) -> None:
        """Answer the step that is open: fine texts have rank 1 and score 5, the others 2 and 1."""
        page = self.page
        for place in range(page.locator("article").count()):
            fine = "A fine text" in page.locator("article .text").nth(place).inner_text()
            fields = page.locator("fieldset").nth(place).locator("input")
            if self.heading().startswith("Rank"):
                fields.nth(0 if fine else 1).check()
            else:
                # By keyboard, as radio buttons are answered.
                fields.first.focus()
                page.keyboard.press("Space")
                for _ in range(4 if fine else 0):
                    page.keyboard.press("ArrowRight")
        page.locator("#reason").fill("It argues – or not – 😀.")
        self.next()

    def export(self, to: Path, button: str = "#export") -> Path:
        with self.page.expect_download() as download:
            self.page.locator(button).click()
        download.value.save_as(to)
        return to


def test_a_whole_session_with_a_reload_is_collected(
    browser: Any, study: Study, tmp_path: Path
) -> None:
    """Consent is asked for; what is not answered is said once; a reload in the middle comes back to
    the step with what was answered there; the export is accepted and unblinds to what was given to
    each system; nothing is asked for but the page, and no text is obeyed."""
    path = write_pages(study, tmp_path)[0]
    session = Session(browser, path)
    page = session.page
    session.next()
    assert "Consent" in page.locator("#said").inner_text()
    session.begin()
    assert session.heading() == "Rank 2 texts"
    assert page.evaluate("document.activeElement.tagName") == "H1"
    assert (
        "1 to the text that is nearest to “I agree strongly”" in page.locator("form").inner_text()
    )
    low, button, high = (
        page.locator(".ends").first.locator(part).bounding_box()
        for part in (".end:first-child", "label:last-child", ".end:last-child")
    )
    # The ends of the scale stand in the row of its buttons, next to the first and the last.
    assert low["x"] < button["x"] < high["x"] < button["x"] + button["width"] + 30
    assert abs(high["y"] + high["height"] / 2 - button["y"] - button["height"] / 2) < 20
    first = page.locator(".ends label").first
    assert first.evaluate("one => one.textContent") == "1: nearest to “I agree strongly”"
    session.next()
    assert page.locator("#said").inner_text().startswith("Not answered yet: 3")
    session.answer()
    assert session.heading() == "Rate text A"
    page.locator("fieldset input").nth(2).check()
    page.locator("#reason").fill("Half a thought")
    # Chromium writes what is kept from another process: a reload in the same instant outruns it.
    page.wait_for_timeout(300)
    page.reload()
    page.locator("h1", has_text="Rate text A").wait_for()
    assert page.locator("fieldset input").nth(2).is_checked()
    assert page.locator("#reason").input_value() == "Half a thought"
    page.locator("fieldset input").first.check()
    for _ in range(5):
        session.answer()
    assert session.heading() == "All is answered"
    answers = session.export(tmp_path / "answers.json")
    assert (session.said, set(session.requests) - {path.as_uri()}) == ([], set())
    assert page.evaluate("window.pwned") is None
    assert page.evaluate("document.images.length") == 0
    session.context.close()

    read = read_answers([answers], study.key)
    assert read.faults == ()
    found = collect_study(study.key, read)
    assert {(one.system, one.rank, *one.scores.values()) for one in found.ratings} == {
        ("zzgood", 1, 5),
        ("zzbad", 2, 1),
    }
    assert {one.reason for one in found.ratings} == {"It argues – or not – 😀."}
    assert found.progress[0].missing == 0
    assert found.progress[0].minutes > 0


def test_without_storage_a_copy_goes_on_elsewhere(
    browser: Any, study: Study, tmp_path: Path
) -> None:
    """Where the browser keeps nothing the page says so, and a copy that was saved in the middle
    brings the answers back into another browser."""
    path = write_pages(study, tmp_path)[0]
    session = Session(browser, path, "delete window.localStorage; Object.defineProperty(window, "
                      "'localStorage', {get() { throw new Error('denied'); }});")  # fmt: skip
    assert "keeps nothing" in session.page.locator("#saved").inner_text()
    session.begin()
    session.answer()
    session.page.locator("summary", has_text="Copies").click()
    copy = session.export(tmp_path / "copy.json", "button:has-text('Save a copy')")
    session.context.close()
    assert json.loads(copy.read_text("utf-8"))["consented"] is True

    other = Session(browser, path)
    other.page.locator("summary", has_text="Copies").click()
    other.page.locator("input[type=file]").set_input_files(copy)
    other.page.locator("h1", has_text="Rate text A").wait_for()
    other.page.locator("button", has_text="Back").click()
    assert other.page.locator("fieldset input:checked").count() == 2
    other.context.close()


def test_at_390_px_by_keyboard_a_rater_ranks_and_abstains(browser: Any, tmp_path: Path) -> None:
    """On a telephone nothing is wider than the screen, with six texts and hostile ones; by keyboard
    alone a text is ranked, and of another the rater says that it cannot be compared: counted as an
    answer that is no rank."""
    responses = [
        Response(id=str(n), prompt_id="p", prompt="On work?", system=f"w{n}",
                 text=f"Text {n}. {'unbroken' * 30} {HOSTILE}")
        for n in range(6)
    ]  # fmt: skip
    study = make_study(
        responses,
        resolve_rubric("scrub"),
        StudySettings(1, 0, readings=1, tasks=("rank",), abstain=True),
    )
    path = write_pages(study, tmp_path)[0]
    session = Session(browser, path)
    page = session.page
    page.set_viewport_size({"width": 390, "height": 800})
    session.begin()
    assert session.heading() == "Rank 6 texts"
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    for place, presses in enumerate((2, 6)):
        page.locator("fieldset").nth(place).locator("input").first.focus()
        page.keyboard.press("Space")
        for _ in range(presses):
            page.keyboard.press("ArrowRight")
    last = page.locator("fieldset").nth(1).locator("label", has_text="Cannot be compared")
    assert last.locator("input").is_checked()
    session.next()
    session.next()
    answers = session.export(tmp_path / "answers.json")
    assert (session.said, set(session.requests) - {path.as_uri()}) == ([], set())
    session.context.close()
    read = read_answers([answers], study.key)
    assert read.faults == ()
    found = collect_study(study.key, read)
    assert [one.rank for one in found.ratings] == [3, None, None, None, None, None]
    assert (found.progress[0].given, found.progress[0].not_assessable) == (2, 1)
