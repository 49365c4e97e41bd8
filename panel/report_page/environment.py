"""The templates: everything that they print is escaped, and what is invisible is written out."""

from __future__ import annotations

from base64 import b64encode
from functools import cache
from hashlib import sha256
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined

from panel.conclusions.wording import counted
from panel.report_page.wording import (
    ends,
    figure,
    p_value,
    seconds,
    sentence,
    shown,
    signed,
)


@cache
def environment() -> Environment:
    """Templates of this package; an unknown name in one is an error."""
    made = Environment(
        loader=PackageLoader("panel.report_page"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "figure": figure,
        "signed": signed,
        "p_value": p_value,
        "seconds": seconds,
        "sentence": sentence,
    }
    made.globals |= {"ends": ends, "counted": counted}
    return made


@cache
def part(name: str) -> str:
    """The style sheet or the script as it is inlined."""
    return files("panel.report_page").joinpath("templates", name).read_text("utf-8").strip()


def csp() -> str:
    """What the page may do: run this script and use this style sheet, and load nothing."""
    return "; ".join(
        [
            "default-src 'none'",
            f"script-src {_hash(part('page.js'))}",
            f"style-src {_hash(part('page.css'))}",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"
