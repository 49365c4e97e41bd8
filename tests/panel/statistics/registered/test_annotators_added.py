"""What judges add to people's α."""

from __future__ import annotations

from dataclasses import replace

import krippendorff
import numpy as np
import pytest

from persona_panel.statistics import (
    AnalysisOptions,
    Ratings,
    Reason,
    Row,
    correlate,
)

QUICK = AnalysisOptions(n_permutations=39, min_shared=5)


def made_up(n_raters: int = 6, seed: int = 0, **names: object) -> Ratings:
    """Ratings 1-7 of 20 items of 5 prompts on one dimension."""
    rng = np.random.default_rng(seed)
    quality = np.random.default_rng(99).normal(size=(20, 1, 1))
    scores = np.clip(np.round(4 + 1.5 * quality + rng.normal(size=(20, n_raters, 1))), 1, 7)
    given: dict[str, object] = {
        "items": tuple(f"i{n}" for n in range(20)),
        "raters": tuple(f"r{n}" for n in range(n_raters)),
        "dimensions": ("all",),
        "groups": ("all",) * n_raters,
        "prompts": tuple(f"p{n // 4}" for n in range(20)),
    }
    return Ratings(**({"scores": scores} | given | names))  # type: ignore[arg-type]


def by_name(rows: list[Row]) -> dict[tuple[str, str, str | None, str | None], Row]:
    found = {(row.statistic, row.group, row.by, row.by_value): row for row in rows}
    assert len(found) == len(rows)
    assert not [row for row in rows if row.reason is Reason.ERROR]
    return found


def test_what_judges_add_to_the_humans_alpha() -> None:
    """alpha_added is the krippendorff package's α with the first n judges, less that without;
    on items that two humans rated."""
    humans, judges = made_up(4, seed=3), made_up(3, seed=5, raters=("j0", "j1", "j2"))
    rows = by_name([row for row in correlate(judges, humans, QUICK) if "added" in row.statistic])
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
    humans, judges = made_up(4, seed=3), made_up(2, seed=5, raters=("j0", "j1"))
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
