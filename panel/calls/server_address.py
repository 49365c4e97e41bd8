"""Addresses of a cache on a server, refused without showing their password."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

from persona_panel.calls.cache import ENVIRONMENT_VARIABLE
from persona_panel.files.errors import ConfigurationError


def odd_address() -> ConfigurationError:
    """The refusal of an address that cannot be read; it holds no part of it."""
    return ConfigurationError(
        f"the address in {ENVIRONMENT_VARIABLE} cannot be read; expected "
        "redis://[[USER]:PASSWORD@]HOST[:PORT][/DB], with special characters of the password as "
        "in a web address (%2F for /)"
    )


def refuse_unescaped(address: str) -> None:
    """Refuse an address whose password holds a sign at which it seems to end, as / does: the rest
    would be taken for the path, and shown.

    Raises:
        ConfigurationError: it is one.
    """
    if address.startswith("unix:///"):  # A path, which may hold any sign, and no password.
        return
    user, at, _ = address.partition("://")[2].rpartition("@")
    if at and not frozenset("/?#").isdisjoint(user):
        raise odd_address()


def without_password(address: str) -> str:
    """The scheme, host, port, path and database of an address, as it is shown.

    Raises:
        ConfigurationError: it cannot be read.
    """
    try:
        url = urlsplit(address)
        place = url.hostname or ""
        if url.port is not None:
            place += f":{url.port}"
    except ValueError:
        raise odd_address() from None
    numbers = parse_qs(url.query).get("db", [""])
    if len(numbers) > 1:
        raise odd_address()
    [number] = numbers
    return f"{url.scheme}://{place}{url.path}" + (f"?db={number}" if number else "")
