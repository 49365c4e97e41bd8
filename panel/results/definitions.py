"""Definitions of the figures of results: a sentence each, with the source of the formula."""

from __future__ import annotations

from collections.abc import Mapping

from persona_panel.results.table import Column, Table, one_line

_T = (
    "; interval: Student's t over prompts, on a scale with two ends in the form of E. B. Wilson "
    "(1927), Probable inference"
)
_HOLM = "S. Holm (1979), A simple sequentially rejective multiple test procedure"
_KENDALL = "M. G. Kendall (1945), The treatment of ties in ranking problems"
_ALT_TEST = "N. Calderon, R. Reichart, R. Dror (2025), The alternative annotator test"
PPI = "A. Angelopoulos et al. (2023), Prediction-powered inference"
_VOTES = "L. Kish (1965), Survey sampling, section 8.2"
SPREAD = (
    "S. R. Searle, G. Casella, C. E. McCulloch (1992), Variance components, sections 4.4 and 5.5"
)
STRENGTH = "R. A. Bradley, M. E. Terry (1952), Rank analysis of incomplete block designs"
_MEAN = f"mean over judges, then over prompts{_T}"
_DEPARTURE = f"{_T}; p adjusted ({_HOLM})"
_ALPHA = (
    "1 − observed by expected disagreement of two ratings of one response, at the ordinal level, "
    "nominal of categories (K. Krippendorff, 2018, Content analysis, chapter 12)"
)
_CORRECTED = (
    "people's mean of what they rated, plus λ times the panel's mean of everything less its mean "
    f"of what people rated ({PPI})"
)
_DELTA = f"baseline − framed on the same prompts{_DEPARTURE}"
SHAFFER = "J. P. Shaffer (1986), Modified sequentially rejective multiple test procedures"
_RANK = (
    "; in brackets the 95 % rank interval, simultaneous for all systems (M. Klein, T. Wright, J. "
    "Wieczorek, 2020, A joint confidence region for an overall ranking of populations), by tests "
    f"of all pairs ({SHAFFER})"
)

