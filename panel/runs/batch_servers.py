"""Which servers this user sends which keys to, for batches that a run's journal tells of.

A run may be somebody else's, and its journal says where a batch is and which environment variable
has the key: taken at its word, it would have any secret sent anywhere. So a key goes where the
user's own surroundings send it, or where this user has submitted batches before; else the user has
to say so.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

import orjson
import platformdirs

from persona_panel.files.errors import ConfigurationError
from persona_panel.files.private_files import make_private_folder, open_private
from persona_panel.files.secrets import SECRETS, credentials_in
from persona_panel.files.wording import shown
from persona_panel.models.availability import keys_optional
from persona_panel.models.batches import BatchClient
from persona_panel.models.config import HEADER_OPTIONS, ModelConfig
from persona_panel.models.providers import client_for

_FILE = "batch-servers"
_HARMLESS = frozenset({"timeout", "seed", *HEADER_OPTIONS})
"""Settings that do not change where a key goes."""


class SubmittedTo(Protocol):
    """Where a batch is, and with what it is reached: a `BatchAddress` or a `BatchRecord`."""

    @property
    def spec(self) -> str: ...

    @property
    def address(self) -> str: ...

    @property
    def key_env(self) -> str | None: ...

    @property
    def settings(self) -> Mapping[str, Any]: ...


def remember(servers: Iterable[SubmittedTo]) -> None:
    """Note, for this user alone, that batches are submitted to these servers.

    Where it cannot be written, `require_known` asks the user instead.
    """
    with suppress(OSError):
        new = {_digest(server) for server in servers} - _remembered()
        if new:
            make_private_folder(_path().parent)
            with open_private(_path(), "ab") as file:
                file.write(b"".join(digest + b"\n" for digest in sorted(new)))


def require_known(journal: Path, servers: Iterable[SubmittedTo]) -> None:
    """See that keys go only to servers that are this user's.

    Args:
        journal: whose servers they are, for the message.

    Raises:
        ConfigurationError: one is not known as such.
    """
    remembered = _remembered()
    for server in servers:
        if _digest(server) not in remembered and not _is_usual(server):
            raise ConfigurationError(_refusal(journal, server))


def _is_usual(server: SubmittedTo) -> bool:
    """Whether it is the provider's own, or the one that this process's environment names, with the
    provider's usual key."""
    if server.key_env is not None or not _HARMLESS.issuperset(server.settings):
        return False
    try:
        with keys_optional():
            client = client_for(ModelConfig(model=server.spec))
    except (ConfigurationError, ValueError):
        return False
    return isinstance(client, BatchClient) and client.address == server.address


def _refusal(journal: Path, server: SubmittedTo) -> str:
    SECRETS.learn(*credentials_in(server.address))
    key = shown(server.key_env) if server.key_env else "the provider's usual variable"
    options = sorted(set(server.settings) - _HARMLESS)
    having = f", with the options {', '.join(map(shown, options))}" if options else ""
    return (
        f"{journal} has the key in {key} sent to {shown(server.address)}{having}, for "
        f"{shown(server.spec)}, and you have not submitted batches there from this machine. If "
        "this run is yours, add --trust; if somebody gave it to you, do not"
    )


def _path() -> Path:
    return platformdirs.user_state_path("persona-panel") / _FILE


def _remembered() -> set[bytes]:
    try:
        return set(_path().read_bytes().splitlines())
    except OSError:
        return set()


def _digest(server: SubmittedTo) -> bytes:
    """Of all that says where a key goes; an address may hold a password, so it is not written."""
    settings = {name: value for name, value in server.settings.items() if name not in _HARMLESS}
    provider = server.spec.partition(":")[0]
    said = orjson.dumps(
        [provider, server.address, server.key_env, settings],
        option=orjson.OPT_SORT_KEYS,
        default=dict,
    )
    return hashlib.sha256(said).hexdigest().encode()
