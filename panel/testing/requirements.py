"""Requirements in your own tests: `assert_requirements`."""

from __future__ import annotations

from collections.abc import Sequence

from persona_panel.experiments.sweep.result import Sweep
from persona_panel.reports.check import check
from persona_panel.results.requirements.sentences import sentence
from persona_panel.runs.run import Run
from persona_panel.statistics import Row


def assert_requirements(
    result: Run | Sweep | Sequence[Row], *requirements: str, by_point: bool = False
) -> None:
    """Make a test fail where a result does not meet requirements; see `panel.check`. Raises
    AssertionError: some are not met; says of each what was found and what would settle it;
    InputError: a requirement cannot be read, or names no figure."""
    # pytest leaves this frame out of what it shows.
    __tracebackhide__ = True
    checked = check(result, *requirements, by_point=by_point)
    if not checked.met:
        raise AssertionError("\n".join(sentence(verdict) for verdict in checked.unmet))
