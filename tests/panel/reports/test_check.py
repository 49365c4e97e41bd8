"""`check`: requirements on runs, sweeps and rows."""

from __future__ import annotations

from dataclasses import replace
from math import isnan, nan
from typing import Any

import numpy as np
import pytest

from persona_panel import NO_PERSONA, InputError, Panel, Persona, Ratings, Response, check
from persona_panel.analyses.compare import compare_result
from persona_panel.analyses.comparison.result import ComparedRuns, RunComparison
from persona_panel.analyses.score import planned_score
from persona_panel.experiments.sweep.plan import Options, sweep_plan_of
from persona_panel.experiments.sweep.sweep_result import planned_sweep
from persona_panel.files.responses import Batch
from persona_panel.graphs.deliberation import Deliberation
from persona_panel.graphs.framing import FramedResponse
from persona_panel.reports.check import figures_of
from persona_panel.results.decision import GateResult
from persona_panel.results.required_figures import Figure, find, result_figures
from persona_panel.results.requirement import parse_requirement
from persona_panel.rubrics import Rubric
from persona_panel.statistics import AnalysisOptions, Reason, agree, correlate
from persona_panel.statistics.paired import PairedDifference
from persona_panel.testing import ScriptedModel, assert_requirements
from tests.helpers.gate_runs import run_of
from tests.helpers.judgments import PLAIN, a_dimension

RNG = np.random.default_rng(1)
SCORES = np.clip(RNG.normal([[[7.0], [5.0], [5.0]]], 0.7, (12, 3, 5)).round(), 1, 10)
SCORES[:3, 2, 0] = nan
PERSONAS = [
    Persona(id=name, label=name, axis="reader", description=f"You read {name}.")
    for name in ("closely", "fast", "twice")
]
WITH_CONTROL = [*PERSONAS, NO_PERSONA]
PEOPLE = Ratings(
    np.array([4.0, 6, 5, 7])[:, None, None], ("p0/a0", "p0/b0", "p1/a1", "p1/b1"), ("ada",),
    ("clarity",), ("all",),
)  # fmt: skip
SYSTEMS = ("new", "old, [v1]", "日本")
RUN = run_of(SCORES, SYSTEMS)


def figure(figures: list[Figure], expression: str) -> Figure:
    return find(parse_requirement(f"{expression} > 0"), figures)


def test_figures_of_a_run_are_those_of_its_leaderboard() -> None:
    """Composite, dimension, rank, difference from both sides, p, effect size and coverage are the
    leaderboard's and the coverage's, with their intervals."""
    board, found = RUN.leaderboard(), figures_of(RUN)
    first, pair = board.systems[0], board.differences[0]
    assert (first.system, pair.a, pair.b) == ("new", "new", "日本")
    composite = figure(found, "composite[new]")
    assert (composite.value, composite.low) == (first.composite.value, first.composite.low)
    clarity = figure(found, "Clarity[new]")
    assert (clarity.value, clarity.low, clarity.high) == (
        first.dimensions["clarity"].value, *first.dimensions["clarity"].ends,
    )  # fmt: skip
    assert figure(found, "rank[new]").value == 1
    there, back = (figure(found, f"difference[{one}]") for one in ("new, 日本", "日本, new"))
    assert (there.value, there.low, there.high) == (pair.value, *pair.ends)
    assert (back.value, back.low, back.high) == (-there.value, -there.high, -there.low)
    assert figure(found, "p[日本, new]").value == pair.p_adjusted
    assert figure(found, "effect_size[日本, new]").value == -pair.effect_size
    assert figure(found, "coverage").value == 177 / 180
    assert figure(found, "missing[failed]").value == 3
    assert figure(found, "missing[refused]").value == 0
    response = RUN.verdicts[0]
    assert figure(found, f"response[p0, {response.id}]").value == response.composite


def test_the_option_random_decides_by_judges_too() -> None:
    """With judges as a sample the interval over prompts and judges decides composites."""
    run = run_of(SCORES, SYSTEMS)
    run.random = "prompts-and-judges"
    entry = run.leaderboard().systems[0]
    found = figure(figures_of(run), "composite[new]")
    assert (found.low, found.high) == entry.with_judges.ends
    assert found.over == "over prompts and judges"


