"""Systems of a panel, corrected by people: what enters, and what is adjusted."""

from __future__ import annotations

import math
from dataclasses import replace
from math import inf, isnan, nan

import numpy as np
import pytest
from scipy import stats

from persona_panel.statistics import Estimate, RatedPart, Ratings, Reason, calibrate, row_means
from persona_panel.statistics import corrected_mean as of_sides
from persona_panel.statistics.calibration import Calibration, CorrectedMean, _Reached
from persona_panel.statistics.core.significance import holm
from tests.panel.statistics.corrected import corrected_mean


def sides(n: int = 30, rated: int = 12) -> tuple[Ratings, Ratings]:
    """Three systems on n prompts by two judges, and two people's ratings of the first prompts."""
    rng = np.random.default_rng(0)
    names = tuple(f"{p}{s}" for p in range(n) for s in "abc")
    prompts = tuple(f"p{p}" for p in range(n) for _ in "abc")
    merit = np.tile([1.0, 0.6, 0.0], n) + np.repeat(rng.normal(0, 1, n), 3)
    truth = merit + rng.normal(0, 0.4, 3 * n)
    judges = truth[:, None] + 1 + rng.normal(0, 0.3, (3 * n, 2))
    people = (truth[:, None] + rng.normal(0, 0.3, (3 * n, 2)))[: 3 * rated]
    panel = Ratings(
        judges[:, :, None], names, ("j", "k"), ("all",), ("m", "m"), prompts, tuple("abc") * n
    )
    return panel, Ratings(people[:, :, None], names[: 3 * rated], ("x", "y"), ("all",), ("h", "h"))


@pytest.mark.parametrize("rated", [12, 30])
def test_systems_are_compared_on_the_prompts_of_both(rated: int) -> None:
    """B has the first 20 of A's 30 prompts, of which the other ten are easier: the difference is
    that of the first 20 prompts alone, by people and corrected, and each mean is of all prompts.
    C has none of B's prompts, and cannot be compared with it."""
    panel, people = sides(rated=rated)
    of_prompt = np.repeat(np.arange(30), 3)
    is_kept = (panel_sources := np.array(panel.sources)) == "a"
    is_kept |= (panel_sources == "b") & (of_prompt < 20)
    is_kept |= (panel_sources == "c") & (of_prompt >= 20)

    def part(side: Ratings, kept: np.ndarray) -> Ratings:
        n = len(side.items)
        return replace(
            side, scores=(side.scores + 3.0 * (of_prompt[:n, None, None] >= 20))[kept[:n]],
            **{name: tuple(np.array(getattr(side, name))[kept[:n]].tolist())
               for name in ("items", "prompts", "sources") if getattr(side, name) is not None},
        )  # fmt: skip

    found = calibrate(part(panel, is_kept), part(people, is_kept))
    both = is_kept & (of_prompt < 20)
    alone = calibrate(part(panel, both), part(people, both))
    difference = {(each.difference.a, each.difference.b): each for each in found.pairs}
    expected = alone.pairs[0]
    assert (expected.difference.a, expected.difference.b) == ("a", "b")
    mine = difference["a", "b"]
    assert mine.human_only.value == pytest.approx(expected.human_only.value)
    assert mine.corrected.value == pytest.approx(expected.corrected.value)
    assert mine.corrected.ends == pytest.approx(expected.corrected.ends)
    assert difference["b", "c"].corrected.reason is Reason.NO_SHARED_RATINGS
    assert found.systems[0].n_items == 30


def squared() -> tuple[Ratings, Ratings]:
    """The same on two dimensions, of which the second is the square of the first."""
    panel, people = (
        replace(
            side,
            scores=np.concatenate([side.scores, side.scores**2], axis=2),
            dimensions=("given", "squared"),
        )
        for side in sides()
    )
    return panel, people


def test_the_composite_comes_first_and_is_a_family_of_its_own() -> None:
    """Each rater's mean of both dimensions is the primary result, with what it has alone; its three
    pairs are one family, those of the two dimensions another."""
    panel, people = squared()
    found = calibrate(panel, people)
    primary = [one.difference for one in found.pairs[:3]]
    assert [(one.a, one.b) for one in primary] == [("a", "b"), ("a", "c"), ("b", "c")]
    names = ["composite", "given", "squared"]
    assert [one.dimension for one in found.systems] == [name for name in names for _ in "abc"]
    means = (
        replace(side, scores=side.scores.mean(axis=2, keepdims=True), dimensions=("all",))
        for side in (panel, people)
    )
    alone = calibrate(*means)
    assert [replace(one, dimension="all") for one in found.systems[:3]] == [*alone.systems]
    families = found.pairs[:3], found.pairs[3:]
    for family in families:
        expected = holm([one.corrected.p for one in family])
        assert [one.corrected.p_adjusted for one in family] == pytest.approx(expected.tolist())
        assert any(one.corrected.p_adjusted > one.corrected.p for one in family)
    # What people left out of one dimension has no composite, and counts on the other.
    gap = people.scores.copy()
    gap[:3, :, 1] = np.nan
    rated = [one.n_human for one in calibrate(panel, replace(people, scores=gap)).systems]
    assert rated == [11] * 3 + [12] * 3 + [11] * 3


