"""A panel aligned with people: figures of held-out prompts, claims, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from math import sqrt

import numpy as np
import pytest
from scipy import stats
from sklearn.isotonic import IsotonicRegression

from persona_panel.statistics import AlignmentMethod, Ratings, Reason, align
from persona_panel.statistics.core.arrays import Array, IntArray
from persona_panel.statistics.core.significance import holm
from tests.helpers.aligned import learnt_alignment

PROMPTS = np.repeat(np.arange(20), 3)


def views(seed: int = 0, prompts: Array = PROMPTS) -> tuple[Array, Array]:
    """Judges who use the upper end of their scale, and people; of 20 prompts with three texts."""
    rng = np.random.default_rng(seed)
    n = len(prompts)
    truth = rng.normal(3, 1, n)
    people = truth[:, None] + rng.normal(0, 0.6, (n, 3))
    return 10 - 6 * np.exp(-truth / 2)[:, None] + rng.normal(0, 0.3, (n, 4)), people


def test_held_out_figures_are_those_of_an_independent_computation() -> None:
    """RMSE, mean absolute error and τ_b from scikit-learn's function learnt on the other folds, and
    the interval from the jackknife with the variance that folds share."""
    judges, people = views()
    target, mean = people.mean(axis=1), judges.mean(axis=1)
    [found] = learnt_alignment(judges, people, PROMPTS, methods=["isotonic"]).methods
    fold = (np.random.default_rng(0).permutation(np.arange(20) % 5))[PROMPTS]
    after = np.full(60, np.nan)
    for k in range(5):
        model = IsotonicRegression(out_of_bounds="clip").fit(mean[fold != k], target[fold != k])
        after[fold == k] = model.predict(mean[fold == k])
    assert found.scores == pytest.approx(after)
    losses = [((side - target) ** 2).reshape(20, 3).mean(axis=1) for side in (mean, after)]
    rmse = found.figures[0]
    assert (rmse.before, rmse.after) == pytest.approx([sqrt(one.mean()) for one in losses])
    left_out = [np.sqrt((one.sum() - one) / 19) for one in losses]
    moved = left_out[1] - left_out[0]
    error = sqrt(19 / 20 * np.sum((moved - moved.mean()) ** 2) * (1 + 5 / 4))
    reach = error * stats.t.ppf(0.975, 19)
    ends = rmse.value - reach, rmse.value + reach
    assert rmse.ends == pytest.approx(ends)
    assert rmse.p == pytest.approx(2 * stats.t.sf(abs(rmse.value) / error, 19))
    assert found.figures[1].after == pytest.approx(np.abs(after - target).mean())
    of_prompts = [
        stats.kendalltau(one, other).statistic
        for one, other in zip(after.reshape(20, 3), target.reshape(20, 3), strict=True)
    ]
    # In a prompt whose texts are on one step of the function they are in no order.
    assert 15 < np.sum(~np.isnan(of_prompts)) < 20
    taus = np.nan_to_num(of_prompts)
    assert found.figures[2].after == pytest.approx(np.mean(taus))
    assert found.order_p == pytest.approx(stats.ttest_1samp(taus, 0).pvalue)
    assert found.p == max(rmse.p, found.order_p)


def test_a_prompt_is_not_scored_by_what_people_said_of_it() -> None:
    """Other ratings by people of one prompt leave its own aligned scores, of each method, as they
    were, and change those of other prompts."""
    judges, people = views()
    first = learnt_alignment(judges, people, PROMPTS)
    people[PROMPTS == 7] += 5
    for one, other in zip(
        first.methods, learnt_alignment(judges, people, PROMPTS).methods, strict=True
    ):
        assert one.scores is not None
        assert other.scores is not None
        assert (other.scores == one.scores)[PROMPTS == 7].all()
        assert not (other.scores == one.scores)[PROMPTS != 7].all()


@pytest.mark.parametrize("method", ["isotonic", "weights"])
def test_a_prompt_counts_once(method: AlignmentMethod) -> None:
    """Each text of a prompt a second time changes neither what is learnt nor the figures."""
    judges, people = views()
    again = np.append(np.arange(60), np.flatnonzero(PROMPTS == 3))
    first, second = (
        learnt_alignment(judges[of], people[of], PROMPTS[of], methods=[method]).methods[0]
        for of in (np.arange(60), again)
    )
    assert first.scores is not None
    assert second.scores is not None
    assert second.scores[:60] == pytest.approx(first.scores)
    sides = [(one.figures[0].after, one.figures[0].p) for one in (first, second)]
    assert sides[0] == pytest.approx(sides[1])


def test_texts_that_people_did_not_rate_are_scored_by_what_all_others_taught() -> None:
    """Their scores are those of the rule; a text that no judge rated has none."""
    judges, people = views()
    people[PROMPTS > 15] = np.nan
    judges[59] = np.nan
    [found] = learnt_alignment(judges, people, PROMPTS, methods=["isotonic"]).methods
    assert found.rule is not None
    assert found.scores is not None
    assert found.held_out is not None
    assert found.held_out.tolist() == (PROMPTS <= 15).tolist()
    assert found.scores[48:] == pytest.approx(found.rule.apply(judges[48:]), nan_ok=True)
    assert np.isnan(found.scores).tolist() == [False] * 59 + [True]
    assert (found.n_items, found.n_prompts) == (48, 16)


@pytest.mark.parametrize("single", [False, True])
def test_shuffled_people_show_no_gain(single: bool) -> None:
    """Scores drawn to people's mean are nearer to them, shown by the interval; as they do not order
    texts as people do, that is no gain. Without shuffling it is."""
    prompts = np.arange(60) if single else PROMPTS
    judges, people = views(2, prompts)
    [found] = learnt_alignment(judges, people, prompts, methods=["isotonic"]).methods
    assert found.p < 0.001
    order = np.random.default_rng(1).permutation(60)
    [found] = learnt_alignment(judges, people[order], prompts, methods=["isotonic"]).methods
    assert found.figures[0].high < 0
    assert found.p > 0.05


def tied_but_in(n_ordered: int) -> tuple[Array, Array, IntArray]:
    """Judges whose scores order the two texts of so many of twelve prompts as people do and tie
    those of the others; 48 prompts have one text."""
    prompts = np.append(np.repeat(np.arange(12), 2), np.arange(12, 60))
    people = np.random.default_rng(0).normal(0, 0.1, (72, 3)) + np.tile([1.0, 3.0], 36)[:, None]
    panel = np.where(np.arange(72) % 2, 7.0, 5.0)
    panel[2 * n_ordered : 24] = 6
    return np.stack([panel, panel], axis=1), people, prompts


def test_prompts_whose_texts_the_scores_tie_count_as_without_order() -> None:
    """Three of twelve prompts in people's order, the texts of nine tied: τ_b is 3/12, before and
    after, and its p-value that of three ones and nine zeros, not of three ones."""
    judges, people, prompts = tied_but_in(3)
    [found] = learnt_alignment(judges, people, prompts, methods=["isotonic"]).methods
    tau = found.figures[2]
    assert (tau.before, tau.after) == pytest.approx((0.25, 0.25))
    # The variance is (3 · 0.75² + 9 · 0.25²) / 11 = 2.25 / 11.
    t = 0.25 / sqrt(2.25 / 11 / 12)
    assert found.order_p == pytest.approx(2 * stats.t.sf(t, 11))
    assert found.order_p > 0.05


@pytest.mark.parametrize(("n_ordered", "p"), [(12, 2**-11), (0, 1)])
def test_the_same_order_in_every_prompt_has_the_p_value_of_signs(n_ordered: int, p: float) -> None:
    """Twelve τ_b of 1 have no spread: that all signs are alike has a chance of 2 · (1/2)¹²; twelve
    of 0 show nothing."""
    judges, people, prompts = tied_but_in(n_ordered)
    [found] = learnt_alignment(judges, people, prompts, methods=["isotonic"]).methods
    assert found.order_p == p


def test_an_order_over_all_texts_without_spread_shows_nothing() -> None:
    """Each prompt has one text, and whichever is left out τ_b is 1: no spread, so no p-value."""
    _, people = views()
    target = people.mean(axis=1)
    judges = np.stack([target + 1, target + 9], axis=1)
    [found] = learnt_alignment(judges, people, methods=["subset"]).methods
    assert found.figures[2].after == pytest.approx(1)
    assert found.figures[0].value < 0
    assert (found.order_p, found.p) == (1, 1)


def test_a_lower_error_in_the_contrary_order_is_no_gain() -> None:
    """The judge who is chosen is much closer to people than the other, and orders texts contrary to
    them."""
    _, people = views()
    target = people.mean(axis=1)
    judges = np.stack([3 - target / 10, target + 9], axis=1)
    [found] = learnt_alignment(judges, people, PROMPTS, methods=["subset"]).methods
    assert found.figures[0].high < 0
    assert found.figures[2].after == pytest.approx(-1)
    assert found.order_p < 0.001
    assert found.p == 1


def test_the_lower_end_of_the_reliability_decides() -> None:
    """People whose mean has a reliability that may as well be far below 0.25 teach nothing."""
    judges, people = views()
    noise = np.random.default_rng(0).normal(0, 2, people.shape)
    found = learnt_alignment(judges, people + noise, PROMPTS)
    assert found.reliability > 0.3
    assert found.reliability_low < 0.25
    assert found.reason == Reason.PEOPLE_DISAGREE


def test_ten_prompts_are_enough() -> None:
    """Nine teach nothing (below)."""
    judges, people = views()
    found = learnt_alignment(judges[:30], people[:30], PROMPTS[:30])
    assert (found.n_prompts, found.reason) == (10, None)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda j, p: (j[:27], p[:27]), Reason.FEW_TO_LEARN),
        (lambda j, p: (j, p[:, :1]), Reason.FEW_PEOPLE),
        (
            lambda j, p: (j, np.random.default_rng(0).normal(size=p.shape)),
            Reason.PEOPLE_DISAGREE,
        ),
        (lambda j, p: (j[::3][:12], p[::3][:12]), Reason.FEW_FOR_A_NUMBER),
    ],
)
def test_what_nothing_is_learnt_from(change: object, reason: Reason) -> None:
    """Few prompts, one person, people who do not agree, and too few items to know: the reason."""
    assert callable(change)
    judges, people = change(*views())
    prompts = PROMPTS[: len(judges)] if len(judges) > 12 else None
    found = learnt_alignment(judges, people, prompts)
    assert (found.reason, found.methods) == (reason, ())


def test_methods_that_cannot_compare_judges_say_so() -> None:
    """A single judge has no weights; nor have judges who rated other texts each."""
    judges, people = views()
    found = learnt_alignment(judges[:, :1], people, PROMPTS).methods
    assert [one.reason for one in found] == [None, Reason.ONE_JUDGE, Reason.ONE_JUDGE]
    judges[::2, 0] = judges[1::2, 1] = np.nan
    found = learnt_alignment(judges, people, PROMPTS).methods
    assert [one.reason for one in found] == [None, Reason.FEW_COMPLETE, Reason.FEW_COMPLETE]
    # Ten prompts that all judges rated are enough, but not where one of five folds has all of them.
    prompts = np.repeat(np.arange(50), 3)
    judges, people = views(0, prompts)
    fold = np.random.default_rng(0).permutation(np.arange(50) % 5).repeat(3)
    judges[fold != 1, 0] = np.nan
    found = learnt_alignment(judges, people, prompts).methods
    assert [one.reason for one in found] == [None, Reason.FEW_COMPLETE, Reason.FEW_COMPLETE]


def test_items_without_a_judge_of_weight_are_left_out_and_counted() -> None:
    """Two texts that only a judge without a weight rated have no score by weights, before and after
    alike."""
    judges, people = views()
    judges = people.mean(axis=1)[:, None] + np.random.default_rng(0).normal(size=judges.shape)
    judges[:, :2] = people.mean(axis=1)[:, None]
    judges[:, 3] += 9
    judges[[4, 30], :3] = np.nan
    [found] = learnt_alignment(judges, people, PROMPTS, methods=["subset"]).methods
    assert (found.n_items, found.n_left_out) == (58, 2)
    assert found.scores is not None
    assert np.flatnonzero(np.isnan(found.scores)).tolist() == [4, 30]


def test_ratings_are_matched_by_name_and_adjusted_together() -> None:
    """People's items in another order, a judge without a persona left out, the composite first, and
    Holm's method over its methods, and over methods and dimensions; ranks are refused."""
    judges, people = views()
    names = tuple(f"i{n}" for n in range(60))
    two = np.stack([judges, judges], axis=2)
    raters = ("a", "b", "c", "plain")
    ours = Ratings(
        two, names, raters, ("x", "y"), ("m",) * 4, tuple(map(str, PROMPTS)),
        controls=frozenset({"plain"}),
    )  # fmt: skip
    order = np.random.default_rng(0).permutation(60)
    theirs = Ratings(
        np.stack([people, people], axis=2)[order], tuple(names[n] for n in order), ("p", "q", "r"),
        ("y", "z"), ("human",) * 3,
    )  # fmt: skip
    [found] = align(ours, theirs).dimensions
    expected = learnt_alignment(judges[:, :3], people, PROMPTS)
    assert (found.dimension, found.judges) == ("y", ("a", "b", "c"))
    assert [one.p for one in found.methods] == [one.p for one in expected.methods]
    both = Ratings(theirs.scores, theirs.items, theirs.raters, ("x", "y"), theirs.groups)
    composite, *rest = align(ours, both).dimensions
    assert [composite.dimension, *(one.dimension for one in rest)] == ["composite", "x", "y"]
    # The mean of two equal dimensions is either; a family of its own.
    raw = [one.p for one in expected.methods]
    for family, adjusted in (([composite], holm(raw)), (rest, holm(2 * raw))):
        methods = [one for each in family for one in each.methods]
        assert [one.p for one in methods] == pytest.approx(raw * len(family))
        assert [one.p_adjusted for one in methods] == pytest.approx(adjusted.tolist())
    ranks = Ratings(judges[:, :, None], names, raters, ("y",), ("m",) * 4, lower_is_better=True)
    with pytest.raises(ValueError, match="ranks"):
        align(ranks, theirs)
    ours = replace(ranks, lower_is_better=False)
    for theirs, lacks in (
        (replace(ours, dimensions=("z",)), "dimension that is rated by numbers"),
        (replace(ours, items=tuple(f"other {name}" for name in names)), "item"),
    ):
        with pytest.raises(ValueError, match=f"share no {lacks}$"):
            align(ours, theirs)
