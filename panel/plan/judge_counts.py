"""How many judges a panel has, in words: those without a persona beside it are no part of it."""

from __future__ import annotations

from collections.abc import Iterable

from persona_panel.graphs import Judge
from persona_panel.graphs.records import controls_among
from persona_panel.statistics.core.display import counted_beside


def counted_judges(judges: Iterable[Judge]) -> str:
    """How many judges of a panel there are, and how many without a persona are compared with it."""
    known = list(judges)
    n_plain = len(controls_among(known))
    return counted_beside(len(known) - n_plain, n_plain, "judge")
