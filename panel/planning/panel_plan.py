"""The panel plan: personas, rubric, models and rules of judging, as one value.

Every fault raises when the plan is made. A plan holds no open client and its pickle no secret, so
that it can be sent to another process, which judges in the same way.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from persona_panel.calls.cache import key_of
from persona_panel.files.errors import ConfigurationError
from persona_panel.files.outputs import version_of
from persona_panel.files.secrets import SECRETS
from persona_panel.graphs import Judge, Response
from persona_panel.graphs.deliberation import Deliberation, load_stopping_rule
from persona_panel.graphs.records import controls_among, judges_of
from persona_panel.models.config import Price, with_batches
from persona_panel.personas import NO_PERSONA, Persona, PersonaSet
from persona_panel.planning.bound_models import BoundModel, Models, bind_models, can_serve
from persona_panel.planning.definitions import (
    VERBATIM,
    file_settings,
    resolve_personas,
    resolve_rubric,
    with_plain_judge,
    with_template,
)
from persona_panel.planning.settings import DEFAULT_MODEL, PanelSettings
from persona_panel.rubrics import (
    CategoryScale,
    JudgePrompt,
    Rubric,
    elicitation_names,
    is_comparative,
    load_elicitation,
    single_dimension_rubrics,
)
from persona_panel.rubrics.extensions import ExtensionError
from persona_panel.statistics.core.display import Facts, counted, counted_beside, general

if TYPE_CHECKING:
    from typing import Unpack

    from persona_panel.graphs.judging import Builder
    from persona_panel.planning.settings import PanelKeywords, PanelOverrides


def counted_judges(judges: Iterable[Judge]) -> str:
    """Return in words how many judges a panel has, and how many controls without a persona beside
    them."""
    known = list(judges)
    n_plain = len(controls_among(known))
    return counted_beside(len(known) - n_plain, n_plain, "judge")


def output_rubric_of(models: Sequence[BoundModel], rubric: Rubric) -> Rubric:
    """Return the rubric in the form of these models' ratings: dimensions, on their scales. Raises
    ConfigurationError: they rate different dimensions, or on different scales. A mean of theirs
    would mix what cannot be compared; gaps would leave no composite."""
    by_elicitation = {
        bound.elicitation: load_elicitation(bound.elicitation).output_rubric(rubric)
        for bound in models
    }
    first = next(iter(by_elicitation.values()))
    if all(output_rubric == first for output_rubric in by_elicitation.values()):
        return first
    rated = "; ".join(
        f"{' and '.join(bound.id for bound in models if bound.elicitation == name)} by {name!r}, "
        f"which rates {_in_words(output_rubric)}"
        for name, output_rubric in by_elicitation.items()
    )
    raise ConfigurationError(
        f"the models of a panel must rate the same dimensions on the same scales, and these do "
        f"not: {rated}; run them as panels of their own"
    )


def _in_words(rubric: Rubric) -> str:
    """Return the dimensions with their scales, consecutive ones on the same scale together."""
    parts: list[str] = []
    for scale, group in groupby(rubric.dimensions, key=lambda dimension: dimension.scale):
        names = ", ".join(dimension.id for dimension in group)
        if isinstance(scale, CategoryScale):
            parts.append(f"{names} by {len(scale.names)} categories")
        else:
            parts.append(f"{names} from {general(scale.min)} to {general(scale.max)}")
    return " and ".join(parts)


def refuse_another_graph(graph: Builder, deliberation: Deliberation | None) -> None:
    """Refuse a graph that does not begin as `persona_panel.graphs.judging.builder` makes it. Raises
    ConfigurationError: it lacks a node without which a response is not judged, or the panel
    deliberates and it cannot."""
    wanted = ["read", "aggregate"] + (["confer"] if deliberation is not None else [])
    if missing := [name for name in wanted if name not in getattr(graph, "nodes", ())]:
        raise ConfigurationError(
            f"the panel's graph has no node {' and no node '.join(map(repr, missing))}; begin with "
            "persona_panel.graphs.judging.builder(), add nodes to what it gives, and do not "
            "compile it"
        )


def refuse_repeats(models: Sequence[BoundModel], replicates: int) -> None:
    """Refuse replicates of judges whose answers cannot differ. Raises ConfigurationError: a model
    would give the same answer each time."""
    if replicates == 1:
        return
    for bound in models:
        if bound.repeats:
            raise ConfigurationError(
                f"{bound.id} with the elicitation {bound.elicitation!r} gives the same answer "
                f"every time, so that {replicates} replicates would count one annotator "
                f"{replicates} times; leave replicates out, or set a temperature for the model "
                "in a panel file and use an elicitation that reads its text, such as "
                "'dimensions'"
            )


def refuse_mixed_repeats(models: Sequence[BoundModel]) -> None:
    """Refuse a plain judge by models of which some give the same answer each time, and others do
    not: it would be asked once by some and several times by others, whose ratings would then be of
    more weight. Raises ConfigurationError: there are such models."""
    if len({bound.is_deterministic for bound in models}) > 1:
        once = next(bound for bound in models if bound.is_deterministic)
        raise ConfigurationError(
            f"{once.id} by {once.elicitation!r} gives the same answer every time and other models "
            "do not, so that a plain judge would be asked once by one and several times by others; "
            "set a temperature above 0 for it in a panel file and use an elicitation that reads "
            "its text, such as 'dimensions', or score by one of them at a time"
        )


def refuse_undivided(models: Sequence[BoundModel], rubric: Rubric) -> None:
    """Refuse one dimension a call where an elicitation does not rate the rubric's dimensions.
    Raises ConfigurationError: a model's elicitation rates something else."""
    for bound in models:
        if not _rates_each_dimension(bound.elicitation, rubric):
            able = [
                repr(name)
                for name in elicitation_names()
                if can_serve(name, rubric) and _rates_each_dimension(name, rubric)
            ]
            raise ConfigurationError(
                f"one dimension per call does not work with the elicitation {bound.elicitation!r} "
                f"of {bound.id}, which weighs all dimensions together; use "
                f"{' or '.join(able)}, or leave it out (--no-one-dimension-per-call)"
            )


