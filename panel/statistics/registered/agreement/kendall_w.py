"""Kendall's W, with its permutation test: uncorrected, and corrected for ties."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from persona_panel.statistics.agreement.agree import AGREEMENT, AgreementBlock, agreement_statistics
from persona_panel.statistics.agreement.concordance import concordances
from persona_panel.statistics.core.prompts import OverPrompts
from persona_panel.statistics.core.registry import OF_SCORES
from persona_panel.statistics.core.results import BlockResult


@agreement_statistics.register(
    "kendall_w", "Kendall\nW", table=AGREEMENT, of=OF_SCORES, summary="Kendall W", order=20
)
def uncorrected(block: AgreementBlock) -> Iterator[BlockResult]:
    yield _kendall_w(block, correct_ties=False)


@agreement_statistics.register("kendall_w_ties", "W, corrected\nfor ties", order=110)
def corrected(block: AgreementBlock) -> Iterator[BlockResult]:
    yield _kendall_w(block, correct_ties=True)


def _kendall_w(block: AgreementBlock, *, correct_ties: bool) -> BlockResult:
    return block.over_prompts(_concordances(block)[correct_ties], "share")


# Both come from the same shuffles, which take most of the time.
@lru_cache(maxsize=64)
def _concordances(block: AgreementBlock) -> tuple[OverPrompts, OverPrompts]:
    options = block.options
    return concordances(
        block.ratings,
        block.prompts,
        n_permutations=options.n_permutations,
        seed=options.seed,
    )
