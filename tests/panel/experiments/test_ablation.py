"""The outcome of an ablation; its commands are tested in `tests/panel/cli/test_ablate.py`."""

from __future__ import annotations

from persona_panel.experiments.ablation import Ablation
from persona_panel.planning.variation import BASE
from tests.helpers.gate_runs import run_of


def test_an_ablation_is_complete_with_every_judgment_of_every_panel() -> None:
    """One that lacks a judgment, or a panel, is not."""
    whole, lacking = run_of([[[5.0]]], ["a"]), run_of([[[float("nan")]]], ["a"])
    assert Ablation({BASE: whole}, {}).complete
    assert not Ablation({BASE: whole}, {"personas=none": "no key"}).complete
    assert not Ablation({BASE: whole, "replicates=2": lacking}, {}).complete
