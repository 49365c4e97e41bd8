"""How a model is asked follows from what its client says it can do, whoever its provider is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from persona_panel import rubrics
from persona_panel.files.definitions import load_definition
from persona_panel.files.errors import ConfigurationError
from persona_panel.models.client import Capabilities
from persona_panel.models.config import FREE, ModelConfig
from persona_panel.planning.bound_models import BoundModel, GivenModel, bind_models, texts_at_once
from persona_panel.planning.panel_plan import refuse_repeats
from persona_panel.rubrics import ModelRequest, ModelResponse, Rubric
from persona_panel.runs.cost_estimate import ModelEstimate, is_probed
from persona_panel.runs.model_access import concurrency_of


class Client:
    """A model that can do what is said."""

    parameters: Mapping[str, Any] = {"model": "able"}

    def __init__(self, **capabilities: Any) -> None:
        self.capabilities = Capabilities(**capabilities)

    async def complete(self, ask: ModelRequest) -> ModelResponse:
        return ModelResponse("7")

    async def aclose(self) -> None: ...


def bound(elicitation: str = "dimensions", **capabilities: Any) -> BoundModel:
    config = ModelConfig(model="others:able", concurrency=50)
    given = GivenModel(Client(**capabilities))
    return BoundModel(config.model, config, elicitation, "shared-prefix", user_model=given)


def shipped(name: str) -> Rubric:
    return load_definition(rubrics.shipped()[name], Rubric)


def test_a_fixed_number_of_calls_goes_before_a_configured_one() -> None:
    """A model in this process has as many calls at once as it has copies, whatever a file says."""
    assert concurrency_of(bound(), None) == 50
    assert concurrency_of(bound(concurrency=2), None) == 2


def test_responses_are_read_at_once_as_texts_are_kept() -> None:
    """Only where every model keeps one text in memory does that bound the responses in flight."""
    one = bound(one_judge_at_a_time=True, concurrency=2)
    assert texts_at_once([one, one]) == 2
    assert texts_at_once([one, bound()]) is None


@pytest.mark.parametrize("known", [True, False, None])
def test_a_model_is_probed_where_nobody_knows_its_log_probabilities(known: bool | None) -> None:
    """One small call finds out what the client cannot say; nothing is asked where it can."""
    assert is_probed(bound("expected", logprobs=known)) is (known is None)
    assert not is_probed(bound("dimensions", logprobs=known))


@pytest.mark.parametrize(
    ("model", "options", "refused"),
    [
        ("openai:o3-mini", {}, True),
        ("openai:o4-mini-2025-04-16", {}, True),
        ("openai:gpt-5-2025-08-07", {}, True),
        ("openai:gpt-5.5", {}, True),
        ("openai:gpt-5.1", {"reasoning_effort": "high"}, True),
        ("openai:gpt-5.1", {}, False),
        ("openai:gpt-5.5", {"reasoning_effort": "none"}, False),
        ("openai:gpt-4o", {}, False),
        ("openai:o3-mini@http://127.0.0.1:9/v1", {}, False),
    ],
)
def test_what_reasons_at_openai_is_sent_no_log_probabilities(
    model: str, options: dict[str, Any], refused: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """OpenAI refuses them of a model that reasons: `expected` is refused before the first call in
    one line with the model's name. What stands behind another address only a call shows."""
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    config = ModelConfig.model_validate({"model": model, "options": options})
    binding = ([config], "expected", "shared-prefix", 1, shipped("scrub"))
    if not refused:
        bind_models(*binding)
        return
    with pytest.raises(ConfigurationError) as error:
        bind_models(*binding)
    assert str(error.value) == (
        f"the elicitation 'expected' needs log-probabilities, and {model} returns none; use the "
        "elicitation 'dimensions'"
    )


@pytest.mark.parametrize(
    ("elicitation", "capabilities", "repeats"),
    [
        ("dimensions", {"deterministic_text": True}, True),
        ("dimensions", {"deterministic_logprobs": True}, False),
        ("expected", {"deterministic_logprobs": True}, True),
        ("expected", {}, False),
    ],
)
def test_replicates_want_answers_that_differ(
    elicitation: str, capabilities: Any, repeats: bool
) -> None:
    """What counts is what the elicitation reads: the text, or the probabilities behind it."""
    model = bound(elicitation, **capabilities)
    assert model.repeats is repeats
    if repeats:
        with pytest.raises(ConfigurationError, match="same answer every time"):
            refuse_repeats([model], 2)
    else:
        refuse_repeats([model], 2)


def test_a_free_model_costs_nothing_and_says_its_window() -> None:
    """Price and context come from the client where it knows them."""
    model = bound(free=True, context_window=512)
    assert (model.price, model.context_window) == (FREE, 512)
    assert (bound().price, bound().context_window) == (None, None)


def test_tokens_are_counted_by_characters_unless_tiktoken_knows_the_model() -> None:
    """A name that tiktoken does not know is no error."""
    for model in (bound(), bound(tiktoken_model="no-such-model")):
        assert ModelEstimate(model).estimate().tokenizer == "characters / 4"


def test_a_client_s_own_elicitation_is_the_default_where_it_serves() -> None:
    """The embedded model is read by its probabilities, or where the rubric does not
    allow it asked as any other; a served model is asked for all dimensions."""
    models = ["local:smollm2-135m", ModelConfig(model="openai:m", base_url="http://127.0.0.1:1/v1")]
    chosen = [
        [model.elicitation for model in bind_models(models, None, "shared-prefix", 1, rubric)]
        for rubric in (shipped("scrub"), shipped("conceptual-critique"))
    ]
    assert chosen == [["expected", "dimensions"], ["dimensions", "dimensions"]]