def test_requirements_of_a_run() -> None:
    """Each is decided, in its order; the whole is met where all are."""
    expressions = ("composite[new] >= 6", 'difference[new, "old, [v1]"] > 1', "coverage >= 0.99")
    found = check(RUN, *expressions)
    assert isinstance(found, GateResult)
    assert [one.met for one in found.decisions] == [True, True, False]
    assert not found.met
    assert [str(one.requirement) for one in found.unmet] == ["coverage >= 0.99"]
    assert found.sentences()[2] == ("coverage >= 0.99 is not met: 0.9833 (177 of 180 judgments).")
    assert check(RUN, *expressions[:2]).met


def test_all_that_is_wrong_is_said_at_once() -> None:
    """Every requirement that cannot be read, then every one that names nothing."""
    with pytest.raises(InputError) as caught:
        check(RUN, "composite", "coverage > x", "coverage >= 1")
    assert [fault.file for fault in caught.value.faults] == [
        "the requirement composite", "the requirement coverage > x",
    ]  # fmt: skip
    with pytest.raises(InputError) as caught:
        check(RUN, "composit[new] > 1", "composite[nwe] > 1", "coverage >= 1")
    assert [fault.expected.split(";")[0] for fault in caught.value.faults] == [
        "one of composite", "one of composite[new]",
    ]  # fmt: skip


def test_an_assertion_has_the_same_sentences() -> None:
    """`assert_requirements` fails with the sentences of what is not met, and of that alone."""
    assert_requirements(RUN, "composite[new] >= 6")
    expressions = ("composite[new] >= 6", "composite[日本] >= 6", "coverage >= 1")
    with pytest.raises(AssertionError) as caught:
        assert_requirements(RUN, *expressions)
    assert str(caught.value).splitlines() == check(RUN, *expressions).sentences()[1:]
    with pytest.raises(InputError):
        assert_requirements(RUN, "composite[new]")


RUBRIC = Rubric(
    id="two", label="Two", question="Is it?",
    dimensions=(a_dimension("composite"), a_dimension("depth")),
)  # fmt: skip


def test_a_dimension_with_the_name_of_a_figure() -> None:
    """A dimension called composite gives way to the composite; its label names it."""
    run = run_of(SCORES, SYSTEMS, RUBRIC)
    assert len([one for one in figures_of(run) if one.name == "composite"]) == 6
    assert check(run, "Composite[new] >= 6").met


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"elicitation": "dimensions"}, "clarity"),
        ({"elicitation": "ranking"}, "strength"),
        ({"elicitation": "dimensions", "deliberation": Deliberation(rounds=1)}, "spread_change"),
        ({"elicitation": "dimensions", "personas": WITH_CONTROL}, "control_composite"),
        ({"elicitation": "dimensions", "humans": PEOPLE}, "corrected_difference"),
    ],
)
def test_names_are_known_before_a_run(options: Any, name: str) -> None:
    """The figures that are named before any call are those that there are after the run, of panels
    that rate, rank, deliberate, have judges without a persona, or stand beside people."""
    batch = [
        Response(id=f"{s}{p}", prompt_id=f"p{p}", prompt=f"{p}?", text=f"{s} {p}", system=s)
        for p in range(2)
        for s in ("a", "b")
    ]
    people = {name: options.pop(name) for name in ("humans",) if name in options}
    panel = Panel(**{"personas": PERSONAS, "models": ScriptedModel(), "rubric": PLAIN, **options})
    before = planned_score(panel.plan, Batch(batch), **people)
    after = figures_of(panel.score(batch, **people))
    names = [[str(replace(one, keys=tuple(replace(key, may_be_left_out=False) for key in one.keys)))
              for one in those] for those in (before, after)]  # fmt: skip
    assert sorted(names[0]) == sorted(names[1])
    assert name in {one.name for one in after}
    not_known = (one.value for one in before if not one.is_exact and one.name != "human_only")
    assert all(map(isnan, not_known))


