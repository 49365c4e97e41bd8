"""How far ratings can be trusted: agreement, panel and humans compared, panel quality.

Pure functions: arrays in, small frozen results out. Ratings are `(items, raters)`, NaN
where there is no rating; nothing is imputed. A statistic that is undefined has the value
NaN and a `reason`. Most have a `resampled_…` form, of which `jackknife` makes an interval.

`agree`, `correlate` and `panel_quality` compute what is registered: to add a statistic to one
of them, register a function in a file of its own, in a folder of `panel.statistics.registered`
or in a module of another package that is an entry point of `persona_panel.statistics`:

    from panel.statistics import AgreementBlock, Result, agreement_statistics

    @agreement_statistics.register("range_agreement", "range\\nagreement")
    def range_agreement(block: AgreementBlock) -> Iterator[Result]:
        yield Result(statistic_of(block.ratings))
"""

from panel.statistics.agree import AgreementBlock, Breakdown, agree, agreement_statistics
from panel.statistics.agreement.concordance import kendall_w
from panel.statistics.agreement.disagreement import disagreement_by_item
from panel.statistics.agreement.icc import icc, resampled_icc
from panel.statistics.agreement.incomplete_rankings import (
    IncompleteConcordance,
    incomplete_concordance,
)
from panel.statistics.agreement.kappa import (
    KappaWeights,
    cohen_kappa,
    fleiss_kappa,
    resampled_cohen_kappa,
    resampled_fleiss_kappa,
)
from panel.statistics.agreement.labels import agreement_on, confusion, majority, same_label
from panel.statistics.agreement.pairwise import (
    PairStatistic,
    Pairwise,
    pairwise,
    pairwise_by_prompt,
    resampled_pairwise,
)
from panel.statistics.agreement.perfect_agreement import (
    PerfectAgreement,
    RankingAgreement,
    perfect_agreement,
    ranking_agreement,
)
from panel.statistics.agreement.rank_matrices import tau_b_matrix
from panel.statistics.agreement.reliability import krippendorff_alpha, resampled_alpha
from panel.statistics.bias.compression import (
    mode_share,
    resampled_mode_share,
    resampled_score_entropy,
    score_entropy,
)
from panel.statistics.bias.rater_share import resampled_variance_share, variance_share
from panel.statistics.bias.within_groups import correlation_within, resampled_correlation_within
from panel.statistics.core.arrays import Resampled, row_means
from panel.statistics.core.holm import holm
from panel.statistics.core.options import (
    AnalysisOptions,
    MeasurementLevel,
    Random,
)
from panel.statistics.core.prompts import OverPrompts, over_prompts, resampled_over_prompts
from panel.statistics.core.ranking import SystemRank, competition_ranks, rank_systems
from panel.statistics.core.ranks import Ranks, mean_ranks, ranks_within
from panel.statistics.core.registry import Table
from panel.statistics.core.results import Result
from panel.statistics.core.row_frames import rows_frame
from panel.statistics.core.statistic import Reason, Statistic
from panel.statistics.core.strengths import (
    StrengthDifference,
    Strengths,
    SystemStrength,
    WinCounts,
    bradley_terry,
)
from panel.statistics.core.table import Ratings, Row
from panel.statistics.correlate import ComparisonBlock, comparison_statistics, correlate
from panel.statistics.deliberation.conformity import (
    Conformities,
    Conformity,
    Influence,
    conformity,
    influence,
)
from panel.statistics.deliberation.reordering import (
    Reordering,
    SystemShift,
    reordering,
)
from panel.statistics.deliberation.revisions import (
    BeforeAfter,
    Change,
    Revisions,
    by_dimension,
    by_judge,
    spread,
)
from panel.statistics.deliberation.toward_humans import (
    Direction,
    TowardHumans,
    toward_humans,
)
from panel.statistics.humans.added_raters import AddedRaters, added_raters
from panel.statistics.humans.ceiling import (
    HumanCeiling,
    human_ceiling,
    human_ceiling_by_prompt,
    resampled_human_ceiling,
)
from panel.statistics.humans.correlation import (
    CorrelationKind,
    correlation,
    resampled_correlation,
    within_prompts,
)
from panel.statistics.humans.difference import (
    DifferenceOverPrompts,
    HumanDifference,
    human_difference,
    human_difference_by_prompt,
    resampled_human_difference,
)
from panel.statistics.humans.distribution import Distributions, score_distributions
from panel.statistics.humans.gain import (
    correlation_gain,
    gain_within_prompts,
    resampled_correlation_gain,
)
from panel.statistics.humans.losses import CUSTOM_DIMENSIONS, Loss, custom_loss, pairwise_error
from panel.statistics.humans.mean_reliability import mean_reliability, resampled_mean_reliability
from panel.statistics.humans.preferences import Preferences, preferences, resampled_preferences
from panel.statistics.humans.sources import SourceMeans, source_means
from panel.statistics.humans.substitution import (
    MeanKappa,
    Substitution,
    resampled_substitution,
    substitution,
)
from panel.statistics.panel_quality.components import VarianceComponents, variance_components
from panel.statistics.panel_quality.d_study import (
    DStudy,
    cheapest_design,
    d_study,
    error_shares,
    expected_width,
)
from panel.statistics.panel_quality.design_study import (
    DesignResult,
    DesignStudy,
    design_name,
    design_studies,
)
from panel.statistics.panel_quality.effective_judges import (
    LeaveOneOut,
    effective_judges,
    effective_judges_interval,
    leave_one_judge_out,
    spearman_brown,
)
from panel.statistics.panel_quality.panel_quality import (
    PanelBlock,
    panel_quality,
    panel_quality_statistics,
)
from panel.statistics.panel_quality.subset import SmallestSubset, smallest_subset
from panel.statistics.resampling.jackknife import EstimateKind, Interval, jackknife
from panel.statistics.resampling.permutation import correlation_test, permutation_p_value
from panel.statistics.resampling.weights import by_items, resampled_mean

