"""The steps of a prompt set that take no model: votes, duplicates, diversity, draw."""

from __future__ import annotations

from dataclasses import replace
from math import isnan, sqrt

import numpy as np
import pytest

from persona_panel.experiments.prompt_sets.candidates import CandidatePrompt
from persona_panel.experiments.prompt_sets.filters import (
    bundle_diversity,
    drawn,
    filtered,
    is_equivalent,
    map_places,
    mean_diversity,
    pairs_of,
    vote_in,
    within_limits,
    without_duplicates,
)
from persona_panel.experiments.prompt_sets.spec import QualityFilter, TextLimits
from persona_panel.planning.definitions import resolve_rubric
from persona_panel.rubrics import ParsedJudgment


def prompt(name: str, text: str = "What do we owe?", **fields: object) -> CandidatePrompt:
    return CandidatePrompt(name, text, "t", "bundle", "stratum", **fields)  # type: ignore[arg-type]


def test_rules_name_what_they_drop() -> None:
    """Length, a copy, and a written prompt that needs its item; a text of one's own may need it."""
    kept, dropped = within_limits(
        [
            prompt("a"),
            prompt("b", "what do WE owe"),
            prompt("c", "Why?"),
            prompt("d", "word " * 9),
            prompt("e", "Who is right in the above scenario?", writer="m"),
            prompt("f", "Who is right in the above scenario, then?"),
            prompt("g", "1 2 3 4"),
        ],
        TextLimits(min_words=3, max_words=8),
    )
    assert [one.id for one in kept] == ["a", "f"]
    assert [(one.what.id, one.kind) for one in dropped] == [
        ("b", "same text"), ("c", "too short"), ("d", "too long"), ("e", "points to its item"),
        ("g", "no text"),
    ]  # fmt: skip
    assert dropped[0].reason == "the same words as a"


def test_k_of_n_models_pass_a_prompt_and_their_disagreement_is_kept() -> None:
    """Two of three must find both criteria met; who gave no answer passes nothing. Of two judges
    and two criteria one pair in two differs; of three judges, two pairs in three, on one."""
    good, mixed, bad = ({"open": True, "clear": True}, {"open": True, "clear": False},
                        {"open": False, "clear": False})  # fmt: skip
    votes = {
        "a": {"x": good, "y": good, "z": mixed},
        "b": {"x": good, "y": mixed, "z": None},
        "c": {"x": None, "y": None, "z": None},
        "d": {"x": good, "y": good, "z": bad},
    }
    kept, dropped = filtered([prompt(name) for name in votes], votes, 2)
    assert [(one.id, one.passed, one.disagreement) for one in kept] == [
        ("a", 2, pytest.approx(2 / 6)), ("d", 2, pytest.approx(4 / 6)),
    ]  # fmt: skip
    assert [one.kind for one in dropped] == ["not enough models pass it", "not judged"]
    assert dropped[0].reason == (
        "1 of 3 models pass it, 2 needed; not met: clear (y); no usable answer: z"
    )
    assert isinstance(dropped[0].what, CandidatePrompt)
    assert dropped[0].what.disagreement == 1 / 2
    assert prompt("e").disagreement is None


def test_the_first_category_meets_a_criterion_and_a_number_from_at_least_on() -> None:
    """A rating that could not be read is no vote."""
    wanted = QualityFilter()
    rubric = resolve_rubric("prompt-quality")
    names = [dimension.id for dimension in rubric.dimensions]
    labels = dict.fromkeys(names, "met") | {"clear": "not met"}
    vote = vote_in(ParsedJudgment("scored", labels=labels), rubric, wanted)
    assert vote == {**dict.fromkeys(names, True), "clear": False}
    assert vote_in(ParsedJudgment("refused"), rubric, wanted) is None
    numeric = resolve_rubric("scrub")
    scores = {dimension.id: 7.0 for dimension in numeric.numeric}
    scores[numeric.numeric[0].id] = 6.0
    found = vote_in(ParsedJudgment("scored", scores=scores), numeric, QualityFilter(at_least=7))
    assert found is not None
    assert list(found.values()) == [False, *[True] * (len(found) - 1)]


def test_of_two_alike_the_one_stays_that_more_models_pass() -> None:
    """0 and 1 are alike, and 1 and 2: 1, which most pass, stays, and both others go; what is near
    only to one that was dropped stays."""
    alike = np.array(
        [[1, 0.95, 0.2, 0.1], [0.95, 1, 0.9, 0.1], [0.2, 0.9, 1, 0.1], [0.1] * 3 + [1]]
    )
    found = [prompt(name, passed=n) for name, n in (("a", 1), ("b", 2), ("c", 1), ("d", 0))]
    kept, dropped = without_duplicates(found, alike, 0.9)
    assert kept == [1, 3]
    assert [one.what.id for one in dropped] == ["a", "c"]
    assert dropped[0].reason == "similarity 0.95 to b: What do we owe?"
    first = [replace(one, passed=0) for one in found]
    assert without_duplicates(first, alike, 0.9)[0] == [0, 2, 3]


