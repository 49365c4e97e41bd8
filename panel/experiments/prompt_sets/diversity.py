"""Functional diversity of prompts: which pairs take the same work, and what each prompt adds. Pure.

scrub.txt, section 15.3: the functional diversity of a bundle of k prompts is 1 − (equivalent pairs)
/ (k choose 2).
"""

from __future__ import annotations

import math
import random
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TypeVar

Pair = tuple[str, str]
K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True, slots=True)
class BundleDiversity:
    """How diverse a bundle is, from 0 (any prompt does for the others) to 1 (none does for any).

    Attributes:
        value: 1 − the share of its pairs that are equivalent; NaN where none was compared.
        n_prompts: how many prompts it has.
        n_pairs: how many of its pairs were compared.
        added: of each prompt, how much higher `value` is with it than without it; NaN where
            nothing is left to compare without it.
        distinct: of each prompt, the share of the others with which it was compared that are not
            equivalent to it; NaN where it was compared with none.
    """

    value: float
    n_prompts: int
    n_pairs: int
    added: Mapping[str, float]
    distinct: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class MeanDiversity:
    """The mean over bundles, and its standard error (n − 1); NaN below one bundle, below two."""

    mean: float
    se: float
    n_bundles: int


def pairs_of(prompts: Sequence[str], most: int | None, seed: str) -> list[Pair]:
    """The pairs of a bundle that are compared: all, or so many drawn by the seed."""
    pairs = list(combinations(prompts, 2))
    if most is None or len(pairs) <= most:
        return pairs
    drawn = sorted(random.Random(seed).sample(range(len(pairs)), most))
    return [pairs[place] for place in drawn]


def is_equivalent(answers: Sequence[bool | None], takes: str) -> bool | None:
    """Whether a pair is equivalent by what models say of it: `all` that answer, or `any` of them;
    None where none answers.

    >>> is_equivalent([True, None, False], "all"), is_equivalent([True, False], "any")
    (False, True)
    """
    given = [one for one in answers if one is not None]
    if not given:
        return None
    return all(given) if takes == "all" else any(given)


def bundle_diversity(
    prompts: Sequence[str], equivalent: Mapping[Pair, bool | None]
) -> BundleDiversity:
    """The functional diversity of a bundle; see `BundleDiversity`.

    Args:
        prompts: the ids of all in it.
        equivalent: of pairs of them, in either order, whether they are equivalent; those that are
            None or not there were not compared.

    >>> found = bundle_diversity("abc", {("a", "b"): True, ("a", "c"): False, ("b", "c"): False})
    >>> round(found.value, 3), found.added["c"], found.distinct["c"]
    (0.667, 0.6666666666666667, 1.0)
    """
    own = set(prompts)
    pairs = {
        pair: said for pair, said in equivalent.items() if said is not None and set(pair) <= own
    }
    value = _diversity(list(pairs.values()))
    added, distinct = {}, {}
    for prompt in prompts:
        with_it = [said for pair, said in pairs.items() if prompt in pair]
        without = [said for pair, said in pairs.items() if prompt not in pair]
        added[prompt] = value - _diversity(without)
        distinct[prompt] = _diversity(with_it)
    return BundleDiversity(value, len(prompts), len(pairs), added, distinct)


def mean_diversity(values: Sequence[float]) -> MeanDiversity:
    """The mean of bundles' values, those that are NaN left out."""
    there = [value for value in values if not math.isnan(value)]
    n = len(there)
    mean = math.fsum(there) / n if n else math.nan
    if n < 2:
        return MeanDiversity(mean, math.nan, n)
    variance = math.fsum((value - mean) ** 2 for value in there) / (n - 1)
    return MeanDiversity(mean, math.sqrt(variance / n), n)


def grouped(keys: Sequence[tuple[str, K]]) -> dict[K, list[str]]:
    """Ids by what they belong to, in order of appearance."""
    found: dict[K, list[str]] = {}
    for one, key in keys:
        found.setdefault(key, []).append(one)
    return found


def _diversity(pairs: Sequence[bool]) -> float:
    return 1 - sum(pairs) / len(pairs) if pairs else math.nan
