"""The alternative annotator test: by hand, against scipy, and on the published data."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable
from math import nan
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from scipy import stats

from persona_panel.cli.main import command
from persona_panel.statistics import (
    Ratings,
    Reason,
    annotator_test,
    correlate,
    jackknife,
)
from persona_panel.statistics.core.arrays import AnalysisOptions
from tests.helpers.results import statistics_of

DATA = Path(os.environ.get("PERSONA_PANEL_DATA", Path(__file__).parents[4] / "shared" / "data"))
EPSILON = {"lgbteen": 0.2, "mtbench": 0.2, "cebab_stars": 0.1, "lesion": 0.15}
LABELS = ("lgbteen", "mtbench")
Table = dict[str, dict[str, dict[str, str]]]


def published() -> dict[str, dict[str, tuple[str, str]]]:
    """ω and ρ as printed, by data set and model."""
    path = DATA / "alt_test" / "published.txt"
    if not path.exists():
        pytest.skip(f"{path} is absent: set PERSONA_PANEL_DATA to where the data lie")
    found: dict[str, dict[str, tuple[str, str]]] = {}
    for line in path.read_text().splitlines():
        name, model, *_, rate, _, advantage = line.split()
        figures = rate.partition("=")[2], advantage.partition("=")[2]
        found.setdefault(name, {})[model] = figures
    return found


def by_rater(name: str) -> Table:
    """The values by group, rater and item."""
    found: Table = {}
    with (DATA / "alt_test" / f"{name}.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            found.setdefault(row["group"], {}).setdefault(row["rater"], {})[row["item"]] = row[
                "value"
            ]
    return found


@pytest.mark.parametrize("name", EPSILON)
def test_published_figures_by_the_function(name: str) -> None:
    """ω and ρ of every model of the paper's data are the published ones to the last digit."""
    expected, table = published()[name], by_rater(name)
    items = sorted({item for those in table["human"].values() for item in those})
    codes = {value: code for code, value in enumerate(sorted(set(map(str, range(20)))))}

    def column(values: dict[str, str]) -> list[float]:
        if name not in LABELS:
            return [float(values.get(item, nan)) for item in items]
        return [codes.setdefault(values[i], len(codes)) if i in values else nan for i in items]

    humans = np.array([column(values) for values in table["human"].values()]).T
    score = "accuracy" if name in LABELS else "neg_rmse"
    found = {}
    for model, values in table["model"].items():
        test = annotator_test(column(values), humans, score=score, epsilon=EPSILON[name])  # type: ignore[arg-type]
        found[model] = (f"{test.winning_rate.value:.2f}", f"{test.advantage.value:.2f}")
    assert found == expected


@pytest.mark.parametrize("name", ["mtbench", "lesion"])
def test_published_figures_by_the_command(name: str, tmp_path: Path) -> None:
    """`people correlate --epsilon` gives the same, with a row for each judge and one for the panel,
    of labels and of scores."""
    expected, table = published()[name], by_rater(name)
    for group, raters in table.items():
        with (tmp_path / f"{group}.csv").open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["item", "rater", "label" if name in LABELS else "score"])
            writer.writerows((i, rater, v) for rater, of in raters.items() for i, v in of.items())
    args = [
        "people",
        "correlate",
        f"{tmp_path}/model.csv",
        "--human",
        f"{tmp_path}/human.csv",
        "--json",
    ]
    args += ["--epsilon", str(EPSILON[name]), "--resamples", "0", "--no-intervals"]
    done = CliRunner().invoke(command, args)
    assert done.exit_code == 0, done.output
    rows = statistics_of(done.stdout)
    rates = {r["by_value"]: r["value"] for r in rows if r["statistic"] == "alt_test_winning_rate"}
    ahead = {r["by_value"]: r["value"] for r in rows if r["statistic"] == "alt_test_advantage"}
    assert set(rates) == set(ahead) == {None, *expected}
    of_judges = {name: (f"{rates[name]:.2f}", f"{ahead[name]:.2f}") for name in expected}
    assert of_judges == expected


