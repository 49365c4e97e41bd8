"""What stays kept of a judgment that asks for one dimension a call, where one of its answers cannot
be read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from persona_panel import Dimension, ModelConfig, Panel, Response, Rubric, Scale
from persona_panel.testing import Answer, ok, serving
from tests.helpers.embedded import READERS

NAMES = ("clarity", "depth", "tone")
RUBRIC = Rubric(
    id="plain",
    label="Plain",
    question="How plain is it?",
    dimensions=tuple(
        Dimension(
            id=name,
            label=name.title(),
            definition="How it is.",
            guiding_question=f"Is it of {name}?",
            scale=Scale(min=1, max=10, low="not", high="very"),
        )
        for name in NAMES
    ),
)
TEXTS = [Response(id=name, prompt="Why?", text=f"{name}.", system="x") for name in ("a", "b")]
YES = {"yes": -0.1, "no": -3.0}
Good = Callable[[], Answer]


@pytest.mark.parametrize(
    ("elicitation", "one_dimension_per_call", "good"),
    [
        ("dimensions", True, ok),
        ("yes-no", False, lambda: ok("yes", logprobs=[YES])),
        ("yes-no", True, lambda: ok("yes", logprobs=[YES])),
    ],
)
def test_only_the_dimension_that_was_not_read_is_asked_again(
    elicitation: str, one_dimension_per_call: bool, good: Good
) -> None:
    """The answers before the one that cannot be read are served from the cache when the judgment is
    made anew, which asks for it and for what was not asked yet, each once."""
    is_repaired = False
    asked: list[str] = []

    def script(number: int, payload: Mapping[str, Any]) -> Answer:
        about = [name for name in NAMES if f"of {name}?" in str(payload["messages"])]
        asked.extend(about)  # a model may be asked first whether it gives log-probabilities
        is_bad = about == ["depth"] and not is_repaired
        return ok("nonsense", logprobs=[{"maybe": -0.1}]) if is_bad else good()

    with serving(script) as server:
        model = ModelConfig(model="openai:stub", base_url=server.base_url, elicitation=elicitation)
        panel = Panel(READERS, model, RUBRIC, one_dimension_per_call=one_dimension_per_call)
        first = panel.score(TEXTS)
        assert first.coverage.missing == {"unparsed": 4}
        assert asked.count("clarity") == 4 and asked.count("tone") == 0
        is_repaired = True
        asked.clear()
        assert panel.score(TEXTS).coverage.complete
        assert sorted(asked) == ["depth"] * 4 + ["tone"] * 4
        asked.clear()
        assert panel.score(TEXTS).coverage.complete
        assert asked == []
