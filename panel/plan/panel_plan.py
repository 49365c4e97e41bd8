"""The panel plan: personas, rubric, models and rules of judging, as one value.

Everything that can be wrong with it is found when it is made. It holds no open client and its
pickle no secret, so that it can be sent to another process, where it judges alike.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import personas as persona_library
import rubrics as rubric_library
from graphs import Judge
from graphs.deliberation import Deliberation
from panel.errors import ConfigurationError
from panel.io.definitions import load_definition
from panel.models.catalogue import Price
from panel.models.config import ModelConfig
from panel.plan.bound_models import BoundModel, bind_models
from panel.plan.checks import (
    output_rubric_of,
    refuse_broken_rule,
    refuse_if_comparative,
    refuse_missing_rationales,
    refuse_repeats,
)
from panel.plan.definitions import (
    DEFAULT_MODEL,
    resolve_personas,
    resolve_rubric,
    shipped_or_relative,
)
from panel.plan.panel_file import PanelFile
from personas import Persona, PersonaSet
from rubrics import Layout, Rubric, is_comparative

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

    from panel.models.client import ModelClient


@dataclass(frozen=True)
class PanelPlan:
    """Who judges by what.

    Made by `PanelPlan.of` from names, files and objects, or by `PanelPlan.from_file`; what each
    part means is said there.

    Attributes:
        personas: those that judge, in order.
        rubric: what judges are asked.
        models: those through which each persona judges, in order.
        concurrency, patience: of models that set none themselves; None, as is usual.

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

    def __post_init__(self) -> None:
        if self.replicates < 1:
            raise ConfigurationError(f"replicates must be 1 or more, found {self.replicates}")
        # Cached from here on; that the models rate alike is checked by it.
        _ = self.output_rubric
        refuse_repeats(self.models, self.replicates)
        refuse_missing_rationales(self.models, self.deliberation)
        refuse_broken_rule(self.deliberation)
        if self.deliberation is not None:
            refuse_if_comparative(self.models, "deliberation")

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
    ) -> PanelPlan:
        """A plan from names, files and objects.

        Args:
            personas: a set from the library by name, the path of a YAML file, a
                `PersonaSet`, or personas.
            models: specs (`provider:name`), `ModelConfig`s, or LangChain chat models.
            rubric: from the library by name, the path of a YAML file, or a `Rubric`.
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

        Raises:
            ConfigurationError: a model cannot be had (says what is missing), an elicitation
                cannot serve the rubric, models rate different dimensions, replicates would
                repeat themselves, or deliberation would reveal reasons that nobody gives.
            InputError: a persona set or rubric cannot be read; lists every fault.
            ConfigurationError: there are fewer replicates than one.
        """
        if replicates < 1:
            raise ConfigurationError(f"replicates must be 1 or more, found {replicates}")
        found = resolve_personas(personas)
        asked = resolve_rubric(rubric)
        # A text is a sequence, too, and a model's spec.
        several = (
            [models] if isinstance(models, str) or not isinstance(models, Sequence) else models
        )
        bound = bind_models(several, elicitation, layout, len(found) * replicates, asked)
        return cls(
            found, asked, bound, layout, replicates, deliberation, concurrency, patience, seed
        )

    @classmethod
    def from_file(
        cls,
        path: str | Path,
        *,
        deliberation: Deliberation | None = None,
        concurrency: int | None = None,
        patience: float | None = None,
    ) -> PanelPlan:
        """The plan that a YAML file describes; paths in it are relative to it.

        `deliberation` takes the place of the file's. Raises as `PanelPlan.of`.
        """
        path = Path(path)
        file = load_definition(path, PanelFile)
        return cls.of(
            shipped_or_relative(path, file.personas, persona_library.shipped()),
            file.models,
            shipped_or_relative(path, file.rubric, rubric_library.shipped()),
            elicitation=file.elicitation,
            layout=file.layout,
            replicates=file.replicates,
            deliberation=deliberation or file.deliberation,
            concurrency=concurrency,
            patience=patience,
            seed=file.seed,
        )

    @cached_property
    def judges(self) -> tuple[Judge, ...]:
        """Persona × model × replicate: model by model, and persona by persona within one."""
        return tuple(
            Judge(persona.id, model.id, model.elicitation, replicate)
            for model in self.models
            for persona in self.personas
            for replicate in range(1, self.replicates + 1)
        )

    @cached_property
    def output_rubric(self) -> Rubric:
        """The rubric as its ratings come, which depends on the elicitation: under one dimension
        `overall`, say, or as probabilities from 0 to 1."""
        return output_rubric_of(self.models, self.rubric)

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
        """Each model's price, None where it is not known."""
        return {model.id: model.price for model in self.models}
