"""The table of a panel's settings, made of the fields that declare them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from persona_panel.planning.settings import Setting, declared_settings

_PAGE = "reference/panel-files.md"


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Put the tables in the place of their marks; a hook of mkdocs."""
    if page.file.src_uri != _PAGE:
        return markdown
    settings = declared_settings()
    for mark, rows in (
        ("<!-- settings of a panel -->", settings),
        (
            "<!-- settings of a deliberation -->",
            next(each.parts for each in settings if each.name == "deliberation"),
        ),
    ):
        markdown = markdown.replace(mark, table(rows))
    return markdown


def table(settings: Sequence[Setting]) -> str:
    """Return settings as a Markdown table, one a row."""
    rows = ["| key | default | option | holds |", "|---|---|---|---|"]
    for each in settings:
        default = "required" if each.field.is_required() else each.default
        if not default and each.type is bool:
            default = "false"
        cells = [f"`{each.name}`", default, _options(each), each.description]
        rows.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(rows)


def _options(setting: Setting) -> str:
    if setting.option.name is None or setting.parts:
        return ""
    return f"`{setting.option_name}`"
