"""Published data that several test files compare with."""

from __future__ import annotations

import numpy as np

_SCORES = np.array(
    [
        [2, 4, 5, 5, 4, 4, 2, 3, 0, 6], [6, 5, 5, 9, 3, 4, 6, 4, 5, 8],
        [7, 6, 4, 8, 5, 4, 6, 4, 4, 7], [5, 7, 6, 6, 6, 7, 5, 5, 5, 6],
        [2, 6, 5, 5, 4, 6, 2, 6, 5, 6], [5, 7, 4, 7, 5, 4, 7, 6, 5, 8],
        [5, 5, 5, 7, 6, 7, 7, 6, 5, 8], [5, 7, 5, 6, 4, 8, 5, 4, 3, 6],
    ]
)  # fmt: skip
_OCCASION, _ITEM, _PERSON = (grid.ravel() for grid in np.indices((2, 4, 10)))

BRENNAN = _SCORES.ravel(), {"person": _PERSON, "item": _ITEM, "occasion": _OCCASION}
"""R. L. Brennan (2001), *Generalizability Theory*, synthetic data set 3: the scores of ten persons
on four items on two occasions, and their factors."""
