"""Faults in plain words (what was found, what is expected, which name was probably meant), and
commands as a shell takes them.
"""

from __future__ import annotations

import re
import shlex
import stat
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from unicodedata import normalize

from pydantic_core import ErrorDetails

_KINDS = (
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)
_SECRET = re.compile("key|token|password|secret", re.IGNORECASE)
_LONGEST_SHOWN = 60

_EXPECTED = {
    "missing": "a value",
    "invalid_key": "a key that is text",
    "string_type": "text",
    "string_too_short": "text of {min_length} or more characters",
    "string_too_long": "text of at most {max_length} characters",
    "string_pattern_mismatch": "text that matches {pattern}",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "finite_number": "a finite number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "greater_than": "a number larger than {gt}",
    "greater_than_equal": "a number of {ge} or more",
    "less_than": "a number smaller than {lt}",
    "less_than_equal": "a number of {le} or less",
    "list_type": "a list",
    "tuple_type": "a list",
    "sequence_str": "a list",
    "too_short": "{min_length} or more",
    "too_long": "at most {max_length}",
    "dict_type": "a mapping, key: value",
    "mapping_type": "a mapping, key: value",
    "model_type": "a mapping, key: value",
    "model_attributes_type": "a mapping, key: value",
    "union_tag_invalid": "{discriminator} to be one of {expected_tags}",
    "union_tag_not_found": "the key {discriminator}, which says what it is",
}


def explain(detail: ErrorDetails) -> tuple[str, str]:
    """Return one of pydantic's errors in plain words: what was found, and what is expected.

    A validator of ours can say both: `ValueError("what is wrong; what would be right")`.
    The value of a field with a secret's name is never among the words.
    """
    kind, context, value = detail["type"], detail.get("ctx", {}), detail["input"]
    if kind == "missing":
        return "nothing", _expected(detail)
    if kind == "extra_forbidden":
        return "an unknown key", "a known one"
    if _is_secret(detail["loc"], value):
        return "a value that is not shown", _expected_of_a_secret(detail)
    if kind in ("value_error", "assertion_error"):
        wrong, _, right = str(context["error"]).partition("; ")
        return wrong, right or "a value without this fault"
    if kind in ("too_short", "too_long"):
        return f"{len(value)} item{'s' * (len(value) != 1)}", _expected(detail)
    if kind == "union_tag_invalid":
        return shown(context["tag"]), _expected(detail)
    if kind == "string_type" and not isinstance(value, (Mapping, list)) and value is not None:
        return shown(value), "text, in quotes where it looks like something else"
    return shown(value), _expected(detail)


def _expected(detail: ErrorDetails) -> str:
    template = _EXPECTED.get(detail["type"])
    if detail["type"] == "is_instance_of" and detail["ctx"]["class"] == "Sequence":
        return "a list"
    if template is None:
        return detail["msg"].removeprefix("Input should be ")
    return template.format(**detail.get("ctx", {}))


def _expected_of_a_secret(detail: ErrorDetails) -> str:
    if detail["type"] == "value_error":
        return str(detail["ctx"]["error"]).partition("; ")[2] or "another"
    return _expected(detail) if detail["type"] in _EXPECTED else "another"


def _is_secret(loc: Iterable[int | str], value: object) -> bool:
    names = [name for name in map(str, loc) if _SECRET.search(name)]
    if isinstance(value, int | float):
        # A limit on tokens is none.
        names = [name for name in names if "tokens" not in name]
    return bool(names)


def shown(value: object) -> str:
    """Return a value in words for an error: short, and for a container only its kind."""
    match value:
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case str() if len(value) > _LONGEST_SHOWN:
            from persona_panel.rubrics.segmentation import abbreviated

            return repr(abbreviated(value, _LONGEST_SHOWN + 1))
        case str():
            return repr(value)
        case Mapping():
            return "a mapping"
        case list():
            return "a list"
        case _:
            return str(value)[:_LONGEST_SHOWN]


def printable(name: str) -> str:
    """Return a file's name in a form that is safe to print: short, without control characters."""
    return name if name.isprintable() and len(name) <= _LONGEST_SHOWN else shown(name)


