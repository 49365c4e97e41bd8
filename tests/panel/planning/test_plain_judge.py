"""A judge without a persona: in a panel of its own, and beside personas, whom it is compared
with."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from persona_panel import (
    NO_PERSONA,
    ConfigurationError,
    InputError,
    ModelConfig,
    Panel,
    Persona,
    load_definition,
    load_run,
)
from persona_panel.analyses.run_summary import run_summary
from persona_panel.graphs import Response
from persona_panel.graphs.deliberation import Deliberation
from persona_panel.personas import PersonaSet
from persona_panel.rubrics import (
    Dimension,
    Question,
    Rubric,
    Scale,
    elicitation_names,
    is_comparative,
    load_comparing,
    load_elicitation,
)
from persona_panel.testing import ok, serving
from tests.helpers.comparisons import a_comparison

TWO = [
    Persona(id=name, label=name.title(), axis="own", description=f"You are {name}.")
    for name in ("ann", "bob")
]
QUESTION = Question(
    rubric=Rubric(
        id="two",
        label="Two",
        question="How good is it?",
        dimensions=tuple(
            Dimension(
                id=name,
                label=name.title(),
                definition="Defined.",
                guiding_question=f"Is there {name}?",
                scale=Scale(min=1, max=10, low="no", high="yes"),
            )
            for name in ("clarity", "depth")
        ),
    ),
    persona_label="Historian",
    persona_description="You ask when and where.",
    prompt="Is liberty one thing?",
    text="Liberty is many things.",
)
VIEWPOINT = "You ask when and where.\nYou judge as this reader and as nobody else: Historian.\n\n"


@pytest.mark.parametrize("layout", ["shared-prefix", "persona-first"])
@pytest.mark.parametrize(
    "name", [n for n in elicitation_names() if not is_comparative(n) and n != "verbatim"]
)
def test_the_prompt_holds_nothing_of_a_persona(name: str, layout: str) -> None:
    """In each elicitation and layout, what a judge without a persona is asked is what a judge with
    one is asked less the viewpoint, to the letter."""
    question = replace(QUESTION, layout=layout)  # type: ignore[arg-type]
    plain = replace(question, persona_label="Judge without a persona", persona_description="")
    with_, without = (next(load_elicitation(name).dialogue(one)) for one in (question, plain))
    assert "".join(with_.blocks).replace(VIEWPOINT, "") == "".join(without.blocks)
    assert "".join(with_.blocks) != "".join(without.blocks)
    assert "persona" not in "".join(without.blocks).lower()
    assert with_.system == without.system
    assert all(without.blocks)


@pytest.mark.parametrize("name", [n for n in elicitation_names() if is_comparative(n)])
def test_a_comparison_holds_nothing_of_a_persona(name: str) -> None:
    """The same holds of elicitations that compare."""
    comparison = a_comparison("One.", "Two.")
    plain = replace(comparison, persona_label="Judge without a persona", persona_description="")
    with_, without = (next(load_comparing(name).dialogue(one)) for one in (comparison, plain))
    viewpoint = "You ask when.\nYou judge as this reader and as nobody else: Historian.\n\n"
    assert "".join(with_.blocks).replace(viewpoint, "") == "".join(without.blocks)


def test_none_is_a_panel(monkeypatch: pytest.MonkeyPatch) -> None:
    """`personas="none"` is one judge, whose ratings are the verdicts; replicates are its own."""
    with serving() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        panel = Panel("none", "openai:stub", "debate-speech", replicates=2)
        run = panel.score([Response(id="a", prompt="P?", text="T.", system="s")])
    assert [judge.id for judge in panel.judges] == [
        "none|openai:stub|dimensions|1",
        "none|openai:stub|dimensions|2",
    ]
    assert run.verdicts[0].n_judges == 2
    assert run.control_leaderboard() is None


def test_a_set_may_have_a_judge_without_a_persona(tmp_path: Path) -> None:
    """In a set's file `none` stands for a judge without a persona, and no persona can take its
    id."""
    file = tmp_path / "set.yaml"
    persona = "{id: ann, label: Ann, axis: own, description: You are Ann.}"
    file.write_text(f"id: mine\nlabel: Mine\npersonas:\n  - {persona}\n  - none\n")
    assert load_definition(file, PersonaSet).personas[1] == NO_PERSONA
    file.write_text(f"id: mine\nlabel: Mine\npersonas:\n  - {persona.replace('ann', 'none')}\n")
    with pytest.raises(InputError, match="is that of a judge without a persona"):
        load_definition(file, PersonaSet)


def test_beside_personas_it_is_a_control(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A plain judge is asked as often as all personas, enters no verdict, has a ranking of its
    own, and all of that is read back from the run's folder."""

    def script(n: int, payload: object) -> object:
        plain = "as this reader" not in str(payload)
        return ok('{"good_opening": 1}' if plain else '{"good_opening": 5}')

    with serving(script) as server:  # type: ignore[arg-type]
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        panel = Panel(TWO, "openai:stub", "debate-speech", replicates=2, plain_judge=True)
        texts = [Response(id=i, prompt="P?", text=f"T {i}.", system=i) for i in "ab"]
        run = panel.score(texts, out=tmp_path / "run")
    assert [judge.persona for judge in panel.judges] == ["ann"] * 2 + ["bob"] * 2 + ["none"] * 4
    for one in (run, load_run(tmp_path / "run")):
        assert one.judges == panel.judges
        assert [verdict.n_asked for verdict in one.verdicts] == [4, 4]
        assert [entry.composite.value for entry in one.leaderboard().systems] == [5, 5]
        assert [entry.composite.value for entry in one.control_leaderboard().systems] == [1, 1]
        assert run_summary(one)["control_ranking"][0]["composite"] == 1
        assert one.coverage.expected == 16


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"models": [ModelConfig(model="openai:stub", temperature=0), "openai:other"]},
            "once by one and several times by others",
        ),
        ({"personas": "none"}, "this panel has none"),
        ({"deliberation": Deliberation(rounds=1)}, "deliberation is of one panel"),
    ],
)
def test_what_a_plain_judge_does_not_go_with(
    changes: dict[str, object], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where it would be asked once by one model and several times by another, or it has nothing to
    be compared with, a plain judge is refused before any call."""
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9")
    given: dict[str, object] = {"personas": TWO, "models": "openai:stub", "plain_judge": True}
    with pytest.raises(ConfigurationError, match=message):
        Panel(**(given | changes))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("temperature", "elicitation", "replicates"), [(0, "dimensions", 1), (1, "expected", 1),
                                                   (1, "dimensions", 2)]
)  # fmt: skip
def test_a_model_that_repeats_itself_is_asked_once(
    temperature: float, elicitation: str, replicates: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A plain judge at temperature 0, or by probabilities, is asked once, and else as often as both
    personas together."""
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9")
    model = ModelConfig(model="openai:stub", temperature=temperature, elicitation=elicitation)
    panel = Panel(TWO, model, plain_judge=True)
    plain = [judge.replicate for judge in panel.judges if not judge.has_persona]
    assert plain == [*range(1, replicates + 1)]


def test_sweeps_take_one_panel(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sweep, whose deltas are of one panel, refuses a judge that is compared with it."""
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9")
    panel = Panel([*TWO, NO_PERSONA], "openai:stub")
    with pytest.raises(ConfigurationError, match="a sweep is of one panel"):
        panel.sweep(["Why?"], "openai:other")
