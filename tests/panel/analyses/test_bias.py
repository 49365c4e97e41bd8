"""What sways scores besides the responses, on ratings small enough to work out by hand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import isnan, log2

import numpy as np
import pytest

from persona_panel.analyses.bias import (
    ScaleRange,
    biases,
    leniency,
    position,
    self_preference,
)
from persona_panel.analyses.bias_result import bias_conclusion, bias_result
from persona_panel.files.judgments import Compared
from persona_panel.rubrics.comparison import Outcome
from persona_panel.statistics import Ratings, Reason, Row

NAN = float("nan")
TEN = ScaleRange(1, 10, whole=True)


def some_ratings(scores: np.ndarray | list[list[float]], **changes: object) -> Ratings:
    """Ratings, on one dimension if there is no third axis, by two personas through each of two
    models, of responses by gpt-5 and a human in turn, a pair to each prompt."""
    array = np.asarray(scores, dtype=float)
    n = len(array)
    models = ("openai:gpt-5", "openai:gpt-5", "anthropic:claude-4", "anthropic:claude-4")
    ratings = Ratings(
        scores=array[:, :, None] if array.ndim == 2 else array,
        items=tuple(f"r{i}" for i in range(n)),
        raters=("a|gpt", "b|gpt", "a|claude", "b|claude"),
        dimensions=("clarity", "depth", "kind")[: 1 if array.ndim == 2 else array.shape[2]],
        groups=models,
        prompts=tuple(f"p{i // 2}" for i in range(n)),
        sources=tuple(("gpt-5", "human")[i % 2] for i in range(n)),
        personas=("a", "b", "a", "b"),
    )
    return replace(ratings, **changes)  # type: ignore[arg-type]


def found(rows: list[Row]) -> Mapping[tuple[str, str, str], Row]:
    """Rows by statistic, group and dimension."""
    return {(row.statistic, row.group, row.dimension): row for row in rows}


# Position


def test_position() -> None:
    """First won 6 of 10, second 2, ties 2: (6 − 2) / 10; both orders of three pairs."""
    (row,) = position([2, 2, 2], [1, 1, 0], [1, 1, 0], ["p", "q", "r"])
    assert row.statistic == "position_bias"
    assert row.value == pytest.approx(0.4)
    assert row.n_items == 3
    # Without p or q it is 3 / 6, without r 2 / 8, and t of two degrees; with 0.4, 0.4 and 0.2 of
    # the comparisons the exponents of HC4 are 1.2, 1.2 and 0.6.
    reach = 4.302653 * (2 * 0.1**2 * 0.6**0.8 + 0.15**2 * 0.8**1.4) ** 0.5
    assert (row.ci_low, row.ci_high) == pytest.approx((0.4 - reach, min(1, 0.4 + reach)))


def test_a_judge_without_position_bias() -> None:
    """Who prefers the same response in both orders wins once from each place."""
    (row,) = position([1, 1], [1, 1], [0, 0], ["p", "q"])
    assert row.value == 0


def test_position_of_each_judge() -> None:
    """A judge's comparisons count where it has compared a pair in both orders, and no other's."""
    said: list[tuple[str, str, str, str, Outcome]] = [
        ("p", "swayed", "r1", "r2", "first"),
        ("p", "swayed", "r2", "r1", "first"),
        ("p", "swayed", "r1", "r3", "first"),
        ("q", "swayed", "r1", "r2", "tie"),
        ("q", "swayed", "r2", "r1", "first"),
        ("p", "fair", "r1", "r2", "first"),
        ("p", "fair", "r2", "r1", "second"),
        # One order from either: nothing to tell the place by.
        ("p", "fair", "r3", "r1", "second"),
    ]
    comparisons = [Compared(*one) for one in said]
    ratings = some_ratings([[1, 3, 2, 2], [4, 6, 5, 5]])
    rows = found(biases(ratings, {"clarity": TEN}, comparisons=comparisons))
    # swayed: 3 first, a tie, of 4; fair: 1 first, 1 second.
    assert rows["position_bias", "swayed", "all"].value == pytest.approx(3 / 4)
    assert rows["position_bias", "fair", "all"].value == 0
    whole = rows["position_bias", "all", "all"]
    assert whole.value == pytest.approx((4 - 1) / 6)
    assert (whole.n_items, whole.n_raters) == (3, 2)
    assert whole.note.startswith("first 4, second 1, ties 1")


def test_no_comparisons() -> None:
    """Without comparisons it is undefined, and it is said why; a count below 0 is refused."""
    (row,) = position([], [], [], [])
    assert isnan(row.value)
    assert row.reason is Reason.NO_BOTH_ORDERS
    with pytest.raises(ValueError, match="counted"):
        position([-1], [1], [0], ["p"])


# Leniency


def test_leniency_of_judges_that_compare() -> None:
    """The shares of comparisons that a prompt's responses win have one mean for every judge: who is
    lenient is undefined, and said to be."""
    shares = [[1.0, 0.0, 1.0, 1.0], [0.0, 1.0, 0.0, 0.0]] * 6
    share = {"preferred": ScaleRange(0, 1, whole=False)}
    rows = biases(some_ratings(shares, dimensions=("preferred",)), share)
    told = [row for row in rows if row.statistic == "leniency"]
    assert len(told) == 4
    assert {row.reason for row in told} == {Reason.COMPARED}
    assert bias_conclusion(rows)[-2].startswith("Leniency cannot be measured: judges compared")
    rated = biases(some_ratings(shares), {"clarity": ScaleRange(0, 1, whole=False)})
    assert not any(row.reason for row in rated if row.statistic == "leniency")


def test_leniency() -> None:
    """A judge's deviation is from the mean of all who rated the response, alone it has none."""
    deviations = leniency([[1.0, 3.0, NAN], [2.0, 4.0, 6.0], [5.0, NAN, NAN]])
    expected = [[-1.0, 1.0, NAN], [-2.0, 0.0, 2.0], [NAN, NAN, NAN]]
    assert deviations == pytest.approx(np.array(expected), nan_ok=True)
    rows = found(biases(some_ratings([[1, 3, 2, 2], [4, 6, 5, 5]]), {"clarity": TEN}))
    assert rows["leniency", "a|gpt", "clarity"].value == -1
    assert rows["leniency", "b|gpt", "clarity"].value == 1
    assert rows["leniency", "a|claude", "clarity"].value == 0


