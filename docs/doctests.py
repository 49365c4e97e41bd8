"""Doctests of docstrings as code blocks: in Markdown, `>>>` would be a quotation."""

from __future__ import annotations

import re
from typing import Any

import griffe

# An indented or flush prompt, and all lines up to a blank one.
_DOCTEST = re.compile(r"^([ \t]*)>>> .*(?:\n[ \t]*\S.*)*", re.M)


class Doctests(griffe.Extension):
    """Puts each doctest of an object's docstring into a fence."""

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = _DOCTEST.sub(r"\1```pycon\n\g<0>\n\1```", obj.docstring.value)
