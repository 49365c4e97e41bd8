"""The help of commands and groups: two screens with an example, and everything with `--help-all`.

`--help` has the first paragraph of a command's text and the first sentence of each option; options
that few need are declared with `hidden=True`, and are in `--help-all` alone.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from copy import copy
from typing import Any

import click

_OWN, _JUDGED, HOW = "Options", "What is judged", "How they judge"
_SECTIONS = {
    _OWN: (),
    _JUDGED: (),
    "Who judges": (),
    HOW: (),
    "Limits and cost": (
        "--limit", "--dry-run", "--max-usd", "--max-calls", "--max-tokens", "--concurrency",
        "--patience", "--batch", "--batch-out", "--batch-in", "--engine", "--workers",
        "--engine-option",
    ),
    "Output": (
        "--out", "--overwrite", "--no-texts", "--no-report", "--format", "--json", "--csv",
        "--decimal", "--latex", "--full", "--plot", "--require", "--require-point", "--junit",
        "--markdown",
    ),
    "Help": ("--help-all", "--help"),
}  # fmt: skip
"""The options of each section. Those that are in none are the command's own: the first has them,
or the second, where a panel judges, unless an option says otherwise (`section`)."""
_OF_A_PANEL = {
    "Who judges": ("--panel", "--personas", "--rubric", "--model", "--option"),
    "Output": ("--by", "--random"),
}
"""The options that are in another section where a panel judges."""
_SECTION_OF = {name: section for section, names in _SECTIONS.items() for name in names}
_SECTION_BESIDE_A_PANEL = _SECTION_OF | {
    name: section for section, names in _OF_A_PANEL.items() for name in names
}
_WIDTH = 22
_HYPHEN = "\N{NON-BREAKING HYPHEN}"
_SENTENCE_END = re.compile(r"\.(?=\s+[A-Z`])")
_EXTRA = re.compile(r"\s\s\[([^\]]*)\]")
ALL = f"{__name__}.all"
"""The key of a context's `meta` that says that its help has everything."""


_NO_NUMBER = re.compile(
    r"'?(?P<value>.+?)'? is not (?:in the range .+|a valid (?:integer|float)(?: range)?)\."
)


def _in_words(error: click.BadParameter) -> str:
    """Return the message of a fault; of a number that is none, or out of its range, with what was
    found and what is expected."""
    kind = None if error.param is None else error.param.type
    match = _NO_NUMBER.fullmatch(error.message)
    if match is None or not isinstance(kind, click.IntRange | click.FloatRange):
        return error.message
    noun = "a whole number" if isinstance(kind, click.IntRange) else "a number"
    ends = [
        f"{word}{end:,}"
        for word, end in (
            ("above " if kind.min_open else "at least ", kind.min),
            ("below " if kind.max_open else "at most ", kind.max),
        )
        if end is not None
    ]
    range_ = f", {' and '.join(ends)}" if ends else ""
    return f"found {match['value']}; expected {noun}{range_}"


class _Exemplified(click.Command):
    """A command, or a group, whose help has an example."""

    def __init__(self, *args: Any, example: str = "", **settings: Any) -> None:
        """Make the command. `example`: what follows the command's name in the example of its
        help."""
        super().__init__(*args, **settings)
        self.example = example

    def make_context(self, *args: Any, **settings: Any) -> click.Context:
        """Return the context. Raises click.UsageError: an argument is wrong."""
        try:
            return super().make_context(*args, **settings)
        except click.BadParameter as error:
            if (text := _in_words(error)) == error.message:
                raise
            raise click.BadParameter(text, error.ctx, error.param, error.param_hint) from None

    def get_help(self, ctx: click.Context) -> str:
        """Return the help, with the hyphens that a shell takes."""
        return super().get_help(ctx).replace(_HYPHEN, "-")

    def _text(self, ctx: click.Context) -> str:
        return inspect.cleandoc(self.help or "")

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write what the command does, and the example."""
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(self._text(ctx))
        with formatter.section("Example"):
            indent = " " * formatter.current_indent
            formatter.write(f"{indent}{ctx.command_path} {self.example}".rstrip() + "\n")


class PanelCommand(_Exemplified):
    """A command whose help has its options in sections, and an option that shows everything."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self._judges = {"--panel", "--model"} <= {param.opts[0] for param in self.params}
        options = [param for param in self.params if isinstance(param, click.Option)]
        n_hidden = sum(option.hidden for option in options)
        if n_hidden or any(_is_cut(text) for text in (self.help, *(o.help for o in options))):
            named = f"{n_hidden} option{'s' if n_hidden > 1 else ''}"
            more = f"with the {named} that few need" if n_hidden else "in full"
            self.params.append(
                click.Option(
                    ["--help-all"],
                    is_flag=True,
                    is_eager=True,
                    expose_value=False,
                    callback=_show_all,
                    help=f"Show this message {more}.",
                )
            )

    def _text(self, ctx: click.Context) -> str:
        text = super()._text(ctx)
        return text if ctx.meta.get(ALL) else text.partition("\n\n")[0]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, section by section."""
        records: dict[str, list[tuple[str, str]]] = {section: [] for section in _SECTIONS}
        for param, (names, text) in _records(self.get_params(ctx), ctx):
            # A name that is broken at a hyphen cannot be searched for or copied.
            records[self._section(param)].append((names, text.replace("-", _HYPHEN)))
        for section, lines in records.items():
            if lines:
                with formatter.section(section):
                    formatter.write_dl(lines, col_max=_WIDTH)

    def _section(self, option: click.Option) -> str:
        if not self._judges:
            return _SECTION_OF.get(option.opts[-1], _OWN)
        own = getattr(option, "section", _JUDGED)
        return _SECTION_BESIDE_A_PANEL.get(option.opts[-1], own)


class PanelGroup(_Exemplified, click.Group):
    """A group of such commands."""

    command_class = PanelCommand


def _show_all(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        ctx.meta[ALL] = True
        click.echo(ctx.get_help())
        ctx.exit()


def _records(
    params: list[click.Parameter], ctx: click.Context
) -> Iterator[tuple[click.Option, tuple[str, str]]]:
    """Yield the options that help has, each with its names and its text."""
    everything = ctx.meta.get(ALL, False)
    for param in params:
        if not isinstance(param, click.Option) or (param.hidden and not everything):
            continue
        shown = copy(param)
        shown.hidden = False
        names, text = shown.get_help_record(ctx) or ("", "")
        yield param, (names, text if everything else _short(text))


def _is_cut(text: str | None) -> bool:
    """Return whether the short help leaves something of a text out."""
    return "\n\n" in (text or "") or _SENTENCE_END.search(text or "") is not None


def _short(text: str) -> str:
    """Return the first sentence of an option's text, with its default."""
    whole = _EXTRA.sub("", text)
    sentence = _SENTENCE_END.split(whole, maxsplit=1)[0]
    if sentence != whole:
        sentence += "."
    extras = [part for extra in _EXTRA.findall(text) for part in extra.split("; ")]
    kept = [part for part in extras if part.startswith(("default:", "required"))]
    return f"{sentence}  [{'; '.join(kept)}]" if kept else sentence
