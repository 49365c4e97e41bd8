"""What a sweep is to do, put together from names and objects."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from persona_panel import ConfigurationError, FramedResponse, InputError, ModelConfig, Prompt
from persona_panel.experiments.sweep.plan import Options, SweepPlan, sweep_plan_of
from persona_panel.files.outputs import prompt_id_of
from persona_panel.planning.panel_plan import PanelPlan

URL = "http://127.0.0.1:9/v1"
JUDGE = ModelConfig(model="openai:judge", base_url=URL)
PANEL = PanelPlan.of("perspectives", JUDGE, "scrub", seed=3)


def target(name: str) -> ModelConfig:
    return ModelConfig(model=f"openai:{name}", base_url=URL)


def plan(prompts: Any = ("a?", "b?"), targets: Any = None, **options: Any) -> SweepPlan:
    chosen: Options = options  # type: ignore[assignment]
    return sweep_plan_of(PANEL, prompts, [target("t")] if targets is None else targets, chosen)


def response(condition: str, prompt_id: str = "p1", prompt: str = "a?") -> FramedResponse:
    return FramedResponse(
        prompt_id=prompt_id, prompt=prompt, condition=condition, system="s", text="Yes."
    )


def test_rewriters_are_dealt_in_equal_shares() -> None:
    """Of 30 prompts three rewriters get ten each, in no simple order, the same with one seed;
    none checks itself."""
    rewriters = [target(name) for name in "xyz"]
    prompts = [f"{i}?" for i in range(30)]
    dealt = plan(prompts, rewriters=rewriters).dealt()
    assert set(Counter(one["rewriter"] for one in dealt.values()).values()) == {10}
    assert all(one["rewriter"] != one["checker"] for one in dealt.values())
    in_order = [dealt[prompt_id_of(prompt)]["rewriter"] for prompt in prompts]
    assert in_order != in_order[:3] * 10
    assert dealt == plan(prompts, rewriters=rewriters).dealt()


def test_the_panel_rewrites_where_nobody_is_named() -> None:
    """Without rewriters it is the judges' models; one alone checks itself."""
    assert plan().dealt()[prompt_id_of("a?")] == {
        "rewriter": "openai:judge",
        "checker": "openai:judge",
    }


def test_a_model_of_the_panel_is_reached_as_there() -> None:
    """Named by its spec, a target has the address that the panel gives it; the temperature is
    that of targets and changes no judge."""
    [seat] = plan(targets="openai:judge", temperature=0.7).targets
    assert (seat.config.base_url, seat.config.temperature) == (URL, 0.7)
    assert PANEL.models[0].config.temperature is None
    assert set(plan(targets="openai:judge").endpoints) == {
        "target openai:judge", "rewriter openai:judge",
    }  # fmt: skip


def test_conditions_of_given_responses() -> None:
    """Those of the framing set in its order, then the user's own; nothing is generated."""
    given = [response(name) for name in ("mine", "placebo", "baseline", "emotion_agree")]
    made = plan(None, (), responses=given)
    assert made.conditions == ("emotion_agree", "placebo", "mine")
    assert (made.targets, made.rewriters, made.dealt()) == ((), (), {})
    assert (made.systems, [p.text for p in made.prompts]) == (("s",), ["a?"])


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"targets": ()}, "needs targets or responses"),
        ({"prompts": None}, "needs prompts"),
        ({"targets": [target("t"), target("t")]}, "a target twice"),
        ({"responses": [response("baseline")]}, "no targets are called"),
        ({"judge_sees": "both"}, "'framed' or 'baseline'"),
        ({"threshold": 0}, "above 0"),
        ({"words": 0}, "1 or more"),
        ({"rewriters": "nobody"}, "is not a model"),
    ],
)
def test_what_does_not_go_together(arguments: dict[str, Any], told: str) -> None:
    """Each is refused with a word on what is wrong."""
    with pytest.raises(ConfigurationError, match=told):
        plan(**arguments)


@pytest.mark.parametrize(
    ("prompts", "told"),
    [
        ([], "no prompts"),
        (["a?", " "], "prompts:2: prompt: found an empty value"),
        ([Prompt(id="p", text="a?"), Prompt(id="p", text="b?")], "prompts:2: id: found 'p' again"),
        (["a?", "b?", "a?"], "prompts:3: prompt: found the same prompt again"),
    ],
)
def test_prompts_that_cannot_be_used(prompts: list[Any], told: str) -> None:
    """Blank and repeated ones are refused with their places."""
    with pytest.raises(InputError, match=told):
        plan(prompts)


def test_responses_to_other_prompts_than_those_given() -> None:
    """Beside prompts, responses must be theirs, in id and in text."""
    prompts = [Prompt(id="p1", text="other?")]
    given = [response("baseline"), response("x"), response("baseline", "p9"), response("x", "p9")]
    with pytest.raises(InputError) as refused:
        plan(prompts, (), responses=given)
    assert [fault.field for fault in refused.value.faults] == ["prompt", "prompt_id"]


def test_a_rubric_of_categories_only_is_refused() -> None:
    """There would be no difference to take."""
    with pytest.raises(ConfigurationError, match="has only categories"):
        sweep_plan_of(
            PanelPlan.of("perspectives", JUDGE, "critical-question"), ["a?"], [target("t")], {}
        )
