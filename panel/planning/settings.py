"""The settings of a panel, each declared once.

A field of `PanelFile` is a key of panel files and, with its description, default and range, a row
of the table in the documentation and an option of the commands that run a panel. One of
`PanelSettings` is a keyword of `Panel`, too, and, unless it is excluded, an entry of run.json that
makes a run what it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, TypedDict, Union, get_args, get_origin

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, field_validator
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

import persona_panel.personas as persona_library
import persona_panel.rubrics as rubric_library
from persona_panel.files.errors import ConfigurationError
from persona_panel.files.wording import did_you_mean, explain
from persona_panel.graphs.deliberation import Deliberation, stopping_rule_names
from persona_panel.models.config import ModelConfig, known_elicitation
from persona_panel.rubrics import JudgePrompt, Layout, elicitation_names
from persona_panel.rubrics.instructions import ENGLISH

DEFAULT_MODEL = "local:smollm2-135m"


@dataclass(frozen=True, slots=True)
class CommandOption:
    """The name and description of a setting where those of its field do not serve.

    Attributes:
        name: of the option, or "" for the field's name with hyphens; None, there is no option.
        metavar: what stands for the value in help.
        default: what holds where nothing is set, in words.
        help: the description of the option.
        values: a function that returns its possible values, which other packages add to.
        hidden: whether help leaves it out unless everything is asked for.
        parts: as these, of the fields of a setting that has fields of its own.
    """

    name: str | None = ""
    metavar: str | None = None
    default: str = ""
    help: str = ""
    values: Callable[[], Sequence[str]] | None = None
    hidden: bool = False
    parts: Mapping[str, CommandOption] | None = None


class PanelSettings(BaseModel):
    """The settings of a panel's judges, whoever they are and whatever they are asked."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, hide_input_in_errors=True, defer_build=True
    )

    elicitation: Annotated[
        str | None,
        CommandOption(
            metavar="NAME",
            values=elicitation_names,
            default="by the model",
        ),
    ] = Field(
        default=None,
        exclude=True,
        description="How ratings are elicited. Unless set, local: models are asked by expected, "
        "all others by dimensions.",
    )
    prompt: Annotated[
        str | Path | JudgePrompt | None, CommandOption(metavar="FILE", hidden=True)
    ] = Field(
        default=None,
        exclude=True,
        title="prompt of one's own",
        description="Ask in the words of a YAML file, as they stand, and read the answer by its "
        "rule.",
    )
    layout: Annotated[Layout, CommandOption(metavar="NAME", hidden=True)] = Field(
        default="shared-prefix",
        title="layout of the prompts",
        description="What a prompt begins with: shared-prefix, the rubric and the response, which "
        "all judges share; or persona-first.",
    )
    language: Annotated[str | None, CommandOption(metavar="NAME", default="en")] = Field(
        default=None,
        exclude=True,
        description="Language in which judges are asked. One of `library languages`, whose "
        "translations are not validated, or a YAML file of your own; that of the rubric unless "
        "set.",
    )
    replicates: Annotated[int, CommandOption(metavar="K")] = Field(
        default=1,
        ge=1,
        description="Ask every judge K times. Each replicate counts as an annotator. Replicates at "
        "temperature 0 are nearly identical.",
    )
    plain_judge: bool = Field(
        default=False,
        description="Score with a judge without a persona, too. It is asked as often as all "
        "personas together, or once where models give the same answer every time: `agree` and "
        "`people correlate` then report what personas add. It enters neither verdicts nor "
        "rankings.",
    )
    one_dimension_per_call: Annotated[bool, CommandOption(hidden=True)] = Field(
        default=False,
        description="Ask for each dimension of the rubric in a call of its own, so that the judge "
        "does not see the others: as many calls as dimensions.",
    )
    deliberation: Annotated[
        Deliberation | None,
        CommandOption(
            parts={
                "rounds": CommandOption("--deliberate", metavar="N"),
                "reveal": CommandOption(hidden=True),
                "stop_when": CommandOption(metavar="RULE", values=stopping_rule_names, hidden=True),
                "spread_above": CommandOption("--deliberate-when", metavar="spread>S", hidden=True),
                "named": CommandOption("--name-peers", hidden=True),
            }
        ),
    ] = Field(
        default=None,
        description="Let judges deliberate: each sees the ratings of the others and may revise its "
        "own.",
    )
    seed: Annotated[int, CommandOption(None)] = Field(
        default=0,
        ge=0,
        description="Seed of the resampling behind intervals, and of orders that are drawn.",
    )
    concurrency: Annotated[
        int | None,
        CommandOption(metavar="N", default="adapted to the provider's limits", hidden=True),
    ] = Field(
        default=None,
        ge=1,
        exclude=True,
        description="Maximum number of concurrent calls to each model that sets no limit itself.",
    )
    patience: Annotated[
        float | None, CommandOption(metavar="SECONDS", default="120", hidden=True)
    ] = Field(
        default=None,
        ge=0,
        allow_inf_nan=False,
        exclude=True,
        description="How long to go on calling a model while all of its calls fail, unless it says "
        "so itself in a panel file; the other models continue.",
    )

    _elicitation = field_validator("elicitation")(known_elicitation)

    @classmethod
    def of(cls, keywords: Mapping[str, Any]) -> PanelSettings:
        """Return settings from keywords, of which None says nothing.

        Raises:
            ConfigurationError: a value is none of its setting's; names each.
            TypeError: there is no such setting.
        """
        for name in keywords:
            if name not in cls.model_fields:
                hint = did_you_mean(name, cls.model_fields)
                raise TypeError(f"a panel has no setting {name!r}{hint}")
        try:
            return cls.model_validate(
                {name: value for name, value in keywords.items() if value is not None}
            )
        except ValidationError as error:
            wrong = (
                f"{'.'.join(map(str, fault['loc']))}: found {actual}; expected {expected}"
                for fault in error.errors()
                for actual, expected in [explain(fault)]
            )
            raise ConfigurationError("\n".join(wrong)) from None


