"""Which system is best, and what would settle it, rule by rule, on leaderboards of few numbers."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from persona_panel.analyses.answers import what_would_settle, which_is_best
from persona_panel.analyses.ranked_systems import by_panel
from persona_panel.statistics.core.jackknife import VariancePart
from persona_panel.statistics.core.means import assured
from persona_panel.statistics.core.ranking import Leaderboard, Winner, rank_systems
from persona_panel.statistics.core.sampled_mean import (
    JudgeSample,
    SampledMean,
    prompts_assured,
)
from tests.helpers.gate_runs import run_of

NAN = math.nan
RUN = run_of([[[5.0]]], ["ash"])
"""A run without a price: of it come the unit and the commands alone."""


def best(board: Leaderboard) -> str:
    """The sentence on which system is best."""
    return which_is_best(RUN, by_panel(board)).sentence


def settled(board: Leaderboard) -> str:
    """The sentence on what would settle it."""
    return what_would_settle(RUN, by_panel(board)).sentence


def board(table: list[list[float]], **more: object) -> Leaderboard:
    """Of a prompts × systems table of composites; NaN where there is no response."""
    cells = np.argwhere(~np.isnan(table)).tolist()
    names, prompts = ["ABCDEF"[s] for _, s in cells], [f"p{p}" for p, _ in cells]
    values = np.array([table[p][s] for p, s in cells])
    return rank_systems(names, prompts, values, np.empty((len(values), 0)), [], **more)  # type: ignore[arg-type]


def test_a_winner_is_named_with_its_lead() -> None:
    """Two systems about four points apart on five prompts: which is ahead, by how much, the
    interval and p of the difference; and nothing is left to settle."""
    found = board([[9, 5.1], [8.5, 4.2], [9.2, 5], [8.8, 5.3], [9, 4.9]])
    assert best(found).startswith("A is significantly ahead: 4.00 points above B (95 % interval ")
    assert best(found).endswith(" to 4.39, p < 0.001, 5 prompts).")
    assert settled(found) == "Which system is best by the panel's scores is shown at the 5 % level."


def test_a_winner_of_three_is_named_with_its_least_certain_difference() -> None:
    """A is ahead of B by 3 or 3.6, of C by 2 or 6 points: B is nearer, and C less certain. The
    p-value that decides is that of scipy's paired t-test of A and C."""
    found = board([[9, 6, 7], [9, 5.4, 3], [9.2, 6.2, 7.2], [9, 5.4, 3]] * 2)
    expected = stats.ttest_1samp([2, 6, 2, 6] * 2, 0).pvalue
    assert by_panel(found).winner == found.winner == Winner("A", pytest.approx(expected))
    assert best(found) == (
        "A is significantly ahead: 4.00 points above C, the comparison with the largest p-value "
        f"(95 % interval 2.21 to 5.79, p {expected:.2g}, 8 prompts)."
    )
    answer = which_is_best(RUN, by_panel(found)).estimate.document()
    assert (answer["p"], answer.get("p_adjusted")) == (pytest.approx(expected), None)


def test_a_winner_needs_no_adjustment_for_the_number_of_systems() -> None:
    """Of five systems A is better than each other one at 5 %, the largest p is 0.026 (scipy), and
    after adjustment for the ten pairs two of the differences are open: A is named, and its rank
    interval, which holds for all systems at once, has two more places."""
    table = np.round(np.random.default_rng(11).normal([6.2, 5, 5, 5, 5], 1, (8, 5)), 1)
    p_values = [stats.ttest_rel(table[:, 0], table[:, other]).pvalue for other in range(1, 5)]
    assert 0.02 < max(p_values) < 0.03
    found = board(table.tolist())
    assert found.winner == Winner("A", pytest.approx(max(p_values)))
    own = [one for one in found.differences if one.a == "A"]
    assert [one.shown for one in own].count(False) == 2
    assert (found.systems[0].rank_low, found.systems[0].rank_high) == (1, 3)
    assert "A is significantly ahead: " in best(found)
    assert settled(found) == "Which system is best by the panel's scores is shown at the 5 % level."


def test_ties_are_all_named() -> None:
    """Of three systems two have the same mean: no number of prompts follows from a difference of 0,
    and all that are not significantly below the first are named."""
    found = board([[5, 7, 5.5], [7, 5, 5.9], [6, 6, 6.1]])
    assert best(found).startswith("No system is significantly ahead: A 6.00, B 6.00, difference ")
    assert best(found).endswith(" Tied with A: B and C.")
    assert settled(found) == "Not known: the difference between A and B is 0.00."


