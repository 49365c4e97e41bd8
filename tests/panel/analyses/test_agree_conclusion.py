"""What is concluded from the agreement of raters, rule by rule."""

from __future__ import annotations

from dataclasses import replace
from math import nan
from typing import Any

import numpy as np
import pytest
from scipy.stats import t

from persona_panel.analyses.agree_conclusion import agree_conclusion
from persona_panel.results.conclusions.wording import WITHOUT_PEOPLE
from persona_panel.statistics import AnalysisOptions, agree
from persona_panel.statistics.core.arrays import Reason
from persona_panel.statistics.core.means import FEW_OFF_AN_END, assured
from persona_panel.statistics.core.table import Ratings, Row
from persona_panel.statistics.strata import LESS_OTHERS


def rated(
    scores: np.ndarray[Any, Any], *, prompts: int = 12, personas: bool = False, models: int = 2
) -> Ratings:
    """Of `(items, raters, dimensions)` scores on so many prompts, without a composite; of a run
    with personas."""
    n, j, d = scores.shape
    labels = tuple(f"persona {k // models}" for k in range(j)) if personas else None
    return Ratings(
        scores,
        tuple(f"item {i}" for i in range(n)),
        tuple(f"rater {k}" for k in range(j)),
        ("clarity", "depth", "style")[:d],
        tuple(f"model {k % models}" for k in range(j)) if personas else ("people",) * j,
        prompts=tuple(f"prompt {i % prompts}" for i in range(n)),
        personas=labels,
        composite_of=(),
    )


def sampled(seed: int, noise: list[float], n_raters: int = 4) -> np.ndarray[Any, Any]:
    """48 items by raters who see the same quality (standard deviation 1) through so much noise on
    each dimension; infinite noise: none of it."""
    rng = np.random.default_rng(seed)
    columns = []
    for level in noise:
        quality = rng.normal(0, 1, (48, 1)) * np.isfinite(level)
        columns.append(quality + rng.normal(0, min(level, 1.0), (48, n_raters)))
    return np.stack(columns, axis=2)


def concluded(ratings: Ratings) -> list[str]:
    return agree_conclusion(
        agree(ratings, AnalysisOptions(n_permutations=500)), ratings, "dimension"
    )


def row(value: float, low: float, high: float, dimension: str = "clarity", **more: Any) -> Row:
    return Row(
        "krippendorff_alpha", "people", dimension, value=value, ci_low=low, ci_high=high,
        n_raters=4, **({"ci_over": "prompts", "ci_df": 11, "n_clusters": 12} | more),
    )  # fmt: skip


BLANK = np.zeros((48, 4, 1))


def test_agreement_beyond_chance_is_established_by_the_adjusted_test() -> None:
    """Raters who agree on clarity and draw depth from noise: the one is significant, the other
    not, and α is put on its side of 0.667 on both."""
    said = concluded(rated(sampled(0, [0.2, np.inf])))
    assert said[0].startswith("The 4 raters agree beyond chance on clarity (Kendall W, adjusted p")
    assert "; this is not shown on depth (Kendall W, adjusted p " in said[0]
    assert "shown to be at least 0.8 on clarity; shown to be below 0.667 on depth" in said[1]
    assert said[2].startswith("The effective number of raters is ")
    assert len(said) == 3


def test_without_agreement_nothing_is_claimed() -> None:
    """Noise alone."""
    said = concluded(rated(sampled(1, [np.inf, np.inf])))
    assert said[0] == (
        "The 4 raters are not shown to agree beyond chance on any dimension (Kendall W, adjusted "
        "p 1)."
    )


def test_what_w_asks_is_said_beside_an_alpha_above_zero() -> None:
    """W is not significant (p 0.2), and the interval of α lies above 0."""
    test = Row("kendall_w", "people", "clarity", value=0.4, p_value=0.2, n_raters=4)
    said = agree_conclusion([row(0.5, 0.4, 0.6), test], rated(BLANK), "dimension")
    assert "not shown to agree beyond chance" in said[0]
    assert said[1].startswith("Kendall W asks whether raters order items alike")
    for alpha, p_value in ((row(0.5, -0.1, 0.9), 0.2), (row(0.5, 0.4, 0.6), 0.01)):
        test = Row("kendall_w", "people", "clarity", value=0.4, p_value=p_value, n_raters=4)
        assert "W asks" not in " ".join(agree_conclusion([alpha, test], rated(BLANK), "dimension"))


