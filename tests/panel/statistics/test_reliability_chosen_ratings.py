"""Ratings chosen to agree, and α of two groups together."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest

from persona_panel.statistics import Ratings, agree, krippendorff_alpha
from persona_panel.statistics.reliability import by_chance, most_agreeing


def test_the_choice_is_the_best_of_all() -> None:
    """On five items with four ratings each, α of the chosen three is the highest of all 4^5 choices
    by the function that computes α of any ratings; items with three ratings keep them."""
    rng = np.random.default_rng(3)
    ratings = rng.integers(1, 4, size=(5, 4)).astype(float)
    ratings[4, 3] = np.nan
    found = most_agreeing(ratings)
    every = []
    for row in ratings:
        kept = combinations(range(4), 3) if not np.isnan(row[3]) else [(0, 1, 2)]
        every.append([row[list(one)] for one in kept])
    best = max(krippendorff_alpha(np.array(choice)).value for choice in product(*every))
    assert found.alpha.value == pytest.approx(best)
    assert sorted(found.ratings[4]) == sorted(ratings[4, :3])


def test_choosing_makes_agreement_out_of_nothing() -> None:
    """Of ratings drawn at random α is near 0; of the chosen ones it is high, and as high where the
    ratings are dealt out anew."""
    ratings = np.random.default_rng(1).integers(1, 4, size=(60, 6)).astype(float)
    assert abs(krippendorff_alpha(ratings).value) < 0.1
    chosen = most_agreeing(ratings).alpha.value
    assert chosen > 0.5
    assert by_chance(ratings) == pytest.approx(chosen, abs=0.1)
    with pytest.raises(ValueError, match="two ratings"):
        most_agreeing(ratings, 1)


def test_alpha_of_every_two_groups() -> None:
    """Of three groups each pair has the α of its raters alone; of two groups there is no such
    row."""
    scores = np.random.default_rng(2).integers(1, 6, size=(30, 6, 1)).astype(float)
    groups = ("a", "a", "b", "b", "c", "c")
    ratings = Ratings(scores, tuple(map(str, range(30))), tuple("uvwxyz"), ("d",), groups)
    rows = agree(ratings, only=["alpha_of_two_groups"])
    found = {(row.by, row.by_value): row for row in rows}
    assert set(found) == {("a", "b"), ("a", "c"), ("b", "c")}
    expected = krippendorff_alpha(scores[:, [0, 1, 4, 5], 0])
    row = found["a", "c"]
    assert row.value == expected.value
    assert row.ci_low < row.value < row.ci_high
    two = Ratings(scores[:, :4], ratings.items, tuple("uvwx"), ("d",), groups[:4])
    assert agree(two, only=["alpha_of_two_groups"]) == []
    name = "krippendorff_alpha"
    of_all = [row for row in agree(ratings, only=[name]) if row.group == "all"]
    assert agree(ratings, only=[name], group="all") == of_all != []
