"""How many prompts would show that a mean over prompts is not 0, with judges as a sample or not.

With judges as they are it is the number of a t-test: `values_needed`. With judges as a sample the
same judges rate further prompts: the variance over prompts falls with their number, and so does the
part of the judges' variance that differs from prompt to prompt; the rest stays, and so may forbid
it however many prompts there are.
"""

from __future__ import annotations

import math
from math import inf

import numpy as np
import scipy
from numpy.typing import ArrayLike

from persona_panel.statistics.core.arrays import Array
from persona_panel.statistics.core.sampled_mean import SampledMean
from persona_panel.statistics.core.student_t import values_needed
from persona_panel.statistics.core.tested import MOST, POWER


def prompts_needed(found: SampledMean, level: float) -> int | None:
    """With how many prompts a two-sided test at `level` finds the mean in a share `POWER` of the
    cases, were the mean and the variances those found; None where it is more than `MOST`.

    Where the test at the same level does not find the mean now, it is more than there are now: at a
    power of a half or less a test just reaches what it has to.

    Raises:
        ValueError: there is no standard error.

    Of four prompts whose sd is 2, a mean of 1, as of `values_needed(1, 2, 0, 0.05)`:

    >>> prompts_needed(SampledMean(1.0, ((1.0, 3.0),), 4), 0.05)
    34
    """
    if not found.errors:
        raise ValueError("a mean without a standard error")
    sd = found.errors[0][0] * math.sqrt(found.n_prompts)
    by_prompts = values_needed(abs(found.mean), sd, 0.0, level)
    if by_prompts is None or not found.judges:
        return by_prompts
    n = np.arange(by_prompts, MOST + 1, dtype=np.float64)
    beyond = (abs(found.mean) - _reach(found, n, level)) * np.sqrt(n) / sd
    enough = np.flatnonzero(beyond >= scipy.special.ndtri(POWER))
    return int(n[enough[0]]) if len(enough) else None


def takes_more_judges(found: SampledMean, level: float) -> bool:
    """Return whether what judges leave open is alone so much that a test at `level` with these
    judges finds a mean of this size with no number of prompts."""
    return bool(found.judges) and abs(found.mean) <= float(_reach(found, inf, level))


def _reach(found: SampledMean, n_prompts: ArrayLike, level: float) -> Array:
    """Return how far from 0 a mean over so many prompts has to be (Satterthwaite's degrees of
    freedom)."""
    n = np.asarray(n_prompts, dtype=np.float64)
    by_prompt = found.errors[0][0] ** 2 * found.n_prompts / n
    total, squares = by_prompt, by_prompt**2 / (n - 1)
    for part in found.judges:
        own = part.variance - part.by_prompt * (1 - found.n_prompts / n)
        total, squares = total + own, squares + own**2 / part.df
    df = np.divide(total**2, squares, out=np.full_like(total, inf), where=squares > 0)
    reach: Array = np.sqrt(total) * scipy.special.stdtrit(df, 1 - level / 2)
    return reach
