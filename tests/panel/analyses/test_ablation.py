"""What panels change in comparison with one of them; the expected values are computed by hand."""

from __future__ import annotations

from math import isnan, sqrt
from pathlib import Path

import krippendorff
import pytest
from scipy import stats

from persona_panel import Run, Usage, load_ratings
from persona_panel.analyses.ablation import (
    ablation_result,
    differences_table,
    more_than_named,
    planned_ablation,
)
from persona_panel.models.config import Price
from persona_panel.results.required_figures import result_figures
from persona_panel.results.result import Result
from tests.helpers.marked_texts import marked_model, marked_run

N = 8
TEXTS = {
    f"p{i}": {
        # Ann's ratings are 6 or 7, Bob's 4 or 3, Eve's 7 or 6, Zed's 1; Dan refuses.
        "elm": f"[{6 + i % 2},{6 + i % 2}] bob[{4 - i % 2},{4 - i % 2}] "
        f"eve[{7 - i % 2},{7 - i % 2}] zed[1,1] dan[x] {i}",
        "ash": f"[4,4] dan[x] {i}",
    }
    for i in range(N)
}
PANELS = {
    "base": ("ann", "bob"), "bob=cid": ("ann", "cid"), "bob=eve": ("ann", "eve"),
    "bob=dan": ("dan", "cid", "fay"), "all=dan": ("dan",), "bob=zed": ("ann", "zed"),
}  # fmt: skip


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Run]:
    """Two judges in the base; Cid and Fay rate as Ann does."""
    folder, model = tmp_path_factory.mktemp("runs"), marked_model()
    return {
        name: marked_run(folder / name, TEXTS, model, *personas)
        for name, personas in PANELS.items()
    }


def of(runs: dict[str, Run], *names: str, **more: object) -> Result:
    return ablation_result("base", {name: runs[name] for name in names}, {}, **more)  # type: ignore[arg-type]


def p_of(values: list[float]) -> float:
    return float(stats.ttest_1samp(values, 0).pvalue)


