"""Kendall's W where raters rated different items of a prompt, with its permutation test."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import isnan

from persona_panel.statistics.agreement.agree import AGREEMENT, AgreementBlock, agreement_statistics
from persona_panel.statistics.agreement.incomplete_rankings import incomplete_concordance
from persona_panel.statistics.core.registry import OF_SCORES
from persona_panel.statistics.core.results import BlockResult


@agreement_statistics.register(
    "kendall_w_incomplete",
    "W, incomplete\nrankings",
    table=AGREEMENT,
    needs=("incomplete_rankings",),
    of=OF_SCORES,
    show_note=True,
    summary="W, incomplete rankings",
    order=25,
)
def of_incomplete_rankings(block: AgreementBlock) -> Iterator[BlockResult]:
    """Beside Kendall's W, which leaves out raters who rated some items of a prompt only."""
    found = incomplete_concordance(
        block.ratings,
        block.prompts,
        n_permutations=block.options.n_permutations,
        seed=block.options.seed,
    )
    result = block.over_prompts(found.over_prompts, "share", (0.0, 1.0))
    if isnan(found.statistic):
        yield result
        return
    test = (
        f"Skillings-Mack T {found.statistic:.1f}; "
        f"at random T {found.statistic_by_chance:.1f} and W {found.by_chance:.3f}"
    )
    yield replace(result, note=f"{test}; {result.note}" if result.note else test)
