"""Disagreement among personas beside that among replicates of a judge without one."""

from __future__ import annotations

import numpy as np
import pytest

from persona_panel.statistics import AnalysisOptions, Ratings, Reason, agree


def added(scores: list[list[float]]) -> dict[str, tuple[float, Reason | None, int, int]]:
    """The figures of two personas and two replicates, in this order, by statistic."""
    names = ("p", "q", "plain 1", "plain 2")
    ratings = Ratings(
        np.array(scores)[:, :, None],
        tuple(f"i{item}" for item in range(len(scores))),
        names,
        ("clarity",),
        ("m",) * 4,
        controls=frozenset(names[2:]),
    )
    wanted = ("persona_disagreement", "replicate_disagreement", "disagreement_added")
    rows = agree(ratings, AnalysisOptions(n_permutations=0), only=wanted, group="m")
    return {row.statistic: (row.value, row.reason, row.n_items, row.n_raters) for row in rows}


def test_what_personas_add_is_the_mean_difference_of_variances() -> None:
    """Variances of 1 3, 2 2 and 4 6 are 2, 0, 2; of 1 2, 2 2 and 3 3 they are ½, 0, 0; the last
    item, which one replicate did not rate, is in neither."""
    found = added([[1, 3, 1, 2], [2, 2, 2, 2], [4, 6, 3, 3], [1, 9, 5, np.nan]])
    assert found == {
        "persona_disagreement": (pytest.approx(4 / 3), None, 3, 2),
        "replicate_disagreement": (pytest.approx(1 / 6), None, 3, 2),
        "disagreement_added": (pytest.approx(7 / 6), None, 3, 4),
    }


def test_replicates_that_never_differ_are_no_comparison() -> None:
    """Their disagreement is 0; what personas add to it is not said."""
    found = added([[1, 3, 2, 2], [2, 2, 4, 4]])
    assert found["replicate_disagreement"][0] == 0
    assert found["disagreement_added"][1] is Reason.IDENTICAL_REPLICATES
