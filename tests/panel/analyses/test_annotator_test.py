"""What the alternative annotator test is said to show."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np
import pytest

from persona_panel.analyses.annotator_test import annotator_test_conclusion
from persona_panel.analyses.correlate_conclusion import correlate_conclusion
from persona_panel.statistics import AnalysisOptions, Ratings, Reason, Row, correlate

RATE, ADVANTAGE, NEEDED = "alt_test_winning_rate", "alt_test_advantage", "alt_test_items_needed"


NOBODY = Ratings(np.zeros((1, 1, 1)), ("i",), ("j",), ("unrated",), ("g",))


def concluded(found: Sequence[Row], group: str, correlated: Collection[str]) -> list[str]:
    """What is said where nobody's scores are known."""
    return annotator_test_conclusion(found, group, correlated, NOBODY, NOBODY, {"a": "Ada · m"})


def rows(rate: float, *judges: float) -> list[Row]:
    """Of the panel and of judges a, b, …."""
    note = "epsilon 0.2; as close as some"
    found = [
        Row(RATE, "all", "all", value=rate, note=note, n_raters=3),
        Row(ADVANTAGE, "all", "all", value=0.8, ci_low=0.7, ci_high=0.9),
        Row(NEEDED, "all", "all", value=120.0),
    ]
    for name, value in zip("abcdef", judges, strict=False):
        found.append(Row(RATE, "all", "all", by="rater", by_value=name, value=value, note=note))
    return found


@pytest.mark.parametrize(
    ("rate", "expected"),
    [
        (
            0.5,
            "is shown to be as good as a person: winning rate 0.50, 0.5 needed (epsilon 0.2;",
        ),
        (0.49, "the panel is not shown to be as good as a person: winning rate 0.49"),
    ],
)
def test_half_of_the_people_decide(rate: float, expected: str) -> None:
    """From a winning rate of 0.5 on the panel may take a person's place; below, the number of items
    that would show it is given."""
    said = concluded(rows(rate), "all", {"all"})
    assert expected in said[0]
    assert "advantage ρ 0.80 (95 % interval 0.70 to 0.90)" in said[0]
    assert ("About 120 new items rated by each person" in " ".join(said)) == (rate < 0.5)


def told_of(judge: Sequence[float], people: Sequence[Sequence[float]]) -> str:
    """The conclusion on a judge of items, each a prompt of its own, and on these people."""

    def ratings(columns: Sequence[Sequence[float]], names: str) -> Ratings:
        items = tuple(f"i{place}" for place in range(len(judge)))
        scores = np.array(columns, dtype=float).T[:, :, None]
        groups = tuple("g" for _ in names)
        return Ratings(scores, items, tuple(names), ("clarity",), groups)

    panel, humans = ratings([judge], "j"), ratings(people, "pqrs"[: len(people)])
    found = correlate(panel, humans, AnalysisOptions(epsilon=0.2, n_permutations=199))
    return " ".join(correlate_conclusion(found, panel, humans))


def test_one_score_for_everything_takes_no_place() -> None:
    """A judge that says 3 of every item is nearer to noisy people than they are to each other, and
    passes; without a correlation it is not said to take a person's place. One who says what they
    say on average passes and is."""
    random = np.random.default_rng(1)
    truth = random.integers(2, 5, 60)
    people = [np.clip(truth + random.integers(-2, 3, 60), 1, 5) for _ in range(4)]
    constant = told_of([3.0] * 60, people)
    assert "is as near to the others as a person is on clarity: winning rate" in constant
    assert "that the panel is as good as a person is not shown" in constant
    assert "the panel is shown to be as good as a person on clarity: winning" in told_of(
        truth, people
    )


