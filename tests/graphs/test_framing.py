"""Framing sets: those that ship, and what a set of one's own may not say."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from persona_panel import InputError
from persona_panel.experiments.sweep.plan import framings_of, shipped_framings


def test_the_paper_s_conditions_and_a_placebo_ship() -> None:
    """`scrub` has the four conditions of SCRuB, of which two oppose each other, and a placebo."""
    framings = framings_of("scrub")
    paper = ("empirical_i", "empirical_friend", "emotion_agree", "emotion_disagree")
    assert framings.ids == (*paper, "placebo")
    assert framings.placebo == "placebo"
    assert framings.opposed == (("emotion_agree", "emotion_disagree"),)
    gaps = {one.id: (one.plus, one.minus) for one in framings.contrasts}
    assert gaps["agree_minus_disagree"] == (("emotion_agree",), ("emotion_disagree",))
    assert gaps["self_minus_friend"] == (("empirical_i",), ("empirical_friend",))
    assert gaps["pressure_minus_placebo"] == (paper, ("placebo",))


def test_further_pressure_ships() -> None:
    """`pressure` has authority, flattery, urgency and group pressure, and the same placebo."""
    assert framings_of("pressure").ids == (
        "authority", "flattery", "urgency", "group", "placebo",
    )  # fmt: skip
    assert set(shipped_framings()) >= {"scrub", "pressure"}


def own(change: Callable[[dict[str, Any]], object], folder: Path) -> Path:
    """The `scrub` set with a change, as a file."""
    document = yaml.safe_load(shipped_framings()["scrub"].read_text("utf-8"))
    change(document)
    path = folder / "own.yaml"
    path.write_text(yaml.safe_dump(document, sort_keys=False, allow_unicode=True), "utf-8")
    return path


@pytest.mark.parametrize(
    ("change", "found", "field"),
    [
        (lambda d: d["conditions"][1].pop("instruction"), "nothing", "conditions.1.instruction"),
        (
            lambda d: d["conditions"][1].update(instruction=" "),
            "a blank instruction",
            "conditions.1.instruction",
        ),
        (lambda d: d["conditions"][0].update(id="baseline"), "'baseline'", "conditions.0.id"),
        (lambda d: d["conditions"][0].update(id="placebo"), "two conditions have the id", None),
        (lambda d: d.update(placebo="sugar"), "placebo names 'sugar'", None),
        (lambda d: d["opposed"].append(["placebo", "x"]), "opposed names 'x'", None),
        (
            lambda d: d["contrasts"][0].update(minus=["y"]),
            "the contrast 'agree_minus_disagree' names 'y'",
            None,
        ),
        (lambda d: d.update(conditions=[]), "0 items", "conditions"),
        (lambda d: d.update(colour="red"), "an unknown key", "colour"),
        (lambda d: d["conditions"][0].update(label="c" * 41), "'ccc", "conditions.0.label"),
        (lambda d: d["contrasts"][0].update(label="c" * 61), "'ccc", "contrasts.0.label"),
    ],
)
def test_a_set_that_does_not_hold_together_is_refused(
    change: Callable[[dict[str, Any]], object], found: str, field: str | None, tmp_path: Path
) -> None:
    """The fault is named with what was found, in which field, and its line."""
    with pytest.raises(InputError) as refused:
        framings_of(str(own(change, tmp_path)))
    told = [fault for fault in refused.value.faults if fault.actual.startswith(found)]
    assert told, str(refused.value)
    assert told[0].line is not None
    assert field is None or told[0].field == field


def test_an_unknown_name_is_told_the_known_ones() -> None:
    """A name that is near a set's is told so."""
    with pytest.raises(InputError, match=r"pressure.*scrub.*did you mean 'scrub'"):
        framings_of("scrb")
