"""What is concluded from a leaderboard, rule by rule."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import numpy as np
import pytest
from statsmodels.stats.power import TTestPower

from persona_panel.results.conclusions.score import Judged, board_conclusion, score_conclusion
from persona_panel.statistics.core.ranking import (
    JudgeSample,
    JudgesVariance,
    Leaderboard,
    SampledMean,
    influence_of,
    prompts_needed,
    rank_systems,
)

WHOLE = Judged(n_judges=6, n_personas=3, n_models=2, expected=60, scored=60)


def board(table: list[list[float]], **more: object) -> Leaderboard:
    """Of a prompts × systems table of composites; NaN where there is none."""
    names = [name for _ in table for name in "ABCDEF"[: len(table[0])]]
    prompts = [f"p{i}" for i, line in enumerate(table) for _ in line]
    values = np.array(table).ravel()
    return rank_systems(names, prompts, values, np.empty((len(values), 0)), [], **more)  # type: ignore[arg-type]


def test_a_winner_is_named_with_its_lead() -> None:
    """Two systems about four points apart on five prompts: who is ahead, by how much, the interval
    and p of the difference; and nothing is left to settle."""
    said = board_conclusion(board([[9, 5.1], [8.5, 4.2], [9.2, 5], [8.8, 5.3], [9, 4.9]]))
    assert len(said) == 1
    assert said[0].startswith("A is ahead of B, with these judges as they are: by 4.00 points (95")
    assert "adjusted p < 0.001, 5 prompts" in said[0]


def test_a_winner_of_three_is_ahead_of_the_nearest() -> None:
    """A is ahead of B and C, whose difference is 0 in the mean: of the nearest by 3 or so; and of
    the one other difference it is said whether it is established."""
    table = [[9, 5, 6], [8.8, 6, 5], [9.1, 5.5, 5.4], [9.2, 5.4, 5.5]]
    said = board_conclusion(board(table))
    assert said[0].startswith("A is ahead of every other system, with these judges as they are")
    assert "of the nearest, " in said[0]
    assert said[1] == (
        "The difference between B and C is not established (B − C: 0.00 points, 95 % interval "
        "−1.31 to 1.31, adjusted p 1)."
    )
    shown = board_conclusion(board([[9, 5, 3.1], [8.8, 6, 3.9], [9.1, 5.5, 3.6], [9.2, 5.4, 3.3]]))
    assert shown[1].startswith("B is ahead of C by 2.00 points (95 % interval ")


def test_ties_are_all_named() -> None:
    """Of three systems two are tied for first place: both are named, and the third, which may be
    first as well, is among those between which it is open."""
    said = board_conclusion(board([[5, 7, 5.5], [7, 5, 5.9], [6, 6, 6.1]]))
    assert said[0] == (
        "Who is ahead cannot be said: A and B are tied for the highest composite (6.00), but first "
        "place is open between all 3 systems."
    )
    assert said[-1] == (
        "How many prompts would settle it cannot be estimated from the difference of 0.00 between "
        "A and B."
    )


def test_a_tie_of_all_on_every_prompt_is_untested() -> None:
    """Three systems with 5 on every prompt: all are tied, and no difference can be tested."""
    [said] = board_conclusion(board([[5.0] * 3] * 4))
    assert said.startswith(
        "Who is ahead cannot be said: A, B and C are tied for the highest composite (5.00), and no "
        "difference can be tested (no spread over prompts"
    )


def test_nothing_established_says_what_would_settle_it() -> None:
    """Differences of 1, −1, 1, −1, 1 have the mean 0.2 and the standard deviation √1.2, an effect
    of 0.183. A t-test of one pair needs 237.4 prompts for 80 % power (statsmodels)."""
    found = board([[5, 4], [5, 6], [5, 4], [5, 6], [5, 4]])
    said = board_conclusion(found)
    assert said[0].endswith("but first place is open between A and B.")
    assert said[1].startswith("Their difference may be chance (95 % interval −1.16 to 1.56, ")
    needed = TTestPower().solve_power(0.2 / 1.2**0.5, power=0.8, alpha=0.05)
    assert 230 < needed < 240
    assert said[2] == (
        "If the difference is as large as observed (0.20 points), about 240 prompts would show "
        "that A is ahead of B (80 % power if so, which is not known; now 5)."
    )


def test_the_number_of_prompts_allows_for_the_number_of_pairs() -> None:
    """With three systems the test is one of three: at a level of 5 %/3, as Holm's first step."""
    rng = np.random.default_rng(4)
    found = board(rng.normal([5.4, 5.2, 5], 1, (6, 3)).tolist())
    first = found.systems[0].system
    own = [one for one in found.differences if first in (one.a, one.b)]
    effect = min(abs(one.effect_size) for one in own)
    needed = TTestPower().solve_power(effect, power=0.8, alpha=0.05 / 3)
    told = re.search(r"about ([\d,]+) prompts", board_conclusion(found)[-1])
    assert told is not None
    # Two digits are printed, rounded up.
    assert needed <= int(told[1].replace(",", "")) <= 1.12 * needed + 1


