"""What became of requirements: read, each with the figure that it names, and decided."""

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
    """What became of requirements, in their order."""

    decisions: tuple[Decision, ...]

    @property
    def met(self) -> bool:
        """Whether every one of them is met."""
        return all(one.met for one in self.decisions)

    @property
    def unmet(self) -> list[Decision]:
        """Those that are not."""
        return [one for one in self.decisions if not one.met]

    def sentences(self) -> list[str]:
        """One or two for each: what was required, what was found, what would settle it."""
        return [sentence(one) for one in self.decisions]

    def __str__(self) -> str:
        return "\n".join(self.sentences())


def parsed(requirements: Sequence[str]) -> list[Requirement]:
    """Requirements, read.

    Raises:
        InputError: some cannot be read; lists them.
    """
    found, faults = [], []
    for text in requirements:
        try:
            found.append(parse_requirement(text))
        except WrongRequirement as error:
            faults.append(_fault(text, error))
    if faults:
        raise InputError(faults)
    return found


def named(requirements: Sequence[Requirement], figures: Sequence[Figure]) -> list[Figure]:
    """The figure that each requirement names.

    Raises:
        InputError: some name none; lists them, each with the nearest names.
    """
    found, faults = [], []
    for one in requirements:
        try:
            found.append(find(one, figures))
        except WrongRequirement as error:
            faults.append(_fault(str(one), error))
    if faults:
        raise InputError(faults)
    return found


def decide_all(
    requirements: Sequence[Requirement], figures: Sequence[Figure], *, by_point: bool = False
) -> GateResult:
    """Decide requirements by these figures; raises as `named`."""
    pairs = zip(requirements, named(requirements, figures), strict=True)
    return GateResult(tuple(decide(*pair, by_point=by_point) for pair in pairs))


def _fault(text: str, error: WrongRequirement) -> Fault:
    return Fault(f"the requirement {text}", error.found, error.expected)
