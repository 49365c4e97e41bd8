"""Kendall's W, with its permutation test: uncorrected, and corrected for ties."""

from __future__ import annotations

from collections.abc import Iterator

from panel.statistics.agreement.agree import AGREEMENT, AgreementBlock, agreement_statistics
from panel.statistics.agreement.concordance import kendall_w
from panel.statistics.core.results import Result


@agreement_statistics.register(
    "kendall_w", "Kendall\nW", table=AGREEMENT, summary="Kendall W", order=20
)
def uncorrected(block: AgreementBlock) -> Iterator[Result]:
    yield _kendall_w(block, correct_ties=False)


@agreement_statistics.register("kendall_w_ties", "W, corrected\nfor ties", order=110)
def corrected(block: AgreementBlock) -> Iterator[Result]:
    yield _kendall_w(block, correct_ties=True)


def _kendall_w(block: AgreementBlock, *, correct_ties: bool) -> Result:
    return block.over_prompts(
        kendall_w(
            block.ratings,
            block.prompts,
            correct_ties=correct_ties,
            n_permutations=block.options.n_permutations,
            seed=block.options.seed,
        ),
        "share",
    )