def test_so_many_prompts_do_establish_it() -> None:
    """Were the observed effect the true one, four of five leaderboards with so many prompts would
    establish it: 400 simulations of two systems with an effect of 0.5, which takes 34 prompts."""
    found = board([[5.5 + x, 5 + y] for x, y in ((1, 0), (-1, 0), (0, 0.5), (0, -0.5))])
    [one] = found.differences
    shift = one.effect_size
    told = re.search(r"about (\d+) prompts", board_conclusion(found)[-1])
    assert told is not None
    rng = np.random.default_rng(0)
    n = int(told[1])
    shown = sum(
        board(np.column_stack([rng.normal(shift, 1, n), np.zeros(n)]).tolist()).winner == "A"
        for _ in range(400)
    )
    assert shown / 400 == pytest.approx(0.8, abs=0.06)


def test_few_prompts_make_a_rough_number() -> None:
    """From two prompts the number is called a rough estimate."""
    said = board_conclusion(board([[5, 4], [5, 4.5]]))
    rough = "(80 % power if so, which is not known; a rough estimate from 2 prompts)."
    assert said[-1].endswith(rough)


def test_one_prompt_says_what_it_takes() -> None:
    """With one prompt no difference can be tested, and what a test needs is said."""
    [said] = board_conclusion(board([[9, 5]]))
    assert said == (
        "Who is ahead cannot be said: A has the highest composite (9.00), and no difference can "
        "be tested (an interval needs at least two prompts, or two items where items have no "
        "prompts)."
    )


def test_systems_that_share_no_prompt_are_not_compared_and_the_reason_is_that() -> None:
    """Of systems with prompts of their own the reason is no lack of prompts."""
    nan = float("nan")
    [said] = board_conclusion(board([[9, nan], [8, nan], [nan, 5], [nan, 6]]))
    assert "no difference can be tested (no prompt has texts of two systems: " in said


def test_some_differences_are_established() -> None:
    """A and B, which win in turn, are both far ahead of C: that is established, and first place is
    open between the two alone."""
    table = [[9, 8.9, 2.1], [8, 8.2, 2], [9, 8.8, 1.7], [8, 8.1, 2.2], [8.5, 8.4, 2]]
    said = board_conclusion(board(table))
    assert said[0].endswith("but first place is open between A and B.")
    assert said[1] == "Established (adjusted p < 0.05): A is ahead of C; B is ahead of C."


def test_a_difference_that_only_its_own_p_shows_is_not_claimed() -> None:
    """Of six equal systems a pair has a p below 5 % by itself, and none after adjustment."""
    rng = np.random.default_rng(0)
    found = board(rng.normal(5, 1, (5, 6)).tolist())
    assert min(one.p for one in found.differences) < 0.05
    assert min(one.p_adjusted for one in found.differences) > 0.05
    told = " ".join(board_conclusion(found))
    assert "No difference between two systems is established" in told
    assert "is ahead of every" not in told


def test_one_system_is_compared_with_nobody() -> None:
    """One system: its composite, the interval (5.5 ± 12.706 · 0.5), and that there is no other."""
    [said] = board_conclusion(board([[5.0], [6.0]]))
    assert said == (
        "A has a composite of 5.50 (95 % interval −0.85 to 11.85, 2 prompts); there is no other "
        "system with a composite to compare it with."
    )


