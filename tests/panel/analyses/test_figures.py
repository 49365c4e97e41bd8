"""A run's figures: what is drawn is what the leaderboard says."""

from __future__ import annotations

import subprocess
import sys
from math import isnan
from typing import Any

import pytest
from matplotlib.text import Text

from persona_panel import CategoryScale, Dimension, Panel, Persona, Response, Rubric, Run, Scale
from persona_panel.analyses.contested import most_contested
from persona_panel.analyses.figures import RunPlots
from persona_panel.analyses.judge_groups import persona_departures
from persona_panel.files.responses import Item
from persona_panel.graphs import Judge, Judgment
from persona_panel.graphs.aggregate import aggregate
from persona_panel.statistics.core.display import signed
from persona_panel.testing import ScriptedModel
from tests.helpers.figures import legend, names, points, thick_lines, thin_lines

SCALE = Scale(min=1, max=10, low="not", high="very")
KINDS = CategoryScale(values={"claim": "It claims.", "joke": "It jokes."})
RUBRIC = Rubric(
    id="own",
    label="Own",
    question="How good?",
    dimensions=tuple(
        Dimension(id=name, label=name.title(), definition="d", guiding_question="g?", scale=scale)
        for name, scale in (("clarity", SCALE), ("depth", SCALE), ("kind", KINDS))
    ),
)
JUDGES = [Judge(name, "m:one", "dimensions") for name in ("ann", "bob", "cat", "dan", "eve")]
SYSTEMS = ("elm", "oak", "yew", "ash")
MEANS = {"elm": 8.0, "oak": 5.0, "yew": 4.6, "ash": 3.0}


def a_run(systems: tuple[str, ...] = SYSTEMS, n_prompts: int = 6) -> Run:
    """Each judge rates each system by its mean and a little noise; nobody rates ash on any prompt
    but the first."""
    prompts = {f"p{n}": f"Prompt {n}" for n in range(n_prompts)}
    items = [Item(prompt, f"{prompt}-{system}", system) for prompt in prompts for system in systems]
    run = Run(items, prompts, JUDGES, RUBRIC, prices={"m:one": None}, seed=0)
    for number, item in enumerate(items):
        judgments = []
        for place, judge in enumerate(JUDGES):
            if item.system == "ash" and item.prompt_id != "p0":
                judgments.append(Judgment(*item, judge=judge, status="refused"))
                continue
            noise = (number * 7 + place * 5) % 11 / 10 - 0.5
            mean = MEANS[item.system]
            judgments.append(
                Judgment(
                    *item,
                    judge=judge,
                    status="scored",
                    scores={"clarity": mean + noise, "depth": mean + 1 - noise / 2},
                    labels={"kind": "joke" if place < 2 else "claim"},
                )
            )
        for judgment in judgments:
            run.add(judgment)
        run.conclude(aggregate(judgments, RUBRIC))
    return run


@pytest.fixture(scope="module")
def run() -> Run:
    return a_run()


def close(pairs: list[tuple[float, float]]) -> Any:
    return [pytest.approx(pair) for pair in pairs]


def test_systems_are_drawn_with_both_kinds_of_interval(run: Run) -> None:
    """From the best down, the composite, its interval over prompts as a thick line and that over
    prompts and judges as a thin one; where there is none there is no line."""
    systems = run.leaderboard().systems
    (axis,) = (figure := RunPlots(run).systems()).axes
    assert names(axis) == [entry.system for entry in systems] == [*SYSTEMS]
    assert [x for x, _ in points(axis)] == pytest.approx([one.composite.value for one in systems])
    there = [one for one in systems if not isnan(one.composite.low)]
    assert [one.system for one in there] == ["elm", "oak", "yew"]
    assert thick_lines(axis) == close([one.composite.ends for one in there])
    assert thin_lines(axis) == close([one.with_judges.ends for one in there])
    assert legend(figure) == [
        "95 % interval over prompts", "95 % interval over prompts and judges"
    ]  # fmt: skip
    assert figure.get_supxlabel() == "Composite (points; scale 1 to 10)"


def test_what_is_missing_is_in_the_caption(run: Run) -> None:
    """The caption says of how many, and names the system that has no interval, with the reason."""
    caption = RunPlots(run).systems().caption
    assert "4 systems over 1 to 6 prompts by 5 judges" in caption
    reason = run.leaderboard().systems[-1].composite.reason
    assert f"No interval over prompts for ash: {reason}." in caption


def test_one_dimension_can_be_drawn_alone(run: Run) -> None:
    """Its means and their intervals over prompts, under its label; a category's share, too; no
    other dimension."""
    systems = run.leaderboard().systems
    (axis,) = (figure := RunPlots(run).systems("depth")).axes
    assert [x for x, _ in points(axis)] == [one.dimensions["depth"].value for one in systems]
    assert thick_lines(axis) == close([one.dimensions["depth"].ends for one in systems[:3]])
    assert thin_lines(axis) == [] and legend(figure) == ["95 % interval over prompts"]
    assert figure.get_supxlabel() == "Depth (points; scale 1 to 10)"
    share = RunPlots(run).systems("kind:joke")
    assert [x for x, _ in points(share.axes[0])] == pytest.approx([0.4] * 4)
    assert share.get_supxlabel() == "Kind: joke (share of the judges)"
    with pytest.raises(ValueError, match="no dimension 'wit'; there are clarity, depth, kind:cl"):
        RunPlots(run).systems("wit")


