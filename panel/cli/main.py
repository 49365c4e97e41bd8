"""The command as a process of its own, and the commands by what a user wants: each is imported only
when it is called."""

from __future__ import annotations

import gc
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from keyword import iskeyword
from pathlib import Path
from typing import Any, TextIO, cast

import click

from persona_panel.cli import signals as stopping
from persona_panel.cli.failures import LOST_OUTPUT
from persona_panel.cli.help import PanelGroup
from persona_panel.cli.signals import guarded
from persona_panel.files.secrets import VisibleStream, guard

_NAME = "persona-panel"
Entry = tuple[str, str] | click.Group
"""A command's module and the line of help on it, so that help needs no import of what it
describes; or a group of commands."""


class LazyGroup(PanelGroup):
    """A group whose commands are imported only when they are called."""

    def __init__(self, *args: Any, sections: Mapping[str, Mapping[str, Entry]], **settings: Any):
        """Make the group. `sections`: its commands by name, in sections of its help; a short help
        is followed by their names."""
        super().__init__(*args, **settings)
        self.sections = sections
        self.entries = {name: entry for part in sections.values() for name, entry in part.items()}
        if self.short_help:
            self.short_help += f": {', '.join(self.entries)}."

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands, in the order of the help."""
        return list(self.entries)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command; None where there is none of that name."""
        entry = self.entries.get(cmd_name)
        if entry is None or isinstance(entry, click.Group):
            return entry
        module = import_module(f"persona_panel.{entry[0]}")
        # The commands of analyses are made of their declarations.
        if entry[0].startswith("analyses."):
            from persona_panel.analyses.analysis import ANALYSES
            from persona_panel.cli.analysis_command import analysis_command

            return analysis_command(ANALYSES[cmd_name])
        # `import` is a word of Python's.
        name = f"{cmd_name}_" if iskeyword(cmd_name) else cmd_name
        command: click.Command = getattr(module, name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands, each with its line, section by section."""
        width = max(map(len, self.entries)) + 2
        for section, entries in self.sections.items():
            with formatter.section(section):
                formatter.write_dl(
                    [(name.ljust(width - 2), _line(entry)) for name, entry in entries.items()],
                    col_max=width,
                )

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that the arguments name, with what is left of them. Raises
        click.UsageError: there is none; names the nearest."""
        if args and args[0] not in self.entries:
            from persona_panel.files.wording import nearest

            near = nearest(args[0], self.entries)
            hint = f" Did you mean {near!r}?" if near else ""
            ctx.fail(f"No such command {args[0]!r}.{hint}")
        return super().resolve_command(ctx, args)


def _line(entry: Entry) -> str:
    return entry.short_help or "" if isinstance(entry, click.Group) else entry[1]


_QUESTIONS = LazyGroup(
    "questions",
    help="Have a model ask critical questions, and compare them with labelled ones.",
    short_help="Ask a model for critical questions, or compare such",
    example="ask said.jsonl --model openai:gpt-5 --out asked.jsonl",
    sections={
        "Commands": {
            "ask": ("cli.questions", "Have a model ask critical questions."),
            "match": ("cli.questions", "Compare critical questions with labelled references."),
        }
    },
)
_COMMANDS: Mapping[str, Mapping[str, Entry]] = {
    "Start": {
        "demo": ("cli.init", "Score a small example batch, without a key, in a minute."),
        "init": ("cli.init", "Write a panel file for a file of responses."),
        "score": ("cli.score", "Score responses with a panel of judges, and rank them."),
        "report": ("cli.report", "Write a page of a run, to look at in a browser."),
        "view": ("cli.report", "Show the runs below a folder in a browser, as they go on."),
    },
    "Panel": {
        "ablate": ("cli.ablate", "Measure what each setting of a panel changes."),
        "select": ("cli.people", "Choose the items of a run that people should rate."),
    },
    "People": {},
    "Robustness": {
        "sweep": ("cli.sweep", "Measure how adversarial framings degrade responses."),
        "audit": ("cli.audit", "Measure a panel's biases and its resistance to prompt injection."),
    },
    "Texts": {
        "generate": ("cli.texts", "Have models write the responses that are to be scored."),
        "prompts": ("cli.texts", "Build a set of prompts, or read pairs of prompts."),
        "questions": _QUESTIONS,
        "keypoints": ("cli.texts", "Sum up and count the reasons that judges give."),
    },
    "Housekeeping": {
        "cache": ("cli.cache", "Count, move or remove the answers in the cache."),
        "batch": ("cli.batch", "Look at the batches of a run, wait for them or cancel them."),
        "models": ("cli.library", "Show which models can be used here."),
        "library": (
            "cli.library",
            "List or show personas, rubrics, framings, languages.",
        ),
    },
}


_DECLARED = re.compile(r'"""(.+?)(?:\n\n|""").*\n@analysis\(.*?\n    group="([^"]*)"', re.S)


def declared_analyses(
    folder: Path = Path(__file__).parents[1] / "analyses",
) -> Mapping[str, Mapping[str, Entry]]:
    """Return the commands of the analyses by their groups: the modules of `persona_panel.analyses`
    that have the decorator. Their texts are read, as to import them takes longer than help may.
    Raises ValueError: a module has no docstring at its top, or no known `group` on a line of its
    own."""
    groups: dict[str, dict[str, Entry]] = {heading: {} for heading in _COMMANDS}
    for path in sorted(folder.glob("*.py")):
        text = path.read_text("utf-8")
        if "\n@analysis(" not in text:
            continue
        declared = _DECLARED.match(text)
        line, group = declared.groups() if declared else ("", None)
        if group not in groups:
            raise ValueError(
                f"{path}: found the group {group!r}; expected a docstring at the top and, on a "
                f'line of its own, group="…", one of {", ".join(groups)}'
            )
        groups[group][path.stem] = f"analyses.{path.stem}", " ".join(line.split())
    return groups


_ANALYSES = declared_analyses()
_PEOPLE = LazyGroup(
    "people",
    help="Have people rate texts blind to their authors, and compare a panel with them.",
    short_help="Have people rate texts, compare a panel with them",
    example="correlate runs/first --human ratings.csv",
    sections={
        "Ratings by people": {
            "make": ("cli.people", "Make packets for raters, blind to who wrote the texts."),
            "collect": ("cli.people", "Unblind raters' answers, and write them as ratings."),
            "status": ("cli.people", "List who has answered, and how much is missing."),
            "import": ("cli.published", "Read the published ratings of a paper."),
        },
        "Panel and people": _ANALYSES["People"],
    },
)
SECTIONS: Mapping[str, Mapping[str, Entry]] = {
    **{heading: {**entries, **_ANALYSES[heading]} for heading, entries in _COMMANDS.items()},
    "People": {"people": _PEOPLE},
}
"""The commands by what a user wants."""

OLD_NAMES = {
    "study": "people",
    "correlate": "people correlate",
    "calibrate": "people calibrate",
    "align": "people align",
    "fidelity": "people fidelity",
    "votes": "people votes",
    "match": "questions match",
    "personas": "library personas",
    "rubrics": "library rubrics",
    "framings": "library framings",
}
"""The names of commands up to 0.1, each with its present name."""


def new_words(words: Sequence[str]) -> tuple[list[str], str]:
    """Return the words of a command line with the new name of its command, and the sentence that
    says so; empty where the name is not an old one.

    The bare `questions FILE` is `questions ask FILE`.
    """
    old, rest = words[0], list(words[1:])
    new = OLD_NAMES.get(old)
    if old == "questions" and rest and rest[0] not in (*_QUESTIONS.entries, "--help", "-h"):
        new = "questions ask"
    if new is None:
        return list(words), ""
    if old == "study" and rest and rest[0] in _PEOPLE.entries:
        old, new, rest = f"study {rest[0]}", f"people {rest[0]}", rest[1:]
    sentence = (
        f"persona-panel {old} is now persona-panel {new}; the old name works until the next "
        "version."
    )
    return [*new.split(), *rest], sentence


class _Process(LazyGroup):
    def main(self, *args: Any, **kwargs: Any) -> Any:
        """The whole of a process: what it prints cannot fail it, and signals end it in order."""
        guard()
        # Statistics multiply thousands of small matrices: threads that wait for each other on
        # them cost twice the CPU. numpy reads it when it is loaded, which is later.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        # To look for plug-ins, pydantic reads a file of every installed distribution.
        os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
        with guarded() as fault, stopping.heeded():
            try:
                return super().main(*args, **kwargs)
            except SystemExit as ended:
                if (lost := fault()) is None:
                    raise
                click.echo(f"Standard output could not be written: {lost.strerror}.", err=True)
                # How a run ended says more than that.
                sys.exit(ended.code or LOST_OUTPUT)

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:
        with _orderly():
            return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        with _orderly():
            return super().invoke(ctx)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        words, is_old = new_words(args)
        if is_old:
            click.echo(is_old, err=True)
        return super().resolve_command(ctx, words)


@contextmanager
def _orderly() -> Iterator[None]:
    """Print click's message on wrong arguments, and end in order after a signal."""
    try:
        yield
    except KeyboardInterrupt as stopped:
        # Where judgments come in `persona_panel.cli.job` tells how many are kept.
        stopping.end(*stopped.args)
    except click.ClickException as error:
        stream = VisibleStream(sys.stderr)
        error.show(cast(TextIO, stream))
        stream.flush()
        sys.exit(error.exit_code)


def _show_version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        from importlib.metadata import version

        click.echo(version("persona-panel"))
        ctx.exit()


@click.group(
    _NAME,
    cls=_Process,
    sections=SECTIONS,
    example="score answers.csv --model openai:gpt-5-mini --out runs/first",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_version,
    help="Show the version and exit.",
)
def command(**_: Any) -> None:
    """Score texts without a gold answer by a panel of personas on several models."""


def main() -> None:
    """Run the command as a process of its own."""
    # Imports make little that is let go of: to look for cycles while they go on, as Python does
    # again and again, costs a seventh of the start. All of them make fewer objects than this.
    gc.set_threshold(300_000, 20, 50)
    command(prog_name=_NAME)