class PanelKeywords(TypedDict, total=False):
    """The fields of `PanelSettings` as keywords, for type checkers; None says nothing."""

    elicitation: str | None
    prompt: str | Path | JudgePrompt | None
    layout: Layout | None
    language: str | None
    replicates: int | None
    plain_judge: bool | None
    one_dimension_per_call: bool | None
    deliberation: Deliberation | None
    seed: int | None
    concurrency: int | None
    patience: float | None


class PanelOverrides(PanelKeywords, total=False):
    """Parts of a panel file that are replaced; None and what is left out replace nothing, and False
    replaces True.

    personas, rubric: from the library by name, or the path of a YAML file.
    models: specs, or names of the file's own models, which keep their settings.
    options: of every model, in place of its own of the same names.
    elicitation: of every model, also of one that has its own in the file.
    """

    personas: str | None
    rubric: str | None
    models: Sequence[str] | None
    options: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting as commands and the documentation show it. `path`: its name, behind that of the
    setting whose part it is; `field`: its declaration; `option`: how a command calls it."""

    path: tuple[str, ...]
    field: FieldInfo
    option: CommandOption

    @property
    def name(self) -> str:
        """Return the setting's own name."""
        return self.path[-1]

    @property
    def option_name(self) -> str:
        """Return the name of the setting's option."""
        return self.option.name or f"--{self.name.replace('_', '-')}"

    @property
    def words(self) -> str:
        """Return the setting's name in words."""
        return self.field.title or self.name.replace("_", " ")

    @property
    def type(self) -> Any:
        """Return the type of a value, None left out."""
        kinds = [kind for kind in get_args(self.field.annotation) if kind is not NoneType]
        optional = get_origin(self.field.annotation) in (Union, UnionType)
        return kinds[0] if optional else self.field.annotation

    @property
    def description(self) -> str:
        """Return the description, with the possible values where other packages add to them."""
        values = self.option.values
        return f"{self.field.description}" + (
            f" One of {', '.join(values())}." if values is not None else ""
        )

    @property
    def default(self) -> str:
        """Return the default in words; "" where there is none to state."""
        value = self.field.get_default()
        known = value is not PydanticUndefined and value is not None and value is not False
        return self.option.default or (str(value) if known else "")

    @property
    def parts(self) -> list[Setting]:
        """Return the setting's own fields, if any."""
        if self.option.parts is None:
            return []
        fields: Mapping[str, FieldInfo] = self.type.model_fields
        return [
            Setting((*self.path, name), field, self.option.parts.get(name, CommandOption()))
            for name, field in fields.items()
        ]


