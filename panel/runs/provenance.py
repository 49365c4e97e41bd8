"""When, from what and with what a run was started: an entry of `starts` in run.json."""

from __future__ import annotations

import json
import os
import platform
import re
import shlex
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from hashlib import file_digest
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any
from uuid import uuid4

from persona_panel.files.errors import InputError
from persona_panel.files.file_sets import files_of
from persona_panel.files.secrets import mask_addresses, scrub
from persona_panel.models.config import parsed_option, with_headers
from persona_panel.models.providers import load_provider, provider_names
from persona_panel.plan.bound_models import BoundModel
from persona_panel.runs.output import RunOutput

_PACKAGES = (
    "persona-panel", "langgraph", "langchain-core", "numpy", "scipy", "pydantic",
)  # fmt: skip
_MASK = "[secret]"
_SECRET_NAME = re.compile(r"(?:^|[\W_])(?:api_?)?(?:key|token|secret|password)$", re.IGNORECASE)
_SHORTEST_SECRET = 8
"""Shorter values of such variables are switches and numbers of bits."""


def start_of(output: RunOutput, models: Iterable[BoundModel]) -> dict[str, Any]:
    """A start, now, of a run by these models of the files that `output` names."""
    return {
        "at": datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        # Two machines may start the same in one second.
        "id": uuid4().hex,
        "command": masked_command(sys.argv),
        "inputs": [
            _described(name, output.mappings.get(name, {}))
            for name in dict.fromkeys(map(str, output.inputs))
        ],
        "python": platform.python_version(),
        "platform": platform.platform(),
        "versions": _versions(models),
    }


def masked_command(arguments: Sequence[str]) -> str:
    """A command as a shell takes it, with the program's name alone and without secrets.

    A secret is what a variable holds that is called a key, token, secret or password, what
    stands behind an option of such a name, a password in an address, and the value of any header.
    """
    told = [Path(arguments[0]).name] if arguments else []
    named = False
    for argument in arguments[1:]:
        name, equals, _ = argument.partition("=")
        if named:
            told.append(_MASK)
        elif equals and _SECRET_NAME.search(name):
            told.append(f"{name}={_MASK}")
        else:
            told.append(_without_headers(argument))
        named = not named and argument.startswith("-") and bool(_SECRET_NAME.search(argument))
    return shlex.join(map(_scrubbed, told))


def _without_headers(argument: str) -> str:
    """`NAME=VALUE`, a model's option, without the values of headers in it: a header whose name does
    not say so may be a secret all the same."""
    if "header" not in argument.lower():
        return argument
    before = "--option=" if argument.startswith("--option=") else ""
    try:
        name, value = parsed_option(argument.removeprefix(before))
    except ValueError:
        return argument
    told = with_headers({name: value}, lambda _: _MASK)
    return argument if told == {name: value} else f"{before}{name}={json.dumps(told[name])}"


def _scrubbed(text: str) -> str:
    """A text without passwords and tokens in addresses, and what variables hold that are called as
    secrets are."""
    secrets = [
        value
        for name, value in os.environ.items()
        if _SECRET_NAME.search(name) and len(value) >= _SHORTEST_SECRET
    ]
    return scrub(mask_addresses(text), secrets)


def _described(name: str, mapping: Mapping[str, str]) -> dict[str, Any]:
    """An input by its name, with the mapping of its columns if there is one, and a file with its
    digest; a folder, pattern or address with those of its files, in the order in which they are
    read; a stream is read once, and not here."""
    about = _digested(name, Path(name))
    if about["sha256"] is None:
        # What is gone by now was read all the same.
        with suppress(InputError):
            files = [_digested(*file) for file in files_of(name)]
            if files != [about]:
                about["files"] = files
    if mapping:
        about["mapping"] = {field: _scrubbed(column) for field, column in mapping.items()}
    return about


def _digested(name: str, path: Path) -> dict[str, Any]:
    digest = size = None
    with suppress(OSError), path.open("rb") as file:
        digest, size = file_digest(file, "sha256").hexdigest(), file.tell()
    return {"name": _scrubbed(name), "sha256": digest, "bytes": size}


def _versions(models: Iterable[BoundModel]) -> dict[str, str]:
    """The versions of what computes, and of what reaches the models."""
    names = dict.fromkeys(_PACKAGES)
    for model in models:
        provider = model.config.provider
        if provider in provider_names():
            names |= dict.fromkeys(load_provider(provider).packages)
        else:
            # A chat model of the user's own: its module says where it is from.
            kind = str(model.client.parameters.get("provider", ""))
            names[kind.partition(".")[0].replace("_", "-")] = None
    found = {}
    for name in filter(None, names):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