def test_dimensions_are_side_by_side(run: Run) -> None:
    """A panel for each dimension and share, in the order of the leaderboard."""
    systems = run.leaderboard().systems
    axes = RunPlots(run).dimensions().axes
    assert [axis.get_title() for axis in axes] == [
        "Clarity (points; scale 1 to 10)", "Depth (points; scale 1 to 10)",
        "Kind: claim (share of the judges)", "Kind: joke (share of the judges)",
    ]  # fmt: skip
    for axis, name in zip(axes, systems[0].dimensions, strict=True):
        assert [x for x, _ in points(axis)] == [one.dimensions[name].value for one in systems]


def test_differences_are_from_a_system_and_filled_where_they_are_shown(run: Run) -> None:
    """Signs and intervals turn with the reference; a marker is filled exactly where the adjusted
    test says that two systems differ."""
    of = {(one.a, one.b): one for one in run.leaderboard().differences}
    from_best, from_oak = RunPlots(run).differences(), RunPlots(run).differences("oak")
    (first,), (second,) = from_best.axes, from_oak.axes
    assert (names(first), names(second)) == (["oak", "yew", "ash"], ["elm", "yew", "ash"])
    down, up = of["elm", "oak"], of["oak", "yew"]
    assert points(first)[0] == (-down.value, True) and down.shown
    assert thick_lines(first)[0] == pytest.approx((-down.high, -down.low))
    assert points(second)[:2] == [(down.value, True), (-up.value, up.shown)]
    assert thick_lines(second)[0] == pytest.approx((down.low, down.high))
    # One prompt alone has no test.
    assert points(first)[2][1] is False
    assert "from oak" in from_oak.get_supxlabel()
    with pytest.raises(ValueError, match="no system 'fir'; there are elm, oak, yew, ash"):
        RunPlots(run).differences("fir")
    with pytest.raises(ValueError, match="takes two systems, found 1"):
        RunPlots(a_run(("elm",))).differences()


def test_strengths_are_of_judges_that_compare(run: Run) -> None:
    """A run that rates has none, and says so."""
    with pytest.raises(ValueError, match="judges that compare responses"):
        RunPlots(run).strengths()


def test_another_number_of_columns_is_refused(run: Run) -> None:
    """A page has one or two."""
    wide: Any = 3
    with pytest.raises(ValueError, match="columns is 1 or 2"):
        RunPlots(run).systems(columns=wide)


def test_a_run_of_one_response_can_be_drawn() -> None:
    """One system on one prompt: a point without lines."""
    (axis,) = RunPlots(a_run(("elm",), 1)).systems().axes
    assert len(points(axis)) == 1
    assert thick_lines(axis) == thin_lines(axis) == []