def some(names: Iterable[str], most: int = 3, *, as_: Callable[[str], str] = shown) -> str:
    """Return the first names, with a sign where there are more.

    >>> some(["a", "b", "c", "d"])
    "'a', 'b', 'c', …"
    """
    first = list(islice(names, most + 1))
    return ", ".join(map(as_, first[:most])) + (", …" if len(first) > most else "")


# Cyrillic, Greek, Armenian and other letters that look like these.
_LOOK_ALIKE = str.maketrans(
    "асԁеһіјӏорԛѕԝухАВЕНІЈКМОРЅТУХαειкκνορυχΑΒΕΖΗΙΚΜΝΟΡΤΥΧցհոսօɑɡıİ",
    "acdehijlopqswyxABEHIJKMOPSTYXaeikkvopuxABEZHIKMNOPTYXghnuoagii",
)
# Characters of format, and others that have no width and are letters or marks to Unicode.
UNSEEN = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    "\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff]"
)


def as_it_looks(text: str) -> str:
    """Return a text with letters of other widths, styles and scripts as the ones they look like."""
    return normalize("NFKC", text).translate(_LOOK_ALIKE)


def alike(names: Iterable[str], kind: str) -> Iterator[str]:
    """Yield a sentence for each name that differs from an earlier one in case, spaces or look-alike
    characters alone; `kind` is what they name, in the plural."""
    first: dict[str, str] = {}
    for name in dict.fromkeys(names):
        seen = UNSEEN.sub("", name)
        keys = {caseless(seen), caseless(as_it_looks(seen))}
        other = next((first[key] for key in sorted(keys) if key in first), None)
        first |= dict.fromkeys(keys, other or name)
        if other is None:
            continue
        pair, in_what = (shown(other), shown(name)), "case or spaces"
        if caseless(name) != caseless(other):
            # Of these the letters themselves show no difference.
            pair, in_what = (ascii(other), ascii(name)), "characters that look alike"
        yield f"{pair[0]} and {pair[1]} differ in {in_what} alone, and count as two {kind}."


def caseless(name: str) -> str:
    """Return a name without what case and spaces make of it."""
    return " ".join(name.casefold().split())


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that was probably meant, if there is one."""
    by_lower = {candidate.lower(): candidate for candidate in known}
    close = get_close_matches(name.lower(), by_lower, n=1)
    return by_lower[close[0]] if close else None


def unreadable(path: Path) -> str:
    """Return what is at a path that cannot be opened."""
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return "no such file"
    return next((kind for is_so, kind in _KINDS if is_so(mode)), "something that cannot be read")


def undecodable(error: UnicodeDecodeError, offset: int = 0) -> str:
    """Return the byte that is not UTF-8, in words; the text begins `offset` bytes into its file."""
    return f"the byte 0x{error.object[error.start]:02x} at offset {offset + error.start}"


def did_you_mean(name: str, known: Collection[str]) -> str:
    match = nearest(name, known)
    return f" (did you mean {match!r}?)" if match else ""


def not_installed(what: str, package: str, command: str) -> str:
    """Return the sentence on what needs a package that is not there, and the command for it.

    >>> not_installed("figures need", "Matplotlib", extra("plots"))
    "figures need Matplotlib, which is not installed; get it with: pip install \
'persona-panel[plots]'"
    """
    return f"{what} {package}, which is not installed; get it with: {command}"


def extra(name: str) -> str:
    """Return the command that installs an extra."""
    return f"pip install 'persona-panel[{name}]'"


def command_line(
    command: str,
    places: Sequence[str | Path] = (),
    options: Mapping[str, str | int | Path] | None = None,
    more: Sequence[str] = (),
) -> str:
    """Return a command as a reader can paste it into a shell.

    Args:
        command: its name: `report`, `people make`.
        places: its arguments, files and folders. One that begins with a hyphen would be taken for
            an option.
        options: the value of each, by its name.
        more: further words.

    >>> command_line("report", ["-my run"], {"--human": "people's.csv"})
    'persona-panel report \\'./-my run\\' --human \\'people\\'"\\'"\\'s.csv\\''
    """
    words = ["persona-panel", *command.split()]
    words += [f"./{place}" if str(place).startswith("-") else str(place) for place in places]
    for name, value in (options or {}).items():
        words += [name, str(value)]
    return shlex.join([*words, *more])