__all__ = [
    "CUSTOM_DIMENSIONS",
    "AddedRaters",
    "AgreementBlock",
    "AnalysisOptions",
    "BeforeAfter",
    "Breakdown",
    "Change",
    "ComparisonBlock",
    "Conformities",
    "Conformity",
    "CorrelationKind",
    "DStudy",
    "DesignResult",
    "DesignStudy",
    "DifferenceOverPrompts",
    "Direction",
    "Distributions",
    "EstimateKind",
    "HumanCeiling",
    "HumanDifference",
    "IncompleteConcordance",
    "Influence",
    "Interval",
    "KappaWeights",
    "LeaveOneOut",
    "Loss",
    "MeanKappa",
    "MeasurementLevel",
    "OverPrompts",
    "PairStatistic",
    "Pairwise",
    "PanelBlock",
    "PerfectAgreement",
    "Preferences",
    "Random",
    "RankingAgreement",
    "Ranks",
    "Ratings",
    "Reason",
    "Reordering",
    "Resampled",
    "Result",
    "Revisions",
    "Row",
    "SmallestSubset",
    "SourceMeans",
    "Statistic",
    "StrengthDifference",
    "Strengths",
    "Substitution",
    "SystemRank",
    "SystemShift",
    "SystemStrength",
    "Table",
    "TowardHumans",
    "VarianceComponents",
    "WinCounts",
    "added_raters",
    "agree",
    "agreement_on",
    "agreement_statistics",
    "bradley_terry",
    "by_dimension",
    "by_items",
    "by_judge",
    "cheapest_design",
    "cohen_kappa",
    "comparison_statistics",
    "competition_ranks",
    "conformity",
    "confusion",
    "correlate",
    "correlation",
    "correlation_gain",
    "correlation_test",
    "correlation_within",
    "custom_loss",
    "d_study",
    "design_name",
    "design_studies",
    "disagreement_by_item",
    "effective_judges",
    "effective_judges_interval",
    "error_shares",
    "expected_width",
    "fleiss_kappa",
    "gain_within_prompts",
    "holm",
    "human_ceiling",
    "human_ceiling_by_prompt",
    "human_difference",
    "human_difference_by_prompt",
    "icc",
    "incomplete_concordance",
    "influence",
    "jackknife",
    "kendall_w",
    "krippendorff_alpha",
    "leave_one_judge_out",
    "majority",
    "mean_ranks",
    "mean_reliability",
    "mode_share",
    "over_prompts",
    "pairwise",
    "pairwise_by_prompt",
    "pairwise_error",
    "panel_quality",
    "panel_quality_statistics",
    "perfect_agreement",
    "permutation_p_value",
    "preferences",
    "rank_systems",
    "ranking_agreement",
    "ranks_within",
    "reordering",
    "resampled_alpha",
    "resampled_cohen_kappa",
    "resampled_correlation",
    "resampled_correlation_gain",
    "resampled_correlation_within",
    "resampled_fleiss_kappa",
    "resampled_human_ceiling",
    "resampled_human_difference",
    "resampled_icc",
    "resampled_mean",
    "resampled_mean_reliability",
    "resampled_mode_share",
    "resampled_over_prompts",
    "resampled_pairwise",
    "resampled_preferences",
    "resampled_score_entropy",
    "resampled_substitution",
    "resampled_variance_share",
    "row_means",
    "rows_frame",
    "same_label",
    "score_distributions",
    "score_entropy",
    "smallest_subset",
    "source_means",
    "spearman_brown",
    "spread",
    "substitution",
    "tau_b_matrix",
    "toward_humans",
    "variance_components",
    "variance_share",
    "within_prompts",
]
