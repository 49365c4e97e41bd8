"""What deliberation did to a run, by the names of its judges, responses and dimensions."""

from __future__ import annotations

import json
from math import nan, sqrt
from typing import Any

import numpy as np
import orjson
import pytest

from persona_panel import Composite, InputError, Ratings
from persona_panel.planning.definitions import resolve_rubric
from persona_panel.statistics import Reason
from tests.helpers.deliberations import (
    AGREED,
    JUDGED,
    NAMES,
    deliberation,
    humans,
    rated,
)


def test_one_persuades_and_nine_follow() -> None:
    """The summary says that nine moves without a reason went toward the peers, and that the
    first persona drew the nine and none drew it."""
    before = np.array([[[2.0]] + [[8.0]] * 9])
    stated = np.array([[True] + [False] * 9])
    summary = deliberation(before, np.full((1, 10, 1), 2.0), stated=stated).summary()
    assert summary["conformity"]["unstated"] == {
        "moves": 9,
        "toward": 9,
        "away": 0,
        "undefined": 0,
        "share": 1,
        "reason": None,
    }
    assert summary["conformity"]["stated"]["share"] is None
    assert summary["conformity"]["stated"]["reason"] == "no moves"
    pulls = {one["persona"]: one["net"] for one in summary["influence"]["pull"]}
    assert pulls == {"persona0": 1} | {f"persona{i}": None for i in range(1, 10)}
    drawn = [cell for cell in summary["influence"]["cells"] if cell["of"]]
    assert [(cell["moved"], cell["by"]) for cell in drawn] == [
        (f"persona{i}", "persona0") for i in range(1, 10)
    ]
    # One of 2 and nine of 8 have the SD √((5.4² + 9 · 0.6²) / 9) = 6 / √10.
    [dimension] = summary["dimensions"]
    assert dimension["spread"]["before"] == pytest.approx(6 / sqrt(10), abs=1e-6)
    assert (dimension["spread"]["after"], dimension["moved"], dimension["of"]) == (0, 9, 10)
    assert dimension["spread"]["reason"] == Reason.FEW_CLUSTERS


def test_all_settled() -> None:
    """No moves: every count is 0, every share null with its reason, no rank changes, no humans."""
    same = np.array([[[2.0], [8.0]], [[3.0], [5.0]]])
    summary = deliberation(same, same).summary()
    assert [judge["moved"] for judge in summary["judges"]] == [0, 0]
    for kind in ("all", "stated", "unstated"):
        assert summary["conformity"][kind]["reason"] == "no moves"
    assert {cell["reason"] for cell in summary["influence"]["cells"]} == {"no moves"}
    assert (summary["rankings"]["pairs"], summary["rankings"]["swapped"]) == (1, 0)
    assert summary["rankings"]["tau_b"]["value"] == 1
    assert summary["humans"] is None


def test_summary_is_json_with_a_reason_beside_every_null() -> None:
    """Whatever is missing, JSON holds it, and an object with a null has a reason for it."""
    before = np.array([[[2, nan], [8, nan]], [[nan, nan], [5, 1]]])
    after = np.array([[[2, nan], [3, nan]], [[nan, nan], [5, 1]]])
    human = Ratings(np.full((2, 1, 1), 3.0), ("p0/a0", "p0/b0"), ("h",), ("depth",), ("human",))
    summary = deliberation(before, after, human=human).summary()
    assert json.loads(orjson.dumps(summary)) == summary

    def nulls_have_reasons(node: Any) -> None:
        if isinstance(node, dict):
            # A system without a composite has no rank: that is its reason.
            if None in [value for key, value in node.items() if key != "reason"]:
                assert node.get("reason") or "system" in node, node
            for value in node.values():
                nulls_have_reasons(value)
        elif isinstance(node, list):
            for value in node:
                nulls_have_reasons(value)

    nulls_have_reasons(summary)


# Two responses to each of eight prompts, rated 1 to 16 by humans; the judges swap each two.


@pytest.mark.parametrize("items", [NAMES, tuple(name.split("/")[1] for name in NAMES)])
def test_humans_are_found_by_whole_names_or_ids(items: tuple[str, ...]) -> None:
    """A panel that comes to say what humans say went toward them, its distance from 1 to 0,
    whichever of the names of `load_beside` the humans use."""
    found = deliberation(JUDGED, AGREED, human=humans(items))
    assert found.humans is not None
    assert found.humans["clarity"].direction == "toward people"
    assert found.humans["clarity"].distance.value == -1


def test_humans_in_another_order() -> None:
    """Names match humans to responses, not their places."""
    theirs = humans()
    turned = Ratings(theirs.scores[::-1], NAMES[::-1], ("h1", "h2"), ("clarity",), ("x", "x"))
    found = deliberation(JUDGED, AGREED, human=turned)
    assert found.humans is not None
    assert found.humans["clarity"].distance.after == 0


def test_ranks_have_an_order_and_no_distance() -> None:
    """Humans who rank 1 the best are turned round, and no distance is taken from ranks."""
    found = deliberation(JUDGED, AGREED, human=humans(ranks=True))
    assert found.humans is not None
    one = found.humans["clarity"]
    assert one.tau_c.after == pytest.approx(1)
    assert one.distance.reason == "not on the same scale"


def test_humans_of_the_whole_meet_the_mean_of_dimensions() -> None:
    """Humans who name no dimension are held against each judge's mean over both."""
    before = np.concatenate([JUDGED, JUDGED], axis=2)
    after = np.concatenate([AGREED - 1, AGREED + 1], axis=2)
    found = deliberation(before, after, human=humans(dimension="all"))
    assert found.humans is not None
    assert list(found.humans) == ["composite"]
    assert (
        found.humans["composite"].distance.before,
        found.humans["composite"].distance.after,
    ) == (1, 0)


def test_humans_of_something_else_are_refused() -> None:
    """Humans who rated other responses are named as bad input."""
    with pytest.raises(InputError, match="only items that the run does not have"):
        deliberation(JUDGED, AGREED, human=humans(tuple("abcdefghijklmnop")))


def test_rankings_are_by_the_mean_of_dimensions_or_the_rubrics_composite() -> None:
    """A's dimensions rise from a mean of 2 to 5.5 past B's 4, so the two swap; by a composite of
    clarity alone, they do not."""
    before = [[[1, 3], [1, 3]], [[4, 4], [4, 4]]]
    after = [[[2, 9], [2, 9]], [[4, 4], [4, 4]]]
    found = deliberation(before, after).rankings
    assert (found.n_swapped, [one.system for one in found.reranked]) == (1, ["B", "A"])
    kept = deliberation(before, after, rubric=rated(2, Composite(mean_of=("clarity",)))).rankings
    assert (kept.n_swapped, kept.reranked) == (0, ())
    assert [(one.system, one.before) for one in kept.systems] == [("B", 4.0), ("A", 1.0)]


def test_a_rubric_without_numbers_and_a_run_without_responses() -> None:
    """Nothing to compare gives an empty summary, not an error."""
    unnumbered = resolve_rubric("critical-question").model_copy(update={"composite": None})
    d = len(unnumbered.dimensions)
    empty = deliberation(np.zeros((2, 2, d)), np.ones((2, 2, d)), rubric=unnumbered)
    assert empty.summary()["dimensions"] == []
    assert empty.rankings.n_pairs == 0
    stopped = deliberation(np.empty((0, 2, 1)), np.empty((0, 2, 1))).summary()
    assert (stopped["responses"], stopped["rankings"]["systems"]) == (0, [])
    assert stopped["dimensions"][0]["reason"] == "no response was deliberated"