def test_hand_calculation() -> None:
    """Three people give 1 2 3 on every item, the judge 2 on 24 items and 4 on the last 6.

    Without the first person the others' RMSE from 2 is √½, from 1 √2.5, from 4 √2.5: the judge is
    ahead on 24 items and ties on 6. Without the second the others' are 1 and 3:
    from 2 it is 1, from 4 √5: a tie on 24 items, and the person ahead on 6. Without the third from
    2 it is √½, from 3 √2.5, from 4 √6.5: the judge ahead on 24 and the person on 6.
    """
    people = np.tile([1.0, 2.0, 3.0], (30, 1))
    judge = [2.0] * 24 + [4.0] * 6
    found = annotator_test(judge, people, score="neg_rmse", epsilon=0.1)
    assert [one.advantage for one in found.humans] == [1.0, 0.8, 0.8]
    assert [one.human_advantage for one in found.humans] == [0.2, 1.0, 0.2]
    assert found.advantage.value == pytest.approx(2.6 / 3)
    for one, values in zip(
        found.humans, ([-1] * 24 + [0] * 6, [0] * 24 + [1] * 6, [-1] * 24 + [1] * 6), strict=True
    ):
        expected = stats.ttest_1samp(values, 0.1, alternative="less").pvalue
        assert one.p_value == pytest.approx(expected, rel=1e-9)
    assert found.winning_rate.value == pytest.approx(2 / 3)


def test_a_difference_without_spread_is_known() -> None:
    """A judge who ties with everybody on every item wins where ε is above 0; where ε is 0, it is
    not shown to be ahead."""
    people = np.tile([2.0, 2.0, 2.0], (30, 1))
    for epsilon, rate in ((0.1, 1.0), (0.0, 0.0)):
        found = annotator_test([2.0] * 30, people, score="accuracy", epsilon=epsilon)
        assert (found.winning_rate.value, found.advantage.value) == (rate, 1.0)


def test_items_of_a_prompt_are_not_independent() -> None:
    """Of items that repeat each prompt's difference four times, the p-value is that of the t-test
    over prompts."""
    rng = np.random.default_rng(1)
    people, judge = rng.integers(1, 6, (30, 3)).astype(float), rng.integers(1, 6, 30).astype(float)
    of_prompts = annotator_test(judge, people, score="neg_rmse", epsilon=0.2)
    sides = np.repeat(judge, 4), np.repeat(people, 4, axis=0)
    labels = np.repeat(np.arange(30), 4)
    of_items = annotator_test(*sides, score="neg_rmse", epsilon=0.2, clusters=labels)
    for one, other in zip(of_prompts.humans, of_items.humans, strict=True):
        assert (other.n_items, other.n_clusters) == (120, 30)
        assert other.p_value == pytest.approx(one.p_value, rel=1e-9)


def test_people_with_few_items_are_left_out() -> None:
    """A person with 29 shared items is no part of ω and ρ, one with 30 is; items that nobody else
    rated are not shared."""
    rng = np.random.default_rng(2)
    people = rng.integers(1, 6, (60, 3)).astype(float)
    people[30:, 0], people[29:, 1], people[40:, 2] = nan, nan, nan
    found = annotator_test(people[:, 2], people, score="neg_rmse", epsilon=0.2)
    assert [(one.n_items, one.is_tested) for one in found.humans] == [
        (30, True), (29, False), (30, True),
    ]  # fmt: skip
    assert found.winning_rate.n_raters == 2
    few = annotator_test(people[:20, 2], people[:20], score="neg_rmse", epsilon=0.2)
    assert few.winning_rate.reason is few.advantage.reason is Reason.FEW_ITEMS_A_PERSON
    alone = annotator_test(people[:, 2], people[:, :1], score="neg_rmse", epsilon=0.2)
    assert alone.advantage.reason is Reason.FEW_PEOPLE
    one_prompt = annotator_test(
        people[:, 2], people, score="neg_rmse", epsilon=0.2, clusters=["p"] * 60
    )
    assert one_prompt.winning_rate.reason is Reason.FEW_PROMPTS_A_PERSON


