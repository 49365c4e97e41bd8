"""Options of commands that run a panel: which panel judges and how it deliberates, how much of its
texts, at what cost, and into which folder.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import wraps
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from persona_panel.cli.failures import refusals
from persona_panel.cli.options import (
    Command,
    caps,
    dry_run,
    limit_option,
    model_options,
    option,
    patience,
)
from persona_panel.cli.signals import received
from persona_panel.files.addresses import is_address, is_meant_as_address
from persona_panel.files.secrets.visible import say, visible
from persona_panel.graphs.deliberation import stopping_rule_names
from persona_panel.rubrics import Layout, elicitation_names

if TYPE_CHECKING:
    from persona_panel.calls.budget import Caps
    from persona_panel.graphs.deliberation import Deliberation, Reveal
    from persona_panel.panel import Panel
    from persona_panel.runs.output import RunOutput


def refuse_batches_at(run: str) -> None:
    """See that a run by batches is in a folder of this machine.

    Raises:
        UsageError: it is at an address, where its journal could be sent only at the end.
    """
    if is_address(run):
        raise click.UsageError(
            "The journal of batches, which are paid for, belongs in a folder of this machine; "
            "found an address."
        )


def folder_by_time() -> Path:
    """A folder below `runs` called after the time that is not there yet: several runs may begin in
    one second."""
    name = time.strftime("%Y%m%d-%H%M%S")
    names = chain([name], (f"{name}-{number}" for number in count(2)))
    return next(folder for folder in map(Path("runs").joinpath, names) if not folder.exists())


def run_folder_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Options for the folder of a run; the command is given it as `out`, and has to have
    `dry_run`. One at an address is a folder of this machine, and all that the command leaves there,
    such as report.html, is sent at its end."""

    @click.option(
        "--out",
        metavar="RUN",
        help="The run's folder, or an address that it is sent to at the end, such as "
        "s3://bucket/run.  [default: runs/DATE-TIME]",
    )
    @click.option(
        "--overwrite",
        is_flag=True,
        help="Replace a run in the folder that has another panel or other texts.",
    )
    @click.option(
        "--no-texts",
        is_flag=True,
        help="Store the SHA-256 of each text in the folder instead of the text, and no metadata. "
        "Answers of judges, which are stored, may quote texts.",
    )
    @wraps(command)
    def with_output(
        *args: Any, out: str | None, overwrite: bool, no_texts: bool, **others: Any
    ) -> Any:
        from persona_panel.runs.output import RunOutput

        folder = out or folder_by_time()
        output = RunOutput(folder, overwrite, not no_texts)
        if not is_meant_as_address(folder):
            return command(*args, out=output, **others)
        if others.get("by_batches"):
            refuse_batches_at(str(folder))
        from persona_panel.files.errors import RunStopped
        from persona_panel.runs.output import written_here

        @refusals
        def sent() -> Any:
            try:
                with written_here(output, dry=others["dry_run"], telling=_telling) as here:
                    return command(*args, out=here, **others)
            except RunStopped as unsent:
                # The end stays that by a signal.
                if received():
                    raise KeyboardInterrupt(str(unsent)) from unsent
                raise

        return sent()

    return with_output


@contextmanager
def _telling(address: str) -> Iterator[None]:
    """Says that a run is sent there, and once it is that it is there: on standard error, as
    standard output has the result by now."""
    later = "; Ctrl-C ends that, and the same command does it later" if received() else ""
    say(f"Sending the run to {visible(address)}{later}.", err=True)
    yield
    say(f"The run is in {visible(address)}", err=True)


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


@dataclass(frozen=True, slots=True)
class PanelOptions:
    """The panel that a command line asks for."""

    panel_file: str | None
    personas: str | None
    rubric: str | None
    models: tuple[str, ...]
    elicitation: str | None
    layout: Layout | None
    replicates: int | None
    concurrency: int | None
    patience: int | None
    model_options: Mapping[str, Any]
    one_dimension_per_call: bool | None

    @property
    def inputs(self) -> tuple[str | None, str | None, str | None]:
        """What may be the names of files: panel, personas and rubric."""
        from persona_panel.planning.definitions import split_variant

        return self.panel_file, self.personas, self.rubric and split_variant(self.rubric)[0]

    def panel(
        self, deliberation: Deliberation | None = None, *, plain_judge: bool | None = None
    ) -> Panel:
        """That panel, deliberating in this way, and with a plain judge to be compared with, or
        without; None, as a panel file says.

        Raises:
            PanelError: it cannot be had.
        """
        from persona_panel.panel import Panel
        from persona_panel.planning.definitions import DEFAULT_MODEL, configured

        if self.panel_file:
            return Panel.from_file(
                self.panel_file,
                personas=self.personas,
                rubric=self.rubric,
                models=self.models,
                options=self.model_options,
                elicitation=self.elicitation,
                layout=self.layout,
                replicates=self.replicates,
                deliberation=deliberation,
                concurrency=self.concurrency,
                patience=self.patience,
                plain_judge=plain_judge,
                one_dimension_per_call=self.one_dimension_per_call,
            )
        specs = self.models or (DEFAULT_MODEL,)
        return Panel(
            self.personas or "perspectives",
            [configured(spec, self.model_options) for spec in specs],
            self.rubric or "scrub",
            elicitation=self.elicitation,
            layout=self.layout or "shared-prefix",
            replicates=self.replicates or 1,
            deliberation=deliberation,
            concurrency=self.concurrency,
            patience=self.patience,
            plain_judge=bool(plain_judge),
            one_dimension_per_call=bool(self.one_dimension_per_call),
        )


