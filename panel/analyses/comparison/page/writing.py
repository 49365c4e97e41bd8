"""A comparison of runs as a page: the template filled, and the file written."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Any

from persona_panel.analyses.comparison import shown
from persona_panel.analyses.comparison.labels import labelled_comparison
from persona_panel.analyses.comparison.result import RunComparison
from persona_panel.files.outputs import writing
from persona_panel.files.pages import content_source, templates
from persona_panel.files.private_files import replace_file
from persona_panel.files.secrets.visible import visible
from persona_panel.statistics.core.display import ends, number, p_value, signed

_PACKAGE = "persona_panel.analyses.comparison.page"


def comparison_page(found: RunComparison) -> str:
    """The page: conclusion, tables, and how to read them.

    Names come from files: what is markup in them is escaped, what is no visible character written
    as Python would, and a key masked. The page may load nothing, and runs no script.
    """
    style = files(_PACKAGE).joinpath("page.css").read_text("utf-8")
    made = templates(_PACKAGE, "", _visible)
    # The style is ours; escaped, it would not be the one that the digest allows.
    made.filters |= {"number": number, "signed": signed, "p_value": p_value}
    made.globals |= {
        "style": made.filters["safe"](style),
        "source": made.filters["safe"](content_source(style)),
        "shown": shown,
        "ends": ends,
    }
    return made.get_template("page.html").render(found=labelled_comparison(found))


def write_page(found: RunComparison, path: Path) -> None:
    """Write the page into a file.

    Raises:
        RunFolderError: it cannot be written.
    """
    with writing(path, "choose another --html"):
        replace_file(path, comparison_page(found).encode())


def _visible(value: Any) -> Any:
    """A text of the result as it can be shown; what is markup of ours stays as it is."""
    return visible(value) if type(value) is str else value
