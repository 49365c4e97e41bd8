"""What the calls of one run have come to."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from persona_panel.calls.budget import NOTHING_SPENT, Spending
from persona_panel.models.sent_parameters import distinct
from persona_panel.rubrics import Usage

_MOST_SENT = 20
"""Sets of parameters of one model: a run has a few, and limits of answers may differ."""


@dataclass(slots=True)
class Estimated:
    """Calls of which nobody knows what they took, such as those that came too late: each counts
    as the most that it may have taken."""

    calls: int = 0
    usage: dict[str, Usage] = field(default_factory=dict)


@dataclass(slots=True)
class CallCounts:
    """What the calls of one run have come to.

    `made` are those that were sent, `unsent` those that failed before. `faults` are of both.
    `spent` is what each model used in the calls made, what is `estimated` included. `odd` has,
    by model, the first usage reported that cannot be. `before` is what earlier runs into the same
    folder spent. `sent` has, by model, the different parameters with which its requests went,
    without texts and keys.
    """

    made: int = 0
    unsent: int = 0
    cached: int = 0
    spent: dict[str, Usage] = field(default_factory=dict)
    estimated: Estimated = field(default_factory=Estimated)
    odd: dict[str, str] = field(default_factory=dict)
    faults: Counter[str] = field(default_factory=Counter)
    before: Spending = NOTHING_SPENT
    sent: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    def add_sent(self, model: str, sent: list[dict[str, Any]]) -> None:
        """Add parameters with which requests to a model went."""
        self.sent[model] = distinct(self.sent.get(model, ()), sent)[:_MOST_SENT]
