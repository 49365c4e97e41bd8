"""Systems within strata, as `--by` asks for them: means, what differs, and who is ahead."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from persona_panel.analyses.breakdown import AuthorShare, StratumContrast, SystemsBy, systems_by
from persona_panel.analyses.breakdown.strata import PairInStratum, SystemInStratum
from persona_panel.results.axis import Axis
from persona_panel.runs.run import Run
from persona_panel.runs.scale_limits import composite_limits

_LINES = 200


@dataclass(frozen=True, slots=True)
class StrataSection:
    """What the page shows of strata.

    Attributes:
        lines: systems by strata; `n_more` are left out.
        established: differences between systems that are, of `n_tested`.
        interactions: of system and stratum, in how many of `n_interactions` tests.
    """

    by: str
    lines: Sequence[SystemInStratum]
    n_more: int
    axis: Axis
    established: Sequence[PairInStratum]
    n_tested: int
    interactions: int
    n_interactions: int
    between: Sequence[StratumContrast]
    authors: Sequence[AuthorShare]
    n_without: int
    reasons: Sequence[str]


def strata_section(run: Run, by: str) -> StrataSection:
    """The strata of a run.

    Raises:
        InputError, RunFolderError: as `systems_by`.
    """
    found: SystemsBy = systems_by(run, by)
    tested = [one for one in found.interactions if one.reason is None]
    reasons = [one.reason for one in found.systems]
    reasons += [one.reason for one in found.between] + [one.reason for one in found.authors]
    return StrataSection(
        by,
        found.systems[:_LINES],
        max(0, len(found.systems) - _LINES),
        Axis.of(
            composite_limits(run.rubric),
            [end for one in found.systems for end in (one.mean, one.ci_low, one.ci_high)],
        ),
        [one for one in found.differences if one.shown],
        sum(one.reason is None for one in found.differences),
        sum(one.shown for one in tested),
        len(tested),
        found.between,
        found.authors,
        found.n_without,
        list(dict.fromkeys(str(one) for one in reasons if one is not None)),
    )