def test_a_map_keeps_distances() -> None:
    """Of cosines of three directions in a plane the map has the distances √(2 − 2 s)."""
    angles = np.array([0, 0.4, 2.0])
    unit = np.column_stack([np.cos(angles), np.sin(angles)])
    alike = unit @ unit.T
    places = map_places(alike)
    for i in range(3):
        for j in range(3):
            distance = sqrt(max(0.0, 2 - 2 * alike[i, j]))
            assert np.hypot(*(places[i] - places[j])) == pytest.approx(distance, abs=1e-7)
    assert map_places(alike[:1, :1]).shape == (1, 2)
    assert map_places(np.ones((4, 4))) == pytest.approx(np.zeros((4, 2)), abs=1e-7)


def test_functional_diversity_by_hand() -> None:
    """One equivalent pair of three: 1 − 1/3; without either of its two it is 1, without the third
    0. A bundle in which nothing was compared has none."""
    found = bundle_diversity(
        ["a", "b", "c"], {("a", "b"): True, ("a", "c"): False, ("c", "b"): False, ("a", "x"): True}
    )
    assert found.value == pytest.approx(2 / 3)
    assert found.added == pytest.approx({"a": -1 / 3, "b": -1 / 3, "c": 2 / 3})
    assert found.distinct == pytest.approx({"a": 1 / 2, "b": 1 / 2, "c": 1.0})
    two = bundle_diversity(["a", "b"], {("a", "b"): False})
    assert (two.value, isnan(two.added["a"])) == (1.0, True)
    none = bundle_diversity(["a", "b"], {("a", "b"): None})
    assert (isnan(none.value), none.n_pairs) == (True, 0)
    # Sample deviation of 0.5, 1, 1: √(1/12); over √3.
    mean = mean_diversity([0.5, 1.0, 1.0, float("nan")])
    assert (mean.mean, mean.se, mean.n_bundles) == (pytest.approx(2.5 / 3), pytest.approx(1 / 6), 3)


def test_a_pair_is_equivalent_by_all_or_by_any() -> None:
    """A model without an answer has no say; without any answer nothing is known."""
    assert is_equivalent([True, True, None], "all") is True
    assert is_equivalent([True, False], "all") is False
    assert is_equivalent([True, False], "any") is True
    assert is_equivalent([None], "any") is None


def test_so_many_pairs_are_drawn_by_the_seed() -> None:
    """Of six pairs three, different ones, and the same for the same seed."""
    assert len(pairs_of("abcd", None, "1")) == 6
    three = pairs_of("abcd", 3, "1")
    assert len(set(three)) == 3
    assert pairs_of("abcd", 3, "1") == three
    assert any(pairs_of("abcd", 3, str(seed)) != three for seed in range(9))


def test_a_draw_is_even_over_strata_and_writers() -> None:
    """Seven of a large stratum, a middle one and one with a single prompt: 3, 3 and 1; and of two
    writers neither has more than one prompt more than the other. The order is kept."""
    made = [
        replace(prompt(f"{stratum}{n}", writer="xy"[n % 4 == 0]), stratum=stratum, bundle=f"b{n}")
        for stratum, size in (("large", 12), ("middle", 8), ("single", 1))
        for n in range(size)
    ]
    for seed in range(5):
        kept, dropped = drawn(made, 7, seed)
        counts = {name: sum(one.stratum == name for one in kept) for name in ("large", "middle")}
        assert counts == {"large": 3, "middle": 3}
        assert len(kept) + len(dropped) == len(made)
        assert abs(sum(one.writer == "x" for one in kept) - 3.5) < 1
        assert [one.id for one in kept] == [one.id for one in made if one in kept]
    assert drawn(made, 99, 1)[0] == made
    assert drawn(made, 7, 1)[0] != drawn(made, 7, 2)[0]


def test_a_draw_spreads_over_bundles() -> None:
    """Of four bundles with three prompts each in one stratum, four prompts are of each one."""
    made = [replace(prompt(f"{bundle}{n}"), bundle=bundle) for bundle in "abcd" for n in range(3)]
    for seed in range(5):
        assert {one.bundle for one in drawn(made, 4, seed)[0]} == set("abcd")


def test_without_a_needed_number_votes_are_kept_and_none_is_dropped() -> None:
    """`needed: 0` measures only."""
    kept, dropped = filtered([prompt("a")], {"a": {"x": {"open": False}, "y": None}}, 0)
    assert (kept[0].passed, kept[0].votes["x"], dropped) == (0, {"open": False}, [])
