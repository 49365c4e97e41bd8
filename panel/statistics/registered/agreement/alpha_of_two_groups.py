"""Krippendorff's α of every two groups of raters together: a matrix, groups by groups.

Source: argument-quality.txt, section 4.3 and Figure 5. Below the α of both groups alone, the two
rate differently, though each may agree among themselves.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from math import inf

from persona_panel.statistics.agreement.agree import AgreementBlock, agreement_statistics
from persona_panel.statistics.agreement.reliability import krippendorff_alpha, resampled_alpha
from persona_panel.statistics.core.arrays import has_two_ratings
from persona_panel.statistics.core.registry import ANY_LEVEL, StatisticTable
from persona_panel.statistics.core.results import BlockResult

GROUPS_SHOWN = 12
"""Of more groups there would be too many pairs to look at."""


@agreement_statistics.register(
    "alpha_of_two_groups", "Krippendorff α",
    table=StatisticTable("Krippendorff α of every two groups together", columns="crossed",
                all_raters_only=True),
    levels=ANY_LEVEL, needs=("groups",), order=75,
)  # fmt: skip
def alpha_matrix(block: AgreementBlock) -> Iterator[BlockResult]:
    """`by` is the one group, `by_value` the other."""
    names = list(dict.fromkeys(block.groups))
    if not 2 < len(names) <= GROUPS_SHOWN:
        # Of two groups it is the α of all raters.
        return
    for one, other in combinations(names, 2):
        ratings = block.ratings[:, [group in (one, other) for group in block.groups]]
        yield BlockResult(
            krippendorff_alpha(ratings, block.level),
            resampled_alpha(ratings, block.level),
            block.level,
            kind="kappa" if block.level == "nominal" else "number",
            limits=(-inf, 1),
            by=one,
            by_value=other,
            counted=has_two_ratings(ratings),
        )