def framed() -> list[FramedResponse]:
    return [
        FramedResponse(
            prompt_id=f"p{p}", prompt=f"{p}? {c}", condition=c, system="my sys", text=f"{c} {p}"
        )
        for p in range(4)
        for c in ("baseline", "emotion_agree")
    ]


def test_names_are_known_before_a_sweep() -> None:
    """The figures that are named before any call are those of the sweep; Δ is that of its cells."""
    panel = Panel(PERSONAS, ScriptedModel(), PLAIN, elicitation="dimensions")
    options: Options = {"responses": framed()}
    sweep = panel.sweep(None, [], **options)
    before = planned_sweep(panel.plan, sweep_plan_of(panel.plan, None, [], options))
    after = figures_of(sweep)
    assert [(one.name, one.keys) for one in before] == [(one.name, one.keys) for one in after]
    cell, whole = sweep.cells[0], sweep.composites[0]
    found = figure(after, "delta[Clarity, emotion_agree]")
    assert (found.value, found.low) == (cell.delta.value, cell.delta.ci_low)
    assert figure(after, "delta[my sys, emotion_agree]").value == whole.value
    assert figure(after, "delta[my sys, composite, emotion_agree]").value == whole.value
    assert check(sweep, "coverage >= 1", "answers_missing <= 0").met


def rated(n: int, names: tuple[str, ...]) -> Ratings:
    rng = np.random.default_rng(n)
    quality = np.random.default_rng(0).normal(5, 2, (24, 1, 2))
    return Ratings(
        np.round(quality + rng.normal(0, 0.5, (24, n, 2))),
        tuple(f"i{i}" for i in range(24)),
        tuple(f"{names[0]} {k}" for k in range(n)),
        ("clarity", "depth, really"),
        tuple(names[k % len(names)] for k in range(n)),
        prompts=tuple(f"p{i // 4}" for i in range(24)),
    )


def test_rows_are_named_by_dimension_and_group() -> None:
    """Of agree and correlate: all raters unless a group is named; p-values; a dimension has to be
    named where there are several and no composite."""
    options = AnalysisOptions(n_permutations=99)
    panel, humans = rated(4, ("m, 1", "n")), rated(3, ("human",))
    rows = agree(panel, options, only=["krippendorff_alpha", "kendall_w", "mean_tau_b"])
    rows += correlate(panel, humans, options, only=["tau_c", "human_ceiling_tau_c"])
    by_key = {(row.statistic, row.group, row.dimension): row for row in rows}
    found = figures_of(rows)
    alpha = by_key["krippendorff_alpha", "all", "clarity"]
    assert figure(found, "krippendorff_alpha[clarity]").low == alpha.ci_low
    one = by_key["krippendorff_alpha", "m, 1", "depth, really"]
    expression = 'krippendorff_alpha["depth, really", "m, 1"]'
    assert figure(found, expression).value == one.value
    w = by_key["kendall_w", "all", "clarity"]
    assert figure(found, "p[kendall_w, clarity]").value == w.p_value
    assert figure(found, "human_ceiling_tau_c[clarity]").value > 0
    assert check(rows, "tau_c[clarity] >= 0.4", "tau_c['depth, really'] >= 0.4").met
    with pytest.raises(InputError, match="is the name of 2 figures"):
        check(rows, "mean_tau_b >= 0.4")
    whole = by_key["krippendorff_alpha", "all", "composite"]
    assert figure(found, "krippendorff_alpha").value == whole.value
    assert figure(found, "tau_c").value == by_key["tau_c", "all", "composite"].value


@pytest.mark.parametrize(
    "name",
    ["krippendorff_alpha", "kendall_w", "mean_tau_b[clarity]", "tau_b", "tau_b_within_prompts",
     "pearson_within_prompts", "human_ceiling_pearson"],
)  # fmt: skip
def test_no_statistic_of_agreement_is_above_1(name: str) -> None:
    """A percentage is refused as its bound, with the share that was meant; 1 is none."""
    options = AnalysisOptions(n_permutations=99)
    panel, humans = rated(4, ("judge",)), rated(3, ("human",))
    rows = [*agree(panel, options), *correlate(panel, humans, options)]
    with pytest.raises(InputError, match=r" 1: 30 % is 0\.3$"):
        check(rows, f"{name} >= 30")
    assert not check(rows, f"{name} > 1").met