def test_why_a_panel_that_goes_with_people_does_not_pass() -> None:
    """Two points above them and with the same order it fails, and the shift and the spread, which
    make all of the distance, are said with what takes them out; where single texts make it, that
    is said; of a panel that passes, and of one that does not correlate, nothing."""
    random = np.random.default_rng(1)
    truth = random.integers(3, 6, 60)
    people = [truth + random.integers(-1, 2, 60) for _ in range(4)]
    mean = np.mean(people, axis=0)
    shifted = told_of(2 * mean + 2, people)
    away, spread = 2 * mean + 2 - mean, 2
    assert (
        "The test asks how near scores are, a correlation only how they order texts: on clarity, "
        f"the panel's mean is {away.mean():.2f} points above people's and its scores spread "
        f"{spread:.2f} times as far. Another level and unit would take away at most 100 % of the "
        "mean squared distance between them: `people calibrate` takes such a bias out of "
        "systems' means, `people align` out of single scores."
    ) in shifted
    panel, humans = (
        Ratings(
            np.array(columns, dtype=float).T[:, :, None].repeat(2, axis=2),
            tuple(f"i{place}" for place in range(60)),
            tuple("pqrst"[: len(columns)]),
            ("clarity", "depth"),
            ("g",) * len(columns),
            scales={"clarity": (0.0, 20.0), "depth": (0.0, 10.0)},
        )
        for columns in ([2 * mean + 2], people)
    )
    found = correlate(panel, humans, AnalysisOptions(epsilon=0.2, n_permutations=199))
    share = away.mean() * (1 / 20 + 1 / 10) / 2
    assert (
        f"on the composite, the panel's mean is {share:.2f} of the scale's width above people's"
    ) in " ".join(correlate_conclusion(found, panel, humans))
    # The same mean, and a tenth of the spread: nothing that a line could mend but the unit.
    noise = random.normal(0, 2, 60)
    narrow = mean + noise - noise.mean()
    narrow = mean.mean() + 0.1 * (narrow - mean.mean())
    noisy = told_of(narrow, [one + random.normal(0, 0.01, 60) for one in people])
    assert "The panel's mean correlates with" in noisy
    assert "the panel's mean is that of people and its scores spread" in noisy
    assert "between them; the rest is of single texts." in noisy
    assert "The test asks" not in told_of(truth, people)
    assert "The test asks" not in told_of(random.permutation(mean) + 2, people)


def test_the_composite_comes_first() -> None:
    """Of two dimensions rated by people the test, and the correlation that it needs, are those of
    each rater's mean of them; the two dimensions are a family of their own. The test is
    not there without an epsilon, and neither is where people left one dimension out."""
    random = np.random.default_rng(1)
    truth = random.integers(2, 5, 60)
    people = [np.clip(truth + random.integers(-2, 3, 60), 1, 5) for _ in range(4)]
    scores = [np.array(side, dtype=float).T for side in ([truth, truth + 1], people)]
    items = tuple(f"i{place}" for place in range(60))
    panel, humans = (
        Ratings(
            np.stack([own, 3 - own / 2], axis=2),
            items,
            names,
            ("clear", "short"),
            ("g",) * len(names),
        )
        for own, names in zip(scores, (("j", "k"), ("p", "q", "r", "s")), strict=True)
    )
    options = AnalysisOptions(epsilon=0.2, n_permutations=199)
    found = correlate(panel, humans, options)
    # α as judges are added is that of all dimensions together, too.
    rows = [row.dimension for row in found if row.dimension != "all"]
    assert list(dict.fromkeys(rows)) == ["composite", "clear", "short"]
    assert {row.statistic for row in found if row.dimension == "all"} == {"alpha_added"}
    means = [
        replace(one, scores=one.scores.mean(axis=2, keepdims=True), dimensions=("composite",))
        for one in (panel, humans)
    ]
    alone = {(r.statistic, r.group, r.by_value): r for r in correlate(*means, options)}
    for row in found:
        if row.dimension == "composite":
            other = alone[row.statistic, row.group, row.by_value]
            figures = [(one.value, one.ci_low, one.p_raw) for one in (row, other)]
            assert figures[0] == pytest.approx(figures[1], nan_ok=True)
    [tau] = [r for r in found if (r.statistic, r.dimension) == ("tau_b", "clear")]
    assert (tau.n_tests, tau.adjusted_over) == (2, "dimensions")
    said = correlate_conclusion(found, panel, humans)
    assert said[0].startswith("The panel's mean correlates with people's mean over all items on")
    [first] = [one for one in said if "as good as a person" in one and "on the composite" in one]
    assert "the panel is shown to be as good as a person on the composite: winning rate" in first
    left_out = replace(humans, scores=humans.scores[:, :, :1], dimensions=("clear",))
    untested = correlate(panel, humans, replace(options, epsilon=None), only=["tau_b", RATE])
    assert {row.statistic for row in untested} == {"tau_b"}
    assert untested[0].dimension == "composite"
    rows = correlate(panel, left_out, options, only=["tau_b", RATE])
    assert {row.dimension for row in rows} == {"clear"}


