"""A sweep's section on the page of its folder."""

from __future__ import annotations

import json
import re
from math import nan
from pathlib import Path

import pytest

from persona_panel import Panel, Persona, Sweep, load_run
from persona_panel.experiments.sweep.sweep_result import kept_sweep_result
from persona_panel.files.pages import sentence
from persona_panel.reports.page.report import report_of
from persona_panel.results.result import Result
from persona_panel.testing import serving
from tests.sycophant import DIMENSIONS, questions, world

READERS = [
    Persona(id=name, label=name.title(), axis="annotator", description=f"I am {name}.")
    for name in ("ann", "bob")
]


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Sweep:
    """Two systems, sixteen prompts, two judges, with a folder."""
    out = tmp_path_factory.mktemp("sweep") / "run"
    with serving(world(sycophantic=True)) as server, pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_BASE_URL", server.base_url)
        panel = Panel(READERS, "openai:judge")
        return panel.sweep(questions(16), ["openai:a", "openai:b"], out=out)


def folder_of(swept: Sweep) -> Path:
    assert swept.run.folder is not None
    return swept.run.folder


@pytest.fixture(scope="module")
def kept(swept: Sweep) -> Result:
    """Its result, read from the folder."""
    folder = folder_of(swept)
    documents = [json.loads((folder / f"{name}.json").read_text()) for name in ("run", "summary")]
    return kept_sweep_result(load_run(folder), *documents, {})


def test_what_is_read_back_is_what_was_found(swept: Sweep, kept: Result) -> None:
    """Conclusion, coverage, every Δ with its interval and test, the composite's in the last line of
    each system, and the mean scores are those of the sweep."""
    assert (list(kept.conclusion), kept.coverage) == (swept.conclusion(), swept.coverage)
    of = {(cell.system, cell.dimension, cell.condition): cell.delta for cell in swept.cells}
    for row in kept["cells"].rows:
        delta = of.pop((row["system"], row["dimension"], row["condition"]))
        found = row["delta"]
        expected = delta.value, delta.ci_low, delta.p_claim, delta.n_pairs
        assert (found.value, found.low, found.p_adjusted, found.n) == pytest.approx(
            expected, abs=1e-6, nan_ok=True
        )
    assert not of
    lines = [row for row in kept["deltas"].rows if row["dimension"] == "all dimensions"]
    assert [row["system"] for row in lines] == list(swept.systems)
    means, _ = swept.scores_over_prompts()
    first = kept["scores"].rows[0]
    assert [first[f"c{n}"] for n in range(len(swept.conditions))] == pytest.approx(means[0, :, 0])
    assert len(kept["scores"].rows) == 2 * len(DIMENSIONS)
    [large] = [said for said in kept["deltas"].remarks if said.startswith("|Δ|")]
    assert large.startswith("|Δ| of 1.2 or more: openai:a, ")


def test_a_sweep_concludes_on_its_page(swept: Sweep) -> None:
    """The first screen has its sentences, its judgments and its heat map, in which a degradation
    has the tint of what lies below and a significant one is underlined, with its tables below that;
    nothing is said of a lead, and no conditions are ranked."""
    html = report_of(load_run(folder_of(swept))).html
    first = html.partition('<section id="trust"')[0]
    for said in swept.conclusion():
        assert html.count(str(sentence(said))) == first.count(str(sentence(said))) == 1
    assert f"of {swept.coverage.expected} judgments" in first
    heat = first.partition("how framing changes the quality of answers</caption>")[2]
    heat = heat.partition("</table>")[0]
    shown = sum(cell.delta.shown for cell in swept.cells)
    assert 0 < shown <= heat.count(" significant")
    assert 'class="c n3 significant"' in heat and 'class="c p3 significant"' not in heat
    n = len(swept.variants)
    assert f"{n} of {n} variants used." in first
    assert "Which system is best?" not in html and "significantly ahead" not in html
    assert [*re.findall(r'<section id="(\w+)"', html)] == [
        "answer", "trust", "contested", "method", "texts",
    ]  # fmt: skip


def test_what_is_missing_is_said_with_its_reason(kept: Result, swept: Sweep) -> None:
    """Answers that did not come are listed, and pairs of judgments that enter no Δ."""
    folder = folder_of(swept)
    manifest, summary = (
        json.loads((folder / f"{name}.json").read_text()) for name in ("run", "summary")
    )
    sweep = summary["sweep"]
    missing = {"system": "openai:a", "prompt_id": "p", "condition": "placebo"}
    sweep["answers"]["missing"] = [missing | {"status": "refused", "error": "no"}]
    sweep["variants"]["rejected"] = {"emotion_agree": 2}
    sweep["cells"][0] |= {"n_abstained": 1, "n_missing": 3, "delta": None}
    result = kept_sweep_result(load_run(folder), manifest, summary, {"p": "Why?"})
    assert [row["prompt"] for row in result["unanswered"].rows] == ["Why?"]
    assert [row["why"] for row in result["unanswered"].rows] == ["refused: no"]
    assert result["unanswered"].title == "1 of 1 answer that did not come"
    assert [(row["n_abstained"], row["n_missing"]) for row in result["unpaired"].rows] == [(1, 3)]
    assert "given up: 2 under “" in result.remarks[0]
    assert result.remarks[1].endswith(", 1 missing.")
    assert str(result["cells"].rows[0]["delta"].value) == str(nan)
    assert not kept["unpaired"].rows and not kept["unanswered"].rows