def test_the_alternative_annotator_test_can_be_required() -> None:
    """`omega` is the panel's winning rate and decided by its value, as it counts tests; `rho` is
    decided by the end of its interval; a judge's are named by the judge."""
    rng = np.random.default_rng(0)
    truth = rng.normal(5, 2, (40, 1))

    def side(n: int, name: str) -> Ratings:
        scores = (truth + rng.normal(0, 1, (40, n)))[:, :, None]
        items = tuple(f"i{k}" for k in range(40))
        return Ratings(scores, items, tuple(f"{name}{k}" for k in range(n)), ("all",), (name,) * n)

    rows = correlate(
        side(3, "judge"), side(3, "human"), AnalysisOptions(n_permutations=0, epsilon=0.2)
    )
    found = figures_of(rows)
    omega, rho = figure(found, "omega"), figure(found, "rho")
    assert omega.is_exact and not rho.is_exact
    assert rho.low < rho.value < rho.high
    of = {row.by_value: row.value for row in rows if row.statistic == "alt_test_winning_rate"}
    assert omega.value == of[None]
    assert figure(found, "omega[judge1]").value == of["judge1"]
    told = check(rows, "omega >= 0.5").sentences()[0]
    assert f"epsilon 0.2; as close as {round(3 * of[None])} of 3 people" in told
    assert check(rows, f"rho >= {rho.value - 0.001}", by_point=True).met
    assert not check(rows, f"rho >= {rho.value - 0.001}").met
    for name in ("omega", "rho"):
        with pytest.raises(InputError, match="from 0 to 1: 80 % is"):
            check(rows, f"{name} >= 80")


def difference(value: float, low: float, high: float) -> PairedDifference:
    """How far the run new is above the run old, over 12 prompts."""
    reason = Reason.FEW_PROMPTS if isnan(value) else None
    return PairedDifference(value, low, high, over="prompts", n=12, p=0.01, reason=reason)


def test_a_comparison_of_runs() -> None:
    """`difference[new, old]` is how far new is above old; a dimension that is not named is the
    composite; what is undefined meets nothing, with the reason."""
    rows = {"composite": difference(0.5, 0.1, 0.9), "depth": difference(nan, nan, nan)}
    runs = ComparedRuns("old", "new", "texts", rows, n_judges=(2, 2))
    found = compare_result(RunComparison(("old", "new"), (runs,), "prompts", ()))
    figures = result_figures(found)
    old = figure(figures, "difference[old, new]")
    assert (old.value, old.low, old.high) == (-0.5, -0.9, -0.1)
    told = check(found, "difference[new, old] > 0", "difference[new, old, depth] > -9")
    assert [one.met for one in told.decisions] == [True, False]
    assert str(Reason.FEW_PROMPTS) in str(told)


def test_a_system_that_declines_to_answer_meets_nothing() -> None:
    """Two of three judges find that b declines to answer: the third's ratings are no composite, no
    rank and no mean that could be required, and why is said; a is decided as ever."""
    scores = np.array([[[6, 7, 6], [9, -np.inf, -np.inf]]] * 4) + np.arange(4)[:, None, None] / 9
    run = run_of(scores, ("a", "b"))
    asked = "composite[b] >= 1", "rank[b] <= 9", f"{PLAIN.dimensions[0].id}[b] >= 1"
    found = check(run, "composite[a] >= 5", *asked)
    assert [one.met for one in found.decisions] == [True, False, False, False]
    assert str(found).count(str(Reason.DECLINES)) == 3


def test_nothing_scored_meets_nothing() -> None:
    """A run without a score: coverage is 0, and every other requirement finds no figure."""
    empty = run_of(np.full((3, 2, 2), nan), ("a", "b"))
    found = check(empty, "composite[a] >= -9", "difference[a, b] <= 9", "coverage >= 0.1")
    assert [one.met for one in found.decisions] == [False, False, False]
    assert "no response of this system has a composite" in str(found)
    assert PLAIN.id == empty.rubric.id