def test_without_a_composite_nobody_is_ranked() -> None:
    """Ratings without any composite, of categories for instance."""
    [said] = board_conclusion(board([[np.nan, np.nan]] * 3))
    assert said == "Systems cannot be ranked: no response has a composite."


def judged_board(ratings: np.ndarray) -> Leaderboard:
    """Of ratings `(prompts, systems, judges)`, with judges as a sample."""
    n, systems, judges = ratings.shape
    flat = ratings.reshape(n * systems, judges)
    sample = JudgeSample(influence_of(flat[:, :, None]), {"rater": list("uvwxyz"[:judges])})
    table = ratings.mean(axis=2).tolist()
    return board(table, judges=sample, random="prompts-and-judges")


def drawn(rng: np.random.Generator, n: int, tastes: np.ndarray, noise: float) -> np.ndarray:
    """Ratings of two systems by judges with lasting tastes `(judges,)`, who differ by prompt."""
    by_prompt = rng.normal(0, 1, (n, 2, 1)) + rng.normal(0, noise, (n, 2, len(tastes)))
    by_prompt[:, 0] += 0.5 + tastes
    return by_prompt


def told(said: str) -> int | None:
    """The number of prompts in a sentence; None where it has none."""
    found = re.search(r"about ([\d,]+) prompts would", said)
    return None if found is None else int(found[1].replace(",", ""))


def test_judges_who_differ_lastingly_forbid_it_however_many_prompts() -> None:
    """Six judges whose tastes are 0.3 and −0.3 points around the difference of 0.1: their part
    alone has the error √(6 · 0.09 / 30) = 0.134, which 0.1 does not exceed 2.57 times."""
    rng = np.random.default_rng(0)
    tastes = np.array([0.3, -0.3] * 3) - 0.4
    said = board_conclusion(judged_board(drawn(rng, 100, tastes, 0.1)))
    assert said[-1].endswith("with these judges: more judges are needed.")
    assert "no number of prompts would show" in said[-1]
    assert told(said[-1]) is None


def test_so_many_prompts_by_the_same_judges_do_establish_it() -> None:
    """Judges' tastes, with a spread of 0.15, leave an error of 0.067; of boards with the number of
    prompts that the variances give, four of five show the difference of 0.5."""
    tastes = np.array([0.15, -0.15] * 3)
    total, n = 6 * 0.15**2 / 30, 60
    # By prompt: two systems' own 1 and a sixth of the judges' noise.
    sd = math.sqrt(2 * (1 + 0.5**2 / 6))
    parts = JudgesVariance(total + 2 * 0.25 / 6 / n, 2 * 0.25 / 6 / n, 5.0)
    mean = SampledMean(0.5, ((sd / math.sqrt(n), n - 1.0),), n, judges=(parts,))
    needed = prompts_needed(mean, 0.05)
    assert needed is not None
    alone = prompts_needed(replace(mean, judges=()), 0.05)
    assert alone is not None
    assert needed > alone + 3
    rng = np.random.default_rng(1)
    boards = [judged_board(drawn(rng, needed, tastes, 0.5)) for _ in range(400)]
    assert sum(one.winner == "A" for one in boards) / 400 == pytest.approx(0.8, abs=0.07)


def test_what_is_open_takes_more_prompts_than_there_are() -> None:
    """On 200 random leaderboards of two and three systems, with judges as a sample and as they are,
    no sentence gives a number of prompts that is not above the one there is now."""
    given = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        n, systems = int(rng.choice([5, 12, 30, 100])), int(rng.integers(2, 4))
        ratings = rng.normal(0, 1, (n, systems, 1)) + rng.normal(0, 1, (n, systems, 6))
        ratings += rng.normal(0, rng.choice([0, 0.1, 0.4]), (systems, 6))
        ratings += np.linspace(0, rng.choice([0, 0.3, 0.6]), systems)[:, None]
        for found in (judged_board(ratings), board(ratings.mean(axis=2).tolist())):
            needed = told(board_conclusion(found)[-1])
            given += needed is not None
            assert needed is None or needed > n
    assert given > 150


