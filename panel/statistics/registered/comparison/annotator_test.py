"""The alternative annotator test of a panel and of each of its judges."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from persona_panel.statistics.agreement.labels import majority
from persona_panel.statistics.core.arrays import Array
from persona_panel.statistics.core.registry import ANY_LEVEL, OF_SCORES, StatisticTable
from persona_panel.statistics.core.results import BlockResult
from persona_panel.statistics.core.statistic import Reason, Statistic
from persona_panel.statistics.humans.annotator_test import (
    LEAST_CLUSTERS,
    LEAST_ITEMS,
    AlignmentScore,
    AnnotatorTest,
    annotator_test,
    resampled_advantage,
)
from persona_panel.statistics.humans.correlate import ComparisonBlock, comparison_statistics
from persona_panel.statistics.humans.left_out import left_out

RATER = "rater"
"""What the rows of a single judge are broken down by; the panel's own row has none."""

ANNOTATOR_TEST = StatisticTable(
    "Alternative annotator test, by judge; first the panel",
    all_raters_only=True,
    remark=(
        "Each person is left out in turn: who is nearer to the other people, the judge or that "
        "person? Winning rate ω: the share of people over whom the judge wins, with an allowance "
        "of epsilon; at 0.5 or more it may take the place of a person, by this test. Advantage ρ: "
        "how often it is at least as near as a person. Items needed: how many items each person "
        "would have to rate for ω of 0.5, with 80 % power, if differences are as observed. Where "
        "people's ratings are noisy, one score for everything can pass: look at correlations."
    ),
)


def _register_test_figure(name: str, heading: str, order: int, summary: str = "") -> None:
    @comparison_statistics.register(
        name,
        heading,
        table=ANNOTATOR_TEST,
        levels=ANY_LEVEL,
        of=OF_SCORES,
        summary=summary,
        order=order,
    )
    def results(block: ComparisonBlock) -> Iterator[BlockResult]:
        """The panel's, then each judge's; nothing without an epsilon."""
        if block.options.epsilon is None:
            return
        for judge, candidate, found in _tests(block):
            of = {
                "alt_test_winning_rate": found.winning_rate,
                "alt_test_advantage": found.advantage,
                "alt_test_items_needed": found.items_needed,
            }[name]
            resampled = None
            if name == "alt_test_advantage" and not of.reason:
                tested = [one.human for one in found.humans if one.is_tested]
                resampled = resampled_advantage(
                    candidate, block.humans, score=_score(block), of=tested
                )
            yield BlockResult(
                of,
                resampled,
                _note(block, found) if name == "alt_test_winning_rate" else "",
                "share",
                (0.0, 1.0),
                by=None if judge is None else RATER,
                by_value=judge,
            )


@lru_cache(maxsize=2)  # three statistics come from the same tests
def _tests(block: ComparisonBlock) -> list[tuple[str | None, Array, AnnotatorTest]]:
    """The panel's test, then each judge's, with the ratings that were tested."""
    score = _score(block)
    panel = majority(block.judges) if score == "accuracy" else block.panel_mean
    if block.other_scale or "same_scale" not in block.has:
        none = Statistic.undefined(Reason.OTHER_SCALE)
        return [(None, panel, AnnotatorTest(none, none, none, ()))]
    found = []
    for name, candidate in [(None, panel), *zip(block.judge_names, block.judges.T, strict=True)]:
        tested = annotator_test(
            candidate,
            block.humans,
            score=score,
            epsilon=block.options.epsilon or 0.0,
            clusters=block.clusters,
        )
        found.append((name, candidate, tested))
    return found


def _score(block: ComparisonBlock) -> AlignmentScore:
    return "accuracy" if block.categories else "neg_rmse"


def _note(block: ComparisonBlock, found: AnnotatorTest) -> str:
    """Return what ω rests on: epsilon, and who was left out."""
    n_tested = sum(one.is_tested for one in found.humans)
    n_wins = round(found.winning_rate.value * n_tested) if n_tested else 0
    said = [f"epsilon {block.options.epsilon:g}"]
    if n_tested:
        said.append(f"wins over {n_wins} of {n_tested} people")
    few = [block.human_names[one.human] for one in found.humans if one.n_items < LEAST_ITEMS]
    prompts = [
        block.human_names[one.human]
        for one in found.humans
        if not one.is_tested and one.n_items >= LEAST_ITEMS
    ]
    for names, what in (
        (few, f"fewer than {LEAST_ITEMS} shared items"),
        (prompts, f"fewer than {LEAST_CLUSTERS} prompts"),
    ):
        if names:
            said.append(left_out(names, len(found.humans), what))
    return "; ".join(said)


_register_test_figure("alt_test_winning_rate", "winning\nrate ω", 190, "winning rate ω")
_register_test_figure("alt_test_advantage", "advantage\nρ", 191, "advantage ρ")
_register_test_figure("alt_test_items_needed", "items\nneeded", 192)
