"""A result as JSON, for programs: one document in UTF-8, in which what is undefined is null.

docs/reference/result.schema.json has its schema.
"""

from __future__ import annotations

from typing import TextIO

import orjson

from persona_panel.files.outputs import as_json
from persona_panel.files.secrets import say_json
from persona_panel.results.document import result_document
from persona_panel.results.result import Result


def render(result: Result, to: TextIO, *, full: bool) -> None:
    """Write everything that was found, whether in short or in full."""
    say_json(as_json(result_document(result), orjson.OPT_INDENT_2).decode(), to)