def test_what_would_decide_it() -> None:
    """The number of items is that of the t-test at the level that half of the humans have to
    reach, with two of three 2/3 · 0.05 / (1 + 1/2 + 1/3), one-sided; its power is averaged over
    the mean and the standard deviation that 60 items leave open."""
    rng = np.random.default_rng(3)
    people = np.clip(np.round(3 + rng.normal(0, 1, (60, 1)) + rng.normal(0, 1, (60, 3))), 1, 5)
    judge = np.clip(np.round(people.mean(axis=1) + rng.normal(0, 1.3, 60)), 1, 5)
    found = annotator_test(judge, people, score="neg_rmse", epsilon=0.3)
    level = 2 / 3 * 0.05 / (1 + 1 / 2 + 1 / 3)

    def power(human: int, n: int) -> float:
        one = found.humans[human]
        difference = one.human_advantage - one.advantage
        spread = (difference - 0.3) / stats.t.ppf(one.p_value, 59) * 60**0.5
        # The prior is worth four items at the bound.
        true_spread = spread * np.sqrt(59 / rng.chisquare(59, 20_000))
        mean = (0.3 - difference) * 60 / 64 + true_spread / 64**0.5 * rng.normal(0, 1, 20_000)
        shift = mean / true_spread * n**0.5
        return float(stats.nct.sf(stats.t.ppf(1 - level, n - 1), n - 1, shift).mean())

    needed = [one.items_needed for one in found.humans if one.items_needed is not None]
    assert needed
    for one in found.humans:
        if one.items_needed is not None:
            assert power(one.human, one.items_needed) == pytest.approx(0.8, abs=0.02)
    assert found.items_needed.value == sorted(needed)[1]


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: annotator_test([1], [[1, 1]], score="neg_rmse", epsilon=1.0),
        lambda: annotator_test([1, 2], [[1, 1]], score="neg_rmse", epsilon=0.1),
        lambda: annotator_test([1], [[1, 1]], score="rmse", epsilon=0.1),  # type: ignore[arg-type]
    ],
)
def test_what_is_refused(wrong: Callable[[], object]) -> None:
    """An epsilon of 1, other numbers of items and an unknown score are refused."""
    with pytest.raises(ValueError, match=r"epsilon|items|score"):
        wrong()


def side(scores: np.ndarray, name: str, prompts: int | None = None) -> Ratings:
    n, raters = scores.shape
    return Ratings(
        scores[:, :, None], tuple(f"i{k}" for k in range(n)),
        tuple(f"{name}{k}" for k in range(raters)), ("all",), (name,) * raters,
        prompts=None if prompts is None else tuple(f"p{k % prompts}" for k in range(n)),
    )  # fmt: skip


def test_rows_of_the_panel_and_of_each_judge() -> None:
    """Without an epsilon there are no rows; with one, the panel's row is of the judges' mean and
    has the jackknife's interval over prompts, and who was left out is named."""
    rng = np.random.default_rng(4)
    truth = rng.normal(3, 1, (48, 1))
    judges, people = truth + rng.normal(0, 1, (48, 2)), truth + rng.normal(0, 1, (48, 4))
    people[25:, 3] = nan
    sides = side(judges, "judge"), side(people, "person", 12)
    names = ["alt_test_winning_rate", "alt_test_advantage", "alt_test_items_needed"]
    assert correlate(*sides, only=names) == []
    rows = correlate(*sides, AnalysisOptions(epsilon=0.15), only=names)
    found = {(row.statistic, row.by_value): row for row in rows}
    assert set(found) == {(name, of) for name in names for of in (None, "judge0", "judge1")}
    labels = [f"p{k % 12}" for k in range(48)]
    mean = judges.mean(axis=1)
    direct = annotator_test(mean, people, score="neg_rmse", epsilon=0.15, clusters=labels)
    row = found["alt_test_advantage", None]
    assert row.value == direct.advantage.value
    interval = jackknife(direct.advantage.resampled, 48, labels, kind="share", limits=(0.0, 1.0))
    assert (row.ci_low, row.ci_high) == (interval.low, interval.high)
    note = found["alt_test_winning_rate", None].note
    assert note.endswith("; 1 of 4 people left out with fewer than 30 shared items: person3")
