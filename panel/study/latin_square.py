"""Orders of presentation that are balanced over raters.

Source: E. J. Williams (1949), "Experimental designs balanced for the estimation of residual effects
of treatments".
"""

from __future__ import annotations


def williams_square(n: int) -> list[list[int]]:
    """Orders of n things, one a row: a Latin square whose neighbours are balanced, too.

    Over all rows each thing stands equally often in each place, and directly behind each other
    thing equally often.

    Args:
        n: how many things, 1 or more.

    Returns:
        n rows for an even n, 2n for an odd one (the square and its mirror image), each a
        permutation of 0 to n − 1. With one thing there is one row.

    >>> williams_square(4)
    [[0, 1, 3, 2], [1, 2, 0, 3], [2, 3, 1, 0], [3, 0, 2, 1]]
    """
    if n == 1:
        return [[0]]
    first = [0]
    for step in range(1, n):
        first.append((step + 1) // 2 if step % 2 else n - step // 2)
    rows = [[(place + shift) % n for place in first] for shift in range(n)]
    return rows if n % 2 == 0 else rows + [row[::-1] for row in rows]
