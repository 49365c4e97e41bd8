"""Who sees what: coverage, balance, and refusals with a number that would do."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from itertools import combinations, pairwise

import pytest

from persona_panel.files.errors import ConfigurationError
from persona_panel.study.design import (
    StudyDesign,
    StudySettings,
    TextSet,
    design_study,
    williams_square,
)


@pytest.mark.parametrize("n", range(1, 8))
def test_a_williams_square_balances_places_and_neighbours(n: int) -> None:
    """Each thing is in each place equally often, and directly behind each other equally often."""
    rows = williams_square(n)
    places = Counter((place, thing) for row in rows for place, thing in enumerate(row))
    assert len(places) == n * n
    assert set(places.values()) == {len(rows) // n}
    neighbours = Counter(pair for row in rows for pair in pairwise(row))
    assert len(neighbours) == n * (n - 1)
    assert len(set(neighbours.values())) == (n > 1)


def sets(design: StudyDesign, role: str) -> list[list[TextSet]]:
    return [[one for one in session if one.role == role] for session in design.sessions]


def test_every_text_is_seen_and_every_pair_compared() -> None:
    """Of eight prompts of four texts, six raters of ten texts see each text and compare each pair;
    no rater sees a prompt twice but in a repeated set; calibration comes first, the same for all,
    and repeats last, with the texts of the set that they repeat."""
    settings = StudySettings(6, 10, calibration=2, repeats=1, attention=2, seed=1)
    design = design_study([4] * 8, settings)
    assert min(design.ratings_per_text().values()) >= 2
    assert len(design.raters_per_pair()) == 8 * 6
    assert min(design.raters_per_pair().values()) >= 1
    shared = {frozenset(one.prompt for one in own) for own in sets(design, "calibration")}
    assert [len(one) for one in shared] == [2]
    for session, mains in zip(design.sessions, sets(design, "main"), strict=True):
        seen = [one.prompt for one in session if one.role in ("calibration", "main")]
        assert len(seen) == len(set(seen))
        assert sum(len(one.texts) for one in mains) == 10
        shown = [one for one in session if one.role != "attention"]
        assert [one.role for one in shown[:2]] == ["calibration"] * 2
        again = shown[-1]
        assert again.role == "repeat"
        assert again.repeats is not None
        first = session[again.repeats]
        assert (first.role, first.prompt) == ("main", again.prompt)
        assert again.texts == first.texts[::-1]
    assert [len(own) for own in sets(design, "attention")] == [2] * 6


def test_places_are_balanced_where_raters_see_whole_prompts() -> None:
    """With as many raters as a prompt has texts, each text is in each place once, and each prompt
    in each place of a session once."""
    design = design_study([4] * 4, StudySettings(4, 16, seed=5))
    places = Counter(
        (one.prompt, place, text)
        for session in design.sessions
        for one in session
        for place, text in enumerate(one.texts)
    )
    assert set(places.values()) == {1}
    assert len(places) == 4 * 4 * 4
    order = Counter(
        (place, one.prompt) for session in design.sessions for place, one in enumerate(session)
    )
    assert set(order.values()) == {1}


@pytest.mark.parametrize("seed", range(5))
def test_orders_are_balanced_with_few_raters(seed: int) -> None:
    """Three raters of five texts, where the square has ten rows: no text stands first twice, and
    none before another for all three; nor twice first where each rater sees some of seven texts."""
    for sizes, raters, per_rater in (([5], 3, 5), ([7] * 4, 9, 12)):
        design = design_study(sizes, StudySettings(raters, per_rater, seed=seed))
        shown = [one for session in design.sessions for one in session]
        first = Counter((one.prompt, one.texts[0]) for one in shown)
        assert set(first.values()) == {1}
        if len(sizes) == 1:
            before = Counter(pair for one in shown for pair in combinations(one.texts, 2))
            assert max(before.values()) <= 2


def test_texts_that_are_only_rated_are_seen_alike_often() -> None:
    """Without a ranking no pair needs to be seen: each text has two raters, within one."""
    settings = StudySettings(4, 10, tasks=("rate",), seed=2)
    seen = Counter(
        design_study([1, 2, 1, 3, 2, 1, 1, 2, 3, 1, 2, 1], settings).ratings_per_text().values()
    )
    assert set(seen) <= {1, 2, 3}
    assert seen[2] >= 18


def test_many_texts_to_a_prompt_rotate() -> None:
    """Of ten texts to a prompt a rater compares six at most, as in SCRuB's study, and all pairs are
    compared by somebody."""
    design = design_study([10] * 6, StudySettings(12, 36, seed=2))
    assert {len(one.texts) for session in design.sessions for one in session} == {6}
    counts = design.raters_per_pair().values()
    assert min(counts) >= 1
    assert max(counts) - min(counts) <= 4


def test_the_same_seed_gives_the_same_design() -> None:
    """And another seed another one."""
    settings = StudySettings(3, 12, seed=1)
    assert design_study([4] * 6, settings) == design_study([4] * 6, settings)
    assert design_study([4] * 6, settings) != design_study([4] * 6, StudySettings(3, 12, seed=2))


@pytest.mark.parametrize(
    ("sizes", "settings", "found"),
    [
        ([4] * 8, StudySettings(2, 10), "12 of 32 texts would be seen by nobody"),
        ([4] * 2, StudySettings(2, 6), "pairs of texts to the same prompt would be compared"),
        ([4] * 8, StudySettings(9, 40), "more than the texts that there are"),
        ([9] * 2, StudySettings(9, 18), "at most 6 of a prompt"),
        ([4] * 6, StudySettings(6, 4, repeats=2), "fewer than --repeats 2 would"),
        # No number of texts or raters gives a rater 99 prompts.
        ([4] * 8, StudySettings(6, 12, repeats=99), "fewer than --repeats 99 would"),
        # Nor does one for two lacks.
        ([4] * 8, StudySettings(2, 10, repeats=99), "12 of 32 texts would be seen by nobody"),
    ],
)
def test_impossible_designs_are_refused_with_a_number_that_does(
    sizes: list[int], settings: StudySettings, found: str
) -> None:
    """The error says what is lacking, and each number that it names gives a design."""
    with pytest.raises(ConfigurationError, match=found) as raised:
        design_study(sizes, settings)
    offered = str(raised.value).rpartition(";")[2]
    offers = [
        re.findall(r"(?:--(per-rater|raters|repeats)|at most) (\d+)", offer)
        for offer in offered.split(" or ")
    ]
    assert all(offers)
    for numbers in offers:
        changed = {(name or "per-rater").replace("-", "_"): int(n) for name, n in numbers}
        design_study(sizes, replace(settings, **changed))


@pytest.mark.parametrize(
    ("sizes", "settings", "remedy"),
    [
        ([4, 1], StudySettings(2, 4), "--tasks rate"),
        ([4, 4], StudySettings(2, 1), "2 would do"),
        ([4, 4], StudySettings(2, 4, calibration=2), "1 would do"),
    ],
)
def test_other_impossible_designs_name_a_remedy(
    sizes: list[int], settings: StudySettings, remedy: str
) -> None:
    """A prompt of one text to rank, one text to rank, and calibration that leaves nothing."""
    with pytest.raises(ConfigurationError, match=remedy):
        design_study(sizes, settings)


def test_single_texts_can_be_rated() -> None:
    """Without a ranking a prompt may have one text, and a rater one text."""
    design = design_study([1] * 5, StudySettings(5, 1, tasks=("rate",)))
    assert set(design.ratings_per_text().values()) == {1}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("sizes", "raters", "readings"),
    [
        ([6] * 30, 45, 10),
        ([13] * 10, 45, 10),
        ([4, 7, 9, 2, 6] * 4, 14, 5),
        ([6] * 3 + [2] * 12, 5, 2),
        ([8], 4, 3),
    ],
)
def test_a_design_by_readings_is_exact(
    sizes: list[int], raters: int, readings: int, seed: int
) -> None:
    """Each text has exactly the readings asked for, no rater sees a prompt twice, raters have as
    many sets as others or one more, sets of a prompt differ by one text; in no set of four texts or
    more do they stand in the order of the file."""
    design = design_study(sizes, StudySettings(raters, 0, readings=readings, seed=seed))
    assert set(design.ratings_per_text().values()) == {readings}
    loads = [len(session) for session in design.sessions]
    assert max(loads) - min(loads) <= 1
    texts = design.rotated_per_rater()
    assert max(texts) - min(texts) <= 6
    for session in design.sessions:
        assert len({one.prompt for one in session}) == len(session)
    for prompt in range(len(sizes)):
        shown = [one for session in design.sessions for one in session if one.prompt == prompt]
        assert max(len(one.texts) for one in shown) - min(len(one.texts) for one in shown) <= 1
        assert all(list(one.texts) != sorted(one.texts) for one in shown if len(one.texts) > 3)
    pairs = design.raters_per_pair().values()
    assert min(pairs) >= 1
    assert max(pairs) - min(pairs) <= (5 if max(sizes) > 6 else max(pairs) - readings)


@pytest.mark.parametrize("seed", range(3))
def test_systems_are_balanced_over_places_and_groups_over_texts(seed: int) -> None:
    """Of SCRuB's 30 prompts of six systems with ten readings each text of a prompt is in each place
    once or twice, and each system over all prompts 50 times, give or take three; the readings of a
    text are of all three disciplines, at most three of one more than of another; with six readings
    by six raters of three disciplines, two of each."""
    systems = [[(text + prompt) % 6 for text in range(6)] for prompt in range(30)]
    groups = ("law", "history", "sociology") * 15
    settings = StudySettings(45, 0, readings=10, seed=seed, groups=groups)
    design = design_study([6] * 30, settings, systems)
    own: Counter[tuple[int, int, int]] = Counter()
    overall: Counter[tuple[int, int]] = Counter()
    read: Counter[tuple[int, int, str]] = Counter()
    for group, session in zip(groups, design.sessions, strict=True):
        for one in session:
            for place, text in enumerate(one.texts):
                own[one.prompt, place, text] += 1
                overall[place, systems[one.prompt][text]] += 1
                read[one.prompt, text, group] += 1
    assert len(own) == 30 * 6 * 6
    assert set(own.values()) == {1, 2}
    assert len(overall) == 36
    assert all(abs(n - 50) <= 3 for n in overall.values())
    assert len(read) == 30 * 6 * 3
    assert set(read.values()) <= {2, 3, 4, 5}
    few = design_study([4] * 8, StudySettings(6, 0, readings=6, seed=seed, groups=groups[:6]))
    assert {len(session) for session in few.sessions} == {8}


def test_designs_by_readings_that_cannot_be_name_a_remedy() -> None:
    """More sets of a prompt than raters, fewer sets than raters, and repeats that nobody has."""
    for settings, remedy in (
        (StudySettings(3, 0, readings=4), "--raters 4 or --readings 3 would do"),
        (StudySettings(9, 0, readings=4), "--raters 8 or --readings 5 would do"),
        (StudySettings(8, 0, readings=4, repeats=2), "fewer than --repeats 2"),
    ):
        with pytest.raises(ConfigurationError, match=remedy):
            design_study([4, 4], settings)
    for raters, readings in ((4, 4), (3, 3), (8, 4), (9, 5)):
        assert design_study([4, 4], StudySettings(raters, 0, readings=readings)).sessions
