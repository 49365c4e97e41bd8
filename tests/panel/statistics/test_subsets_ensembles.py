"""Ensembles of judges chosen on other items."""

from __future__ import annotations

import numpy as np
import pytest

from persona_panel.statistics import correlation, ensembles_on_other_items


def test_the_better_judges_are_found_and_measured_without_them() -> None:
    """Two judges follow people and two do not: each half is as a reader would put it together by
    hand, wherever the folds lie; the mean of two noisy judges is closer to people than one."""
    rng = np.random.default_rng(0)
    people = rng.normal(size=120)
    good = people[:, None] + rng.normal(size=(120, 2))
    bad = rng.normal(size=(120, 2))
    prompts = np.repeat(np.arange(30), 4).tolist()
    strong, weak = ensembles_on_other_items(np.hstack([bad, good]), people, prompts)
    assert (strong.half, weak.half) == ("strong", "weak")
    assert strong.tau_c.value == correlation(good.mean(axis=1), people, "tau_c").value
    assert weak.tau_c.value == correlation(bad.mean(axis=1), people, "tau_c").value
    assert strong.tau_c.value > strong.members
    assert abs(weak.members) < 0.2 < strong.members


def test_each_fold_is_ranked_by_the_others() -> None:
    """As plain code has it, of judges whose order changes from fold to fold."""
    rng = np.random.default_rng(5)
    people, judges = rng.normal(size=40), rng.normal(size=(40, 4))
    prompts = np.repeat(np.arange(10), 4)
    fold = np.random.default_rng(2).permutation(np.arange(10) % 3)[prompts]
    halves = np.empty((40, 4))
    orders = set()
    for own in range(3):
        taus = [correlation(one[fold != own], people[fold != own], "tau_c").value
                for one in judges.T]  # fmt: skip
        order = sorted(range(4), key=lambda judge: -taus[judge])
        orders.add(tuple(order))
        halves[fold == own] = judges[fold == own][:, order]
    assert len(orders) > 1
    found = ensembles_on_other_items(judges, people, prompts.tolist(), folds=3, seed=2)
    for half, part in zip(found, (halves[:, :2], halves[:, 2:]), strict=True):
        assert half.tau_c.value == correlation(part.mean(axis=1), people, "tau_c").value
        each = [correlation(one, people, "tau_c").value for one in part.T]
        assert half.members == pytest.approx(np.mean(each))


def test_judges_without_a_difference_do_not_look_strong() -> None:
    """Of judges who all guess, the half that is best on the other prompts is no better than 0 on
    those left out, on average over 40 draws; chosen on all items it would be."""
    rng = np.random.default_rng(1)
    honest, flattered = [], []
    for _ in range(40):
        people, judges = rng.normal(size=40), rng.normal(size=(40, 6))
        prompts = np.repeat(np.arange(10), 4).tolist()
        strong, _ = ensembles_on_other_items(judges, people, prompts)
        honest.append(strong.tau_c.value)
        taus = [correlation(one, people, "tau_c").value for one in judges.T]
        best = judges[:, np.argsort(taus)[-3:]].mean(axis=1)
        flattered.append(correlation(best, people, "tau_c").value)
    assert np.mean(honest) < 0.05 < np.mean(flattered)


def test_bad_input_is_refused() -> None:
    """One judge, or one prompt, is not enough to choose."""
    with pytest.raises(ValueError, match="two judges"):
        ensembles_on_other_items([[1.0], [2.0]], [1, 2], ["p", "q"])
    with pytest.raises(ValueError, match="two prompts"):
        ensembles_on_other_items([[1.0, 2], [2, 1]], [1, 2], ["p", "p"])