def declared_settings() -> list[Setting]:
    """Return the settings of a panel, those first that a file alone has."""
    own = PanelFile.model_fields.keys() - PanelSettings.model_fields.keys()
    fields = sorted(PanelFile.model_fields.items(), key=lambda item: item[0] not in own)
    return [
        Setting(
            (name,),
            field,
            next(
                (option for option in field.metadata if isinstance(option, CommandOption)),
                CommandOption(),
            ),
        )
        for name, field in fields
    ]


def recorded_settings(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings in a run.json that make a run what it is, with the defaults of those that
    are younger than it."""
    defaults = PanelSettings().model_dump(mode="json")
    kept = {name: document[name] for name in defaults if name in document}
    try:
        return PanelSettings.model_validate(kept).model_dump(mode="json")
    except ValidationError:
        # A rule that is not installed here, or a hand's change.
        return {**defaults, **kept}


def recorded_language(document: Mapping[str, Any]) -> str:
    """Return the English name of the language in which the judges of a run.json were asked."""
    match document:
        case {"rubric": {"translation": {"name": name}}}:
            return str(name)
    return ENGLISH.name


def _as_mapping(value: Any) -> Any:
    return {"model": value} if isinstance(value, str) else value


def _known(value: str, shipped: Mapping[str, Path]) -> str:
    """Return a name from a library, or what looks like the path of a YAML file."""
    if value in shipped or value.endswith((".yaml", ".yml")):
        return value
    hint = did_you_mean(value, shipped)
    raise ValueError(f"{value!r}; one of {', '.join(shipped)}{hint}, or the path of a .yaml file")


def split_variant(name: str) -> tuple[str, str | None]:
    """Return a rubric's name or path, and the variant that is named behind a colon.

    >>> split_variant("argument-quality:novice")
    ('argument-quality', 'novice')
    """
    before, colon, behind = name.rpartition(":")
    try:
        whole = not colon or "/" in behind or Path(name).is_file()
    except OSError:  # longer than the name of a file may be
        whole = False
    return (name, None) if whole else (before, behind)


class PanelFile(PanelSettings):
    """A panel as YAML: personas that judge, by which models, with which rubric, and its settings.

    `personas` and `rubric` are names from the libraries or paths, relative to the file. A model is
    its spec alone, or a mapping with its limits.
    """

    personas: Annotated[str, CommandOption(metavar="NAME|FILE")] = Field(
        default="perspectives",
        description="Personas that judge: a set's name, a YAML file, or none. With none, a judge "
        "has no persona.",
    )
    rubric: Annotated[str, CommandOption(metavar="NAME|FILE")] = Field(
        default="scrub",
        description="Rubric: its name, or a YAML file. With :VARIANT behind it, in other "
        "guidelines.",
    )
    models: Annotated[
        tuple[Annotated[ModelConfig, BeforeValidator(_as_mapping)], ...],
        CommandOption(
            "--model",
            metavar="SPEC",
            default=DEFAULT_MODEL,
            help="Model of the judges, provider:name; repeatable. Or the name of a model in the "
            "panel file, whose settings it keeps.",
        ),
    ] = Field(
        min_length=1,
        description="The models of the judges: a list; each a provider:name, or a mapping (below).",
    )
    columns: Annotated[Mapping[str, str], CommandOption(None)] = Field(
        default={},
        description="Columns of the responses under other names, as --map has them: a mapping, "
        "such as {prompt: question, response: answer}. Fields of --map replace its own.",
    )

    @field_validator("personas")
    @classmethod
    def _known_personas(cls, value: str) -> str:
        return _known(value, persona_library.shipped())

    @field_validator("rubric")
    @classmethod
    def _known_rubric(cls, value: str) -> str:
        name, _ = split_variant(value)
        _known(name, rubric_library.shipped())
        return value