def test_judges_are_counted_by_themselves() -> None:
    """Of several judges those who pass are named as they are called; of one judge nothing more is
    said."""
    assert concluded(rows(0.5, 0.6, 0.4, 1.0), "all", ())[-1] == (
        "Of its 3 judges alone, 2 pass it: Ada · m and c."
    )
    assert concluded(rows(0.5, 0.0, 0.4), "all", ())[-1] == ("Of its 2 judges alone, none pass it.")
    assert concluded(rows(0.5, 0.0, 0.5), "all", ())[-1].endswith("alone, 1 passes it: b.")
    assert len(concluded(rows(0.5, 0.5), "all", ())) == 1


def test_the_dimensions_behind_the_composite_are_told_together() -> None:
    """The composite has its own sentences; of four dimensions one sentence says on which the panel
    passes, passes without a correlation and does not pass, and one how many judges do. Without a
    composite the number of items is that of the dimension that needs most."""
    rates = {"composite": 0.2, "a": 1.0, "b": 0.5, "c": 0.4, "d": 0.0}
    found = [
        replace(row, dimension=name)
        for name, rate in rates.items()
        for row in rows(rate, 0.0, *([1.0] if name in "ab" else [0.0]))
    ]
    found = [
        replace(row, value=50.0) if (row.statistic, row.dimension) == (NEEDED, "c") else row
        for row in found
    ]
    said = concluded(found, "all", ["composite", "a"])
    composite = [one for one in said if "on the composite" in one]
    assert said[:3] == composite
    assert said[3:] == [
        "By dimension the panel is shown to be as good as a person on a; it is as near to the "
        "others as a person is on b (one score for every item may be, too: no correlation is "
        "significant); it is not shown to be as good as a person on c and d: winning rate from "
        "0.00 to 1.00, advantage ρ 0.80 (epsilon 0.2; tested against 3 people).",
        "Of its 2 judges alone, 0 to 1 pass it, depending on the dimension.",
    ]
    for lowest in (0.0, 0.5):
        pairs = {"composite": 0.4, "a": 1.0, "b": lowest}.items()
        those = [replace(row, dimension=name) for name, rate in pairs for row in rows(rate)]
        told = " ".join(concluded(those, "all", ["composite", "a", "b"]))
        assert ("so its bar is higher than that of each dimension" in told) is (lowest == 0.5)
    dimensions = [row for row in found if row.dimension != "composite"]
    said = concluded(dimensions, "all", ["a"])
    assert re.match(r"About [\d,]+ new items rated by each person would give .* on d with", said[1])
    assert len(said) == 3
    for judges, told in ((1.0, "2 pass it on each dimension"), (0.0, "none pass it on any")):
        same = [replace(row, dimension=name) for name in "ab" for row in rows(1.0, judges, judges)]
        assert f" alone, {told}" in concluded(same, "all", "ab")[-1]


def test_an_undefined_test_and_none() -> None:
    """Without enough shared items the reason is given; without the test nothing is said."""
    undefined = [Row(RATE, "all", "all", reason=Reason.FEW_ITEMS_A_PERSON)]
    [said] = concluded(undefined, "all", ())
    assert said == f"The alternative annotator test is undefined: {Reason.FEW_ITEMS_A_PERSON}."
    assert concluded([], "all", ()) == []


def test_judges_that_cannot_be_tested_are_counted() -> None:
    """Of three judges of whom one can be tested on a and none on b, and of a panel that is tested
    against two people and one, the sentences say so."""
    found = []
    for name, n_people in (("a", 2), ("b", 1)):
        panel, *rest = [replace(row, dimension=name) for row in rows(1.0, 1.0, 1.0, 1.0)]
        untested = {"b", "c"} if name == "a" else {"a", "b", "c"}
        found += [replace(panel, n_raters=n_people)] + [
            replace(row, reason=Reason.FEW_ITEMS) if row.by_value in untested else row
            for row in rest
        ]
    together, alone = concluded(found, "all", ["a", "b"])
    assert together.endswith("(epsilon 0.2; tested against 1 to 2 people).")
    assert alone == (
        "Of its 3 judges alone, of whom 0 to 1 can be tested, 0 to 1 pass it, depending on the "
        "dimension."
    )
    one = [row for row in found if row.dimension == "b"]
    assert concluded(one, "all", ["b"])[-1] == "None of its 3 judges alone can be tested on b."
