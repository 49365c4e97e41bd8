"""A comparison as a page: whole, without requests or scripts, inert whatever names are in it."""

from __future__ import annotations

import re
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path

import pytest

from persona_panel.analyses.compare import compare_result
from persona_panel.analyses.comparison.compared import compare_runs
from persona_panel.analyses.comparison.result import RunComparison
from persona_panel.files.pages import sentence as shown_sentence
from tests.helpers.marked_texts import marked_model, marked_run

MODEL = marked_model()
HOSTILE = "<script>alert(1)<img src=x onerror=alert(2)>\u202egnp"


class _Tags(HTMLParser):
    """The tags of a page, with their attributes, and the texts of table cells."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> RunComparison:
    """Two runs of a system with a hostile name, and a third by another panel, with people; their
    names are short, as a page cuts longer ones."""
    old = {f"p{i}": f"[{3 + i % 3},4] {i}" for i in range(5)}
    new = {f"p{i}": f"[{5 + i % 2},6] {i} n" for i in range(5)}
    with pytest.MonkeyPatch.context() as place:
        place.chdir(tmp_path_factory.mktemp("runs"))
        runs = [Path("old"), Path("new\u202e<b>"), Path("one")]
        marked_run(runs[0], old, MODEL, system=HOSTILE)
        marked_run(runs[1], new, MODEL, system="fir")
        marked_run(runs[2], old, MODEL, "ann", system=HOSTILE)
        return compare_runs(runs)


def test_the_page_has_conclusion_and_tables(compared: RunComparison) -> None:
    """Each sentence of the conclusion, a picture, each row of differences with its figures, and
    what was compared with what."""
    page = compare_result(compared).text("html", full=True)
    for sentence in compared.conclusion:
        assert str(shown_sentence(sentence)) in page
    assert "Other texts, same panel: " in page
    assert "Same texts, other panel: " in page
    for row in (row for each in compared.compared for row in each.differences.values()):
        number = f"{row.value:+.2f}".replace("-", "−").replace("+0.00", "0.00")
        assert f">{number}" in page
    assert "Agreement of the two panels" in page
    assert "<bdi>Clarity</bdi></th>" in page
    tags = [tag for tag, _ in _Tags(page).found]
    assert (tags.count("table"), tags.count("details")) == (3 + 1, 3 + 1)


def test_nothing_is_requested_and_nothing_runs(compared: RunComparison) -> None:
    """No script, handler, link or address; the policy allows the page's own style alone, by its
    digest."""
    page = compare_result(compared).text("html", full=True)
    tags = _Tags(page).found
    assert {tag for tag, _ in tags} & {"script", "link", "img", "iframe", "a", "form"} == set()
    names = {name for _, attributes in tags for name in attributes}
    assert {name for name in names if name.startswith("on") or name in ("src", "href")} == set()
    (style,) = re.findall(r"<style>(.*?)</style>", page, re.S)
    digest = b64encode(sha256(style.encode()).digest()).decode()
    (policy,) = [each["content"] for tag, each in tags if "http-equiv" in each]
    assert policy is not None
    assert policy.startswith(f"default-src 'none'; style-src 'sha256-{digest}';")
    assert "url(" not in style


def test_names_are_inert_and_visible(compared: RunComparison) -> None:
    """Markup in a system's name is text, and a bidirectional control is written out."""
    page = compare_result(compared).text("html", full=True)
    assert "&lt;script&gt;alert(1)&lt;img" in page
    assert "<script" not in page
    assert "<b>" not in page
    assert "\u202e" not in page
    assert "\\u202egnp" in page


def test_every_table_is_a_table(compared: RunComparison) -> None:
    """Headings of columns and rows say that they are; each table has a caption."""
    tags = _Tags(compare_result(compared).text("html", full=True)).found
    heads = [each.get("scope") for tag, each in tags if tag == "th"]
    assert set(heads) == {"col", "row"}
    count = [tag for tag, _ in tags].count
    assert count("table") == count("caption")
