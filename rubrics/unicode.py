"""Text that can be written out: half a surrogate pair is no character, and no encoder takes it.

Models write such halves as JSON escapes, where an emoji was cut in two.
"""

from __future__ import annotations

import re

_HALF = "\ufffd"
# Any escape, so that a backslash that is itself escaped begins none; whole pairs go first.
_ESCAPE = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    r"|(?P<half>u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)


def well_formed(text: str) -> str:
    """`text` with the replacement character for every half of a surrogate pair; two halves that
    belong together become their character."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def well_formed_json(text: str) -> str:
    """The same for the escapes in JSON: `text`, from which no half of a pair can be read."""
    if "\\u" not in text:
        return text
    return _ESCAPE.sub(lambda escape: _HALF if escape["half"] else escape[0], text)
