"""The public names of `persona_panel.statistics`, each once: imported from here when first used."""

from persona_panel.statistics.agreement import AgreementBlock as AgreementBlock
from persona_panel.statistics.agreement import Breakdown as Breakdown
from persona_panel.statistics.agreement import agree as agree
from persona_panel.statistics.agreement import agreement_differences as agreement_differences
from persona_panel.statistics.agreement import agreement_statistics as agreement_statistics
from persona_panel.statistics.agreement import panel_quality as panel_quality
from persona_panel.statistics.agreement import (
    panel_quality_statistics as panel_quality_statistics,
)
from persona_panel.statistics.alignment import Alignment as Alignment
from persona_panel.statistics.alignment import AlignmentMethod as AlignmentMethod
from persona_panel.statistics.alignment import AlignmentRule as AlignmentRule
from persona_panel.statistics.alignment import HeldOutFigure as HeldOutFigure
from persona_panel.statistics.alignment import LearntAlignment as LearntAlignment
from persona_panel.statistics.alignment import MethodAlignment as MethodAlignment
from persona_panel.statistics.alignment import align as align
from persona_panel.statistics.annotators import AlignmentScore as AlignmentScore
from persona_panel.statistics.annotators import (
    AnnotatorComparison as AnnotatorComparison,
)
from persona_panel.statistics.annotators import AnnotatorTest as AnnotatorTest
from persona_panel.statistics.annotators import MeanKappa as MeanKappa
from persona_panel.statistics.annotators import Substitution as Substitution
from persona_panel.statistics.annotators import annotator_test as annotator_test
from persona_panel.statistics.annotators import substitution as substitution
from persona_panel.statistics.calibration import Calibration as Calibration
from persona_panel.statistics.calibration import CorrectedMean as CorrectedMean
from persona_panel.statistics.calibration import RatedPart as RatedPart
from persona_panel.statistics.calibration import calibrate as calibrate
from persona_panel.statistics.calibration import corrected_mean as corrected_mean
from persona_panel.statistics.comparison import ComparisonBlock as ComparisonBlock
from persona_panel.statistics.comparison import comparison_statistics as comparison_statistics
from persona_panel.statistics.comparison import correlate as correlate
from persona_panel.statistics.comparison import (
    correlation_differences as correlation_differences,
)
from persona_panel.statistics.concordance import (
    IncompleteConcordance as IncompleteConcordance,
)
from persona_panel.statistics.concordance import (
    PerfectAgreement as PerfectAgreement,
)
from persona_panel.statistics.concordance import (
    incomplete_concordance as incomplete_concordance,
)
from persona_panel.statistics.concordance import kendall_w as kendall_w
from persona_panel.statistics.concordance import (
    perfect_agreement as perfect_agreement,
)
from persona_panel.statistics.core.arrays import AnalysisOptions as AnalysisOptions
from persona_panel.statistics.core.arrays import EstimateKind as EstimateKind
from persona_panel.statistics.core.arrays import MeasurementLevel as MeasurementLevel
from persona_panel.statistics.core.arrays import Random as Random
from persona_panel.statistics.core.arrays import Reason as Reason
from persona_panel.statistics.core.arrays import Resampled as Resampled
from persona_panel.statistics.core.arrays import Statistic as Statistic
from persona_panel.statistics.core.arrays import resampled_mean as resampled_mean
from persona_panel.statistics.core.arrays import row_means as row_means
from persona_panel.statistics.core.correlation import CorrelationKind as CorrelationKind
from persona_panel.statistics.core.correlation import Ranks as Ranks
from persona_panel.statistics.core.correlation import correlation as correlation
from persona_panel.statistics.core.correlation import (
    correlation_by_prompt as correlation_by_prompt,
)
from persona_panel.statistics.core.correlation import correlation_test as correlation_test
from persona_panel.statistics.core.correlation import correlation_within as correlation_within
from persona_panel.statistics.core.correlation import (
    permutation_p_value as permutation_p_value,
)
from persona_panel.statistics.core.correlation import ranks_within as ranks_within
from persona_panel.statistics.core.estimate import Difference as Difference
from persona_panel.statistics.core.estimate import Estimate as Estimate
from persona_panel.statistics.core.jackknife import Interval as Interval
from persona_panel.statistics.core.jackknife import jackknife as jackknife
from persona_panel.statistics.core.means import OverPrompts as OverPrompts
from persona_panel.statistics.core.means import by_prompt as by_prompt
from persona_panel.statistics.core.means import over_prompts as over_prompts
from persona_panel.statistics.core.means import resampled_over_prompts as resampled_over_prompts
from persona_panel.statistics.core.ranking import SystemRank as SystemRank
from persona_panel.statistics.core.ranking import competition_ranks as competition_ranks
from persona_panel.statistics.core.ranking import rank_systems as rank_systems
from persona_panel.statistics.core.registry import OF_SCORES as OF_SCORES
from persona_panel.statistics.core.registry import StatisticTable as StatisticTable
from persona_panel.statistics.core.significance import benjamini_yekutieli as benjamini_yekutieli
from persona_panel.statistics.core.significance import holm as holm
from persona_panel.statistics.core.strengths import Strengths as Strengths
from persona_panel.statistics.core.strengths import SystemStrength as SystemStrength
from persona_panel.statistics.core.strengths import WinCounts as WinCounts
from persona_panel.statistics.core.strengths import bradley_terry as bradley_terry
from persona_panel.statistics.core.table import Ratings as Ratings
from persona_panel.statistics.core.table import Row as Row
from persona_panel.statistics.designs import DesignStudy as DesignStudy
from persona_panel.statistics.designs import design_name as design_name
from persona_panel.statistics.designs import design_studies as design_studies
from persona_panel.statistics.designs import variance_share as variance_share
from persona_panel.statistics.generalizability import DStudy as DStudy
from persona_panel.statistics.generalizability import VarianceComponents as VarianceComponents
from persona_panel.statistics.generalizability import d_study as d_study
from persona_panel.statistics.generalizability import variance_components as variance_components
from persona_panel.statistics.group_fidelity import FidelityContrast as FidelityContrast
from persona_panel.statistics.group_fidelity import PairedGroupDifference as PairedGroupDifference
from persona_panel.statistics.group_fidelity import difference_by_model as difference_by_model
from persona_panel.statistics.group_fidelity import fidelity_contrast as fidelity_contrast
from persona_panel.statistics.group_fidelity import group_difference as group_difference
from persona_panel.statistics.human_raters import AddedRaters as AddedRaters
from persona_panel.statistics.human_raters import (
    DifferenceOverPrompts as DifferenceOverPrompts,
)
from persona_panel.statistics.human_raters import HumanDifference as HumanDifference
from persona_panel.statistics.human_raters import added_raters as added_raters
from persona_panel.statistics.human_raters import human_ceiling as human_ceiling
from persona_panel.statistics.human_raters import human_difference as human_difference
from persona_panel.statistics.human_raters import (
    human_difference_by_prompt as human_difference_by_prompt,
)
from persona_panel.statistics.human_raters import mean_reliability as mean_reliability
from persona_panel.statistics.ordinal import OrdinalMixedModel as OrdinalMixedModel
from persona_panel.statistics.ordinal import ordinal_mixed_model as ordinal_mixed_model
from persona_panel.statistics.rasch import Element as Element
from persona_panel.statistics.rasch import Facet as Facet
from persona_panel.statistics.rasch import ManyFacetRasch as ManyFacetRasch
from persona_panel.statistics.rasch import RaschError as RaschError
from persona_panel.statistics.rasch import Threshold as Threshold
from persona_panel.statistics.rasch import many_facet_rasch as many_facet_rasch
from persona_panel.statistics.rasch import separation_reliability as separation_reliability
from persona_panel.statistics.rater_pairs import KappaWeights as KappaWeights
from persona_panel.statistics.rater_pairs import PairStatistic as PairStatistic
from persona_panel.statistics.rater_pairs import Pairwise as Pairwise
from persona_panel.statistics.rater_pairs import agreement_on as agreement_on
from persona_panel.statistics.rater_pairs import cohen_kappa as cohen_kappa
from persona_panel.statistics.rater_pairs import confusion as confusion
from persona_panel.statistics.rater_pairs import fleiss_kappa as fleiss_kappa
from persona_panel.statistics.rater_pairs import majority as majority
from persona_panel.statistics.rater_pairs import pairwise as pairwise
from persona_panel.statistics.rater_pairs import tau_b_matrix as tau_b_matrix
from persona_panel.statistics.reliability import (
    disagreement_by_item as disagreement_by_item,
)
from persona_panel.statistics.reliability import icc as icc
from persona_panel.statistics.reliability import krippendorff_alpha as krippendorff_alpha
from persona_panel.statistics.scores import CUSTOM_DIMENSIONS as CUSTOM_DIMENSIONS
from persona_panel.statistics.scores import Loss as Loss
from persona_panel.statistics.scores import custom_loss as custom_loss
from persona_panel.statistics.scores import mode_share as mode_share
from persona_panel.statistics.scores import pairwise_error as pairwise_error
from persona_panel.statistics.scores import score_distributions as score_distributions
from persona_panel.statistics.scores import score_entropy as score_entropy
from persona_panel.statistics.selection import EnsembleDistance as EnsembleDistance
from persona_panel.statistics.selection import SelectedItem as SelectedItem
from persona_panel.statistics.selection import SmallestSubset as SmallestSubset
from persona_panel.statistics.selection import ensemble_distance as ensemble_distance
from persona_panel.statistics.selection import select_items as select_items
from persona_panel.statistics.selection import smallest_subset as smallest_subset
from persona_panel.statistics.sources import Preferences as Preferences
from persona_panel.statistics.sources import SourceMeans as SourceMeans
from persona_panel.statistics.sources import preferences as preferences
from persona_panel.statistics.sources import source_means as source_means
from persona_panel.statistics.strata import Strata as Strata
from persona_panel.statistics.votes import Votes as Votes
from persona_panel.statistics.votes import correlation_gain as correlation_gain
from persona_panel.statistics.votes import effective_judges as effective_judges
from persona_panel.statistics.votes import effective_votes as effective_votes
from persona_panel.statistics.votes import spearman_brown as spearman_brown
