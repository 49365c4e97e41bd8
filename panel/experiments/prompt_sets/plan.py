"""The plan of a set of prompts: its items, its filled templates, and the models of each step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from persona_panel.experiments.prompt_sets.candidates import (
    DroppedPrompt,
    FunnelStep,
    SeedItem,
    fillings,
    kept_items,
    read_items,
)
from persona_panel.experiments.prompt_sets.filters import (
    refuse_unpassable,
    refuse_without_packages,
)
from persona_panel.experiments.prompt_sets.spec import (
    ItemSource,
    PromptSetSpec,
    PromptTemplate,
    RewriteSpec,
    SlotFile,
    load_prompt_set_spec,
)
from persona_panel.files.errors import ConfigurationError, Fault, InputError
from persona_panel.files.outputs import version_of
from persona_panel.planning.bound_models import AnyModel, BoundModel, bind_writers
from persona_panel.planning.definitions import resolve_rubric
from persona_panel.planning.panel_plan import prices_document
from persona_panel.planning.settings import DEFAULT_MODEL
from persona_panel.rubrics import Rubric


@dataclass(frozen=True)
class PromptSetPlan:
    """A set that can be built: its items and filled templates, each with how it is rewritten (None,
    not at all); the steps so far, that take no model; the models by name, and which of them write
    by a rewriting, judge quality by the rubric, and compare prompts; the files that it is built
    from."""

    spec: PromptSetSpec
    seeds: tuple[tuple[SeedItem, RewriteSpec | None], ...]
    funnel: tuple[FunnelStep, ...]
    dropped: tuple[DroppedPrompt, ...]
    models: dict[str, BoundModel]
    writers: dict[str, tuple[str, ...]]
    judges: tuple[str, ...]
    evaluators: tuple[str, ...]
    rubric: Rubric | None
    files: tuple[str, ...]

    def document(self) -> dict[str, Any]:
        """Return the manifest's entry on the plan: all that decides what the set can be."""
        rubric = self.rubric
        return {
            "command": "prompts build",
            "version": version_of("persona-panel"),
            "spec": self.spec.model_dump(mode="json"),
            "seed": self.spec.seed,
            "files": {
                each.name: sha256(each.read_bytes()).hexdigest()
                for each in map(Path, self.files[1:])
            },
            "models": [bound.document() for bound in self.models.values()],
            "writers": {origin: list(names) for origin, names in self.writers.items()},
            "judges": list(self.judges),
            "evaluators": list(self.evaluators),
            "rubric": None if rubric is None else rubric.model_dump(mode="json"),
            "prices": prices_document({name: model.price for name, model in self.models.items()}),
        }


def prompt_set_plan(path: str | Path, models: Sequence[AnyModel] = ()) -> PromptSetPlan:
    """Read a SPEC and its files, and put together what is to be done; `models` take the place of
    all that the SPEC names. Raises InputError with every fault of a file; ConfigurationError where
    a model cannot be had, a package is missing, or what is needed does not go together."""
    file = Path(path)
    spec = load_prompt_set_spec(file)
    seeds: list[tuple[SeedItem, RewriteSpec | None]] = []
    funnel: list[FunnelStep] = []
    dropped: list[DroppedPrompt] = []
    values = {name: own for name, own in spec.slots.items() if not isinstance(own, SlotFile)}
    for template in spec.templates:
        seeds += [(item, template.rewrite) for item in fillings(template, values, spec.seed)]
    faults: list[Fault] = []
    for source in spec.sources:
        try:
            items, steps, out = kept_items(source, read_items(source, file.parent))
        except InputError as error:
            faults += error.faults
            continue
        seeds += [(item, source.rewrite) for item in items]
        funnel += steps
        dropped += out
    if faults:
        raise InputError(faults)
    bound: dict[str, BoundModel] = {}

    def names_of(own: Sequence[AnyModel]) -> tuple[str, ...]:
        """Return the names of the models of a step, each bound once."""
        wanted = tuple(models) or own or spec.models or (DEFAULT_MODEL,)
        of_step = bind_writers(wanted, "model of a step")
        for model in of_step:
            if bound.setdefault(model.id, model).config != model.config:
                raise ConfigurationError(
                    f"{model.id} has other settings in two steps; give each a `name` of its own"
                )
        return tuple(model.id for model in of_step)

    origins: list[PromptTemplate | ItemSource] = [*spec.templates, *spec.sources]
    writers = {
        each.id: names_of(each.rewrite.models) for each in origins if each.rewrite is not None
    }
    quality, rubric = spec.quality, None
    judges = names_of(quality.models) if quality is not None else ()
    evaluators = names_of(spec.diversity.models) if spec.diversity is not None else ()
    if quality is not None:
        local = file.parent / quality.rubric
        rubric = resolve_rubric(str(local) if local.is_file() else quality.rubric)
        refuse_unpassable(rubric, quality)
        written = {name for names in writers.values() for name in names}
        without = not quality.own and bool(written & set(judges))
        if quality.needed > len(judges) - without:
            left_out = ", the writer of a prompt left out" if without else ""
            raise ConfigurationError(
                f"quality: {quality.needed} models are needed to pass a prompt, and "
                f"{len(judges) - without} judge one{left_out}; name more models, or lower needed"
            )
    if spec.duplicates is not None:
        refuse_without_packages(spec.duplicates)
    return PromptSetPlan(
        spec, tuple(seeds), tuple(funnel), tuple(dropped), bound, writers, judges, evaluators,
        rubric, tuple(map(str, (file, *(file.parent / source.file for source in spec.sources)))),
    )  # fmt: skip