def _rates_each_dimension(elicitation: str, rubric: Rubric) -> bool:
    output_rubric = load_elicitation(elicitation).output_rubric(rubric)
    ids = [[dimension.id for dimension in asked.dimensions] for asked in (output_rubric, rubric)]
    return ids[0] == ids[1]


def refuse_unseen(
    template: JudgePrompt | None, models: Sequence[BoundModel], personas: Sequence[Persona]
) -> None:
    """Refuse a prompt in whose words nobody is asked, and personas that it does not show. Raises
    ConfigurationError: every judge would be asked otherwise, or all the same."""
    if template is None:
        return
    if all(bound.elicitation != VERBATIM for bound in models):
        named = ", ".join(sorted({repr(bound.elicitation) for bound in models}))
        raise ConfigurationError(
            f"a prompt of one's own is asked as it stands, and the elicitation {named} has words "
            "of its own; leave one of them out"
        )
    if not template.shows_persona and any(persona != NO_PERSONA for persona in personas):
        raise ConfigurationError(
            "the prompt has no field {persona}, so that every persona would be asked the same; "
            "choose no personas (--personas none), or write {persona} into it"
        )


def refuse_controls(judges: Sequence[Judge], what: str) -> None:
    """Refuse judges without a persona beside others, which do not go with `what`. Raises
    ConfigurationError: there is one."""
    if controls_among(judges):
        raise ConfigurationError(
            f"{what} is of one panel, and this one has a judge without a persona to be compared "
            "with; leave it out (--no-plain-judge, where a panel file has plain_judge: true), or "
            "run a panel of it alone (personas: none)"
        )


def refuse_missing_rationales(
    models: Sequence[BoundModel], deliberation: Deliberation | None
) -> None:
    """Refuse to reveal reasons in a deliberation where an elicitation gives none. Raises
    ConfigurationError: a model's elicitation gives none."""
    if deliberation is None or deliberation.reveal == "scores":
        return
    without = [bound for bound in models if not load_elicitation(bound.elicitation).GIVES_REASONS]
    if without:
        named = ", ".join(f"{bound.id} by {bound.elicitation!r}" for bound in without)
        raise ConfigurationError(
            f"deliberation cannot reveal {deliberation.reveal}: {named} gives no rationales; use "
            "the elicitation 'justified', or reveal scores"
        )


def refuse_broken_rule(deliberation: Deliberation | None) -> None:
    """Refuse a deliberation's stopping rule that is not available before the first call. Raises
    ConfigurationError: another package's cannot be imported, or is no rule."""
    if deliberation is None or deliberation.stop_when is None:
        return
    try:
        rule = load_stopping_rule(deliberation.stop_when)
    except ExtensionError as error:
        raise ConfigurationError(str(error)) from error
    if not callable(getattr(rule, "should_stop", None)):
        raise ConfigurationError(
            f"the stopping rule {deliberation.stop_when!r} has no function should_stop(judgments, "
            "rubric); name another in stop_when, or leave it out"
        )


def refuse_if_comparative(models: Sequence[BoundModel], what: str) -> None:
    """Refuse comparisons for `what`, which needs each response rated by itself. Raises
    ConfigurationError: a model's elicitation compares."""
    if comparing := [bound for bound in models if is_comparative(bound.elicitation)]:
        named = ", ".join(f"{bound.id} by {bound.elicitation!r}" for bound in comparing)
        raise ConfigurationError(
            f"{what} needs a rating of each response by itself, and this panel compares "
            f"responses ({named}); use another elicitation, such as 'dimensions'"
        )