def test_where_there_is_no_composite() -> None:
    """Of dimensions on different scales, of a rubric with another rule, and where people rated one
    dimension alone; a rule that names fewer dimensions is followed."""
    panel, people = squared()
    for ours, theirs in (
        (replace(panel, scales={"given": (1.0, 5.0), "squared": (1.0, 25.0)}), people),
        (replace(panel, composite_of=()), people),
        (panel, replace(people, scores=people.scores[:, :, :1], dimensions=("given",))),
    ):
        assert "composite" not in {one.dimension for one in calibrate(ours, theirs).systems}
    three = [
        replace(
            side,
            scores=np.concatenate([side.scores, 9 + side.scores[:, :, :1]], axis=2),
            dimensions=(*side.dimensions, "other"),
        )
        for side in (panel, people)
    ]
    named = calibrate(replace(three[0], composite_of=panel.dimensions), three[1])
    assert named.systems[:3] == calibrate(panel, people).systems[:3]


def test_judges_without_a_persona_are_not_of_the_panel() -> None:
    """Their ratings change nothing."""
    panel, people = sides()
    wild = np.concatenate([panel.scores, 9 - panel.scores[:, :1]], axis=1)
    more = replace(
        panel, scores=wild, raters=("j", "k", "none"), groups=("m",) * 3,
        controls=frozenset({"none"}),
    )  # fmt: skip
    assert calibrate(more, people) == calibrate(panel, people)


def test_without_systems_and_prompts_all_items_are_one() -> None:
    """One mean over items, called `all`, and no pair."""
    panel, people = sides()
    found = calibrate(replace(panel, prompts=None, sources=None), people)
    [one] = found.systems
    human = np.full(len(panel.items), np.nan)
    human[: len(people.items)] = row_means(people.scores[:, :, 0])
    assert one.system == "all"
    alone = RatedPart.of(row_means(panel.scores[:, :, 0]), human)
    assert replace(one, system="") == of_sides(alone, over="items")
    assert found.pairs == ()


def test_a_system_that_nobody_rated() -> None:
    """It keeps the panel's mean and has no other, and neither has its difference from others."""
    panel, people = sides()
    kept = [place for place, name in enumerate(people.items) if not name.endswith("c")]
    people = replace(
        people, scores=people.scores[kept], items=tuple(people.items[place] for place in kept)
    )
    found = calibrate(panel, people)
    *_, last = found.systems
    assert not isnan(last.panel) and isnan(last.human_only.value)
    assert [isnan(one.corrected.p_adjusted) for one in found.pairs] == [False, True, True]


def test_what_cannot_be_corrected() -> None:
    """Ranks, other items and other dimensions are refused."""
    panel, people = sides()
    for wrong, match in (
        (replace(people, lower_is_better=True), "ranks"),
        (replace(people, items=tuple(f"z{n}" for n in people.items)), "no item"),
        (replace(people, dimensions=("depth",)), "no dimension"),
    ):
        with pytest.raises(ValueError, match=match):
            calibrate(panel, wrong)


