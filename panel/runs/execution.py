"""The carrying out of a run, which is no part of what is run: who is told of it, who answers, where
responses are judged; and the entry in run.json that says when, from what and with what it was
started.
"""

from __future__ import annotations

import json
import os
import platform
import re
import shlex
import sys
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Awaitable,
    Callable,
    Iterable,
    Mapping,
    Sequence,
)
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import file_digest
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol
from uuid import uuid4

from persona_panel.calls.budget import Caps
from persona_panel.calls.caller import Caller, CallerFactory
from persona_panel.calls.rate_limiter import CallsState
from persona_panel.files.errors import InputError, RunFolderError
from persona_panel.files.named_files import files_of
from persona_panel.files.outputs import journal_of, version_of
from persona_panel.files.secrets import MASK, mask_addresses, scrub
from persona_panel.files.wording import command_line
from persona_panel.graphs import Judgment, Response, Verdict
from persona_panel.models.config import parsed_option, with_headers
from persona_panel.models.providers import load_provider, provider_names
from persona_panel.planning.bound_models import BoundModel
from persona_panel.planning.panel_plan import PanelPlan
from persona_panel.runs.output import RunOutput

if TYPE_CHECKING:
    from persona_panel.calls.batch_caller import BatchCaller


OnStart = Callable[[Callable[[], CallsState]], None]
"""Called once nothing speaks against a run, before it judges anything; what it is given tells how
the run's calls stand, whenever it is called."""
Collect = Callable[[], Awaitable[None]]
"""Has everything asked once that a run asks, by a caller that collects."""


class AnsweredElsewhere(Protocol):
    """A way to have requests answered without calling models: whether one may be called to find out
    what it can do (`probes`), and whether provider batches that are open are gone on with."""

    @property
    def probes(self) -> bool: ...

    @property
    def keeps_batches(self) -> bool: ...

    def caller_factory(
        self, models: Mapping[str, BoundModel], caps: Caps, *, others_too: bool
    ) -> CallerFactory:
        """Return the function that makes the run's caller. `models`: that the run asks, by the
        names under which they are called; `others_too`: whether what models without batches say
        decides what others are asked. Raises ConfigurationError: no model can be asked so, or caps
        cannot be held."""

    async def answer(
        self, caller: BatchCaller, models: Mapping[str, BoundModel], collect: Collect
    ) -> None:
        """Have requests answered until the cache lacks none that can be. Raises RunStopped,
        RunFolderError, InputError, Abort: the run cannot go on."""


class Engine(Protocol):
    """A way to judge the responses of a run outside its own process."""

    def verdicts(
        self,
        plan: PanelPlan,
        units: AsyncIterator[tuple[Response, ...]],
        caller: Caller,
        caps: Caps,
        on_judgment: Callable[[Judgment], None],
    ) -> AsyncGenerator[Verdict, None]:
        """Yield the verdicts on units of responses (see `Mode.units`), as they come, and each of
        their judgments before. Cache, limits and budget are the caller's, wherever calls are made.
        Raises Abort, PanelError: the run cannot go on."""


@dataclass(frozen=True, slots=True)
class Execution:
    """The way in which a run is carried out: who is told of its start (`OnStart`); who answers in
    rounds, before the run itself is made from the cache (None, the models are called); where
    responses are judged (None, in this process)."""

    on_start: OnStart | None = None
    answered_by: AnsweredElsewhere | None = None
    engine: Engine | None = None


CALLED = Execution()
"""Models are called, and nobody is told."""


