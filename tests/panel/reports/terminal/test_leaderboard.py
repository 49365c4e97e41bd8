"""What the leaderboard says in words, and the table of differences below it."""

from __future__ import annotations

import io

import numpy as np

from panel.reports.terminal.leaderboard import conclusion, show_leaderboard
from panel.reports.terminal.tables import output
from panel.statistics.core.ranking import Leaderboard, rank_systems
from panel.statistics.core.sampled_mean import JudgeSample, influence_of


def board(table: list[list[float]]) -> Leaderboard:
    """Of a prompts × systems table of composites."""
    names = [name for _ in table for name in "ABCDEF"[: len(table[0])]]
    prompts = [f"p{i}" for i, line in enumerate(table) for _ in line]
    values = np.array(table).ravel()
    return rank_systems(names, prompts, values, np.empty((len(values), 0)), [])


def printed(found: Leaderboard) -> str:
    to = io.StringIO()
    show_leaderboard("Systems", found, output(to))
    return to.getvalue()


def test_who_is_ahead_is_said() -> None:
    """One system ahead on every prompt by about four points is said to be ahead."""
    found = board([[9, 5.1], [8.5, 4.2], [9.2, 5], [8.8, 5.3], [9, 4.9]])
    assert conclusion(found) == "A is ahead of the other system (adjusted p < 0.05)."
    told = printed(found)
    assert "A - B" in told
    assert "4.00" in told
    assert "over prompts, with these judges as they are" in told


def test_that_it_cannot_be_said_is_said_with_what_is_open() -> None:
    """Two systems that win in turn: the difference that may be chance, and its p."""
    told = conclusion(board([[9, 1], [1, 9], [8, 3], [3, 8], [6, 5]])) or ""
    assert told.startswith("Who is ahead cannot be said: A has the highest composite")
    assert "0.20 points, adjusted p 0.95, over 5 prompts" in told


def test_one_prompt_says_nothing() -> None:
    """With one prompt no difference can be tested, and what it takes is said, in the sentence
    and below the table."""
    found = board([[9, 5]])
    assert "takes two prompts" in (conclusion(found) or "")
    assert "No interval over prompts: its interval takes two prompts" in printed(found)


def test_equal_composites_are_no_interval_of_no_width() -> None:
    """Systems that have 5.24 and 5 on every prompt have no interval, with the reason."""
    told = printed(board([[5.24, 5.0]] * 3))
    assert "5.24 to 5.24" not in told
    assert "no spread over prompts" in told


def judged(ratings: np.ndarray) -> Leaderboard:
    """Of one system's ratings `(prompts, judges)`."""
    prompts = [f"p{i}" for i in range(len(ratings))]
    judges = JudgeSample(
        influence_of(ratings[:, :, None]), {"rater": [f"j{n}" for n in range(ratings.shape[1])]}
    )
    return rank_systems(
        ["A"] * len(ratings),
        prompts,
        ratings.mean(axis=1),
        np.empty((len(ratings), 0)),
        [],
        judges=judges,
    )


def test_equal_intervals_are_explained() -> None:
    """With two prompts and judges that are all but alike both intervals are the same, and a remark
    says why; with judges who differ they are not, and there is none."""
    alike = np.array([[2.0, 2, 2, 2, 2.1], [6, 6, 6, 6, 6.1]])
    assert "Where both intervals are the same" in printed(judged(alike))
    differ = np.array([[2.0, 4, 6, 8, 9], [2.1, 4, 6, 8, 9.1], [2.0, 4.1, 6.1, 8, 9]])
    assert "Where both intervals are the same" not in printed(judged(differ))


def test_one_system_needs_no_conclusion() -> None:
    """Of a single system there is nobody to be ahead of, and no table of differences."""
    found = board([[5.0], [6.0]])
    assert conclusion(found) is None
    assert "Differences" not in printed(found)


def test_many_differences_are_in_the_file() -> None:
    """Of six systems ten of fifteen differences are shown, those of the first system before."""
    rng = np.random.default_rng(0)
    told = printed(board((rng.normal(5, 1, (6, 6)) - np.arange(6)).tolist()))
    assert "5 more differences are in summary.json" in told
    assert all(f"A - {other}" in told for other in "BCDEF")