def test_a_tie_of_all_on_every_prompt_is_untested() -> None:
    """Three systems with 5 on every prompt: no difference can be tested."""
    said = best(board([[5.0] * 3] * 4))
    assert said.startswith("No difference between systems can be tested (no spread over prompts")
    assert said.endswith("): A 5.00, B 5.00, C 5.00.")


def test_nothing_significant_says_what_would_settle_it() -> None:
    """Differences of 1, −1, 1, −1, 1 have the mean 0.2 and the standard deviation √1.2, an effect
    of 0.183, 0.41 standard errors: t(4) below 0.41 · √(5/9) has a probability of 61 %."""
    found = board([[5, 4], [5, 6], [5, 4], [5, 6], [5, 4]])
    assert best(found).startswith(
        "No system is significantly ahead: A 5.00, B 4.80, difference 0.20 points (95 % interval "
        "−1.16 to 1.56, "
    )
    assert stats.t.cdf(0.2 / (1.2 / 5) ** 0.5 * (5 / 9) ** 0.5, 4) == pytest.approx(0.61, abs=0.005)
    assert settled(found) == (
        "New prompts would show A ahead of B with a probability of at most 61 %, however "
        "many (now 5): the reverse may be true."
    )


def test_the_number_of_prompts_is_that_of_the_hardest_comparison() -> None:
    """Of three systems: a test at 5 %, as the first is compared with each other by itself."""
    rng = np.random.default_rng(1)
    found = board(rng.normal([6, 5.2, 5], 1, (12, 3)).tolist())
    first = found.systems[0].system
    own = [one for one in found.differences if first in (one.a, one.b)]
    effect = min(abs(one.effect_size) for one in own)
    needed = assured(effect, 1.0, 12, 0.0, 0.05).needed
    n = prompts_in(settled(found))
    assert n is not None
    assert needed is not None
    # Two digits are printed, rounded up.
    assert needed <= n <= 1.12 * needed + 1


def test_one_prompt_says_what_it_takes() -> None:
    """With one prompt no difference can be tested, and what a test needs is said."""
    assert best(board([[9, 5]])) == (
        "No difference between systems can be tested (an interval needs two prompts, or two items "
        "without prompts): "
        "A 9.00, B 5.00."
    )


def test_systems_that_share_no_prompt_are_not_compared_and_the_reason_is_that() -> None:
    """Of systems with prompts of their own the reason is no lack of prompts."""
    nan = float("nan")
    said = best(board([[9, nan], [8, nan], [nan, 5], [nan, 6]]))
    assert "can be tested (no prompt has texts of two systems: " in said


@pytest.mark.parametrize(
    ("ratings", "why"),
    [
        # One judge rated A alone, the other B alone.
        ([[[5, NAN], [NAN, 3]], [[4, NAN], [NAN, 2]]], "no judge rated both on the same prompt"),
        # Either prompt has ratings of one system.
        ([[[5, 4], [NAN, NAN]], [[NAN, NAN], [3, 2]]], "no prompt has ratings of both"),
    ],
)
def test_systems_with_texts_on_the_same_prompts_are_not_said_to_have_none(
    ratings: list[list[list[float]]], why: str
) -> None:
    """Both prompts have a response of either system, and no difference of their ratings."""
    run = run_of(ratings, ["A", "B"])
    said = which_is_best(run, by_panel(run.leaderboard())).sentence
    assert said.startswith(f"No difference between systems can be tested ({why}): A ")


def test_a_system_that_is_better_on_all_prompts_of_both_is_not_called_tied() -> None:
    """A has 9 on five easy prompts, which B did not answer; on five others it is a point or more
    below B. It has the highest mean, and B is ahead of it, by 1.4 points with the p-value of
    scipy's paired t-test. No system is the winner, and no number of prompts would settle it."""
    ours, theirs = [5.0, 5, 6, 5, 6], [6.0, 6.5, 7.5, 6.5, 7.5]
    table = [[9.0, NAN]] * 5 + [list(pair) for pair in zip(ours, theirs, strict=True)]
    p = stats.ttest_rel(theirs, ours).pvalue
    assert p < 0.001
    for rows, how in (
        (table, "p"),
        ([[*row, 2.0 + n % 2] for n, row in enumerate(table)], "adjusted p"),
    ):
        found = board(rows)
        assert best(found) == (
            "A has the highest mean, 7.20, but on the prompts and by the judges of both B (6.80) "
            "is significantly ahead of it, by 1.40 points (95 % interval 1.12 to 1.68, "
            f"{how} < 0.001, 5 prompts)."
        )
        answer = which_is_best(RUN, by_panel(found))
        assert answer.estimate.value == pytest.approx(-1.4)
        assert by_panel(found).winner is None
        assert settled(found) == (
            "Responses of every system to the same prompts would, rated by the same judges."
        )


