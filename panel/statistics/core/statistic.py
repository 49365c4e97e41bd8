"""A statistic's value, or the named reason why it has none."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from math import isnan, nan


class Reason(StrEnum):
    """Why a statistic is undefined. Undefined is undefined: never 0, 1 or a warning."""

    FEW_RATERS = "fewer than two raters"
    FEW_PEOPLE = "fewer than two people"
    FEW_PERSONAS = "fewer than two personas"
    FEW_SYSTEMS = "fewer than two systems"
    FEW_DIMENSIONS = "fewer than two dimensions with numbers"
    NO_NUMBERS = "no dimension with numbers"
    FEW_RESPONSES = "fewer than two responses"
    NOISE_UNKNOWN = "one model with one replicate shows no noise to compare personas with"
    NOISE_ZERO = "models or replicates never differ, so noise cannot be estimated"
    FEW_ITEMS = "fewer than two items"
    FEW_PROMPTS = "no prompt has a defined value"
    ONE_ITEM_A_PROMPT = "no prompt has two items"
    FEW_CLUSTERS = (
        "an interval needs at least two prompts, or two items where items have no prompts"
    )
    FEW_FOR_A_NUMBER = "an interval needs at least five prompts, if items have any, and 20 items"
    FEW_FOR_A_CORRELATION = (
        "an interval needs at least five prompts, if items have any, and 8 items"
    )
    FEW_FOR_A_MEAN_PEARSON = "an interval needs at least five prompts with eight items each"
    NO_RANKINGS_BY_PROMPT = "its interval is over prompts: items need prompts, at least five"
    FEW_JUDGES = "an interval over judges, too, needs at least five judges"
    NO_COMMON_FACTOR = (
        "the two panels have neither the same personas nor the same models, so their judges are "
        "not a common sample"
    )
    UNDEFINED_ESTIMATE = "the statistic is undefined"
    UNDEFINED_WITHOUT_ONE = "the statistic is undefined without one of the prompts or judges"
    DECLINES = "more than half of its judgments are abstentions"
    FEW_SOURCES = "fewer than two sources"
    TWO_SOURCES = "two sources only, whose correlation is always 1 or -1"
    NO_RATINGS = "no ratings"
    NO_SHARED_ITEMS = "no shared items"
    COMPARED = "responses were compared, not rated"
    NO_COMPLETE_RATERS = "fewer than two raters rated every item"
    NO_OVERLAP = "raters share too few items for their rankings to be compared"
    NO_PAIRS = "no pair of raters shares enough items"
    FEW_SHARED = (
        "no two people rated enough items in common (50, unless another number is asked for)"
    )
    FEW_FOR_A_CORRECTION = "people rated fewer than eight prompts, too few for a correction"
    FEW_EXCEPTIONS = (
        "on all of the rated prompts, or all but one or two, people's ratings are alike or follow "
        "the panel's exactly, which does not show how often it errs: people alone are used"
    )
    SHARES_DIFFER = (
        "people rated a larger share of some prompts than of others, and no inclusion_probability "
        "is given: without it this is unbiased only where items were drawn at random"
    )
    FEW_TO_LEARN = "people rated fewer than ten prompts (or items), too few to learn from"
    PEOPLE_DISAGREE = (
        "the reliability of people's mean is not shown to be above 0.25, so people do not agree "
        "enough to learn from"
    )
    ONE_JUDGE = "the panel has a single judge"
    FEW_COMPLETE = (
        "fewer than ten prompts have an item that people and every judge rated, too few to compare "
        "judges"
    )
    NOT_RATED_BY_PEOPLE = "people rated nothing of it"
    FEW_ITEMS_A_PERSON = "no person rated 30 items that the judge and another person rated, too"
    FEW_PROMPTS_A_PERSON = "no person rated such items of five prompts"
    BEHIND_PEOPLE = "behind too many people by epsilon or more"
    NO_MAJORITY = "no item has a majority of labels on each side"
    NO_COMPARISONS = "no pair of items that the reference tells apart"
    ONE_VALUE = "one-value domain"
    CONSTANT_RATER = "constant rater"
    NO_ERROR_TERM = "too few ratings to tell items, raters and error apart"
    NO_VARIANCE = "no variance"
    NO_SPREAD = "no spread over prompts, so its uncertainty cannot be estimated"
    NOT_POSITIVE = "the variances do not add up to a positive total"
    NOT_CORRELATED = "the mean correlation of pairs is not above 0"
    NOISE_ABOVE_ERRORS = (
        "people's mean is so noisy, or judges are so near to it, that their errors cannot be "
        "separated from its noise"
    )
    UNKNOWN_NOISE = "the noise of people's mean cannot be estimated"
    UNRELIABLE_REFERENCE = "people's mean has no reliability above 0"
    NOT_RELIABLE = "the reliability of a single rating, ICC(2,1), is not above 0"
    NOT_REACHED = "no smaller panel is shown to keep the ranking"
    FEW_TO_CHOOSE = "choosing judges takes 20 prompts (or items) and 60 items"
    ONE_LEVEL = "one level only"
    ONE_STRATUM = "fewer than two strata have an interval, so there is nothing to compare with"
    FEW_SHARED_PROMPTS = "fewer than five prompts have texts of both kinds"
    IN_RESIDUAL = "no cell has several ratings, so it is in the residual"
    SPARSE = "a judge rated fewer than half of the items"
    NO_LENGTHS = "the lengths of the responses are not known"
    NO_BOTH_ORDERS = "no comparison in both orders"
    NO_OWN_FAMILY = "no response is known to be by the judges' own family"
    NO_OTHER_AUTHORS = "no response is known to be by another family"
    NO_OTHER_JUDGES = "no judge is known to be of another family"
    NOT_DELIBERATED = "no response was deliberated"
    NO_MOVES = "no moves"
    NO_DIRECTION = "no move with peers on one side of it"
    NO_DIFFERENCE = "no move where the two had differed"
    IDENTICAL_REPLICATES = (
        "all replicates without a persona gave the same ratings, so they count as one judgment; a "
        "comparison needs replicates that vary"
    )
    FEW_TO_CHOOSE_THE_BEST = "choosing the best judge on other prompts takes ten prompts"
    IDENTICAL_JUDGES = "they gave the same ratings, so they count as one judgment"
    OTHER_SCALE = "not on the same scale"
    FEW_TO_TELL = "too few prompts were deliberated"
    FEW_FOR_A_STRENGTH = "its interval takes five prompts"
    FEW_OF_ONE_SIZE = "its prompts count as fewer than four of one size"
    NEVER_COMPARED = "it was compared with no other system"
    WON_ALL = "it won every comparison, so no finite strength fits"
    LOST_ALL = "it lost every comparison, so no finite strength fits"
    NO_OTHER_STRENGTH = "no other system has a finite strength"
    NOT_CONNECTED = "some systems were never compared with the others, not even through a third"
    NEVER_LOST = "some systems never lost to the others, so no finite strengths fit"
    ALL_TIES = "every comparison ended in a tie"
    MANY_SYSTEMS = "strengths are computed of up to 50 systems"
    ERROR = "its computation failed"


@dataclass(frozen=True, slots=True)
class Statistic:
    """One statistic over one set of ratings.

    `value` is NaN exactly when `reason` says why. `n_items` and `n_raters` count what
    entered the value, not what was handed in.
    """

    value: float
    n_items: int
    n_raters: int
    p_value: float = nan
    reason: Reason | None = None

    def __post_init__(self) -> None:
        if isnan(self.value) != (self.reason is not None):
            raise ValueError("an estimate has either a value or a reason for having none")

    @classmethod
    def undefined(cls, reason: Reason, *, n_items: int = 0, n_raters: int = 0) -> Statistic:
        """The estimate that has no value, and why."""
        return cls(nan, n_items, n_raters, reason=reason)
