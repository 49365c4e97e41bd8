"""The panel plan: personas, rubric, models and rules of judging, as one value.

Everything that can be wrong with it is found when it is made. It holds no open client and its
pickle no secret, so that it can be sent to another process, where it judges alike.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import persona_panel.personas as persona_library
import persona_panel.rubrics as rubric_library
from persona_panel.files.definitions import load_definition
from persona_panel.files.errors import ConfigurationError
from persona_panel.files.judges import judges_of
from persona_panel.graphs import Judge
from persona_panel.graphs.deliberation import Deliberation
from persona_panel.models.catalogue import Price, with_batches
from persona_panel.models.config import ModelConfig
from persona_panel.personas import Persona, PersonaSet
from persona_panel.plan.bound_models import BoundModel, bind_models
from persona_panel.plan.checks import (
    output_rubric_of,
    refuse_another_graph,
    refuse_broken_rule,
    refuse_controls,
    refuse_if_comparative,
    refuse_missing_rationales,
    refuse_plain_repeats,
    refuse_repeats,
    refuse_undivided,
)
from persona_panel.plan.definitions import (
    DEFAULT_MODEL,
    resolve_personas,
    resolve_rubric,
    shipped_or_relative,
    with_plain_judge,
)
from persona_panel.plan.overrides import PanelOverrides, overriding
from persona_panel.plan.panel_file import PanelFile
from persona_panel.rubrics import Layout, Rubric, is_comparative, single_dimension_rubrics

if TYPE_CHECKING:
    from typing import Unpack

    from langchain_core.language_models import BaseChatModel

    from persona_panel.graphs.judging import Builder
    from persona_panel.models.client import ModelClient


@dataclass(frozen=True)
class PanelPlan:
    """Who judges by what.

    Made by `PanelPlan.of` from names, files and objects, or by `PanelPlan.from_file`; what each
    part means is said there.

    Attributes:
        personas: those that judge, in order.
        rubric: what judges are asked.
        models: those through which each persona judges, in order.
        plain_judge: whether `NO_PERSONA`, which is among the personas, is asked as often as all
            others together.
        one_dimension_per_call: whether every judge is asked for one dimension at a time.
        concurrency, patience: of models that set none themselves; None, as is usual.
        graph: by which each response is judged, where it is not the usual one.

    Raises:
        ConfigurationError: models rate different dimensions, replicates would repeat
            themselves, or deliberation does not go with how models are asked.
        ConfigurationError: there are fewer replicates than one.
    """

    personas: tuple[Persona, ...]
    rubric: Rubric
    models: tuple[BoundModel, ...]
    layout: Layout = "shared-prefix"
    replicates: int = 1
    deliberation: Deliberation | None = None
    concurrency: int | None = None
    patience: float | None = None
    seed: int = 0
    graph: Builder | None = field(default=None, compare=False)
    plain_judge: bool = False
    one_dimension_per_call: bool = False

    def __post_init__(self) -> None:
        if self.replicates < 1:
            raise ConfigurationError(f"replicates must be 1 or more, found {self.replicates}")
        # Cached from here on; that the models rate alike is checked by it.
        _ = self.output_rubric
        refuse_repeats(self.models, self.replicates)
        if self.one_dimension_per_call:
            refuse_undivided(self.models, self.rubric)
        if self.plain_judge:
            refuse_plain_repeats(self.models)
        refuse_missing_rationales(self.models, self.deliberation)
        refuse_broken_rule(self.deliberation)
        if self.deliberation is not None:
            refuse_if_comparative(self.models, "deliberation")
            refuse_controls(self.judges, "deliberation")
        if self.graph is not None:
            refuse_if_comparative(self.models, "a graph of one's own")
            refuse_another_graph(self.graph, self.deliberation)

    @classmethod
    def of(
        cls,
        personas: str | Path | PersonaSet | Sequence[Persona] = "perspectives",
        models: str
        | ModelConfig
        | ModelClient
        | BaseChatModel
        | Sequence[str | ModelConfig | ModelClient | BaseChatModel] = DEFAULT_MODEL,
        rubric: str | Path | Rubric = "scrub",
        *,
        elicitation: str | None = None,
        layout: Layout = "shared-prefix",
        replicates: int = 1,
        deliberation: Deliberation | None = None,
        concurrency: int | None = None,
        patience: float | None = None,
        seed: int = 0,
        graph: Builder | None = None,
        plain_judge: bool = False,
        one_dimension_per_call: bool = False,
    ) -> PanelPlan:
        """A plan from names, files and objects.

        Args:
            personas: a set from the library by name, the path of a YAML file, a
                `PersonaSet`, or personas. `none`, or `NO_PERSONA` among them, is a judge without
                a persona; beside others it is compared with them and enters no verdict.
            models: specs (`provider:name`), `ModelConfig`s, or LangChain chat models.
            rubric: from the library by name, the path of a YAML file, or a `Rubric`; a name or
                path with `:variant` behind it is one of its variants.
            elicitation: how every judge is asked; by default `expected` for embedded
                models where it can serve the rubric, and `dimensions` otherwise.
            layout: whether a question begins with what all judges of a response share, which
                a model then reads once for all of them, or with who the judge is.
            replicates: how often each persona is asked through each model, 1 or more; every
                answer is an annotator of its own.
            deliberation: whether and how judges see the others' readings and may revise; None,
                they do not.
            concurrency: calls in flight at most, for each model that sets no limit itself; by
                default as many as its provider is found to take.
            patience: in seconds, how long a model that brings nothing but faults is tried, for
                each that says nothing of it itself; two minutes by default.
            seed: of the resampling behind intervals, and of orders that are drawn by lot.
            graph: the graph by which each response is judged, not compiled: that of
                `persona_panel.graphs.judging.builder` with nodes of one's own.
            plain_judge: whether a judge without a persona is asked, too, through each model and
                as often as all personas together, for what personas add at equal cost.
            one_dimension_per_call: whether every judge is asked for one dimension of the rubric at
                a time, which takes as many calls as there are dimensions.

        Raises:
            ConfigurationError: a model cannot be had (says what is missing), an elicitation
                cannot serve the rubric, models rate different dimensions, replicates would
                repeat themselves, deliberation would reveal reasons that nobody gives, the graph
                cannot judge a response as this panel does, or a plain judge has nothing to be
                compared with.
            InputError: a persona set or rubric cannot be read; lists every fault.
            ConfigurationError: there are fewer replicates than one.
        """
        if replicates < 1:
            raise ConfigurationError(f"replicates must be 1 or more, found {replicates}")
        found = resolve_personas(personas)
        if plain_judge:
            found = with_plain_judge(found)
        asked = resolve_rubric(rubric)
        # A text is a sequence, too, and a model's spec.
        several = (
            [models] if isinstance(models, str) or not isinstance(models, Sequence) else models
        )
        bound = bind_models(several, elicitation, layout, len(found) * replicates, asked)
        return cls(
            found,
            asked,
            bound,
            layout,
            replicates,
            deliberation,
            concurrency,
            patience,
            seed,
            graph,
            plain_judge,
            one_dimension_per_call,
        )

    @classmethod
    def from_file(
        cls,
        path: str | Path,
        *,
        concurrency: int | None = None,
        patience: float | None = None,
        **overrides: Unpack[PanelOverrides],
    ) -> PanelPlan:
        """The plan that a YAML file describes; paths in it are relative to it.

        `overrides` take the place of what the file says, and the log says which. Raises as
        `PanelPlan.of`.
        """
        path = Path(path)
        file = load_definition(path, PanelFile)
        settings: dict[str, Any] = {
            "personas": shipped_or_relative(path, file.personas, persona_library.shipped()),
            "models": file.models,
            "rubric": shipped_or_relative(path, file.rubric, rubric_library.shipped()),
            "elicitation": file.elicitation,
            "layout": file.layout,
            "replicates": file.replicates,
            "deliberation": file.deliberation,
            "plain_judge": file.plain_judge,
            "one_dimension_per_call": file.one_dimension_per_call,
        }
        settings |= overriding(path, file, overrides)
        return cls.of(**settings, concurrency=concurrency, patience=patience, seed=file.seed)

    @cached_property
    def judges(self) -> tuple[Judge, ...]:
        """Persona × model × replicate: model by model, and persona by persona within one."""
        return judges_of(
            [persona.id for persona in self.personas],
            [(model.id, model.elicitation) for model in self.models],
            self.replicates,
            plain_judge=self.plain_judge,
        )

    @cached_property
    def output_rubric(self) -> Rubric:
        """The rubric as its ratings come, which depends on the elicitation: under one dimension
        `overall`, say, or as probabilities from 0 to 1."""
        return output_rubric_of(self.models, self.rubric)

    @cached_property
    def first_rubric(self) -> Rubric:
        """What a judge's first request asks for: the rubric, or its first dimension alone."""
        if not self.one_dimension_per_call:
            return self.rubric
        return single_dimension_rubrics(self.rubric)[0]

    @cached_property
    def personas_by_id(self) -> Mapping[str, Persona]:
        return {persona.id: persona for persona in self.personas}

    @property
    def is_comparative(self) -> bool:
        """Whether the responses to a prompt are compared with each other, and not judged one by
        one."""
        # All models or none: those that compare rate what no other does.
        return is_comparative(self.models[0].elicitation)

    @cached_property
    def one_call_per_dimension(self) -> frozenset[str]:
        """The models that are asked for each dimension in a call of its own, where that can be."""
        return frozenset(model.id for model in self.models if model.one_call_per_dimension)

    @property
    def prices(self) -> dict[str, Price | None]:
        """Each model's price, None where it is not known, and those of batches where they are."""
        return with_batches({model.id: model.price for model in self.models})
