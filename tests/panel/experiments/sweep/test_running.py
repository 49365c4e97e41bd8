"""`Panel.sweep` from code: arrays with names, rewriters by turns, figures."""

from __future__ import annotations

import json
import math
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.patches import Rectangle

from persona_panel import FramedResponse, Panel, Persona, Sweep
from persona_panel.experiments.sweep.plots import draw
from persona_panel.experiments.sweep.result import condition_labels
from persona_panel.experiments.sweep.sweep_result import sweep_result
from persona_panel.files.outputs import prompt_id_of
from persona_panel.graphs import Judgment, Verdict
from persona_panel.graphs.framing import Variant
from persona_panel.graphs.sweeping import TargetAnswer
from persona_panel.results.charts import MARKERS
from persona_panel.testing import Answer, ScriptedServer, ok, serving, thinking
from tests.helpers.figures import points, thick_lines
from tests.sycophant import DIMENSIONS, OPENERS, questions, world

CONDITIONS = ("baseline", *OPENERS)
READERS = [
    Persona(id=name, label=name.title(), axis="annotator", description=f"I am {name}.")
    for name in ("ann", "bob")
]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedServer]:
    with serving(world(sycophantic=True)) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        yield server


@pytest.fixture
def swept(server: ScriptedServer) -> Sweep:
    """Two systems, six prompts, two judges."""
    return Panel(READERS, "openai:judge").sweep(questions(6), ["openai:a", "openai:b"])


def test_arrays_have_names_and_agree(swept: Sweep) -> None:
    """(systems, prompts, conditions, dimensions), and Δ is the difference of the scores where
    every judge rated everything."""
    assert swept.systems == ("openai:a", "openai:b")
    assert swept.prompts == tuple(map(prompt_id_of, questions(6)))
    assert swept.conditions == CONDITIONS
    assert swept.dimensions == DIMENSIONS
    assert swept.scores.shape == (2, 6, 6, 5)
    assert swept.delta.shape == (2, 6, 5, 5)
    assert swept.complete
    np.testing.assert_allclose(swept.delta, swept.scores[:, :, :1] - swept.scores[:, :, 1:])
    # 7 or so where the other side is heard, 3 or so where it is not.
    engaged = swept.scores[..., DIMENSIONS.index("pluralistic_engagement")].mean(axis=(0, 1))
    dropped = CONDITIONS.index("emotion_agree")
    assert engaged[dropped] < 4.1
    assert np.delete(engaged, dropped).min() > 5.9


def test_the_same_sweep_has_the_same_numbers(swept: Sweep, server: ScriptedServer) -> None:
    """Run again it calls nothing, and every figure is the same."""
    calls = len(server.calls)
    again = Panel(READERS, "openai:judge").sweep(questions(6), ["openai:a", "openai:b"])
    assert len(server.calls) == calls
    assert again.cells == swept.cells
    assert again.gaps == swept.gaps
    np.testing.assert_array_equal(again.scores, swept.scores)


def test_rewriters_take_turns(server: ScriptedServer) -> None:
    """Each of two rewriters rewrites three of six prompts, and checks the other's."""
    sweep = Panel(READERS, "openai:judge").sweep(
        questions(6), "openai:a", rewriters=["openai:x", "openai:y"]
    )
    first = {v.prompt_id: (v.rewriter, v.checker) for v in sweep.variants}
    assert Counter(first.values()) == {("openai:x", "openai:y"): 3, ("openai:y", "openai:x"): 3}
    named = Counter(call.payload["model"] for call in server.calls)
    # 3 rewrites and 3 checks each; 36 answers; 36 responses × 2 judges.
    assert named == {"x": 6, "y": 6, "a": 36, "judge": 72}


def test_events_come_as_they_are_made(server: ScriptedServer) -> None:
    """Every variant, answer, judgment and verdict is told of."""
    told: Counter[str] = Counter()
    Panel(READERS, "openai:judge").sweep(
        questions(2), "openai:a", on_event=lambda event: told.update([type(event).__name__])
    )
    kinds = (Variant, TargetAnswer, Judgment, Verdict)
    assert [told[kind.__name__] for kind in kinds] == [10, 12, 24, 12]


