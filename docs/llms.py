"""llms.txt and llms-full.txt of the built site: the pages for coding assistants (llmstxt.org)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

_order: list[str] = []
_pages: dict[str, tuple[str, str, str]] = {}
"""Section, title and text of each page, by its address."""


def on_nav(nav: Any, **_: Any) -> None:
    """Take note of the order of the pages, and forget those of an earlier build; a hook of
    mkdocs."""
    _pages.clear()
    _order[:] = [page.file.url for page in nav.pages]


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Keep a page's text; a hook of mkdocs, after the one that fills in tables."""
    section = page.parent.title if page.parent is not None else ""
    _pages[page.file.url] = section, page.title, markdown
    return markdown


def on_post_build(config: Any, **_: Any) -> None:
    """Write both files into the site; a hook of mkdocs."""
    site = Path(config["site_dir"])
    head = f"# {config['site_name']}\n\n> {config['site_description']}\n"
    index, section = [head], None
    pages = [(address, *_pages[address]) for address in _order]
    for address, of, title, text in pages:
        if of != section:
            section = of
            index.append(f"\n## {of or 'Start'}\n")
        index.append(f"- [{title}]({address}): {_first_sentence(text)}")
    (site / "llms.txt").write_text("\n".join(index) + "\n", encoding="utf-8")
    whole = [head, *(f"<!-- {address} -->\n\n{text}" for address, _, _, text in pages)]
    (site / "llms-full.txt").write_text("\n\n".join(whole), encoding="utf-8")


def _first_sentence(text: str) -> str:
    """Return the first sentence of the first paragraph of prose."""
    for block in text.split("\n\n"):
        if block and block[0] not in "#<`|!-" and not block.startswith(":::"):
            first, _, _ = " ".join(block.split()).partition(". ")
            return first.rstrip(":.") + "."
    return ""
