"""A packet as one HTML file that needs no server and loads nothing."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from functools import cache
from hashlib import sha256
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from pydantic import ValidationError

from persona_panel.files.errors import Fault, InputError
from persona_panel.files.file_limits import content_of
from persona_panel.files.wording import unreadable
from persona_panel.study.packet import Packet

_PACKAGE = "persona_panel.study"
_SCRIPT_ID = "packet"
# So that no text can end the element that it is in, nor begin another.
_UNSAFE = re.compile("[<>&\u2028\u2029\x7f\ud800-\udfff]")


def packet_page(packet: Packet) -> str:
    """The page: the packet as JSON, and the script that shows it and takes the answers.

    The page may run this script and use this style sheet, and load nothing.
    """
    document = json.dumps(packet.as_json() | {"sha256": packet.digest}, ensure_ascii=False)
    made = Environment(
        loader=PackageLoader(_PACKAGE),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    policy = [
        "default-src 'none'",
        f"script-src {_allowed('packet.js')}",
        f"style-src {_allowed('packet.css')}",
        "base-uri 'none'",
        "form-action 'none'",
    ]
    return made.get_template("packet.html.jinja").render(
        policy="; ".join(policy),
        packet=packet,
        # Ours, or escaped for a script element; escaped as markup they would not be the same.
        style=Markup(_part("packet.css")),  # noqa: S704
        script=Markup(_part("packet.js")),  # noqa: S704
        data=Markup(_UNSAFE.sub(_escaped, document)),  # noqa: S704
    )


def packet_in(page: Path) -> Packet:
    """The packet in a page, for whoever answers it by a program.

    Raises:
        InputError: the file cannot be read, or has no packet of this version.
    """
    expected = "a packet of `study make`"
    reader = _DataReader()
    try:
        reader.feed(content_of(page).decode())
        document = json.loads(reader.text)
        document.pop("sha256", None)
        return Packet.from_json(document)
    except OSError:
        raise InputError([Fault(str(page), unreadable(page), expected)]) from None
    except (ValueError, AttributeError, ValidationError):
        raise InputError([Fault(str(page), "no packet", expected)]) from None


class _DataReader(HTMLParser):
    """Takes the text of the element that has the packet."""

    def __init__(self) -> None:
        super().__init__()
        self.text = ""
        self._inside = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._inside = tag == "script" and ("id", _SCRIPT_ID) in attrs

    def handle_endtag(self, tag: str) -> None:
        self._inside = False

    def handle_data(self, data: str) -> None:
        if self._inside:
            self.text += data


def _escaped(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"


@cache
def _part(name: str) -> str:
    """The style sheet or the script as it is inlined."""
    return files(_PACKAGE).joinpath("templates", name).read_text("utf-8").strip()


def _allowed(name: str) -> str:
    return f"'sha256-{b64encode(sha256(_part(name).encode()).digest()).decode()}'"
