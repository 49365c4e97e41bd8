"""`persona-panel cache`: what the cache holds, moved to another one, removed from it."""

from __future__ import annotations

import sys
import time
from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from persona_panel.cli.failures import INCOMPLETE, refusals_without_calls
from persona_panel.cli.help import PanelGroup
from persona_panel.cli.options import json_option
from persona_panel.files.secrets import say, say_json, visible

if TYPE_CHECKING:
    from persona_panel.calls.kept_replies import CacheCounts, KeptReplies

_DAY_S = 86_400
_NOT_NOTED = "(not noted)"


@click.group(cls=PanelGroup, example="stats")
def cache() -> None:
    """Count, move or remove the answers in the cache.

    The cache is the one that PERSONA_PANEL_CACHE names, a folder or redis://…, or else the user's
    cache folder. It holds every answer that was paid for.
    """


@cache.command(short_help="Count the answers, by the model that gave them.")
@json_option
@refusals_without_calls
def stats(as_json: bool) -> None:
    """Count the answers in the cache, by the model that gave them.

    Sizes are of what is stored, compressed. The model and the time of an answer are known if this
    version or a later one has stored it.
    """
    from persona_panel.calls.kept_replies import counts_of, listed_store

    with listed_store() as store:
        location, counts = store.location, counts_of(store)
    if as_json:
        import orjson

        from persona_panel.files import outputs

        document = {"location": location} | _document(counts)
        say_json(outputs.as_json(document, orjson.OPT_INDENT_2).decode())
    else:
        say(f"{location}: {_answers(counts.all)}")
        _print_table(counts)


@cache.command(example="answers.jsonl.gz", short_help="Write the answers to a file.")
@click.argument("file", metavar="FILE")
@click.option("--overwrite", is_flag=True, help="Replace a file that is there.")
@refusals_without_calls
def export(file: str, overwrite: bool) -> None:
    """Write the answers in the cache to FILE, which ends in .jsonl or .jsonl.gz.

    `cache import` reads it, into a cache of any kind. It holds the answers of models, which may be
    confidential, and no key; only its owner can read it.
    """
    from persona_panel.calls.kept_replies import listed_store, write_replies
    from persona_panel.files.outputs import refuse_as_output
    from persona_panel.results.conclusions.wording import counted

    refuse_as_output("FILE", file, ())
    with listed_store() as store:
        n = write_replies(store, Path(file), overwrite=overwrite)
    say(f"{counted(n, 'answer')} of {store.location} written to {file}.")


@cache.command("import", example="answers.jsonl.gz", short_help="Add the answers of a file.")
@click.argument("file", metavar="FILE")
@refusals_without_calls
def import_(file: str) -> None:
    """Add the answers of FILE, which `cache export` wrote, to the cache.

    An answer that the cache has already stays as it is, so that a second import changes nothing. A
    line that cannot be read is reported and left out; a file without any that can is refused.

    Exit status: 0; 1 if a line was left out or the file ends early; 2 for bad input, also if no
    line can be read.
    """
    from persona_panel.calls.kept_replies import listed_store, read_replies
    from persona_panel.files.errors import distinct_faults
    from persona_panel.results.conclusions.wording import counted

    with listed_store() as store:
        replies = read_replies(store, Path(file))
    say(
        f"{counted(replies.new, 'answer')} added to {store.location}; {replies.known:,} "
        f"{'was' if replies.known == 1 else 'were'} there already."
    )
    if replies.faults:
        say("\n".join(map(visible, distinct_faults(replies.faults))), err=True)
        lines = {fault.line for fault in replies.faults}
        if n := len(lines - {None}):
            say(f"{counted(n, 'line')} left out.", err=True)
        if None in lines:
            n = replies.new + replies.known
            say(
                f"{visible(file)} ends early: {counted(n, 'answer')} could be read, and what "
                "follows is missing. Copy the file again, or write it again with `cache export`.",
                err=True,
            )
        sys.exit(INCOMPLETE)