@pytest.mark.parametrize(
    ("scales", "of_people", "limits"),
    [
        ({}, {}, (-inf, inf)),
        ({"given": (1.0, 5.0), "other": (1.0, 5.0)}, {}, (1.0, 5.0)),
        ({}, {"given": (1.0, 5.0), "other": (1.0, 5.0)}, (1.0, 5.0)),
        ({"given": (1.0, 4.0), "other": (1.0, 4.0)}, {}, (-inf, inf)),
    ],
)
def test_nothing_lies_beyond_a_known_scale(
    scales: dict[str, tuple[float, float]],
    of_people: dict[str, tuple[float, float]],
    limits: tuple[float, float],
) -> None:
    """Of a scale that is known, people's or the panel's that theirs lie on, the means of each
    dimension and of the composite end at its ends and differences at its width; people whose
    ratings lie outside the panel's scale have another one, which is not known."""
    rng = np.random.default_rng(2)
    names, merit = tuple(f"{s}{n}" for s in "ab" for n in range(30)), np.repeat([5.1, 1.0], 30)
    truth = merit[:, None, None] + rng.normal(0, 0.6, (60, 1, 2))
    given, said = (
        np.clip(np.round(truth + rng.normal(0, 0.4, (60, 1, 2))), 1, 5) for _ in range(2)
    )
    rated = [n for n, name in enumerate(names) if int(name[1:]) < 10]
    panel = Ratings(
        given, names, ("j",), ("given", "other"), ("m",), (*map(str, range(30)),) * 2,
        ("a",) * 30 + ("b",) * 30, scales=scales,
    )  # fmt: skip
    people = Ratings(
        said[rated], tuple(names[n] for n in rated), ("x",), panel.dimensions, ("h",),
        scales=of_people,
    )  # fmt: skip
    found = calibrate(panel, people)
    assert [one.dimension for one in found.pairs] == ["composite", "given", "other"]
    [a, b], [pair] = (
        [one for one in each if one.dimension == "given"] for each in (found.systems, found.pairs)
    )
    if limits == (-inf, inf):
        assert (
            a.corrected.high > 5
            and a.human_only.high > 5
            and b.corrected.low < 1
            and b.human_only.low < 1
        )
        return
    for kinds, (low, high) in ((found.systems, limits), (found.pairs, (-4.0, 4.0))):
        for one in kinds:
            assert low <= one.corrected.low <= one.corrected.value <= one.corrected.high <= high
            assert low <= one.human_only.low <= one.human_only.value <= one.human_only.high <= high
    free = calibrate(replace(panel, scales={}), replace(people, scales={}))
    assert (
        pair.corrected.p == next(one for one in free.pairs if one.dimension == "given").corrected.p
    )
    # What is cut away narrows neither of the two.
    for one, other in zip(found.systems, free.systems, strict=True):
        assert one.width_ratio == pytest.approx(other.width_ratio)


def test_the_unit_of_the_scale_does_not_matter() -> None:
    """Scores of a hundredth of the size have a hundredth of the mean and of the ends, and the same
    weight of the panel."""
    panel = np.array([3.0, 5, 4, 6, 2, 5, 4, 3, 5, 6, 2, 4])
    human = np.array([2.0, 5, 3, 6, 2, 4, 4, 3, *[np.nan] * 4])
    points, shares = corrected_mean(panel, human), corrected_mean(panel / 100, human / 100)
    assert points.tuning == pytest.approx(shares.tuning)
    assert points.corrected.value == pytest.approx(100 * shares.corrected.value)
    assert points.corrected.ends == pytest.approx([100 * end for end in shares.corrected.ends])


def test_what_a_calibration_has_is_said_of_its_parts() -> None:
    """It is complete where people rated all of each system, and corrects where any mean or
    difference is corrected; its dimensions may have labels."""
    there = CorrectedMean(1.0, Estimate(1.0), Estimate(1.0), 1.0, 4, 4, dimension="d")
    none = replace(there, corrected=Estimate(nan, reason=Reason.NO_SPREAD), n_human=3)
    for systems, pairs, complete, corrects in (
        ((there, none), (), False, True), ((none,), (there,), False, True),
        ((none,), (none,), False, False), ((there,), (), True, True), ((), (), True, False),
    ):  # fmt: skip
        found = Calibration(systems, pairs, labels={"d": "Depth"})
        assert (found.complete, found.corrects) == (complete, corrects)
        named = found.labelled({"d": "Depth"}.__getitem__)
        assert {one.dimension for one in (*named.systems, *named.pairs)} <= {"Depth"}
        assert (len(named.systems), len(named.pairs)) == (len(systems), len(pairs))
        assert named.labels == {}


def test_how_many_ratings_halve_an_interval_by_hand() -> None:
    """Of 100 prompts people rated 10, two items each. What the panel adds, 0.09 · 100 / 90 = 0.1,
    stays; the rest of 4 + 0.09 falls as 10 by their number; Student's t has two degrees fewer."""
    reached = _Reached(1.0, 0.09, math.sqrt(4.09), 8.0)
    half = math.sqrt(4.09) * stats.t.ppf(0.975, 8) / 2
    needed = next(
        m for m in range(11, 101)
        if math.sqrt(3.99 * 10 / m + 0.1) * stats.t.ppf(0.975, m - 2) <= half
    )  # fmt: skip
    assert reached.to_halve(10, 20, 100) == 2 * needed
    assert reached.to_halve(10, 20, needed - 1) is None