def test_levels_of_alpha_follow_from_the_interval() -> None:
    """α of one dimension is above 0.8, above 0.667, below it or open as its interval says."""
    ratings = rated(BLANK)
    for found, says in (
        (row(0.9, 0.81, 0.99), "shown to be at least 0.8 ("),
        (row(0.8, 0.7, 0.9), "shown to be at least 0.667 ("),
        (row(0.5, 0.4, 0.6), "shown to be below 0.667 ("),
        (row(0.6, 0.4, 0.8), "not shown to be below or above 0.667 ("),
    ):
        assert f": {says}" in agree_conclusion([found], ratings, "dimension")[1]


def test_no_level_of_alpha_is_shown_where_its_row_has_a_caution() -> None:
    """Neither side of 0.667 is shown, nor how many prompts would show it; without it both are."""
    for caution, decided in ((FEW_OFF_AN_END, False), ("", True)):
        for ends in ((0.9, 0.81, 0.99), (0.5, 0.4, 0.6), (0.6, 0.4, 0.8)):
            alpha = row(*ends, caution=caution)
            text = " ".join(agree_conclusion([alpha], rated(BLANK), "dimension"))
            unsure = "undecided about 0.667, as too few ratings differ from the highest, or from"
            assert (unsure in text) is not decided
            assert ("shown to be" in text) is decided
            assert "new prompts" not in text or decided


def test_intervals_are_widened_for_the_number_of_dimensions() -> None:
    """An interval that begins at 0.69 shows 0.667 for one dimension; of three it reaches, at 11
    degrees of freedom, t(0.9917)/t(0.975) = 1.281 times as far, to 0.659, and shows it no
    longer."""
    ratings = rated(np.zeros((48, 4, 3)))
    one = row(0.8, 0.69, 0.91)
    assert "at least 0.667 (" in agree_conclusion([one], rated(BLANK), "dimension")[1]
    three = [row(0.8, 0.69, 0.91, name) for name in ratings.dimensions]
    ratio = t.ppf(1 - 0.025 / 3, 11) / t.ppf(0.975, 11)
    assert 0.8 - 0.11 * ratio == pytest.approx(0.659, abs=1e-3)
    assert "at least" not in agree_conclusion(three, ratings, "dimension")[1].split(" (0.667 is")[0]


def test_what_would_settle_an_open_level() -> None:
    """α 0.5, interval 0.3 to 0.7 over 12 prompts: a spread of 0.2·√12/2.201 = 0.3148, and 0.167 to
    the value asked for, 1.84 standard errors. With 160 new prompts, of what may be true, 80 % are
    shown (`assured`)."""
    said = agree_conclusion([row(0.5, 0.3, 0.7)], rated(BLANK), "dimension")
    needed = assured(0.5, 0.2 * 12**0.5 / t.ppf(0.975, 11), 12, 0.667, 0.05).needed
    assert needed is not None
    assert 150 < needed <= 160
    assert said[2] == (
        "About 160 new prompts would show whether α reaches 0.667 with a probability of 80 % (now "
        "12)."
    )


def test_only_prompts_behind_the_interval_count() -> None:
    """The same α and interval from 6 of the 12 prompts: a spread of 0.2·√6/2.571 = 0.1906, and
    there are fewer of what is known."""
    found = row(0.5, 0.3, 0.7, ci_df=5, n_clusters=6)
    said = agree_conclusion([found], rated(BLANK), "dimension")
    assert said[2] == (
        "About 110 new prompts would show whether α reaches 0.667 with a probability of 80 % (now "
        "6)."
    )


def test_an_alpha_at_the_value_asked_for_takes_too_many_prompts() -> None:
    """α 0.667, as observed, lies on neither side of 0.667, however many prompts there are."""
    said = agree_conclusion([row(0.667, 0.5, 0.8)], rated(BLANK), "dimension")
    assert said[2] == (
        "No number of new prompts would show whether α reaches 0.667 with a probability of 80 % "
        "(now 12)."
    )