def test_scales_that_differ() -> None:
    """Of all dimensions together a judge 1 of 9 points above the others on one, 0 on the other, is
    lenient by a share of the scales' width, which the conclusion and the table say."""
    depth = np.full((4, 4), 0.5)
    clarity = np.array([[5.0, 9.0, 5.0, 5.0]] * 4)
    scores = np.stack([clarity, depth], axis=2)
    of_run = some_ratings(scores, scales={"clarity": (1.0, 10.0), "depth": (0.0, 1.0)})
    scales = {"clarity": TEN, "depth": ScaleRange(0, 1, whole=False)}
    rows = biases(of_run, scales)
    assert found(rows)["leniency", "b|gpt", "clarity"].value == pytest.approx(3)
    assert found(rows)["leniency", "b|gpt", "all"].value == pytest.approx(3 / 9 / 2)
    result = bias_result(rows, of_run)
    assert "share of its scale's width" in " ".join(result.reading)
    judges = next(table for table in result.tables if table.title == "Judges")
    assert "leniency,\nshares of the scale's width" in [column.head for column in judges.columns]
    assert not bias_result(rows, replace(of_run, scales={})).reading


# Length


def test_length_within_systems() -> None:
    """A system that writes more and better makes no bias; longer being better inside one does."""
    longer_is_better = some_ratings([[i // 2 + 1 + 4 * (i % 2)] * 4 for i in range(8)])
    lengths = [100 + 10 * (i // 2) + 1000 * (i % 2) for i in range(8)]
    rows = found(biases(longer_is_better, {"clarity": TEN}, lengths))
    assert rows["length_correlation", "all", "clarity"].value == pytest.approx(1)
    better_writer = some_ratings([[3 + (i // 2) % 2 + 4 * (i % 2)] * 4 for i in range(8)])
    # Inside a system: lengths 0, 1, 2, 3 with scores 3, 4, 3, 4: r = 1 / √5.
    rows = found(biases(better_writer, {"clarity": TEN}, lengths))
    assert rows["length_correlation", "all", "clarity"].value == pytest.approx(1 / np.sqrt(5))
    assert rows["length_correlation", "all", "clarity"].n_raters == 4


def test_what_prompts_share_is_no_correlation_with_length() -> None:
    """Length and score each follow the prompt, and not one another: of 150 runs of 24 prompts the
    interval leaves 0 out in at most 15; more come with a probability of 0.5 % if it is 5 %, and a
    test of responses as independent ones errs in a quarter."""
    rng, apart = np.random.default_rng(3), 0
    for _ in range(150):
        lengths, scores = (
            np.repeat(rng.normal(size=(24, 1)), 4, axis=1) + 0.4 * rng.normal(size=(24, 4))
            for _ in range(2)
        )
        run = some_ratings(
            np.repeat(scores.reshape(-1, 1), 4, axis=1),
            prompts=tuple(f"p{i // 4}" for i in range(96)),
            sources=tuple("abcd"[i % 4] for i in range(96)),
        )
        ten = {"clarity": ScaleRange(-9, 9, whole=False)}
        row = found(biases(run, ten, lengths.ravel()))["length_correlation", "all", "clarity"]
        apart += row.ci_low > 0 or row.ci_high < 0
    assert apart <= 15


def test_lengths_that_are_not_known() -> None:
    """Without lengths the correlation is undefined, and it is said why."""
    rows = found(biases(some_ratings(np.arange(16).reshape(4, 4)), {"clarity": TEN}))
    row = rows["length_correlation", "all", "clarity"]
    assert isnan(row.value)
    assert row.reason is Reason.NO_LENGTHS


# Self-preference


def test_self_preference() -> None:
    """What a family gives its own beyond what others give it, less the same for others'."""
    # gpt judges: own 9, 8; others' 6. claude judges: gpt's 7, 7; others' 5.
    scores = [[9.0, 9.0, 7.0], [8.0, 8.0, 7.0], [6.0, 6.0, 5.0]]
    openai, anthropic = self_preference(
        scores, ["openai", "openai", "anthropic"], ["openai", "openai", "human"]
    )
    # Gaps: 2, 1 on its own, 1 on the human's: 1.5 − 1.
    assert openai.estimate.value == pytest.approx(0.5)
    assert (openai.n_own, openai.n_others) == (2, 1)
    assert anthropic.estimate.reason == Reason.NO_OWN_FAMILY
    # Drawn twice, the second response's gap of 1 leaves nothing.
    assert openai.resampled(np.array([[0.0, 2.0, 1.0]]))[0] == pytest.approx(0)


def test_a_lenient_family_does_not_prefer_itself() -> None:
    """A family that gives everybody a point more has no self-preference."""
    scores = np.array([[7.0, 6.0], [5.0, 4.0], [9.0, 8.0]])
    (one, two) = self_preference(scores, ["openai", "anthropic"], ["openai", "human", "anthropic"])
    assert one.estimate.value == two.estimate.value == 0


@pytest.mark.parametrize(
    ("judges", "authors", "reason"),
    [
        (["openai", None], ["openai", "human"], Reason.NO_OTHER_JUDGES),
        (["openai", "meta"], [None, "human"], Reason.NO_OWN_FAMILY),
        (["openai", "meta"], ["openai", None], Reason.NO_OTHER_AUTHORS),
    ],
)
def test_unknown_families_are_left_out(
    judges: list[str | None], authors: list[str | None], reason: Reason
) -> None:
    """An unknown family is neither one's own nor another's."""
    first, *_ = self_preference([[7.0, 6.0], [5.0, 4.0]], judges, authors)
    assert first.estimate.reason == reason


def test_families_of_a_run() -> None:
    """Rows by family, and their mean; names that tell none are listed."""
    ratings = some_ratings([[9, 9, 7, 7], [5, 5, 5, 5], [8, 8, 7, 7], [6, 6, 6, 6]])
    rows = found(biases(ratings, {"clarity": TEN}))
    # openai: gaps 2 and 1 on its own, 0 and 0 on the human's; anthropic wrote nothing.
    assert rows["self_preference", "openai", "clarity"].value == pytest.approx(1.5)
    assert rows["self_preference", "all", "clarity"].value == pytest.approx(1.5)
    assert isnan(rows["self_preference", "anthropic", "clarity"].value)
    unknown = replace(ratings, sources=("gpt-5", "s1", "gpt-5", "s1"))
    row = found(biases(unknown, {"clarity": TEN}))["self_preference", "all", "clarity"]
    assert "family not known: s1" in row.note
    assert row.reason is Reason.NO_OTHER_AUTHORS


# Compression


def test_compression() -> None:
    """Entropy and the commonest value's share, of whole points on a scale of whole numbers."""
    # Weighted scores are brought to the nearest point: 7 × 4, 8 × 2, 6 × 2.
    scores = [[7.1, 6.9, 7.4, 8.2], [7.2, 7.9, 6.2, 5.8]]
    rows = found(biases(some_ratings(scores), {"clarity": TEN}))
    entropy = rows["score_entropy", "all", "clarity"]
    assert entropy.value == pytest.approx(1.5)
    assert f"at most {log2(10):.2f} bits" in entropy.note
    assert rows["mode_share", "all", "clarity"].value == 0.5
    assert "the value 7" in rows["mode_share", "all", "clarity"].note
    assert rows["score_entropy", "a|gpt", "clarity"].value == 0
    assert rows["mode_share", "b|claude", "clarity"].value == 0.5


def test_a_real_scale_has_ten_parts() -> None:
    """Shares in the same tenth are taken for the same; the top belongs to the last tenth."""
    span = ScaleRange(0, 1, whole=False)
    assert span.values(np.array([0.0, 0.09, 0.1, 0.95, 1.0])).tolist() == [0, 0, 1, 9, 9]
    scores = [[0.01, 0.02, 0.03, 0.04], [0.99, 1.0, 0.91, 0.93]]
    rows = found(biases(some_ratings(scores), {"clarity": span}))
    assert rows["score_entropy", "all", "clarity"].value == 1


# Personas


def test_personas_that_make_no_difference() -> None:
    """Personas who all say the same carry nothing; who differ by a constant, their means do."""
    rows = found(biases(some_ratings([[3, 3, 1, 2], [7, 7, 3, 4], [5, 5, 5, 6]]), {"clarity": TEN}))
    assert rows["persona_share", "openai:gpt-5", "clarity"].value == pytest.approx(0, abs=1e-12)
    assert rows["residual_share", "openai:gpt-5", "clarity"].value == pytest.approx(0, abs=1e-12)
    # As in test_rater_share: personas 0.5 of 4.5.
    share = rows["persona_share", "anthropic:claude-4", "clarity"]
    assert share.value == pytest.approx(0.5 / 4.5)


# Several dimensions


def test_dimensions_and_their_mean() -> None:
    """Every bias is told on each dimension by numbers and on their mean; categories are left out;
    compression pools what shares a scale."""
    rng = np.random.default_rng(5)
    scores = rng.integers(1, 11, size=(6, 4, 3)).astype(float)
    scores[:, :, 2] = rng.integers(0, 3, size=(6, 4))
    ratings = some_ratings(scores)
    rows = biases(ratings, {"clarity": TEN, "depth": TEN}, np.arange(6) * 10)
    cells = found(rows)
    assert {row.dimension for row in rows} == {"clarity", "depth", "all"}
    both = leniency(scores[:, :, :2].mean(axis=2))[:, 0].mean()
    assert cells["leniency", "a|gpt", "all"].value == pytest.approx(both)
    counts = np.unique(scores[:, :, :2], return_counts=True)[1] / 48
    pooled = -np.sum(counts * np.log2(counts))
    assert cells["score_entropy", "all", "all"].value == pytest.approx(pooled)
    assert cells["score_entropy", "all", "all"].n_raters == 4
    other = found(biases(ratings, {"clarity": TEN, "depth": ScaleRange(0, 10, whole=True)}))
    assert ("score_entropy", "all", "all") not in other
    assert ("score_entropy", "all", "depth") in other


def test_gaps() -> None:
    """A judge who rated nothing has no figure, each with its reason; the others keep theirs."""
    scores = np.array([[3, 4, 5, NAN], [7, 7, 3, NAN], [5, 6, 5, NAN], [2, 2, 4, NAN]])
    rows = found(biases(some_ratings(scores), {"clarity": TEN}, [10, 20, 30, 40]))
    assert isnan(rows["leniency", "b|claude", "clarity"].value)
    assert rows["leniency", "b|claude", "clarity"].reason is Reason.NO_SHARED_ITEMS
    assert rows["score_entropy", "b|claude", "clarity"].reason is Reason.NO_RATINGS
    assert rows["persona_share", "anthropic:claude-4", "clarity"].reason is Reason.FEW_RATERS
    assert not isnan(rows["leniency", "a|gpt", "clarity"].value)


def test_ratings_of_no_run_are_refused() -> None:
    """Biases are of personas through models that read systems' responses."""
    with pytest.raises(ValueError, match="ratings of a run"):
        biases(some_ratings([[1, 2, 3, 4]], sources=None), {"clarity": TEN})
