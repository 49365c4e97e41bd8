"""What judges add to people's α."""

from __future__ import annotations

from dataclasses import replace

import krippendorff
import numpy as np
import pytest

from persona_panel.statistics import (
    AnalysisOptions,
    correlate,
)
from tests.helpers.rating_tables import by_breakdown, of_one_dimension

QUICK = AnalysisOptions(n_permutations=39, min_shared=5)


def test_what_judges_add_to_the_humans_alpha() -> None:
    """alpha_added is the krippendorff package's α with the first n judges, less that without;
    on items that two humans rated."""
    humans, judges = (
        of_one_dimension(4, seed=3),
        of_one_dimension(3, seed=5, raters=("j0", "j1", "j2")),
    )
    rows = by_breakdown(
        [row for row in correlate(judges, humans, QUICK) if "added" in row.statistic]
    )
    alone = krippendorff.alpha(humans.scores[:, :, 0].T, level_of_measurement="ordinal")
    for n in (1, 2, 3):
        both = np.hstack([humans.scores[:, :, 0], judges.scores[:, :n, 0]])
        expected = krippendorff.alpha(both.T, level_of_measurement="ordinal") - alone
        row = rows["alpha_added", "all", "judges added", f"{n}"]
        assert row.value == pytest.approx(expected, abs=1e-12)
        assert row.ci_low <= row.value <= row.ci_high
        assert 0 < row.p_value <= 1
        assert row.n_raters == 4 + n


def test_what_judges_add_over_all_dimensions() -> None:
    """Of all dimensions alpha_added is that of every rating on each, an item's drawn together; on
    different scales there is none."""
    humans, judges = of_one_dimension(4, seed=3), of_one_dimension(2, seed=5, raters=("j0", "j1"))
    humans, judges = (
        replace(
            side, scores=np.dstack([side.scores, np.flip(side.scores, 0)]), dimensions=("a", "b")
        )
        for side in (humans, judges)
    )
    rows = correlate(judges, humans, QUICK)
    stacked = [np.vstack([side.scores[:, :, d] for d in (0, 1)]) for side in (humans, judges)]
    alone = krippendorff.alpha(stacked[0].T, level_of_measurement="ordinal")
    added = [row for row in rows if (row.statistic, row.dimension) == ("alpha_added", "all")]
    for n, row in enumerate(added, 1):
        both = np.hstack([stacked[0], stacked[1][:, :n]])
        expected = krippendorff.alpha(both.T, level_of_measurement="ordinal") - alone
        assert row.value == pytest.approx(expected, abs=1e-12)
        assert (row.by_value, row.n_clusters) == (f"{n}", len(set(humans.prompts or ())))
    assert len(added) == 2
    scales = {"a": (1.0, 5.0), "b": (0.0, 10.0)}
    apart = correlate(*(replace(side, scales=scales) for side in (judges, humans)), QUICK)
    assert {row.dimension for row in apart if row.statistic == "alpha_added"} == {"a", "b"}
