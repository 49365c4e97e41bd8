"""How large a Δ a sweep would claim, and how many prompts a Δ takes, where Δs are normal.

On fewer than `SHOWS_RARE` prompts a claim is that more of them fall than rise, by the sign test; on
more it is of the mean, by flipped signs at a level from which the probability is taken away that
no prompt of so many is a rare one: see `persona_panel.experiments.sweep.deltas.Mean`. Holm tests
what stands out most at the level over the number of tests.
"""

from __future__ import annotations

import math
from functools import lru_cache

import scipy

from persona_panel.experiments.sweep.asymmetry import RARE, SHOWS_RARE
from persona_panel.statistics.core.means import items_needed, smallest_effect, values_needed
from persona_panel.statistics.core.significance import LEVEL, MOST, POWER

_FARTHEST = 10.0
_HALVINGS = 40


@lru_cache
def smallest_claimed(n_prompts: int, n_cells: int) -> float:
    """The mean Δ of one of so many cells, in standard deviations over prompts, that is claimed with
    a probability of `POWER` where no other cell has an effect; NaN where none of any size is.

    Of six prompts in one cell all have to fall, as 2 of 2⁶ patterns are 3 %: each does with a
    probability of 0.8 to the power of 1/6, that of a Δ above 0 of 1.79 standard deviations:

    >>> round(smallest_claimed(6, 1), 2)
    1.79
    """
    level = LEVEL / max(1, n_cells)
    if n_prompts < items_needed(level):
        return math.nan
    low, high = 0.0, _FARTHEST
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        enough = _sign_test_power(n_prompts, middle, level) >= POWER
        low, high = (low, middle) if enough else (middle, high)
    of_mean = _level_of_mean(n_prompts, n_cells)
    if of_mean <= 0:
        return high
    by_flips = smallest_effect(n_prompts, of_mean)
    return high if math.isnan(by_flips) else min(high, by_flips)


def prompts_to_claim(effect: float, n_cells: int) -> int | None:
    """The fewest prompts on which a mean Δ of so many standard deviations is claimed with a
    probability of `POWER`, in one of so many cells; None where it is more than `MOST`.

    >>> prompts_to_claim(20.0, 1), prompts_to_claim(0.3, 1)
    (6, 90)
    """
    level = LEVEL / max(1, n_cells)
    for n in range(items_needed(level), SHOWS_RARE):
        if _sign_test_power(n, effect, level) >= POWER:
            return n

    # The more prompts, the higher the level: from some number on they are enough.
    def enough(n: int) -> bool:
        needed = values_needed(effect, 1.0, 0.0, _level_of_mean(n, n_cells))
        return needed is not None and needed <= n

    low, high = SHOWS_RARE - 1, MOST
    if not enough(high):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _level_of_mean(n_prompts: int, n_cells: int) -> float:
    """Below which p-value of flipped signs, not adjusted, a mean is claimed: 0 or less on few
    prompts."""
    if n_prompts < SHOWS_RARE:
        return 0.0
    return float((LEVEL - (1 - RARE) ** n_prompts) / max(1, n_cells))


def _sign_test_power(n: int, effect: float, level: float) -> float:
    """The probability that the sign test of n normal Δs shows that more fall than rise."""
    fewest = -1
    while 2 * scipy.special.bdtr(fewest + 1, n, 0.5) < level:
        fewest += 1
    return 0.0 if fewest < 0 else float(scipy.special.bdtr(fewest, n, scipy.special.ndtr(-effect)))
