"""The public names of `persona_panel.statistics`, each once: imported from here when first used."""

from persona_panel.statistics.agreement.agree import AgreementBlock as AgreementBlock
from persona_panel.statistics.agreement.agree import Breakdown as Breakdown
from persona_panel.statistics.agreement.agree import agree as agree
from persona_panel.statistics.agreement.agree import agreement_differences as agreement_differences
from persona_panel.statistics.agreement.agree import agreement_statistics as agreement_statistics
from persona_panel.statistics.agreement.chosen_ratings import ChosenRatings as ChosenRatings
from persona_panel.statistics.agreement.chosen_ratings import by_chance as by_chance
from persona_panel.statistics.agreement.chosen_ratings import most_agreeing as most_agreeing
from persona_panel.statistics.agreement.concordance import kendall_w as kendall_w
from persona_panel.statistics.agreement.disagreement import (
    disagreement_by_item as disagreement_by_item,
)
from persona_panel.statistics.agreement.icc import icc as icc
from persona_panel.statistics.agreement.icc import resampled_icc as resampled_icc
from persona_panel.statistics.agreement.incomplete_rankings import (
    IncompleteConcordance as IncompleteConcordance,
)
from persona_panel.statistics.agreement.incomplete_rankings import (
    incomplete_concordance as incomplete_concordance,
)
from persona_panel.statistics.agreement.kappa import KappaWeights as KappaWeights
from persona_panel.statistics.agreement.kappa import cohen_kappa as cohen_kappa
from persona_panel.statistics.agreement.kappa import fleiss_kappa as fleiss_kappa
from persona_panel.statistics.agreement.kappa import resampled_cohen_kappa as resampled_cohen_kappa
from persona_panel.statistics.agreement.kappa import (
    resampled_fleiss_kappa as resampled_fleiss_kappa,
)
from persona_panel.statistics.agreement.labels import agreement_on as agreement_on
from persona_panel.statistics.agreement.labels import confusion as confusion
from persona_panel.statistics.agreement.labels import majority as majority
from persona_panel.statistics.agreement.labels import same_label as same_label
from persona_panel.statistics.agreement.pairwise import PairStatistic as PairStatistic
from persona_panel.statistics.agreement.pairwise import Pairwise as Pairwise
from persona_panel.statistics.agreement.pairwise import pairwise as pairwise
from persona_panel.statistics.agreement.pairwise import pairwise_by_prompt as pairwise_by_prompt
from persona_panel.statistics.agreement.pairwise import resampled_pairwise as resampled_pairwise
from persona_panel.statistics.agreement.perfect_agreement import (
    PerfectAgreement as PerfectAgreement,
)
from persona_panel.statistics.agreement.perfect_agreement import (
    RankingAgreement as RankingAgreement,
)
from persona_panel.statistics.agreement.perfect_agreement import (
    perfect_agreement as perfect_agreement,
)
from persona_panel.statistics.agreement.perfect_agreement import (
    ranking_agreement as ranking_agreement,
)
from persona_panel.statistics.agreement.rank_matrices import tau_b_matrix as tau_b_matrix
from persona_panel.statistics.agreement.reliability import krippendorff_alpha as krippendorff_alpha
from persona_panel.statistics.agreement.reliability import resampled_alpha as resampled_alpha
from persona_panel.statistics.bias.compression import mode_share as mode_share
from persona_panel.statistics.bias.compression import resampled_mode_share as resampled_mode_share
from persona_panel.statistics.bias.compression import (
    resampled_score_entropy as resampled_score_entropy,
)
from persona_panel.statistics.bias.compression import score_entropy as score_entropy
from persona_panel.statistics.bias.rater_share import (
    resampled_variance_share as resampled_variance_share,
)
from persona_panel.statistics.bias.rater_share import variance_share as variance_share
from persona_panel.statistics.bias.within_groups import correlation_within as correlation_within
from persona_panel.statistics.bias.within_groups import (
    resampled_correlation_within as resampled_correlation_within,
)
from persona_panel.statistics.core.arrays import Resampled as Resampled
from persona_panel.statistics.core.arrays import row_means as row_means
from persona_panel.statistics.core.benjamini_yekutieli import (
    benjamini_yekutieli as benjamini_yekutieli,
)
from persona_panel.statistics.core.estimate import Difference as Difference
from persona_panel.statistics.core.estimate import Estimate as Estimate
from persona_panel.statistics.core.holm import holm as holm
from persona_panel.statistics.core.options import AnalysisOptions as AnalysisOptions
from persona_panel.statistics.core.options import MeasurementLevel as MeasurementLevel
from persona_panel.statistics.core.options import Random as Random
from persona_panel.statistics.core.prompts import OverPrompts as OverPrompts
from persona_panel.statistics.core.prompts import over_prompts as over_prompts
from persona_panel.statistics.core.prompts import resampled_over_prompts as resampled_over_prompts
from persona_panel.statistics.core.ranking import SystemRank as SystemRank
from persona_panel.statistics.core.ranking import competition_ranks as competition_ranks
from persona_panel.statistics.core.ranking import rank_systems as rank_systems
from persona_panel.statistics.core.ranks import Ranks as Ranks
from persona_panel.statistics.core.ranks import ranks_within as ranks_within
from persona_panel.statistics.core.registry import OF_SCORES as OF_SCORES
from persona_panel.statistics.core.registry import StatisticTable as StatisticTable
from persona_panel.statistics.core.results import BlockResult as BlockResult
from persona_panel.statistics.core.row_frames import rows_frame as rows_frame
from persona_panel.statistics.core.statistic import Reason as Reason
from persona_panel.statistics.core.statistic import Statistic as Statistic
from persona_panel.statistics.core.strata import Strata as Strata
from persona_panel.statistics.core.strengths import StrengthDifference as StrengthDifference
from persona_panel.statistics.core.strengths import Strengths as Strengths
from persona_panel.statistics.core.strengths import SystemStrength as SystemStrength
from persona_panel.statistics.core.strengths import WinCounts as WinCounts
from persona_panel.statistics.core.strengths import bradley_terry as bradley_terry
from persona_panel.statistics.core.table import Ratings as Ratings
from persona_panel.statistics.core.table import Row as Row
from persona_panel.statistics.deliberation.conformity import Conformities as Conformities
from persona_panel.statistics.deliberation.conformity import Conformity as Conformity
from persona_panel.statistics.deliberation.conformity import Influence as Influence
from persona_panel.statistics.deliberation.conformity import conformity as conformity
from persona_panel.statistics.deliberation.conformity import influence as influence
from persona_panel.statistics.deliberation.reordering import Reordering as Reordering
from persona_panel.statistics.deliberation.reordering import SystemShift as SystemShift
from persona_panel.statistics.deliberation.reordering import reordering as reordering
from persona_panel.statistics.deliberation.revisions import BeforeAfter as BeforeAfter
from persona_panel.statistics.deliberation.revisions import Change as Change
from persona_panel.statistics.deliberation.revisions import Revisions as Revisions
from persona_panel.statistics.deliberation.revisions import by_dimension as by_dimension
from persona_panel.statistics.deliberation.revisions import by_judge as by_judge
from persona_panel.statistics.deliberation.revisions import spread as spread
from persona_panel.statistics.deliberation.toward_humans import Direction as Direction
from persona_panel.statistics.deliberation.toward_humans import TowardHumans as TowardHumans
from persona_panel.statistics.deliberation.toward_humans import toward_humans as toward_humans
from persona_panel.statistics.fidelity.contrast import ContrastName as ContrastName
from persona_panel.statistics.fidelity.contrast import FidelityContrast as FidelityContrast
from persona_panel.statistics.fidelity.contrast import fidelity_contrast as fidelity_contrast
from persona_panel.statistics.fidelity.group_difference import (
    PairedGroupDifference as PairedGroupDifference,
)
from persona_panel.statistics.fidelity.group_difference import (
    difference_by_model as difference_by_model,
)
from persona_panel.statistics.fidelity.group_difference import group_difference as group_difference
from persona_panel.statistics.fidelity.ratio import ratio_interval as ratio_interval
from persona_panel.statistics.fidelity.split_half import split_half as split_half
from persona_panel.statistics.humans.added_raters import AddedRaters as AddedRaters
from persona_panel.statistics.humans.added_raters import added_raters as added_raters
from persona_panel.statistics.humans.align import AlignedDimension as AlignedDimension
from persona_panel.statistics.humans.align import Alignment as Alignment
from persona_panel.statistics.humans.align import align as align
from persona_panel.statistics.humans.alignment import HeldOutFigure as HeldOutFigure
from persona_panel.statistics.humans.alignment import LearntAlignment as LearntAlignment
from persona_panel.statistics.humans.alignment import MethodAlignment as MethodAlignment
from persona_panel.statistics.humans.alignment import learnt_alignment as learnt_alignment
from persona_panel.statistics.humans.alignment_rules import AlignmentMethod as AlignmentMethod
from persona_panel.statistics.humans.alignment_rules import AlignmentRule as AlignmentRule
from persona_panel.statistics.humans.annotator_test import AlignmentScore as AlignmentScore
from persona_panel.statistics.humans.annotator_test import (
    AnnotatorComparison as AnnotatorComparison,
)
from persona_panel.statistics.humans.annotator_test import AnnotatorTest as AnnotatorTest
from persona_panel.statistics.humans.annotator_test import annotator_test as annotator_test
from persona_panel.statistics.humans.annotator_test import (
    resampled_advantage as resampled_advantage,
)
from persona_panel.statistics.humans.calibration import Calibration as Calibration
from persona_panel.statistics.humans.calibration import CorrectedPair as CorrectedPair
from persona_panel.statistics.humans.calibration import CorrectedSystem as CorrectedSystem
from persona_panel.statistics.humans.calibration import calibrate as calibrate
from persona_panel.statistics.humans.ceiling import HumanCeiling as HumanCeiling
from persona_panel.statistics.humans.ceiling import human_ceiling as human_ceiling
from persona_panel.statistics.humans.ceiling import (
    human_ceiling_by_prompt as human_ceiling_by_prompt,
)
from persona_panel.statistics.humans.ceiling import (
    resampled_human_ceiling as resampled_human_ceiling,
)
from persona_panel.statistics.humans.correlate import ComparisonBlock as ComparisonBlock
from persona_panel.statistics.humans.correlate import comparison_statistics as comparison_statistics
from persona_panel.statistics.humans.correlate import correlate as correlate
from persona_panel.statistics.humans.correlate import (
    correlation_differences as correlation_differences,
)
from persona_panel.statistics.humans.correlation import CorrelationKind as CorrelationKind
from persona_panel.statistics.humans.correlation import correlation as correlation
from persona_panel.statistics.humans.correlation import (
    resampled_correlation as resampled_correlation,
)
from persona_panel.statistics.humans.correlation import within_prompts as within_prompts
from persona_panel.statistics.humans.difference import (
    DifferenceOverPrompts as DifferenceOverPrompts,
)
from persona_panel.statistics.humans.difference import HumanDifference as HumanDifference
from persona_panel.statistics.humans.difference import human_difference as human_difference
from persona_panel.statistics.humans.difference import (
    human_difference_by_prompt as human_difference_by_prompt,
)
from persona_panel.statistics.humans.difference import (
    resampled_human_difference as resampled_human_difference,
)
from persona_panel.statistics.humans.distribution import Distributions as Distributions
from persona_panel.statistics.humans.distribution import score_distributions as score_distributions
from persona_panel.statistics.humans.ensembles import ChosenEnsemble as ChosenEnsemble
from persona_panel.statistics.humans.ensembles import (
    ensembles_on_other_items as ensembles_on_other_items,
)
from persona_panel.statistics.humans.gain import correlation_gain as correlation_gain
from persona_panel.statistics.humans.gain import gain_within_prompts as gain_within_prompts
from persona_panel.statistics.humans.gain import (
    resampled_correlation_gain as resampled_correlation_gain,
)
from persona_panel.statistics.humans.losses import CUSTOM_DIMENSIONS as CUSTOM_DIMENSIONS
from persona_panel.statistics.humans.losses import Loss as Loss
from persona_panel.statistics.humans.losses import custom_loss as custom_loss
from persona_panel.statistics.humans.losses import pairwise_error as pairwise_error
from persona_panel.statistics.humans.mean_reliability import mean_reliability as mean_reliability
from persona_panel.statistics.humans.mean_reliability import (
    resampled_mean_reliability as resampled_mean_reliability,
)
from persona_panel.statistics.humans.prediction_powered import CorrectedMean as CorrectedMean
from persona_panel.statistics.humans.prediction_powered import (
    corrected_difference as corrected_difference,
)
from persona_panel.statistics.humans.prediction_powered import corrected_mean as corrected_mean
from persona_panel.statistics.humans.preferences import Preferences as Preferences
from persona_panel.statistics.humans.preferences import preferences as preferences
from persona_panel.statistics.humans.preferences import (
    resampled_preferences as resampled_preferences,
)
from persona_panel.statistics.humans.selection import SelectedItem as SelectedItem
from persona_panel.statistics.humans.selection import (
    inclusion_probabilities as inclusion_probabilities,
)
from persona_panel.statistics.humans.selection import select_items as select_items
from persona_panel.statistics.humans.selection import systematic_sample as systematic_sample
from persona_panel.statistics.humans.sources import SourceMeans as SourceMeans
from persona_panel.statistics.humans.sources import source_means as source_means
from persona_panel.statistics.humans.substitution import MeanKappa as MeanKappa
from persona_panel.statistics.humans.substitution import Substitution as Substitution
from persona_panel.statistics.humans.substitution import (
    resampled_substitution as resampled_substitution,
)
from persona_panel.statistics.humans.substitution import substitution as substitution
from persona_panel.statistics.quality.components import VarianceComponents as VarianceComponents
from persona_panel.statistics.quality.components import variance_components as variance_components
from persona_panel.statistics.quality.d_study import DStudy as DStudy
from persona_panel.statistics.quality.d_study import cheapest_design as cheapest_design
from persona_panel.statistics.quality.d_study import d_study as d_study
from persona_panel.statistics.quality.d_study import detectable_difference as detectable_difference
from persona_panel.statistics.quality.d_study import error_shares as error_shares
from persona_panel.statistics.quality.d_study import expected_width as expected_width
from persona_panel.statistics.quality.design_study import DesignResult as DesignResult
from persona_panel.statistics.quality.design_study import DesignStudy as DesignStudy
from persona_panel.statistics.quality.design_study import design_name as design_name
from persona_panel.statistics.quality.design_study import design_studies as design_studies
from persona_panel.statistics.quality.effective_judges import LeaveOneOut as LeaveOneOut
from persona_panel.statistics.quality.effective_judges import effective_judges as effective_judges
from persona_panel.statistics.quality.effective_judges import (
    effective_judges_interval as effective_judges_interval,
)
from persona_panel.statistics.quality.effective_judges import (
    leave_one_judge_out as leave_one_judge_out,
)
from persona_panel.statistics.quality.effective_judges import spearman_brown as spearman_brown
from persona_panel.statistics.quality.panel_quality import PanelBlock as PanelBlock
from persona_panel.statistics.quality.panel_quality import panel_quality as panel_quality
from persona_panel.statistics.quality.panel_quality import (
    panel_quality_statistics as panel_quality_statistics,
)
from persona_panel.statistics.quality.subset import SmallestSubset as SmallestSubset
from persona_panel.statistics.quality.subset import smallest_subset as smallest_subset
from persona_panel.statistics.quality.votes import EnsembleDistance as EnsembleDistance
from persona_panel.statistics.quality.votes import Votes as Votes
from persona_panel.statistics.quality.votes import effective_votes as effective_votes
from persona_panel.statistics.quality.votes import ensemble_distance as ensemble_distance
from persona_panel.statistics.resampling.jackknife import EstimateKind as EstimateKind
from persona_panel.statistics.resampling.jackknife import Interval as Interval
from persona_panel.statistics.resampling.jackknife import jackknife as jackknife
from persona_panel.statistics.resampling.permutation import correlation_test as correlation_test
from persona_panel.statistics.resampling.permutation import (
    permutation_p_value as permutation_p_value,
)
from persona_panel.statistics.resampling.weights import resampled_mean as resampled_mean