def refuse_open_batches(
    run: Path, answered_by: AnsweredElsewhere | None, *, overwrite: bool
) -> None:
    """Refuse to send a request to its model again while it is in a provider's batch. `run`: the
    run's folder, or the file of its texts. Raises RunFolderError: it has open batches, and is to be
    overwritten or made without them."""
    journal = journal_of(run)
    # That its folder cannot be written is said when it is opened for writing.
    if not (os.access(journal.parent, os.R_OK | os.X_OK) and journal.exists()):
        return
    from persona_panel.calls.batch_rounds import batches_of

    n_open = sum(batch.open for batch in batches_of(run))
    if n_open and (overwrite or answered_by is None or not answered_by.keeps_batches):
        raise RunFolderError(
            f"{run} has open batches, which are paid for ({n_open:,}); go on with --batch and "
            f"without --overwrite, or end them with `{command_line('batch cancel', [run])}`"
        )


_PACKAGES = (
    "persona-panel", "langgraph", "langchain-core", "numpy", "scipy", "pydantic",
)  # fmt: skip
_SECRET_NAME = re.compile(r"(?:^|[\W_])(?:api_?)?(?:key|token|secret|password)$", re.IGNORECASE)
_SHORTEST_SECRET = 8
"""Shorter values of such variables are switches and numbers of bits."""


def start_of(
    output: RunOutput, models: Iterable[BoundModel], caps: Caps | None = None
) -> dict[str, Any]:
    """Return the record of a start, now, of a run by these models of the files that `output`
    names, within these caps where they are given."""
    start = {
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
    if caps is not None:
        known = {"usd": caps.usd, "calls": caps.calls, "tokens": caps.tokens}
        start["caps"] = {name: cap for name, cap in known.items() if cap is not None}
    return start


def masked_command(arguments: Sequence[str]) -> str:
    """Return a command as a shell takes it, with the program's name alone and without secrets.

    A secret is what a variable holds that is called a key, token, secret or password, what
    stands behind an option of such a name, a password in an address, and the value of any header.
    """
    words = [Path(arguments[0]).name] if arguments else []
    named = False
    for argument in arguments[1:]:
        name, equals, _ = argument.partition("=")
        if named:
            words.append(MASK)
        elif equals and _SECRET_NAME.search(name):
            words.append(f"{name}={MASK}")
        else:
            words.append(_without_headers(argument))
        named = not named and argument.startswith("-") and bool(_SECRET_NAME.search(argument))
    return shlex.join(map(_scrubbed, words))


def _without_headers(argument: str) -> str:
    """Return a model's option `NAME=VALUE` without the values of headers in it: a header whose name
    does not say so may be a secret all the same."""
    if "header" not in argument.lower():
        return argument
    before = "--option=" if argument.startswith("--option=") else ""
    try:
        name, value = parsed_option(argument.removeprefix(before))
    except ValueError:
        return argument
    masked = with_headers({name: value}, lambda _: MASK)
    return argument if masked == {name: value} else f"{before}{name}={json.dumps(masked[name])}"


def _scrubbed(text: str) -> str:
    """Remove from a text the passwords and tokens in addresses, and the values of variables that
    are called as secrets are."""
    secrets = [
        value
        for name, value in os.environ.items()
        if _SECRET_NAME.search(name) and len(value) >= _SHORTEST_SECRET
    ]
    return scrub(mask_addresses(text), secrets)


def _described(name: str, mapping: Mapping[str, str]) -> dict[str, Any]:
    """Describe an input by its name, with the mapping of its columns if there is one, and a file
    with its digest; a folder, pattern or address with those of its files, in the order in which
    they are read; a stream is read once, and not here."""
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
    """Return the versions of the packages that compute, and of those that reach the models."""
    names = dict.fromkeys(_PACKAGES)
    for model in models:
        provider = model.config.provider
        if provider in provider_names():
            names |= dict.fromkeys(load_provider(provider).packages)
        else:
            # A chat model of the user's own: its module says where it is from.
            kind = str(model.client.parameters.get("provider", ""))
            names[kind.partition(".")[0].replace("_", "-")] = None
    versions = {}
    for name in filter(None, names):
        try:
            versions[name] = version_of(name)
        except PackageNotFoundError:
            continue
    return versions