def test_without_matplotlib_a_figure_says_what_to_install(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every figure names the extra."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    figures = [name for name in dir(RunPlots(run)) if not name.startswith("_")]
    assert "systems" in figures and len(figures) >= 4
    for name in figures:
        with pytest.raises(ModuleNotFoundError, match=r"pip install 'persona-panel\[plots\]'"):
            getattr(RunPlots(run), name)()


def test_matplotlib_is_loaded_for_a_figure_alone_and_pyplot_never() -> None:
    """The public names, `score` and a run's figures at hand load neither Matplotlib nor pandas;
    a figure loads Matplotlib without pyplot, and with it no window and no state."""
    code = (
        "import sys, panel, persona_panel.cli.score, persona_panel.cli.main\n"
        "panel.Panel, panel.RunPlots, panel.RatingsPlots, panel.Sweep.plot\n"
        "print([name for name in ('matplotlib', 'pandas', 'polars') if name in sys.modules])\n"
        "import numpy as np\n"
        "scores = np.array([[[1.0], [2.0]], [[3.0], [4.0]], [[2.0], [5.0]]])\n"
        "ratings = panel.Ratings(scores, tuple('abc'), tuple('xy'), ('d',), ('g', 'g'))\n"
        "panel.RatingsPlots(ratings).agreement()\n"
        "print([name for name in sys.modules if name in ('matplotlib', 'matplotlib.pyplot')])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "[]\n['matplotlib']\n", done.stderr


def of_axes(run: Run) -> Run:
    """The run with labels and axes of its personas; eve rates oak 3 points higher than others."""
    run.personas = tuple(
        Persona(
            id=judge.persona,
            label=f"{judge.persona.title()} $x$",
            axis="ideological" if place > 2 else "disciplinary",
            description="d",
        )
        for place, judge in enumerate(JUDGES)
    )
    oak = [row for row, item in enumerate(run.items) if item.system == "oak"]
    run.ratings[oak, JUDGES.index(JUDGES[-1]), :2] += 3
    return run


def test_personas_are_drawn_by_system_with_what_chance_does_not_explain() -> None:
    """A panel for each axis, a row a persona, a column a system in the leaderboard's order; each
    cell has its signed departure, with a star where it is shown."""
    run = of_axes(a_run())
    figure = RunPlots(run).personas()
    axes = [axis for axis in figure.axes if axis.get_title()]
    assert [axis.get_title() for axis in axes] == ["disciplinary", "ideological"]
    of = {(one.persona, one.on): one for one in persona_departures(run).by_system}
    assert of["eve", "oak"].shown and of["eve", "oak"].value > 1
    order = [entry.system for entry in run.leaderboard().systems]
    shown = {True: "*", False: ""}
    for axis, personas in zip(axes, (("ann", "bob", "cat"), ("dan", "eve")), strict=True):
        assert names(axis) == [f"{name.title()} $x$" for name in personas]
        cells = [of[persona, system] for persona in personas for system in order]
        assert [text.get_text() for text in axis.texts] == [
            signed(one.value) + shown[one.shown] for one in cells
        ]
    assert [tick.get_text() for tick in axes[0].get_xticklabels()] == order
    assert "4 systems" in figure.caption and "less the persona's departure" in figure.caption


def test_personas_are_drawn_by_dimension_too() -> None:
    """Under the dimensions' labels; personas whose axes nobody knows are together, by their ids."""
    run = a_run()
    figure = RunPlots(run).personas("dimension", columns=1)
    axis = figure.axes[0]
    assert [tick.get_text() for tick in axis.get_xticklabels()] == ["Clarity", "Depth"]
    assert names(axis) == ["ann", "bob", "cat", "dan", "eve"]
    drawn = [text.get_text() for text in axis.texts]
    found = persona_departures(run).by_dimension
    assert [text.rstrip("*") for text in drawn] == [signed(one.value) for one in found]


def test_what_no_statistic_can_say_of_personas_is_in_the_caption() -> None:
    """One system has no departures beyond severity: dashes, and the reason."""
    run = a_run(("elm",))
    figure = RunPlots(run).personas()
    assert {text.get_text() for text in figure.axes[0].texts} == {"–"}
    reason = persona_departures(run).by_system[0].reason
    assert f"Some have no interval and no p: {reason}." in figure.caption


def test_contested_responses_are_drawn_with_every_persona() -> None:
    """The widest first, each persona at its departure with the marker of its axis, filled where it
    alone is beyond noise; the furthest on both sides are named."""
    run = of_axes(a_run())
    first, second = most_contested(run, 2)
    figure = RunPlots(run).contested(2)
    (axis,) = figure.axes
    stars = ["* " if one.established else "" for one in (first, second)]
    assert names(axis) == [
        f"{star}{one.system}/{one.id}" for star, one in zip(stars, (first, second), strict=True)
    ]
    drawn = [*points(axis, "o"), *points(axis, "s")]
    known = [
        (value, persona in one.named)
        for one in (first, second)
        for persona, value in one.departures.items()
    ]
    assert sorted(drawn) == sorted(known)
    lowest, highest = (pick(first.departures, key=first.departures.get) for pick in (min, max))
    assert [text.get_text() for text in axis.texts][:2] == [
        f"← {lowest.title()} $x$", f"{highest.title()} $x$ →"
    ]  # fmt: skip
    assert legend(figure) == ["disciplinary", "ideological", "beyond noise", "within noise"]


def test_a_persona_alone_contests_nothing() -> None:
    """Of one judge no response is contested: rows without points, and the reason."""
    run = a_run(("elm",), 2)
    alone = Run(run.items, run.titles, JUDGES[:1], RUBRIC, prices={"m:one": None}, seed=0)
    figure = RunPlots(alone).contested()
    assert [text.get_text() for text in figure.axes[0].texts] == ["no value"] * 2
    assert f"Of some no noise is known: {most_contested(alone)[0].reason}." in figure.caption


def test_strengths_are_drawn_with_their_intervals() -> None:
    """Of judges that compare, each system at its strength, the line at 0 being the mean."""
    responses = [
        Response(id=f"{system}{n}", prompt=f"Why {n}?", text=f"{system} {n}", system=system)
        for n in range(6)
        for system in ("elm", "oak", "yew")
    ]
    panel = Panel("disciplinary", ScriptedModel(), "debate-speech", elicitation="pairwise")
    compared = panel.score(responses)
    found = compared.strengths()
    assert found is not None and found.systems[0].strength.has_interval
    (axis,) = (figure := RunPlots(compared).strengths()).axes
    assert names(axis) == [one.system for one in found.systems]
    assert [x for x, _ in points(axis)] == [one.strength.value for one in found.systems]
    assert thick_lines(axis) == close([one.strength.ends for one in found.systems])
    assert figure.get_supxlabel().startswith("Bradley-Terry strength (log-odds")
    # What is no point is not called one.
    for drawn in (RunPlots(compared).differences(), RunPlots(compared).personas()):
        texts = [" ".join(text.get_text().split()) for text in drawn.findobj(Text)]
        assert any("(shares of the other responses)" in text for text in texts)
        assert not any("points" in text for text in texts)
