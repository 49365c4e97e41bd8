"""How often two raters give the same ranking, and the same first place."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from persona_panel.statistics.agreement.agree import AgreementBlock, agreement_statistics
from persona_panel.statistics.agreement.perfect_agreement import RankingAgreement, ranking_agreement
from persona_panel.statistics.core.results import BlockResult


@agreement_statistics.register("full_ranking_agreement", "same\nranking", order=210)
def same_ranking(block: AgreementBlock) -> Iterator[BlockResult]:
    yield block.over_prompts(_ranking_agreement(block).full, "share")


@agreement_statistics.register("top_ranking_agreement", "same\nfirst place", order=220)
def same_first_place(block: AgreementBlock) -> Iterator[BlockResult]:
    yield block.over_prompts(_ranking_agreement(block).top, "share")


# Both statistics come from one comparison of all pairs of raters, those of judges left out, too.
@lru_cache(maxsize=64)
def _ranking_agreement(block: AgreementBlock) -> RankingAgreement:
    return ranking_agreement(block.sign * block.ratings, block.prompts)
