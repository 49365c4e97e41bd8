"""The templates: everything that they print is escaped, and what is invisible is written out."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from jinja2 import Environment
from markupsafe import Markup

from persona_panel.analyses.analysis import ANALYSES
from persona_panel.files.pages import content_source, templates
from persona_panel.results.conclusions.wording import counted
from persona_panel.results.formats.html import TEMPLATES, section
from persona_panel.results.page_text import seconds, sentence, shown
from persona_panel.results.result import Result
from persona_panel.statistics.core.display import ends, number, p_value, signed


@cache
def environment() -> Environment:
    """Templates of this package; an unknown name in one is an error."""
    made = templates("persona_panel.reports.page", "templates", shown, TEMPLATES)
    made.filters |= {
        "number": number,
        "signed": signed,
        "p_value": p_value,
        "seconds": seconds,
        "sentence": sentence,
    }
    made.globals |= {"ends": ends, "counted": counted, "section_of": _section_of}
    return made


def _section_of(result: Result) -> Markup:
    """The section of an analysis' result within a part of the page."""
    return section(result, ANALYSES[result.analysis].title, level=3)


@cache
def part(name: str) -> str:
    """The style sheet or the script as it is inlined."""
    return (
        files("persona_panel.reports.page").joinpath("templates", name).read_text("utf-8").strip()
    )


def csp() -> str:
    """What the page may do: run this script and use this style sheet, and load nothing."""
    return "; ".join(
        [
            "default-src 'none'",
            f"script-src {content_source(part('page.js'))}",
            f"style-src {content_source(part('page.css'))}",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )
