"""Options of commands that run a panel, together: how much of its texts, at what cost, into which
folder."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

from persona_panel.cli.call_options import caps, dry_run
from persona_panel.cli.options import Command, limit_option
from persona_panel.cli.run_folder_option import run_folder_option

if TYPE_CHECKING:
    from persona_panel.calls.budget import Caps
    from persona_panel.runs.output import RunOutput


@dataclass(frozen=True, slots=True)
class RunOptions:
    """Of what a command scores, how much, at what cost, into which folder.

    Attributes:
        out: the run's folder.
        limit: how many responses or prompts are used, from the first on; all where it is None.
        dry_run: whether the cost is estimated and no model called.
        caps: what may be spent.
    """

    out: RunOutput
    limit: int | None
    dry_run: bool
    caps: Caps

    def with_inputs(
        self,
        files: Sequence[tuple[str | None, Mapping[str, str]]],
        names: Sequence[str | None],
    ) -> RunOptions:
        """The same with the inputs that the run's folder records: these files, each with the
        mapping of its columns, and those of the names that are files and not, for instance,
        rubrics of the library."""
        given = [name for name, _ in files if name is not None]
        given += [name for name in names if name is not None and Path(name).is_file()]
        mappings = {name: mapping for name, mapping in files if name is not None and mapping}
        return replace(self, out=replace(self.out, inputs=tuple(given), mappings=mappings))


def run_options(texts: str) -> Callable[[Command], Command]:
    """Options of a command that runs a panel; the command is given them as `options`.

    Args:
        texts: what the command takes, such as "responses".
    """

    def decorate(command: Command) -> Command:
        @run_folder_option
        @limit_option(texts)
        @dry_run
        @caps
        @wraps(command)
        def with_options(
            *args: Any,
            out: RunOutput,
            limit: int | None,
            dry_run: bool,
            caps: Caps,
            **others: Any,
        ) -> Any:
            options = RunOptions(out, limit, dry_run, caps)
            return command(*args, options=options, **others)

        return with_options

    return decorate
