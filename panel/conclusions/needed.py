"""How many prompts tests of flipped signs take at least."""

from __future__ import annotations

from math import ceil, log2

LEVEL = 0.05
"""Below which an adjusted p-value is a claim."""


def least_prompts(n_tests: int) -> int:
    """With fewer prompts no test of flipped signs, adjusted for so many tests, is below `LEVEL`:
    where all signs agree, p is 2^(1 − prompts).

    >>> least_prompts(1), least_prompts(10)
    (6, 9)
    """
    tests = max(n_tests, 1)
    n = ceil(1 + log2(tests / LEVEL))
    return n if tests * 2.0 ** (1 - n) < LEVEL else n + 1