def test_those_significantly_below_are_left_out_of_the_tie() -> None:
    """A and B, which win in turn, are both far ahead of C: it is not among those tied."""
    table = [[9, 8.9, 2.1], [8, 8.2, 2], [9, 8.8, 1.7], [8, 8.1, 2.2], [8.5, 8.4, 2]]
    assert best(board(table)).endswith(" Tied with A: B; significantly behind: C.")


def test_a_difference_that_only_its_own_p_shows_is_not_claimed() -> None:
    """Of six equal systems a pair has a p below 5 % by itself, and none after adjustment."""
    rng = np.random.default_rng(0)
    found = board(rng.normal(5, 1, (5, 6)).tolist())
    assert min(one.p for one in found.differences) < 0.05
    assert min(one.p_adjusted for one in found.differences) > 0.05
    assert best(found).startswith("No system is significantly ahead: ")


def test_without_a_composite_nobody_is_ranked() -> None:
    """Ratings without any composite, of categories for instance."""
    found = board([[np.nan, np.nan]] * 3)
    assert best(found) == "Systems cannot be ranked: no response has a composite."


def judged_board(ratings: np.ndarray) -> Leaderboard:
    """Of ratings `(prompts, systems, judges)`, with judges as a sample."""
    n, systems, judges = ratings.shape
    flat = ratings.reshape(n * systems, judges)
    sample = JudgeSample(flat[:, :, None], {"rater": list("uvwxyz"[:judges])})
    table = ratings.mean(axis=2).tolist()
    return board(table, judges=sample, random="prompts-and-judges")


def drawn(rng: np.random.Generator, n: int, tastes: np.ndarray, noise: float) -> np.ndarray:
    """Ratings of two systems by judges with lasting tastes `(judges,)`, who differ by prompt."""
    by_prompt = rng.normal(0, 1, (n, 2, 1)) + rng.normal(0, noise, (n, 2, len(tastes)))
    by_prompt[:, 0] += 0.5 + tastes
    return by_prompt


def prompts_in(sentence: str) -> int | None:
    """The number of prompts that would show it; None where there is none."""
    found = re.match(r"About ([\d,]+) new prompts ", sentence)
    return None if found is None else int(found[1].replace(",", ""))


def test_judges_who_differ_lastingly_forbid_it_however_many_prompts() -> None:
    """Six judges whose tastes are 0.3 and −0.3 points around the difference of 0.1: their part
    alone has the error √(6 · 0.09 / 30) = 0.134, which 0.1 does not exceed 2.57 times."""
    rng = np.random.default_rng(0)
    tastes = np.array([0.3, -0.3] * 3) - 0.4
    said = settled(judged_board(drawn(rng, 100, tastes, 0.1)))
    assert said.startswith("No number of prompts would show ")
    assert said.endswith(": more judges are needed.")


def test_so_many_prompts_by_the_same_judges_do_establish_it() -> None:
    """Judges' tastes, with a spread of 0.15, leave an error of 0.067, and a pilot of 60 prompts has
    a difference of 0.35; of true differences that are as likely after it, new boards with the
    number of prompts that is said show four of five."""
    tastes = np.array([0.15, -0.15] * 3)
    total, n = 6 * 0.15**2 / 30, 60
    # By prompt: two systems' own 1 and a sixth of the judges' noise.
    sd = math.sqrt(2 * (1 + 0.5**2 / 6))
    parts = VariancePart(total + 2 * 0.25 / 6 / n, 5.0, 2 * 0.25 / 6 / n)
    mean = SampledMean(0.35, ((sd / math.sqrt(n), n - 1.0),), n, judges=(parts,))
    needed = prompts_assured(mean, 0.05).needed
    assert needed is not None
    alone = prompts_assured(replace(mean, judges=()), 0.05)
    assert alone.needed is not None
    assert needed > alone.needed + 3
    assert prompts_assured(mean, 0.05).limit < alone.limit
    rng = np.random.default_rng(1)
    likely = rng.normal(0.35 * 60 / 64, sd / math.sqrt(64), 300)
    more = np.array([1, 0])[:, None]
    boards = [
        judged_board(drawn(rng, needed, tastes, 0.5) + (each - 0.5) * more) for each in likely
    ]
    first = [one.winner is not None and one.winner.system == "A" for one in boards]
    assert sum(first) / 300 == pytest.approx(0.8, abs=0.07)


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
            needed = prompts_in(settled(found))
            given += needed is not None
            assert needed is None or needed > n
    assert given > 60