DEFINITIONS: Mapping[str, str] = {
    "rank": f"place by the composite{_RANK}",
    "rank by panel": f"place by the panel{_RANK}",
    "composite": f"mean over judges of their means over the dimensions, then over prompts{_T}",
    "over prompts and judges": "interval with judges as a sample, too: their variance is added to "
    "that of prompts (A. B. Owen, 2007, The pigeonhole bootstrap)",
    "difference": "mean over prompts of the difference of the two sides; paired Student's t over "
    f"prompts; p adjusted for all pairs ({SHAFFER})",
    "effect size": "mean of the prompts' differences by their standard deviation (J. Cohen, 1988, "
    "Statistical power analysis, d of paired values)",
    "mean": _MEAN,
    "means": _MEAN,
    "α": _ALPHA,
    "Krippendorff's α": _ALPHA,
    "Krippendorff α": _ALPHA,
    "Kendall W": "variance of the responses' sums of ranks by the largest that it can be, 1 for "
    "the same order by all (M. G. Kendall, B. Babington Smith, 1939, The problem of m rankings)",
    "ICC(2,k), of the mean": "share of the variance of the mean of all judges that lies between "
    "responses (P. E. Shrout, J. L. Fleiss, 1979, Intraclass correlations)",
    "severity": f"mean distance from the panel on the same responses{_DEPARTURE}",
    "personas_by_system": "mean distance from the panel on a system's responses, less the "
    f"persona's over all{_DEPARTURE}",
    "personas_by_dimension": "mean distance from the panel on a dimension, less the persona's over "
    f"all{_DEPARTURE}",
    "personas_by_response": "distance from the panel on one response, less the persona's severity, "
    f"against the noise between models or replicates of a persona; p adjusted ({_HOLM})",
    "spread": f"standard deviation between personas, severity and noise taken out ({SPREAD})",
    "panel": "the panel's mean of everything that it scored",
    "people": "mean of people's ratings of what they rated; interval: Student's t over prompts",
    "panel's mean": "mean over the judges who rated the item",
    "people's mean": "mean over the people who rated the item",
    "panel − people": "the panel's mean of the item less people's",
    "corrected": _CORRECTED,
    "corrected by people": _CORRECTED,
    "τ_b": "concordant less discordant pairs of responses, by the geometric mean of the pairs that "
    f"are not tied on either side ({_KENDALL})",
    "Pearson r": "covariance of the two means by their standard deviations, within prompts of "
    "deviations from the prompts' means; p and interval: studentized permutations (C. J. DiCiccio, "
    "J. P. Romano, 2017, Robust permutation tests for correlation and regression coefficients)",
    "gain of τ_b": "τ_b with people of judges with a persona, less that of as many without "
    f"({_KENDALL})",
    "difference of τ_b": "τ_b of the panel with the other people, less that of the person who is "
    f"left out ({_KENDALL})",
    "winning rate": "share of people for whom the panel is as close to the other people as that "
    f"person is, by a test with an allowance of ε; 0.5 or more passes ({_ALT_TEST})",
    "advantage ρ": "how often the panel is at least as near to the other people as a person is "
    f"({_ALT_TEST})",
    "items needed": "new responses that each person would have to rate for a winning rate of "
    f"0.5 with a probability of 80 % ({_ALT_TEST})",
    "votes": "k / (1 + (k − 1) r) of k judges whose ratings, or errors, correlate by r on average "
    f"({_VOTES})",
    "gain of effective votes": "how many independent judges personas add: effective votes of "
    f"personas, k / (1 + (k − 1) r), less those of as many calls to a plain judge ({_VOTES})",
    "prompts needed": "smallest number of new prompts with which Student's t-test is significant "
    "with a probability of 80 %, averaged over what may be true, rounded up to two digits "
    "(A. O'Hagan, J. W. Stevens & M. J. Campbell, 2005, Assurance in clinical trial design)",
    "responses to rate": "people's ratings with which the interval of the corrected difference is "
    f"half as wide ({PPI})",
    "Δ": _DELTA,
    "deltas": _DELTA,
    "correlation with length (within systems)": "Pearson's r of score and number of words, both "
    "less the mean of their system (G. U. Yule, 1907, On the theory of correlation for any number "
    "of variables)",
    "entropy": "−Σ p log₂ p over the shares of the scores (C. E. Shannon, 1948, A mathematical "
    "theory of communication)",
    "leniency": f"mean distance from all judges on the same responses{_T}",
    "own-family bonus": "mean score of a family's judges minus that of the others, on the family's "
    f"responses, minus the same on the others' responses{_T}",
    "position bias": "share of pairs, compared in both orders, that the response shown first wins, "
    f"less that of the second{_T}",
    "share of the mode": f"share of scores that are the commonest one{_T}",
    "score_distributions": "share of ratings with each score",
    "Variance components within a model, as shares of the variance of its scores": "by equating "
    "sums of squares with their expected values (C. R. Henderson, 1953, Estimation of variance and "
    "covariance components, method 1)",
    "made": "judgments: each judge's scores of a response; calls: requests that models answered, "
    "retries and second tries among them; cost: the tokens that providers report, by the run's "
    "prices; time: of the last start",
    "strength": f"log-odds of being preferred, by maximum likelihood ({STRENGTH})",
}
"""Of heads that several tables have, and of tables, by their names; what one table alone has is
declared with its column."""


def definitions_of(table: Table, full: bool) -> list[tuple[str, str]]:
    """Return what the figures of a table are called, and how each is computed."""
    named = [(table.title, DEFINITIONS[table.name])] if table.name in DEFINITIONS else []
    known = [(one_line(each.head), definition_of(each)) for each in table.shown_columns(full)]
    return [*named, *((head, text) for head, text in known if text)]


def definition_of(column: Column) -> str:
    """Return how the figures of a column are computed; empty where nothing says it."""
    head = one_line(column.head)
    # A head may have its unit behind it.
    shared = DEFINITIONS.get(head) or DEFINITIONS.get(head.rpartition(", ")[0], "")
    return column.definition or shared