def test_nothing_judged_gives_the_reasons_alone() -> None:
    """No judgment was scored: first why, without what followed from that, then how they ended, and
    no word on who is ahead."""
    failed = replace(
        WHOLE,
        scored=0,
        missing={"failed": 8, "skipped": 52},
        reasons={"failed": "the server answered 401", "skipped": "it is no longer called"},
    )
    assert score_conclusion(board([[np.nan, np.nan]]), failed) == [
        "Nothing could be scored: the server answered 401. None of 60 judgments was scored "
        "(8 failed, 52 skipped): nothing can be concluded."
    ]
    capped = replace(failed, missing={"skipped": 60}, reasons={"skipped": "the cap is reached"})
    assert score_conclusion(board([[np.nan, np.nan]]), capped)[0].startswith(
        "Nothing could be scored: the cap is reached. None of 60 "
    )


def test_many_missing_are_counted_in_the_conclusion() -> None:
    """A twentieth missing is said, by reason; less is left to the end of what is printed."""
    found = board([[5, 4], [5, 4.5]])
    many = replace(WHOLE, scored=57, missing={"failed": 2, "refused": 1})
    assert score_conclusion(found, many)[-1] == (
        "3 of 60 judgments are missing (2 failed, 1 refused): composites are means of those that "
        "are there."
    )
    assert score_conclusion(found, replace(WHOLE, scored=58, missing={"failed": 2})) == (
        score_conclusion(found, WHOLE)
    )


@pytest.mark.parametrize(
    ("judges", "says"),
    [
        ((1, 1, 1), "There is one judge"),
        ((5, 5, 1), "All 5 judges are of one model"),
        ((3, 1, 3), "All 3 judges have one persona"),
    ],
)
def test_what_all_judges_have_in_common_is_said(judges: tuple[int, int, int], says: str) -> None:
    """One judge, one model or one persona: what no interval includes."""
    n_judges, n_personas, n_models = judges
    judged = replace(WHOLE, n_judges=n_judges, n_personas=n_personas, n_models=n_models)
    found = board([[5, 4], [5, 4.5]])
    assert score_conclusion(found, judged)[-1].startswith(says)
    assert len(score_conclusion(found, judged)) == len(score_conclusion(found, WHOLE)) + 1


def test_judges_without_a_persona_are_named_as_such() -> None:
    """What they find is one sentence under their name."""
    winner = board([[9, 5.1], [8.5, 4.2], [9.2, 5], [8.8, 5.3], [9, 4.9]])
    said = score_conclusion(board([[5, 4], [5, 4.5]]), WHOLE, winner)
    assert said[-1].startswith("By the judges without a persona: A is ahead of B")


def declining(*of_system: tuple[int, int]) -> Leaderboard:
    """Systems with so many abstentions and judgments on each of five prompts."""
    n = len(of_system)
    table = [[5.0 + i + 0.1 * ((p + i) % 3) for i in range(n)] for p in range(5)]
    counts = np.array([pair for _ in range(5) for pair in of_system])
    return board(table, abstentions=counts)


def test_a_system_that_declines_is_named_after_who_is_ahead() -> None:
    """B is about a point ahead of A; of C, with the highest mean, 3 of 4 judgments on each of five
    prompts are abstentions: the conclusion is that of A and B, and says why C is not ranked."""
    found = score_conclusion(declining((0, 4), (0, 4), (3, 4)), WHOLE)
    assert found[0].startswith("B is ahead of A, with these judges as they are: by 1.0")
    assert found[1] == (
        "C is not ranked: 15 of its 20 judgments are abstentions (the response declines to "
        "answer); its mean of 7.10 rests on 5."
    )
    assert len(found) == 2


def test_who_is_alone_with_systems_that_decline() -> None:
    """One system that is ranked beside one that declines has nothing to be compared with; where
    all decline, nobody is ranked; more than three are counted."""
    said = score_conclusion(declining((0, 4), (4, 4)), WHOLE)
    assert said[0].endswith("; no other system is ranked to compare it with.")
    said = score_conclusion(declining((3, 4), (4, 4)), WHOLE)
    assert said[0] == "Systems cannot be ranked: most of their judgments are abstentions."
    assert len(said) == 3
    said = score_conclusion(declining((0, 4), *[(3, 4)] * 4), WHOLE)
    assert said[1] == (
        "4 systems are not ranked: more than half of the judgments of each are abstentions (the "
        "response declines to answer)."
    )
