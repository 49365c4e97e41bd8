"""Outcomes of requirements: read, each with the figure that it names, and decided."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from persona_panel.files.errors import Fault, InputError
from persona_panel.results.requirements.decision import Decision, decide
from persona_panel.results.requirements.figures import Figure, find
from persona_panel.results.requirements.requirement import (
    Requirement,
    WrongRequirement,
    parse_requirement,
)
from persona_panel.results.requirements.sentences import sentence


@dataclass(frozen=True, slots=True)
class GateResult:
    """Decisions on requirements, in their order."""

    decisions: tuple[Decision, ...]

    @property
    def met(self) -> bool:
        """Return whether all of them are met."""
        return all(decision.met for decision in self.decisions)

    @property
    def unmet(self) -> list[Decision]:
        """Return those that are not met."""
        return [decision for decision in self.decisions if not decision.met]

    def sentences(self) -> list[str]:
        """One or two for each: what was required, what was found, what would settle it."""
        return [sentence(decision) for decision in self.decisions]

    def __str__(self) -> str:
        return "\n".join(self.sentences())


def parsed(requirements: Sequence[str]) -> list[Requirement]:
    """Requirements, read.

    Raises:
        InputError: some cannot be read; lists them.
    """
    read, faults = [], []
    for text in requirements:
        try:
            read.append(parse_requirement(text))
        except WrongRequirement as error:
            faults.append(_fault(text, error))
    if faults:
        raise InputError(faults)
    return read


def named(requirements: Sequence[Requirement], figures: Sequence[Figure]) -> list[Figure]:
    """The figure that each requirement names.

    Raises:
        InputError: some name none; lists them, each with the nearest names.
    """
    named, faults = [], []
    for requirement in requirements:
        try:
            named.append(find(requirement, figures))
        except WrongRequirement as error:
            faults.append(_fault(str(requirement), error))
    if faults:
        raise InputError(faults)
    return named


def decide_all(
    requirements: Sequence[Requirement], figures: Sequence[Figure], *, by_point: bool = False
) -> GateResult:
    """Decide requirements by these figures; raises as `named`."""
    pairs = zip(requirements, named(requirements, figures), strict=True)
    return GateResult(tuple(decide(*pair, by_point=by_point) for pair in pairs))


def _fault(text: str, error: WrongRequirement) -> Fault:
    return Fault(f"the requirement {text}", error.found, error.expected)
