"""Means over pairs of raters: rank correlations and Cohen's κ."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import inf

from persona_panel.statistics.agreement.agree import AGREEMENT, AgreementBlock, agreement_statistics
from persona_panel.statistics.agreement.pairwise import (
    PairStatistic,
    pairwise,
    pairwise_by_prompt,
    resampled_pairwise,
)
from persona_panel.statistics.core.arrays import has_two_ratings
from persona_panel.statistics.core.registry import ANY_LEVEL
from persona_panel.statistics.core.results import BlockResult
from persona_panel.statistics.resampling.jackknife import EstimateKind


@agreement_statistics.register("mean_tau_b", "mean\nτ_b", table=AGREEMENT, order=30)
def tau_b(block: AgreementBlock) -> Iterator[BlockResult]:
    yield _over_pairs(block, "tau_b")


@agreement_statistics.register(
    "mean_tau_b_within_prompts", "mean τ_b,\nwithin prompts", needs=("prompts",), order=120
)
def tau_b_within_prompts(block: AgreementBlock) -> Iterator[BlockResult]:
    yield from _within_prompts(block, "tau_b")


@agreement_statistics.register("mean_spearman", "mean\nSpearman ρ", order=130)
def spearman(block: AgreementBlock) -> Iterator[BlockResult]:
    yield _over_pairs(block, "spearman")


@agreement_statistics.register(
    "mean_spearman_within_prompts", "mean ρ,\nwithin prompts", needs=("prompts",), order=140
)
def spearman_within_prompts(block: AgreementBlock) -> Iterator[BlockResult]:
    yield from _within_prompts(block, "spearman")


@agreement_statistics.register("cohen_kappa_none", "Cohen κ", levels=ANY_LEVEL, order=150)
def unweighted_kappa(block: AgreementBlock) -> Iterator[BlockResult]:
    yield _over_pairs(block, "cohen_kappa_none")


@agreement_statistics.register("cohen_kappa_linear", "Cohen κ,\nlinear weights", order=160)
def linear_kappa(block: AgreementBlock) -> Iterator[BlockResult]:
    yield _over_pairs(block, "cohen_kappa_linear")


@agreement_statistics.register("cohen_kappa_quadratic", "Cohen κ,\nquadratic weights", order=170)
def quadratic_kappa(block: AgreementBlock) -> Iterator[BlockResult]:
    yield _over_pairs(block, "cohen_kappa_quadratic")


def _over_pairs(block: AgreementBlock, statistic: PairStatistic) -> BlockResult:
    found = pairwise(block.ratings, statistic)
    note = f"{len(found.pairs)} pairs of raters"
    if found.n_undefined:
        note += f", {found.n_undefined} with a constant rater left out"
    resampled = resampled_pairwise(block.ratings, statistic)
    counted = has_two_ratings(block.ratings)
    if statistic.startswith("cohen_kappa"):
        kind: EstimateKind = "kappa" if statistic == "cohen_kappa_none" else "number"
        return BlockResult(found.mean, resampled, note, kind, limits=(-inf, 1), counted=counted)
    return BlockResult(found.mean, resampled, note, "correlation", counted=counted)


def _within_prompts(block: AgreementBlock, statistic: PairStatistic) -> Iterator[BlockResult]:
    if block.prompts is not None:
        inside = pairwise_by_prompt(block.ratings, block.prompts, statistic)
        yield replace(block.over_prompts(inside), counted=has_two_ratings(block.ratings))