def panel_options(command: Command) -> Command:
    """Options for which panel judges; the command is given them as `panel_options`."""

    @option(
        "--panel",
        "panel_file",
        metavar="PANEL.yaml",
        help="A panel file. Other options override what it says, and the log says so.",
    )
    @option(
        "--personas",
        metavar="NAME|FILE",
        help="Personas that judge; none: a judge without a persona.  [default: perspectives]",
    )
    @option(
        "--rubric",
        metavar="NAME|FILE",
        help="Rubric to score by, with :VARIANT behind it for other guidelines.  [default: scrub]",
    )
    @option(
        "--model",
        "models",
        metavar="SPEC",
        multiple=True,
        help="Model of the judges, provider:name, or the name of a model in the panel file, "
        "whose settings it keeps; repeatable.  [default: local:smollm2-135m]",
    )
    @model_options
    @option(
        "--elicitation",
        metavar="NAME",
        type=click.Choice(elicitation_names()),
        help=f"How ratings are elicited: {', '.join(elicitation_names())}.  [default: expected "
        "for local: models, dimensions for all others]",
    )
    @option(
        "--layout",
        metavar="NAME",
        type=click.Choice(get_args(Layout)),
        help="What a prompt begins with: shared-prefix, the rubric and the response, which all "
        "judges share; or persona-first.  [default: shared-prefix]",
    )
    @option(
        "--replicates",
        metavar="K",
        type=click.IntRange(min=1),
        help="Ask every judge K times; each replicate counts as an annotator. Replicates at "
        "temperature 0 are nearly identical.  [default: 1]",
    )
    @option(
        "--one-dimension-per-call/--no-one-dimension-per-call",
        default=None,
        help="Ask for each dimension of the rubric in a call of its own, so that the judge does "
        "not see the others: as many calls as dimensions.  [default: as the panel file says, or "
        "all dimensions in one call]",
    )
    @option(
        "--concurrency",
        metavar="N",
        type=click.IntRange(min=1),
        help="Maximum number of concurrent calls to each model that has no limit in a panel "
        "file.  [default: adapted to the provider's limits]",
    )
    @patience
    @wraps(command)
    def with_panel(
        *args: Any,
        panel_file: str | None,
        personas: str | None,
        rubric: str | None,
        models: tuple[str, ...],
        elicitation: str | None,
        layout: Layout | None,
        replicates: int | None,
        one_dimension_per_call: bool | None,
        concurrency: int | None,
        patience: int | None,
        model_options: Mapping[str, Any],
        **others: Any,
    ) -> Any:
        chosen = PanelOptions(
            panel_file,
            personas,
            rubric,
            models,
            elicitation,
            layout,
            replicates,
            concurrency,
            patience,
            model_options,
            one_dimension_per_call,
        )
        return command(*args, panel_options=chosen, **others)

    return with_panel


def without_plain_judge(command: Command) -> Command:
    """The option of a command that takes no plain judge, for panel files that have one; the
    command is given `plain_judge`, False or None."""
    return option(
        "--no-plain-judge",
        "plain_judge",
        flag_value=False,
        default=None,
        help="Leave out the plain judge of a panel file.",
    )(command)


def deliberation_options(command: Command) -> Command:
    """Options for whether and how judges deliberate; the command is given `deliberation`."""

    @option(
        "--deliberate",
        metavar="N",
        type=click.IntRange(1, 20),
        help="Let judges deliberate: each sees the ratings of the others, anonymous and in random "
        "order, and may revise its own, for at most N rounds.",
    )
    @option(
        "--reveal",
        type=click.Choice(("scores", "rationales", "both")),
        help="What judges see of each other; rationales need --elicitation justified.  "
        "[default: scores]",
    )
    @option(
        "--stop-when",
        metavar="RULE",
        type=click.Choice(stopping_rule_names()),
        help=f"Stop before N rounds by a rule: {', '.join(stopping_rule_names())}. The rule "
        "settled stops when no judge changes a rating.",
    )
    @option(
        "--deliberate-when",
        metavar="spread>S",
        callback=_threshold,
        help="Deliberate only on responses for which the ratings of some dimension have a "
        "standard deviation above S points.",
    )
    @option("--name-peers", is_flag=True, help="Show judges whose ratings they see.")
    @wraps(command)
    def with_deliberation(
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
                    "--reveal, --stop-when, --deliberate-when and --name-peers work only with "
                    "--deliberate: add --deliberate N, or leave them out."
                )
            return command(*args, deliberation=None, **others)
        from persona_panel.graphs.deliberation import Deliberation

        rules = Deliberation(
            rounds=deliberate,
            reveal=reveal or "scores",
            stop_when=stop_when,
            spread_above=deliberate_when,
            named=name_peers,
        )
        return command(*args, deliberation=rules, **others)

    return with_deliberation


def _threshold(ctx: click.Context, param: click.Parameter, value: str | None) -> float | None:
    """The S of `spread>S`."""
    if value is None:
        return None
    written = re.fullmatch(r"\s*spread\s*>\s*(\d+(?:\.\d+)?)\s*", value)
    if written is None:
        raise click.BadParameter(
            f"found {value!r}; expected spread>S with a number S, such as 'spread>1.5'"
        )
    return float(written[1])
