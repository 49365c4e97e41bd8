"""The false discovery rate of tests that may depend on each other in any way.

Source: Y. Benjamini & D. Yekutieli (2001), "The control of the false discovery rate in multiple
testing under dependency".
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from persona_panel.statistics.core.arrays import Array
from persona_panel.statistics.core.holm import adjusted_stepwise


def benjamini_yekutieli(p_values: ArrayLike) -> Array:
    """Adjusted p-values, in the order given.

    Of the hypotheses whose adjusted p-value is at most q, a share of at most q is expected to be
    true.

    Args:
        p_values: `(tests,)` in [0, 1]; NaN where there was no test, which stays NaN and
            does not count as one.

    Raises:
        ValueError: a p-value outside [0, 1].

    >>> benjamini_yekutieli([0.01, 0.04, 0.03]).round(4).tolist()
    [0.055, 0.0733, 0.0733]
    """

    def adjust(p: Array) -> Array:
        places = np.arange(1, len(p) + 1)
        steps = p * len(p) * np.sum(1 / places) / places
        return np.minimum.accumulate(steps[::-1])[::-1]

    return adjusted_stepwise(p_values, adjust)
