"""Write declarations into the reference: the tables of a panel's settings, and the analyses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from persona_panel.cli.main import declared_analyses
from persona_panel.planning.settings import Setting, declared_settings


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Put what is declared in the place of its marks; a hook of mkdocs."""
    match page.file.src_uri:
        case "reference/panel-files.md":
            return with_settings(markdown)
        case "reference/python.md":
            return with_analyses(markdown)
    return markdown


def with_analyses(markdown: str) -> str:
    """Return the page on Python with the functions of all analyses."""
    names = sorted(name for group in declared_analyses().values() for name in group)
    described = "\n".join(f"::: persona_panel.{name}" for name in names)
    return markdown.replace("<!-- analyses -->", described)


def with_settings(markdown: str) -> str:
    """Return the page on panel files with the tables of settings."""
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