@cache.command(
    example="--older-than 90 --dry-run", short_help="Remove answers, by age or by model."
)
@click.option(
    "--older-than",
    type=click.FloatRange(min=0),
    metavar="DAYS",
    help="Remove answers that are older than so many days.",
)
@click.option(
    "--model",
    "models",
    multiple=True,
    metavar="MODEL",
    help="Remove answers of this model, as `cache stats` names it; may be given more than once.",
)
@click.option("--dry-run", is_flag=True, help="Say what would be removed, and remove nothing.")
@click.option("--yes", is_flag=True, help="Remove without a question.")
@refusals_without_calls
def prune(older_than: float | None, models: tuple[str, ...], dry_run: bool, yes: bool) -> None:
    """Remove answers from the cache: what a later run needs of them is paid for again.

    With --older-than and --model, both must hold. An answer whose age or model is not known stays.
    The file cache.db of a folder keeps its size, and may hold removed text until new answers take
    its place.
    """
    from persona_panel.calls.kept_replies import Prunable, counts_of, drop_replies, listed_store
    from persona_panel.results.conclusions.wording import counted

    if older_than is None and not models:
        raise click.UsageError("Say what to remove: --older-than DAYS, --model MODEL, or both.")
    before = None if older_than is None else time.time() - older_than * _DAY_S
    which = Prunable(models, before)
    with listed_store() as store:
        counts = counts_of(store, which)
        if unknown := [name for name in models if name not in counts.by_model]:
            _refuse_unknown(unknown, counts_of(store).by_model)
        say(f"To be removed from {store.location}: {_answers(counts.all)}")
        if not counts.all.n:
            return
        _print_table(counts)
        if dry_run:
            say("Nothing was removed (--dry-run).")
            return
        if not yes:
            if not sys.stdin.isatty():
                raise click.UsageError("Add --yes to remove them, or --dry-run to leave them.")
            click.confirm("Remove them? What a later run needs is paid for again.", abort=True)
        n = drop_replies(store, which)
    say(f"{counted(n, 'answer')} removed.")


def _refuse_unknown(names: Sequence[str], by_model: Collection[str]) -> None:
    """Refuse models of which no answer is kept, unless none is noted at all."""
    from persona_panel.files.errors import Fault, InputError
    from persona_panel.files.wording import nearest, printable, shown

    known = sorted(name for name in by_model if name)
    faults = []
    for name in names if known else ():
        if name not in by_model:
            near = nearest(name, known)
            first = sorted(known, key=lambda name: name != near)
            expected = f"one of {', '.join(map(printable, first))}"
            faults.append(Fault("--model", shown(name), expected))
    if faults:
        raise InputError(faults)


def _answers(kept: KeptReplies) -> str:
    from persona_panel.results.conclusions.wording import counted

    end = f"{counted(kept.n, 'answer')}, {_size(kept.n_bytes)}"
    if kept.oldest is None or kept.newest is None:
        return f"{end}."
    return f"{end}, from {_day(kept.oldest)} to {_day(kept.newest)}."


_MODELS = 16
"""Of so many models a screen has room for the lines."""


def _print_table(counts: CacheCounts) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    from persona_panel.results.console import output

    if counts.all.n:
        table = Table(box=SIMPLE_HEAD)
        table.add_column("model", overflow="fold")
        for name in ("answers", "size", "oldest", "newest"):
            table.add_column(name, justify="right", no_wrap=True)
        models = _by_size(counts)
        for model, kept in models[:_MODELS]:
            table.add_row(
                Text(model or _NOT_NOTED), f"{kept.n:,}", _size(kept.n_bytes),
                _day(kept.oldest), _day(kept.newest),
            )  # fmt: skip
        if (n := len(models) - _MODELS) > 0:
            table.add_row(f"{n:,} more: --json has all")
        output().print(table)
    if counts.unreadable:
        n = counts.unreadable
        say(f"{n:,} more entr{'ies' if n != 1 else 'y'} cannot be read; runs do not use them.")


def _by_size(counts: CacheCounts) -> list[tuple[str, KeptReplies]]:
    return sorted(counts.by_model.items(), key=lambda item: (-item[1].n_bytes, item[0]))


def _document(counts: CacheCounts) -> dict[str, Any]:
    return _figures(counts.all) | {
        "undated": counts.undated,
        "unreadable": counts.unreadable,
        "by_model": [{"model": model or None} | _figures(kept) for model, kept in _by_size(counts)],
    }


def _figures(kept: KeptReplies) -> dict[str, Any]:
    times = {"oldest": kept.oldest, "newest": kept.newest}
    return {"answers": kept.n, "bytes": kept.n_bytes} | {
        name: None if at is None else _time(at) for name, at in times.items()
    }


def _time(at: int) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _day(at: int | None) -> str:
    return "-" if at is None else _time(at)[:10]


def _size(n_bytes: int) -> str:
    size, units = float(n_bytes), ["bytes", "kB", "MB", "GB", "TB"]
    while size >= 999.5 and len(units) > 1:
        size /= 1_000
        units.pop(0)
    return f"{n_bytes} bytes" if units[0] == "bytes" else f"{size:.3g} {units[0]}"