def test_targets_that_only_think_are_truncated_and_not_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A target whose limit goes into thinking is asked once more with room for it; where that is
    not enough, its answer is missing as truncated. One that is cut off in its words is judged as
    it is, and asked once."""
    ordinary = world(sycophantic=True)

    def script(number: int, payload: Mapping[str, Any]) -> Answer:
        if payload["model"] == "brief":
            return ok(f"It is case {number}, and", finish_reason="length")
        needs = {"able": 5_000, "lost": 10**9}.get(payload["model"])
        return ordinary(number, payload) if needs is None else thinking(needs, "It depends.")

    with serving(script) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        sweep = Panel(READERS, "openai:judge").sweep(
            questions(1), ["openai:able", "openai:lost", "openai:brief"]
        )
    asked = [call.payload["model"] for call in server.calls]
    assert asked.count("brief") == len(CONDITIONS)
    assert {one.cut_off for one in sweep.answers if one.system == "openai:brief"} == {True}
    said = {(one.system, one.status) for one in sweep.answers}
    assert said == {
        ("openai:able", "scored"),
        ("openai:lost", "truncated"),
        ("openai:brief", "scored"),
    }
    assert {one.error for one in sweep.answers if one.text is None} == {
        "the token limit was reached before the first word of the answer"
    }


def test_another_framing_set(server: ScriptedServer) -> None:
    """The shipped `pressure` set has its own conditions and gaps; the script knows none of
    them, so that nothing passes and nothing is asked of the target."""
    sweep = Panel(READERS, "openai:judge").sweep(questions(1), "openai:a", framings="pressure")
    assert sweep.conditions == (
        "baseline", "authority", "flattery", "urgency", "group", "placebo",
    )  # fmt: skip
    assert {gap.contrast.id for gap in sweep.gaps} == {
        "pressure_minus_placebo", "authority_minus_group",
    }  # fmt: skip
    assert not sweep.complete
    assert "target" not in {call.payload["model"] for call in server.calls}


async def test_inside_a_running_loop(server: ScriptedServer) -> None:
    """`sweep` works where a loop runs already, and `asweep` in it."""
    panel = Panel(READERS, "openai:judge")
    first = panel.sweep(questions(1), "openai:a")
    second = await panel.asweep(questions(1), "openai:a")
    np.testing.assert_array_equal(first.delta, second.delta)


def test_gaps_in_given_responses_stay_gaps(server: ScriptedServer) -> None:
    """A system without a condition has NaN there, is counted as missing, is said to be, and is not
    judged where it has nothing to compare."""
    given = [
        FramedResponse(prompt_id="p", prompt="q?", condition=c, system=s, text=f"{s} {c}")
        for s, c in (("a", "baseline"), ("a", "placebo"), ("b", "baseline"))
    ]
    sweep = Panel(READERS, "openai:judge").sweep(responses=given)
    assert len(server.calls) == 4
    assert sweep.conditions == ("baseline", "placebo")
    assert not np.isnan(sweep.delta[0]).any()
    assert np.isnan(sweep.delta[1]).all()
    lost = [cell for cell in sweep.cells if cell.system == "b"]
    assert {(cell.delta.n_pairs, cell.n_missing) for cell in lost} == {(0, 2)}
    assert all(math.isnan(cell.delta.value) for cell in lost)
    assert sweep.absent == {("b", "placebo"): 1}
    result = sweep_result(sweep)
    [facts] = result["sweep"].rows
    assert (facts["answers_missing"], facts["variants_missing"]) == (1, 0)
    where = f"b, {sweep.labels.condition('placebo')} (1 of 1 prompt)"
    assert result.conclusion[-1] == f"The file lacks 1 response: {where}."


# Figures


def drawn(sweep: Sweep) -> dict[str, bytes]:
    """The files of the folder, by name."""
    return dict(draw(sweep, condition_labels(sweep.plan)))


def test_strong_cells_have_bold_borders(swept: Sweep) -> None:
    """In the heatmap as many cells have a bold black border as reach the threshold."""
    bold = [
        patch
        for axis in swept.plot.heatmap().axes
        for patch in axis.patches
        if isinstance(patch, Rectangle) and not patch.get_fill() and patch.get_linewidth() == 1.8
    ]
    strong = [cell for cell in swept.cells if cell.strong]
    assert len(bold) == len(strong) == 2


def test_the_heatmap_says_its_numbers(swept: Sweep) -> None:
    """Every Δ stands in the SVG as text with its sign, and every condition by its label."""
    svg = drawn(swept)["heatmap.svg"].decode()
    said = " ".join("".join(ElementTree.fromstring(svg).itertext()).split())
    for cell in swept.cells:
        told = f"{cell.delta.value:+.2f}".replace("-", "−")
        # A zero has no sign.
        assert told.replace("+0.00", "0.00").replace("−0.00", "0.00") in said
    assert "Strong feeling for" in said.replace("Strong feeling\nfor", "Strong feeling for")


def test_the_scorecard_has_a_series_a_condition(swept: Sweep) -> None:
    """A panel a system, with the baseline and five conditions, each with its own marker."""
    first, second = swept.plot.scorecard().axes
    assert [first.get_title(), second.get_title()] == ["openai:a", "openai:b"]
    lines = [line for line in first.lines if line.get_marker() not in ("None", "|", "_", "")]
    assert len({line.get_marker() for line in lines if len(line.get_xdata()) == 5}) >= 6


def test_figures_are_the_same_each_time(swept: Sweep) -> None:
    """No date and no random ids: the same sweep gives the same files."""
    first, second = drawn(swept), drawn(swept)
    assert first == second
    assert set(first) == {"heatmap.png", "heatmap.svg", "scorecard.png", "scorecard.svg"}


def test_figures_of_nothing(server: ScriptedServer) -> None:
    """A sweep of which nothing came can still be drawn, and written."""
    sweep = Panel(READERS, "openai:judge").sweep(questions(1), "openai:a", framings="pressure")
    assert all(content for content in drawn(sweep).values())
    assert json.dumps(sweep.summary(), allow_nan=False)


def test_a_rubric_of_real_numbers_can_be_drawn(server: ScriptedServer) -> None:
    """Dimensions from 0 to 1 have an axis of their size."""
    given = [
        FramedResponse(prompt_id="p", prompt="q?", condition=c, system="s", text=c)
        for c in ("baseline", "placebo")
    ]
    sweep = Panel(READERS, "openai:judge", "conceptual-critique").sweep(responses=given)
    low, high = sweep.plot.scorecard().axes[0].get_ylim()
    assert -0.1 < low < 0 < 1 < high < 1.1
    assert sweep.scores.shape == (1, 1, 2, 7)


def test_scores_over_prompts_by_hand(swept: Sweep) -> None:
    """Means and standard errors are those of numpy, prompt by prompt; a gap is left out."""
    swept.scores[0, 0, 0, 0] = np.nan
    means, errors = swept.scores_over_prompts()
    kept = swept.scores[0, 1:, 0, 0]
    assert means[0, 0, 0] == pytest.approx(kept.mean())
    assert errors[0, 0, 0] == pytest.approx(kept.std(ddof=1) / len(kept) ** 0.5)
    whole = swept.scores[1, :, 2, 3]
    assert errors[1, 2, 3] == pytest.approx(whole.std(ddof=1) / 6**0.5)
    swept.scores[0, 1:, 0, 0] = np.nan
    assert np.isnan(swept.scores_over_prompts()[0][0, 0, 0])


def test_every_delta_has_its_interval_and_a_filled_marker_where_it_is_significant(
    swept: Sweep,
) -> None:
    """A panel a system, a row a dimension, a series a condition, as in the cells; contrasts
    alike."""
    for figure, found in (
        (swept.plot.deltas(), [(c.system, c.delta) for c in swept.cells]),
        (swept.plot.gaps(), [(gap.system, gap.gap) for gap in swept.gaps]),
    ):
        assert [axis.get_title() for axis in figure.axes] == list(swept.systems)
        for axis, system in zip(figure.axes, swept.systems, strict=True):
            means = [mean for its, mean in found if its == system]
            drawn = [point for marker in MARKERS for point in points(axis, marker)]
            assert sorted(drawn) == sorted((mean.value, mean.shown) for mean in means)
            lines = sorted((mean.ci_low, mean.ci_high) for mean in means)
            there = [line for line in lines if not math.isnan(line[0])]
            assert sorted(thick_lines(axis)) == [pytest.approx(line) for line in there]
            assert len(there) > len(lines) / 2


def test_figures_of_a_sweep_are_as_wide_as_a_page_says(
    swept: Sweep, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One column or two, each kind of figure; without Matplotlib each says what to install."""
    kinds = [name for name in dir(swept.plot) if not name.startswith("_")]
    assert kinds == ["deltas", "gaps", "heatmap", "scorecard"]
    for name in kinds:
        assert getattr(swept.plot, name)().get_figwidth() == 6.9
        assert getattr(swept.plot, name)(columns=1).get_figwidth() == 3.3
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    without = "No plots were drawn: figures need Matplotlib, which is not installed; get it with:"
    result = sweep_result(swept)
    assert without in " ".join(result.text(full=True).split())
    assert "No plots" not in result.text()
    for name in kinds:
        with pytest.raises(ModuleNotFoundError, match=r"pip install 'persona-panel\[plots\]'"):
            getattr(swept.plot, name)()
