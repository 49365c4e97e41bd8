"""The options that several commands take: who reads and how, what may be spent, where to write."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from rubrics import Layout, elicitation_names

if TYPE_CHECKING:
    from graphs.deliberation import Deliberation, Reveal
    from panel.panel import Panel

Command = Callable[..., Any]

_REPLACED = "--personas, --rubric, --model, --elicitation, --layout and --replicates"


@dataclass(frozen=True, slots=True)
class Readers:
    """The panel that a command line asks for."""

    panel_file: str | None
    personas: str | None
    rubric: str | None
    models: tuple[str, ...]
    elicitation: str | None
    layout: Layout | None
    replicates: int | None
    concurrency: int | None

    def panel(self, deliberation: Deliberation | None = None) -> Panel:
        """That panel, deliberating in this way.

        Raises:
            PanelError: it cannot be had.
        """
        from panel.panel import Panel
        from panel.seating import DEFAULT_MODEL

        if self.panel_file:
            return Panel.from_file(
                self.panel_file, deliberation=deliberation, concurrency=self.concurrency
            )
        return Panel(
            self.personas or "perspectives",
            self.models or DEFAULT_MODEL,
            self.rubric or "scrub",
            elicitation=self.elicitation,
            layout=self.layout or "shared-prefix",
            replicates=self.replicates or 1,
            deliberation=deliberation,
            concurrency=self.concurrency,
        )


def readers(command: Command) -> Command:
    """Options for who reads; the command is given them as `readers`."""

    @_option(
        "--panel",
        "panel_file",
        metavar="PANEL.yaml",
        help=f"A panel file, in place of {_REPLACED}.",
    )
    @_option("--personas", metavar="NAME|FILE", help="Who reads.  [default: perspectives]")
    @_option("--rubric", metavar="NAME|FILE", help="What is asked.  [default: scrub]")
    @_option(
        "--model",
        "models",
        metavar="SPEC",
        multiple=True,
        help="provider:name; give it again for each further model.  [default: local:smollm2-135m]",
    )
    @_option(
        "--elicitation",
        metavar="NAME",
        type=click.Choice(elicitation_names()),
        help=f"How a judge is asked: {', '.join(elicitation_names())}.  [default: expected for "
        "models in this process, dimensions for the others]",
    )
    @_option(
        "--layout",
        metavar="NAME",
        type=click.Choice(get_args(Layout)),
        help="What a question begins with: shared-prefix, which all judges of a response share, or "
        "persona-first.  [default: shared-prefix]",
    )
    @_option(
        "--replicates",
        metavar="K",
        type=click.IntRange(min=1),
        help="Ask every judge K times; each answer counts as an annotator. At temperature 0 a "
        "model repeats itself.  [default: 1]",
    )
    @_option(
        "--concurrency",
        metavar="N",
        type=click.IntRange(min=1),
        help="Calls in flight at most, for each model without a limit of its own.  [default: "
        "as many as the provider takes]",
    )
    @wraps(command)
    def gathered(
        *args: Any,
        panel_file: str | None,
        personas: str | None,
        rubric: str | None,
        models: tuple[str, ...],
        elicitation: str | None,
        layout: Layout | None,
        replicates: int | None,
        concurrency: int | None,
        **others: Any,
    ) -> Any:
        if panel_file and (personas or rubric or models or elicitation or layout or replicates):
            raise click.UsageError(f"--panel says it all: leave out {_REPLACED}.")
        chosen = Readers(
            panel_file, personas, rubric, models, elicitation, layout, replicates, concurrency
        )
        return command(*args, readers=chosen, **others)

    return gathered


def deliberating(command: Command) -> Command:
    """Options for whether and how judges confer; the command is given them as `deliberation`."""

    @_option(
        "--deliberate",
        metavar="N",
        type=click.IntRange(1, 20),
        help="Show every judge the others' readings, anonymous and shuffled, and let it revise "
        "its own, in N rounds at most.",
    )
    @_option(
        "--reveal",
        type=click.Choice(("scores", "rationales", "both")),
        help="What judges see of each other; reasons want the elicitation justified.  "
        "[default: scores]",
    )
    @_option(
        "--stop-when",
        type=click.Choice(("settled",)),
        help="Stop before N rounds: once nobody changes a rating.",
    )
    @_option(
        "--deliberate-when",
        metavar="spread>S",
        callback=_threshold,
        help="Deliberate only where the ratings of a dimension spread (standard deviation) by "
        "more than S points.",
    )
    @_option("--name-peers", is_flag=True, help="Show whose readings they are.")
    @wraps(command)
    def gathered(
        *args: Any,
        deliberate: int | None,
        reveal: Reveal | None,
        stop_when: str | None,
        deliberate_when: float | None,
        name_peers: bool,
        **others: Any,
    ) -> Any:
        if deliberate is None:
            if reveal or stop_when or deliberate_when is not None or name_peers:
                raise click.UsageError(
                    "--reveal, --stop-when, --deliberate-when and --name-peers say how to "
                    "deliberate: add --deliberate N."
                )
            return command(*args, deliberation=None, **others)
        from graphs.deliberation import Deliberation

        rules = Deliberation(
            rounds=deliberate,
            reveal=reveal or "scores",
            until_settled=stop_when == "settled",
            spread_above=deliberate_when,
            named=name_peers,
        )
        return command(*args, deliberation=rules, **others)

    return gathered


def _threshold(ctx: click.Context, param: click.Parameter, value: str | None) -> float | None:
    """The S of `spread>S`."""
    if value is None:
        return None
    written = re.fullmatch(r"\s*spread\s*>\s*(\d+(?:\.\d+)?)\s*", value)
    if written is None:
        raise click.BadParameter(f"{value!r}; spread>S with a number S, such as 'spread>1.5'")
    return float(written[1])


def caps(command: Command) -> Command:
    """Options for what may be spent; the command is given them as `caps`."""

    @_option(
        "--max-usd",
        metavar="X",
        type=click.FloatRange(min=0, min_open=True),
        help="Stop before the call that would pass this many US dollars.",
    )
    @_option(
        "--max-calls",
        metavar="N",
        type=click.IntRange(min=1),
        help="Stop before the call that would pass this many calls, retries counted.",
    )
    @_option(
        "--max-tokens",
        metavar="N",
        type=click.IntRange(min=1),
        help="Stop before the call that would pass this many tokens, in and out.",
    )
    @wraps(command)
    def gathered(
        *args: Any,
        max_usd: float | None,
        max_calls: int | None,
        max_tokens: int | None,
        **others: Any,
    ) -> Any:
        from panel.calls.budget import Caps

        return command(*args, caps=Caps(max_usd, max_calls, max_tokens), **others)

    return gathered


def dry_run(command: Command) -> Command:
    """The option to spend nothing; the command is given it as `dry_run`."""
    return _option(
        "--dry-run", is_flag=True, help="Say what it would take, model by model; call nothing."
    )(command)


def out(command: Command) -> Command:
    """The option for where a run is written; the command is given it as `folder`."""

    @_option("--out", metavar="RUN", help="The run's folder.  [default: runs/ and the time]")
    @wraps(command)
    def gathered(*args: Any, out: str | None, **others: Any) -> Any:
        folder = Path(out) if out else Path("runs") / time.strftime("%Y%m%d-%H%M%S")
        return command(*args, folder=folder, **others)

    return gathered


def _option(*names: str, **settings: Any) -> Callable[[Command], Command]:
    return click.option(*names, **settings)
