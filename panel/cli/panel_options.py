"""Options for which panel judges and how: one for each setting, made of the field that declares it
(`persona_panel.planning.settings`)."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast, get_args, get_origin

import click

from persona_panel.cli.help import HOW
from persona_panel.cli.options import Command, model_options, option, with_parameters
from persona_panel.planning.settings import DEFAULT_MODEL, Setting, declared_settings

if TYPE_CHECKING:
    from persona_panel.panel import Panel
    from persona_panel.planning.settings import PanelOverrides


class SettingOption(click.Option):
    """The option of a setting, None where it is left out, so that a panel file's value holds.
    `only_off`: the option only switches it off."""

    section = HOW

    def __init__(self, setting: Setting, *, only_off: bool = False) -> None:
        self.setting = setting
        option, kind = setting.option, setting.type
        name = setting.option_name
        off = f"--no-{name.removeprefix('--')}"
        more: dict[str, Any] = {"help": option.help or setting.description}
        if only_off:
            name = off
            more = {"flag_value": False, "help": f"Leave out the {setting.words} of a panel file."}
        elif kind is bool and len(setting.path) > 1:
            more["flag_value"] = True
        elif kind is bool:
            name = f"{name}/{off}"
        elif setting.name in _PARSERS:
            more["callback"] = _PARSERS[setting.name]
        else:
            more |= {"type": _type_of(setting), "multiple": get_origin(kind) is tuple}
        super().__init__(
            ["_".join(setting.path), name],
            metavar=option.metavar,
            # What only a panel file switches on, few switch off.
            hidden=option.hidden or only_off,
            default=None,
            **more,
        )

    def get_help_extra(self, ctx: click.Context) -> Any:
        """Return click's, with the default in words."""
        default = self.setting.default
        return super().get_help_extra(ctx) | ({"default": default} if default else {})


def _type_of(setting: Setting) -> Any:
    """Return click's type of a setting's value."""
    kind, values = setting.type, setting.option.values
    if values is not None:
        return click.Choice(values())
    if get_origin(kind) is Literal:
        return click.Choice(get_args(kind))
    least, most = (
        next((getattr(each, end) for each in setting.field.metadata if hasattr(each, end)), None)
        for end in ("ge", "le")
    )
    if kind is int:
        return click.IntRange(least, most)
    return click.FloatRange(least, most) if kind is float else None


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


_PARSERS = {"spread_above": _threshold}
"""Settings that an option takes in another form than a panel file."""


def patience_option(command: Command) -> Command:
    """The option for how long a server is tried; the command is given it as `patience`."""
    [patience] = (setting for setting in declared_settings() if setting.name == "patience")
    return with_parameters(SettingOption(patience))(command)


@dataclass(frozen=True, slots=True)
class PanelOptions:
    """The panel that a command line asks for. `panel_file`: its file, None where there is none;
    `settings`: what it says beside the file, or without one."""

    panel_file: str | None
    settings: PanelOverrides

    @property
    def inputs(self) -> tuple[str | None, ...]:
        """Return the settings that may be names of files: panel, personas, rubric, prompt and
        language."""
        from persona_panel.planning.settings import split_variant

        own = self.settings
        rubric, prompt = own.get("rubric"), own.get("prompt")
        rubric_file = rubric and split_variant(rubric)[0]
        prompt_file = None if prompt is None else str(prompt)
        return self.panel_file, own.get("personas"), rubric_file, prompt_file, own.get("language")

    def columns(self, mapping: Mapping[str, str]) -> Mapping[str, str]:
        """Return the columns of the responses by field: as the panel file has them, and for the
        fields of --map as that has them. Raises InputError: the file cannot be read."""
        from persona_panel.files.definitions import load_definition
        from persona_panel.files.records import GivenMapping
        from persona_panel.files.responses import FIELDS
        from persona_panel.planning.settings import PanelFile

        if not self.panel_file:
            return mapping
        columns = load_definition(Path(self.panel_file), PanelFile).columns
        field_of = FIELDS.field_of
        replaced = {field_of.get(name, name) for name in mapping}
        kept = {
            name: column
            for name, column in columns.items()
            if field_of.get(name, name) not in replaced
        }
        places = dict.fromkeys(kept, f"columns in {self.panel_file}:")
        return GivenMapping({**kept, **mapping}, "--map", places)

    def panel(self) -> Panel:
        """Return the panel of these options. Raises PanelError: it cannot be had."""
        from persona_panel.panel import Panel

        return Panel(**self.arguments())

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of that panel. Raises PanelError: its file cannot be read, or a
        model is none."""
        from persona_panel.planning.definitions import configured, file_settings

        if self.panel_file:
            return file_settings(Path(self.panel_file), self.settings)
        settings: dict[str, Any] = dict(self.settings)
        options, models = settings.pop("options"), settings.pop("models", (DEFAULT_MODEL,))
        return settings | {"models": [configured(spec, options) for spec in models]}


def panel_options(
    *, without: Collection[str] = (), only_off: Collection[str] = ()
) -> Callable[[Command], Command]:
    """Options for which panel judges; the command is given them as `panel_options`. `without`:
    settings that the command has no options for; `only_off`: settings that it can only switch
    off."""
    declared = [setting for setting in declared_settings() if setting.name not in without]
    options = [
        SettingOption(setting, only_off=setting.name in only_off)
        for outer in declared
        for setting in (outer.parts or [outer])
        if setting.option.name is not None
    ]

    def decorate(command: Command) -> Command:
        @option(
            "--panel",
            "panel_file",
            metavar="PANEL.yaml",
            help="A panel file, as `init` writes it. Other options override what it says, and the "
            "log says so.",
        )
        @with_parameters(*options)
        @model_options
        @wraps(command)
        def with_panel(
            *args: Any, panel_file: str | None, model_options: Mapping[str, Any], **others: Any
        ) -> Any:
            values = {each.setting.path: others.pop(str(each.name)) for each in options}
            settings = {"options": model_options} | {
                setting.name: _value(setting, values, options) for setting in declared
            }
            chosen_settings = {
                name: value for name, value in settings.items() if value not in (None, ())
            }
            chosen = PanelOptions(panel_file, cast("PanelOverrides", chosen_settings))
            return command(*args, panel_options=chosen, **others)

        return with_panel

    return decorate


def _value(
    setting: Setting, values: Mapping[tuple[str, ...], Any], options: Sequence[SettingOption]
) -> Any:
    """A setting as its options say it, None where none of them is there."""
    if not setting.parts:
        return values.get(setting.path)
    parts = {
        part.name: values[part.path] for part in setting.parts if values[part.path] is not None
    }
    needed = [part.path for part in setting.parts if part.field.is_required()]
    if parts and any(values[path] is None for path in needed):
        names = [each.opts[0] for each in options if each.setting.path[0] == setting.name]
        switch, *others = names
        raise click.UsageError(
            f"{', '.join(others[:-1])} and {others[-1]} work only with {switch}: add {switch} N, "
            "or leave them out."
        )
    return setting.type(**parts) if parts else None
