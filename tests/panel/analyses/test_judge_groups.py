"""Breakdowns of a run: which ratings they take, and the sentences on contested responses."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from persona_panel import Panel, load_run
from persona_panel.analyses.contested import most_contested, reasons, unit_of_departures
from persona_panel.analyses.figures import RunPlots
from persona_panel.analyses.judge_groups import (
    axis_differences,
    model_differences,
    persona_departures,
)
from persona_panel.analyses.who_differs import group_units
from persona_panel.files.responses import Item
from persona_panel.graphs import Judge, Response
from persona_panel.personas import Persona
from persona_panel.rubrics import CategoryScale, Composite, Dimension, Rubric, Scale
from persona_panel.runs.run import Run
from persona_panel.runs.scale_limits import in_points
from persona_panel.statistics.core.arrays import Reason
from persona_panel.statistics.personas import ContestedResponse
from persona_panel.testing import ScriptedModel
from tests.helpers.judgments import a_dimension

KIND = Dimension(
    id="kind",
    label="Kind",
    definition="Defined.",
    guiding_question="Which?",
    scale=CategoryScale(values={"good": "good", "bad": "bad"}),
)
AXES = {"ann": "x", "bob": "x", "cat": "y", "dan": "y"}
JUDGES = [
    *(Judge(persona, model, "dimensions") for persona in AXES for model in ("m", "n")),
    Judge("none", "m", "dimensions"),
]


def a_run(*dimensions: Dimension, composite: Composite | None = None) -> Run:
    """Six prompts with a response by each of two systems, judged by four personas of two axes
    through two models, and by a judge without a persona, who rates 1 throughout. x rates 2 points
    higher than y on the first system, and model m 1 point higher than n."""
    rubric = Rubric(id="r", label="R", question="How?", dimensions=dimensions, composite=composite)
    items = [Item(f"p{i}", system, system) for i in range(6) for system in ("old", "new")]
    run = Run(items, {}, JUDGES, rubric, prices={}, seed=0)
    run.personas = tuple(
        Persona(id=name, label=name.title(), axis=axis, description="d")
        for name, axis in AXES.items()
    )
    run.ratings[:] = 5 + 0.1 * np.random.default_rng(2).normal(size=run.ratings.shape)
    run.ratings[::2, :4] += 2
    run.ratings[:, :8:2] += 1
    run.ratings[:, 8] = 1
    return run


def test_axes_are_those_of_the_personas() -> None:
    """x is 1 point above y over both systems, 2 on the first and 0 on the second; the interaction
    says that they see the systems differently. The judge without a persona is left out."""
    found = axis_differences(a_run(a_dimension("clarity"), a_dimension("depth")))
    assert found.groups == ("x", "y")
    rows = {(one.dimension, one.system): one for one in found.differences}
    assert {dimension for dimension, _ in rows} == {"composite", "clarity", "depth"}
    for system, expected in (("all", 1), ("old", 2), ("new", 0)):
        assert rows["composite", system].value == pytest.approx(expected, abs=0.1)
    assert rows["depth", "old"].shown
    assert not rows["depth", "new"].shown
    assert {one.shown for one in found.interactions} == {True}


def test_without_axes_there_is_nothing_to_compare() -> None:
    """A run that knows no axes, or one, has no rows."""
    run = a_run(a_dimension("clarity"))
    run.personas = ()
    assert axis_differences(run).differences == ()
    assert most_contested(run, 1)[0].why


def test_models_are_those_of_the_judges() -> None:
    """m is 1 point above n with the same personas, on both systems alike."""
    found = model_differences(a_run(a_dimension("clarity")))
    assert found.groups == ("m", "n")
    assert found.differences[0].value == pytest.approx(1, abs=0.1)
    assert found.differences[0].shown
    assert not any(one.shown for one in found.interactions)


def test_what_intervals_are_over_is_the_runs_choice() -> None:
    """As `random` of the run says, unless it is said otherwise; eight judges are a sample."""
    run = a_run(a_dimension("clarity"))
    run.random = "prompts-and-judges"
    over_both = axis_differences(run)
    over_prompts = axis_differences(run, "prompts")
    assert (over_both.random, over_prompts.random) == ("prompts-and-judges", "prompts")
    widths = [one.differences[0].width for one in (over_both, over_prompts)]
    assert widths[0] >= widths[1]


def test_personas_on_the_composite_of_the_rubric() -> None:
    """A composite that is the share of a category: ann chooses it always and bob never, half a
    point above and below the panel on every response; there is no dimension with numbers."""
    run = a_run(KIND, composite=Composite(share_of={"dimension": "kind", "value": "bad"}))
    run.ratings[:] = np.array([1, 1, 0, 0, 1, 0, 1, 0, 0])[None, :, None]
    found = persona_departures(run)
    departures = {one.persona: one.departure for one in found.severities}
    assert departures["ann"] == pytest.approx(0.5)
    assert departures["bob"] == pytest.approx(-0.5)
    assert found.by_dimension == ()


def test_a_contested_response_says_why() -> None:
    """On one response ann is far above the panel and dan far below, on depth: they are named, with
    the dimension and the axes; it comes first."""
    run = a_run(a_dimension("clarity"), a_dimension("depth"))
    run.ratings[3, 0:2, 1] += 3
    run.ratings[3, 6:8, 1] -= 3
    first, second = most_contested(run, 2)
    assert (first.prompt_id, first.id) == ("p1", "new")
    assert first.established
    assert {"ann", "dan"} <= set(first.named)
    assert first.why[0].startswith("Personas differ most on Depth (standard deviation ")
    assert "above the panel is Ann (+" in first.why[1]
    assert "below the panel is Dan (−" in first.why[1]
    assert first.why[2].startswith("On average x personas are ")
    assert second.spread < first.spread


def test_dimensions_on_different_scales_count_as_shares() -> None:
    """A dimension from 0 to 1 counts like one from 1 to 10: both are divided by their width."""
    narrow = a_dimension("depth").model_copy(
        update={"scale": Scale(min=0, max=1, low="poor", high="good")}
    )
    run = a_run(a_dimension("clarity"), narrow)
    run.ratings[..., 1] /= 10
    run.ratings[3, 0:2, 1] += 0.9
    first = most_contested(run, 1)[0]
    assert (first.prompt_id, first.id) == ("p1", "new")
    assert first.by_dimension["depth"] == pytest.approx(0.45, abs=0.15)
    assert persona_departures(run).by_dimension[0].reason is Reason.OTHER_SCALE
    assert re.search(r"on Depth \(standard deviation 0\.\d\d of the scale's width\)", first.why[0])
    assert unit_of_departures(run).plural == "shares of the scale's width"


def test_of_categories_alone_no_response_is_contested() -> None:
    """There is no dimension with numbers: each response has that reason, as has the figure."""
    run = a_run(KIND)
    run.ratings[:] = 0
    assert {one.reason for one in most_contested(run)} == {Reason.NO_NUMBERS}
    assert "no dimension with numbers" in RunPlots(run).contested(2).caption


def test_a_share_is_no_point() -> None:
    """Composites that are shares of judges have that unit, dimensions beside them points."""
    share = Composite(share_of={"dimension": "kind", "value": "bad"})
    rubric = a_run(KIND, composite=share).rubric
    assert not in_points(rubric)
    assert not in_points(rubric, "kind:bad")
    mixed = a_run(KIND, a_dimension("clarity"), composite=share)
    assert in_points(mixed.rubric, "clarity")
    assert group_units(mixed) == "shares of the judges (on single dimensions, points)"
    assert unit_of_departures(mixed).plural == "points"


def test_what_noise_may_explain_is_said_so() -> None:
    """A spread that is not significant begins with that; one of 0 says nothing else."""
    one = ContestedResponse(0.5, p=0.3, p_adjusted=0.9, by_dimension=(0.5,), share=0.2)
    said = reasons(one, ["Depth"], ["Ann", "Bob"], ["", ""], np.array([[0.5], [-0.5]]))
    assert said == (
        "Noise alone may explain it (adjusted p 0.9).",
        "Above the panel is Ann (+0.50); below the panel is Bob (−0.50).",
    )
    none = ContestedResponse(0.0, p=0.7, p_adjusted=1.0, by_dimension=(0.0,), share=0.0)
    assert reasons(none, ["Depth"], ["Ann"], [""], np.zeros((1, 1))) == (
        "Personas differ by no more than models do for one persona.",
    )


def test_a_run_that_is_read_back_knows_its_personas(tmp_path: Path) -> None:
    """Labels and axes are in the folder: `load_run` gives those that the panel had."""
    personas = [
        Persona(id=name, label=name.title(), axis=axis, description=f"You are {name}.")
        for name, axis in AXES.items()
    ]
    panel = Panel(personas, ScriptedModel(), "debate-speech")
    batch = [Response(id="r", prompt="Why?", text="Because.", system="s")]
    run = panel.score(batch, out=tmp_path / "run")
    assert run.personas == tuple(personas)
    assert load_run(tmp_path / "run").personas == run.personas