@dataclass(frozen=True)
class PanelPlan:
    """The personas, models and rubric of a panel, and its rules of judging.

    Made by `PanelPlan.of` from names, files and objects, or by `PanelPlan.from_file`; what each
    part means is said there.

    Attributes:
        personas: those that judge, in order.
        rubric: what judges are asked.
        models: those through which each persona judges, in order.
        settings: how they judge. With `plain_judge`, `NO_PERSONA` is among the personas.
        graph: by which each response is judged, where it is not the usual one.

    Raises:
        ConfigurationError: models rate different dimensions, replicates would repeat
            themselves, or deliberation does not go with how models are asked.
    """

    personas: tuple[Persona, ...]
    rubric: Rubric
    models: tuple[BoundModel, ...]
    settings: PanelSettings = field(default_factory=PanelSettings)
    graph: Builder | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        settings, deliberation = self.settings, self.settings.deliberation
        # Cached from here on; that the models rate alike is checked by it.
        _ = self.output_rubric
        refuse_repeats(self.models, settings.replicates)
        if settings.one_dimension_per_call:
            refuse_undivided(self.models, self.rubric)
        if settings.plain_judge:
            refuse_mixed_repeats(self.models)
        refuse_missing_rationales(self.models, deliberation)
        refuse_broken_rule(deliberation)
        if deliberation is not None:
            refuse_if_comparative(self.models, "deliberation")
            refuse_controls(self.judges, "deliberation")
        if self.graph is not None:
            refuse_if_comparative(self.models, "a graph of one's own")
            refuse_another_graph(self.graph, deliberation)

    @classmethod
    def of(
        cls,
        personas: str | Path | PersonaSet | Sequence[Persona] = "perspectives",
        models: Models = DEFAULT_MODEL,
        rubric: str | Path | Rubric = "scrub",
        *,
        graph: Builder | None = None,
        **settings: Unpack[PanelKeywords],
    ) -> PanelPlan:
        """Make a plan from names, files and objects.

        Args:
            personas: a set from the library by name, the path of a YAML file, a
                `PersonaSet`, or personas. `none`, or `NO_PERSONA` among them, is a judge without
                a persona; beside others it is compared with them and enters no verdict.
            models: specs (`provider:name`), `ModelConfig`s, or LangChain chat models.
            rubric: from the library by name, the path of a YAML file, or a `Rubric`; a name or
                path with `:variant` behind it is one of its variants.
            graph: the graph by which each response is judged, not compiled: that of
                `persona_panel.graphs.judging.builder` with nodes of one's own.
            settings: the fields of `PanelSettings`, which says what each is and its default.

        Raises:
            ConfigurationError: a setting is out of its range, a model cannot be had (says what is
                missing), an elicitation cannot serve the rubric, models rate different dimensions,
                replicates would repeat themselves, deliberation would reveal reasons that nobody
                gives, the graph cannot judge a response as this panel does, or a plain judge has
                nothing to be compared with.
            InputError: a persona set or rubric cannot be read; lists every fault.
            TypeError: a panel has no such setting.
        """
        chosen = PanelSettings.of(settings)
        asked = with_template(resolve_rubric(rubric, chosen.language), chosen.prompt)
        resolved = resolve_personas(personas, chosen.language or asked.language)
        if chosen.plain_judge:
            resolved = with_plain_judge(resolved)
        elicitation = chosen.elicitation or (None if chosen.prompt is None else VERBATIM)
        # A text is a sequence, too, and a model's spec.
        several = (
            [models] if isinstance(models, str) or not isinstance(models, Sequence) else models
        )
        bound = bind_models(
            several, elicitation, chosen.layout, len(resolved) * chosen.replicates, asked
        )
        refuse_unseen(asked.template, bound, resolved)
        return cls(resolved, asked, bound, chosen, graph)

    @classmethod
    def from_file(cls, path: str | Path, **overrides: Unpack[PanelOverrides]) -> PanelPlan:
        """Read the plan that a YAML file describes; paths in it are relative to it.

        `overrides` take the place of what the file says, and the log says which. Raises as
        `PanelPlan.of`.
        """
        return cls.of(**file_settings(Path(path), overrides))

    @cached_property
    def judges(self) -> tuple[Judge, ...]:
        """Return every persona × model × replicate: model by model, and persona by persona within a
        model."""
        return judges_of(
            [persona.id for persona in self.personas],
            [(model.id, model.elicitation) for model in self.models],
            self.settings.replicates,
            plain_judge=self.settings.plain_judge,
            deterministic=self.is_deterministic,
        )

    @property
    def is_deterministic(self) -> bool:
        """Return whether all models give the same answer however often they are asked."""
        return all(model.is_deterministic for model in self.models)

    @cached_property
    def output_rubric(self) -> Rubric:
        """Return the rubric in the form of its ratings, which depends on the elicitation: with one
        dimension `overall`, say, or as probabilities from 0 to 1."""
        return output_rubric_of(self.models, self.rubric)

    @cached_property
    def first_rubric(self) -> Rubric:
        """Return the rubric of a judge's first request: the whole, or its first dimension alone."""
        if not self.settings.one_dimension_per_call:
            return self.rubric
        return single_dimension_rubrics(self.rubric)[0]

    @cached_property
    def personas_by_id(self) -> Mapping[str, Persona]:
        return {persona.id: persona for persona in self.personas}

    @property
    def is_comparative(self) -> bool:
        """Return whether the responses to a prompt are compared with each other, and not judged
        individually."""
        # All models or none: those that compare rate what no other does.
        return is_comparative(self.models[0].elicitation)

    @cached_property
    def one_call_per_dimension(self) -> frozenset[str]:
        """Return the models that are asked for each dimension in a separate call, where that is
        possible."""
        return frozenset(model.id for model in self.models if model.one_call_per_dimension)

    @property
    def notice(self) -> list[str]:
        """Return what is to be known of ratings in another language; nothing of English."""
        notice, ours = self.rubric.asked_in.notice, "persona_panel."
        names = {
            model.elicitation
            for model in self.models
            if not getattr(load_elicitation(model.elicitation), "__name__", "").startswith(ours)
        }
        if notice and names:
            theirs = " and ".join(sorted(names))
            notice.append(f"Words of the elicitation {theirs}, of another package, may be English.")
        return notice

    @property
    def prices(self) -> dict[str, Price | None]:
        """Return each model's price, None where it is not known, and the prices of batches where
        known."""
        return with_batches({model.id: model.price for model in self.models})


