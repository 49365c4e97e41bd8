"""Panels that differ from one in a setting each, as an ablation compares them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import NoneType
from typing import TYPE_CHECKING, Any, TypeVar, get_args

from persona_panel.files.definitions import load_definition, resolve
from persona_panel.files.errors import ConfigurationError, InputError
from persona_panel.files.wording import did_you_mean
from persona_panel.graphs.deliberation import Deliberation
from persona_panel.graphs.records import controls_among
from persona_panel.models.config import ModelConfig
from persona_panel.personas import NO_PERSONA
from persona_panel.planning.settings import PanelFile, Setting, declared_settings, split_variant
from persona_panel.rubrics import Rubric, load_elicitation, shipped

if TYPE_CHECKING:
    from persona_panel.planning.panel_plan import PanelPlan

BASE = "base"
"""The panel with which the others are compared."""


Arguments = Mapping[str, Any]
"""Arguments of `PanelPlan.of`; models are specs or `ModelConfig`s."""


def _no_values(base: PanelPlan, arguments: Arguments) -> Sequence[str]:
    return ()


def _no_change(value: str, base: PanelPlan, arguments: Arguments) -> Arguments:
    return {}


@dataclass(frozen=True, slots=True)
class Variation:
    """Values to which an ablation varies a setting; by its type where nothing is said. The
    functions take the base and the arguments of which it was made.

    Attributes:
        values: which there are, in words.
        usual: returns those that are meant where none is named.
        change: returns the arguments that a value, the first, stands for. Raises
            ConfigurationError: it stands for none.
    """

    values: str = ""
    usual: Callable[[PanelPlan, Arguments], Sequence[str]] = _no_values
    change: Callable[[str, PanelPlan, Arguments], Arguments] = _no_change


def _asked_by(elicitation: str | None, arguments: Arguments) -> Arguments:
    """Return the change to an elicitation of all models, None for that of each model."""
    models = [
        model.model_copy(update={"elicitation": None}) if isinstance(model, ModelConfig) else model
        for model in arguments["models"]
    ]
    return {"elicitation": elicitation, "models": models}


def _by_elicitation(value: str, base: PanelPlan, arguments: Arguments) -> Arguments:
    return _asked_by(None if value == "none" else value, arguments)


def _gives_reasons(base: PanelPlan) -> bool:
    return all(load_elicitation(model.elicitation).GIVES_REASONS for model in base.models)


def _with_reasons(value: str, base: PanelPlan, arguments: Arguments) -> Arguments:
    if value not in ("yes", "none"):
        raise ConfigurationError(f"found {value!r}; expected yes or none")
    if _gives_reasons(base) == (value == "yes"):
        return {}
    return _asked_by("justified" if value == "yes" else "dimensions", arguments)


def _rubric_of(arguments: Arguments) -> str:
    return split_variant(str(arguments.get("rubric", PanelFile.model_fields["rubric"].default)))[0]


def _usual_guidelines(_: PanelPlan, arguments: Arguments) -> Sequence[str]:
    path = resolve(_rubric_of(arguments), shipped(), "rubric")
    return [*load_definition(path, Rubric).variants, "none"]


def _with_guidelines(value: str, base: PanelPlan, arguments: Arguments) -> Arguments:
    if value == "none":
        return _asked_by("unguided", arguments)
    return {"rubric": f"{_rubric_of(arguments)}:{value}"}


def _with_personas(value: str, base: PanelPlan, _: Arguments) -> Arguments:
    if value != "none":
        return {"personas": value}
    from persona_panel.planning.panel_plan import refuse_mixed_repeats

    refuse_mixed_repeats(base.models)
    # One judgment beside several would be compared for their number, unless another is the same.
    judges = len(base.judges) - len(controls_among(base.judges))
    replicates = 1 if base.is_deterministic else judges // len(base.models)
    return {"personas": value, "plain_judge": False, "replicates": replicates}


def _at_temperature(value: str, _: PanelPlan, arguments: Arguments) -> Arguments:
    from persona_panel.planning.definitions import configured

    degree = _number(float, value, "a temperature, such as 0.7")
    return {"models": [configured(each, {"temperature": degree}) for each in arguments["models"]]}


def _by_models(value: str, base: PanelPlan, arguments: Arguments) -> Arguments:
    own = {model.id: config
           for model, config in zip(base.models, arguments["models"], strict=True)}  # fmt: skip
    return {"models": [own.get(name, name) for name in value.split("+")]}


def _deliberating(value: str, base: PanelPlan, _: Arguments) -> Arguments:
    rounds = 0 if value == "none" else _number(int, value, "a number of rounds or none")
    rules = dict(base.settings.deliberation or {})
    return {"deliberation": Deliberation(**rules | {"rounds": rounds}) if rounds else None}


_Number = TypeVar("_Number", int, float)


def _number(kind: Callable[[str], _Number], value: str, expected: str) -> _Number:
    try:
        return kind(value)
    except ValueError:
        raise ConfigurationError(f"found {value!r}; expected {expected}") from None


_VARIATIONS = {
    "reasoning": Variation(
        "yes or none",
        lambda base, _: ["none" if _gives_reasons(base) else "yes"],
        _with_reasons,
    ),
    "guidelines": Variation("a variant of the rubric or none", _usual_guidelines, _with_guidelines),
    "temperature": Variation("X", change=_at_temperature),
    "personas": Variation(
        "none or a set",
        lambda base, _: [] if base.personas == (NO_PERSONA,) else ["none"],
        _with_personas,
    ),
    "rubric": Variation("a name"),
    "models": Variation(
        "one or several by +",
        lambda base, _: [] if len(base.models) < 2 else [each.id for each in base.models],
        _by_models,
    ),
    "elicitation": Variation(change=_by_elicitation),
    "prompt": Variation("a file"),
    "language": Variation("a name"),
    "replicates": Variation("K"),
    "deliberation": Variation("N rounds", change=_deliberating),
}
"""Settings that vary to more than the values of their type, and what papers vary that is no setting
by its name."""
_NOT_VARIED = ("columns", "seed", "concurrency", "patience")


def _of(setting: Setting) -> Variation:
    """Return what a setting is varied to: by its type, as far as nothing else is declared."""
    own = _VARIATIONS.get(setting.name) or Variation()
    kinds, values = [str(kind) for kind in get_args(setting.type)], setting.option.values
    if setting.type is bool:
        kinds = ["true", "false"]
    optional = NoneType in get_args(setting.field.annotation)
    words = own.values or " or ".join(values() if values else kinds)

    def usual(base: PanelPlan, _: Arguments) -> Sequence[str]:
        now = str(getattr(base.settings, setting.name, None))
        return [kind for kind in kinds if kind != (now.lower() if setting.type is bool else now)]

    def change(value: str, base: PanelPlan, arguments: Arguments) -> Arguments:
        return {setting.name: None if optional and value == "none" else value}

    return Variation(
        f"{words} or none" if optional else words,
        usual if own.usual is _no_values else own.usual,
        change if own.change is _no_change else own.change,
    )


def varied_settings() -> dict[str, Variation]:
    """Return what an ablation may vary: what papers vary that is no setting by its name, and the
    settings of a panel."""
    settings = {each.name: each for each in declared_settings() if each.name not in _NOT_VARIED}
    own = {name: each for name, each in _VARIATIONS.items() if name not in settings}
    return own | {name: _of(each) for name, each in settings.items()}


def varied_panels(settings: Mapping[str, Any], vary: Sequence[str]) -> dict[str, PanelPlan]:
    """Return a panel as `base`, and panels that differ from it in one thing each, as `NAME=VALUE`.

    Args:
        settings: of the base, the arguments of `PanelPlan.of`; models are specs or `ModelConfig`s.
        vary: names joined by commas (`reasoning,personas`), of which the usual values are taken, or
            a name with its values (`replicates=3,5`). A name is a setting's, `temperature`,
            `reasoning` (`yes`, reasons before ratings, or `none`) or `guidelines` (a variant of the
            rubric, or `none`, no rubric).

    Raises:
        ConfigurationError: there is no such setting, one has no usual value, nothing differs from
            the base, or a panel cannot be; lists every fault.
    """
    from persona_panel.planning.panel_plan import PanelPlan, manifest_of

    base = PanelPlan.of(**settings)
    panels, faults = {BASE: base}, []
    for field, variation, values in _named(vary):
        values = values or variation.usual(base, settings)
        if not values:
            raise ConfigurationError(f"--vary {field} needs values: --vary {field}=VALUE,VALUE")
        for value in values:
            name = f"{field}={value}"
            try:
                plan = PanelPlan.of(**{**settings, **variation.change(value, base, settings)})
            except (ConfigurationError, InputError, ValueError) as error:
                faults.append(f"--vary {name}: {error}")
                continue
            if all(manifest_of(plan) != manifest_of(other) for other in panels.values()):
                panels[name] = plan
    if faults:
        raise ConfigurationError("\n".join(faults))
    if len(panels) == 1:
        raise ConfigurationError(
            f"--vary {' '.join(vary)} changes nothing: the panel has these values already"
        )
    return panels


def _named(vary: Sequence[str]) -> list[tuple[str, Variation, Sequence[str]]]:
    """Return what is varied, with its values, none where the usual ones are meant."""
    named = []
    for text in vary:
        field, has_values, values = text.partition("=")
        those = [each.strip() for each in values.split(",") if each.strip()] if has_values else []
        named += [(each, those) for each in ([field] if has_values else field.split(","))]
    known = varied_settings()
    named = [(field.strip().replace("-", "_"), values) for field, values in named]
    for field, _ in named:
        if field not in known:
            raise ConfigurationError(
                f"--vary: nothing is called {field!r}{did_you_mean(field, known)}; one of "
                f"{', '.join(known)}"
            )
    return [(field, known[field], values) for field, values in named]
