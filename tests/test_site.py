"""The built documentation: it opens offline, and has its files for coding assistants."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
pytest.importorskip("mkdocs", reason="the documentation is built with the extra `docs`")
_LOADED = re.compile(
    r'<(?:script|img|iframe)[^>]* src="([^"]+)"|<link rel="stylesheet" href="([^"]+)"'
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [Path(sys.executable).parent / "mkdocs", "build", "-q", "--strict", "-d", folder]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return folder


@pytest.mark.slow
def test_the_built_site_loads_nothing_from_elsewhere(site: Path) -> None:
    """Scripts, styles and pictures of every page are files of the site."""
    pages = list(site.rglob("*.html"))
    assert len(pages) > 30
    for page in pages:
        for script, style in _LOADED.findall(page.read_text(encoding="utf-8")):
            address = script or style
            assert "//" not in address, (page, address)
            if page.name != "404.html":
                assert (page.parent / address.partition("?")[0]).is_file(), (page, address)


@pytest.mark.slow
def test_coding_assistants_are_given_every_page(site: Path) -> None:
    """llms.txt links every page of docs/ to a file that is there, with a sentence;
    llms-full.txt has the whole of each."""
    index = (site / "llms.txt").read_text(encoding="utf-8")
    whole = (site / "llms-full.txt").read_text(encoding="utf-8")
    links = dict(re.findall(r"^- \[[^]]+\]\(([^)]+)\): (.*)$", index, flags=re.MULTILINE))
    pages = sorted((ROOT / "docs").rglob("*.md"))
    assert len(links) == len(pages)
    assert all((site / address).is_file() for address in links)
    assert sum(bool(sentence) for sentence in links.values()) > 0.8 * len(links)
    for page in pages:
        # A comment is the place of a table that is filled in.
        lines = page.read_text(encoding="utf-8").rstrip().splitlines()
        last = [line for line in lines if not line.startswith("<!--")][-1]
        assert last in whole, page
