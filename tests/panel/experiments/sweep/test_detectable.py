"""The smallest Δ that a sweep can show: of its size, and of how far Δs spread."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from persona_panel import InputError, Panel, Persona, Response
from persona_panel.experiments.sweep.deltas import Names, measure
from persona_panel.experiments.sweep.detectable import (
    detectable_delta,
    detectable_in,
    sd_with_judges,
    smallest_claimed,
)
from persona_panel.experiments.sweep.plan import sweep_plan_of
from persona_panel.graphs.framing import FramedResponse
from persona_panel.statistics.core.means import detectable_effect
from persona_panel.testing import ScriptedModel, serving
from tests.sycophant import questions, world

READERS = [
    Persona(id=name, label=name, axis="annotator", description=f"You read {name}.")
    for name in ("closely", "quickly", "twice")
]


def test_judges_components_by_hand() -> None:
    """The spread of as many judges is that of their means; of others it has the noise that so many
    leave, in expectation: sd 1 among prompts and 2 within them."""
    rng = np.random.default_rng(0)
    deltas = rng.normal(0, 1, (20_000, 1)) + rng.normal(0, 2, (20_000, 4)) + [0, 1, 2, 5]
    assert sd_with_judges(deltas, 4) == pytest.approx(deltas.mean(axis=1).std(ddof=1))
    for n_judges in (1, 2, 16):
        assert sd_with_judges(deltas, n_judges) == pytest.approx(
            (1 + 4 / n_judges) ** 0.5, rel=0.02
        )


def test_what_cannot_be_split() -> None:
    """One judge's spread is what it is; prompts that a judge lacks are left out; one is too few."""
    assert sd_with_judges(np.array([[1.0], [3.0]]), 5) == pytest.approx(math.sqrt(2))
    some = np.array([[1.0, 2.0], [3.0, 2.0], [9.0, math.nan]])
    assert sd_with_judges(some, 2) == pytest.approx(np.std([1.5, 2.5], ddof=1))
    assert math.isnan(sd_with_judges(some[1:], 2))


def test_an_earlier_sweep_says_how_far_deltas_spread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the folder of a sweep the detectable Δ is in points: for as many judges by the spread of
    its cells, for other numbers by that of so many; a run of another command is refused."""
    with serving(world(sycophantic=False)) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("PERSONA_PANEL_CACHE", str(tmp_path / "cache"))
        panel = Panel(READERS, "openai:judge")
        folder = tmp_path / "sweep"
        swept = panel.sweep(questions(12), ["openai:a", "openai:b"], out=folder)
        panel.score([Response(id="1", prompt="Why?", text="So.", system="a")], out=tmp_path / "run")
    plan = sweep_plan_of(panel.plan, questions(40), "openai:a", {})
    three, one, none = (
        detectable_delta(plan, 5, n, like) for n, like in [(3, folder), (1, folder), (3, None)]
    )
    sds = [cell.delta.sd for cell in swept.cells]
    assert (three.n_prompts, three.n_cells, three.prompts_needed) == (40, 25, 2)
    assert three.effect == none.effect == detectable_effect(40, 0.05 / 25)
    assert none.spread is None
    assert three.spread is not None
    assert one.spread is not None
    found = three.spread
    assert (found.lowest, found.median, found.highest) == pytest.approx(
        (min(sds), np.median(sds), max(sds))
    )
    # Judges' noise is independent here: one judge has three times the variance.
    assert one.spread.median / found.median == pytest.approx(3**0.5, rel=0.2)
    assert three.document()["in_points"]["median"] == pytest.approx(
        three.effect * np.median(sds), abs=1e-6
    )
    # The sweep itself: 50 cells, 12 prompts.
    assert swept.detectable == detectable_in(swept.cells, 3)
    assert swept.detectable.effect == smallest_claimed(12, 50)
    with pytest.raises(InputError, match="another command"):
        detectable_delta(plan, 5, 3, tmp_path / "run")


def test_a_cell_in_which_all_deltas_are_equal_says_nothing_of_their_spread() -> None:
    """The median is over the cells in which Δs differ; where none do, there is no figure."""
    delta = np.zeros((1, 12, 3, 1))
    delta[0, :, 2, 0] = np.arange(12)
    names = Names(("s",), tuple(map(str, range(12))), ("a", "b", "c"), ("d",))
    none = np.zeros((1, 12, 3), dtype=np.intp)
    found = detectable_in(measure(delta, names, none, none).cells, 1)
    assert found.n_cells == 3
    assert found.spread is not None
    assert found.spread.lowest == pytest.approx(np.arange(12).std(ddof=1))
    assert detectable_in(measure(delta * 0, names, none, none).cells, 1).spread is None


def test_nothing_to_compare() -> None:
    """Given responses to one prompt, with 5 cells, no Δ of any size could be shown."""
    given = [
        FramedResponse(prompt_id="p", prompt="a?", condition=name, system="s", text="b")
        for name in ("baseline", "placebo")
    ]
    plan = sweep_plan_of(Panel(READERS, ScriptedModel()).plan, None, (), {"responses": given})
    found = detectable_delta(plan, 5, 3)
    assert (found.n_cells, found.prompts_needed) == (5, 2)
    assert found.document()["in_sd"] is None


@pytest.mark.parametrize(("n", "conditions"), [(3, 1), (5, 5), (8, 1), (8, 25), (20, 5)])
def test_the_smallest_delta_is_claimed_in_80_percent(n: int, conditions: int) -> None:
    """Of 200 sweeps of cells that have nothing in common, in 72 to 90 %."""
    rng = np.random.default_rng(1)
    names = Names(("s",), ("p",) * n, tuple(map(str, range(conditions))), ("d",))
    none = np.zeros((1, n, conditions), dtype=np.intp)
    claimed = 0
    for _ in range(200):
        delta = rng.normal(size=(1, n, conditions, 1))
        delta[:, :, 0] += smallest_claimed(n, conditions)
        claimed += measure(delta, names, none, none).cells[0].delta.shown
    assert 0.72 <= claimed / 200 <= 0.9