def test_without_an_interval_the_height_is_open() -> None:
    """Too few prompts for an interval: the reason, and no claim on α."""
    found = row(0.9, nan, nan, ci_reason=Reason.FEW_FOR_A_NUMBER)
    said = agree_conclusion([found], rated(BLANK, prompts=2), "dimension")
    assert said[1] == (
        "Krippendorff α is 0.90, but how high it is for other prompts is open: fewer than "
        "five prompts or 20 items."
    )
    assert said[0] == (
        "The 4 raters are not shown to agree beyond chance on clarity (Krippendorff α has no "
        "interval)."
    )


def test_raters_of_different_items_have_the_test_of_incomplete_rankings() -> None:
    """Each rater leaves out another item of every prompt: W, which leaves such raters out, is not
    what is said, but the test that counts them all."""
    scores = sampled(0, [0.2], n_raters=4)
    for item in range(48):
        scores[item, (item // 12) % 4] = np.nan
    said = concluded(rated(scores))
    assert said[0].startswith(
        "The 4 raters agree beyond chance on clarity (W of incomplete rankings, p "
    )


def test_undefined_alpha_is_said_with_its_reason() -> None:
    """Nothing judged: agreement cannot be measured."""
    found = Row("krippendorff_alpha", "people", "clarity", reason=Reason.NO_RATINGS)
    assert agree_conclusion([found], rated(BLANK), "dimension") == [
        "Agreement cannot be measured: no ratings."
    ]


def test_judges_of_one_model_may_agree_because_of_it() -> None:
    """The caveat of judges of a run with one model, or one persona; not of people."""
    scores = sampled(2, [0.2])
    one_model = concluded(rated(scores, personas=True, models=1))
    assert one_model[-1] == ("All judges are of one model: agreement among them may come from it.")
    one_persona = concluded(rated(scores, personas=True, models=4))
    assert one_persona[-1] == (
        "All judges have one persona: agreement among them may come from it."
    )
    assert "All judges" not in " ".join(concluded(rated(scores)))


def test_by_source_nothing_is_claimed_of_their_differences() -> None:
    """Broken down by prompt: the lowest and the highest α, and that they are not compared."""
    ratings = rated(sampled(3, [0.3]), prompts=4)
    rows = agree(ratings, AnalysisOptions(n_permutations=0, intervals=False), "prompt")
    [said] = agree_conclusion(rows, ratings, "prompt")
    assert said.startswith("Agreement by prompt: Krippendorff α is from 0.")
    assert said.endswith(").")


def test_a_low_effective_number_is_not_called_shared_error() -> None:
    """Two raters who both see the truth have an effective number near 1: the sentence says what
    counts as dependence, and that the number may be that of better raters. Those of a run are
    called judges throughout."""
    scores = sampled(0, [0.2], n_raters=2)
    r = np.corrcoef(scores[:, :, 0].T)[0, 1]
    [told] = [one for one in concluded(rated(scores)) if "effective number" in one]
    assert told == (
        f"The effective number of raters is {2 / (1 + r):.1f} of 2: the mean of all is "
        "as noisy as that of so many whose ratings are independent. It says nothing of shared "
        "errors. "
        f"{WITHOUT_PEOPLE.format('rater')}"
    )
    of_a_run = " ".join(concluded(rated(scores, personas=True)))
    assert "The 2 judges agree" in of_a_run
    assert "effective number of judges" in of_a_run
    assert "may be that of better judges" in of_a_run
    assert "rater" not in of_a_run
    assert "also that about what is true" in told


def test_strata_that_differ_on_the_composite_are_named() -> None:
    """Beside those on a dimension, by what is surest."""
    found = [
        row(value, low, value + 0.2, name, by=f"topic{LESS_OTHERS}", by_value="work", p_value=p)
        for value, low, name, p in ((0.4, 0.2, "depth", 0.03), (0.3, 0.1, "composite", 0.01))
    ]
    assert agree_conclusion(found, rated(np.zeros((48, 4, 2))), "topic")[1] == (
        "Krippendorff α differs by topic: work on the composite is 0.30 higher than the mean of "
        "the others (95 % interval 0.10 to 0.50, adjusted p 0.01); work on depth is 0.40 higher "
        "than the mean of the others (95 % interval 0.20 to 0.60, adjusted p 0.03)."
    )


def test_the_composite_comes_first_as_in_the_table() -> None:
    """α of the composite, a family of its own, stands before from where to where it is by
    dimension; so does the effective number. The composite's interval is not widened: from 0.8 it
    shows 0.8, which it would not for two tests, and from 0.79 it does not."""
    ratings = rated(np.zeros((48, 4, 2)))
    rows = [
        row(0.9, 0.8, 0.98, "composite", p_value=0.001),
        row(0.5, 0.45, 0.55),
        row(0.7, 0.5, 0.9, "depth"),
    ]
    numbers = [
        replace(one, statistic="effective_judges", value=value)
        for one, value in zip(rows, (1.2, 1.5, 1.9), strict=True)
    ]
    tests = [replace(one, statistic="kendall_w", p_value=0.01, adjusted_over=None) for one in rows]
    said = agree_conclusion([*rows, *numbers, *tests], ratings, "dimension")
    assert said[:2] == [
        "The 4 raters agree beyond chance on the composite (Kendall W, p 0.01); by dimension they "
        "agree beyond chance on both dimensions (Kendall W, p 0.01 or less).",
        "Krippendorff α of the composite is 0.90 (95 % interval 0.80 to 0.98, p 0.001), shown to "
        "be at least 0.8; by dimension it is from 0.50 (clarity) to 0.70 (depth): shown to be "
        "below 0.667 on clarity; not shown to be below or above 0.667 on depth (0.667 is usually "
        "asked for tentative conclusions from single ratings, 0.8 for firm ones). The composite's "
        "is the highest, as averaging over dimensions removes noise.",
    ]
    assert said[2].startswith("New prompts would show whether α on depth reaches")
    assert said[3].startswith(
        "The effective number of raters is 1.2 of 4 on the composite and from 1.5 to 1.9 by "
        "dimension: the mean of all is as noisy as that of so many whose ratings are "
        "independent. "
    )
    lower = replace(rows[0], ci_low=0.79)
    assert (
        "shown to be at least 0.667; by"
        in agree_conclusion([lower, *rows[1:]], ratings, "dimension")[1]
    )
    open_ = replace(rows[0], ci_low=0.6)
    said = agree_conclusion([open_, *rows[1:]], ratings, "dimension")
    assert said[2].startswith("About 220 new prompts would show whether α on the composite reaches")
    gone = [replace(one, ci_low=nan, ci_high=nan, p_value=nan) for one in rows]
    assert agree_conclusion(gone, ratings, "dimension")[1] == (
        "Krippendorff α of the composite is 0.90; by dimension it is from 0.50 (clarity) to 0.70 "
        "(depth), but how high it is for other prompts is open: intervals were left out."
    )


@pytest.mark.parametrize("composite_low", [0.8, 0.6])
def test_dimensions_have_5_percent_whatever_the_composite_has(
    composite_low: float,
) -> None:
    """Student's t at 11 degrees is 2.20 for one test, 2.59 for two and 2.98 for four: 0.80 with a
    low end of 0.70 is above 0.667 for two tests, and would not be for four."""
    ratings = rated(np.zeros((48, 4, 2)))
    rows = [row(0.8, 0.7, 0.9), row(0.8, 0.7, 0.9, "depth")]
    whole = row(0.9, composite_low, 0.98, "composite")
    said = agree_conclusion([whole, *rows], ratings, "dimension")[1]
    assert "shown to be at least 0.667 on all" in said.split("by dimension", 1)[1]


def test_by_stratum_the_composite_is_told_where_it_is_printed() -> None:
    """Of strata there are α of the composite and of each dimension: the sentence has the
    composite's; where there is none, it is over the dimensions."""
    rows = [
        row(value, nan, nan, name, by="source", by_value=source)
        for name, low in (("composite", 0.8), ("clarity", 0.5))
        for source, value in (("A", low), ("B", low + 0.1))
    ]
    ratings = rated(BLANK)
    [said] = agree_conclusion(rows, ratings, "source")
    assert said == (
        "Agreement by source: Krippendorff α is from 0.80 (A, composite) to 0.90 (B, composite)."
    )
    [said] = agree_conclusion(rows[2:], ratings, "source")
    assert "from 0.50 (A, clarity) to 0.60 (B, clarity)" in said
