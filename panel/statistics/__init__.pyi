"""The public names of `panel.statistics`, each once: imported from here when first used."""

from panel.statistics.agreement.agree import AgreementBlock as AgreementBlock
from panel.statistics.agreement.agree import Breakdown as Breakdown
from panel.statistics.agreement.agree import agree as agree
from panel.statistics.agreement.agree import agreement_differences as agreement_differences
from panel.statistics.agreement.agree import agreement_statistics as agreement_statistics
from panel.statistics.agreement.chosen_ratings import ChosenRatings as ChosenRatings
from panel.statistics.agreement.chosen_ratings import by_chance as by_chance
from panel.statistics.agreement.chosen_ratings import most_agreeing as most_agreeing
from panel.statistics.agreement.concordance import kendall_w as kendall_w
from panel.statistics.agreement.disagreement import disagreement_by_item as disagreement_by_item
from panel.statistics.agreement.icc import icc as icc
from panel.statistics.agreement.icc import resampled_icc as resampled_icc
from panel.statistics.agreement.incomplete_rankings import (
    IncompleteConcordance as IncompleteConcordance,
)
from panel.statistics.agreement.incomplete_rankings import (
    incomplete_concordance as incomplete_concordance,
)
from panel.statistics.agreement.kappa import KappaWeights as KappaWeights
from panel.statistics.agreement.kappa import cohen_kappa as cohen_kappa
from panel.statistics.agreement.kappa import fleiss_kappa as fleiss_kappa
from panel.statistics.agreement.kappa import resampled_cohen_kappa as resampled_cohen_kappa
from panel.statistics.agreement.kappa import resampled_fleiss_kappa as resampled_fleiss_kappa
from panel.statistics.agreement.labels import agreement_on as agreement_on
from panel.statistics.agreement.labels import confusion as confusion
from panel.statistics.agreement.labels import majority as majority
from panel.statistics.agreement.labels import same_label as same_label
from panel.statistics.agreement.pairwise import PairStatistic as PairStatistic
from panel.statistics.agreement.pairwise import Pairwise as Pairwise
from panel.statistics.agreement.pairwise import pairwise as pairwise
from panel.statistics.agreement.pairwise import pairwise_by_prompt as pairwise_by_prompt
from panel.statistics.agreement.pairwise import resampled_pairwise as resampled_pairwise
from panel.statistics.agreement.perfect_agreement import PerfectAgreement as PerfectAgreement
from panel.statistics.agreement.perfect_agreement import RankingAgreement as RankingAgreement
from panel.statistics.agreement.perfect_agreement import perfect_agreement as perfect_agreement
from panel.statistics.agreement.perfect_agreement import ranking_agreement as ranking_agreement
from panel.statistics.agreement.rank_matrices import tau_b_matrix as tau_b_matrix
from panel.statistics.agreement.reliability import krippendorff_alpha as krippendorff_alpha
from panel.statistics.agreement.reliability import resampled_alpha as resampled_alpha
from panel.statistics.bias.compression import mode_share as mode_share
from panel.statistics.bias.compression import resampled_mode_share as resampled_mode_share
from panel.statistics.bias.compression import resampled_score_entropy as resampled_score_entropy
from panel.statistics.bias.compression import score_entropy as score_entropy
from panel.statistics.bias.rater_share import resampled_variance_share as resampled_variance_share
from panel.statistics.bias.rater_share import variance_share as variance_share
from panel.statistics.bias.within_groups import correlation_within as correlation_within
from panel.statistics.bias.within_groups import (
    resampled_correlation_within as resampled_correlation_within,
)
from panel.statistics.core.arrays import Resampled as Resampled
from panel.statistics.core.arrays import row_means as row_means
from panel.statistics.core.benjamini_yekutieli import benjamini_yekutieli as benjamini_yekutieli
from panel.statistics.core.estimate import Difference as Difference
from panel.statistics.core.estimate import Estimate as Estimate
from panel.statistics.core.holm import holm as holm
from panel.statistics.core.options import AnalysisOptions as AnalysisOptions
from panel.statistics.core.options import MeasurementLevel as MeasurementLevel
from panel.statistics.core.options import Random as Random
from panel.statistics.core.prompts import OverPrompts as OverPrompts
from panel.statistics.core.prompts import over_prompts as over_prompts
from panel.statistics.core.prompts import resampled_over_prompts as resampled_over_prompts
from panel.statistics.core.ranking import SystemRank as SystemRank
from panel.statistics.core.ranking import competition_ranks as competition_ranks
from panel.statistics.core.ranking import rank_systems as rank_systems
from panel.statistics.core.ranks import Ranks as Ranks
from panel.statistics.core.ranks import ranks_within as ranks_within
from panel.statistics.core.registry import OF_SCORES as OF_SCORES
from panel.statistics.core.registry import StatisticTable as StatisticTable
from panel.statistics.core.results import BlockResult as BlockResult
from panel.statistics.core.row_frames import rows_frame as rows_frame
from panel.statistics.core.statistic import Reason as Reason
from panel.statistics.core.statistic import Statistic as Statistic
from panel.statistics.core.strata import Strata as Strata
from panel.statistics.core.strengths import StrengthDifference as StrengthDifference
from panel.statistics.core.strengths import Strengths as Strengths
from panel.statistics.core.strengths import SystemStrength as SystemStrength
from panel.statistics.core.strengths import WinCounts as WinCounts
from panel.statistics.core.strengths import bradley_terry as bradley_terry
from panel.statistics.core.table import Ratings as Ratings
from panel.statistics.core.table import Row as Row
from panel.statistics.deliberation.conformity import Conformities as Conformities
from panel.statistics.deliberation.conformity import Conformity as Conformity
from panel.statistics.deliberation.conformity import Influence as Influence
from panel.statistics.deliberation.conformity import conformity as conformity
from panel.statistics.deliberation.conformity import influence as influence
from panel.statistics.deliberation.reordering import Reordering as Reordering
from panel.statistics.deliberation.reordering import SystemShift as SystemShift
from panel.statistics.deliberation.reordering import reordering as reordering
from panel.statistics.deliberation.revisions import BeforeAfter as BeforeAfter
from panel.statistics.deliberation.revisions import Change as Change
from panel.statistics.deliberation.revisions import Revisions as Revisions
from panel.statistics.deliberation.revisions import by_dimension as by_dimension
from panel.statistics.deliberation.revisions import by_judge as by_judge
from panel.statistics.deliberation.revisions import spread as spread
from panel.statistics.deliberation.toward_humans import Direction as Direction
from panel.statistics.deliberation.toward_humans import TowardHumans as TowardHumans
from panel.statistics.deliberation.toward_humans import toward_humans as toward_humans
from panel.statistics.fidelity.contrast import ContrastName as ContrastName
from panel.statistics.fidelity.contrast import FidelityContrast as FidelityContrast
from panel.statistics.fidelity.contrast import fidelity_contrast as fidelity_contrast
from panel.statistics.fidelity.group_difference import (
    PairedGroupDifference as PairedGroupDifference,
)
from panel.statistics.fidelity.group_difference import difference_by_model as difference_by_model
from panel.statistics.fidelity.group_difference import group_difference as group_difference
from panel.statistics.fidelity.ratio import ratio_interval as ratio_interval
from panel.statistics.fidelity.split_half import split_half as split_half
from panel.statistics.humans.added_raters import AddedRaters as AddedRaters
from panel.statistics.humans.added_raters import added_raters as added_raters
from panel.statistics.humans.align import AlignedDimension as AlignedDimension
from panel.statistics.humans.align import Alignment as Alignment
from panel.statistics.humans.align import align as align
from panel.statistics.humans.alignment import HeldOutFigure as HeldOutFigure
from panel.statistics.humans.alignment import LearntAlignment as LearntAlignment
from panel.statistics.humans.alignment import MethodAlignment as MethodAlignment
from panel.statistics.humans.alignment import learnt_alignment as learnt_alignment
from panel.statistics.humans.alignment_rules import AlignmentMethod as AlignmentMethod
from panel.statistics.humans.alignment_rules import AlignmentRule as AlignmentRule
from panel.statistics.humans.annotator_test import AlignmentScore as AlignmentScore
from panel.statistics.humans.annotator_test import AnnotatorComparison as AnnotatorComparison
from panel.statistics.humans.annotator_test import AnnotatorTest as AnnotatorTest
from panel.statistics.humans.annotator_test import annotator_test as annotator_test
from panel.statistics.humans.annotator_test import resampled_advantage as resampled_advantage
from panel.statistics.humans.calibration import Calibration as Calibration
from panel.statistics.humans.calibration import CorrectedPair as CorrectedPair
from panel.statistics.humans.calibration import CorrectedSystem as CorrectedSystem
from panel.statistics.humans.calibration import calibrate as calibrate
from panel.statistics.humans.ceiling import HumanCeiling as HumanCeiling
from panel.statistics.humans.ceiling import human_ceiling as human_ceiling
from panel.statistics.humans.ceiling import human_ceiling_by_prompt as human_ceiling_by_prompt
from panel.statistics.humans.ceiling import resampled_human_ceiling as resampled_human_ceiling
from panel.statistics.humans.correlate import ComparisonBlock as ComparisonBlock
from panel.statistics.humans.correlate import comparison_statistics as comparison_statistics
from panel.statistics.humans.correlate import correlate as correlate
from panel.statistics.humans.correlate import correlation_differences as correlation_differences
from panel.statistics.humans.correlation import CorrelationKind as CorrelationKind
from panel.statistics.humans.correlation import correlation as correlation
from panel.statistics.humans.correlation import resampled_correlation as resampled_correlation
from panel.statistics.humans.correlation import within_prompts as within_prompts
from panel.statistics.humans.difference import DifferenceOverPrompts as DifferenceOverPrompts
from panel.statistics.humans.difference import HumanDifference as HumanDifference
from panel.statistics.humans.difference import human_difference as human_difference
from panel.statistics.humans.difference import (
    human_difference_by_prompt as human_difference_by_prompt,
)
from panel.statistics.humans.difference import (
    resampled_human_difference as resampled_human_difference,
)
from panel.statistics.humans.distribution import Distributions as Distributions
from panel.statistics.humans.distribution import score_distributions as score_distributions
from panel.statistics.humans.ensembles import ChosenEnsemble as ChosenEnsemble
from panel.statistics.humans.ensembles import ensembles_on_other_items as ensembles_on_other_items
from panel.statistics.humans.gain import correlation_gain as correlation_gain
from panel.statistics.humans.gain import gain_within_prompts as gain_within_prompts
from panel.statistics.humans.gain import resampled_correlation_gain as resampled_correlation_gain
from panel.statistics.humans.losses import CUSTOM_DIMENSIONS as CUSTOM_DIMENSIONS
from panel.statistics.humans.losses import Loss as Loss
from panel.statistics.humans.losses import custom_loss as custom_loss
from panel.statistics.humans.losses import pairwise_error as pairwise_error
from panel.statistics.humans.mean_reliability import mean_reliability as mean_reliability
from panel.statistics.humans.mean_reliability import (
    resampled_mean_reliability as resampled_mean_reliability,
)
from panel.statistics.humans.prediction_powered import CorrectedMean as CorrectedMean
from panel.statistics.humans.prediction_powered import corrected_difference as corrected_difference
from panel.statistics.humans.prediction_powered import corrected_mean as corrected_mean
from panel.statistics.humans.preferences import Preferences as Preferences
from panel.statistics.humans.preferences import preferences as preferences
from panel.statistics.humans.preferences import resampled_preferences as resampled_preferences
from panel.statistics.humans.selection import SelectedItem as SelectedItem
from panel.statistics.humans.selection import inclusion_probabilities as inclusion_probabilities
from panel.statistics.humans.selection import select_items as select_items
from panel.statistics.humans.selection import systematic_sample as systematic_sample
from panel.statistics.humans.sources import SourceMeans as SourceMeans
from panel.statistics.humans.sources import source_means as source_means
from panel.statistics.humans.substitution import MeanKappa as MeanKappa
from panel.statistics.humans.substitution import Substitution as Substitution
from panel.statistics.humans.substitution import resampled_substitution as resampled_substitution
from panel.statistics.humans.substitution import substitution as substitution
from panel.statistics.quality.components import VarianceComponents as VarianceComponents
from panel.statistics.quality.components import variance_components as variance_components
from panel.statistics.quality.d_study import DStudy as DStudy
from panel.statistics.quality.d_study import cheapest_design as cheapest_design
from panel.statistics.quality.d_study import d_study as d_study
from panel.statistics.quality.d_study import detectable_difference as detectable_difference
from panel.statistics.quality.d_study import error_shares as error_shares
from panel.statistics.quality.d_study import expected_width as expected_width
from panel.statistics.quality.design_study import DesignResult as DesignResult
from panel.statistics.quality.design_study import DesignStudy as DesignStudy
from panel.statistics.quality.design_study import design_name as design_name
from panel.statistics.quality.design_study import design_studies as design_studies
from panel.statistics.quality.effective_judges import LeaveOneOut as LeaveOneOut
from panel.statistics.quality.effective_judges import effective_judges as effective_judges
from panel.statistics.quality.effective_judges import (
    effective_judges_interval as effective_judges_interval,
)
from panel.statistics.quality.effective_judges import leave_one_judge_out as leave_one_judge_out
from panel.statistics.quality.effective_judges import spearman_brown as spearman_brown
from panel.statistics.quality.panel_quality import PanelBlock as PanelBlock
from panel.statistics.quality.panel_quality import panel_quality as panel_quality
from panel.statistics.quality.panel_quality import (
    panel_quality_statistics as panel_quality_statistics,
)
from panel.statistics.quality.subset import SmallestSubset as SmallestSubset
from panel.statistics.quality.subset import smallest_subset as smallest_subset
from panel.statistics.quality.votes import EnsembleDistance as EnsembleDistance
from panel.statistics.quality.votes import Votes as Votes
from panel.statistics.quality.votes import effective_votes as effective_votes
from panel.statistics.quality.votes import ensemble_distance as ensemble_distance
from panel.statistics.resampling.jackknife import EstimateKind as EstimateKind
from panel.statistics.resampling.jackknife import Interval as Interval
from panel.statistics.resampling.jackknife import jackknife as jackknife
from panel.statistics.resampling.permutation import correlation_test as correlation_test
from panel.statistics.resampling.permutation import permutation_p_value as permutation_p_value
from panel.statistics.resampling.weights import resampled_mean as resampled_mean
