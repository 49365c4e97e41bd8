"""The panels of an ablation, by what is varied."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from persona_panel import ModelConfig
from persona_panel.files.errors import ConfigurationError
from persona_panel.graphs.deliberation import Deliberation
from persona_panel.planning.definitions import resolve_personas
from persona_panel.planning.panel_plan import PanelPlan
from persona_panel.planning.variation import BASE, varied_panels
from persona_panel.rubrics.instructions import ENGLISH


def model(name: str = "one", **more: Any) -> ModelConfig:
    more = {"elicitation": "dimensions", **more}
    return ModelConfig(model=f"openai:{name}", base_url="http://127.0.0.1:9/v1", **more)


def varied(*vary: str, **settings: Any) -> dict[str, PanelPlan]:
    """The panels other than the base: two personas on one model unless settings say otherwise."""
    base = {"personas": "political", "rubric": "argument-quality", "models": [model()]}
    panels = varied_panels(base | settings, vary)
    assert next(iter(panels)) == BASE
    return {name: plan for name, plan in panels.items() if name != BASE}


def elicitations(panels: Mapping[str, PanelPlan]) -> dict[str, list[str]]:
    return {name: [each.elicitation for each in plan.models] for name, plan in panels.items()}


def test_names_alone_stand_for_their_usual_values() -> None:
    """Reasons are added, or left out where there are some; every variant of the rubric and no
    rubric; no personas; each model; the other value of what is on or off, or a choice."""
    assert elicitations(varied("reasoning")) == {"reasoning=yes": ["justified"]}
    reasoned = varied("reasoning", models=[model(elicitation="justified")])
    assert elicitations(reasoned) == {"reasoning=none": ["dimensions"]}
    names = ["guidelines=expert", "guidelines=novice", "guidelines=none"]
    assert [*varied("guidelines")] == names
    assert [*varied("guidelines", rubric="argument-quality:novice")] == [names[0], names[2]]
    two = varied("models", models=[model("a"), model("b")])
    assert {name: [each.id for each in plan.models] for name, plan in two.items()} == {
        f"models=openai:{name}": [f"openai:{name}"] for name in "ab"
    }
    assert [*varied("plain-judge, layout")] == ["plain_judge=true", "layout=persona-first"]
    assert [*varied("plain_judge", plain_judge=True)] == ["plain_judge=false"]


def test_without_personas_a_judge_is_asked_as_often_as_all() -> None:
    """For every persona, twice each, the plain judge is asked; the plain judge of the base goes."""
    [plan] = varied("personas", replicates=2, plain_judge=True).values()
    base = varied("replicates=2")["replicates=2"]
    n = len(base.judges)
    assert n == 2 * len(base.personas) > 2
    assert [judge.persona for judge in plan.judges] == ["none"] * n
    assert [judge.replicate for judge in plan.judges] == [*range(1, n + 1)]
    assert plan.settings.plain_judge is False


def test_one_judgment_is_not_counted_several_times() -> None:
    """At temperature 0 the plain judge says the same each time: it is asked once, beside however
    many personas; it is refused beside models of which only some repeat themselves."""
    cold = model(temperature=0.0)
    one = resolve_personas("political")[:1]
    for given in ({"models": [cold]}, {"models": [cold], "personas": one}):
        [plan] = varied("personas", **given).values()
        assert [judge.id for judge in plan.judges] == ["none|openai:one|dimensions|1"]
    warm = model("other", temperature=1.0)
    with pytest.raises(ConfigurationError, match="asked once by one and several times by others"):
        varied("personas", models=[cold, warm])


def test_none_leaves_out_what_need_not_be_set() -> None:
    """`none` of such an option is what holds without it: the model's own elicitation, the rubric's
    language, no deliberation; it is no name of a prompt's file."""
    own = {"rubric": "scrub", "models": [model(elicitation=None)]}
    [asked] = varied("elicitation=none", **own, elicitation="holistic").values()
    assert [each.elicitation for each in asked.models] == ["dimensions"]
    [english] = varied("language=none", **own, language="de").values()
    assert english.rubric.asked_in == ENGLISH
    [alone] = varied("deliberation=none", **own, deliberation=Deliberation(rounds=2)).values()
    assert alone.settings.deliberation is None
    with pytest.raises(ConfigurationError, match="changes nothing"):
        varied("prompt=none")


def test_values_are_named() -> None:
    """Several are joined by commas, models of one panel by +; the base's models keep their
    settings; rounds are of the rules that the base has."""
    assert [plan.settings.replicates for plan in varied("replicates=3,5").values()] == [3, 5]
    kept, other = model("a", temperature=0.5), "openai:b@http://127.0.0.1:8/v1"
    [both] = varied(f"models=openai:a+{other}", models=[kept]).values()
    assert [each.temperature for each in both.models] == [0.5, None]
    rules = Deliberation(rounds=1, named=True)
    [longer] = varied("deliberation=3", deliberation=rules).values()
    assert longer.settings.deliberation == Deliberation(rounds=3, named=True)
    [begun] = varied("deliberation=2").values()
    assert begun.settings.deliberation == Deliberation(rounds=2)
    [warm] = varied("temperature=0.7").values()
    assert [each.temperature for each in warm.models] == [0.7]
    _, novice, free = varied("guidelines").values()
    assert novice.rubric.question != varied("replicates=2")["replicates=2"].rubric.question
    assert [each.elicitation for each in free.models] == ["unguided"]


def test_what_is_alike_is_one_panel() -> None:
    """A value that the base has, or another panel, makes none."""
    assert [*varied("replicates=1,2,2")] == ["replicates=2"]


@pytest.mark.parametrize(
    ("vary", "faults"),
    [
        (["replicates=many", "temperature=hot"], ["--vary replicates=many", "--vary temperature="]),
        (["reasoning=maybe"], ["found 'maybe'; expected yes or none"]),
        (["deliberation=-1"], ["--vary deliberation=-1"]),
    ],
)
def test_every_fault_is_said(vary: Sequence[str], faults: Sequence[str]) -> None:
    with pytest.raises(ConfigurationError) as refused:
        varied(*vary)
    lines = str(refused.value).splitlines()
    for fault in faults:
        assert any(fault in line for line in lines), lines
