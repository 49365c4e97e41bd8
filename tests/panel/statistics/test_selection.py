"""Items that people are to rate: drawn with the probabilities that are said."""

from __future__ import annotations

from math import nan

import numpy as np
import pytest

from persona_panel.statistics import Ratings, select_items
from persona_panel.statistics.selection import inclusion_probabilities, systematic_sample

STARTS = (np.arange(4000) + 0.5) / 4000


def test_probabilities_add_up_and_follow_sizes() -> None:
    """They are in proportion to sizes, none above 1, and what one cannot take others do: of sizes
    1, 1, 2 and 8 and two items, the last is certain and the others share one."""
    assert inclusion_probabilities([1, 1, 2, 8], 2) == pytest.approx([0.25, 0.25, 0.5, 1.0])
    sizes = np.random.default_rng(0).random(40) + 0.1
    found = inclusion_probabilities(sizes, 13)
    assert found.sum() == pytest.approx(13)
    assert found / sizes == pytest.approx(found[0] / sizes[0])
    assert inclusion_probabilities([1, 5, 9], 3).tolist() == [1.0, 1.0, 1.0]


def test_over_all_starts_an_item_is_drawn_with_its_probability() -> None:
    """And every sample has as many items as the probabilities add up to."""
    probabilities = inclusion_probabilities(np.random.default_rng(1).random(30) + 0.1, 9)
    drawn = np.array([systematic_sample(probabilities, start) for start in STARTS])
    assert set(drawn.sum(axis=1)) == {9}
    assert drawn.mean(axis=0) == pytest.approx(probabilities, abs=0.001)


def panel(seed: int = 0, n_prompts: int = 40) -> Ratings:
    """Two systems; judges disagree on the prompts of the second half."""
    rng = np.random.default_rng(seed)
    n = 2 * n_prompts
    prompts = np.arange(n) // 2
    noise = np.where(prompts < n_prompts / 2, 0.1, 2.0)
    scores = 5 + noise[:, None] * rng.normal(0, 1, (n, 4))
    return Ratings(
        scores[:, :, None], tuple(f"i{k}" for k in range(n)), tuple("abcd"), ("all",),
        ("all",) * 4, prompts=tuple(f"p{k}" for k in prompts), sources=("x", "y") * n_prompts,
    )  # fmt: skip


def test_contested_items_are_more_probable() -> None:
    """Items on which judges disagree are drawn more often, others too, and every system gets as
    many; the same seed draws the same."""
    ratings = panel()
    found = select_items(ratings, 20, seed=3)
    assert [one.system for one in found].count("x") == 10 == len(found) / 2
    assert found == select_items(ratings, 20, seed=3) != select_items(ratings, 20, seed=4)
    drawn = [one for seed in range(100) for one in select_items(ratings, 20, seed)]
    late = [int((one.prompt or "p")[1:]) >= 20 for one in drawn]
    assert 0.6 < np.mean(late) < 0.85
    spread = float(np.std(ratings.scores[int(found[0].item[1:]), :, 0], ddof=1))
    assert found[0].spread == pytest.approx(spread)


def test_a_prompt_weighs_once_however_many_items_it_has() -> None:
    """Where judges disagree on all items alike, an item of a prompt with four is drawn with a
    quarter of the probability of a prompt's only one; each system's prompts by themselves."""
    sizes = [4, 1, 2, 1, 4, 4, 2, 2]
    prompts = [f"p{place}" for place, size in enumerate(sizes) for _ in range(size)]
    n = len(prompts)
    names = tuple(f"{source}{item}" for source in "xy" for item in range(n + 4))
    scores = np.tile([4.0, 6.0], (2 * (n + 4), 1))[:, :, None]
    both = (*prompts, *(f"q{item}" for item in range(4)), *(f"r{item}" for item in range(n + 4)))
    sources = tuple(name[0] for name in names)
    given = Ratings(scores, names, ("a", "b"), ("all",), ("m",) * 2, both, sources)
    chances: dict[str, float] = {}
    for seed in range(40):
        found = select_items(given, 12, seed=seed)
        chances |= {one.item: one.inclusion_probability for one in found}
    # Of 12 prompts six are rated; of the other system's, with an item each, six of n + 4.
    for item, prompt in enumerate(prompts):
        assert chances[f"x{item}"] == pytest.approx(6 / 12 / sizes[int(prompt[1:])])
    others = [one for name, one in chances.items() if name[0] == "y"]
    assert others == pytest.approx([6 / (n + 4)] * len(others))


def test_weights_make_the_mean_unbiased() -> None:
    """Over many seeds the mean of values weighted by 1 / probability, over the number of items, is
    that of all items; unweighted it is not."""
    ratings = panel(n_prompts=20)
    values = np.where(np.arange(40) < 20, 1.0, 3.0)
    weighted, plain = [], []
    for seed in range(600):
        found = select_items(ratings, 10, seed)
        own = np.array([values[int(one.item[1:])] for one in found])
        chances = np.array([one.inclusion_probability for one in found])
        weighted.append(np.sum(own / chances) / 40)
        plain.append(own.mean())
    error = np.std(weighted) / 600**0.5
    assert abs(np.mean(weighted) - 2.0) < 4 * error
    assert np.mean(plain) > 2.2


def test_few_items_labels_and_single_judges() -> None:
    """All are drawn where no more are there; a system with fewer items gives its share to others;
    of a single judge all are as probable; of labels those on which judges differ are more so."""
    ratings = panel(n_prompts=5)
    everything = select_items(ratings, 50)
    assert len(everything) == 10
    assert all(one.inclusion_probability == 1 for one in everything)
    uneven = Ratings(
        ratings.scores, ratings.items, ratings.raters, ("all",), ratings.groups,
        sources=("x",) * 2 + ("y",) * 8,
    )  # fmt: skip
    assert [one.system for one in select_items(uneven, 8)].count("x") == 2
    one_judge = ratings.by(["a"])
    chances = {one.inclusion_probability for one in select_items(one_judge, 4)}
    assert chances == {0.4}
    labels = np.array([[0, 0], [0, 1], [nan, nan], [1, 1]])[:, :, None]
    names = tuple("wxyz")
    told = Ratings(
        labels, names, ("a", "b"), ("all",), ("all",) * 2, categories={"all": ("yes", "no")}
    )
    of = {
        one.item: one.inclusion_probability
        for seed in range(20)
        for one in select_items(told, 1, seed)
    }
    assert set(of) == {"w", "x", "z"}
    assert of["x"] > of["w"] == of["z"]


def test_what_cannot_be_drawn() -> None:
    """No items, and none scored, are refused."""
    with pytest.raises(ValueError, match="at least one item"):
        select_items(panel(), 0)
    nothing = Ratings(np.full((2, 1, 1), nan), ("a", "b"), ("j",), ("all",), ("all",))
    with pytest.raises(ValueError, match="scored nothing"):
        select_items(nothing, 1)
