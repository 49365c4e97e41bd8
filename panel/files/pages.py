"""The common parts of pages: templates whose texts are escaped, texts and numbers as pages show
them, and the policy on what a page may run."""

from __future__ import annotations

import os
import re
import sys
from base64 import b64encode
from collections.abc import Callable, Mapping
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType
from typing import Any

from jinja2 import (
    ChoiceLoader,
    Environment,
    FileSystemBytecodeCache,
    PackageLoader,
    StrictUndefined,
)
from markupsafe import Markup, escape

from persona_panel.files.secrets import escaped


def templates(
    package: str, folder: str, shown: Callable[[Any], Any], *others: tuple[str, str]
) -> Environment:
    """Return the templates in a package's folder: every value is escaped, after `shown` made what
    is invisible in it visible; an unknown name is an error. `others`: packages and folders whose
    templates these may import."""
    return Environment(
        loader=ChoiceLoader([PackageLoader(*each) for each in ((package, folder), *others)]),
        bytecode_cache=_compiled(files(package).joinpath(folder)),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _compiled(folder: object) -> FileSystemBytecodeCache | None:
    """Return a cache of compiled templates: beside them in `__pycache__`, as Python keeps compiled
    modules, since compiling takes longer than filling in a small run's page. None where that folder
    cannot be written, or Python is set to write none."""
    if sys.dont_write_bytecode or not isinstance(folder, Path):
        return None
    kept = folder / "__pycache__"
    try:
        kept.mkdir(exist_ok=True)
    except OSError:
        return None
    if not os.access(kept, os.W_OK | os.X_OK):
        return None
    return FileSystemBytecodeCache(str(kept), f"%s.{sys.implementation.cache_tag}.jinja")


def content_source(text: str) -> str:
    """Return a style sheet's or script's digest in the form in which a content security policy
    allows it."""
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


# Controls but for tab and line break; marks of direction and what is invisible; surrogates. Joiners
# stay: emoji and several scripts are written with them, and they change no order.
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f"
    "\ufeff\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)
# A name in a sentence: what stands around it, figures too, keeps its place.
_RIGHT = "\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc"
_RIGHT_TO_LEFT = re.compile(rf"[{_RIGHT}]+(?:[ _-]+[{_RIGHT}]+|[ _-]?\d+(?![.,]?\d))*")
# A command is set apart, so that no full stop follows it.
_COMMAND = re.compile(r"`([^`\n]+)`(?:\.(?=\s|$))?")
_APART = re.compile(r"(?<=\d) (?=%)|(?<=\bp) (?=[<0-9])|(?<=<) (?=\d)")


def shown(value: Any) -> Any:
    """A text with what would be obeyed or not be seen written out, as on a terminal; anything else
    as it is. Escaping of markup is the template's.

    >>> print(shown("a\\u202eb"))
    a\\u202eb
    """
    if not isinstance(value, str) or isinstance(value, Markup):
        return value
    return _HIDDEN.sub(lambda sign: escaped(sign[0]), value)


def named(text: str, names: Mapping[str, str] = MappingProxyType({})) -> Markup:
    """Return a text, escaped: what is written from right to left is set apart, and each of `names`
    is shown as they say, with the whole as its title.

    >>> named("a longer-name <b>", {"longer-name": "lo…me"})
    Markup('a <bdi title="longer-name">lo…me</bdi> &lt;b&gt;')
    """
    # Of two names, one within the other, the longer one first. Of many names few are in a text.
    there = [name for name in names if name in text]
    known = "|".join(map(re.escape, sorted(there, key=len, reverse=True)))
    parts = re.split(f"({known})", text) if known else [text]
    short = Markup('<bdi title="{}">{}</bdi>')
    return Markup().join(
        short.format(shown(part), _turned(names[part])) if n % 2 else _turned(part)
        for n, part in enumerate(parts)
    )


def _turned(text: str) -> Markup:
    # Escaped first; what is put in is ours.
    return Markup(_RIGHT_TO_LEFT.sub(r"<bdi>\g<0></bdi>", str(escape(shown(text)))))  # noqa: S704


def sentence(text: str, names: Mapping[str, str] = MappingProxyType({})) -> Markup:
    """A sentence of ours, escaped, with its `names` as `named` has them: figures are not parted
    from their signs at the end of a line, and what stands between backticks, a command, is set as
    one. What is markup already stays as it is.

    >>> sentence("`score --x 1` gives p < 0.05 <b>")
    Markup('<code>score --x 1</code> gives p\xa0&lt;\xa00.05 &lt;b&gt;')
    """
    if isinstance(text, Markup):
        return text
    whole = str(named(_APART.sub("\u00a0", text), names))
    return Markup(_COMMAND.sub(r"<code>\1</code>", whole))  # noqa: S704


def seconds(value: float) -> str:
    """A duration.

    >>> seconds(3.21), seconds(125), seconds(7300)
    ('3.2 s', '2 min 5 s', '2 h 1 min')
    """
    if value < 60:
        return f"{value:.1f} s"
    minutes, rest = divmod(round(value), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"
