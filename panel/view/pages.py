"""The pages of the server: templates whose texts are escaped, with the policy of each page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from jinja2 import Environment

from persona_panel.files.pages import content_source, templates
from persona_panel.files.secrets import SECRETS
from persona_panel.files.wording import command_line
from persona_panel.results.formats.html import TEMPLATES, part, section
from persona_panel.results.page_text import sentence, shown
from persona_panel.results.result import Result
from persona_panel.view.lines import RunLine, quoted
from persona_panel.view.live_run import MOST_REASONS

_OWN = ("persona_panel.view", "templates")


@dataclass(frozen=True, slots=True)
class ServedPage:
    """A document, and the policy on what it may do."""

    html: bytes
    policy: str


@dataclass(frozen=True, slots=True)
class LivePanel:
    """The panel of a run that goes on, or was stopped: `now` as `LiveRun.update` gives it."""

    name: str
    now: Mapping[str, Any]
    ticks: Sequence[tuple[str, str]]
    n_systems: int
    command: str


def list_page(
    root: str, lines: Sequence[RunLine], panels: Sequence[LivePanel], version: str, base: str
) -> ServedPage:
    """Return the page of all runs; `version` is what events compare with, `base` the address below
    which everything is."""
    return _page(
        "list",
        f"Runs below {root}",
        base,
        root=root,
        lines=lines,
        panels=panels,
        version=version,
        example=command_line("score", ["RESPONSES"], {"--out": f"{root}/NAME"}),
        has_agreement=any(line.agreement for line in lines),
    )


def run_page(line: RunLine, panel: LivePanel, base: str) -> ServedPage:
    """Return the page of a run that goes on or was stopped."""
    return _page("run", line.name, base, line=line, panel=panel)


def comparison_page(result: Result, a: str, b: str, base: str) -> ServedPage:
    """Return the page of the comparison of a run with another one."""
    title = f"{b} compared with {a}"
    return _page("comparison", title, base, body=section(result, title, level=1))


def message_page(title: str, text: str, base: str) -> ServedPage:
    """Return a page that says something."""
    return _page("message", title, base, text=text)


def report_policy() -> str:
    """Return the policy of a run's report: it may run its own script, has no origin, so that it
    cannot read what else the server has, and loads nothing."""
    return (
        "sandbox allow-scripts allow-popups; default-src 'none'; script-src 'unsafe-inline'; "
        "style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )


def _page(
    name: Literal["list", "run", "comparison", "message"], title: str, base: str, **values: Any
) -> ServedPage:
    style = part(*TEMPLATES, "page.css") + "\n" + part(*_OWN, "view.css")
    script = part(*_OWN, "view.js")
    html = (
        _environment()
        .get_template(f"{name}.html.jinja")
        .render(title=title, base=base, style=style, script=script, **values)
    )
    policy = "; ".join(
        [
            "default-src 'none'",
            f"script-src {content_source(script)}",
            f"style-src {content_source(style)}",
            "connect-src 'self'",
            "form-action 'self'",
            "base-uri 'none'",
            "frame-ancestors 'none'",
        ]
    )
    return ServedPage(SECRETS.scrub(html).encode("utf-8", "replace"), policy)


@cache
def _environment() -> Environment:
    made = templates(*_OWN, shown, TEMPLATES)
    made.filters |= {"sentence": sentence, "quoted": quoted}
    made.globals["reason_places"] = range(MOST_REASONS)
    return made