def test_differences_are_paired_by_prompt(runs: dict[str, Run]) -> None:
    """Cid's 6 and 7 in the place of Bob's 4 and 3 raise the mean of elm by 1 or 2 and leave ash: by
    prompt 0.5 or 1, and the lead 1 or 2. Student's interval over eight prompts."""
    [row] = of(runs, "base", "bob=cid")["differences"].rows
    sd = 0.25 * sqrt(N / (N - 1))
    reach = stats.t.ppf(0.975, N - 1) * sd / sqrt(N)
    assert row["score"].value == pytest.approx(0.75)
    assert (row["score"].low, row["score"].high) == pytest.approx((0.75 - reach, 0.75 + reach))
    assert row["score"].p == pytest.approx(p_of([0.5, 1.0] * (N // 2)))
    assert row["lead"].value == pytest.approx(1.5)
    assert row["lead"].p == pytest.approx(p_of([1.0, 2.0] * (N // 2)))
    assert (row["lead"].a, row["lead"].b) == ("bob=cid", "base")
    # Elm is above ash for both panels, on every prompt.
    assert row["tau"].value == 1
    assert row["changes"] == ("personas (bob; cid)",)


def test_agreement_is_that_of_the_judges_composites(runs: dict[str, Run]) -> None:
    """Ann and Cid agree; Ann and Bob as Krippendorff's ordinal α has it."""
    result = of(runs, "base", "bob=cid")
    base = krippendorff.alpha(
        [[6, 4, 7, 4] * (N // 2), [4, 4, 3, 4] * (N // 2)], level_of_measurement="ordinal"
    )
    values = {row["figure"]: row for row in result["values"].rows}
    assert values["agreement"]["base"] == pytest.approx(base)
    assert values["agreement"]["value"] == pytest.approx(1.0)
    assert result["differences"].rows[0]["agreement"].value == pytest.approx(1 - base)
    # Elm has 5 from Ann and Bob, 6 or 7 from Ann and Cid; ash 4.
    assert (values["lead"]["base"], values["lead"]["value"]) == pytest.approx((1.0, 2.5))
    assert (values["score"]["base"], values["score"]["value"]) == pytest.approx((4.5, 5.25))


def test_p_values_are_adjusted_over_the_panels(runs: dict[str, Run]) -> None:
    """By Holm: the smaller of two is doubled. Eve's 7 and 6 raise elm by 1.5 on every prompt, which
    has no p-value: nothing is adjusted for it."""
    rows = {row["panel"]: row for row in of(runs, "base", "bob=cid", "bob=eve")["differences"].rows}
    assert rows["bob=eve"]["lead"].value == pytest.approx(1.5)
    assert isnan(rows["bob=eve"]["lead"].p)
    assert rows["bob=cid"]["lead"].p_adjusted == pytest.approx(rows["bob=cid"]["lead"].p)
    agreements = sorted(
        (each["agreement"].p, each["agreement"].p_adjusted)
        for each in rows.values()
        if not isnan(each["agreement"].p)
    )
    assert len(agreements) == 2
    (least, adjusted), (most, other) = agreements
    assert adjusted == pytest.approx(min(1.0, 2 * least))
    assert other == pytest.approx(max(adjusted, most))


def test_a_panel_without_a_comparison_says_why(runs: dict[str, Run]) -> None:
    """One that lacks most of its judgments, one without any, one that failed: the others are
    compared; a third of the judgments may be missing."""
    names = ("base", "bob=cid", "bob=dan", "all=dan")
    result = ablation_result("base", {name: runs[name] for name in names}, {"models=x": "no key"})
    assert [row["panel"] for row in result["differences"].rows] == ["bob=cid", "bob=dan"]
    why = {row["panel"]: row["reason"] for row in result["panels"].rows}
    assert why["models=x"] == "no key"
    assert "a run without a scored response" in why["all=dan"]
    assert why["base"] is why["bob=dan"] is None
    assert result.conclusion[1].startswith("Not compared: models=x (no key); all=dan (")
    assert "32 of 128 judgments are missing." in result.conclusion


def test_half_of_the_judgments_have_to_be_there(tmp_path: Path) -> None:
    """Of two judges the one who refuses leaves half, which is compared; of three two leave a
    third, which is not."""
    model = marked_model()
    panels = {"base": ("ann", "bob"), "half": ("ann", "dan"), "third": ("ann", "dan", "ned")}
    texts = {
        prompt: {system: f"{text} ned[x]" for system, text in given.items()}
        for prompt, given in TEXTS.items()
    }
    runs = {name: marked_run(tmp_path / name, texts, model, *who) for name, who in panels.items()}
    result = ablation_result("base", runs, {})
    assert [row["panel"] for row in result["differences"].rows] == ["half"]
    assert "Not compared: third (32 of 48 judgments are missing)." in result.conclusion


def test_no_panel_can_be_compared(runs: dict[str, Run]) -> None:
    """With the base's run missing none can."""
    result = ablation_result("base", {"bob=cid": runs["bob=cid"]}, {"base": "no key"})
    assert result.conclusion == [
        "No panel could be compared with the base.", "Not compared: base (no key).",
    ]  # fmt: skip
    assert result["differences"].rows == []


def test_people_say_which_panel_is_nearer(runs: dict[str, Run], tmp_path: Path) -> None:
    """People have elm above ash on every prompt, as the base has; Zed's 1 and Ann's 6 or 7 have a
    mean of at most 4, and ash 4: τ_b within prompts falls from 1. The column is the chart's."""
    rows = [
        f"{prompt}-{system},{who},{prompt},{7 if system == 'elm' else 4}"
        for prompt in TEXTS
        for system in ("elm", "ash")
        for who in ("x", "y")
    ]
    path = tmp_path / "people.csv"
    path.write_text("\n".join(["item,rater,prompt,score", *rows]) + "\n")
    people = load_ratings(path)
    result = of(runs, "base", "bob=zed", people=people, people_name=str(path))
    [row] = result["differences"].rows
    values = {each["figure"]: each for each in result["values"].rows}["people"]
    # Reversed on half of the prompts; tied on the others, which then have no τ_b.
    assert (values["base"], values["value"], row["people"].value) == (1.0, -1.0, -2.0)
    assert result["differences"].chart == "people"
    said = "Whether agreement with people (τ_b) changes cannot be tested: fewer than five "
    # Behind all that could be tested.
    assert result.conclusion[-1].startswith(said)


def test_the_conclusion_names_what_changes(runs: dict[str, Run]) -> None:
    """With its figure and direction; the ranking stands before the lead."""
    text = of(runs, "base", "bob=cid").conclusion
    assert text[0].startswith("The mean score is 0.75 points higher with bob=cid (95 % interval")
    assert text[-2] == "No panel changes the ranking of responses: τ_b with the base's is 1.00."
    assert text[-1].startswith("The lead of the best system is 1.50 points higher with bob=cid (")


def test_further_changes_are_said() -> None:
    """What a panel is called after is not said again; how judges are asked always is, unless the
    panel is called after that."""
    assert more_than_named("replicates=2", ["replicates (1; 2)"]) == ""
    assert more_than_named("personas=none", ["a", "b"]) == "personas=none changes a and b"
    asked = ["elicitation (dimensions; justified)"]
    assert more_than_named("reasoning=yes", asked) == f"reasoning=yes changes {asked[0]}"
    assert more_than_named("elicitation=justified", asked) == ""


def test_figures_are_known_before_the_runs(runs: dict[str, Run]) -> None:
    """A requirement on any figure of the result is one on the plan's; none has a value yet."""
    planned = result_figures(planned_ablation(["bob=cid"]))
    made = of(runs, "base", "bob=cid")
    names = {figure.name for figure in result_figures(made)}
    assert {"score", "agreement", "tau", "lead", "tokens", "usd"} <= {each.name for each in planned}
    assert names - {each.name for each in planned} <= {"base", "value"}
    assert all(isnan(each.value) for each in planned)
    assert differences_table([], "lead").chart == "lead"


def test_tokens_and_dollars_are_those_of_a_response(tmp_path: Path) -> None:
    """Of all tokens, and of 1,000 responses: two responses that took 1,000 tokens at 1 dollar a
    million and 500 at 2 dollars take 750 each, and a dollar for a thousand. A panel of twice as
    many takes that more."""
    texts, model = {"p": {"elm": "[6,6]", "ash": "[4,4]"}}, marked_model()
    runs = {
        name: marked_run(tmp_path / name, texts, model, *PANELS[name])
        for name in ("base", "bob=cid")
    }
    for n, run in enumerate(runs.values(), 1):
        run.usage[next(iter(run.usage))] = Usage(input=1000 * n, output=500 * n)
    assert isnan(ablation_result("base", runs, {})["panels"].rows[0]["usd"])
    for run in runs.values():
        run.prices = dict.fromkeys(run.usage, Price(input=1.0, output=2.0))
    result = ablation_result("base", runs, {})
    costs = [(row["tokens"], row["usd"]) for row in result["panels"].rows]
    assert costs == [pytest.approx((750, 1.0)), pytest.approx((1500, 2.0))]
    [row] = result["differences"].rows
    assert (row["tokens"], row["usd"]) == pytest.approx((750, 1.0))


def test_the_surest_change_is_named_first(runs: dict[str, Run]) -> None:
    """Of changes that are shown, that with the smallest adjusted p, whatever the order of the
    panels."""
    names = ("bob=cid", "bob=eve")
    for order in (names, names[::-1]):
        result = of(runs, "base", *order)
        p = {row["panel"]: row["agreement"].p_adjusted for row in result["differences"].rows}
        assert all(each < 0.05 for each in p.values()) and len({*p.values()}) == 2
        first, second = sorted(names, key=lambda name: p[name])
        [said] = [each for each in result.conclusion if each.startswith("Agreement of judges")]
        assert said.index(first) < said.index(second)