def manifest_of(plan: PanelPlan) -> dict[str, Any]:
    """Return a panel plan as it stands in JSON."""
    rubric, output_rubric = plan.rubric, plan.output_rubric
    return {
        "personas": [persona.model_dump() for persona in plan.personas],
        "rubric": rubric.model_dump(mode="json"),
        # Nothing where judges are asked in English.
        **({"notice": " ".join(notice)} if (notice := plan.notice) else {}),
        # Null where ratings come as the rubric says.
        "output_rubric": None if output_rubric == rubric else output_rubric.model_dump(mode="json"),
        "models": [
            {"id": model.id, "model": model.config.model, "elicitation": model.elicitation}
            | {"parameters": dict(model.client.parameters)}
            for model in plan.models
        ],
        **plan.settings.model_dump(mode="json"),
        "deterministic": plan.is_deterministic,
        # Null where responses are judged by the usual graph.
        "graph": None if plan.graph is None else {"nodes": sorted(plan.graph.nodes)},
        "prompts": {model.id: _wording_of(model, plan) for model in plan.models},
        "prices": prices_document(plan.prices),
        "version": version_of("persona-panel"),
    }


def prices_document(prices: Mapping[str, Price | None]) -> dict[str, Any]:
    """Return prices by model in US dollars for a million tokens, null where a price is not
    known."""
    known = set(Price.model_fields)
    return {name: price and price.model_dump(include=known) for name, price in prices.items()}


def _wording_of(model: BoundModel, plan: PanelPlan) -> str:
    """Return a digest of the words in which a model is asked, independent of the response."""
    sample = Response(id="id", prompt="prompt", text="text", system="system")
    rubric, persona = plan.rubric, plan.personas[0]
    if plan.is_comparative:
        two = [sample, sample.model_copy(update={"id": "other"})]
        judge = next(judge for judge in plan.judges if judge.model == model.id)
        tasks = model.comparison_tasks(rubric, persona, judge, two, plan.settings.seed)
        request = model.request_for(next(tasks))
    else:
        request = model.first_request(plan.first_rubric, persona, sample)
    return key_of(request, 1).hex()[:16]


def plan_facts(plan: PanelPlan) -> Facts:
    """Return the plan's sizes and names; as HTML with a table of the personas."""
    rubric = plan.rubric
    models = [SECRETS.scrub(model.id) for model in plan.models]
    return Facts(
        "Panel",
        [
            counted_judges(plan.judges),
            counted(len(plan.personas), "persona"),
            f"models {' and '.join(models)}" if len(models) > 1 else f"model {models[0]}",
            f"rubric {':'.join(filter(None, (rubric.id, rubric.variant)))}",
            counted(len(plan.output_rubric.dimensions), "dimension"),
        ],
        ("persona", "axis"),
        [(persona.label, persona.axis) for persona in plan.personas],
    )
