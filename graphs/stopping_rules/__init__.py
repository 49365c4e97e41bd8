"""Rules by which a deliberation ends before its last round: one a file, found by its name.

A rule is a module with a docstring, whose first line says when it stops, and a function
`should_stop(judgments, rubric)`: of all judgments of a response so far, of every round, whether
there is to be no further one. It is asked after each round, the first reading too. Another
distribution adds one by the entry point group `persona_panel.stopping_rules`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, cast

from persona_panel.graphs.records import Judgment
from persona_panel.rubrics import Rubric
from persona_panel.rubrics.extensions import extension_names, load_extension

_GROUP = "persona_panel.stopping_rules"


class StoppingRule(Protocol):
    """What a module of this package provides."""

    def should_stop(self, judgments: Sequence[Judgment], rubric: Rubric) -> bool:
        """Whether there is to be no further round."""


def stopping_rule_names() -> tuple[str, ...]:
    """The rules there are, in alphabetical order."""
    return extension_names(__name__, _GROUP)


def load_stopping_rule(name: str) -> StoppingRule:
    """The rule called `name`.

    Raises:
        KeyError: there is none of that name.
        ExtensionError: another distribution's cannot be imported.
    """
    return cast(StoppingRule, load_extension(__name__, _GROUP, name))
