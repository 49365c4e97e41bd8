"""The help of commands that run a panel: options in sections, and those that few need left out
unless all are asked for."""

from __future__ import annotations

from typing import Any

import click

from persona_panel.cli.panel_options import SettingOption

_HOW = "How they judge"
_SECTIONS = {
    "What is judged": (),
    "Who judges": ("--panel", "--personas", "--rubric", "--model", "--option"),
    _HOW: (),
    "Limits and cost": (
        "--dry-run", "--max-usd", "--max-calls", "--max-tokens", "--concurrency", "--patience",
        "--batch", "--batch-out", "--batch-in", "--engine", "--workers", "--engine-option",
    ),
    "Output": (
        "--out", "--overwrite", "--no-texts", "--no-report", "--by", "--random", "--human",
        "--map-human", "--human-scale", "--allow-unmatched", "--format", "--json", "--csv",
        "--latex", "--full", "--plot", "--require", "--require-point", "--junit", "--markdown",
    ),
    "Help": ("--help-all", "--help"),
}  # fmt: skip
"""The options of each section. The first has those that are in none: they are the command's own;
other settings of the panel are how it judges."""
_SECTION_OF = {name: section for section, names in _SECTIONS.items() for name in names}
_WIDTH = 22
_HYPHEN = "\N{NON-BREAKING HYPHEN}"
_RARE = frozenset(
    {
        "--human", "--map-human", "--human-scale", "--allow-unmatched", "--no-report",
        "--max-calls", "--max-tokens", "--batch-out", "--batch-in", "--engine", "--workers",
        "--engine-option", "--require-point", "--junit", "--markdown",
    }
)  # fmt: skip
"""Options that few need, beside the settings that say so themselves."""


class SectionedCommand(click.Command):
    """A command whose help has its options in sections, and an option that shows them all."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        for param in self.params:
            if isinstance(param, click.Option) and param.opts[-1] in _RARE:
                param.hidden = True
        self._rare = [
            param for param in self.params if isinstance(param, click.Option) and param.hidden
        ]
        self.params.append(
            click.Option(
                ["--help-all"],
                is_flag=True,
                is_eager=True,
                expose_value=False,
                callback=self._show_all,
                help=f"Show this message with the {len(self._rare)} options that few need.",
            )
        )

    def _show_all(self, ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
        if wanted and not ctx.resilient_parsing:
            for param in self._rare:
                param.hidden = False
            text = self.get_help(ctx)
            for param in self._rare:
                param.hidden = True
            click.echo(text)
            ctx.exit()

    def get_help(self, ctx: click.Context) -> str:
        """Return the help, with the hyphens that a shell takes."""
        return super().get_help(ctx).replace(_HYPHEN, "-")

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, section by section."""
        records: dict[str, list[tuple[str, str]]] = {section: [] for section in _SECTIONS}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is not None and isinstance(param, click.Option):
                own = _HOW if isinstance(param, SettingOption) else next(iter(_SECTIONS))
                # A name that is broken at a hyphen cannot be searched for or copied.
                names, text = record[0], record[1].replace("-", _HYPHEN)
                records[_SECTION_OF.get(param.opts[-1], own)].append((names, text))
        for section, lines in records.items():
            if lines:
                with formatter.section(section):
                    formatter.write_dl(lines, col_max=_WIDTH)
