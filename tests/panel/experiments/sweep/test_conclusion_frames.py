"""A sweep as data frames, and in short."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from persona_panel import Panel, Persona, Sweep
from persona_panel.testing import serving
from tests.helpers.frames import LIBRARIES, rows_of
from tests.sycophant import questions, world

READERS = [
    Persona(id=name, label=name.title(), axis="annotator", description=f"I am {name}.")
    for name in ("ann", "bob")
]


@pytest.fixture
def swept(monkeypatch: pytest.MonkeyPatch) -> Iterator[Sweep]:
    """Two systems, three prompts, five conditions, five dimensions, two judges."""
    with serving(world(sycophantic=True)) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        yield Panel(READERS, "openai:judge").sweep(questions(3), ["openai:a", "openai:b"])


@pytest.mark.parametrize("library", LIBRARIES)
def test_every_degradation_is_a_row_under_its_names(swept: Sweep, library: Any) -> None:
    """Each row's Δ and scores are those of the arrays at its system, prompt, condition and
    dimension."""
    rows = rows_of(swept.to_frame(library))
    assert len(rows) == 2 * 3 * 5 * 5
    for row in rows:
        s, p = swept.systems.index(row["system"]), swept.prompts.index(row["prompt_id"])
        c, d = swept.conditions.index(row["condition"]), swept.dimensions.index(row["dimension"])
        assert row["delta"] == swept.delta[s, p, c - 1, d]
        scores = swept.scores[s, p, 0, d], swept.scores[s, p, c, d]
        assert (row["baseline"], row["framed"]) == scores
    assert len({tuple(row.values())[:4] for row in rows}) == len(rows)


@pytest.mark.parametrize("library", LIBRARIES)
def test_every_cell_is_a_row_with_its_interval_and_test(swept: Sweep, library: Any) -> None:
    """The frame of the cells has what summary.json says of them."""
    rows = rows_of(swept.cells_frame(library))
    known = swept.summary()["cells"]
    assert len(rows) == len(known) == 2 * 5 * 5
    for row, cell in zip(rows, known, strict=True):
        assert row == pytest.approx({name: cell[name] for name in row}, abs=1e-6)


def test_a_sweep_in_short(swept: Sweep) -> None:
    """One line at a prompt; in a notebook a row for each system and condition."""
    assert repr(swept) == (
        "<Sweep: 2 systems, 3 prompts, 5 conditions and the baseline, 5 dimensions, "
        "72 of 72 judgments scored>"
    )
    shown = swept._repr_html_()
    assert shown.count("<tr>") == 1 + 2 * 5
    one = swept.composites[0]
    assert f"<td>{one.system}</td><td>{one.condition}</td><td>" in shown


def test_markup_in_a_name_is_text_in_a_notebook(swept: Sweep) -> None:
    """Markup in a system's name is escaped."""
    swept.composites = tuple(replace(one, system="<script>x</script>") for one in swept.composites)
    assert "<script" not in swept._repr_html_()
    assert "&lt;script&gt;" in swept._repr_html_()
