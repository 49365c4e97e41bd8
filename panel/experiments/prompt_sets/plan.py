"""A set that is to be built: its SPEC, its items, and the models of each step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from persona_panel.experiments.prompt_sets.candidates import (
    DroppedPrompt,
    FunnelStep,
    SeedItem,
    fillings,
    kept_items,
    read_items,
)
from persona_panel.experiments.prompt_sets.filters import refuse_unpassable, refuse_without_packages
from persona_panel.experiments.prompt_sets.spec import (
    PromptSetSpec,
    RewriteSpec,
    SlotFile,
    load_prompt_set_spec,
)
from persona_panel.files.errors import ConfigurationError, Fault, InputError
from persona_panel.planning.bound_models import AnyModel, BoundModel, bind_writers
from persona_panel.planning.definitions import resolve_rubric
from persona_panel.planning.panel_plan import prices_document
from persona_panel.planning.settings import DEFAULT_MODEL

if TYPE_CHECKING:
    from persona_panel.rubrics import Rubric


@dataclass(frozen=True)
class PromptSetPlan:
    """A set that can be built.

    Attributes:
        spec: what is wanted.
        seeds: the items and filled templates, each with how it is rewritten; None, not at all.
        funnel, dropped: the steps so far, that take no model.
        models: all that are called, by name.
        writers: the names of those that write by a rewriting.
        judges: the names of those that judge quality.
        evaluators: the names of those that compare prompts.
        rubric: what quality is judged by; None where it is not.
        files: the files that the set is built from.
    """

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
            "version": version("persona-panel"),
            "spec": self.spec.model_dump(mode="json"),
            "seed": self.spec.seed,
            "files": {Path(name).name: _sha256_of_file(Path(name)) for name in self.files[1:]},
            "models": [bound.document() for bound in self.models.values()],
            "writers": {origin: list(names) for origin, names in self.writers.items()},
            "judges": list(self.judges),
            "evaluators": list(self.evaluators),
            "rubric": None if rubric is None else rubric.model_dump(mode="json"),
            "prices": prices_document({name: model.price for name, model in self.models.items()}),
        }


def prompt_set_plan(path: str | Path, models: Sequence[AnyModel] = ()) -> PromptSetPlan:
    """Read a SPEC and its files, and put together what is to be done; `models` take the place of
    all that the SPEC names.

    Raises:
        InputError: a file is wrong; lists every fault of it.
        ConfigurationError: a model cannot be had, a package is missing, or what is needed does not
            go together.
    """
    file = Path(path)
    raw_files = [str(file)]
    spec = load_prompt_set_spec(file)
    seeds: list[tuple[SeedItem, RewriteSpec | None]] = []
    funnel: list[FunnelStep] = []
    dropped: list[DroppedPrompt] = []
    for template in spec.templates:
        values = {name: own for name, own in spec.slots.items() if not isinstance(own, SlotFile)}
        seeds += [(item, template.rewrite) for item in fillings(template, values, spec.seed)]
    faults: list[Fault] = []
    for source in spec.sources:
        raw_files.append(str(file.parent / source.file))
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
    parts = _Parts(spec, models)
    rubric = None
    if spec.quality is not None:
        local = file.parent / spec.quality.rubric
        rubric = resolve_rubric(str(local) if local.is_file() else spec.quality.rubric)
        refuse_unpassable(rubric, spec.quality)
        parts.refuse_too_few_judges()
    if spec.duplicates is not None:
        refuse_without_packages(spec.duplicates)
    return PromptSetPlan(
        spec,
        tuple(seeds),
        tuple(funnel),
        tuple(dropped),
        parts.bound,
        parts.writers,
        parts.judges,
        parts.evaluators,
        rubric,
        tuple(raw_files),
    )


class _Parts:
    """The models of each part, each bound once."""

    def __init__(self, spec: PromptSetSpec, writers: Sequence[AnyModel]) -> None:
        self.bound: dict[str, BoundModel] = {}
        self._spec, self._given = spec, tuple(writers)
        self._common = self._given or spec.models or (DEFAULT_MODEL,)
        rewritten = [(template.id, template.rewrite) for template in spec.templates]
        rewritten += [(source.id, source.rewrite) for source in spec.sources]
        self.writers = {
            name: self._names(rewrite.models) for name, rewrite in rewritten if rewrite is not None
        }
        self.judges = self._names(spec.quality.models) if spec.quality else ()
        self.evaluators = self._names(spec.diversity.models) if spec.diversity else ()

    def refuse_too_few_judges(self) -> None:
        """Raise ConfigurationError where no prompt could be passed by as many as are needed."""
        quality = self._spec.quality
        if quality is None:
            return
        written = {name for names in self.writers.values() for name in names}
        others = 0 if quality.own else len(written & set(self.judges)) > 0
        if quality.needed > len(self.judges) - others:
            without = ", the writer of a prompt left out" if others else ""
            raise ConfigurationError(
                f"quality: {quality.needed} models are needed to pass a prompt, and "
                f"{len(self.judges) - others} judge one{without}; name more models, or lower needed"
            )

    def _names(self, own: Sequence[AnyModel]) -> tuple[str, ...]:
        bound = bind_writers(self._given or own or self._common, "model of a step")
        for model in bound:
            known = self.bound.setdefault(model.id, model)
            if known.config != model.config:
                raise ConfigurationError(
                    f"{model.id} has other settings in two steps; give each a `name` of its own"
                )
        return tuple(model.id for model in bound)


def _sha256_of_file(path: Path) -> str:
    return sha256(path.read_bytes()).hexdigest()
