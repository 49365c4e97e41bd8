"""How far ratings can be trusted: agreement, panel against humans, what a panel is worth.

Pure functions: arrays in, small frozen results out. Ratings are `(items, raters)`, NaN
where there is no rating; nothing is imputed. A statistic that is undefined has the value
NaN and a `reason`. Most have a `resampled_…` form, which `bootstrap` takes.
"""

from panel.statistics.added_raters import AddedRaters, added_raters
from panel.statistics.agree import By, agree
from panel.statistics.agreement import (
    PerfectAgreement,
    RankingAgreement,
    perfect_agreement,
    ranking_agreement,
)
from panel.statistics.appraise import appraise
from panel.statistics.arrays import Resampled, row_means
from panel.statistics.bootstrap import Interval, Method, bootstrap, by_items, resampled_mean
from panel.statistics.ceiling import (
    Ceiling,
    human_ceiling,
    human_ceiling_by_prompt,
    resampled_human_ceiling,
)
from panel.statistics.components import Components, variance_components
from panel.statistics.compression import (
    mode_share,
    resampled_mode_share,
    resampled_score_entropy,
    score_entropy,
)
from panel.statistics.concordance import kendall_w
from panel.statistics.conformity import (
    Conformities,
    Conformity,
    Influence,
    conformity,
    influence,
)
from panel.statistics.correlate import correlate
from panel.statistics.correlation import (
    Correlation,
    correlation,
    resampled_correlation,
    within_prompts,
)
from panel.statistics.deliberation import (
    BeforeAfter,
    Change,
    Revisions,
    by_dimension,
    by_judge,
    spread,
)
from panel.statistics.distribution import Distributions, score_distributions
from panel.statistics.estimate import Estimate, Reason
from panel.statistics.holm import holm
from panel.statistics.icc import icc, resampled_icc
from panel.statistics.kappa import (
    KappaWeights,
    cohen_kappa,
    fleiss_kappa,
    resampled_cohen_kappa,
    resampled_fleiss_kappa,
)
from panel.statistics.losses import CUSTOM_DIMENSIONS, Loss, custom_loss, pairwise_error
from panel.statistics.pairwise import (
    PairStatistic,
    Pairwise,
    pairwise,
    pairwise_by_prompt,
    resampled_pairwise,
    tau_b_matrix,
)
from panel.statistics.permutation import correlation_test, permutation_p_value
from panel.statistics.preferences import Preferences, preferences, resampled_preferences
from panel.statistics.prompts import OverPrompts, over_prompts, resampled_over_prompts
from panel.statistics.ranking import SystemRank, competition_ranks, rank_systems
from panel.statistics.ranks import Ranks, mean_ranks, ranks_within
from panel.statistics.rater_share import resampled_variance_share, variance_share
from panel.statistics.reliability import Level, krippendorff_alpha, resampled_alpha
from panel.statistics.reordering import (
    Reordering,
    SystemShift,
    reordering,
)
from panel.statistics.sources import SourceMeans, source_means
from panel.statistics.subset import Subset, smallest_subset
from panel.statistics.substitution import (
    MeanKappa,
    Substitution,
    resampled_substitution,
    substitution,
)
from panel.statistics.table import Ratings, Row, Settings
from panel.statistics.toward_humans import (
    Direction,
    TowardHumans,
    toward_humans,
)
from panel.statistics.within_groups import correlation_within, resampled_correlation_within
from panel.statistics.worth import (
    LeaveOneOut,
    effective_judges,
    leave_one_judge_out,
    resampled_effective_judges,
    spearman_brown,
)

__all__ = [
    "CUSTOM_DIMENSIONS",
    "AddedRaters",
    "BeforeAfter",
    "By",
    "Ceiling",
    "Change",
    "Components",
    "Conformities",
    "Conformity",
    "Correlation",
    "Direction",
    "Distributions",
    "Estimate",
    "Influence",
    "Interval",
    "KappaWeights",
    "LeaveOneOut",
    "Level",
    "Loss",
    "MeanKappa",
    "Method",
    "OverPrompts",
    "PairStatistic",
    "Pairwise",
    "PerfectAgreement",
    "Preferences",
    "RankingAgreement",
    "Ranks",
    "Ratings",
    "Reason",
    "Reordering",
    "Resampled",
    "Revisions",
    "Row",
    "Settings",
    "SourceMeans",
    "Subset",
    "Substitution",
    "SystemRank",
    "SystemShift",
    "TowardHumans",
    "added_raters",
    "agree",
    "appraise",
    "bootstrap",
    "by_dimension",
    "by_items",
    "by_judge",
    "cohen_kappa",
    "competition_ranks",
    "conformity",
    "correlate",
    "correlation",
    "correlation_test",
    "correlation_within",
    "custom_loss",
    "effective_judges",
    "fleiss_kappa",
    "holm",
    "human_ceiling",
    "human_ceiling_by_prompt",
    "icc",
    "influence",
    "kendall_w",
    "krippendorff_alpha",
    "leave_one_judge_out",
    "mean_ranks",
    "mode_share",
    "over_prompts",
    "pairwise",
    "pairwise_by_prompt",
    "pairwise_error",
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
    "resampled_correlation_within",
    "resampled_effective_judges",
    "resampled_fleiss_kappa",
    "resampled_human_ceiling",
    "resampled_icc",
    "resampled_mean",
    "resampled_mode_share",
    "resampled_over_prompts",
    "resampled_pairwise",
    "resampled_preferences",
    "resampled_score_entropy",
    "resampled_substitution",
    "resampled_variance_share",
    "row_means",
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
